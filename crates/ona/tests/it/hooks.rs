//! Hooks that are broken, switched off or change things: what is said of them, at once and afterwards.

use ona_testkit::{Project, run};
use serde_json::{Value, json};

use crate::gate::{at_terminal, governed, pre};
use crate::project;

/// Runs a harmless command; what was said on standard error and what `ona why` tells.
fn told(project: &Project) -> (String, String) {
    let ran = run(&mut project.eval_command("Bash", &json!({"command": "true"})));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    (ran.stderr, run(&mut project.ona(["why"])).stdout)
}

#[test]
fn a_guard_with_a_broken_condition_or_matcher_still_guards() {
    let guard = |matcher: &str, condition: &Value| {
        json!({"matcher": matcher,
               "hooks": [{"type": "command", "command": "echo guarded >&2; exit 2", "if": condition}]})
    };
    let endless = format!("{}Bash.", "a|".repeat(10_000));
    for (guard, key, why) in [
        (guard("Bash", &json!("Bash(rm *")), "].hooks[0].if: ", "missing `)` at the end"),
        (guard("Bash", &json!("Write(x)")), "].hooks[0].if: ", "write Edit(x)"),
        (guard("Bash", &json!(5)), "].hooks[0].if: ", "it is not a string"),
        (guard(&endless, &Value::Null), "].hooks[0]: ", "it is longer than 2000 characters"),
    ] {
        let project = governed(&json!({"hooks": {"PreToolUse": [guard]}}));
        let ran = run(&mut project.eval_command("Bash", &json!({"command": "touch made"})));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(!project.path("made").exists() && ran.stdout.contains("guarded"), "{}", ran.stdout);
        for part in [".claude/settings.json): hooks.PreToolUse[0", key, why] {
            assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
        }
    }
}

