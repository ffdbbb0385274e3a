//! `ona mcp serve`, as a client sees it: ona's own tools behind the whole gate.

use std::io::Read as _;
use std::net::TcpStream;
use std::process::Command;

use ona_testkit::{Project, run};
use serde_json::{Value, json};

use crate::project;
use crate::serve::{Http, Server};

fn served(project: &Project) -> Server {
    Server::greeted(&mut project.ona(["mcp", "serve"]))
}

fn names(server: &mut Server) -> Vec<String> {
    let listed = server.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn settings(project: &Project, settings: &Value) {
    let file = project.home().join(".claude/settings.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, settings.to_string()).unwrap();
}

#[test]
fn the_built_in_tools_are_offered_and_nothing_is_left_by_who_only_looks() {
    let project = project();
    let mut server = served(&project);
    let names = names(&mut server);
    for name in ["Read", "Write", "Edit", "Bash", "Glob", "Grep"] {
        assert!(names.iter().any(|known| known == name), "{names:?}");
    }
    let listed = server.request("tools/list", &json!({}));
    for tool in listed["result"]["tools"].as_array().unwrap() {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert!(tool["inputSchema"].get("$schema").is_none(), "{tool}");
    }
    let unknown = server.request("tools/call", &json!({"name": "rm", "arguments": {}}));
    assert!(unknown["error"]["message"].as_str().unwrap().contains("unknown tool `rm`"));
    // What is not offered because there is nobody it is for cannot be called either.
    for name in ["Brief", "AskUserQuestion"] {
        let said = server.request("tools/call", &json!({"name": name, "arguments": {}}));
        assert!(said["error"]["message"].as_str().unwrap().contains("unknown tool"), "{said}");
    }
    assert_eq!(server.close(), (Some(0), String::new(), String::new()));
    assert_eq!(project.sql("SELECT count(*) FROM sessions"), ["0"]);
    assert_eq!(project.sql("SELECT count(*) FROM settings_snapshot"), ["0"]);
}

#[test]
fn tools_say_what_they_may_do() {
    let project = project();
    let mut server = served(&project);
    let listed = server.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let hints = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        ["readOnly", "destructive", "idempotent", "openWorld"]
            .map(|hint| tool["annotations"][format!("{hint}Hint")].as_bool().unwrap())
    };
    for name in ["Read", "Glob", "Grep", "TaskOutput"] {
        assert_eq!(hints(name), [true, false, true, false], "{name}");
    }
    for name in ["WebFetch", "WebSearch"] {
        assert_eq!(hints(name), [true, false, true, true], "{name}");
    }
    for name in ["Bash", "Agent", "Skill"] {
        assert_eq!(hints(name), [false, true, false, true], "{name}");
    }
    assert_eq!(hints("Write"), [false, true, true, false]);
    assert_eq!(hints("Edit"), [false, true, false, false]);
    assert_eq!(hints("TodoWrite"), [false, false, true, false]);
    // There is nobody to talk to.
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(!names.contains(&"AskUserQuestion") && !names.contains(&"Brief"), "{names:?}");
}

#[test]
fn a_client_that_plans_goes_on_when_the_operator_has_approved() {
    let project = project();
    settings(&project, &json!({"permissions": {"defaultMode": "acceptEdits"}}));
    let mut server = served(&project);
    let write = json!({"file_path": project.path("a"), "content": "x"});
    assert!(!server.call("EnterPlanMode", json!({})).1);
    assert!(server.call("Write", write.clone()).1);
    let (said, refused) = server.call("ExitPlanMode", json!({"plan": crate::plan()}));
    assert!(refused && said.contains("ona plan approve"), "{said}");
    let approved = crate::says_yes(&project, &["plan", "approve"]);
    assert!(approved.contains("approved plan"), "{approved}");
    let (said, refused) = server.call("Write", write);
    assert!(!refused, "{said}");
    assert_eq!(server.close().0, Some(0));
}

#[test]
fn nothing_that_was_started_in_the_background_outlives_the_server() {
    let project = project();
    settings(&project, &json!({"permissions": {"allow": ["Bash"]}}));
    let mut server = served(&project);
    let command = json!({"command": "mkfifo gate; cat gate", "run_in_background": true});
    assert!(!server.call("Bash", command).1);
    assert_eq!(server.close().0, Some(0));
    assert_eq!(project.sql("SELECT end_reason FROM background_tasks"), ["stopped"]);
    // Whatever was started there stands there.
    let stands = || {
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let mut places = processes.filter_map(|one| one.path().join("cwd").read_link().ok());
        places.any(|place| place == project.dir())
    };
    let ended = std::time::Instant::now();
    while stands() {
        assert!(ended.elapsed().as_secs() < 60, "it goes on");
        std::thread::yield_now();
    }
}

#[test]
fn each_call_passes_the_gate_and_is_on_the_record() {
    let project = project();
    let file = project.file("notes.txt", "remember this\n");
    settings(
        &project,
        &json!({"permissions": {"deny": ["Read(./secret)"], "allow": ["Bash(mkdir *)"]}}),
    );
    project.file("secret", "s");
    let mut server = served(&project);
    let (text, is_error) = server.call("Read", json!({"file_path": file}));
    assert!(text.contains("remember this") && !is_error, "{text}");
    let (text, is_error) = server.call("Read", json!({"file_path": project.path("secret")}));
    assert!(text.contains("denied by the rule") && is_error, "{text}");
    // Nobody is there to be asked.
    let (text, is_error) =
        server.call("Write", json!({"file_path": project.path("new.txt"), "content": "x"}));
    assert!(text.contains("no user is available") && is_error, "{text}");
    assert!(!project.path("new.txt").exists());
    let (text, is_error) = server.call("Bash", json!({"command": "mkdir made"}));
    assert!(!is_error, "{text}");
    assert!(project.path("made").is_dir());
    let (text, is_error) = server.call("Read", json!({"path": 5}));
    assert!(text.contains("file_path") && is_error, "{text}");
    assert_eq!(server.close().0, Some(0));
    assert_eq!(project.sql("SELECT origin FROM session_info"), ["mcp"]);
    assert_eq!(
        project.sql(
            "SELECT decision, json_extract(reason_json, '$.decided.by') FROM tool_permission_log"
        ),
        ["deny|headless"]
    );
    let calls = project.sql(
        "SELECT entry_type, count(*) FROM transcript_entries GROUP BY entry_type ORDER BY entry_type",
    );
    assert_eq!(calls, ["tool_result|5", "tool_use|5"]);
    // It is another agent's: `--eval` does not go on with it.
    project.ok("Glob", json!({"pattern": "*"}));
    assert_eq!(project.sql("SELECT count(*) FROM conversations"), ["2"]);
}

#[test]
fn hooks_and_the_phase_hold_for_it_too() {
    let project = project();
    let hook = r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"not today"}}'"#;
    settings(
        &project,
        &json!({
            "permissions": {"defaultMode": "acceptEdits"},
            "hooks": {"PreToolUse": [{"matcher": "^Glob$", "hooks": [{"type": "command", "command": hook}]}]},
        }),
    );
    let mut server = served(&project);
    let (text, is_error) = server.call("Glob", json!({"pattern": "*"}));
    assert!(text.contains("not today") && is_error, "{text}");
    let write = json!({"file_path": project.path("a"), "content": "x"});
    assert!(!server.call("Write", write.clone()).1);
    let conversation = project.sql("SELECT id FROM conversations").remove(0);
    let moved =
        run(&mut project.ona(["--transition", "planning", "--conversation", &conversation]));
    assert_eq!(moved.code, Some(0), "{}", moved.stderr);
    let (text, is_error) = server.call("Write", write);
    assert!(text.contains("planning") && is_error, "{text}");
}

