//! DESIGN §5, no. 12: whatever a call starts is the agent, however it was started, and does not outlive who governs
//! it.

use std::fs;
use std::time::{Duration, Instant};

use ona_provider::scripted::{Reply, Server};
use ona_testkit::{Project, run};
use serde_json::json;

use crate::print::anthropic;
use crate::project;

const ONA: &str = env!("CARGO_BIN_EXE_ona");

/// A command line that runs another one with a clean environment, far from where it was started.
fn orphaned(project: &Project, command: &str) -> String {
    format!(
        "env -i HOME={} AGENT_SDLC_DB={} PATH=\"$PATH\" setsid -f sh -c 'exec setsid -f sh -c \"{command}\"'",
        project.home().display(),
        project.database().display(),
    )
}

fn is_gone(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ")
}

#[test]
fn who_forks_away_and_cleans_its_environment_is_no_operator() {
    let project = project();
    project.file(".claude/settings.json", r#"{"permissions": {"allow": ["Bash(x)"]}}"#);
    let trust = orphaned(&project, &format!("{ONA} trust > said 2>&1; echo >> done"));
    // It waits until whoever started it has gone.
    let command = format!("mkfifo said done; cat said & {trust}; cat done; wait");
    let said = project.ok("Bash", json!({"command": command}));
    assert!(said.contains("was started by another ona (process "), "{said}");
    assert_eq!(run(&mut project.ona(["trust", "--list"])).stdout, "");
}

/// In a user namespace of its own a process may not look at those outside; not every machine lets it make one.
#[test]
fn who_has_made_itself_a_user_namespace_is_no_operator() {
    let project = project();
    if run(project.command("unshare").args(["-Urpf", "true"])).code != Some(0) {
        return;
    }
    let command = orphaned(&project, &format!("unshare -Urpf {ONA} trust > said 2>&1"));
    let said = project.ok("Bash", json!({"command": format!("mkfifo said; {command}; cat said")}));
    assert!(said.contains("was started by another ona (process "), "{said}");
}

/// Who hides `/proc` from it hides who stands above it; not every machine lets a process do that.
#[test]
fn who_cannot_be_seen_to_be_the_operator_is_none() {
    let project = project();
    let hide = ["-Urm", "sh", "-c", "mount -t tmpfs none /proc"];
    if run(project.command("unshare").args(hide)).code != Some(0) {
        return;
    }
    let hidden = format!("mount -t tmpfs none /proc; {ONA} trust > said 2>&1");
    let command = orphaned(&project, &format!("unshare -Urm sh -c \\\"{hidden}\\\""));
    let said = project.ok("Bash", json!({"command": format!("mkfifo said; {command}; cat said")}));
    assert!(said.contains("a process that /proc does not show"), "{said}");
}

#[test]
fn what_governs_an_inner_ona_is_what_governs_the_outer_one() {
    let project = project();
    fs::create_dir_all(project.path("other")).unwrap();
    let inner = json!({"tool": "Bash", "input": {"command": "touch made"}}).to_string();
    project.file("inner.json", inner);
    for variable in ["HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "ONA_MANAGED_DIRS"] {
        for run in ["--eval - < inner.json", "-p hi"] {
            let command = format!("{variable}=\"$PWD\"/other {ONA} {run}");
            let said = project.refused("Bash", json!({"command": command}));
            assert!(said.contains(&format!("{variable} differs from")), "{said}");
        }
    }
    let said = project.refused(
        "Bash",
        json!({"command": format!("SDLC_DISABLE_ALL_HOOKS=1 {ONA} --eval - < inner.json")}),
    );
    assert!(said.contains("SDLC_DISABLE_ALL_HOOKS differs from"), "{said}");
    assert!(!project.path("made").exists());
}

#[test]
fn a_call_deletes_and_renames_no_sessions() {
    let project = project();
    project.ok("Read", json!({"file_path": project.file("a", "x")}));
    let session = project.sql("SELECT session_id FROM sessions").remove(0);
    for command in [format!("delete {session} --yes"), format!("rename {session} other")] {
        let said = project.refused("Bash", json!({"command": format!("{ONA} sessions {command}")}));
        assert!(said.contains("only the operator decides what stays on the record"), "{said}");
    }
}

#[test]
fn settings_that_a_call_gives_can_only_forbid() {
    let project = project();
    project.file(
        "inner.json",
        json!({"tool": "Bash", "input": {"command": "touch made"}}).to_string(),
    );
    let inner = |options: &str| format!("{ONA} {options} --eval - < inner.json");
    let hook =
        json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true"}]}]}});
    for (settings, what) in [
        (json!({"permissions": {"defaultMode": "bypassPermissions"}}), "permissions.defaultMode"),
        (json!({"permissions": {"allow": ["Bash"], "deny": ["Read"]}}), "permissions.allow"),
        (json!({"permissions": {"additionalDirectories": ["/"]}}), "permissions.additionalD"),
        (json!({"disableAllHooks": true}), "disableAllHooks"),
        (hook, "hooks"),
    ] {
        project.file("given.json", settings.to_string());
        for options in [format!("--settings '{settings}'"), "--settings given.json".to_owned()] {
            let said = project.refused("Bash", json!({"command": inner(&options)}));
            let told = said.contains(what) && said.contains("only the operator may set this");
            assert!(told, "{options}: {said}");
        }
    }
    for options in ["--allowedTools Bash", "--add-dir /", "--bare", "--setting-sources user"] {
        let said = project.refused("Bash", json!({"command": inner(options)}));
        assert!(said.contains("the operator"), "{options}: {said}");
    }
    // A turn as well as a call, and before anything is asked or kept.
    let turn = format!("{ONA} -p x --settings '{{\"permissions\":{{\"allow\":[\"Bash\"]}}}}'");
    let said = project.refused("Bash", json!({"command": turn}));
    assert!(said.contains("only the operator may set this"), "{said}");
    assert_eq!(project.sql("SELECT count(*) FROM sessions"), ["1"]);
    // To be stricter is nobody's privilege.
    let strict = r#"{"permissions": {"deny": ["Bash(touch *)"]}}"#;
    for options in
        [format!("--settings '{strict}'"), "--disallowedTools 'Bash(touch *)'".to_owned()]
    {
        let said = project.ok("Bash", json!({"command": inner(&options)}));
        assert!(said.contains("denied by the rule"), "{options}: {said}");
    }
    assert!(!project.path("made").exists());
}

#[test]
fn a_terminal_that_a_call_makes_for_itself_has_nobody_at_it() {
    let project = project();
    let inner = json!({"tool": "Bash", "input": {"command": "touch made"}}).to_string();
    project.file("inner.json", inner);
    let command = format!(
        "echo y | script -qec 'env -u ONA_TOOL_USE_ID {ONA} --ask --eval - < inner.json' /dev/null"
    );
    let said = project.refused("Bash", json!({"command": command}));
    assert!(said.contains("only the operator decides who is asked"), "{said}");
    assert!(!project.path("made").exists());
}

#[test]
fn what_a_call_leaves_running_ends_with_its_ona() {
    let project = project();
    // The second ignores a polite request and calls itself a task.
    let command = "setsid -f sh -c 'echo $$ > a; exec sleep 77'; \
                   setsid -f env -i ONA_TASK_ID=task_forged sh -c 'trap \"\" TERM; echo $$ > b; sleep 76; sleep 75' \
                   > /dev/null 2>&1; \
                   while [ ! -s a ] || [ ! -s b ]; do :; done";
    let ran = run(&mut project.eval_command("Bash", &json!({"command": command})));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("warning: ended processes that were left running: sh, sleep"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("run_in_background"), "{}", ran.stderr);
    for file in ["a", "b"] {
        assert!(is_gone(&project.content(file)), "{file}");
    }
}

#[test]
fn what_a_task_leaves_running_ends_with_the_task() {
    let project = project();
    let command = "setsid -f sh -c 'echo $$ > pid; exec sleep 77' > /dev/null 2>&1; while [ ! -s pid ]; do :; done";
    let ran =
        run(&mut project
            .eval_command("Bash", &json!({"command": command, "run_in_background": true})));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "a task is no leftover");
    let started = Instant::now();
    let pid = || fs::read_to_string(project.path("pid")).unwrap_or_default();
    while pid().is_empty() || !is_gone(&pid()) {
        assert!(started.elapsed() < Duration::from_secs(60), "it goes on");
        std::thread::yield_now();
    }
    assert_eq!(project.sql("SELECT end_reason FROM background_tasks"), ["exited"]);
}

