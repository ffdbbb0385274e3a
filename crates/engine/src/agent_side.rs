//! The agent's side of a session: the model that is asked, what extends it, and the agents that its calls start.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ona_extensions::Extensions;
use ona_front::DeniedCall;

use crate::background_agents::BackgroundAgents;
use crate::identity::Identity;
use crate::model_handle::ModelHandle;
use crate::options::AgentOptions;

/// What stands behind the gate of a session.
#[derive(Clone, Debug)]
pub(crate) struct AgentSide {
    /// Agents of this process that work in the background.
    pub(crate) background: Arc<BackgroundAgents>,
    /// Who is asked: by turns, by hooks and by tools.
    pub(crate) model: Option<Arc<ModelHandle>>,
    /// How the agent here is to work, for agents that it starts.
    pub(crate) options: Option<Arc<AgentOptions>>,
    /// Agents, skills, commands and plugins.
    pub(crate) extensions: Arc<Mutex<Extensions>>,
    /// Calls beside the turn's own that were not let through: of agents, and of skills' commands.
    pub(crate) denials: Arc<Mutex<Vec<DeniedCall>>>,
    /// Who works here, where a call started it.
    pub(crate) identity: Option<Identity>,
    /// The user has asked for the skill that is applied here.
    pub(crate) by_user: bool,
}

impl AgentSide {
    /// Nobody works here yet.
    pub(crate) fn new(background: Arc<BackgroundAgents>) -> Self {
        Self {
            background,
            model: None,
            options: None,
            extensions: Arc::default(),
            denials: Arc::default(),
            identity: None,
            by_user: false,
        }
    }

    /// What extends the session.
    pub(crate) fn extensions(&self) -> MutexGuard<'_, Extensions> {
        self.extensions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls were not let through beside the turn's own.
    pub(crate) fn add_denials(&self, calls: impl IntoIterator<Item = DeniedCall>) {
        self.denials.lock().unwrap_or_else(PoisonError::into_inner).extend(calls);
    }

    /// Those of which nobody was told yet.
    pub(crate) fn take_denials(&self) -> Vec<DeniedCall> {
        std::mem::take(&mut *self.denials.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
