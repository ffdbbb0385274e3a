//! A prompt on a line of `--input-format stream-json`: a `user` message of the Anthropic API.

use ona_tools::{AttachError, attach_pdf, attach_picture};
use ona_types::Attachment;
use serde_json::Value;

/// What a line says.
#[derive(Debug, PartialEq)]
pub(super) struct Prompt {
    pub(super) text: String,
    pub(super) attachments: Vec<Attachment>,
    /// The message's content as it came.
    pub(super) content: Value,
}

/// Why a line is not a prompt.
#[derive(Debug, thiserror::Error)]
pub(super) enum PromptError {
    #[error("invalid JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("its type is {0}, not \"user\"")]
    Type(String),
    #[error("its role is {0}, not \"user\"")]
    Role(String),
    #[error("its message has no content")]
    NoContent,
    #[error("its content is empty")]
    Empty,
    #[error("unknown block type {0}; supported are text, image and document")]
    Block(String),
    #[error("invalid {block}: {cause}")]
    Source { block: String, cause: SourceError },
}

/// Why a block cannot be attached.
#[derive(Debug, thiserror::Error)]
pub(super) enum SourceError {
    #[error("its source has no `{0}`")]
    Missing(&'static str),
    #[error("its URL must begin with http:// or https://")]
    Scheme,
    #[error("unknown source type {0}; supported are base64 and url")]
    Type(String),
    #[error(transparent)]
    Attach(#[from] AttachError),
}

impl Prompt {
    /// Reads a line; nothing if it is blank.
    pub(super) fn read(line: &str) -> Result<Option<Self>, PromptError> {
        if line.trim().is_empty() {
            return Ok(None);
        }
        let mut value: Value = serde_json::from_str(line)?;
        if value["type"] != "user" {
            return Err(PromptError::Type(value["type"].to_string()));
        }
        let role = &value["message"]["role"];
        if !role.is_null() && role != "user" {
            return Err(PromptError::Role(role.to_string()));
        }
        let content = value["message"]["content"].take();
        let (mut texts, mut attachments) = (Vec::new(), Vec::new());
        match &content {
            Value::String(text) => texts.push(text.as_str()),
            Value::Array(blocks) => {
                for block in blocks {
                    match (block["type"].as_str(), block["text"].as_str()) {
                        (Some("text") | None, Some(text)) => texts.push(text),
                        _ => attachments.push(attachment(block)?),
                    }
                }
            }
            _ => return Err(PromptError::NoContent),
        }
        if attachments.is_empty() && texts.iter().all(|text| text.trim().is_empty()) {
            return Err(PromptError::Empty);
        }
        let text = texts.join("\n");
        Ok(Some(Self { text, attachments, content }))
    }
}

/// A picture or a document.
fn attachment(block: &Value) -> Result<Attachment, PromptError> {
    type Attach = fn(&str) -> Result<Attachment, AttachError>;
    let (attach, by_url): (Attach, fn(String) -> Attachment) = match block["type"].as_str() {
        Some("image") => (attach_picture, |url| Attachment::ImageUrl { url }),
        Some("document") => (attach_pdf, |url| Attachment::DocumentUrl { url }),
        _ => return Err(PromptError::Block(block["type"].to_string())),
    };
    let source = &block["source"];
    let word = |key: &'static str| source[key].as_str().ok_or(SourceError::Missing(key));
    let attached = || match source["type"].as_str() {
        Some("base64") => Ok(attach(word("data")?)?),
        Some("url") => {
            let url = word("url")?;
            if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
                return Err(SourceError::Scheme);
            }
            Ok(by_url(url.to_owned()))
        }
        _ => Err(SourceError::Type(source["type"].to_string())),
    };
    attached().map_err(|cause| PromptError::Source { block: block["type"].to_string(), cause })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_input() {
        let text = |line: &str| Prompt::read(line).map(|prompt| prompt.map(|prompt| prompt.text));
        let line =
            r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"a"}]}}"#;
        assert_eq!(text(line).unwrap().as_deref(), Some("a"));
        let line = r#"{"type":"user","message":{"content":"b"}}"#;
        assert_eq!(text(line).unwrap().as_deref(), Some("b"));
        assert_eq!(text(" ").unwrap(), None);
        for bad in ["{", "{\"type\":\"x\"}", "{\"type\":\"user\"}"] {
            assert!(text(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_cannot_be_attached_is_named() {
        for (block, why) in [
            (r#"{"type":"audio"}"#, "unknown block type \"audio\"; supported are text"),
            (r#"{"type":"text"}"#, "unknown block type \"text\""),
            (r#"{"type":"image"}"#, "unknown source type null"),
            (r#"{"type":"image","source":{"type":"base64"}}"#, "its source has no `data`"),
            (r#"{"type":"image","source":{"type":"base64","data":"AA=="}}"#, "not a PNG"),
            (r#"{"type":"document","source":{"type":"base64","data":"AA=="}}"#, "not a PDF"),
            (r#"{"type":"image","source":{"type":"url","url":"file:///a"}}"#, "http://"),
        ] {
            let line = format!(r#"{{"type":"user","message":{{"content":[{block}]}}}}"#);
            let refused = Prompt::read(&line).unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
