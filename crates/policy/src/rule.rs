//! One permission rule: `Tool` or `Tool(specifier)`, parsed once and matched against calls.

mod command;
mod domain;
mod paths;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use ona_types::Behavior;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::permissions::Call;
use crate::store::Store;
use crate::subject::RuleSubject;
use ona_effects::Effects;
use ona_effects::path::Target;
use ona_effects::read_only::ReadOnly;
use ona_effects::wildcard;

pub(crate) use command::{CommandPattern, texts, with_assignments};
use domain::DomainPattern;
pub use paths::Anchors;
pub(crate) use paths::PathPattern;

/// The limit for a rule, in bytes.
const MAX_RULE: usize = 10_000;

/// Where a rule, a hook or a setting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Ships with ona.
    Builtin,
    /// The user's settings.
    User,
    /// The project's settings.
    Project,
    /// The project's settings that are not committed.
    Local,
    /// The command line.
    Cli,
    /// The organisation's settings.
    Managed,
    /// Decided in this session.
    Session,
    /// A snapshot the operator put into the database.
    Database,
    /// A plugin.
    Plugin,
}

impl Scope {
    /// The scope's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
            Self::Cli => "cli",
            Self::Managed => "managed",
            Self::Session => "session",
            Self::Database => "database",
            Self::Plugin => "plugin",
        }
    }
}

/// A scope and the file in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The scope.
    pub scope: Scope,
    /// The file, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

impl Source {
    /// A source without a file.
    pub fn of(scope: Scope) -> Self {
        Self { scope, file: None }
    }

    /// Whether it is this file, or one in this directory.
    pub fn is_below(&self, path: &Path) -> bool {
        self.file.as_ref().is_some_and(|file| file.starts_with(path))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `--settings` gives it, or `--allowedTools`.
        let scope = match self.scope {
            Scope::Cli => "the command line",
            scope => scope.as_str(),
        };
        match &self.file {
            Some(file) => write!(f, "{scope} ({})", file.display()),
            None => f.write_str(scope),
        }
    }
}

/// A rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// As written.
    pub text: String,
    /// Its decision about matching calls.
    pub behavior: Behavior,
    /// Where it comes from.
    pub source: Source,
    /// A limit on it that its text does not show; only built-in rules have one.
    pub(crate) guard: Guard,
    tool: String,
    spec: Spec,
}

/// A limit on a built-in rule.
#[derive(Clone, Debug, Default)]
pub(crate) enum Guard {
    /// None.
    #[default]
    None,
    /// A command that reads: only with operands inside the working directories and without options that
    /// make it write or run something.
    ReadOnly(&'static ReadOnly),
    /// A path rule about a directory with stored credentials: it is about whatever reaches them otherwise, too.
    Store(Store),
    /// A path rule about a directory, of which these parts are left out.
    OpenBelow {
        /// The directory.
        dir: &'static str,
        /// What is left out, right below it.
        names: &'static [&'static str],
    },
}

impl Guard {
    /// The store of credentials that it is about.
    pub(crate) fn store(&self) -> Option<&Store> {
        match self {
            Self::Store(store) => Some(store),
            _ => None,
        }
    }

    /// Whether a built-in rule leaves the target out, by its name and by what that leads to.
    fn leaves_out(&self, target: &Target) -> bool {
        let Self::OpenBelow { dir, names } = self else { return false };
        // Another `.claude` further down, as in a worktree, is as protected as the first.
        let open = |path: &Path| {
            let parts: Vec<&OsStr> = path.components().map(|part| part.as_os_str()).collect();
            let mut places = parts.iter().enumerate().filter(|(_, part)| **part == *dir);
            places.all(|(at, _)| {
                parts.get(at + 1).is_some_and(|next| names.iter().any(|name| *next == *name))
            })
        };
        open(&target.named) && open(&target.real)
    }
}

#[derive(Clone, Debug)]
enum Spec {
    /// No parentheses, or `*` in them.
    Any,
    Command(CommandPattern),
    Path(PathPattern),
    Domain(DomainPattern),
    /// `Agent(type)`, `Skill(name)`.
    Name(String),
    /// `Skill(name *)`.
    NameWithArguments(String),
}

/// Why a text is not a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// Path rules about this tool are written with another name.
    #[error("{tool} takes no path: write {instead}, which covers it")]
    Covered {
        /// The tool.
        tool: String,
        /// The rule that covers it.
        instead: String,
    },
    /// It is about a tool that does not exist here, such as another product's: it would never match.
    #[error("{0}")]
    UnknownTool(String),
}

fn refuse<T>(why: impl Into<String>) -> Result<T, RuleError> {
    Err(RuleError::Unreadable(why.into()))
}

