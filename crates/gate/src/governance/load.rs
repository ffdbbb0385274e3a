//! Loading the settings that govern a session: from the operator's snapshot or from files, and again when they change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ona_policy::{Scope, Source};
use ona_store::{Seat, Store, StoreError};
use ona_tools::Place;
use ona_types::{Diagnostic, SandboxLevel};
use serde_json::{Map, Value};
use tracing::debug;

use super::basis::{Basis, additional_dirs, session_mode};
use super::{
    Found, Governance, GovernanceError, LoadOptions, Remember, Unread, Untrusted, redactor,
};
use crate::core::Core;
use ona_config::Config;
use ona_config::settings::{self, Layer, Loaded, Roots, Settings};
use ona_config::trust::{self, Judged};
use ona_config::watch::Watch;
use ona_extensions::{Plugin, active_plugins, added_effects, trust_request};

/// The settings in force when files change.
#[derive(Default)]
struct Earlier<'a> {
    layers: &'a [Layer],
    /// The files whose change was refused.
    refused: &'a [PathBuf],
    plugins: Vec<Plugin>,
}

/// The settings, and warnings about them.
#[derive(Default)]
struct Imported {
    layers: Vec<Layer>,
    /// Without secrets, for the record.
    snapshot: Value,
    warnings: Vec<String>,
    unread: Vec<String>,
    /// The files that act only partly since they have changed.
    partly: Vec<PathBuf>,
    /// How many versions of files are trusted.
    agreements: usize,
}

impl Imported {
    fn new(layers: Vec<Layer>, loaded: &Loaded) -> Self {
        let texts = |found: &[Diagnostic]| found.iter().map(ToString::to_string).collect();
        let (warnings, unread) = (texts(&loaded.warnings), texts(&loaded.unread));
        Self { layers, warnings, unread, ..Self::default() }
    }
}

/// How settings are loaded.
struct Loading<'a> {
    core: &'a Core,
    roots: &'a Roots,
    untrusted: Untrusted,
    unread: Unread,
    /// In a session that goes on.
    earlier: Option<&'a Earlier<'a>>,
}

impl Governance {
    /// Uses the operator's snapshot if there is one, else imports the files; records the result under the session's own
    /// scope.
    pub fn load(
        core: &Arc<Core>,
        seat: &Seat,
        place: Place,
        options: LoadOptions,
    ) -> Result<Self, GovernanceError> {
        Self::load_over(core, seat, place, options, None)
    }

    /// The same in a session that goes on.
    fn load_over(
        core: &Arc<Core>,
        seat: &Seat,
        place: Place,
        options: LoadOptions,
        earlier: Option<&Earlier<'_>>,
    ) -> Result<Self, GovernanceError> {
        let LoadOptions { remember, untrusted, unread: on_unread } = options;
        let Core { config, store, host, .. } = &**core;
        let roots = config.roots(&place.project_dir, &place.cwd);
        let mut watch = Watch::default();
        watch.keep_to(roots.all_files().into_iter().map(|(_, file)| file));
        let loading = Loading { core, roots: &roots, untrusted, unread: on_unread, earlier };
        let (imported, from_files) = loading.import()?;
        let Imported { mut layers, snapshot, mut warnings, mut unread, partly, agreements } =
            imported;
        let session = session_rules_of(store, seat)?;
        unread.extend(session.unread);
        let plugins = match earlier {
            Some(earlier) => earlier.plugins.clone(),
            None => {
                let active = active_plugins(config, &roots.project_dir, &Settings::merged(&layers));
                unread.extend(active.unread.iter().map(ToString::to_string));
                warnings.extend(active.warnings.iter().map(ToString::to_string));
                active.plugins
            }
        };
        if !unread.is_empty() && on_unread == Unread::Stops {
            return Err(GovernanceError::Unread { what: unread });
        }
        warnings.splice(0..0, unread.iter().cloned());
        if remember == Remember::Settings {
            if from_files {
                store.import_settings(&snapshot.to_string())?;
            }
            store.keep_snapshot(&session_settings(seat), &snapshot.to_string())?;
        }
        if let Some(json) = session.rules {
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
            conversation: seat.conversation.file_name(),
            protected: protected(&roots, store),
            stores: host.stores.clone(),
            roots,
            layers,
            worktrees: Vec::new(),
            secrets: Vec::new(),
        };
        let found = Found { plugins, warnings, unread, watch, partly, agreements };
        let mut loaded = Self::of(core, place, basis, found);
        // Where somebody was told already, each command is refused.
        if on_unread == Unread::Stops {
            loaded.check_sandbox()?;
        }
        debug!(
            target: "ona::settings", mode = %loaded.permissions.mode(),
            hooks = loaded.hooks.entries().len(), warnings = loaded.warnings.len(), "in force",
        );
        Ok(loaded)
    }

