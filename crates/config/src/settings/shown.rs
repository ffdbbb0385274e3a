//! Settings as they are shown and recorded: without what may be a secret.

use serde_json::{Map, Value};

/// The keys whose values may all be secrets.
const HIDE_BELOW: [&str; 2] = ["env", "headers"];
/// The keys of command lines that get a credential, and may have one in them.
const HIDDEN: [&str; 4] =
    ["apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "otelHeadersHelper"];
/// What is shown instead.
const SET: &str = "(set)";

/// The value of a key without what may be a secret.
pub fn shown(key: &[&str], value: &Value) -> Value {
    masked(value, key.iter().any(|part| is_hidden(part)))
}

fn is_hidden(key: &str) -> bool {
    HIDE_BELOW.contains(&key) || HIDDEN.contains(&key)
}

fn masked(value: &Value, hidden: bool) -> Value {
    match value {
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                (key.clone(), masked(value, hidden || is_hidden(key)))
            };
            Value::Object(members.iter().map(member).collect())
        }
        Value::Array(items) => items.iter().map(|item| masked(item, hidden)).collect(),
        Value::String(_) | Value::Number(_) if hidden => SET.into(),
        value => value.clone(),
    }
}

/// Removes variables and headers whose name says that they may be secrets. A header that takes its value from the
/// environment has none in it.
pub(super) fn remove_secrets(json: &mut Map<String, Value>) {
    for (key, value) in json {
        match value {
            Value::Object(members) if key == "env" => {
                members.retain(|name, _| !may_be_secret(name))
            }
            Value::Object(members) if key == "headers" => members.retain(|name, value| {
                !may_be_secret(name) || value.as_str().is_some_and(|text| text.contains('$'))
            }),
            value => remove_below(value),
        }
    }
}

fn remove_below(value: &mut Value) {
    match value {
        Value::Object(members) => remove_secrets(members),
        Value::Array(items) => items.iter_mut().for_each(remove_below),
        _ => {}
    }
}

fn may_be_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let parts = ["KEY", "TOKEN", "SECRET", "PASSW", "AUTH", "CREDENTIAL", "COOKIE"];
    parts.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn variables_headers_and_helpers_are_hidden() {
        let settings = json!({
            "model": "opus", "env": {"A": "x", "B": 1},
            "hooks": {"Stop": [{"hooks": [{"url": "http://h", "headers": {"X": "y"}}]}]},
            "apiKeyHelper": "echo k",
        });
        let expected = json!({
            "model": "opus", "env": {"A": "(set)", "B": "(set)"},
            "hooks": {"Stop": [{"hooks": [{"url": "http://h", "headers": {"X": "(set)"}}]}]},
            "apiKeyHelper": "(set)",
        });
        assert_eq!(shown(&[], &settings), expected);
        assert_eq!(shown(&["env", "A"], &json!("x")), json!("(set)"));
        assert_eq!(shown(&["model"], &json!("opus")), json!("opus"));
    }

    #[test]
    fn a_header_with_a_credential_is_left_out_of_the_record() {
        let mut settings = json!({
            "env": {"FOO_TOKEN": "x", "EDITOR": "vi"},
            "hooks": {"Stop": [{"hooks": [{
                "headers": {"Authorization": "Bearer s", "X-Key": "$KEY", "X-Name": "n"},
            }]}]},
        });
        remove_secrets(settings.as_object_mut().unwrap());
        let expected = json!({
            "env": {"EDITOR": "vi"},
            "hooks": {"Stop": [{"hooks": [{"headers": {"X-Key": "$KEY", "X-Name": "n"}}]}]},
        });
        assert_eq!(settings, expected);
    }
}
