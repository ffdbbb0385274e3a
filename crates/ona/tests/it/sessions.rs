//! `ona sessions`, and one driver at a time.

use std::process::Stdio;
use std::time::Duration;

use ona_provider::scripted::{Reply, Server};
use ona_testkit::{Project, run};
use serde_json::{Value, json};

use crate::project;

fn turn(project: &Project, replies: Vec<Reply>, args: &[&str]) {
    let server = Server::start(replies).unwrap();
    let mut command = project.ona(args);
    command.env("ANTHROPIC_API_KEY", "key").env("ANTHROPIC_BASE_URL", server.base_url());
    let ran = run(&mut command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn sessions_are_listed_shown_exported_renamed_searched_and_deleted() {
    let project = project();
    project.file("a.txt", "the quick brown fox\n");
    let read = Reply::say("I read.").call("r", "Read", json!({"file_path": "a.txt"}));
    turn(
        &project,
        vec![read, Reply::say("It is a fox.")],
        &["-p", "what is in a.txt?", "--name", "fox"],
    );
    turn(&project, vec![Reply::say("hi")], &["-p", "hello"]);
    let ona = |args: &[&str]| run(&mut project.ona([&["sessions"], args].concat()));

    let listed: Value = serde_json::from_str(&ona(&["list", "--json"]).stdout).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!((&listed[0]["first_prompt"], &listed[1]["name"]), (&json!("hello"), &json!("fox")));
    assert!(ona(&["list"]).stdout.contains("headless"));
    let shown = ona(&["show", "fox"]).stdout;
    assert!(
        shown.contains("what is in a.txt?")
            && shown.contains("→ Read")
            && shown.contains("brown fox"),
        "{shown}"
    );
    let exported = ona(&["export", "fox"]).stdout;
    assert!(
        exported.starts_with("# fox\n") && exported.contains("## ona\n\nIt is a fox."),
        "{exported}"
    );
    let exported: Value = serde_json::from_str(&ona(&["export", "fox", "--json"]).stdout).unwrap();
    assert_eq!(exported["entries"].as_array().unwrap().len(), 6);
    assert!(exported["usage"][0]["used"]["output_tokens"].is_u64());
    let found = ona(&["search", "QUICK brown"]).stdout;
    assert!(found.contains("tool_result"), "{found}");
    assert_eq!(ona(&["rename", "fox", "hound"]).code, Some(0));
    assert_eq!(ona(&["show", "fox"]).code, Some(2));
    let kept = ona(&["delete", "hound"]);
    assert_eq!(kept.code, Some(2));
    assert!(kept.stderr.contains("--yes"), "{}", kept.stderr);
    assert_eq!(ona(&["delete", "hound", "--yes"]).code, Some(0));
    assert_eq!(ona(&["search", "quick"]).stdout, "");
    assert_eq!(run(&mut project.ona(["doctor"])).code, Some(0), "nothing is left dangling");
}

#[test]
fn a_word_names_one_session() {
    let project = project();
    let own = "c0ffee00-0000-4000-8000-000000000001";
    let hound = "c0ffee00-0000-4000-8000-000000000002";
    turn(&project, vec![Reply::say("1")], &["-p", "one", "--name", "fox", "--session-id", own]);
    turn(&project, vec![Reply::say("2")], &["-p", "two", "--name", hound]);
    let server = Server::start([Reply::say("never")]).unwrap();
    let refused = |args: &[&str], word: &str| {
        let mut command = project.ona(args);
        command.env("ANTHROPIC_API_KEY", "key").env("ANTHROPIC_BASE_URL", server.base_url());
        let ran = run(&mut command);
        let why = format!("`{word}` is already the name or id of session ");
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(&why) && ran.stderr.contains("--resume"), "{}", ran.stderr);
    };
    refused(&["-p", "x", "--name", "fox"], "fox");
    refused(&["-p", "x", "--name", own], own);
    refused(&["-p", "x", "--session-id", hound], hound);
    refused(&["-p", "x", "--resume", "fox", "--name", hound], hound);
    refused(&["sessions", "rename", hound, "fox"], "fox");
    refused(&["sessions", "rename", hound, own], own);
    assert_eq!(project.sql("SELECT count(*) FROM sessions"), ["2"], "none is left behind");
    // Its own it may have, and another directory's.
    assert_eq!(run(&mut project.ona(["sessions", "rename", hound, hound])).code, Some(0));
    std::fs::create_dir(project.path("sub")).unwrap();
    turn(&project, vec![Reply::say("3")], &["--cwd", "sub", "-p", "three", "--name", "fox"]);
}

#[test]
fn two_cannot_drive_one_session() {
    let project = project();
    turn(&project, vec![Reply::say("hi")], &["-p", "hello", "--name", "one"]);
    // The first holds it while the model takes its time.
    let slow = Server::start([Reply::say("at last").slow(Duration::from_secs(600))]).unwrap();
    let mut holder = project.ona(["-p", "x", "--resume", "one"]);
    holder.env("ANTHROPIC_API_KEY", "key").env("ANTHROPIC_BASE_URL", slow.base_url());
    let mut holder = holder.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while slow.requests().is_empty() {
        std::thread::yield_now();
    }
    let server = Server::start([Reply::say("never")]).unwrap();
    let mut second = project.ona(["-p", "y", "--resume", "one"]);
    second.env("ANTHROPIC_API_KEY", "key").env("ANTHROPIC_BASE_URL", server.base_url());
    let ran = run(&mut second);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("is in use by process"), "{}", ran.stderr);
    assert!(server.requests().is_empty());
    assert_eq!(run(&mut project.ona(["sessions", "delete", "one", "--yes"])).code, Some(1));
    // Who has died binds nobody.
    holder.kill().unwrap();
    holder.wait().unwrap();
    turn(&project, vec![Reply::say("mine")], &["-p", "z", "--resume", "one"]);
}