#[test]
fn a_session_keeps_what_its_calls_started_until_it_ends() {
    let project = project();
    let server = Server::start([
        Reply::new().call(
            // Processes are found by this name, on the whole machine.
            "toolu_session_keeps_1",
            "Bash",
            json!({"command": "sleep 77 > /dev/null 2>&1 & echo $! > pid"}),
        ),
        Reply::new().call(
            "toolu_session_keeps_2",
            "Bash",
            json!({"command": "kill -0 $(cat pid) && touch alive"}),
        ),
        Reply::say("Done."),
    ])
    .unwrap();
    let args = ["-p", "go", "--permission-mode", "bypassPermissions"];
    let ran = run(&mut anthropic(&project, &server, &args));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Done.\n"), "{}", ran.stderr);
    assert!(project.path("alive").exists());
    assert!(is_gone(&project.content("pid")));
    assert!(ran.stderr.contains("ended processes that were left running: sleep"), "{}", ran.stderr);
}

#[test]
fn what_acts_in_every_project_is_asked_about_in_every_mode() {
    let project = project();
    let home = project.home().canonicalize().unwrap();
    fs::create_dir_all(home.join(".claude/agents")).unwrap();
    let decided = |file: &std::path::Path| {
        let call = json!({"tool": "Write", "input": {"file_path": file, "content": "x"}});
        let args = ["--permission-mode", "acceptEdits", "explain", "--json", &call.to_string()];
        run(project.ona(args).current_dir(&home)).stdout
    };
    for name in ["agents/a.md", "commands/c.md", "skills/s/SKILL.md"] {
        let said = decided(&home.join(".claude").join(name));
        assert!(said.contains(r#""verdict":"ask""#), "{name}: {said}");
        let said = decided(&home.join("project/.claude").join(name));
        assert!(said.contains(r#""verdict":"allow""#), "{name}: {said}");
    }
}
