//! Reads hooks from settings: three shapes, one order.

use std::ffi::OsString;
use std::fmt;
use std::time::Duration;

use ona_policy::{Anchors, Rule, Source};
use ona_types::hook::HookEvent;
use ona_types::{Behavior, Diagnostic};
use serde_json::{Map, Value};

use crate::http::{self, RequestError};
use crate::judge;
use crate::matcher::Matcher;
use crate::own_gate;

/// A hook, ready to be fired.
#[derive(Clone, Debug)]
pub struct HookEntry {
    /// Its place in the total order.
    pub ordinal: i64,
    /// The event it is for.
    pub event: HookEvent,
    /// Its matcher as written.
    pub matcher_text: String,
    /// Its matcher.
    pub matcher: Matcher,
    /// What it does.
    pub handler: Handler,
    /// The additional condition on the call (`if`).
    pub condition: Condition,
    /// How long it may take, if it says.
    pub timeout: Option<Duration>,
    /// Where it comes from.
    pub source: Source,
    /// Switched off by settings: it is skipped, and that is recorded.
    pub off: bool,
    /// Variables it gets besides those that every hook gets.
    pub env: Vec<(OsString, OsString)>,
}

impl HookEntry {
    /// Whether it is ona's own gate, which judges the call already.
    pub fn is_own_gate(&self) -> bool {
        matches!(&self.handler, Handler::Command { command, .. } if own_gate::host_of(command).is_some())
    }

    fn identity(&self) -> (HookEvent, &str, &Handler, &Condition, bool, &[(OsString, OsString)]) {
        // `${CLAUDE_PLUGIN_ROOT}/check` of two plugins are two hooks.
        let (handler, condition) = (&self.handler, &self.condition);
        (self.event, &self.matcher_text, handler, condition, self.off, &self.env)
    }
}

/// A handler's `if`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// There is none.
    #[default]
    None,
    /// A permission rule that must match the call, as written.
    Rule(String),
    /// As written; it is not a valid rule, so it counts as matching.
    Unreadable(String),
}

/// The hooks of one layer of settings.
#[derive(Clone, Debug)]
pub struct HookLayer {
    /// Whose they are.
    pub source: Source,
    /// The value of `hooks`.
    pub hooks: Value,
    /// Whether settings switch them off.
    pub off: bool,
    /// Variables they get: a plugin's know where it is.
    pub env: Vec<(OsString, OsString)>,
}

/// What a hook does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handler {
    /// Runs a command.
    Command {
        /// The command line.
        command: String,
        /// In which shell.
        shell: Shell,
    },
    /// Posts the input somewhere.
    Http {
        /// Where.
        url: String,
        /// With these headers, variables not yet filled in.
        headers: Vec<(String, String)>,
        /// Variables that may be filled in.
        allowed_env: Vec<String>,
    },
    /// Asks a model.
    Model {
        /// What.
        prompt: String,
        /// Which one, where it is said.
        model: Option<String>,
        /// Whether it may look around with reading tools first (`agent`).
        looks: bool,
    },
}

impl Handler {
    /// What the record calls it.
    pub fn label(&self) -> &str {
        match self {
            Self::Command { command, .. } => command,
            Self::Http { url, .. } => url,
            Self::Model { prompt, .. } => prompt,
        }
    }
}

/// S0 §5.11's shells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Shell {
    #[default]
    Bash,
    Sh,
    PowerShell,
}

impl Shell {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "bash" => Some(Self::Bash),
            "sh" => Some(Self::Sh),
            "powershell" => Some(Self::PowerShell),
            _ => None,
        }
    }
}

/// What is wrong with a hook, as settings write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookWarning {
    /// The layer of settings they come from.
    pub source: Source,
    /// Its key, as in `hooks.PreToolUse[0].hooks[1]`.
    pub place: String,
    /// What is wrong.
    pub why: String,
    /// Whether it is left out for that.
    pub left_out: bool,
    /// Whether it cannot be read, so that a guard may be missing. What only ona does not know, such as an event of
    /// another product, is no guard here.
    pub unreadable: bool,
}

