//! Hooks run for real: bash, files, a loopback server.

use std::collections::BTreeSet;
use std::fs;
use std::time::Instant;

use ona_policy::secrets::Redactor;
use ona_policy::{Scope, Source};
use ona_testkit::Disk;
use ona_types::hook::RequestDecision;
use ona_types::{ConversationId, SessionId, ToolUseId};
use proptest::prelude::*;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::config::{HookLayer, collect};

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
            allowed_urls: None,
            allowed_env: None,
            variable: Box::new(|name| (name == "TOKEN").then(|| "s3cret".to_owned())),
            confined: None,
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
        let (entries, warnings) = collect(&[layer(hooks)]);
        assert!(warnings.is_empty(), "{warnings:?}");
        self.fire_entries(entries, detail).await
    }

    async fn fire_entries(
        self,
        entries: Vec<HookEntry>,
        detail: HookDetail,
    ) -> (Fired, tempfile::TempDir) {
        let base = self.base();
        let anchors = Anchors { source: "/w".into(), cwd: "/w".into(), home: "/home/u".into() };
        let effects = detail.tool_call().and_then(|(_, input, _)| {
            Effects::of_shell(&Disk, input["command"].as_str()?, std::path::Path::new("/w")).ok()
        });
        let plane = HookPlane::new(entries, self.host, anchors);
        let cancel = CancellationToken::new();
        let id = ToolUseId::from_existing("t1");
        let facts = RuleFacts::COMMAND;
        let rewrote = &BTreeSet::new();
        let about = effects.as_ref().map(|effects| About { id: &id, facts, effects, rewrote });
        (plane.fire(&base, detail, about, None, &cancel).await, self.dir)
    }
}

fn layer(hooks: Value) -> HookLayer {
    HookLayer { source: Source::of(Scope::User), hooks, off: false, env: Vec::new() }
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
    assert_eq!(fired.denial(), "[1] hook 1 (exit 2) of user gives no reason");
    let codes: Vec<_> = fired.rows.iter().map(|row| (row.exit_code, row.skipped_reason)).collect();
    assert_eq!(codes, [(Some(1), None), (Some(2), None), (None, Some("prior_block_or_deny"))]);
    let warning = "hook 0 (echo one >&2; exit 1) of user exited 1: one \
                   (it decides nothing: to block, a hook exits 2)";
    assert_eq!(fired.warnings, [warning]);
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
async fn a_server_that_does_not_answer_in_time_is_named_with_the_limit() {
    // It takes the connection and says nothing.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let hooks = |event: &str| json!([{"hook_event_name": event, "type": "http", "url": url, "timeout": 0.3}]);
    let (fired, _dir) = Bench::new().fire(hooks("PreToolUse"), pre("ls")).await;
    let named = format!("hook 0 ({url}) of user");
    let timed_out = format!("[timed out after 300 ms without an answer from {url}]");
    assert_eq!(fired.denial(), format!("[0] {named} {timed_out}"));
    let (fired, _dir) = Bench::new().fire(hooks("PermissionRequest"), request()).await;
    let hint = "(give it a longer `timeout`, or see why its server is slow)";
    assert_eq!(fired.warnings, [format!("{named} failed: {timed_out} {hint}")]);
}

#[tokio::test]
async fn a_hook_that_gives_no_reason_is_named_in_its_place() {
    let said = |answer: Value| hook(&format!("echo '{answer}'"));
    let specific = |decision: &str| json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision}});
    for silent in [
        hook("exit 2"),
        hook("echo ' ' >&2; exit 2"),
        said(json!({"decision": "block"})),
        said(json!({"decision": "block", "reason": ""})),
        said(specific("deny")),
    ] {
        let (fired, _dir) = Bench::new().fire(json!([silent]), pre("ls")).await;
        let denial = fired.denial();
        let denial = denial.strip_prefix("[0] ").unwrap_or(&denial);
        let command = silent["command"].as_str().unwrap();
        assert_eq!(denial, format!("hook 0 ({command}) of user gives no reason"));
    }
    let (fired, _dir) = Bench::new().fire(json!([said(specific("ask"))]), pre("ls")).await;
    let (_, reason) = fired.decided_by.unwrap();
    assert!(reason.ends_with(" of user gives no reason"), "{reason}");
}

