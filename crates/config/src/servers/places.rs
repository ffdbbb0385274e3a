//! The places where servers are defined, and reading them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use ona_policy::Scope;
use ona_types::Diagnostic;
use ona_types::trust::TrustedContent;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{PluginServers, ServerScope};
use crate::Config;
use crate::own_server;
use crate::settings::{self, BadFile, Layer, NotSettings, Repository, Roots};
use crate::trust::{self, name_of};

/// The key of the servers, in every file.
pub(super) const SERVERS: &str = "mcpServers";
/// The key of what belongs to one project, in the user's files.
pub(super) const PROJECTS: &str = "projects";
/// The maximum size of Claude Code's file, which holds much else.
const MAX_STATE_BYTES: u64 = 16 << 20;
/// The maximum number of servers from one place.
const MAX_SERVERS: usize = 500;

/// The user's own file.
pub(super) fn own_file(roots: &Roots) -> PathBuf {
    roots.ona_config.join("mcp.json")
}

/// Claude Code's file: beside its directory, or in it if the directory was moved.
fn claude_file(roots: &Roots) -> PathBuf {
    if roots.claude_dir == roots.home.join(".claude") {
        roots.home.join(".claude.json")
    } else {
        roots.claude_dir.join(".claude.json")
    }
}

/// The directories whose local servers apply here, the nearest last. A worktree also has those of its main checkout.
fn local_dirs(roots: &Roots) -> Vec<PathBuf> {
    let mut dirs = vec![Repository::of(&roots.project_dir).root];
    dirs.extend(roots.project_dirs());
    dirs.dedup();
    dirs
}

/// A server as it is defined in one place.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) scope: ServerScope,
    /// The file, or the option it comes from.
    pub(super) origin: String,
    /// Its key there.
    pub(super) key: String,
    pub(super) entry: Value,
    /// Where a program is started.
    pub(super) cwd: PathBuf,
    /// Whether it is trusted or needs no trust.
    pub(super) approved: bool,
    /// Whether its name, or a key in it, occurs twice.
    pub(super) twice: bool,
    /// Whether it is in a `.mcp.json`.
    mcp_json: bool,
}

impl Found {
    /// Whether the settings about `.mcp.json` apply to it.
    pub(super) fn is_projects_file(&self) -> bool {
        self.mcp_json
    }
}

/// The organisation's own file of servers, by its name.
#[derive(Clone, Debug)]
pub(super) struct Exclusive(pub(super) String);

/// Why `--mcp-config` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadConfig {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] BadFile),
    /// It has no servers.
    #[error("it has no object `mcpServers`")]
    NoServers,
}

impl From<NotSettings> for BadConfig {
    fn from(error: NotSettings) -> Self {
        Self::File(error.into())
    }
}

/// The reason why a value of `--mcp-config` cannot be used.
pub fn refuses(given: &str, cwd: &Path) -> Option<BadConfig> {
    given_servers(given, cwd).err()
}

/// The servers in a value of `--mcp-config`, and its duplicate keys.
fn given_servers(given: &str, cwd: &Path) -> Result<(Map<String, Value>, Vec<String>), BadConfig> {
    let text = if settings::is_text(given) {
        given.to_owned()
    } else {
        settings::read(&cwd.join(given))?.ok_or(BadFile::Missing)?
    };
    let (mut object, twice) = settings::object_in(&text)?;
    match object.shift_remove(SERVERS) {
        Some(Value::Object(servers)) => Ok((servers, twice)),
        _ => Err(BadConfig::NoServers),
    }
}

/// The part of Claude Code's file about servers. It is plain JSON, with much else in it.
#[derive(Deserialize)]
struct ClaudeState {
    #[serde(rename = "mcpServers")]
    servers: Option<Value>,
    projects: Option<BTreeMap<String, ClaudeProject>>,
}

#[derive(Deserialize)]
struct ClaudeProject {
    #[serde(rename = "mcpServers")]
    servers: Option<Value>,
}

/// What determines where servers are looked for.
pub(super) struct Places<'a> {
    pub(super) config: &'a Config,
    pub(super) roots: &'a Roots,
    pub(super) layers: &'a [Layer],
    pub(super) trusted: &'a [TrustedContent],
    pub(super) plugins: &'a [PluginServers],
}

