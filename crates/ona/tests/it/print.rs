//! `ona -p`: whole turns against a model server on loopback that says what it is told to.

use std::process::Command;

use ona_provider::Usage;
use ona_provider::scripted::{Reply, Script, Server};
use ona_testkit::{Project, Ran, run};
use serde_json::{Value, json};

use crate::project;

/// `ona -p` with a key and a scripted Anthropic server.
pub fn anthropic(project: &Project, server: &Server, args: &[&str]) -> Command {
    let mut command = project.ona(args);
    command
        .env("ANTHROPIC_API_KEY", "sk-test-key-of-this-test")
        .env("ANTHROPIC_BASE_URL", server.base_url());
    command
}

/// A command that asks a provider, whichever it is.
pub fn asking(project: &Project, server: &Server, provider: &str) -> Command {
    let mut command = anthropic(project, server, &["--provider", provider]);
    command
        .env("OPENAI_API_KEY", "sk-test-key-of-this-test")
        .env("OPENAI_BASE_URL", server.openai_base_url())
        .env("LM_STUDIO_BASE_URL", server.openai_base_url())
        .env("LM_STUDIO_MODEL", "local-model");
    command
}

pub fn lines(ran: &Ran) -> Vec<Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_provider_completes_a_turn_with_a_tool() {
    for provider in ["claude_code_subscription", "openai_compatible", "lm_studio_local"] {
        let project = project();
        let file = project.file("a.txt", "the answer is 42\n");
        let server = Server::start([
            Reply::say("I look.").call("call_1", "Read", json!({"file_path": file})),
            Reply::say("It is 42."),
        ])
        .unwrap();
        let mut command = asking(&project, &server, provider);
        let ran = run(command.args(["-p", "what is the answer?"]));
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "It is 42.\n"),
            "{provider}: {}",
            ran.stderr
        );
        let types = project.sql("SELECT entry_type FROM transcript_entries ORDER BY sequence");
        assert_eq!(
            types,
            ["system", "user", "assistant", "tool_use", "tool_result", "assistant"],
            "{provider}"
        );
        let second = server.requests()[1].body.to_string();
        assert!(second.contains("the answer is 42"), "{provider}: {second}");
        let asked = project.sql("SELECT provider, purpose FROM model_calls");
        assert_eq!(asked, [format!("{provider}|turn"), format!("{provider}|turn")]);
    }
}

#[test]
fn json_and_stream_json_have_the_published_shapes() {
    let project = project();
    project.file("a.txt", "x\n");
    let script =
        || [Reply::new().call("t1", "Read", json!({"file_path": "a.txt"})), Reply::say("Done.")];
    let server = Server::start(script()).unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "go", "--output-format", "json"]));
    let result = &lines(&ran)[0];
    assert_eq!(result["type"], "result");
    assert_eq!((&result["subtype"], &result["result"]), (&json!("success"), &json!("Done.")));
    assert_eq!((&result["num_turns"], &result["is_error"]), (&json!(2), &json!(false)));
    assert!(result["session_id"].as_str().is_some() && result["usage"]["input_tokens"].is_u64());

    let server = Server::start(script()).unwrap();
    let args = ["-p", "go", "--output-format", "stream-json", "--include-partial-messages"];
    let ran = run(&mut anthropic(&project, &server, &args));
    let all = lines(&ran);
    let kinds: Vec<String> = all
        .iter()
        .filter(|line| line["type"] != "stream_event")
        .map(|line| {
            format!("{}/{}", line["type"].as_str().unwrap(), line["subtype"].as_str().unwrap_or(""))
        })
        .collect();
    assert_eq!(kinds, ["system/init", "assistant/", "user/", "assistant/", "result/success"]);
    assert!(all.iter().any(|line| line["event"]["type"] == "content_block_delta"));
    // Three of the 21 are of use only with MCP servers.
    assert_eq!(all[0]["tools"].as_array().unwrap().len(), 18);
    let id = &all[0]["session_id"];
    assert!(all.iter().all(|line| line["session_id"] == *id && line["uuid"].is_string()));
}

