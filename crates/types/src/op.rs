//! What passes between the core and whatever stands in front of it: operations in, events out.
//!
//! The core neither prints nor reads a terminal. A front-end shows [`Event`]s as it likes and sends
//! [`Op`]s back; a test is a front-end too.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{PermissionUpdate, RuleValue};

/// Something the front-end wants of the core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    /// The human answers a question.
    Answer {
        /// Which one.
        ask: u64,
        /// What is said.
        answer: HumanAnswer,
    },
    /// Stop what is going on.
    Interrupt,
}

/// Something the front-end is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A human has to decide; the core waits for [`Op::Answer`].
    Ask {
        /// The question's number.
        ask: u64,
        /// What is asked.
        request: AskRequest,
    },
    /// A hook has something to say to the user.
    HookMessage {
        /// What it says.
        text: String,
    },
    /// Something went wrong that stops nothing.
    Warning {
        /// What.
        text: String,
    },
}

/// What the human is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskRequest {
    /// The tool.
    pub tool: String,
    /// Its input, after hooks.
    pub input: Value,
    /// Why there is something to ask.
    pub reason: String,
    /// Rules that would answer it for good.
    pub suggestions: Vec<RuleValue>,
}

/// What the human says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "behavior", rename_all = "lowercase")]
pub enum HumanAnswer {
    /// Yes; with changes to keep, if it is to be yes from now on.
    Allow {
        /// Changes of the permissions.
        always: Vec<PermissionUpdate>,
    },
    /// No; with something to tell the model.
    Deny {
        /// What to tell it.
        feedback: String,
        /// Whether the agent should stop altogether.
        stop: bool,
    },
}

impl HumanAnswer {
    /// A no with a reason, after which the agent may go on.
    pub fn no(feedback: impl Into<String>) -> Self {
        Self::Deny { feedback: feedback.into(), stop: false }
    }
}
