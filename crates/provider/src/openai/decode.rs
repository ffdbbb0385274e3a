//! The stream of Chat Completions, and its answer in one piece, as events in the shape of the Anthropic API.

use ona_http::sse::Event;
use serde_json::{Value, json};

use crate::assemble::Assembly;
use crate::failure::{Complaint, FailedAttempt};
use crate::live::Listener;
use crate::message::{Answer, StopReason};
use crate::model::ProviderKind;
use crate::openai::calls::{Calls, Fragment};

/// Reads a stream.
pub(crate) struct Decoder {
    assembly: Assembly,
    calls: Calls,
    /// The next block's number.
    next: u64,
    /// Blocks that have begun and not ended.
    open: Vec<u64>,
    /// The text or thinking that is going on, by block.
    saying: Option<(u64, Saying)>,
    refuses: bool,
    finish_reason: Option<String>,
    usage: Value,
    done: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Saying {
    Text,
    Thinking,
}

impl Decoder {
    pub(crate) fn new(provider: ProviderKind) -> Self {
        Self {
            assembly: Assembly::new(provider),
            calls: Calls::default(),
            next: 0,
            open: Vec::new(),
            saying: None,
            refuses: false,
            finish_reason: None,
            usage: Value::Null,
            done: false,
        }
    }

    pub(crate) fn assembly(&self) -> &Assembly {
        &self.assembly
    }

    /// Whether the server has said that it is done.
    pub(crate) fn done(&self) -> bool {
        self.done
    }

    /// Whether the answer is whole, though more may come: usage, or a word that it is done.
    pub(crate) fn whole(&self) -> bool {
        self.finish_reason.is_some()
    }

    pub(crate) fn take(
        &mut self,
        event: &Event,
        on: &mut Listener<'_>,
    ) -> Result<(), FailedAttempt> {
        let Some(data) = &event.data else { return Ok(()) };
        if data.trim() == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let chunk: Value = serde_json::from_str(data).map_err(|error| {
            FailedAttempt::cut(format!("an event of the stream is not JSON: {error}"))
        })?;
        if event.name == "error" {
            return Err(Complaint::trouble(&chunk));
        }
        self.take_chunk(&chunk, "delta", on)
    }

    /// Takes an answer that came in one piece.
    pub(crate) fn take_whole(
        &mut self,
        answer: &Value,
        on: &mut Listener<'_>,
    ) -> Result<(), FailedAttempt> {
        if !answer["choices"].is_array() && answer["error"].is_null() {
            return Err(FailedAttempt::foreign(
                "the server's answer is JSON, but not a completion. Check the base URL",
            ));
        }
        self.take_chunk(answer, "message", on)
    }

    /// The answer, if a reason was given for its end; the usage may have come after that.
    pub(crate) fn finish(mut self, on: &mut Listener<'_>) -> Result<Answer, FailedAttempt> {
        if let Some(reason) = self.finish_reason.take() {
            self.saying = None;
            // A call that never got a name must be answered too.
            for at in 0..self.calls.0.len() {
                if self.calls.0[at].block.is_none() {
                    self.begin_call(at, on)?;
                }
            }
            for index in std::mem::take(&mut self.open) {
                self.emit(json!({"type": "content_block_stop", "index": index}), on)?;
            }
            let reason = self.stop_reason(&reason);
            self.emit(
                json!({
                    "type": "message_delta",
                    "delta": {"stop_reason": reason.as_str(), "stop_sequence": null},
                    "usage": usage(&self.usage),
                }),
                on,
            )?;
            self.emit(json!({"type": "message_stop"}), on)?;
        }
        self.assembly.finish()
    }

    fn emit(&mut self, event: Value, on: &mut Listener<'_>) -> Result<(), FailedAttempt> {
        self.assembly.take(event, on)
    }

    fn take_chunk(
        &mut self,
        chunk: &Value,
        key: &str,
        on: &mut Listener<'_>,
    ) -> Result<(), FailedAttempt> {
        let choice = &chunk["choices"][0];
        if !chunk["error"].is_null() || choice["finish_reason"] == "error" {
            let value = if chunk["error"].is_null() { choice } else { chunk };
            return Err(Complaint::trouble(value));
        }
        if !self.assembly.started() {
            let message = json!({
                "id": chunk["id"], "type": "message", "role": "assistant", "model": chunk["model"],
                "content": [], "stop_reason": null, "stop_sequence": null,
                "usage": {"input_tokens": 0, "output_tokens": 0},
            });
            self.emit(json!({"type": "message_start", "message": message}), on)?;
        }
        if chunk["usage"].is_object() {
            self.usage = chunk["usage"].clone();
        }
        let delta = &choice[key];
        for name in ["reasoning_content", "reasoning"] {
            if let Some(text) = delta[name].as_str().filter(|text| !text.is_empty()) {
                self.say(Saying::Thinking, text, on)?;
                break;
            }
        }
        let said = content(&delta["content"]);
        self.say(Saying::Text, &said, on)?;
        if let Some(refusal) = delta["refusal"].as_str().filter(|text| !text.is_empty()) {
            self.refuses = true;
            self.say(Saying::Text, refusal, on)?;
        }
        for (at, call) in (0..).zip(delta["tool_calls"].as_array().into_iter().flatten()) {
            let mut fragment = Fragment::read(call);
            // In an answer in one piece every element is a call of its own.
            if key == "message" {
                fragment.index = Some(at);
            }
            self.call(&fragment, on)?;
        }
        if delta["function_call"].is_object() {
            self.call(&Fragment::read(&delta["function_call"]), on)?;
        }
        if let Some(reason) = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()) {
            self.finish_reason = Some(reason.to_owned());
        }
        Ok(())
    }