#[test]
fn the_gate_stands_before_the_model_too() {
    let project = project();
    project.file(
        ".ona/settings.json",
        json!({"permissions": {"deny": ["Read(secret.txt)"]}}).to_string(),
    );
    project.file("secret.txt", "hidden");
    let server = Server::start([
        Reply::new().call("t1", "Read", json!({"file_path": "secret.txt"})).call(
            "t2",
            "Bash",
            json!({"command": "touch made"}),
        ),
        Reply::say("I was not let."),
    ])
    .unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "go", "--output-format", "json"]));
    let denials = &lines(&ran)[0]["permission_denials"];
    assert_eq!(denials.as_array().unwrap().len(), 2, "{denials}");
    assert_eq!(denials[1]["tool_name"], "Bash");
    assert!(!project.path("made").exists(), "nobody is there to be asked");
    let told = server.requests()[1].body.to_string();
    assert!(told.contains("denied by the rule Read(secret.txt)"), "{told}");
    assert!(told.contains("no user is available"), "{told}");
    let decided = project.sql("SELECT decision, reason_json FROM tool_permission_log");
    assert!(decided[0].starts_with("deny") && decided[0].contains("headless"), "{decided:?}");
    let log = run(&mut project.ona(["log"])).stdout;
    assert!(log.contains("Read t1 tool_rejected, denied by rules\n"), "{log}");
    let nobody = "Bash t2 tool_rejected, denied: no user available\n";
    assert!(log.contains(nobody), "{log}");
}

#[test]
fn a_session_is_continued_resumed_and_forked() {
    let project = project();
    let turn = |args: &[&str], said: &str| -> (Ran, Value) {
        let server = Server::start([Reply::say(said)]).unwrap();
        let ran = run(&mut anthropic(&project, &server, args));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let body = server.requests()[0].body.clone();
        (ran, body["messages"].clone())
    };
    turn(&["-p", "one", "--name", "first"], "1");
    let (_, messages) = turn(&["-p", "two", "--continue"], "2");
    let texts = messages.to_string();
    assert!(
        texts.contains("\"one\"") && texts.contains("\"1\"") && texts.contains("\"two\""),
        "{texts}"
    );
    let (_, messages) = turn(&["-p", "three", "--resume", "first", "--fork-session"], "3");
    assert!(messages.to_string().contains("\"2\""), "{messages}");
    let (_, messages) = turn(&["-p", "four", "--resume", "first"], "4");
    assert!(!messages.to_string().contains("three"), "the fork is another session: {messages}");
    let first = project.sql("SELECT sequence FROM transcript_entries WHERE entry_type = 'assistant' ORDER BY id LIMIT 1");
    let fork = [
        "-p",
        "six",
        "--resume",
        "first",
        "--fork-session",
        "--session-id",
        "c0ffee00-0000-4000-8000-000000000001",
        "--at",
        &first[0],
    ];
    let (_, messages) = turn(&fork, "6");
    let said = messages.to_string();
    assert!(said.contains("one") && !said.contains("two") && said.contains("six"), "{said}");
    assert_eq!(
        project.sql("SELECT forked_at FROM session_info WHERE session_id LIKE 'c0ffee00-%'"),
        [first[0].clone()]
    );
    for (args, why) in [
        (&["-p", "x", "--resume", "first", "--session-id", "new"][..], "keeps its id"),
        (&["-p", "x", "--fork-session"], "needs a session to copy"),
        (&["-p", "x", "--resume", "first", "--fork-session", "--at", "9999"], "9999"),
    ] {
        let ran = run(&mut anthropic(&project, &Server::start([]).unwrap(), args));
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
    assert_eq!(project.sql("SELECT count(*) FROM sessions"), ["3"]);
    let server = Server::start([Reply::say("x")]).unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "x", "--resume", "nothing"]));
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("unknown session `nothing`"), "{}", ran.stderr);
}

#[test]
fn the_same_rows_make_the_same_request() {
    let project = project();
    project.file("a.txt", "x\n");
    let first = Server::start([
        Reply::say("look").thinking("hm", "sig").call("t1", "Read", json!({"file_path": "a.txt"})),
        Reply::say("done"),
    ])
    .unwrap();
    run(&mut anthropic(&project, &first, &["-p", "go"]));
    // Another process, which knows only the record, sends the same beginning.
    let second = Server::start([Reply::say("more")]).unwrap();
    run(&mut anthropic(&project, &second, &["-p", "on", "--continue"]));
    let strip = |mut value: Value| -> Value {
        // Where the cache begins to be written moves with the end of the conversation.
        fn strip(value: &mut Value) {
            match value {
                Value::Object(map) => {
                    map.shift_remove("cache_control");
                    map.values_mut().for_each(strip);
                }
                Value::Array(all) => all.iter_mut().for_each(strip),
                _ => {}
            }
        }
        strip(&mut value);
        value
    };
    let before = strip(first.requests()[1].body.clone());
    let after = strip(second.requests()[0].body.clone());
    assert_eq!(before["system"], after["system"]);
    assert_eq!(before["tools"].to_string(), after["tools"].to_string());
    let (before, after) = (
        before["messages"].as_array().unwrap().clone(),
        after["messages"].as_array().unwrap().clone(),
    );
    assert_eq!(before[..], after[..before.len()]);
    assert!(after.iter().any(|message| message.to_string().contains("\"signature\":\"sig\"")));
}

