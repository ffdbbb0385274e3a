//! Operations that a front end sends to the core, and the human's answers.

use ona_types::{Attachment, PermissionUpdate, RuleValue};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An operation for the core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    /// A prompt of the human: starts a turn.
    Submit {
        /// The prompt.
        prompt: String,
        /// Images and documents.
        #[serde(default)]
        attachments: Vec<Attachment>,
    },
    /// Continues an interrupted turn.
    Continue,
    /// Compacts the model's context.
    Compact {
        /// Instructions for the summary.
        instructions: Option<String>,
    },
    /// Ends the session.
    End,
    /// An answer of the human.
    Answer {
        /// The question.
        ask: u64,
        /// The answer.
        answer: HumanAnswer,
    },
    /// Stops the running operation.
    Interrupt,
    /// Stops the running operation and drops the queued ones.
    Quit,
}

/// What a question wants of the human.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wants {
    /// Whether the call may run.
    Permission,
    /// Answers to the questions in the input.
    Answers,
    /// Values for the form of an MCP server, which is in the input.
    Form,
}

/// A question to the human.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskRequest {
    /// What is wanted of them.
    pub wants: Wants,
    /// The tool.
    pub tool: String,
    /// Its input, after hooks.
    pub input: Value,
    /// Why it asks.
    pub reason: String,
    /// Rules that would answer it from now on.
    pub suggestions: Vec<RuleValue>,
}

/// An answer of the human.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "behavior", rename_all = "lowercase")]
pub enum HumanAnswer {
    /// Yes, with permission updates to keep.
    Allow {
        /// Permission updates.
        always: Vec<PermissionUpdate>,
        /// The input to run instead, such as the same questions with answers.
        #[serde(default)]
        input: Option<Value>,
    },
    /// No, with a message for the model.
    Deny {
        /// The message.
        feedback: String,
        /// Whether the agent should stop altogether.
        stop: bool,
    },
    /// No answer: nobody could be asked.
    Unasked {
        /// Why not.
        why: String,
    },
}

impl HumanAnswer {
    /// Yes, once.
    pub fn yes() -> Self {
        Self::Allow { always: Vec::new(), input: None }
    }

    /// No with a reason; the agent may continue.
    pub fn no(feedback: impl Into<String>) -> Self {
        Self::Deny { feedback: feedback.into(), stop: false }
    }

    /// Nobody could be asked.
    pub fn unasked(why: impl Into<String>) -> Self {
        Self::Unasked { why: why.into() }
    }
}