#[test]
fn what_is_cut_of_a_hooks_output_is_told_with_its_name() {
    let much = "head -c 5000000 /dev/zero | tr '\\0' x";
    let json = pre("", &format!("printf '{{\"reason\":\"'; {much}; printf '\"}}'"));
    // Before a call it would be a refusal.
    let project = governed(&json!({"hooks": {
        "PreToolUse": [pre("", much), pre("", &format!("{much} >&2"))], "PostToolUse": [json],
    }}));
    let (said, why) = told(&project);
    for part in [
        "warning: hook 2 (printf ",
        "its output is invalid: it was cut at 4 MiB, and what is left cannot be read as JSON",
        "warning: hook 0 (head ",
        "its standard output was cut at 4 MiB: the rest is lost",
        "warning: hook 1 (head ",
        "its standard error was cut at 4 MiB: the rest is lost",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(said.matches("4 MiB").count(), 3, "{said}");
    assert!(why.contains("it was cut at 4 MiB, and what is left"), "{why}");
}

#[test]
fn hooks_that_fail_are_told_of_at_once_and_afterwards() {
    let project = governed(&json!({"hooks": {
        "PreToolUse": [
            pre("", "no-such-command"),
            pre("", "true"),
            pre("", r#"echo '{"hookSpecificOutput":{"permissionDecision":"deny"}}'"#),
        ],
        "PostToolUse": [pre("", "echo '{ oops'")],
    }}));
    let (said, why) = told(&project);
    for part in [
        "warning: hook 0 (no-such-command) of project (",
        ".claude/settings.json) exited 127: ",
        "(its command was not found: check its path and PATH)",
        "of project (",
        r#"hookSpecificOutput lacks "hookEventName":"PreToolUse""#,
        "warning: hook 3 (echo '{ oops') of project (",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for part in [
        "hooks    pass  3 ran, 2 failed: [0] exited 127: ",
        "warning: hook 0 (no-such-command) of project (",
        "warning: hook 2 (echo",
        // The record has it of hooks that no stage asked, too.
        "said [its output is invalid: not one JSON value",
    ] {
        assert!(why.contains(part), "{part}: {why}");
    }
}

#[test]
fn hooks_that_settings_switch_off_are_skipped_on_the_record() {
    let project = governed(&json!({
        "disableAllHooks": true,
        "hooks": {"PreToolUse": [pre("Bash", "exit 2")], "PostToolUse": [pre("Read", "exit 2")]},
    }));
    let (_, why) = told(&project);
    assert!(why.contains("hooks    pass  hooks are switched off: 1 skipped"), "{why}");
    assert!(why.contains("PreToolUse [Bash] exit 2: skipped: hooks_disabled"), "{why}");
    let rows = project.sql("SELECT hook_event, skipped_reason FROM hook_invocations");
    assert_eq!(rows, ["PreToolUse|hooks_disabled"], "only what would have run");
    let explained = run(&mut project.ona(["explain", "--bash", "true"])).stdout;
    assert!(!explained.contains("would run"), "{explained}");
}

#[test]
fn why_shows_the_input_that_a_hook_put_in_place() {
    let output = json!({"hookSpecificOutput":
        {"hookEventName": "PreToolUse", "updatedInput": {"command": "rm -f victim"}}});
    let project =
        governed(&json!({"hooks": {"PreToolUse": [pre("Bash", &format!("echo '{output}'"))]}}));
    let (_, why) = told(&project);
    assert!(why.contains(r#"a hook replaced the input: {"command":"rm -f victim"}"#), "{why}");
    assert!(why.contains("by hook 0: echo '{") && why.contains("settings.json)"), "{why}");

    let output = json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest",
        "decision": {"behavior": "allow", "updatedInput": {"command": "mkdir other"}}}});
    let answers = json!([pre("Bash", &format!("echo '{output}'"))]);
    let project = governed(&json!({"hooks": {"PermissionRequest": answers}}));
    let call = json!({"tool": "Bash", "input": {"command": "mkdir made"}});
    at_terminal(&project, &call, "");
    assert!(project.path("other").exists() && !project.path("made").exists());
    let why = run(&mut project.ona(["why"])).stdout;
    assert!(why.contains(r#"a hook replaced the input: {"command":"mkdir other"}"#), "{why}");
    assert!(why.contains("PermissionRequest [Bash] echo"), "it is a hook of this call: {why}");
}

#[test]
fn a_block_without_a_word_still_names_the_hook() {
    let project = governed(&json!({"hooks": {"PreToolUse": [pre("Bash", "exit 2")]}}));
    let (_, why) = told(&project);
    let reason = "hooks    deny  denied by a PreToolUse hook: [0] hook 0 (exit 2) of project (";
    assert!(why.contains(reason), "{why}");
    assert!(why.contains(".claude/settings.json) gives no reason\n"), "{why}");
    assert!(why.contains("by hook 0: exit 2 of project ("), "{why}");
}

#[test]
fn a_hook_that_will_never_run_is_told_of_when_it_is_read() {
    let http = |handler: Value| json!({"matcher": "Bash", "hooks": [handler]});
    let project = governed(&json!({"hooks": {"PreToolUse": [
        {"matcher": "Bash", "hooks": [{"type": "comand", "command": "exit 2"}]},
        {"matcher": "Bash", "hooks": [{"command": "exit 2", "shell": "fish"}]},
        pre("bash", "exit 2"),
        pre("Bash,Edit", "exit 2"),
        http(json!({"type": "http", "url": "localhost/guard"})),
        http(json!({"type": "http", "url": "http://127.0.0.1:1/", "headers": {"a b": "c"}})),
        "nonsense",
    ]}}));
    let (said, why) = told(&project);
    for part in [
        "[0].hooks[0]: `type` must be command, http, prompt or agent, not `comand`: the hook does not run\n",
        "[1].hooks[0]: `shell` must be bash, sh or powershell, not \"fish\": the hook does not run\n",
        "[2].hooks[0]: the matcher `bash` matches no tool: did you mean `Bash`?\n",
        "[3].hooks[0]: the matcher `Bash,Edit` matches no tool: did you mean `Bash|Edit`?\n",
        "[4].hooks[0]: `url`: `localhost/guard` is not a valid URL (",
        "[5].hooks[0]: `headers`: `a b` is not a valid header name: the hook does not run\n",
        "hooks.PreToolUse[6]: it is not an object: no hook runs for it\n",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(why.contains("hooks    pass  no hook matched"), "nothing is left to fail later: {why}");
}

#[test]
fn what_the_command_line_gives_has_one_name() {
    let project = project();
    let given = json!({
        "permissions": {"deny": ["Bash(", "Bash(rm *)"]},
        "hooks": {"PreToolUse": [{"hooks": [{"type": "x"}]}, pre("Bash", "exit 3")]},
    });
    let mut command = project.eval_command("Bash", &json!({"command": "rm x"}));
    let ran = run(command.args(["--settings", &given.to_string()]));
    for part in [
        "warning: the command line: permissions.deny[0]: ",
        "warning: the command line: hooks.PreToolUse[0].hooks[0]: ",
        "warning: hook 0 (exit 3) of the command line exited 3",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert!(
        ran.stdout.contains("denied by the rule Bash(rm *) (the command line)"),
        "{}",
        ran.stdout
    );
}

#[test]
fn why_lets_nothing_through_to_the_terminal() {
    let project = governed(&json!({"hooks": {"PreToolUse": [
        pre("Bash", "printf '\\033[31mred\\n' >&2 # \u{1b}]0;title\u{7}\n  rules    allow  forged"),
    ]}}));
    project.ok("Bash", json!({"command": "printf '\\033[2Jgone\\r\\302\\233x'; : '\u{202e}'"}));
    let ran = run(&mut project.ona(["why"]));
    let odd = ran.stdout.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
    assert_eq!(odd, None, "{}", ran.stdout);
    assert!(ran.stdout.contains("[2Jgone") && ran.stdout.contains("[31mred"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("forged"), "{}", ran.stdout);
}

#[test]
fn after_a_call_the_model_is_told_what_every_hook_said() {
    let block = |reason: &str| {
        pre("", &format!("echo '{}'", json!({"decision": "block", "reason": reason})))
    };
    let project = governed(&json!({"hooks": {"PostToolUse": [
        block("one"), pre("", "echo two >&2; exit 2"), block("three"),
    ]}}));
    project.ok("Bash", json!({"command": "true"}));
    let said = project.sql(
        "SELECT json_extract(payload_json, '$.content') FROM transcript_entries
         WHERE entry_type = 'internal_hook'",
    );
    assert_eq!(said, ["[0] one\n[1] two\n[2] three"]);
}