#[test]
fn hooks_around_the_turn() {
    let project = project();
    let note = |event: &str| json!([{"hooks": [{"type": "command", "command": format!("cat > {event}.json")}]}]);
    let mut hooks = serde_json::Map::new();
    for event in [
        "SessionStart",
        "UserPromptSubmit",
        "Stop",
        "SessionEnd",
        "InstructionsLoaded",
        "StopFailure",
    ] {
        hooks.insert(event.to_owned(), note(event));
    }
    std::fs::create_dir_all(project.home().join(".claude")).unwrap();
    std::fs::write(
        project.home().join(".claude/settings.json"),
        json!({"hooks": hooks}).to_string(),
    )
    .unwrap();
    project.file("CLAUDE.md", "Always say please.");
    let server = Server::start([Reply::say("please")]).unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "go"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let read = |event: &str| -> Value {
        serde_json::from_str(&project.content(&format!("{event}.json"))).unwrap()
    };
    assert_eq!(read("SessionStart")["model"], "claude-sonnet-4-20250514");
    assert_eq!(read("SessionStart")["source"], "startup");
    assert_eq!(read("UserPromptSubmit")["prompt"], "go");
    assert_eq!(read("Stop")["last_assistant_message"], "please");
    assert_eq!(read("SessionEnd")["reason"], "other");
    assert_eq!(read("InstructionsLoaded")["memory_type"], "Project");
    assert!(server.requests()[0].body.to_string().contains("Always say please."));
    let failing = Server::start([Reply::error(
        401,
        "authentication_error",
        "bad key sk-test-key-of-this-test",
    )])
    .unwrap();
    let ran = run(&mut anthropic(&project, &failing, &["-p", "go"]));
    assert_eq!(ran.code, Some(1));
    assert_eq!(read("StopFailure")["error"], "authentication_failed");
    assert!(
        ran.stderr.contains("authentication_failed") && !ran.stderr.contains("sk-test-key"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_prompt_can_be_blocked_and_a_stop_sent_back() {
    let project = project();
    let settings = |hooks: &Value| json!({"hooks": hooks}).to_string();
    let hook = |command: &str| json!([{"hooks": [{"type": "command", "command": command}]}]);
    let server = Server::start([Reply::say("never")]).unwrap();
    let blocked = settings(&json!({"UserPromptSubmit": hook("echo not this one >&2; exit 2")}));
    let ran = run(&mut anthropic(&project, &server, &["-p", "go", "--settings", &blocked]));
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("not this one"), "{}", ran.stderr);
    assert!(server.requests().is_empty(), "the model is not asked");
    assert_eq!(
        project.sql("SELECT count(*) FROM transcript_entries WHERE entry_type = 'user'"),
        ["0"]
    );

    let once = "if [ -e done ]; then exit 0; fi; touch done; echo run the tests first >&2; exit 2";
    let back = settings(&json!({"Stop": hook(once)}));
    let server = Server::start([Reply::say("finished"), Reply::say("tests ran")]).unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "go", "--settings", &back]));
    assert_eq!(ran.stdout, "tests ran\n", "{}", ran.stderr);
    assert!(server.requests()[1].body.to_string().contains("run the tests first"));
}

#[test]
fn hooks_are_named_by_what_they_were_fired_for() {
    let project = project();
    let hook =
        |name: &str| json!([{"hooks": [{"type": "command", "command": format!(": {name}")}]}]);
    let events = ["SessionStart", "UserPromptSubmit", "PreToolUse", "Stop"];
    let hooks: serde_json::Map<String, Value> =
        events.iter().map(|event| ((*event).to_owned(), hook(event))).collect();
    let settings = json!({"hooks": hooks}).to_string();
    let server = Server::start([
        Reply::new().call("g", "Glob", json!({"pattern": "*"})),
        Reply::say("done"),
    ])
    .unwrap();
    let args = [
        "-p",
        "go",
        "--output-format",
        "stream-json",
        "--include-hook-events",
        "--settings",
        &settings,
    ];
    let ran = run(&mut anthropic(&project, &server, &args));
    let all = lines(&ran);
    let of = |key: &str| -> Vec<&str> {
        let ran = all.iter().filter(|line| line["subtype"] == "hook_response");
        ran.map(|line| line[key].as_str().unwrap()).collect()
    };
    let names = ["SessionStart:startup", "UserPromptSubmit", "PreToolUse:Glob", "Stop"];
    assert_eq!(of("hook_name"), names, "{}", ran.stderr);
    assert_eq!(of("command"), events.map(|event| format!(": {event}")));
}

