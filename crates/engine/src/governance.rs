//! What governs a session: the settings it runs on, read once, turned into rules and hooks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ona_hooks::{HookHost, HookPlane, Timeouts, collect};
use ona_policy::{Permissions, Rule, Scope, Source, Surroundings};
use ona_store::{Seat, Store, StoreError};
use ona_tools::{Host, Place};
use ona_types::{Behavior, PermissionMode};
use serde_json::Value;

use crate::settings::{self, Given, Layer, Roots};
use crate::trust;

/// How settings are found, and what the command line adds to them.
#[derive(Clone, Debug)]
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
    /// Looks an environment variable up.
    pub variable: fn(&str) -> Option<String>,
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
    },
}

/// The rules and hooks in force for a session.
#[derive(Debug)]
pub(crate) struct Governance {
    pub(crate) permissions: Arc<Permissions>,
    pub(crate) hooks: HookPlane,
    pub(crate) roots: Roots,
    pub(crate) warnings: Vec<String>,
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
        Ok(Self::of(config, host, place, roots, &layers, warnings))
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
                return Err(GovernanceError::Untrusted { root: brought.root, what: brought.what });
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
        roots: Roots,
        layers: &[Layer],
        mut warnings: Vec<String>,
    ) -> Self {
        let merged = settings::merge(layers);
        let permissions = &merged["permissions"];
        let mode = permissions["defaultMode"].as_str().and_then(|mode| mode.parse().ok());
        let mut mode = config.mode.or(mode).unwrap_or_default();
        if mode == PermissionMode::BypassPermissions
            && permissions["disableBypassPermissionsMode"] == "disable"
        {
            warnings
                .push("bypassPermissions is switched off by the settings: default is used".into());
            mode = PermissionMode::Default;
        }
        let directories = permissions["additionalDirectories"].as_array().into_iter().flatten();
        for dir in directories.filter_map(Value::as_str) {
            if let Ok(dir) = ona_policy::path::resolve(&roots.project_dir, dir) {
                place.additional_dirs.push(dir);
            }
        }
        let around = Surroundings {
            cwd: place.cwd.clone(),
            project_dir: place.project_dir.clone(),
            home: roots.home.clone(),
            working_dirs: std::iter::once(&place.project_dir)
                .chain(&place.additional_dirs)
                .cloned()
                .collect(),
        };
        let rules = rules(layers, &place.project_dir, &roots.home, &mut warnings);
        let acting: Vec<(Source, Value)> = settings::hooks_layers(layers)
            .into_iter()
            .filter_map(|layer| Some((layer.source.clone(), layer.json.get("hooks")?.clone())))
            .collect();
        let (entries, refused) = collect(&acting);
        warnings.extend(refused);
        let texts = |key: &str| -> Vec<String> {
            let list = merged[key].as_array().into_iter().flatten();
            list.filter_map(|text| text.as_str().map(str::to_owned)).collect()
        };
        let hook_host = HookHost {
            child_env: host.child_env.clone(),
            project_dir: place.project_dir.clone(),
            has_locale: config.has_locale,
            timeouts: config.hook_timeouts,
            disabled: config.hooks_disabled,
            allowed_urls: texts("allowedHttpHookUrls"),
            allowed_env: texts("httpHookAllowedEnvVars"),
            variable: Box::new(config.variable),
        };
        let hooks = HookPlane::new(entries, hook_host, around.anchors());
        let permissions = Arc::new(Permissions::new(rules, mode, around));
        Self { permissions, hooks, roots, warnings }
    }
}

/// Where the rules that were decided in a session are kept.
pub(crate) fn session_rules(seat: &Seat) -> String {
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
