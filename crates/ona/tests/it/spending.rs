//! What a turn takes: compactions that bring nothing, what hooks ask, answers that break off.

use ona_provider::Usage;
use ona_provider::scripted::{Reply, Server};
use ona_testkit::run;
use serde_json::{Value, json};

use crate::print::{anthropic, lines};
use crate::project;

fn full() -> Usage {
    Usage { input_tokens: 1_000_000, output_tokens: 50, ..Usage::default() }
}

/// A call that changes nothing, from a context that is full.
fn look() -> Reply {
    Reply::new().call("a", "Glob", json!({"pattern": "*"})).usage(full())
}

#[test]
fn what_is_no_summary_takes_nothings_place_and_is_not_asked_for_again() {
    let summaries = [
        (Reply::say("I cannot help with").stop("refusal"), "refused to summarise"),
        (Reply::say("First, the user").stop("max_tokens"), "cut off"),
        (Reply::new(), "no summary"),
    ];
    for (summary, why) in summaries {
        let project = project();
        let server =
            Server::start([look(), summary.usage(full()), look(), look(), Reply::say("Done.")])
                .unwrap();
        let args = ["-p", "go", "--output-format", "stream-json"];
        let ran = run(&mut anthropic(&project, &server, &args));
        assert_eq!(ran.code, Some(0), "{why}: {}", ran.stderr);
        let told = "warning: the context was not compacted: ";
        assert!(ran.stderr.contains(told) && ran.stderr.contains(why), "{}", ran.stderr);
        assert_eq!(
            project.sql("SELECT purpose FROM model_calls ORDER BY id"),
            ["turn", "compact", "turn", "turn", "turn"],
            "{why}: it was paid for, once"
        );
        let collapses =
            "SELECT count(*) FROM transcript_entries WHERE entry_type = 'collapse_commit'";
        assert_eq!(project.sql(collapses), ["0"], "{why}");
        let all = lines(&ran);
        let status: Vec<&Value> = all
            .iter()
            .filter(|line| line["subtype"] == "status")
            .map(|line| &line["status"])
            .collect();
        assert_eq!(status, [&json!("compacting"), &Value::Null], "{why}");
        let result = all.last().unwrap();
        assert_eq!(result["usage"]["input_tokens"], 4_000_010, "{why}: {result}");
        // By the record, as it is told.
        let cost = &project.sql("SELECT sum(cost_usd) FROM model_calls")[0];
        let (told, kept) =
            (result["total_cost_usd"].as_f64().unwrap(), cost.parse::<f64>().unwrap());
        assert!((told - kept).abs() < 1e-6, "{told} {kept}");
    }
}

#[test]
fn a_compaction_that_makes_no_room_is_not_done_again_in_the_turn() {
    let project = project();
    let server =
        Server::start([look(), Reply::say("SUMMARY"), look(), look(), Reply::say("Done.")])
            .unwrap();
    let args = ["-p", "go", "--output-format", "stream-json"];
    let ran = run(&mut anthropic(&project, &server, &args));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(
        project.sql("SELECT purpose FROM model_calls ORDER BY id"),
        ["turn", "compact", "turn", "turn", "turn"]
    );
    let told: Vec<Value> = lines(&ran)
        .iter()
        .filter(|line| line["subtype"] == "status" || line["subtype"] == "compact_boundary")
        .map(|line| json!([line["subtype"], line["status"]]))
        .collect();
    assert_eq!(
        told,
        [
            json!(["status", "compacting"]),
            json!(["compact_boundary", null]),
            json!(["status", null])
        ]
    );
}

