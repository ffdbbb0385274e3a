//! Agents: their prompt, their tools, how they run.

pub(crate) mod builtin;

use std::num::NonZeroU32;
use std::path::PathBuf;

use ona_config::trust::Origin;
use ona_effects::wildcard;
use ona_policy::{TOOL_NAMES, tool_named};
use ona_types::{Effort, PermissionMode};
use serde_json::Value;

use crate::keys::{KeyError, Keys};
use crate::names::{MAX_NAME, is_name};
use crate::notes::Notes;

/// The tools that an agent with memories has, to read and write them.
const FOR_MEMORY: [&str; 3] = ["Read", "Write", "Edit"];

/// An agent that can be started.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentDefinition {
    /// Its name; a plugin's agent is `plugin:agent`.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// The tools it may use, as written; all if there is no list.
    pub tools: Option<Vec<String>>,
    /// The tools it may not use.
    pub disallowed_tools: Vec<String>,
    /// The agents it may start if it is the main agent; any if there is no list.
    pub may_start: Option<Vec<String>>,
    /// The model; its parent's if not set.
    pub model: Option<String>,
    /// The permission mode; its parent's if not set.
    pub permission_mode: Option<PermissionMode>,
    /// The maximum number of requests to the model.
    pub max_turns: Option<NonZeroU32>,
    /// Skills it knows from the start.
    pub skills: Vec<String>,
    /// MCP servers it uses.
    pub mcp_servers: Vec<ServerUse>,
    /// Hooks while it runs, as in settings.
    pub hooks: Option<Value>,
    /// Where it keeps memories.
    pub memory: Option<MemoryPlace>,
    /// Whether it runs in the background.
    pub background: bool,
    /// Its reasoning effort.
    pub effort: Option<Effort>,
    /// Whether it works in its own worktree.
    pub isolated: bool,
    /// The colour it is shown in.
    pub color: Option<&'static str>,
    /// The first prompt if it is the main agent.
    pub initial_prompt: Option<String>,
    /// Its system prompt.
    pub prompt: String,
    /// Where it comes from.
    pub origin: Origin,
    /// Its file.
    pub path: Option<PathBuf>,
    /// Keys without effect because the file is not trusted.
    pub held_back: Vec<&'static str>,
}

/// An MCP server that an agent uses.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerUse {
    /// One that is configured.
    Named(String),
    /// One of its own, which runs as long as the agent.
    Inline {
        /// Its name.
        name: String,
        /// Its definition, as in settings.
        definition: Value,
    },
}

/// Where an agent keeps memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the words say it")]
pub enum MemoryPlace {
    User,
    Project,
    Local,
}

const MEMORIES: [(&str, MemoryPlace); 3] =
    [("user", MemoryPlace::User), ("project", MemoryPlace::Project), ("local", MemoryPlace::Local)];

const COLOURS: [(&str, &str); 8] = [
    ("red", "red"),
    ("blue", "blue"),
    ("green", "green"),
    ("yellow", "yellow"),
    ("purple", "purple"),
    ("orange", "orange"),
    ("pink", "pink"),
    ("cyan", "cyan"),
];

/// Every key; JSON also has `prompt`.
const KEYS: [&str; 16] = [
    "name",
    "description",
    "tools",
    "disallowedTools",
    "model",
    "permissionMode",
    "maxTurns",
    "skills",
    "mcpServers",
    "hooks",
    "memory",
    "background",
    "effort",
    "isolation",
    "color",
    "initialPrompt",
];

/// Keys that restrict an agent, with misspellings: an ignored misspelling would give the agent more rights than meant.
const RESTRICTING: [(&str, &[&str]); 5] = [
    ("tools", &["tool", "allowedtools", "allowtools"]),
    ("disallowedTools", &["disallowedtool", "disallowtools", "deniedtools", "denytools"]),
    ("permissionMode", &["permissionsmode", "permissionmodes"]),
    ("maxTurns", &["maxturn", "turns"]),
    ("isolation", &["isolate", "isolated"]),
];

