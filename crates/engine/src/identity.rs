//! The identity of a subagent.

use ona_types::hook::HookDetail;
use ona_types::{SessionId, TaskId};

/// The default agent type.
pub(crate) const GENERAL: &str = "general-purpose";

/// The identity of a subagent, as hooks get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The id of the session and of the agent.
    pub(crate) id: SessionId,
    /// The type of agent.
    pub(crate) agent_type: String,
    /// The name the caller gave it.
    pub(crate) name: Option<String>,
    /// Its task, if it runs in the background.
    pub(crate) task: TaskId,
}

/// The SubagentStart event.
pub(crate) fn start_event(identity: &Identity) -> HookDetail {
    HookDetail::SubagentStart {
        agent_id: identity.id.to_string(),
        agent_type: identity.agent_type.clone(),
    }
}

/// The SubagentStop event.
pub(crate) fn stop_event(identity: &Identity, before: bool, last: Option<String>) -> HookDetail {
    HookDetail::SubagentStop {
        stop_hook_active: before,
        agent_id: identity.id.to_string(),
        // S0 §6: transcripts are in the record.
        agent_transcript_path: String::new(),
        agent_type: identity.agent_type.clone(),
        last_assistant_message: last,
    }
}
