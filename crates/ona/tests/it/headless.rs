//! What a script that runs `ona -p` may stumble over.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use ona_provider::Usage;
use ona_provider::scripted::{Reply, Server};
use ona_testkit::run;
use serde_json::{Value, json};

use crate::print::{anthropic, lines};
use crate::project;

const KEY: &str = "sk-test-key-of-this-test";

#[test]
fn a_prompt_is_never_a_command() {
    let project = project();
    project.file(
        ".claude/settings.json",
        r#"{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch pwned"}]}]}}"#,
    );
    let server = Server::start([Reply::say("x")]).unwrap();
    for word in ["trust", "doctor", "help"] {
        let ran = run(&mut anthropic(&project, &server, &["-p", word]));
        assert_eq!(ran.code, Some(2), "{word}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("is not trusted"), "{word}: {}", ran.stderr);
    }
    let ran = run(&mut anthropic(&project, &server, &["-p", "trust", "--trust"]));
    assert_eq!(ran.stdout, "x\n", "{}", ran.stderr);
    assert_eq!(server.requests()[0].last_said(), "trust");
    assert_eq!(
        run(&mut project.ona(["--cwd", ".", "trust"])).code,
        Some(0),
        "without -p it is one"
    );
}

#[test]
fn a_prompt_that_begins_with_a_dash_is_told_where_to_stand() {
    let project = project();
    for prompt in ["-hello", "-Verify it", "-fix it", "-"] {
        let server = Server::start([Reply::say("yes")]).unwrap();
        let ran = run(&mut anthropic(&project, &server, &["-p", "--", prompt]));
        assert_eq!(ran.stdout, "yes\n", "{}", ran.stderr);
        assert_eq!(server.requests()[0].last_said(), prompt);
        if prompt != "-" {
            let ran = run(&mut anthropic(&project, &server, &["-p", prompt]));
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
            let told = format!("error: unknown option `{prompt}`\nhint: ");
            assert!(ran.stderr.starts_with(&told), "{}", ran.stderr);
            assert!(ran.stderr.contains("ona -p -- "), "{}", ran.stderr);
        }
    }
    for (args, said) in [(&["-ph"][..], "Usage"), (&["-p", "-h"], "Usage"), (&["-pV"], "ona ")] {
        let ran = run(&mut project.ona(args));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stdout.contains(said), "{}", ran.stdout);
    }
}

#[test]
fn the_key_is_neither_kept_nor_printed_wherever_it_comes_from() {
    let project = project();
    let leak = format!("the key is {KEY}");
    let replies = vec![
        Reply::say(leak.clone()).thinking(&leak, "sig").call("a", "Glob", json!({"pattern": KEY})),
        Reply::say(leak.clone()),
    ];
    for format in ["text", "json", "stream-json"] {
        let server = Server::start(replies.clone()).unwrap();
        let name = format!("{leak} {format}");
        let args = [
            "-p",
            &leak,
            "--output-format",
            format,
            "--include-partial-messages",
            "--system-prompt",
            &leak,
            "--append-system-prompt",
            &leak,
            "--name",
            &name,
        ];
        let ran = run(&mut anthropic(&project, &server, &args));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(!ran.stdout.contains(KEY), "{format}: {}", ran.stdout);
        assert!(!ran.stderr.contains(KEY), "{format}: {}", ran.stderr);
    }
    let server = Server::start([]).unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "x", "--session-id", KEY]));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let bytes = std::fs::read(project.database()).unwrap();
    let wal = std::fs::read(format!("{}-wal", project.database().display())).unwrap_or_default();
    for bytes in [bytes, wal] {
        assert!(!bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()));
    }
}

#[test]
fn ids_and_directories_that_cannot_be_used_are_refused() {
    let project = project();
    let server = Server::start([]).unwrap();
    for args in [
        &["--session-id", ""][..],
        &["--session-id", "../../evil"],
        &["--session-id", "not an id"],
        &["--session-id", "sess_019a8d5f00007000800000000000000a"],
        &["--session-id", "019a8d5f00007000800000000000000a"],
        &["--add-dir", "nowhere"],
        &["--name", "two\nlines"],
    ] {
        let args: Vec<&str> = ["-p", "x"].iter().chain(args).copied().collect();
        let ran = run(&mut anthropic(&project, &server, &args));
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
    }
    assert!(server.requests().is_empty());
}

