//! Plugins: a directory that brings commands, agents, skills, hooks and MCP servers under one name.

mod manifest;
pub mod registry;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ona_hooks::HookLayer;
use ona_policy::{Scope, Source};
use ona_types::{ContentHash, canonical};
use serde_json::{Map, Value};

use super::files::Bound;
use super::{PluginPlace, Warning};
use crate::servers::PluginServers;
use crate::settings::BadFile;
pub use manifest::{Author, Manifest};

/// Where a plugin says what it is.
pub const MANIFEST: &str = ".claude-plugin/plugin.json";

/// The variables that a plugin's hooks and servers find it by.
const ROOT: &str = "CLAUDE_PLUGIN_ROOT";
const DATA: &str = "CLAUDE_PLUGIN_DATA";

/// A plugin that can be used.
#[derive(Clone, Debug)]
pub struct Plugin {
    /// What it is called.
    pub id: String,
    /// What it says of itself.
    pub manifest: Manifest,
    /// Where its files are.
    pub root: PathBuf,
    /// Where it may keep data.
    pub data: PathBuf,
    /// The commit it was taken from.
    pub commit: Option<String>,
    /// Directories and files of each kind.
    pub(super) commands: Vec<PathBuf>,
    pub(super) agents: Vec<PathBuf>,
    pub(super) skills: Vec<PathBuf>,
    /// Hooks, as settings write them, each with its file.
    hooks: Vec<(PathBuf, Value)>,
    servers: Map<String, Value>,
    /// What is odd about it, and does not keep it from being used.
    pub warnings: Vec<Warning>,
}

/// Why a plugin cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum PluginError {
    #[error("{} is no plugin: it has no {MANIFEST}", .0.display())]
    NoManifest(PathBuf),
    #[error("{}: {bad}", file.display())]
    File { file: PathBuf, bad: BadFile },
    #[error("{}: it is no JSON: {why}", file.display())]
    NotJson { file: PathBuf, why: String },
    #[error("{}: {why}", file.display())]
    Manifest { file: PathBuf, why: String },
    #[error("{}: `{key}`: `{path}` {why}", file.display())]
    Path { file: PathBuf, key: String, path: String, why: &'static str },
}

impl Plugin {
    /// Reads the plugin in a directory, which keeps data in another.
    pub fn read(root: &Path, data: &Path) -> Result<Self, PluginError> {
        let root = root.canonicalize().map_err(|_| PluginError::NoManifest(root.to_owned()))?;
        let mut reading = manifest::Reading::begin(&root)?;
        let mut plugin = Self {
            id: reading.manifest.name.clone(),
            commands: reading.places("commands")?,
            agents: reading.places("agents")?,
            skills: reading.places("skills")?,
            hooks: reading.hooks()?,
            servers: reading.servers()?,
            warnings: reading.warnings,
            manifest: reading.manifest,
            data: data.to_owned(),
            commit: None,
            root,
        };
        let layers = plugin.hook_layers(true);
        let (_, odd) = ona_hooks::collect(&layers);
        for odd in odd {
            let file = odd.source.file.clone().unwrap_or_default();
            let so = if odd.left_out { ": the hook does not run" } else { "" };
            let why = format!("{}: {}{so}", odd.place, odd.why);
            plugin.warnings.push(Warning::of(&file, None, why, "mend it"));
        }
        Ok(plugin)
    }

    /// How far its files may lead.
    pub(super) fn bound(&self) -> Bound {
        Bound::NoLinks(self.root.clone())
    }

    /// Where it is.
    pub fn place(&self) -> PluginPlace {
        PluginPlace { root: self.root.clone(), data: self.data.clone() }
    }

    /// Its MCP servers, with its directories put in.
    pub fn mcp_servers(&self) -> PluginServers {
        let server = |(name, server): (&String, &Value)| {
            let mut server = self.put_in(server);
            if let Some(server) = server.as_object_mut()
                && server.contains_key("command")
            {
                let env = server.entry("env").or_insert_with(|| Value::Object(Map::new()));
                if let Some(env) = env.as_object_mut() {
                    for (name, dir) in self.variables() {
                        env.insert(name.to_owned(), dir.to_string_lossy().into());
                    }
                }
            }
            (name.clone(), server)
        };
        PluginServers {
            file: self.root.clone(),
            servers: self.servers.iter().map(server).collect(),
        }
    }

    fn variables(&self) -> [(&'static str, &Path); 2] {
        [(ROOT, &self.root), (DATA, &self.data)]
    }

    /// A value with the plugin's directories in the place of their variables.
    fn put_in(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.filled(text).into(),
            Value::Array(list) => list.iter().map(|item| self.put_in(item)).collect(),
            Value::Object(members) => {
                members.iter().map(|(key, value)| (key.clone(), self.put_in(value))).collect()
            }
            other => other.clone(),
        }
    }

    /// A text with the plugin's directories in the place of their variables.
    pub(super) fn filled(&self, text: &str) -> String {
        self.variables().into_iter().fold(text.to_owned(), |text, (name, dir)| {
            text.replace(&format!("${{{name}}}"), &dir.to_string_lossy())
        })
    }

    /// Its hooks, one layer for each file they stand in. Their commands find the plugin by variables, which the shell
    /// puts in: in a command a path is not text.
    pub(crate) fn hook_layers(&self, act: bool) -> Vec<HookLayer> {
        let env: Vec<(OsString, OsString)> =
            self.variables().into_iter().map(|(name, dir)| (name.into(), dir.into())).collect();
        let layer = |(file, hooks): &(PathBuf, Value)| HookLayer {
            source: Source { scope: Scope::Plugin, file: Some(file.clone()) },
            hooks: hooks.clone(),
            off: !act,
            env: env.clone(),
        };
        self.hooks.iter().map(layer).collect()
    }

    /// What of it would run: its hooks and servers, each in a line.
    pub fn runs(&self) -> Vec<String> {
        let mut runs = Vec::new();
        let (entries, _) = ona_hooks::collect(&self.hook_layers(true));
        for hook in entries {
            let on = match hook.matcher_text.as_str() {
                "" => hook.event.as_str().to_owned(),
                matcher => format!("{} [{matcher}]", hook.event.as_str()),
            };
            runs.push(format!("hook on {on}: {}", hook.handler.label()));
        }
        for (name, server) in &self.servers {
            let text = |key: &str| server.get(key).and_then(Value::as_str);
            let args = server.get("args").and_then(Value::as_array).into_iter().flatten();
            let args = args.filter_map(Value::as_str);
            let way = match (text("command"), text("url")) {
                (Some(command), _) => {
                    std::iter::once(command).chain(args).collect::<Vec<_>>().join(" ")
                }
                (None, Some(url)) => url.to_owned(),
                (None, None) => server.to_string(),
            };
            runs.push(format!("MCP server {name}: {way}"));
        }
        runs
    }

    /// What was agreed to when it was added.
    pub(super) fn runs_hash(&self) -> ContentHash {
        let hooks: Vec<Value> = self.hooks.iter().map(|(_, hooks)| hooks.clone()).collect();
        let runs = serde_json::json!([hooks, self.servers]);
        // A number that has no canonical form still has a text.
        canonical::hash(&runs).unwrap_or_else(|_| ContentHash::of(runs.to_string().as_bytes()))
    }

    /// Takes away what nobody has agreed to.
    fn hold_back(&mut self) {
        self.hooks.clear();
        self.servers.clear();
    }
}

#[cfg(test)]
mod tests;
