//! `ona init`: what it puts into a project and into other agents' files, and that it takes exactly that back.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use ona_testkit::{Project, Ran, run};
use serde_json::{Value, json};

use crate::project;

/// PATH with the binary's directory in front.
fn on_path() -> String {
    let dir = Path::new(env!("CARGO_BIN_EXE_ona")).parent().unwrap();
    format!("{}:{}", dir.display(), std::env::var("PATH").unwrap())
}

fn init(project: &Project, args: &[&str]) -> Ran {
    run(project.ona(["init"]).args(args).env("PATH", on_path()))
}

fn done(project: &Project, args: &[&str]) -> Ran {
    let ran = init(project, args);
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
    ran
}

fn read_json(project: &Project, name: &str) -> Value {
    serde_json::from_str(&project.content(name)).unwrap()
}

/// Every file of the project with what it holds.
fn tree(project: &Project) -> BTreeMap<String, String> {
    fn walk(dir: &Path, root: &Path, into: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && !path.is_symlink() {
                into.insert(format!("{name}/"), String::new());
                walk(&path, root, into);
            } else {
                let bytes = fs::read(&path).unwrap_or_default();
                into.insert(name, String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }
    let mut files = BTreeMap::new();
    walk(&project.dir(), &project.dir(), &mut files);
    files
}

const TOOLS: [&str; 3] = ["claude_code", "codex", "roo_code"];

#[test]
fn a_project_is_prepared_once_and_nothing_of_it_is_overwritten() {
    let project = project();
    project.file(".orchestration/hook_policy.yaml", "failure_mode: open\n");
    project.file(".gitattributes", "*.png binary");
    let ran = done(&project, &[]);
    assert_eq!(
        ran.stdout,
        "created  .orchestration/active_intents.yaml\n\
         created  .orchestration/.gitignore\n\
         changed  .gitattributes\n"
    );
    assert_eq!(project.content(".orchestration/hook_policy.yaml"), "failure_mode: open\n");
    assert_eq!(
        project.content(".gitattributes"),
        "*.png binary\n.orchestration/agent_trace.jsonl merge=union\n.orchestration/intent_map.md merge=union\n"
    );
    assert!(
        project.content(".orchestration/active_intents.yaml").ends_with("active_intents: []\n")
    );
    let before = tree(&project);
    let kept = format!("nothing to change in {}\n", project.dir().display());
    assert_eq!(done(&project, &[]).stdout, kept);
    assert_eq!(tree(&project), before);
}

#[test]
fn from_a_subdirectory_the_repository_is_prepared() {
    let project = project();
    run(project.command("git").args(["init", "-q"]));
    project.file("src/deep/a.rs", "");
    let ran = run(&mut project.ona(["init", "--cwd", "src/deep", "--json"]));
    let said: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(said["root"], project.dir().to_str().unwrap());
    assert!(project.path(".orchestration/hook_policy.yaml").exists());
}

#[test]
fn claude_code_gets_hooks_a_server_and_its_rules() {
    let project = project();
    let ran = done(&project, &["--tool", "claude_code"]);
    assert!(ran.stderr.contains("note: Claude Code reads hooks"), "{}", ran.stderr);
    let settings = read_json(&project, ".claude/settings.json");
    let events: Vec<&String> = settings["hooks"].as_object().unwrap().keys().collect();
    assert_eq!(
        events,
        [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "Stop",
            "SessionEnd"
        ]
    );
    let handler = json!({"type": "command", "command": "ona hook claude_code", "timeout": 30});
    assert_eq!(settings["hooks"]["PreToolUse"], json!([{"matcher": "*", "hooks": [handler]}]));
    assert_eq!(settings["hooks"]["Stop"], json!([{"hooks": [handler]}]));
    let server = json!({"mcpServers": {"ona": {"command": "ona", "args": ["serve", "--mcp"]}}});
    assert_eq!(read_json(&project, ".mcp.json"), server);
    let rules = project.content("CLAUDE.md");
    assert!(rules.starts_with("<!-- ona:begin:created claude_code -->\n## Intents\n"), "{rules}");
    assert!(rules.contains("`select_active_intent`") && rules.contains("`scope_violation`"));
}

#[test]
fn codex_gets_hooks_a_server_and_its_rules() {
    let project = project();
    let ran = done(&project, &["--tool", "codex"]);
    assert!(ran.stderr.contains("only after you have reviewed them with /hooks"), "{}", ran.stderr);
    let hooks = read_json(&project, ".codex/hooks.json");
    assert_eq!(hooks.as_object().unwrap().len(), 1, "Codex refuses other keys: {hooks}");
    assert_eq!(hooks["hooks"]["PreToolUse"][0]["hooks"][0]["command"], "ona hook codex");
    assert!(hooks["hooks"].get("PostToolUseFailure").is_none());
    assert_eq!(
        project.content(".codex/config.toml"),
        "# ona:begin:created codex\n[mcp_servers.ona]\ncommand = \"ona\"\nargs = [\"serve\", \"--mcp\"]\n\
         # ona:end codex\n"
    );
    assert!(project.content("AGENTS.md").contains("## Intents"));
}

#[test]
fn roo_code_gets_a_mode_and_a_server_and_the_operator_the_truth() {
    let project = project();
    let ran = done(&project, &["--tool", "roo_code"]);
    assert!(ran.stderr.contains("cannot deny a write before it happens"), "{}", ran.stderr);
    let modes = read_json(&project, ".roomodes");
    assert_eq!(modes["customModes"][0]["slug"], "ona-governed");
    assert_eq!(modes["customModes"][0]["groups"], json!(["read", "edit", "command", "mcp"]));
    assert_eq!(read_json(&project, ".roo/mcp.json")["mcpServers"]["ona"]["command"], "ona");
}

#[test]
fn what_was_there_stays_and_comes_back_to_the_byte() {
    let files: [(&str, &str); 8] = [
        (
            ".claude/settings.json",
            "// ours\n{\n\t\"model\": \"opus\", // dear\n\t\"hooks\": {\n\t\t\"PreToolUse\": [\n\t\t\t{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"guard\"}]}\n\t\t],\n\t},\n\t\"x-unknown\": [1, 2]\n}\n",
        ),
        (".mcp.json", "{\"mcpServers\":{\"db\":{\"command\":\"db\"}}}"),
        ("CLAUDE.md", "# Rules\r\n\r\nBe kind.\r\n"),
        (".codex/hooks.json", "{\n    \"hooks\": {}\n}"),
        (".codex/config.toml", "model = \"x\"\n\n[mcp_servers.db]\ncommand = \"db\" # ours\n"),
        ("AGENTS.md", "no line end"),
        (
            ".roomodes",
            "customModes:\n  - slug: ours\n    name: Ours\n    roleDefinition: |\n      one\n\n      two\n    groups: [read]\n# the end\n",
        ),
        (".roo/mcp.json", "{\n  \"mcpServers\": {}\n}\n"),
    ];
    let project = project();
    done(&project, &[]);
    for (name, text) in files {
        project.file(name, text);
    }
    let before = tree(&project);
    for tool in TOOLS {
        done(&project, &["--tool", tool]);
        let with = tree(&project);
        assert_ne!(with, before, "{tool}");
        done(&project, &["--tool", tool]);
        assert_eq!(tree(&project), with, "{tool}: a second run changes nothing");
        let text = &with[".claude/settings.json"];
        assert!(text.starts_with("// ours\n{\n\t\"model\": \"opus\", // dear\n"), "{text}");
        done(&project, &["--tool", tool, "--uninstall"]);
        let mut after = tree(&project);
        // An object that held only what was ona's is gone with it: it said nothing.
        for (name, empty) in [(".codex/hooks.json", "{}"), (".roo/mcp.json", "{}\n")] {
            if after.get(name).is_none_or(|left| left == empty) {
                after.insert(name.to_owned(), before[name].clone());
                after.insert(format!("{}/", name.split('/').next().unwrap()), String::new());
            }
        }
        assert_eq!(after, before, "{tool}");
    }
}

#[test]
fn all_agents_together_are_taken_back_one_by_one() {
    let project = project();
    let empty = tree(&project);
    done(&project, &[]);
    let prepared = tree(&project);
    for tool in TOOLS {
        done(&project, &["--tool", tool]);
    }
    for tool in TOOLS {
        done(&project, &["--tool", tool, "--uninstall"]);
    }
    assert_eq!(tree(&project), prepared, "files that ona made are removed");
    assert!(
        done(&project, &["--tool", "codex", "--uninstall"])
            .stdout
            .starts_with("nothing to change in ")
    );
    done(&project, &["--uninstall"]);
    assert_eq!(tree(&project), empty);
}

#[test]
fn what_others_changed_meanwhile_stays_when_it_is_taken_back() {
    let project = project();
    done(&project, &["--tool", "claude_code"]);
    let mut settings = read_json(&project, ".claude/settings.json");
    settings["hooks"]["PreToolUse"][0]["hooks"]
        .as_array_mut()
        .unwrap()
        .push(json!({"command": "mine"}));
    settings["hooks"]["Stop"][0]["hooks"][0]["timeout"] = json!(99);
    settings["permissions"] = json!({"deny": ["Bash(rm *)"]});
    project.file(".claude/settings.json", settings.to_string());
    project.file(
        "CLAUDE.md",
        format!("# Mine\n\n{}\n## Lessons Learned\n", project.content("CLAUDE.md")),
    );
    let mut servers = read_json(&project, ".mcp.json");
    servers["mcpServers"]["ona"]["env"] = json!({"A": "b"});
    project.file(".mcp.json", servers.to_string());
    // What was set for ona's own hook and server stays set.
    done(&project, &["--tool", "claude_code"]);
    assert_eq!(
        read_json(&project, ".claude/settings.json")["hooks"]["Stop"][0]["hooks"][0]["timeout"],
        99
    );
    assert_eq!(read_json(&project, ".mcp.json")["mcpServers"]["ona"]["env"], json!({"A": "b"}));
    done(&project, &["--tool", "claude_code", "--uninstall"]);
    assert_eq!(
        read_json(&project, ".claude/settings.json"),
        json!({
            "hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"command": "mine"}]}]},
            "permissions": {"deny": ["Bash(rm *)"]},
        })
    );
    assert_eq!(project.content("CLAUDE.md"), "# Mine\n\n## Lessons Learned\n");
    assert!(!project.path(".mcp.json").exists());
}

#[test]
fn a_file_that_cannot_be_read_stops_everything_and_is_named_with_the_place() {
    for (name, text, tool, said) in [
        (
            ".mcp.json",
            "{\n  \"mcpServers\": {,}\n}",
            "claude_code",
            ".mcp.json:2:18: invalid JSON: key must be a string\n",
        ),
        (
            ".claude/settings.json",
            "{\n \"hooks\": []}",
            "claude_code",
            ".claude/settings.json:2:11: hooks is not an object",
        ),
        (
            ".claude/settings.json",
            "{\"hooks\": {\"Stop\": {}}}",
            "claude_code",
            ":1:20: hooks.Stop is not an array",
        ),
        (
            "CLAUDE.md",
            "a\n<!-- ona:begin claude_code -->\n",
            "claude_code",
            "CLAUDE.md:2:1: ona's section has no end",
        ),
        (".codex/config.toml", "a = 1\nb = \n", "codex", ".codex/config.toml:2:5: invalid TOML"),
        (".roomodes", "customModes: [\n", "roo_code", ".roomodes:"),
        (".roomodes", "customModes: [{slug: a}]\n", "roo_code", "add the mode by hand"),
    ] {
        let project = project();
        project.file(name, text);
        let before = tree(&project);
        for more in [&[][..], &["--dry-run"]] {
            let ran = init(&project, &[&["--tool", tool], more].concat());
            assert_eq!(ran.code, Some(2), "{name}: {}", ran.stdout);
            assert!(ran.stderr.contains(said), "{name}: {}", ran.stderr);
            assert!(ran.stderr.contains("nothing was changed"), "{}", ran.stderr);
        }
        assert_eq!(tree(&project), before, "{name}");
    }
    let project = project();
    project.file("AGENTS.md", b"\xff\xfe");
    let before = tree(&project);
    let ran = init(&project, &["--tool", "codex"]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("AGENTS.md: it is not UTF-8"),
        "{}",
        ran.stderr
    );
    assert_eq!(tree(&project), before);
}

#[test]
fn a_dry_run_shows_a_patch_that_git_takes() {
    let project = project();
    run(project.command("git").args(["init", "-q"]));
    project.file(".claude/settings.json", "{\n  \"model\": \"opus\"\n}\n");
    project.file("CLAUDE.md", "# Rules\n");
    let before = tree(&project);
    let ran = done(&project, &["--tool", "claude_code", "--dry-run"]);
    assert_eq!(tree(&project), before);
    assert!(
        ran.stdout.contains("--- a/.claude/settings.json\n+++ b/.claude/settings.json\n"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("--- /dev/null\n+++ b/.mcp.json\n"), "{}", ran.stdout);
    let patch = project.home().join("x.patch");
    fs::write(&patch, &ran.stdout).unwrap();
    let applied = run(project.command("git").args(["apply"]).arg(&patch));
    assert_eq!(applied.code, Some(0), "{}", applied.stderr);
    let patched = tree(&project);
    done(&project, &["--tool", "claude_code"]);
    assert_eq!(tree(&project), patched);
    let said: Value = serde_json::from_str(
        &done(&project, &["--tool", "claude_code", "--uninstall", "--dry-run", "--json"]).stdout,
    )
    .unwrap();
    let file = &said["files"][0];
    assert_eq!(
        (&file["path"], &file["action"]),
        (&json!(".claude/settings.json"), &json!("changed"))
    );
    assert!(file["diff"].as_str().unwrap().contains("-  \"hooks\": {"), "{file}");
}

#[test]
fn links_are_followed_in_the_project_and_never_out_of_it() {
    let project = project();
    project.file("AGENTS.md", "# All\n");
    symlink("AGENTS.md", project.path("CLAUDE.md")).unwrap();
    done(&project, &["--tool", "claude_code"]);
    assert!(project.path("CLAUDE.md").is_symlink());
    assert!(project.content("AGENTS.md").contains("ona:begin claude_code"));
    done(&project, &["--tool", "claude_code", "--uninstall"]);
    assert_eq!(project.content("AGENTS.md"), "# All\n");
    let elsewhere = project.home().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, project.path(".codex")).unwrap();
    let before = tree(&project);
    let ran = init(&project, &["--tool", "codex"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains(".codex/hooks.json leads out of the project"), "{}", ran.stderr);
    assert_eq!(tree(&project), before);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn a_program_that_path_does_not_know_is_named_by_its_place() {
    let project = project();
    let dir = project.home().join("it's here");
    fs::create_dir(&dir).unwrap();
    let program = dir.join("ona");
    fs::copy(env!("CARGO_BIN_EXE_ona"), &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let ran = run(project.command(&program).args(["init", "--tool", "claude_code"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("so the files name"), "{}", ran.stderr);
    let settings = read_json(&project, ".claude/settings.json");
    let command = settings["hooks"]["Stop"][0]["hooks"][0]["command"].as_str().unwrap();
    let said =
        run(project.command("sh").args(["-c", &command.replace("hook claude_code", "--version")]));
    assert!(said.stdout.starts_with("ona "), "{command}: {}", said.stderr);
    assert_eq!(
        read_json(&project, ".mcp.json")["mcpServers"]["ona"]["command"],
        program.to_str().unwrap()
    );
    // Once it is on PATH, the files say so, and still there is one hook an event.
    done(&project, &["--tool", "claude_code"]);
    let settings = read_json(&project, ".claude/settings.json");
    assert_eq!(settings["hooks"]["Stop"].as_array().unwrap().len(), 1);
    assert_eq!(settings["hooks"]["Stop"][0]["hooks"][0]["command"], "ona hook claude_code");
    assert_eq!(read_json(&project, ".mcp.json")["mcpServers"]["ona"]["command"], "ona");
}

/// The files are there for others; ona's own agent passes the gate anyway.
#[test]
fn onas_own_hooks_need_no_trust_and_are_skipped_with_their_reason() {
    let project = project();
    done(&project, &["--tool", "claude_code"]);
    // No intent is selected, and there is no `ona hook` on this PATH: it would show.
    project.ok("Bash", json!({"command": "true"}));
    let rows = project.sql("SELECT hook_event, skipped_reason, exit_code FROM hook_invocations");
    assert_eq!(rows, ["PreToolUse|own_gate|", "PostToolUse|own_gate|"]);
    let explained = run(&mut project.ona(["explain", "--bash", "true"])).stdout;
    assert!(explained.contains("skipped, it is ona's own gate for another agent"), "{explained}");
    let why = run(&mut project.ona(["why"])).stdout;
    assert!(why.contains("PreToolUse [*] ona hook claude_code: skipped: own_gate"), "{why}");
    assert!(!why.contains("switched off"), "{why}");
    // Whatever stands beside them still needs it.
    let mut settings = read_json(&project, ".claude/settings.json");
    settings["hooks"]["Stop"][0]["hooks"][0]["command"] =
        json!("ona hook claude_code; touch hooked");
    project.file(".claude/settings.json", settings.to_string());
    let ran = run(&mut project.eval_command("Bash", &json!({"command": "true"})));
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    assert!(ran.stderr.contains("hooks in .claude/settings.json"), "{}", ran.stderr);
}

#[test]
fn trust_that_was_given_before_still_holds() {
    let project = project();
    project.file(
        ".claude/settings.json",
        json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "touch hooked"}]}]}}).to_string(),
    );
    project.file(".mcp.json", json!({"mcpServers": {"db": {"command": "db"}}}).to_string());
    assert_eq!(run(&mut project.ona(["trust"])).code, Some(0));
    done(&project, &["--tool", "claude_code"]);
    project.ok("Bash", json!({"command": "true"}));
    assert!(project.path("hooked").exists());
    // A server of ona's name that does more is nobody's but the project's.
    let mut servers = read_json(&project, ".mcp.json");
    servers["mcpServers"]["ona"]["env"] = json!({"LD_PRELOAD": "./evil.so"});
    project.file(".mcp.json", servers.to_string());
    let ran = run(&mut project.eval_command("Bash", &json!({"command": "true"})));
    assert!(ran.code == Some(2) && ran.stderr.contains("MCP servers in"), "{}", ran.stderr);
}

