//! Servers and models that do what they should not, and are understood all the same.

use std::collections::HashSet;

use ona_provider::scripted::{Reply, Script};
use ona_provider::{Block, ProviderKind, StopReason, ToolInput, Usage};
use serde_json::json;

use crate::{BOTH, Pair, calls};

#[tokio::test]
async fn input_that_is_no_json_is_part_of_the_answer() {
    for provider in BOTH {
        let reply = Reply::say("Hm.").raw_call(Some("t1"), "Read", "{\"file_path\": /etc");
        let answer = Pair::new(provider, [reply]).ask().await.0.unwrap();
        let Block::ToolUse { input: ToolInput::Invalid { text, why }, .. } = &answer.content[1]
        else {
            panic!("{answer:?}")
        };
        assert_eq!(text, "{\"file_path\": /etc");
        assert!(why.starts_with("not JSON: expected value"), "{why}");
        assert_eq!(answer.stop_reason, StopReason::ToolUse);
    }
}

#[tokio::test]
async fn ids_that_are_missing_or_not_unique_are_replaced() {
    for provider in BOTH {
        let reply = Reply::new()
            .raw_call(None, "Read", "{\"n\":1}")
            .call("t", "Read", json!({"n": 2}))
            .call("t", "Read", json!({"n": 3}))
            .raw_call(Some(""), "Read", "{\"n\":4}");
        let answer = Pair::new(provider, [reply]).ask().await.0.unwrap();
        let calls = calls(&answer);
        let inputs: Vec<_> = calls.iter().map(|(_, _, input)| input["n"].as_u64()).collect();
        assert_eq!(inputs, [Some(1), Some(2), Some(3), Some(4)], "{provider}");
        let ids: HashSet<_> = calls.iter().map(|(id, _, _)| *id).collect();
        assert_eq!((ids.len(), ids.contains("t"), ids.contains("")), (4, true, false));
    }
}

#[tokio::test]
async fn two_hundred_calls_keep_their_order() {
    for provider in BOTH {
        let reply = (0..200).fold(Reply::new(), |reply, n| {
            reply.call(&format!("t{n}"), "Read", json!({"file_path": format!("/dir/file-{n}.txt")}))
        });
        let answer = Pair::new(provider, [reply]).ask().await.0.unwrap();
        let calls = calls(&answer);
        assert_eq!(calls.len(), 200);
        assert!(calls.iter().enumerate().all(|(n, (id, ..))| *id == format!("t{n}")));
        assert_eq!(calls[199].2, json!({"file_path": "/dir/file-199.txt"}));
    }
}

#[tokio::test]
async fn ten_megabytes_in_one_event_are_read_and_more_than_the_cap_is_not() {
    for provider in BOTH {
        let text = "x".repeat(10 << 20);
        let pair = Pair::new(provider, [Reply::say(text.clone()).at_once()]);
        assert_eq!(pair.text().await, (text, 1));
    }
    let pair = Pair::new(BOTH[0], [Reply::say("x".repeat(17 << 20)).at_once(), Reply::say("less")]);
    let (answer, heard) = pair.ask().await;
    assert_eq!(answer.unwrap().text(), "less");
    assert_eq!(heard.shown[..3], ["started", "void", "retry 1/10 None"]);
}

#[tokio::test]
async fn a_stream_without_end_is_given_up() {
    for provider in BOTH {
        let reply = (0..7).fold(Reply::new(), |reply, n| {
            reply.call(&format!("t{n}"), "Write", json!({"content": "x".repeat(10 << 20)}))
        });
        let pair = Pair::new(provider, [reply.at_once(), Reply::say("not asked again")]);
        let why = pair.ask().await.0.unwrap_err().to_string();
        assert!(why.contains("larger than 67108864 bytes"), "{why}");
    }
}

#[tokio::test]
async fn an_empty_answer_is_an_answer() {
    for provider in BOTH {
        let answer = Pair::new(provider, [Reply::new().no_usage()]).ask().await.0.unwrap();
        assert_eq!((answer.content, answer.stop_reason), (vec![], StopReason::EndTurn));
        assert_eq!(answer.usage, Usage::default());
    }
}

#[tokio::test]
async fn stop_reasons_are_passed_on() {
    for provider in BOTH {
        for (said, expected) in [
            ("max_tokens", StopReason::MaxTokens),
            ("refusal", StopReason::Refusal),
            ("brand_new", StopReason::Other("brand_new".to_owned())),
        ] {
            let answer = Pair::new(provider, [Reply::say("x").stop(said)]).ask().await.0.unwrap();
            assert_eq!(answer.stop_reason, expected);
        }
    }
    let answer = Pair::new(BOTH[0], [Reply::say("x").stop("pause_turn")]).ask().await.0.unwrap();
    assert_eq!(answer.stop_reason, StopReason::PauseTurn);
}

#[tokio::test]
async fn a_server_that_does_not_know_stream_options_is_asked_without_and_that_is_remembered() {
    for refusal in [
        json!({"error": {"message": "Unrecognized request argument supplied: stream_options"}}),
        json!({"error": {"message": "Extra inputs", "code": "stream_options"}}),
        json!({"detail": "unknown field: stream_options"}),
    ] {
        let script = Script::choose(move |request| match request.body.get("stream_options") {
            Some(_) => Reply::status(400, refusal.clone()),
            None => Reply::say("yes"),
        });
        let pair = Pair::new(ProviderKind::LmStudioLocal, script);
        let (answer, heard) = pair.ask().await;
        assert_eq!(answer.unwrap().text(), "yes");
        assert_eq!(heard.shown, ["started", "text yes"]);
        assert_eq!(pair.text().await, ("yes".to_owned(), 3));
    }
    let script = Script::choose(|_| {
        Reply::status(400, json!({"error": {"message": "stream_options again"}}))
    });
    assert_eq!(Pair::new(ProviderKind::OpenAiCompatible, script).failure().await.1, 2);
}

#[tokio::test]
async fn imitations_of_chat_completions_are_understood() {
    let two = || {
        Reply::say("Both.").call("a", "Read", json!({"n": 1})).call("b", "Read", json!({"n": 2}))
    };
    for reply in [
        two(),
        two().at_once(),
        two().unnumbered(),
        two().unnumbered().at_once(),
        two().without_done(),
        two().no_usage(),
        two().stop("stop"),
    ] {
        let answer = Pair::new(ProviderKind::LmStudioLocal, [reply]).ask().await.0.unwrap();
        assert_eq!((answer.text().as_str(), &answer.stop_reason), ("Both.", &StopReason::ToolUse));
        let expected = [("a", "Read", json!({"n": 1})), ("b", "Read", json!({"n": 2}))];
        assert_eq!(calls(&answer), expected);
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let whole = json!({
        "id": "c", "model": "m", "usage": null,
        "choices": [{"message": {"content": "all at once"}, "finish_reason": "stop"}],
    });
    let pair = Pair::new(ProviderKind::OpenAiCompatible, [Reply::status(200, whole)]);
    assert_eq!(pair.text().await, ("all at once".to_owned(), 1));
}

#[tokio::test]
async fn a_server_that_does_not_say_what_it_sends_is_understood() {
    let stream =
        "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n";
    let pair = Pair::new(ProviderKind::OpenAiCompatible, [Reply::page(200, "text/plain", stream)]);
    assert_eq!(pair.text().await, ("hi".to_owned(), 1));
}
