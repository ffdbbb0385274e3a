//! Loading the settings that govern a session: from the operator's snapshot or from files, and again when they change.

use std::path::PathBuf;
use std::sync::Arc;

use ona_policy::{Scope, Source};
use ona_store::{Seat, Store, StoreError};
use ona_tools::Place;
use ona_types::trust::TrustRecord as _;
use serde_json::Value;
use tracing::debug;

use super::basis::{Basis, session_mode};
use super::{Governance, GovernanceError, Remember, Untrusted, redactor};
use crate::core::Core;
use ona_config::Config;
use ona_config::settings::{self, Layer, Roots};
use ona_config::trust::{self, Judged};
use ona_config::watch::Watch;

/// The earlier settings of a file, if it had any.
type Held = (PathBuf, Option<Layer>);

/// The settings, and warnings about them.
struct Imported {
    layers: Vec<Layer>,
    /// Without secrets, for the record.
    snapshot: Value,
    warnings: Vec<String>,
}

/// How settings are loaded.
struct Loading<'a> {
    core: &'a Core,
    roots: &'a Roots,
    untrusted: Untrusted,
    held: &'a [Held],
}

impl Governance {
    /// Uses the operator's snapshot if there is one, else imports the files; records the result under the session's own
    /// scope.
    pub fn load(
        core: &Arc<Core>,
        seat: &Seat,
        place: Place,
        remember: Remember,
        untrusted: Untrusted,
    ) -> Result<Self, GovernanceError> {
        Self::load_over(core, seat, place, (remember, untrusted), &[])
    }

    /// The same, with given settings in place of some files.
    fn load_over(
        core: &Arc<Core>,
        seat: &Seat,
        place: Place,
        (remember, untrusted): (Remember, Untrusted),
        held: &[Held],
    ) -> Result<Self, GovernanceError> {
        let Core { config, store, host, .. } = &**core;
        let roots = config.roots(&place.project_dir, &place.cwd);
        let mut watch = Watch::default();
        watch.keep_to(roots.all_files().into_iter().map(|(_, file)| file));
        let loading = Loading { core, roots: &roots, untrusted, held };
        let (imported, from_files) = loading.import()?;
        if remember == Remember::Settings {
            if from_files {
                store.import_settings(&imported.snapshot.to_string())?;
            }
            store.keep_snapshot(&session_settings(seat), &imported.snapshot.to_string())?;
        }
        let Imported { mut layers, warnings, .. } = imported;
        if let Some(json) = session_rules_of(store, seat)? {
            let source = Source::of(Scope::Session);
            layers.push(Layer { source, base: place.project_dir.clone(), json });
        }
        for layer in &layers {
            let keys: Vec<&str> = layer.json.keys().map(String::as_str).collect();
            debug!(target: "ona::settings", source = %layer.source, keys = keys.join(","), "read");
        }
        let basis = Basis {
            mode: config.mode.or_else(|| session_mode(&layers)),
            outputs: host.outputs_of(&seat.session),
            protected: protected(&roots, store),
            roots,
            layers,
            worktrees: Vec::new(),
            secrets: Vec::new(),
        };
        let loaded = Self::of(core, place, basis, warnings, watch);
        debug!(
            target: "ona::settings", mode = %loaded.permissions.mode(),
            hooks = loaded.hooks.entries().len(), warnings = loaded.warnings.len(), "in force",
        );
        Ok(loaded)
    }

    /// The settings files that have changed since they were read.
    pub fn changed_settings(&mut self) -> Vec<(Scope, PathBuf)> {
        let known = self.basis.roots.all_files();
        let changes = self.watch.changes().into_iter();
        let scope =
            |file: &PathBuf| known.iter().find(|(_, own)| own == file).map(|(scope, _)| *scope);
        // A drop-in that was removed is no longer in the list.
        changes.map(|(file, _)| (scope(&file).unwrap_or(Scope::Managed), file)).collect()
    }

    /// Loads everything again. Choices of this session stay; the files in `except` keep their earlier settings.
    pub fn reload(&mut self, seat: &Seat, except: &[PathBuf]) -> Result<(), GovernanceError> {
        let held: Vec<Held> = except
            .iter()
            .map(|file| {
                let is_this = |layer: &&Layer| layer.source.file.as_ref() == Some(file);
                (file.clone(), self.basis.layers.iter().find(is_this).cloned())
            })
            .collect();
        let how = (Remember::Settings, Untrusted::Stops);
        let mut new = Self::load_over(&self.core, seat, self.place.clone(), how, &held)?;
        let is_cli = |layer: &Layer| layer.source.scope == Scope::Cli;
        let at =
            new.basis.layers.iter().take_while(|layer| layer.source.scope < Scope::Cli).count();
        new.basis.layers.retain(|layer| !is_cli(layer));
        let own = self.basis.layers.iter().filter(|layer| is_cli(layer)).cloned();
        new.basis.layers.splice(at..at, own);
        new.basis.mode = self.basis.mode;
        new.derive_again();
        *self = new;
        Ok(())
    }

    /// Reads the permanent permissions of this session again.
    pub fn reload_session_rules(&mut self, seat: &Seat) -> Result<(), StoreError> {
        if let Some(json) = session_rules_of(&self.core.store, seat)? {
            let source = Source::of(Scope::Session);
            self.basis.layers.retain(|layer| layer.source != source);
            let base = self.basis.roots.project_dir.clone();
            self.basis.layers.push(Layer { source, base, json });
            self.derive_again();
        }
        Ok(())
    }
}

