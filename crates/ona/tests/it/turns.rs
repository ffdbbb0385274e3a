//! Turns that do not go smoothly: interrupts, full contexts, broken connections, odd input.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;
use std::time::Duration;

use ona_provider::Usage;
use ona_provider::scripted::{Reply, Server};
use ona_testkit::run;
use serde_json::{Value, json};

use crate::print::{anthropic, lines};
use crate::{project, until};

#[test]
fn an_interrupt_leaves_a_whole_transcript_that_can_be_gone_on_with() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let project = project();
        let server = Server::start([
            Reply::say("three things")
                .call("a", "Glob", json!({"pattern": "*"}))
                .call("b", "Bash", json!({"command": "touch begun; sleep 600"}))
                .call("c", "Bash", json!({"command": "touch never"})),
            Reply::say("I see."),
        ])
        .unwrap();
        let args = [
            "-p",
            "go",
            "--allowedTools",
            "Bash(touch *)",
            "Bash(sleep *)",
            "--output-format",
            "json",
        ];
        let child = anthropic(&project, &server, &args).stdout(Stdio::piped()).spawn().unwrap();
        until("the command", || project.path("begun").exists());
        run(project.command("kill").args([signal, &child.id().to_string()]));
        let output = child.wait_with_output().unwrap();
        let code = match signal {
            "-INT" => 130,
            "-TERM" => 143,
            _ => 129,
        };
        assert_eq!(output.status.code(), Some(code), "{signal}");
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["errors"], json!(["interrupted"]), "{result}");
        assert!(!project.path("never").exists());
        let results = project.sql(
            "SELECT json_extract(payload_json, '$.content') FROM transcript_entries WHERE entry_type = 'tool_result' ORDER BY sequence",
        );
        assert_eq!(results.len(), 3, "{results:?}");
        assert!(
            results[1].contains("interrupted") && results[2].contains("not run"),
            "{results:?}"
        );
        let ran = run(&mut anthropic(&project, &server, &["-p", "what happened?", "--continue"]));
        assert_eq!(ran.stdout, "I see.\n", "{}", ran.stderr);
        let told = server.requests()[1].body.to_string();
        assert!(
            told.contains("the user interrupted here") && told.contains("what happened?"),
            "{told}"
        );
        assert_eq!(run(&mut project.ona(["doctor"])).code, Some(0));
    }
}

