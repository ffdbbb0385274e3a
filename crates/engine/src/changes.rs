//! What changes on disk while a session goes on: settings, and files that hooks want to hear of.

use std::path::PathBuf;

use ona_hooks::Fired;
use ona_policy::Scope;
use ona_store::{Step, StoreError};
use ona_types::hook::{ConfigSource, HookDetail};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;

impl Agent {
    /// Between turns, never in one (S0 §4.4): settings that have changed are read again, unless a ConfigChange
    /// hook says no. Nobody says no to the organisation.
    pub(crate) async fn heed_settings(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        let changes = self.session.governance.changed_settings();
        if changes.is_empty() {
            return Ok(());
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
            let fired = self.fire(detail, cancel).await;
            let denied = fired.denies() && *scope != Scope::Managed;
            if denied {
                self.warn(format!("{name} has changed and stays as it was: {}", fired.denial()));
                refused.push(file.clone());
            }
            let detail = json!({"source": source, "file": name, "refused": denied});
            let event = Some(("settings.changed", &detail));
            self.keep(&Step { hooks: &fired.rows, event, ..Step::default() })?;
        }
        if refused.len() == changes.len() {
            return Ok(());
        }
        match self.session.read_settings_again(&refused) {
            Ok(warnings) => {
                let files =
                    changes.iter().map(|(_, file)| file).filter(|file| !refused.contains(file));
                for file in files {
                    self.warn(format!("{} has changed and applies from now on", file.display()));
                }
                for warning in warnings {
                    self.warn(warning);
                }
                self.watch_files();
            }
            Err(why) => self.warn(format!("settings have changed and stay as they were: {why}")),
        }
        Ok(())
    }

    /// FileChanged hooks hear of the files they name, and of those that hooks asked to be watched.
    pub(crate) async fn heed_files(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        self.session.find_workspace();
        for (file, event) in self.watch.changes() {
            let detail = HookDetail::FileChanged { file_path: file.display().to_string(), event };
            let fired = self.fire(detail, cancel).await;
            self.keep(&Step { hooks: &fired.rows, ..Step::default() })?;
            self.take_watch_paths(&fired);
        }
        Ok(())
    }

    /// A hook that names files to be watched replaces those that were named before.
    pub(crate) fn take_watch_paths(&mut self, fired: &Fired) {
        if let Some(paths) = &fired.watch_paths {
            self.watch_paths =
                paths.iter().map(PathBuf::from).filter(|path| path.is_absolute()).collect();
        }
        self.watch_files();
    }

    /// The names in the matchers of FileChanged hooks, where the session is and in the project's directory, and
    /// what hooks named.
    fn watch_files(&mut self) {
        let place = &self.session.place;
        let names = self.session.governance.hooks.watched_names();
        let files = [&place.project_dir, &place.cwd]
            .into_iter()
            .flat_map(|dir| names.iter().map(move |name| dir.join(name)))
            .chain(self.watch_paths.iter().cloned());
        self.watch.keep_to(files);
    }
}
