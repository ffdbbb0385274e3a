//! Operations that a front end sends to the core, and the human's answers.

use ona_types::{Attachment, PermissionUpdate, RuleValue};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An operation for the core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    /// A prompt from the human: a turn begins.
    Submit {
        /// What is said.
        prompt: String,
        /// Pictures and documents that come with it.
        #[serde(default)]
        attachments: Vec<Attachment>,
    },
    /// Resumes a turn that was cut short.
    GoOn,
    /// Compacts the model's context.
    Compact {
        /// What the summary should keep in mind.
        instructions: Option<String>,
    },
    /// The session is over.
    End,
    /// The human answers a question.
    Answer {
        /// Which one.
        ask: u64,
        /// What is said.
        answer: HumanAnswer,
    },
    /// Stop what is going on.
    Interrupt,
    /// Quit: stop what is running, and start nothing that is still queued.
    Quit,
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
    /// Rules that would answer it permanently.
    pub suggestions: Vec<RuleValue>,
}

/// What the human says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "behavior", rename_all = "lowercase")]
pub enum HumanAnswer {
    /// Yes; with changes of the permissions to keep, if it is to be yes from now on.
    Allow {
        /// Changes of the permissions.
        always: Vec<PermissionUpdate>,
        /// The input to run instead, such as the same questions with answers.
        #[serde(default)]
        input: Option<Value>,
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
    /// A yes to this once.
    pub fn yes() -> Self {
        Self::Allow { always: Vec::new(), input: None }
    }

    /// A no with a reason, after which the agent may go on.
    pub fn no(feedback: impl Into<String>) -> Self {
        Self::Deny { feedback: feedback.into(), stop: false }
    }
}
