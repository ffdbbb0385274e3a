//! Hooks run for real: bash, files, a loopback server.

use std::fs;
use std::time::Instant;

use ona_policy::secrets::Redactor;
use ona_policy::{Scope, Source};
use ona_types::{ConversationId, SessionId, ToolUseId};
use proptest::prelude::*;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::config::collect;

struct Bench {
    dir: tempfile::TempDir,
    host: HookHost,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let host = HookHost {
            // An empty home: `bash -l` has no files of the developer's to read.
            child_env: vec![
                ("HOME".into(), dir.path().into()),
                ("AGENT_SDLC_DB".into(), "/the/record.db".into()),
            ],
            project_dir: dir.path().to_owned(),
            has_locale: false,
            timeouts: Timeouts::default(),
            disabled: false,
            allowed_urls: Vec::new(),
            allowed_env: Vec::new(),
            variable: Box::new(|name| (name == "TOKEN").then(|| "s3cret".to_owned())),
            redactor: Redactor::knowing(["live-secret-value".to_owned()]),
        };
        Self { dir, host }
    }

    fn base(&self) -> HookBase {
        HookBase {
            session_id: SessionId::from_existing("s1"),
            conversation_id: ConversationId::from_existing("c1"),
            runtime_db_path: "/the/record.db".into(),
            cwd: self.dir.path().display().to_string(),
            permission_mode: None,
            agent_id: None,
            agent_type: None,
        }
    }

    async fn fire(self, hooks: Value, detail: HookDetail) -> (Fired, tempfile::TempDir) {
        let base = self.base();
        let (entries, warnings) = collect(&[(Source::of(Scope::User), hooks)]);
        assert!(warnings.is_empty(), "{warnings:?}");
        let anchors = Anchors { source: "/w".into(), cwd: "/w".into(), home: "/home/u".into() };
        let effects = detail.tool_call().and_then(|(_, input, _)| {
            Effects::of_shell(input["command"].as_str()?, std::path::Path::new("/w")).ok()
        });
        let plane = HookPlane::new(entries, self.host, anchors);
        let cancel = CancellationToken::new();
        (plane.fire(&base, detail, effects.as_ref(), &cancel).await, self.dir)
    }
}

fn pre(command: &str) -> HookDetail {
    HookDetail::PreToolUse {
        tool_name: "Bash".into(),
        tool_input: json!({"command": command}),
        tool_use_id: ToolUseId::from_existing("t1"),
    }
}

fn hook(command: &str) -> Value {
    json!({"hook_event_name": "PreToolUse", "matcher": "Bash", "command": command})
}

#[tokio::test]
async fn the_spawn_contract() {
    let check = "cat > in.json; pwd -P > cwd; \
                 printf '%s|%s|%s|%s' \"$AGENT_SDLC_DB\" \"$SDLC_HOOK\" \"$LANG\" \"$CLAUDE_PROJECT_DIR\" > env";
    let (fired, dir) = Bench::new().fire(json!([hook(check)]), pre("ls")).await;
    let at = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    let here = dir.path().canonicalize().unwrap();
    assert_eq!(at("cwd").trim_end(), here.display().to_string());
    assert_eq!(at("env"), format!("/the/record.db|1|C.UTF-8|{}", dir.path().display()));
    let input = at("in.json");
    assert!(input.ends_with("}\n") && !input.ends_with("}\n\n"), "one newline");
    let value: Value = serde_json::from_str(&input).unwrap();
    assert_eq!(value["hook_event_name"], "PreToolUse");
    assert_eq!(value["runtime_db_path"], "/the/record.db");
    assert_eq!(value["tool_input"]["command"], "ls");
    assert_eq!(fired.rows.len(), 1);
    assert_eq!(fired.rows[0].exit_code, Some(0));
    assert_eq!(fired.rows[0].input_json, input.trim_end());
    assert!(!fired.denies());
}

#[tokio::test]
async fn exit_codes_decide_as_the_table_says() {
    let (fired, _dir) = Bench::new()
        .fire(
            json!([hook("echo one >&2; exit 1"), hook("exit 2"), hook("echo never > ran")]),
            pre("ls"),
        )
        .await;
    assert!(fired.denies(), "exit 2 blocks with nothing on stderr too");
    assert_eq!(fired.denial(), "[1] ");
    let codes: Vec<_> = fired.rows.iter().map(|row| (row.exit_code, row.skipped_reason)).collect();
    assert_eq!(codes, [(Some(1), None), (Some(2), None), (None, Some("prior_block_or_deny"))]);
    assert_eq!(fired.warnings, ["hook 0 (echo one >&2; exit 1) exited 1: one"]);
}

