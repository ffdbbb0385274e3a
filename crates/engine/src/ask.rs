//! The human: who answers when the rules say to ask.

use std::future::Future;
use std::pin::Pin;

use ona_types::{PermissionUpdate, RuleValue};
use serde_json::Value;

/// What the human is asked.
#[derive(Clone, Debug)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HumanAnswer {
    /// Yes; with rules to keep, if it is to be yes from now on.
    Allow {
        /// Rules to keep.
        always: Vec<PermissionUpdate>,
    },
    /// No; with something to tell the model.
    Deny {
        /// What to tell it.
        feedback: String,
    },
}

/// Somebody who can be asked.
pub trait Asker: Sync {
    /// Asks, and waits for the answer.
    fn ask<'a>(
        &'a self,
        request: &'a AskRequest,
    ) -> Pin<Box<dyn Future<Output = HumanAnswer> + Send + 'a>>;
}

/// Who stands behind a session.
#[derive(Clone, Copy)]
pub enum Human<'a> {
    /// The operator calls the tool directly (`--eval`): whatever would be asked is a yes.
    Operator,
    /// Nobody: whatever would be asked is a no.
    Nobody,
    /// Somebody at a terminal.
    Present(&'a dyn Asker),
}