impl Places<'_> {
    /// The organisation's file, if it has one. An unreadable file excludes other servers too.
    pub(super) fn exclusive(&self) -> Option<Exclusive> {
        self.managed_file().map(|file| Exclusive(file.display().to_string()))
    }

    fn managed_file(&self) -> Option<PathBuf> {
        let files = self.roots.managed_dirs.iter().map(|dir| dir.join("managed-mcp.json"));
        files.into_iter().find(|file| file.symlink_metadata().is_ok())
    }

    /// All servers; of one name and rank, the one that is used comes first.
    pub(super) fn read(&self) -> (Vec<Found>, Vec<Diagnostic>) {
        let mut reading = Reading { places: self, found: Vec::new(), warnings: Vec::new() };
        let strict = self.config.servers.strict;
        if !strict {
            reading.plugins();
            reading.users();
            reading.projects();
        }
        reading.settings(strict);
        if !strict {
            reading.own();
        }
        reading.given();
        if let Some(file) = self.managed_file() {
            let place = Place::of(ServerScope::Managed, &file, &self.roots.project_dir);
            reading.file(&place, settings::read(&file));
        }
        reading.found.reverse();
        (reading.found, reading.warnings)
    }

    /// Whether files of a scope are read at all.
    fn reads(&self, scope: Scope) -> bool {
        self.config.given.sources.as_ref().is_none_or(|sources| sources.contains(&scope))
    }
}

/// What the servers of one place have in common.
struct Place<'a> {
    scope: ServerScope,
    origin: String,
    /// The keys that lead to the servers.
    key: String,
    cwd: &'a Path,
    approved: bool,
    mcp_json: bool,
    twice: &'a [String],
}

impl<'a> Place<'a> {
    fn of(scope: ServerScope, file: &Path, cwd: &'a Path) -> Self {
        Self {
            scope,
            origin: file.display().to_string(),
            key: SERVERS.to_owned(),
            cwd,
            approved: true,
            mcp_json: false,
            twice: &[],
        }
    }
}

struct Reading<'a> {
    places: &'a Places<'a>,
    found: Vec<Found>,
    warnings: Vec<Diagnostic>,
}

