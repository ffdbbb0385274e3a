//! Keys while the agent works and while it does not.

use super::*;
use crate::project;

fn at_work(project: &Project, server: &Server) -> Pty {
    let pty = start(project, server, &["--allowedTools", "Bash"]);
    pty.line("go");
    until("the command", || project.path("begun").exists());
    pty
}

#[test]
fn at_work_seconds_and_tokens_are_shown_and_esc_interrupts() {
    let project = project();
    let server =
        model([bash("toolu_keys_esc", "touch begun; sleep 600"), Reply::say("I stopped.")]);
    let pty = at_work(&project, &server);
    let shown = pty.wait_for("esc to interrupt");
    let row = shown.lines().find(|row| row.contains("esc to interrupt")).unwrap();
    let (before, after) = row.split_once("s · ").unwrap();
    assert!(before.ends_with(|c: char| c.is_ascii_digit()), "{row}");
    assert!(after.contains(" tokens"), "{row}");
    assert!(pty.title().starts_with("● "), "{}", pty.title());
    pty.wait_until(|screen| !screen.contains("(0s"));
    pty.key(Key::Esc);
    pty.wait_whole("interrupted");
    ready(&pty);
    assert_eq!(server.requests().len(), 1);
    let kept = "SELECT count(*) FROM transcript_entries WHERE entry_type = 'system' AND payload_json LIKE '%interrupted%'";
    assert_eq!(project.sql(kept), ["1"]);
    answers(&pty, "why?", "I stopped.");
}

#[test]
fn with_vim_the_key_is_named_that_interrupts_now() {
    let project = project();
    let server = model([bash("toolu_keys_vim", "touch begun; sleep 600")]);
    let pty = start(&project, &server, &["--allowedTools", "Bash"]);
    answers(&pty, "/vim", "vim");
    ready(&pty);
    pty.line("go");
    until("the command", || project.path("begun").exists());
    pty.wait_for("ctrl+c to interrupt");
    pty.key(Key::Esc);
    pty.wait_for("esc to interrupt");
    pty.key(Key::Esc);
    pty.wait_whole("interrupted");
}

#[test]
fn esc_interrupts_a_model_that_speaks() {
    let project = project();
    let story = "a very long story ".repeat(200);
    let server = model([Reply::say(story).slow(Duration::from_millis(20)), Reply::say("Silence.")]);
    let pty = start(&project, &server, &[]);
    pty.line("go");
    pty.wait_for("long story");
    pty.key(Key::Esc);
    pty.wait_whole("interrupted");
    ready(&pty);
    // What was shown is on the record, and the model knows what it has said.
    let kept = "SELECT payload_json FROM transcript_entries WHERE entry_type = 'assistant'";
    assert!(project.sql(kept)[0].contains("a very long story"), "{:?}", project.sql(kept));
    answers(&pty, "well?", "Silence.");
    assert!(last_told(&server).contains("a very long story"), "{}", last_told(&server));
}

#[test]
fn ctrl_c_interrupts_too_and_empties_the_prompt_when_idle() {
    let project = project();
    let server = model([bash("toolu_keys_ctrl_c", "touch begun; sleep 600")]);
    let pty = at_work(&project, &server);
    pty.key(Key::Ctrl('c'));
    pty.wait_whole("interrupted");
    ready(&pty);
    typed(&pty, "never mind");
    pty.key(Key::Ctrl('c'));
    pty.wait_gone("never mind");
    assert!(pty.is_running());
}

#[test]
fn what_is_typed_ahead_waits_its_turn() {
    let project = project();
    let server = model([
        bash("toolu_keys_ahead", "touch begun; until [ -e go ]; do sleep 0.02; done"),
        Reply::say("First done."),
        Reply::say("Second done."),
        Reply::say("Third done."),
    ]);
    let pty = at_work(&project, &server);
    pty.line("then this");
    pty.line("and that");
    let shown = pty.wait_for("esc to interrupt");
    assert!(shown.contains("then this") && shown.contains("and that"), "{shown}");
    assert_eq!(server.requests().len(), 1);
    project.file("go", "");
    let shown = pty.wait_whole("Third done.");
    let at = |words: &str| shown.rfind(words).unwrap_or_else(|| panic!("{words}: {shown}"));
    assert!(at("First done.") < at("> then this") && at("> then this") < at("Second done."));
    assert!(at("Second done.") < at("> and that") && at("> and that") < at("Third done."));
}

