//! Facts about a tool that the gate and the session rely on.

use ona_mcp::Hints;
use ona_policy::{RuleFacts, RuleSubject};
use ona_types::{TaskId, ToolKind};
use serde_json::Value;

/// Who has to be asked before a tool runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Asks {
    /// Whatever the permission rules say.
    #[default]
    ByRules,
    /// Always a human, regardless of rules, modes and hooks.
    AHuman,
    /// A human, for an answer, unless a hook has already given it.
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

/// Facts about a tool that do not depend on its input. Each tool declares them in its own file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// What it does to the work tree.
    pub kind: ToolKind,
    /// What permission rules about it are matched against.
    pub rules: RuleSubject,
    /// Who has to be asked.
    pub asks: Asks,
    /// It is denied in planning without an approved plan (S0 §8.3), and in the mode `plan` (S0 §5.12).
    pub denied_in_planning: bool,
    /// The mode `acceptEdits` allows it inside the working directories (S0 §5.12).
    pub free_in_accept_edits: bool,
    /// It is offered only if there are MCP servers.
    pub needs_servers: bool,
    /// It is offered only if there are skills.
    pub needs_skills: bool,
    /// It may start agents.
    pub starts_agents: bool,
    /// Consecutive calls of it in one answer run in parallel.
    pub side_by_side: bool,
    /// It speaks to the user: it is not offered to programs.
    pub speaks_to_user: bool,
    /// It is not offered to subagents: they neither plan nor start agents.
    pub main_agent_only: bool,
    /// Its input is the answer that the operator's program waits for.
    pub gives_answer: bool,
    /// What it may do, as MCP clients are told.
    pub hints: Hints,
}

impl Facts {
    /// The defaults, with these hints.
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

    /// The facts that permission rules and modes need.
    pub const fn for_rules(&self) -> RuleFacts {
        RuleFacts {
            subject: self.rules,
            denied_in_plan: self.denied_in_planning,
            free_in_accept_edits: self.free_in_accept_edits,
        }
    }
}

/// A second subject for permission rules besides the tool itself, such as the server whose resource is read.
#[derive(Clone, Debug, PartialEq)]
pub struct AlsoRuled {
    /// The name that rules give it.
    pub name: String,
    /// Its facts for permission rules.
    pub facts: RuleFacts,
    /// The input that the rules are matched against.
    pub input: Value,
    /// How the call uses it, in words.
    pub used: &'static str,
    /// How much a ruling on it counts.
    pub counts: Counts,
}

/// How much a ruling on something that a call uses counts for the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// What a rule says of it counts.
    Rules,
    /// What a rule or the permission mode says.
    RulesAndMode,
    /// What a rule says. The call makes another one of it, which hooks and a human who is there judge themselves.
    AsCall,
    /// What a rule denies is left out, and the call goes on with the rest.
    UnlessLeftOut,
}

/// A task that a call would create or complete; TaskCreated and TaskCompleted hooks run first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskChange {
    /// What becomes of it.
    pub event: TaskEvent,
    /// Its id.
    pub id: String,
    /// What it is for.
    pub subject: String,
    /// What is left unchanged if a hook refuses it.
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
