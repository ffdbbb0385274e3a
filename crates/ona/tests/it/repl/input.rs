//! Typing: lines, history, the user's editor, vim keys, key bindings.

use std::os::unix::fs::PermissionsExt as _;

use ona_testkit::pty::Exit;

use super::*;
use crate::project;

#[test]
fn a_prompt_can_have_several_lines() {
    let (project, server) = (project(), model([Reply::say("Four lines.")]));
    let pty = start(&project, &server, &[]);
    typed(&pty, r"one\");
    pty.key(Key::Enter);
    pty.wait_for("> one\n");
    pty.send("two");
    pty.wait_for("\n  two");
    pty.key(Key::Ctrl('j'));
    pty.send("three");
    pty.wait_for("\n  three");
    pty.key(Key::Alt('\r'));
    pty.send("four");
    pty.wait_for("\n  four");
    pty.key(Key::Enter);
    pty.wait_for("Four lines.");
    assert!(last_told(&server).contains(r"one\ntwo\nthree\nfour"), "{}", last_told(&server));
}

/// Two prompts, and the end.
fn counted(project: &Project, server: &Server) {
    let pty = start(project, server, &[]);
    answers(&pty, "count the apples", "One.");
    ready(&pty);
    answers(&pty, "count the pears", "Two.");
    ready(&pty);
    pty.line("/exit");
    assert_eq!(pty.wait_exit(), Exit::Code(0));
}

#[test]
fn the_history_of_a_directory_is_there_at_the_next_start() {
    let (project, server) = (project(), model([Reply::say("One."), Reply::say("Two.")]));
    counted(&project, &server);
    let pty = start(&project, &server, &[]);
    pty.key(Key::Ctrl('r'));
    pty.send("count");
    pty.wait_for("search: count  count the pears");
    pty.key(Key::Ctrl('r'));
    pty.wait_for("search: count  count the apples");
    // Another directory has its own.
    let other = crate::project();
    let pty = start_in(&other, &[], with(&server).env("AGENT_SDLC_DB", project.database()));
    pty.key(Key::Ctrl('r'));
    pty.send("count");
    pty.wait_for("search: count  no match");
}

#[test]
fn up_and_down_go_through_the_history() {
    let (project, server) = (project(), model([Reply::say("One."), Reply::say("Two.")]));
    counted(&project, &server);
    let pty = start(&project, &server, &[]);
    typed(&pty, "a draft");
    pty.key(Key::Up);
    pty.wait_for("> /exit");
    pty.key(Key::Up);
    pty.wait_for("> count the pears");
    pty.key(Key::Up);
    pty.wait_for("> count the apples");
    pty.key(Key::Down);
    pty.wait_for("> count the pears");
    pty.key(Key::Down);
    pty.key(Key::Down);
    pty.wait_for("> a draft");
}

#[test]
fn ctrl_r_searches_the_history() {
    let project = project();
    let pty = start_alone(&project);
    for line in ["/help exit", "/help copy", "/help clear"] {
        pty.line(line);
        ready(&pty);
    }
    pty.key(Key::Ctrl('r'));
    pty.wait_for("search:");
    pty.send("help");
    pty.wait_for("search: help  /help clear");
    pty.key(Key::Ctrl('r'));
    pty.wait_for("search: help  /help copy");
    // Tab takes it, to be changed.
    pty.key(Key::Tab);
    pty.wait_gone("search:");
    pty.wait_for("> /help copy");
    pty.key(Key::Ctrl('u'));
    ready(&pty);
    // Enter runs it.
    pty.key(Key::Ctrl('r'));
    pty.send("exi");
    pty.wait_for("search: exi  /help exit");
    let before = pty.whole().matches("Leave").count();
    pty.key(Key::Enter);
    pty.wait_until(|_| pty.whole().matches("Leave").count() > before);
    pty.key(Key::Ctrl('r'));
    pty.send("zzz");
    pty.wait_for("no match");
    pty.key(Key::Ctrl('c'));
    pty.wait_gone("search:");
    assert!(pty.is_running());
}

#[test]
fn a_prompt_is_edited_in_the_users_editor() {
    let (project, server) = (project(), model([Reply::say("Edited.")]));
    let editor =
        project.file("editor.sh", "#!/bin/sh\nprintf '%s, and more' \"$(cat \"$1\")\" > \"$1\"\n");
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let pty = start_in(&project, &[], with(&server).env("EDITOR", &editor));
    for (key, wanted) in
        [(Key::Ctrl('g'), "> this, and more"), (Key::Ctrl('e'), "> this, and more, and more")]
    {
        match key {
            Key::Ctrl('e') => pty.key(Key::Ctrl('x')),
            _ => typed(&pty, "this"),
        }
        pty.key(key);
        pty.wait_for(wanted);
    }
    pty.key(Key::Enter);
    pty.wait_for("Edited.");
    assert!(last_told(&server).contains("this, and more, and more"));
}

#[test]
fn an_editor_that_fails_leaves_the_prompt() {
    let project = project();
    let options = PtyOptions::default().env("ANTHROPIC_API_KEY", KEY).env("EDITOR", "false");
    let pty = start_in(&project, &[], options);
    typed(&pty, "this stays");
    pty.key(Key::Ctrl('g'));
    pty.wait_whole("the editor `false` failed");
    pty.wait_for("> this stays");
}

#[test]
fn vim_keys_start_in_insert() {
    let project = project();
    user_settings(&project, &json!({"editorMode": "vim"}));
    let pty = project.pty([""; 0], PtyOptions::default().env("ANTHROPIC_API_KEY", KEY));
    pty.wait_for("-- INSERT --");
    typed(&pty, "one two three");
    pty.key(Key::Esc);
    pty.wait_for("-- NORMAL --");
    pty.send("0");
    pty.send("dw");
    pty.wait_for("> two three");
    pty.send("x");
    pty.wait_for("> wo three");
    pty.send("u");
    pty.wait_for("> two three");
    pty.send("$bC");
    pty.wait_for("-- INSERT --");
    pty.send("four");
    pty.wait_for("> two four");
}

#[test]
fn vim_is_switched_on_and_off_by_its_command() {
    let project = project();
    let pty = start_alone(&project);
    answers(&pty, "/vim", "vim keys are on");
    pty.wait_for("-- INSERT --");
    answers(&pty, "/vim", "vim keys are off");
    ready(&pty);
}

#[test]
fn key_bindings_are_read_and_act_as_soon_as_they_are_saved() {
    let project = project();
    let editor = project.file("editor.sh", "#!/bin/sh\ncat > \"$1\" <<'END'\n{\"bindings\": [{\"context\": \"Chat\", \"bindings\": {\"alt+h\": \"history:search\"}}]}\nEND\n");
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let options = PtyOptions::default().env("ANTHROPIC_API_KEY", KEY).env("EDITOR", &editor);
    let pty = start_in(&project, &[], options);
    answers(&pty, "/keybindings", "created ");
    let file = project.home().join(".claude/keybindings.json");
    until("the bindings", || fs::read_to_string(&file).unwrap_or_default().contains("alt+h"));
    pty.wait_whole("reloaded ");
    ready(&pty);
    pty.key(Key::Alt('h'));
    pty.wait_for("search:");
}

#[test]
fn wrong_key_bindings_are_told() {
    let project = project();
    fs::create_dir_all(project.home().join(".claude")).unwrap();
    let bindings = json!({"bindings": [{"context": "Chat", "bindings": {"alt+h": "no:such"}}]});
    fs::write(project.home().join(".claude/keybindings.json"), bindings.to_string()).unwrap();
    let pty = start_alone(&project);
    pty.wait_whole("keybindings.json: ");
    pty.wait_whole("no:such");
}

#[test]
fn a_prompt_is_put_aside_and_comes_back() {
    let project = project();
    let pty = start_alone(&project);
    typed(&pty, "not now");
    pty.key(Key::Ctrl('s'));
    pty.wait_gone("> not now");
    pty.key(Key::Ctrl('s'));
    pty.wait_for("> not now");
}

#[test]
fn wide_characters_keep_the_cursor_in_place() {
    let project = project();
    let pty = start_alone(&project);
    typed(&pty, "世界 🎉");
    let (row, column) = pty.cursor();
    assert_eq!((pty.find("世界").unwrap().0, column), (row, 2 + 4 + 1 + 2));
    pty.key(Key::Left);
    pty.wait_until(|_| pty.cursor() == (row, 2 + 4 + 1));
    pty.key(Key::Backspace);
    pty.wait_for("世界🎉");
}

#[test]
fn what_is_typed_before_the_session_is_open_is_in_the_history() {
    let project = project();
    user_settings(
        &project,
        &json!({"hooks": {
            "SessionStart": hook("", "until [ -e go ]; do sleep 0.02; done"),
        }}),
    );
    let pty = project.pty([""; 0], PtyOptions::default().env("ANTHROPIC_API_KEY", KEY));
    pty.wait_for("opening the session");
    pty.line("/help exit");
    project.file("go", "");
    pty.wait_whole("Leave");
    ready(&pty);
    pty.key(Key::Up);
    pty.wait_for("> /help exit\n──");
}

#[test]
fn a_burst_without_brackets_arrives_whole_by_itself() {
    let project = project();
    let server = model([Reply::say("A lot.")]);
    let pty = start(&project, &server, &[]);
    // More than what is read at once, as from a terminal that does not mark pastes.
    pty.send(&format!("{}END", "w".repeat(6_000)));
    pty.wait_for("wwwEND");
    pty.key(Key::Enter);
    pty.wait_whole("A lot.");
    assert!(server.requests()[0].body.to_string().contains(&format!("{}END", "w".repeat(6_000))));
}
