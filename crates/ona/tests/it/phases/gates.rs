//! The gates of the phases: what closes them, and two processes at one of them.

use super::*;

/// A project whose tests have passed, in the phase test.
fn passed() -> Project {
    let project = at_test(&right());
    adds_test(&project, "adds", &adds());
    adds_test(&project, "lists", &lists());
    ok(&project, &["test", "run"]);
    project
}

#[test]
fn a_change_of_the_code_closes_the_gate_again() {
    let project = passed();
    project.file("helper.mjs", "export const one = 1;\n");
    let told = refused(&project, &["phase", "verify"]);
    assert!(told.contains("stale") && told.contains("`ona test run`"), "{told}");
    // What belongs to nobody's work tree changes nothing.
    std::fs::remove_file(project.path("helper.mjs")).unwrap();
    project.file("ignored/cache", "x");
    git(&project.dir(), &["add", "."]);
    git(&project.dir(), &["commit", "-q", "-m", "the same content"]);
    ok(&project, &["phase", "verify"]);
    // Also between the tests and the approval.
    project.file("todo.mjs", WRONG);
    let told = refused_at_terminal(&project, &["report", "approve"]);
    assert!(told.contains("stale"), "{told}");
    assert_eq!(phase(&project), "verify");
}

#[test]
fn a_plan_that_is_changed_behind_the_approval_closes_every_gate() {
    for (change, told) in [
        ("UPDATE plans SET content = content || ' '", "is not the one that was approved"),
        ("UPDATE plan_approvals SET criteria = '[]'", "has been changed since"),
        ("UPDATE plan_approvals SET contracts = '[]'", "has been changed since"),
        ("DELETE FROM plan_approvals", "was not approved with ona"),
    ] {
        let project = passed();
        project.sql(change);
        let said = refused(&project, &["phase", "verify"]);
        assert!(said.contains(told), "{change}: {said}");
        let said = refused(&project, &["test", "run"]);
        assert!(said.contains(told), "{change}: {said}");
        assert_eq!(phase(&project), "test");
    }
    // A test that was changed behind its run has not run.
    let project = passed();
    project.sql("UPDATE behavioral_tests SET script = script || ' ' WHERE id = 1");
    assert!(refused(&project, &["phase", "verify"]).contains("stale"));
}

#[test]
fn a_new_version_of_the_plan_needs_an_approval_and_tests_of_its_own() {
    let project = passed();
    let file = project.home().join("plan.md");
    std::fs::write(&file, PLAN.replace("from 1", "from 1, in brackets")).unwrap();
    ok(&project, &["plan", "edit", "--file", file.to_str().unwrap()]);
    // The approved plan counts until the new one is approved.
    let pty = project.pty(["plan", "approve"], PtyOptions::default());
    pty.wait_for("is in test, not in planning");
    ok(&project, &["phase", "planning"]);
    let told = refused(&project, &["phase", "implement"]);
    assert!(told.contains("no approved plan"), "{told}");
    // The version that was made for this round is still there.
    assert_eq!(project.sql("SELECT status FROM plans ORDER BY id"), ["superseded", "draft"]);
    says_yes(&project, &["plan", "approve"]);
    ok(&project, &["phase", "test"]);
    assert!(refused(&project, &["phase", "verify"]).contains("SC-2 has no test"));
}

