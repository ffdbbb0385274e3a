//! ona's own gate in the settings of another agent: `ona hook claude_code`.
//!
//! `ona init` writes it there, and ona reads the same files. Its own agent's calls pass the gate anyway, so such a
//! hook is never run by ona: it would judge every call twice. A hook that never runs needs no trust either.

use ona_types::{is_plain_in_shell, shell_quoted};
use std::path::Path;

use serde_json::{Map, Value};

/// The agents that ona judges by way of their hooks.
pub const HOSTS: [&str; 2] = ["claude_code", "codex"];

/// The option of `ona hook` that the user may have added.
const RULES: &str = "--rules";

/// The host whose calls a command line has judged, if it is what `ona init` writes and nothing else besides.
pub fn host_of(command: &str) -> Option<&'static str> {
    let words = words(command)?;
    let (program, verb, host) = match words.as_slice() {
        [program, verb, host] => (program, verb, host),
        [program, verb, host, option] if option == RULES => (program, verb, host),
        _ => return None,
    };
    let host = HOSTS.into_iter().find(|known| known == host)?;
    (verb == "hook" && is_ona(program)).then_some(host)
}

/// ona's gate with the options that it has in another command line.
pub fn with_options_of(command: &str, other: &str) -> String {
    let rules = words(other).is_some_and(|words| words.iter().any(|word| word == RULES));
    if rules { format!("{command} {RULES}") } else { command.to_owned() }
}

/// Whether a program's name is ona's: as PATH knows it, or where it stands. A file below the project is not: the
/// project could put anything there.
pub fn is_ona(program: &str) -> bool {
    let path = Path::new(program);
    program == "ona" || (path.is_absolute() && path.file_name().is_some_and(|name| name == "ona"))
}

/// The command line that has a host's calls judged.
pub fn command_for(program: &str, host: &str) -> String {
    format!("{} hook {host}", shell_quoted(program))
}

/// The words of a command line in which nothing is expanded and nothing else runs; nothing if it is another one.
fn words(command: &str) -> Option<Vec<String>> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut rest = command.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let (inside, after) = rest.as_str().split_once('\'')?;
                word.get_or_insert_default().push_str(inside);
                rest = after.chars();
            }
            '\\' => word.get_or_insert_default().push(rest.next().filter(|c| *c != '\n')?),
            c if is_plain_in_shell(c) => word.get_or_insert_default().push(c),
            _ => return None,
        }
    }
    words.extend(word);
    Some(words)
}

/// Whether a handler, as settings write it, is ona's own gate.
pub fn is_own(handler: &Value) -> bool {
    handler.as_object().is_some_and(is_own_gate)
}

fn is_own_gate(handler: &Map<String, Value>) -> bool {
    let text = |key: &str| handler.get(key).and_then(Value::as_str);
    let is_command =
        matches!(handler.get("type"), None | Some(Value::Null)) || text("type") == Some("command");
    is_command && text("command").and_then(host_of).is_some()
}

/// The hooks of settings without ona's own gate, and without what held nothing else.
pub fn without_own(hooks: &Value) -> Value {
    let mut left = hooks.clone();
    match &mut left {
        Value::Object(events) => events.retain(|_, groups| match groups {
            Value::Array(groups) => !emptied(groups, is_only_own),
            _ => true,
        }),
        Value::Array(groups) => {
            emptied(groups, is_only_own);
        }
        _ => {}
    }
    left
}

/// Takes ona's gate out of a group of handlers, or of a hook of the flat shape; says whether nothing else was in it.
fn is_only_own(group: &mut Value) -> bool {
    let Some(members) = group.as_object_mut() else { return false };
    match members.get_mut("hooks") {
        Some(Value::Array(handlers)) => emptied(handlers, |handler| is_own(handler)),
        Some(_) => false,
        None => is_own_gate(members),
    }
}

/// Takes out what is named; says whether that has emptied the list.
fn emptied(list: &mut Vec<Value>, mut goes: impl FnMut(&mut Value) -> bool) -> bool {
    let before = list.len();
    list.retain_mut(|entry| !goes(entry));
    list.len() < before && list.is_empty()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_ona_alone_is_its_own_gate() {
        for command in [
            "ona hook claude_code",
            "ona hook codex",
            "ona hook codex --rules",
            " /usr/local/bin/ona  hook claude_code ",
            "'/opt/a b/ona' hook claude_code",
            r"/opt/a\ b/ona hook claude_code",
        ] {
            assert!(host_of(command).is_some(), "{command}");
        }
        for command in [
            "ona hook",
            "ona hook vim",
            "ona hook claude_code; touch x",
            "ona hook claude_code && guard",
            "ona hook $HOST",
            "ona hook claude_code --more",
            "./ona hook claude_code",
            "tools/ona hook claude_code",
            "onan hook claude_code",
            "PATH=. ona hook claude_code",
            "'ona hook claude_code",
            "ona hook claude_code\nguard",
            "~/ona hook claude_code",
            "",
        ] {
            assert_eq!(host_of(command), None, "{command}");
        }
    }

    #[test]
    fn a_path_is_quoted_so_that_it_is_read_again() {
        for program in ["ona", "/opt/ona", "/a b/ona", "/it's/ona", "/$HOME/`x`/ona", "/ö/ona"] {
            let command = command_for(program, "codex");
            assert_eq!(host_of(&command), Some("codex"), "{command}");
            assert_eq!(words(&command).unwrap()[0], program);
        }
        assert_eq!(command_for("/opt/ona", "codex"), "/opt/ona hook codex");
        assert_eq!(
            with_options_of("ona hook codex", "/x/ona hook codex --rules"),
            "ona hook codex --rules"
        );
        assert_eq!(with_options_of("ona hook codex", "/x/ona hook codex"), "ona hook codex");
    }

    #[test]
    fn what_others_wrote_stays_as_it_is() {
        let own = json!({"type": "command", "command": "ona hook claude_code", "timeout": 30});
        let other = json!({"type": "command", "command": "guard"});
        let table = [
            (json!({"Stop": [{"hooks": [own]}]}), json!({})),
            (json!({"Stop": [{"hooks": [own, other]}]}), json!({"Stop": [{"hooks": [other]}]})),
            (
                json!({"Stop": [{"hooks": [own]}, {"hooks": []}], "PreToolUse": []}),
                json!({"Stop": [{"hooks": []}], "PreToolUse": []}),
            ),
            (json!([{"hook_event_name": "Stop", "command": "ona hook codex"}]), json!([])),
            (
                json!([{"event": "Stop", "hooks": [other]}]),
                json!([{"event": "Stop", "hooks": [other]}]),
            ),
            (json!({"Stop": 5, "x": null}), json!({"Stop": 5, "x": null})),
        ];
        for (hooks, left) in table {
            assert_eq!(without_own(&hooks), left, "{hooks}");
        }
    }
}
