//! Which of the defined servers are started.

use std::fs;
use std::path::{Path, PathBuf};

use ona_policy::{Scope, Source};
use serde_json::json;

use super::*;
use crate::settings::{Given, load};
use crate::trust::{RunTrust, TrustRequest, name_of};
use ona_testkit::Store;
use ona_types::trust::TrustRecord as _;

/// A project with its own home and record.
struct World {
    store: Store,
    project: PathBuf,
    _dir: tempfile::TempDir,
}

impl World {
    fn project(&self) -> &Path {
        &self.project
    }
}

/// A project with files that define servers.
struct Fixture {
    world: World,
    config: Config,
    plugins: Vec<PluginServers>,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (project, home) = (root.join("project"), root.join("home"));
        fs::create_dir(&project).unwrap();
        fs::create_dir(&home).unwrap();
        let store = Store::open(&root.join("agent.db")).unwrap();
        let world = World { store, project, _dir: dir };
        let mut config = crate::testing::config(&home, &json!({}));
        config.given = Given::default();
        config.managed_dirs = vec![config.home.join("none"), config.home.join("managed")];
        config.variable = |name| (name == "TOKEN").then(|| "t0ken-of-the-environment".to_owned());
        fs::create_dir(world.project().join(".git")).unwrap();
        Self { world, config, plugins: Vec::new() }
    }

    fn roots(&self) -> Roots {
        self.config.roots(self.world.project(), self.world.project())
    }

    #[allow(clippy::needless_pass_by_value, reason = "callers write json!(…)")]
    fn put(&self, file: &Path, json: Value) {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, json.to_string()).unwrap();
    }

    #[allow(clippy::needless_pass_by_value, reason = "callers write json!(…)")]
    fn mcp_json(&self, servers: Value) {
        self.put(&self.world.project().join(".mcp.json"), json!({"mcpServers": servers}));
    }

    fn claude(&self, state: Value) {
        self.put(&self.config.home.join(".claude.json"), state);
    }

    fn own(&self, servers: Value) {
        self.put(&self.config.ona_config.join("mcp.json"), servers);
    }

    fn settings(&self, settings: Value) {
        self.put(&self.config.ona_config.join("settings.json"), settings);
    }

    fn trust(&self) {
        let roots = self.roots();
        let layers = load(&roots, &Given::default()).layers;
        TrustRequest::new(&roots, &layers, &[]).trust(&self.world.store).unwrap();
    }

    fn find(&self) -> Servers {
        let roots = self.roots();
        let layers = load(&roots, &self.config.given).layers;
        let request = TrustRequest::new(&roots, &layers, &[]);
        self.config.trust.begin(&request, &[], &roots);
        let mut trusted = self.world.store.trusted(&request.name()).unwrap();
        trusted.extend(self.config.trust.covers(&request.name()));
        let layers = request.judge(&layers, &roots, &trusted).layers;
        find(&self.config, &roots, &layers, &trusted, &self.plugins)
    }

    /// Every server with its scope and state, in the order they are listed.
    fn states(&self) -> Vec<String> {
        let told =
            |one: &ListedServer| format!("{} {} {}", one.name, one.scope, one.state.as_str());
        self.find().listed.iter().map(told).collect()
    }

    /// The command of the server that is started.
    fn started(&self) -> Vec<String> {
        let command = |spec: &ServerSpec| match &spec.way {
            Way::Stdio { command, .. } => format!("{} {command}", spec.name),
            Way::Http(remote) | Way::Sse(remote) => format!("{} {}", spec.name, remote.url),
        };
        self.find().specs.iter().map(command).collect()
    }
}

fn run(command: &str) -> Value {
    json!({"command": command})
}

fn at(url: &str) -> Value {
    json!({"type": "http", "url": url})
}

