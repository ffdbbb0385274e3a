//! What hooks and humans answer, and what that changes.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use ona_testkit::{Project, run};
use serde_json::{Value, json};

use crate::gate::{at_terminal, governed, pre};
use crate::project;

fn printing(answer: &Value) -> String {
    format!("cat > /dev/null; echo '{answer}'")
}

#[test]
fn what_hooks_say_to_the_user_is_shown_before_the_result() {
    let project = governed(&json!({"hooks": {"PreToolUse": [
        pre("", &printing(&json!({"systemMessage": "mind\u{1b}[31m the gap"}))),
        pre("", "echo broken >&2; exit 3"),
    ]}}));
    let ran = run(&mut project.eval_command("Bash", &json!({"command": "true"})));
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("hook: mind\u{fffd}[31m the gap\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("warning: hook 1 (echo broken"), "{}", ran.stderr);
    assert!(ran.stderr.contains("exited 3: broken"), "{}", ran.stderr);
}

#[test]
fn a_hook_can_stop_the_agent() {
    let stop = json!({"continue": false, "stopReason": "enough for today"});
    for (event, runs) in [("PreToolUse", false), ("PostToolUse", true)] {
        let project = governed(&json!({"hooks": {event: [pre("Bash", &printing(&stop))]}}));
        let ran = run(&mut project.eval_command("Bash", &json!({"command": "touch made"})));
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(report["stop"], "enough for today", "{event}");
        assert_eq!(report["is_error"], !runs, "{event}");
        assert_eq!(project.path("made").exists(), runs, "{event}");
    }
}

#[test]
fn a_hook_can_say_that_a_denied_call_may_be_tried_again() {
    let retry = json!({"hookSpecificOutput": {"hookEventName": "PermissionDenied", "retry": true}});
    let project = governed(&json!({
        "permissions": {"deny": ["Bash(touch *)"]},
        "hooks": {"PermissionDenied": [pre("", &printing(&retry))]},
    }));
    let said = project.refused("Bash", json!({"command": "touch x"}));
    assert!(said.contains("denied by the rule Bash(touch *)"), "{said}");
    assert!(said.ends_with("(a hook says that the call may be tried again)"), "{said}");
}

#[test]
fn what_a_hook_says_to_the_model_is_cut_and_kept_whole_beside() {
    let many = "python3 -c 'import json; print(json.dumps({\"hookSpecificOutput\": \
                {\"hookEventName\": \"PostToolUse\", \"additionalContext\": \"é\" * 20000}}))'";
    let project = governed(&json!({"hooks": {"PostToolUse": [pre("Bash", many)]}}));
    project.ok("Bash", json!({"command": "true"}));
    let said = project
        .sql("SELECT payload_json FROM transcript_entries WHERE entry_type = 'internal_hook'")
        .join("");
    let said: Value = serde_json::from_str(&said).unwrap();
    let said = said["content"].as_str().unwrap();
    assert_eq!(said.matches('é').count(), 10_000);
    let file = said.rsplit_once("the full text is in ").unwrap().1.trim_end_matches(']');
    assert_eq!(fs::read_to_string(file).unwrap(), "é".repeat(20_000));
    // The model may read it without asking.
    let call = json!({"tool": "Read", "input": {"file_path": file}}).to_string();
    let explained = run(&mut project.ona(["explain", "--json", &call]));
    let explained: Value = serde_json::from_str(&explained.stdout).unwrap();
    assert_eq!(explained["verdict"], "allow", "{explained}");
}

/// A project in which a hook answers every question with a yes and these updates.
pub fn answering(updates: &Value) -> Project {
    let answer = json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest",
        "decision": {"behavior": "allow", "updatedPermissions": updates}}});
    let project = project();
    let hook = json!({"hooks": {"PermissionRequest": [pre("", &printing(&answer))]}});
    fs::create_dir_all(project.home().join(".config/ona")).unwrap();
    fs::write(project.home().join(".config/ona/settings.json"), hook.to_string()).unwrap();
    project
}

