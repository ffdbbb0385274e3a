//! Hooks as settings write them: three shapes, one order.

use std::time::Duration;

use ona_policy::{Anchors, Rule, Source};
use ona_types::Behavior;
use ona_types::hook::HookEvent;
use serde_json::{Map, Value};

use crate::judge;
use crate::matcher::Matcher;

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
    /// What must hold of the call besides.
    pub condition: Condition,
    /// How long it may take, if it says.
    pub timeout: Option<Duration>,
    /// Where it comes from.
    pub source: Source,
    /// Switched off by settings: it is skipped, and that is recorded.
    pub off: bool,
}

impl HookEntry {
    fn identity(&self) -> (HookEvent, &str, &Handler, &Condition, bool) {
        (self.event, &self.matcher_text, &self.handler, &self.condition, self.off)
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
    /// As written; no rule can be made of it, so it counts as holding.
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

/// Reads the hooks of settings, in order of the layers, and numbers them. Entries that cannot be meant
/// are left out; why is in the second list.
pub fn collect(layers: &[HookLayer]) -> (Vec<HookEntry>, Vec<String>) {
    let mut reader = Reader { entries: Vec::new(), warnings: Vec::new() };
    for layer in layers {
        let first = reader.entries.len();
        reader.layer(&layer.source, &layer.hooks);
        for entry in &mut reader.entries[first..] {
            entry.off = layer.off;
        }
    }
    // S0 §5.2: neighbours that are the same run once. One that is switched off takes nobody's place.
    reader.entries.dedup_by(|next, kept| next.identity() == kept.identity());
    for (ordinal, entry) in (0..).zip(&mut reader.entries) {
        entry.ordinal = ordinal;
    }
    (reader.entries, reader.warnings)
}

struct Reader {
    entries: Vec<HookEntry>,
    warnings: Vec<String>,
}

impl Reader {
    fn warn(&mut self, source: &Source, place: &str, why: &str) {
        self.warnings.push(format!("{source}: {place}: {why}"));
    }

    fn layer(&mut self, source: &Source, hooks: &Value) {
        match hooks {
            // Claude Code's map: event → groups → handlers.
            Value::Object(events) => {
                for (name, groups) in events {
                    let place = format!("hooks.{name}");
                    let Ok(event) = name.parse::<HookEvent>() else {
                        self.warn(source, &place, "there is no such event");
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
                        _ => self.warn(source, &place, "expected a list"),
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
            _ => self.warn(source, "hooks", "expected an object or a list"),
        }
    }

    fn group(&mut self, source: &Source, place: &str, event: Option<HookEvent>, group: &Value) {
        let Value::Object(group) = group else {
            return self.warn(source, place, "expected an object");
        };
        let named = text(group, "hook_event_name").or_else(|| text(group, "event"));
        let event = match (event, named.map(str::parse::<HookEvent>)) {
            (Some(event), _) | (None, Some(Ok(event))) => event,
            (None, Some(Err(error))) => return self.warn(source, place, &error.to_string()),
            (None, None) => return self.warn(source, place, "`hook_event_name` is missing"),
        };
        let matcher = match group.get("matcher") {
            None | Some(Value::Null) => "",
            Some(Value::String(matcher)) => matcher,
            Some(_) => return self.warn(source, place, "`matcher` must be a string"),
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
            Some(_) => self.warn(source, place, "`hooks` must be a list"),
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
            return self.warn(source, place, "expected an object");
        };
        let handler = match read_handler(event, entry) {
            Ok(handler) => handler,
            Err(why) => return self.warn(source, place, &why),
        };
        if entry.get("async") == Some(&Value::Bool(true)) {
            self.warn(
                source,
                place,
                "`async` is not supported: the hook is waited for like any other",
            );
        }
        let timeout = match entry.get("timeout") {
            None | Some(Value::Null) => None,
            Some(value) => {
                match value.as_f64().filter(|seconds| *seconds > 0.0 && *seconds < 1e6) {
                    Some(seconds) => Some(Duration::from_secs_f64(seconds)),
                    // A guard should not fall silent over a number.
                    None => {
                        let why = "`timeout` must be more than 0 seconds, as a number: the usual one holds";
                        self.warn(source, place, why);
                        None
                    }
                }
            }
        };
        let condition = self.condition(source, place, event, entry);
        let compiled = Matcher::parse(matcher);
        match compiled {
            Matcher::Nothing => self.warn(
                source,
                place,
                &format!("`{}` is no valid pattern: it matches nothing", shortened(matcher)),
            ),
            Matcher::Unjudged(why) => self.warn(
                source,
                place,
                &format!("`matcher` cannot be used, {why}: the hook runs whatever it says"),
            ),
            _ => {}
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
        });
    }

    /// A guard whose condition cannot be read should rather run once too often.
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
        let anyway = "the hook runs as if it held";
        let Some(text) = value.as_str() else {
            self.warn(source, &place, &format!("it is no string; {anyway}"));
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
            let why = format!("{event} is about no tool call, so the hook never runs");
            self.warn(source, &place, &why);
        }
        Condition::Rule(text.to_owned())
    }
}

/// Whether a text is a rule does not depend on where it is anchored.
fn anywhere() -> Anchors {
    Anchors { source: "/".into(), cwd: "/".into(), home: "/".into() }
}

/// As much of a text as fits into a message: the beginning of its first line.
pub(crate) fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None if line.len() < text.trim_end().len() => format!("{line}…"),
        None => line.to_owned(),
    }
}

fn text<'m>(map: &'m Map<String, Value>, key: &str) -> Option<&'m str> {
    map.get(key).and_then(Value::as_str)
}

