//! The whole way of one piece of work, from planning to done.

use super::*;
use ona_testkit::pty::Exit;

#[test]
fn from_planning_to_done_with_a_criterion_that_fails_first() {
    let project = todo_project();
    let write = |id: &str, content: &str| {
        let path = project.path("todo.mjs");
        Reply::new().call(id, "Write", json!({"file_path": path, "content": content}))
    };
    let server = Server::start([
        Reply::new().call("toolu_e", "EnterPlanMode", json!({})),
        write("toolu_early", WRONG),
        Reply::new().call("toolu_p", "ExitPlanMode", json!({"plan": PLAN})),
        Reply::say("The plan waits."),
        write("toolu_w", WRONG),
        Reply::say("Written."),
        Reply::say(both_tests()),
        Reply::new().call("toolu_r", "Read", json!({"file_path": project.path("todo.mjs")})),
        write("toolu_f", &right()),
        Reply::say("Mended."),
    ])
    .unwrap();
    let asks = |args: &[&str]| {
        let ran = run(&mut anthropic(&project, &server, args));
        assert_eq!(ran.code, Some(0), "{args:?}: {}{}", ran.stdout, ran.stderr);
        ran.stdout
    };

    // Planning: nothing is written before a human has approved the plan.
    assert_eq!(asks(&["-p", "make a list of things to do"]), "The plan waits.\n");
    assert!(!project.path("todo.mjs").exists());
    assert_eq!(phase(&project), "planning");
    assert!(
        refused(&project, &["plan", "approve"]).contains("run `ona plan approve` in a terminal")
    );
    let shown = says_yes(&project, &["plan", "approve"]);
    assert!(shown.contains("ADD [file_state] `node todo.mjs add TEXT`"), "{shown}");
    assert!(shown.contains("SC-1 [process_output, inferred]"), "{shown}");
    let hash = project.sql("SELECT hash FROM plans").concat();
    assert!(shown.contains(&hash), "the hash that is approved: {shown}");

    // Implement.
    assert_eq!(phase(&project), "implement");
    let bypass = ["--permission-mode", "acceptEdits", "--continue", "-p", "go on"];
    assert_eq!(asks(&bypass), "Written.\n");
    let told = refused(&project, &["--transition", "verify"]);
    assert!(told.contains("cannot move from implement to verify"), "{told}");
    ok(&project, &["phase", "test"]);
    let told = refused(&project, &["phase", "verify"]);
    assert!(told.contains("ADD has no test; SC-1 has no test"), "{told}");
    assert!(told.contains("`ona test generate`"), "{told}");

    // Test: the author has no tools and has not seen the work.
    let written = generates(&project, &server);
    assert_eq!(written.code, Some(0), "{}{}", written.stdout, written.stderr);
    assert!(written.stdout.contains("ADD adds an item"), "{}", written.stdout);
    assert!(written.stderr.contains("compared the author's input"), "{}", written.stderr);
    let asked = server.requests().into_iter().nth(6).unwrap().body;
    assert!(asked["tools"].as_array().is_none_or(Vec::is_empty), "{asked}");
    let input = asked["messages"].to_string();
    assert!(
        input.contains("Items are kept in todo.txt") && !input.contains("readItems"),
        "{input}"
    );
    let kept = project.sql("SELECT input FROM test_generations").concat();
    assert!(
        kept.contains("# A list of things to do") && !kept.contains("appendFileSync"),
        "{kept}"
    );

    let ran = ona(&project, &["test", "run"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stderr.contains("1 of 2  passed") && ran.stderr.contains("2 of 2  failed"),
        "{}",
        ran.stderr
    );
    let told = refused(&project, &["phase", "verify"]);
    assert!(told.contains("test 2 of SC-1 (lists with numbers): failed"), "{told}");
    let shown = ok(&project, &["test", "show", "2"]);
    assert!(shown.contains("0. milk") && shown.contains("wrong list"), "whole output: {shown}");
    let told = refused_at_terminal(&project, &["report", "approve"]);
    assert!(told.contains("cannot move from test to done"), "{told}");

    // The agent mends it; what was known of the old code counts no more.
    let mend = ["--permission-mode", "acceptEdits", "--continue", "-p", "the numbers begin with 0"];
    assert_eq!(asks(&mend), "Mended.\n");
    let told = refused(&project, &["phase", "verify"]);
    assert!(told.contains("test 1 of ADD (adds an item): stale"), "{told}");
    let summary = ok(&project, &["test", "run"]);
    assert!(summary.contains("2 of 2 criteria"), "{summary}");
    ok(&project, &["phase", "verify"]);

    // Verify: a report, which a human approves.
    let text = ok(&project, &["report"]);
    for part in ["ADD", "SC-1", "adds an item", "1. milk", "2. bread", "hash: "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let told: Value = serde_json::from_str(&ok(&project, &["report", "--format", "json"])).unwrap();
    assert_eq!(told["totals"]["passed"], 2, "{told}");
    assert_eq!(told["uncovered"], json!([]));
    let page = ok(&project, &["report", "--format", "html"]);
    assert!(page.starts_with("<!doctype html>") && page.contains("1. milk"), "{page}");
    assert!(!page.contains("src=") && !page.contains("://"), "it needs nothing else: {page}");
    let told = refused(&project, &["report", "approve"]);
    assert!(told.contains("run `ona report approve` in a terminal"), "{told}");
    let agent = run(project.ona(["report", "approve"]).env("ONA_TOOL_USE_ID", "toolu_1"));
    assert_ne!(agent.code, Some(0), "{}", agent.stdout);
    assert_eq!(phase(&project), "verify");
    let pty = project.pty(["report", "approve"], PtyOptions::default());
    pty.wait_for("[y/N]");
    pty.line("n");
    assert_eq!(pty.wait_exit(), Exit::Code(1));
    assert_eq!(phase(&project), "verify");
    says_yes(&project, &["report", "approve"]);
    assert_eq!(phase(&project), "done");
    assert_eq!(project.sql("SELECT status FROM plans"), ["completed"]);
    let kept = project.sql("SELECT approved_by, length(body) > 100 FROM test_reports");
    assert_eq!(kept, ["human|1"]);

    // Every change, and every refusal with what was missing, is on the record.
    let events = project.sql(
        "SELECT json_extract(detail, '$.from') || '>' || json_extract(detail, '$.to') FROM events
         WHERE event_type = 'phase.changed' ORDER BY id",
    );
    let way =
        ["idle>planning", "planning>implement", "implement>test", "test>verify", "verify>done"];
    assert_eq!(events, way);
    let missing = project.sql(
        "SELECT json_extract(detail, '$.missing') FROM events WHERE event_type = 'phase.refused' ORDER BY id",
    );
    assert!(missing.iter().any(|why| why.contains("ADD has no test")), "{missing:?}");
    assert!(missing.iter().any(|why| why.contains("stale")), "{missing:?}");
    let history = ok(&project, &["phase"]);
    assert!(history.contains("verify → done  moved  by human"), "{history}");

    // A new round begins with nothing approved.
    ok(&project, &["phase", "planning"]);
    assert!(ok(&project, &["phase"]).contains("none is approved"));
    let shown = ok(&project, &["test", "show", "2"]);
    assert!(shown.contains("1. milk") && shown.contains("does not count"), "{shown}");
}