/// Older and longer names of tools.
const ALIASES: &[(&str, &str)] = &[
    ("Task", "Agent"),
    ("KillShell", "TaskStop"),
    ("KillBash", "TaskStop"),
    ("BashOutput", "TaskOutput"),
    ("AgentOutputTool", "TaskOutput"),
    ("ListMcpResourcesTool", "ListMcpResources"),
    ("ReadMcpResourceTool", "ReadMcpResource"),
    ("SendUserMessage", "Brief"),
];

/// Tools whose path rules are written with the name of another tool, which covers them. The last three are retired.
const COVERED: &[(&str, &str)] = &[
    ("Write", "Edit"),
    ("NotebookEdit", "Edit"),
    ("Glob", "Read"),
    ("Grep", "Read"),
    ("MultiEdit", "Edit"),
    ("NotebookRead", "Read"),
    ("LS", "Read"),
];

/// The name a tool has today, if this is one of its names.
pub fn tool_named(name: &str) -> Option<&'static str> {
    let today = ALIASES.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new);
    TOOL_NAMES.into_iter().find(|known| *known == today)
}

/// Rules with commas or blanks between them; what stands in parentheses belongs together.
pub fn split_rules(text: &str) -> Vec<String> {
    let (mut rules, mut rule, mut open) = (Vec::new(), String::new(), 0);
    for character in text.chars() {
        match character {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        if open <= 0 && (character == ',' || character.is_whitespace()) {
            rules.push(std::mem::take(&mut rule));
        } else {
            rule.push(character);
        }
    }
    rules.push(rule);
    rules.retain(|rule| !rule.trim().is_empty());
    rules
}

/// The tools of S0 §7.
pub const TOOL_NAMES: [&str; 21] = [
    "Read",
    "Write",
    "Edit",
    "NotebookEdit",
    "Bash",
    "Glob",
    "Grep",
    "WebFetch",
    "WebSearch",
    "AskUserQuestion",
    "TodoWrite",
    "TaskOutput",
    "Agent",
    "Skill",
    "EnterPlanMode",
    "ExitPlanMode",
    "ListMcpResources",
    "ReadMcpResource",
    "ToolSearch",
    "Brief",
    "TaskStop",
];

/// The name of a server's tool, or of a server, as S0 §7 writes it: `mcp__`, a slug in small letters and the tool's name
/// without special characters.
pub fn server_tool_name(name: &str) -> Cow<'_, str> {
    let Some(rest) = name.strip_prefix("mcp__") else { return name.into() };
    let end = rest.find("__").unwrap_or(rest.len());
    let (server, tool) = rest.split_at(end);
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || "_-*".contains(c) => c,
        _ => '_',
    };
    let small = |c: char| plain(c).to_ascii_lowercase();
    match server.chars().all(|c| small(c) == c) && tool.chars().all(|c| plain(c) == c) {
        true => name.into(),
        false => {
            let (server, tool) = (server.chars().map(small), tool.chars().map(plain));
            "mcp__".chars().chain(server).chain(tool).collect::<String>().into()
        }
    }
}

impl Rule {
    /// Reads a rule of settings, as [`Rule::parse`] does. A deny or ask rule whose meaning is plain although it is
    /// written with another tool's name counts as the rule that it should be.
    pub fn parse_or_mend(
        text: &str,
        behavior: Behavior,
        source: Source,
        anchors: &Anchors,
    ) -> Result<(Self, Option<String>), RuleError> {
        let mended = mended(text).filter(|_| behavior != Behavior::Allow);
        if let Some(mended) = mended {
            let (rule, _) = Self::parse_or_mend(&mended, behavior, source, anchors)?;
            let rule = Self { text: text.trim().to_owned(), ..rule };
            return Ok((rule, Some(format!("write {mended}; it counts as that"))));
        }
        match Self::parse(text, behavior, source.clone(), anchors) {
            // What such a rule forbids is plain; as an allow rule, the other would allow more than it says.
            Err(RuleError::Covered { tool, instead }) if behavior != Behavior::Allow => {
                let (rule, _) = Self::parse(&instead, behavior, source, anchors)?;
                let rule = Self { text: text.trim().to_owned(), ..rule };
                let odd = RuleError::Covered { tool, instead };
                Ok((rule, Some(format!("{odd}; it counts as that"))))
            }
            parsed => parsed,
        }
    }

