//! What is asked and what is answered, in words of no provider.

use ona_types::{Attachment, Effort, ToolUseId};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::history::Written;
use crate::json_text::JsonText;
use crate::model::ProviderKind;
use crate::web_search::{Citation, WebSearch};
use ona_types::Usage;

/// One question to a model. The same request always gives the same bytes on the wire.
#[derive(Clone, Debug, PartialEq)]
pub struct Request<'a> {
    /// The wire name of the model.
    pub model: String,
    /// The system prompt, in blocks: what changes seldom first.
    pub system: Vec<String>,
    /// The tools the model may call.
    pub tools: Vec<ToolSpec>,
    /// Whether it may, must or must not call one.
    pub tool_choice: ToolChoice,
    /// Whether the provider may search the web for it; only for providers that do.
    pub web_search: Option<WebSearch>,
    /// How the conversation began.
    pub earlier: Written<'a>,
    /// How it went on, where somebody keeps it.
    pub recent: &'a [Message],
    /// What follows.
    pub messages: Vec<Message>,
    /// How much it may write.
    pub max_tokens: u32,
    /// How many of those tokens it may spend on thinking first; Anthropic only.
    pub thinking: Option<u32>,
    /// How hard it thinks, in a word that the model takes ([`crate::Model::effort`]).
    pub effort: Option<Effort>,
    /// How freely it chooses its words; left out where a model does not take it.
    pub temperature: Option<f64>,
    /// Texts at which it stops.
    pub stop_sequences: Vec<String>,
}

impl Request<'_> {
    /// A request with nothing in it yet.
    pub fn new(model: impl Into<String>, max_tokens: u32) -> Self {
        Self {
            model: model.into(),
            system: Vec::new(),
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            web_search: None,
            earlier: Written::default(),
            recent: &[],
            messages: Vec::new(),
            max_tokens,
            thinking: None,
            effort: None,
            temperature: None,
            stop_sequences: Vec::new(),
        }
    }

    /// Adds a message.
    #[must_use]
    pub fn with(mut self, message: Message) -> Self {
        self.messages.push(message);
        self
    }

    /// What is still to be put into the provider's words.
    pub(crate) fn unwritten(&self) -> impl Iterator<Item = &Message> {
        self.recent.iter().chain(&self.messages)
    }
}

/// A tool as the model gets to know it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON schema of its input.
    pub input_schema: Value,
}

/// Whether the model calls a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it sees fit.
    #[default]
    Auto,
    /// It must call one.
    Any,
    /// It must call this one.
    Tool(String),
    /// It must not, though it sees them.
    None,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user, and the tools.
    User,
    /// The model.
    Assistant,
}

/// One turn of one speaker.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Vec<Block>,
}

impl Message {
    /// What the user says.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, content: vec![Block::Text(text.into())] }
    }

    /// What the model has answered, to be sent back to it.
    pub fn assistant(answer: &Answer) -> Self {
        Self { role: Role::Assistant, content: answer.content.clone() }
    }

    /// Whether a conversation can begin with it: a user message that is not a tool result.
    pub fn can_begin(&self) -> bool {
        let is_result = |block: &Block| matches!(block, Block::ToolResult { .. });
        self.role == Role::User && !self.content.iter().any(is_result)
    }

    /// The results of the tools the model has called.
    pub fn results(results: Vec<Block>) -> Self {
        Self { role: Role::User, content: results }
    }
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Text.
    Text(String),
    /// A picture or document.
    Attachment(Attachment),
    /// A call the model asks for.
    ToolUse {
        /// The call's id, unique within its answer.
        id: ToolUseId,
        /// The tool's name, as the model wrote it.
        name: String,
        /// The tool's input.
        input: ToolInput,
    },
    /// The result of such a call.
    ToolResult {
        /// The call's id.
        tool_use_id: ToolUseId,
        /// What the model sees.
        content: Vec<Part>,
        /// Whether the call failed.
        is_error: bool,
    },
    /// A block that only its provider understands, such as signed thinking. It goes back to that
    /// provider unchanged, and to no other.
    Opaque {
        /// The provider it belongs to.
        provider: ProviderKind,
        /// The block.
        value: Value,
    },
}

impl Block {
    /// A result that is all text.
    pub fn result(id: &ToolUseId, text: impl Into<String>, is_error: bool) -> Self {
        let content = vec![Part::Text(text.into())];
        Self::ToolResult { tool_use_id: id.clone(), content, is_error }
    }
}

/// A piece of a tool result.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Text.
    Text(String),
    /// Text as the record has it.
    Json(JsonText),
    /// A picture or document.
    Attachment(Attachment),
}

/// The input of a call, as far as the model got it right.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolInput {
    /// A JSON object, which may or may not fit the tool's schema.
    Json(Map<String, Value>),
    /// Something else. The call still has to be answered, so that the model can do better.
    Invalid {
        /// What the model wrote.
        text: String,
        /// What is wrong with it.
        why: String,
    },
}

