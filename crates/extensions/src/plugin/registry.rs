//! The plugins that the operator has added, and which of them are active.
//!
//! Each has its own directory: `record.json` says where it came from and which of the directories beside it holds its
//! files. A new version is written beside the old one and becomes active when the record is replaced, so a reader finds
//! one or the other, complete. The previous version stays for sessions that still use it.

mod source;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ona_config::Config;
use ona_config::settings::{Repository, Settings};
use ona_files::{Lock, LockError, Mode, ReplaceError, ReplaceOptions};
use ona_types::Diagnostic;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::{AgreedParts, Parts, Plugin, PluginError};
use crate::names::is_name;
pub use source::{FetchError, PluginSource, SourceError};

const RECORD: &str = "record.json";
/// The maximum size of a record.
const MAX_RECORD: u64 = 16 << 20;
/// Where a plugin keeps data.
const DATA: &str = "data";
/// The prefix of version directories.
const VERSION: &str = "v-";
/// The prefix of staging directories.
const STAGED: &str = ".new-";
/// An older staging directory was left by a crash.
const LEFT_BEHIND: Duration = Duration::from_secs(3600);
/// How long another process may take to change the registry.
const PATIENCE: Duration = Duration::from_secs(5);

/// The plugins that were added.
#[derive(Clone, Debug)]
pub struct Registry {
    dir: PathBuf,
}

/// What is stored about a plugin besides its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Where it came from, as given.
    pub source: String,
    /// The commit that was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The directory that holds it.
    dir: String,
    /// Whether it is switched on.
    pub enabled: bool,
    /// The root of the only repository it is for; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// The hash of what runs, as the operator agreed.
    agreed: String,
    /// What its skills and commands did then.
    #[serde(default)]
    parts: Parts,
}

impl Record {
    /// Whether the operator has agreed to what this version of the plugin runs and permits.
    pub fn agrees_to(&self, plugin: &Plugin) -> bool {
        self.agreed == plugin.runs_hash().as_str() && self.parts == plugin.parts()
    }
}

/// A plugin that was added, usable or not.
#[derive(Debug)]
pub struct Installed {
    /// What it is called.
    pub id: String,
    /// Where it came from.
    pub record: Record,
    /// The plugin, or why it cannot be used.
    pub plugin: Result<Plugin, PluginError>,
}

/// Why the registry cannot be read or changed. It is unchanged.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum RegistryError {
    #[error("unknown plugin `{0}`")]
    Unknown(String),
    #[error("plugin `{0}` already exists")]
    Exists(String),
    #[error("{} cannot be read: {why}", file.display())]
    Record { file: PathBuf, why: String },
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("{}: {cause}", file.display())]
    Write { file: PathBuf, cause: ReplaceError },
    #[error("{}: {cause}", path.display())]
    Io { path: PathBuf, cause: io::Error },
}

fn failed(path: &Path) -> impl Fn(io::Error) -> RegistryError + '_ {
    move |cause| RegistryError::Io { path: path.to_owned(), cause }
}

/// Files of a plugin that are not part of the registry yet; removed when dropped.
#[derive(Debug)]
pub struct Staged {
    dir: TempDir,
}

impl Staged {
    /// Where to put the files.
    pub fn path(&self) -> PathBuf {
        self.dir.path().join("plugin")
    }
}

impl Registry {
    /// The registry in ona's own directory.
    pub fn of(ona_config: &Path) -> Self {
        Self { dir: ona_config.join("plugins") }
    }

    /// Where a plugin keeps data.
    pub fn data(&self, id: &str) -> PathBuf {
        self.dir.join(id).join(DATA)
    }

    /// Everything that was added, by id, and what cannot be read.
    pub fn installed(&self) -> (Vec<Installed>, Vec<RegistryError>) {
        let (records, bad) = self.records();
        let read = |(id, record): (String, Record)| {
            let plugin = self.plugin(&id, &record);
            Installed { id, record, plugin }
        };
        (records.into_iter().map(read).collect(), bad)
    }

    fn records(&self) -> (Vec<(String, Record)>, Vec<RegistryError>) {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Default::default(),
            Err(error) => return (Vec::new(), vec![failed(&self.dir)(error)]),
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut ids: Vec<String> = names.filter(|name| is_name(name)).collect();
        ids.sort();
        let (mut records, mut bad) = (Vec::new(), Vec::new());
        for id in ids {
            match self.record(&id) {
                Ok(record) => records.push((id, record)),
                // Data of a plugin from --plugin-dir, or left by a crash.
                Err(RegistryError::Unknown(_)) => {}
                Err(error) => bad.push(error),
            }
        }
        (records, bad)
    }

