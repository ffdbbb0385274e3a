//! What is remembered is offered to the model when a session begins, within a budget.

use ona_provider::Usage;
use ona_provider::scripted::{Reply, Server};
use ona_testkit::{Project, run};
use serde_json::json;

use crate::print::anthropic;
use crate::project;

fn add(project: &Project, title: &str, more: &[&str]) {
    let args = ["memory", "add", "--type", "lesson", "--title", title];
    let ran = run(project.ona(args).args(more));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// What the model is told in a new session.
fn told(project: &Project, args: &[&str], settings: &str) -> String {
    let server = Server::start([Reply::say("ok")]).unwrap();
    let args = [&["-p", "go", "--settings", settings], args].concat();
    let ran = run(&mut anthropic(project, &server, &args));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{args:?}");
    server.requests()[0].body["messages"].to_string()
}

const OPENING: &str = "memories of earlier work";

#[test]
fn a_new_session_begins_with_what_is_remembered() {
    let project = project();
    assert!(!told(&project, &[], "{}").contains(OPENING), "there is nothing to tell");
    add(&project, "Tests need a database", &["--content", "Start it with make db."]);
    add(&project, "For everybody", &["--all"]);
    add(&project, "Of another project", &["--project", project.home().to_str().unwrap()]);
    let text = told(&project, &[], "{}");
    for part in [
        OPENING,
        "[lesson] Tests need a database",
        "Start it with make db.",
        "For everybody",
        "ona memory search",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("another project"), "{text}");
    let note = project.sql(
        "SELECT payload_json ->> 'from' FROM transcript_entries
         WHERE payload_json ->> 'subtype' = 'context' AND payload_json LIKE '%earlier work%'",
    );
    assert_eq!(note, ["memory"]);
    assert_eq!(
        project.sql("SELECT sum(access_count) FROM memories"),
        ["0"],
        "being offered is no attention"
    );
    // Without Bash there is no way to ask for more.
    let text = told(&project, &["--tools", "Read"], "{}");
    assert!(text.contains(OPENING) && !text.contains("ona memory"), "{text}");
}

#[test]
fn settings_say_how_much_is_offered() {
    let project = project();
    for n in 0..40 {
        add(&project, &format!("Title {n}"), &["--content", &"word ".repeat(60)]);
    }
    let count = |settings: &str| told(&project, &[], settings).matches("[lesson] Title").count();
    let usual = count("{}");
    let less = count(r#"{"memory": {"budgetTokens": 600}}"#);
    assert!(usual > less && less > 0 && usual < 40, "{usual}, {less}");
    assert_eq!(count(r#"{"memory": {"budgetTokens": 100000}}"#), 40);
    assert_eq!(count(r#"{"memory": {"budgetTokens": 0}}"#), 0);
    assert_eq!(count(r#"{"autoMemoryEnabled": false}"#), 0);
    assert!(!told(&project, &["--bare"], "{}").contains(OPENING));
    let server = Server::start([Reply::say("ok")]).unwrap();
    let mut command = anthropic(&project, &server, &["-p", "go"]);
    run(command.env("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"));
    assert!(!server.requests()[0].body.to_string().contains(OPENING));
    let ran = run(&mut project.ona(["config", "set", "memory.budgetTokens", "much"]));
    assert!(ran.code != Some(0) && ran.stderr.contains("memory.budgetTokens"), "{ran:?}");
}

#[test]
fn a_session_that_goes_on_is_not_told_again_until_it_is_compacted() {
    let project = project();
    add(&project, "Remember me", &[]);
    let full = Usage { input_tokens: 190_000, output_tokens: 1, ..Usage::default() };
    let server = Server::start([
        Reply::say("one"),
        Reply::say("two").usage(full),
        Reply::say("<summary>all that was</summary>"),
        Reply::say("three"),
    ])
    .unwrap();
    for args in [&["-p", "a"][..], &["-p", "b", "--continue"], &["-p", "c", "--continue"]] {
        let ran = run(&mut anthropic(&project, &server, args));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    let requests = server.requests();
    let times =
        |at: usize| requests[at].body["messages"].to_string().matches("Remember me").count();
    assert_eq!((times(0), times(1)), (1, 1));
    let last = requests.len() - 1;
    let body = requests[last].body["messages"].to_string();
    assert!(body.contains("all that was") && times(last) == 1, "{body}");
}

#[test]
fn what_was_written_by_hand_is_masked_before_it_is_told() {
    let project = project();
    run(&mut project.ona(["--init-db"]));
    let token = format!("ghp_{}", "aB3dE6".repeat(6));
    project.sql(&format!(
        "INSERT INTO memories(id, type, title, content, created_at, updated_at)
         VALUES ('own', 'x', 'By hand', 'use {token}', 0, 0)"
    ));
    let text = told(&project, &[], "{}");
    assert!(text.contains("By hand") && text.contains("[REDACTED:github_token]"), "{text}");
    assert!(!json!(text).to_string().contains(&token));
}
