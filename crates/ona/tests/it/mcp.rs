//! `ona mcp` as the operator sees it: which servers there are, and keeping them.

use std::fs;
use std::path::PathBuf;

use ona_testkit::{Project, Ran, run};
use serde_json::{Value, json};

use crate::project;
use crate::serve::Http;

const ONA: &str = env!("CARGO_BIN_EXE_ona");

fn mcp(project: &Project, args: &[&str]) -> Ran {
    run(project.ona(["mcp"]).args(args))
}

/// A command that works; what it prints.
fn ok(project: &Project, args: &[&str]) -> String {
    let ran = mcp(project, args);
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
    ran.stdout
}

/// A command that does not, with this code; what it says.
fn refused(project: &Project, code: i32, args: &[&str]) -> String {
    let ran = mcp(project, args);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{args:?}: {}", ran.stderr);
    ran.stderr
}

fn listed(project: &Project) -> Value {
    serde_json::from_str(&ok(project, &["list", "--offline", "--json"])).unwrap()
}

/// Every server with its scope and state.
fn states(project: &Project) -> Vec<String> {
    let listed = listed(project);
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let rows = listed["servers"].as_array().unwrap().iter();
    rows.map(|row| format!("{} {} {}", text(row, "name"), text(row, "scope"), text(row, "state")))
        .collect()
}

fn own_file(project: &Project) -> PathBuf {
    project.home().join(".config/ona/mcp.json")
}

