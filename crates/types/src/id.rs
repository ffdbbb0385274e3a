//! Ids are newtypes, so that one cannot be passed where another is meant.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// A fresh id. Version 7 UUIDs sort by the time they were made.
            pub fn generate() -> Self {
                Self(format!(concat!($prefix, "{}"), Uuid::now_v7().simple()))
            }

            /// Wraps an id that came from elsewhere, unchecked: rows made by hand are valid too.
            pub fn from_existing(id: impl Into<String>) -> Self {
                Self(id.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

/// A fresh UUID as text, for ids without a type of their own.
pub fn fresh_uuid() -> String {
    Uuid::now_v7().to_string()
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
