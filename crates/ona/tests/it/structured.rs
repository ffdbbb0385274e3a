//! `--json-schema`: answers in a shape that the operator asked for.

use ona_provider::scripted::{Reply, Server};
use ona_testkit::run;
use serde_json::{Value, json};

use crate::print::{anthropic, asking, lines};
use crate::project;

const SCHEMA: &str =
    r#"{"type":"object","properties":{"answer":{"type":"integer"}},"required":["answer"]}"#;

fn answer(id: &str, input: Value) -> Reply {
    Reply::new().call(id, "StructuredOutput", input)
}

#[test]
fn each_provider_answers_in_the_shape_that_was_asked_for() {
    for provider in ["claude_code_subscription", "openai_compatible", "lm_studio_local"] {
        let project = project();
        let file = project.file("a.txt", "42\n");
        let server = Server::start([
            Reply::new().call("r", "Read", json!({"file_path": file})),
            answer("s", json!({"answer": 42})),
        ])
        .unwrap();
        let args = ["-p", "what is it?", "--json-schema", SCHEMA, "--output-format", "json"];
        let ran = run(asking(&project, &server, provider).args(args));
        assert_eq!(ran.code, Some(0), "{provider}: {}", ran.stderr);
        let result = &lines(&ran)[0];
        assert_eq!(result["structured_output"], json!({"answer": 42}), "{result}");
        assert_eq!(result["result"], "{\"answer\":42}");
        assert_eq!((&result["subtype"], &result["num_turns"]), (&json!("success"), &json!(2)));
        // The model knows the shape, and the call is on the record like any other.
        let asked = server.requests()[0].body["tools"].to_string();
        assert!(asked.contains(r#"{"answer":{"type":"integer"}}"#), "{provider}: {asked}");
        let kept = project.sql(
            "SELECT entry_type, tool_use_id, json_extract(payload_json, '$.input') FROM transcript_entries
             WHERE tool_use_id IS NOT NULL ORDER BY sequence",
        );
        assert_eq!(kept[2..], ["tool_use|s|{\"answer\":42}", "tool_result|s|"]);
        let stages =
            project.sql("SELECT stage FROM gate_answers WHERE tool_use_id = 's' ORDER BY id");
        assert_eq!(
            stages,
            ["input", "hooks", "phase", "intent", "rules", "human", "sandbox", "tasks"]
        );
    }
}

#[test]
fn a_wrong_answer_goes_back_with_what_is_wrong() {
    let project = project();
    let server = Server::start([
        Reply::say("It is 42."),
        answer("a", json!({"answer": "42"})),
        Reply::new().raw_call(Some("b"), "StructuredOutput", "{\"answer\": "),
        answer("c", json!({"answer": 42})),
    ])
    .unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "go", "--json-schema", SCHEMA]));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\"answer\":42}\n"), "{}", ran.stderr);
    let told: Vec<String> =
        server.requests().iter().map(ona_provider::scripted::Recorded::last_said).collect();
    assert!(told[1].contains("text is ignored"), "{}", told[1]);
    assert!(told[2].contains("`/answer`: \"42\" is not of type \"integer\""), "{}", told[2]);
    assert!(told[3].contains("not valid JSON"), "{}", told[3]);
}

#[test]
fn a_model_that_never_gets_it_right_is_not_asked_for_ever() {
    let project = project();
    let wrong = |n: usize| answer(&format!("w{n}"), json!({"answer": null}));
    for (retries, tries, said) in
        [(None, 6, "tried 6 times"), (Some("1"), 2, "tried 2 times"), (Some("0"), 1, "tried once")]
    {
        let server = Server::start((0..9).map(wrong).collect::<Vec<_>>()).unwrap();
        let args = ["-p", "go", "--json-schema", SCHEMA, "--output-format", "json"];
        let mut command = anthropic(&project, &server, &args);
        command.envs(retries.map(|retries| ("MAX_STRUCTURED_OUTPUT_RETRIES", retries)));
        let ran = run(&mut command);
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        let result = &lines(&ran)[0];
        assert_eq!(result["subtype"], "error_max_structured_output_retries");
        assert_eq!((&result["is_error"], result.get("structured_output")), (&json!(true), None));
        let why = result["errors"][0].as_str().unwrap();
        assert!(why.contains(said) && why.contains("/answer"), "{why}");
        assert_eq!(server.requests().len(), tries);
    }
    let ended = project.sql("SELECT detail FROM events WHERE event_type = 'turn.ended'");
    assert!(ended.iter().all(|event| event.contains("no_answer_that_fits")), "{ended:?}");
    assert_eq!(run(&mut project.ona(["doctor"])).code, Some(0));
}

