//! Sessions, and the path of one tool call.
//!
//! [`Session::join`] finds a seat in the record; [`Session::call`] takes one call all the way: its start
//! is committed, its input validated, the tool run, the outcome committed, and only then handed back.
//! The engine never prints and reads neither terminal nor environment.

mod call;
mod doctor;
mod session;

pub use call::{CallError, CallReport};
pub use doctor::examine;
pub use session::{Engine, JoinRequest, Session};