#[test]
fn a_hook_that_answers_a_question_moves_nothing_past_the_other_hooks() {
    let answer = json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest",
        "decision": {"behavior": "allow", "updatedInput": {"command": "touch guarded"}}}});
    let guard = |word: &str| format!("if grep -q 'touch {word}'; then exit 2; fi");
    for (word, runs) in [("guarded", false), ("other", true)] {
        let project = governed(&json!({"hooks": {
            "PermissionRequest": [pre("", &printing(&answer))],
            "PreToolUse": [pre("Bash", &guard(word))],
        }}));
        let call = json!({"tool": "Bash", "input": {"command": "touch asked"}});
        let shown = at_terminal(&project, &call, "");
        assert_eq!(project.path("guarded").exists(), runs, "{shown}");
        assert!(runs || shown.contains("denied by a PreToolUse hook"), "{shown}");
    }
}

pub fn verdict(project: &Project, command: &str) -> String {
    let explained = run(&mut project.ona(["explain", "--json", "--bash", command]));
    let explained: Value = serde_json::from_str(&explained.stdout).unwrap();
    explained["verdict"].as_str().unwrap().to_owned()
}

#[test]
fn an_update_is_kept_where_it_belongs_and_nowhere_else() {
    // Destination, its file below home or project, whether the next process still knows of it.
    let table = [
        ("userSettings", Some("home/.claude/settings.json"), true),
        ("projectSettings", Some("project/.claude/settings.json"), true),
        ("localSettings", Some("project/.claude/settings.local.json"), true),
        ("session", None, true),
        ("cliArg", None, false),
    ];
    for (destination, file, known) in table {
        let rule = json!([{"toolName": "Bash", "ruleContent": "mkdir *"}]);
        let project = answering(&json!([
            {"type": "addRules", "rules": rule, "behavior": "allow", "destination": destination},
        ]));
        let root = project.dir().parent().unwrap().to_owned();
        let kept = file.map(|file| root.join(file));
        if let Some(file) = &kept {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "{\n  // mine\n  \"unknown\": [1]\n}\n").unwrap();
        }
        let call = json!({"tool": "Bash", "input": {"command": "mkdir made"}});
        let shown = at_terminal(&project, &call, "");
        assert!(shown.contains("\"is_error\":false"), "{destination}: {shown}");
        for name in [
            "home/.claude/settings.json",
            "project/.claude/settings.json",
            "project/.claude/settings.local.json",
        ] {
            let text = fs::read_to_string(root.join(name)).unwrap_or_default();
            assert_eq!(text.contains("Bash(mkdir *)"), file == Some(name), "{destination}: {name}");
            assert_eq!(text.contains("// mine"), file == Some(name), "{destination}: {name}");
        }
        let expected = if known { "allow" } else { "ask" };
        assert_eq!(verdict(&project, "mkdir other"), expected, "{destination}");
    }
}