fn json_in(path: PathBuf) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn servers_are_added_shown_and_removed() {
    let project = project();
    assert!(ok(&project, &["list", "--offline"]).contains("no servers"));
    assert!(!project.database().exists(), "looking makes no record");
    let said = ok(
        &project,
        &["add", "files", "-e", "ROOT=${HOME}", "-e", "K=hunter2", "--", "npx", "-y", "files"],
    );
    assert!(said.contains(", for you in this project"), "{said}");
    ok(&project, &["add", "--scope", "user", "echo", "cat", "-", "--json"]);
    let headers = ["-H", "Authorization: Bearer ${T}", "-H", "X-Key: hunter2"];
    let http =
        ["add", "--transport", "http", "docs", "https://docs.example/mcp", "--client-id", "me"];
    ok(&project, &[&http[..], &headers, &["--callback-port", "7777", "-s", "project"]].concat());
    ok(&project, &["add-json", "old", r#"{"type": "sse", "url": "https://old.example/sse"}"#]);
    let here = project.dir().to_str().unwrap().to_owned();
    assert_eq!(
        json_in(own_file(&project)),
        json!({
            "projects": {here: {"mcpServers": {
                "files": {"command": "npx", "args": ["-y", "files"], "env": {"ROOT": "${HOME}", "K": "hunter2"}},
                "old": {"type": "sse", "url": "https://old.example/sse"},
            }}},
            "mcpServers": {"echo": {"command": "cat", "args": ["-"]}},
        })
    );
    assert_eq!(
        json_in(project.path(".mcp.json")),
        json!({"mcpServers": {"docs": {
            "type": "http", "url": "https://docs.example/mcp",
            "headers": {"Authorization": "Bearer ${T}", "X-Key": "hunter2"},
            "oauth": {"clientId": "me", "callbackPort": 7777},
        }}})
    );
    let all = ["docs project broken", "echo user ready", "files local ready", "old local ready"];
    assert_eq!(states(&project), all);
    let text = mcp(&project, &["list", "--offline"]);
    assert!(
        text.stderr.contains(
            "mcpServers.docs: it is not started: `headers.Authorization`: the variable T is not set"
        ),
        "{}",
        text.stderr
    );
    assert!(text.stdout.contains("files  local    ready   npx -y files\n"), "{}", text.stdout);
    let shown = run(project.ona(["mcp", "get", "docs"]).env("T", "x"));
    assert!(shown.stdout.contains("state     ready"), "{shown:?}");
    assert!(shown.stdout.contains("headers   Authorization: Bearer ${T}\n"), "{shown:?}");
    assert!(shown.stdout.contains("headers   X-Key: ***\n"), "{shown:?}");
    let files: Value = serde_json::from_str(&ok(&project, &["get", "files", "--json"])).unwrap();
    assert_eq!(files["server"]["env"], json!({"ROOT": "${HOME}", "K": "***"}));
    let every = [
        ok(&project, &["list", "--offline"]),
        ok(&project, &["list", "--offline", "--json"]),
        ok(&project, &["get", "files"]),
    ]
    .concat();
    assert!(!every.contains("hunter2"), "{every}");
    for name in ["files", "echo", "docs", "old"] {
        assert!(ok(&project, &["remove", name]).contains(&format!("removed {name} from")));
    }
    assert_eq!(states(&project), [""; 0]);
    assert!(refused(&project, 1, &["remove", "files"]).contains("unknown server `files`"));
}

#[test]
fn nothing_is_overwritten_and_nothing_else_changes() {
    let project = project();
    let text =
        "{\n  // ours\n  \"mcpServers\": {\n    \"db\": {\"command\": \"db\"}, // kept\n  },\n}\n";
    project.file(".mcp.json", text);
    let add = ["add", "db", "--scope", "project", "other"];
    let said = refused(&project, 2, &add);
    assert!(said.contains("already has a server `db`") && said.contains("--force"), "{said}");
    assert_eq!(project.content(".mcp.json"), text);
    ok(&project, &[&add[..], &["--force"]].concat());
    let now = project.content(".mcp.json");
    assert!(now.contains("// ours") && now.contains("// kept") && now.contains("other"), "{now}");
    project.file(".mcp.json", "{");
    assert!(refused(&project, 1, &add).contains("the file is unchanged"));
    assert_eq!(project.content(".mcp.json"), "{");
}

#[test]
fn what_is_no_server_is_refused() {
    let project = project();
    for (args, said) in [
        (&["add", "a b", "x"][..], "the name `a b` may contain only letters"),
        (&["add", "ona", "x"], "the name `ona` is reserved for ona's own server"),
        (&["add", "x"], "missing program or URL"),
        (&["add", "x", "https://a.example"], "add --transport http"),
        (&["add", "x", "-t", "http", "nowhere"], "invalid URL"),
        (&["add", "x", "-t", "http", "https://a.example", "more"], "takes no arguments"),
        (
            &["add", "x", "-t", "sse", "https://a.example", "-e", "A=b"],
            "-e applies only to a program",
        ),
        (&["add", "x", "y", "-H", "A: b"], "--header applies only to a server with a URL"),
        (&["add", "x", "y", "-e", "A"], "-e: a value has no `=`"),
        (&["add", "x", "y", "-e", "ONA_TRUST=1"], "variables of ona itself are not set here"),
        (&["add", "x", "y", "--scope", "managed"], "unknown scope `managed`"),
        (&["add", "x", "y", "--callback-port", "0"], "0 is not in 1..=65535"),
        (&["add-json", "x", "{"], "invalid JSON"),
        (&["add-json", "x", "{\"command\": 5}"], "`command`: expected a string"),
        (&["add-json", "x", "{\"url\": \"https://a.example\"}"], "it has a url and no type"),
    ] {
        let error = refused(&project, 2, args);
        assert!(error.contains(said), "{args:?}: {error}");
    }
    assert!(!own_file(&project).exists());
    ok(&project, &["add", "files", "x"]);
    assert!(refused(&project, 1, &["get", "filez"]).contains("did you mean `files`?"));
    ok(&project, &["add", "files", "x", "--scope", "user"]);
    let said = refused(&project, 2, &["remove", "files"]);
    assert!(said.contains("several scopes have `files`: local, user"), "{said}");
    assert_eq!(states(&project), ["files local ready", "files user shadowed"]);
}

#[test]
fn what_claude_code_keeps_is_read_and_left_alone() {
    let project = project();
    let state = json!({
        "numStartups": 3, "mcpServers": {"theirs": {"command": "x"}},
        "projects": {project.dir().to_str().unwrap(): {"mcpServers": {"here": {"type": "stdio", "command": "y"}}},
            "/elsewhere": {"mcpServers": {"there": {"command": "z"}}, "history": [1]}},
    })
    .to_string();
    let file = project.home().join(".claude.json");
    fs::write(&file, &state).unwrap();
    assert_eq!(states(&project), ["here local ready", "theirs user ready"]);
    let said = refused(&project, 1, &["remove", "theirs"]);
    assert!(said.contains(".claude.json (user): change that file"), "{said}");
    ok(&project, &["add", "theirs", "mine", "--scope", "user"]);
    assert_eq!(states(&project), ["here local ready", "theirs user ready", "theirs user shadowed"]);
    assert_eq!(fs::read_to_string(file).unwrap(), state);
}

#[test]
fn a_projects_servers_wait_for_agreement() {
    let project = project();
    let servers = |command: &str| json!({"mcpServers": {"db": {"command": command}}}).to_string();
    project.file(".mcp.json", servers("db"));
    assert_eq!(states(&project), ["db project pending approval"]);
    let text = mcp(&project, &["list", "--offline"]);
    assert!(
        text.stderr.contains(
            "mcpServers.db: it is pending approval and not started: review it, then run `ona trust`"
        ),
        "{}",
        text.stderr
    );
    assert_eq!(run(&mut project.ona(["trust"])).code, Some(0));
    assert_eq!(states(&project), ["db project ready"]);
    project.file(".mcp.json", servers("evil"));
    assert_eq!(states(&project), ["db project pending approval"]);
    // What the operator adds to what was agreed to is agreed to.
    project.file(".mcp.json", servers("db"));
    ok(&project, &["add", "more", "x", "--scope", "project"]);
    assert_eq!(states(&project), ["db project ready", "more project ready"]);
    project.file(".claude/settings.json", json!({"disabledMcpjsonServers": ["db"]}).to_string());
    assert_eq!(states(&project), ["db project denied", "more project ready"]);
}

#[test]
fn what_the_users_settings_approve_by_name_needs_no_trust() {
    let project = project();
    project.file(".mcp.json", json!({"mcpServers": {"db": {"command": "db"}}}).to_string());
    let glob = || run(&mut project.ona(["--eval", r#"{"tool":"Glob","input":{"pattern":"*"}}"#]));
    let untrusted = glob();
    assert_eq!(untrusted.code, Some(2), "{}", untrusted.stdout);
    let settings = |file: PathBuf, settings: Value| {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, settings.to_string()).unwrap();
    };
    // What the project says of itself counts for nothing.
    let own = project.path(".claude/settings.json");
    settings(own.clone(), json!({"enabledMcpjsonServers": ["db"]}));
    assert_eq!(
        (glob().code, states(&project)),
        (Some(2), vec!["db project pending approval".into()])
    );
    fs::remove_file(own).unwrap();
    let user = project.home().join(".claude/settings.json");
    settings(user.clone(), json!({"enabledMcpjsonServers": ["other"]}));
    assert_eq!(glob().code, Some(2));
    settings(user, json!({"enabledMcpjsonServers": ["db"]}));
    assert_eq!(states(&project), ["db project ready"]);
    let approved = glob();
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
}

#[test]
fn what_a_trusted_local_file_settles_by_name_is_settled_everywhere() {
    let project = project();
    project.file(
        ".mcp.json",
        json!({"mcpServers": {"db": {"command": "db"}, "Web": {"command": "web"}}}).to_string(),
    );
    let glob = || run(&mut project.ona(["--eval", r#"{"tool":"Glob","input":{"pattern":"*"}}"#]));
    let said = json!({"enabledMcpjsonServers": ["db"], "disabledMcpjsonServers": ["web"]});
    project.file(".claude/settings.local.json", said.to_string());
    assert_eq!(glob().code, Some(2), "what is not trusted settles nothing");
    assert_eq!(states(&project), ["Web project denied", "db project pending approval"]);
    assert_eq!(run(&mut project.ona(["trust"])).code, Some(0));
    // What was settled by name stays so, whatever stands there.
    project.file(
        ".mcp.json",
        json!({"mcpServers": {"db": {"command": "db2"}, "Web": {"command": "web"}}}).to_string(),
    );
    assert_eq!(states(&project), ["Web project denied", "db project ready"]);
    let settled = glob();
    assert_eq!(settled.code, Some(0), "{}", settled.stderr);
}

#[test]
fn who_asks_nobody_is_not_signed_in_to() {
    let project = project();
    // A server at an address that is there for everybody: ona's own.
    let http = Http::started(&mut project.ona(["mcp", "serve", "--http", "0"]));
    ok(&project, &["add", "-t", "http", "open", &http.address()]);
    let said = ok(&project, &["login", "open"]);
    assert!(said.starts_with("open needs no sign-in: connected, "), "{said}");
    assert_eq!(ok(&project, &["logout", "open"]), "no tokens of open are stored\n");
    ok(&project, &["add", "-t", "http", "gone", "http://127.0.0.1:1/mcp"]);
    let gone = mcp(&project, &["login", "gone"]);
    assert_eq!(gone.code, Some(1), "{}", gone.stdout);
    assert!(gone.stderr.contains("refused"), "{}", gone.stderr);
}

#[test]
fn the_organisation_says_which_there_may_be() {
    let project = project();
    ok(&project, &["add", "mine", "x"]);
    let managed = project.home().join("managed");
    fs::create_dir(&managed).unwrap();
    let states = || {
        let ran = run(project
            .ona(["mcp", "list", "--offline", "--json"])
            .env("ONA_MANAGED_DIRS", &managed));
        let listed: Value = serde_json::from_str(&ran.stdout).unwrap();
        let rows = listed["servers"].as_array().unwrap().iter();
        rows.map(|row| format!("{} {}", row["name"], row["state"])).collect::<Vec<String>>()
    };
    let settings = managed.join("managed-settings.json");
    fs::write(&settings, json!({"deniedMcpServers": [{"serverCommand": ["x"]}]}).to_string())
        .unwrap();
    assert_eq!(states(), ["\"mine\" \"denied\""]);
    fs::write(&settings, "{}").unwrap();
    assert_eq!(states(), ["\"mine\" \"ready\""]);
    // What cannot be read may have meant any of them.
    for unreadable in [
        json!({"deniedMcpServers": {"serverName": "other"}}),
        json!({"deniedMcpServers": ["other"]}),
        json!({"allowedMcpServers": "mine"}),
        json!({"disabledMcpjsonServers": "other"}),
    ] {
        fs::write(&settings, unreadable.to_string()).unwrap();
        assert_eq!(states(), ["\"mine\" \"denied\""], "{unreadable}");
    }
    fs::write(&settings, "{}").unwrap();
    let only = json!({"mcpServers": {"theirs": {"command": "y"}}}).to_string();
    fs::write(managed.join("managed-mcp.json"), only).unwrap();
    assert_eq!(states(), ["\"mine\" \"denied\"", "\"theirs\" \"ready\""]);
}

#[test]
fn the_command_line_gives_servers() {
    let project = project();
    ok(&project, &["add", "mine", "x"]);
    project.file("more.json", r#"{"mcpServers": {"more": {"command": "y"}}}"#);
    let states = |args: &[&str]| {
        let ran = run(project.ona(args).args(["mcp", "list", "--offline", "--json"]));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let listed: Value = serde_json::from_str(&ran.stdout).unwrap();
        let rows = listed["servers"].as_array().unwrap().iter();
        rows.map(|row| row["name"].as_str().unwrap().to_owned()).collect::<Vec<String>>()
    };
    assert_eq!(states(&["--mcp-config=more.json"]), ["mine", "more"]);
    assert_eq!(states(&["--mcp-config=more.json", "--strict-mcp-config"]), ["more"]);
    assert_eq!(states(&["--strict-mcp-config"]), [""; 0]);
    let bad = |given: &str| {
        let ran = run(&mut project.ona(["-p", "x", "--mcp-config", given]));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{given}");
        ran.stderr
    };
    assert!(bad("gone.json").contains("--mcp-config gone.json: file not found"));
    assert!(bad("{\"mcpServers\": ").contains("--mcp-config: invalid JSON"));
    assert!(bad("{}").contains("it has no object `mcpServers`"));
    for (name, value) in [("MCP_TIMEOUT", "soon"), ("MCP_TOOL_TIMEOUT", "0")] {
        let ran = run(project.ona(["mcp", "list", "--offline"]).env(name, value));
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains(name), "{}", ran.stderr);
    }
}

/// DESIGN §5, no. 12: what an agent's call starts does not choose what runs beside it.
#[test]
fn a_call_cannot_add_servers() {
    let project = project();
    for inner in [
        format!("{ONA} mcp add x y"),
        format!("{ONA} mcp add-json x '{{\"command\": \"y\"}}'"),
        format!("{ONA} mcp remove x"),
        format!("{ONA} -p hi --mcp-config '{{\"mcpServers\": {{}}}}'"),
    ] {
        let said = project.refused("Bash", json!({"command": inner}));
        assert!(
            said.contains("only the operator decides which servers are used"),
            "{inner}: {said}"
        );
    }
    assert!(!own_file(&project).exists());
    let said = project.ok("Bash", json!({"command": format!("{ONA} mcp list")}));
    assert!(said.contains("no servers"), "{said}");
}

#[test]
fn two_that_add_at_once_lose_nothing() {
    let project = project();
    let names: Vec<String> = (0..8).map(|at| format!("s{at}")).collect();
    std::thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| ok(&project, &["add", name, "x", "--scope", "user"]));
        }
    });
    assert_eq!(
        states(&project),
        names.iter().map(|name| format!("{name} user ready")).collect::<Vec<_>>()
    );
}
