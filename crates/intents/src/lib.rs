//! Intents (S2, S4): no change without one, no line without a trace.
//!
//! It reads and writes the files under `.orchestration/` and knows neither sessions nor the record: which intent a
//! session works for, and what happens to a decision, is up to the engine.

pub mod blame;
pub mod class;
pub mod context;
pub mod export;
pub mod file;
pub mod gate;
pub mod hook_policy;
pub mod ignore;
pub mod lessons;
pub mod lint;
pub mod map;
pub mod mutation;
pub mod ranges;
pub mod reconcile;
pub mod refusal;
pub mod scope;
mod select;
pub mod syntax;
mod text;
pub mod trace;
mod words;
mod workspace;
mod yaml;

pub use select::Selected;
pub use trace::{Ledger, TraceEntry};
pub use workspace::{Asked, Judged, Workspace};
