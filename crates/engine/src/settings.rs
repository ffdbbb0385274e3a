//! Settings: which files there are, which of them win, and what in them is not as it should be.
//!
//! [`load`] reads every file once into [`Layer`]s, lowest rank first. A file that cannot be used is
//! skipped and an entry that makes no sense is dropped, each with a [`Warning`]; the rest stays in
//! force. [`merge`] makes one object of the layers, and [`snapshot`] what a session keeps and reads
//! from then on: the merged settings, with the layers, so that every rule and hook still knows where
//! it came from. [`edit`] changes a file without losing what else stands in it.

mod check;
pub mod edit;
mod file;
mod jsonc;
mod merge;
mod schema;

use std::fmt;
use std::path::{Path, PathBuf};

use ona_policy::{Anchors, Scope, Source};
use ona_types::{PermissionUpdate, UpdateDestination};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

pub use edit::EditError;
pub use file::BadFile;
pub use jsonc::NotSettings;
pub(crate) use merge::secrets;
pub use merge::{hooks_layers, layers_of, merge, rules_layers, snapshot};
pub use schema::{Settings, schema};

/// Where settings are looked for; all paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// The project's directory.
    pub project_dir: PathBuf,
    /// The user's home.
    pub home: PathBuf,
    /// `~/.claude`, or what `CLAUDE_CONFIG_DIR` says.
    pub claude_dir: PathBuf,
    /// `~/.config/ona`, or `$XDG_CONFIG_HOME/ona`.
    pub ona_config: PathBuf,
    /// The organisation's directories; the first that has settings is the one that counts.
    pub managed_dirs: Vec<PathBuf>,
    /// Where the operator stands.
    pub cwd: PathBuf,
}

impl Roots {
    /// The files of user, project and local scope, lowest rank first, each with the directory that
    /// `/p` in its rules is anchored to. ona's own file comes after Claude Code's and so wins.
    pub fn files(&self) -> [(Scope, &Path, PathBuf); 6] {
        let project = self.project_dir.as_path();
        [
            (Scope::User, &self.claude_dir, self.claude_dir.join("settings.json")),
            (Scope::User, &self.ona_config, self.ona_config.join("settings.json")),
            (Scope::Project, project, project.join(".claude/settings.json")),
            (Scope::Project, project, project.join(".ona/settings.json")),
            (Scope::Local, project, project.join(".claude/settings.local.json")),
            (Scope::Local, project, project.join(".ona/settings.local.json")),
        ]
    }
}

/// What the command line says about settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// `--settings`: a file each, or the JSON text itself.
    pub settings: Vec<String>,
    /// `--setting-sources`: which of user, project and local are read; all if it is not given.
    pub sources: Option<Vec<Scope>>,
}

/// The settings of one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// Whose they are.
    pub source: Source,
    /// What `/p` in their rules is anchored to.
    #[serde(serialize_with = "lossy")]
    pub base: PathBuf,
    /// The settings.
    pub json: Map<String, Value>,
}

impl Layer {
    /// The anchors of the layer's rules.
    pub fn anchors(&self, cwd: &Path, home: &Path) -> Anchors {
        Anchors { source: self.base.clone(), cwd: cwd.to_owned(), home: home.to_owned() }
    }
}

/// A snapshot is text: a path that is not must not keep it from being written.
fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// A file that was skipped, or an entry that was dropped or is odd.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The file, or `--settings`.
    pub file: String,
    /// The entry, as in `permissions.allow[2]`; empty where it is about the whole file.
    pub key: String,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "warning: {}: ", self.file)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.reason)
    }
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    /// The settings, lowest rank first.
    pub layers: Vec<Layer>,
    /// What was wrong with them.
    pub warnings: Vec<Warning>,
}

/// Reads all settings.
pub fn load(roots: &Roots, given: &Given) -> Loaded {
    let mut loader = Loader { roots, loaded: Loaded::default() };
    for (scope, base, file) in roots.files() {
        if given.sources.as_ref().is_none_or(|sources| sources.contains(&scope)) {
            loader.file(scope, base, &file);
        }
    }
    for settings in &given.settings {
        loader.given(settings);
    }
    loader.managed();
    loader.loaded
}