#[test]
fn hooks_and_rules_judge_an_answer_like_any_call() {
    let project = project();
    let hooks = |event: &str, matcher: &str, command: &str| {
        json!({"hooks": {event: [{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}]}})
            .to_string()
    };
    // One that replaces the input: what is printed is what was judged.
    let replace = hooks(
        "PreToolUse",
        "StructuredOutput",
        r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"answer":7}}}'"#,
    );
    let turn = |settings: &str, replies: Vec<Reply>, more: &[&str]| {
        let server = Server::start(replies).unwrap();
        let mut args = vec!["-p", "go", "--json-schema", SCHEMA, "--settings", settings];
        args.extend_from_slice(more);
        (run(&mut anthropic(&project, &server, &args)), server.requests())
    };
    let (ran, _) = turn(&replace, vec![answer("a", json!({"answer": 1}))], &[]);
    assert_eq!(ran.stdout, "{\"answer\":7}\n", "{}", ran.stderr);

    // One that remarks on it: the model hears that, and what it said before stands if it has nothing to add.
    let remark = hooks("PostToolUse", "StructuredOutput", "echo are you sure >&2; exit 2");
    let (ran, asked) =
        turn(&remark, vec![answer("b", json!({"answer": 2})), Reply::say("I am.")], &[]);
    assert_eq!(ran.stdout, "{\"answer\":2}\n", "{}", ran.stderr);
    assert!(asked[1].last_said().contains("are you sure"), "{}", asked[1].last_said());

    // One that does not let the agent stop yet, and hears the answer.
    let once = "cat > stop.json; if [ -e stopped ]; then exit 0; fi; touch stopped; echo count again >&2; exit 2";
    let replies = vec![answer("c", json!({"answer": 3})), answer("d", json!({"answer": 4}))];
    let (ran, asked) = turn(&hooks("Stop", "", once), replies, &[]);
    assert_eq!(ran.stdout, "{\"answer\":4}\n", "{}", ran.stderr);
    assert!(asked[1].last_said().contains("count again"));
    assert!(project.content("stop.json").contains(r#""last_assistant_message":"{\"answer\":4}""#));

    // No tools, no yes to anything: an answer is free, by a built-in rule.
    for more in [["--tools", ""], ["--permission-mode", "dontAsk"], ["--permission-mode", "plan"]] {
        let (ran, _) = turn("{}", vec![answer("e", json!({"answer": 5}))], &more);
        assert_eq!(ran.stdout, "{\"answer\":5}\n", "{more:?}: {}", ran.stderr);
    }
    // Who forbids it cannot ask for it.
    let (ran, asked) = turn("{}", vec![], &["--disallowedTools", "StructuredOutput"]);
    assert_eq!((ran.code, asked.len()), (Some(2), 0));
    assert!(ran.stderr.contains("a rule denies StructuredOutput"), "{}", ran.stderr);
}

#[test]
fn the_answer_ends_the_turn_and_the_session_goes_on() {
    let project = project();
    let server = Server::start([
        answer("a", json!({"answer": 1})),
        answer("b", json!({"answer": 2})),
        Reply::say("plain"),
    ])
    .unwrap();
    let shaped = ["--json-schema", SCHEMA];
    run(anthropic(&project, &server, &["-p", "one"]).args(shaped));
    // Nothing is left to do, so nothing is asked; the answer can be had again.
    let again = run(anthropic(&project, &server, &["-p", "--continue"]).args(shaped));
    assert_eq!((again.stdout.as_str(), server.requests().len()), ("{\"answer\":1}\n", 1));
    let ran = run(&mut anthropic(&project, &server, &["-p", "--continue"]));
    assert!(ran.stderr.contains("nothing to continue"), "{}", ran.stderr);
    let ran = run(anthropic(&project, &server, &["-p", "two", "--continue"]).args(shaped));
    assert_eq!(ran.stdout, "{\"answer\":2}\n", "{}", ran.stderr);
    // Without the option there is no such tool, and nothing is said of it any more.
    let ran = run(&mut anthropic(&project, &server, &["-p", "three", "--continue"]));
    assert_eq!(ran.stdout, "plain\n", "{}", ran.stderr);
    let asked = &server.requests()[2].body;
    assert!(!asked["tools"].to_string().contains("StructuredOutput"), "{asked}");
    assert!(!asked["system"].to_string().contains("StructuredOutput"), "{asked}");
    assert_eq!(run(&mut project.ona(["doctor"])).code, Some(0));
}

#[test]
fn every_turn_of_a_stream_has_its_answer() {
    let project = project();
    let server =
        Server::start([answer("a", json!({"answer": 1})), answer("b", json!({"answer": 2}))])
            .unwrap();
    let args = [
        "-p",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--json-schema",
        SCHEMA,
    ];
    let line =
        |text: &str| json!({"type": "user", "message": {"content": text}}).to_string() + "\n";
    let input = project.file("input.jsonl", line("one") + &line("two"));
    let mut command = anthropic(&project, &server, &args);
    let ran = run(command.stdin(std::fs::File::open(input).unwrap()));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let all = lines(&ran);
    assert!(all[0]["tools"].as_array().unwrap().contains(&json!("StructuredOutput")), "{}", all[0]);
    let results = all.iter().filter(|line| line["type"] == "result");
    let answers: Vec<&Value> = results.map(|line| &line["structured_output"]).collect();
    assert_eq!(answers, [&json!({"answer": 1}), &json!({"answer": 2})]);
    let why = run(&mut project.ona(["why", "b"]));
    assert!(
        why.stdout.contains("StructuredOutput") && why.stdout.contains("builtin"),
        "{}",
        why.stdout
    );
}

#[test]
fn an_answer_beside_other_calls_is_not_the_last_word() {
    let project = project();
    let server = Server::start([
        answer("a", json!({"answer": 1})).call("r", "Read", json!({"file_path": "none.txt"})),
        answer("b", json!({"answer": 2})),
    ])
    .unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "go", "--json-schema", SCHEMA]));
    assert_eq!(ran.stdout, "{\"answer\":2}\n", "{}", ran.stderr);
    assert!(server.requests()[1].last_said().contains("none.txt"));
}

