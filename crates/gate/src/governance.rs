//! What governs a session: its settings, read once and turned into rules and hooks.

pub mod basis;
mod load;
mod sandbox;
mod secrets;
mod update;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ona_hooks::{HookHost, HookLayer, HookPlane, HookWarning, collect};
use ona_policy::secrets::Redactor;
use ona_policy::{Anchors, Call, Permissions, Scope, Source};
use ona_sandbox::confine::Confined;
use ona_store::{Seat, StoreError};
use ona_tools::{Host, Place};
use ona_types::{PermissionMode, RuleValue, UpdateDestination};
use serde_json::{Map, Value};

use super::core::Core;
use super::sandbox::Runs;
use super::sandbox::terms::Terms;
use basis::{Basis, Derived};
use ona_config::Config;
use ona_config::servers::{self, PluginServers, Servers};
use ona_config::settings::{self, Layer, Settings};
use ona_config::trust::{self, TrustRequest};
use ona_config::watch::Watch;
use ona_extensions::{Plugin, is_switched_off};
pub use sandbox::NoLevel;
pub use secrets::learn_secrets;
pub use update::{Kept, UpdateError};

/// Why a session cannot be governed.
#[derive(Debug, thiserror::Error)]
pub enum GovernanceError {
    /// The record failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The settings want a sandbox, and there is none.
    #[error("{0}")]
    NoSandbox(String),
    /// The folder contains something that would run, and it is not trusted.
    #[error("{} is not trusted. It contains {}", request.root.display(), what.join(", "))]
    Untrusted {
        /// What would run.
        what: Vec<String>,
        /// What else would take effect.
        also: Vec<String>,
        /// The request for trust in it.
        request: TrustRequest,
    },
    /// Settings that may forbid something cannot be read.
    #[error("what forbids or asks cannot be read:\n  {}", what.join("\n  "))]
    Unread {
        /// What: its file, its place there and the reason.
        what: Vec<String>,
    },
    /// Settings on the command line do more than forbid, but an agent started this process.
    #[error(
        "{} on the command line: only the operator may set this, and this ona was started by {starter}",
        what.join(", ")
    )]
    StartedByAgent {
        /// The settings.
        what: Vec<String>,
        /// The program that started it.
        starter: String,
    },
}

/// Which settings of a session are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remember {
    /// All of them.
    Settings,
    /// None: nothing is run.
    Nothing,
}

/// How settings of a repository that is not trusted are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untrusted {
    /// If they would run something, the session does not start; other permissions are ignored.
    Stops,
    /// They are ignored.
    IsHeldBack,
}

/// What happens if settings that may forbid something cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The session does not start.
    Stops,
    /// It goes on without them: somebody was told, or [`Governance::unread`] is looked at.
    IsTold,
}

/// How settings are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadOptions {
    /// What is recorded.
    pub remember: Remember,
    /// What happens to settings that are not trusted.
    pub untrusted: Untrusted,
    /// What happens if guards cannot be read.
    pub unread: Unread,
}

/// How the session of an agent is governed.
#[derive(Clone, Debug)]
pub struct AgentTerms<'a> {
    /// Where it works.
    pub place: Place,
    /// Requested modes; the strictest counts, and none may be laxer than the caller's.
    pub modes: Vec<PermissionMode>,
    /// Hooks of its own.
    pub hooks: Option<Value>,
    /// The worktree it works in: the same rules apply to the same paths in it.
    pub worktree: Option<&'a Path>,
}

impl AgentTerms<'_> {
    /// The caller's own terms, at this place.
    pub fn at(place: Place) -> Self {
        Self { place, modes: Vec::new(), hooks: None, worktree: None }
    }
}

