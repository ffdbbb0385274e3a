//! Commands that write a setting say what acts afterwards: another file may rank higher.

use super::*;
use crate::project;

/// Settings of the file that `/theme`, `/vim`, `/effort` and `/statusline` write.
fn kept(project: &Project) -> Value {
    let text = fs::read_to_string(project.home().join(".claude/settings.json"));
    serde_json::from_str(&text.unwrap_or_default()).unwrap_or_default()
}

/// A wide terminal: the paths are long.
fn start_wide(project: &Project, args: &[&str]) -> Pty {
    start_in(project, args, PtyOptions::default().size(40, 240).env("ANTHROPIC_API_KEY", KEY))
}

#[test]
fn a_file_of_higher_rank_is_named_and_unset_makes_the_other_one_act() {
    let project = project();
    let pty = start_wide(&project, &[]);
    answers(&pty, "/config theme=dark", "theme = \"dark\"");
    ready(&pty);
    let shown = answers(&pty, "/theme light", "it has no effect: ");
    assert!(
        shown.contains("settings.local.json sets theme = \"dark\" and ranks higher"),
        "{shown}"
    );
    assert!(shown.contains("`/config unset theme` removes it there"), "{shown}");
    assert_eq!(kept(&project), json!({"theme": "light"}));
    ready(&pty);
    let shown = answers(&pty, "/config unset theme", "removed from ");
    assert!(
        shown.contains("removed from ") && shown.contains(".local.json: theme = \"dark\""),
        "{shown}"
    );
    assert!(shown.contains("now theme = \"light\", from "), "{shown}");
    assert_eq!(local_settings(&project), json!({}));
    ready(&pty);
    let shown = answers(&pty, "/config unset theme", "`theme` is not set in ");
    assert!(shown.contains(".claude/settings.json sets theme = \"light\""), "{shown}");
    ready(&pty);
    let shown = answers(&pty, "/theme dark-ansi", "the theme is dark-ansi");
    assert_eq!(shown.matches("it has no effect").count(), 1, "now it acts: {shown}");
}

#[test]
fn unset_tells_what_it_cannot_do() {
    let project = project();
    let pty = start_wide(&project, &[]);
    answers(&pty, "/config unset", "which setting? /config unset KEY");
    ready(&pty);
    answers(&pty, "/config unset themes", "did you mean `theme`?");
    ready(&pty);
    let shown = answers(&pty, "/config unset verbose", "`verbose` is not set in ");
    assert!(shown.contains("it is not set anywhere: the default applies"), "{shown}");
    ready(&pty);
    answers(&pty, "/config verbos", "did you mean `verbose`?");
}

#[test]
fn unset_is_in_the_menu_of_a_setting() {
    let project = project();
    let pty = start_wide(&project, &[]);
    pty.line("/config verbose");
    pty.wait_for("1. true");
    assert!(!pty.screen().contains("Remove it"), "{}", pty.screen());
    close(&pty);
    answers(&pty, "/config verbose=true", "verbose = true");
    ready(&pty);
    pty.line("/config verbose");
    pty.wait_for("3. Remove it");
    pty.wait_for("Now: true, from ");
    pty.send("3");
    pty.wait_whole("settings.local.json: verbose = true\n  verbose is not set anywhere now");
    assert_eq!(local_settings(&project), json!({}));
}