/// Reads an agent of this name. An invalid key is reported and ignored, unless that would give the agent more rights
/// than meant.
pub(crate) fn read(
    name: String,
    keys: &Keys,
    prompt: &str,
    origin: &Origin,
    notes: &mut Notes<'_>,
) -> Result<AgentDefinition, KeyError> {
    misspelt(keys, notes)?;
    let description = keys
        .text("description")?
        .ok_or_else(|| keys.bad("description", "is missing: it says when to use the agent"))?;
    let listed = match keys.has("tools") {
        true => tools(keys, "tools", notes)?,
        false => None,
    };
    let (listed, may_start) = listed.map_or((None, None), |listed| may_start(&name, listed, notes));
    let disallowed = tools(keys, "disallowedTools", notes)?.unwrap_or_default();
    let mode = match keys.text("permissionMode")? {
        Some(mode) => {
            let mode = mode.parse().map_err(|why: ona_types::UnknownMode| KeyError {
                line: keys.line("permissionMode"),
                why: why.to_string(),
            })?;
            Some(mode)
        }
        None => None,
    };
    let mut agent = AgentDefinition {
        description,
        tools: listed,
        disallowed_tools: disallowed,
        may_start,
        model: notes.or_default(keys.text("model")).filter(|model| model != "inherit"),
        permission_mode: mode,
        max_turns: keys.count("maxTurns")?,
        skills: notes.or_default(keys.words("skills")).unwrap_or_default(),
        mcp_servers: notes.or_default(servers(keys)),
        hooks: hooks(keys)?,
        memory: notes.or_default(keys.one_of("memory", &MEMORIES)),
        background: notes.or_default(keys.flag("background")).unwrap_or_default(),
        effort: notes.or_default(keys.one_of("effort", &Effort::ALL)),
        isolated: keys.one_of("isolation", &[("worktree", true)])?.unwrap_or_default(),
        color: notes.or_default(keys.one_of("color", &COLOURS)),
        initial_prompt: notes.or_default(keys.text("initialPrompt")),
        prompt: prompt.trim().to_owned(),
        path: notes.path(),
        origin: origin.clone(),
        held_back: Vec::new(),
        name,
    };
    let listed = agent.tools.clone().unwrap_or_else(|| TOOL_NAMES.map(str::to_owned).to_vec());
    // An empty list is meant; a key without a value was reported already.
    let meant = keys.has("tools") && keys.words("tools")?.is_none_or(|written| written.is_empty());
    if !meant && !listed.iter().map(String::as_str).chain(FOR_MEMORY).any(|tool| agent.has(tool)) {
        let key = if keys.has("tools") { "tools" } else { "disallowedTools" };
        notes.warn(
            keys.line(key),
            "the agent has no tools".to_owned(),
            "list at least one tool that is not disallowed",
        );
    }
    if let Origin::Plugin(id) = origin {
        agent.of_plugin(id, keys, notes);
    }
    Ok(agent)
}

impl AgentDefinition {
    /// Whether its file allows it a tool: disallowed tools are removed first, then only listed tools stay.
    pub fn has(&self, tool: &str) -> bool {
        let any = |list: &[String]| list.iter().any(|pattern| covers(pattern, tool));
        let remembers = self.memory.is_some() && FOR_MEMORY.contains(&tool);
        !any(&self.disallowed_tools)
            && self.tools.as_ref().is_none_or(|listed| any(listed) || remembers)
    }

    /// A plugin may not set hooks, servers or the permission mode of its agents.
    fn of_plugin(&mut self, id: &str, keys: &Keys, notes: &mut Notes<'_>) {
        self.name = format!("{id}:{}", self.name);
        for key in ["hooks", "mcpServers", "permissionMode"] {
            if keys.value(key).is_some() {
                notes.warn(
                    keys.line(key),
                    format!("`{key}` is ignored in a plugin's agent"),
                    "define it in the plugin itself, or remove it",
                );
            }
        }
        self.hooks = None;
        self.mcp_servers = Vec::new();
        self.permission_mode = None;
    }
}

/// The name that a file gives its agent.
pub(crate) fn name(keys: &Keys) -> Result<String, KeyError> {
    let name = keys.text("name")?.ok_or_else(|| keys.bad("name", "is missing"))?;
    match is_name(&name) || builtin::NAMES.contains(&name.as_str()) {
        true => Ok(name),
        false => Err(keys.bad(
            "name",
            &format!("must be up to {MAX_NAME} lowercase letters, digits and hyphens"),
        )),
    }
}

