//! The manifest of a plugin, and the paths of its parts.

use std::path::{Component, Path, PathBuf};

use ona_config::settings::{self, BadFile};
use ona_types::Diagnostic;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{MANIFEST, PluginError};
use crate::files::{Bound, admitted};
use crate::names::is_name;

/// The manifest of a plugin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Its name, which is the prefix of all its parts.
    pub name: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Who made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,
    /// Its home page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
    /// Its licence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
}

/// Who made a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Author {
    /// A name.
    Name(String),
    /// A name with an address.
    Person {
        /// The name.
        name: String,
        /// The address.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        email: Option<String>,
    },
}

/// Parts that other programs use and ona does not.
const NOT_USED: [&str; 3] = ["lspServers", "userConfig", "channels"];

/// A plugin that is being read.
pub(super) struct Reading<'a> {
    root: &'a Path,
    file: PathBuf,
    json: Map<String, Value>,
    pub(super) manifest: Manifest,
    pub(super) warnings: Vec<Diagnostic>,
}

impl<'a> Reading<'a> {
    /// Reads the manifest.
    pub(super) fn begin(root: &'a Path) -> Result<Self, PluginError> {
        let file = root.join(MANIFEST);
        if file.symlink_metadata().is_err() {
            return Err(PluginError::NoManifest(root.to_owned()));
        }
        let json = match read_json(root, &file)? {
            Value::Object(json) => json,
            _ => {
                let why = "it must be an object with a `name`".to_owned();
                return Err(PluginError::Manifest { file, why });
            }
        };
        let manifest: Manifest =
            serde_path_to_error::deserialize(&Value::Object(json.clone())).map_err(|error| {
                PluginError::Manifest { file: file.clone(), why: error.to_string() }
            })?;
        if !is_name(&manifest.name) {
            let why = format!(
                "`name`: invalid name `{}`: use up to 64 lowercase letters, digits and hyphens",
                manifest.name
            );
            return Err(PluginError::Manifest { file, why });
        }
        let mut warnings = Vec::new();
        for key in NOT_USED.into_iter().filter(|key| json.contains_key(*key)) {
            let why = format!("`{key}` is not used by ona");
            warnings.push(Diagnostic::new(&file, why).hint("the rest of the plugin is"));
        }
        Ok(Self { root, file, json, manifest, warnings })
    }

    fn wrong(&self, key: &str, why: &str) -> PluginError {
        PluginError::Manifest { file: self.file.clone(), why: format!("`{key}` {why}") }
    }

    /// The paths of the parts of a kind: as listed, otherwise the default directory.
    pub(super) fn places(&self, key: &str) -> Result<Vec<PathBuf>, PluginError> {
        let named = match self.json.get(key) {
            None | Some(Value::Null) => {
                let usual =
                    self.root.join(if key == "outputStyles" { "output-styles" } else { key });
                return Ok(if usual.symlink_metadata().is_ok() { vec![usual] } else { Vec::new() });
            }
            Some(value) => self.texts(key, value)?,
        };
        named.iter().map(|path| self.path(key, path)).collect()
    }

    fn texts(&self, key: &str, value: &Value) -> Result<Vec<String>, PluginError> {
        let texts: Option<Vec<String>> = match value {
            Value::String(path) => Some(vec![path.clone()]),
            Value::Array(list) => {
                list.iter().map(|item| item.as_str().map(str::to_owned)).collect()
            }
            _ => None,
        };
        texts.ok_or_else(|| self.wrong(key, "must be a path, or a list of paths"))
    }

    /// A path in the plugin, which must exist and not lead out of it.
    fn path(&self, key: &str, path: &str) -> Result<PathBuf, PluginError> {
        let refuse = |why: &'static str| PluginError::Path {
            file: self.file.clone(),
            key: key.to_owned(),
            path: path.to_owned(),
            why,
        };
        if !path.starts_with("./") {
            return Err(refuse("must start with `./`: it is relative to the plugin's directory"));
        }
        if Path::new(path).components().any(|part| part == Component::ParentDir) {
            return Err(refuse("must not contain `..`"));
        }
        let full: PathBuf = self.root.join(path).components().collect();
        match admitted(&full, &Bound::NoLinks(self.root.to_owned())) {
            Err(BadFile::Link(_)) => Err(refuse("is a link or below one: use real files")),
            Err(_) => Err(refuse("points outside the plugin")),
            Ok(_) if !full.exists() => Err(refuse("does not exist")),
            Ok(_) => Ok(full),
        }
    }

    /// Its hooks: inline, in listed files, or in the default file.
    pub(super) fn hooks(&mut self) -> Result<Vec<(PathBuf, Value)>, PluginError> {
        let found = self.inline_or_files("hooks", "hooks/hooks.json")?;
        let mut all = Vec::new();
        for (file, json) in found {
            let hooks = match &json {
                Value::Object(object) if object.contains_key("hooks") => json["hooks"].clone(),
                _ => json,
            };
            match hooks {
                Value::Object(_) | Value::Array(_) => all.push((file, hooks)),
                Value::Null => {}
                _ => {
                    let why = "its hooks must be written as in settings".to_owned();
                    return Err(PluginError::Manifest { file, why });
                }
            }
        }
        Ok(all)
    }

    /// Its MCP servers: inline, in listed files, or in the default file.
    pub(super) fn servers(&mut self) -> Result<Map<String, Value>, PluginError> {
        let found = self.inline_or_files("mcpServers", ".mcp.json")?;
        let mut all = Map::new();
        for (file, json) in found {
            let servers = match &json {
                Value::Object(object) if object.contains_key("mcpServers") => {
                    json["mcpServers"].clone()
                }
                _ => json,
            };
            let Value::Object(servers) = servers else {
                let why = "its MCP servers must be an object of definitions".to_owned();
                return Err(PluginError::Manifest { file, why });
            };
            for (name, server) in servers {
                if !server.is_object() {
                    let why = format!("the MCP server `{name}` must be an object");
                    return Err(PluginError::Manifest { file, why });
                }
                all.insert(name, server);
            }
        }
        Ok(all)
    }

    fn inline_or_files(
        &self,
        key: &str,
        usual: &str,
    ) -> Result<Vec<(PathBuf, Value)>, PluginError> {
        let files = match self.json.get(key) {
            None | Some(Value::Null) => {
                let usual = self.root.join(usual);
                if usual.symlink_metadata().is_ok() { vec![usual] } else { Vec::new() }
            }
            Some(inline @ Value::Object(_)) => {
                return Ok(vec![(self.file.clone(), inline.clone())]);
            }
            Some(value) => {
                let named = self.texts(key, value)?;
                named.iter().map(|path| self.path(key, path)).collect::<Result<_, _>>()?
            }
        };
        files.into_iter().map(|file| Ok((file.clone(), read_json(self.root, &file)?))).collect()
    }
}

fn read_json(root: &Path, file: &Path) -> Result<Value, PluginError> {
    let bad = |bad| PluginError::File { file: file.to_owned(), bad };
    let real = admitted(file, &Bound::NoLinks(root.to_owned())).map_err(bad)?;
    let bytes = settings::read_bytes(&real).map_err(bad)?.ok_or_else(|| bad(BadFile::Missing))?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    serde_json::from_slice(bytes)
        .map_err(|why| PluginError::NotJson { file: file.to_owned(), why: why.to_string() })
}
