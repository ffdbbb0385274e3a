//! What is typed with a prefix: `!` for a command line of one's own, `#` for a memory.

use ona_testkit::pty::Signal;

use super::*;
use crate::project;

#[test]
fn a_command_line_of_ones_own_runs_without_a_question_and_is_logged() {
    let (project, server) = (project(), model([Reply::say("I have seen it.")]));
    let pty = start(&project, &server, &[]);
    pty.send("!");
    pty.wait_for("runs a command line of your own");
    pty.key(Key::Backspace);
    ready(&pty);
    // It would be asked about if the model wanted it.
    let shown = answers(&pty, "!mkdir made && echo it is $((20 + 22))", "it is 42");
    assert!(shown.contains("Bash(mkdir made"), "{shown}");
    assert!(project.path("made").exists());
    ready(&pty);
    let logged = "SELECT tool_name, decision, json_extract(reason_json, '$.decided.by') FROM tool_permission_log";
    assert_eq!(project.sql(logged), ["Bash|allow|operator"]);
    ready(&pty);
    assert!(server.requests().is_empty(), "the model was not asked");
    answers(&pty, "what did I do?", "I have seen it.");
    let told = last_told(&server);
    assert!(told.contains("mkdir made") && told.contains("it is 42"), "{told}");
}

#[test]
fn a_deny_rule_stands_for_the_operator_too() {
    let project = project();
    user_settings(&project, &json!({"permissions": {"deny": ["Bash(mkdir *)"]}}));
    let pty = start_alone(&project);
    let shown = answers(&pty, "!mkdir made", "rules: denied by ");
    assert!(shown.contains("Bash(mkdir *)"), "{shown}");
    assert!(!project.path("made").exists());
    ready(&pty);
    answers(&pty, "/why", "Bash(mkdir *)");
}

#[test]
fn a_failing_command_shows_its_error() {
    let project = project();
    let pty = start_alone(&project);
    let shown = answers(&pty, "!echo to no avail >&2; exit 3", "to no avail");
    assert!(shown.contains('3'), "{shown}");
    ready(&pty);
    answers(&pty, "!", "type a command line after the !");
}

#[test]
fn a_number_sign_saves_a_memory() {
    let project = project();
    let pty = start_alone(&project);
    pty.send("#");
    pty.wait_for("saves a memory");
    pty.key(Key::Backspace);
    ready(&pty);
    answers(&pty, "# tests run with nextest", "tests run with nextest");
    pty.wait_whole("saved ");
    let rows = project.sql("SELECT title, content, project_scope IS NOT NULL FROM memories");
    assert_eq!(rows, ["tests run with nextest|tests run with nextest|1"]);
    ready(&pty);
    answers(&pty, "#", "remember");
    ready(&pty);
    pty.line("/memory");
    let shown = pty.wait_for("4. tests run with nextest");
    assert!(shown.contains("CLAUDE.md"), "{shown}");
}

#[test]
fn ctrl_b_moves_a_running_command_into_the_background() {
    let project = project();
    let server = model([
        bash("toolu_shell_ctrl_b", "touch begun; sleep 600"),
        Reply::say("It goes on without me."),
        Reply::say("It was stopped."),
    ]);
    let pty = start(&project, &server, &["--allowedTools", "Bash"]);
    pty.line("go");
    until("the command", || project.path("begun").exists());
    pty.wait_for("sleep 600");
    pty.key(Key::Ctrl('b'));
    pty.wait_for("It goes on without me.");
    let told = result(&project, "toolu_shell_ctrl_b");
    assert!(told.contains("background"), "{told}");
    pty.wait_for("1 task");
    for name in ["/tasks", "/bashes"] {
        pty.line(name);
        let shown = pty.wait_for("Background tasks");
        assert!(shown.contains("1. touch begun; sleep 600"), "{shown}");
        close(&pty);
    }
    pty.line("/tasks");
    pty.wait_for("x stop");
    pty.send("x");
    pty.wait_whole("stopped ");
    pty.wait_gone("1 task");
    ready(&pty);
    let shown = answers(&pty, "/tasks", "no background tasks are running");
    assert!(shown.contains("· stopped"), "{shown}");
}

#[test]
fn a_background_task_that_ends_is_told_once_and_stays_in_the_list() {
    let project = project();
    let input = json!({
        "command": "until [ -e go ]; do sleep 0.02; done; echo said; exit 3", "run_in_background": true,
    });
    let server = model([Reply::new().call("toolu_ends", "Bash", input), Reply::say("It runs.")]);
    let pty = start_in(&project, &["--allowedTools", "Bash"], with(&server).size(40, 150));
    answers(&pty, "go", "It runs.");
    ready(&pty);
    project.file("go", "");
    pty.wait_whole("ended, exited with code 3: until [ -e go ]");
    pty.line("/tasks");
    let shown = pty.wait_for("no background tasks are running");
    assert!(shown.contains("· exited with code 3"), "{shown}");
    pty.send("1");
    let shown = pty.wait_whole("exit 3 (exited with code 3)");
    assert_eq!(shown.matches("ended, exited with code 3").count(), 1, "{shown}");
}