#[test]
fn the_highest_rank_counts() {
    let mut fixture = Fixture::new();
    let project = name_of(fixture.world.project());
    let mut expected = Vec::new();
    let mut check = |fixture: &Fixture, last: &str, scope: &str| {
        let states: Vec<String> =
            expected.iter().map(|scope| format!("x {scope} shadowed")).collect();
        expected.insert(0, scope.to_owned());
        assert_eq!(fixture.started(), [format!("x {last}")]);
        assert_eq!(fixture.states(), [vec![format!("x {scope} ready")], states].concat());
    };
    let servers: Map<String, Value> = [("x".to_owned(), run("plugin"))].into_iter().collect();
    fixture.plugins = vec![PluginServers { file: "/plugin/.mcp.json".into(), servers }];
    check(&fixture, "plugin", "plugin");
    fixture.claude(json!({"mcpServers": {"x": run("claude-user")}, "numStartups": 5}));
    check(&fixture, "claude-user", "user");
    fixture.settings(json!({"mcpServers": {"x": run("settings")}}));
    check(&fixture, "settings", "user");
    fixture.own(json!({"mcpServers": {"x": run("own-user")}}));
    check(&fixture, "own-user", "user");
    fixture.mcp_json(json!({"x": run("project")}));
    fixture.trust();
    check(&fixture, "project", "project");
    let local = |command: &str| json!({&project: {"mcpServers": {"x": run(command)}}});
    fixture.claude(
        json!({"mcpServers": {"x": run("claude-user")}, "projects": local("claude-local")}),
    );
    check(&fixture, "claude-local", "local");
    fixture.own(json!({"mcpServers": {"x": run("own-user")}, "projects": local("own-local")}));
    check(&fixture, "own-local", "local");
    fixture.config.servers.configs = vec![json!({"mcpServers": {"x": run("given")}}).to_string()];
    check(&fixture, "given", "cli");
    let by = fixture.find().listed[1].state.why();
    assert_eq!(by.as_deref(), Some("the one in --mcp-config is used"));
    fixture.config.servers.strict = true;
    assert_eq!(fixture.states(), ["x cli ready"], "nothing else is looked at");
}

#[test]
fn the_organisations_file_leaves_no_room() {
    let mut fixture = Fixture::new();
    let managed = fixture.config.home.join("managed/managed-mcp.json");
    fixture.own(json!({"mcpServers": {"x": run("own"), "y": run("own")}}));
    fixture.config.servers.configs = vec![json!({"mcpServers": {"z": run("given")}}).to_string()];
    fixture.put(&managed, json!({"mcpServers": {"x": run("managed")}}));
    assert_eq!(
        fixture.states(),
        ["x managed ready", "x user shadowed", "y user denied", "z cli denied"]
    );
    fixture.config.servers.strict = true;
    assert_eq!(fixture.states(), ["x managed ready", "z cli denied"]);
    fs::write(&managed, "{").unwrap();
    assert_eq!(fixture.states(), ["z cli denied"], "one that cannot be read leaves none either");
    let warnings = fixture.find().warnings;
    assert!(warnings[0].to_string().contains("managed-mcp.json: invalid JSON"), "{warnings:?}");
}

#[test]
fn what_a_project_brings_needs_agreement_to_the_file_as_it_is() {
    let mut fixture = Fixture::new();
    fixture.mcp_json(json!({"a": run("a"), "b": run("b")}));
    fixture.own(json!({"mcpServers": {"a": run("mine")}}));
    assert_eq!(
        fixture.states(),
        ["a project pending approval", "a user ready", "b project pending approval"]
    );
    assert_eq!(fixture.started(), ["a mine"], "what is not agreed to stands in nobody's way");
    let said = fixture.find().warnings[0].to_string();
    assert!(
        said.contains(".mcp.json: mcpServers.a: it is pending approval and not started"),
        "{said}"
    );
    assert!(said.contains("`ona trust`"), "{said}");
    fixture.trust();
    assert_eq!(fixture.started(), ["a a", "b b"]);
    fixture.mcp_json(json!({"a": run("a"), "b": run("another")}));
    assert_eq!(fixture.started(), ["a mine"]);
    // Names that the operator's own settings approve are approved with any definition.
    fixture.settings(json!({"enabledMcpjsonServers": ["b"]}));
    assert_eq!(fixture.started(), ["a mine", "b another"]);
    fixture.settings(
        json!({"enableAllProjectMcpServers": true, "disabledMcpjsonServers": ["a", "mine"]}),
    );
    assert_eq!(fixture.states(), ["a project denied", "a user ready", "b project ready"]);
    fixture.settings(json!({}));
    fixture.config.trust = RunTrust::given();
    assert_eq!(fixture.started(), ["a a", "b another"], "--trust");
    fixture.mcp_json(json!({"a": run("a"), "b": run("written later")}));
    assert_eq!(fixture.started(), ["a mine"], "what is written later is not covered");
    fixture.mcp_json(json!({"a": run("a"), "b": run("another")}));
    fixture.config.given.sources = Some(vec![Scope::User]);
    assert_eq!(fixture.started(), ["a mine"], "--setting-sources");
    fixture.config.given.sources = Some(Vec::new());
    assert_eq!(fixture.started(), [""; 0], "--bare");
}

