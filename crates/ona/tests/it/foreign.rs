//! Other agents behind the gate: recorded hook payloads of Claude Code and Codex through `ona hook`.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use ona_testkit::{Project, Ran, run};
use serde_json::{Value, json};

use crate::intent_gate::{governed, trace};
use crate::project;

const SESSION: &str = "6c5a3f0e-8d0b-4c1e-9f1a-2b7d5e4c3a10";

/// Runs a hook; what it printed, and how it ended.
fn hook_of(project: &Project, host: &str, args: &[&str], said: &str) -> Ran {
    told(project.ona(["hook", host]).args(args), said)
}

/// Runs a command that is told this on standard input.
pub fn told(command: &mut Command, said: &str) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(said.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

pub fn hook(project: &Project, said: &Value) -> Ran {
    hook_of(project, "claude_code", &[], &said.to_string())
}

/// A payload as Claude Code sends it.
#[allow(clippy::needless_pass_by_value, reason = "callers write json!(…)")]
pub fn payload(project: &Project, event: &str, tool: &str, id: &str, input: Value) -> Value {
    let mut said = json!({
        "session_id": SESSION,
        "transcript_path": "/nowhere/transcript.jsonl",
        "cwd": project.dir(),
        "permission_mode": "default",
        "hook_event_name": event,
        "tool_name": tool,
        "tool_input": input,
        "tool_use_id": id,
    });
    if event == "PostToolUse" {
        said["tool_response"] = json!({"success": true});
    }
    said
}

pub fn select(project: &Project) {
    let input = json!({"intent_id": "INT-1"});
    let ran = hook(
        project,
        &payload(project, "PreToolUse", "mcp__ona__select_active_intent", "toolu_s", input),
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
}

/// What a denial says, which must be said in every way.
pub fn denial(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
    let said: Value = serde_json::from_str(&ran.stdout).unwrap();
    let decided = &said["hookSpecificOutput"];
    assert_eq!(decided["hookEventName"], "PreToolUse");
    assert_eq!(decided["permissionDecision"], "deny");
    let reason = decided["permissionDecisionReason"].as_str().unwrap();
    assert_eq!(ran.stderr.trim_end(), reason);
    serde_json::from_str(reason).unwrap_or_else(|_| panic!("{reason}"))
}

#[test]
fn a_write_is_judged_before_and_traced_after() {
    let project = governed("");
    let file = project.path("src/a.rs");
    fs::create_dir(project.path("src")).unwrap();
    let write = json!({"file_path": file, "content": "fn a() {}\n"});
    let before = |tool: &str, id: &str, input: &Value| {
        hook(&project, &payload(&project, "PreToolUse", tool, id, input.clone()))
    };
    assert_eq!(denial(&before("Write", "toolu_1", &write))["type"], "intent_required");
    select(&project);
    let ran = before("Write", "toolu_2", &write);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
    fs::write(&file, "fn a() {}\n").unwrap();
    let ran = hook(&project, &payload(&project, "PostToolUse", "Write", "toolu_2", write));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
    let elsewhere = json!({"file_path": project.path("lib/a.rs"), "content": "x"});
    assert_eq!(denial(&before("Write", "toolu_3", &elsewhere))["type"], "scope_violation");

    let entries = trace(&project);
    let told: Vec<_> = entries
        .iter()
        .map(|entry| (entry["tool_use_id"].as_str().unwrap(), entry["success"].as_bool().unwrap()))
        .collect();
    assert_eq!(told, [("toolu_1", false), ("toolu_2", true), ("toolu_3", false)]);
    assert_eq!(entries[1]["host"], "claude_code");
    assert_eq!(entries[1]["session_id"], SESSION);
    assert_eq!(entries[1]["modified_ranges"][0]["ast_nodes"][0]["symbol"], "a");
    assert_eq!(entries[1]["file"]["pre_hash"], Value::Null);
    assert_eq!(
        project.sql(
            "SELECT s.session_id, i.origin FROM sessions s JOIN session_info i USING (session_id)"
        ),
        [format!("{SESSION}|claude_code")]
    );
    assert_eq!(
        project.sql("SELECT hook_event, tool_use_id, exit_code FROM hook_invocations ORDER BY id"),
        [
            "PreToolUse|toolu_1|2",
            "PreToolUse|toolu_s|0",
            "PreToolUse|toolu_2|0",
            "PostToolUse|toolu_2|0",
            "PreToolUse|toolu_3|2",
        ]
    );
    let why = ona_testkit::run(&mut project.ona(["why", "toolu_3"])).stdout;
    assert!(why.contains("scope_violation") || why.contains("Scope violation"), "{why}");
    // What another agent does is not what ona goes on with.
    let ran = ona_testkit::run(
        &mut project.ona(["--eval", r#"{"tool":"Glob","input":{"pattern":"*"}}"#]),
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(project.sql("SELECT count(*) FROM sessions"), ["2"]);
}

#[test]
fn a_file_that_moved_since_the_host_read_it_is_stale() {
    let project = governed("");
    let file = project.file("src/a.txt", "one\n");
    select(&project);
    let read = json!({"file_path": file});
    hook(&project, &payload(&project, "PreToolUse", "Read", "toolu_r", read.clone()));
    hook(&project, &payload(&project, "PostToolUse", "Read", "toolu_r", read));
    project.file("src/a.txt", "two\n");
    let edit = json!({"file_path": file, "old_string": "two", "new_string": "three"});
    let ran = hook(&project, &payload(&project, "PreToolUse", "Edit", "toolu_e", edit));
    assert_eq!(denial(&ran)["type"], "stale_file");
}

#[test]
fn commands_ask_unless_a_rule_approves_and_are_looked_at_afterwards() {
    let project = governed("on_out_of_scope_write: revert\n");
    select(&project);
    fs::create_dir(project.path("src")).unwrap();
    project.file("kept.txt", "as it was\n");
    let input = json!({"command": "make things"});
    let ran = hook(&project, &payload(&project, "PreToolUse", "Bash", "toolu_1", input.clone()));
    let said: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (ran.code, &said["hookSpecificOutput"]["permissionDecision"]),
        (Some(0), &json!("ask"))
    );
    let safe = json!({"command": "ls -la"});
    let ran = hook(&project, &payload(&project, "PreToolUse", "Bash", "toolu_2", safe));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    project.file(".claude/settings.json", r#"{"permissions": {"allow": ["Bash(make *)"]}}"#);
    // The agent could have written it: it counts if the operator has agreed.
    let ran = hook(&project, &payload(&project, "PreToolUse", "Bash", "toolu_4", input.clone()));
    assert!(ran.stdout.contains("\"ask\""), "{}", ran.stdout);
    assert_eq!(run(&mut project.ona(["trust"])).code, Some(0));
    let ran = hook(&project, &payload(&project, "PreToolUse", "Bash", "toolu_3", input.clone()));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
    project.file("kept.txt", "spoilt\n");
    project.file("src/new.txt", "x\n");
    let ran = hook(&project, &payload(&project, "PostToolUse", "Bash", "toolu_3", input));
    let said: Value = serde_json::from_str(&ran.stdout).unwrap();
    let told = said["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(told.contains("Restored: kept.txt"), "{told}");
    assert_eq!(project.content("kept.txt"), "as it was\n");
    let entry = trace(&project).pop().unwrap();
    assert_eq!(entry["warnings"], json!(["put_back: kept.txt"]));
    assert_eq!(entry["modified_ranges"][0]["file"], "src/new.txt");
}

#[test]
fn a_check_that_failed_at_the_host_is_a_lesson() {
    let project = governed("");
    select(&project);
    let input = json!({"command": "npm test"});
    hook(&project, &payload(&project, "PreToolUse", "Bash", "toolu_1", input.clone()));
    let mut said = payload(&project, "PostToolUseFailure", "Bash", "toolu_1", input);
    said["error"] = json!("Exit code 7\n1 failing: it greets");
    assert_eq!(hook(&project, &said).code, Some(0));
    let text = project.content("AGENT.md");
    assert!(text.contains("[INT-1] npm test: exit 7. 1 failing: it greets"), "{text}");
    let entry = trace(&project).pop().unwrap();
    assert_eq!((&entry["tool_name"], &entry["host"]), (&json!("lesson"), &json!("claude_code")));
}

#[test]
fn a_host_that_does_not_heed_a_no_is_noticed() {
    let project = governed("");
    let file = project.path("lib.txt");
    select(&project);
    let input = json!({"file_path": file, "content": "x"});
    denial(&hook(&project, &payload(&project, "PreToolUse", "Write", "toolu_1", input.clone())));
    fs::write(&file, "x").unwrap();
    let ran = hook(&project, &payload(&project, "PostToolUse", "Write", "toolu_1", input));
    assert!(ran.stdout.contains("outside the scope of INT-1"), "{}", ran.stdout);
    let entry = trace(&project).pop().unwrap();
    assert_eq!(entry["warnings"], json!(["out_of_scope: lib.txt", "ran_although_refused"]));
    assert_eq!(entry["scope_validation"], "FAIL");
    assert_eq!(
        project.sql("SELECT count(*) FROM events WHERE event_type = 'ran_although_refused'"),
        ["1"]
    );
}

#[test]
fn codex_patches_name_their_files() {
    let project = governed("");
    fs::create_dir(project.path("src")).unwrap();
    let said = |event: &str, tool: &str, patch: &str| {
        json!({"session_id": "thread-1", "turn_id": "t", "transcript_path": null, "cwd": project.dir(),
               "hook_event_name": event, "model": "gpt-5", "permission_mode": "default", "tool_name": tool,
               "tool_use_id": "call_1", "tool_input": {"command": patch}, "tool_response": ""})
        .to_string()
    };
    assert_eq!(ona_testkit::run(&mut project.ona(["--init-db"])).code, Some(0));
    project.sql(&format!(
        "INSERT INTO selected_intents(workspace, intent_id, selected_by) VALUES ('{}', 'INT-1', 'human')",
        project.dir().display()
    ));
    let outside = "*** Begin Patch\n*** Update File: src/a\n*** Move to: lib/a\n*** End Patch";
    let ran = hook_of(&project, "codex", &[], &said("PreToolUse", "apply_patch", outside));
    assert_eq!(denial(&ran)["file"], "lib/a");
    let inside = "*** Begin Patch\n*** Add File: src/b\n+x\n*** End Patch";
    let ran = hook_of(
        &project,
        "codex",
        &[],
        &said("PreToolUse", "apply_patch", inside).replace("call_1", "call_2"),
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
    project.file("src/b", "x\n");
    hook_of(
        &project,
        "codex",
        &[],
        &said("PostToolUse", "apply_patch", inside).replace("call_1", "call_2"),
    );
    let entry = trace(&project).pop().unwrap();
    assert_eq!((&entry["host"], &entry["model"]), (&json!("codex"), &json!("gpt-5")));
    assert_eq!(entry["agent_action"], "PATCH_FILE");
    assert_eq!(entry["file"]["relative_path"], "src/b");
    // Codex goes on where a hook asks, so it is not asked; its own approval is the human's.
    let ran = hook_of(
        &project,
        "codex",
        &[],
        &said("PreToolUse", "shell", "make").replace("call_1", "call_3"),
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
}

#[test]
fn permission_rules_count_where_they_are_asked_for() {
    let project = project();
    project.file(".claude/settings.json", r#"{"permissions": {"deny": ["Bash(rm *)"]}, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "touch pwned"}]}]}}"#);
    let said =
        payload(&project, "PreToolUse", "Bash", "toolu_1", json!({"command": "rm a"})).to_string();
    let ran = hook_of(&project, "claude_code", &[], &said);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ran = hook_of(&project, "claude_code", &["--rules"], &said);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("Bash(rm *)"), "{}", ran.stderr);
    assert!(!project.path("pwned").exists());
}

#[test]
fn an_agent_that_changes_its_directory_does_not_leave_its_workspace() {
    let project = governed("");
    select(&project);
    let input = json!({"file_path": project.path("lib.txt"), "content": "x"});
    let mut said = payload(&project, "PreToolUse", "Write", "toolu_1", input);
    said["cwd"] = json!(project.home());
    assert_eq!(denial(&hook(&project, &said))["type"], "scope_violation");
    // A session that is first heard of elsewhere is told by the host where it is at home.
    said["session_id"] = json!("another");
    assert_eq!(hook(&project, &said).code, Some(0), "nothing says where it belongs");
    said["session_id"] = json!("a-third");
    let mut command = project.ona(["hook", "claude_code"]);
    command.env("CLAUDE_PROJECT_DIR", project.dir());
    assert_eq!(denial(&told(&mut command, &said.to_string()))["type"], "intent_required");
}

#[test]
fn the_phase_counts_for_other_agents_too() {
    let project = governed("");
    select(&project);
    project.sql("UPDATE conversations SET phase = 'planning'");
    let input = json!({"file_path": project.path("src/a"), "content": "x"});
    let ran = hook(&project, &payload(&project, "PreToolUse", "Write", "toolu_1", input));
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("planning"), "{}", ran.stderr);
}

#[test]
fn sessions_and_prompts_are_told_of_intents() {
    let project = governed("");
    let said = |event: &str| {
        json!({"session_id": SESSION, "cwd": project.dir(), "hook_event_name": event, "source": "startup",
               "prompt": "go", "reason": "other", "stop_hook_active": false})
    };
    let told = |ran: Ran| -> String {
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let said: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
        said["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    };
    let start = told(hook(&project, &said("SessionStart")));
    assert!(start.contains("INT-1 (Say hello)") && start.contains(SESSION), "{start}");
    assert!(told(hook(&project, &said("UserPromptSubmit"))).contains("INT-1"));
    select(&project);
    assert_eq!(told(hook(&project, &said("UserPromptSubmit"))), "");
    assert_eq!(told(hook(&project, &said("Stop"))), "");
    assert_eq!(told(hook(&project, &said("SessionEnd"))), "");
    let events = project
        .sql("SELECT hook_event FROM hook_invocations WHERE tool_use_id IS NULL ORDER BY id");
    assert_eq!(
        events,
        ["SessionStart", "UserPromptSubmit", "UserPromptSubmit", "Stop", "SessionEnd"]
    );
}

#[test]
fn what_cannot_be_answered_is_decided_by_the_policy() {
    for (policy, code) in [("", 1), ("failure_mode: closed\n", 2)] {
        let project = governed(policy);
        for said in ["", "no json", "[]", r#"{"hook_event_name": "PreToolUse"}"#] {
            let ran = hook_of(&project, "claude_code", &[], said);
            assert_eq!(ran.code, Some(code), "{said}: {}", ran.stderr);
            assert!(ran.stderr.contains("the hook's input"), "{}", ran.stderr);
        }
        let newer = json!({"hook_event_name": "SomethingNew", "session_id": "s"}).to_string();
        let ran = hook_of(&project, "claude_code", &[], &newer);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stderr.contains("SomethingNew"));
        // A record that cannot be opened.
        let input = json!({"file_path": project.path("src/a"), "content": "x"});
        fs::write(project.database(), "not a database").unwrap();
        for log in ["-wal", "-shm"] {
            fs::remove_file(format!("{}{log}", project.database().display())).unwrap();
        }
        let said = payload(&project, "PreToolUse", "Write", "toolu_1", input).to_string();
        let ran = hook_of(&project, "claude_code", &[], &said);
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
    }
    let project = project();
    let ran = hook_of(&project, "emacs", &[], "{}");
    assert_eq!(ran.code, Some(1), "2 would stop the agent");
    assert!(ran.stderr.contains("claude_code and codex"), "{}", ran.stderr);
}

#[test]
fn an_older_host_without_ids_and_a_call_nobody_asked_about() {
    let project = governed("");
    select(&project);
    let file = project.file("src/a.txt", "one\n");
    let mut said = payload(
        &project,
        "PreToolUse",
        "Edit",
        "",
        json!({"file_path": file, "old_string": "one", "new_string": "two"}),
    );
    said.as_object_mut().unwrap().remove("tool_use_id");
    assert_eq!(hook(&project, &said).code, Some(0));
    project.file("src/a.txt", "two\n");
    said["hook_event_name"] = json!("PostToolUse");
    assert_eq!(hook(&project, &said).code, Some(0));
    let entry = trace(&project).pop().unwrap();
    assert!(entry["file"]["pre_hash"].is_string(), "{entry}");
    // A hook that was set up in the middle of a call.
    let input = json!({"file_path": file, "old_string": "two", "new_string": "three"});
    project.file("src/a.txt", "three\n");
    assert_eq!(
        hook(&project, &payload(&project, "PostToolUse", "Edit", "toolu_9", input)).code,
        Some(0)
    );
    let entry = trace(&project).pop().unwrap();
    assert_eq!(entry["warnings"], json!(["before_unknown", "not_asked_before"]));
}

/// What the hosts themselves said in `cargo xtask hosts`, word for word but for the directories.
const RECORDED: [(&str, &str); 2] = [
    ("claude_code", include_str!("payloads/claude_code.jsonl")),
    ("codex", include_str!("payloads/codex.jsonl")),
];

#[test]
fn what_the_hosts_really_say_is_understood() {
    for (host, said) in RECORDED {
        let project = governed("");
        project.file(
            ".claude/settings.json",
            r#"{"permissions": {"allow": ["Bash(sh src/make.sh)"]}}"#,
        );
        project.file("src/make.sh", "echo made > src/made.txt\n");
        let said = said
            .replace("{PROJECT}", project.dir().to_str().unwrap())
            .replace("{HOME}", project.home().to_str().unwrap());
        let mut seen = Vec::new();
        for line in said.lines() {
            let payload: Value = serde_json::from_str(line).unwrap();
            let id = payload["tool_use_id"].as_str().unwrap_or_default();
            let call = id.rsplit_once('_').map_or("", |(_, call)| call);
            let event = payload["hook_event_name"].as_str().unwrap();
            // What the host did between its two hooks.
            match (event, call) {
                ("PostToolUse", "in") => drop(project.file("src/a.txt", "hello\n")),
                ("PostToolUse", "run") => drop(project.file("src/made.txt", "made\n")),
                _ => {}
            }
            let ran = hook_of(&project, host, &[], line);
            if !call.is_empty() {
                seen.push(format!("{event} {call} {}", ran.code.unwrap()));
            } else {
                assert_eq!(ran.code, Some(0), "{host} {event}: {}", ran.stderr);
            }
        }
        assert_eq!(
            seen,
            [
                "PreToolUse early 2",
                "PreToolUse select 0",
                "PostToolUse select 0",
                "PreToolUse in 0",
                "PostToolUse in 0",
                "PreToolUse out 2",
                "PreToolUse read 0",
                "PostToolUse read 0",
                "PreToolUse run 0",
                "PostToolUse run 0",
            ],
            "{host}"
        );
        let traced: Vec<(bool, String)> = trace(&project)
            .iter()
            .map(|entry| {
                (entry["success"] == true, entry["modified_ranges"][0]["file"].to_string())
            })
            .collect();
        let expected =
            [(false, "null"), (true, "\"src/a.txt\""), (false, "null"), (true, "\"src/made.txt\"")];
        assert_eq!(traced, expected.map(|(done, file)| (done, file.to_owned())), "{host}");
    }
}

#[test]
fn a_host_s_session_is_not_gone_on_with_here() {
    let project = governed("");
    select(&project);
    let ran = run(&mut project.ona(["-p", "go on", "--resume", SESSION]));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("belongs to claude_code"), "{}", ran.stderr);
}
