//! What governs a session: the settings it runs on, read once, turned into rules and hooks.

pub(crate) mod basis;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ona_hooks::{HookHost, HookLayer, HookPlane, Timeouts, collect};
use ona_policy::secrets::{Late, Redactor};
use ona_policy::{Call, Permissions, Scope, Source};
use ona_store::{Seat, Store, StoreError};
use ona_tools::{Host, Place};
use ona_types::{PermissionMode, PermissionUpdate, RuleValue, UpdateDestination};
use serde_json::{Map, Value};
use tracing::debug;

use crate::extensions::plugin::registry::{Wanted, acting};
use crate::extensions::{Plugin, Warning};
use crate::servers::{self, GivenServers, PluginServers, Servers};
use crate::session::Engine;
use crate::settings::{self, Given, Layer, Repository, Roots};
use crate::trust::{self, Brought, Judged};
use crate::watch::Watch;
use basis::{Basis, session_mode};

/// How settings are found, and what the command line adds to them.
#[derive(Clone)]
pub struct Config {
    /// The user's home.
    pub home: PathBuf,
    /// Claude Code's own directory.
    pub claude_dir: PathBuf,
    /// ona's own directory.
    pub ona_config: PathBuf,
    /// The organisation's directories.
    pub managed_dirs: Vec<PathBuf>,
    /// `--settings` and `--setting-sources`.
    pub given: Given,
    /// `--mcp-config` and what else is said about servers.
    pub servers: GivenServers,
    /// What started this process, if not the operator: it may give settings that forbid, and no others.
    pub started_by: Option<String>,
    /// `--plugin-dir`: plugins for this run.
    pub plugin_dirs: Vec<PathBuf>,
    /// `--agents`: agents for this run, as JSON.
    pub agents: Option<String>,
    /// `--disable-slash-commands`: there are no skills and no commands.
    pub skills_off: bool,
    /// The room for the listing of skills, in characters, where the operator says so.
    pub skill_listing_room: Option<usize>,
    /// `--permission-mode`.
    pub mode: Option<PermissionMode>,
    /// Trust the folder for this run.
    pub trust: bool,
    /// `SDLC_DISABLE_ALL_HOOKS`.
    pub hooks_disabled: bool,
    /// How long hooks may take.
    pub hook_timeouts: Timeouts,
    /// Whether `LANG` or `LC_ALL` is set.
    pub has_locale: bool,
    /// Secrets the process knows of.
    pub secrets: Vec<String>,
    /// Secrets it gets to know while it works.
    pub late: Late,
    /// Looks an environment variable up.
    pub variable: fn(&str) -> Option<String>,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It holds secrets.
        f.debug_struct("Config").field("home", &self.home).finish_non_exhaustive()
    }
}

impl Config {
    /// Whether nothing is read but what the command line gives (`--bare`).
    pub fn is_bare(&self) -> bool {
        self.given.sources.as_ref().is_some_and(Vec::is_empty)
    }

    /// The plugins that act in a project whose settings are these, and what is wrong with them.
    pub fn plugins(&self, project_dir: &Path, settings: &Value) -> (Vec<Plugin>, Vec<Warning>) {
        acting(&Wanted {
            ona_config: &self.ona_config,
            given: &self.plugin_dirs,
            added: !self.is_bare(),
            repository: &Repository::of(project_dir).root,
            enabled: &settings["enabledPlugins"],
        })
    }

    /// Where settings are for a project.
    pub fn roots(&self, project_dir: &Path, cwd: &Path) -> Roots {
        Roots {
            project_dir: project_dir.to_owned(),
            home: self.home.clone(),
            claude_dir: self.claude_dir.clone(),
            ona_config: self.ona_config.clone(),
            managed_dirs: self.managed_dirs.clone(),
            cwd: cwd.to_owned(),
        }
    }
}

