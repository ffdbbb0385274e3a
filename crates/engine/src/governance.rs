//! What governs a session: the settings it runs on, read once, turned into rules and hooks.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ona_hooks::{HookHost, HookLayer, HookPlane, Timeouts, collect};
use ona_policy::secrets::Redactor;
use ona_policy::{Permissions, Rule, Scope, Source, Surroundings};
use ona_store::{Seat, Store, StoreError};
use ona_tools::{Host, Place};
use ona_types::{Behavior, ContentHash, PermissionMode, PermissionUpdate, UpdateDestination};
use serde_json::{Map, Value};

use crate::settings::{self, Given, Layer, Roots};
use crate::trust;

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
    #[error("{} is not trusted, and it brings {}", root.display(), what.join(", "))]
    Untrusted {
        /// The repository.
        root: PathBuf,
        /// What it brings.
        what: Vec<String>,
        /// The hash of all that, for who agrees to it.
        hash: ContentHash,
    },
}

/// The rules and hooks in force for a session.
#[derive(Debug)]
pub(crate) struct Governance {
    pub(crate) permissions: Arc<Permissions>,
    pub(crate) hooks: HookPlane,
    pub(crate) warnings: Vec<String>,
    /// What must not be kept.
    pub(crate) redactor: Redactor,
    basis: Basis,
}

/// What the permissions are made of, and made of again when one of them changes.
#[derive(Debug)]
struct Basis {
    roots: Roots,
    layers: Vec<Layer>,
    /// The mode that the command line or somebody in this session chose.
    mode: Option<PermissionMode>,
    /// Where output of this session's tools is put.
    outputs: PathBuf,
}

impl Governance {
    /// Takes the operator's snapshot if there is one, else imports the files; keeps what it took under
    /// the session's own scope.
    pub(crate) fn load(
        config: &Config,
        store: &Store,
        host: &Host,
        seat: &Seat,
        place: &mut Place,
    ) -> Result<Self, GovernanceError> {
        let roots = config.roots(&place.project_dir, &place.cwd);
        let mut warnings = Vec::new();
        let operators = store.operators_snapshot()?;
        let mut layers = match operators.as_deref().map(serde_json::from_str::<Value>) {
            Some(Ok(snapshot)) => {
                keep(store, seat, &snapshot)?;
                settings::layers_of(&snapshot, &place.project_dir)
            }
            Some(Err(error)) => {
                warnings.push(format!(
                    "settings_snapshot('effective') is no JSON ({error}): files are used instead; \
                     `ona config import` replaces it"
                ));
                Self::import(config, store, seat, &roots, &mut warnings, false)?
            }
            None => Self::import(config, store, seat, &roots, &mut warnings, true)?,
        };
        if let Some(rules) = store.snapshot(&session_rules(seat))?
            && let Ok(Value::Object(json)) = serde_json::from_str(&rules)
        {
            let source = Source::of(Scope::Session);
            layers.push(Layer { source, base: place.project_dir.clone(), json });
        }
        let mode = config.mode.or_else(|| session_mode(&layers));
        let outputs = host.outputs_of(&seat.session);
        Ok(Self::of(config, host, place, Basis { roots, layers, mode, outputs }, warnings))
    }

    fn import(
        config: &Config,
        store: &Store,
        seat: &Seat,
        roots: &Roots,
        warnings: &mut Vec<String>,
        write: bool,
    ) -> Result<Vec<Layer>, GovernanceError> {
        let mut loaded = settings::load(roots, &config.given);
        warnings.extend(loaded.warnings.iter().map(ToString::to_string));
        let brought = trust::brought(&roots.project_dir, &loaded.layers);
        let root = brought.root.to_string_lossy();
        let trusted = config.trust || store.trusted(&root)?.as_ref() == Some(&brought.hash);
        if !trusted {
            if !brought.what.is_empty() {
                let trust::Brought { root, what, hash } = brought;
                return Err(GovernanceError::Untrusted { root, what, hash });
            }
            if trust::holds_back(&loaded.layers) {
                warnings.push(format!(
                    "{root} is not trusted: the project's allow rules and mode do not act (`ona trust`)"
                ));
            }
            loaded.layers = trust::restricted(&loaded.layers);
        }
        let snapshot = settings::snapshot(&loaded);
        if write {
            store.import_settings(&snapshot.to_string())?;
        }
        keep(store, seat, &snapshot)?;
        Ok(loaded.layers)
    }

