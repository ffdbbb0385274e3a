//! Permission changes during a session.

use ona_policy::{Scope, Source};
use ona_store::{Seat, StoreError};
use ona_types::{PermissionUpdate, UpdateDestination};
use serde_json::{Map, Value};

use super::Governance;
use super::load::session_rules;
use ona_config::settings::{self, Layer, Saved};
use ona_config::trust;

/// Where an update of the permissions was saved.
pub struct Kept {
    /// The file, or the scope.
    pub place: String,
    /// A note for the user.
    pub remark: Option<String>,
}

/// Why an update of the permissions cannot be saved.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// The file cannot be changed.
    #[error(transparent)]
    File(#[from] settings::EditError),
    /// The record failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The settings do not allow the mode.
    #[error("{0}")]
    Mode(String),
    /// Only rules of managed settings count.
    #[error(
        "only the rules of managed settings apply (allowManagedPermissionRulesOnly): ask your administrator"
    )]
    ManagedRulesOnly,
}

impl Governance {
    /// Saves an update of the permissions and applies it. Returns where it was saved.
    pub fn update(&mut self, update: &PermissionUpdate, seat: &Seat) -> Result<Kept, UpdateError> {
        let saved = self.save(update)?;
        self.apply(update, saved, seat)
    }

    /// Writes an update of the permissions to its file, if it has one; it does not act yet.
    pub fn save(&self, update: &PermissionUpdate) -> Result<Option<Saved>, UpdateError> {
        if let PermissionUpdate::SetMode { mode, .. } = update
            && let Some(why) = self.basis.refuses(*mode)
        {
            return Err(UpdateError::Mode(why));
        }
        let about_rules = matches!(
            update,
            PermissionUpdate::AddRules { .. }
                | PermissionUpdate::ReplaceRules { .. }
                | PermissionUpdate::RemoveRules { .. }
        );
        if about_rules && self.managed_rules_only() {
            return Err(UpdateError::ManagedRulesOnly);
        }
        Ok(settings::save(update, &self.basis.roots)?)
    }

    /// Applies an update of the permissions that was written, or needs no file. Returns where it was saved.
    pub fn apply(
        &mut self,
        update: &PermissionUpdate,
        saved: Option<Saved>,
        seat: &Seat,
    ) -> Result<Kept, UpdateError> {
        let store = &self.core.store;
        let scope = match update.destination() {
            UpdateDestination::UserSettings => Scope::User,
            UpdateDestination::ProjectSettings => Scope::Project,
            UpdateDestination::LocalSettings => Scope::Local,
            UpdateDestination::Session => Scope::Session,
            UpdateDestination::CliArg => Scope::Cli,
        };
        let mut kept = scope.as_str().to_owned();
        let mut remark = None;
        if let Some(saved) = &saved {
            self.watch.seen(&saved.file);
            remark.clone_from(&saved.remark);
            kept = saved.file.display().to_string();
            if !trust::carry_over(saved, &self.basis.roots, store)? {
                kept.push_str(" (after the next start it needs `ona trust`)");
            }
        }
        let source = Source { scope, file: saved.map(|saved| saved.file) };
        let at = self.basis.layers.iter().position(|layer| layer.source == source).unwrap_or_else(
            || {
                let at = self
                    .basis
                    .layers
                    .iter()
                    .take_while(|layer| layer.source.scope <= scope)
                    .count();
                let (base, json) = (self.basis.roots.project_dir.clone(), Map::new());
                self.basis.layers.insert(at, Layer { source, base, json });
                at
            },
        );
        let layer = &mut self.basis.layers[at];
        let text = Value::Object(layer.json.clone()).to_string();
        let text = settings::edit::apply(&text, update)?;
        if let Ok(Value::Object(json)) = serde_json::from_str(&text) {
            layer.json = json;
        }
        if scope == Scope::Session {
            store.keep_snapshot(&session_rules(seat), &text)?;
        }
        if let PermissionUpdate::SetMode { mode, .. } = update {
            self.basis.mode = Some(*mode);
        }
        self.derive_again();
        Ok(Kept { place: kept, remark })
    }
}