impl HookWarning {
    /// What is wrong, and what it means for the hook.
    fn problem(&self) -> String {
        // The author of a guard must learn that it does not run.
        let so = if self.left_out { ": the hook does not run" } else { "" };
        format!("{}{so}", self.why)
    }

    /// The same about a file.
    pub fn diagnostic(&self, file: &str) -> Diagnostic {
        Diagnostic::new(file, self.problem()).in_key(&*self.place)
    }
}

impl fmt::Display for HookWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.source, self.place, self.problem())
    }
}

/// Reads the hooks of settings, in order of the layers, and numbers them. Invalid entries
/// are left out; the second list says why.
pub fn collect(layers: &[HookLayer]) -> (Vec<HookEntry>, Vec<HookWarning>) {
    let mut reader = Reader { entries: Vec::new(), warnings: Vec::new() };
    for layer in layers {
        let first = reader.entries.len();
        reader.layer(&layer.source, &layer.hooks);
        for entry in &mut reader.entries[first..] {
            entry.off = layer.off;
            entry.env.clone_from(&layer.env);
        }
    }
    // S0 §5.2: identical neighbours run once. A disabled hook does not count as a neighbour.
    reader.entries.dedup_by(|next, kept| next.identity() == kept.identity());
    for (ordinal, entry) in (0..).zip(&mut reader.entries) {
        entry.ordinal = ordinal;
    }
    (reader.entries, reader.warnings)
}

struct Reader {
    entries: Vec<HookEntry>,
    warnings: Vec<HookWarning>,
}

impl Reader {
    fn warn(&mut self, source: &Source, place: &str, why: &str) {
        self.say(source, place, why, (false, false));
    }

    fn leave_out(&mut self, source: &Source, place: &str, why: &str) {
        self.say(source, place, why, (true, true));
    }

    /// Leaves out what ona does not know.
    fn leave_to_others(&mut self, source: &Source, place: &str, why: &str) {
        self.say(source, place, why, (true, false));
    }

    fn say(
        &mut self,
        source: &Source,
        place: &str,
        why: &str,
        (left_out, unreadable): (bool, bool),
    ) {
        let (source, place, why) = (source.clone(), place.to_owned(), why.to_owned());
        self.warnings.push(HookWarning { source, place, why, left_out, unreadable });
    }

    fn layer(&mut self, source: &Source, hooks: &Value) {
        match hooks {
            // Claude Code's map: event → groups → handlers.
            Value::Object(events) => {
                for (name, groups) in events {
                    let place = format!("hooks.{name}");
                    let Ok(event) = name.parse::<HookEvent>() else {
                        self.leave_to_others(source, &place, "unknown event");
                        continue;
                    };
                    match groups {
                        Value::Array(groups) => {
                            for (index, group) in groups.iter().enumerate() {
                                self.group(
                                    source,
                                    &format!("{place}[{index}]"),
                                    Some(event),
                                    group,
                                );
                            }
                        }
                        _ => self.leave_out(source, &place, "expected a list"),
                    }
                }
            }
            // A list of groups, or the flat list of S0 §8.8.3.
            Value::Array(groups) => {
                for (index, group) in groups.iter().enumerate() {
                    self.group(source, &format!("hooks[{index}]"), None, group);
                }
            }
            Value::Null => {}
            _ => self.leave_out(source, "hooks", "expected an object or a list"),
        }
    }

    fn group(&mut self, source: &Source, place: &str, event: Option<HookEvent>, group: &Value) {
        let Value::Object(group) = group else {
            return self.leave_out(source, place, "expected an object");
        };
        let named = text(group, "hook_event_name").or_else(|| text(group, "event"));
        let event = match (event, named.map(str::parse::<HookEvent>)) {
            (Some(event), _) | (None, Some(Ok(event))) => event,
            (None, Some(Err(error))) => {
                return self.leave_to_others(source, place, &error.to_string());
            }
            (None, None) => return self.leave_out(source, place, "`hook_event_name` is missing"),
        };
        let matcher = match group.get("matcher") {
            None | Some(Value::Null) => "",
            Some(Value::String(matcher)) => matcher,
            Some(_) => return self.leave_out(source, place, "`matcher` must be a string"),
        };
        match group.get("hooks") {
            Some(Value::Array(handlers)) => {
                for (index, handler) in handlers.iter().enumerate() {
                    self.handler(
                        source,
                        &format!("{place}.hooks[{index}]"),
                        event,
                        matcher,
                        handler,
                    );
                }
            }
            Some(_) => self.leave_out(source, place, "`hooks` must be a list"),
            None => {
                let flat = Value::Object(group.clone());
                self.handler(source, place, event, matcher, &flat);
            }
        }
    }