impl Loading<'_> {
    /// The settings in force, and whether they come from files.
    fn import(&self) -> Result<(Imported, bool), GovernanceError> {
        let Core { config, store, .. } = self.core;
        let operators = store.operators_snapshot()?;
        let operators = operators
            .as_deref()
            .map(|snapshot| settings::operators(snapshot, self.roots, &config.given));
        match operators {
            Some(Ok(loaded)) => {
                check_given(config, &loaded.layers)?;
                let mut warnings = vec![
                    "settings come from the database's own snapshot, not from files (`ona config \
                     import` returns to files)"
                        .to_owned(),
                ];
                warnings.extend(loaded.warnings.iter().map(ToString::to_string));
                let snapshot = settings::snapshot(&loaded);
                Ok((Imported { layers: loaded.layers, snapshot, warnings }, false))
            }
            Some(Err(why)) => {
                let mut imported = self.import_files()?;
                let warning = format!(
                    "{}: {why}: files are used instead; `ona config import` replaces it",
                    settings::SNAPSHOT
                );
                imported.warnings.insert(0, warning);
                Ok((imported, false))
            }
            None => Ok((self.import_files()?, true)),
        }
    }

    /// The settings of the files.
    fn import_files(&self) -> Result<Imported, GovernanceError> {
        let Core { config, store, .. } = self.core;
        let mut loaded = settings::load(self.roots, &config.given);
        check_given(config, &loaded.layers)?;
        hold(&mut loaded.layers, self.held);
        let mut warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
        if !config.trust {
            let request =
                ona_extensions::trust_request(self.roots, &loaded.layers, !config.skills_off);
            let trusted = store.trusted(&request.name())?;
            let Judged { layers, unagreed, held_back } =
                request.judge(&loaded.layers, self.roots, &trusted);
            if !unagreed.is_empty() && self.untrusted == Untrusted::Stops {
                return Err(GovernanceError::Untrusted {
                    what: unagreed,
                    also: held_back,
                    request,
                });
            }
            if !held_back.is_empty() {
                warnings.push(format!(
                    "{} is not trusted; held back until `ona trust`: {}",
                    request.root.display(),
                    few(&held_back)
                ));
            }
            loaded.layers = layers;
        }
        let mut snapshot = settings::snapshot(&loaded);
        redactor(config, &[], &loaded.layers).mask_value(&mut snapshot);
        Ok(Imported { layers: loaded.layers, snapshot, warnings })
    }
}

/// Paths that decide about calls, and that calls may not change.
fn protected(roots: &Roots, store: &Store) -> Vec<PathBuf> {
    let mut protected = vec![roots.ona_config.clone()];
    // The user's own files take effect in every project and need no trust.
    let users = ["settings.json", "agents", "commands", "skills"];
    protected.extend(users.map(|name| roots.claude_dir.join(name)));
    let record = store.path().to_string_lossy();
    protected.extend(["", "-wal", "-shm"].map(|suffix| format!("{record}{suffix}").into()));
    protected
}

/// A list that is short enough for a warning.
fn few(all: &[String]) -> String {
    const MOST: usize = 20;
    match all.get(MOST..) {
        Some(rest) if !rest.is_empty() => {
            format!("{}, and {} more", all[..MOST].join(", "), rest.len())
        }
        _ => all.join(", "),
    }
}

/// Replaces the settings of files by their earlier ones.
fn hold(layers: &mut Vec<Layer>, held: &[Held]) {
    for (file, before) in held {
        let at = layers.iter().position(|layer| layer.source.file.as_ref() == Some(file));
        match (at, before) {
            (Some(at), Some(before)) => layers[at].clone_from(before),
            (Some(at), None) => drop(layers.remove(at)),
            (None, Some(before)) => {
                let scope = before.source.scope;
                let at = layers.iter().take_while(|layer| layer.source.scope <= scope).count();
                layers.insert(at, before.clone());
            }
            (None, None) => {}
        }
    }
}

/// Refuses settings that the command line may not give. Checks what was read, because a file may change meanwhile.
fn check_given(config: &Config, layers: &[Layer]) -> Result<(), GovernanceError> {
    let Some(starter) = &config.started_by else { return Ok(()) };
    let given = layers.iter().filter(|layer| layer.source.scope == Scope::Cli);
    let what: Vec<String> = given.flat_map(trust::brings).collect();
    if what.is_empty() {
        return Ok(());
    }
    Err(GovernanceError::StartedByAgent { what, starter: starter.clone() })
}

/// The scope of rules that were added in a session.
pub(super) fn session_rules(seat: &Seat) -> String {
    format!("rules:{}", seat.session)
}

/// The rules that were added in a session.
fn session_rules_of(
    store: &Store,
    seat: &Seat,
) -> Result<Option<serde_json::Map<String, Value>>, StoreError> {
    let rules = store.snapshot(&session_rules(seat))?;
    Ok(rules.and_then(|rules| serde_json::from_str(&rules).ok()))
}

/// The scope of a session's settings.
pub(super) fn session_settings(seat: &Seat) -> String {
    format!("session:{}", seat.session)
}
