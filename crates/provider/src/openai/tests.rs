//! Chat Completions, request and stream.

use ona_http::sse::Event;
use ona_types::{Attachment, ToolUseId};
use serde_json::{Value, json};

use super::{Decoder, encode};
use crate::failure::{FailedAttempt, Remedy};
use crate::live::{Live, lines};
use crate::message::{
    Answer, Block, Message, Part, Request, Role, StopReason, ToolChoice, ToolInput, ToolSpec,
};
use crate::model::ProviderKind;

fn conversation(model: &str) -> Request<'static> {
    let image = Attachment::Image { media_type: "image/png".to_owned(), data: "aWI=".to_owned() };
    let pdf =
        Attachment::Document { media_type: "application/pdf".to_owned(), data: String::new() };
    let call = |id: &str, text: &str| Block::ToolUse {
        id: ToolUseId::from_existing(id),
        name: "Read".to_owned(),
        input: ToolInput::parse(text),
    };
    let mut request = Request::new(model, 4096);
    request.system = vec!["You are ona.".to_owned(), String::new(), "Be brief.".to_owned()];
    request.temperature = Some(0.5);
    request.stop_sequences = vec!["END".to_owned()];
    request.thinking = Some(2000);
    request.tools = vec![ToolSpec {
        name: "Read".to_owned(),
        description: "Reads.".to_owned(),
        input_schema: json!({"type": "object"}),
    }];
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "x"});
    request.messages = vec![
        Message::user("Look."),
        Message {
            role: Role::Assistant,
            content: vec![
                Block::Opaque { provider: ProviderKind::ClaudeCodeSubscription, value: thought },
                Block::Text("I look.".to_owned()),
                call("t1", r#"{"z":1,"a":2}"#),
                call("t2", "{oops"),
            ],
        },
        Message {
            role: Role::User,
            content: vec![
                Block::ToolResult {
                    tool_use_id: ToolUseId::from_existing("t1"),
                    content: vec![
                        Part::Text("two".to_owned()),
                        Part::Attachment(image),
                        Part::Attachment(pdf.clone()),
                    ],
                    is_error: false,
                },
                Block::result(&ToolUseId::from_existing("t2"), "no", true),
                Block::Text("And?".to_owned()),
            ],
        },
        Message { role: Role::Assistant, content: vec![call("t3", "")] },
        Message::results(vec![Block::result(&ToolUseId::from_existing("t3"), "ok", false)]),
        Message { role: Role::Assistant, content: vec![] },
        Message { role: Role::User, content: vec![Block::Attachment(pdf)] },
    ];
    request
}

fn body(request: &Request<'_>, stream: bool, options: bool) -> Value {
    let bytes = encode(request, stream, options).unwrap();
    assert_eq!(bytes, encode(request, stream, options).unwrap());
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn a_request_is_written_as_chat_completions_wants_it() {
    let body = body(&conversation("gpt-4o"), true, true);
    insta::assert_snapshot!(lines(&body), @r#"
    model: "gpt-4o"
    messages: {"role":"system","content":"You are ona.\n\nBe brief."}
    messages: {"role":"user","content":"Look."}
    messages: {"role":"assistant","content":"I look.","tool_calls":[{"id":"t1","type":"function","function":{"name":"Read","arguments":"{\"z\":1,\"a\":2}"}},{"id":"t2","type":"function","function":{"name":"Read","arguments":"{\"invalid_json\":\"{oops\"}"}}]}
    messages: {"role":"tool","tool_call_id":"t1","content":"two\n[image: see the next message]\n[document of type application/pdf left out: this model does not accept documents]"}
    messages: {"role":"tool","tool_call_id":"t2","content":"no"}
    messages: {"role":"user","content":[{"type":"text","text":"Image returned by the tool call t1:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aWI="}},{"type":"text","text":"And?"}]}
    messages: {"role":"assistant","content":null,"tool_calls":[{"id":"t3","type":"function","function":{"name":"Read","arguments":"{}"}}]}
    messages: {"role":"tool","tool_call_id":"t3","content":"ok"}
    messages: {"role":"user","content":"[document of type application/pdf left out: this model does not accept documents]"}
    tools: {"type":"function","function":{"name":"Read","description":"Reads.","parameters":{"type":"object"}}}
    max_tokens: 4096
    temperature: 0.5
    stop: "END"
    stream: true
    stream_options: {"include_usage":true}
    "#);
}

#[test]
fn reasoning_models_take_other_parameters() {
    for model in ["o3", "o3-mini", "o1-2024-12-17", "openai/o4-mini"] {
        let body = body(&conversation(model), false, true);
        assert_eq!(body["messages"][0]["role"], "developer", "{model}");
        assert_eq!(body["max_completion_tokens"], 4096);
        for absent in ["max_tokens", "temperature", "stop", "stream_options"] {
            assert!(body.get(absent).is_none(), "{model}: {absent}");
        }
    }
    for model in ["gpt-4o", "ollama", "o3x", "olmo-2", ""] {
        let body = body(&conversation(model), true, false);
        assert_eq!((&body["max_tokens"], &body["stream_options"]), (&json!(4096), &Value::Null));
    }
}

#[test]
fn a_choice_of_tools_is_passed_on() {
    let mut request = conversation("gpt-4o");
    for (choice, expected) in [
        (ToolChoice::Auto, Value::Null),
        (ToolChoice::Any, json!("required")),
        (ToolChoice::None, json!("none")),
        (ToolChoice::Tool("R".into()), json!({"type": "function", "function": {"name": "R"}})),
    ] {
        request.tool_choice = choice;
        assert_eq!(body(&request, true, true)["tool_choice"], expected);
    }
    request.tools.clear();
    assert!(body(&request, true, true).get("tool_choice").is_none());
}

fn decode(chunks: &[Value]) -> (Result<Answer, FailedAttempt>, Vec<String>) {
    let mut heard = Vec::new();
    let mut on = |live: Live<'_>| match live {
        Live::Raw(event) => heard.push(event.to_string()),
        other => heard.push(format!("{other:?}")),
    };
    let mut decoder = Decoder::new(ProviderKind::OpenAiCompatible);
    let taken = chunks.iter().try_for_each(|chunk| {
        let data = chunk.as_str().map_or_else(|| chunk.to_string(), str::to_owned);
        decoder.take(&Event { data: Some(data), ..Event::default() }, &mut on)
    });
    (taken.and_then(|()| decoder.finish(&mut on)), heard)
}

