//! A request as Chat Completions wants it.

use std::borrow::Cow;

use ona_types::Attachment;
use serde::Serialize;
use serde_json::{Value, json};

use crate::message::{Block, Message, Part, Request, Role, ToolChoice};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Turn<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop: &'a [String],
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Turn<'a> {
    System {
        content: String,
    },
    Developer {
        content: String,
    },
    User {
        content: Said<'a>,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: String,
    },
}

/// Plain text where that is enough: not every server knows parts.
#[derive(Serialize)]
#[serde(untagged)]
enum Said<'a> {
    Text(String),
    Parts(Vec<Piece<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Called<'a>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: &'a str,
    arguments: String,
}

/// The body of a request.
pub(crate) fn encode(
    request: &Request,
    stream: bool,
    stream_options: bool,
) -> serde_json::Result<Vec<u8>> {
    let reasons = reasons(&request.model);
    let mut messages = Vec::new();
    let system: Vec<&str> = request.system.iter().map(String::as_str).filter(filled).collect();
    if !system.is_empty() {
        let content = system.join("\n\n");
        messages.push(if reasons { Turn::Developer { content } } else { Turn::System { content } });
    }
    for message in &request.messages {
        match message.role {
            Role::User => user(message, &mut messages),
            Role::Assistant => messages.extend(assistant(message)),
        }
    }
    let tools = request.tools.iter().map(|tool| Tool {
        r#type: "function",
        function: Function {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.input_schema,
        },
    });
    let body = Body {
        model: &request.model,
        messages,
        tools: tools.collect(),
        tool_choice: choice(request),
        max_tokens: (!reasons).then_some(request.max_tokens),
        max_completion_tokens: reasons.then_some(request.max_tokens),
        temperature: request.temperature.filter(|_| !reasons),
        stop: if reasons { &[] } else { &request.stop_sequences },
        stream,
        stream_options: (stream && stream_options).then_some(StreamOptions { include_usage: true }),
    };
    serde_json::to_vec(&body)
}

/// Whether this is one of OpenAI's reasoning models (`o1`, `o3-mini`, …), which take other parameters.
fn reasons(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model).as_bytes();
    matches!(name, [b'o', digit, rest @ ..]
        if digit.is_ascii_digit() && matches!(rest, [] | [b'-', ..]))
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the shape that filter wants")]
fn filled(text: &&str) -> bool {
    !text.trim().is_empty()
}

fn choice(request: &Request) -> Option<Value> {
    if request.tools.is_empty() {
        return None;
    }
    match &request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::Any => Some(json!("required")),
        ToolChoice::Tool(name) => Some(json!({"type": "function", "function": {"name": name}})),
        ToolChoice::None => Some(json!("none")),
    }
}

/// What the user and the tools say: one message for each result, then one for everything else. Pictures
/// cannot be part of a result, so they follow in that last one.
fn user<'a>(message: &'a Message, messages: &mut Vec<Turn<'a>>) {
    let mut pieces: Vec<Piece<'a>> = Vec::new();
    for block in &message.content {
        let Block::ToolResult { tool_use_id, content, .. } = block else { continue };
        let mut texts: Vec<Cow<'_, str>> = Vec::new();
        for part in content {
            match part {
                Part::Text(text) => texts.push(Cow::Borrowed(text)),
                Part::Attachment(image @ Attachment::Image { .. }) => {
                    texts.push(Cow::Borrowed("[image: see the next message]"));
                    let label = format!("Image returned by the tool call {tool_use_id}:");
                    pieces.push(Piece::Text { text: label.into() });
                    pieces.push(attached(image));
                }
                Part::Attachment(Attachment::Document { media_type, .. }) => {
                    texts.push(Cow::Owned(left_out(media_type)));
                }
            }
        }
        messages.push(Turn::Tool { tool_call_id: tool_use_id.as_str(), content: texts.join("\n") });
    }
    pieces.extend(message.content.iter().filter_map(|block| match block {
        Block::Text(text) if filled(&text.as_str()) => Some(Piece::Text { text: text.into() }),
        Block::Attachment(attachment) => Some(attached(attachment)),
        _ => None,
    }));
    let texts: Vec<&str> = pieces.iter().filter_map(Piece::text).collect();
    let content = if texts.len() == pieces.len() {
        Said::Text(texts.join("\n\n"))
    } else {
        Said::Parts(pieces)
    };
    if !matches!(&content, Said::Text(text) if text.is_empty()) {
        messages.push(Turn::User { content });
    }
}

impl Piece<'_> {
    fn text(&self) -> Option<&str> {
        match self {
            Piece::Text { text } => Some(text),
            Piece::ImageUrl { .. } => None,
        }
    }
}

fn attached<'a>(attachment: &Attachment) -> Piece<'a> {
    match attachment {
        Attachment::Image { media_type, data } => Piece::ImageUrl {
            image_url: ImageUrl { url: format!("data:{media_type};base64,{data}") },
        },
        Attachment::Document { media_type, .. } => {
            Piece::Text { text: left_out(media_type).into() }
        }
    }
}

fn left_out(media_type: &str) -> String {
    format!("[document of type {media_type} left out: this model takes no documents]")
}

/// What the model has said; nothing if there is nothing in it that could be sent.
fn assistant(message: &Message) -> Option<Turn<'_>> {
    let mut texts = Vec::new();
    let mut tool_calls = Vec::new();
    for block in &message.content {
        match block {
            Block::Text(text) if filled(&text.as_str()) => texts.push(text.as_str()),
            Block::ToolUse { id, name, input } => tool_calls.push(Call {
                id: id.as_str(),
                r#type: "function",
                function: Called { name, arguments: input.to_object().to_string() },
            }),
            _ => {}
        }
    }
    let content = (!texts.is_empty()).then(|| texts.join("\n\n"));
    let anything = content.is_some() || !tool_calls.is_empty();
    anything.then_some(Turn::Assistant { content, tool_calls })
}
