//! Intents (S2, S4): no change without one.
//!
//! It reads and writes the files under `.orchestration/` and knows neither sessions nor the record: which intent a
//! session works for, and what happens to a decision, is up to the engine.

pub mod adopt;
pub mod context;
pub mod file;
pub mod gate;
pub mod history;
pub mod hook_policy;
pub mod ignore;
pub mod lessons;
pub mod lint;
pub mod map;
pub mod reconcile;
pub mod refusal;
pub mod scope;
pub mod scope_check;
mod select;
pub mod setup;
mod text;
mod workspace;
mod yaml;

pub use select::Selected;
pub use workspace::{Asked, Judged, Workspace};