/// Why a session cannot be governed.
#[derive(Debug, thiserror::Error)]
pub enum GovernanceError {
    /// The record failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The folder brings something to run, and nobody has agreed to that.
    #[error("{} is not trusted, and it brings {}", brought.root.display(), what.join(", "))]
    Untrusted {
        /// What would run.
        what: Vec<String>,
        /// What else would act.
        also: Vec<String>,
        /// All that, for who agrees to it.
        brought: Brought,
    },
    /// The command line gives settings that do more than forbid, and it is not the operator's.
    #[error(
        "{} on the command line: that is the operator's to decide, and this ona was started by {starter}",
        what.join(", ")
    )]
    NotTheOperators {
        /// The settings.
        what: Vec<String>,
        /// What started it.
        starter: String,
    },
}

/// What the record is told of the settings a session runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remember {
    /// All of them.
    Settings,
    /// Nothing: somebody only asks.
    Nothing,
}

/// The rules and hooks in force for a session.
#[derive(Debug)]
pub(crate) struct Governance {
    pub(crate) permissions: Arc<Permissions>,
    pub(crate) hooks: HookPlane,
    /// The plugins that act.
    pub(crate) plugins: Vec<Plugin>,
    pub(crate) warnings: Vec<String>,
    /// What the process provides, with the settings' variables for children.
    pub(crate) host: Host,
    /// What must not be kept.
    pub(crate) redactor: Redactor,
    basis: Basis,
    /// The files the settings come from.
    watch: Watch,
}

impl Governance {
    /// Takes the operator's snapshot if there is one, else imports the files; keeps what it took under
    /// the session's own scope.
    pub(crate) fn load(
        engine: &Engine,
        seat: &Seat,
        place: &mut Place,
        remember: Remember,
    ) -> Result<Self, GovernanceError> {
        Self::load_over(engine, seat, place, remember, &[])
    }

    /// The same, with the settings of some files as they are given here.
    fn load_over(
        engine: &Engine,
        seat: &Seat,
        place: &mut Place,
        remember: Remember,
        held: &[Held],
    ) -> Result<Self, GovernanceError> {
        let Engine { config, store, host, .. } = engine;
        let roots = config.roots(&place.project_dir, &place.cwd);
        let mut watch = Watch::default();
        watch.keep_to(roots.all_files().into_iter().map(|(_, file)| file));
        let mut warnings = Vec::new();
        let operators = store.operators_snapshot()?;
        let operators = operators
            .as_deref()
            .map(|snapshot| settings::operators(snapshot, &roots, &config.given));
        let mut layers = match operators {
            Some(Ok(loaded)) => {
                check_given(config, &loaded.layers)?;
                warnings.push(
                    "settings come from the database's own snapshot, not from files (`ona config \
                     import` returns to files)"
                        .to_owned(),
                );
                warnings.extend(loaded.warnings.iter().map(ToString::to_string));
                if remember == Remember::Settings {
                    keep(store, seat, &settings::snapshot(&loaded))?;
                }
                loaded.layers
            }
            Some(Err(why)) => {
                warnings.push(format!(
                    "{}: {why}: files are used instead; `ona config import` replaces it",
                    settings::SNAPSHOT
                ));
                let (layers, snapshot) = Self::import(config, store, &roots, &mut warnings, held)?;
                if remember == Remember::Settings {
                    keep(store, seat, &snapshot)?;
                }
                layers
            }
            None => {
                let (layers, snapshot) = Self::import(config, store, &roots, &mut warnings, held)?;
                if remember == Remember::Settings {
                    store.import_settings(&snapshot.to_string())?;
                    keep(store, seat, &snapshot)?;
                }
                layers
            }
        };
        if let Some(rules) = store.snapshot(&session_rules(seat))?
            && let Ok(Value::Object(json)) = serde_json::from_str(&rules)
        {
            let source = Source::of(Scope::Session);
            layers.push(Layer { source, base: place.project_dir.clone(), json });
        }
        let mode = config.mode.or_else(|| session_mode(&layers));
        let outputs = host.outputs_of(&seat.session);
        let mut protected = vec![roots.ona_config.clone()];
        // The user's own: what stands there acts in every project, and nobody is asked to trust it.
        let users = ["settings.json", "agents", "commands", "skills"];
        protected.extend(users.map(|name| roots.claude_dir.join(name)));
        let record = store.path().to_string_lossy();
        protected.extend(["", "-wal", "-shm"].map(|suffix| format!("{record}{suffix}").into()));
        for layer in &layers {
            let keys: Vec<&str> = layer.json.keys().map(String::as_str).collect();
            debug!(target: "ona::settings", source = %layer.source, keys = keys.join(","), "read");
        }
        let basis = Basis {
            roots,
            layers,
            mode,
            outputs,
            protected,
            worktrees: Vec::new(),
            secrets: Vec::new(),
        };
        let loaded = Self::of(config, host, place, basis, warnings, watch);
        debug!(
            target: "ona::settings", mode = %loaded.permissions.mode(),
            hooks = loaded.hooks.entries().len(), warnings = loaded.warnings.len(), "in force",
        );
        Ok(loaded)
    }

