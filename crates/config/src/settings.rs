//! Settings: which files there are, how they are merged, and what is wrong in them.
//!
//! [`load`] reads every file once into [`Layer`]s, lowest rank first. A file that cannot be used is
//! skipped and an invalid entry is dropped, each with a [`Diagnostic`]; the rest applies. Where something that forbids
//! may be lost that way, it is in [`Loaded::unread`], and the caller decides whether to go on. [`merge`] makes one
//! object of the layers, [`Settings::merged`] a typed view of it. [`snapshot`] is what a session stores and reads
//! from then on: the merged settings with their layers, so that every rule and hook keeps its source. [`edit`]
//! changes a file and keeps everything else in it.

mod check;
mod duplicates;
pub mod edit;
mod effect;
mod file;
mod jsonc;
mod known_keys;
mod merge;
mod remarks;
mod schema;
mod shown;
mod typed;

use std::path::{Path, PathBuf};

use ona_policy::{Anchors, Scope, Source};
use ona_types::{Diagnostic, PermissionUpdate, UpdateDestination};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

pub use check::sandbox_path;
pub use edit::EditError;
pub use effect::{InFile, NoEffect, in_force, name_of, no_effect, value_in};
pub use file::{BadFile, read, read_bytes, within};
pub use jsonc::NotSettings;
pub use known_keys::BadKey;
pub use merge::{
    hooks_layers, is_managed, layers_of, managed_rules_only, merge, others_hooks_act, rules_layers,
    secrets, snapshot,
};
pub(crate) use merge::{managed_servers_only, merge_objects};
pub use ona_repo::Repository;
pub use schema::{
    OauthSettings, Permissions, Sandbox, SandboxFiles, SandboxProfile, SearchBackend, Settings,
    schema,
};
pub(crate) use schema::{is_permission, is_setting};
pub use shown::shown;

/// The setting that rejects servers of a `.mcp.json`.
pub(crate) const REJECTED_SERVERS: &str = "disabledMcpjsonServers";

/// The limits on servers. If one is invalid, no server may be started.
pub(crate) const SERVER_LIMITS: [&str; 3] =
    ["deniedMcpServers", "allowedMcpServers", REJECTED_SERVERS];

/// Keys below `sandbox` that nobody knows, and that are no misspelt ones, which [`load`] reports.
pub fn foreign_sandbox_keys(layer: &Layer) -> Vec<String> {
    let sandbox = layer.json.get("sandbox").unwrap_or(&Value::Null);
    let unknown = known_keys::unknown_in("sandbox", sandbox).into_iter();
    unknown.filter(|(_, meant)| meant.is_none()).map(|(key, _)| key).collect()
}

/// Whether a layer belongs to the repository.
pub fn is_projects(layer: &Layer) -> bool {
    matches!(layer.source.scope, Scope::Project | Scope::Local)
}

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
    /// The organisation's directories; the first one with settings is used.
    pub managed_dirs: Vec<PathBuf>,
    /// The current directory of the operator.
    pub cwd: PathBuf,
}

impl Roots {
    /// The files of user, project and local scope, lowest rank first, each with the directory that
    /// `/p` in its rules is relative to. ona's own file comes after Claude Code's and wins.
    pub fn files(&self) -> Vec<(Scope, PathBuf, PathBuf)> {
        let mut files: Vec<_> = [&self.claude_dir, &self.ona_config]
            .map(|dir| (Scope::User, dir.clone(), dir.join("settings.json")))
            .into();
        let dirs = self.project_dirs();
        for (scope, name) in
            [(Scope::Project, "settings.json"), (Scope::Local, "settings.local.json")]
        {
            for dir in &dirs {
                for tool in [".claude", ".ona"] {
                    let file = dir.join(tool).join(name);
                    // In a home directory the user's own file is not also the project's.
                    if files.iter().all(|(_, _, known)| *known != file) {
                        files.push((scope, dir.clone(), file));
                    }
                }
            }
        }
        files
    }

    /// The directories with project settings: from the root of the checkout, so that the repository's guards
    /// also apply below it, down to the project's own directory.
    pub fn project_dirs(&self) -> Vec<PathBuf> {
        let checkout = self.checkout();
        let dirs = self.project_dir.ancestors().take_while(|dir| dir.starts_with(&checkout));
        let mut dirs: Vec<PathBuf> = dirs.map(Path::to_owned).collect();
        dirs.reverse();
        dirs
    }

    /// The root of the checkout the project is in.
    pub fn checkout(&self) -> PathBuf {
        Repository::of(&self.project_dir).checkout
    }
}