fn answer(decision: &str, reason: &str) -> String {
    let json = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason,
    }});
    format!("echo '{json}'")
}

#[tokio::test]
async fn decisions_merge_deny_over_ask_over_allow() {
    let fire = |hooks: Value| async move { Bench::new().fire(hooks, pre("ls")).await.0 };
    let ask = fire(json!([hook(&answer("ask", "sure?")), hook(&answer("allow", "fine"))])).await;
    assert_eq!((ask.permission, ask.denies()), (Some(Behavior::Ask), false));
    assert_eq!(ask.decided_by, Some((0, "sure?".into())));
    let deny = fire(json!([hook(&answer("allow", "")), hook(&answer("deny", "no"))])).await;
    assert_eq!((deny.denies(), deny.denial().as_str()), (true, "no"));
    // An allow on paper does not undo exit 2.
    let both = fire(json!([hook(&format!("{}; exit 2", answer("allow", "")))])).await;
    assert!(both.denies());
    let older = fire(json!([hook("echo '{\"decision\":\"block\",\"reason\":\"old\"}'")])).await;
    assert_eq!(older.denial(), "old");
}

#[tokio::test]
async fn the_next_hook_sees_what_would_really_run() {
    let rewrite = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "updatedInput": {"command": "safe"},
    }});
    let (fired, dir) = Bench::new()
        .fire(json!([hook(&format!("echo '{rewrite}'")), hook("cat > second.json")]), pre("rm x"))
        .await;
    assert_eq!(fired.updated_input, Some(json!({"command": "safe"}).as_object().unwrap().clone()));
    let second = fs::read_to_string(dir.path().join("second.json")).unwrap();
    assert!(second.contains("\"safe\"") && !second.contains("rm x"), "{second}");
}

#[tokio::test]
async fn a_timeout_denies_before_and_is_logged_after() {
    let slow = |event: &str| json!([{"hook_event_name": event, "matcher": "Bash", "command": "sleep 60", "timeout": 0.3}]);
    let started = Instant::now();
    let (before, _dir) = Bench::new().fire(slow("PreToolUse"), pre("ls")).await;
    assert!(before.denies() && before.denial().contains("timed out after 300 ms"), "{before:?}");
    let after = HookDetail::PostToolUse {
        tool_name: "Bash".into(),
        tool_input: json!({}),
        tool_response: json!(""),
        tool_use_id: ToolUseId::from_existing("t1"),
    };
    let (after, _dir) = Bench::new().fire(slow("PostToolUse"), after).await;
    assert!(!after.denies() && after.warnings[0].contains("timed out"), "{after:?}");
    assert!(started.elapsed() < Duration::from_secs(40));
}

#[tokio::test]
async fn bad_hooks_do_no_harm() {
    let (fired, dir) = Bench::new()
        .fire(
            json!([
                hook("no-such-command"),
                hook("head -c 100000000 /dev/zero | tr '\\0' x"),
                hook("printf 'half \\303'"),
                hook("echo '{\"a\":1} {\"b\":2}'"),
                hook("echo '{\"async\":true}'"),
                hook("setsid sleep 5 & disown"),
                {"hook_event_name": "PreToolUse", "command": "x", "shell": "powershell"},
                hook("echo end > end"),
            ]),
            pre("ls"),
        )
        .await;
    assert!(!fired.denies(), "{fired:?}");
    assert_eq!(fs::read_to_string(dir.path().join("end")).unwrap(), "end\n", "the chain went on");
    assert_eq!(fired.rows[0].exit_code, Some(127));
    let flood = fired.rows[1].stdout_text.as_ref().unwrap();
    assert!(flood.ends_with("x\n[SDLC_OUTPUT_TRUNCATED]\n"));
    assert_eq!(flood.len(), 4_194_304 + "\n[SDLC_OUTPUT_TRUNCATED]\n".len());
    assert_eq!(fired.rows[2].stdout_text.as_deref(), Some("half \u{fffd}"));
    assert!(fired.warnings.iter().any(|warning| warning.contains("not one JSON value")));
    assert!(fired.warnings.iter().any(|warning| warning.contains("`async` is no answer")));
}

