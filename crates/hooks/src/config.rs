//! Hooks as settings write them: three shapes, one order.

use std::time::Duration;

use ona_policy::Source;
use ona_types::hook::HookEvent;
use serde_json::{Map, Value};

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
    /// A permission rule that must match the call, as written.
    pub condition: String,
    /// How long it may take, if it says.
    pub timeout: Option<Duration>,
    /// Where it comes from.
    pub source: Source,
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
}

impl Handler {
    /// What the record calls it.
    pub fn label(&self) -> &str {
        match self {
            Self::Command { command, .. } => command,
            Self::Http { url, .. } => url,
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
pub fn collect(layers: &[(Source, Value)]) -> (Vec<HookEntry>, Vec<String>) {
    let mut reader = Reader { entries: Vec::new(), warnings: Vec::new() };
    for (source, hooks) in layers {
        reader.layer(source, hooks);
    }
    // S0 §5.2: neighbours that are the same run once.
    reader.entries.dedup_by(|next, kept| {
        (next.event, &next.matcher_text, &next.handler, &next.condition)
            == (kept.event, &kept.matcher_text, &kept.handler, &kept.condition)
    });
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
                    None => {
                        return self.warn(source, place, "`timeout` must be a number of seconds");
                    }
                }
            }
        };
        let condition = text(entry, "if")
            .or_else(|| text(entry, "if_condition"))
            .unwrap_or_default()
            .to_owned();
        let compiled = Matcher::parse(matcher);
        if matches!(compiled, Matcher::Nothing) {
            self.warn(
                source,
                place,
                &format!("`{matcher}` is no valid pattern: it matches nothing"),
            );
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
        });
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
        other => Err(format!("`type` must be command or http, not `{other}`")),
    }
}

#[cfg(test)]
mod tests {
    use ona_policy::Scope;
    use serde_json::json;

    use super::*;

    type Row = (i64, HookEvent, String, String);

    fn read(hooks: Value) -> (Vec<Row>, Vec<String>) {
        let (entries, warnings) = collect(&[(Source::of(Scope::User), hooks)]);
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
        assert_eq!(entries.len(), 2);
        let expected = [
            "user: hooks[0]: `Nope` is no hook event",
            "user: hooks[1]: `hook_event_name` is missing",
            "user: hooks[2]: `command` is missing",
            "user: hooks[3]: `command` is missing",
            "user: hooks[4]: `shell` must be bash, sh or powershell, not \"fish\"",
            "user: hooks[5]: `timeout` must be a number of seconds",
            "user: hooks[6]: `type` must be command or http, not `webhook`",
            "user: hooks[7]: `matcher` must be a string",
            "user: hooks[8]: SessionStart takes only hooks of the type command",
            "user: hooks[9]: expected an object",
            "user: hooks[10]: `(` is no valid pattern: it matches nothing",
            "user: hooks[11]: `async` is not supported: the hook is waited for like any other",
        ];
        assert_eq!(warnings, expected);
    }
}