    fn handler(
        &mut self,
        source: &Source,
        place: &str,
        event: HookEvent,
        matcher: &str,
        entry: &Value,
    ) {
        let Value::Object(entry) = entry else {
            return self.leave_out(source, place, "expected an object");
        };
        let handler = match read_handler(event, entry) {
            Ok(handler) => handler,
            Err(why) if why.is_unknown_here() => {
                return self.leave_to_others(source, place, &why.to_string());
            }
            Err(why) => return self.leave_out(source, place, &why.to_string()),
        };
        if entry.get("async") == Some(&Value::Bool(true)) {
            self.warn(source, place, "`async` is not supported: ona waits for the hook");
        }
        let timeout = match entry.get("timeout") {
            None | Some(Value::Null) => None,
            Some(value) => {
                match value.as_f64().filter(|seconds| *seconds > 0.0 && *seconds < 1e6) {
                    Some(seconds) => Some(Duration::from_secs_f64(seconds)),
                    // A wrong timeout must not disable a guard.
                    None => {
                        let why = "`timeout` must be a number of seconds greater than 0: the default is used";
                        self.warn(source, place, why);
                        None
                    }
                }
            }
        };
        let condition = self.condition(source, place, event, entry);
        let compiled = Matcher::parse(matcher);
        match compiled {
            Matcher::Nothing => {
                let why = format!(
                    "`{}` is not a valid pattern: it matches nothing, so the hook never runs",
                    shortened(matcher)
                );
                self.say(source, place, &why, (false, true));
            }
            Matcher::Unjudged(why) => self.warn(
                source,
                place,
                &format!("`matcher` is ignored ({why}): the hook runs as if it matched"),
            ),
            _ => {}
        }
        if event.is_tool_event()
            && let Some(why) = compiled.missed_tool(matcher)
        {
            self.warn(source, place, &why);
        }
        self.entries.push(HookEntry {
            ordinal: 0,
            event,
            matcher_text: matcher.to_owned(),
            matcher: compiled,
            handler,
            condition,
            timeout,
            source: source.clone(),
            off: false,
            env: Vec::new(),
        });
    }

    /// A guard whose condition cannot be parsed should rather run too often.
    fn condition(
        &mut self,
        source: &Source,
        place: &str,
        event: HookEvent,
        entry: &Map<String, Value>,
    ) -> Condition {
        let keys = ["if", "if_condition"].into_iter();
        let mut given = keys.filter_map(|key| Some((key, entry.get(key)?)));
        let Some((key, value)) = given.find(|(_, value)| !value.is_null()) else {
            return Condition::None;
        };
        let place = format!("{place}.{key}");
        let anyway = "the hook runs as if it matched";
        let Some(text) = value.as_str() else {
            self.warn(source, &place, &format!("it is not a string; {anyway}"));
            return Condition::Unreadable(value.to_string());
        };
        if text.trim().is_empty() {
            return Condition::None;
        }
        match Rule::parse(text, Behavior::Deny, source.clone(), &anywhere()) {
            Err(why) => {
                self.warn(source, &place, &format!("`{}`: {why}; {anyway}", shortened(text)));
                return Condition::Unreadable(text.to_owned());
            }
            Ok((_, Some(odd))) => self.warn(source, &place, &odd),
            Ok((_, None)) => {}
        }
        if !event.is_tool_event() {
            let why = format!("{event} has no tool call, so the hook never runs");
            self.warn(source, &place, &why);
        }
        Condition::Rule(text.to_owned())
    }
}

/// Whether a text is a rule does not depend on where it is anchored.
fn anywhere() -> Anchors {
    Anchors { source: "/".into(), cwd: "/".into(), home: "/".into() }
}