#[test]
fn the_result_counts_what_hooks_asked() {
    let project = project();
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": "Glob", "hooks": [
        {"type": "prompt", "prompt": "May it? $ARGUMENTS", "model": "haiku"},
    ]}]}});
    let server =
        Server::start([look(), Reply::say("{\"ok\": true}").usage(full()), Reply::say("Done.")])
            .unwrap();
    let settings = settings.to_string();
    let args = ["-p", "go", "--output-format", "json", "--settings", &settings];
    let ran = run(anthropic(&project, &server, &args).env("DISABLE_AUTO_COMPACT", "1"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(
        project.sql("SELECT purpose FROM model_calls ORDER BY id"),
        ["turn", "hook", "turn"]
    );
    let result = &lines(&ran)[0];
    assert_eq!(result["usage"]["input_tokens"], 2_000_010, "{result}");
    let by_model = result["modelUsage"].as_object().unwrap();
    assert_eq!(by_model.len(), 2, "{result}");
    let sum: f64 = by_model.values().map(|one| one["costUSD"].as_f64().unwrap()).sum();
    let total = result["total_cost_usd"].as_f64().unwrap();
    let kept = &project.sql("SELECT sum(cost_usd) FROM model_calls")[0];
    assert!((sum - total).abs() < 1e-9, "{result}");
    assert!((kept.parse::<f64>().unwrap() - total).abs() < 1e-6, "{kept} {total}");
}

#[test]
fn answers_that_break_off_are_paid_for() {
    let project = project();
    let server =
        Server::start([Reply::say("half a").usage(full()).cut_mid_event(), Reply::say("whole")])
            .unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "go", "--output-format", "json"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(
        project.sql("SELECT purpose, input_tokens FROM model_calls ORDER BY id"),
        ["cut|1000000", "turn|10"]
    );
    assert_eq!(lines(&ran)[0]["usage"]["input_tokens"], 1_000_010);
    // They count towards what may be spent, too.
    let cut = || Reply::say("half a").usage(full()).cut_mid_event();
    let server = Server::start([cut(), look(), Reply::say("never")]).unwrap();
    let args = ["-p", "go", "--max-budget-usd", "0.001", "--output-format", "json"];
    let ran = run(anthropic(&project, &server, &args).env("DISABLE_AUTO_COMPACT", "1"));
    assert_eq!(lines(&ran)[0]["subtype"], "error_max_budget_usd", "{}", ran.stdout);
}

#[test]
fn input_that_no_tool_could_take_is_no_denial() {
    let project = project();
    let server = Server::start([
        Reply::new()
            .call("a", "Glob", json!({"pattern": 5}))
            .raw_call(Some("b"), "Glob", "{\"patt")
            .call("c", "NoSuchTool", json!({}))
            .call("d", "Bash", json!({"command": "touch x"})),
        Reply::say("Done."),
    ])
    .unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "go", "--output-format", "json"]));
    let denials = &lines(&ran)[0]["permission_denials"];
    assert_eq!(denials.as_array().unwrap().len(), 1, "{denials}");
    assert_eq!(denials[0]["tool_use_id"], "d");
}

#[test]
fn hooks_read_the_error_where_an_answer_would_stand() {
    let project = project();
    let hook = json!([{"hooks": [{"type": "command", "command": "cat > failure"}]}]);
    let settings = json!({"hooks": {"StopFailure": hook}}).to_string();
    let server = Server::start([
        Reply::say("I look.").call("a", "Glob", json!({"pattern": "*"})),
        Reply::error(400, "invalid_request_error", "no such thing"),
    ])
    .unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "go", "--settings", &settings]));
    assert_eq!(ran.code, Some(1));
    let heard: Value = serde_json::from_str(&project.content("failure")).unwrap();
    let said = heard["last_assistant_message"].as_str().unwrap();
    assert!(said.contains("no such thing") && ran.stderr.contains(said), "{said}");
}

#[test]
fn what_the_command_line_gives_must_be_of_use() {
    let project = project();
    let server = Server::start([Reply::error(400, "invalid_request_error", "no")]).unwrap();
    for option in ["--disallowedTools", "--allowedTools"] {
        let ran = run(&mut anthropic(&project, &server, &["-p", "go", option, "Bash(rm"]));
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains("invalid rule `Bash(rm`"), "{}", ran.stderr);
    }
    let args = ["-p", "go", "--no-session-persistence", "--continue"];
    let ran = run(&mut anthropic(&project, &server, &args));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot be combined with --continue"), "{}", ran.stderr);
    let ran = run(anthropic(&project, &server, &["-p", "go"]).env("ANTHROPIC_API_KEY", " \n"));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("needs a credential, and there is none"), "{}", ran.stderr);
    assert!(server.requests().is_empty());
    let mut command = anthropic(&project, &server, &["-p", "go", "--no-session-persistence"]);
    let ran = run(command.env("ANTHROPIC_API_KEY", "sk-test-key-of-this-test\n"));
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(!ran.stderr.contains("--resume"), "{}", ran.stderr);
    assert_eq!(server.requests().len(), 1, "the key can be sent");
}
