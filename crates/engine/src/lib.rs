//! Sessions: turns, context, subagents and skills, behind one gate.
//!
//! [`Session`] is a gate ([`ona_gate::Gate`]) and the agent's side of it; [`Agent`] runs a session with a model.
//! The engine does not print, and does not read the terminal or the environment.

mod agent;
mod agent_memory;
mod agent_side;
mod agent_types;
mod answer_calls;
mod api_key_helper;
mod background_agents;
mod changed;
mod compact;
mod config_reload;
mod context_limit;
mod doctor;
mod forked_skill;
mod identity;
mod isolation;
mod judge;
mod live_changes;
pub mod memory;
mod model_choice;
mod model_context;
mod model_handle;
mod operator;
mod options;
mod partial;
mod prompt;
mod restored;
mod server_notices;
mod server_prompts;
mod services;
mod session;
mod session_builder;
mod session_extensions;
mod side_queries;
mod skill_reload;
mod skills;
mod structured;
mod subagents;
mod tasks;
pub mod test_author;
mod turn;
mod usage;
mod which_session;

pub use agent::{Agent, AgentError};
pub use agent_types::{RoleError, TypeError};
pub use api_key_helper::{API_KEY_HELPER, ApiKeyHelper, HelperOptions};
pub use background_agents::BackgroundAgents;
pub use compact::CompactError;
pub use context_limit::ContextLimit;
pub use doctor::examine;
pub use live_changes::{LiveChange, LiveChanges};
pub use model_choice::{ChoiceError, ModelWords};
pub use model_handle::{EffortSetting, FindModel, ModelHandle, SharedBudget, USUAL_THINKING};
pub use operator::AsideError;
pub use options::{AgentOptions, Shape};
pub use prompt::PromptOptions;
pub use session::{Engine, Session};
pub use session_builder::{
    ModelAccess, Prepared, RoleFrom, ServerOptions, SessionBuilder, StartError, Starter, Work,
};
pub use which_session::{Fork, SeatError, Which, find_session, session_of};