    fn say(
        &mut self,
        saying: Saying,
        text: &str,
        on: &mut Listener<'_>,
    ) -> Result<(), FailedAttempt> {
        if text.is_empty() {
            return Ok(());
        }
        let index = match self.saying {
            Some((index, now)) if now == saying => index,
            _ => {
                self.fall_silent(on)?;
                let block = match saying {
                    Saying::Text => json!({"type": "text", "text": ""}),
                    Saying::Thinking => json!({"type": "thinking", "thinking": ""}),
                };
                let index = self.begin(&block, on)?;
                self.saying = Some((index, saying));
                index
            }
        };
        let delta = match saying {
            Saying::Text => json!({"type": "text_delta", "text": text}),
            Saying::Thinking => json!({"type": "thinking_delta", "thinking": text}),
        };
        self.emit(json!({"type": "content_block_delta", "index": index, "delta": delta}), on)
    }

    fn begin(&mut self, block: &Value, on: &mut Listener<'_>) -> Result<u64, FailedAttempt> {
        let index = self.next;
        self.next += 1;
        self.open.push(index);
        self.emit(
            json!({"type": "content_block_start", "index": index, "content_block": block}),
            on,
        )?;
        Ok(index)
    }

    /// Ends the text or thinking that is going on.
    fn fall_silent(&mut self, on: &mut Listener<'_>) -> Result<(), FailedAttempt> {
        let Some((index, _)) = self.saying.take() else { return Ok(()) };
        self.open.retain(|open| *open != index);
        self.emit(json!({"type": "content_block_stop", "index": index}), on)
    }

    fn call(&mut self, fragment: &Fragment, on: &mut Listener<'_>) -> Result<(), FailedAttempt> {
        let at = self.calls.add(fragment);
        let call = &self.calls.0[at];
        match call.block {
            Some(index) => self.write(index, &fragment.arguments, on),
            // A call is told when its name is known.
            None if call.name.is_some() => self.begin_call(at, on),
            None => Ok(()),
        }
    }

    fn begin_call(&mut self, at: usize, on: &mut Listener<'_>) -> Result<(), FailedAttempt> {
        self.fall_silent(on)?;
        let call = &self.calls.0[at];
        let arguments = call.arguments.clone();
        let name = call.name.clone().unwrap_or_default();
        let block = json!({"type": "tool_use", "id": call.id, "name": name, "input": {}});
        let index = self.begin(&block, on)?;
        self.calls.0[at].block = Some(index);
        self.write(index, &arguments, on)
    }

    fn write(
        &mut self,
        index: u64,
        piece: &str,
        on: &mut Listener<'_>,
    ) -> Result<(), FailedAttempt> {
        if piece.is_empty() {
            return Ok(());
        }
        let delta = json!({"type": "input_json_delta", "partial_json": piece});
        self.emit(json!({"type": "content_block_delta", "index": index, "delta": delta}), on)
    }

    /// What the server calls the end, and what was really said: some say `stop` and want a tool.
    fn stop_reason(&self, reason: &str) -> StopReason {
        let calls = !self.calls.0.is_empty();
        match reason {
            "length" | "max_tokens" => StopReason::MaxTokens,
            "content_filter" => StopReason::Refusal,
            "stop" | "tool_calls" | "function_call" | "end_turn" | "tool_use" | "eos" => {
                if calls {
                    StopReason::ToolUse
                } else if self.refuses {
                    StopReason::Refusal
                } else {
                    StopReason::EndTurn
                }
            }
            other => StopReason::Other(other.to_owned()),
        }
    }
}

/// Text, or parts of which some are text.
fn content(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

/// OpenAI counts what came from the cache as part of the prompt.
fn usage(value: &Value) -> Value {
    let cached = value["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap_or(0);
    let prompt = value["prompt_tokens"].as_u64().unwrap_or(0);
    json!({
        "input_tokens": prompt.saturating_sub(cached),
        "output_tokens": value["completion_tokens"].as_u64().unwrap_or(0),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached.min(prompt),
    })
}