    /// The record of a plugin.
    pub fn record(&self, id: &str) -> Result<Record, RegistryError> {
        if !is_name(id) {
            return Err(RegistryError::Unknown(id.to_owned()));
        }
        let file = self.dir.join(id).join(RECORD);
        let wrong = |why: String| RegistryError::Record { file: file.clone(), why };
        let text = match ona_files::read_at_most(&file, MAX_RECORD) {
            Ok(Some(text)) => text,
            Ok(None) => return Err(RegistryError::Unknown(id.to_owned())),
            Err(error) => return Err(wrong(error.to_string())),
        };
        let record: Record =
            serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        match record.dir.strip_prefix(VERSION).is_some_and(is_name) {
            true => Ok(record),
            false => Err(wrong(format!("`{}` is not a version directory", record.dir))),
        }
    }

    /// The plugin of a record. Hooks and servers that the operator has not agreed to do not run.
    fn plugin(&self, id: &str, record: &Record) -> Result<Plugin, PluginError> {
        let root = self.dir.join(id).join(&record.dir);
        let mut plugin = Plugin::read(&root, &self.data(id))?;
        plugin.commit.clone_from(&record.commit);
        if plugin.id != id {
            let why = format!("its name has changed from `{id}` to `{}`", plugin.id);
            return Err(PluginError::Manifest { file: root.join(super::MANIFEST), why });
        }
        plugin.agreed = AgreedParts::These(plugin.root.clone(), record.parts.clone());
        if record.agreed != plugin.runs_hash().as_str() {
            let why =
                "its hooks or servers have changed since it was added and do not run".to_owned();
            let remedy = format!("review them, then run `ona plugin update {id}`");
            plugin.warnings.push(Diagnostic::new(&root, why).hint(remedy));
            plugin.hold_back();
        }
        Ok(plugin)
    }

    /// A directory for new files.
    pub fn stage(&self) -> Result<Staged, RegistryError> {
        fs::create_dir_all(&self.dir).map_err(failed(&self.dir))?;
        // Left by a killed process; a running one is younger.
        let is_old = |path: &Path| {
            let age = path.metadata().and_then(|meta| meta.modified()).map(|at| at.elapsed());
            matches!(age, Ok(Ok(age)) if age > LEFT_BEHIND)
        };
        clear(&self.dir, |name| name.starts_with(STAGED) && is_old(&self.dir.join(name)));
        let dir = tempfile::Builder::new().prefix(STAGED).tempdir_in(&self.dir);
        Ok(Staged { dir: dir.map_err(failed(&self.dir))? })
    }

    /// Adds staged files, or replaces an added plugin with them.
    pub fn put(
        &self,
        staged: &Staged,
        plugin: &Plugin,
        source: &PluginSource,
        project: Option<PathBuf>,
        replaces: bool,
    ) -> Result<Record, RegistryError> {
        let _lock = self.lock()?;
        let old = match self.record(&plugin.id) {
            Ok(_) if !replaces => return Err(RegistryError::Exists(plugin.id.clone())),
            Ok(old) => Some(old),
            Err(RegistryError::Unknown(id)) if replaces => return Err(RegistryError::Unknown(id)),
            // An unreadable record is replaced.
            Err(_) => None,
        };
        let own = self.dir.join(&plugin.id);
        fs::create_dir_all(own.join(DATA)).map_err(failed(&own))?;
        let random =
            staged.dir.path().file_name().map(|name| name.to_string_lossy().to_lowercase());
        let random = random.unwrap_or_default().replace(STAGED, "");
        let record = Record {
            source: source.to_string(),
            commit: plugin.commit.clone(),
            dir: self.free(&own, &random),
            enabled: old.as_ref().is_none_or(|old| old.enabled),
            project,
            agreed: plugin.runs_hash().to_string(),
            parts: plugin.parts(),
        };
        let place = own.join(&record.dir);
        fs::rename(staged.path(), &place).map_err(failed(&place))?;
        self.write(&plugin.id, &record)?;
        let before = old.map(|old| old.dir);
        clear(&own, |name| {
            name.starts_with(VERSION) && name != record.dir && Some(name) != before.as_deref()
        });
        Ok(record)
    }

    /// An unused name for a version.
    fn free(&self, own: &Path, random: &str) -> String {
        let name = |at: usize| format!("{VERSION}{random}-{at}");
        (0..).map(name).find(|name| own.join(name).symlink_metadata().is_err()).unwrap_or_default()
    }

    /// Switches a plugin on or off.
    pub fn switch(&self, id: &str, on: bool) -> Result<(), RegistryError> {
        let _lock = self.lock()?;
        let record = Record { enabled: on, ..self.record(id)? };
        self.write(id, &record)
    }

    /// Removes a plugin and its data.
    pub fn remove(&self, id: &str) -> Result<(), RegistryError> {
        let _lock = self.lock()?;
        let own = self.dir.join(id);
        let record = own.join(RECORD);
        if !is_name(id) || record.symlink_metadata().is_err() {
            return Err(RegistryError::Unknown(id.to_owned()));
        }
        // Without the record the plugin is gone, even if the rest cannot be removed.
        fs::remove_file(&record).map_err(failed(&record))?;
        fs::remove_dir_all(&own).map_err(failed(&own))
    }

