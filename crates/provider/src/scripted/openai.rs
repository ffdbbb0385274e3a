//! A reply in the words of Chat Completions.

use serde_json::{Value, json};

use super::recorded::Recorded;
use super::reply::{Events, Piece, Reply};

/// Anthropic's words for the end, and OpenAI's.
const REASONS: [(&str, &str); 5] = [
    ("end_turn", "stop"),
    ("stop_sequence", "stop"),
    ("tool_use", "tool_calls"),
    ("max_tokens", "length"),
    ("refusal", "content_filter"),
];

fn finish_reason(reply: &Reply) -> &str {
    let reason = reply.reason();
    REASONS.iter().find(|(known, _)| *known == reason).map_or(reason, |(_, ours)| ours)
}

fn usage(reply: &Reply) -> Option<Value> {
    let usage = reply.usage?;
    let prompt =
        usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens;
    Some(json!({
        "prompt_tokens": prompt, "completion_tokens": usage.output_tokens,
        "total_tokens": prompt + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_input_tokens},
    }))
}

/// The stream.
pub(super) fn events(reply: &Reply, request: &Recorded, number: usize) -> Events {
    let chunk = |choices: Value| {
        json!({
            "id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": 0,
            "model": request.body["model"], "choices": choices,
        })
    };
    let event = |value: &Value| format!("data: {value}\n\n");
    let say =
        |delta: Value| event(&chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}])));
    let mut said = vec![say(json!({"role": "assistant", "content": ""}))];
    let mut index = 0;
    for piece in &reply.pieces {
        match piece {
            Piece::Text(text) | Piece::Cited { text, .. } => {
                said.extend(reply.cut_up(text).iter().map(|text| say(json!({"content": text}))));
            }
            Piece::Thinking { text, .. } => said.extend(
                reply.cut_up(text).iter().map(|text| say(json!({"reasoning_content": text}))),
            ),
            Piece::Call { id, tool, arguments } => {
                let fragments = fragments(reply, id.as_deref(), tool, arguments);
                said.extend(fragments.into_iter().map(|mut fragment| {
                    if reply.numbered {
                        fragment["index"] = json!(index);
                    }
                    say(json!({"tool_calls": [fragment]}))
                }));
                index += 1;
            }
            Piece::Search { .. } | Piece::Searched { .. } => {}
        }
    }
    let closing = json!([{"index": 0, "delta": {}, "finish_reason": finish_reason(reply)}]);
    let mut end = vec![event(&chunk(closing))];
    if let Some(usage) = usage(reply)
        && request.body["stream_options"]["include_usage"] == true
    {
        let mut last = chunk(json!([]));
        last["usage"] = usage;
        end.push(event(&last));
    }
    if reply.says_done {
        end.push("data: [DONE]\n\n".to_owned());
    }
    Events { said, end }
}

/// A call as it is sent: its name first, then its arguments, unless all at once.
fn fragments(reply: &Reply, id: Option<&str>, tool: &str, arguments: &str) -> Vec<Value> {
    let at_once = reply.piece_size == usize::MAX;
    let first = if at_once { arguments } else { "" };
    let mut opening = json!({"type": "function", "function": {"name": tool, "arguments": first}});
    if let Some(id) = id {
        opening["id"] = json!(id);
    }
    let mut fragments = vec![opening];
    if !at_once {
        let pieces = reply.cut_up(arguments);
        fragments.extend(pieces.iter().map(|piece| json!({"function": {"arguments": piece}})));
    }
    fragments
}

/// The answer in one piece.
pub(super) fn completion(reply: &Reply, request: &Recorded, number: usize) -> Value {
    let mut content = String::new();
    let mut reasoning = String::new();
    let mut calls = Vec::new();
    for piece in &reply.pieces {
        match piece {
            Piece::Text(text) | Piece::Cited { text, .. } => content.push_str(text),
            Piece::Thinking { text, .. } => reasoning.push_str(text),
            Piece::Call { id, tool, arguments } => {
                let mut call = json!({
                    "type": "function", "function": {"name": tool, "arguments": arguments},
                });
                if let Some(id) = id {
                    call["id"] = json!(id);
                }
                calls.push(call);
            }
            Piece::Search { .. } | Piece::Searched { .. } => {}
        }
    }
    let mut message = json!({"role": "assistant", "content": content});
    if !reasoning.is_empty() {
        message["reasoning_content"] = json!(reasoning);
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    json!({
        "id": format!("chatcmpl-{number}"), "object": "chat.completion", "created": 0,
        "model": request.body["model"], "usage": usage(reply),
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(reply)}],
    })
}
