//! The Messages API, request and stream.

use ona_http::sse::Event;
use ona_types::{Attachment, ToolUseId};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Decoder, encode};
use crate::failure::{FailedAttempt, Remedy};
use crate::live::{Live, lines};
use crate::message::{
    Answer, Block, Message, Part, Request, Role, StopReason, ToolChoice, ToolInput, ToolSpec,
};
use crate::model::ProviderKind;

fn tool(name: &str) -> ToolSpec {
    let schema = json!({"type": "object", "properties": {"b": {}, "a": {}}});
    ToolSpec { name: name.to_owned(), description: format!("{name}s."), input_schema: schema }
}

fn image() -> Attachment {
    Attachment::Image { media_type: "image/png".to_owned(), data: "aWI=".to_owned() }
}

fn document() -> Attachment {
    Attachment::Document { media_type: "application/pdf".to_owned(), data: "cGRm".to_owned() }
}

fn call(id: &str, text: &str) -> Block {
    let id = ToolUseId::from_existing(id);
    Block::ToolUse { id, name: "Read".to_owned(), input: ToolInput::parse(text) }
}

fn conversation() -> Request<'static> {
    let signed = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln", "extra": 1.5});
    let id = ToolUseId::from_existing("functions.Read:0");
    let mut request = Request::new("claude-opus-4-20250514", 4096);
    request.system = vec!["You are ona.".to_owned(), " ".to_owned(), "Be brief.".to_owned()];
    request.tools = vec![tool("Read"), tool("Write")];
    request.thinking = Some(8000);
    request.temperature = Some(0.5);
    request.messages = vec![
        Message::user("Look."),
        Message {
            role: Role::Assistant,
            content: vec![
                Block::Opaque { provider: ProviderKind::ClaudeCodeSubscription, value: signed },
                Block::Opaque { provider: ProviderKind::OpenAiCompatible, value: json!({}) },
                Block::Text(String::new()),
                call("functions.Read:0", r#"{"z":1,"a":2}"#),
                call("t2", "{oops"),
            ],
        },
        Message {
            role: Role::User,
            content: vec![
                Block::Text("And?".to_owned()),
                Block::ToolResult {
                    tool_use_id: id,
                    content: vec![
                        Part::Text("two".to_owned()),
                        Part::Attachment(image()),
                        Part::Attachment(document()),
                    ],
                    is_error: false,
                },
                Block::ToolResult {
                    tool_use_id: ToolUseId::from_existing("t2"),
                    content: vec![Part::Text("no".to_owned()), Part::Attachment(image())],
                    is_error: true,
                },
            ],
        },
        Message { role: Role::Assistant, content: vec![Block::Text("\n".to_owned())] },
        Message { role: Role::User, content: vec![Block::Attachment(image())] },
    ];
    request
}

fn body(request: &Request<'_>, stream: bool) -> String {
    let bytes = encode(request, stream).unwrap();
    assert_eq!(bytes, encode(request, stream).unwrap());
    String::from_utf8(bytes).unwrap()
}

fn shown(request: &Request<'_>, stream: bool) -> String {
    lines(&serde_json::from_str(&body(request, stream)).unwrap())
}

