//! What needs trust, what is trusted, and what takes effect meanwhile.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;
use tempfile::TempDir;

use ona_testkit::Store;

use super::*;
use crate::settings::{Given, load};

/// A repository, and a record of what is trusted.
struct Fixture {
    dir: TempDir,
    store: Store,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        let fixture = Self { dir, store };
        fs::create_dir_all(fixture.at("repo/.git")).unwrap();
        fixture
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    #[allow(clippy::needless_pass_by_value, reason = "callers write json!(…)")]
    fn put(&self, path: &str, json: Value) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, json.to_string()).unwrap();
    }

    fn roots(&self, dir: &str) -> Roots {
        fs::create_dir_all(self.at(dir)).unwrap();
        Roots {
            project_dir: self.at(dir),
            home: self.at("home"),
            claude_dir: self.at("home/.claude"),
            ona_config: self.at("home/.config/ona"),
            managed_dirs: Vec::new(),
            cwd: self.at(dir),
        }
    }

    fn trust(&self, dir: &str) {
        let roots = self.roots(dir);
        TrustRequest::new(&roots, &load(&roots, &Given::default()).layers, &[])
            .trust(&self.store)
            .unwrap();
    }

    fn judge(&self, dir: &str) -> Judged {
        let roots = self.roots(dir);
        let layers = load(&roots, &Given::default()).layers;
        let brought = TrustRequest::new(&roots, &layers, &[]);
        brought.judge(&layers, &roots, &self.store.trusted(&brought.name()).unwrap())
    }

    /// What is not trusted, and what else is held back, as keys alone.
    fn held(&self, dir: &str) -> (Vec<String>, Vec<String>) {
        let keys = |what: Vec<String>| -> Vec<String> {
            what.iter().map(|what| what.split(" in ").next().unwrap().to_owned()).collect()
        };
        let judged = self.judge(dir);
        (keys(judged.unagreed), keys(judged.held_back))
    }

    fn is_trusted(&self, dir: &str) -> bool {
        self.held(dir) == (Vec::new(), Vec::new())
    }
}

fn hook(command: &str) -> Value {
    json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}})
}

fn allow(rule: &str) -> Value {
    json!({"permissions": {"allow": [rule]}})
}

const FILE: &str = "repo/.claude/settings.json";

