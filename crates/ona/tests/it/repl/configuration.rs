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
    let address = server.base_url();
    assert!(shown.contains(&format!("server    {address} (answers in ")), "{shown}");
    drop(server);
    ready(&pty);
    answers(&pty, "/status", &format!("server    {address} (cannot be reached: "));
}

#[test]
fn theme_is_chosen_from_a_list_and_kept_for_the_user() {
    let project = project();
    let pty = start_alone(&project);
    pty.line("/theme");
    let shown = pty.wait_for("dark-daltonized");
    assert!(shown.contains("1. auto"), "{shown}");
    pty.send("3");
    let shown = pty.wait_whole("the theme is light");
    assert!(shown.contains("home/.claude/settings.json"), "{shown}");
    assert_eq!(local_settings(&project), Value::Null, "the list writes your own settings too");
    ready(&pty);
    pty.line("/theme");
    pty.wait_for("light ✔");
    pty.wait_for("t code without colours");
    pty.send("t");
    pty.wait_whole("code has no colours now");
    ready(&pty);
    answers(&pty, "/theme dark", "the theme is dark");
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
    answers(&pty, &format!("/statusline {command}"), "the status line comes from");
    pty.wait_for("model is claude-sonnet-4");
    ready(&pty);
    answers(&pty, "/statusline off", "removed the status line command from");
    pty.wait_gone("model is claude-sonnet-4");
    ready(&pty);
    answers(&pty, "/statusline echo >&2 too bad; exit 3", "the status line comes from");
    pty.wait_whole("the status line command failed with exit code 3: too bad");
    ready(&pty);
    let mode = r#"grep -o 'permission_mode":"[a-zA-Z]*'"#;
    answers(&pty, &format!("/statusline {mode}"), "the status line comes from");
    pty.wait_for("permission_mode\":\"default");
    pty.key(Key::BackTab);
    pty.wait_for("permission_mode\":\"acceptEdits");
    // What is no command is a description for the model.
    answers(&pty, "/statusline whatever you find nice", "One.");
    assert!(last_told(&server).contains("whatever you find nice"));
}

#[test]
fn terminal_setup_and_release_notes_tell_in_words() {
    let project = project();
    let pty = start_alone(&project);
    answers(&pty, "/terminal-setup", "Shift+Enter");
    ready(&pty);
    answers(&pty, "/release-notes", "Changelog");
}

#[test]
fn the_sandbox_is_shown_and_switched() {
    let project = project();
    let pty = start_alone(&project);
    pty.line("/sandbox");
    let shown = pty.wait_for("Sandbox of commands");
    assert!(shown.contains("sandbox.enabled is not set"), "{shown}");
    pty.key(Key::Esc);
    ready(&pty);
    answers(&pty, "/sandbox on", "commands run in the sandbox; saved in ");
    ready(&pty);
    pty.line("/sandbox");
    let shown = pty.wait_for("writable ");
    assert!(shown.contains(&project.dir().display().to_string()), "{shown}");
    pty.key(Key::Esc);
    ready(&pty);
    answers(&pty, "/sandbox nonsense", "unknown argument `nonsense`: on, off");
    ready(&pty);
    pty.line("!touch /etc/ona-made");
    pty.wait_whole("[sandbox] refused writing /etc/ona-made");
}