#[tokio::test]
async fn a_hook_that_was_interrupted_is_named_and_no_failure() {
    let bench = Bench::new();
    let (entries, _) = collect(&[layer(json!([hook("touch started; sleep 60")]))]);
    let anchors = Anchors { source: "/w".into(), cwd: "/w".into(), home: "/home/u".into() };
    let (base, started) = (bench.base(), bench.dir.path().join("started"));
    let plane = HookPlane::new(entries, bench.host, anchors);
    let cancel = CancellationToken::new();
    let interrupt = async {
        while !started.exists() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (fired, ()) = tokio::join!(plane.fire(&base, pre("ls"), None, None, &cancel), interrupt);
    assert_eq!(fired.interrupted.as_deref(), Some("hook 0 (touch started; sleep 60) of user"));
    assert!(fired.warnings.is_empty() && fired.failed.is_empty(), "{fired:?}");
    assert_eq!(fired.rows[0].stderr_text.as_deref(), Some("[interrupted by the user]"));
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
    assert!(fired.warnings.iter().any(|warning| warning.contains("`async` is not supported")));
}

#[tokio::test]
async fn a_hook_runs_in_the_project_if_its_directory_is_gone() {
    let bench = Bench::new();
    let mut base = bench.base();
    base.cwd = "/no/such/dir".into();
    let (entries, _) = collect(&[layer(json!([hook("true")]))]);
    let anchors = Anchors { source: "/".into(), cwd: "/".into(), home: "/".into() };
    let plane = HookPlane::new(entries, bench.host, anchors);
    let fired = plane.fire(&base, pre("ls"), None, None, &CancellationToken::new()).await;
    assert_eq!(fired.rows[0].exit_code, Some(0), "{fired:?}");
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
    let (entries, _) = collect(&[layer(stop)]);
    assert!(Bench::new().fire_entries(entries, detail).await.0.rows.is_empty());
    // One that cannot be read counts as holding.
    for broken in [json!("Bash(rm *"), json!("Write(x)"), json!(5)] {
        let guard = json!([{"hook_event_name": "PreToolUse", "command": "exit 2", "if": broken}]);
        let (entries, _) = collect(&[layer(guard)]);
        assert!(Bench::new().fire_entries(entries, pre("ls")).await.0.denies(), "{broken}");
    }

    let mut off = Bench::new();
    off.host.disabled = true;
    let (fired, _dir) = off.fire(json!([hook("exit 2")]), pre("ls")).await;
    assert!(!fired.denies());
    assert_eq!(fired.rows[0].skipped_reason, Some("hooks_disabled"));
    assert_eq!(fired.summary(), "hooks are switched off: 1 skipped");
}

#[tokio::test]
async fn what_settings_switch_off_is_skipped_on_the_record() {
    let off = HookLayer { off: true, ..layer(json!([hook("exit 2")])) };
    let (entries, _) = collect(&[off, layer(json!([hook("true")]))]);
    let (fired, _dir) = Bench::new().fire_entries(entries.clone(), pre("ls")).await;
    let rows: Vec<_> = fired.rows.iter().map(|row| (row.exit_code, row.skipped_reason)).collect();
    assert_eq!(rows, [(None, Some("hooks_disabled")), (Some(0), None)]);
    assert_eq!(fired.summary(), "1 ran without objection (1 more switched off)");
    // And nobody says that it would run.
    let bench = Bench::new();
    let anchors = Anchors { source: "/".into(), cwd: "/".into(), home: "/".into() };
    let plane = HookPlane::new(entries, bench.host, anchors);
    let would: Vec<i64> = plane.matching(&pre("ls"), None).iter().map(|e| e.ordinal).collect();
    assert_eq!(would, [1]);
}

#[tokio::test]
async fn every_failure_names_the_hook_its_place_and_what_to_do() {
    let (answering, _server) = serve("500 Oops", "broken").await;
    let http = |url: &str| json!({"hook_event_name": "PreToolUse", "type": "http", "url": url});
    let mut bench = Bench::new();
    bench.host.allowed_urls = Some(vec!["http://127.0.0.1:*".into()]);
    let script = bench.dir.path().join("guard.sh");
    fs::write(&script, "exit 2").unwrap();
    let unnamed = r#"echo '{"hookSpecificOutput":{"permissionDecision":"deny"}}'"#;
    let commands = [
        ("no-such-command", "exited 127: ", "(its command was not found: check its path and PATH)"),
        ("./guard.sh", "exited 126: ", "(its command is not executable: `chmod +x` it)"),
        ("echo '{ oops'", "its output is invalid: not one JSON value", "(`ona schema hooks` shows"),
        (unnamed, "hookSpecificOutput lacks \"hookEventName\":\"PreToolUse\"", "(`ona schema"),
        ("kill -9 $$", "failed: [killed by signal 9]", ""),
        ("exit 3", "exited 3 (it decides nothing: to block, a hook exits 2)", ""),
    ];
    let urls = [
        (answering.as_str(), "answered 500 Internal Server Error: broken", "(only a 2xx answer"),
        ("http://127.0.0.1:1/", "Connection refused", "(check that its server is running"),
        ("http://example.com/", "not in allowedHttpHookUrls", "(add it there, or remove"),
    ];
    let hooks = commands.iter().map(|(command, ..)| hook(command));
    let hooks: Vec<Value> = hooks.chain(urls.iter().map(|(url, ..)| http(url))).collect();
    let (entries, _) = collect(&[HookLayer {
        source: Source { scope: Scope::Project, file: Some("/p/settings.json".into()) },
        ..layer(Value::Array(hooks))
    }]);
    let (fired, _dir) = bench.fire_entries(entries, pre("ls")).await;
    assert!(!fired.denies(), "{fired:?}");
    assert_eq!(fired.warnings.len(), commands.len() + urls.len(), "{:#?}", fired.warnings);
    let all = commands.iter().chain(&urls).zip(&fired.warnings).enumerate();
    for (ordinal, ((command, what, hint), warning)) in all {
        let who = format!("hook {ordinal} ({command}) of project (/p/settings.json) ");
        assert!(
            warning.starts_with(&who) && warning.contains(what) && warning.contains(hint),
            "{warning}"
        );
    }
    assert!(
        fired.summary().starts_with("9 ran, 9 failed: [0] exited 127: "),
        "{}",
        fired.summary()
    );
    // The record has it too where the hook itself has said nothing.
    let said = fired.rows[3].stderr_text.as_deref().unwrap();
    assert!(said.starts_with("[its output is invalid: hookSpecificOutput lacks"), "{said}");
}

#[tokio::test]
async fn after_a_call_every_word_is_kept_in_the_order_of_the_hooks() {
    let post = HookDetail::PostToolUse {
        tool_name: "Bash".into(),
        tool_input: json!({"command": "ls"}),
        tool_response: json!(""),
        tool_use_id: ToolUseId::from_existing("t1"),
    };
    let after = |command: &str| json!({"hook_event_name": "PostToolUse", "command": command});
    let hooks = json!([
        after("echo '{\"decision\":\"block\",\"reason\":\"one\"}'"),
        after("echo two >&2; exit 2"),
        after("true"),
        after("echo '{\"decision\":\"block\",\"reason\":\"three\"}'"),
    ]);
    let (fired, _dir) = Bench::new().fire(hooks, post).await;
    assert!(fired.denies());
    assert_eq!(fired.denial(), "[0] one\n[1] two\n[3] three");
}

fn request() -> HookDetail {
    HookDetail::PermissionRequest {
        tool_name: "Bash".into(),
        tool_input: json!({"command": "ls"}),
        permission_suggestions: None,
    }
}

#[tokio::test]
async fn a_question_is_denied_if_anybody_denies_it_and_else_the_first_answers() {
    let answer = |decision: Value| {
        let output = json!({"hookSpecificOutput":
            {"hookEventName": "PermissionRequest", "decision": decision}});
        json!({"hook_event_name": "PermissionRequest", "command": format!("echo '{output}'")})
    };
    let yes =
        |command: &str| answer(json!({"behavior": "allow", "updatedInput": {"command": command}}));
    let no = |message: &str, interrupt: bool| {
        answer(json!({"behavior": "deny", "message": message, "interrupt": interrupt}))
    };
    let fire = |hooks: Value| async move { Bench::new().fire(hooks, request()).await.0.request };
    let denied = |message: &str, interrupt: bool| {
        Some(RequestDecision::Deny { message: Some(message.into()), interrupt: Some(interrupt) })
    };
    let one = || no("one", false);
    assert_eq!(fire(json!([one(), yes("a")])).await, denied("one", false));
    assert_eq!(fire(json!([yes("a"), one()])).await, denied("one", false));
    assert_eq!(fire(json!([one(), yes("a"), no("two", true)])).await, denied("one", true));
    let first = Some(RequestDecision::Allow {
        updated_input: json!({"command": "a"}).as_object().cloned(),
        updated_permissions: None,
    });
    assert_eq!(fire(json!([yes("a"), yes("b")])).await, first);
    let older = json!({"hook_event_name": "PermissionRequest", "command":
        "echo '{\"decision\":\"block\",\"reason\":\"old\"}'"});
    let old = Some(RequestDecision::Deny { message: Some("old".into()), interrupt: None });
    assert_eq!(fire(json!([yes("a"), older])).await, old);
    // An exit code is no answer, and that is said.
    let exits = json!([{"hook_event_name": "PermissionRequest", "command": "exit 2"}]);
    let (fired, _dir) = Bench::new().fire(exits, request()).await;
    assert_eq!(fired.request, None);
    assert!(fired.warnings[0].contains("by a decision in JSON only"), "{fired:?}");
}

#[tokio::test]
async fn a_hook_carries_the_mark_of_the_call_it_is_about() {
    let note = |event: &str| json!({"hook_event_name": event, "command": "printf %s \"$ONA_TOOL_USE_ID\" > mark"});
    // Even where the input does not name the call.
    for detail in [pre("ls"), request()] {
        let event = detail.event();
        let (fired, dir) = Bench::new().fire(json!([note(event.as_str())]), detail).await;
        assert_eq!(fs::read_to_string(dir.path().join("mark")).unwrap(), "t1", "{event}");
        assert_eq!(fired.rows[0].tool_use_id, Some(ToolUseId::from_existing("t1")), "{event}");
    }
}

/// Answers one request with `body` and returns what it was sent. Headers may follow the status.
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
    limited.host.allowed_urls = Some(vec!["https://hooks.example.com/*".into()]);
    let elsewhere =
        json!([{"hook_event_name": "PreToolUse", "type": "http", "url": "http://127.0.0.1:1/"}]);
    let (fired, _dir) = limited.fire(elsewhere, pre("ls")).await;
    assert!(fired.warnings[0].contains("not in allowedHttpHookUrls"), "{fired:?}");
}