/// A signal ends the program, not only what it is at: whatever is still to come on standard input.
#[test]
fn a_signal_ends_a_stream_of_prompts() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        for idle in [false, true] {
            let project = project();
            let settings = json!({"hooks": {"SessionEnd": [{"hooks": [
                {"type": "command", "command": "touch ended"},
            ]}]}});
            project.file(".claude/settings.json", settings.to_string());
            let first = match idle {
                true => Reply::say("Done."),
                false => Reply::new().call(
                    "toolu_signal_ends",
                    "Bash",
                    json!({"command": "touch begun; sleep 600"}),
                ),
            };
            let server = Server::start([first, Reply::say("The second.")]).unwrap();
            let mut child = anthropic(
                &project,
                &server,
                &[
                    "-p",
                    "--trust",
                    "--input-format",
                    "stream-json",
                    "--output-format",
                    "stream-json",
                ],
            )
            .args(["--allowedTools", "Bash(touch *)", "Bash(sleep *)"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
            // It stays open: nothing but the signal ends it.
            let mut stdin = child.stdin.take().unwrap();
            let mut say = |text: &str| {
                let line = json!({"type": "user", "message": {"role": "user", "content": text}});
                writeln!(stdin, "{line}").unwrap();
            };
            say("go");
            let mut stdout = BufReader::new(child.stdout.take().unwrap());
            let mut shown = String::new();
            if idle {
                while !shown.contains(r#""type":"result""#) {
                    assert_ne!(stdout.read_line(&mut shown).unwrap(), 0, "{shown}");
                }
            } else {
                say("and then");
                until("the command", || project.path("begun").exists());
            }
            run(project.command("kill").args([signal, &child.id().to_string()]));
            stdout.read_to_string(&mut shown).unwrap();
            assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
            assert!(project.path("ended").exists(), "SessionEnd hooks run");
            assert_eq!(server.requests().len(), 1, "no further prompt is taken");
            assert_eq!(shown.matches(r#""type":"result""#).count(), 1, "{shown}");
        }
    }
}

#[test]
fn an_interrupt_while_the_model_speaks_keeps_nothing_half() {
    let project = project();
    let server =
        Server::start([Reply::say("a long story").slow(Duration::from_secs(600))]).unwrap();
    let child = anthropic(&project, &server, &["-p", "go"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until("the question", || !server.requests().is_empty());
    run(project.command("kill").args(["-INT", &child.id().to_string()]));
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert_eq!(
        project.sql("SELECT count(*) FROM transcript_entries WHERE entry_type = 'assistant'"),
        ["0"]
    );
    assert_eq!(project.sql("SELECT count(*) FROM model_calls WHERE purpose = 'turn'"), ["0"]);
}

#[test]
fn a_full_context_is_compacted_and_nothing_is_deleted() {
    let project = project();
    project.file("CLAUDE.md", "Mind the gap.");
    let full = Usage { input_tokens: 900, output_tokens: 50, ..Usage::default() };
    let server = Server::start([
        Reply::new().call("a", "Glob", json!({"pattern": "*"})).usage(full),
        Reply::say("SUMMARY: we listed files."),
        Reply::say("All done."),
    ])
    .unwrap();
    let mut command = anthropic(
        &project,
        &server,
        &["-p", "list, then report", "--output-format", "stream-json"],
    );
    let ran = run(command
        .env("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "1000")
        .env("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "90"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let kinds: Vec<Value> = lines(&ran).iter().map(|line| line["subtype"].clone()).collect();
    assert!(
        kinds.contains(&json!("compact_boundary")) && kinds.contains(&json!("status")),
        "{kinds:?}"
    );
    let requests = server.requests();
    assert_eq!(requests[1].body["tool_choice"]["type"], "none");
    let after = requests[2].body["messages"].to_string();
    assert!(
        after.contains("SUMMARY: we listed files.") && after.contains("list, then report"),
        "{after}"
    );
    assert!(
        after.contains("The phase of the work is idle") && after.contains("Mind the gap."),
        "{after}"
    );
    assert!(!after.contains("tool_use"), "{after}");
    let types = project.sql("SELECT entry_type FROM transcript_entries ORDER BY sequence");
    assert!(
        types.contains(&"tool_result".to_owned()) && types.contains(&"collapse_commit".to_owned()),
        "{types:?}"
    );
    assert_eq!(
        project.sql("SELECT purpose FROM model_calls ORDER BY id"),
        ["turn", "compact", "turn"]
    );
    // A context that is too long is compacted once, then the failure is plain.
    let too_long = || {
        Reply::error(
            400,
            "invalid_request_error",
            "prompt is too long: 300000 tokens > 200000 maximum",
        )
    };
    let server = Server::start([too_long(), Reply::say("SUMMARY"), too_long()]).unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "more", "--continue"]));
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("prompt is too long"), "{}", ran.stderr);
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn retries_are_told_and_a_page_of_html_is_explained() {
    let project = project();
    let server = Server::start([
        Reply::error(529, "overloaded_error", "busy").header("retry-after-ms", "1"),
        Reply::say("half a").cut_mid_event(),
        Reply::say("whole"),
    ])
    .unwrap();
    let ran =
        run(&mut anthropic(&project, &server, &["-p", "go", "--output-format", "stream-json"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let all = lines(&ran);
    let retries: Vec<&Value> = all.iter().filter(|line| line["subtype"] == "api_retry").collect();
    assert_eq!(retries.len(), 2, "{all:?}");
    assert_eq!((&retries[0]["error_status"], &retries[0]["attempt"]), (&json!(529), &json!(1)));
    assert!(ran.stderr.contains("retry 1 of 10"), "{}", ran.stderr);
    assert_eq!(all.last().unwrap()["result"], "whole");
    let answers =
        project.sql("SELECT payload_json FROM transcript_entries WHERE entry_type = 'assistant'");
    assert!(answers.len() == 1 && answers[0].contains("whole"), "{answers:?}");

    let server = Server::start([Reply::html(404, "<html><title>Not here</title></html>")]).unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "go"]));
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("base URL") && ran.stderr.contains("/v1/messages"),
        "{}",
        ran.stderr
    );
}

#[test]
fn prompts_come_from_arguments_pipes_and_lines_of_json() {
    let project = project();
    let piped = |args: &[&str], input: &str, replies: usize| {
        let server = Server::start(vec![Reply::say("ok"); replies]).unwrap();
        let mut child = anthropic(&project, &server, args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        (server.requests(), String::from_utf8(output.stdout).unwrap())
    };
    let (requests, _) = piped(&["-p", "review this"], "diff --git a b", 1);
    assert_eq!(requests[0].last_said(), "review this\n\ndiff --git a b");
    let (requests, _) = piped(&["-p"], "only this", 1);
    assert_eq!(requests[0].last_said(), "only this");
    let messages = "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"one\"}}\nnonsense\n{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"two\"}]}}\n";
    let args = [
        "-p",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--replay-user-messages",
    ];
    let (requests, printed) = piped(&args, messages, 2);
    assert_eq!(requests.len(), 2);
    assert!(requests[1].body["messages"].to_string().contains("one"), "one session");
    assert_eq!(printed.lines().filter(|line| line.contains("\"type\":\"result\"")).count(), 2);
    assert_eq!(printed.lines().filter(|line| line.contains("\"isReplay\":true")).count(), 2);
}

#[test]
fn a_pipe_that_closes_is_no_crash() {
    let project = project();
    let server = Server::start([Reply::say("x".repeat(200_000))]).unwrap();
    let mut child =
        anthropic(&project, &server, &["-p", "go"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(
        project.sql("SELECT count(*) FROM transcript_entries WHERE entry_type = 'assistant'"),
        ["1"]
    );
}

#[test]
fn two_hundred_calls_in_one_answer() {
    let project = project();
    let many = (0..200).fold(Reply::new(), |reply, n| {
        reply.call(&format!("c{n}"), "Glob", json!({"pattern": "*"}))
    });
    let server = Server::start([many, Reply::say("done")]).unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "go"]));
    assert_eq!(ran.stdout, "done\n", "{}", ran.stderr);
    let results = server.requests()[1].body["messages"][2]["content"].as_array().unwrap().len();
    assert_eq!(results, 200);
}

#[test]
fn nothing_is_kept_where_nothing_is_wanted() {
    let project = project();
    project.file("a.txt", "x\n");
    let server = Server::start([
        Reply::new().call("r", "Read", json!({"file_path": "a.txt"})),
        Reply::say("read"),
    ])
    .unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "go", "--no-session-persistence"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "read\n"), "{}", ran.stderr);
    assert!(!project.database().exists());
    let task = json!({"command": "true", "run_in_background": true});
    let server = Server::start([Reply::new().call("b", "Bash", task), Reply::say("no")]).unwrap();
    let args = ["-p", "go", "--no-session-persistence", "--allowedTools", "Bash"];
    run(&mut anthropic(&project, &server, &args));
    let told = server.requests()[1].last_said();
    assert!(
        told.contains("background tasks are not available: with --no-session-persistence"),
        "{told}"
    );
}

#[test]
fn setup_and_directory_hooks_fire() {
    let project = project();
    std::fs::create_dir(project.path("sub")).unwrap();
    let note = |event: &str| json!([{"hooks": [{"type": "command", "command": format!("cat >> \"$CLAUDE_PROJECT_DIR/{event}\"")}]}]);
    let hooks = json!({"hooks": {"Setup": note("setup"), "SessionStart": note("start"), "CwdChanged": note("cwd")}}).to_string();
    let server = Server::start([
        Reply::new().call("c", "Bash", json!({"command": "cd sub"})),
        Reply::say("there"),
    ])
    .unwrap();
    // Nobody is asked, so there need be nobody to ask.
    let ran = run(&mut project.ona(["-p", "--init-only", "--settings", &hooks]));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(project.content("setup").contains("\"trigger\":\"init\""));
    assert!(project.content("start").contains("\"source\":\"startup\""));
    for provider in ["openai_compatible", "claude_code_subscription"] {
        let ran = run(&mut project.ona(["-p", "--init-only", "--provider", provider]));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{provider}");
    }
    let ran = run(&mut anthropic(
        &project,
        &server,
        &["-p", "go", "--maintenance", "--settings", &hooks],
    ));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(project.content("setup").contains("\"trigger\":\"maintenance\""));
    let moved: Value = serde_json::from_str(&project.content("cwd")).unwrap();
    assert_eq!(moved["new_cwd"], project.path("sub").display().to_string());
}

#[test]
fn usage_that_cannot_be_true_ends_nothing() {
    let project = project();
    let most = i64::MAX.cast_unsigned();
    let lie = Usage {
        input_tokens: most,
        output_tokens: most,
        cache_creation_input_tokens: most,
        cache_read_input_tokens: most,
    };
    let server = Server::start([
        Reply::new().call("a", "Glob", json!({"pattern": "*"})).usage(lie),
        Reply::say("Done.").usage(lie),
        Reply::say("And on.").usage(lie),
    ])
    .unwrap();
    for (prompt, said) in [("go", "Done."), ("more", "And on.")] {
        let args = ["-p", prompt, "--continue", "--output-format", "json"];
        let args: Vec<&str> =
            args.into_iter().filter(|arg| prompt == "more" || *arg != "--continue").collect();
        let ran = run(anthropic(&project, &server, &args).env("DISABLE_AUTO_COMPACT", "1"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(lines(&ran)[0]["result"], said);
    }
    let id = &project.sql("SELECT session_id FROM sessions")[0];
    let exported = run(&mut project.ona(["sessions", "export", id, "--json"]));
    let exported: Value = serde_json::from_str(&exported.stdout).unwrap();
    assert_eq!(exported["usage"][0]["used"]["input_tokens"], most);
}