#[test]
fn what_a_rule_takes_away_is_not_offered_from_the_next_call_on() {
    let project = project();
    settings(&project, &json!({"permissions": {"deny": ["Bash"]}}));
    let mut server = served(&project);
    assert!(!names(&mut server).contains(&"Bash".to_owned()));
    // Who calls it all the same is refused by the gate.
    let (text, is_error) = server.call("Bash", json!({"command": "ls"}));
    assert!(text.contains("denied by the rule") && is_error, "{text}");
    settings(&project, &json!({"permissions": {"deny": ["Glob"]}}));
    assert!(server.call("Glob", json!({"pattern": "*"})).1);
    let now = names(&mut server);
    assert!(now.contains(&"Bash".to_owned()) && !now.contains(&"Glob".to_owned()), "{now:?}");
    let (.., said) = server.close();
    assert!(said.contains("has changed; the new settings apply now"), "{said}");
}

#[test]
fn intents_are_selected_and_kept_to() {
    let project = project();
    assert_eq!(run(&mut project.ona(["init"])).code, Some(0));
    project.file(
        ".orchestration/active_intents.yaml",
        "active_intents:\n  - {id: INT-1, name: Limits, status: IN_PROGRESS, owned_scope: ['src/**']}\n",
    );
    settings(&project, &json!({"permissions": {"defaultMode": "acceptEdits"}}));
    let mut server = served(&project);
    assert!(names(&mut server).contains(&"SelectActiveIntent".to_owned()));
    let write = |path: &str| json!({"file_path": project.path(path), "content": "x\n"});
    assert!(server.call("Write", write("src/a.txt")).1, "no intent is selected");
    assert!(!server.call("SelectActiveIntent", json!({"intent_id": "INT-1"})).1);
    let (text, is_error) = server.call("Write", write("src/a.txt"));
    assert!(!is_error, "{text}");
    assert!(server.call("Write", write("docs/a.txt")).1, "out of scope");
    assert_eq!(server.close().0, Some(0));
    assert!(project.content(".orchestration/agent_trace.jsonl").contains("src/a.txt"));
}

