//! A request as the Messages API wants it.

use std::borrow::Cow;

use ona_types::Attachment;
use serde::Serialize;
use serde_json::Value;

use crate::json_text::JsonText;
use crate::message::{Block, Message, Part, Request, Role, ToolChoice, ToolInput};
use crate::model::{LEAST_THINKING, ProviderKind};
use crate::web_search::WebSearch;
use crate::wire;

/// How many user messages, from the last, end a part of the prompt that is kept in the cache: with the tools
/// and the system prompt that makes four, which is all the API allows.
const CACHED_MESSAGES: usize = 2;

/// The fields before the messages.
#[derive(Serialize)]
struct Before<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Offered<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
}

/// The fields after the messages.
#[derive(Serialize)]
struct After<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop_sequences: &'a [String],
    stream: bool,
}

/// A tool of ours, or one that the provider runs itself.
#[derive(Serialize)]
#[serde(untagged)]
enum Offered<'a> {
    Own(Tool<'a>),
    Search(Search<'a>),
}

#[derive(Serialize)]
struct Search<'a> {
    r#type: &'static str,
    name: &'static str,
    max_uses: u32,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    allowed_domains: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    blocked_domains: &'a [String],
}

impl<'a> From<&'a WebSearch> for Search<'a> {
    fn from(search: &'a WebSearch) -> Self {
        Self {
            r#type: "web_search_20250305",
            name: "web_search",
            max_uses: search.max_uses,
            allowed_domains: &search.allowed_domains,
            blocked_domains: &search.blocked_domains,
        }
    }
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Ephemeral>,
}

#[derive(Serialize)]
struct Choice<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

#[derive(Serialize)]
struct Turn<'a> {
    role: &'static str,
    content: Vec<Content<'a>>,
}

#[derive(Serialize)]
struct Thinking {
    r#type: &'static str,
    budget_tokens: u32,
}

#[derive(Serialize)]
struct OutputConfig {
    effort: &'static str,
}

/// Marks the end of a part of the prompt that is kept in the cache.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "type", rename = "ephemeral")]
struct Ephemeral {}