#[test]
fn a_project_cannot_approve_its_own_servers() {
    let fixture = Fixture::new();
    fixture.mcp_json(json!({"a": run("a")}));
    let settings = fixture.world.project().join(".claude/settings.json");
    fixture
        .put(&settings, json!({"enableAllProjectMcpServers": true, "mcpServers": {"b": run("b")}}));
    assert_eq!(fixture.states(), ["a project pending approval"]);
    fixture.trust();
    assert_eq!(fixture.started(), ["a a", "b b"]);
    // Not even a trusted name: its definition may have changed.
    fixture.mcp_json(json!({"a": run("another")}));
    assert_eq!(fixture.states(), ["a project pending approval", "b project ready"]);
    fixture.mcp_json(json!({"a": run("a")}));
    // What it forbids takes effect at once.
    fixture.put(&settings, json!({"disabledMcpjsonServers": ["a"]}));
    assert_eq!(fixture.states(), ["a project denied"]);
}

#[test]
fn a_repositorys_servers_are_there_in_its_directories() {
    let mut fixture = Fixture::new();
    let root = fixture.world.project().to_owned();
    fixture.own(json!({"projects": {name_of(&root): {"mcpServers": {"mine": run("mine")}}}}));
    fixture.mcp_json(json!({"a": run("a"), "b": run("b")}));
    fixture.put(&root.join("sub/.mcp.json"), json!({"mcpServers": {"a": run("nearer")}}));
    fs::create_dir_all(root.join("sub/deep")).unwrap();
    fixture.config.trust = RunTrust::given();
    let roots = fixture.config.roots(&root.join("sub/deep"), &root);
    let request = TrustRequest::new(&roots, &[], &[]);
    fixture.config.trust.begin(&request, &[], &roots);
    let found =
        find(&fixture.config, &roots, &[], &fixture.config.trust.covers(&request.name()), &[]);
    let dirs: Vec<(&str, &Path)> = found
        .specs
        .iter()
        .map(|spec| match &spec.way {
            Way::Stdio { command, cwd, .. } => (command.as_str(), cwd.as_path()),
            Way::Http(_) | Way::Sse(_) => panic!("{spec:?}"),
        })
        .collect();
    assert_eq!(dirs, [("nearer", &*root.join("sub")), ("b", &*root), ("mine", &*root)]);
}

#[test]
fn settings_allow_and_deny() {
    let fixture = Fixture::new();
    fixture.own(json!({"mcpServers": {
        "db": {"command": "npx", "args": ["db"]}, "Git": run("git"), "web": at("https://a.example/mcp"),
    }}));
    let all = ["Git", "db", "web"];
    let table: [(Value, &[&str]); 12] = [
        (json!({}), &all),
        (json!({"deniedMcpServers": [{"serverName": "git"}]}), &["db", "web"]),
        (json!({"deniedMcpServers": [{"serverCommand": ["npx", "db"]}]}), &["Git", "web"]),
        (json!({"deniedMcpServers": [{"serverCommand": ["npx"]}]}), &all),
        (json!({"deniedMcpServers": [{"serverUrl": "https://*.example/*"}]}), &["Git", "db"]),
        (json!({"deniedMcpServers": [{}]}), &all),
        (json!({"allowedMcpServers": []}), &[]),
        (
            json!({"allowedMcpServers": [{"serverName": "db"}, {"serverName": "web"}]}),
            &["db", "web"],
        ),
        (
            json!({"allowedMcpServers": [{"serverName": "Git"}, {"serverCommand": ["npx", "db"]}]}),
            &["db"],
        ),
        (
            json!({"allowedMcpServers": [{"serverName": "web"}, {"serverUrl": "https://b.example/*"}]}),
            &[],
        ),
        (json!({"allowedMcpServers": [{"serverUrl": "https://a.example/*"}]}), &["web"]),
        (
            json!({"allowedMcpServers": [{"serverName": "db"}], "deniedMcpServers": [{"serverName": "db"}]}),
            &[],
        ),
    ];
    for (settings, names) in table {
        fixture.settings(settings.clone());
        let found = fixture.find();
        let started: Vec<&str> = found.specs.iter().map(|spec| spec.name.as_str()).collect();
        assert_eq!(started, names, "{settings}");
        assert_eq!(found.listed.len(), 3);
        assert_eq!(found.warnings, []);
    }
    let layer = |scope: Scope, json: Value| Layer {
        source: Source::of(scope),
        base: "/".into(),
        json: json.as_object().unwrap().clone(),
    };
    let started = |layers: &[Layer]| {
        let specs = find(&fixture.config, &fixture.roots(), layers, &[], &[]).specs;
        specs.into_iter().map(|spec| spec.name).collect::<Vec<String>>()
    };
    let ours = layer(Scope::User, json!({"allowedMcpServers": [{"serverName": "Git"}]}));
    let theirs = json!({"allowedMcpServers": [{"serverName": "db"}]});
    assert_eq!(started(&[ours.clone(), layer(Scope::Managed, theirs.clone())]), ["Git", "db"]);
    let mut only = theirs;
    only["allowManagedMcpServersOnly"] = json!(true);
    assert_eq!(started(&[ours, layer(Scope::Managed, only)]), ["db"]);
}

