//! Which MCP servers there are: who says so, which of one name counts, and which may be started.
//!
//! [`find`] reads every place that may name servers, once. What is wrong with one server keeps no other from
//! working: it is listed with the reason, and named in a [`Diagnostic`]. It starts nothing.

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
pub use keep::{Keeping, Kept, KeptIn, add, kept_in, remove};
use limits::Limits;
pub use mask::in_header;
pub use mask::shown;
pub use places::{BadConfig, refuses};
use places::{Found, Places};

/// What the command line and the environment say about servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenServers {
    /// `--mcp-config`: a file each, or the JSON text itself.
    pub configs: Vec<String>,
    /// `--strict-mcp-config`: no others than those, and the organisation's.
    pub strict: bool,
    /// How long a server may take to be ready.
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

/// Servers that a plugin brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginServers {
    /// The file they stand in.
    pub file: PathBuf,
    /// The servers by their names, as in a file of servers.
    pub servers: Map<String, Value>,
}

/// Whose word a server is, lowest rank first.
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

/// What becomes of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// A session starts it.
    Ready,
    /// Another of the same name counts, which stands here.
    Shadowed(String),
    /// It may not be started, for this reason.
    Denied(String),
    /// The project brings it, and nobody has agreed to it yet.
    Unapproved,
    /// It cannot be started as it stands there, for this reason.
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

    /// Why it is not ready, and what to do about it.
    pub fn why(&self) -> Option<String> {
        match self {
            Self::Ready => None,
            Self::Shadowed(by) => Some(format!("the one in {by} counts")),
            Self::Denied(why) | Self::Broken(why) => Some(why.clone()),
            Self::Unapproved => {
                Some("look at it, then `ona trust` agrees to the file as it is".to_owned())
            }
        }
    }
}

/// A server that somebody named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedServer {
    /// Its name.
    pub name: String,
    /// Whose word it is.
    pub scope: ServerScope,
    /// The file it stands in, or what else it comes from.
    pub origin: String,
    /// What stands there, variables and all.
    pub entry: Value,
    /// How it is reached, if it is not broken.
    pub way: Option<Way>,
    /// What becomes of it.
    pub state: State,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Servers {
    /// The servers to start, by name.
    pub specs: Vec<ServerSpec>,
    /// Every server that was named: by name, the highest rank first.
    pub listed: Vec<ListedServer>,
    /// What is wrong.
    pub warnings: Vec<Diagnostic>,
    /// What those to start are given in secret.
    secrets: Vec<String>,
}

impl Servers {
    /// Values that the servers are given and that must not be kept.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.secrets.iter().map(String::as_str)
    }
}

/// Values that these servers are given and that must not be kept.
pub fn secrets(specs: &[ServerSpec]) -> Vec<String> {
    specs.iter().flat_map(|spec| mask::hidden(&spec.way)).collect()
}

/// Finds all servers. The settings are those in force; what is trusted is what the record says of the repository.
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
    // The highest rank first; of one rank, what was read last.
    found.sort_by(|one, other| one.name.cmp(&other.name).then(other.scope.cmp(&one.scope)));
    for one in found {
        let (way, state) = look(&one, config, &env, &limits, &mut warnings);
        let before = listed.iter().rev().take_while(|before| before.name == one.name);
        // A server that was meant and is broken must not be replaced by another behind one's back.
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

/// What would become of a server if no other had its name.
fn look(
    one: &Found,
    config: &Config,
    env: &BTreeMap<String, String>,
    limits: &Limits,
    warnings: &mut Vec<Diagnostic>,
) -> (Option<Way>, State) {
    let broken = |why: &dyn fmt::Display| (None, State::Broken(why.to_string()));
    if let Err(why) = check_name(&one.name) {
        return broken(&why);
    }
    if one.twice {
        return broken(&"it stands there more than once: make one of them");
    }
    let variable = |name: &str| env.get(name).cloned().or_else(|| (config.variable)(name));
    let way = match entry::read(&one.entry, &one.cwd, &variable) {
        Ok((way, odd)) => {
            warnings.extend(odd.into_iter().map(|(key, reason)| {
                Diagnostic::new(&one.origin, reason).in_key(format!("{}.{key}", one.key))
            }));
            way
        }
        Err(why) => return broken(&why),
    };
    let state = match limits.refuse(one, &way) {
        Some(why) => State::Denied(why),
        None if one.approved || limits.approve(one) => State::Ready,
        None => State::Unapproved,
    };
    (Some(way), state)
}

/// A server's tools are named with its name in small letters (S0 §7): no two may have the same.
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

/// What the user has to hear of a server that is not started though somebody may think so.
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