/// The file that an update of the permissions goes to, if it goes to one.
pub fn file_for(destination: UpdateDestination, roots: &Roots) -> Option<PathBuf> {
    match destination {
        UpdateDestination::UserSettings => Some(roots.claude_dir.join("settings.json")),
        UpdateDestination::ProjectSettings => Some(roots.project_dir.join(".claude/settings.json")),
        UpdateDestination::LocalSettings => {
            Some(roots.project_dir.join(".claude/settings.local.json"))
        }
        UpdateDestination::Session | UpdateDestination::CliArg => None,
    }
}

/// Writes an update of the permissions to the file it goes to, and says which; nothing if to none.
pub fn save(update: &PermissionUpdate, roots: &Roots) -> Result<Option<PathBuf>, EditError> {
    let destination = update.destination();
    let Some(file) = file_for(destination, roots) else { return Ok(None) };
    // A file that would not be read is not written either.
    if destination != UpdateDestination::UserSettings
        && let Err(bad) = file::within(&roots.project_dir, &file)
    {
        return Err(EditError::In { file, reason: Box::new(bad.into()) });
    }
    edit::write(&file, |text| edit::apply(text, update))?;
    Ok(Some(file))
}

struct Loader<'a> {
    roots: &'a Roots,
    loaded: Loaded,
}

impl Loader<'_> {
    /// A file that need not exist.
    fn file(&mut self, scope: Scope, base: &Path, path: &Path) {
        match self.read(scope, path) {
            Ok(None) => {}
            Ok(Some(text)) => self.text(scope, base, Some(path), &text),
            Err(bad) => self.skip(path, &bad),
        }
    }

    fn read(&self, scope: Scope, path: &Path) -> Result<Option<String>, BadFile> {
        match scope {
            // Whoever wrote the repository does not decide about files elsewhere. What was judged is
            // what is read.
            Scope::Project | Scope::Local => {
                file::read(&file::within(&self.roots.project_dir, path)?)
            }
            _ => file::read(path),
        }
    }

    fn given(&mut self, settings: &str) {
        if settings.trim_start().starts_with('{') {
            let cwd = &self.roots.cwd;
            return self.text(Scope::Cli, cwd, None, settings);
        }
        let path = self.roots.cwd.join(settings);
        let base = path.parent().unwrap_or(&self.roots.cwd);
        match file::read(&path) {
            Ok(None) => self.skip(&path, &BadFile::Missing),
            Ok(Some(text)) => self.text(Scope::Cli, base, Some(&path), &text),
            Err(bad) => self.skip(&path, &bad),
        }
    }

    fn managed(&mut self) {
        for dir in &self.roots.managed_dirs {
            let drop_ins = dir.join("managed-settings.d");
            let mut files = vec![dir.join("managed-settings.json")];
            match file::list(&drop_ins) {
                Ok(more) => files.extend(more),
                Err(bad) => self.skip(&drop_ins, &bad),
            }
            // Even one that cannot be read shows that this is the organisation's directory.
            files.retain(|file| file.symlink_metadata().is_ok());
            for file in &files {
                self.file(Scope::Managed, Path::new("/"), file);
            }
            if !files.is_empty() {
                return;
            }
        }
    }

    fn text(&mut self, scope: Scope, base: &Path, path: Option<&Path>, text: &str) {
        let name = path.map_or("--settings".into(), Path::to_string_lossy);
        let json = match jsonc::parse(text) {
            Ok(json) => json,
            Err(bad) => return self.skip(Path::new(&*name), &bad.into()),
        };
        let file = path.map(|_| PathBuf::from(&*name));
        let mut layer = Layer { source: Source { scope, file }, base: base.to_owned(), json };
        let anchors = layer.anchors(&self.roots.cwd, &self.roots.home);
        for (key, reason) in check::check(&mut layer, &anchors) {
            self.loaded.warnings.push(Warning { file: name.to_string(), key, reason });
        }
        self.loaded.layers.push(layer);
    }

    fn skip(&mut self, path: &Path, bad: &BadFile) {
        self.loaded.warnings.push(Warning {
            file: path.to_string_lossy().into_owned(),
            key: String::new(),
            reason: bad.to_string(),
        });
    }
}

#[cfg(test)]
mod tests;