/// The rules and hooks in force for a session, and the directories they apply to.
#[derive(Debug)]
pub struct Governance {
    /// The rules.
    pub permissions: Arc<Permissions>,
    /// The hooks.
    pub hooks: HookPlane,
    /// The active plugins.
    pub plugins: Vec<Plugin>,
    /// Warnings about the settings, for the user.
    pub warnings: Vec<String>,
    /// What cannot be read although it may forbid something.
    pub unread: Vec<String>,
    /// The host, with the settings' variables for child processes.
    pub host: Host,
    /// Masks secrets.
    pub redactor: Redactor,
    /// How commands are confined.
    pub sandbox: Arc<Terms>,
    core: Arc<Core>,
    place: Place,
    basis: Basis,
    /// The settings files.
    watch: Watch,
    /// The files that act only partly since they have changed.
    partly: Vec<PathBuf>,
    /// How many versions of files were trusted when settings were loaded.
    agreements: usize,
    /// Files as the operator has changed them in this session, until they are read again.
    written: Vec<Layer>,
}

/// What was found when settings were loaded.
#[derive(Debug, Default)]
struct Found {
    plugins: Vec<Plugin>,
    warnings: Vec<String>,
    unread: Vec<String>,
    watch: Watch,
    partly: Vec<PathBuf>,
    agreements: usize,
}

impl Governance {
    fn of(core: &Arc<Core>, place: Place, basis: Basis, found: Found) -> Self {
        let Core { config, .. } = &**core;
        let Found { mut plugins, mut warnings, unread, watch, partly, agreements } = found;
        let merged = Settings::merged(&basis.layers);
        let mut hook_layers: Vec<HookLayer> = settings::hooks_layers(&basis.layers)
            .into_iter()
            .filter_map(|(layer, acts)| {
                let hooks = layer.hooks()?.clone();
                let source = layer.source.clone();
                Some(HookLayer { source, hooks, off: !acts, env: Vec::new() })
            })
            .collect();
        // S0 §5.2: plugins come behind the snapshot, by their ids. They stay as they were at the start.
        let enabled = merged.enabled_plugins.clone().unwrap_or_default();
        plugins.retain(|plugin| !is_switched_off(&enabled, &plugin.id));
        let act = settings::others_hooks_act(&basis.layers);
        hook_layers.extend(plugins.iter().flat_map(|plugin| plugin.hook_layers(act)));
        let (entries, refused) = collect(&hook_layers);
        let told = |warning: &HookWarning| {
            let file = warning.source.file.as_deref().unwrap_or(Path::new("")).to_string_lossy();
            unread.contains(&warning.diagnostic(&file).to_string())
        };
        warnings.extend(refused.iter().filter(|one| !told(one)).map(ToString::to_string));
        let Derived { permissions, place, warnings: more } = basis.derive(place);
        warnings.extend(more);
        let (sandbox, more) = Terms::of(&basis.layers, &basis.roots);
        warnings.extend(more);
        let redactor = redactor(config, &basis.secrets, &basis.layers);
        let (host, hook_host, problems) = hosts(core, &basis, &merged, &redactor);
        warnings.extend(problems);
        let hooks = HookPlane::new(entries, hook_host, Anchors::of(permissions.around()));
        let permissions = Arc::new(permissions);
        let core = Arc::clone(core);
        let mut governance = Self {
            permissions,
            hooks,
            plugins,
            warnings,
            unread,
            host,
            redactor,
            sandbox: Arc::new(sandbox),
            core,
            place,
            basis,
            watch,
            partly,
            agreements,
            written: Vec::new(),
        };
        governance.confine_hooks();
        governance
    }

    /// Confines the hooks, if the settings say so.
    fn confine_hooks(&mut self) {
        if !self.sandbox.enabled || !self.sandbox.hooks {
            return;
        }
        match self.confined() {
            Runs::Inside(confined, _) => self.hooks.confine(confined),
            Runs::Outside(why, _) => {
                self.warnings.push(format!("sandbox.hooks has no effect: {why}"));
            }
            Runs::Refused(why) => {
                self.hooks.confine(Arc::new(Confined::impossible()));
                self.warnings.push(format!("no hook will run: {why}"));
            }
            Runs::Nothing => {}
        }
    }

