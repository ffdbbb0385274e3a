//! What a tool is, in the words that the gate and a session go by.

use ona_mcp::Hints;
use ona_policy::{RuleFacts, RuleSubject};
use ona_types::{TaskId, ToolKind};
use serde_json::Value;

/// Who has to be asked before a tool runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Asks {
    /// Whoever the rules name.
    #[default]
    ByRules,
    /// A human, whatever rules, modes and hooks say.
    AHuman,
    /// A human for an answer, unless a hook has given it.
    AnAnswer,
}

/// Whether a tool asks a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelNeed {
    /// No.
    #[default]
    None,
    /// If there is one.
    IfThereIsOne,
    /// Yes.
    Always,
}

/// What a tool is, whatever its input. Said once, in the tool's own file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// What it does to the work tree.
    pub kind: ToolKind,
    /// What permission rules about it are held against.
    pub rules: RuleSubject,
    /// Who has to be asked.
    pub asks: Asks,
    /// It is denied in planning without an approved plan (S0 §8.3), and in the mode `plan` (S0 §5.12).
    pub denied_in_planning: bool,
    /// The mode `acceptEdits` allows it inside the working directories (S0 §5.12).
    pub free_in_accept_edits: bool,
    /// It is of use only where there are MCP servers.
    pub needs_servers: bool,
    /// It is of use only where there are skills.
    pub needs_skills: bool,
    /// It may start agents.
    pub starts_agents: bool,
    /// Calls of it that stand next to each other in one answer run side by side.
    pub side_by_side: bool,
    /// It speaks to the user: it is not offered to programs.
    pub speaks_to_user: bool,
    /// It is not offered to agents that a call started: plans are made where the user is, and agents start no agents.
    pub main_agent_only: bool,
    /// Its input is the answer that the operator's program waits for.
    pub gives_answer: bool,
    /// What it may do, as clients of other agents are told.
    pub hints: Hints,
}

impl Facts {
    /// A tool of which nothing special is to be known, and which may do what its hints say.
    pub const fn plain(hints: Hints) -> Self {
        Self {
            kind: ToolKind::Other,
            rules: RuleSubject::Name,
            asks: Asks::ByRules,
            denied_in_planning: false,
            free_in_accept_edits: false,
            needs_servers: false,
            needs_skills: false,
            starts_agents: false,
            side_by_side: false,
            speaks_to_user: false,
            main_agent_only: false,
            gives_answer: false,
            hints,
        }
    }

    /// What permission rules and modes have to know of it.
    pub const fn for_rules(&self) -> RuleFacts {
        RuleFacts {
            subject: self.rules,
            denied_in_plan: self.denied_in_planning,
            free_in_accept_edits: self.free_in_accept_edits,
        }
    }
}

/// Something beside the tool itself that rules may be about: such as the server whose resource is read.
#[derive(Clone, Debug, PartialEq)]
pub struct AlsoRuled {
    /// The name that rules give it.
    pub name: String,
    /// What rules have to know of it.
    pub facts: RuleFacts,
    /// The input that they are held against.
    pub input: Value,
    /// How the call uses it, in words.
    pub used: &'static str,
    /// Whether it has to be asked about even where only the mode would ask.
    pub asks_by_mode: bool,
}

/// A task that a call would create or complete; TaskCreated and TaskCompleted hooks hear of it first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskChange {
    /// What becomes of it.
    pub event: TaskEvent,
    /// Its id.
    pub id: String,
    /// What it is for.
    pub subject: String,
    /// What stays as it was if a hook refuses it.
    pub unchanged: &'static str,
}

impl TaskChange {
    /// A background task that the call would start.
    pub(crate) fn started(id: &TaskId, subject: String) -> Self {
        Self {
            event: TaskEvent::Created,
            id: id.to_string(),
            subject,
            unchanged: "it was not started",
        }
    }
}

/// What becomes of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskEvent {
    /// It is created.
    Created,
    /// It is completed.
    Completed,
}