/// A text shortened for a message: the beginning of its first line.
pub(crate) fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match ona_types::whole_words(line, 200) {
        shown if shown.len() < text.trim_end().len() => format!("{shown}…"),
        shown => shown.to_owned(),
    }
}

fn text<'m>(map: &'m Map<String, Value>, key: &str) -> Option<&'m str> {
    map.get(key).and_then(Value::as_str)
}

/// The kinds of handlers.
const HANDLER_TYPES: [&str; 4] = ["command", "http", "prompt", "agent"];

/// Why an entry is not a handler.
#[derive(Debug, thiserror::Error)]
enum HandlerError {
    #[error("`{0}` is missing")]
    Missing(&'static str),
    #[error("`shell` must be bash, sh or powershell, not {0}")]
    Shell(Value),
    #[error("{0} supports only hooks of type command")]
    OnlyCommands(HookEvent),
    #[error("`headers.{0}` must be a string")]
    Header(String),
    #[error("`headers` must be an object")]
    Headers,
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error("`allowedEnvVars` must be a list of names")]
    AllowedEnv,
    #[error("{event} does not support hooks of type {kind}")]
    NotAsked { event: HookEvent, kind: String },
    #[error("`type` must be command, http, prompt or agent, not `{0}`")]
    Type(String),
}

impl HandlerError {
    /// Whether it is a kind of hook that ona does not have, or not for this event.
    fn is_unknown_here(&self) -> bool {
        match self {
            Self::OnlyCommands(_) | Self::NotAsked { .. } => true,
            // What is misspelt was meant to be one that it has.
            Self::Type(kind) => ona_types::nearest(kind, HANDLER_TYPES).is_none(),
            _ => false,
        }
    }
}

fn read_handler(event: HookEvent, entry: &Map<String, Value>) -> Result<Handler, HandlerError> {
    match text(entry, "type").unwrap_or("command") {
        "command" => {
            let command = text(entry, "command").filter(|command| !command.trim().is_empty());
            let command = command.ok_or(HandlerError::Missing("command"))?.to_owned();
            let shell = match entry.get("shell") {
                None | Some(Value::Null) => Shell::default(),
                Some(name) => name
                    .as_str()
                    .and_then(Shell::parse)
                    .ok_or_else(|| HandlerError::Shell(name.clone()))?,
            };
            Ok(Handler::Command { command, shell })
        }
        "http" if matches!(event, HookEvent::SessionStart | HookEvent::Setup) => {
            Err(HandlerError::OnlyCommands(event))
        }
        "http" => {
            let url = text(entry, "url").ok_or(HandlerError::Missing("url"))?.to_owned();
            let headers = match entry.get("headers") {
                None | Some(Value::Null) => Vec::new(),
                Some(Value::Object(headers)) => headers
                    .iter()
                    .map(|(name, value)| match value.as_str() {
                        Some(value) => Ok((name.clone(), value.to_owned())),
                        None => Err(HandlerError::Header(name.clone())),
                    })
                    .collect::<Result<_, _>>()?,
                Some(_) => return Err(HandlerError::Headers),
            };
            http::check(&url, &headers)?;
            let allowed_env = match entry.get("allowedEnvVars") {
                None | Some(Value::Null) => Vec::new(),
                Some(names) => {
                    serde_json::from_value(names.clone()).map_err(|_| HandlerError::AllowedEnv)?
                }
            };
            Ok(Handler::Http { url, headers, allowed_env })
        }
        kind @ ("prompt" | "agent") => {
            if !judge::may_ask(event) {
                return Err(HandlerError::NotAsked { event, kind: kind.to_owned() });
            }
            let prompt = text(entry, "prompt").filter(|prompt| !prompt.trim().is_empty());
            Ok(Handler::Model {
                prompt: prompt.ok_or(HandlerError::Missing("prompt"))?.to_owned(),
                model: text(entry, "model").map(str::to_owned),
                looks: kind == "agent",
            })
        }
        other => Err(HandlerError::Type(other.to_owned())),
    }
}

#[cfg(test)]
mod tests;
