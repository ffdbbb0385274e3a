//! A request as Chat Completions wants it.

use std::borrow::Cow;

use ona_types::{Attachment, Effort};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::message::{Block, Message, Part, Request, Role, ToolChoice, ToolInput};
use crate::wire;

/// The fields before the messages.
#[derive(Serialize)]
struct Before<'a> {
    model: &'a str,
}

/// The fields after the messages.
#[derive(Serialize)]
struct After<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
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
        content: Cow<'a, str>,
    },
    Developer {
        content: Cow<'a, str>,
    },
    User {
        content: Said<'a>,
    },
    Assistant {
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

/// Plain text where that is enough: not every server knows parts.
#[derive(Serialize)]
#[serde(untagged)]
enum Said<'a> {
    Text(Cow<'a, str>),
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
    #[serde(serialize_with = "as_text")]
    arguments: &'a ToolInput,
}

/// The body of a request.
pub(crate) fn encode(
    request: &Request<'_>,
    stream: bool,
    stream_options: bool,
) -> serde_json::Result<Vec<u8>> {
    let reasons = reasons(&request.model);
    let tools = request.tools.iter().map(|tool| Tool {
        r#type: "function",
        function: Function {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.input_schema,
        },
    });
    let after = After {
        tools: tools.collect(),
        tool_choice: choice(request),
        max_tokens: (!reasons).then_some(request.max_tokens),
        max_completion_tokens: reasons.then_some(request.max_tokens),
        reasoning_effort: request.effort.map(Effort::as_str),
        temperature: request.temperature.filter(|_| !reasons),
        stop: if reasons { &[] } else { &request.stop_sequences },
        stream,
        stream_options: (stream && stream_options).then_some(StreamOptions { include_usage: true }),
    };
    let messages = |out: &mut Vec<u8>| {
        system(request).map_or(Ok(()), |turn| wire::add(out, &turn))?;
        wire::add_written(out, request.earlier.0);
        request.unwritten().try_for_each(|message| write(message, out))
    };
    wire::body(&Before { model: &request.model }, messages, &after)
}

/// Writes a message: this API makes several of one.
pub(crate) fn write(message: &Message, out: &mut Vec<u8>) -> serde_json::Result<()> {
    let turns = match message.role {
        Role::User => user(message),
        Role::Assistant => assistant(message).into_iter().collect(),
    };
    turns.iter().try_for_each(|turn| wire::add(out, turn))
}

fn system<'a>(request: &'a Request<'_>) -> Option<Turn<'a>> {
    let blocks = request.system.iter().map(|block| Cow::Borrowed(block.as_str()));
    let blocks: Vec<Cow<'_, str>> = blocks.filter(|block| filled(block)).collect();
    let content = (!blocks.is_empty()).then(|| joined(blocks, "\n\n"))?;
    let reasons = reasons(&request.model);
    Some(if reasons { Turn::Developer { content } } else { Turn::System { content } })
}

/// The texts in one; the only one as it is.
fn joined<'a>(mut texts: Vec<Cow<'a, str>>, between: &str) -> Cow<'a, str> {
    match texts.pop() {
        None => Cow::Borrowed(""),
        Some(only) if texts.is_empty() => only,
        Some(last) => {
            texts.push(last);
            Cow::Owned(texts.join(between))
        }
    }
}

/// JSON within a string, as this API has it.
fn as_text<S: Serializer>(input: &&ToolInput, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&serde_json::to_string(input).map_err(S::Error::custom)?)
}

/// Whether this is one of OpenAI's reasoning models (`o1`, `o3-mini`, …), which take other parameters.
fn reasons(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model).as_bytes();
    matches!(name, [b'o', digit, rest @ ..]
        if digit.is_ascii_digit() && matches!(rest, [] | [b'-', ..]))
}

fn filled(text: &str) -> bool {
    !text.trim().is_empty()
}

fn choice(request: &Request<'_>) -> Option<Value> {
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
fn user(message: &Message) -> Vec<Turn<'_>> {
    let mut messages = Vec::new();
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    for block in &message.content {
        let Block::ToolResult { tool_use_id, content, .. } = block else { continue };
        let mut texts: Vec<Cow<'_, str>> = Vec::new();
        for part in content {
            match part {
                Part::Text(text) => texts.push(Cow::Borrowed(text)),
                Part::Json(text) => texts.push(Cow::Owned(text.text())),
                Part::Attachment(attachment) => match attached(attachment) {
                    Piece::Text { text } => texts.push(text),
                    image @ Piece::ImageUrl { .. } => {
                        texts.push(Cow::Borrowed("[image: see the next message]"));
                        let label = format!("Image returned by the tool call {tool_use_id}:");
                        pieces.push(Piece::Text { text: label.into() });
                        pieces.push(image);
                    }
                },
            }
        }
        let content = joined(texts, "\n");
        messages.push(Turn::Tool { tool_call_id: tool_use_id.as_str(), content });
    }
    pieces.extend(message.content.iter().filter_map(|block| match block {
        Block::Text(text) if filled(text) => Some(Piece::Text { text: text.into() }),
        Block::Attachment(attachment) => Some(attached(attachment)),
        _ => None,
    }));
    let all_text = pieces.iter().all(|piece| matches!(piece, Piece::Text { .. }));
    let content = if all_text {
        Said::Text(joined(pieces.into_iter().filter_map(Piece::text).collect(), "\n\n"))
    } else {
        Said::Parts(pieces)
    };
    if !matches!(&content, Said::Text(text) if text.is_empty()) {
        messages.push(Turn::User { content });
    }
    messages
}

impl<'a> Piece<'a> {
    fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Piece::Text { text } => Some(text),
            Piece::ImageUrl { .. } => None,
        }
    }
}

fn attached<'a>(attachment: &Attachment) -> Piece<'a> {
    let image = |url: String| Piece::ImageUrl { image_url: ImageUrl { url } };
    let left_out = |what: &str| {
        let text = format!("[document {what} left out: this model does not accept documents]");
        Piece::Text { text: text.into() }
    };
    match attachment {
        Attachment::Image { media_type, data } => image(format!("data:{media_type};base64,{data}")),
        Attachment::ImageUrl { url } => image(url.clone()),
        Attachment::Document { media_type, .. } => left_out(&format!("of type {media_type}")),
        Attachment::DocumentUrl { url } => left_out(url),
    }
}

/// What the model has said; nothing if there is nothing in it that could be sent.
fn assistant(message: &Message) -> Option<Turn<'_>> {
    let mut texts = Vec::new();
    let mut tool_calls = Vec::new();
    for block in &message.content {
        match block {
            Block::Text(text) if filled(text) => texts.push(Cow::Borrowed(text.as_str())),
            Block::ToolUse { id, name, input } => tool_calls.push(Call {
                id: id.as_str(),
                r#type: "function",
                function: Called { name, arguments: input },
            }),
            _ => {}
        }
    }
    let content = (!texts.is_empty()).then(|| joined(texts, "\n\n"));
    let anything = content.is_some() || !tool_calls.is_empty();
    anything.then_some(Turn::Assistant { content, tool_calls })
}
