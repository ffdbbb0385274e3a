//! Trust and settings under attack: what is written during a run, guards that cannot be read, and helpers under every way
//! to start.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ona_provider::scripted::{Recorded, Reply, Server};
use ona_testkit::{Project, Ran, run};
use serde_json::{Value, json};

use crate::changes::{bash, says_two_prompts};
use crate::gate::pre;
use crate::print::anthropic;
use crate::project;
use crate::read::pdf;
use crate::serve;
use crate::site::{Site, open_loopback};

const ONA: &str = env!("CARGO_BIN_EXE_ona");

/// The organisation's directory of a project.
fn managed(project: &Project) -> PathBuf {
    project.dir().parent().unwrap().join("managed")
}

fn put(file: &Path, content: impl AsRef<[u8]>) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, content).unwrap();
}

/// `ona -p`, with a model that would answer once.
fn headless(project: &Project, args: &[&str]) -> (Ran, usize) {
    let server = Server::start([Reply::say("begun")]).unwrap();
    let args: Vec<&str> = ["-p", "go"].iter().chain(args).copied().collect();
    let ran = run(anthropic(project, &server, &args).env("ONA_MANAGED_DIRS", managed(project)));
    (ran, server.requests().len())
}

fn evaluated(project: &Project) -> Ran {
    run(project
        .eval_command("Bash", &json!({"command": "echo done"}))
        .env("ONA_MANAGED_DIRS", managed(project)))
}

/// Places of settings, from the directory that holds the project.
const PLACES: [&str; 8] = [
    "managed/managed-settings.json",
    "managed/managed-settings.d/10-more.json",
    "home/.claude/settings.json",
    "home/.config/ona/settings.json",
    "project/.claude/settings.json",
    "project/.ona/settings.json",
    "project/.claude/settings.local.json",
    "project/.ona/settings.local.json",
];

/// Puts something at a path.
type Make = fn(&Path);

