//! `ona config`, the operator's own snapshot, and what the command line adds to settings.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use ona_testkit::{Project, Ran, run};
use serde_json::{Value, json};

use crate::gate::{at_terminal, pre};
use crate::project;

fn config(project: &Project, args: &[&str]) -> Ran {
    run(project.ona(["config"]).args(args))
}

fn listed(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn what_is_held_back_is_not_listed_as_in_force() {
    let project = project();
    let settings = json!({
        "hooks": {"Stop": [pre("", "true")]},
        "permissions": {"deny": ["Read(x)"], "defaultMode": "bypassPermissions"},
    });
    project.file(".claude/settings.json", settings.to_string());
    let ran = config(&project, &["list"]);
    assert_eq!(listed(&ran), json!({"permissions": {"deny": ["Read(x)"]}}));
    for part in [
        "held back until `ona trust`",
        "hooks in .claude/settings.json",
        "permissions.defaultMode in",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let ran = config(&project, &["list", "--scope", "project"]);
    assert_eq!(listed(&ran), settings, "of a scope, what stands there");
    assert!(ran.stderr.contains("held back"), "{}", ran.stderr);
    run(&mut project.ona(["trust"]));
    let ran = config(&project, &["list"]);
    assert_eq!((listed(&ran), ran.stderr), (settings, String::new()));
}

#[test]
fn a_setting_that_another_file_overrules_is_set_with_a_warning() {
    let project = project();
    let own = project.home().join(".config/ona/settings.json");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(&own, r#"{"theme": "dark"}"#).unwrap();
    let ran = config(&project, &["set", "theme", "dark", "--scope", "user"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "the same value");
    let ran = config(&project, &["set", "theme", "light", "--scope", "user"]);
    assert_eq!(ran.code, Some(0));
    let why = format!("{} sets theme = \"dark\" and ranks higher", own.display());
    assert!(ran.stderr.contains("warning: it has no effect: "), "{}", ran.stderr);
    assert!(ran.stderr.contains(&why), "{}", ran.stderr);
}

#[test]
fn a_value_that_would_be_dropped_is_refused() {
    let project = project();
    project.file(".claude/settings.local.json", "{ /* mine */ }\n");
    for (key, value, reason) in [
        ("permissions.defaultMode", "nonsense", "unknown permission mode `nonsense`"),
        ("permissions.allow", "[\"Bash(\"]", "missing `)` at the end"),
        ("permissions.deny", "[\"Bsh(rm *)\"]", "unknown tool `Bsh`: did you mean `Bash`?"),
        ("permissions.deny", "[\"Strange(x)\"]", "unknown tool `Strange`\n"),
        ("cleanupPeriodDays", "30", "only user and managed settings, and --settings, may set it"),
    ] {
        let ran = config(&project, &["set", key, value]);
        assert_eq!(ran.code, Some(2), "{key}: {}", ran.stdout);
        assert!(ran.stderr.contains(reason), "{key}: {}", ran.stderr);
    }
    for (value, reason) in [
        ("abc", "invalid type: string \"abc\", expected a whole number"),
        ("0", "cleanupPeriodDays: it must be at least 1"),
    ] {
        let ran = config(&project, &["set", "cleanupPeriodDays", value, "--scope", "user"]);
        assert_eq!(ran.code, Some(2), "{value}: {}", ran.stdout);
        assert!(ran.stderr.contains(reason), "{value}: {}", ran.stderr);
    }
    assert_eq!(project.content(".claude/settings.local.json"), "{ /* mine */ }\n");
    for scope in ["managed", "cli", "nowhere"] {
        let ran = config(&project, &["set", "language", "x", "--scope", scope]);
        assert_eq!(ran.code, Some(2));
        assert!(
            ran.stderr.contains("cannot be changed\nhint: expected user, project or local\n"),
            "{}",
            ran.stderr
        );
    }
}

/// The last one alone would count for a parser, and a rule that forbids would be gone without a word.
#[test]
fn a_key_that_stands_twice_loses_nothing() {
    let project = project();
    let file = project.file(
        ".claude/settings.json",
        r#"{"permissions": {"deny": ["Read(x)"]}, "permissions": {"deny": ["Read(y)"]}, /* no more */}"#,
    );
    project.file("x", "hidden");
    let warning = format!("warning: {file}: permissions: it occurs more than once");
    let ran = run(&mut project.eval_command("Read", &json!({"file_path": "x"})));
    assert!(ran.stdout.contains("denied by the rule Read(x)"), "{ran:?}");
    assert!(ran.stderr.contains(&warning), "{}", ran.stderr);
    let ran = config(&project, &["list"]);
    assert_eq!(listed(&ran), json!({"permissions": {"deny": ["Read(x)", "Read(y)"]}}));
    assert!(ran.stderr.contains(&warning), "{}", ran.stderr);
    // What is set would not be what is read.
    let before = project.content(".claude/settings.json");
    let ran = config(&project, &["set", "permissions.deny", "[]", "--scope", "project"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("permissions: it occurs more than once"), "{}", ran.stderr);
    assert_eq!(project.content(".claude/settings.json"), before);

    let given = r#"{"permissions": {"deny": ["Read(z)"]}, "permissions": {}}"#;
    project.file("z", "hidden");
    let ran =
        run(project.eval_command("Read", &json!({"file_path": "z"})).args(["--settings", given]));
    assert!(ran.stdout.contains("denied by the rule Read(z)"), "{ran:?}");
}

#[test]
fn a_model_that_no_start_would_take_is_not_set() {
    let project = project();
    let set = |key, value| config(&project, &["set", key, value, "--scope", "user"]);
    let none = "hint: claude_code_subscription: claude_opus_4 (opus), claude_sonnet_4 (sonnet), \
                claude_3_5_haiku (haiku); openai_compatible: gpt_4o, gpt_4o_mini, o3, o3_mini; \
                lm_studio_local: lm_studio_server_routed\n";
    for (key, value, said) in [
        ("model", "foo", "unknown model `foo`\n"),
        ("model", "foo", none),
        ("model_config.model_id", "foo", "unknown model `foo`\n"),
        ("model_config", r#"{"model_id": "foo"}"#, none),
        (
            "model_config.provider",
            "openai",
            "unknown provider `openai` (expected claude_code_subscription, ",
        ),
        ("model_aliases.foo", "x", "`foo` in model_aliases is not a model id"),
        ("model_aliases", r#"{"opus": ""}"#, "the alias of `opus` is empty"),
    ] {
        let ran = set(key, value);
        assert_eq!(ran.code, Some(2), "{key}: {ran:?}");
        assert!(ran.stderr.contains(said), "{key}: {}", ran.stderr);
    }
    assert!(!project.home().join(".claude/settings.json").exists());
    for (key, value) in [
        ("model", "opus"),
        ("model_config.model_id", "claude_3_5_haiku"),
        ("model_aliases.opus", "claude-opus-4-5"),
        ("model", "claude-opus-4-5"),
        ("model", "null"),
    ] {
        let ran = set(key, value);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{key} {value}");
    }
    // One after the other must be possible, whatever the order.
    let ran = set("model_config.provider", "openai_compatible");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("ona -p does not start: unknown model `claude_3_5_haiku` for"),
        "{ran:?}"
    );
    let ran = set("model_config.model_id", "o3");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    // Another program may know it.
    let ran = config(&project, &["set", "model", "foo", "--force"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_directory_that_there_is_not_is_set_and_said() {
    let project = project();
    fs::create_dir(project.path("there")).unwrap();
    let value = r#"["there", "nosuch"]"#;
    let ran = config(&project, &["set", "permissions.additionalDirectories", value]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let missing = project.path("nosuch");
    let said = format!(
        "permissions.additionalDirectories[1]: directory {} does not exist\n",
        missing.display()
    );
    assert!(ran.stderr.contains(&said) && !ran.stderr.contains("Directories[0]"), "{}", ran.stderr);
    assert!(project.content(".claude/settings.local.json").contains("nosuch"));
}

/// What is the operator's own should not be committed by accident.
#[test]
fn a_new_file_that_git_does_not_ignore_is_told_of() {
    let said = "settings.local.json: git does not ignore this new file: add it to .gitignore";
    let set = |project: &Project, value: &str| {
        let ran = config(project, &["set", "language", value]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.stderr
    };
    for (ignored, told) in [
        (None, true),
        (Some("*.log\n"), true),
        (Some(".claude/\n"), false),
        (Some("*.local.json\n"), false),
    ] {
        let project = project();
        project.file(".git/HEAD", "ref: refs/heads/main\n");
        if let Some(patterns) = ignored {
            project.file(".gitignore", patterns);
        }
        assert_eq!(set(&project, "en").contains(said), told, "{ignored:?}");
        assert!(!set(&project, "de").contains(said), "only once");
    }
    assert!(!set(&project(), "en").contains(said), "there is no repository");
    let project = project();
    project.file(".git/HEAD", "ref: refs/heads/main\n");
    let call = json!({"tool": "Bash", "input": {"command": "mkdir one"}});
    let shown = at_terminal(&project, &call, "a\n");
    assert!(shown.contains(said), "{shown}");
}

#[test]
fn a_key_that_there_is_not_is_refused_with_the_one_that_may_be_meant() {
    let project = project();
    let file = ".claude/settings.local.json";
    project.file(file, "{\"theirs\": 1}\n");
    let table = [
        (
            "permisions.allow",
            "[]",
            "unknown setting `permisions`\nhint: did you mean `permissions`?\n",
        ),
        (
            "permissions",
            r#"{"alow": []}"#,
            "unknown setting `permissions.alow`\nhint: did you mean `permissions.allow`?\n",
        ),
        ("defaultMode", "plan", "did you mean `permissions.defaultMode`?\n"),
        (
            "quite.another",
            "1",
            "unknown setting `quite`\nhint: `ona config schema` lists all keys; --force",
        ),
        (
            "permissions.allow[0]",
            "Bash",
            "`permissions.allow` is a list and must be set as a whole\nhint: for example: ona config set permissions.allow '[",
        ),
        ("permissions.allow.0", "Bash", "`permissions.allow` is a list"),
        ("model.name", "x", "`model` is not an object"),
        (
            "hooks",
            r#"{"Stop": [{"hooks": [{"type": "x"}]}]}"#,
            "hooks.Stop[0].hooks[0]: `type` must be",
        ),
        ("hooks.PreTool", "[]", "hooks.PreTool: unknown hook event `PreTool`"),
        (
            "hooks.Stop",
            r#"[{"type": "http", "url": "x"}]"#,
            "hooks.Stop[0]: `url`: `x` is not a valid URL",
        ),
    ];
    for (key, value, reason) in table {
        let ran = config(&project, &["set", key, value]);
        assert_eq!(ran.code, Some(2), "{key}: {}", ran.stdout);
        assert!(ran.stderr.contains(reason), "{key}: {}", ran.stderr);
    }
    assert_eq!(project.content(file), "{\"theirs\": 1}\n");
    // What stands there is left alone, and who insists is heard: but not about lists.
    assert_eq!(config(&project, &["set", "quite.another", "1", "--force"]).code, Some(0));
    assert_eq!(config(&project, &["set", "permissions.allow[0]", "Bash", "--force"]).code, Some(2));
    let written: Value = serde_json::from_str(&project.content(file)).unwrap();
    assert_eq!(written, json!({"theirs": 1, "quite": {"another": 1}}));
    // What is merely odd is set and told of.
    let hooks = r#"[{"matcher": "bash", "hooks": [{"command": "x"}]}]"#;
    let ran = config(&project, &["set", "hooks.PreToolUse", hooks]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("`bash` matches no tool: did you mean `Bash`?"), "{}", ran.stderr);
}

#[test]
fn a_file_that_leads_out_of_the_project_is_not_written() {
    let project = project();
    let outside = project.home().join("theirs.json");
    fs::write(&outside, "{}").unwrap();
    fs::create_dir(project.path(".claude")).unwrap();
    for scope in ["project", "local"] {
        let name = if scope == "project" { "settings.json" } else { "settings.local.json" };
        symlink(&outside, project.path(".claude").join(name)).unwrap();
        let ran = config(&project, &["set", "language", "x", "--scope", scope]);
        assert_eq!(ran.code, Some(1));
        assert!(ran.stderr.contains("it leads out of the project"), "{}", ran.stderr);
    }
    assert_eq!(fs::read_to_string(outside).unwrap(), "{}");
}

#[test]
fn settings_given_on_the_command_line_must_be_settings() {
    let project = project();
    project.file("list.json", "[1]");
    for (given, reason) in [
        ("/missing.json", "--settings /missing.json: file not found"),
        ("list.json", "--settings list.json: its top level is not an object"),
        ("{\"model\":", "--settings: invalid JSON"),
    ] {
        let mut command = project.eval_command("Bash", &json!({"command": "touch done"}));
        let ran = run(command.args(["--settings", given]));
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    }
    assert!(!project.path("done").exists());
    // A name is meant from where the operator stands, wherever the session's shell went.
    project.file("deny.json", r#"{"permissions": {"deny": ["Bash(rm *)"]}}"#);
    project.ok("Bash", json!({"command": "mkdir sub && cd sub"}));
    let mut command = project.eval_command("Bash", &json!({"command": "rm x"}));
    let ran = run(command.args(["--settings", "deny.json"]));
    assert!(
        ran.stdout.contains("denied by the rule Bash(rm *) (the command line"),
        "{} {}",
        ran.stdout,
        ran.stderr
    );
}

/// A project with the operator's own snapshot in its record.
fn with_snapshot(snapshot: &str) -> Project {
    let project = project();
    project.ok("Bash", json!({"command": "true"}));
    let quoted = snapshot.replace('\'', "''");
    project
        .sql(&format!("UPDATE settings_snapshot SET json = '{quoted}' WHERE scope = 'effective'"));
    project
}

#[test]
fn an_operators_snapshot_drops_neither_the_organisation_nor_the_command_line() {
    let project =
        with_snapshot(r#"{"permissions": {"deny": ["Bash(rm *)"], "defaultMode": "yolo"}}"#);
    let managed = project.home().join("managed");
    fs::create_dir(&managed).unwrap();
    let settings = json!({"permissions": {"deny": ["Bash(curl *)"]}}).to_string();
    fs::write(managed.join("managed-settings.json"), settings).unwrap();
    let call = |command: &str| {
        let given = r#"{"permissions": {"deny": ["Bash(wget *)"]}}"#;
        let mut command = project.eval_command("Bash", &json!({"command": command}));
        run(command.args(["--settings", given]).env("ONA_MANAGED_DIRS", &managed))
    };
    for (command, by) in
        [("rm x", "database"), ("curl x", "managed ("), ("wget x", "the command line")]
    {
        let ran = call(command);
        assert!(ran.stdout.contains(&format!("({by}")), "{command}: {}", ran.stdout);
        let said = "settings come from the database's own snapshot";
        assert_eq!(ran.stderr.matches(said).count(), 1, "{}", ran.stderr);
        assert!(
            ran.stderr.contains("permissions.defaultMode: unknown permission mode `yolo`"),
            "{}",
            ran.stderr
        );
    }
    let kept =
        project.sql("SELECT json FROM settings_snapshot WHERE scope LIKE 'session:%'").join("");
    for rule in ["Bash(rm *)", "Bash(curl *)", "Bash(wget *)"] {
        assert!(kept.contains(rule), "the session keeps what it runs on: {kept}");
    }
    assert_eq!(config(&project, &["import"]).code, Some(0));
    assert!(!call("true").stderr.contains("snapshot"));
}

#[test]
fn a_snapshot_that_is_no_object_is_not_taken_for_an_empty_one() {
    for (snapshot, reason) in [("[]", "its top level is not an object"), ("{", "invalid JSON")] {
        let project = with_snapshot(snapshot);
        project.file(".claude/settings.json", r#"{"permissions": {"deny": ["Bash(rm *)"]}}"#);
        let ran = run(&mut project.eval_command("Bash", &json!({"command": "rm x"})));
        assert!(ran.stdout.contains("denied by the rule Bash(rm *)"), "{}", ran.stdout);
        let said = format!("warning: settings_snapshot('effective'): {reason}");
        assert!(ran.stderr.contains(&said), "{}", ran.stderr);
        assert!(config(&project, &["list"]).stderr.contains(&said));
        let kept = project.sql("SELECT json FROM settings_snapshot WHERE scope = 'effective'");
        assert_eq!(kept, [snapshot], "it is the operator's, and stays");
    }
}

/// A project whose user sets variables.
fn with_env(env: &Value, more: &Value) -> Project {
    let project = project();
    let mut settings = more.clone();
    settings["env"] = env.clone();
    let home = project.home().join(".claude");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("settings.json"), settings.to_string()).unwrap();
    project
}

#[test]
fn hooks_get_the_variables_of_the_settings_and_ona_has_the_last_word() {
    let hooks = json!({"hooks": {"PreToolUse": [pre("", "env > hook.env")]}});
    let env = json!({"GREETING": "hello", "LANG": "de_DE.UTF-8", "AGENT_SDLC_DB": "/theirs", "SDLC_HOOK": "0", "A=B": "x"});
    let project = with_env(&env, &hooks);
    let ran = run(&mut project.eval_command("Bash", &json!({"command": "true"})));
    for name in [
        "env.AGENT_SDLC_DB: variables of ona itself are not set here, but in its environment",
        "env.A=B: invalid variable name",
    ] {
        assert!(ran.stderr.contains(name), "{name}: {}", ran.stderr);
    }
    let seen = project.content("hook.env");
    let own = format!("AGENT_SDLC_DB={}", project.database().display());
    for line in ["GREETING=hello", "LANG=de_DE.UTF-8", "SDLC_HOOK=1", &own] {
        assert!(seen.lines().any(|seen| seen == line), "{line}: {seen}");
    }
}

#[test]
fn commands_get_the_variables_of_the_settings_too() {
    let env = json!({"GREETING": "hello", "DEPLOY_TOKEN": "very-secret-value", "AGENT_SDLC_DB": "/theirs"});
    let project = with_env(&env, &json!({}));
    let said =
        project.ok("Bash", json!({"command": "echo $GREETING $DEPLOY_TOKEN $AGENT_SDLC_DB"}));
    assert_eq!(said, format!("hello [REDACTED:live] {}\n", project.database().display()));
    let command = "echo $GREETING > made; mv made done";
    project.ok("Bash", json!({"command": command, "run_in_background": true}));
    let start = Instant::now();
    while !project.path("done").exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "the task never wrote its file");
        std::thread::yield_now();
    }
    assert_eq!(project.content("done"), "hello\n");
}
