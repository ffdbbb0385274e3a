//! Ids are newtypes, so that one cannot be passed where another is meant.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::{NoContext, Timestamp, Uuid};

use crate::hash::ContentHash;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $fresh:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// A fresh id. Version 7 UUIDs sort by the time they were made.
            pub fn generate() -> Self {
                Self($fresh)
            }

            /// Wraps an id that came from elsewhere, unchecked: rows made by hand are valid too, and those of older records,
            /// whose sessions have ids with a prefix.
            pub fn from_existing(id: impl Into<String>) -> Self {
                Self(id.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The id as a name in a directory. Ids come from elsewhere too: one that is not a plain name, such as `..` or
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

/// A plain name for a text that is not one; equal texts give equal names.
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

fn prefixed(prefix: &str) -> String {
    format!("{prefix}{}", fresh().simple())
}

ids! {
    /// `conversations.id`: one line of work in one project directory.
    ConversationId = fresh_uuid();
    /// `sessions.session_id`: one context within a conversation; a subagent has its own.
    SessionId = fresh_uuid();
    /// Names one tool call in `tool_use`, `tool_result`, hooks and permission log.
    ToolUseId = prefixed("toolu_");
    /// Names one background task.
    TaskId = prefixed("task_");
}

impl SessionId {
    /// The id that a UUID in its usual form (8-4-4-4-12) names; `None` for any other text.
    pub fn from_uuid(text: &str) -> Option<Self> {
        let usual = text.len() == 36 && Uuid::try_parse(text).is_ok();
        usual.then(|| Self(text.to_owned()))
    }
}

impl TaskId {
    /// The id of the background task that a call starts; it is known before the task starts. Tasks of two calls have two
    /// ids: of an id that does not fit into a file name, its hash is a part.
    pub fn of_call(call: &ToolUseId) -> Self {
        let id = call.as_str().strip_prefix("toolu_").unwrap_or(call.as_str());
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if call.as_str().starts_with("toolu_") && id.len() <= 80 && id.chars().all(plain) {
            return Self(format!("task_{id}"));
        }
        let begin: String = id.chars().take(40).map(|c| if plain(c) { c } else { '_' }).collect();
        let hash = ContentHash::of(call.as_str().as_bytes()).to_string();
        Self(format!("task_{begin}-{}", &hash[..16]))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn sessions_and_conversations_are_uuids() {
        for id in [SessionId::generate().to_string(), ConversationId::generate().to_string()] {
            assert_eq!(SessionId::from_uuid(&id).map(|id| id.to_string()), Some(id));
        }
        for text in [
            "",
            "sess_019a",
            "own",
            "../../x",
            "{67e55044-10b1-426f-9247-bb680e5fe0c8}",
            "67e5504410b1426f9247bb680e5fe0c8",
            "urn:uuid:67e55044-10b1-426f-9247-bb680e5fe0c8",
            "67e55044-10b1-426f-9247-bb680e5fe0cg",
            "67e55044-10b1-426f-9247-bb680e5fe0c8\n",
        ] {
            assert_eq!(SessionId::from_uuid(text), None, "{text}");
        }
        let given = "67E55044-10B1-426F-9247-BB680E5FE0C8";
        assert_eq!(SessionId::from_uuid(given).unwrap().as_str(), given, "as it was given");
    }

    #[test]
    fn tasks_of_two_calls_have_two_ids() {
        let long = "c".repeat(200);
        let calls =
            ["a", "toolu_a", "a:1", "a/1", "a_1", &long, &format!("{long}c"), "../../a", "ä"];
        let tasks = calls.map(|call| TaskId::of_call(&ToolUseId::from_existing(call)));
        assert_eq!(HashSet::from(tasks.clone()).len(), calls.len(), "{tasks:?}");
        for task in &tasks {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            assert!(task.as_str().len() < 100 && task.as_str().bytes().all(plain), "{task}");
        }
        assert_eq!(tasks[1].as_str(), "task_a");
    }

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
