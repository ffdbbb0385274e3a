//! A reply in the words of the Responses API, which ona itself does not ask: other agents do, when they are driven
//! against the scripted model.

use serde_json::{Value, json};

use super::recorded::Recorded;
use super::reply::{Events, Piece, Reply};

fn event(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or_default())
}

/// The stream.
pub(super) fn events(reply: &Reply, request: &Recorded, number: usize) -> Events {
    let id = format!("resp_{number}");
    let mut said = vec![event(&json!({"type": "response.created", "response": {"id": id}}))];
    let items =
        reply.pieces.iter().enumerate().filter_map(|(at, piece)| item(piece, request, number, at));
    said.extend(
        items.map(|item| event(&json!({"type": "response.output_item.done", "item": item}))),
    );
    let usage = reply.usage.unwrap_or_default();
    let (input, output) = (usage.input_tokens, usage.output_tokens);
    let usage = json!({
        "input_tokens": input, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": output, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + output,
    });
    let done = json!({"type": "response.completed", "response": {"id": id, "usage": usage}});
    Events { said, end: vec![event(&done)] }
}

fn item(piece: &Piece, request: &Recorded, number: usize, at: usize) -> Option<Value> {
    match piece {
        Piece::Text(text) | Piece::Cited { text, .. } => Some(json!({
            "type": "message", "role": "assistant", "id": format!("msg_{number}_{at}"),
            "content": [{"type": "output_text", "text": text}],
        })),
        Piece::Thinking { .. } | Piece::Search { .. } | Piece::Searched { .. } => None,
        Piece::Call { id, tool, arguments } => {
            let id = id.clone().unwrap_or_else(|| format!("call_{number}_{at}"));
            Some(match free_text(tool, arguments, request) {
                Some(text) => json!({
                    "type": "custom_tool_call", "call_id": id, "name": tool, "input": text,
                }),
                None => {
                    // A server's tools are a namespace here.
                    let within = tool.strip_prefix("mcp__").and_then(|tool| tool.split_once("__"));
                    let (name, namespace) = match within {
                        Some((server, name)) => (name, json!(format!("mcp__{server}"))),
                        None => (tool.as_str(), Value::Null),
                    };
                    json!({
                        "type": "function_call", "call_id": id, "name": name,
                        "namespace": namespace, "arguments": arguments,
                    })
                }
            })
        }
    }
}

/// The text of a call to a tool that takes text and no JSON: its one argument.
fn free_text(tool: &str, arguments: &str, request: &Recorded) -> Option<String> {
    let tools = request.body["tools"].as_array()?;
    tools.iter().find(|known| known["name"] == tool && known["type"] == "custom")?;
    let arguments: Value = serde_json::from_str(arguments).ok()?;
    arguments["input"].as_str().map(str::to_owned)
}
