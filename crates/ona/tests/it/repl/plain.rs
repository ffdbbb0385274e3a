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
    pty.wait_for("nothing to export");
    pty.line("/model opus");
    pty.wait_for("the model is claude-opus-4");
    pty.line("hello");
    pty.wait_for("Opus here.");
    pty.line("/export");
    pty.wait_for("a number and Enter");
    pty.key(Key::Enter);
    pty.line("!echo $((40 + 2))");
    pty.wait_for("  42");
    pty.line("# plain is fine");
    pty.wait_for("saved ");
    assert_eq!(project.sql("SELECT title FROM memories"), ["plain is fine"]);
    pty.line("/theme");
    pty.wait_for("light-ansi");
    pty.wait_until(|screen| screen.ends_with("to close:"));
    pty.line("3");
    pty.wait_for("the theme is light");
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
    assert!(shown.contains("human: denied by "), "{shown}");
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
        ask("toolu_4", false),
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
    pty.wait_until(|screen| screen.matches("answer of your own, n declines").count() == 4);
    pty.line("n");
    pty.wait_for("Thanks.");
    assert!(result(&project, "toolu_1").contains("Blue"));
    assert!(result(&project, "toolu_2").contains("Red, Blue"));
    assert!(result(&project, "toolu_3").contains("neither"));
    assert!(result(&project, "toolu_4").contains("declined to answer"));
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
    pty.wait_until(|screen| screen.ends_with("[Ctrl-D again leaves]\n>"));
    // Only two in a row leave.
    pty.line("/voice");
    pty.wait_for("/voice: omitted");
    pty.wait_until(|screen| screen.ends_with("\n>"));
    pty.key(Key::Ctrl('d'));
    pty.wait_until(|screen| screen.matches("Ctrl-D again leaves").count() == 2);
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

#[test]
fn some_commands_do_not_wait_for_the_turn_and_the_others_say_that_they_do() {
    let project = project();
    let server = model([
        bash("toolu_plain_meanwhile", "touch begun; until test -e go; do sleep 0.05; done"),
        Reply::say("Done."),
        Reply::say("Next."),
    ]);
    let pty = lines(&project, &server, "dumb", &["--allowedTools", "Bash"]);
    pty.line("go");
    until("the command", || project.path("begun").exists());
    pty.line("/status");
    pty.wait_whole("ANTHROPIC_API_KEY (a key)");
    pty.line("/theme");
    pty.wait_until(|screen| screen.ends_with("to close:"));
    pty.key(Key::Enter);
    pty.line("and then?");
    pty.wait_for("[waits until what runs has ended: and then?]");
    pty.line("/clear");
    pty.wait_for("[waits until what runs has ended: /clear]");
    assert_eq!(server.requests().len(), 1);
    project.file("go", "");
    pty.wait_whole("Next.");
    pty.wait_whole("a new conversation");
    no_escape(&pty);
}

#[test]
fn a_list_takes_commands_and_says_what_it_takes() {
    let (project, server) = (project(), model([Reply::say("Hello.")]));
    let pty = lines(&project, &server, "dumb", &[]);
    pty.line("hi");
    pty.wait_for("Hello.");
    pty.wait_until(|screen| screen.ends_with("\n>"));
    let open = |pty: &Pty, line: &str| {
        pty.line(line);
        pty.wait_until(|screen| screen.ends_with("to close:"));
    };
    open(&pty, "/theme");
    pty.line("mauve");
    pty.wait_for("nothing fits `mauve`: a number from 1 to 7");
    pty.wait_until(|screen| screen.ends_with("to close:"));
    pty.line("/voice");
    pty.wait_for("/voice: omitted");
    pty.wait_until(|screen| screen.ends_with("\n>"));
    // A field takes a path, but no command.
    open(&pty, "/export");
    pty.line("2");
    pty.wait_until(|screen| screen.contains("File [ona-") && screen.ends_with("]:"));
    pty.line("/fast");
    pty.wait_for("/fast: omitted");
    open(&pty, "/export");
    pty.line("2");
    pty.wait_until(|screen| screen.ends_with("]:"));
    let file = project.path("said.txt");
    pty.line(file.to_str().unwrap());
    pty.wait_for("wrote ");
    assert!(file.exists());
    no_escape(&pty);
}