    /// A sandbox that is wanted and does not work is told, or the session does not start.
    fn check_sandbox(&mut self) -> Result<(), GovernanceError> {
        match self.sandbox_level() {
            (level, None) => {
                let weaker = self.weaker_than_possible();
                self.warnings.extend(weaker.map(|why| format!("commands run at {level}: {why}")));
                Ok(())
            }
            (_, Some(why)) if self.sandbox.fail_if_unavailable => Err(GovernanceError::NoSandbox(
                format!("sandbox.failIfUnavailable is set, and {why}"),
            )),
            (_, Some(why))
                if self.sandbox.minimum > SandboxLevel::None && self.also_confined().is_some() =>
            {
                // Hooks that do not run guard nothing, and outside they must not run.
                let what = self.also_confined().unwrap_or_default();
                Err(GovernanceError::NoSandbox(format!("{what}, and {why}")))
            }
            (_, Some(why)) if self.sandbox.minimum > SandboxLevel::None => {
                self.warnings.push(format!("no command will run: {why}"));
                Ok(())
            }
            (_, Some(why)) => {
                if self.sandbox.servers {
                    self.warnings.push(format!("sandbox.mcpServers has no effect: {why}"));
                }
                self.warnings.push(format!("commands are not confined: {why}"));
                Ok(())
            }
        }
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

    /// Whether the operator may have agreed to something that waits.
    pub fn may_be_agreed(&self) -> Result<bool, StoreError> {
        if self.partly.is_empty() {
            return Ok(false);
        }
        let root = trust::name_of(&trust::repository_root(&self.basis.roots.project_dir));
        Ok(self.core.trusted(&root)?.len() != self.agreements)
    }

    /// The operator has changed a file in this session, and trusts what it says now: nothing of it waits, and what is
    /// no longer in it ends.
    pub fn wrote(&mut self, layer: Layer) {
        self.written.retain(|known| known.source != layer.source);
        self.written.push(layer);
    }

    /// Whether the operator has changed this file in this session, and it was not read again since.
    pub fn was_written(&self, file: &Path) -> bool {
        self.written.iter().any(|layer| layer.source.file.as_deref() == Some(file))
    }

    /// Whether all of a changed file takes effect.
    pub fn acts_wholly(&self, file: &Path) -> bool {
        !self.partly.iter().any(|partly| partly == file)
    }

    /// Loads everything again. Choices of this session stay; the files in `refused` keep their earlier settings.
    pub fn reload(&mut self, seat: &Seat, refused: &[PathBuf]) -> Result<(), GovernanceError> {
        let how = LoadOptions {
            remember: Remember::Settings,
            untrusted: Untrusted::IsHeldBack,
            unread: Unread::IsTold,
        };
        let plugins = self.plugins.clone();
        let mut before = self.basis.layers.clone();
        let is_refused =
            |layer: &Layer| layer.source.file.iter().any(|file| refused.contains(file));
        for written in self.written.iter().filter(|layer| !is_refused(layer)) {
            let same = before.iter_mut().find(|layer| layer.source == written.source);
            if let Some(layer) = same {
                *layer = written.clone();
            }
        }
        let earlier = Earlier { layers: &before, refused, plugins };
        let mut new = Self::load_over(&self.core, seat, self.place.clone(), how, Some(&earlier))?;
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
        if let Some(json) = session_rules_of(&self.core.store, seat)?.rules {
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
                let snapshot = settings::snapshot(&loaded);
                let mut imported = Imported::new(loaded.layers.clone(), &loaded);
                let from = "settings come from the database's own snapshot, not from files (`ona config import` \
                            returns to files)";
                imported.warnings.insert(0, from.to_owned());
                Ok((Imported { snapshot, ..imported }, false))
            }
            Some(Err(why)) => {
                let mut imported = self.import_files()?;
                let unread = format!(
                    "{}: {why}: files are used instead; `ona config import` replaces it",
                    settings::SNAPSHOT
                );
                imported.unread.insert(0, unread);
                Ok((imported, false))
            }
            None => Ok((self.import_files()?, true)),
        }
    }

