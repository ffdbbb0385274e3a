//! Sessions: the turns of an agent, its context, the agents and skills it uses, behind one gate.
//!
//! [`Session`] is a gate ([`gate::Gate`]) and the agent's side of it; [`Agent`] drives one with a model.
//! The engine never prints and reads neither terminal nor environment.

mod agent;
mod agent_memory;
mod agent_side;
mod agent_types;
mod answer_calls;
mod background_agents;
mod compact;
pub mod config;
mod config_reload;
mod doctor;
pub mod extensions;
pub mod foreign;
pub mod gate;
pub use ona_repo::git;
pub mod instructions;
mod isolation;
mod judge;
pub mod memory;
mod model_context;
pub mod own;
mod partial;
pub mod project;
mod prompt;
mod server_notices;
mod server_prompts;
pub mod servers;
mod session;
pub mod settings;
mod side_queries;
mod skills;
mod structured;
mod subagents;
mod tasks;
#[cfg(test)]
mod testing;
mod trust;
mod turn;

pub use agent::{Agent, AgentError, AgentOptions, FindModel, Mind, Purse, Wish};
pub use agent_types::{PlayError, TypeError};
pub use background_agents::BackgroundAgents;
pub use compact::Room;
pub use config::Config;
pub use doctor::examine;
pub use gate::call::{CallError, CallReport};
pub use gate::core::Core;
pub use gate::explain::Explanation;
pub use gate::governance::GovernanceError;
pub use gate::intents::vouch;
pub use gate::phase::{TransitionError, transition};
pub use gate::servers::callbacks::ELICITATION;
pub use gate::servers::{Connecting, Deferral, server_lines};
pub use gate::settle::is_gone;
pub use prompt::PromptOptions;
pub use session::{Engine, JoinRequest, Session};
pub use structured::Shape;
pub use trust::{Agreement, Bringing, Brought, Judged, brought, name_of, repository_root};
