//! The command lines, addresses and rules in settings, for whoever is to agree to them.

use ona_types::shell_quoted;
use serde_json::{Map, Value};

/// The members of a hook or a server that name what would be run or reached.
const NAMED: [&str; 3] = ["url", "prompt", "headersHelper"];

/// What settings that run something would run, each with where it stands: `hooks.Stop: ./notify.sh`.
pub(super) fn commands(runs: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    for (key, value) in runs {
        match value {
            Value::String(command) => found.push(format!("{key}: {command}")),
            _ => collect(key, value, &mut found),
        }
    }
    found
}

fn collect(at: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(at, item, found)),
        Value::Object(members) => {
            let text = |key: &str| members.get(key).and_then(Value::as_str);
            if let Some(command) = text("command") {
                found.push(format!("{at}: {}", command_line(command, members.get("args"))));
            }
            let named = NAMED.iter().filter_map(|key| text(key));
            found.extend(named.map(|text| format!("{at}: {text}")));
            for (key, value) in members {
                match value {
                    Value::Array(_) | Value::Object(_) => {
                        // The lists of a hook have no name of their own.
                        let inner =
                            if key == "hooks" { at.to_owned() } else { format!("{at}.{key}") };
                        collect(&inner, value, found);
                    }
                    Value::String(text) if is_environment(at) => {
                        found.push(format!("{at}: {key}={text}"));
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// A program with its arguments, quoted where one of them is more than a word; else a line for a shell, as it is.
fn command_line(command: &str, args: Option<&Value>) -> String {
    match args.and_then(Value::as_array) {
        None => command.to_owned(),
        Some(args) => {
            let args = args.iter().filter_map(Value::as_str);
            let words: Vec<String> =
                std::iter::once(command).chain(args).map(shell_quoted).collect();
            words.join(" ")
        }
    }
}

/// Whether variables stand here that a program would get.
fn is_environment(at: &str) -> bool {
    at == "env" || at.ends_with(".env")
}

/// What settings permit, each with where it stands: `permissions.allow: Bash(npm test)`.
pub(super) fn permitted(permits: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    for (key, value) in permits {
        let told = |value: &Value| match value {
            Value::String(text) => format!("{key}: {text}"),
            other => format!("{key}: {other}"),
        };
        match value {
            Value::Array(items) => found.extend(items.iter().map(told)),
            other => found.push(told(other)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_command_is_told() {
        let settings = json!({
            "hooks": {"Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "./stop.sh"}]}]},
            "statusLine": {"type": "command", "command": "date"},
            "apiKeyHelper": "./key.sh",
            "env": {"PATH": "/evil"},
            "mcpServers": {
                "web": {"command": "npx", "args": ["-y", "web; date"], "env": {"LD_PRELOAD": "./x.so"}},
                "far": {"url": "http://x", "headersHelper": "./token.sh"},
            },
        });
        let mut told = commands(settings.as_object().unwrap());
        told.sort();
        assert_eq!(
            told,
            [
                "apiKeyHelper: ./key.sh",
                "env: PATH=/evil",
                "hooks.Stop: ./stop.sh",
                "mcpServers.far: ./token.sh",
                "mcpServers.far: http://x",
                "mcpServers.web.env: LD_PRELOAD=./x.so",
                "mcpServers.web: npx -y 'web; date'",
                "statusLine: date",
            ]
        );
    }

    #[test]
    fn every_rule_is_told() {
        let permits = json!({
            "permissions.allow": ["Bash(npm test)", "Edit"],
            "permissions.defaultMode": "acceptEdits",
            "model_aliases": {"a": "b"},
        });
        assert_eq!(
            permitted(permits.as_object().unwrap()),
            [
                "permissions.allow: Bash(npm test)",
                "permissions.allow: Edit",
                "permissions.defaultMode: acceptEdits",
                r#"model_aliases: {"a":"b"}"#,
            ]
        );
    }
}