    /// The settings files that have changed since they were read.
    pub(crate) fn changed_settings(&mut self) -> Vec<(Scope, PathBuf)> {
        let known = self.basis.roots.all_files();
        let changes = self.watch.changes().into_iter();
        let scope =
            |file: &PathBuf| known.iter().find(|(_, own)| own == file).map(|(scope, _)| *scope);
        // A drop-in that was taken away is no longer in the list.
        changes.map(|(file, _)| (scope(&file).unwrap_or(Scope::Managed), file)).collect()
    }

    /// Loads everything again. What was chosen in this session stays; files that a hook keeps from applying count as they were.
    pub(crate) fn again(
        &self,
        engine: &Engine,
        seat: &Seat,
        place: &mut Place,
        except: &[PathBuf],
    ) -> Result<Self, GovernanceError> {
        let held: Vec<Held> = except
            .iter()
            .map(|file| {
                let is_this = |layer: &&Layer| layer.source.file.as_ref() == Some(file);
                (file.clone(), self.basis.layers.iter().find(is_this).cloned())
            })
            .collect();
        let mut new = Self::load_over(engine, seat, place, Remember::Settings, &held)?;
        let is_cli = |layer: &Layer| layer.source.scope == Scope::Cli;
        let at =
            new.basis.layers.iter().take_while(|layer| layer.source.scope < Scope::Cli).count();
        new.basis.layers.retain(|layer| !is_cli(layer));
        let own = self.basis.layers.iter().filter(|layer| is_cli(layer)).cloned();
        new.basis.layers.splice(at..at, own);
        new.basis.mode = self.basis.mode;
        new.permissions = Arc::new(new.basis.permissions(place, &mut new.warnings));
        Ok(new)
    }

    /// What the files say, and that as it may be kept.
    fn import(
        config: &Config,
        store: &Store,
        roots: &Roots,
        warnings: &mut Vec<String>,
        held: &[Held],
    ) -> Result<(Vec<Layer>, Value), GovernanceError> {
        let mut loaded = settings::load(roots, &config.given);
        check_given(config, &loaded.layers)?;
        hold(&mut loaded.layers, held);
        warnings.extend(loaded.warnings.iter().map(ToString::to_string));
        if !config.trust {
            let brought = trust::brought(roots, &loaded.layers, !config.skills_off);
            let trusted = store.trusted(&brought.name())?;
            let Judged { layers, unagreed, held_back } =
                brought.judge(&loaded.layers, roots, &trusted);
            if !unagreed.is_empty() {
                return Err(GovernanceError::Untrusted {
                    what: unagreed,
                    also: held_back,
                    brought,
                });
            }
            if !held_back.is_empty() {
                warnings.push(format!(
                    "{} is not trusted as it is; held back until `ona trust`: {}",
                    brought.root.display(),
                    few(&held_back)
                ));
            }
            loaded.layers = layers;
        }
        let mut snapshot = settings::snapshot(&loaded);
        redactor(config, &[], &loaded.layers).mask_value(&mut snapshot);
        Ok((loaded.layers, snapshot))
    }