    fn of(
        config: &Config,
        host: &Host,
        place: &mut Place,
        basis: Basis,
        mut warnings: Vec<String>,
    ) -> Self {
        let merged = settings::merge(&basis.layers);
        let hook_layers: Vec<HookLayer> = settings::hooks_layers(&basis.layers)
            .into_iter()
            .filter_map(|(layer, acts)| {
                let hooks = layer.json.get("hooks")?.clone();
                Some(HookLayer { source: layer.source.clone(), hooks, off: !acts })
            })
            .collect();
        let (entries, refused) = collect(&hook_layers);
        warnings.extend(refused);
        let permissions = basis.permissions(place, &mut warnings);
        let texts = |key: &str| -> Vec<String> {
            let list = merged[key].as_array().into_iter().flatten();
            list.filter_map(|text| text.as_str().map(str::to_owned)).collect()
        };
        let redactor = Redactor::knowing(
            config.secrets.iter().cloned().chain(settings::secrets(&basis.layers)),
        );
        let hook_host = HookHost {
            child_env: host.child_env.clone(),
            project_dir: place.project_dir.clone(),
            has_locale: config.has_locale,
            timeouts: config.hook_timeouts,
            disabled: config.hooks_disabled,
            allowed_urls: texts("allowedHttpHookUrls"),
            allowed_env: texts("httpHookAllowedEnvVars"),
            variable: Box::new(config.variable),
            redactor: redactor.clone(),
        };
        let hooks = HookPlane::new(entries, hook_host, permissions.around().anchors());
        Self { permissions: Arc::new(permissions), hooks, warnings, redactor, basis }
    }

    /// Keeps an update of the permissions where it belongs, and lets it act from now on. Says where it is
    /// kept.
    pub(crate) fn update(
        &mut self,
        update: &PermissionUpdate,
        store: &Store,
        seat: &Seat,
        place: &mut Place,
    ) -> Result<String, UpdateError> {
        let file = settings::save(update, &self.basis.roots)?;
        let scope = match update.destination() {
            UpdateDestination::UserSettings => Scope::User,
            UpdateDestination::ProjectSettings => Scope::Project,
            UpdateDestination::LocalSettings => Scope::Local,
            UpdateDestination::Session => Scope::Session,
            UpdateDestination::CliArg => Scope::Cli,
        };
        let kept =
            file.as_ref().map_or(scope.as_str().to_owned(), |file| file.display().to_string());
        let source = Source { scope, file };
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
        Ok(kept)
    }

    /// The settings in force, merged.
    pub(crate) fn settings(&self) -> Value {
        settings::merge(&self.basis.layers)
    }

    /// The session has moved to another directory.
    pub(crate) fn moved(&mut self, cwd: &Path) {
        Arc::make_mut(&mut self.permissions).moved(cwd);
    }
}

/// Why an update of the permissions cannot be kept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UpdateError {
    #[error(transparent)]
    File(#[from] settings::EditError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The mode that was chosen earlier in this session.
fn session_mode(layers: &[Layer]) -> Option<PermissionMode> {
    let session = layers.iter().find(|layer| layer.source.scope == Scope::Session)?;
    session.json.get("permissions")?.get("defaultMode")?.as_str()?.parse().ok()
}

impl Basis {
    /// What all of it amounts to; the place learns of further working directories.
    fn permissions(&self, place: &mut Place, warnings: &mut Vec<String>) -> Permissions {
        let merged = settings::merge(&self.layers);
        let permissions = &merged["permissions"];
        let mode = permissions["defaultMode"].as_str().and_then(|mode| mode.parse().ok());
        let mut mode = self.mode.or(mode).unwrap_or_default();
        if mode == PermissionMode::BypassPermissions
            && permissions["disableBypassPermissionsMode"] == "disable"
        {
            warnings
                .push("bypassPermissions is switched off by the settings: default is used".into());
            mode = PermissionMode::Default;
        }
        let directories = permissions["additionalDirectories"].as_array().into_iter().flatten();
        place.additional_dirs = directories
            .filter_map(Value::as_str)
            .filter_map(|dir| ona_policy::path::resolve(&self.roots.project_dir, dir).ok())
            .collect();
        let around = Surroundings {
            cwd: place.cwd.clone(),
            project_dir: place.project_dir.clone(),
            home: self.roots.home.clone(),
            working_dirs: std::iter::once(&place.project_dir)
                .chain(&place.additional_dirs)
                .cloned()
                .collect(),
            outputs: Some(self.outputs.clone()),
        };
        let rules = rules(&self.layers, &place.project_dir, &self.roots.home, warnings);
        Permissions::new(rules, mode, around)
    }
}

/// Where the rules that were decided in a session are kept.
fn session_rules(seat: &Seat) -> String {
    format!("rules:{}", seat.session)
}

fn keep(store: &Store, seat: &Seat, snapshot: &Value) -> Result<(), StoreError> {
    store.keep_snapshot(&format!("session:{}", seat.session), &snapshot.to_string())
}

fn rules(layers: &[Layer], cwd: &Path, home: &Path, warnings: &mut Vec<String>) -> Vec<Rule> {
    let mut rules = Vec::new();
    for layer in settings::rules_layers(layers) {
        let anchors = layer.anchors(cwd, home);
        for (list, behavior) in
            [("allow", Behavior::Allow), ("deny", Behavior::Deny), ("ask", Behavior::Ask)]
        {
            let texts = layer.json["permissions"][list].as_array().into_iter().flatten();
            for text in texts.filter_map(Value::as_str) {
                match Rule::parse(text, behavior, layer.source.clone(), &anchors) {
                    Ok((rule, _)) => rules.push(rule),
                    // Files were checked when they were loaded; an operator's snapshot was not.
                    Err(why) => warnings
                        .push(format!("{}: permissions.{list}: {text}: {why}", layer.source)),
                }
            }
        }
    }
    rules
}
