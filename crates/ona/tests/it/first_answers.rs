//! What the command line says about an empty record, wrong values and misspelled commands.

use ona_provider::scripted::{Reply, Server};
use ona_testkit::pty::{Exit, PtyOptions};
use ona_testkit::{Project, run};
use serde_json::json;

use crate::print::anthropic;
use crate::project;

/// What it says on standard error, with an exit code and nothing on standard output.
fn said(project: &Project, args: &[&str], code: i32) -> String {
    let ran = run(&mut project.ona(args));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{args:?}: {}", ran.stderr);
    ran.stderr
}

#[test]
fn why_says_that_an_empty_record_has_no_calls() {
    let project = project();
    let told = said(&project, &["why"], 2);
    assert!(told.starts_with("error: no calls recorded yet\nhint: "), "{told}");
    assert!(said(&project, &["why", "toolu_x"], 2).contains("unknown call `toolu_x`"));
}

#[test]
fn an_empty_list_is_a_note_on_standard_error() {
    let project = project();
    for (args, note) in [
        (&["plan", "list"][..], "no plans in this directory"),
        (&["plugin", "list"], "no plugins installed"),
        (&["skills"], "no skills or commands"),
        (&["trust", "--list"], "nothing is trusted"),
        (&["sessions", "search", "x"], "no results"),
        (&["log"], "no events"),
    ] {
        let told = said(&project, args, 0);
        assert!(told.contains(note), "{args:?}: {told}");
    }
    let json = run(&mut project.ona(["plan", "list", "--json"]));
    assert_eq!((json.stdout.as_str(), json.stderr.as_str()), ("[]\n", ""));
}

#[test]
fn a_wrong_number_is_a_wrong_value_and_not_an_unknown_option() {
    let project = project();
    for (args, told) in [
        (&["-p", "x", "--max-turns", "0"][..], "--max-turns"),
        (&["-p", "x", "--max-turns", "-1"], "--max-turns"),
        (&["-p", "x", "--max-budget-usd", "-1"], "--max-budget-usd must be more than 0"),
        (&["-p", "x", "--resume", "s", "--fork-session", "--at", "-1"], "--at"),
    ] {
        let said = said(&project, args, 2);
        assert!(said.contains(told) && !said.contains("unknown option"), "{args:?}: {said}");
    }
}

#[test]
fn a_misspelled_command_is_told_the_right_one() {
    let project = project();
    let told = said(&project, &["doctr"], 2);
    assert_eq!(told, "error: unknown command `doctr`\nhint: did you mean `ona doctor`?\n");
    // This resembles no command.
    assert!(said(&project, &["what is this?"], 2).contains("`ona -p"));
}

#[test]
fn ask_belongs_to_eval_and_to_print() {
    let project = project();
    let told = said(&project, &["--ask"], 2);
    assert!(told.contains("--eval") && told.contains("--print"), "{told}");
    let told = said(&project, &["-p", "x", "--ask"], 2);
    assert!(told.contains("ANTHROPIC_API_KEY"), "{told}");
}

#[test]
fn without_a_terminal_the_record_says_that_nobody_was_asked() {
    let project = project();
    project.ok("EnterPlanMode", json!({}));
    // A session of its own has no terminal.
    let ask = |tool: &str, input| {
        let call = json!({"tool": tool, "input": input}).to_string();
        let ona = project.ona(["--eval", &call, "--ask"]);
        let mut command = project.command("setsid");
        command.arg("--wait").arg(ona.get_program()).args(ona.get_args());
        run(&mut command).stdout
    };
    let told = ask("ExitPlanMode", json!({"plan": crate::plan()}));
    assert!(told.contains("no user is available: cannot ask on the terminal"), "{told}");
    assert_eq!(project.sql("SELECT status FROM plans"), ["draft"], "nobody rejected it");
    crate::says_yes(&project, &["plan", "approve"]);
    let told = ask("WebFetch", json!({"url": "http://127.0.0.1:9/", "prompt": "x"}));
    assert!(told.contains("no user is available") && !told.contains("denied by"), "{told}");
    let why = run(&mut project.ona(["why"])).stdout;
    assert!(why.contains("\"by\":\"headless\"") && !why.contains("the human"), "{why}");
}

#[test]
fn a_rejected_plan_is_said_to_be_rejected() {
    let project = project();
    let submit = |plan: &str| {
        let server = Server::start([
            Reply::new().call("toolu_e", "EnterPlanMode", json!({})),
            Reply::new().call("toolu_x", "ExitPlanMode", json!({"plan": plan})),
            Reply::say("Done."),
        ])
        .unwrap();
        let ran = run(&mut anthropic(&project, &server, &["-p", "go"]));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    };
    submit(&crate::plan());
    assert_eq!(run(&mut project.ona(["plan", "reject", "1"])).code, Some(0));
    let pty = project.pty(["plan", "approve", "1"], PtyOptions::default());
    assert_eq!(pty.wait_exit(), Exit::Code(2));
    let told = pty.whole();
    assert!(told.contains("error: plan 1 was rejected: only a draft"), "{told}");
    assert!(told.contains("\nhint: "), "{told}");
    submit(&crate::plan_with("`cat y` prints y"));
    crate::says_yes(&project, &["plan", "approve", "2"]);
    let told = said(&project, &["plan", "reject", "2"], 2);
    assert!(told.starts_with("error: plan 2 is no longer a draft (approved)"), "{told}");
}

#[test]
fn a_wrong_value_comes_with_what_to_do() {
    let project = project();
    project.file("a.txt", "one\n");
    assert_eq!(run(&mut project.ona(["intent", "init"])).code, Some(0));
    for (args, error, hint) in [
        (&["--agents", "{", "agents"][..], "--agents: invalid JSON", "for example: --agents"),
        (&["--plugin-dir", "no", "agents"], "is not a plugin", "ona plugin validate"),
        (&["-p", "x", "--add-dir", "no"], "--add-dir no: directory not found", "relative path"),
        (&["-p", "--add-dir", "/", "fix it"], "--add-dir fix it", "directly after -p"),
        (&["blame", "a.txt:9"], "line 9 is out of range", "ona blame FILE"),
        (
            &["-p", "x", "--input-format", "stream-json"],
            "PROMPT cannot be combined with --input-format stream-json",
            "standard input",
        ),
    ] {
        let server = Server::start([]).unwrap();
        let ran = run(&mut anthropic(&project, &server, args));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}: {}", ran.stderr);
        let (told, hints) = ran.stderr.split_once("\nhint: ").unwrap();
        assert!(told.contains(error) && hints.contains(hint), "{args:?}: {}", ran.stderr);
    }
    let ran = run(project.ona(["why"]).env("AGENT_SDLC_DB", "x"));
    assert!(
        ran.stderr.contains("hint: for example: export AGENT_SDLC_DB=\"$HOME/"),
        "{}",
        ran.stderr
    );
}
