//! Ids are newtypes, so that one cannot be passed where another is meant.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::{NoContext, Timestamp, Uuid};

use crate::hash::ContentHash;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// A fresh id. Version 7 UUIDs sort by the time they were made.
            pub fn generate() -> Self {
                Self(format!(concat!($prefix, "{}"), fresh().simple()))
            }

            /// Wraps an id that came from elsewhere, unchecked: rows made by hand are valid too.
            pub fn from_existing(id: impl Into<String>) -> Self {
                Self(id.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The id as a name in a directory. Ids come from elsewhere too: one that is no plain name, such as `..` or
            /// a path, is replaced by its hash.
            pub fn file_name(&self) -> String {
                match is_plain_name(&self.0) {
                    true => self.0.clone(),
                    false => hashed("id", &self.0),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

/// The longest plain name, in bytes: a file name has at most 255.
const MAX_NAME: usize = 200;

/// Whether a text can be the name of a file as it is, and means nothing else to the file system.
pub fn is_plain_name(text: &str) -> bool {
    let is_odd = |c: char| matches!(c, '/' | '\\') || c.is_control();
    (1..=MAX_NAME).contains(&text.len()) && !text.starts_with('.') && !text.contains(is_odd)
}

/// A plain name for a text that is none; equal texts have the same.
pub fn hashed(prefix: &str, text: &str) -> String {
    format!("{prefix}-{}", &ContentHash::of(text.as_bytes()).as_str()[..32])
}

/// A fresh UUID. A clock that is set to before 1970 while the program runs is no reason to panic.
fn fresh() -> Uuid {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(_) => Uuid::now_v7(),
        Err(_) => Uuid::new_v7(Timestamp::from_unix(NoContext, 0, 0)),
    }
}

/// A fresh UUID as text, for ids without a type of their own.
pub fn fresh_uuid() -> String {
    fresh().to_string()
}

ids! {
    /// `conversations.id`: one line of work in one project directory.
    ConversationId = "conv_";
    /// `sessions.session_id`: one context within a conversation; a subagent has its own.
    SessionId = "sess_";
    /// Names one tool call in `tool_use`, `tool_result`, hooks and permission log.
    ToolUseId = "toolu_";
    /// Names one background task.
    TaskId = "task_";
}

impl TaskId {
    /// The id of the background task that a call starts; it is known before the task starts.
    pub fn of_call(call: &ToolUseId) -> Self {
        let id = call.as_str().strip_prefix("toolu_").unwrap_or(call.as_str());
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        Self(format!("task_{}", id.chars().take(80).map(plain).collect::<String>()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_component_of_a_path_whatever_it_says() {
        let long = "x".repeat(5000);
        let odd = [
            "", ".", "..", "../..", "/", "/etc", "a/b", "a/../..", "a\\b", ".hidden", "a\0b",
            "a\nb", &long,
        ];
        let mut names = std::collections::BTreeSet::new();
        for id in odd {
            let name = SessionId::from_existing(id).file_name();
            assert!(is_plain_name(&name) && !name.contains(".."), "{id:?}: {name}");
            assert!(names.insert(name), "{id:?}");
        }
        for plain in ["sess_1", "0197-uuid", "claude_code:x", "Grüße 1", "a..b"] {
            assert_eq!(SessionId::from_existing(plain).file_name(), plain);
        }
    }
}