/// Settings files that cannot be read.
const UNREADABLE: [(&str, Make); 9] = [
    ("EOF while parsing", |file| put(file, r#"{"permissions": {"deny": ["Bash""#)),
    ("EOF while parsing", |file| put(file, "")),
    ("larger than 1 MiB", |file| {
        put(file, format!(r#"{{"permissions": {{"deny": ["Bash"]}}}}{}"#, " ".repeat(1 << 20)))
    }),
    ("object", |file| put(file, r#"[{"permissions": {"deny": ["Bash"]}}]"#)),
    ("not UTF-8", |file| put(file, b"{\"permissions\": {\"deny\": [\"Bash\"]}, \"x\": \"\xff\"}")),
    ("it is a directory", |file| fs::create_dir_all(file).unwrap()),
    ("not a regular file", |file| {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        assert!(Command::new("mkfifo").arg(file).status().unwrap().success());
    }),
    ("leads nowhere", |file| {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("not-there.json", file).unwrap();
    }),
    ("leads nowhere", |file| {
        let dir = file.parent().unwrap();
        fs::create_dir_all(dir.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("not-there", dir).unwrap();
    }),
];

fn stops(place: &str, why: &str, make: Make) {
    let project = project();
    let file = project.dir().parent().unwrap().join(place);
    make(&file);
    let (ran, asked) = headless(&project, &[]);
    assert_eq!((ran.code, asked), (Some(2), 0), "{place}, {why}: {}{}", ran.stdout, ran.stderr);
    let names = ran.stderr.contains(file.to_str().unwrap()) && ran.stderr.contains(why);
    assert!(names, "{place}, {why}: {}", ran.stderr);
    assert_eq!(project.sql("SELECT count(*) FROM sessions"), ["0"], "{place}, {why}");
    let ran = evaluated(&project);
    assert_eq!(ran.code, Some(0), "{place}, {why}: {}", ran.stderr);
    let warns = format!("warning: {}: ", file.display());
    assert!(ran.stdout.contains("done") && ran.stderr.contains(&warns), "{}", ran.stderr);
}

#[test]
fn settings_that_cannot_be_read_stop_a_headless_start_wherever_they_are() {
    for place in PLACES {
        let (why, make) = UNREADABLE[0];
        stops(place, why, make);
    }
}

#[test]
fn settings_that_cannot_be_read_stop_a_headless_start_whatever_they_are() {
    for (why, make) in UNREADABLE {
        stops(PLACES[0], why, make);
        stops(PLACES[4], why, make);
    }
}

#[test]
fn a_directory_of_the_organisation_that_cannot_be_read_stops_a_headless_start() {
    let project = project();
    put(&managed(&project).join("managed-settings.d"), "not a directory");
    let (ran, _) = headless(&project, &[]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("managed-settings.d"), "{}", ran.stderr);
}

#[test]
fn rules_and_hooks_that_cannot_be_read_stop_a_headless_start() {
    let permissions = |permissions: Value| json!({"permissions": permissions});
    let hooks = |hooks: Value| json!({"hooks": hooks});
    for (settings, place) in [
        (permissions(json!({"deny": ["Bash(rm *"]})), "permissions.deny[0]"),
        (permissions(json!({"ask": ["Read", "WebFetch(example.com)"]})), "permissions.ask[1]"),
        (permissions(json!({"deny": ["Read(../x)"]})), "permissions.deny[0]"),
        (permissions(json!({"deny": ["mcp__x__y(z)"]})), "permissions.deny[0]"),
        (permissions(json!({"deny": [7]})), "permissions.deny[0]"),
        (permissions(json!({"deny": "Bash"})), "permissions.deny"),
        (permissions(json!({"ask": {"Bash": true}})), "permissions.ask"),
        (permissions(json!(["Bash"])), "permissions"),
        (
            permissions(json!({"disableBypassPermissionsMode": true})),
            "permissions.disableBypassPermissionsMode",
        ),
        (json!({"deniedMcpServers": "all"}), "deniedMcpServers"),
        (hooks(json!("guard")), "hooks"),
        (hooks(json!({"PreToolUse": "guard"})), "hooks.PreToolUse"),
        (hooks(json!({"PreToolUse": ["guard"]})), "hooks.PreToolUse[0]"),
        (hooks(json!({"PreToolUse": [{"hooks": [{"type": "command"}]}]})), "hooks.PreToolUse[0]"),
        (hooks(json!({"PreToolUse": [pre("Ba(sh", "exit 2")]})), "hooks.PreToolUse[0]"),
        // Misspelt.
        (hooks(json!({"PretoolUse": [pre("Bash", "exit 2")]})), "hooks.PretoolUse"),
        (
            hooks(json!({"PreToolUse": [{"hooks": [{"type": "commnd", "command": "exit 2"}]}]})),
            "hooks.PreToolUse[0]",
        ),
    ] {
        let project = project();
        for file in ["managed/managed-settings.json", "home/.claude/settings.json"] {
            let file = project.dir().parent().unwrap().join(file);
            put(&file, settings.to_string());
            let (ran, asked) = headless(&project, &[]);
            assert_eq!((ran.code, asked), (Some(2), 0), "{settings}: {}", ran.stderr);
            let told = format!("{}: {place}", file.display());
            assert!(ran.stderr.contains(&told), "{told}: {}", ran.stderr);
            assert_eq!(evaluated(&project).code, Some(0), "{settings}");
            fs::remove_file(file).unwrap();
        }
        // The command line's own settings are held to the same.
        let (ran, _) = headless(&project, &["--settings", &settings.to_string()]);
        assert_eq!(ran.code, Some(2), "{settings}: {}", ran.stderr);
        assert!(ran.stderr.contains(place), "{place}: {}", ran.stderr);
    }
    let limit = json!({"permissions": {"defaultMode": "sometimes"}}).to_string();
    let project = project();
    put(&managed(&project).join("managed-settings.json"), limit);
    let (ran, _) = headless(&project, &["--permission-mode", "bypassPermissions"]);
    assert_eq!(ran.code, Some(2), "the organisation's limit of the mode: {}", ran.stderr);
}

#[test]
fn the_users_settings_are_protected_where_links_lead() {
    let project = project();
    let elsewhere = project.path("dotfiles/claude");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::write(elsewhere.join("settings.json"), "{}").unwrap();
    let _ = fs::remove_dir_all(project.home().join(".claude"));
    std::os::unix::fs::symlink(&elsewhere, project.home().join(".claude")).unwrap();
    let verdict = |file: &str| {
        let call =
            json!({"tool": "Write", "input": {"file_path": project.path(file), "content": "{}"}});
        let args = ["explain", "--json", "--permission-mode", "acceptEdits", &call.to_string()];
        let explained = run(&mut project.ona(args));
        let explained: Value = serde_json::from_str(&explained.stdout).unwrap();
        explained["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict("dotfiles/claude/settings.json"), "ask");
    assert_eq!(verdict("dotfiles/claude/skills/x/SKILL.md"), "ask");
    assert_eq!(verdict("dotfiles/bashrc"), "allow");
}

#[test]
fn what_forbids_nothing_only_warns_and_what_is_plain_is_held() {
    let project = project();
    let settings = json!({
        "permissions": {
            "allow": ["Bash(", "Write(/x)", 3],
            "deny": ["Shell(rm *)", "MultiEdit", "Write(docs/**)", "LS(secret/**)"],
            "ask": ["apply_patch(x)"],
        },
        "hooks": {
            "SomethingNew": [{"hooks": [{"type": "command", "command": "true"}]}],
            "PreToolUse": [{"hooks": [{"type": "telepathy"}]}],
        },
    });
    put(&project.home().join(".claude/settings.json"), settings.to_string());
    project.file(".mcp.json", r#"{"mcpServers": {"x": "#);
    project.file("secret/a", "s");
    let (ran, asked) = headless(&project, &[]);
    assert_eq!((ran.code, asked), (Some(0), 1), "{}", ran.stderr);
    for part in [
        "permissions.allow[0]: missing `)` at the end",
        "permissions.allow[1]: Write takes no path",
        "permissions.deny[0]: unknown tool `Shell`",
        "permissions.deny[2]: Write takes no path: write Edit(docs/**), which covers it",
        "permissions.ask[0]: unknown tool `apply_patch`",
        "hooks.SomethingNew",
        "telepathy",
        ".mcp.json",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let write = json!({"file_path": project.path("docs/a"), "content": "x"});
    let said = project.refused("Write", write);
    assert!(said.contains("denied by the rule Write(docs/**)"), "{said}");
    let said = project.refused("Bash", json!({"command": "cat secret/a"}));
    assert!(said.contains("denied by the rule LS(secret/**)"), "{said}");
}

#[test]
fn a_plugin_that_cannot_be_read_stops_a_headless_start() {
    let project = project();
    let dir = project.dir().parent().unwrap().join("kit");
    put(&dir.join(".claude-plugin/plugin.json"), r#"{"name": "kit"}"#);
    let hooks = json!({"hooks": {"PreToolUse": [pre("Bash", "exit 2")]}});
    put(&dir.join("hooks/hooks.json"), hooks.to_string());
    let ran = run(&mut project.ona(["plugin", "add", dir.to_str().unwrap(), "--yes"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let record = project.home().join(".config/ona/plugins/kit/record.json");
    let whole = fs::read(&record).unwrap();
    let broken = ["EOF while parsing", "it is a directory", "not a regular file"];
    for (why, make) in UNREADABLE.into_iter().filter(|(why, _)| broken.contains(why)) {
        fs::remove_file(&record).unwrap();
        make(&record);
        let (ran, asked) = headless(&project, &[]);
        assert_eq!((ran.code, asked), (Some(2), 0), "{why}: {}", ran.stderr);
        let names = ran.stderr.contains("record.json") && ran.stderr.contains(why);
        assert!(names, "{why}: {}", ran.stderr);
        fs::remove_file(&record).or_else(|_| fs::remove_dir(&record)).unwrap();
        fs::write(&record, &whole).unwrap();
    }
    assert_eq!(headless(&project, &[]).0.code, Some(0));
}

/// `ona -p --ask` on a terminal where this is typed.
fn at_terminal(project: &Project, typed: &str) -> String {
    let server = Server::start([Reply::say("begun")]).unwrap();
    let script = format!("{ONA} -p go --ask; echo code=$?");
    let mut child = project
        .command("script")
        .args(["-qec", &script, "/dev/null"])
        .env("ANTHROPIC_API_KEY", "sk-test-key-of-this-test")
        .env("ANTHROPIC_BASE_URL", server.base_url())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn at_a_terminal_it_is_said_and_asked() {
    let project = project();
    put(&project.home().join(".claude/settings.json"), r#"{"permissions": {"deny": ["Ba"#);
    let shown = at_terminal(&project, "n\n");
    assert!(shown.contains("settings.json: invalid JSON"), "{shown}");
    assert!(shown.contains("Go on without it?") && shown.contains("code=2"), "{shown}");
    let shown = at_terminal(&project, "y\n");
    assert!(shown.contains("Go on without it?") && shown.contains("code=0"), "{shown}");
    assert!(shown.contains("begun"), "{shown}");
}

#[test]
fn explain_and_the_servers_tools_do_not_begin_without_a_guard() {
    let project = project();
    let file = project.home().join(".claude/settings.json");
    put(&file, r#"{"permissions": {"deny": ["Bash("]}}"#);
    for args in [&["explain", "--bash", "ls"][..], &["mcp", "serve"]] {
        let ran = run(&mut project.ona(args));
        assert_eq!(ran.code, Some(2), "{args:?}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("settings.json: permissions.deny[0]"), "{}", ran.stderr);
    }
    // Looking at them goes on, with a warning.
    for args in [&["config", "list"][..], &["agents"], &["trust"]] {
        let ran = run(&mut project.ona(args));
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("permissions.deny[0]"), "{args:?}: {}", ran.stderr);
    }
    // An agent's own call is not the operator's.
    let said = project.eval("Bash", json!({"command": format!("{ONA} --eval '{{\"tool\":\"Bash\",\"input\":{{\"command\":\"echo in\"}}}}'")}));
    assert!(said.content.contains("cannot be read"), "{}", said.content);
}

/// `ona hook` before a call of Bash.
fn hook(project: &Project, host: &str, command: &str, id: &str) -> Ran {
    let said = json!({
        "session_id": "6c5a3f0e-8d0b-4c1e-9f1a-2b7d5e4c3a10", "cwd": project.dir(),
        "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": command}, "tool_use_id": id,
    });
    project.file("said.json", said.to_string());
    let said = fs::File::open(project.path("said.json")).unwrap();
    run(project
        .ona(["hook", host, "--rules"])
        .env("ONA_TRUST", "1")
        .env("ONA_MANAGED_DIRS", managed(project))
        .stdin(said))
}

fn decision(ran: &Ran) -> String {
    let said: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
    said["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or("none").to_owned()
}

#[test]
fn an_untrusted_project_does_not_silence_the_hook_of_another_agent() {
    let project = project();
    for (number, loosens) in [
        json!({"permissions": {"allow": ["Bash"]}}),
        json!({"permissions": {"defaultMode": "bypassPermissions"}}),
        json!({"permissions": {"additionalDirectories": ["/"]}}),
        json!({"permissions": {"allow": ["Bash"], "deny": ["Bash(touch *)"]}}),
    ]
    .iter()
    .enumerate()
    {
        project.file(".claude/settings.json", loosens.to_string());
        let asked = hook(&project, "claude_code", "make all", &format!("a{number}"));
        assert_eq!(decision(&asked), "ask", "{loosens}: {}{}", asked.stdout, asked.stderr);
    }
    let denied = hook(&project, "claude_code", "touch x", "d");
    assert_eq!(decision(&denied), "deny", "what forbids acts: {}", denied.stdout);
    assert_eq!(run(&mut project.ona(["trust"])).code, Some(0));
    let free = hook(&project, "claude_code", "make all", "t");
    assert_eq!((decision(&free).as_str(), free.code), ("none", Some(0)), "{}", free.stdout);
    let denied = hook(&project, "claude_code", "touch x", "e");
    assert_eq!(decision(&denied), "deny", "{}", denied.stdout);
}

#[test]
fn a_guard_that_cannot_be_read_does_not_silence_the_hook_of_another_agent() {
    let project = project();
    put(&managed(&project).join("managed-settings.json"), r#"{"permissions": {"deny": ["#);
    let asked = hook(&project, "claude_code", "ls", "a");
    assert_eq!(decision(&asked), "ask", "{}{}", asked.stdout, asked.stderr);
    assert!(asked.stdout.contains("managed-settings.json: invalid JSON"), "{}", asked.stdout);
    // Codex does not ask when a hook says so.
    let denied = hook(&project, "codex", "ls", "b");
    assert_eq!((decision(&denied).as_str(), denied.code), ("deny", Some(2)), "{}", denied.stdout);
    assert!(denied.stderr.contains("managed-settings.json"), "{}", denied.stderr);
    fs::remove_file(managed(&project).join("managed-settings.json")).unwrap();
    assert_eq!(hook(&project, "claude_code", "ls", "c").code, Some(0));
}

/// How a run is trusted.
#[derive(Clone, Copy, Debug)]
enum Way {
    Option,
    Variable,
}

/// A session of two turns. In the first one a script that was there before runs; the second begins after that.
fn two_turns(
    project: &Project,
    way: Way,
    script: &str,
    then: Vec<Reply>,
) -> (Vec<Recorded>, String) {
    project.file("change.sh", script);
    let mut replies = vec![bash("first", "sh change.sh"), Reply::say("changed")];
    replies.extend(then);
    let server = Server::start(replies).unwrap();
    let stream = ["--input-format", "stream-json", "--output-format", "stream-json"];
    let mut command = anthropic(project, &server, &["-p", "--allowedTools", "Bash(sh change.sh)"]);
    command.args(stream);
    match way {
        Way::Option => command.arg("--trust"),
        Way::Variable => command.env("ONA_TRUST", "1"),
    };
    let said = says_two_prompts(&mut command);
    (server.requests(), said)
}

fn hooks(command: &str) -> Value {
    json!({"PreToolUse": [pre("Bash", command)]})
}

#[test]
fn trust_of_a_run_covers_what_was_there_and_not_what_it_writes() {
    for way in [Way::Option, Way::Variable] {
        let project = project();
        let there =
            json!({"hooks": hooks("touch there"), "permissions": {"allow": ["Bash(touch old)"]}});
        project.file(".claude/settings.json", there.to_string());
        let written = json!({
            "hooks": hooks("touch written"),
            "permissions": {
                "allow": ["Bash(touch old)", "Bash(touch new)"],
                "deny": ["Bash(touch denied)", "Bash(cat *)"],
                "defaultMode": "bypassPermissions",
            },
            "env": {"BASH_ENV": project.path("evil.sh")},
        });
        project.file("written.json", written.to_string());
        project.file("evil.sh", "touch evil");
        let then = vec![
            bash("a", "touch new"),
            bash("b", "touch old"),
            bash("c", "cat change.sh"),
            Reply::say("done"),
        ];
        let script = "cp written.json .claude/settings.json";
        let (requests, said) = two_turns(&project, way, script, then);
        assert!(project.path("there").exists(), "{way:?}: what was there runs: {said}");
        assert!(project.path("old").exists(), "{way:?}: what was there permits: {said}");
        for name in ["written", "new", "evil"] {
            assert!(!project.path(name).exists(), "{way:?} {name}: {said}");
        }
        let denied = requests[5].last_said();
        assert!(denied.contains("denied by the rule Bash(cat *)"), "{way:?}: {denied}");
        assert!(said.contains("held back until `ona trust`"), "{way:?}: {said}");
        assert_eq!(project.sql("SELECT count(*) FROM trusted_content"), ["0"]);
    }
}

#[test]
fn a_guard_that_a_run_removes_or_breaks_goes_on_guarding() {
    for script in [
        "rm .claude/settings.json",
        "echo '{}' > .claude/settings.json",
        "echo '{\"permissions\": {\"deny\": [' > .claude/settings.json",
        "rm -r .claude; echo x > .claude",
        "rm .claude/settings.json; mkfifo .claude/settings.json",
    ] {
        let project = project();
        let guards = json!({
            "hooks": hooks("grep -q guarded && { echo by the hook >&2; exit 2; } || exit 0"),
            "permissions": {"deny": ["Bash(touch denied)"]},
        });
        project.file(".claude/settings.json", guards.to_string());
        let then = vec![bash("a", "touch denied"), bash("b", "touch guarded"), Reply::say("done")];
        let (requests, said) = two_turns(&project, Way::Option, script, then);
        let denied = requests[3].last_said();
        assert!(denied.contains("denied by the rule Bash(touch denied)"), "{script}: {denied}");
        let blocked = requests[4].last_said();
        assert!(blocked.contains("by the hook"), "{script}: {blocked}{said}");
    }
}

#[test]
fn what_the_operator_agrees_to_while_a_run_goes_on_acts() {
    // The operator is a process beside the session that no call has started: it waits for the file and trusts it.
    let project = project();
    project.file(
        ".claude/settings.json",
        json!({"permissions": {"allow": ["Bash(true)"]}}).to_string(),
    );
    let written = json!({"permissions": {"allow": ["Bash(touch agreed)"]}});
    project.file("written.json", written.to_string());
    fs::create_dir(project.path("operator")).unwrap();
    for pipe in ["asks", "answers"] {
        assert!(project.command("mkfifo").arg(project.path(pipe)).status().unwrap().success());
    }
    let operator = format!("cat asks > /dev/null; {ONA} trust > operator/said; echo > answers");
    let mut operator = project.command("sh").args(["-c", &operator]).spawn().unwrap();
    let script = "cp written.json .claude/settings.json; echo > asks; cat answers";
    let then = vec![bash("a", "touch agreed"), Reply::say("done")];
    let (_, said) = two_turns(&project, Way::Option, script, then);
    operator.wait().unwrap();
    assert!(project.path("agreed").exists(), "{said}");
}

#[test]
fn extensions_and_servers_that_a_run_writes_wait() {
    let project = project();
    project
        .file("skill.md", "---\ndescription: x\nallowed-tools: Bash(touch by-skill)\n---\nDo it.");
    project.file(
        "server.json",
        json!({"mcpServers": {"evil": {"command": "touch", "args": ["served"]}}}).to_string(),
    );
    let script = "mkdir -p .claude/skills/evil; cp skill.md .claude/skills/evil/SKILL.md; cp server.json .mcp.json";
    let then = vec![
        Reply::new().call("s", "Skill", json!({"skill": "evil"})),
        bash("a", "touch by-skill"),
        Reply::say("done"),
    ];
    let (_, said) = two_turns(&project, Way::Variable, script, then);
    assert!(!project.path("by-skill").exists() && !project.path("served").exists(), "{said}");
    assert!(said.contains("held back until `ona trust`: allowed-tools"), "{said}");
}

#[test]
fn neither_way_gives_an_agent_the_right_to_trust() {
    let project = project();
    project.file(".claude/settings.json", json!({"hooks": hooks("touch hooked")}).to_string());
    let call = r#"'{"tool":"Bash","input":{"command":"echo inner"}}'"#;
    let inner = |command: &str| {
        let input = json!({"command": command});
        let mut outer = project.eval_command("Bash", &input);
        ona_testkit::report(outer.env("ONA_TRUST", "1")).content
    };
    for (command, why) in [
        (format!("{ONA} trust"), "only the operator decides about trust"),
        (format!("{ONA} --trust --eval {call}"), "only the operator decides about trust"),
        (format!("{ONA} --eval {call}"), "is not trusted"),
        (format!("ONA_TRUST=0 {ONA} --eval {call}"), "ONA_TRUST differs"),
        (format!("{ONA} -p hi"), "is not trusted"),
        (format!("{ONA} config unset hooks --scope project"), "only the operator decides"),
    ] {
        let said = inner(&command);
        assert!(said.contains(why), "{command}: {said}");
    }
    assert_eq!(project.sql("SELECT count(*) FROM trusted_content"), ["0"]);
}

#[test]
fn every_helper_runs_under_every_way_to_start() {
    let project = project();
    open_loopback(&project, &json!({"permissions": {"allow": ["Bash", "WebFetch"]}}));
    let site = Site::page("text/html", "<h1>News</h1>");
    let file = project.file("a.pdf", pdf(&["Alpha", "Beta"]));
    project.file(".claude/settings.json", json!({"hooks": hooks("true")}).to_string());
    let calls = [
        ("Read", json!({"file_path": file}), "Alpha"),
        ("WebFetch", json!({"url": site.url("/"), "prompt": "?"}), "# News"),
        ("Bash", json!({"command": "true", "run_in_background": true}), "Started background task"),
        ("Bash", json!({"command": format!("{ONA} why --json > /dev/null && echo told")}), "told"),
    ];
    // Trusted by the variable, by the option, and by the record.
    for way in ["variable", "option", "record"] {
        let begin = |mut command: Command| {
            match way {
                "variable" => command.env("ONA_TRUST", "1"),
                "option" => command.arg("--trust"),
                _ => &mut command,
            };
            command
        };
        if way == "record" {
            assert_eq!(run(&mut project.ona(["trust"])).code, Some(0));
        }
        for (tool, input, part) in &calls {
            let said = ona_testkit::report(&mut begin(project.eval_command(tool, input)));
            assert!(!said.is_error && said.content.contains(part), "{way}: {}", said.content);
            let replies = [Reply::new().call("x", tool, input.clone()), Reply::say("done")];
            let server = Server::start(replies).unwrap();
            let ran = run(&mut begin(anthropic(&project, &server, &["-p", "go"])));
            assert_eq!(ran.code, Some(0), "{way}: {}", ran.stderr);
            let told = server.requests()[1].last_said();
            assert!(told.contains(part), "{way}: {told}");
        }
        let mut server = serve::Server::greeted(&mut begin(project.ona(["mcp", "serve"])));
        for (tool, input, part) in &calls {
            let (said, is_error) = server.call(tool, input.clone());
            assert!(!is_error && said.contains(part), "{way}: {said}");
        }
    }
}

#[test]
fn an_agent_asks_for_scope_under_a_trusted_run() {
    let project = crate::intents::governed();
    crate::intents::done(&project, &["intent", "select", "INT-001"]);
    let input = json!({"command": format!("{ONA} intent request-scope 'lib/**' --intent INT-001")});
    let said = ona_testkit::report(project.eval_command("Bash", &input).env("ONA_TRUST", "1"));
    assert!(said.content.contains("the operator grants it with"), "{}", said.content);
    let listed = crate::intents::answer(&project, &["intent", "request-scope", "--list", "--json"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
}

#[test]
fn a_setting_is_removed_and_an_unknown_agent_is_named() {
    let project = project();
    let file = project.path(".claude/settings.local.json");
    let ran = run(&mut project.ona(["config", "set", "agent", "reviever"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("unknown agent `reviever`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("general-purpose"), "{}", ran.stderr);
    let ran = run(&mut project.ona(["config", "set", "agent", "general-purpose"]));
    assert!(!ran.stderr.contains("unknown agent"), "{}", ran.stderr);
    fs::write(&file, "{\n  // kept\n  \"model\": \"opus\",\n  \"agent\": \"x\"\n}\n").unwrap();
    let ran = run(&mut project.ona(["config", "unset", "agent"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.stdout, format!("{}: agent is no longer set\n", file.display()));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  // kept\n  \"model\": \"opus\"\n}\n");
    for scope in ["local", "user"] {
        let ran = run(&mut project.ona(["config", "unset", "agent", "--scope", scope]));
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(ran.stderr.contains("`agent` is not set"), "{}", ran.stderr);
    }
    assert!(!project.home().join(".claude").exists(), "nothing is made by removing");
}

#[test]
fn files_of_intents_that_cannot_be_read_do_not_open_the_gate() {
    let project = crate::intents::governed();
    crate::intents::done(&project, &["intent", "select", "INT-001"]);
    let write = |name: &str| {
        let report =
            project.eval("Write", json!({"file_path": project.path(name), "content": "x"}));
        assert!(report.is_error, "{name}: {}", report.content);
        report.content
    };
    for (name, make) in [
        (".orchestration/hook_policy.yaml", UNREADABLE[6].1),
        (".orchestration/hook_policy.yaml", UNREADABLE[2].1),
        (".orchestration/.intentignore", UNREADABLE[6].1),
        (".orchestration/active_intents.yaml", UNREADABLE[6].1),
    ] {
        let file = project.path(name);
        let before = fs::read(&file).ok();
        let _ = fs::remove_file(&file);
        make(&file);
        write("lib/out-of-scope");
        if !name.contains("policy") {
            // What may be touched is not known.
            let said = write("src/in-scope");
            assert!(said.contains("not a regular file"), "{name}: {said}");
        }
        fs::remove_file(&file).unwrap();
        if let Some(before) = before {
            fs::write(&file, before).unwrap();
        }
    }
    project.ok("Write", json!({"file_path": project.path("src/in-scope"), "content": "x"}));
}