#[test]
fn a_folder_that_is_not_trusted_is_not_served() {
    let project = project();
    let hooks = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}});
    project.file(".claude/settings.json", hooks.to_string());
    let ran = run(&mut project.ona(["mcp", "serve"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(
        ran.stderr.contains("is not trusted") && ran.stderr.contains("`ona trust`"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_client_that_goes_ends_what_it_asked_for_and_the_record_says_so() {
    let project = project();
    settings(&project, &json!({"permissions": {"allow": ["Bash"]}}));
    let mut server = served(&project);
    let command = "echo $$ > pid; mkfifo gate; cat gate";
    server.ask("tools/call", &json!({"name": "Bash", "arguments": {"command": command}}));
    let started = std::time::Instant::now();
    while !project.path("gate").exists() {
        assert!(started.elapsed().as_secs() < 60, "it does not start");
        std::thread::yield_now();
    }
    let (code, out, _) = server.close();
    assert_eq!((code, out.as_str()), (Some(0), ""));
    assert_eq!(project.sql("SELECT count(*) FROM running_calls"), ["0"]);
    let results = project.sql(
        "SELECT json_extract(payload_json, '$.is_error') FROM transcript_entries WHERE entry_type = 'tool_result'",
    );
    assert_eq!(results, ["1"]);
}

#[test]
fn a_call_that_is_taken_back_ends() {
    let project = project();
    settings(&project, &json!({"permissions": {"allow": ["Bash"]}}));
    let mut server = served(&project);
    let command = json!({"command": "mkfifo gate; cat gate"});
    let id = server.ask("tools/call", &json!({"name": "Bash", "arguments": command}));
    let started = std::time::Instant::now();
    while !project.path("gate").exists() {
        assert!(started.elapsed().as_secs() < 60, "it does not start");
        std::thread::yield_now();
    }
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    server.send(&cancelled.to_string());
    // The next one gets its turn, so the first has ended.
    assert!(!server.call("Glob", json!({"pattern": "*"})).1);
    assert_eq!(server.close().0, Some(0));
    let results = project.sql(
        "SELECT json_extract(payload_json, '$.is_error') FROM transcript_entries WHERE entry_type = 'tool_result' ORDER BY sequence",
    );
    assert_eq!(results, ["1", "0"]);
}

/// A call by HTTP that goes on until somebody ends it.
fn hanging(project: &Project, http: &Http, session: &str) -> TcpStream {
    let arguments = json!({"command": "mkfifo gate; cat gate"});
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "Bash", "arguments": arguments}});
    let headers: &[(&str, &str)] = &[("Mcp-Session-Id", session)];
    let stream = http.posted("/mcp", headers, &call.to_string());
    let started = std::time::Instant::now();
    while !project.path("gate").exists() {
        assert!(started.elapsed().as_secs() < 60, "it does not start");
        std::thread::yield_now();
    }
    stream
}

const ERRORS: &str = "SELECT json_extract(payload_json, '$.is_error') FROM transcript_entries WHERE entry_type = 'tool_result' ORDER BY sequence";

#[test]
fn by_http_a_call_ends_when_it_is_taken_back_or_its_client_goes() {
    let project = project();
    settings(&project, &json!({"permissions": {"allow": ["Bash"]}}));
    let http = Http::started(&mut project.ona(["mcp", "serve", "--http", "0"]));
    let session = http.session();
    let mut call = hanging(&project, &http, &session);
    let cancelled = |session: &str| {
        let said = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
        let (status, _) = http.post("/mcp", &[("Mcp-Session-Id", session)], &said.to_string());
        assert_eq!(status, 202);
    };
    // Another client's calls may have the same number.
    cancelled(&http.session());
    assert_eq!(project.sql("SELECT count(*) FROM running_calls"), ["1"]);
    cancelled(&session);
    let mut answer = String::new();
    call.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("the call was cancelled"), "{answer}");
    // The next one gets its turn, so the first has ended.
    let glob = json!({"pattern": "*"});
    assert_eq!(http.call(&[], "Glob", &glob).0, 200);
    assert_eq!(project.sql(ERRORS), ["1", "0"]);

    std::fs::remove_file(project.path("gate")).unwrap();
    drop(hanging(&project, &http, &session));
    assert_eq!(http.call(&[], "Glob", &glob).0, 200);
    assert_eq!(project.sql(ERRORS), ["1", "0", "1", "0"]);
}

#[test]
fn calls_are_taken_in_the_order_they_came() {
    let project = project();
    settings(&project, &json!({"permissions": {"allow": ["Bash"]}}));
    let mut server = served(&project);
    for at in 0..30 {
        let command = json!({"command": format!("echo {at} >> order")});
        server.ask("tools/call", &json!({"name": "Bash", "arguments": command}));
    }
    for _ in 0..30 {
        server.receive();
    }
    let expected: String = (0..30).map(|at| format!("{at}\n")).collect();
    assert_eq!(project.content("order"), expected);
    assert_eq!(server.close().0, Some(0));
}

#[test]
fn many_calls_at_once_are_all_answered() {
    let project = project();
    project.file("a.txt", "x\n");
    let mut server = served(&project);
    let mut asked: Vec<u64> = (0..100)
        .map(|_| server.ask("tools/call", &json!({"name": "Glob", "arguments": {"pattern": "*"}})))
        .collect();
    for _ in 0..100 {
        let answer = server.receive();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("a.txt") || text.contains("calls are already waiting"), "{answer}");
        asked.retain(|id| answer["id"] != *id);
    }
    assert_eq!(asked, [0_u64; 0]);
    assert_eq!(server.close().0, Some(0));
    assert_eq!(project.sql("SELECT count(*) FROM sessions"), ["1"]);
    assert_eq!(project.sql("SELECT count(*) FROM running_calls"), ["0"]);
}

