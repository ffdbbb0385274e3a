//! Changes on disk during a session: settings, and files that hooks watch.

use std::path::PathBuf;

use ona_hooks::Fired;
use ona_policy::Scope;
use ona_store::{Step, StoreError};
use ona_types::hook::{ConfigSource, HookDetail};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::session::Session;

impl Session {
    /// Reloads changed settings, between turns and never within one (S0 §4.4). A ConfigChange hook can refuse a change,
    /// except to managed settings. With `without_hooks` no hook runs. Returns whether a change applies.
    pub(crate) async fn reload_settings(
        &mut self,
        without_hooks: bool,
        cancel: &CancellationToken,
    ) -> Result<bool, StoreError> {
        let changes = self.gate.governance.changed_settings();
        if changes.is_empty() && !self.gate.governance.may_be_agreed()? {
            return Ok(false);
        }
        let mut refused = Vec::new();
        for (scope, file) in &changes {
            let source = match scope {
                Scope::Managed => ConfigSource::PolicySettings,
                Scope::User => ConfigSource::UserSettings,
                Scope::Local => ConfigSource::LocalSettings,
                _ => ConfigSource::ProjectSettings,
            };
            let name = file.display().to_string();
            let detail = HookDetail::ConfigChange { source, file_path: Some(name.clone()) };
            let fired = match without_hooks {
                true => Fired::default(),
                false => self.gate.fire(detail, None, cancel).await,
            };
            let denied = fired.denies() && *scope != Scope::Managed;
            if denied {
                self.warn(format!(
                    "{name} has changed; the change was refused: {}",
                    fired.denial()
                ));
                refused.push(file.clone());
            }
            let detail = json!({"source": source, "file": name, "refused": denied});
            let event = Some(("settings.changed", &detail));
            let step = Step { hooks: &fired.rows, event, ..Step::default() };
            self.gate.store().keep_step(self.gate.seat(), &step)?;
        }
        if !changes.is_empty() && refused.len() == changes.len() {
            return Ok(false);
        }
        let seat = self.gate.seat().clone();
        // The command that wrote it says so itself.
        let is_own = |file: &PathBuf| self.gate.governance.was_written(file);
        let own: Vec<PathBuf> =
            changes.iter().map(|(_, file)| file.clone()).filter(is_own).collect();
        match self.gate.governance.reload(&seat, &refused) {
            Ok(()) => {
                let files =
                    changes.iter().map(|(_, file)| file).filter(|file| !refused.contains(file));
                for file in files {
                    let so = match self.gate.governance.acts_wholly(file) {
                        true if own.contains(file) => continue,
                        true => "the new settings apply now",
                        false => {
                            "what it forbids applies now; what it permits, runs or no longer forbids waits for \
                             `ona trust` or the next start"
                        }
                    };
                    self.warn(format!("{} has changed; {so}", file.display()));
                }
                for warning in &self.gate.governance.warnings {
                    self.warn(warning.clone());
                }
                Ok(true)
            }
            Err(why) => {
                self.warn(format!(
                    "settings have changed, but cannot be used; the old ones stay: {why}"
                ));
                Ok(false)
            }
        }
    }

    /// Shows a warning to the user.
    pub(crate) fn warn(&self, text: String) {
        self.gate.front.warn(text);
    }
}

impl Agent {
    /// Applies settings that changed since the last turn.
    pub(crate) async fn reload_settings(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        if self.session.reload_settings(self.options.without_hooks, cancel).await? {
            self.watch_files();
        }
        Ok(())
    }

    /// Fires FileChanged for the files that hooks match, and for those that hooks asked to watch.
    pub(crate) async fn fire_file_changes(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        self.session.gate.find_workspace();
        for (file, event) in self.watch.changes() {
            let detail = HookDetail::FileChanged { file_path: file.display().to_string(), event };
            let fired = self.fire(detail, cancel).await;
            self.commit(&Step { hooks: &fired.rows, ..Step::default() })?;
            self.take_watch_paths(&fired);
        }
        Ok(())
    }

    /// The watch paths of a hook replace the earlier ones.
    pub(crate) fn take_watch_paths(&mut self, fired: &Fired) {
        if let Some(paths) = &fired.watch_paths {
            self.watch_paths =
                paths.iter().map(PathBuf::from).filter(|path| path.is_absolute()).collect();
        }
        self.watch_files();
    }

    /// Watches the names in FileChanged matchers, in the working directory and the project directory, and the paths
    /// that hooks named.
    fn watch_files(&mut self) {
        let place = self.session.gate.place();
        let names = self.session.gate.governance.hooks.watched_names();
        let files = [&place.project_dir, &place.cwd]
            .into_iter()
            .flat_map(|dir| names.iter().map(move |name| dir.join(name)))
            .chain(self.watch_paths.iter().cloned());
        self.watch.keep_to(files);
    }
}
