//! The trace for other tools: agent-trace 0.1.0 records, Git AI notes, and ona's own records as they are.
//!
//! All of these are copies. The ledger stays the authority; a note that a rebase lost can be made again.

mod agent_trace;
mod git_ai;

use std::collections::HashSet;

use serde_json::Value;

use crate::entry::TraceEntry;
pub use agent_trace::agent_trace;
pub use git_ai::{NoteFile, git_ai_note};

/// An entry in the form of ona's ledger, whatever dialect it was written in.
pub fn json(entry: &TraceEntry) -> Value {
    serde_json::to_value(entry).unwrap_or_default()
}

/// The entries later than a commit: those made when a later commit was checked out. A rebase changes the ids of commits,
/// so an entry that is not older than the commit by the clock counts too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Since {
    /// The commit and all later ones.
    pub commits: HashSet<String>,
    /// The time of the commit in UTC, to the second.
    pub at: String,
}

impl Since {
    /// Whether an entry is later.
    pub fn includes(&self, entry: &TraceEntry) -> bool {
        let named = entry.revision_id.as_ref().is_some_and(|id| self.commits.contains(id));
        named || entry.timestamp.get(..self.at.len()).is_some_and(|at| at >= self.at.as_str())
    }
}

/// An entry of a human: everybody else is an agent.
fn is_human(entry: &TraceEntry) -> bool {
    entry.actor.as_deref() == Some("human")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_by_commit_or_by_the_clock() {
        let since = Since {
            commits: HashSet::from(["c2".to_owned()]),
            at: "2026-05-02T09:00:00".to_owned(),
        };
        let entry = |revision: &str, timestamp: &str| TraceEntry {
            revision_id: Some(revision.to_owned()),
            timestamp: timestamp.to_owned(),
            ..TraceEntry::new()
        };
        assert!(since.includes(&entry("c2", "2026-05-01T09:00:00.000Z")));
        assert!(since.includes(&entry("c1", "2026-05-02T09:00:00.000Z")));
        assert!(!since.includes(&entry("c1", "2026-05-02T08:59:59.999Z")));
    }
}
