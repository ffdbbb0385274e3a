//! Plugins: a directory with commands, agents, skills, hooks and MCP servers under one name.

mod manifest;
pub mod registry;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ona_config::servers::PluginServers;
use ona_config::settings::BadFile;
use ona_config::trust::{ExtensionEffects, Trusted};
use ona_hooks::HookLayer;
use ona_policy::{Scope, Source};
use ona_types::{ContentHash, Diagnostic, canonical};
use serde_json::{Map, Value, json};

use crate::effects;
use crate::files::{Bound, Files};
use crate::skill::PluginPlace;
pub use manifest::{Author, Manifest};

/// The path of a plugin's manifest.
pub const MANIFEST: &str = ".claude-plugin/plugin.json";

/// The variables with a plugin's directories, for its hooks and servers.
const ROOT: &str = "CLAUDE_PLUGIN_ROOT";
const DATA: &str = "CLAUDE_PLUGIN_DATA";

/// A plugin that can be used.
#[derive(Clone, Debug)]
pub struct Plugin {
    /// Its id.
    pub id: String,
    /// Its manifest.
    pub manifest: Manifest,
    /// Where its files are.
    pub root: PathBuf,
    /// Where it may keep data.
    pub data: PathBuf,
    /// The commit it was taken from.
    pub commit: Option<String>,
    /// Directories and files of each kind.
    pub(crate) commands: Vec<PathBuf>,
    pub(crate) agents: Vec<PathBuf>,
    pub(crate) skills: Vec<PathBuf>,
    pub(crate) output_styles: Vec<PathBuf>,
    /// Hooks, as in settings, each with its file.
    hooks: Vec<(PathBuf, Value)>,
    servers: Map<String, Value>,
    /// What is trusted in its skills and commands.
    pub(crate) agreed: AgreedParts,
    /// Problems that do not prevent its use.
    pub warnings: Vec<Diagnostic>,
}

/// What is trusted in a plugin's skills and commands.
#[derive(Clone, Debug, Default)]
pub(crate) enum AgreedParts {
    /// Everything: the operator named the plugin on the command line.
    #[default]
    All,
    /// The files below this root that are unchanged since the operator agreed.
    These(PathBuf, Parts),
}

/// Files of a plugin that need trust, by path, each with the hash of what it would do.
pub(crate) type Parts = BTreeMap<String, String>;

impl AgreedParts {
    pub(crate) fn trusts(&self, effects: &ExtensionEffects) -> Trusted {
        match self {
            Self::These(root, parts) if !effects.is_nothing() => {
                let (place, hash) = part(root, effects);
                match parts.get(&place) == Some(&hash) {
                    true => Trusted::Everything,
                    false => Trusted::Nothing,
                }
            }
            Self::All | Self::These(..) => Trusted::Everything,
        }
    }
}

fn part(root: &Path, effects: &ExtensionEffects) -> (String, String) {
    let place = effects.file.strip_prefix(root).unwrap_or(&effects.file);
    let what = json!([effects.runs, effects.permits]);
    (place.to_string_lossy().into_owned(), hash(&what).to_string())
}

/// A number without a canonical form is hashed as text.
fn hash(value: &Value) -> ContentHash {
    canonical::hash(value).unwrap_or_else(|_| ContentHash::of(value.to_string().as_bytes()))
}

/// Why a plugin cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum PluginError {
    #[error("{} is not a plugin: {MANIFEST} not found", .0.display())]
    NoManifest(PathBuf),
    #[error("{}: {bad}", file.display())]
    File { file: PathBuf, bad: BadFile },
    #[error("{}: invalid JSON: {why}", file.display())]
    NotJson { file: PathBuf, why: String },
    #[error("{}: {why}", file.display())]
    Manifest { file: PathBuf, why: String },
    #[error("{}: `{key}`: `{path}` {why}", file.display())]
    Path { file: PathBuf, key: String, path: String, why: &'static str },
}

impl Plugin {
    /// Reads the plugin in a directory; `data` is its data directory.
    pub fn read(root: &Path, data: &Path) -> Result<Self, PluginError> {
        let root = root.canonicalize().map_err(|_| PluginError::NoManifest(root.to_owned()))?;
        let mut reading = manifest::Reading::begin(&root)?;
        let mut plugin = Self {
            id: reading.manifest.name.clone(),
            commands: reading.places("commands")?,
            agents: reading.places("agents")?,
            skills: reading.places("skills")?,
            output_styles: reading.places("outputStyles")?,
            hooks: reading.hooks()?,
            servers: reading.servers()?,
            warnings: reading.warnings,
            manifest: reading.manifest,
            data: data.to_owned(),
            commit: None,
            agreed: AgreedParts::All,
            root,
        };
        let layers = plugin.hook_layers(true);
        let (_, odd) = ona_hooks::collect(&layers);
        for odd in odd {
            let file = odd.source.file.clone().unwrap_or_default();
            let so = if odd.left_out { ": the hook does not run" } else { "" };
            let why = format!("{}: {}{so}", odd.place, odd.why);
            plugin.warnings.push(Diagnostic::new(&file, why).hint("fix it"));
        }
        Ok(plugin)
    }

