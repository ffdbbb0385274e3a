//! What servers answer with, in plain types.

use rmcp::model::{
    CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult, ResourceContents, Role,
};
use serde_json::Value;

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