#[tokio::test]
async fn a_redirect_leads_nowhere() {
    // The address that is allowed sends us to one that is not, which hears nothing.
    let elsewhere = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = elsewhere.local_addr().unwrap();
    let status = format!("307 Temporary Redirect\r\nlocation: http://{target}/steal").leak();
    let (url, _server) = serve(status, "").await;
    let mut bench = Bench::new();
    bench.host.allowed_urls = Some(vec![url.clone()]);
    let hooks =
        json!([{"hook_event_name": "PreToolUse", "type": "http", "url": url, "timeout": 5}]);
    let (fired, _dir) = bench.fire(hooks, pre("ls")).await;
    assert!(!fired.denies() && fired.rows[0].exit_code.is_none(), "{fired:?}");
    assert!(fired.warnings[0].contains("answered 307 Temporary Redirect"), "{fired:?}");
    assert!(fired.warnings[0].contains("redirects are not followed"), "{fired:?}");
    let heard = tokio::time::timeout(Duration::from_millis(300), elsewhere.accept()).await;
    assert!(heard.is_err(), "nobody was called");
}

#[tokio::test]
async fn allowed_addresses_may_have_any_number_of_stars() {
    for (shape, allowed) in [
        ("http://*:*/*", true),
        ("*127.0.0.1*hook", true),
        ("http://127.0.0.1:*/other", false),
        ("*://localhost:*/*", false),
        ("http://127.0.0.1", false),
    ] {
        let (url, server) = serve("200 OK", "{}").await;
        let mut bench = Bench::new();
        bench.host.allowed_urls = Some(vec![shape.into()]);
        let hooks = json!([{"hook_event_name": "PreToolUse", "type": "http", "url": url}]);
        let (fired, _dir) = bench.fire(hooks, pre("ls")).await;
        server.abort();
        assert_eq!(fired.rows[0].exit_code == Some(0), allowed, "{shape}: {fired:?}");
    }
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
        ..Ran::default()
    })
}

fn merged(outcomes: &[(i64, Ran)]) -> Fired {
    let (entries, _) = collect(&[layer(json!([hook("x")]))]);
    let mut fired = Fired::default();
    for (ordinal, ran) in outcomes {
        let entry = HookEntry { ordinal: *ordinal, ..entries[0].clone() };
        apply_result(&mut fired, &entry, HookEvent::PreToolUse, &mut ran.clone());
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
