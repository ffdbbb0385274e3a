//! Who works in a session, where a call started it.

use ona_types::hook::HookDetail;
use ona_types::{SessionId, TaskId};

/// The type of agent that is meant where nobody names one.
pub(crate) const GENERAL: &str = "general-purpose";

/// Who works in a session that a call started, as hooks are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The session's id, which is the agent's.
    pub(crate) id: SessionId,
    /// The type of agent.
    pub(crate) agent_type: String,
    /// What it is called.
    pub(crate) name: Option<String>,
    /// The task that it is, where it works in the background.
    pub(crate) task: TaskId,
}

/// Tells of an agent that began.
pub(crate) fn began(identity: &Identity) -> HookDetail {
    HookDetail::SubagentStart {
        agent_id: identity.id.to_string(),
        agent_type: identity.agent_type.clone(),
    }
}

/// Tells of an agent that has nothing more to do.
pub(crate) fn stopped(identity: &Identity, before: bool, last: Option<String>) -> HookDetail {
    HookDetail::SubagentStop {
        stop_hook_active: before,
        agent_id: identity.id.to_string(),
        // S0 §6: transcripts are in the record.
        agent_transcript_path: String::new(),
        agent_type: identity.agent_type.clone(),
        last_assistant_message: last,
    }
}