#[test]
fn a_request_is_written_as_the_api_wants_it() {
    insta::assert_snapshot!(shown(&conversation(), true), @r#"
    model: "claude-opus-4-20250514"
    max_tokens: 4096
    system: {"type":"text","text":"You are ona."}
    system: {"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}
    tools: {"name":"Read","description":"Reads.","input_schema":{"type":"object","properties":{"b":{},"a":{}}}}
    tools: {"name":"Write","description":"Writes.","input_schema":{"type":"object","properties":{"b":{},"a":{}}},"cache_control":{"type":"ephemeral"}}
    messages: {"role":"user","content":[{"type":"text","text":"Look."}]}
    messages: {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln","extra":1.5},{"type":"tool_use","id":"functions_Read_0","name":"Read","input":{"z":1,"a":2}},{"type":"tool_use","id":"t2","name":"Read","input":{"invalid_json":"{oops"}}]}
    messages: {"role":"user","content":[{"type":"tool_result","tool_use_id":"functions_Read_0","content":[{"type":"text","text":"two"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aWI="}},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"cGRm"}}]},{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"no"},{"type":"text","text":"[image/png left out]"}],"is_error":true},{"type":"text","text":"And?","cache_control":{"type":"ephemeral"}}]}
    messages: {"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aWI="},"cache_control":{"type":"ephemeral"}}]}
    thinking: {"type":"enabled","budget_tokens":4095}
    stream: true
    "#);
}

#[test]
fn opaque_blocks_go_back_byte_for_byte() {
    let written = r#"{"type":"thinking","thinking":"hm","signature":"c2ln","extra":1.5}"#;
    assert!(body(&conversation(), true).contains(written));
}

#[test]
fn the_smallest_request_is_small() {
    let request = Request::new("m", 10).with(Message::user("hi"));
    insta::assert_snapshot!(body(&request, false), @r#"{"model":"m","max_tokens":10,"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}],"stream":false}"#);
}

#[test]
fn a_choice_of_tools_is_passed_on_where_there_are_tools() {
    let mut request = Request::new("m", 10);
    request.tool_choice = ToolChoice::Tool("Read".to_owned());
    assert!(!body(&request, false).contains("tool_choice"));
    request.tools = vec![tool("Read")];
    assert!(body(&request, false).contains(r#""tool_choice":{"type":"tool","name":"Read"}"#));
    request.tool_choice = ToolChoice::Any;
    assert!(body(&request, false).contains(r#""tool_choice":{"type":"any"}"#));
}

#[test]
fn thinking_leaves_room_for_an_answer() {
    let mut request = Request::new("m", 1500);
    request.thinking = Some(1500);
    assert!(body(&request, false).contains(r#""budget_tokens":1499"#));
    request.max_tokens = 1024;
    assert!(!body(&request, false).contains("thinking"));
}

/// What came of a stream, and what was heard of it.
fn decode(events: &[Value]) -> (Result<Answer, FailedAttempt>, Vec<String>) {
    let mut heard = Vec::new();
    let mut on = |live: Live<'_>| {
        if !matches!(live, Live::Raw(_)) {
            heard.push(format!("{live:?}"));
        }
    };
    let mut decoder = Decoder::new();
    let taken = events.iter().try_for_each(|event| {
        decoder.take(&Event { data: Some(event.to_string()), ..Event::default() }, &mut on)
    });
    (taken.and_then(|()| decoder.finish()), heard)
}

fn start() -> Value {
    let usage = json!({"input_tokens": 3, "cache_read_input_tokens": 100, "output_tokens": 1});
    json!({"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": usage}})
}

fn block(index: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn end(reason: &str) -> [Value; 2] {
    let delta = json!({"stop_reason": reason});
    [
        json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}}),
        json!({"type": "message_stop"}),
    ]
}

#[test]
fn a_stream_becomes_an_answer() {
    let mut events = vec![
        json!({"type": "ping"}),
        start(),
        block(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, &json!({"type": "thinking_delta", "thinking": "h"})),
        delta(0, &json!({"type": "thinking_delta", "thinking": "m"})),
        delta(0, &json!({"type": "signature_delta", "signature": "s1"})),
        json!({"type": "content_block_stop", "index": 0}),
        block(1, &json!({"type": "redacted_thinking", "data": "xyz"})),
        block(2, &json!({"type": "text", "text": "", "citations": null})),
        delta(2, &json!({"type": "text_delta", "text": "Hel"})),
        delta(2, &json!({"type": "text_delta", "text": "lo", "new_field": 1})),
        delta(2, &json!({"type": "citations_delta", "citation": {}})),
        json!({"type": "brand_new_event"}),
        block(3, &json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {}})),
        delta(3, &json!({"type": "input_json_delta", "partial_json": ""})),
        delta(3, &json!({"type": "input_json_delta", "partial_json": "{\"a\":"})),
        delta(3, &json!({"type": "input_json_delta", "partial_json": "1}"})),
        block(4, &json!({"type": "tool_use", "id": "t2", "name": "Now", "input": {}})),
    ];
    events.extend(end("tool_use"));
    let (answer, heard) = decode(&events);
    insta::assert_snapshot!(lines(&answer.unwrap().to_json()), @r#"
    id: "msg_1"
    type: "message"
    role: "assistant"
    model: "m"
    content: {"type":"thinking","thinking":"hm","signature":"s1"}
    content: {"type":"redacted_thinking","data":"xyz"}
    content: {"type":"text","text":"Hello"}
    content: {"type":"tool_use","id":"t1","name":"Read","input":{"a":1}}
    content: {"type":"tool_use","id":"t2","name":"Now","input":{}}
    stop_reason: "tool_use"
    stop_sequence: null
    usage: {"input_tokens":3,"output_tokens":7,"cache_creation_input_tokens":0,"cache_read_input_tokens":100}
    "#);
    insta::assert_snapshot!(heard.join("\n"), @r#"
    Started { id: "msg_1", model: "m" }
    Thinking("h")
    Thinking("m")
    Text("Hel")
    Text("lo")
    ToolInput { index: 3, name: "Read", fragment: "" }
    ToolInput { index: 3, name: "Read", fragment: "{\"a\":" }
    ToolInput { index: 3, name: "Read", fragment: "1}" }
    ToolInput { index: 4, name: "Now", fragment: "" }
    "#);
}

#[test]
fn wrong_input_missing_ids_and_the_same_id_twice_do_not_spoil_the_answer() {
    let mut events = vec![
        start(),
        block(0, &json!({"type": "tool_use", "id": "t", "name": "A", "input": {}})),
        delta(0, &json!({"type": "input_json_delta", "partial_json": "{\"a\": tru"})),
        block(1, &json!({"type": "tool_use", "id": "t", "name": "B", "input": {}})),
        block(2, &json!({"type": "tool_use", "name": "C", "input": {"given": 1}})),
    ];
    events.extend(end("tool_use"));
    let content = decode(&events).0.unwrap().content;
    let [
        Block::ToolUse { id: first, input: ToolInput::Invalid { text, why }, .. },
        Block::ToolUse { id: second, input: ToolInput::Json(none), .. },
        Block::ToolUse { id: third, input: ToolInput::Json(given), .. },
    ] = &content[..]
    else {
        panic!("{content:?}")
    };
    assert_eq!((first.as_str(), text.as_str()), ("t", "{\"a\": tru"));
    assert!(why.starts_with("not JSON"), "{why}");
    assert_ne!(first, second);
    assert!(second.as_str().starts_with("toolu_") && third.as_str().starts_with("toolu_"));
    assert_eq!((none, given["given"].as_u64()), (&Map::new(), Some(1)));
}

#[test]
fn a_stream_that_is_not_whole_or_not_in_order_is_cut() {
    let text = json!({"type": "text", "text": ""});
    for events in [
        vec![],
        vec![start()],
        vec![start(), block(0, &text)],
        vec![start(), end("end_turn")[0].clone()],
        vec![block(0, &text)],
        vec![start(), delta(0, &json!({"type": "text_delta", "text": "x"}))],
        vec![start(), block(0, &text), block(0, &text)],
        vec![start(), json!({"type": "content_block_start", "content_block": text})],
    ] {
        let trouble = decode(&events).0.unwrap_err();
        assert_eq!(trouble.remedy, Remedy::AgainAfterCut, "{events:?}");
    }
    let mut decoder = Decoder::new();
    let garbage = Event { data: Some("{".to_owned()), ..Event::default() };
    assert_eq!(decoder.take(&garbage, &mut |_| ()).unwrap_err().remedy, Remedy::AgainAfterCut);
}

#[test]
fn an_empty_answer_is_an_answer() {
    let [delta, stop] = end("end_turn");
    let answer = decode(&[start(), delta, stop]).0.unwrap();
    assert_eq!((answer.content, answer.stop_reason), (vec![], StopReason::EndTurn));
    assert_eq!((answer.usage.output_tokens, answer.usage.cache_read_input_tokens), (7, 100));
}

#[test]
fn errors_within_the_stream_stand_for_a_status() {
    for (kind, status, remedy) in [
        ("overloaded_error", 529, Remedy::Again(None)),
        ("api_error", 500, Remedy::Again(None)),
        ("rate_limit_error", 429, Remedy::Again(None)),
        ("invalid_request_error", 400, Remedy::Fail),
        ("authentication_error", 401, Remedy::Renew),
    ] {
        let error = json!({"type": "error", "error": {"type": kind, "message": "no"}});
        let trouble = decode(&[start(), error]).0.unwrap_err();
        assert_eq!((trouble.failure.status, trouble.remedy), (Some(status), remedy));
        assert_eq!(trouble.failure.message, "no");
    }
}

#[test]
fn an_answer_in_one_piece_is_the_same_answer() {
    let message = json!({
        "id": "msg_1", "model": "m", "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 3, "output_tokens": 7},
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "Hello"},
            {"type": "tool_use", "id": "t1", "name": "Read", "input": {"b": 1, "a": 2}},
            {"type": "tool_use", "id": "t2", "name": "Read", "input": "no"},
        ],
    });
    let mut heard = String::new();
    let mut on = |live: Live<'_>| {
        if let Live::Text(text) | Live::Thinking(text) = live {
            heard.push_str(text);
        }
    };
    let mut decoder = Decoder::new();
    decoder.take_whole(&message, &mut on).unwrap();
    let answer = decoder.finish().unwrap();
    assert_eq!(heard, "hmHello");
    let shown = answer.to_json();
    assert_eq!(shown["content"][0], message["content"][0]);
    assert_eq!(shown["content"][2].to_string(), message["content"][2].to_string());
    assert!(matches!(
        &answer.content[3],
        Block::ToolUse { input: ToolInput::Invalid { why, .. }, .. } if why == "not a JSON object"
    ));
    let half = json!({"id": "msg_1", "content": []});
    assert!(Decoder::new().take_whole(&half, &mut |_| ()).is_err());
}

proptest! {
    #[test]
    fn any_cutting_of_arguments_gives_the_same_answer(
        text in "(\\{\"[a-zä€]{1,8}\":\"[a-z\\{\\}é]{0,12}\"\\})|[\\{\\}\\[\\]\",:0-9a-z ]{0,12}",
        size in 1_usize..9,
    ) {
        let piece = |text: &str| delta(0, &json!({"type": "input_json_delta", "partial_json": text}));
        let with = |deltas: Vec<Value>| {
            let tool = json!({"type": "tool_use", "id": "t", "name": "T", "input": {}});
            let mut events = vec![start(), block(0, &tool)];
            events.extend(deltas);
            events.extend(end("tool_use"));
            decode(&events).0.unwrap()
        };
        let letters: Vec<char> = text.chars().collect();
        let cut = letters.chunks(size).map(|chars| piece(&chars.iter().collect::<String>()));
        prop_assert_eq!(with(cut.collect()), with(vec![piece(&text)]));
    }
}
