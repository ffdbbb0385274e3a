//! Changes that the operator makes while a turn runs. The agent applies them before its next step, so that no step sees
//! two states.

use std::sync::{Arc, Mutex, PoisonError};

use ona_config::settings::Layer;
use ona_types::{Effort, PermissionUpdate};

use crate::model_handle::ModelHandle;

/// A change of a running agent.
#[derive(Clone, Debug)]
pub enum LiveChange {
    /// Of the permissions, or the mode.
    Permissions(PermissionUpdate),
    /// A settings file that the operator has changed, as it is now.
    Written(Box<Layer>),
    /// Another model, of any provider.
    Model(Box<ModelHandle>),
    /// Another reasoning effort; `None` for the model's own.
    Effort(Option<Effort>),
    /// Another thinking budget; `None` for no thinking.
    Thinking(Option<u32>),
}

/// The changes that are not applied yet.
#[derive(Clone, Debug, Default)]
pub struct LiveChanges(Arc<Mutex<Vec<LiveChange>>>);

impl LiveChanges {
    /// Adds a change.
    pub fn push(&self, change: LiveChange) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(change);
    }

    pub(crate) fn take(&self) -> Vec<LiveChange> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