    /// Where its files may lead.
    pub(crate) fn bound(&self) -> Bound {
        Bound::NoLinks(self.root.clone())
    }

    /// Its directories.
    pub fn place(&self) -> PluginPlace {
        PluginPlace { root: self.root.clone(), data: self.data.clone() }
    }

    /// Its MCP servers, with its directories filled in.
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

    /// A value with the plugin's directories instead of their variables.
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

    /// A text with the plugin's directories instead of their variables.
    pub(crate) fn filled(&self, text: &str) -> String {
        self.variables().into_iter().fold(text.to_owned(), |text, (name, dir)| {
            text.replace(&format!("${{{name}}}"), &dir.to_string_lossy())
        })
    }

    /// Its hooks, one layer per file. Commands get the plugin's directories as variables, not as text: a path in a
    /// command would need quoting.
    pub fn hook_layers(&self, act: bool) -> Vec<HookLayer> {
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

    /// What would run: its hooks, those of its skills and commands, and its servers, one line each.
    pub fn runs(&self) -> Vec<String> {
        let mut layers = self.hook_layers(true);
        for mut effects in self.effects() {
            let source = Source { scope: Scope::Plugin, file: Some(effects.file) };
            let hooks = effects.runs.remove("hooks");
            layers.extend(hooks.map(|hooks| HookLayer {
                source,
                hooks,
                off: false,
                env: Vec::new(),
            }));
        }
        let mut runs = Vec::new();
        let (entries, _) = ona_hooks::collect(&layers);
        for hook in entries {
            let on = match hook.matcher_text.as_str() {
                "" => hook.event.as_str().to_owned(),
                matcher => format!("{} [{matcher}]", hook.event.as_str()),
            };
            let place =
                hook.source.file.as_deref().and_then(|file| file.strip_prefix(&self.root).ok());
            let of = match place {
                Some(place) if place.extension().is_some_and(|end| end == "md") => {
                    format!(" of {}", place.display())
                }
                _ => String::new(),
            };
            runs.push(format!("hook{of} on {on}: {}", hook.handler.label()));
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
        runs.iter().map(|line| one_line(line)).collect()
    }

    /// What its skills and commands would do.
    fn effects(&self) -> Vec<ExtensionEffects> {
        let (mut files, bound) = (Files::default(), self.bound());
        let mut paths = Vec::new();
        for place in &self.skills {
            paths.extend(files.skills(place, &bound));
        }
        for place in &self.commands {
            paths.extend(files.markdown_at(place, &bound));
        }
        effects::of_files(&paths, &mut files, &bound)
    }

    /// What needs trust in its skills and commands.
    pub(crate) fn parts(&self) -> Parts {
        self.effects().iter().map(|effects| part(&self.root, effects)).collect()
    }

    /// The hash of all its files: their paths, contents and executable bits.
    pub fn tree_hash(&self) -> io::Result<ContentHash> {
        let mut files = Vec::new();
        tree(&self.root, &self.root, &mut files)?;
        files.sort();
        Ok(ContentHash::of(files.join("\n").as_bytes()))
    }

    /// The hash of what the operator agrees to.
    pub(crate) fn runs_hash(&self) -> ContentHash {
        let hooks: Vec<Value> = self.hooks.iter().map(|(_, hooks)| hooks.clone()).collect();
        hash(&json!([hooks, self.servers]))
    }

    /// Removes what is not trusted.
    fn hold_back(&mut self) {
        self.hooks.clear();
        self.servers.clear();
    }
}

/// A line for each file below a directory.
fn tree(root: &Path, dir: &Path, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let (path, meta) = (entry.path(), entry.metadata()?);
        if meta.is_dir() {
            tree(root, &path, files)?;
            continue;
        }
        let place = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        let runs = meta.permissions().mode() & 0o111 != 0;
        let content = if meta.is_file() { ona_files::content(&path)? } else { Vec::new() };
        files.push(format!("{}{runs} {}", json!(place), ContentHash::of(&content)));
    }
    Ok(())
}

/// Foreign text on one line, so that it cannot look like output of ona.
pub fn one_line(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' => "\\n".to_owned(),
        c if c.is_control() || "\u{2028}\u{2029}".contains(c) => " ".to_owned(),
        c => c.to_string(),
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests;
