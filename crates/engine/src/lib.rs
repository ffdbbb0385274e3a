//! Sessions, and the path of one tool call.
//!
//! [`Session::join`] finds a seat in the record; [`Session::call`] takes one call all the way: its start
//! is committed, its input validated, the tool run, the outcome committed, and only then handed back.
//! The engine never prints and reads neither terminal nor environment.

mod ask;
mod call;
mod doctor;
mod explain;
mod gate;
mod governance;
mod phase;
mod session;
pub mod settings;
mod trust;

pub use ask::{AskRequest, Asker, Human, HumanAnswer};
pub use call::{CallError, CallReport};
pub use doctor::examine;
pub use explain::Explanation;
pub use governance::{Config, GovernanceError};
pub use phase::{TransitionError, transition};
pub use session::{Engine, JoinRequest, Session};
pub use trust::{Brought, brought, repository_root};
