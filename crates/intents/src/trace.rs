//! `.orchestration/agent_trace.jsonl`: one line for every mutation, and for every one that failed or was refused.
//!
//! The ledger is only ever appended to. Each line of ona's carries the hash of the line of ona's before it, so
//! that a line that was changed, taken out or moved is found by [`Ledger::verify`]. Lines of other writers (S2's
//! record, S4's record, agent-trace) may occur in between: they are read, but are not part of the chain.
//!
//! A writer may be killed at any moment. What it leaves behind is at most one line without an end; the next
//! writer ends it and records its hash, so that it can be told from a damaged line.

mod dialect;
mod ledger;
mod read;
mod record;
#[cfg(test)]
mod tests;
mod time;
mod verify;

pub use dialect::{BadLine, Dialect, parse_line};
pub use ledger::{AppendError, Appended, LEDGER_PATH, Ledger, LedgerError};
pub use read::{ReadLine, Reader, Recent};
pub use record::{
    AgentAction, AstNode, AstStatus, CONCURRENT_MODIFICATION, ClassMismatch, ClassSource,
    DETAILS_DROPPED, FileChange, LineRange, ModifiedRange, MutationClass, NodeKind, RANGES_CUT,
    SCHEMA, ScopeValidation, ToolOrigin, TraceEntry,
};
pub use verify::{Finding, Verification};

pub(crate) use ledger::{PATIENCE, inside, own};
pub use time::now;
pub(crate) use time::seconds;