#[test]
fn a_stop_hook_that_never_lets_go_is_overruled() {
    let project = project();
    let hook = json!([{"hooks": [{"type": "command", "command": "echo not yet >&2; exit 2"}]}]);
    let settings = json!({"hooks": {"Stop": hook}}).to_string();
    for (cap, asked) in [(None, 9), (Some("2"), 3)] {
        let server = Server::start(Script::choose(|_| Reply::say("done"))).unwrap();
        let args = ["-p", "go", "--max-turns", "20", "--settings", &settings];
        let mut command = anthropic(&project, &server, &args);
        command.envs(cap.map(|cap| ("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", cap)));
        let ran = run(&mut command);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "done\n"), "{}", ran.stderr);
        assert_eq!(server.requests().len(), asked);
        let told = format!("Stop hooks blocked the stop {} times, which is the limit", asked - 1);
        assert!(ran.stderr.contains(&told) && ran.stderr.contains("not yet"), "{}", ran.stderr);
    }
    let overruled = "SELECT json_extract(detail, '$.sent_back') FROM events WHERE event_type = 'stop.overruled'";
    assert_eq!(project.sql(overruled), ["8", "2"]);
}

#[test]
fn limits_end_a_turn() {
    let project = project();
    let endless = || {
        Script::choose(|_| {
            Reply::new()
                .call("t", "Glob", json!({"pattern": "*"}))
                .usage(Usage { input_tokens: 1_000_000, ..Usage::default() })
        })
    };
    let server = Server::start(endless()).unwrap();
    let ran = run(&mut anthropic(
        &project,
        &server,
        &["-p", "go", "--max-turns", "3", "--output-format", "json"],
    ));
    let result = &lines(&ran)[0];
    assert_eq!(
        (&result["subtype"], &result["num_turns"], ran.code),
        (&json!("error_max_turns"), &json!(3), Some(1))
    );
    // A summary of so full a context is a question too, and is asked before the second one.
    for (disabled, asked) in [("1", 2), ("0", 1)] {
        let server = Server::start(endless()).unwrap();
        let args = ["-p", "go", "--max-budget-usd", "5", "--output-format", "json"];
        let mut command = anthropic(&project, &server, &args);
        let ran = run(command.env("DISABLE_AUTO_COMPACT", disabled));
        let result = lines(&ran)[0].clone();
        assert_eq!(result["subtype"], "error_max_budget_usd");
        assert_eq!(result["num_turns"], asked, "3 USD a question");
        assert_eq!(server.requests().len(), 2);
    }
}

#[test]
fn a_refusal_is_no_success() {
    for provider in ["claude_code_subscription", "openai_compatible", "lm_studio_local"] {
        let project = project();
        let refusal = || {
            let half = Reply::say("First I").call("t", "Bash", json!({"command": "touch made"}));
            half.stop("refusal")
        };
        let server = Server::start([refusal(), refusal()]).unwrap();
        let args = ["-p", "go", "--output-format", "json", "--allowedTools", "Bash"];
        let ran = run(asking(&project, &server, provider).args(args));
        let result = &lines(&ran)[0];
        assert_eq!(
            (ran.code, &result["is_error"], &result["subtype"], &result["stop_reason"]),
            (Some(1), &json!(true), &json!("error_during_execution"), &json!("refusal")),
            "{provider}: {result}"
        );
        assert!(result["errors"][0].as_str().unwrap().contains("refused to answer"), "{result}");
        assert!(!project.path("made").exists());
        let failed = "SELECT json_extract(payload_json, '$.error') FROM transcript_entries
                      WHERE json_extract(payload_json, '$.subtype') = 'turn_failed'";
        assert_eq!(project.sql(failed), ["invalid_request"]);
        let ran = run(asking(&project, &server, provider).args(["-p", "go"]));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), "First I\n"));
        assert!(ran.stderr.contains("error: the model or a content filter"), "{}", ran.stderr);
    }
}

#[test]
fn what_a_model_gets_wrong_it_is_told() {
    let project = project();
    let server = Server::start([
        Reply::new()
            .raw_call(Some("t1"), "Read", "{\"file_path\": ")
            .call("t2", "Nothing", json!({}))
            .call("t2", "Read", json!({"wrong": 1})),
        Reply::new(),
    ])
    .unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "go"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let told = server.requests()[1].body.to_string();
    for expected in ["not valid JSON", "unknown tool `Nothing`", "wrong"] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    assert_eq!(
        project.sql("SELECT count(*) FROM transcript_entries WHERE entry_type = 'tool_result'"),
        ["3"]
    );
}

