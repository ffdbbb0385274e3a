//! The MCP servers: where they are defined, which one of a name is used, and which may be started.
//!
//! [`find`] reads every place that may define servers, once. A broken server does not affect the others: it is listed
//! with the reason, and a [`Diagnostic`] names it. Nothing is started here.

mod entry;
mod expand;
mod keep;
mod limits;
mod mask;
mod places;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use ona_mcp::{CALL_TIMEOUT, START_TIMEOUT, ServerSpec, Way};
use ona_types::Diagnostic;
use ona_types::trust::TrustedContent;
use serde_json::{Map, Value};

use crate::Config;
use crate::settings::{Layer, Roots, Settings};
pub use entry::{BadEntry, check, check_name};
pub use keep::{KeepError, Kept, KeptIn, add, kept_in, remove};
use limits::Limits;
pub use mask::in_header;
pub use mask::shown;
pub use places::{BadConfig, refuses};
use places::{Found, Places};

/// Options about servers from the command line and the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenServers {
    /// `--mcp-config`: a file each, or the JSON text itself.
    pub configs: Vec<String>,
    /// `--strict-mcp-config`: only those and the organisation's.
    pub strict: bool,
    /// How long a server may take to start.
    pub start_timeout: Duration,
    /// How long a call may take.
    pub call_timeout: Duration,
}

impl Default for GivenServers {
    fn default() -> Self {
        Self {
            configs: Vec::new(),
            strict: false,
            start_timeout: START_TIMEOUT,
            call_timeout: CALL_TIMEOUT,
        }
    }
}

/// Servers of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginServers {
    /// Their file.
    pub file: PathBuf,
    /// The servers by their names, as in a file of servers.
    pub servers: Map<String, Value>,
}

/// Where a server is defined, lowest rank first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerScope {
    /// A plugin's.
    Plugin,
    /// The user's, in every project.
    User,
    /// The project's, for everybody who works on it.
    Project,
    /// The user's, in this project.
    Local,
    /// The operator's snapshot in the database.
    Database,
    /// This command line's.
    Cli,
    /// The organisation's.
    Managed,
}

impl ServerScope {
    /// The scope's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plugin => "plugin",
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
            Self::Database => "database",
            Self::Cli => "cli",
            Self::Managed => "managed",
        }
    }
}

impl fmt::Display for ServerScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The state of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// A session starts it.
    Ready,
    /// Another one of the same name is used, which is defined here.
    Shadowed(String),
    /// It may not be started, for this reason.
    Denied(String),
    /// The project defines it, and it is not trusted yet.
    Unapproved,
    /// Its definition is invalid, for this reason.
    Broken(String),
}

impl State {
    /// The state in a word or two.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Shadowed(_) => "shadowed",
            Self::Denied(_) => "denied",
            Self::Unapproved => "pending approval",
            Self::Broken(_) => "broken",
        }
    }

    /// Why it is not ready, and what to do.
    pub fn why(&self) -> Option<String> {
        match self {
            Self::Ready => None,
            Self::Shadowed(by) => Some(format!("the one in {by} is used")),
            Self::Denied(why) | Self::Broken(why) => Some(why.clone()),
            Self::Unapproved => Some("review it, then run `ona trust`".to_owned()),
        }
    }
}

/// A server that is defined somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedServer {
    /// Its name.
    pub name: String,
    /// Where it is defined.
    pub scope: ServerScope,
    /// Its file, or the option it comes from.
    pub origin: String,
    /// Its definition as written, with variables.
    pub entry: Value,
    /// How it is reached, if it is not broken.
    pub way: Option<Way>,
    /// Its state.
    pub state: State,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Servers {
    /// The servers to start, by name.
    pub specs: Vec<ServerSpec>,
    /// Every server: by name, the highest rank first.
    pub listed: Vec<ListedServer>,
    /// What is wrong.
    pub warnings: Vec<Diagnostic>,
    /// Secret values of the servers to start.
    secrets: Vec<String>,
}

impl Servers {
    /// Secret values of the servers, which must not be stored.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.secrets.iter().map(String::as_str)
    }
}

/// Secret values of these servers, which must not be stored.
pub fn secrets(specs: &[ServerSpec]) -> Vec<String> {
    specs.iter().flat_map(|spec| mask::hidden(&spec.way)).collect()
}