impl Roots {
    /// Every file that settings may come from, the organisation's included, whether it exists or not.
    pub fn all_files(&self) -> Vec<(Scope, PathBuf)> {
        let mut files: Vec<(Scope, PathBuf)> =
            self.files().into_iter().map(|(scope, _, file)| (scope, file)).collect();
        for dir in &self.managed_dirs {
            let drop_ins = dir.join("managed-settings.d");
            let more = file::list(&drop_ins).unwrap_or_default();
            let managed = [dir.join("managed-settings.json"), drop_ins].into_iter().chain(more);
            files.extend(managed.map(|file| (Scope::Managed, file)));
        }
        files
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
    /// Where they come from.
    pub source: Source,
    /// The directory that `/p` in their rules is relative to.
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

/// A snapshot is text: a path that is not valid UTF-8 must not prevent writing it.
fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    /// The settings, lowest rank first.
    pub layers: Vec<Layer>,
    /// The problems in them.
    pub warnings: Vec<Diagnostic>,
    /// What cannot be read although it may forbid something: whole files, deny and ask rules, hooks.
    pub unread: Vec<Diagnostic>,
}

impl Loaded {
    /// All problems.
    pub fn problems(&self) -> impl Iterator<Item = &Diagnostic> {
        self.unread.iter().chain(&self.warnings)
    }

    /// Adds a problem in an entry.
    fn add(&mut self, name: &str, finding: check::Finding) {
        let list = if finding.is_guard { &mut self.unread } else { &mut self.warnings };
        list.push(Diagnostic::new(name, finding.why).in_key(finding.key));
    }
}

/// Reads all settings.
pub fn load(roots: &Roots, given: &Given) -> Loaded {
    let mut loader = Loader { roots, checkout: roots.checkout(), loaded: Loaded::default() };
    for (scope, base, file) in roots.files() {
        if given.sources.as_ref().is_none_or(|sources| sources.contains(&scope)) {
            loader.file(scope, &base, &file);
        }
    }
    for settings in &given.settings {
        loader.given(settings);
    }
    loader.managed();
    loader.loaded
}

/// The name of the operator's snapshot in warnings.
pub const SNAPSHOT: &str = "settings_snapshot('effective')";

/// Uses the operator's snapshot instead of files. It is checked in the same way, and the settings of this command line
/// and of the organisation still rank above it.
pub fn operators(snapshot: &str, roots: &Roots, given: &Given) -> Result<Loaded, NotSettings> {
    let (snapshot, twice) = duplicates::read(snapshot)?;
    if !snapshot.is_object() {
        return Err(NotSettings::NotAnObject);
    }
    let mut loaded = Loaded::default();
    let twice =
        twice.into_iter().map(|key| Diagnostic::new(SNAPSHOT, duplicates::REASON).in_key(key));
    loaded.warnings.extend(twice);
    for mut layer in layers_of(&snapshot, &roots.project_dir) {
        // These are read again: the snapshot must not keep old ones in force.
        if matches!(layer.source.scope, Scope::Cli | Scope::Managed) {
            continue;
        }
        let anchors = layer.anchors(&roots.cwd, &roots.home);
        for finding in check::check(&mut layer, &anchors) {
            loaded.add(SNAPSHOT, finding);
        }
        loaded.layers.push(layer);
    }
    let no_files = Given { settings: given.settings.clone(), sources: Some(Vec::new()) };
    let above = load(roots, &no_files);
    loaded.layers.extend(above.layers);
    loaded.warnings.extend(above.warnings);
    loaded.unread.extend(above.unread);
    Ok(loaded)
}

/// The reason why a value of `--settings` cannot be used.
pub fn refuses(given: &str, cwd: &Path) -> Option<BadFile> {
    let text = if is_text(given) {
        Ok(given.to_owned())
    } else {
        file::read(&cwd.join(given)).and_then(|text| text.ok_or(BadFile::Missing))
    };
    text.and_then(|text| Ok(jsonc::parse(&text)?)).err()
}

/// The object in a text with comments and trailing commas, and its duplicate keys, such as `a.b`.
pub(crate) fn object_in(text: &str) -> Result<(Map<String, Value>, Vec<String>), NotSettings> {
    jsonc::parse(text)
}

/// Whether a value is JSON text, not the name of a file.
pub fn is_text(given: &str) -> bool {
    given.trim_start().starts_with('{')
}

/// The file that an update of the permissions is written to, if any.
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

/// The same, unless the repository redirects it with a link: a file that would not be read is not
/// written either.
fn writable(
    destination: UpdateDestination,
    roots: &Roots,
) -> Result<Option<(Scope, PathBuf)>, EditError> {
    let Some(file) = file_for(destination, roots) else { return Ok(None) };
    let scope = match destination {
        UpdateDestination::UserSettings => return Ok(Some((Scope::User, file))),
        UpdateDestination::ProjectSettings => Scope::Project,
        _ => Scope::Local,
    };
    match file::within(&roots.checkout(), &file) {
        Ok(_) => Ok(Some((scope, file))),
        Err(bad) => Err(EditError::In { file, reason: Box::new(bad.into()) }),
    }
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    /// The file.
    pub file: PathBuf,
    /// Its settings before, if it had any.
    pub before: Option<Layer>,
    /// Its settings now.
    pub after: Option<Layer>,
    /// A remark for the user.
    pub remark: Option<String>,
}

/// Writes an update of the permissions to its file; `None` if it is not written to a file.
pub fn save(update: &PermissionUpdate, roots: &Roots) -> Result<Option<Saved>, EditError> {
    let Some((scope, file)) = writable(update.destination(), roots)? else { return Ok(None) };
    let (mut before, mut after) = (None, None);
    let is_new = !file.exists();
    edit::write(&file, |text| {
        let new = edit::apply(text, update)?;
        before = checked(scope, &roots.project_dir, Some(&file), text, roots).ok();
        after = checked(scope, &roots.project_dir, Some(&file), &new, roots).ok();
        Ok(new)
    })?;
    let layer = |checked: Option<(Layer, _)>| checked.map(|(layer, _)| layer);
    let remark = if is_new { remarks::exposed(scope, &file) } else { None };
    let remark = remark.map(|remark| format!("{}: {remark}", file.display()));
    Ok(Some(Saved { before: layer(before), after: layer(after), remark, file }))
}

/// What to do about an unknown key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownKeys {
    /// It is refused.
    Refused,
    /// It is kept: another program may use it.
    Kept,
}

