//! What is heard of an answer while it is being made.

use std::time::Duration;

use serde_json::Value;

/// One thing heard. Nothing of it counts until the whole answer is there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Live<'a> {
    /// An answer begins.
    Started {
        /// The provider's id for it.
        id: &'a str,
        /// The model that gives it.
        model: &'a str,
    },
    /// A piece of text.
    Text(&'a str),
    /// A piece of the model's thinking.
    Thinking(&'a str),
    /// A piece of a call's input; the first one is empty and says that there is a call.
    ToolInput {
        /// Which block of the answer it belongs to.
        index: u64,
        /// The tool.
        name: &'a str,
        /// The piece, of JSON text.
        fragment: &'a str,
    },
    /// The stream event behind it, in the shape of the Anthropic API whoever is asked; it comes before what
    /// was made of it.
    Raw(&'a Value),
    /// The attempt failed, and after a wait there will be another.
    Retry {
        /// Which retry that will be, from 1.
        attempt: u32,
        /// How many there may be.
        max_retries: u32,
        /// How long the wait is.
        delay: Duration,
        /// The HTTP status, where there was one.
        status: Option<u16>,
        /// What went wrong.
        error: &'a str,
    },
    /// What was heard since [`Live::Started`] is void: the answer starts again.
    Void,
}

/// Who listens.
pub(crate) type Listener<'a> = dyn FnMut(Live<'_>) + Send + 'a;

/// A JSON object with a line for each key, and for each element of an array.
#[cfg(test)]
pub(crate) fn lines(value: &Value) -> String {
    let mut lines = Vec::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        match value {
            Value::Array(elements) => {
                lines.extend(elements.iter().map(|element| format!("{key}: {element}")));
            }
            other => lines.push(format!("{key}: {other}")),
        }
    }
    lines.join("\n")
}