#[test]
fn a_schema_that_cannot_be_used_is_told_before_anything_is_sent() {
    let project = project();
    let server = Server::start([Reply::say("never")]).unwrap();
    for (schema, expected) in [
        ("schema.json", "invalid JSON"),
        (r#"{"type":"array"}"#, "\"type\": \"object\""),
        (r#"{"type":"object","required":1}"#, "it is not a JSON Schema: `/required`"),
        (
            r#"{"type":"object","properties":{"a":{"$ref":"https://example.com/x"}}}"#,
            "`https://example.com/x`, and external references are not supported",
        ),
    ] {
        let ran = run(&mut anthropic(&project, &server, &["-p", "go", "--json-schema", schema]));
        assert_eq!(ran.code, Some(2), "{schema}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{schema}: {}", ran.stderr);
        assert!(ran.stderr.contains("hint: expected a JSON Schema"), "{}", ran.stderr);
    }
    assert!(!project.database().exists());
    let mut command = anthropic(&project, &server, &["-p", "go", "--json-schema", SCHEMA]);
    let ran = run(command.env("MAX_STRUCTURED_OUTPUT_RETRIES", "many"));
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("MAX_STRUCTURED_OUTPUT_RETRIES must be"), "{}", ran.stderr);
    let ran = run(&mut project.ona(["--json-schema", SCHEMA, "--eval", "{}"]));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(server.requests().is_empty());
}