#[test]
fn an_agent_can_neither_install_nor_uninstall() {
    let project = project();
    done(&project, &["--tool", "claude_code"]);
    // Without intents, so that it is not the gate that says no.
    fs::remove_dir_all(project.path(".orchestration")).unwrap();
    let ona = env!("CARGO_BIN_EXE_ona");
    let before = tree(&project);
    for args in ["--tool claude_code --uninstall", "--uninstall", ""] {
        let said = project.refused("Bash", json!({"command": format!("{ona} init {args}")}));
        assert!(said.contains("only the operator decides what governs a project"), "{said}");
    }
    let shown =
        project.ok("Bash", json!({"command": format!("{ona} init --tool codex --dry-run")}));
    assert!(shown.contains("+++ b/.codex/hooks.json"), "{shown}");
    assert_eq!(tree(&project), before);
}

#[test]
fn a_project_that_is_worked_in_is_not_taken_away() {
    let project = project();
    done(&project, &[]);
    project.file(".orchestration/agent_trace.jsonl", "{}\n");
    let before = tree(&project);
    let ran = init(&project, &["--uninstall"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("agent_trace.jsonl was changed since ona created it"),
        "{}",
        ran.stderr
    );
    assert_eq!(tree(&project), before);
}

/// Hooks let the tools of a server of ona's name pass.
#[test]
fn what_has_onas_name_and_is_not_ona_stops_it() {
    let project = project();
    let servers = json!({"mcpServers": {"ona": {"command": "theirs"}}}).to_string();
    project.file(".mcp.json", &servers);
    project.file(".codex/config.toml", "[mcp_servers.ona]\nurl = \"https://x\"\n");
    let before = tree(&project);
    for tool in ["claude_code", "codex"] {
        let ran = init(&project, &["--tool", tool]);
        assert_eq!(ran.code, Some(2), "{}", ran.stdout);
        assert!(ran.stderr.contains("another server is named `ona`"), "{}", ran.stderr);
        done(&project, &["--tool", tool, "--uninstall"]);
        assert_eq!(tree(&project), before);
    }
}

#[test]
fn what_would_make_it_useless_is_pointed_out() {
    let project = project();
    project.file(".claude/settings.json", "{\"disableAllHooks\": true}");
    let ran = done(&project, &["--tool", "claude_code"]);
    assert!(ran.stderr.contains("sets disableAllHooks"), "{}", ran.stderr);
    let ran = run(project.ona(["init"]).current_dir(project.home()));
    assert!(ran.code == Some(2) && ran.stderr.contains("is your home directory"), "{}", ran.stderr);
}

/// What `ona init` writes is what `ona hook` and the server answer to.
#[test]
fn what_was_installed_gates_the_agent() {
    let project = project();
    done(&project, &["--tool", "claude_code"]);
    project.file(
        ".orchestration/active_intents.yaml",
        "active_intents:\n  - {id: INT-1, status: PLANNED, owned_scope: ['src/**']}\n",
    );
    let settings = read_json(&project, ".claude/settings.json");
    let command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
    let hook = |tool: &str, input: Value| {
        let payload = json!({
            "session_id": "s-1", "transcript_path": "/t", "cwd": project.dir(), "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "tool_use_id": "t-1",
        });
        let file = project.home().join("payload.json");
        fs::write(&file, payload.to_string()).unwrap();
        let file = fs::File::open(file).unwrap();
        let ran =
            run(project.command("sh").args(["-c", command]).env("PATH", on_path()).stdin(file));
        format!("{}{}", ran.stdout, ran.stderr)
    };
    let write = json!({"file_path": project.path("src/a"), "content": "x"});
    let said = hook("Write", write.clone());
    assert!(said.contains("deny") && said.contains("intent_required"), "{said}");
    hook("mcp__ona__select_active_intent", json!({"intent_id": "INT-1"}));
    let said = hook("Write", write);
    assert!(!said.contains("deny"), "{said}");
}