    fn write(&self, id: &str, record: &Record) -> Result<(), RegistryError> {
        let own = self.dir.join(id);
        let text = serde_json::to_string_pretty(record).unwrap_or_default();
        let options = ReplaceOptions { mode: Mode::Private, ..ReplaceOptions::default() };
        let file = own.join(RECORD);
        ona_files::replace(&file, text.as_bytes(), &options)
            .map_err(|cause| RegistryError::Write { file, cause })
    }

    /// Locks the registry.
    fn lock(&self) -> Result<Lock, RegistryError> {
        fs::create_dir_all(&self.dir).map_err(failed(&self.dir))?;
        Ok(Lock::acquire(&self.dir.join(".lock"), PATIENCE)?)
    }
}

/// Removes leftovers in a directory; failing does no harm.
fn clear(dir: &Path, goes: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(&goes) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Which plugins a session looks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PluginQuery<'a> {
    /// ona's own directory.
    pub(crate) ona_config: &'a Path,
    /// `--plugin-dir`.
    pub(crate) given: &'a [PathBuf],
    /// Whether added plugins are used.
    pub(crate) added: bool,
    /// The root of the repository.
    pub(crate) repository: &'a Path,
    /// The setting `enabledPlugins`.
    pub(crate) enabled: &'a BTreeMap<String, bool>,
}

/// The active plugins of a project.
#[derive(Debug, Default)]
pub struct ActivePlugins {
    /// The plugins, by id.
    pub plugins: Vec<Plugin>,
    /// Their problems.
    pub warnings: Vec<Diagnostic>,
    /// Plugins that cannot be read: their hooks, which may forbid something, do not run.
    pub unread: Vec<Diagnostic>,
}

impl ActivePlugins {
    /// All problems.
    pub fn problems(&self) -> impl Iterator<Item = &Diagnostic> {
        self.unread.iter().chain(&self.warnings)
    }
}

/// The active plugins of a project with these settings.
pub fn active_plugins(config: &Config, project_dir: &Path, settings: &Settings) -> ActivePlugins {
    acting(&PluginQuery {
        ona_config: &config.ona_config,
        given: &config.plugin_dirs,
        added: !config.is_bare(),
        repository: &Repository::of(project_dir).root,
        enabled: settings.enabled_plugins.as_ref().unwrap_or(&BTreeMap::new()),
    })
}

/// The active plugins, by id. One that was given for this session replaces an added one of the same name.
pub(crate) fn acting(wanted: &PluginQuery<'_>) -> ActivePlugins {
    let registry = Registry::of(wanted.ona_config);
    let (mut warnings, mut unread) = (Vec::new(), Vec::new());
    let mut plugins: Vec<Plugin> = Vec::new();
    for dir in wanted.given {
        // Its data directory depends on its name, which is known after reading.
        match Plugin::read(dir, dir) {
            Ok(plugin) if plugins.iter().any(|known| known.id == plugin.id) => {
                let why = format!("another given plugin is called `{}`", plugin.id);
                warnings.push(Diagnostic::new(dir, why).hint("give only one of them"));
            }
            Ok(plugin) => {
                // The operator named it as it is now, not as it may become.
                let agreed = AgreedParts::These(plugin.root.clone(), plugin.parts());
                let data = registry.data(&plugin.id);
                plugins.push(Plugin { data, agreed, ..plugin });
            }
            Err(error) => {
                unread.push(
                    Diagnostic::new(dir, error.to_string()).hint("see `ona plugin validate`"),
                );
            }
        }
    }
    let (records, bad) = if wanted.added { registry.records() } else { Default::default() };
    for error in bad {
        unread.push(Diagnostic::new(&registry.dir, error.to_string()).hint("add the plugin again"));
    }
    for (id, record) in records {
        let here = record.project.as_deref().is_none_or(|root| root == wanted.repository);
        let given = plugins.iter().any(|known| known.id == id);
        if !record.enabled || !here || given || is_switched_off(wanted.enabled, &id) {
            continue;
        }
        match registry.plugin(&id, &record) {
            Ok(plugin) => plugins.push(plugin),
            Err(error) => {
                let remedy = format!("`ona plugin update {id}`, or `ona plugin remove {id}`");
                unread
                    .push(Diagnostic::new(registry.dir.join(&id), error.to_string()).hint(remedy));
            }
        }
    }
    plugins.retain(|plugin| !is_switched_off(wanted.enabled, &plugin.id));
    plugins.sort_by(|a, b| a.id.cmp(&b.id));
    for plugin in &plugins {
        warnings.extend(plugin.warnings.iter().cloned());
    }
    ActivePlugins { plugins, warnings, unread }
}

/// Whether `enabledPlugins` switches a plugin off: by its name, or as `name@market`.
pub fn is_switched_off(enabled: &BTreeMap<String, bool>, id: &str) -> bool {
    if let Some(on) = enabled.get(id) {
        return !on;
    }
    let named = |key: &str| key.split_once('@').is_some_and(|(name, _)| name == id);
    enabled.iter().any(|(key, on)| named(key) && !on)
}

#[cfg(test)]
mod tests;