#[test]
fn every_command_that_writes_your_own_settings_tells_who_overrules_it() {
    let project = project();
    let line = json!({"type": "command", "command": "echo theirs"});
    user_settings(
        &project,
        &json!({"editorMode": "normal", "statusLine": line, "effortLevel": "low", "theme": "dark"}),
    );
    let options = PtyOptions::default().size(40, 240).env("OPENAI_API_KEY", KEY);
    let pty = start_in(&project, &["--provider", "openai_compatible", "--model", "o3"], options);
    pty.wait_for("theirs");
    let written = [
        ("/vim", "editorMode = \"normal\""),
        ("/theme light", "theme = \"dark\""),
        ("/statusline echo mine", "statusLine = "),
        ("/effort high", "effortLevel = \"low\""),
    ];
    for (told, (typed, key)) in written.into_iter().enumerate() {
        pty.line(typed);
        until("an answer", || pty.whole().matches("it has no effect: ").count() == told + 1);
        let shown = pty.whole();
        let last = shown.rsplit("it has no effect: ").next().unwrap();
        assert!(
            last.contains(&format!(".config/ona/settings.json sets {key}")),
            "{typed}: {shown}"
        );
        assert!(last.contains("change it in that file"), "{typed}: {shown}");
        ready(&pty);
    }
    pty.wait_for("· effort high");
    let shown = answers(&pty, "/effort auto", "the reasoning effort is the model's default");
    assert!(shown.contains("in the next sessions "), "{shown}");
    ready(&pty);
    answers(&pty, "/statusline off", "removed statusLine from ");
    ready(&pty);
    answers(&pty, "/statusline off", "change it there");
}

#[test]
fn the_command_line_and_scopes_that_are_not_read_are_told() {
    let project = project();
    let pty = start_wide(&project, &["--settings", r#"{"outputStyle": "Learning"}"#]);
    let shown = answers(&pty, "/output-style Explanatory", "it has no effect: ");
    assert!(shown.contains("the command line sets outputStyle = \"Learning\""), "{shown}");
    assert!(shown.contains("start ona without that option"), "{shown}");
    assert!(!shown.contains("it takes effect in the next session"), "{shown}");
    drop(pty);
    let pty = start_wide(&project, &["--setting-sources", "user"]);
    answers(&pty, "/config verbose=true", "--setting-sources leaves local settings out");
}

#[test]
fn the_mode_of_the_settings_acts_unless_one_was_chosen() {
    let (project, server) = (project(), model([]));
    let pty = start(&project, &server, &[]);
    let shown = answers(&pty, "/config permissions.defaultMode=acceptEdits", "defaultMode = ");
    assert!(!shown.contains("this session keeps"), "{shown}");
    pty.wait_for("accept edits on");
    ready(&pty);
    pty.key(Key::BackTab);
    pty.wait_for("plan mode on");
    let line = "/config permissions.defaultMode=default";
    answers(&pty, line, "this session keeps the mode plan; Shift+Tab changes it");
    pty.wait_for("plan mode on");
}

#[test]
fn a_new_conversation_takes_the_mode_of_the_settings_unless_one_was_chosen() {
    let (project, server) = (project(), model([]));
    let pty = start(&project, &server, &[]);
    answers(&pty, "/clear", "a new conversation");
    ready(&pty);
    answers(&pty, "/config permissions.defaultMode=acceptEdits", "defaultMode = ");
    pty.wait_for("accept edits on");
    ready(&pty);
    answers(&pty, "/clear", "a new conversation");
    pty.wait_for("accept edits on");
    answers(&pty, "/config permissions.defaultMode=plan", "\"plan\"");
    pty.wait_for("plan mode on");
    assert!(!pty.whole().contains("this session keeps"), "{}", pty.whole());
}

#[test]
fn the_model_of_the_settings_tells_what_ranks_above_it() {
    let project = project();
    let options = PtyOptions::default()
        .size(40, 240)
        .env("ANTHROPIC_API_KEY", KEY)
        .env("ANTHROPIC_MODEL", "claude_sonnet_4");
    let pty = start_in(&project, &[], options);
    let shown = answers(&pty, "/config model=opus", "the model is claude-opus-4");
    assert!(shown.contains("--model or ANTHROPIC_MODEL"), "{shown}");
    ready(&pty);
    let shown = answers(&pty, "/config unset model", "removed from ");
    assert!(shown.contains("this session goes on with claude-opus-4"), "{shown}");
    drop(pty);
    user_settings(&project, &json!({"model_config": {"model_id": "claude_sonnet_4"}}));
    let pty = start_wide(&project, &[]);
    let shown = answers(&pty, "/config model=opus", "the model is claude-opus-4");
    assert!(shown.contains("the next sessions use model_config.model_id"), "{shown}");
}
