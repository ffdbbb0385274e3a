//! What the server was asked.

use hyper::http::request::Parts;
use serde_json::Value;

/// One question.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The HTTP method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The headers, with their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; `null` if it is not JSON.
    pub body: Value,
}

impl Recorded {
    pub(super) fn new(head: &Parts, body: &[u8]) -> Self {
        let headers = head.headers.iter().map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        });
        Self {
            method: head.method.to_string(),
            path: head.uri.path().to_owned(),
            headers: headers.collect(),
            body: serde_json::from_slice(body).unwrap_or_default(),
        }
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// All text of the last message, in either protocol: the user's prompt, or tool results.
    pub fn last_said(&self) -> String {
        let last = self.body["messages"].as_array().and_then(|messages| messages.last());
        let mut texts = Vec::new();
        collect(last.map_or(&Value::Null, |message| &message["content"]), &mut texts);
        texts.join("\n")
    }

    /// Whether the answer shall come as a stream.
    pub(super) fn streams(&self) -> bool {
        self.body["stream"] == true
    }
}

fn collect<'a>(content: &'a Value, texts: &mut Vec<&'a str>) {
    match content {
        Value::String(text) => texts.push(text),
        Value::Array(blocks) => blocks.iter().for_each(|block| {
            collect(&block["text"], texts);
            collect(&block["content"], texts);
        }),
        _ => {}
    }
}