#[test]
fn of_two_terminals_one_changes_the_phase() {
    let project = with_plan(PLAN);
    let children: Vec<_> = (0..4)
        .map(|_| {
            project
                .ona(["--transition", "test"])
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let ended: Vec<_> =
        children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let moved = ended.iter().filter(|one| one.status.success()).count();
    assert_eq!(moved, 1);
    for one in ended.iter().filter(|one| !one.status.success()) {
        let said = String::from_utf8_lossy(&one.stderr);
        assert!(said.contains("cannot move from test to test"), "{said}");
    }
    let query = "SELECT count(*) FROM events WHERE event_type = ";
    let to_test = "json_extract(detail, '$.to') = 'test'";
    assert_eq!(project.sql(&format!("{query} 'phase.changed' AND {to_test}")), ["1"]);
    assert_eq!(project.sql(&format!("{query} 'phase.refused' AND {to_test}")), ["3"]);
}

#[test]
fn nobody_approves_while_a_command_of_the_conversation_runs() {
    let project = todo_project();
    submits(&project, PLAN);
    let leftover = "INSERT INTO running_calls(tool_use_id, session_id, tool_name, entry_id, owner)
         SELECT 'toolu_running', session_id, 'Bash', 1, owner FROM (SELECT session_id,
             (SELECT json_extract(detail, '$.owner') FROM events WHERE event_type = 'tool.started' LIMIT 1) AS owner
         FROM sessions LIMIT 1)";
    // The owner of the call that submitted the plan is gone, so this is only a leftover.
    project.sql(leftover);
    says_yes(&project, &["plan", "approve"]);
    // One that lives: the sleeping ona that an operator's own command has started.
    let call = json!({"tool": "Bash", "input": {"command": "touch up; until [ -e end ]; do sleep 0.05; done"}});
    let mut running = project.ona(["--eval", &call.to_string()]).spawn().unwrap();
    crate::until("the command", || project.path("up").exists());
    ok(&project, &["--transition", "test"]);
    let told = refused_at_terminal(&project, &["report", "approve"]);
    assert!(told.contains("runs right now"), "{told}");
    project.file("end", "");
    running.wait().unwrap();
    assert!(
        refused_at_terminal(&project, &["report", "approve"]).contains("cannot move from test")
    );
}

#[test]
fn an_unknown_phase_allows_nothing() {
    let project = with_plan(PLAN);
    project.sql("UPDATE conversations SET phase = 'foo'");
    let said = project.refused("Write", json!({"file_path": "x", "content": "x"}));
    assert!(said.contains("planning"), "{said}");
    ok(&project, &["phase", "planning"]);
}

#[test]
fn a_test_of_another_conversation_is_not_touched() {
    let project = at_test(&right());
    let id = adds_test(&project, "adds", &adds());
    project.sql("INSERT INTO conversations(id, project_dir) VALUES ('other', '/tmp')");
    let told = ona(&project, &["test", "remove", &id, "--conversation", "other"]);
    assert_eq!(told.code, Some(2), "{}", told.stdout);
    assert!(told.stderr.contains("of another conversation"), "{}", told.stderr);
    ok(&project, &["test", "remove", &id]);
    assert!(ona(&project, &["test", "remove", &id]).stderr.contains("taken out already"));
}

#[test]
fn a_conversation_that_a_command_does_not_take_is_an_error() {
    let project = project();
    for args in [&["mcp", "serve", "--conversation", "c"][..], &["doctor", "--conversation", "c"]] {
        let ran = ona(&project, args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stdout);
        assert!(ran.stderr.contains("takes no --conversation"), "{}", ran.stderr);
    }
}

#[test]
fn an_agent_neither_approves_nor_chooses_its_tests() {
    let project = at_test(&right());
    let file = project.file("t.sh", adds());
    for args in [
        &["plan", "approve"][..],
        &["plan", "edit", "--file", &file],
        &["report", "approve"],
        &["test", "generate"],
        &["test", "add", &file],
        &["phase", "planning"],
        &["--transition", "planning"],
    ] {
        let ran = run(project.ona(args).env("ONA_TOOL_USE_ID", "toolu_1"));
        assert_eq!(ran.code, Some(2), "{args:?}: {}{}", ran.stdout, ran.stderr);
    }
    assert_eq!(phase(&project), "test");
    assert_eq!(project.sql("SELECT count(*) FROM behavioral_tests"), ["0"]);
    // What was tried is on the record.
    let tried = project.sql(
        "SELECT json_extract(detail, '$.to') FROM events
         WHERE event_type = 'phase.refused' AND json_extract(detail, '$.by') = 'agent' ORDER BY id",
    );
    assert_eq!(tried, ["implement", "done", "planning", "planning"]);
    // Looking is free.
    for args in [&["phase"][..], &["plan", "show"], &["test", "list"], &["report"]] {
        let ran = run(project.ona(args).env("ONA_TOOL_USE_ID", "toolu_1"));
        assert_eq!(ran.code, Some(0), "{args:?}: {}{}", ran.stdout, ran.stderr);
    }
}