#[test]
fn what_is_wrong_with_one_keeps_no_other_from_working() {
    let mut fixture = Fixture::new();
    fixture.own(json!({"mcpServers": {
        "good": {"command": "x", "env": {"API_TOKEN": "${TOKEN}", "PLAIN": "y"}},
        "unset": {"command": "${NONE}"}, "none": {}, "a b": run("x"), "list": [],
        "GOOD": run("y"), "own": {"command": "ona", "args": ["serve", "--mcp"]}, "ona": run("x"),
    }}));
    fixture.config.servers.call_timeout = Duration::from_secs(5);
    let found = fixture.find();
    let broken: Vec<(&str, String)> = found
        .listed
        .iter()
        .filter_map(|one| match &one.state {
            State::Broken(why) => Some((one.name.as_str(), why.clone())),
            _ => None,
        })
        .collect();
    let names: Vec<&str> = broken.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["a b", "good", "list", "none", "ona", "unset"]);
    assert!(broken[1].1.contains("the names of those of `GOOD`"), "{broken:?}");
    assert!(broken[5].1.contains("the variable NONE is not set"), "{broken:?}");
    assert_eq!(found.specs.len(), 1);
    assert_eq!(found.specs[0].call_timeout, Duration::from_secs(5));
    assert_eq!(found.specs[0].start_timeout, START_TIMEOUT);
    assert_eq!(found.warnings.len(), 6);
    let file = fixture.config.ona_config.join("mcp.json");
    assert_eq!(
        found.warnings[3].to_string(),
        format!(
            "{}: mcpServers.none: it is not started: it has neither a command nor a url",
            file.display()
        )
    );
    fixture.own(json!({"mcpServers": {"good": {
        "command": "x", "args": ["--url", "https://a/?api_key=of%20the-query"],
        "env": {"API_TOKEN": "${TOKEN}", "REGION": "us-east-1", "DB": "pg://me:0f-the-user@db/x", "ANY": "Anything-at-all"},
    }, "web": {"type": "sse", "url": "http://a", "headers": {"Authorization": "Bearer ${TOKEN}2"}}}}));
    let found = fixture.find();
    let secrets: Vec<&str> = found.secrets().collect();
    assert_eq!(
        secrets,
        [
            "of the-query",
            "of%20the-query",
            "t0ken-of-the-environment",
            "0f-the-user",
            "Anything-at-all",
            "Bearer t0ken-of-the-environment2",
            "t0ken-of-the-environment2"
        ]
    );
    // The settings' own variables come first, as they do for children.
    fixture.settings(json!({"env": {"TOKEN": "t0ken-of-the-settings"}}));
    assert!(fixture.find().secrets().any(|secret| secret == "t0ken-of-the-settings"));
}