    /// The settings of the files.
    fn import_files(&self) -> Result<Imported, GovernanceError> {
        let Core { config, .. } = self.core;
        let mut loaded = settings::load(self.roots, &config.given);
        check_given(config, &loaded.layers)?;
        let mut imported = Imported::new(Vec::new(), &loaded);
        if !loaded.unread.is_empty() && self.unread == Unread::Stops {
            return Err(GovernanceError::Unread { what: imported.unread });
        }
        if let Some(earlier) = self.earlier {
            hold(&mut loaded.layers, earlier);
        }
        let request = trust_request(self.roots, &loaded.layers, !config.skills_off);
        if config.trust.is_given() {
            let added = added_effects(&additional_dirs(&loaded.layers, self.roots));
            config.trust.begin(&request, &added, self.roots);
        }
        let trusted = self.core.trusted(&request.name())?;
        let Judged { layers, unagreed, held_back } =
            request.judge(&loaded.layers, self.roots, &trusted);
        if !unagreed.is_empty() && self.untrusted == Untrusted::Stops {
            return Err(GovernanceError::Untrusted { what: unagreed, also: held_back, request });
        }
        let waits = match self.earlier {
            None => held_back,
            Some(_) => [unagreed, held_back].concat(),
        };
        if !waits.is_empty() {
            imported.warnings.push(format!(
                "{} is not trusted; held back until `ona trust`: {}",
                request.root.display(),
                few(&waits)
            ));
        }
        loaded.layers = match self.earlier {
            None => layers,
            Some(earlier) => {
                let unread = |layer: &Layer| {
                    let of = |bad: &Diagnostic| layer.source.is_below(&bad.file);
                    loaded.unread.iter().any(of)
                };
                let changed =
                    request.changed(earlier.layers, &loaded.layers, self.roots, &trusted, unread);
                imported.partly = changed.partly;
                changed.layers
            }
        };
        imported.agreements = trusted.len();
        imported.snapshot = settings::snapshot(&loaded);
        redactor(config, &[], &loaded.layers).mask_value(&mut imported.snapshot);
        Ok(Imported { layers: loaded.layers, ..imported })
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
    // Links may lead elsewhere, as those of a repository with all of a user's settings do.
    let real: Vec<PathBuf> =
        protected.iter().filter_map(|path| ona_files::resolve(Path::new("/"), path).ok()).collect();
    for path in real {
        if !protected.contains(&path) {
            protected.push(path);
        }
    }
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

/// Replaces the settings of files whose change was refused by their earlier ones.
fn hold(layers: &mut Vec<Layer>, earlier: &Earlier<'_>) {
    for file in earlier.refused {
        let is_this = |layer: &&Layer| layer.source.file.as_ref() == Some(file);
        let before = earlier.layers.iter().find(is_this);
        let at = layers.iter().position(|layer| is_this(&layer));
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
#[derive(Default)]
struct SessionRules {
    rules: Option<Map<String, Value>>,
    /// Why they cannot be read.
    unread: Option<String>,
}

fn session_rules_of(store: &Store, seat: &Seat) -> Result<SessionRules, StoreError> {
    let Some(rules) = store.snapshot(&session_rules(seat))? else {
        return Ok(SessionRules::default());
    };
    Ok(match serde_json::from_str(&rules) {
        Ok(rules) => SessionRules { rules: Some(rules), unread: None },
        Err(why) => {
            let why = format!("the rules added in session {}: {why}", seat.session);
            SessionRules { rules: None, unread: Some(why) }
        }
    })
}

/// The scope of a session's settings.
pub(super) fn session_settings(seat: &Seat) -> String {
    format!("session:{}", seat.session)
}