/// Finds all servers. The layers are those in force; `trusted` is what the record says about the repository.
pub fn find(
    config: &Config,
    roots: &Roots,
    layers: &[Layer],
    trusted: &[TrustedContent],
    plugins: &[PluginServers],
) -> Servers {
    let places = Places { config, roots, layers, trusted, plugins };
    let (mut found, mut warnings) = places.read();
    let limits = Limits::of(layers, places.exclusive());
    let env = Settings::merged(layers).env.unwrap_or_default();
    let mut listed: Vec<ListedServer> = Vec::new();
    // The highest rank first; within a rank, the one that was read last.
    found.sort_by(|one, other| one.name.cmp(&other.name).then(other.scope.cmp(&one.scope)));
    for one in found {
        let (way, state, odd) = look(&one, config, &env, &limits);
        warnings.extend(odd);
        let before = listed.iter().rev().take_while(|before| before.name == one.name);
        // A broken server must not silently be replaced by another one.
        let counts =
            |before: &&ListedServer| matches!(before.state, State::Ready | State::Broken(_));
        let state = match before.filter(counts).last() {
            Some(winner) => State::Shadowed(winner.origin.clone()),
            None => state,
        };
        let Found { name, scope, origin, entry, .. } = one;
        listed.push(ListedServer { name, scope, origin, entry, way, state });
    }
    same_tools(&mut listed);
    warnings.extend(listed.iter().filter_map(warning));
    let specs = listed.iter().filter(|one| one.state == State::Ready);
    let specs = specs.filter_map(|one| {
        Some(ServerSpec {
            name: one.name.clone(),
            way: one.way.clone()?,
            call_timeout: config.servers.call_timeout,
            start_timeout: config.servers.start_timeout,
        })
    });
    let specs: Vec<ServerSpec> = specs.collect();
    Servers { secrets: secrets(&specs), specs, listed, warnings }
}

/// How a server is reached, its state if no other has its name, and what is odd about its entry.
fn look(
    one: &Found,
    config: &Config,
    env: &BTreeMap<String, String>,
    limits: &Limits,
) -> (Option<Way>, State, Vec<Diagnostic>) {
    let broken = |why: &dyn fmt::Display| (None, State::Broken(why.to_string()), Vec::new());
    if let Err(why) = check_name(&one.name) {
        return broken(&why);
    }
    if one.twice {
        return broken(&"it occurs more than once: keep only one");
    }
    let variable = |name: &str| env.get(name).cloned().or_else(|| (config.variable)(name));
    let (way, odd) = match entry::read(&one.entry, &one.cwd, &variable) {
        Ok(read) => read,
        Err(why) => return broken(&why),
    };
    let odd = odd.into_iter().map(|(key, reason)| {
        Diagnostic::new(&one.origin, reason).in_key(format!("{}.{key}", one.key))
    });
    let state = match limits.refuse(one, &way) {
        Some(why) => State::Denied(why),
        None if one.approved || limits.approve(one) => State::Ready,
        None => State::Unapproved,
    };
    (Some(way), state, odd.collect())
}

/// Tools are named after their server in lowercase (S0 §7), so two names must not differ in case alone.
fn same_tools(listed: &mut [ListedServer]) {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for one in listed.iter_mut().filter(|one| one.state == State::Ready) {
        match known.get(&one.name.to_ascii_lowercase()) {
            Some(other) => {
                one.state = State::Broken(format!(
                    "its tools would have the names of those of `{other}`: rename one of the two"
                ));
            }
            None => {
                known.insert(one.name.to_ascii_lowercase(), one.name.clone());
            }
        }
    }
}

/// The warning about a server that is not started although it is defined.
fn warning(one: &ListedServer) -> Option<Diagnostic> {
    let not_started = match &one.state {
        State::Broken(_) => "it is not started",
        State::Unapproved => "it is pending approval and not started",
        State::Ready | State::Shadowed(_) | State::Denied(_) => return None,
    };
    let why = one.state.why().unwrap_or_default();
    let problem = format!("{not_started}: {why}");
    Some(Diagnostic::new(&one.origin, problem).in_key(format!("mcpServers.{}", one.name)))
}

#[cfg(test)]
mod tests;
