//! The trace (S2, S4): one line for every change, who made it and why, and the way back from a line of a file.
//!
//! A change becomes a [`TraceEntry`] ([`mutation`]), which is appended to the [`Ledger`] of the workspace. [`blame`]
//! answers which entry wrote a line, [`reconcile`] finds changes that no entry explains, [`export`] converts entries
//! to the formats of other tools. Which changes are allowed is not decided here.

mod alignment;
pub mod blame;
pub mod class;
pub mod entry;
pub mod export;
pub mod ledger;
pub mod mutation;
pub mod patch;
pub mod paths;
pub mod ranges;
pub mod reconcile;
pub mod syntax;
pub mod time;
mod words;

pub use entry::TraceEntry;
pub use ledger::Ledger;
