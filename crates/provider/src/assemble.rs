//! Assembles an answer from stream events in the shape of the Anthropic API.
//!
//! Both codecs lead here: Anthropic's stream is in that shape, OpenAI's is translated into it. So there is
//! one place where an answer is declared whole, where ids are made unique, and where a listener hears of
//! it.

use std::collections::HashSet;

use ona_types::ToolUseId;
use serde_json::{Value, json};

use crate::failure::{Complaint, FailedAttempt};
use crate::live::{Listener, Live};
use crate::message::{Answer, Block, StopReason, ToolInput};
use crate::model::ProviderKind;
use crate::web_search::Citation;
use ona_types::Usage;

/// An answer in the making.
#[derive(Debug)]
pub(crate) struct Assembly {
    provider: ProviderKind,
    started: bool,
    id: String,
    model: String,
    blocks: Vec<(u64, Building)>,
    ids: HashSet<String>,
    stop_reason: Option<StopReason>,
    usage: Usage,
    /// Pages that blocks of text cite, by the blocks' numbers.
    cited: Vec<(u64, String)>,
    web_searches: u64,
    stopped: bool,
}

#[derive(Debug)]
enum Building {
    Text(String),
    ToolUse {
        id: ToolUseId,
        name: String,
        given: Value,
        text: String,
    },
    /// A call that the provider runs itself.
    ServerCall {
        block: Value,
        text: String,
    },
    Opaque(Value),
}

impl Assembly {
    pub(crate) fn new(provider: ProviderKind) -> Self {
        Self {
            provider,
            started: false,
            id: String::new(),
            model: String::new(),
            blocks: Vec::new(),
            ids: HashSet::new(),
            stop_reason: None,
            usage: Usage::default(),
            cited: Vec::new(),
            web_searches: 0,
            stopped: false,
        }
    }

    /// Whether the listener has received events of this answer.
    pub(crate) fn started(&self) -> bool {
        self.started
    }

    /// Whether nothing more is to come.
    pub(crate) fn stopped(&self) -> bool {
        self.stopped
    }

    /// Takes the next event. What is of an unknown type is passed on and otherwise left alone.
    pub(crate) fn take(
        &mut self,
        mut event: Value,
        on: &mut Listener<'_>,
    ) -> Result<(), FailedAttempt> {
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        if kind == "error" {
            return Err(Complaint::trouble(&event));
        }
        if kind == "content_block_start" && event["content_block"]["type"] == "tool_use" {
            let id = self.unique(event["content_block"]["id"].as_str());
            event["content_block"]["id"] = json!(id);
        }
        if kind == "message_start" {
            self.started = true;
            self.id = text(&event["message"]["id"]);
            self.model = text(&event["message"]["model"]);
        } else if !self.started && kind != "ping" {
            return Err(FailedAttempt::cut(format!("the stream begins with `{kind}`")));
        }
        on(Live::Raw(&event));
        match kind.as_str() {
            "message_start" => {
                self.count(&event["message"]["usage"]);
                on(Live::Started { id: &self.id, model: &self.model });
            }
            "content_block_start" => self.open(&event, on)?,
            "content_block_delta" => self.add(&event, on)?,
            "message_delta" => {
                if let Some(reason) = event["delta"]["stop_reason"].as_str() {
                    self.stop_reason = Some(StopReason::from_name(reason));
                }
                self.count(&event["usage"]);
            }
            "message_stop" => self.stopped = true,
            _ => {}
        }
        Ok(())
    }

    /// The answer, if it is whole.
    pub(crate) fn finish(self) -> Result<Answer, FailedAttempt> {
        if !self.stopped {
            return Err(FailedAttempt::cut("the stream ended before the answer did"));
        }
        let provider = self.provider;
        let citations = self.citations();
        let blocks = self.blocks.into_iter().map(|(_, building)| match building {
            Building::Text(text) => Block::Text(text),
            Building::ToolUse { id, name, given, text } => {
                let input = match (text.is_empty(), given) {
                    (true, Value::Object(map)) => ToolInput::Json(map),
                    (true, given) => ToolInput::parse(&given.to_string()),
                    (false, _) => ToolInput::parse(&text),
                };
                Block::ToolUse { id, name, input }
            }
            Building::ServerCall { mut block, text } => {
                if !text.is_empty() {
                    block["input"] = ToolInput::parse(&text).to_object();
                }
                Block::Opaque { provider, value: block }
            }
            Building::Opaque(value) => Block::Opaque { provider, value },
        });
        // Anthropic opens with an empty text block now and then, and refuses to see it again.
        let content: Vec<Block> =
            blocks.filter(|block| !matches!(block, Block::Text(text) if text.is_empty())).collect();
        let calls = content.iter().any(|block| matches!(block, Block::ToolUse { .. }));
        let stop_reason = self.stop_reason.unwrap_or(if calls {
            StopReason::ToolUse
        } else {
            StopReason::EndTurn
        });
        Ok(Answer {
            id: self.id,
            model: self.model,
            content,
            stop_reason,
            usage: self.usage,
            citations,
            web_searches: self.web_searches,
        })
    }