#[test]
fn a_command_at_a_question_is_no_answer() {
    let project = project();
    let input = json!({"command": "mkdir made", "description": "Make a directory"});
    let server = model([Reply::new().call("toolu_1", "Bash", input), Reply::say("Done.")]);
    let pty = lines(&project, &server, "dumb", &[]);
    pty.line("go");
    let shown = pty.wait_for("y yes, n no");
    assert!(shown.contains("(Make a directory)"), "{shown}");
    pty.line("/status");
    pty.wait_for("answer it first");
    pty.wait_until(|screen| screen.matches("y yes, n no").count() == 2);
    pty.key(Key::Ctrl('d'));
    pty.wait_until(|screen| screen.matches("y yes, n no").count() == 3);
    pty.line("y");
    pty.wait_for("Done.");
    assert!(project.path("made").exists());
}

#[test]
fn answers_of_commands_are_readable_lines() {
    let project = project();
    let server = model([Reply::say("Hello.")]);
    let pty = lines(&project, &server, "dumb", &[]);
    let shown = answers(&pty, "/help", "Not in ona");
    assert!(shown.contains("Set the reasoning effort"), "{shown}");
    assert!(!shown.contains("\\|") && !shown.contains("|---"), "{shown}");
    pty.line("hello");
    pty.wait_whole("Hello.");
    pty.wait_until(|screen| screen.ends_with("\n>"));
    let shown = answers(&pty, "/copy", "no clipboard in line mode");
    assert!(shown.matches("Hello.").count() == 2 && !shown.contains("copied"), "{shown}");
    no_escape(&pty);
}

#[test]
fn an_emoji_that_comes_in_pieces_stays_whole() {
    let project = project();
    let family = "👨\u{200d}👩\u{200d}👧";
    let server = model([Reply::say(format!("A {family} and ❤\u{fe0f} here."))]);
    let pty = lines(&project, &server, "dumb", &[]);
    pty.line("hello");
    pty.wait_for("here.");
    let raw = String::from_utf8(pty.raw()).unwrap();
    assert!(raw.contains(&format!("A {family} and ❤\u{fe0f} here.")), "{raw}");
}

#[test]
fn a_diff_has_the_path_of_the_file() {
    let project = project();
    let path = project.path("new.txt");
    let input = json!({"file_path": path, "content": "one\n"});
    let server = model([Reply::new().call("toolu_1", "Write", input), Reply::say("Done.")]);
    let pty = lines(&project, &server, "dumb", &["--permission-mode", "acceptEdits"]);
    pty.line("go");
    pty.wait_for("Done.");
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    assert!(raw.contains(&format!("+++ b{}", path.display())), "{raw}");
}

#[test]
fn what_is_lost_is_asked_about_in_plain_lines_too() {
    let (project, server) = (project(), model([]));
    let pty = lines(&project, &server, "--plain", &[]);
    pty.line("/permissions add allow Bash(mkdir *)");
    pty.wait_for("added to ");
    let ask = |answer: &str| {
        pty.line("/permissions remove allow Bash(mkdir *)");
        pty.wait_for("Remove this rule: allow Bash(mkdir *)?");
        pty.wait_for("2. No");
        pty.wait_until(|screen| screen.ends_with("to close:"));
        pty.line(answer);
    };
    ask("2");
    pty.wait_until(|screen| screen.ends_with('>'));
    assert_eq!(local_settings(&project)["permissions"]["allow"], json!(["Bash(mkdir *)"]));
    ask("y");
    pty.wait_for("removed from ");
    no_escape(&pty);
}

#[test]
fn words_search_in_a_list_of_plain_lines() {
    let (project, server) = (project(), model([]));
    let pty = lines(&project, &server, "--plain", &[]);
    pty.line("/theme");
    pty.wait_for("7. light-ansi");
    pty.wait_until(|screen| screen.ends_with("to close:"));
    pty.line("daltonized");
    pty.wait_for("2. light-daltonized");
    pty.wait_until(|screen| screen.ends_with("to close:"));
    pty.line("1");
    pty.wait_for("the theme is dark-daltonized");
    no_escape(&pty);
}

#[test]
fn ctrl_d_twice_leaves_whatever_runs() {
    let (project, server) = (project(), context::overloaded());
    let pty = lines(&project, &server, "--plain", &[]);
    pty.line("hi");
    pty.wait_for("Hello.");
    pty.wait_until(|screen| screen.ends_with("\n>"));
    pty.line("/compact");
    pty.wait_for("[retry 1 of");
    pty.key(Key::Ctrl('d'));
    pty.wait_for("[Ctrl-D again leaves]");
    pty.key(Key::Ctrl('d'));
    assert_eq!(pty.wait_exit(), Exit::Code(0));
}
