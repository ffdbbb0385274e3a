//! The agent's side of a session: its model, its extensions and its subagents.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ona_extensions::Extensions;
use ona_front::DeniedCall;
use ona_tools::{AgentOrder, Calling, Waits};
use ona_types::ToolOutput;

use crate::background_agents::BackgroundAgents;
use crate::identity::Identity;
use crate::model_handle::ModelHandle;
use crate::options::AgentOptions;

/// The part of a session behind the gate.
#[derive(Clone, Debug)]
pub(crate) struct AgentSide {
    /// Agents in the background of this process.
    pub(crate) background: Arc<BackgroundAgents>,
    /// The model for turns, hooks and tools.
    pub(crate) model: Option<Arc<ModelHandle>>,
    /// The agent's options, for the agents it starts.
    pub(crate) options: Option<Arc<AgentOptions>>,
    /// Agents, skills, commands and plugins.
    pub(crate) extensions: Arc<Mutex<Extensions>>,
    /// Denied calls that are not the turn's own: of subagents and of commands in skills.
    pub(crate) denials: Arc<Mutex<Vec<DeniedCall>>>,
    /// The subagent's identity, if a call started this session.
    pub(crate) identity: Option<Identity>,
    /// The tools of the user's session, if the user asked for the skill that is applied. Its agent gets no others.
    pub(crate) for_user: Option<Vec<String>>,
    /// Starts the agents that are called here, if it is not this session.
    pub(crate) starter: Option<Arc<dyn StartsAgents>>,
}

/// Starts agents for a call that the gate has permitted.
pub(crate) trait StartsAgents: std::fmt::Debug + Send + Sync {
    /// Starts one.
    fn start<'a>(&'a self, order: AgentOrder, call: Calling<'a>) -> Waits<'a, ToolOutput>;
}

impl AgentSide {
    /// A side without a model and extensions.
    pub(crate) fn new(background: Arc<BackgroundAgents>) -> Self {
        Self {
            background,
            model: None,
            options: None,
            extensions: Arc::default(),
            denials: Arc::default(),
            identity: None,
            for_user: None,
            starter: None,
        }
    }

    /// The session's extensions.
    pub(crate) fn extensions(&self) -> MutexGuard<'_, Extensions> {
        self.extensions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds denied calls that are not the turn's own.
    pub(crate) fn add_denials(&self, calls: impl IntoIterator<Item = DeniedCall>) {
        self.denials.lock().unwrap_or_else(PoisonError::into_inner).extend(calls);
    }

    /// Removes and returns the denied calls that were not reported yet.
    pub(crate) fn take_denials(&self) -> Vec<DeniedCall> {
        std::mem::take(&mut *self.denials.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