#[test]
fn every_kind_of_update_acts() {
    let rules = |text: &str| json!([{"toolName": "Bash", "ruleContent": text}]);
    let session = |mut update: Value| {
        update["destination"] = "session".into();
        json!([update])
    };
    let ask = json!({"tool": "Bash", "input": {"command": "mkdir -p made"}});
    let rule = |kind: &str, text: &str, behavior: &str| {
        session(json!({"type": kind, "rules": rules(text), "behavior": behavior}))
    };
    for (updates, command, expected) in [
        (rule("addRules", "touch *", "allow"), "touch x", "allow"),
        (rule("addRules", "touch *", "deny"), "touch x", "deny"),
        (rule("addRules", "ls *", "ask"), "ls", "ask"),
        (rule("replaceRules", "touch *", "allow"), "touch x", "allow"),
        (session(json!({"type": "setMode", "mode": "bypassPermissions"})), "touch x", "allow"),
        (session(json!({"type": "setMode", "mode": "dontAsk"})), "touch x", "deny"),
        (
            session(json!({"type": "addDirectories", "directories": ["/usr/share"]})),
            "ls /usr/share",
            "allow",
        ),
    ] {
        let project = answering(&updates);
        at_terminal(&project, &ask, "");
        assert_eq!(verdict(&project, command), expected, "{updates}");
    }
    // What was added can be replaced and removed again.
    let mut all = rule("addRules", "touch *", "allow").as_array().unwrap().clone();
    all.extend(rule("addRules", "rm *", "allow").as_array().unwrap().clone());
    all.extend(rule("removeRules", "touch *", "allow").as_array().unwrap().clone());
    all.extend(
        session(json!({"type": "addDirectories", "directories": ["/usr/share", "/usr/lib"]}))
            .as_array()
            .unwrap()
            .clone(),
    );
    all.extend(
        session(json!({"type": "removeDirectories", "directories": ["/usr/share"]}))
            .as_array()
            .unwrap()
            .clone(),
    );
    let project = answering(&Value::Array(all));
    at_terminal(&project, &ask, "");
    let verdicts =
        ["touch x", "rm x", "ls /usr/share", "ls /usr/lib"].map(|c| verdict(&project, c));
    assert_eq!(verdicts, ["ask", "allow", "ask", "allow"]);
}

#[test]
fn an_interactive_start_asks_for_trust_and_keeps_the_answer() {
    let project = project();
    project.file(
        ".claude/settings.json",
        json!({"hooks": {"PreToolUse": [pre("", "touch hooked")]}}).to_string(),
    );
    let call = json!({"tool": "Bash", "input": {"command": "true"}});
    let shown = at_terminal(&project, &call, "n\n");
    assert!(shown.contains("Do you trust this folder?") && shown.contains("hooks in"), "{shown}");
    assert!(shown.contains("is not trusted") && shown.contains("code=2"), "{shown}");
    assert!(!project.path("hooked").exists());
    let shown = at_terminal(&project, &call, "y\ny\n");
    assert!(shown.contains("code=0"), "{shown}");
    assert!(project.path("hooked").exists());
    assert!(!at_terminal(&project, &call, "y\n").contains("Do you trust"), "it is asked once");
    project.file(
        ".claude/settings.json",
        json!({"hooks": {"PreToolUse": [pre("", "touch other")]}}).to_string(),
    );
    assert!(
        at_terminal(&project, &call, "n\n").contains("Do you trust"),
        "what changed is asked again"
    );
}

#[test]
fn a_guard_that_was_interrupted_has_not_agreed() {
    let project =
        governed(&json!({"hooks": {"PreToolUse": [pre("", "touch asked; sleep 60; exit 2")]}}));
    let call = json!({"file_path": "made", "content": "x"});
    let child = project
        .eval_command("Write", &call)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&project, "asked");
    run(project.command("kill").args(["-INT", &child.id().to_string()]));
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    assert!(!project.path("made").exists());
    let said = project.sql("SELECT verdict, reason FROM gate_answers WHERE stage = 'hooks'");
    let [said] = said.as_slice() else { panic!("it is told once: {said:?}") };
    let reason =
        "interrupted by the user while hook 0 (touch asked; sleep 60; exit 2) of project (";
    assert!(said.starts_with(&format!("deny|{reason}")), "{said}");
    let shown = String::from_utf8(ended.stdout).unwrap();
    assert!(shown.contains(reason), "{shown}");
    let warned = String::from_utf8(ended.stderr).unwrap();
    assert!(!warned.contains("hook"), "once is enough: {warned}");
}