/// A block, and whether the cache is to hold everything up to it.
#[derive(Serialize)]
struct Content<'a> {
    #[serde(flatten)]
    kind: Kind<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Ephemeral>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Kind<'a> {
    Text {
        text: Cow<'a, str>,
    },
    #[serde(rename = "text")]
    JsonText {
        text: &'a JsonText,
    },
    Image {
        source: Source<'a>,
    },
    Document {
        source: Source<'a>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: &'a ToolInput,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<Kind<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    #[serde(untagged)]
    Opaque(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source<'a> {
    Base64 { media_type: &'a str, data: &'a str },
    Url { url: &'a str },
}

impl<'a> From<Kind<'a>> for Content<'a> {
    fn from(kind: Kind<'a>) -> Self {
        Self { kind, cache_control: None }
    }
}

/// The body of a request.
pub(crate) fn encode(request: &Request<'_>, stream: bool) -> serde_json::Result<Vec<u8>> {
    let mut system: Vec<Content<'_>> =
        request.system.iter().filter_map(|block| said(block)).map(Content::from).collect();
    if let Some(last) = system.last_mut() {
        last.cache_control = Some(Ephemeral {});
    }
    let tools = request.tools.iter().enumerate().map(|(at, tool)| Tool {
        name: &tool.name,
        description: &tool.description,
        input_schema: &tool.input_schema,
        cache_control: (at + 1 == request.tools.len()).then_some(Ephemeral {}),
    });
    let search = request.web_search.as_ref().map(|search| Offered::Search(search.into()));
    // Thinking must leave something of the answer, and does not go with a temperature.
    let budget = request.thinking.map(|budget| budget.min(request.max_tokens.saturating_sub(1)));
    let thinking = budget.filter(|budget| *budget >= LEAST_THINKING);
    let before = Before {
        model: &request.model,
        max_tokens: request.max_tokens,
        system,
        tools: tools.map(Offered::Own).chain(search).collect(),
        tool_choice: choice(request),
    };
    let after = After {
        thinking: thinking.map(|budget_tokens| Thinking { r#type: "enabled", budget_tokens }),
        output_config: request.effort.map(|effort| OutputConfig { effort: effort.as_str() }),
        temperature: request.temperature.filter(|_| thinking.is_none()),
        stop_sequences: &request.stop_sequences,
        stream,
    };
    let mut turns: Vec<Turn<'_>> = request.unwritten().filter_map(turn).collect();
    let users = turns.iter_mut().rev().filter(|turn| turn.role == "user");
    for last in users.take(CACHED_MESSAGES).filter_map(|turn| turn.content.last_mut()) {
        last.cache_control = Some(Ephemeral {});
    }
    let messages = |out: &mut Vec<u8>| {
        wire::add_written(out, request.earlier.0);
        turns.iter().try_for_each(|turn| wire::add(out, turn))
    };
    wire::body(&before, messages, &after)
}

/// Writes a message that the cache holds as part of what follows.
pub(crate) fn write(message: &Message, out: &mut Vec<u8>) -> serde_json::Result<()> {
    turn(message).map_or(Ok(()), |turn| wire::add(out, &turn))
}

fn choice<'a>(request: &'a Request<'_>) -> Option<Choice<'a>> {
    if request.tools.is_empty() {
        return None;
    }
    match &request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::Any => Some(Choice { r#type: "any", name: None }),
        ToolChoice::Tool(name) => Some(Choice { r#type: "tool", name: Some(name) }),
        ToolChoice::None => Some(Choice { r#type: "none", name: None }),
    }
}

/// A message; nothing if there is nothing in it that could be sent.
fn turn(message: &Message) -> Option<Turn<'_>> {
    // The API wants results before anything else.
    let is_result = |block: &&Block| matches!(block, Block::ToolResult { .. });
    let results = message.content.iter().filter(is_result);
    let others = message.content.iter().filter(|block| !is_result(block));
    let content: Vec<Content<'_>> =
        results.chain(others).filter_map(kind).map(Content::from).collect();
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    (!content.is_empty()).then_some(Turn { role, content })
}

fn kind(block: &Block) -> Option<Kind<'_>> {
    Some(match block {
        Block::Text(text) => return said(text),
        Block::Attachment(attachment) => attached(attachment),
        Block::ToolUse { id, name, input } => Kind::ToolUse { id: tame(id.as_str()), name, input },
        Block::ToolResult { tool_use_id, content, is_error } => Kind::ToolResult {
            tool_use_id: tame(tool_use_id.as_str()),
            content: content.iter().filter_map(|part| result_part(part, *is_error)).collect(),
            is_error: *is_error,
        },
        Block::Opaque { provider: ProviderKind::ClaudeCodeSubscription, value }
            if value.is_object() =>
        {
            Kind::Opaque(value)
        }
        Block::Opaque { .. } => return None,
    })
}

/// Text that has something in it: the API refuses blank blocks.
fn said(text: &str) -> Option<Kind<'_>> {
    (!text.trim().is_empty()).then_some(Kind::Text { text: Cow::Borrowed(text) })
}

fn result_part(part: &Part, is_error: bool) -> Option<Kind<'_>> {
    match part {
        Part::Text(text) => said(text),
        Part::Json(text) => Some(Kind::JsonText { text }),
        // An error may hold text only.
        Part::Attachment(attachment) if is_error => {
            let what = match attachment {
                Attachment::Image { media_type, .. } | Attachment::Document { media_type, .. } => {
                    media_type
                }
                Attachment::ImageUrl { url } | Attachment::DocumentUrl { url } => url,
            };
            Some(Kind::Text { text: format!("[{what} left out]").into() })
        }
        Part::Attachment(attachment) => Some(attached(attachment)),
    }
}

fn attached(attachment: &Attachment) -> Kind<'_> {
    match attachment {
        Attachment::Image { media_type, data } => {
            Kind::Image { source: Source::Base64 { media_type, data } }
        }
        Attachment::Document { media_type, data } => {
            Kind::Document { source: Source::Base64 { media_type, data } }
        }
        Attachment::ImageUrl { url } => Kind::Image { source: Source::Url { url } },
        Attachment::DocumentUrl { url } => Kind::Document { source: Source::Url { url } },
    }
}

/// An id in the letters the API takes; other servers give ids like `functions.Read:0`.
fn tame(id: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if id.chars().all(fits) {
        return Cow::Borrowed(id);
    }
    id.chars().map(|c| if fits(c) { c } else { '_' }).collect()
}
