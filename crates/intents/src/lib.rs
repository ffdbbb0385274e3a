//! Intents (S2, S4): no change without one.
//!
//! A [`Workspace`] is a directory with `.orchestration/`: its intents ([`file`]), the hook policy ([`hook_policy`]) and
//! what may not be touched ([`ignore`]). [`gate`] judges a call by them, [`reconcile`] and [`adopt`] deal with changes
//! that no call made. Sessions and the record are unknown here: which intent a session works for, and what happens to a
//! decision, is decided above.

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
