//! The command lines and addresses in settings, for whoever is to agree to them.

use serde_json::{Map, Value};

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
                let args = members.get("args").and_then(Value::as_array);
                let args = args.into_iter().flatten().filter_map(Value::as_str);
                let words: Vec<&str> = std::iter::once(command).chain(args).collect();
                found.push(format!("{at}: {}", words.join(" ")));
            }
            found.extend(
                ["url", "prompt"]
                    .iter()
                    .filter_map(|key| text(key))
                    .map(|text| format!("{at}: {text}")),
            );
            for (key, value) in members {
                match value {
                    Value::Array(_) | Value::Object(_) => {
                        // The lists of a hook have no name of their own.
                        let inner =
                            if key == "hooks" { at.to_owned() } else { format!("{at}.{key}") };
                        collect(&inner, value, found);
                    }
                    Value::String(text) if at == "env" => found.push(format!("{at}: {key}={text}")),
                    _ => {}
                }
            }
        }
        _ => {}
    }
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
            "mcpServers": {"web": {"command": "npx", "args": ["-y", "web"]}, "far": {"url": "http://x"}},
        });
        let mut told = commands(settings.as_object().unwrap());
        told.sort();
        assert_eq!(
            told,
            [
                "apiKeyHelper: ./key.sh",
                "env: PATH=/evil",
                "hooks.Stop: ./stop.sh",
                "mcpServers.far: http://x",
                "mcpServers.web: npx -y web",
                "statusLine: date",
            ]
        );
    }
}
