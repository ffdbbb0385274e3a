//! What changes on disk while a session goes on: settings, and files that hooks want to hear of.

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
    /// Between turns, never in one (S0 §4.4): settings that have changed are read again, unless a ConfigChange
    /// hook says no; if no hook is to hear of it, none does. Nobody says no to the organisation. Says whether
    /// anything applies that did not.
    pub(crate) async fn heed_settings(
        &mut self,
        unheard: bool,
        cancel: &CancellationToken,
    ) -> Result<bool, StoreError> {
        let changes = self.gate.governance.changed_settings();
        if changes.is_empty() {
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
            let fired = match unheard {
                true => Fired::default(),
                false => self.gate.fire(detail, None, cancel).await,
            };
            let denied = fired.denies() && *scope != Scope::Managed;
            if denied {
                self.warn(format!("{name} has changed and stays as it was: {}", fired.denial()));
                refused.push(file.clone());
            }
            let detail = json!({"source": source, "file": name, "refused": denied});
            let event = Some(("settings.changed", &detail));
            let step = Step { hooks: &fired.rows, event, ..Step::default() };
            self.gate.store().keep_step(self.gate.seat(), &step)?;
        }
        if refused.len() == changes.len() {
            return Ok(false);
        }
        let seat = self.gate.seat().clone();
        match self.gate.governance.reload(&seat, &refused) {
            Ok(()) => {
                let files =
                    changes.iter().map(|(_, file)| file).filter(|file| !refused.contains(file));
                for file in files {
                    self.warn(format!("{} has changed and applies from now on", file.display()));
                }
                for warning in &self.gate.governance.warnings {
                    self.warn(warning.clone());
                }
                Ok(true)
            }
            Err(why) => {
                self.warn(format!("settings have changed and stay as they were: {why}"));
                Ok(false)
            }
        }
    }

    /// Tells the front-end what the user should know.
    pub(crate) fn warn(&self, text: String) {
        self.gate.front.warn(text);
    }
}

impl Agent {
    /// Settings that have changed since the last turn apply from this one on.
    pub(crate) async fn heed_settings(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        if self.session.heed_settings(self.options.unheard, cancel).await? {
            self.watch_files();
        }
        Ok(())
    }

    /// FileChanged hooks hear of the files they name, and of those that hooks asked to be watched.
    pub(crate) async fn heed_files(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        self.session.gate.find_workspace();
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
        let place = self.session.gate.place();
        let names = self.session.gate.governance.hooks.watched_names();
        let files = [&place.project_dir, &place.cwd]
            .into_iter()
            .flat_map(|dir| names.iter().map(move |name| dir.join(name)))
            .chain(self.watch_paths.iter().cloned());
        self.watch.keep_to(files);
    }
}