#[test]
fn a_session_that_is_full_is_compacted_before_the_first_question_too() {
    let project = project();
    let used = Usage { input_tokens: 199_000, ..Usage::default() };
    let full = Server::start([Reply::say("long").usage(used)]).unwrap();
    assert_eq!(run(&mut anthropic(&project, &full, &["-p", "one"])).code, Some(0));
    let server = Server::start([Reply::say("the summary"), Reply::say("on")]).unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "two", "--continue"]));
    assert_eq!(ran.stdout, "on\n", "{}", ran.stderr);
    assert_eq!(
        project.sql("SELECT count(*) FROM transcript_entries WHERE entry_type = 'collapse_commit'"),
        ["1"]
    );
}

#[test]
fn a_session_goes_on_with_the_model_it_had() {
    let project = project();
    let server = Server::start(vec![Reply::say("x"); 3]).unwrap();
    for args in [
        &["-p", "one", "--model", "opus"][..],
        &["-p", "two", "-c"],
        &["-p", "three", "-c", "--model", "haiku"],
    ] {
        let ran = run(&mut anthropic(&project, &server, args));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    let models: Vec<String> = server
        .requests()
        .iter()
        .map(|request| request.body["model"].as_str().unwrap().to_owned())
        .collect();
    assert!(
        models[0].contains("opus") && models[0] == models[1] && models[2].contains("haiku"),
        "{models:?}"
    );
}

#[test]
fn a_call_of_the_operator_does_not_break_into_a_session_that_is_driven() {
    let project = project();
    let eval = format!(
        "{} --eval '{{\"tool\": \"Glob\", \"input\": {{\"pattern\": \"*\"}}}}' && echo REAL",
        env!("CARGO_BIN_EXE_ona")
    );
    let server = Server::start([
        Reply::new().call("a", "Bash", json!({"command": eval})).call(
            "b",
            "Glob",
            json!({"pattern": "*"}),
        ),
        Reply::say("done"),
    ])
    .unwrap();
    let ran = run(&mut anthropic(
        &project,
        &server,
        &["-p", "go", "--permission-mode", "bypassPermissions"],
    ));
    assert_eq!(ran.stdout, "done\n", "{}", ran.stderr);
    let told = server.requests()[1].body["messages"].to_string();
    assert!(told.contains("REAL") && !told.contains("not run"), "{told}");
    assert_eq!(project.sql("SELECT count(*) FROM sessions"), ["2"]);
}

#[test]
fn a_signal_ends_a_process_that_waits_for_prompts() {
    let project = project();
    let server = Server::start([Reply::say("one")]).unwrap();
    let args = ["-p", "--input-format", "stream-json", "--output-format", "stream-json"];
    let mut child = anthropic(&project, &server, &args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    writeln!(input, "{}", json!({"type": "user", "message": {"content": "one"}})).unwrap();
    loop {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        if line.contains("\"type\":\"result\"") {
            break;
        }
    }
    run(project.command("kill").args(["-TERM", &child.id().to_string()]));
    assert_eq!(child.wait().unwrap().code(), Some(143));
    drop(input);
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for_for_ever() {
    let project = project();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = project.ona(["-p", "x", "--output-format", "stream-json"]);
    command
        .env("ANTHROPIC_API_KEY", KEY)
        .env("ANTHROPIC_BASE_URL", format!("http://{}", silent.local_addr().unwrap()))
        .env("API_TIMEOUT_MS", "200")
        .env("CLAUDE_CODE_MAX_RETRIES", "1");
    let ran = run(&mut command);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let retried = |line: &Value| line["subtype"] == "api_retry";
    assert!(lines(&ran).iter().any(retried), "{}", ran.stdout);
}

#[test]
fn that_no_model_could_be_asked_is_on_the_record() {
    let project = project();
    let ran = run(&mut project.ona(["-p", "x"]));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let events = project.sql(
        "SELECT json_extract(detail, '$.error') FROM events WHERE event_type = 'turn.refused'",
    );
    assert_eq!(events, ["authentication_failed"]);
    let mut command = project.ona(["-p", "x", "--bare"]);
    let ran = run(command.env("ANTHROPIC_AUTH_TOKEN", KEY));
    assert_eq!(ran.code, Some(2), "A7: only a key will do");
}

#[test]
fn what_is_no_prompt_is_left_out_and_named() {
    let project = project();
    let server = Server::start([Reply::say("ok")]).unwrap();
    let args = ["-p", "--input-format", "stream-json", "--output-format", "stream-json"];
    let mut child = anthropic(&project, &server, &args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for content in
        [json!(""), json!([{"type": "text", "text": "a"}, {"type": "image"}]), json!("real")]
    {
        writeln!(input, "{}", json!({"type": "user", "message": {"content": content}})).unwrap();
    }
    let other = json!({"type": "user", "message": {"role": "assistant", "content": "not mine"}});
    writeln!(input, "{other}").unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("its role is \"assistant\", not \"user\""), "{said}");
    assert!(
        said.contains("its content is empty") && said.contains("unknown source type null"),
        "{said}"
    );
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn input_without_a_prompt_is_an_error() {
    let project = project();
    let server = Server::start([Reply::say("never")]).unwrap();
    let args = ["-p", "--input-format", "stream-json", "--output-format", "stream-json"];
    for input in ["", "\n", "nonsense\n"] {
        let file = project.file("input", input);
        let mut command = anthropic(&project, &server, &args);
        let ran = run(command.stdin(std::fs::File::open(file).unwrap()));
        assert_eq!(ran.code, Some(1), "{input:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("error: no prompt on standard input"), "{input:?}");
        assert_eq!(lines(&ran).len(), 1, "{}", ran.stdout);
    }
    assert!(server.requests().is_empty());
}

#[test]
fn what_is_deleted_is_gone_for_good() {
    let project = project();
    let server = Server::start([
        Reply::new().call("a", "Bash", json!({"command": "echo ZEBRA", "run_in_background": true})),
        Reply::say("ZEBRA seen"),
    ])
    .unwrap();
    let own = "c0ffee00-0000-4000-8000-000000000001";
    let args = ["-p", "a ZEBRA", "--permission-mode", "bypassPermissions", "--session-id", own];
    assert_eq!(run(&mut anthropic(&project, &server, &args)).code, Some(0));
    let ran = run(&mut project.ona(["sessions", "delete", own, "--yes"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for file in ["", "-wal"] {
        let bytes =
            std::fs::read(format!("{}{file}", project.database().display())).unwrap_or_default();
        assert!(!bytes.windows(5).any(|window| window == b"ZEBRA"), "{file}");
    }
    assert!(
        !std::path::Path::new(&format!("{}-outputs/{own}", project.database().display())).exists()
    );
}

#[test]
fn sessions_are_found_by_what_was_said() {
    let project = project();
    let server = Server::start([Reply::say("Ünïcode \"quoted\" answer")]).unwrap();
    assert_eq!(run(&mut anthropic(&project, &server, &["-p", "the question"])).code, Some(0));
    let found = |text: &str| {
        let ran = run(&mut project.ona(["sessions", "search", text, "--json"]));
        serde_json::from_str::<Value>(&ran.stdout).unwrap().as_array().unwrap().clone()
    };
    for text in ["QUESTION", "ünï", "\"quoted\" ANSWER"] {
        assert_eq!(found(text).len(), 1, "{text}");
    }
    for text in ["content", "_t", "type"] {
        assert!(found(text).is_empty(), "{text}");
    }
    assert_eq!(found("ünï")[0]["excerpt"], "Ünïcode \"quoted\" answer");
}

#[test]
fn odd_names_of_tools_can_be_sent_back() {
    let project = project();
    let server = Server::start([
        Reply::new().call("a", "bad name!\u{0}", json!({})).call("b", &"x".repeat(600), json!({})),
        Reply::say("done"),
    ])
    .unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "go"]));
    assert_eq!(ran.stdout, "done\n", "{}", ran.stderr);
    let messages = &server.requests()[1].body["messages"];
    let name = |at: usize| messages[1]["content"][at]["name"].as_str().unwrap().to_owned();
    assert_eq!(name(0), "bad_name__");
    assert_eq!(name(1).len(), 64);
    let ran = run(&mut anthropic(&project, &server, &["-p", "x", "--tools", "Read,Nope"]));
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("unknown tool Nope"), "{}", ran.stderr);
}

#[test]
fn a_program_that_drives_ona_is_answered() {
    let project = project();
    let server = Server::start([Reply::say("hello")]).unwrap();
    let args =
        ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
    let mut child = anthropic(&project, &server, &args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for said in [
        json!({"type": "control_request", "request_id": "1", "request": {"subtype": "initialize"}}),
        json!({"type": "control_request", "request_id": "2", "request": {"subtype": "rewind_files"}}),
        json!({"type": "user", "message": {"role": "user", "content": "x"}}),
    ] {
        writeln!(stdin, "{said}").unwrap();
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["type"] == "control_response")
        .collect();
    assert_eq!(answers[0]["response"]["request_id"], "1");
    assert_eq!(answers[0]["response"]["subtype"], "success");
    assert_eq!(answers[1]["response"]["subtype"], "error");
    assert!(said.contains("hello"), "{said}");
}