/// A key in the form in which keys are compared: `allowed-tools` equals `allowedTools`.
fn plain(key: &str) -> String {
    key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

/// Refuses a misspelt key that was meant to restrict, and reports other likely misspellings.
fn misspelt(keys: &Keys, notes: &mut Notes<'_>) -> Result<(), KeyError> {
    for key in keys.names().filter(|key| !KEYS.contains(key) && *key != "prompt") {
        let plain_key = plain(key);
        for (meant, others) in RESTRICTING {
            if plain_key == plain(meant) || others.contains(&plain_key.as_str()) {
                return Err(
                    keys.bad(key, &format!("is not a key of an agent: did you mean `{meant}`?"))
                );
            }
        }
        if let Some(meant) = KEYS.into_iter().find(|known| plain(known) == plain_key) {
            notes.warn(
                keys.line(key),
                format!("`{key}` is not a key of an agent"),
                &format!("write `{meant}`"),
            );
        }
    }
    Ok(())
}

/// The tools that a key lists, by their current names. `*` means all of them.
fn tools(keys: &Keys, key: &str, notes: &mut Notes<'_>) -> Result<Option<Vec<String>>, KeyError> {
    let Some(written) = keys.words(key)? else {
        if key == "tools" {
            let why = "`tools` is empty: the agent has no tools".to_owned();
            notes.warn(keys.line(key), why, "remove the key to give it all tools");
            return Ok(Some(Vec::new()));
        }
        return Ok(None);
    };
    if key == "tools" && written.iter().any(|name| name == "*") {
        return Ok(None);
    }
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for name in written {
        let bare = name.split_once('(').map_or(name.as_str(), |(bare, _)| bare);
        let similar = TOOL_NAMES.into_iter().find(|tool| tool.eq_ignore_ascii_case(bare));
        match tool_named(bare) {
            Some("Agent") if bare != name => known.push(name.replacen(bare, "Agent", 1)),
            Some(tool) if bare == name => known.push(tool.to_owned()),
            _ if is_servers(&name) => known.push(name),
            // A tool that is disallowed in part, or in other case, must not be allowed.
            _ if key != "tools" && similar.or(tool_named(bare)).is_some() => {
                let tool = similar.or(tool_named(bare)).unwrap_or_default();
                notes.warn(
                    keys.line(key),
                    format!("`{key}`: `{name}` is treated as `{tool}`"),
                    "use the exact name of the tool, without parentheses",
                );
                known.push(tool.to_owned());
            }
            _ => unknown.push(format!("`{name}`")),
        }
    }
    if !unknown.is_empty() {
        notes.warn(
            keys.line(key),
            format!("`{key}`: unknown tools are ignored: {}", unknown.join(", ")),
            &format!("the tools are {}, and mcp__SERVER__TOOL", TOOL_NAMES.join(", ")),
        );
    }
    Ok(Some(known))
}

/// Whether a name is that of a server or its tool.
fn is_servers(name: &str) -> bool {
    name.strip_prefix("mcp__").is_some_and(|rest| !rest.is_empty()) && !name.contains(['(', ')'])
}

/// Reads `Agent(a, b)` in a list of tools: which agents may be started.
fn may_start(
    own: &str,
    listed: Vec<String>,
    notes: &mut Notes<'_>,
) -> (Option<Vec<String>>, Option<Vec<String>>) {
    let mut may: Option<Vec<String>> = None;
    let mut tools = Vec::new();
    for tool in listed {
        let Some(named) = tool.strip_prefix("Agent(").and_then(|rest| rest.strip_suffix(')'))
        else {
            tools.push(tool);
            continue;
        };
        let names = may.get_or_insert_with(Vec::new);
        for name in named.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            if name == own {
                let why = format!("`tools`: the agent names itself in `{tool}`; this is ignored");
                notes.warn(None, why, "name the agents it may start, or none");
            } else {
                names.push(name.to_owned());
            }
        }
        tools.push("Agent".to_owned());
    }
    tools.dedup();
    (Some(tools), may)
}

/// Hooks may be guards: without them the agent or skill must not run.
pub(crate) fn hooks(keys: &Keys) -> Result<Option<Value>, KeyError> {
    match keys.value("hooks") {
        None => Ok(None),
        Some(hooks @ (Value::Object(_) | Value::Array(_))) => Ok(Some(hooks.clone())),
        Some(_) => Err(keys.bad("hooks", "must be written as in settings: events, or a list")),
    }
}

fn servers(keys: &Keys) -> Result<Vec<ServerUse>, KeyError> {
    let inline = |(name, definition): (&String, &Value)| ServerUse::Inline {
        name: name.clone(),
        definition: definition.clone(),
    };
    match keys.value("mcpServers") {
        None => Ok(Vec::new()),
        Some(Value::Object(servers)) => Ok(servers.iter().map(inline).collect()),
        Some(Value::Array(list)) => {
            let mut servers = Vec::new();
            for item in list {
                match item {
                    Value::String(name) => servers.push(ServerUse::Named(name.clone())),
                    Value::Object(own) => servers.extend(own.iter().map(inline)),
                    _ => return Err(keys.bad("mcpServers", "must contain names or definitions")),
                }
            }
            Ok(servers)
        }
        Some(_) => Err(keys.bad("mcpServers", "must be a list of names or definitions")),
    }
}

/// Those of these tools that an agent has.
pub fn tools_for(agent: &AgentDefinition, all: &[String]) -> Vec<String> {
    all.iter().filter(|tool| agent.has(tool)).cloned().collect()
}

/// Whether a name in a list means a tool. `mcp__server` means all tools of the server; `*` stands for anything.
fn covers(pattern: &str, tool: &str) -> bool {
    if pattern == tool {
        return true;
    }
    if !pattern.starts_with("mcp__") {
        return false;
    }
    let is_server = !pattern.trim_start_matches("mcp__").contains("__");
    let below = tool.strip_prefix(pattern).is_some_and(|rest| rest.starts_with("__"));
    (is_server && below) || wildcard::matches(pattern, tool)
}

#[cfg(test)]
mod tests;