impl Reading<'_> {
    fn warn(&mut self, file: &str, key: &str, reason: &dyn fmt::Display) {
        let warning = Diagnostic::new(file, reason.to_string());
        self.warnings.push(if key.is_empty() { warning } else { warning.in_key(key) });
    }

    fn plugins(&mut self) {
        for plugin in self.places.plugins {
            let place =
                Place::of(ServerScope::Plugin, &plugin.file, &self.places.roots.project_dir);
            self.servers(&place, Some(Value::Object(plugin.servers.clone())));
        }
    }

    /// The servers in Claude Code's file: the user's, and those for this project.
    fn users(&mut self) {
        let Places { roots, .. } = self.places;
        let (user, local) = (self.places.reads(Scope::User), self.places.reads(Scope::Local));
        if !user && !local {
            return;
        }
        let file = claude_file(roots);
        let name = file.display().to_string();
        let state: ClaudeState = match ona_files::read_at_most(&file, MAX_STATE_BYTES) {
            Ok(None) => return,
            Ok(Some(bytes)) => match serde_json::from_slice(&bytes) {
                Ok(state) => state,
                Err(error) => return self.warn(&name, "", &format!("invalid JSON: {error}")),
            },
            Err(bad) => return self.warn(&name, "", &bad),
        };
        if user {
            self.servers(&Place::of(ServerScope::User, &file, &roots.project_dir), state.servers);
        }
        let mut projects = state.projects.unwrap_or_default();
        for dir in local_dirs(roots).iter().filter(|_| local) {
            let project = name_of(dir);
            let Some(known) = projects.remove(&project) else { continue };
            let key = format!("{PROJECTS}.{project}.{SERVERS}");
            let place = Place { key, ..Place::of(ServerScope::Local, &file, dir) };
            self.servers(&place, known.servers);
        }
    }

    /// The project's servers. The bytes that trust is checked for are the bytes that are read.
    fn projects(&mut self) {
        if !self.places.reads(Scope::Project) {
            return;
        }
        let Places { roots, trusted, .. } = self.places;
        let checkout = roots.checkout();
        for dir in roots.project_dirs() {
            let file = dir.join(".mcp.json");
            if file.symlink_metadata().is_err() {
                continue;
            }
            let read = settings::within(&checkout, &file).and_then(|real| settings::read(&real));
            let agreed =
                |text: &String| trust::agrees_to_servers(&file, text.as_bytes(), roots, trusted);
            let approved = read.as_ref().is_ok_and(|text| text.as_ref().is_some_and(agreed));
            let place =
                Place { approved, mcp_json: true, ..Place::of(ServerScope::Project, &file, &dir) };
            self.file(&place, read);
        }
    }

    /// The servers in settings, of every scope or only the organisation's. Trust was checked when they were loaded.
    fn settings(&mut self, only_managed: bool) {
        let layers = self.places.layers.iter();
        for layer in layers.filter(|layer| !only_managed || settings::is_managed(layer)) {
            let project = &self.places.roots.project_dir;
            let (scope, cwd) = match layer.source.scope {
                Scope::User => (ServerScope::User, project),
                Scope::Project => (ServerScope::Project, &layer.base),
                Scope::Local => (ServerScope::Local, &layer.base),
                Scope::Cli => (ServerScope::Cli, project),
                Scope::Managed => (ServerScope::Managed, project),
                Scope::Database => (ServerScope::Database, project),
                Scope::Builtin | Scope::Session | Scope::Plugin => continue,
            };
            let origin = layer.source.to_string();
            let place = Place { origin, ..Place::of(scope, Path::new(""), cwd) };
            self.servers(&place, layer.json.get(SERVERS).cloned());
        }
    }

    /// The servers in ona's file: the user's, and those for this project.
    fn own(&mut self) {
        let Places { roots, .. } = self.places;
        let file = own_file(roots);
        let (user, local) = (self.places.reads(Scope::User), self.places.reads(Scope::Local));
        if !user && !local {
            return;
        }
        let Some((object, twice)) = self.object(&file, settings::read(&file)) else { return };
        if user {
            let place =
                Place { twice: &twice, ..Place::of(ServerScope::User, &file, &roots.project_dir) };
            self.servers(&place, object.get(SERVERS).cloned());
        }
        for dir in local_dirs(roots).iter().filter(|_| local) {
            let project = name_of(dir);
            let known = object.get(PROJECTS).and_then(|all| all.get(&project)?.get(SERVERS));
            let key = format!("{PROJECTS}.{project}.{SERVERS}");
            let place = Place { key, twice: &twice, ..Place::of(ServerScope::Local, &file, dir) };
            self.servers(&place, known.cloned());
        }
    }

    fn given(&mut self) {
        let Places { roots, config, .. } = self.places;
        for given in &config.servers.configs {
            let origin = match settings::is_text(given) {
                true => "--mcp-config".to_owned(),
                false => roots.cwd.join(given).display().to_string(),
            };
            match given_servers(given, &roots.cwd) {
                Ok((servers, twice)) => {
                    let place = Place::of(ServerScope::Cli, Path::new(""), &roots.project_dir);
                    let place = Place { origin, twice: &twice, ..place };
                    self.servers(&place, Some(Value::Object(servers)));
                }
                // It was valid when the command line was read, and has changed since.
                Err(bad) => self.warn(&origin, "", &bad),
            }
        }
    }

    /// The object in a file that people write.
    fn object(
        &mut self,
        file: &Path,
        read: Result<Option<String>, BadFile>,
    ) -> Option<(Map<String, Value>, Vec<String>)> {
        match read.and_then(|text| Ok(text.map(|text| settings::object_in(&text)).transpose()?)) {
            Ok(object) => object,
            Err(bad) => {
                self.warn(&file.display().to_string(), "", &bad);
                None
            }
        }
    }

    /// The servers of a file that holds only servers.
    fn file(&mut self, place: &Place<'_>, read: Result<Option<String>, BadFile>) {
        let file = PathBuf::from(&place.origin);
        let Some((object, twice)) = self.object(&file, read) else { return };
        let place =
            Place { origin: place.origin.clone(), key: place.key.clone(), twice: &twice, ..*place };
        self.servers(&place, object.get(SERVERS).cloned());
    }

    fn servers(&mut self, place: &Place<'_>, servers: Option<Value>) {
        let servers = match servers {
            None | Some(Value::Null) => return,
            Some(Value::Object(servers)) => servers,
            Some(_) => {
                return self.warn(
                    &place.origin,
                    &place.key,
                    &"it is not an object: its servers are skipped",
                );
            }
        };
        if servers.len() > MAX_SERVERS {
            let why = format!(
                "it names more than {MAX_SERVERS} servers: only the first {MAX_SERVERS} are used"
            );
            self.warn(&place.origin, &place.key, &why);
        }
        for (name, entry) in servers.into_iter().take(MAX_SERVERS) {
            // It is for other agents: its tools are built in here.
            if own_server::is_plain(&entry) {
                continue;
            }
            let key = format!("{}.{name}", place.key);
            self.found.push(Found {
                // An entry that is merged from two is neither of them.
                twice: place.twice.iter().any(|twice| is_in(twice, &key) || is_in(&key, twice)),
                name,
                scope: place.scope,
                origin: place.origin.clone(),
                key,
                entry,
                cwd: place.cwd.to_owned(),
                approved: place.approved,
                mcp_json: place.mcp_json,
            });
        }
    }
}

/// Whether a key is the other one, or inside it.
fn is_in(key: &str, other: &str) -> bool {
    key.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