    fn of(
        config: &Config,
        host: &Host,
        place: &mut Place,
        basis: Basis,
        mut warnings: Vec<String>,
        watch: Watch,
    ) -> Self {
        let merged = settings::merge(&basis.layers);
        let mut hook_layers: Vec<HookLayer> = settings::hooks_layers(&basis.layers)
            .into_iter()
            .filter_map(|(layer, acts)| {
                let hooks = layer.json.get("hooks")?.clone();
                let source = layer.source.clone();
                Some(HookLayer { source, hooks, off: !acts, env: Vec::new() })
            })
            .collect();
        // S0 §5.2: plugins come behind the snapshot, by their ids.
        let (plugins, odd) = config.plugins(&basis.roots.project_dir, &merged);
        warnings.extend(odd.iter().map(ToString::to_string));
        let act = settings::others_hooks_act(&basis.layers);
        hook_layers.extend(plugins.iter().flat_map(|plugin| plugin.hook_layers(act)));
        let (entries, refused) = collect(&hook_layers);
        warnings.extend(refused.iter().map(ToString::to_string));
        let permissions = basis.permissions(place, &mut warnings);
        // An empty list allows nothing; none at all, anything.
        let texts = |key: &str| -> Option<Vec<String>> {
            let list = merged.get(key)?.as_array()?.iter();
            Some(list.filter_map(|text| text.as_str().map(str::to_owned)).collect())
        };
        let redactor = redactor(config, &basis.secrets, &basis.layers);
        // ona's own variables come last and so win.
        let mut child_env = settings::child_env(&merged);
        let has_locale = config.has_locale
            || child_env.iter().any(|(name, _)| name == "LANG" || name == "LC_ALL");
        child_env.extend(host.child_env.iter().cloned());
        let host = Host { child_env, ..host.clone() };
        let hook_host = HookHost {
            child_env: host.child_env.clone(),
            project_dir: basis.hooks_dir(&mut warnings),
            has_locale,
            timeouts: config.hook_timeouts,
            disabled: config.hooks_disabled,
            allowed_urls: texts("allowedHttpHookUrls"),
            allowed_env: texts("httpHookAllowedEnvVars"),
            variable: Box::new(config.variable),
            redactor: redactor.clone(),
        };
        let hooks = HookPlane::new(entries, hook_host, permissions.around().anchors());
        let permissions = Arc::new(permissions);
        Self { permissions, hooks, plugins, warnings, host, redactor, basis, watch }
    }

    /// Keeps an update of the permissions where it belongs, and lets it act from now on. Says where it is
    /// kept.
    pub(crate) fn update(
        &mut self,
        update: &PermissionUpdate,
        store: &Store,
        seat: &Seat,
        place: &mut Place,
    ) -> Result<Kept, UpdateError> {
        if let PermissionUpdate::SetMode { mode, .. } = update
            && let Some(why) = self.basis.refuses(*mode)
        {
            return Err(UpdateError::Refused(why));
        }
        let about_rules = matches!(
            update,
            PermissionUpdate::AddRules { .. }
                | PermissionUpdate::ReplaceRules { .. }
                | PermissionUpdate::RemoveRules { .. }
        );
        if about_rules && self.managed_rules_only() {
            let why = "only the rules of managed settings act (allowManagedPermissionRulesOnly): \
                       ask whoever keeps those";
            return Err(UpdateError::Refused(why.to_owned()));
        }
        let saved = settings::save(update, &self.basis.roots)?;
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
                kept.push_str(" (from the next start on it acts only after `ona trust`)");
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
        let mut warnings = Vec::new();
        let permissions = self.basis.permissions(place, &mut warnings);
        self.permissions = Arc::new(permissions);
        Ok(Kept { place: kept, remark })
    }

    /// Whether rules that anybody but the organisation writes do nothing.
    pub(crate) fn managed_rules_only(&self) -> bool {
        settings::managed_rules_only(&self.basis.layers)
    }

    /// Rules that would allow the call from now on; none where nobody here can add one that acts.
    pub(crate) fn suggestions(&self, call: &Call<'_>) -> Vec<RuleValue> {
        match self.managed_rules_only() {
            true => Vec::new(),
            false => self.permissions.suggestions(call),
        }
    }