#[test]
fn the_status_line_command_is_told_everything() {
    let project = project();
    let write = json!({"file_path": project.path("new.txt"), "content": "one\ntwo\n"});
    let server = model([Reply::new().call("toolu_w", "Write", write), Reply::say("Done.")]);
    let told = project.path("told.json");
    let line = format!("cat > {0}.part; mv {0}.part {0}; echo told", told.display());
    user_settings(
        &project,
        &json!({
            "statusLine": {"type": "command", "command": line}, "editorMode": "vim",
            "permissions": {"allow": ["Edit"]},
        }),
    );
    let pty = start(&project, &server, &["--name", "the-name"]);
    answers(&pty, "go", "Done.");
    let read = || -> Value {
        serde_json::from_str(&fs::read_to_string(&told).unwrap_or_default()).unwrap_or_default()
    };
    until("the turn in the status line", || read()["cost"]["total_lines_added"] == 2);
    let status = read();
    for (pointer, expected) in [
        ("/session_name", json!("the-name")),
        ("/transcript_path", json!("")),
        ("/model/id", json!("claude-sonnet-4-20250514")),
        ("/workspace/project_dir", json!(project.dir())),
        ("/output_style/name", json!("default")),
        ("/cost/total_lines_removed", json!(0)),
        ("/context_window/context_window_size", json!(200_000)),
        ("/exceeds_200k_tokens", json!(false)),
        ("/vim/mode", json!("INSERT")),
        ("/phase", json!("idle")),
        ("/sandbox", json!("none")),
    ] {
        assert_eq!(status.pointer(pointer), Some(&expected), "{pointer}: {status}");
    }
    for pointer in [
        "/session_id",
        "/cwd",
        "/version",
        "/model/display_name",
        "/workspace/current_dir",
        "/workspace/added_dirs",
        "/cost/total_cost_usd",
        "/cost/total_duration_ms",
        "/cost/total_api_duration_ms",
        "/context_window/total_input_tokens",
        "/context_window/total_output_tokens",
        "/context_window/used_percentage",
        "/context_window/remaining_percentage",
        "/context_window/current_usage/input_tokens",
        "/context_window/current_usage/cache_read_input_tokens",
    ] {
        assert!(status.pointer(pointer).is_some(), "{pointer}: {status}");
    }
    pty.key(Key::Esc);
    until("the mode of vim", || read()["vim"]["mode"] == "NORMAL");
}

#[test]
fn an_output_style_changes_the_system_prompt_of_the_next_session() {
    let (project, server) = (project(), model([Reply::say("One."), Reply::say("Two.")]));
    let styles = project.path(".claude/output-styles");
    fs::create_dir_all(&styles).unwrap();
    let text = "---\nname: Pirate\ndescription: Speaks like one\n---\nSay arr.\n";
    fs::write(styles.join("pirate.md"), text).unwrap();
    let pty = start(&project, &server, &[]);
    answers(&pty, "/output-style piratical", "unknown output style `piratical`; there are: Pirate");
    ready(&pty);
    pty.line("/output-style");
    let shown = pty.wait_for("Speaks like one");
    assert!(shown.contains("Explanatory") && shown.contains("Learning"), "{shown}");
    close(&pty);
    answers(&pty, "/output-style pirate", "it takes effect in the next session; /clear starts one");
    assert_eq!(local_settings(&project), json!({"outputStyle": "pirate"}));
    ready(&pty);
    answers(&pty, "one", "One.");
    ready(&pty);
    answers(&pty, "/config language=Latin", "it takes effect in the next session");
    ready(&pty);
    answers(&pty, "/clear", "new conversation");
    ready(&pty);
    answers(&pty, "two", "Two.");
    let system = |number: usize| server.requests()[number].body["system"].to_string();
    assert!(!system(0).contains("Say arr.") && system(0).contains("How to work:"));
    assert!(system(1).contains("Say arr.") && system(1).contains(": Latin"), "{}", system(1));
    // The gate stays, the instructions for coding do not.
    assert!(system(1).contains("passes a gate") && !system(1).contains("How to work:"));
}

