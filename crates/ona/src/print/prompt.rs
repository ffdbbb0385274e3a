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

impl Prompt {
    /// Reads a line; nothing if it is blank.
    pub(super) fn read(line: &str) -> Result<Option<Self>, String> {
        if line.trim().is_empty() {
            return Ok(None);
        }
        let mut value: Value =
            serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
        if value["type"] != "user" {
            return Err(format!("its type is {}, not \"user\"", value["type"]));
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
            _ => return Err("its message has no content".to_owned()),
        }
        if attachments.is_empty() && texts.iter().all(|text| text.trim().is_empty()) {
            return Err("its content is empty".to_owned());
        }
        let text = texts.join("\n");
        Ok(Some(Self { text, attachments, content }))
    }
}

/// A picture or a document.
fn attachment(block: &Value) -> Result<Attachment, String> {
    type Attach = fn(&str) -> Result<Attachment, AttachError>;
    let (attach, by_url): (Attach, fn(String) -> Attachment) = match block["type"].as_str() {
        Some("image") => (attach_picture, |url| Attachment::ImageUrl { url }),
        Some("document") => (attach_pdf, |url| Attachment::DocumentUrl { url }),
        _ => {
            return Err(format!(
                "unknown block type {}; supported are text, image and document",
                block["type"]
            ));
        }
    };
    let wrong = |why: String| format!("invalid {}: {why}", block["type"]);
    let source = &block["source"];
    let word =
        |key: &str| source[key].as_str().ok_or_else(|| wrong(format!("its source has no `{key}`")));
    match source["type"].as_str() {
        Some("base64") => attach(word("data")?).map_err(|error| wrong(error.to_string())),
        Some("url") => {
            let url = word("url")?;
            if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
                return Err(wrong("its URL must begin with http:// or https://".to_owned()));
            }
            Ok(by_url(url.to_owned()))
        }
        _ => Err(wrong(format!(
            "unknown source type {}; supported are base64 and url",
            source["type"]
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_input() {
        let text = |line: &str| Prompt::read(line).map(|prompt| prompt.map(|prompt| prompt.text));
        let line =
            r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"a"}]}}"#;
        assert_eq!(text(line), Ok(Some("a".to_owned())));
        let line = r#"{"type":"user","message":{"content":"b"}}"#;
        assert_eq!(text(line), Ok(Some("b".to_owned())));
        assert_eq!(text(" "), Ok(None));
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
            let refused = Prompt::read(&line).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