    /// The citations, by where the text before them ends.
    fn citations(&self) -> Vec<Citation> {
        let (mut at, mut citations) = (0, Vec::new());
        for (index, building) in &self.blocks {
            let Building::Text(text) = building else { continue };
            at += text.len();
            let here = self.cited.iter().filter(|(cited, _)| cited == index);
            citations.extend(here.map(|(_, url)| Citation { at, url: url.clone() }));
        }
        citations
    }

    fn cite(&mut self, index: u64, citation: &Value) {
        if let Some(url) = citation["url"].as_str() {
            let cited = (index, url.to_owned());
            if !self.cited.contains(&cited) {
                self.cited.push(cited);
            }
        }
    }

    /// The id itself if it is unique, otherwise a fresh one: each result must belong to one call.
    fn unique(&mut self, id: Option<&str>) -> ToolUseId {
        let given = id.filter(|id| !id.is_empty() && !self.ids.contains(*id));
        let id = given.map_or_else(ToolUseId::generate, ToolUseId::from_existing);
        self.ids.insert(id.as_str().to_owned());
        id
    }

    /// Figures are running totals; missing ones keep their value.
    fn count(&mut self, usage: &Value) {
        let figures = [
            ("input_tokens", &mut self.usage.input_tokens),
            ("output_tokens", &mut self.usage.output_tokens),
            ("cache_creation_input_tokens", &mut self.usage.cache_creation_input_tokens),
            ("cache_read_input_tokens", &mut self.usage.cache_read_input_tokens),
        ];
        for (name, figure) in figures {
            if let Some(tokens) = usage[name].as_u64() {
                *figure = tokens;
            }
        }
        if let Some(searches) = usage["server_tool_use"]["web_search_requests"].as_u64() {
            self.web_searches = searches;
        }
    }

    fn open(&mut self, event: &Value, on: &mut Listener<'_>) -> Result<(), FailedAttempt> {
        let index = index(event)?;
        if self.blocks.iter().any(|(known, _)| *known == index) {
            return Err(FailedAttempt::cut(format!("block {index} of the stream begins twice")));
        }
        let block = &event["content_block"];
        let building = match block["type"].as_str() {
            Some("text") => {
                let text = text(&block["text"]);
                if !text.is_empty() {
                    on(Live::Text(&text));
                }
                for citation in block["citations"].as_array().into_iter().flatten() {
                    self.cite(index, citation);
                }
                Building::Text(text)
            }
            Some("server_tool_use") => {
                Building::ServerCall { block: block.clone(), text: String::new() }
            }
            Some("tool_use") => {
                let name = text(&block["name"]);
                on(Live::ToolInput { index, name: &name, fragment: "" });
                let id = ToolUseId::from_existing(text(&block["id"]));
                let given = block["input"].clone();
                Building::ToolUse { id, name, given, text: String::new() }
            }
            _ => Building::Opaque(block.clone()),
        };
        self.blocks.push((index, building));
        Ok(())
    }

    fn add(&mut self, event: &Value, on: &mut Listener<'_>) -> Result<(), FailedAttempt> {
        let index = index(event)?;
        if event["delta"]["type"] == "citations_delta" {
            self.cite(index, &event["delta"]["citation"]);
        }
        // The newest block is the one that grows.
        let block = self.blocks.iter_mut().rev().find(|(known, _)| *known == index);
        let Some((_, block)) = block else {
            return Err(FailedAttempt::cut(format!("block {index} of the stream never began")));
        };
        let delta = &event["delta"];
        match (delta["type"].as_str().unwrap_or_default(), block) {
            ("text_delta", Building::Text(text)) => {
                let piece = delta["text"].as_str().unwrap_or_default();
                text.push_str(piece);
                on(Live::Text(piece));
            }
            ("input_json_delta", Building::ToolUse { name, text, .. }) => {
                let fragment = delta["partial_json"].as_str().unwrap_or_default();
                if !fragment.is_empty() {
                    text.push_str(fragment);
                    on(Live::ToolInput { index, name, fragment });
                }
            }
            ("input_json_delta", Building::ServerCall { text, .. }) => {
                text.push_str(delta["partial_json"].as_str().unwrap_or_default());
            }
            ("thinking_delta", Building::Opaque(value)) => {
                append(value, "thinking", &delta["thinking"]);
                on(Live::Thinking(delta["thinking"].as_str().unwrap_or_default()));
            }
            ("signature_delta", Building::Opaque(value)) => {
                append(value, "signature", &delta["signature"]);
            }
            // An unknown kind, newer than this code.
            _ => {}
        }
        Ok(())
    }
}

fn index(event: &Value) -> Result<u64, FailedAttempt> {
    event["index"].as_u64().ok_or_else(|| FailedAttempt::cut("a block of the stream has no index"))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn append(block: &mut Value, key: &str, piece: &Value) {
    let Value::Object(block) = block else { return };
    let so_far = block.entry(key).or_insert_with(|| json!(""));
    if let (Value::String(so_far), Some(piece)) = (so_far, piece.as_str()) {
        so_far.push_str(piece);
    }
}
