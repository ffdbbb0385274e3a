//! The gate: its stages, their answers about a call, and the one walk through them.
//!
//! The stages are implemented in `ona_gate::stages`. This module has their names and order ([`STAGES`]), the walk, and
//! the types that every crate may need: an [`Answer`], and the [`Permit`] without which no tool runs, no agent starts and no MCP
//! server is called. Only `walk` creates a permit.

mod walk;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use walk::{End, Judged, Judging, Mode, Permit, Said, Stage, Walked, WrongPermit, walk};

/// A stage of the gate, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageName {
    /// The input fits the tool's schema.
    Input,
    /// PreToolUse hooks.
    Hooks,
    /// The planning gate of S0 §8.3.
    Phase,
    /// The intent of the work, and what it owns (S2, S4).
    Intent,
    /// The permission rules of S0 §5.12.
    Rules,
    /// The human.
    Human,
    /// The sandbox that the call's command would run in.
    Sandbox,
    /// TaskCreated and TaskCompleted hooks for the task that the call would start or complete.
    Tasks,
}

/// The stages in the order they are asked. A call that passes all of them may run.
pub const STAGES: [StageName; 8] = [
    StageName::Input,
    StageName::Hooks,
    StageName::Phase,
    StageName::Intent,
    StageName::Rules,
    StageName::Human,
    StageName::Sandbox,
    StageName::Tasks,
];

impl StageName {
    /// The stage's name on the record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Hooks => "hooks",
            Self::Phase => "phase",
            Self::Intent => "intent",
            Self::Rules => "rules",
            Self::Human => "human",
            Self::Sandbox => "sandbox",
            Self::Tasks => "tasks",
        }
    }
}

/// A stage's verdict about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// No objection, and no approval.
    Pass,
    /// The stage cannot judge in this mode of the walk; its reason says why.
    Silent,
    /// For it.
    Allow,
    /// A human should decide.
    Ask,
    /// Against it.
    Deny,
}

impl Verdict {
    /// The word on the record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Silent => "silent",
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// Who may answer when a stage asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettledBy {
    /// Only the permission mode asks: a hook's yes is enough, also for an input that this hook has replaced.
    AnyYes,
    /// A human, or a PermissionRequest hook that was asked about this very input.
    #[default]
    AnAnswer,
    /// A human.
    AHuman,
}

/// One stage's answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Who answers.
    pub stage: StageName,
    /// What.
    pub verdict: Verdict,
    /// Why, in words.
    pub reason: String,
    /// Why, for programs: the rule, the hook, the file it comes from.
    pub detail: Value,
    /// Who may answer, if the verdict is [`Verdict::Ask`].
    #[serde(skip)]
    pub settled_by: SettledBy,
    /// What would change the verdict, in words; filled in only when a call is explained.
    #[serde(skip)]
    pub remedies: Vec<String>,
}

impl Answer {
    /// An answer without details.
    pub fn new(stage: StageName, verdict: Verdict, reason: impl Into<String>) -> Self {
        Self {
            stage,
            verdict,
            reason: reason.into(),
            detail: Value::Null,
            settled_by: SettledBy::default(),
            remedies: Vec::new(),
        }
    }

    /// Adds details.
    #[must_use]
    pub fn with(mut self, detail: Value) -> Self {
        self.detail = detail;
        self
    }

    /// Sets who may answer.
    #[must_use]
    pub fn settled_by(mut self, who: SettledBy) -> Self {
        self.settled_by = who;
        self
    }

    /// Sets what would change the verdict.
    #[must_use]
    pub fn remedied_by(mut self, remedies: impl IntoIterator<Item = String>) -> Self {
        self.remedies.extend(remedies);
        self
    }
}
