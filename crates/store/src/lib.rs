//! The record: one SQLite file that only this crate accesses.
//!
//! A [`Store`] is the one writer a process has. Every change is a typed transaction named for what it
//! means (S0 §4.8), begun with `BEGIN IMMEDIATE` and durable when it returns. There is no generic
//! "execute", and no transaction can stay open while something else runs: none of them is handed out.
//!
//! Many processes may share the file. A writer that finds it locked waits and tries again for as long
//! as `busy_timeout` says.
//!
//! ```
//! # let dir = std::env::temp_dir().join(format!("ona-store-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&dir).unwrap();
//! use ona_store::{Join, Store};
//! let store = Store::open(&dir.join("agent.db")).unwrap();
//! let seat = store.join(&Join { project_dir: "/tmp/project", conversation: None }).unwrap();
//! assert!(store.transcript(&seat.session).unwrap().is_empty());
//! # std::fs::remove_dir_all(&dir).unwrap();
//! ```

#![allow(clippy::disallowed_methods, reason = "this is the crate that sees SQLite")]

mod agents;
mod behaviour;
mod call_ids;
mod changes;
mod conversations;
mod error;
mod foreign;
mod inspect;
mod intents;
mod look;
mod memories;
mod phases;
mod plans;
mod prompts;
mod prune;
mod removal;
mod rows;
mod schema;
mod sessions;
mod settings;
mod store;
mod story;
mod tasks;
mod tool_calls;
mod trace;
mod transcript;
mod trust;
mod turns;
mod vacuum;

pub use agents::{AgentRun, LeftWorktree, NewAgent, Role};
pub use behaviour::{
    GenerationRow, NewGeneration, NewTest, PlanApproval, ReportRow, RunRow, TestFacts, TestRow,
};
pub use conversations::{Join, Seat};
pub use error::StoreError;
pub use foreign::{ForeignCall, HeardHook, is_foreign};
pub use inspect::{Finding, Inspection, Level, Progress, RunningCall, Watch, inspect};
pub use intents::{ScopeRequest, Selection};
pub use memories::{
    Author, Changed, ImportedMemory, Memory, MemoryChange, MemoryHit, MemoryRow, Saved, Within,
    WrittenBy,
};
pub use phases::{PhaseEvent, Standing, Steering};
pub use plans::{PlanMoved, PlanRow};
pub use prompts::{DayUse, Denial, FileHistoryRow, PromptRow};
pub use prune::{Prunable, Prune, Pruned, Selected};
pub use schema::{ForeignSchema, LATEST_MIGRATION};
pub use sessions::{Found, Hit, NewFork, NewSession, SessionRow};
pub use store::Store;
pub use story::{CallStory, HookStory, LogLine};
pub use tasks::{TaskRow, UnfinishedTask};
pub use tool_calls::{CallOutcome, CallStart, Decision, GateRow, StartedCall};
pub use transcript::{EntryView, StoredEntry};
pub use vacuum::Compacted;

pub use turns::{ModelCall, Spent, Step};

#[cfg(test)]
mod growth;

/// What tests of several modules share.
#[cfg(test)]
mod tests {
    use ona_types::{ContentBlock, Entry, EntryType};

    use crate::{NewSession, Seat, Store};

    pub(crate) fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        (dir, store)
    }

    pub(crate) fn new<'a>(project_dir: &'a str, name: Option<&'a str>) -> NewSession<'a> {
        NewSession { project_dir, conversation: None, id: None, origin: "headless", name }
    }

    pub(crate) fn say(store: &Store, seat: &Seat, text: &str) {
        let block = [ContentBlock::Text { text: text.into() }];
        store.append(&seat.session, &[Entry::message(EntryType::User, "u", &block)]).unwrap();
    }
}