    /// What stays as it was found at the start.
    fn found(&mut self) -> Found {
        Found {
            plugins: self.plugins.clone(),
            warnings: std::mem::take(&mut self.warnings),
            unread: std::mem::take(&mut self.unread),
            watch: std::mem::take(&mut self.watch),
            partly: std::mem::take(&mut self.partly),
            agreements: self.agreements,
        }
    }

    /// The directories it applies to.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// What the process shares.
    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    /// The conversation, as a name of a file.
    pub(crate) fn conversation(&self) -> &str {
        &self.basis.conversation
    }

    /// The file that an "always" is written to.
    pub fn local_settings(&self) -> PathBuf {
        let local = UpdateDestination::LocalSettings;
        settings::file_for(local, &self.basis.roots).unwrap_or_default()
    }

    /// Whether the mode was chosen for this run or in this session, so that settings do not change it.
    pub fn has_own_mode(&self) -> bool {
        self.basis.mode.is_some()
    }

    /// Where settings files are.
    pub fn roots(&self) -> &settings::Roots {
        &self.basis.roots
    }

    /// Whether only rules of managed settings count.
    pub fn managed_rules_only(&self) -> bool {
        settings::managed_rules_only(&self.basis.layers)
    }

    /// Rules that would allow the call from now on; none if added rules would have no effect.
    pub fn suggestions(&self, call: &Call<'_>) -> Vec<RuleValue> {
        match self.managed_rules_only() {
            true => Vec::new(),
            false => self.permissions.suggestions(call),
        }
    }

    /// Rebuilds the rules; warnings were reported before.
    fn derive_again(&mut self) {
        let Derived { permissions, place, .. } = self.basis.derive(self.place.clone());
        (self.permissions, self.place) = (Arc::new(permissions), place);
    }

    /// Switches to this mode.
    pub fn use_mode(&mut self, mode: PermissionMode) {
        self.basis.mode = Some(mode);
        self.derive_again();
    }

    /// Whether the settings allow this mode.
    pub fn may_use(&self, mode: PermissionMode) -> bool {
        self.basis.refuses(mode).is_none()
    }

    /// The governance of a session that this one starts: its mode can only be stricter, and its own hooks run last.
    pub fn for_agent(
        &self,
        own: &Seat,
        theirs: &Seat,
        terms: AgentTerms<'_>,
    ) -> Result<Self, StoreError> {
        let AgentTerms { place, modes, hooks, worktree } = terms;
        let mut basis = self.basis.clone();
        basis.outputs = self.core.host.outputs_of(&theirs.session);
        basis.conversation = theirs.conversation.file_name();
        let mine = self.permissions.mode();
        basis.mode = Some(modes.iter().fold(mine, |one, other| basis::stricter(one, *other)));
        basis.worktrees.extend(worktree.map(Path::to_owned));
        if let Some(hooks) = hooks {
            let json = Map::from_iter([("hooks".to_owned(), hooks)]);
            let source = Source::of(Scope::Session);
            basis.layers.push(Layer { source, base: basis.roots.project_dir.clone(), json });
        }
        let store = &self.core.store;
        if own.session != theirs.session
            && let Some(snapshot) = store.snapshot(&load::session_settings(own))?
        {
            store.keep_snapshot(&load::session_settings(theirs), &snapshot)?;
        }
        let found = Found { plugins: self.plugins.clone(), ..Found::default() };
        Ok(Self::of(&self.core, place, basis, found))
    }

    /// Applies the terms of the main agent's role: its hooks stay in force as long as those of the command line.
    pub fn take_role(&mut self, modes: &[PermissionMode], hooks: Option<&Value>) {
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
        self.rebuild();
    }

    /// Applies the settings of a skill, identified by its file, until [`Governance::clear_skills`].
    pub fn apply_skill(&mut self, file: &Path, json: Map<String, Value>) {
        let source = Source { scope: Scope::Session, file: Some(file.to_owned()) };
        self.basis.layers.retain(|layer| layer.source != source);
        let base = self.basis.roots.project_dir.clone();
        self.basis.layers.push(Layer { source, base, json });
        self.rebuild();
    }