fn read_handler(event: HookEvent, entry: &Map<String, Value>) -> Result<Handler, String> {
    match text(entry, "type").unwrap_or("command") {
        "command" => {
            let command = text(entry, "command").filter(|command| !command.trim().is_empty());
            let command = command.ok_or("`command` is missing")?.to_owned();
            let shell = match entry.get("shell") {
                None | Some(Value::Null) => Shell::default(),
                Some(name) => name
                    .as_str()
                    .and_then(Shell::parse)
                    .ok_or(format!("`shell` must be bash, sh or powershell, not {name}"))?,
            };
            Ok(Handler::Command { command, shell })
        }
        "http" if matches!(event, HookEvent::SessionStart | HookEvent::Setup) => {
            Err(format!("{event} takes only hooks of the type command"))
        }
        "http" => {
            let url = text(entry, "url").ok_or("`url` is missing")?.to_owned();
            let headers = match entry.get("headers") {
                None => Vec::new(),
                Some(Value::Object(headers)) => headers
                    .iter()
                    .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                    .collect(),
                Some(_) => return Err("`headers` must be an object".into()),
            };
            let allowed_env = entry
                .get("allowedEnvVars")
                .and_then(Value::as_array)
                .map(|names| names.iter().filter_map(|n| n.as_str().map(str::to_owned)).collect())
                .unwrap_or_default();
            Ok(Handler::Http { url, headers, allowed_env })
        }
        kind @ ("prompt" | "agent") => {
            if !judge::may_ask(event) {
                return Err(format!("{event} takes no hooks of the type {kind}"));
            }
            let prompt = text(entry, "prompt").filter(|prompt| !prompt.trim().is_empty());
            Ok(Handler::Model {
                prompt: prompt.ok_or("`prompt` is missing")?.to_owned(),
                model: text(entry, "model").map(str::to_owned),
                looks: kind == "agent",
            })
        }
        other => Err(format!("`type` must be command, http, prompt or agent, not `{other}`")),
    }
}

#[cfg(test)]
mod tests {
    use ona_policy::Scope;
    use serde_json::json;

    use super::*;

    fn layer(scope: Scope, hooks: Value, off: bool) -> HookLayer {
        HookLayer { source: Source::of(scope), hooks, off }
    }

    type Row = (i64, HookEvent, String, String);

    fn read(hooks: Value) -> (Vec<Row>, Vec<String>) {
        let (entries, warnings) = collect(&[layer(Scope::User, hooks, false)]);
        let entries = entries
            .into_iter()
            .map(|e| (e.ordinal, e.event, e.matcher_text, e.handler.label().to_owned()))
            .collect();
        (entries, warnings)
    }

    fn row(ordinal: i64, event: HookEvent, matcher: &str, command: &str) -> Row {
        (ordinal, event, matcher.to_owned(), command.to_owned())
    }

    #[test]
    fn three_shapes_one_order() {
        let expected = vec![
            row(0, HookEvent::PostToolUse, "", "a"),
            row(1, HookEvent::PreToolUse, "Bash", "b"),
            row(2, HookEvent::PreToolUse, "Bash", "c"),
        ];
        let map = json!({
            "PostToolUse": [{"hooks": [{"type": "command", "command": "a"}]}],
            "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "b"}, {"command": "c"}]}],
        });
        let groups = json!([
            {"hook_event_name": "PostToolUse", "hooks": [{"command": "a"}]},
            {"hook_event_name": "PreToolUse", "matcher": "Bash", "hooks": [{"command": "b"}, {"command": "c"}]},
        ]);
        let flat = json!([
            {"hook_event_name": "PostToolUse", "command": "a"},
            {"hook_event_name": "PreToolUse", "matcher": "Bash", "command": "b"},
            {"hook_event_name": "PreToolUse", "matcher": "Bash", "command": "c"},
        ]);
        for shape in [map, groups, flat] {
            assert_eq!(read(shape), (expected.clone(), vec![]));
        }
    }

    #[test]
    fn only_neighbours_that_are_the_same_collapse() {
        let hook = |command: &str| json!({"hook_event_name": "Stop", "command": command});
        let (entries, _) = read(json!([hook("a"), hook("a"), hook("b"), hook("a")]));
        let commands: Vec<_> =
            entries.iter().map(|(n, _, _, command)| (*n, command.as_str())).collect();
        assert_eq!(commands, [(0, "a"), (1, "b"), (2, "a")]);
        // Another shell makes another hook.
        let (entries, _) =
            read(json!([hook("a"), {"hook_event_name": "Stop", "command": "a", "shell": "sh"}]));
        assert_eq!(entries.len(), 2);
    }