#[test]
fn esc_brings_back_what_was_typed_ahead() {
    let project = project();
    let server = model([bash("toolu_keys_back", "touch begun; sleep 600")]);
    let pty = at_work(&project, &server);
    pty.line("then this");
    pty.key(Key::Esc);
    pty.wait_whole("interrupted");
    pty.wait_for("> then this");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn esc_twice_goes_back_or_empties_the_prompt_into_the_history() {
    let (project, server) = (project(), model([Reply::say("Hello.")]));
    let pty = start(&project, &server, &[]);
    answers(&pty, "greet me", "Hello.");
    ready(&pty);
    typed(&pty, "half a thought");
    pty.key(Key::Esc);
    pty.wait_for("Esc again clears the prompt");
    pty.key(Key::Esc);
    pty.wait_gone("half a thought");
    pty.key(Key::Ctrl('r'));
    pty.send("thought");
    pty.wait_for("search: thought  half a thought");
    pty.key(Key::Ctrl('c'));
    pty.wait_gone("search:");
    pty.key(Key::Esc);
    pty.wait_for("Esc again goes back to an earlier prompt");
    pty.key(Key::Esc);
    let shown = pty.wait_for("Rewind to before a prompt");
    assert!(shown.contains("1. greet me"), "{shown}");
}

#[test]
fn shift_tab_goes_through_the_modes() {
    let project = project();
    let server = model([
        Reply::new().call("toolu_w", "Write", json!({"file_path": "made.txt", "content": "x\n"})),
        Reply::say("Written."),
    ]);
    let pty = start(&project, &server, &[]);
    assert!(!pty.screen().contains("mode on") && !pty.screen().contains("accept edits"));
    pty.key(Key::BackTab);
    pty.wait_for("⏵⏵ accept edits on");
    pty.key(Key::BackTab);
    pty.wait_for("⏸ plan mode on");
    pty.key(Key::BackTab);
    pty.wait_gone("plan mode on");
    assert!(!pty.screen().contains("accept edits on"));
    // It acts: an edit needs no question now.
    pty.key(Key::BackTab);
    pty.wait_for("accept edits on");
    answers(&pty, "go", "Written.");
    assert_eq!(project.content("made.txt"), "x\n");
}

#[test]
fn shift_tab_acts_while_the_agent_works() {
    let project = project();
    let server = model([
        bash("toolu_keys_cycle", "touch begun; until [ -e go ]; do sleep 0.02; done"),
        Reply::new().call("toolu_w", "Write", json!({"file_path": "made.txt", "content": "x\n"})),
        Reply::say("Written."),
    ]);
    let pty = at_work(&project, &server);
    pty.key(Key::BackTab);
    pty.wait_for("accept edits on");
    project.file("go", "");
    pty.wait_until(|screen| screen.contains("Written.") || screen.contains("Allow Write?"));
    assert!(project.path("made.txt").exists(), "{}", pty.screen());
}

#[test]
fn in_plan_mode_a_prompt_is_about_a_plan() {
    let (project, server) = (project(), model([Reply::say("I plan.")]));
    let pty = start(&project, &server, &[]);
    pty.key(Key::BackTab);
    pty.wait_for("accept edits on");
    pty.key(Key::BackTab);
    pty.wait_for("plan mode on");
    answers(&pty, "go", "I plan.");
    pty.wait_for("phase planning");
    assert_eq!(project.sql("SELECT phase FROM conversations"), ["planning"]);
}

#[test]
fn ctrl_o_shows_the_whole_transcript() {
    let project = project();
    let server = model([bash("toolu_l", "seq 1 30"), Reply::say("Thirty numbers.")]);
    let pty = start(&project, &server, &["--allowedTools", "Bash"]);
    let shown = answers(&pty, "count", "Thirty numbers.");
    assert!(shown.contains("ctrl+o shows all") && !shown.contains("  27\n"), "{shown}");
    ready(&pty);
    pty.key(Key::Ctrl('o'));
    pty.wait_for("q leaves");
    assert!(pty.inspect(|screen| screen.alternate_screen()));
    pty.wait_for("Thirty numbers.");
    pty.key(Key::Ctrl('e'));
    pty.wait_for("  27\n");
    pty.key(Key::PageUp);
    pty.wait_for("> count");
    pty.send("q");
    ready(&pty);
    assert!(!pty.inspect(|screen| screen.alternate_screen()));
    pty.wait_for("Thirty numbers.");
}

#[test]
fn the_todo_list_is_shown_and_ctrl_t_hides_it() {
    let project = project();
    let todos = json!({"todos": [
        {"content": "Dig", "status": "completed", "activeForm": "Digging"},
        {"content": "Plant", "status": "in_progress", "activeForm": "Planting"},
        {"content": "Water", "status": "pending", "activeForm": "Watering"},
    ]});
    let server = model([Reply::new().call("toolu_t", "TodoWrite", todos), Reply::say("Noted.")]);
    let pty = start(&project, &server, &[]);
    answers(&pty, "go", "Noted.");
    pty.wait_for("Water");
    pty.key(Key::Ctrl('t'));
    pty.wait_gone("Water");
    pty.key(Key::Ctrl('t'));
    pty.wait_for("Water");
    ready(&pty);
    let shown = answers(&pty, "/todos", "[x] Dig");
    assert!(shown.contains("[~] Plant") && shown.contains("[ ] Water"), "{shown}");
}

#[test]
fn ctrl_l_draws_everything_again() {
    let (project, server) = (project(), model([Reply::say("Here I am.")]));
    let pty = start(&project, &server, &[]);
    answers(&pty, "where are you?", "Here I am.");
    ready(&pty);
    let before = pty.raw().len();
    pty.key(Key::Ctrl('l'));
    pty.wait_until(|_| String::from_utf8_lossy(&pty.raw()[before..]).contains("Here I am."));
    let shown = pty.settled();
    assert_eq!(shown.matches("Here I am.").count(), 1, "{shown}");
    assert_eq!(shown.matches("> where are you?").count(), 1, "{shown}");
}
