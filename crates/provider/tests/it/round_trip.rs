//! A question, a call, its result, and the answer: for each provider.

use ona_provider::scripted::{Reply, Script};
use ona_provider::{Block, Message, ProviderKind, StopReason, Usage};
use ona_types::ToolUseId;
use serde_json::json;

use crate::{BOTH, KEY, Pair, calls, request};

fn usage() -> Usage {
    Usage {
        input_tokens: 12,
        output_tokens: 34,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 56,
    }
}

#[tokio::test]
async fn each_provider_makes_the_whole_way_with_tools() {
    for provider in ProviderKind::ALL.map(|(provider, _)| provider) {
        let pair = Pair::new(
            provider,
            [
                Reply::new()
                    .thinking("Which file?", "sig==")
                    .text("I look into it.")
                    .call("t1", "Read", json!({"file_path": "/a", "n": [1, {"é": null}]}))
                    .call("t2", "Read", json!({}))
                    .usage(usage()),
                Reply::say("It is empty."),
            ],
        );
        let mut request = request(provider);
        let (answer, heard) = pair.ask_for(&request).await;
        let answer = answer.unwrap();
        assert_eq!(
            heard.shown,
            ["started", "thinking Which file?", "text I look into it.", "call Read"]
        );
        assert_eq!((&answer.stop_reason, answer.usage), (&StopReason::ToolUse, usage()));
        let expected = json!({"file_path": "/a", "n": [1, {"é": null}]});
        assert_eq!(calls(&answer), [("t1", "Read", expected.clone()), ("t2", "Read", json!({}))]);

        request.messages.push(Message::assistant(&answer));
        request.messages.push(Message::results(vec![
            Block::result(&ToolUseId::from_existing("t1"), "(empty)", false),
            Block::result(&ToolUseId::from_existing("t2"), "no path", true),
        ]));
        let answer = pair.ask_for(&request).await.0.unwrap();
        assert_eq!(
            (answer.text(), answer.stop_reason),
            ("It is empty.".into(), StopReason::EndTurn)
        );

        let seen = pair.server.requests();
        assert_eq!(seen.len(), 2);
        let sent = &seen[1].body["messages"];
        match provider {
            ProviderKind::ClaudeCodeSubscription => {
                assert_eq!(seen[1].path, "/v1/messages");
                assert_eq!(seen[1].header("x-api-key"), Some(KEY));
                assert_eq!(seen[1].header("authorization"), None);
                assert_eq!(seen[1].header("anthropic-version"), Some("2023-06-01"));
                assert_eq!(
                    sent[1]["content"][0],
                    json!({"type": "thinking", "thinking": "Which file?", "signature": "sig=="})
                );
                assert_eq!(sent[1]["content"][2]["input"], expected);
                assert_eq!(sent[2]["content"][1]["is_error"], true);
            }
            _ => {
                assert_eq!(seen[1].path, "/v1/chat/completions");
                assert_eq!(seen[1].header("authorization"), Some(&*format!("Bearer {KEY}")));
                assert_eq!(sent[2]["content"], "I look into it.");
                assert_eq!(sent[2]["tool_calls"][0]["function"]["arguments"], expected.to_string());
                assert_eq!(
                    sent[3],
                    json!({"role": "tool", "tool_call_id": "t1", "content": "(empty)"})
                );
                assert_eq!(seen[1].body["stream_options"], json!({"include_usage": true}));
            }
        }
        let agent = seen[0].header("user-agent").unwrap();
        assert!(agent.starts_with("ona/"), "{agent}");
    }
}

#[tokio::test]
async fn raw_events_are_those_of_the_messages_api_whoever_answers() {
    for provider in BOTH {
        let pair = Pair::new(provider, [Reply::say("Hello.").call("t1", "Read", json!({"a": 1}))]);
        let (answer, heard) = pair.ask().await;
        let kinds: Vec<&str> =
            heard.raw.iter().filter_map(|event| event["type"].as_str()).collect();
        let mut expected = vec!["message_start", "content_block_start", "content_block_delta"];
        expected.extend(["content_block_stop", "content_block_start", "content_block_delta"]);
        expected.extend(["content_block_stop", "message_delta", "message_stop"]);
        let mut kinds: Vec<&str> = kinds.into_iter().filter(|kind| *kind != "ping").collect();
        kinds.dedup();
        assert_eq!(kinds, expected, "{provider}");
        assert_eq!(answer.unwrap().to_json()["content"][1]["input"], json!({"a": 1}));
    }
}

#[tokio::test]
async fn a_reply_can_depend_on_what_was_asked() {
    for provider in BOTH {
        let script = Script::choose(|request| match request.last_said().as_str() {
            "Hi." => Reply::new().call("t1", "Read", json!({})),
            result => Reply::say(format!("It says {result}")),
        });
        let pair = Pair::new(provider, script);
        let mut request = request(provider);
        let answer = pair.ask_for(&request).await.0.unwrap();
        request.messages.push(Message::assistant(&answer));
        let id = ToolUseId::from_existing("t1");
        request.messages.push(Message::results(vec![Block::result(&id, "42", false)]));
        assert_eq!(pair.ask_for(&request).await.0.unwrap().text(), "It says 42");
    }
}

#[tokio::test]
async fn the_same_request_is_the_same_bytes() {
    for provider in BOTH {
        let pair = Pair::new(provider, [Reply::say("a"), Reply::say("b")]);
        pair.ask().await.0.unwrap();
        pair.ask().await.0.unwrap();
        let seen = pair.server.requests();
        assert_eq!(seen[0].body.to_string(), seen[1].body.to_string());
        assert!(pair.server.time_spent() > std::time::Duration::ZERO);
    }
}

#[test]
fn a_question_can_be_asked_from_any_thread() {
    fn sendable<T: Send>(_: &T) {}
    let pair = Pair::new(BOTH[0], []);
    let (request, cancel) = (request(BOTH[0]), tokio_util::sync::CancellationToken::new());
    let mut on = |_: ona_provider::Live<'_>| ();
    sendable(&pair.client.ask(&request, &mut on, &cancel));
}