#[test]
fn thinking_and_effort_of_the_settings_act_at_once() {
    let (project, server) = (project(), model([Reply::say("One."), Reply::say("Two.")]));
    let pty = start(&project, &server, &[]);
    answers(&pty, "/config alwaysThinkingEnabled=true", "alwaysThinkingEnabled = true");
    ready(&pty);
    answers(&pty, "one", "One.");
    ready(&pty);
    let thinking = |number: usize| server.requests()[number].body["thinking"].clone();
    assert_eq!(thinking(0), json!({"type": "enabled", "budget_tokens": 10_000}));
    drop(pty);
    let pty = start(&project, &server, &[]);
    answers(&pty, "two", "Two.");
    assert_eq!(thinking(1)["budget_tokens"], 10_000, "the next session reads it too");
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
    ready(&pty);
    let bindings = json!({"bindings": [{"context": "Chat", "bindings": {"ctrl+q": "chat:fly"}}]});
    fs::create_dir_all(project.home().join(".claude")).unwrap();
    fs::write(project.home().join(".claude/keybindings.json"), bindings.to_string()).unwrap();
    let shown = answers(&pty, "/doctor", "warn  keybindings");
    let row = shown.lines().find(|row| row.contains("warn  keybindings")).unwrap();
    assert!(row.contains("chat:fly"), "{shown}");
}

#[test]
fn values_that_may_be_secrets_are_neither_shown_nor_kept() {
    let project = project();
    let hook = json!({"type": "http", "url": "http://127.0.0.1:9/", "headers": {"Authorization": "Bearer swordfish-one"}});
    user_settings(
        &project,
        &json!({
            "env": {"DEPLOY_NAME": "swordfish-two"}, "apiKeyHelper": "echo swordfish-three",
            "hooks": {"Stop": [{"hooks": [hook]}]},
        }),
    );
    let pty = start_alone(&project);
    for (line, words) in [
        ("/config env", "{\"DEPLOY_NAME\":\"(set)\"}"),
        ("/config env.DEPLOY_NAME", "env.DEPLOY_NAME: (set)"),
        ("/config apiKeyHelper", "apiKeyHelper: (set)"),
        ("/config list", "\"Authorization\": \"(set)\""),
    ] {
        answers(&pty, line, words);
        ready(&pty);
    }
    assert!(!pty.whole().contains("swordfish"), "{}", pty.whole());
    answers(&pty, "/config env.FOO_TOKEN=swordfish-four", "env.FOO_TOKEN = \"(set)\"");
    ready(&pty);
    answers(&pty, "/config unset env.FOO_TOKEN", "env.FOO_TOKEN = \"(set)\"");
    ready(&pty);
    let kept = "SELECT count(*) FROM typed_prompts WHERE text LIKE '%swordfish%'";
    assert_eq!(project.sql(kept), ["0"]);
    let kept = "SELECT count(*) FROM settings_snapshot WHERE json LIKE '%swordfish-one%' OR json LIKE '%swordfish-four%'";
    assert_eq!(project.sql(kept), ["0"]);
}

#[test]
fn bypassing_permissions_is_asked_about_first() {
    let project = project();
    let pty = start_alone(&project);
    let line = "/config permissions.defaultMode=bypassPermissions";
    pty.line(line);
    pty.wait_for("Let the agent do everything without a question?");
    pty.wait_for("❯ 2. No");
    pty.key(Key::Enter);
    ready(&pty);
    assert_eq!(local_settings(&project), Value::Null);
    confirms(&pty, line, "Let the agent do everything without a question?");
    pty.wait_whole("permissions.defaultMode = \"bypassPermissions\"");
    assert_eq!(local_settings(&project)["permissions"]["defaultMode"], "bypassPermissions");
}

#[test]
fn a_setting_is_answered_in_words() {
    let project = project();
    let pty = start_alone(&project);
    answers(&pty, "/theme dark", "the theme is dark; saved in ");
    ready(&pty);
    answers(&pty, "/vim", "vim keys are on; saved in ");
    let shown = answers(&pty, "/config verbose=true", "verbose = true");
    assert!(!shown.contains("ona trust"), "{shown}");
    pty.line("/config");
    let shown = pty.wait_for("respectGitignore");
    assert!(!shown.contains("cleanupPeriodDays"), "{shown}");
}
