//! Tools that are about the session itself: things to do, questions, messages, plans, tasks.

use std::fs;

use ona_provider::scripted::{Reply, Server};
use ona_testkit::pty::{Exit, PtyOptions};
use ona_testkit::{Project, run};
use serde_json::{Value, json};

use crate::print::{anthropic, lines};
use crate::project;

fn content(project: &Project, id: &str) -> String {
    let asked = format!(
        "SELECT json_extract(payload_json, '$.content') FROM transcript_entries
         WHERE tool_use_id = '{id}' AND entry_type = 'tool_result'"
    );
    project.sql(&asked).remove(0)
}

fn todo(content: &str, status: &str) -> Value {
    json!({"content": content, "status": status, "activeForm": format!("{content}…")})
}

#[test]
fn things_to_do_are_kept_whole_and_hooks_hear_of_new_and_of_done_ones() {
    let project = project();
    let hook = r#"jq -c '[.hook_event_name, .task_subject]' >> heard.log; if [ -e no ]; then echo "not yet" >&2; exit 2; fi"#;
    let hook = json!([{"hooks": [{"type": "command", "command": hook}]}]);
    let hooks = json!({"hooks": {"TaskCreated": hook, "TaskCompleted": hook}});
    project.file(".claude/settings.json", hooks.to_string());
    let write = |todos: Value| {
        run(project.eval_command("TodoWrite", &json!({"todos": todos})).arg("--trust"))
    };
    let first = write(json!([todo("Read", "in_progress"), todo("Write", "pending")]));
    assert!(
        first.stdout.contains("2 items: 0 completed, 1 in progress, 1 pending"),
        "{}",
        first.stdout
    );
    write(json!([todo("Read", "completed"), todo("Write", "in_progress")]));
    let kept = project.sql("SELECT value FROM state WHERE key LIKE 'todos/%'").remove(0);
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(
        (&kept[0]["status"], &kept[1]["activeForm"]),
        (&json!("completed"), &json!("Write…"))
    );
    let heard = project.content("heard.log");
    assert_eq!(
        heard.lines().collect::<Vec<_>>(),
        [r#"["TaskCreated","Read"]"#, r#"["TaskCreated","Write"]"#, r#"["TaskCompleted","Read"]"#]
    );
    project.file("no", "");
    let refused = write(json!([todo("Read", "completed"), todo("Write", "completed")]));
    assert!(
        refused.stdout.contains("not yet") && refused.stdout.contains("stays as it was"),
        "{}",
        refused.stdout
    );
    let after = project.sql("SELECT value FROM state WHERE key LIKE 'todos/%'").remove(0);
    assert_eq!(serde_json::from_str::<Value>(&after).unwrap(), kept);
    // Two in the same words are two, and each keeps its id.
    fs::remove_file(project.path("no")).unwrap();
    project.file("heard.log", "");
    write(json!([todo("Dup", "pending"), todo("Dup", "pending")]));
    write(json!([todo("Dup", "pending"), todo("Dup", "completed")]));
    write(json!([todo("Dup", "completed"), todo("Dup", "completed")]));
    let heard = project.content("heard.log");
    assert_eq!(heard.matches("TaskCreated").count(), 2, "{heard}");
    assert_eq!(heard.matches("TaskCompleted").count(), 2, "{heard}");
    assert!(write(json!([todo(" ", "pending")])).stdout.contains("todos[0].content"));
    assert!(write(json!([todo("x", "begun")])).stdout.contains("begun"));
}

fn question() -> Value {
    json!({"questions": [{
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
    }]})
}

#[test]
fn a_question_nobody_can_answer_is_refused_and_a_hook_can_answer_it() {
    let project = project();
    let server = || {
        Server::start([
            Reply::new().call("toolu_q", "AskUserQuestion", question()),
            Reply::say("As you say."),
        ])
        .unwrap()
    };
    let one = server();
    // No rule stands in for an answer.
    let ran =
        run(&mut anthropic(&project, &one, &["-p", "go", "--allowedTools", "AskUserQuestion"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        content(&project, "toolu_q").contains("no user is available"),
        "{}",
        content(&project, "toolu_q")
    );

    let mut answered = question();
    answered["answers"] = json!({"Which colour?": "Blue"});
    let said = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": answered,
    }});
    project.file("answer.json", said.to_string());
    let hooks = json!({"hooks": {"PreToolUse": [{"matcher": "AskUserQuestion", "hooks": [
        {"type": "command", "command": "cat answer.json"},
    ]}]}});
    project.file(".claude/settings.json", hooks.to_string());
    let two = Server::start([
        Reply::new().call("toolu_q2", "AskUserQuestion", question()),
        Reply::say("As you say."),
    ])
    .unwrap();
    let ran = run(&mut anthropic(&project, &two, &["-p", "go", "--trust"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(content(&project, "toolu_q2"), "The user answered:\n- Which colour? Blue");
}

#[test]
fn questions_that_are_none_are_refused_with_the_place() {
    let project = project();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut input = question();
        change(&mut input);
        project.refused("AskUserQuestion", input)
    };
    type Slip<'a> = (&'a str, &'a dyn Fn(&mut Value));
    let cases: [Slip<'_>; 5] = [
        ("`questions`", &|input| input["questions"] = json!([])),
        ("questions[0].header", &|input| {
            input["questions"][0]["header"] = json!("much too long a header")
        }),
        ("questions[0].options", &|input| {
            input["questions"][0]["options"] = json!([{"label": "a", "description": ""}])
        }),
        ("options[1].label", &|input| input["questions"][0]["options"][1]["label"] = json!("Red")),
        ("was not asked", &|input| input["answers"] = json!({"Which size?": "L"})),
    ];
    for (place, change) in cases {
        let said = with(change);
        assert!(said.contains(place), "{place}: {said}");
    }
}

#[test]
fn a_message_is_shown_at_once_with_its_files() {
    let project = project();
    let file = project.file("report.md", "# R\n");
    let script = || {
        Server::start([
            Reply::new().call(
                "toolu_b",
                "Brief",
                json!({"message": "**Half** way", "attachments": ["report.md"], "status": "proactive"}),
            ),
            Reply::say("Done."),
        ])
        .unwrap()
    };
    let server = script();
    let ran = run(&mut anthropic(&project, &server, &["-p", "go"]));
    assert_eq!(ran.stdout, format!("**Half** way\n[{file}]\nDone.\n"), "{}", ran.stderr);
    let other = crate::project();
    other.file("report.md", "# R\n");
    let server = script();
    let ran = run(&mut anthropic(&other, &server, &["-p", "go", "--output-format", "stream-json"]));
    let brief = lines(&ran).into_iter().find(|line| line["subtype"] == "brief").unwrap();
    assert_eq!(
        (&brief["message"], &brief["status"]),
        (&json!("**Half** way"), &json!("proactive"))
    );
    let third = crate::project();
    third.file("report.md", "# R\n");
    let ran = run(&mut anthropic(&third, &script(), &["-p", "go", "--output-format", "json"]));
    assert_eq!(lines(&ran).len(), 1, "{}", ran.stdout);
    assert!(ran.stderr.starts_with("**Half** way\n["), "{}", ran.stderr);
    assert!(
        project
            .refused("Brief", json!({"message": "x", "attachments": ["nowhere"]}))
            .contains("is not a file")
    );
    assert!(project.refused("Brief", json!({"message": " "})).contains("`message` is empty"));
}

#[test]
fn a_plan_that_nobody_read_stays_a_draft_and_a_human_can_approve_it_later() {
    let project = project();
    let plan = crate::plan();
    let server = Server::start([
        Reply::new().call("toolu_e", "EnterPlanMode", json!({})),
        Reply::new().call("toolu_w", "Write", json!({"file_path": "x", "content": "x"})),
        Reply::new().call("toolu_x", "ExitPlanMode", json!({"plan": plan})),
        Reply::say("Nobody was there."),
        Reply::new().call("toolu_w2", "Write", json!({"file_path": "x", "content": "x"})),
        Reply::say("Written."),
    ])
    .unwrap();
    let args = ["--permission-mode", "bypassPermissions"];
    let ran = run(anthropic(&project, &server, &["-p", "go"]).args(args));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(content(&project, "toolu_w").contains("planning"), "{}", content(&project, "toolu_w"));
    assert!(
        content(&project, "toolu_x").contains("only a human"),
        "{}",
        content(&project, "toolu_x")
    );
    assert_eq!(project.sql("SELECT phase FROM conversations"), ["planning"]);
    assert_eq!(project.sql("SELECT status, content FROM plans"), [format!("draft|{plan}")]);

    let shown = run(&mut project.ona(["plan", "show"]));
    assert!(shown.stdout.contains("1. Do it"), "{}", shown.stdout);
    // An agent's own command approves nothing.
    let governed = run(project.ona(["plan", "approve"]).env("ONA_TOOL_USE_ID", "toolu_1"));
    assert_eq!(governed.code, Some(2), "{}", governed.stdout);
    crate::says_yes(&project, &["plan", "approve"]);
    assert_eq!(project.sql("SELECT phase FROM conversations"), ["implement"]);
    assert_eq!(project.sql("SELECT status, approved_at IS NOT NULL FROM plans"), ["approved|1"]);
    let again = project.pty(["plan", "approve", "1"], PtyOptions::default());
    again.wait_for("only a draft");
    let ran = run(anthropic(&project, &server, &["-p", "go on", "--continue"]).args(args));
    assert_eq!(ran.stdout, "Written.\n", "{}", ran.stderr);
    assert!(project.path("x").exists());
}

#[test]
fn a_plan_the_operator_hands_in_is_approved_and_a_new_round_begins_without_it() {
    let project = project();
    project.ok("EnterPlanMode", json!({}));
    assert!(
        project.refused("Write", json!({"file_path": "x", "content": "x"})).contains("planning")
    );
    let hand_in = json!({"tool": "ExitPlanMode", "input": {"plan": crate::plan()}}).to_string();
    let nobody = run(&mut project.ona(["--eval", &hand_in])).stdout;
    assert!(nobody.contains("only a human"), "{nobody}");
    assert_eq!(project.sql("SELECT status FROM plans"), ["draft"]);
    let pty = project.pty(["--eval", &hand_in], PtyOptions::default());
    assert_eq!(pty.wait_exit(), Exit::Code(0), "{}", pty.whole());
    assert_eq!(project.sql("SELECT phase FROM conversations"), ["implement"]);
    let events =
        project.sql("SELECT detail FROM events WHERE event_type = 'phase.changed' ORDER BY id");
    assert_eq!(events.len(), 2, "{events:?}");
    assert!(project.refused("ExitPlanMode", json!({"plan": "again"})).contains("not in planning"));
    project.ok("EnterPlanMode", json!({}));
    assert_eq!(project.sql("SELECT status FROM plans"), ["superseded"]);
    assert!(
        project.refused("Write", json!({"file_path": "x", "content": "x"})).contains("planning")
    );
    let sent_back = run(&mut project.ona(["plan", "reject"]));
    assert!(sent_back.stderr.contains("no draft of a plan"), "{}", sent_back.stderr);
}

#[test]
fn the_end_of_a_command_in_the_background_is_told_once() {
    let project = project();
    let server = Server::start([
        Reply::new().call(
            "toolu_b",
            "Bash",
            json!({"command": "echo printed; exit 3", "run_in_background": true}),
        ),
        Reply::say("It runs."),
        Reply::say("It ended."),
        Reply::say("Nothing new."),
    ])
    .unwrap();
    let allowed = ["--allowedTools", "Bash(echo *)", "Bash(exit *)"];
    // It may take longer than the turn.
    run(anthropic(&project, &server, &["-p", "go", "--keep-background"]).args(allowed));
    let id = project.sql("SELECT task_id FROM background_tasks").remove(0);
    let told = project.ok("TaskOutput", json!({"task_id": id, "timeout": 60000}));
    assert!(told.contains("exited with code 3") && told.contains("printed"), "{told}");
    run(anthropic(&project, &server, &["-p", "and?", "--continue"]).args(allowed));
    run(anthropic(&project, &server, &["-p", "and?", "--continue"]).args(allowed));
    let last = server.requests().last().unwrap().body["messages"].to_string();
    assert_eq!(last.matches("[background command").count(), 1, "{last}");
    assert!(last.contains("exited with code 3"), "{last}");
    assert!(project.refused("TaskOutput", json!({"task_id": "nobody"})).contains("unknown task"));
    assert!(project.refused("TaskStop", json!({"task_id": id})).contains("is no longer running"));
    assert!(project.refused("TaskStop", json!({})).contains("`task_id` is missing"));
}

#[test]
fn a_command_in_the_background_is_stopped_with_all_it_started() {
    let project = project();
    let started = project.ok(
        "Bash",
        json!({"command": "(sleep 600 & echo $! > pid; wait)", "run_in_background": true}),
    );
    let id = started.split_whitespace().nth(3).unwrap().to_owned();
    let pid = loop {
        let pid = std::fs::read_to_string(project.path("pid")).unwrap_or_default();
        if pid.ends_with('\n') {
            break pid.trim().to_owned();
        }
        std::thread::yield_now();
    };
    let waits = project.ok("TaskOutput", json!({"task_id": id, "block": false}));
    assert!(waits.contains("(running)"), "{waits}");
    project.ok("TaskStop", json!({"shell_id": id}));
    let ended = project.ok("TaskOutput", json!({"task_id": id, "timeout": 60000}));
    assert!(ended.contains("(stopped)"), "{ended}");
    // Whoever adopted it has to hear of its end first.
    let start = std::time::Instant::now();
    while std::path::Path::new(&format!("/proc/{pid}")).exists() {
        assert!(start.elapsed() < std::time::Duration::from_secs(60), "it lives");
        std::thread::yield_now();
    }
}