fn chunk(delta: &Value, finish: Option<&str>) -> Value {
    json!({"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

#[test]
fn a_stream_becomes_an_answer_and_events_of_the_other_api() {
    let (answer, heard) = decode(&[
        chunk(&json!({"role": "assistant", "content": ""}), None),
        chunk(&json!({"reasoning_content": "hm"}), None),
        chunk(&json!({"content": "Hel"}), None),
        chunk(&json!({"content": "lo", "unknown": 1}), None),
        chunk(
            &json!({"tool_calls": [{"index": 0, "id": "t1", "function": {"name": "Read", "arguments": ""}}]}),
            None,
        ),
        chunk(&json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"a\":"}}]}), None),
        chunk(&json!({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}), None),
        chunk(&json!({}), Some("tool_calls")),
        json!({"id": "c1", "choices": [], "usage": {
            "prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 64},
        }}),
        json!("[DONE]"),
    ]);
    insta::assert_snapshot!(lines(&answer.unwrap().to_json()), @r#"
    id: "c1"
    type: "message"
    role: "assistant"
    model: "m"
    content: {"type":"thinking","thinking":"hm"}
    content: {"type":"text","text":"Hello"}
    content: {"type":"tool_use","id":"t1","name":"Read","input":{"a":1}}
    stop_reason: "tool_use"
    stop_sequence: null
    usage: {"input_tokens":36,"output_tokens":7,"cache_creation_input_tokens":0,"cache_read_input_tokens":64}
    "#);
    insta::assert_snapshot!(heard.join("\n"), @r#"
    {"type":"message_start","message":{"id":"c1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}}
    Started { id: "c1", model: "m" }
    {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}
    {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}
    Thinking("hm")
    {"type":"content_block_stop","index":0}
    {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}
    {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hel"}}
    Text("Hel")
    {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"lo"}}
    Text("lo")
    {"type":"content_block_stop","index":1}
    {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t1","name":"Read","input":{}}}
    ToolInput { index: 2, name: "Read", fragment: "" }
    {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}
    ToolInput { index: 2, name: "Read", fragment: "{\"a\":" }
    {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"1}"}}
    ToolInput { index: 2, name: "Read", fragment: "1}" }
    {"type":"content_block_stop","index":2}
    {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":36,"output_tokens":7,"cache_creation_input_tokens":0,"cache_read_input_tokens":64}}
    {"type":"message_stop"}
    "#);
}

#[test]
fn reasons_for_the_end_are_understood() {
    let call = json!({"tool_calls": [{"id": "t", "function": {"name": "R", "arguments": "{}"}}]});
    let text = json!({"content": "x"});
    for (delta, reason, expected) in [
        (&text, "stop", StopReason::EndTurn),
        (&text, "tool_calls", StopReason::EndTurn),
        (&text, "length", StopReason::MaxTokens),
        (&text, "content_filter", StopReason::Refusal),
        (&text, "odd", StopReason::Other("odd".to_owned())),
        (&call, "stop", StopReason::ToolUse),
        (&call, "function_call", StopReason::ToolUse),
        (&call, "tool_calls", StopReason::ToolUse),
        (&json!({"refusal": "I won't."}), "stop", StopReason::Refusal),
    ] {
        let answer = decode(&[chunk(delta, Some(reason))]).0.unwrap();
        assert_eq!(answer.stop_reason, expected, "{reason}");
        assert_eq!(answer.usage, crate::Usage::default());
    }
}

#[test]
fn an_answer_without_a_reason_for_its_end_is_cut() {
    for chunks in [
        vec![],
        vec![chunk(&json!({"content": "x"}), None)],
        vec![chunk(&json!({"content": "x"}), None), json!("[DONE]")],
        vec![chunk(&json!({"content": "x"}), Some(""))],
        vec![json!("{not json")],
    ] {
        assert_eq!(decode(&chunks).0.unwrap_err().remedy, Remedy::AgainAfterCut, "{chunks:?}");
    }
}

#[test]
fn errors_within_the_stream_stand_for_a_status() {
    for (error, status, remedy) in [
        (json!({"error": {"message": "no", "type": "server_error"}}), 500, Remedy::Again(None)),
        (json!({"error": {"message": "no", "code": 503}}), 503, Remedy::Again(None)),
        (
            json!({"error": {"message": "no", "code": "rate_limit_exceeded"}}),
            429,
            Remedy::Again(None),
        ),
        (
            json!({"error": {"message": "no", "code": "context_length_exceeded"}}),
            500,
            Remedy::Shorten,
        ),
        (json!({"error": {"message": "no", "code": "insufficient_quota"}}), 402, Remedy::Fail),
        (chunk(&json!({}), Some("error")), 500, Remedy::Again(None)),
    ] {
        let trouble = decode(&[chunk(&json!({"content": "x"}), None), error]).0.unwrap_err();
        assert_eq!((trouble.failure.status, trouble.remedy), (Some(status), remedy));
    }
    let mut decoder = Decoder::new(ProviderKind::LmStudioLocal);
    let event = Event {
        name: "error".to_owned(),
        data: Some(r#"{"message":"no model"}"#.to_owned()),
        ..Event::default()
    };
    let trouble = decoder.take(&event, &mut |_| ()).unwrap_err();
    assert_eq!(trouble.failure.message, "no model");
}

#[test]
fn text_may_follow_a_call_and_a_call_may_have_no_name() {
    let call =
        |name: Value| json!({"tool_calls": [{"function": {"name": name, "arguments": "{}"}}]});
    let content = decode(&[
        chunk(&json!({"content": [{"type": "text", "text": "a"}]}), None),
        chunk(&call(json!("R")), None),
        chunk(&json!({"content": "b"}), Some("stop")),
    ]);
    let content = content.0.unwrap().content;
    let [Block::Text(a), Block::ToolUse { id, .. }, Block::Text(b)] = &content[..] else {
        panic!("{content:?}")
    };
    assert_eq!((a.as_str(), b.as_str()), ("a", "b"));
    assert!(id.as_str().starts_with("toolu_"));
    let content = decode(&[chunk(&call(Value::Null), Some("tool_calls"))]).0.unwrap().content;
    assert!(matches!(&content[..], [Block::ToolUse { name, .. }] if name.is_empty()));
}

#[test]
fn an_answer_in_one_piece_is_the_same_answer() {
    let function = |arguments: &str| json!({"name": "Read", "arguments": arguments});
    let whole = json!({
        "id": "c1", "model": "m", "usage": {"prompt_tokens": 3, "completion_tokens": 4},
        "choices": [{"finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "Hello", "reasoning": "hm",
            "tool_calls": [
                {"type": "function", "function": function("{oops")},
                {"type": "function", "function": function("{}")},
            ],
        }}],
    });
    let mut decoder = Decoder::new(ProviderKind::LmStudioLocal);
    decoder.take_whole(&whole, &mut |_| ()).unwrap();
    let answer = decoder.finish(&mut |_| ()).unwrap();
    assert_eq!((answer.text().as_str(), answer.content.len()), ("Hello", 4));
    assert_eq!((answer.usage.input_tokens, answer.usage.output_tokens), (3, 4));
    let mut decoder = Decoder::new(ProviderKind::LmStudioLocal);
    assert!(decoder.take_whole(&json!({"object": "list"}), &mut |_| ()).is_err());
}