/// Sets a key in the file of the destination, unless reading the file would drop the value. Returns what was written and
/// remarks about the value.
pub fn set(
    destination: UpdateDestination,
    key: &[&str],
    value: &Value,
    roots: &Roots,
    unknown: UnknownKeys,
) -> Result<(Saved, Vec<String>), EditError> {
    match known_keys::check(key, value) {
        Err(BadKey::Unknown { .. }) if unknown == UnknownKeys::Kept => {}
        checked => checked?,
    }
    let (scope, file) = writable(destination, roots)?.ok_or(EditError::NoFile)?;
    let mut odd = Vec::new();
    let is_new = !file.exists();
    let (mut before, mut after) = (None, None);
    edit::write(&file, |text| {
        let new = edit::set(text, key, value)?;
        before = checked(scope, &roots.project_dir, Some(&file), text, roots).ok();
        let (layer, found) = checked(scope, &roots.project_dir, Some(&file), &new, roots)?;
        after = Some(layer.clone());
        let [first, rest @ ..] = key else { return Ok(new) };
        let left = rest.iter().try_fold(layer.json.get(*first), |left, part| Some(left?.get(part)));
        let name = key.join(".");
        let about = |found: &str| is_in(found, &name) || is_in(&name, found);
        let found = found.into_iter().map(|finding| (finding.key, finding.why));
        let missing = remarks::missing_directories(&layer);
        let found = found.chain(missing).filter(|(key, _)| about(key));
        let mut reasons: Vec<String> = found.map(|(key, why)| format!("{key}: {why}")).collect();
        let mut stays = left.flatten() == Some(value);
        // The hook plane checks hooks, as it does when they are read.
        for warning in hook_warnings(&layer).into_iter().filter(|warning| about(&warning.place)) {
            stays &= !warning.left_out;
            let ona_hooks::HookWarning { place, why, left_out, .. } = warning;
            reasons.push(format!(
                "{place}: {why}{}",
                if left_out { ": the hook would not run" } else { "" }
            ));
        }
        if stays {
            odd = reasons;
            return Ok(new);
        }
        Err(EditError::Dropped(reasons.join("; ")))
    })?;
    if is_new {
        odd.extend(remarks::exposed(scope, &file));
    }
    let before = before.map(|(layer, _)| layer);
    Ok((Saved { file, before, after, remark: None }, odd))
}

/// Checks that a key is one that settings can have.
pub fn check_key(key: &[&str]) -> Result<(), BadKey> {
    known_keys::check(key, &Value::Null)
}

/// Removes a key from the file of the destination. Returns what was written.
pub fn unset(
    destination: UpdateDestination,
    key: &[&str],
    roots: &Roots,
) -> Result<Saved, EditError> {
    let (scope, file) = writable(destination, roots)?.ok_or(EditError::NoFile)?;
    if file::is_missing(&file) {
        let reason = Box::new(EditError::NotSet(key.join(".")));
        return Err(EditError::In { file, reason });
    }
    let (mut before, mut after) = (None, None);
    edit::write(&file, |text| {
        let new = edit::unset(text, key)?;
        before = checked(scope, &roots.project_dir, Some(&file), text, roots).ok();
        after = checked(scope, &roots.project_dir, Some(&file), &new, roots).ok();
        Ok(new)
    })?;
    let layer = |checked: Option<(Layer, _)>| checked.map(|(layer, _)| layer);
    Ok(Saved { before: layer(before), after: layer(after), remark: None, file })
}

