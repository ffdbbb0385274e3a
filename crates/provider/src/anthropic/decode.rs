//! The stream of the Messages API, and its answer in one piece.

use ona_http::sse::Event;
use serde_json::{Value, json};

use crate::assemble::Assembly;
use crate::failure::{Complaint, FailedAttempt};
use crate::live::Listener;
use crate::message::Answer;
use crate::model::ProviderKind;

/// Reads a stream.
pub(crate) struct Decoder(Assembly);

impl Decoder {
    pub(crate) fn new() -> Self {
        Self(Assembly::new(ProviderKind::ClaudeCodeSubscription))
    }

    pub(crate) fn assembly(&self) -> &Assembly {
        &self.0
    }

    pub(crate) fn take(
        &mut self,
        event: &Event,
        on: &mut Listener<'_>,
    ) -> Result<(), FailedAttempt> {
        let Some(data) = &event.data else { return Ok(()) };
        let value: Value = serde_json::from_str(data).map_err(|error| {
            FailedAttempt::cut(format!("an event of the stream is not JSON: {error}"))
        })?;
        self.0.take(value, on)
    }

    pub(crate) fn finish(self) -> Result<Answer, FailedAttempt> {
        self.0.finish()
    }

    /// Takes an answer that came in one piece.
    pub(crate) fn take_whole(
        &mut self,
        message: &Value,
        on: &mut Listener<'_>,
    ) -> Result<(), FailedAttempt> {
        events_of(message)?.into_iter().try_for_each(|event| self.0.take(event, on))
    }
}

/// The events by which a message would have been streamed.
fn events_of(message: &Value) -> Result<Vec<Value>, FailedAttempt> {
    if !message["error"].is_null() {
        return Err(Complaint::trouble(message));
    }
    let (Some(content), Some(reason)) =
        (message["content"].as_array(), message["stop_reason"].as_str())
    else {
        return Err(FailedAttempt::foreign(
            "the server's answer is JSON, but not a complete message. Check the base URL",
        ));
    };
    let mut opening = message.clone();
    opening["content"] = json!([]);
    opening["stop_reason"] = Value::Null;
    let mut events = vec![json!({"type": "message_start", "message": opening})];
    for (index, block) in content.iter().enumerate() {
        let (opened, deltas) = unfold(block);
        events
            .push(json!({"type": "content_block_start", "index": index, "content_block": opened}));
        events.extend(
            deltas.into_iter().map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({
        "type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": message["stop_sequence"]},
        "usage": message["usage"],
    }));
    events.push(json!({"type": "message_stop"}));
    Ok(events)
}

/// A block as it begins, and what is then added to it.
fn unfold(block: &Value) -> (Value, Vec<Value>) {
    let mut opened = block.clone();
    let mut take = |key: &str, empty: Value| {
        let whole = opened.get_mut(key)?;
        Some(std::mem::replace(whole, empty))
    };
    let deltas =
        match block["type"].as_str() {
            Some("text") => vec![
                take("text", json!("")).map(|text| json!({"type": "text_delta", "text": text})),
            ],
            Some("tool_use") => vec![take("input", json!({})).map(
                |input| json!({"type": "input_json_delta", "partial_json": input.to_string()}),
            )],
            Some("thinking") => vec![
                take("thinking", json!(""))
                    .map(|text| json!({"type": "thinking_delta", "thinking": text})),
                take("signature", json!(""))
                    .map(|text| json!({"type": "signature_delta", "signature": text})),
            ],
            _ => Vec::new(),
        };
    (opened, deltas.into_iter().flatten().collect())
}