    /// Reads a rule. A second text is a warning about one that is kept.
    pub fn parse(
        text: &str,
        behavior: Behavior,
        source: Source,
        anchors: &Anchors,
    ) -> Result<(Self, Option<String>), RuleError> {
        if text.len() > MAX_RULE {
            return refuse(format!("it is longer than {MAX_RULE} bytes"));
        }
        let text = text.trim();
        let (tool, content) = split(text)?;
        let tool = ALIASES.iter().find(|(old, _)| *old == tool).map_or(tool, |(_, new)| new);
        let content = content.filter(|content| !matches!(*content, "" | "*"));
        let mut warning = None;
        if let Some(content) = content
            && let Some((_, covers)) = COVERED.iter().find(|(covered, _)| *covered == tool)
        {
            let instead = format!("{covers}({content})");
            return Err(RuleError::Covered { tool: tool.to_owned(), instead });
        }
        let spec = match (tool, content) {
            (_, None) => {
                check_tool(tool, behavior)?;
                if !tool.contains(['_', '*']) && !TOOL_NAMES.contains(&tool) {
                    warning = Some(format!("unknown tool `{tool}`"));
                }
                Spec::Any
            }
            ("Bash", Some(content)) => Spec::Command(CommandPattern::parse(content)?),
            ("Read" | "Edit", Some(content)) => {
                Spec::Path(PathPattern::parse(content, behavior, anchors)?)
            }
            ("WebFetch", Some(content)) => Spec::Domain(DomainPattern::parse(content)?),
            ("Agent", Some(content)) => Spec::Name(content.to_owned()),
            ("Skill", Some(content)) => {
                match content.strip_suffix(" *").or(content.strip_suffix(":*")) {
                    Some(name) => Spec::NameWithArguments(name.to_owned()),
                    None => Spec::Name(content.to_owned()),
                }
            }
            (tool, Some(_)) if tool.starts_with("mcp__") => {
                return refuse("an MCP tool takes no parentheses");
            }
            (tool, Some(_)) if TOOL_NAMES.contains(&tool) => {
                return refuse(format!("{tool} takes no parentheses"));
            }
            (tool, Some(_)) => {
                let meant = ona_types::nearest(tool, TOOL_NAMES)
                    .map_or_else(String::new, |name| format!(": did you mean `{name}`?"));
                return Err(RuleError::UnknownTool(format!("unknown tool `{tool}`{meant}")));
            }
        };
        let rule = Self {
            text: text.to_owned(),
            behavior,
            source,
            guard: Guard::None,
            tool: tool.to_owned(),
            spec,
        };
        Ok((rule, warning))
    }

    pub(crate) fn guarded(mut self, guard: Guard) -> Self {
        self.guard = guard;
        self
    }