#[tokio::test]
async fn a_missing_directory_is_no_place_to_run_in() {
    let bench = Bench::new();
    let mut base = bench.base();
    base.cwd = "/no/such/dir".into();
    let (entries, _) = collect(&[(Source::of(Scope::User), json!([hook("true")]))]);
    let anchors = Anchors { source: "/".into(), cwd: "/".into(), home: "/".into() };
    let plane = HookPlane::new(entries, bench.host, anchors);
    let fired = plane.fire(&base, pre("ls"), None, &CancellationToken::new()).await;
    assert_eq!(fired.rows[0].exit_code, None);
    assert!(fired.rows[0].stderr_text.as_ref().unwrap().contains("does not exist"));
    assert!(!fired.denies());
}

#[tokio::test]
async fn conditions_and_switches() {
    let guarded = json!([
        {"hook_event_name": "PreToolUse", "command": "exit 2", "if": "Bash(rm *)"},
    ]);
    let fire = |command: &'static str| {
        let guarded = guarded.clone();
        async move { Bench::new().fire(guarded, pre(command)).await.0 }
    };
    assert!(fire("ls && FOO=1 rm x").await.denies());
    let (free, rows) = {
        let f = fire("ls").await;
        (f.denies(), f.rows.len())
    };
    assert_eq!((free, rows), (false, 0));
    // On an event that is about no call, a handler with `if` never runs.
    let stop = json!([{"hook_event_name": "Stop", "command": "true", "if": "Bash"}]);
    let detail = HookDetail::Stop { stop_hook_active: false, last_assistant_message: None };
    assert!(Bench::new().fire(stop, detail).await.0.rows.is_empty());

    let mut off = Bench::new();
    off.host.disabled = true;
    let (fired, _dir) = off.fire(json!([hook("exit 2")]), pre("ls")).await;
    assert!(!fired.denies());
    assert_eq!(fired.rows[0].skipped_reason, Some("hooks_disabled"));
}

/// Answers one request with `body` and returns what it was sent.
async fn serve(
    status: &'static str,
    body: &'static str,
) -> (String, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let count = stream.read(&mut buffer).await.unwrap();
            request.extend_from_slice(&buffer[..count]);
            if count == 0 || request.ends_with(b"}\n") {
                break;
            }
        }
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8(request).unwrap()
    });
    (url, server)
}

#[tokio::test]
async fn http_hooks_post_and_are_answered() {
    let deny = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"remote"}}"#;
    let (url, server) = serve("200 OK", deny).await;
    let hooks = json!([{
        "hook_event_name": "PreToolUse", "type": "http", "url": url,
        "headers": {"x-key": "Bearer $TOKEN ${HOME}"}, "allowedEnvVars": ["TOKEN"],
    }]);
    let (fired, _dir) = Bench::new().fire(hooks, pre("ls")).await;
    assert_eq!(fired.denial(), "remote");
    let request = server.await.unwrap();
    assert!(request.starts_with("POST /hook"), "{request}");
    assert!(request.contains("x-key: Bearer s3cret ${HOME}"), "only what is allowed: {request}");
    assert!(request.contains("\"hook_event_name\":\"PreToolUse\""));

    let (url, _server) = serve("500 Oops", "broken").await;
    let failing = json!([{"hook_event_name": "PreToolUse", "type": "http", "url": url}]);
    let (fired, _dir) = Bench::new().fire(failing, pre("ls")).await;
    assert!(!fired.denies() && fired.warnings[0].contains("500"), "{fired:?}");
    let refused =
        json!([{"hook_event_name": "PreToolUse", "type": "http", "url": "http://127.0.0.1:1/"}]);
    let (fired, _dir) = Bench::new().fire(refused, pre("ls")).await;
    assert!(!fired.denies() && fired.rows[0].exit_code.is_none(), "{fired:?}");

    let mut limited = Bench::new();
    limited.host.allowed_urls = vec!["https://hooks.example.com/*".into()];
    let elsewhere =
        json!([{"hook_event_name": "PreToolUse", "type": "http", "url": "http://127.0.0.1:1/"}]);
    let (fired, _dir) = limited.fire(elsewhere, pre("ls")).await;
    assert!(fired.warnings[0].contains("not among allowedHttpHookUrls"), "{fired:?}");
}

