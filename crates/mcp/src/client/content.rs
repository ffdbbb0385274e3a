//! What servers answer with, in plain types.

use rmcp::model::{
    CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult, ResourceContents, Role,
};
use serde_json::{Value, json};

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentPart {
    /// Text.
    Text(String),
    /// A picture, in base64.
    Image {
        /// What kind of picture.
        media_type: String,
        /// The picture.
        data: String,
    },
    /// Sound, in base64.
    Audio {
        /// What kind of sound.
        media_type: String,
        /// The sound.
        data: String,
    },
    /// A resource of the server's, with what is in it.
    Resource(ResourceContent),
    /// A resource of the server's that can be read.
    Link {
        /// Its address.
        uri: String,
        /// What it is called.
        name: String,
        /// What kind it is.
        mime: Option<String>,
        /// What it is.
        description: Option<String>,
    },
}

/// What is in a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceContent {
    /// Its address.
    pub uri: String,
    /// What kind it is.
    pub mime: Option<String>,
    /// What is in it.
    pub body: Body,
}

/// What is in a resource: text, or anything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Text.
    Text(String),
    /// Bytes, in base64.
    Blob(String),
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq)]
pub struct CallOutcome {
    /// The answer.
    pub parts: Vec<ContentPart>,
    /// The answer as a value, if the tool gives one.
    pub structured: Option<Value>,
    /// Whether it could not do what it was asked for.
    pub is_error: bool,
}

/// A message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptMessage {
    /// Whether the model said it, rather than the user.
    pub from_model: bool,
    /// What is said.
    pub part: ContentPart,
}

impl CallOutcome {
    /// An answer that somebody else gives in the tool's place: a whole result, its content blocks, one of them, or a
    /// text. Anything else is shown as the JSON that it is.
    pub fn given(answer: &Value) -> Self {
        let text = |text: String| Self {
            parts: vec![ContentPart::Text(text)],
            structured: None,
            is_error: false,
        };
        let result = match answer {
            Value::String(plain) => return text(plain.clone()),
            Value::Array(_) => json!({"content": answer}),
            Value::Object(fields) if fields.contains_key("type") => json!({"content": [answer]}),
            other => other.clone(),
        };
        let is_result =
            result.get("content").is_some() || result.get("structuredContent").is_some();
        match serde_json::from_value::<CallToolResult>(result) {
            Ok(result) if is_result => outcome(result),
            _ => text(answer.to_string()),
        }
    }
}

pub(crate) fn outcome(result: CallToolResult) -> CallOutcome {
    CallOutcome {
        parts: result.content.into_iter().filter_map(part).collect(),
        structured: result.structured_content,
        is_error: result.is_error.unwrap_or_default(),
    }
}

pub(crate) fn messages(result: GetPromptResult) -> Vec<PromptMessage> {
    let message = |said: rmcp::model::PromptMessage| {
        let from_model = said.role == Role::Assistant;
        Some(PromptMessage { from_model, part: part(said.content)? })
    };
    result.messages.into_iter().filter_map(message).collect()
}

pub(crate) fn contents(result: ReadResourceResult) -> Vec<ResourceContent> {
    result.contents.into_iter().filter_map(resource).collect()
}

/// A piece, unless it is of a kind that this program has never heard of.
fn part(block: ContentBlock) -> Option<ContentPart> {
    Some(match block {
        ContentBlock::Text(text) => ContentPart::Text(text.text),
        ContentBlock::Image(image) => {
            ContentPart::Image { media_type: image.mime_type, data: image.data }
        }
        ContentBlock::Audio(audio) => {
            ContentPart::Audio { media_type: audio.mime_type, data: audio.data }
        }
        ContentBlock::Resource(embedded) => ContentPart::Resource(resource(embedded.resource)?),
        ContentBlock::ResourceLink(link) => ContentPart::Link {
            uri: link.uri,
            name: link.name,
            mime: link.mime_type,
            description: link.description,
        },
        _ => return None,
    })
}

fn resource(contents: ResourceContents) -> Option<ResourceContent> {
    Some(match contents {
        ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
            ResourceContent { uri, mime: mime_type, body: Body::Text(text) }
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            ResourceContent { uri, mime: mime_type, body: Body::Blob(blob) }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_in_the_tools_place_is_a_text_blocks_or_a_result() {
        let block = json!({"type": "text", "text": "new"});
        for (given, is_error) in [
            (json!("new"), false),
            (json!([block]), false),
            (block.clone(), false),
            (json!({"content": [block]}), false),
            (json!({"content": [block], "isError": true}), true),
        ] {
            let outcome = CallOutcome::given(&given);
            assert_eq!(outcome.parts, [ContentPart::Text("new".to_owned())], "{given}");
            assert_eq!(outcome.is_error, is_error, "{given}");
        }
        for odd in [json!({"a": 1}), json!(3), json!([1]), json!({"type": "nonsense"})] {
            let outcome = CallOutcome::given(&odd);
            assert_eq!(outcome.parts, [ContentPart::Text(odd.to_string())], "{odd}");
        }
        let value = CallOutcome::given(&json!({"structuredContent": {"a": 1}, "content": []}));
        assert_eq!((value.parts.len(), value.structured), (0, Some(json!({"a": 1}))));
        assert!(CallOutcome::given(&json!([])).parts.is_empty(), "nothing is an answer too");
    }
}