#[test]
fn what_was_moved_into_the_background_ends_with_the_session() {
    for signal in [None, Some(Signal::SIGTERM), Some(Signal::SIGHUP)] {
        let project = project();
        let id = format!("toolu_moved_{}", signal.map_or(0, |signal| signal as i32));
        let server = model([bash(&id, "touch begun; sleep 600"), Reply::say("It goes on.")]);
        let pty = start(&project, &server, &["--allowedTools", "Bash"]);
        pty.line("go");
        until("the command", || project.path("begun").exists());
        pty.wait_for("sleep 600");
        pty.key(Key::Ctrl('b'));
        pty.wait_for("It goes on.");
        ready(&pty);
        match signal {
            None => pty.line("/exit"),
            Some(signal) => pty.kill(signal),
        }
        pty.wait_exit();
        let ended = "SELECT end_reason, ended_at IS NOT NULL FROM background_tasks";
        assert_eq!(project.sql(ended), ["session_ended|1"], "{signal:?}");
        if signal.is_none() {
            pty.wait_whole("ended with the session: 1 background task");
        }
    }
}

#[test]
fn ctrl_b_without_a_command_says_that_nothing_can_go_there() {
    let project = project();
    let server =
        model([Reply::say("a very long story ".repeat(40)).slow(Duration::from_millis(50))]);
    let pty = start(&project, &server, &[]);
    pty.line("go");
    pty.wait_for("esc to interrupt");
    pty.key(Key::Ctrl('b'));
    pty.wait_whole("nothing runs that can go on in the background");
}

#[test]
fn ctrl_x_ctrl_k_twice_stops_what_runs_in_the_background() {
    let project = project();
    let start_it = json!({"command": "touch begun; sleep 600", "run_in_background": true});
    let server = model([
        Reply::new().call("toolu_shell_ctrl_k", "Bash", start_it),
        Reply::say("It runs."),
        Reply::say("It was stopped."),
    ]);
    let pty = start(&project, &server, &["--allowedTools", "Bash"]);
    answers(&pty, "go", "It runs.");
    pty.wait_for("1 task");
    for words in ["press it again", "background tasks are being stopped"] {
        pty.key(Key::Ctrl('x'));
        pty.key(Key::Ctrl('k'));
        pty.wait_for(words);
    }
    pty.wait_gone("1 task");
    answers(&pty, "/tasks", "no background tasks are running");
}

#[test]
fn an_ask_rule_counts_as_yes_and_a_hook_that_denies_stays() {
    let project = project();
    user_settings(
        &project,
        &json!({
            "permissions": {"ask": ["Bash(mkdir *)"]},
            "hooks": {"PreToolUse": hook("Bash", "if grep -q 'mkdir two'; then echo not two >&2; exit 2; fi")},
        }),
    );
    let pty = start_alone(&project);
    answers(&pty, "!mkdir one && echo it is $((20 + 22))", "it is 42");
    ready(&pty);
    let logged = project.sql("SELECT decision, reason_json FROM tool_permission_log");
    assert!(logged.len() == 1 && logged[0].starts_with("allow|"), "{logged:?}");
    assert!(logged[0].contains("operator") && logged[0].contains("Bash(mkdir *)"), "{logged:?}");
    assert!(logged[0].contains("\"via\":\"shell\""), "{logged:?}");
    answers(&pty, "!mkdir two", "hooks: denied by ");
    assert!(project.path("one").exists() && !project.path("two").exists());
}

#[test]
fn esc_interrupts_a_command_line_of_ones_own() {
    let project = project();
    let pty = start_alone(&project);
    pty.line("!touch begun; sleep 600");
    until("the command", || project.path("begun").exists());
    pty.key(Key::Esc);
    pty.wait_whole("interrupted");
    ready(&pty);
    answers(&pty, "!echo $((20 + 22))", "42");
}

#[test]
fn tab_completes_a_command_line_from_earlier_ones() {
    let (project, server) = (project(), model([]));
    let pty = start(&project, &server, &[]);
    for line in ["!echo first", "!echo second"] {
        pty.line(line);
        pty.wait_whole(&format!("⎿  {}", &line[6..]));
        ready(&pty);
    }
    typed(&pty, "!ec");
    pty.key(Key::Tab);
    pty.wait_for("> !echo second");
    pty.key(Key::Tab);
    pty.wait_for("> !echo first");
    pty.key(Key::Tab);
    pty.key(Key::Ctrl('u'));
    typed(&pty, "!nothing like it");
    pty.key(Key::Tab);
    pty.wait_for("no earlier command line begins so");
}

#[test]
fn a_failed_command_tells_its_exit_code() {
    let (project, server) = (project(), model([]));
    let pty = start(&project, &server, &[]);
    answers(&pty, "!echo said >&2; exit 3", "[exit code 3]");
    ready(&pty);
    let shown = answers(&pty, "!exit 4", "[exit code 4]");
    assert_eq!(shown.matches("[exit code 4]").count(), 1, "{shown}");
}