    /// Works in this mode from now on.
    pub(crate) fn use_mode(&mut self, mode: PermissionMode, place: &mut Place) {
        self.basis.mode = Some(mode);
        self.permissions = Arc::new(self.basis.permissions(place, &mut Vec::new()));
    }

    /// Whether the settings leave this mode to whoever works here.
    pub(crate) fn may_use(&self, mode: PermissionMode) -> bool {
        self.basis.refuses(mode).is_none()
    }

    /// The same for an agent of this session's, the second seat: its mode can only be stricter, and hooks of its own come
    /// last.
    pub(crate) fn for_agent(
        &self,
        engine: &Engine,
        (own, theirs): (&Seat, &Seat),
        place: &mut Place,
        modes: &[PermissionMode],
        hooks: Option<&Value>,
        worktree: Option<&Path>,
    ) -> Result<Self, StoreError> {
        let mut basis = self.basis.clone();
        basis.outputs = engine.host.outputs_of(&theirs.session);
        let mine = self.permissions.mode();
        basis.mode = Some(modes.iter().fold(mine, |one, other| basis::stricter(one, *other)));
        basis.worktrees.extend(worktree.map(Path::to_owned));
        if let Some(hooks) = hooks {
            let mut json = Map::new();
            json.insert("hooks".to_owned(), hooks.clone());
            let source = Source::of(Scope::Session);
            basis.layers.push(Layer { source, base: basis.roots.project_dir.clone(), json });
        }
        if own.session != theirs.session
            && let Some(snapshot) = engine.store.snapshot(&session_settings(own))?
        {
            engine.store.keep_snapshot(&session_settings(theirs), &snapshot)?;
        }
        let watch = Watch::default();
        Ok(Self::of(&engine.config, &engine.host, place, basis, Vec::new(), watch))
    }

    /// The same for the agent that the main one is to be: its hooks hold as long as what the command line gives.
    pub(crate) fn take_role(
        &mut self,
        engine: &Engine,
        modes: &[PermissionMode],
        hooks: Option<&Value>,
        place: &mut Place,
    ) {
        if !modes.is_empty() {
            let mine = self.permissions.mode();
            let strictest = modes.iter().fold(mine, |one, other| basis::stricter(one, *other));
            self.basis.mode = Some(strictest);
        }
        if let Some(hooks) = hooks {
            let json = Map::from_iter([("hooks".to_owned(), hooks.clone())]);
            let base = self.basis.roots.project_dir.clone();
            let at = self.basis.layers.iter().take_while(|l| l.source.scope <= Scope::Cli).count();
            self.basis.layers.insert(at, Layer { source: Source::of(Scope::Cli), base, json });
        }
        self.rebuild(engine, place);
    }

    /// Lets settings of a skill act, which are known by its file.
    pub(crate) fn take_up(
        &mut self,
        engine: &Engine,
        file: &Path,
        json: Map<String, Value>,
        place: &mut Place,
    ) {
        let source = Source { scope: Scope::Session, file: Some(file.to_owned()) };
        self.basis.layers.retain(|layer| layer.source != source);
        let base = self.basis.roots.project_dir.clone();
        self.basis.layers.push(Layer { source, base, json });
        self.rebuild(engine, place);
    }

    /// Settings of skills act no more.
    pub(crate) fn lay_down(&mut self, engine: &Engine, place: &mut Place) {
        let is_skills =
            |layer: &Layer| layer.source.scope == Scope::Session && layer.source.file.is_some();
        if self.basis.layers.iter().any(is_skills) {
            self.basis.layers.retain(|layer| !is_skills(layer));
            self.rebuild(engine, place);
        }
    }

    /// Makes rules and hooks anew of what they are made of.
    pub(crate) fn rebuild(&mut self, engine: &Engine, place: &mut Place) {
        let (basis, watch) = (self.basis.clone(), std::mem::take(&mut self.watch));
        let warnings = std::mem::take(&mut self.warnings);
        *self = Self::of(&engine.config, &engine.host, place, basis, warnings, watch);
    }