impl ToolInput {
    /// Parses what a model wrote. An empty text counts as no arguments.
    pub(crate) fn parse(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Json(Map::new());
        }
        let why = match serde_json::from_str(text) {
            Ok(Value::Object(map)) => return Self::Json(map),
            Ok(Value::Null) => return Self::Json(Map::new()),
            Ok(_) => "not a JSON object".to_owned(),
            Err(error) => format!("not JSON: {error}"),
        };
        Self::Invalid { text: text.to_owned(), why }
    }

    /// As a JSON object, which is what every wire wants: a wrong input is shown to the model as what it
    /// wrote.
    pub fn to_object(&self) -> Value {
        match self {
            Self::Json(map) => Value::Object(map.clone()),
            Self::Invalid { text, .. } => json!({"invalid_json": text}),
        }
    }
}

/// As [`ToolInput::to_object`], without the copy.
impl Serialize for ToolInput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Json(map) => map.serialize(serializer),
            Self::Invalid { text, .. } => serializer.collect_map([("invalid_json", text)]),
        }
    }
}

/// Why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The answer is finished.
    EndTurn,
    /// It waits for tools.
    ToolUse,
    /// It ran into [`Request::max_tokens`].
    MaxTokens,
    /// It came to one of [`Request::stop_sequences`].
    StopSequence,
    /// It refuses to continue.
    Refusal,
    /// It wants to be called again with its answer so far.
    PauseTurn,
    /// Something else, in the provider's word.
    Other(String),
}

impl StopReason {
    const NAMES: [(StopReason, &'static str); 6] = [
        (StopReason::EndTurn, "end_turn"),
        (StopReason::ToolUse, "tool_use"),
        (StopReason::MaxTokens, "max_tokens"),
        (StopReason::StopSequence, "stop_sequence"),
        (StopReason::Refusal, "refusal"),
        (StopReason::PauseTurn, "pause_turn"),
    ];

    /// The name, in Anthropic's words.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(name) => name,
            known => Self::NAMES.iter().find(|(one, _)| one == known).map_or("", |(_, name)| name),
        }
    }

    pub(crate) fn from_name(name: &str) -> Self {
        let known = Self::NAMES.iter().find(|(_, known)| *known == name);
        known.map_or_else(|| Self::Other(name.to_owned()), |(reason, _)| reason.clone())
    }
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The provider's id for it.
    pub id: String,
    /// The model that gave it, in the provider's words.
    pub model: String,
    /// What it says, in order. It may be empty.
    pub content: Vec<Block>,
    /// Why it ends.
    pub stop_reason: StopReason,
    /// Its token usage; zeros if the server did not report it.
    pub usage: Usage,
    /// What of its text is taken from pages that the provider found.
    pub citations: Vec<Citation>,
    /// How often the provider searched the web.
    pub web_searches: u64,
}

impl Answer {
    /// All its text.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The answer as a message of the Anthropic API, for every provider: what stream-json output shows.
    pub fn to_json(&self) -> Value {
        let content = self.content.iter().filter_map(|block| match block {
            Block::Text(text) => Some(json!({"type": "text", "text": text})),
            Block::ToolUse { id, name, input } => Some(
                json!({"type": "tool_use", "id": id, "name": name, "input": input.to_object()}),
            ),
            Block::Opaque { value, .. } => Some(value.clone()),
            // A model answers with neither.
            Block::Attachment(_) | Block::ToolResult { .. } => None,
        });
        json!({
            "id": self.id, "type": "message", "role": "assistant", "model": self.model,
            "content": content.collect::<Vec<_>>(), "stop_reason": self.stop_reason.as_str(),
            "stop_sequence": null, "usage": self.usage,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_is_an_object_or_says_why_not() {
        for text in ["", " ", "null", "{}"] {
            assert_eq!(ToolInput::parse(text), ToolInput::Json(Map::new()), "{text:?}");
        }
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        for (text, expected) in [
            ("[1]", "not a JSON object"),
            ("{\"a\":", "not JSON: EOF while parsing a value at line 1 column 5"),
            (deep.as_str(), "not JSON: recursion limit exceeded at line 1 column 128"),
        ] {
            let input = ToolInput::parse(text);
            assert_eq!(input.to_object(), json!({"invalid_json": text}));
            assert_eq!(serde_json::to_value(&input).unwrap(), input.to_object());
            let ToolInput::Invalid { why, .. } = input else { panic!("{text}") };
            assert_eq!(why, expected);
        }
    }

    #[test]
    fn stop_reasons_keep_their_names() {
        for (reason, name) in StopReason::NAMES {
            assert_eq!((reason.as_str(), StopReason::from_name(name)), (name, reason.clone()));
        }
        assert_eq!(StopReason::from_name("new"), StopReason::Other("new".to_owned()));
        assert_eq!(StopReason::Other("new".to_owned()).as_str(), "new");
    }

    #[test]
    fn an_answer_is_shown_as_an_api_message() {
        let answer = Answer {
            id: "msg_1".to_owned(),
            model: "m".to_owned(),
            content: vec![
                Block::Text("hi".to_owned()),
                Block::ToolUse {
                    id: ToolUseId::from_existing("t1"),
                    name: "Read".to_owned(),
                    input: ToolInput::parse("{\"b\":1,\"a\":2}"),
                },
            ],
            stop_reason: StopReason::ToolUse,
            usage: Usage::default(),
            citations: Vec::new(),
            web_searches: 0,
        };
        insta::assert_snapshot!(answer.to_json(), @r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hi"},{"type":"tool_use","id":"t1","name":"Read","input":{"b":1,"a":2}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}"#);
    }
}