    #[test]
    fn what_cannot_be_meant_is_left_out_and_named() {
        let (entries, warnings) = read(json!([
            {"hook_event_name": "Nope", "command": "x"},
            {"command": "x"},
            {"hook_event_name": "Stop"},
            {"hook_event_name": "Stop", "command": " "},
            {"hook_event_name": "Stop", "command": "x", "shell": "fish"},
            {"hook_event_name": "Stop", "command": "x", "timeout": "soon"},
            {"hook_event_name": "Stop", "type": "webhook"},
            {"hook_event_name": "Stop", "matcher": 5, "command": "x"},
            {"hook_event_name": "SessionStart", "type": "http", "url": "http://x"},
            7,
            {"hook_event_name": "Stop", "command": "kept", "matcher": "("},
            {"hook_event_name": "Stop", "command": "kept too", "async": true},
        ]));
        assert_eq!(entries.len(), 3);
        let expected = [
            "user: hooks[0]: `Nope` is no hook event",
            "user: hooks[1]: `hook_event_name` is missing",
            "user: hooks[2]: `command` is missing",
            "user: hooks[3]: `command` is missing",
            "user: hooks[4]: `shell` must be bash, sh or powershell, not \"fish\"",
            "user: hooks[5]: `timeout` must be more than 0 seconds, as a number: the usual one holds",
            "user: hooks[6]: `type` must be command, http, prompt or agent, not `webhook`",
            "user: hooks[7]: `matcher` must be a string",
            "user: hooks[8]: SessionStart takes only hooks of the type command",
            "user: hooks[9]: expected an object",
            "user: hooks[10]: `(` is no valid pattern: it matches nothing",
            "user: hooks[11]: `async` is not supported: the hook is waited for like any other",
        ];
        assert_eq!(warnings, expected);
    }

    #[test]
    fn a_hook_that_is_switched_off_takes_nobodys_place() {
        let hooks = json!([{"hook_event_name": "Stop", "command": "guard"}]);
        let (entries, _) = collect(&[
            layer(Scope::User, hooks.clone(), true),
            layer(Scope::Local, hooks.clone(), true),
            layer(Scope::Managed, hooks, false),
        ]);
        let kept: Vec<_> = entries.iter().map(|e| (e.ordinal, e.source.scope, e.off)).collect();
        assert_eq!(kept, [(0, Scope::User, true), (1, Scope::Managed, false)]);
    }

    #[test]
    fn a_condition_that_cannot_be_read_counts_as_holding_and_is_named() {
        let table = [
            (json!("Bash(rm *"), "it does not end in `)`"),
            (json!("Write(x)"), "Write takes no path: write Edit(x), which covers it"),
            (json!("Bsh(rm *)"), "Bsh takes no parentheses"),
            (json!("x".repeat(20_000)), "longer than"),
            (json!(5), "it is no string"),
            (json!(["Bash"]), "it is no string"),
        ];
        for (condition, why) in table {
            let hooks =
                json!({"PreToolUse": [{"hooks": [{"command": "guard", "if": condition.clone()}]}]});
            let (entries, warnings) = collect(&[layer(Scope::User, hooks, false)]);
            assert!(matches!(entries[0].condition, Condition::Unreadable(_)), "{condition}");
            let [warning] = warnings.as_slice() else { unreachable!("{warnings:?}") };
            assert!(
                warning.starts_with("user: hooks.PreToolUse[0].hooks[0].if: ")
                    && warning.contains(why)
                    && warning.ends_with("the hook runs as if it held")
                    && warning.len() < 400,
                "{warning}"
            );
        }
        // What can be read, but will never hold, is named too.
        let hooks = json!([
            {"hook_event_name": "PreToolUse", "command": "a", "if": "Bsh"},
            {"hook_event_name": "Stop", "command": "b", "if": "Bash"},
            {"hook_event_name": "Stop", "command": "c", "if": null, "if_condition": " "},
        ]);
        let (entries, warnings) = collect(&[layer(Scope::User, hooks, false)]);
        let expected = [
            "user: hooks[0].if: there is no tool `Bsh`",
            "user: hooks[1].if: Stop is about no tool call, so the hook never runs",
        ];
        assert_eq!(warnings, expected);
        assert_eq!(entries[1].condition, Condition::Rule("Bash".into()));
        assert_eq!(entries[2].condition, Condition::None);
    }

    #[test]
    fn a_matcher_that_cannot_be_judged_matches_everything_and_is_named() {
        let matcher = format!("{}Bash.", "a|".repeat(10_000));
        let hooks = json!([{"hook_event_name": "PreToolUse", "command": "x", "matcher": matcher}]);
        let (entries, warnings) = collect(&[layer(Scope::User, hooks, false)]);
        assert!(entries[0].matcher.matches("Read"));
        let expected = "user: hooks[0]: `matcher` cannot be used, it is longer than 2000 characters: \
                        the hook runs whatever it says";
        assert_eq!(warnings, [expected]);
    }
}
