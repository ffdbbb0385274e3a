//! Changes that the operator makes while a turn runs. The agent applies them before its next step, so that no step sees
//! two states.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ona_config::settings::{Layer, Saved};
use ona_types::{Effort, PermissionMode, PermissionUpdate};

use crate::model_handle::ModelHandle;

/// A change of a running agent.
#[derive(Clone, Debug)]
pub enum LiveChange {
    /// Of the permissions, or the mode.
    Permissions(PermissionUpdate),
    /// The same, and the file that it was written to already.
    Saved(Box<(PermissionUpdate, Option<Saved>)>),
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
pub struct LiveChanges(Arc<Mutex<Pending>>);

#[derive(Debug, Default)]
struct Pending {
    changes: Vec<LiveChange>,
    /// The model that they come to, those before them included.
    model: Option<ModelHandle>,
    /// The same for the mode.
    mode: Option<PermissionMode>,
}

impl LiveChanges {
    /// Adds a change.
    pub fn push(&self, change: LiveChange) {
        let mut pending = self.pending();
        match (&change, &mut pending.model) {
            (LiveChange::Model(handle), model) => {
                *model = Some(match model.take() {
                    Some(before) => before.replaced_by((**handle).clone()),
                    None => (**handle).clone(),
                });
            }
            (LiveChange::Effort(effort), Some(model)) => model.set_effort(*effort),
            (LiveChange::Thinking(budget), Some(model)) => model.set_thinking(*budget),
            (LiveChange::Permissions(PermissionUpdate::SetMode { mode, .. }), _) => {
                pending.mode = Some(*mode);
            }
            _ => {}
        }
        pending.changes.push(change);
    }

    /// The agent's model and mode, from which changes go on.
    pub fn start_from(&self, model: &ModelHandle, mode: PermissionMode) {
        let mut pending = self.pending();
        (pending.model, pending.mode) = (Some(model.clone()), Some(mode));
    }

    /// The same before a step of a turn: an approved plan and a skill change them too. What came in meanwhile counts on.
    pub(crate) fn go_on_from(&self, model: &ModelHandle, mode: PermissionMode) {
        let mut pending = self.pending();
        if pending.changes.is_empty() {
            (pending.model, pending.mode) = (Some(model.clone()), Some(mode));
        }
    }

    /// The model after all changes.
    pub fn model(&self) -> Option<ModelHandle> {
        self.pending().model.clone()
    }

    /// The mode after all changes.
    pub fn mode(&self) -> Option<PermissionMode> {
        self.pending().mode
    }

    pub(crate) fn take(&self) -> Vec<LiveChange> {
        std::mem::take(&mut self.pending().changes)
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