#[test]
fn everything_counts_that_does_more_than_forbid() {
    let fixture = Fixture::new();
    let none: &[&str] = &[];
    for (settings, runs, permits) in [
        (hook("a"), &["hooks"][..], none),
        (json!({"env": {"PATH": "."}, "apiKeyHelper": "x"}), &["env", "apiKeyHelper"], none),
        (json!({"mcpServers": {"x": {}}}), none, none),
        (json!({"mcpServers": {"x": {"command": "x"}}}), &["mcpServers"], none),
        (allow("Bash"), none, &["permissions.allow"]),
        (
            json!({"permissions": {"additionalDirectories": ["/"], "defaultMode": "plan"}}),
            none,
            &["permissions.additionalDirectories", "permissions.defaultMode"],
        ),
        (
            json!({"disableAllHooks": true, "sandbox": {"enabled": false}}),
            none,
            &["disableAllHooks", "sandbox"],
        ),
        (
            json!({
                "$schema": "x", "unknown": 1, "hooks": {"Stop": []}, "deniedMcpServers": [{"serverName": "x"}],
                "permissions": {
                    "deny": ["Bash"], "ask": ["Read"], "allow": [], "unknown": 1,
                    "disableBypassPermissionsMode": "disable",
                },
            }),
            none,
            none,
        ),
    ] {
        fixture.put(FILE, settings.clone());
        let held = fixture.held("repo");
        assert_eq!(
            (&held.0[..], &held.1[..]),
            (&texts(runs)[..], &texts(permits)[..]),
            "{settings}"
        );
        fixture.trust("repo");
        assert!(fixture.is_trusted("repo"), "{settings}");
        assert_eq!(merged(&fixture.judge("repo")), settings, "all of it acts");
        let something = !(runs.is_empty() && permits.is_empty());
        assert_eq!(fixture.store.untrust(&name_of(&fixture.at("repo"))).unwrap(), something);
    }
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

fn merged(judged: &Judged) -> Value {
    settings::merge(&judged.layers)
}

#[test]
fn what_changes_is_not_agreed_to() {
    let fixture = Fixture::new();
    let both = |command: &str, rule: &str| {
        let mut both = hook(command);
        both["permissions"] = json!({"allow": [rule], "deny": ["Read(x)"]});
        both
    };
    fixture.put(FILE, both("a", "Bash(ls)"));
    assert_eq!(merged(&fixture.judge("repo")), json!({"permissions": {"deny": ["Read(x)"]}}));
    fixture.trust("repo");
    assert!(fixture.is_trusted("repo"));
    // Only permissions have changed: what runs stays trusted.
    fixture.put(FILE, both("a", "Bash"));
    assert_eq!(fixture.held("repo"), (vec![], texts(&["permissions.allow"])));
    let mut runs = hook("a");
    runs["permissions"] = json!({"deny": ["Read(x)"]});
    assert_eq!(merged(&fixture.judge("repo")), runs);
    fixture.put(FILE, both("b", "Bash(ls)"));
    assert_eq!(fixture.held("repo"), (texts(&["hooks"]), texts(&["permissions.allow"])));
    // An earlier version that was trusted is still trusted.
    fixture.trust("repo");
    fixture.put(FILE, both("a", "Bash(ls)"));
    assert!(fixture.is_trusted("repo"));
}

#[test]
fn a_nested_directory_is_a_thing_of_its_own() {
    let fixture = Fixture::new();
    fixture.trust("repo");
    fixture.put("repo/vendor/evil/.claude/settings.json", allow("Bash"));
    assert_eq!(fixture.held("repo/vendor/evil").1, ["permissions.allow"]);
    assert!(fixture.is_trusted("repo"));
    // Trust in one file does not cover another, even with the same text.
    fixture.put(FILE, allow("Bash"));
    fixture.trust("repo");
    assert!(fixture.is_trusted("repo"));
    assert_eq!(fixture.held("repo/vendor/evil").1, ["permissions.allow"]);
    // Without files of its own, a subdirectory is like the root.
    assert!(fixture.is_trusted("repo/src/deep"));
    fixture.trust("repo/vendor/evil");
    assert!(fixture.is_trusted("repo/vendor/evil") && fixture.is_trusted("repo"));
    // Another repository is not affected.
    fs::create_dir_all(fixture.at("other/.git")).unwrap();
    fixture.put("other/.claude/settings.json", allow("Bash"));
    assert_eq!(fixture.held("other").1, ["permissions.allow"]);
}

#[test]
fn a_worktree_shares_trust_with_its_main_checkout() {
    let fixture = Fixture::new();
    let administered = fixture.at("repo/.git/worktrees/w");
    fs::create_dir_all(&administered).unwrap();
    fs::create_dir_all(fixture.at("w")).unwrap();
    fs::write(fixture.at("w/.git"), format!("gitdir: {}\n", administered.display())).unwrap();
    fixture.put(FILE, hook("a"));
    fixture.put("w/.claude/settings.json", hook("a"));
    fixture.trust("repo");
    assert_eq!(fixture.held("w").0, ["hooks"], "the repository knows of no such worktree");
    fs::write(administered.join("gitdir"), format!("{}\n", fixture.at("w/.git").display()))
        .unwrap();
    assert!(fixture.is_trusted("w"));
    // Each may be at its own version.
    fixture.put("w/.claude/settings.json", hook("b"));
    assert_eq!(fixture.held("w").0, ["hooks"]);
    fixture.trust("w");
    assert!(fixture.is_trusted("w") && fixture.is_trusted("repo"));
}

#[test]
fn servers_that_cannot_be_read_need_no_trust_until_they_can() {
    type Make = fn(&Fixture);
    let table: [Make; 7] = [
        |f| fs::write(f.at("repo/.mcp.json"), b"\xff").unwrap(),
        |f| fs::write(f.at("repo/.mcp.json"), r#"{"mcpServers": {"a": {"command": "x"}}"#).unwrap(),
        |f| fs::write(f.at("repo/.mcp.json"), vec![b' '; 2 << 20]).unwrap(),
        |f| fs::create_dir(f.at("repo/.mcp.json")).unwrap(),
        |f| symlink("/etc/passwd", f.at("repo/.mcp.json")).unwrap(),
        |f| symlink("gone", f.at("repo/.mcp.json")).unwrap(),
        |f| symlink(".mcp.json", f.at("repo/.mcp.json")).unwrap(),
    ];
    for make in table {
        let fixture = Fixture::new();
        make(&fixture);
        assert_eq!(fixture.judge("repo/sub").unagreed, [""; 0]);
        fixture.trust("repo");
        let file = fixture.at("repo/.mcp.json");
        let _ = fs::remove_file(&file).or_else(|_| fs::remove_dir(&file));
        fixture.put("repo/.mcp.json", json!({"mcpServers": {"a": {"command": "x"}}}));
        let expected = format!("MCP servers in {}", file.display());
        assert_eq!(fixture.judge("repo/sub").unagreed, [expected]);
    }
}

#[test]
fn trust_goes_on_where_ona_itself_changed_a_trusted_file() {
    let fixture = Fixture::new();
    let roots = fixture.roots("repo");
    let update = |rule: &str| {
        let update = json!({"type": "addRules", "behavior": "allow", "destination": "projectSettings",
            "rules": [{"toolName": "Bash", "ruleContent": rule}]});
        let update = serde_json::from_value(update).unwrap();
        let saved = settings::save(&update, &roots).unwrap().unwrap();
        carry_over(&saved, &roots, &fixture.store).unwrap()
    };
    assert!(update("ls"), "there was nothing before");
    assert!(fixture.is_trusted("repo"));
    assert!(update("make"), "what was before was agreed to");
    assert!(fixture.is_trusted("repo"));
    fixture.put(FILE, allow("Bash(rm *)"));
    assert!(!update("ls"), "what somebody else wrote is not agreed to");
    assert_eq!(fixture.held("repo").1, ["permissions.allow"]);
    fixture.put(FILE, hook("a"));
    assert!(!update("ls"));
    assert_eq!(fixture.held("repo").0, ["hooks"]);
}

#[test]
fn paths_that_are_no_text_have_names_of_their_own() {
    use std::ffi::OsStr;
    let named = |bytes: &[u8]| name_of(Path::new(OsStr::from_bytes(bytes)));
    assert_eq!(named(b"/r"), "/r");
    assert_ne!(named(b"/\xff"), named(b"/\xfe"));
    assert_eq!(named(b"/\xff"), "//bytes:/\\xff");
}

#[test]
fn what_was_in_force_stays_while_a_session_goes_on() {
    let fixture = Fixture::new();
    let file = "repo/.claude/settings.json";
    let before = json!({
        "hooks": hook("guard")["hooks"],
        "permissions": {"allow": ["Read", "Bash(a)"], "deny": ["Bash(rm *)"], "defaultMode": "plan"},
    });
    fixture.put(file, before.clone());
    let roots = fixture.roots("repo");
    let layers = || load(&roots, &Given::default()).layers;
    let earlier = layers();
    let now = || {
        let layers = layers();
        let request = TrustRequest::new(&roots, &layers, &[]);
        let trusted = fixture.store.trusted(&request.name()).unwrap();
        let changed = request.changed(&earlier, &layers, &roots, &trusted, |_| false);
        (Value::Object(changed.layers[0].json.clone()), changed.partly.len())
    };
    assert_eq!(now(), (before.clone(), 0), "nothing has changed");
    let written = json!({
        "hooks": hook("other")["hooks"],
        "permissions": {"allow": ["Read", "Bash"], "deny": ["Edit"], "defaultMode": "bypassPermissions"},
    });
    fixture.put(file, written.clone());
    let mut expected = before;
    expected["permissions"]["allow"] = json!(["Read"]);
    expected["permissions"]["deny"] = json!(["Bash(rm *)", "Edit"]);
    assert_eq!(now(), (expected.clone(), 1), "only what forbids is added");
    fixture.trust("repo");
    let mut agreed = written;
    agreed["permissions"]["deny"] = json!(["Edit", "Bash(rm *)"]);
    assert_eq!(now(), (agreed, 1), "what it no longer forbids stays forbidden");
    fs::remove_file(fixture.at(file)).unwrap();
    expected["permissions"]["allow"] = json!([]);
    expected["permissions"]["deny"] = json!(["Bash(rm *)"]);
    assert_eq!(now(), (expected, 1), "a guard cannot be removed");
}
