//! Which files are read, and every way a file or an entry can be invalid.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;
use tempfile::TempDir;

use super::*;

struct Fixture {
    dir: TempDir,
    roots: Roots,
    given: Given,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().canonicalize().unwrap();
        let roots = Roots {
            project_dir: at.join("project"),
            home: at.join("home"),
            claude_dir: at.join("home/.claude"),
            ona_config: at.join("home/.config/ona"),
            managed_dirs: vec![at.join("etc/claude-code"), at.join("etc/ona")],
            cwd: at.join("project/sub"),
        };
        fs::create_dir_all(&roots.cwd).unwrap();
        Self { dir, roots, given: Given::default() }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    fn put(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn load(&self) -> Loaded {
        load(&self.roots, &self.given)
    }

    /// The problems, with paths relative to the fixture's directory.
    fn warnings(&self) -> Vec<String> {
        self.told(&self.load().problems().cloned().collect::<Vec<_>>())
    }

    /// What cannot be read although it may forbid something.
    fn unread(&self) -> Vec<String> {
        self.told(&self.load().unread)
    }

    fn told(&self, problems: &[Diagnostic]) -> Vec<String> {
        let root = format!("{}/", self.at("").display()).replace("//", "/");
        problems.iter().map(|problem| problem.to_string().replace(&root, "")).collect()
    }
}

/// Every place, lowest rank first, with its scope and base.
const PLACES: [(&str, Scope, &str); 8] = [
    ("home/.claude/settings.json", Scope::User, "home/.claude"),
    ("home/.config/ona/settings.json", Scope::User, "home/.config/ona"),
    ("project/.claude/settings.json", Scope::Project, "project"),
    ("project/.ona/settings.json", Scope::Project, "project"),
    ("project/.claude/settings.local.json", Scope::Local, "project"),
    ("project/.ona/settings.local.json", Scope::Local, "project"),
    ("etc/claude-code/managed-settings.json", Scope::Managed, "/"),
    ("etc/claude-code/managed-settings.d/10-a.json", Scope::Managed, "/"),
];

#[test]
fn no_file_is_no_trouble() {
    assert_eq!(Fixture::new().load(), Loaded::default());
}

#[test]
fn every_file_in_order_of_rank() {
    let fixture = Fixture::new();
    for (rank, (file, scope, base)) in PLACES.into_iter().enumerate() {
        fixture.put(file, format!(r#"{{"model": "{rank}"}}"#));
        let loaded = fixture.load();
        assert_eq!(loaded.warnings, []);
        assert_eq!(merge(&loaded.layers), json!({"model": rank.to_string()}), "{file} wins");
        let layer = loaded.layers.last().unwrap();
        assert_eq!(layer.source, Source { scope, file: Some(fixture.at(file)) });
        assert_eq!(layer.base, fixture.at(base));
    }
}

#[test]
fn the_command_line_is_above_files_and_below_the_organisation() {
    let mut fixture = Fixture::new();
    fixture.put("project/.ona/settings.local.json", r#"{"model": "local"}"#);
    fixture.put("project/sub/given.json", r#"{"model": "file", "language": "file"}"#);
    fixture.given.settings = vec!["given.json".to_owned(), r#" {"model": "text"} // x"#.to_owned()];
    let loaded = fixture.load();
    let last_two = &loaded.layers[loaded.layers.len() - 2..];
    let file = Some(fixture.at("project/sub/given.json"));
    assert_eq!(last_two[0].source, Source { scope: Scope::Cli, file });
    assert_eq!(last_two[1].source, Source::of(Scope::Cli));
    assert!(last_two.iter().all(|layer| layer.base == fixture.at("project/sub")));
    assert_eq!(merge(&loaded.layers), json!({"model": "text", "language": "file"}));
    fixture.put("etc/ona/managed-settings.json", r#"{"model": "managed"}"#);
    assert_eq!(merge(&fixture.load().layers)["model"], "managed");
}

#[test]
fn only_the_first_managed_directory_counts_and_its_files_in_order() {
    let fixture = Fixture::new();
    fixture.put("etc/ona/managed-settings.json", r#"{"language": "second"}"#);
    assert_eq!(merge(&fixture.load().layers), json!({"language": "second"}));
    for name in ["20.json", "10.json", ".30.json", "40.txt"] {
        let text = format!(r#"{{"model": "{name}"}}"#);
        fixture.put(&format!("etc/claude-code/managed-settings.d/{name}"), text);
    }
    assert_eq!(merge(&fixture.load().layers), json!({"model": "20.json"}));
    assert_eq!(fixture.load().layers.len(), 2);
    // A broken file is still the organisation's: nothing replaces it.
    fs::remove_dir_all(fixture.at("etc/claude-code/managed-settings.d")).unwrap();
    fixture.put("etc/claude-code/managed-settings.json", "x");
    assert_eq!(fixture.load().layers, []);
}

#[test]
fn sources_narrow_what_is_read() {
    let mut fixture = Fixture::new();
    for (file, ..) in PLACES {
        fixture.put(file, "{}");
    }
    fixture.given =
        Given { settings: vec!["{}".to_owned()], sources: Some(vec![Scope::Local, Scope::User]) };
    let scopes: Vec<&str> =
        fixture.load().layers.iter().map(|layer| layer.source.scope.as_str()).collect();
    assert_eq!(scopes, ["user", "user", "local", "local", "cli", "managed", "managed"]);
}

#[test]
fn bad_files_are_skipped_with_one_warning_each() {
    const FILE: &str = "project/.claude/settings.json";
    type Make = fn(&Fixture);
    let table: [(Make, &str); 12] = [
        (
            |f| f.put(FILE, "{\n  \"model\": x\n}"),
            "invalid JSON: expected value at line 2 column 12",
        ),
        (|f| f.put(FILE, ""), "invalid JSON: EOF while parsing a value at line 1 column 0"),
        (|f| f.put(FILE, "[{}]"), "its top level is not an object"),
        (|f| f.put(FILE, b"{\"model\": \"\xff\"}"), "it is not UTF-8"),
        (|f| f.put(FILE, " ".repeat(1 << 20) + "{}"), "it is larger than 1 MiB"),
        (|f| fs::create_dir_all(f.at(FILE)).unwrap(), "it is a directory"),
        (
            |f| {
                fs::create_dir_all(f.at("project/.claude")).unwrap();
                drop(std::os::unix::net::UnixListener::bind(f.at(FILE)).unwrap());
            },
            "it is not a regular file",
        ),
        (|f| link(f, "../../secret.json"), "it leads out of the project, to secret.json"),
        (|f| link(f, "/no/such/file"), "it leads out of the project, to /no/such/file"),
        (|f| link(f, "settings.json"), "symlinks form a loop at project/.claude/settings.json"),
        (
            |f| f.put("project/.claude", "no directory"),
            "it cannot be read: Not a directory (os error 20)",
        ),
        (
            |f| f.put(FILE, "[".repeat(200)),
            "invalid JSON: recursion limit exceeded at line 1 column 128",
        ),
    ];
    for (make, reason) in table {
        let fixture = Fixture::new();
        fixture.put("secret.json", "{}");
        make(&fixture);
        let warnings = fixture.warnings();
        assert_eq!(warnings[0], format!("{FILE}: {reason}"));
        assert_eq!(fixture.unread(), warnings, "it may have forbidden something");
        // If the directory is the problem, the other file in it has it too.
        assert!(warnings.iter().skip(1).all(|more| more.contains("settings.local.json")));
        assert_eq!(fixture.load().layers, []);
    }
}

fn link(fixture: &Fixture, to: &str) {
    fs::create_dir_all(fixture.at("project/.claude")).unwrap();
    symlink(to, fixture.at("project/.claude/settings.json")).unwrap();
}

#[test]
fn links_within_the_project_or_of_the_user_are_followed() {
    let fixture = Fixture::new();
    fixture.put("project/shared.json", r#"{"model": "a"}"#);
    link(&fixture, "../shared.json");
    fixture.put("dotfiles/settings.json", r#"{"language": "b"}"#);
    fs::create_dir_all(fixture.at("home")).unwrap();
    symlink("../dotfiles", fixture.at("home/.claude")).unwrap();
    let loaded = fixture.load();
    assert_eq!(loaded.warnings, []);
    assert_eq!(merge(&loaded.layers), json!({"language": "b", "model": "a"}));
}

#[test]
fn what_the_command_line_names_must_be_there() {
    let mut fixture = Fixture::new();
    fixture.given.settings = vec!["gone.json".to_owned(), "{".to_owned()];
    assert_eq!(
        fixture.warnings(),
        [
            "project/sub/gone.json: file not found",
            "the command line: invalid JSON: EOF while parsing an object at line 1 column 1",
        ]
    );
}

#[test]
fn bad_entries_are_dropped_and_the_rest_stays() {
    // The project's file, what is left of it, and the warnings.
    let table = [
        (json!({"unknown": [1], "model": null}), json!({"unknown": [1], "model": null}), vec![]),
        (
            json!({"model": 1}),
            json!({}),
            vec!["model: invalid type: integer `1`, expected a string"],
        ),
        (
            json!({"permissions": []}),
            json!({}),
            vec!["permissions: invalid type: list, expected an object"],
        ),
        (
            json!({"permissions": {"allow": ["Read", 1, "Bash(", "Nope", "Write(/x)"], "deny": "Bash", "ask": ["Bash"]}}),
            json!({"permissions": {"allow": ["Read", "Nope"], "ask": ["Bash"]}}),
            vec![
                "permissions.allow[1]: it is not a string",
                "permissions.allow[2]: missing `)` at the end",
                "permissions.allow[3]: unknown tool `Nope`",
                "permissions.allow[4]: Write takes no path: write Edit(/x), which covers it",
                "permissions.deny: invalid type: string \"Bash\", expected a list",
            ],
        ),
        (
            json!({"permissions": {"defaultMode": "auto"}}),
            json!({"permissions": {}}),
            vec!["permissions.defaultMode: `auto` is not supported: ona has no classifier"],
        ),
        (
            json!({"permissions": {"defaultMode": "yolo", "disableBypassPermissionsMode": true}}),
            json!({"permissions": {}}),
            vec![
                "permissions.defaultMode: unknown permission mode `yolo` (expected default, acceptEdits, plan, dontAsk or bypassPermissions)",
                "permissions.disableBypassPermissionsMode: invalid type: boolean `true`, expected a string",
            ],
        ),
        (
            json!({"permissions": {"defaultMode": {"plan": null}}}),
            json!({"permissions": {}}),
            vec!["permissions.defaultMode: it is not a string"],
        ),
        (
            json!({"env": {"A": "1", "B": 2, "C": "3"}}),
            json!({"env": {"A": "1", "C": "3"}}),
            vec!["env.B: invalid type: integer, expected a string"],
        ),
        (
            json!({"env": {"A": "1", "": "x", "B=C": "x", "D": "x\0y", "AGENT_SDLC_DB": "/x", "ONA_TASK_ID": "x", "SDLC_HOOK": "1"}}),
            json!({"env": {"A": "1"}}),
            vec![
                "env.: invalid variable name",
                "env.B=C: invalid variable name",
                "env.D: a variable cannot contain NUL",
                "env.AGENT_SDLC_DB: variables of ona itself are not set here, but in its environment",
                "env.ONA_TASK_ID: variables of ona itself are not set here, but in its environment",
                "env.SDLC_HOOK: variables of ona itself are not set here, but in its environment",
            ],
        ),
        (
            json!({"model_config": {"provider": "lm_studio_local", "api_key": "sk-1"}}),
            json!({"model_config": {"provider": "lm_studio_local"}}),
            vec!["model_config.api_key: only provider and model_id are allowed"],
        ),
        (
            json!({"availableModels": [1, "a", 2, 3, "b", 4]}),
            json!({"availableModels": ["a", "b"]}),
            vec![
                "availableModels[0]: invalid type: integer `1`, expected a string",
                "availableModels[2]: invalid type: integer `2`, expected a string",
                "availableModels[3]: invalid type: integer `3`, expected a string",
                "availableModels[5]: invalid type: integer `4`, expected a string",
            ],
        ),
        (
            json!({"deniedMcpServers": [1, {"serverCommand": [1, "x", 2]}, {"serverName": "y"}]}),
            json!({"deniedMcpServers": [{"serverCommand": ["x"]}, {"serverName": "y"}]}),
            vec![
                "deniedMcpServers[0]: invalid type: integer `1`, expected an object",
                "deniedMcpServers[1].serverCommand[0]: invalid type: integer `1`, expected a string",
                "deniedMcpServers[1].serverCommand[2]: invalid type: integer `2`, expected a string",
            ],
        ),
        (json!({"availableModels": vec![1; 200]}), json!({}), {
            vec!["availableModels: it has more than 100 invalid entries"]
        }),
        (
            json!({"cleanupPeriodDays": 0, "effortLevel": "huge", "sandbox": {"enabled": true, "network": {"httpProxyPort": 70000}}}),
            json!({"sandbox": {"enabled": true, "network": {}}}),
            vec![
                "cleanupPeriodDays: only user and managed settings, and --settings, may set it",
                "effortLevel: unknown value `huge`, expected one of `low`, `medium`, `high`, `max`",
                "sandbox.network.httpProxyPort: invalid value: integer `70000`, expected a whole number from 0 to 65535",
            ],
        ),
        (
            json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command"}, 1]}, "x", {"hooks": 1}], "Nope": [], "Stop": {}}}),
            json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command"}]}]}}),
            vec![
                "hooks.PreToolUse[0].hooks[0]: `command` is missing: the hook does not run",
                "hooks.PreToolUse[0].hooks[1]: it is not an object: no hook runs for it",
                "hooks.PreToolUse[1]: it is not an object: no hook runs for it",
                "hooks.PreToolUse[2]: its hooks are not an array: no hook runs for it",
                "hooks.Nope: unknown hook event `Nope`: no hook runs for it",
                "hooks.Stop: it is not an array: no hook runs for it",
            ],
        ),
        (
            json!({"hooks": [{"hook_event_name": "Stop", "command": "x"}, 1, {"hook_event_name": "Nope"}, {"hook_event_name": 1}, {"command": "y"}]}),
            json!({"hooks": [{"hook_event_name": "Stop", "command": "x"}, {"command": "y"}]}),
            vec![
                "hooks[1]: it is not an object: no hook runs for it",
                "hooks[2]: unknown hook event `Nope`: no hook runs for it",
                "hooks[3]: its hook_event_name is not a string: no hook runs for it",
                "hooks[4]: `hook_event_name` is missing: the hook does not run",
            ],
        ),
        (
            json!({"hooks": "x"}),
            json!({}),
            vec!["hooks: it is neither an object nor an array: no hook runs for it"],
        ),
        (
            json!({"allowManagedPermissionRulesOnly": true, "permissions": {"allowManagedPermissionRulesOnly": true}, "allowManagedHooksOnly": true, "allowManagedMcpServersOnly": true}),
            json!({"permissions": {}}),
            vec![
                "allowManagedPermissionRulesOnly: only managed settings may set it",
                "permissions.allowManagedPermissionRulesOnly: only managed settings may set it",
                "allowManagedHooksOnly: only managed settings may set it",
                "allowManagedMcpServersOnly: only managed settings may set it",
            ],
        ),
        (
            json!({"skipDangerousModePermissionPrompt": true, "autoMemoryDirectory": "/x", "ona:layers": []}),
            json!({}),
            vec![
                "skipDangerousModePermissionPrompt: project settings may not set it",
                "autoMemoryDirectory: project settings may not set it",
                "ona:layers: ona sets it itself",
            ],
        ),
    ];
    for (written, kept, said) in table {
        let fixture = Fixture::new();
        fixture.put("project/.claude/settings.json", written.to_string());
        assert_eq!(merge(&fixture.load().layers).to_string(), kept.to_string());
        let mut warnings = fixture.warnings();
        if warnings.len() > 100 {
            warnings.drain(..100);
        }
        let mut said: Vec<String> =
            said.iter().map(|what| format!("project/.claude/settings.json: {what}")).collect();
        // What may forbid something comes first.
        warnings.sort();
        said.sort();
        assert_eq!(warnings, said);
    }
}

#[test]
fn what_the_sandbox_cannot_use_is_a_guard_where_it_confines() {
    let fixture = Fixture::new();
    fixture.put(
        "project/.claude/settings.json",
        json!({"sandbox": {
            "enabled": "yes", "minimun": "bwrap", "ripgrep": {"command": "rg"},
            "network": {"allowedDomain": ["x"]},
            "filesystem": {"denyRead": ["/a/*.key", "/b/**"], "allowWrite": ["*.log", "/c"]},
            "limits": {"memoryMb": "much"},
        }})
        .to_string(),
    );
    let said = |what: &[&str]| -> Vec<String> {
        what.iter().map(|what| format!("project/.claude/settings.json: sandbox.{what}")).collect()
    };
    let mut unread = fixture.unread();
    unread.sort();
    let guards = [
        "enabled: invalid type: string \"yes\", expected true or false",
        "filesystem.denyRead[0]: wildcards are not understood here: name the file or directory",
        "limits.memoryMb: invalid type: string \"much\", expected a whole number, 0 or more",
        "minimun: unknown key, did you mean `sandbox.minimum`?",
    ];
    assert_eq!(unread, said(&guards));
    let warnings: Vec<String> =
        fixture.warnings().into_iter().filter(|warning| !unread.contains(warning)).collect();
    let others = [
        "network.allowedDomain: unknown key, did you mean `sandbox.network.allowedDomains`?",
        "filesystem.allowWrite[0]: wildcards are not understood here: name the file or directory",
    ];
    assert_eq!(warnings, said(&others));
    let loaded = fixture.load();
    let files = &loaded.layers[0].json["sandbox"]["filesystem"];
    assert_eq!(*files, json!({"denyRead": ["/b/**"], "allowWrite": ["/c"]}));
    assert_eq!(foreign_sandbox_keys(&loaded.layers[0]), ["sandbox.ripgrep"]);
}

#[test]
fn those_who_may_set_a_limited_key_can() {
    let fixture = Fixture::new();
    fixture.put("home/.claude/settings.json", r#"{"autoMemoryDirectory": "/x"}"#);
    fixture
        .put("project/.ona/settings.local.json", r#"{"skipDangerousModePermissionPrompt": true}"#);
    fixture.put("etc/ona/managed-settings.json", r#"{"allowManagedHooksOnly": true}"#);
    assert_eq!(fixture.load().warnings, []);
    assert_eq!(merge(&fixture.load().layers).as_object().unwrap().len(), 3);
}

#[test]
fn updates_go_to_claude_codes_files() {
    let fixture = Fixture::new();
    let file = |destination| file_for(destination, &fixture.roots);
    let at = |path| Some(fixture.at(path));
    assert_eq!(file(UpdateDestination::UserSettings), at("home/.claude/settings.json"));
    assert_eq!(file(UpdateDestination::ProjectSettings), at("project/.claude/settings.json"));
    assert_eq!(file(UpdateDestination::LocalSettings), at("project/.claude/settings.local.json"));
    assert_eq!(file(UpdateDestination::Session), None);
    assert_eq!(file(UpdateDestination::CliArg), None);
}

#[test]
fn an_update_is_saved_where_it_is_read_again() {
    let fixture = Fixture::new();
    let update = |destination: &str| -> PermissionUpdate {
        let update = json!({"type": "setMode", "mode": "plan", "destination": destination});
        serde_json::from_value(update).unwrap()
    };
    let local = fixture.at("project/.claude/settings.local.json");
    let saved = save(&update("localSettings"), &fixture.roots).unwrap().unwrap();
    assert_eq!((saved.file, saved.before), (local, None));
    assert_eq!(saved.after, fixture.load().layers.pop());
    assert_eq!(save(&update("session"), &fixture.roots).unwrap(), None);
    assert_eq!(merge(&fixture.load().layers), json!({"permissions": {"defaultMode": "plan"}}));
    link(&fixture, "../../outside.json");
    let error = save(&update("projectSettings"), &fixture.roots).unwrap_err().to_string();
    assert!(error.contains("settings.json: it leads out of the project, to "), "{error}");
    assert!(!fixture.at("outside.json").exists());
}

#[test]
fn below_the_root_of_a_repository_its_settings_hold_too() {
    let mut fixture = Fixture::new();
    fs::create_dir_all(fixture.at("project/.git")).unwrap();
    fs::create_dir_all(fixture.at("project/a/b")).unwrap();
    fixture.roots.project_dir = fixture.at("project/a/b");
    // Lowest rank first; the last one of them wins.
    let files = [
        ("project/.claude/settings.json", Scope::Project, "project"),
        ("project/.ona/settings.json", Scope::Project, "project"),
        ("project/a/.claude/settings.json", Scope::Project, "project/a"),
        ("project/a/b/.claude/settings.json", Scope::Project, "project/a/b"),
        ("project/.claude/settings.local.json", Scope::Local, "project"),
        ("project/a/b/.ona/settings.local.json", Scope::Local, "project/a/b"),
    ];
    for (rank, (file, scope, base)) in files.into_iter().enumerate() {
        let deny =
            json!({"model": rank.to_string(), "permissions": {"deny": [format!("Read(/{rank})")]}});
        fixture.put(file, deny.to_string());
        let loaded = fixture.load();
        assert_eq!(merge(&loaded.layers)["model"], rank.to_string(), "{file} wins");
        let layer = loaded.layers.last().unwrap();
        assert_eq!((layer.source.scope, &layer.base), (scope, &fixture.at(base)));
    }
    let denied = merge(&fixture.load().layers)["permissions"]["deny"].as_array().unwrap().len();
    assert_eq!(denied, files.len(), "what forbids adds up");
    // Nothing above the repository is read, and a link may lead anywhere within it.
    fixture.put(".claude/settings.json", r#"{"model": "above"}"#);
    fixture.put("project/shared.json", r#"{"language": "shared"}"#);
    fs::remove_file(fixture.at("project/a/.claude/settings.json")).unwrap();
    symlink("../../shared.json", fixture.at("project/a/.claude/settings.json")).unwrap();
    let merged = merge(&fixture.load().layers);
    assert_eq!((&merged["model"], &merged["language"]), (&json!("5"), &json!("shared")));
}

#[test]
fn the_users_own_file_is_not_the_projects_too() {
    let mut fixture = Fixture::new();
    fs::create_dir_all(fixture.at("home/.git")).unwrap();
    fs::create_dir_all(fixture.at("home/work")).unwrap();
    fixture.roots.project_dir = fixture.at("home/work");
    fixture.put("home/.claude/settings.json", r#"{"model": "mine"}"#);
    fixture.put("home/.ona/settings.json", r#"{"language": "de"}"#);
    let scopes: Vec<Scope> = fixture.load().layers.iter().map(|l| l.source.scope).collect();
    assert_eq!(scopes, [Scope::User, Scope::Project]);
}

#[test]
fn an_operators_snapshot_is_checked_and_stands_below_command_line_and_organisation() {
    let mut fixture = Fixture::new();
    fixture.put("home/.claude/settings.json", r#"{"model": "file"}"#);
    fixture.put("etc/ona/managed-settings.json", r#"{"permissions": {"deny": ["Bash(rm *)"]}}"#);
    fixture.given.settings = vec![r#"{"language": "given"}"#.to_owned()];
    let take = |text: &str| operators(text, &fixture.roots, &fixture.given);
    let text = r#"{"language": "theirs", "permissions": {"deny": ["Bash(", "Read"], "defaultMode": "yolo"}}"#;
    let loaded = take(text).unwrap();
    let scopes: Vec<Scope> = loaded.layers.iter().map(|layer| layer.source.scope).collect();
    assert_eq!(scopes, [Scope::Database, Scope::Cli, Scope::Managed]);
    let merged = merge(&loaded.layers);
    assert_eq!(
        merged,
        json!({"language": "given", "permissions": {"deny": ["Read", "Bash(rm *)"]}})
    );
    let (warnings, unread) = (&loaded.warnings, &loaded.unread);
    assert_eq!((warnings.len(), unread.len()), (1, 1), "{warnings:?} {unread:?}");
    assert!(warnings[0].to_string().starts_with(
        "settings_snapshot('effective'): permissions.defaultMode: unknown permission mode `yolo`"
    ));
    assert!(unread[0].to_string().contains("permissions.deny[0]: missing `)` at the end"));
    // The organisation's settings in a snapshot may be outdated.
    let mut old = fixture.load();
    old.layers.retain(|layer| layer.source.scope != Scope::Cli);
    let forged = snapshot(&old).to_string().replace("Bash(rm *)", "Bash(ls *)");
    let merged = merge(&take(&forged).unwrap().layers);
    assert_eq!(merged["permissions"]["deny"], json!(["Bash(rm *)"]));
    assert!(matches!(take("[]"), Err(NotSettings::NotAnObject)));
    assert!(matches!(take("nonsense"), Err(NotSettings::Syntax(_))));
}

#[test]
fn what_would_be_dropped_is_not_set() {
    let fixture = Fixture::new();
    const FILE: &str = "project/.claude/settings.local.json";
    let before = "{\n  \"permissions\": {\"allow\": [\"Bash(\"]}, // kept\n  \"a\": 1\n}\n";
    let set = |key: &str, value: Value| {
        let key: Vec<&str> = key.split('.').collect();
        let to = UpdateDestination::LocalSettings;
        let done = super::set(to, &key, &value, &fixture.roots, UnknownKeys::Kept);
        done.map(|(file, _)| file)
    };
    for (key, value, reason) in [
        (
            "permissions.defaultMode",
            json!("nonsense"),
            "permissions.defaultMode: unknown permission mode `nonsense`",
        ),
        (
            "permissions.allow",
            json!(["Bash", "Bash("]),
            "permissions.allow[1]: missing `)` at the end",
        ),
        ("permissions", json!({"deny": "Bash"}), "permissions.deny: invalid type"),
        ("cleanupPeriodDays", json!(30), "cleanupPeriodDays: only user and managed settings"),
        ("env.A", json!(1), "env.A: invalid type: integer"),
        (
            "allowManagedHooksOnly",
            json!(true),
            "allowManagedHooksOnly: only managed settings may set it",
        ),
        (
            "hooks",
            json!({"Stop": [{"hooks": [{"type": "x"}]}]}),
            "hooks.Stop[0].hooks[0]: `type` must",
        ),
        (
            "hooks.Stop",
            json!([{"command": "x", "shell": "fish"}]),
            "hooks.Stop[0]: `shell` must be",
        ),
        ("hooks.Stop", json!([{"hooks": {}}]), "hooks.Stop[0]: its hooks are not an array"),
        ("hooks", json!([{"command": "x"}]), "hooks[0]: `hook_event_name` is missing"),
    ] {
        fixture.put(FILE, before);
        let error = set(key, value).unwrap_err().to_string();
        assert!(error.contains(reason), "{key}: {error}");
        assert_eq!(fs::read_to_string(fixture.at(FILE)).unwrap(), before);
    }
    // A suspicious value can be set, and so can any value if something else is invalid already.
    let bad = "\"hooks\": {\"StopFailure\": [{\"type\": \"x\"}]},";
    fixture.put(FILE, before.replace("\"a\": 1", &format!("{bad} \"a\": 1")));
    for (key, value) in [
        ("permissions.deny", json!(["Nope"])),
        ("unknown.key", json!({"x": [1.5, null]})),
        ("model", json!(null)),
        ("permissions.defaultMode", json!("plan")),
        ("hooks.Stop", json!([{"command": "x"}])),
    ] {
        assert_eq!(set(key, value).unwrap().file, fixture.at(FILE), "{key}");
    }
    assert!(fs::read_to_string(fixture.at(FILE)).unwrap().contains("// kept"));
    link(&fixture, "../../outside.json");
    let set = |to| super::set(to, &["model"], &json!("x"), &fixture.roots, UnknownKeys::Refused);
    let out = set(UpdateDestination::ProjectSettings);
    assert!(out.unwrap_err().to_string().contains("it leads out of the project, to "));
    assert!(!fixture.at("outside.json").exists());
    let nowhere = set(UpdateDestination::Session);
    assert_eq!(nowhere.unwrap_err().to_string(), "this scope has no settings file");
}

#[test]
fn what_the_command_line_names_can_be_refused_beforehand() {
    let fixture = Fixture::new();
    fixture.put("project/sub/given.json", "{ /* fine */ }");
    fixture.put("project/sub/list.json", "[]");
    let refused = |given: &str| refuses(given, &fixture.roots.cwd).map(|bad| bad.to_string());
    assert_eq!(refused("given.json"), None);
    assert_eq!(refused(" {}"), None);
    assert_eq!(refused("gone.json").unwrap(), "file not found");
    assert_eq!(refused("list.json").unwrap(), "its top level is not an object");
    assert_eq!(refused(".").unwrap(), "it is a directory");
    assert!(refused("{").unwrap().starts_with("invalid JSON: "));
}
