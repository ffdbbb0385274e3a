//! A reply in the words of the Messages API.

use serde_json::{Value, json};

use super::recorded::Recorded;
use super::reply::{Events, Piece, Reply};

fn event(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or_default())
}

/// The message without what it says.
fn frame(reply: &Reply, request: &Recorded, number: usize) -> Value {
    let mut message = json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant",
        "model": request.body["model"], "content": [], "stop_reason": null, "stop_sequence": null,
    });
    if let Some(usage) = &reply.usage {
        message["usage"] = json!(usage);
    }
    message
}

/// The stream.
pub(super) fn events(reply: &Reply, request: &Recorded, number: usize) -> Events {
    let mut opening = frame(reply, request, number);
    if reply.usage.is_some() {
        opening["usage"]["output_tokens"] = json!(1);
    }
    let mut said = vec![
        event(&json!({"type": "message_start", "message": opening})),
        event(&json!({"type": "ping"})),
    ];
    for (index, piece) in reply.pieces.iter().enumerate() {
        let (block, deltas) = unfold(reply, piece);
        said.push(event(
            &json!({"type": "content_block_start", "index": index, "content_block": block}),
        ));
        said.extend(deltas.iter().map(|delta| {
            event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
        }));
        said.push(event(&json!({"type": "content_block_stop", "index": index})));
    }
    let mut closing = json!({
        "type": "message_delta", "delta": {"stop_reason": reply.reason(), "stop_sequence": null},
    });
    if let Some(usage) = &reply.usage {
        closing["usage"] = json!({"output_tokens": usage.output_tokens});
        count_searches(reply, &mut closing["usage"]);
    }
    Events { said, end: vec![event(&closing), event(&json!({"type": "message_stop"}))] }
}

fn count_searches(reply: &Reply, usage: &mut Value) {
    if reply.searches() > 0 {
        usage["server_tool_use"] = json!({"web_search_requests": reply.searches()});
    }
}

fn citation(url: &str) -> Value {
    json!({
        "type": "web_search_result_location", "url": url, "title": "", "cited_text": "",
        "encrypted_index": "c2VjcmV0",
    })
}

fn found(id: &str, content: &Value) -> Value {
    json!({"type": "web_search_tool_result", "tool_use_id": id, "content": content})
}

/// A block as it begins, and what is then added to it.
fn unfold(reply: &Reply, piece: &Piece) -> (Value, Vec<Value>) {
    let each = |text: &str, kind: &str, key: &str| -> Vec<Value> {
        reply.cut_up(text).iter().map(|piece| json!({"type": kind, key: piece})).collect()
    };
    match piece {
        Piece::Text(text) => {
            (json!({"type": "text", "text": ""}), each(text, "text_delta", "text"))
        }
        Piece::Thinking { text, signature } => {
            let mut deltas = each(text, "thinking_delta", "thinking");
            deltas.push(json!({"type": "signature_delta", "signature": signature}));
            (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
        }
        Piece::Call { id, tool, arguments } => {
            let mut block = json!({"type": "tool_use", "name": tool, "input": {}});
            if let Some(id) = id {
                block["id"] = json!(id);
            }
            // The real one begins with nothing, too.
            let mut deltas = vec![json!({"type": "input_json_delta", "partial_json": ""})];
            deltas.extend(each(arguments, "input_json_delta", "partial_json"));
            (block, deltas)
        }
        Piece::Cited { text, url } => {
            let mut deltas = vec![json!({"type": "citations_delta", "citation": citation(url)})];
            deltas.extend(each(text, "text_delta", "text"));
            (json!({"type": "text", "text": "", "citations": []}), deltas)
        }
        Piece::Search { id, query } => {
            let block =
                json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {}});
            let input = json!({"query": query}).to_string();
            (block, each(&input, "input_json_delta", "partial_json"))
        }
        Piece::Searched { id, content } => (found(id, content), Vec::new()),
    }
}

/// The answer in one piece. Arguments that are no JSON cannot be part of it; they become a string.
pub(super) fn message(reply: &Reply, request: &Recorded, number: usize) -> Value {
    let content = reply.pieces.iter().map(|piece| match piece {
        Piece::Text(text) => json!({"type": "text", "text": text}),
        Piece::Thinking { text, signature } => {
            json!({"type": "thinking", "thinking": text, "signature": signature})
        }
        Piece::Call { id, tool, arguments } => {
            let input = serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments));
            let mut block = json!({"type": "tool_use", "name": tool, "input": input});
            if let Some(id) = id {
                block["id"] = json!(id);
            }
            block
        }
        Piece::Cited { text, url } => {
            json!({"type": "text", "text": text, "citations": [citation(url)]})
        }
        Piece::Search { id, query } => json!({
            "type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": query},
        }),
        Piece::Searched { id, content } => found(id, content),
    });
    let mut message = frame(reply, request, number);
    if reply.usage.is_some() {
        count_searches(reply, &mut message["usage"]);
    }
    message["content"] = content.collect();
    message["stop_reason"] = json!(reply.reason());
    message
}