    /// Removes the settings of skills.
    pub fn clear_skills(&mut self) {
        let is_skills =
            |layer: &Layer| layer.source.scope == Scope::Session && layer.source.file.is_some();
        if self.basis.layers.iter().any(is_skills) {
            self.basis.layers.retain(|layer| !is_skills(layer));
            self.rebuild();
        }
    }

    /// Rebuilds rules and hooks from the settings.
    pub fn rebuild(&mut self) {
        let (basis, found) = (self.basis.clone(), self.found());
        *self = Self::of(&self.core, self.place.clone(), basis, found);
    }

    /// Masks these too.
    pub fn add_secrets(&mut self, secrets: Vec<String>) {
        if !secrets.is_empty() {
            self.basis.secrets.extend(secrets);
            self.rebuild();
        }
    }

    /// The settings in force, by their sources.
    pub fn layers(&self) -> &[Layer] {
        &self.basis.layers
    }

    /// The settings in force, merged.
    pub fn settings(&self) -> Settings {
        Settings::merged(&self.basis.layers)
    }

    /// The MCP servers.
    pub fn servers(&self, plugins: &[PluginServers]) -> Result<Servers, StoreError> {
        let Basis { roots, layers, .. } = &self.basis;
        let repository = trust::name_of(&trust::repository_root(&roots.project_dir));
        let trusted = self.core.trusted(&repository)?;
        Ok(servers::find(&self.core.config, roots, layers, &trusted, plugins))
    }

    /// The session has moved to another directory.
    pub fn moved(&mut self, cwd: &Path) {
        Arc::make_mut(&mut self.permissions).moved(cwd);
        self.place.cwd = cwd.to_owned();
    }
}

/// What child processes of tools and hooks get, and the problems with it.
fn hosts(
    core: &Core,
    basis: &Basis,
    settings: &Settings,
    redactor: &Redactor,
) -> (Host, HookHost, Vec<String>) {
    let Core { config, host, .. } = core;
    // ona's own variables come last and win.
    let mut child_env = settings.child_env();
    let has_locale =
        config.has_locale || child_env.iter().any(|(name, _)| name == "LANG" || name == "LC_ALL");
    child_env.extend(host.child_env.iter().cloned());
    let host = Host { child_env, ..host.clone() };
    let (project_dir, warnings) = basis.hooks_dir();
    let hook_host = HookHost {
        child_env: host.child_env.clone(),
        project_dir,
        has_locale,
        timeouts: config.hook_timeouts,
        disabled: config.hooks_disabled,
        // An empty list allows nothing; no list allows anything.
        allowed_urls: settings.allowed_http_hook_urls.clone(),
        allowed_env: settings.http_hook_allowed_env_vars.clone(),
        variable: Box::new(config.variable),
        confined: None,
        redactor: redactor.clone(),
    };
    (host, hook_host, warnings)
}

/// Masks the secrets of the process, and those that become known later. That includes those of these settings: the
/// record and the other sessions of the process must know them too.
fn redactor(config: &Config, secrets: &[String], layers: &[Layer]) -> Redactor {
    config.learned_secrets.learn(settings::secrets(layers).chain(secrets.iter().cloned()));
    config.redactor()
}

#[cfg(test)]
mod tests {
    use ona_config::servers::ServerScope;
    use serde_json::json;

    use crate::testing::World;

    #[test]
    fn a_session_knows_its_servers() {
        let world = World::new(&json!({"mcpServers": {"x": {"command": "x"}}}));
        let found = world.gate().governance.servers(&[]).unwrap();
        assert_eq!(found.specs.len(), 1);
        assert_eq!(
            (found.listed[0].scope, found.listed[0].origin.as_str()),
            (ServerScope::Cli, "the command line")
        );
    }
}