#[test]
fn an_empty_word_names_no_session() {
    let project = project();
    turn(&project, vec![Reply::say("hi")], &["-p", "hello"]);
    for args in [
        &["sessions", "delete", "", "--yes"][..],
        &["sessions", "show", ""],
        &["sessions", "export", " "],
        &["sessions", "rename", "", "x"],
        &["log", "--session", ""],
        &["-p", "go", "--resume", ""],
        &["-p", "go", "--resume="],
    ] {
        let ran = run(project.ona(args).env("ANTHROPIC_API_KEY", "key"));
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("empty session id"), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(project.sql("SELECT count(*) FROM sessions"), ["1"]);
}

#[test]
fn a_session_in_which_nothing_was_said_is_not_gone_on_with() {
    let project = project();
    let hook = json!([{"hooks": [{"type": "command", "command": "echo $$ > pid; mv pid begun; sleep 600"}]}]);
    let settings = json!({"hooks": {"UserPromptSubmit": hook}}).to_string();
    let server = Server::start([Reply::say("I go on.")]).unwrap();
    let ona = |args: &[&str]| {
        let mut command = project.ona(args);
        command.env("ANTHROPIC_API_KEY", "key").env("ANTHROPIC_BASE_URL", server.base_url());
        command
    };
    let mut killed = ona(&["-p", "go", "--settings", &settings]).spawn().unwrap();
    while !project.path("begun").exists() {
        std::thread::yield_now();
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(project.sql("SELECT DISTINCT entry_type FROM transcript_entries"), ["system"]);
    for args in [&["-p", "--continue"][..], &["-p", "more", "--continue"]] {
        let ran = run(ona(args).stdin(Stdio::null()));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
        assert!(ran.stderr.contains("no session to continue in"), "{}", ran.stderr);
    }
    assert!(server.requests().is_empty());
    // What the hook had started is ended by the next session, whichever it is.
    let running = || {
        let line = format!("/proc/{}/cmdline", project.content("begun").trim());
        std::fs::read(line).is_ok_and(|line| !line.is_empty())
    };
    assert!(running());
    project.ok("Glob", json!({"pattern": "*"}));
    assert!(!running());
}
