//! Sessions, and the path of one tool call.
//!
//! [`Session::join`] finds a seat in the record; [`Session::call`] takes one call all the way: its start
//! is committed, its input validated, the tool run, the outcome committed, and only then handed back.
//! The engine never prints and reads neither terminal nor environment.

mod agent;
mod agent_memory;
mod announce;
mod aside;
mod call;
mod calls;
mod changes;
mod compact;
mod crew;
mod desk;
mod doctor;
mod explain;
pub mod extensions;
pub mod foreign;
mod gate;
pub use ona_repo::git;
mod governance;
pub mod instructions;
mod intents;
mod isolation;
mod judge;
mod kinds;
mod mcp;
pub mod memory;
pub mod own;
mod partial;
mod phase;
pub mod project;
mod prompt;
mod role;
pub mod servers;
mod session;
pub mod settings;
mod skills;
mod structured;
mod subagents;
mod tasks;
#[cfg(test)]
mod testing;
mod thread;
mod trust;
mod turn;
mod watch;

pub use agent::{Agent, AgentError, AgentOptions, FindModel, Mind, Purse, Wish};
pub use call::{CallError, CallReport};
pub use compact::Room;
pub use crew::Crew;
pub use doctor::examine;
pub use explain::Explanation;
pub use governance::{Config, GovernanceError};
pub use intents::vouch;
pub use mcp::{Deferral, ELICITATION, server_lines};
pub use phase::{TransitionError, transition};
pub use prompt::PromptOptions;
pub use session::{Engine, JoinRequest, Session, is_gone};
pub use structured::Shape;
pub use trust::{Agreement, Bringing, Brought, Judged, brought, name_of, repository_root};
