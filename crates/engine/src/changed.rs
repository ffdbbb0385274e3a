//! Applying what the operator has changed while a turn runs.

use std::sync::Arc;

use ona_config::settings::Saved;
use ona_types::PermissionUpdate;

use crate::agent::Agent;
use crate::live_changes::{LiveChange, LiveChanges};
use crate::model_context::ModelContext;
use crate::model_handle::ModelHandle;

impl Agent {
    /// Where changes are put while a turn runs.
    pub fn changes(&self) -> LiveChanges {
        self.changes.clone()
    }

    /// Applies what the operator has changed.
    pub fn apply_changes(&mut self) {
        for change in self.changes.take() {
            match change {
                LiveChange::Permissions(update) => {
                    let saved = self.session.gate.governance.save(&update);
                    match saved {
                        Ok(saved) => self.apply_permissions(&update, saved),
                        Err(error) => self.warn(error.to_string()),
                    }
                }
                LiveChange::Saved(saved) => {
                    let (update, saved) = *saved;
                    self.apply_permissions(&update, saved);
                }
                LiveChange::Written(layer) => self.session.gate.governance.wrote(*layer),
                LiveChange::Model(model_handle) => self.use_model(*model_handle),
                LiveChange::Effort(effort) => {
                    self.change_model(|handle| handle.set_effort(effort));
                }
                LiveChange::Thinking(budget) => {
                    self.change_model(|handle| handle.set_thinking(budget));
                }
            }
        }
        self.changes.go_on_from(&self.model_handle, self.session.mode());
    }

    fn apply_permissions(&mut self, update: &PermissionUpdate, saved: Option<Saved>) {
        let seat = self.session.gate.seat().clone();
        match self.session.gate.governance.apply(update, saved, &seat) {
            Ok(kept) => {
                if let Some(remark) = kept.remark {
                    self.warn(remark);
                }
            }
            Err(error) => self.warn(error.to_string()),
        }
    }

    fn change_model(&mut self, change: impl FnOnce(&mut ModelHandle)) {
        let mut handle = ModelHandle::clone(&self.model_handle);
        change(&mut handle);
        self.replace_handle(handle);
    }

    /// Uses another model from now on.
    fn use_model(&mut self, new: ModelHandle) {
        let handle = self.model_handle.replaced_by(new);
        let other_provider = handle.model.provider != self.model_handle.model.provider;
        // A skill's model ends here too.
        self.model_before_skill = None;
        self.replace_handle(handle);
        if other_provider {
            // The history is kept in the words of the provider.
            let mut context = ModelContext::new(self.model_handle.model.provider);
            let (store, session) = (self.session.gate.store(), self.session.gate.record.session());
            match store.view_live(session, |row| context.read(row)) {
                Ok(()) => self.context = context,
                Err(error) => self.warn(format!("the conversation cannot be read: {error}")),
            }
        }
    }

    fn replace_handle(&mut self, handle: ModelHandle) {
        self.model_handle = Arc::new(handle);
        let model_handle = Arc::clone(&self.model_handle);
        self.session.change_side(|side| side.model = Some(model_handle));
    }
}
