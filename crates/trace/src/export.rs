//! The trace for other tools: agent-trace 0.1.0 records, Git AI notes, and ona's own records as they are.
//!
//! All of these are copies. The ledger stays the authority; a note that a rebase lost can be made again.

mod agent_trace;
mod git_ai;

pub use agent_trace::agent_trace;
pub use git_ai::{NoteFile, git_ai_note};

use serde_json::Value;

use crate::entry::TraceEntry;

/// An entry in the form of ona's ledger, whatever dialect it was written in.
pub fn json(entry: &TraceEntry) -> Value {
    serde_json::to_value(entry).unwrap_or_default()
}

/// An entry of a human: everybody else is an agent.
fn is_human(entry: &TraceEntry) -> bool {
    entry.actor.as_deref() == Some("human")
}