#[test]
fn wrong_configuration_is_told_before_anything_is_sent() {
    let project = project();
    let server = Server::start([Reply::say("x")]).unwrap();
    for (args, env, expected) in [
        (&["-p", "x"][..], &[][..], "ANTHROPIC_API_KEY"),
        (&["-p", "x", "--model", "gpt_5"], &[("ANTHROPIC_API_KEY", "k")], "unknown model `gpt_5`"),
        (&["-p", "x", "--provider", "someone"], &[], "unknown provider `someone`"),
        (
            &["-p", "x", "--provider", "openai_compatible"],
            &[("OPENAI_API_KEY", "k")],
            "OPENAI_BASE_URL",
        ),
        (&["-p", "x", "--provider", "lm_studio_local"], &[], "LM_STUDIO_MODEL"),
        (&["-p", ""], &[("ANTHROPIC_API_KEY", "k")], "missing prompt"),
        (
            &["-p", "--allowedTools", "Read", "do it"],
            &[("ANTHROPIC_API_KEY", "k")],
            "put the prompt directly after -p",
        ),
        (&["--mcp-config", "{}", "mcp", "list"], &[], "a command before such options"),
        (&["-p", "x", "--continue"], &[("ANTHROPIC_API_KEY", "k")], "no session"),
    ] {
        let mut command = project.ona(args);
        command.envs(env.iter().copied());
        let ran = run(&mut command);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("hint: "), "{args:?}: {}", ran.stderr);
    }
    assert!(server.requests().is_empty());
}

#[test]
fn a_hook_may_ask_a_model() {
    let project = project();
    let settings = |kind: &str| {
        json!({"hooks": {"PreToolUse": [{"matcher": "Write", "hooks": [
            {"type": kind, "prompt": "May this be written? $ARGUMENTS", "model": "haiku"},
        ]}]}, "permissions": {"allow": ["Edit"]}})
        .to_string()
    };
    let write =
        || Reply::new().call("w", "Write", json!({"file_path": "made.txt", "content": "x"}));
    let server = Server::start([
        write(),
        Reply::say("{\"ok\": false, \"reason\": \"not before noon\"}"),
        Reply::say("I was refused."),
    ])
    .unwrap();
    let ran =
        run(&mut anthropic(&project, &server, &["-p", "go", "--settings", &settings("prompt")]));
    assert_eq!(ran.stdout, "I was refused.\n", "{}", ran.stderr);
    assert!(!project.path("made.txt").exists());
    let asked = &server.requests()[1].body;
    assert_eq!(asked["model"], "claude-3-5-haiku-20241022");
    assert!(asked["messages"].to_string().contains("made.txt"), "{asked}");
    assert!(server.requests()[2].body.to_string().contains("[0] not before noon"));
    assert_eq!(
        project.sql("SELECT purpose FROM model_calls ORDER BY id"),
        ["turn", "hook", "turn"]
    );

    // One that looks around first, in a session of its own.
    project.file("rules.txt", "Writing is fine.\n");
    let server = Server::start([
        write(),
        Reply::new().call("r", "Read", json!({"file_path": "rules.txt"})),
        Reply::say("{\"ok\": true}"),
        Reply::say("Written."),
    ])
    .unwrap();
    let ran =
        run(&mut anthropic(&project, &server, &["-p", "go", "--settings", &settings("agent")]));
    assert_eq!(ran.stdout, "Written.\n", "{}", ran.stderr);
    assert!(project.path("made.txt").exists());
    let tools: Vec<String> = server.requests()[1].body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(tools, ["Read", "Glob", "Grep"]);
    let origins = project.sql("SELECT origin FROM session_info ORDER BY rowid");
    assert_eq!(origins, ["headless", "headless", "subagent"]);

    // Without a model the hook is skipped, and that is said and recorded.
    let input = json!({"file_path": "other.txt", "content": "x"});
    let mut eval = project.eval_command("Write", &input);
    let ran = run(eval.args(["--settings", &settings("prompt")]));
    assert!(ran.stderr.contains("hooks that call a model do not run"), "{}", ran.stderr);
    let skipped =
        project.sql("SELECT skipped_reason FROM hook_invocations ORDER BY id DESC LIMIT 1");
    assert_eq!(skipped, ["no_model"]);
}