#[test]
fn ctrl_c_at_the_question_is_a_no() {
    let project = project();
    // Says that the question is about to be asked.
    let hook = json!({"hooks": {"PermissionRequest": [pre("", "touch asked")]}});
    fs::create_dir_all(project.home().join(".config/ona")).unwrap();
    fs::write(project.home().join(".config/ona/settings.json"), hook.to_string()).unwrap();
    let call = json!({"tool": "Bash", "input": {"command": "touch made"}});
    let script = format!("exec {} --eval '{call}' --ask", env!("CARGO_BIN_EXE_ona"));
    let mut child = project
        .command("script")
        .args(["-qec", &script, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&project, "asked");
    let mut typed = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut typed, b"\x03").unwrap();
    let shown = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(shown.contains("\"is_error\":true"), "{shown}");
    assert!(!project.path("made").exists());
    let said = project.sql("SELECT reason FROM gate_answers ORDER BY id DESC LIMIT 1");
    assert!(said[0].contains("interrupted"), "{said:?}");
}

#[test]
fn a_yes_stands_where_always_cannot_be_kept() {
    let project = project();
    project.file(".claude/settings.local.json", "{ not json");
    let call = json!({"tool": "Bash", "input": {"command": "touch made"}});
    let shown = at_terminal(&project, &call, "a\n");
    assert!(shown.contains("\"always\" could not be saved"), "{shown}");
    assert!(project.path("made").exists());
    assert_eq!(project.content(".claude/settings.local.json"), "{ not json");
    assert_eq!(project.sql("SELECT decision FROM tool_permission_log"), ["allow"]);
}

#[test]
fn a_command_is_shown_whole_and_as_it_is() {
    let project = project();
    let command = format!("touch {}; touch \u{202e}end", "x".repeat(3000));
    let call = json!({"tool": "Bash", "input": {"command": command}});
    let shown = at_terminal(&project, &call, "n\n");
    assert!(shown.contains("touch \u{fffd}end"), "{shown}");
}

/// Waits until a file is there.
fn wait_for(project: &Project, name: &str) {
    let start = Instant::now();
    while !project.path(name).exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "{name} never came");
        std::thread::yield_now();
    }
}

#[test]
fn notification_hooks_can_call_somebody_to_the_terminal() {
    let notify = pre("permission_prompt", "cat >> heard");
    let other = pre("idle_prompt", "touch never");
    let project = governed(&json!({"hooks": {"Notification": [notify, other]}}));
    let call = json!({"tool": "Bash", "input": {"command": "mkdir made"}});
    at_terminal(&project, &call, "n\n");
    let heard: Value = serde_json::from_str(&project.content("heard")).unwrap();
    assert_eq!(heard["notification_type"], "permission_prompt");
    assert_eq!(heard["message"], "ona needs your permission to use Bash");
    assert!(!project.path("never").exists());
    // Where nobody is asked, nobody is called.
    project.ok("Bash", json!({"command": "mkdir made"}));
    assert_eq!(project.content("heard").lines().count(), 1);
}

#[test]
fn a_plan_that_the_human_sends_back_is_no_draft_any_more() {
    let project = project();
    let hand_in = json!({"tool": "ExitPlanMode", "input": {"plan": crate::plan()}});
    let said = at_terminal(&project, &hand_in, "");
    assert!(said.contains("not in planning"), "nobody is asked for nothing: {said}");
    project.ok("EnterPlanMode", json!({}));
    let said = at_terminal(&project, &hand_in, "keep the old names\n");
    assert!(said.contains("keep the old names") && !said.contains("lways"), "{said}");
    assert_eq!(project.sql("SELECT status FROM plans"), ["superseded"]);
    let events = project.sql("SELECT detail FROM events WHERE event_type = 'plan.rejected'");
    assert!(events[0].contains("keep the old names"), "{events:?}");
    at_terminal(&project, &hand_in, "y\n");
    assert_eq!(project.sql("SELECT status FROM plans ORDER BY id DESC LIMIT 1"), ["approved"]);
    let events = project.sql("SELECT detail FROM events WHERE event_type = 'plan.approved'");
    assert_eq!(events.len(), 1);
}
