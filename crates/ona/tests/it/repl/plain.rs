//! Line mode: plain lines for terminals that cannot move a cursor, and for screen readers.

use ona_testkit::pty::Exit;

use super::*;
use crate::project;

#[track_caller]
fn no_escape(pty: &Pty) {
    let raw = pty.raw();
    let at = raw.iter().position(|byte| *byte == 0x1b);
    assert_eq!(at, None, "{}", raw.escape_ascii());
}

/// Starts ona in line mode, one way or the other.
fn lines(project: &Project, server: &Server, way: &str, args: &[&str]) -> Pty {
    let args: Vec<&str> = args.iter().copied().chain((way == "--plain").then_some(way)).collect();
    let options = match way {
        "dumb" => with(server).term("dumb"),
        "reader" => with(server).env("ONA_SCREEN_READER", "1"),
        _ => with(server),
    };
    let pty = project.pty(args, options);
    pty.wait_for("/help lists the commands");
    pty.wait_until(|screen| screen.ends_with('>'));
    pty
}

#[test]
fn a_letter_and_enter_answer_and_no_escape_is_written() {
    for way in ["dumb", "--plain", "reader"] {
        let project = project();
        let server = model([
            Reply::say("I **make** it.").call("toolu_1", "Bash", json!({"command": "mkdir made"})),
            Reply::say("Done."),
        ]);
        let pty = lines(&project, &server, way, &[]);
        pty.line("make it");
        let shown = pty.wait_for("y yes, n no, a always");
        assert!(shown.contains("Allow Bash?") && shown.contains("mkdir made"), "{shown}");
        assert!(shown.contains("rules: "), "{shown}");
        assert!(
            shown.contains("always means: Bash(mkdir") && shown.contains("settings.local.json"),
            "{shown}"
        );
        pty.line("y");
        pty.wait_for("Done.");
        assert!(project.path("made").exists());
        no_escape(&pty);
    }
}

#[test]
fn the_same_commands_work_and_lists_are_numbered() {
    let project = project();
    let server = model([Reply::say("Opus here.")]);
    let pty = lines(&project, &server, "dumb", &[]);
    pty.line("/nonsense");
    pty.wait_for("Unknown command: /nonsense");
    pty.line("/voice");
    pty.wait_for("/voice: omitted");
    pty.line("/status");
    pty.wait_for("ANTHROPIC_API_KEY (a key)");
    pty.line("/export");
    pty.wait_for("a number and Enter");
    pty.key(Key::Enter);
    pty.line("/model opus");
    pty.wait_for("the model is claude-opus-4");
    pty.line("hello");
    pty.wait_for("Opus here.");
    pty.line("!echo $((40 + 2))");
    pty.wait_for("  42");
    pty.line("# plain is fine");
    pty.wait_for("saved ");
    assert_eq!(project.sql("SELECT title FROM memories"), ["plain is fine"]);
    pty.line("/theme");
    pty.wait_for("light-ansi");
    pty.wait_until(|screen| screen.ends_with("to close:"));
    pty.line("3");
    pty.wait_for("theme = \"light\"");
    no_escape(&pty);
}

#[test]
fn words_are_a_no_and_n_is_a_no() {
    let project = project();
    let server =
        model([bash("toolu_1", "mkdir made"), bash("toolu_2", "mkdir made"), Reply::say("I see.")]);
    let pty = lines(&project, &server, "dumb", &[]);
    pty.line("go");
    pty.wait_for("y yes, n no");
    pty.line("use another name");
    pty.wait_until(|screen| screen.matches("y yes, n no").count() == 2);
    pty.line("n");
    let shown = pty.wait_for("I see.");
    assert!(shown.contains("denied by human: "), "{shown}");
    assert!(server.requests()[1].body.to_string().contains("use another name"));
    assert!(!project.path("made").exists());
    no_escape(&pty);
}

#[test]
fn questions_are_answered_with_a_number_or_words() {
    let project = project();
    let ask = |id: &str, several: bool| {
        let input = json!({"questions": [{"question": "Which?", "header": "H", "multiSelect": several, "options": [
            {"label": "Red", "description": ""}, {"label": "Blue", "description": ""}]}]});
        Reply::new().call(id, "AskUserQuestion", input)
    };
    let server = model([
        ask("toolu_1", false),
        ask("toolu_2", true),
        ask("toolu_3", false),
        Reply::say("Thanks."),
    ]);
    let pty = lines(&project, &server, "dumb", &[]);
    pty.line("ask me");
    pty.wait_for("a number, or an answer of your own");
    pty.line("2");
    pty.wait_for("numbers with commas");
    pty.line("1,2");
    pty.wait_until(|screen| screen.matches("a number, or an answer of your own").count() == 2);
    pty.line("neither");
    pty.wait_for("Thanks.");
    assert!(result(&project, "toolu_1").contains("Blue"));
    assert!(result(&project, "toolu_2").contains("Red, Blue"));
    assert!(result(&project, "toolu_3").contains("neither"));
    no_escape(&pty);
}

#[test]
fn trust_is_asked_in_lines_too() {
    let (project, server) = (project(), model([]));
    project.file(
        ".claude/settings.json",
        json!({"hooks": {"SessionStart": hook("", "touch ran")}}).to_string(),
    );
    let pty = project.pty([""; 0], with(&server).term("dumb"));
    let shown = pty.wait_for("y yes, n no:");
    assert!(shown.contains("Do you trust this folder?"), "{shown}");
    pty.line("y");
    pty.wait_for("/help lists the commands");
    until("the hook", || project.path("ran").exists());
    no_escape(&pty);
}

#[test]
fn hostile_text_is_plain_here_too() {
    let project = project();
    project.file("evil.txt", "\x1b]0;EVIL\x07\x1b[31mRED\n");
    let server = model([
        Reply::say("\x1b[2Jhello").call("toolu_1", "Bash", json!({"command": "cat evil.txt"})),
        Reply::say("Done."),
    ]);
    let pty = lines(&project, &server, "--plain", &["--allowedTools", "Bash"]);
    pty.line("go");
    pty.wait_for("Done.");
    no_escape(&pty);
}

#[test]
fn exit_and_the_end_of_the_input_leave() {
    let (project, server) = (project(), model([]));
    let pty = lines(&project, &server, "dumb", &[]);
    pty.key(Key::Ctrl('d'));
    assert_eq!(pty.wait_exit(), Exit::Code(0));
    for word in ["/exit", "/quit"] {
        let pty = lines(&project, &server, "dumb", &[]);
        pty.line(word);
        assert_eq!(pty.wait_exit(), Exit::Code(0), "{word}");
        no_escape(&pty);
    }
}

#[test]
fn ctrl_c_interrupts_a_turn() {
    let project = project();
    let server =
        model([bash("toolu_plain_ctrl_c", "touch begun; sleep 600"), Reply::say("I stopped.")]);
    let pty = lines(&project, &server, "dumb", &["--allowedTools", "Bash"]);
    pty.line("go");
    until("the command", || project.path("begun").exists());
    pty.key(Key::Ctrl('c'));
    pty.wait_for("interrupted");
    pty.line("well?");
    pty.wait_for("I stopped.");
}