    /// Keeps these from the record too.
    pub(crate) fn know(&mut self, engine: &Engine, secrets: Vec<String>, place: &mut Place) {
        if !secrets.is_empty() {
            self.basis.secrets.extend(secrets);
            self.rebuild(engine, place);
        }
    }

    /// Reads anew what this session was allowed for good.
    pub(crate) fn take_session_rules(
        &mut self,
        engine: &Engine,
        seat: &Seat,
        place: &mut Place,
    ) -> Result<(), StoreError> {
        let Some(rules) = engine.store.snapshot(&session_rules(seat))? else { return Ok(()) };
        if let Ok(Value::Object(json)) = serde_json::from_str(&rules) {
            let source = Source::of(Scope::Session);
            self.basis.layers.retain(|layer| layer.source != source);
            let base = self.basis.roots.project_dir.clone();
            self.basis.layers.push(Layer { source, base, json });
            self.permissions = Arc::new(self.basis.permissions(place, &mut Vec::new()));
        }
        Ok(())
    }

    /// The settings in force, merged.
    pub(crate) fn settings(&self) -> Value {
        settings::merge(&self.basis.layers)
    }

    /// The MCP servers there are.
    pub(crate) fn servers(
        &self,
        engine: &Engine,
        plugins: &[PluginServers],
    ) -> Result<Servers, StoreError> {
        let Basis { roots, layers, .. } = &self.basis;
        let repository = trust::name_of(&trust::repository_root(&roots.project_dir));
        let trusted = engine.store.trusted(&repository)?;
        Ok(servers::find(&engine.config, roots, layers, &trusted, plugins))
    }

    /// The session has moved to another directory.
    pub(crate) fn moved(&mut self, cwd: &Path) {
        Arc::make_mut(&mut self.permissions).moved(cwd);
    }
}

/// As many as a warning has room for.
fn few(all: &[String]) -> String {
    const MOST: usize = 20;
    match all.get(MOST..) {
        Some(rest) if !rest.is_empty() => {
            format!("{}, and {} more", all[..MOST].join(", "), rest.len())
        }
        _ => all.join(", "),
    }
}

/// Where an update of the permissions is kept.
pub(crate) struct Kept {
    pub(crate) place: String,
    /// What the user should hear of it.
    pub(crate) remark: Option<String>,
}

/// The settings of a file as they were; nothing if there were none.
type Held = (PathBuf, Option<Layer>);

/// Puts the settings of files as they were in the place of what they are.
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

/// Why an update of the permissions cannot be kept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UpdateError {
    #[error(transparent)]
    File(#[from] settings::EditError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Refused(String),
}

/// Refuses what the command line may not give. On what was read: a file may be another a moment later.
fn check_given(config: &Config, layers: &[Layer]) -> Result<(), GovernanceError> {
    let Some(starter) = &config.started_by else { return Ok(()) };
    let given = layers.iter().filter(|layer| layer.source.scope == Scope::Cli);
    let what: Vec<String> = given.flat_map(trust::brings).collect();
    if what.is_empty() {
        return Ok(());
    }
    Err(GovernanceError::NotTheOperators { what, starter: starter.clone() })
}

/// Knows the secrets of the process and of its settings, and those that it will get to know.
fn redactor(config: &Config, secrets: &[String], layers: &[Layer]) -> Redactor {
    let known = config.secrets.iter().chain(secrets).cloned();
    Redactor::knowing(known.chain(settings::secrets(layers))).and_later(config.late.clone())
}

/// Where the rules that were decided in a session are kept.
fn session_rules(seat: &Seat) -> String {
    format!("rules:{}", seat.session)
}

fn keep(store: &Store, seat: &Seat, snapshot: &Value) -> Result<(), StoreError> {
    store.keep_snapshot(&session_settings(seat), &snapshot.to_string())
}

fn session_settings(seat: &Seat) -> String {
    format!("session:{}", seat.session)
}