    /// What a built-in rule protects, where its text does not tell.
    pub fn protects(&self) -> Option<&'static str> {
        self.guard.store().map(|store| store.what)
    }

    /// Whether the rule is about the tool as such, whatever its input.
    pub fn is_bare(&self) -> bool {
        matches!(self.spec, Spec::Any)
    }

    /// Whether the rule's tool is this one, or a group it belongs to.
    pub fn names(&self, tool: &str, subject: RuleSubject) -> bool {
        let group = match self.tool.as_str() {
            "Read" => subject == RuleSubject::Reads,
            "Edit" => subject == RuleSubject::Writes,
            _ => false,
        };
        // A server's name stands for all its tools, and is meant however it is spelt: its tools have it in small letters.
        let own = server_tool_name(&self.tool);
        let server = own.starts_with("mcp__")
            && tool.strip_prefix(&*own).is_some_and(|rest| rest.starts_with("__"));
        group || server || wildcard::matches(&own, tool)
    }

    /// As a rule that forbids or asks: is it about any part of the call?
    pub fn hits(&self, call: &Call<'_>) -> bool {
        if let Some(shape) = self.command() {
            return call.facts.subject == RuleSubject::Command
                && call.effects.commands.iter().any(|command| shape.hits(command));
        }
        if let Some((tool, shape)) = self.path() {
            let hit = |targets: &[Target]| {
                targets.iter().any(|target| shape.hits(target) && !self.guard.leaves_out(target))
            };
            // What may not be read may not be written either, nor given to a program nobody knows.
            let Effects { reads, writes, given, .. } = call.effects;
            let forbids = self.behavior == Behavior::Deny;
            let given = || given.iter().any(|given| given.is_file && shape.hits(&given.target));
            return match tool {
                "Read" => {
                    let reached =
                        || self.guard.store().is_some_and(|store| store.is_reached(call.effects));
                    hit(reads) || forbids && (hit(writes) || given()) || reached()
                }
                _ => hit(writes),
            };
        }
        self.forbids_writing(call) || self.matches_name(call)
    }

    /// Whether the rule is about all writing, whatever the file.
    pub(crate) fn is_about_writing(&self) -> bool {
        self.is_bare() && matches!(self.tool.as_str(), "Edit" | "Write")
    }

    /// Whether it is a rule about paths, and about this one.
    pub(crate) fn is_about(&self, target: &Target) -> bool {
        self.path().is_some_and(|(_, shape)| shape.hits(target)) && !self.guard.leaves_out(target)
    }

    /// Whether the rule is about all writing, and the call a command line that is seen to write.
    fn forbids_writing(&self, call: &Call<'_>) -> bool {
        self.is_about_writing()
            && call.facts.subject == RuleSubject::Command
            && call.effects.writes_something()
    }

    pub(crate) fn path(&self) -> Option<(&str, &PathPattern)> {
        match &self.spec {
            Spec::Path(pattern) => Some((&self.tool, pattern)),
            _ => None,
        }
    }

    pub(crate) fn command(&self) -> Option<&CommandPattern> {
        match &self.spec {
            Spec::Command(pattern) => Some(pattern),
            _ => None,
        }
    }

    /// For what is neither a path nor a command: does the rule match the call?
    pub(crate) fn matches_name(&self, call: &Call<'_>) -> bool {
        if !self.names(call.tool, call.facts.subject) {
            return false;
        }
        let text = |key: &str| call.input.get(key).and_then(Value::as_str);
        // What is said behind the name, in the same field or in one of its own, are arguments.
        let (name, bare) = match call.facts.subject {
            RuleSubject::Field { key, default, arguments } => {
                let said = text(key).unwrap_or(default).trim();
                let (name, rest) = match arguments {
                    Some(_) => said.split_once(char::is_whitespace).unwrap_or((said, "")),
                    None => (said, ""),
                };
                let beside = arguments.and_then(text).unwrap_or_default();
                (Some(name), rest.is_empty() && beside.trim().is_empty())
            }
            _ => (None, true),
        };
        match &self.spec {
            Spec::Any => true,
            Spec::Domain(pattern) => call.effects.hosts.iter().any(|host| pattern.matches(host)),
            // What is forbidden stays so with arguments; what is allowed without is not allowed with.
            Spec::Name(wanted) => {
                name == Some(wanted.as_str()) && (bare || self.behavior != Behavior::Allow)
            }
            Spec::NameWithArguments(wanted) => name == Some(wanted.as_str()),
            Spec::Command(_) | Spec::Path(_) => false,
        }
    }
}

fn split(text: &str) -> Result<(&str, Option<&str>), RuleError> {
    if text.is_empty() {
        return refuse("it is empty");
    }
    let Some((tool, rest)) = text.split_once('(') else {
        return if text.contains(')') {
            refuse("it has a `)` without a `(`")
        } else {
            Ok((text, None))
        };
    };
    match rest.strip_suffix(')') {
        None => refuse("missing `)` at the end"),
        Some(_) if tool.is_empty() => refuse("the tool is missing before the `(`"),
        Some(content) => Ok((tool, Some(content))),
    }
}

/// The rule with its tool's name as it should be written, if capitals or blanks are all that is wrong with it.
fn mended(text: &str) -> Option<String> {
    let text = text.trim();
    let (name, rest) = text.split_at(text.find('(').unwrap_or(text.len()));
    let is_meant = |known: &&&str| known.eq_ignore_ascii_case(name.trim_end());
    let old = ALIASES.iter().map(|(old, _)| old).chain(COVERED.iter().map(|(covered, _)| covered));
    let known = TOOL_NAMES.iter().chain(old).find(is_meant)?;
    (*known != name).then(|| format!("{known}{rest}"))
}

fn check_tool(tool: &str, behavior: Behavior) -> Result<(), RuleError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*' | '.');
    if !tool.chars().all(plain) {
        return refuse(format!("`{tool}` is not a valid tool name"));
    }
    if behavior == Behavior::Allow && tool.contains('*') {
        // What a `*` allows would change with every added server.
        let named = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
        if !named.is_some_and(|(server, _)| !server.is_empty() && !server.contains('*')) {
            return refuse("an allow rule may have a `*` only after `mcp__<server>__`");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_told_apart() {
        assert_eq!(
            split_rules("Bash(git log *),Read  Edit(a, b)"),
            ["Bash(git log *)", "Read", "Edit(a, b)"]
        );
        assert!(split_rules(" , ").is_empty());
    }

    #[test]
    fn tools_are_known_by_all_their_names() {
        for (name, today) in [("Read", "Read"), ("Task", "Agent"), ("KillShell", "TaskStop")] {
            assert_eq!(tool_named(name), Some(today));
        }
        assert_eq!(tool_named("read"), None);
    }
}
