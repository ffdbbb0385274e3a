//! Commands about settings and the interface.

use super::*;
use crate::project;

#[test]
fn config_writes_the_local_settings_and_acts_at_once() {
    for name in ["/config", "/settings"] {
        let (project, server) = (project(), model([]));
        let pty = start(&project, &server, &[]);
        let shown = answers(&pty, &format!("{name} editorMode=vim"), "editorMode = \"vim\"");
        assert!(shown.contains("settings.local.json"), "{shown}");
        assert_eq!(local_settings(&project), json!({"editorMode": "vim"}));
        pty.wait_for("-- INSERT --");
        answers(&pty, &format!("{name} editorMode=normal"), "editorMode = \"normal\"");
        ready(&pty);
    }
}

#[test]
fn config_refuses_what_it_does_not_know() {
    let project = project();
    let pty = start_alone(&project);
    answers(&pty, "/config editorMood=vim", "did you mean `editorMode`?");
    ready(&pty);
    pty.line("/config editorMode=emacs");
    pty.wait_whole("✗ ");
    until("an answer", || pty.whole().matches("✗ ").count() == 2);
    ready(&pty);
    answers(&pty, "/config theme=beige", "unknown theme");
    assert_eq!(local_settings(&project)["theme"], Value::Null);
}

#[test]
fn config_lists_settings_and_their_values() {
    let project = project();
    user_settings(&project, &json!({"theme": "light"}));
    let pty = start_alone(&project);
    pty.line("/config");
    let shown = pty.wait_for("Changes are written to");
    assert!(shown.contains("settings.local.json"), "{shown}");
    let row = shown.lines().find(|row| row.contains("theme")).unwrap();
    assert!(row.contains("light"), "{row}");
    pty.send("verbo");
    pty.wait_for("❯ verbose");
    pty.key(Key::Enter);
    pty.wait_for("1. true");
    pty.send("1");
    pty.wait_whole("verbose = true");
    until("the setting", || local_settings(&project) == json!({"verbose": true}));
    ready(&pty);
    answers(&pty, "/config list", "verbose");
}

#[test]
fn settings_that_govern_act_on_the_next_call() {
    let project = project();
    let server = model([bash("toolu_1", "mkdir made"), Reply::say("Made.")]);
    let pty = start(&project, &server, &[]);
    answers(&pty, "/config permissions.allow=[\"Bash(mkdir *)\"]", "permissions.allow");
    ready(&pty);
    pty.line("go");
    pty.wait_until(|screen| screen.contains("Made.") || screen.contains("Allow Bash?"));
    assert!(project.path("made").exists(), "{}", pty.screen());
}

#[test]
fn status_tells_everything_but_secrets() {
    let (project, server) = (project(), model([]));
    let pty = start(&project, &server, &[]);
    let shown = answers(&pty, "/status", "ANTHROPIC_API_KEY (a key)");
    for part in [
        concat!("ona ", env!("CARGO_PKG_VERSION")),
        "session ",
        "claude-sonnet-4",
        "claude_code_subscription",
        "mode      default",
        "phase     idle",
        "sandbox   none",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(shown.contains(project.database().to_str().unwrap()), "{shown}");
    assert!(!shown.contains(KEY), "{shown}");
}

#[test]
fn theme_is_chosen_from_a_list_and_kept_for_the_user() {
    let project = project();
    let pty = start_alone(&project);
    pty.line("/theme");
    let shown = pty.wait_for("dark-daltonized");
    assert!(shown.contains("1. auto"), "{shown}");
    pty.send("3");
    pty.wait_whole("theme = \"light\"");
    ready(&pty);
    answers(&pty, "/theme dark", "theme = \"dark\"");
    ready(&pty);
    answers(&pty, "/theme beige", "unknown theme");
}

#[test]
fn color_paints_the_prompt_of_this_session() {
    let project = project();
    let pty = start_alone(&project);
    answers(&pty, "/color green", "the prompt is green in this session");
    ready(&pty);
    let (row, _) = pty.find(">").unwrap();
    let prompt = pty.screen().lines().position(|line| line.trim_end() == ">").unwrap();
    let border = u16::try_from(prompt - 1).unwrap();
    pty.wait_until(|_| pty.fg_at(border, 3) == ona_testkit::pty::Color::Idx(2));
    assert!(row > 0);
    answers(&pty, "/color ultraviolet", "unknown colour");
    ready(&pty);
    pty.line("/color");
    pty.wait_for("Colour of the prompt");
}

#[test]
fn statusline_is_set_shown_and_removed() {
    let (project, server) = (project(), model([Reply::say("One."), Reply::say("Two.")]));
    let pty = start(&project, &server, &[]);
    answers(&pty, "/statusline", "there is no status line command");
    ready(&pty);
    let command =
        r#"sqlite3 :memory: "SELECT 'model is ' || json_extract('$(cat)', '$.model.id')""#;
    answers(&pty, &format!("/statusline {command}"), "the status line is printed by");
    ready(&pty);
    answers(&pty, "one", "One.");
    pty.wait_for("model is claude-sonnet-4");
    ready(&pty);
    answers(&pty, "/statusline off", "no status line command any more");
    ready(&pty);
    answers(&pty, "two", "Two.");
    pty.wait_gone("model is claude-sonnet-4");
}

#[test]
fn terminal_setup_sandbox_and_release_notes_tell_in_words() {
    let project = project();
    let pty = start_alone(&project);
    answers(&pty, "/terminal-setup", "Shift+Enter");
    ready(&pty);
    answers(&pty, "/sandbox", "the level is none");
    ready(&pty);
    answers(&pty, "/release-notes", "Changelog");
}

#[test]
fn output_style_is_a_setting() {
    let project = project();
    let pty = start_alone(&project);
    answers(&pty, "/output-style explanatory", "outputStyle = \"explanatory\"");
    assert_eq!(local_settings(&project), json!({"outputStyle": "explanatory"}));
    ready(&pty);
    pty.line("/output-style");
    pty.wait_for("Now: explanatory");
}

#[test]
fn doctor_checks_the_record() {
    let project = project();
    let pty = start_alone(&project);
    let shown = answers(&pty, "/doctor", "ok    settings");
    assert!(shown.contains("ok    database") && shown.contains("ok    integrity"), "{shown}");
}

#[test]
fn doctor_tells_what_is_wrong_with_rules_and_key_bindings() {
    let project = project();
    user_settings(&project, &json!({"permissions": {"allow": ["Bash(("]}}));
    let pty = start_alone(&project);
    pty.wait_whole("missing `)` at the end");
    let shown = answers(&pty, "/doctor", "settings     ");
    let row = shown.lines().find(|row| row.contains(" settings     ")).unwrap();
    assert!(row.contains("warn") && row.contains("missing `)`"), "{shown}");
}