#[tokio::test]
async fn a_guard_runs_on_an_input_that_another_hook_put_there() {
    let rewrite = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "updatedInput": {"command": "rm -rf x"},
    }});
    let mut guard = hook("grep -q 'rm -rf' && exit 2; exit 0");
    guard["if"] = "Bash(rm *)".into();
    let hooks = json!([guard.clone(), hook(&format!("echo '{rewrite}'")), guard]);
    let (fired, _dir) = Bench::new().fire(hooks, pre("ls")).await;
    assert_eq!(fired.rows.len(), 2, "the first guard has nothing to guard");
    assert!(fired.denies());
}

#[tokio::test]
async fn secrets_reach_no_hook_and_are_not_kept_of_what_hooks_print() {
    let token = format!("ghp_{}", "aB3dE6".repeat(6));
    let print = format!("cat > in.json; echo {token}; echo live-secret-value >&2; exit 2");
    let (fired, dir) =
        Bench::new().fire(json!([hook(&print)]), pre("curl -H live-secret-value")).await;
    let input = fs::read_to_string(dir.path().join("in.json")).unwrap();
    assert!(input.contains("curl -H [REDACTED:live]"), "{input}");
    let row = &fired.rows[0];
    assert_eq!(row.stdout_text.as_deref(), Some("[REDACTED:github_token]\n"));
    assert_eq!(row.stderr_text.as_deref(), Some("[REDACTED:live]\n"));
    assert_eq!(fired.denial(), "[0] [REDACTED:live]");
}

/// What a hook may do: exit code, and what it prints.
fn outcome() -> impl Strategy<Value = Ran> {
    let decision = prop::sample::select(vec!["allow", "ask", "deny"]).prop_map(|decision| {
        json!({"hookSpecificOutput":
            {"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": decision}})
        .to_string()
    });
    let stdout = prop_oneof![
        3 => decision,
        1 => Just(String::new()),
        1 => Just("{\"async\":true}".to_owned()),
        1 => Just("{ nonsense".to_owned()),
    ];
    let exit =
        prop_oneof![4 => Just(Some(0)), 1 => Just(Some(2)), 1 => Just(Some(1)), 1 => Just(None)];
    (exit, stdout, any::<bool>()).prop_map(|(exit_code, stdout, timed_out)| Ran {
        exit_code,
        stdout,
        stderr: "said".to_owned(),
        timed_out: timed_out && exit_code.is_none(),
    })
}

fn merged(outcomes: &[(i64, Ran)]) -> Fired {
    let (entries, _) = collect(&[(Source::of(Scope::User), json!([hook("x")]))]);
    let mut fired = Fired::default();
    for (ordinal, ran) in outcomes {
        let entry = HookEntry { ordinal: *ordinal, ..entries[0].clone() };
        merge(&mut fired, &entry, HookEvent::PreToolUse, ran);
    }
    fired
}

proptest! {
    #[test]
    fn a_no_is_never_lost_whatever_others_say(
        before in prop::collection::vec(outcome(), 0..5), after in prop::collection::vec(outcome(), 0..5),
        exit in any::<bool>(),
    ) {
        let deny = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}});
        let no = Ran {
            exit_code: Some(if exit { 2 } else { 0 }),
            stdout: if exit { String::new() } else { deny.to_string() },
            ..Ran::default()
        };
        let all: Vec<(i64, Ran)> = (0..).zip(before.into_iter().chain([no]).chain(after)).collect();
        prop_assert!(merged(&all).denies());
    }

    #[test]
    fn the_verdict_does_not_depend_on_the_order_and_its_words_follow_the_ordinals(
        (outcomes, shuffled) in prop::collection::vec(outcome(), 0..6).prop_flat_map(|outcomes| {
            let all: Vec<(i64, Ran)> = (0..).zip(outcomes).collect();
            (Just(all.clone()), Just(all).prop_shuffle())
        }),
    ) {
        let (one, other) = (merged(&outcomes), merged(&shuffled));
        prop_assert_eq!(one.permission, other.permission);
        prop_assert_eq!(one.denies(), other.denies());
        let mut blocks = other.blocks;
        blocks.sort();
        prop_assert_eq!(&one.blocks, &blocks);
        prop_assert_eq!(&merged(&outcomes).blocks, &one.blocks, "the same again");
    }
}