#[test]
fn files_that_cannot_be_used_are_named_and_skipped() {
    let fixture = Fixture::new();
    fixture.own(json!({"mcpServers": {"x": run("x")}}));
    let project = fixture.world.project().join(".mcp.json");
    for (text, said) in [
        ("{", "invalid JSON"),
        ("[]", "its top level is not an object"),
        ("{\"mcpServers\": []}", "mcpServers: it is not an object"),
        ("\u{0}", "invalid JSON"),
        (
            "{\"mcpServers\": {\"a\": {\"command\": \"a\"}, \"a\": {\"args\": [\"b\"]}}}",
            "mcpServers.a: it is not started: it occurs more than once",
        ),
    ] {
        fs::write(&project, text).unwrap();
        let found = fixture.find();
        assert_eq!(found.specs.len(), 1, "{text}");
        assert_eq!(found.warnings.len(), 1, "{text}");
        let warning = found.warnings[0].to_string();
        assert!(warning.contains(said), "{warning}");
    }
    fs::remove_file(&project).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", &project).unwrap();
    assert!(fixture.find().warnings[0].to_string().contains("it leads out of the project"));
    fs::remove_file(&project).unwrap();
    fixture.claude(json!({"projects": []}));
    assert!(fixture.find().warnings[0].to_string().contains(".claude.json: invalid JSON"));
    let mut many = Map::new();
    for at in 0..600 {
        many.insert(format!("s{at}"), run("x"));
    }
    fixture.claude(json!({"mcpServers": many}));
    let found = fixture.find();
    assert_eq!(found.specs.len(), 501);
    assert!(
        found.warnings[0].to_string().contains("more than 500 servers"),
        "{:?}",
        found.warnings
    );
}

#[test]
fn what_the_command_line_gives_is_looked_at_first() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("good.json"), "{\"mcpServers\": {} /* none */}").unwrap();
    fs::write(dir.path().join("bad.json"), "{\"servers\": {}}").unwrap();
    let said = |given: &str| refuses(given, dir.path()).map(|bad| bad.to_string());
    assert_eq!(said("good.json"), None);
    assert_eq!(said(" {\"mcpServers\": {\"x\": 5}}"), None, "what is wrong with one is its own");
    assert_eq!(said("bad.json").as_deref(), Some("it has no object `mcpServers`"));
    assert_eq!(said("gone.json").as_deref(), Some("file not found"));
    assert_eq!(said(".").as_deref(), Some("it is a directory"));
    assert!(said("{").unwrap().starts_with("invalid JSON"));
}

#[test]
fn servers_are_kept_and_taken_away() {
    let fixture = Fixture::new();
    let (roots, store) = (fixture.roots(), &fixture.world.store);
    let own = fixture.config.ona_config.join("mcp.json");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    let before = "{\n  // mine\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"}\n  }\n}\n";
    fs::write(&own, before).unwrap();
    for scope in KeptIn::ALL {
        let kept = add(scope, "x", &run(scope.as_str()), false, (&roots, store)).unwrap();
        assert_eq!(kept, Kept { file: scope.file(&roots), agreed: true });
        assert!(kept_in(scope, "x", &roots).unwrap());
        let again = add(scope, "x", &run("other"), false, (&roots, store)).unwrap_err();
        assert!(again.to_string().ends_with("already has a server `x`"), "{again}");
    }
    assert_eq!(fixture.started(), ["a a", "x local"]);
    assert!(fs::read_to_string(&own).unwrap().contains("// mine"));
    add(KeptIn::Local, "x", &run("other"), true, (&roots, store)).unwrap();
    assert_eq!(fixture.started(), ["a a", "x other"]);
    assert!(remove(KeptIn::Local, "x", &roots, store).unwrap().is_some());
    assert_eq!(fixture.started(), ["a a", "x project"], "what the operator added is agreed to");
    assert!(remove(KeptIn::Project, "x", &roots, store).unwrap().is_some());
    assert!(remove(KeptIn::User, "x", &roots, store).unwrap().is_some());
    assert_eq!(fs::read_to_string(&own).unwrap(), before, "to the byte");
    assert_eq!(remove(KeptIn::User, "x", &roots, store).unwrap(), None);
    assert!(add(KeptIn::User, "a b", &run("x"), false, (&roots, store)).is_err());
    assert!(add(KeptIn::User, "b", &json!({}), false, (&roots, store)).is_err());
    // Other changes to the project's file are not trusted along with it.
    fixture.mcp_json(json!({"evil": run("evil")}));
    let kept = add(KeptIn::Project, "x", &run("x"), false, (&roots, store)).unwrap();
    assert!(!kept.agreed);
    assert_eq!(
        fixture.states()[1..],
        ["evil project pending approval", "x project pending approval"]
    );
}

#[test]
fn a_new_file_of_the_users_is_the_users_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new();
    let (roots, store) = (fixture.roots(), &fixture.world.store);
    let kept = add(KeptIn::User, "x", &run("x"), false, (&roots, store)).unwrap();
    assert_eq!(fs::metadata(kept.file).unwrap().permissions().mode() & 0o777, 0o600);
}