#[test]
fn over_http_it_is_the_same() {
    let project = project();
    let file = project.file("notes.txt", "remember this\n");
    let http = Http::started(&mut project.ona(["mcp", "serve", "--http", "0"]));
    let (status, body) = http.call(&[], "Read", &json!({"file_path": file}));
    assert_eq!(status, 200, "{body}");
    assert!(body.contains("remember this"), "{body}");
    assert_eq!(http.call(&[("Origin", "https://evil.example")], "Read", &json!({})).0, 403);
    run(Command::new("kill").args(["-s", "TERM", &http.server.child.id().to_string()]));
    assert_eq!(http.server.end(), (Some(0), String::new(), String::new()));
    assert_eq!(project.sql("SELECT origin FROM session_info"), ["mcp"]);
}

#[test]
fn who_says_half_of_what_it_wants_keeps_no_other_waiting() {
    use std::io::Write as _;
    let project = project();
    let http = Http::started(&mut project.ona(["mcp", "serve", "--http", "0"]));
    let half = || {
        let mut stream = TcpStream::connect(("127.0.0.1", http.port)).unwrap();
        stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1").unwrap();
        stream
    };
    let open: Vec<TcpStream> = (0..300).map(|_| half()).collect();
    let started = std::time::Instant::now();
    assert_eq!(http.call(&[], "Glob", &json!({"pattern": "*"})).0, 200);
    assert!(started.elapsed().as_secs() < 5, "it waited for those that say nothing more");
    drop(open);
}