/// Whether a key is the other one, or inside it.
fn is_in(key: &str, other: &str) -> bool {
    key.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The problems in the hooks of a layer.
fn hook_warnings(layer: &Layer) -> Vec<ona_hooks::HookWarning> {
    let Some(hooks) = layer.json.get("hooks") else { return Vec::new() };
    let (source, hooks) = (layer.source.clone(), hooks.clone());
    ona_hooks::collect(&[ona_hooks::HookLayer { source, hooks, off: false, env: Vec::new() }]).1
}

/// Hooks of a text that the hook plane cannot read, besides those that were found already. Places are those in the text.
fn lost_hooks(layer: &Layer, text: &str, found: &[check::Finding]) -> Vec<ona_hooks::HookWarning> {
    if !layer.json.contains_key("hooks") {
        return Vec::new();
    }
    let json = jsonc::parse(text).map(|(json, _)| json).unwrap_or_default();
    let mut lost = hook_warnings(&Layer { json, ..layer.clone() });
    lost.retain(|lost| lost.unreadable && found.iter().all(|finding| finding.key != lost.place));
    lost
}

/// The settings in a text, with what was dropped or is suspicious.
fn checked(
    scope: Scope,
    base: &Path,
    path: Option<&Path>,
    text: &str,
    roots: &Roots,
) -> Result<(Layer, check::Findings), NotSettings> {
    let (json, twice) = jsonc::parse(text)?;
    let file = path.map(|path| PathBuf::from(&*path.to_string_lossy()));
    let mut layer = Layer { source: Source { scope, file }, base: base.to_owned(), json };
    let anchors = layer.anchors(&roots.cwd, &roots.home);
    let twice = twice.into_iter().map(|key| check::Finding::new(key, duplicates::REASON));
    let found = twice.chain(check::check(&mut layer, &anchors)).collect();
    Ok((layer, found))
}

struct Loader<'a> {
    roots: &'a Roots,
    checkout: PathBuf,
    loaded: Loaded,
}

impl Loader<'_> {
    /// A file that need not exist.
    fn file(&mut self, scope: Scope, base: &Path, path: &Path) {
        match self.read(scope, path) {
            // Whoever links to settings, or to their directory, has some.
            Ok(None) if !file::is_missing(path) => self.skip(path, &BadFile::LeadsNowhere),
            Ok(None) => {}
            Ok(Some(text)) => self.text(scope, base, Some(path), &text),
            Err(bad) => self.skip(path, &bad),
        }
    }

    fn read(&self, scope: Scope, path: &Path) -> Result<Option<String>, BadFile> {
        match scope {
            // A repository must not make ona read files outside it. The path that was checked is the path
            // that is read.
            Scope::Project | Scope::Local => file::read(&file::within(&self.checkout, path)?),
            _ => file::read(path),
        }
    }

    fn given(&mut self, settings: &str) {
        if is_text(settings) {
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
            let mut has_settings = false;
            match file::list(&drop_ins) {
                Ok(more) => files.extend(more),
                Err(bad) => {
                    self.skip(&drop_ins, &bad);
                    has_settings = true;
                }
            }
            // Even an unreadable file shows that this is the organisation's directory.
            files.retain(|file| !file::is_missing(file));
            for file in &files {
                self.file(Scope::Managed, Path::new("/"), file);
            }
            if has_settings || !files.is_empty() {
                return;
            }
        }
    }

    fn text(&mut self, scope: Scope, base: &Path, path: Option<&Path>, text: &str) {
        let own = Source::of(scope).to_string();
        let name = path.map_or(own.into(), Path::to_string_lossy);
        match checked(scope, base, path, text, self.roots) {
            Err(bad) => self.skip(Path::new(&*name), &bad.into()),
            Ok((layer, found)) => {
                let lost = lost_hooks(&layer, text, &found);
                self.loaded.unread.extend(lost.iter().map(|lost| lost.diagnostic(&name)));
                for finding in found {
                    self.loaded.add(&name, finding);
                }
                self.loaded.layers.push(layer);
            }
        }
    }

    fn skip(&mut self, path: &Path, bad: &BadFile) {
        self.loaded.unread.push(Diagnostic::new(path, bad.to_string()));
    }
}

#[cfg(test)]
mod tests;
