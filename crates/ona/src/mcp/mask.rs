//! A server as it may be shown: without what it is given in secret.

use ona_policy::secrets::{Redactor, holds_secret};
use serde_json::{Map, Value};

use crate::env;

/// What stands in a secret's place.
const MASKED: &str = "***";

/// What stands in a file about a server, fit to be shown.
pub fn entry(entry: &Value) -> Value {
    let redactor = Redactor::knowing(env::secrets());
    let Value::Object(entry) = entry else { return Value::Null };
    let shown = |(key, value): (&String, &Value)| {
        let shown = match (key.as_str(), value) {
            ("env" | "headers", Value::Object(table)) => Value::Object(values(table)),
            ("args", Value::Array(args)) => Value::Array(arguments(args, &redactor)),
            ("url", Value::String(url)) => Value::String(address(url, &redactor)),
            _ => {
                let mut value = value.clone();
                redactor.mask_value(&mut value);
                value
            }
        };
        (key.clone(), shown)
    };
    Value::Object(entry.iter().map(shown).collect())
}

/// Names are shown, values are not, unless they only say where the value is.
fn values(table: &Map<String, Value>) -> Map<String, Value> {
    let shown = |value: &Value| match value.as_str() {
        Some(text) if is_reference(text) => value.clone(),
        _ => Value::from(MASKED),
    };
    table.iter().map(|(name, value)| (name.clone(), shown(value))).collect()
}

/// `${VAR}`, alone or behind the word that an Authorization begins with.
fn is_reference(text: &str) -> bool {
    let text = ["Bearer ", "Basic ", "Token "]
        .iter()
        .find_map(|word| text.strip_prefix(word))
        .unwrap_or(text);
    let name = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// Arguments without what looks like a secret, and without the value of an option that is named like one.
fn arguments(args: &[Value], redactor: &Redactor) -> Vec<Value> {
    let mut named = None::<&str>;
    let mut shown = Vec::new();
    for arg in args {
        let Some(text) = arg.as_str() else {
            shown.push(arg.clone());
            continue;
        };
        let option = named.take().filter(|_| !text.starts_with('-'));
        shown.push(Value::from(match (option, text.split_once('=')) {
            (Some(option), _) if is_secret(option, text) => MASKED.to_owned(),
            (_, Some((name, value))) if is_secret(name, value) => format!("{name}={MASKED}"),
            _ => redactor.mask(text).into_owned(),
        }));
        named = text.starts_with('-').then_some(text);
    }
    shown
}

/// Whether what has this name, as an option or in a query, is a secret.
fn is_secret(name: &str, value: &str) -> bool {
    let name = name.trim_start_matches('-').replace('-', "_");
    !is_reference(value) && holds_secret(&name, value)
}

/// An address without a password and without secrets in its query.
fn address(url: &str, redactor: &Redactor) -> String {
    let url = redactor.mask(url).into_owned();
    let Some((before, query)) = url.split_once('?') else { return url };
    let shown = |part: &str| match part.split_once('=') {
        Some((name, value)) if is_secret(name, value) => format!("{name}={MASKED}"),
        _ => part.to_owned(),
    };
    let query: Vec<String> = query.split('&').map(shown).collect();
    format!("{before}?{}", query.join("&"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_given_in_secret_is_not_shown() {
        let secret = "hunter2-hunter2";
        for (given, shown) in [
            (
                json!({"command": "x", "env": {"A": secret, "B": "${B}", "C": "${C:-x}", "D": 1}}),
                json!({"command": "x", "env": {"A": "***", "B": "${B}", "C": "***", "D": "***"}}),
            ),
            (
                json!({"headers": {"Authorization": "Bearer ${T}", "X": format!("Bearer {secret}")}}),
                json!({"headers": {"Authorization": "Bearer ${T}", "X": "***"}}),
            ),
            (
                json!({"args": ["--api-key", secret, "--token=hunter2-hunter2", "--port", "8080", "--key", "-v", secret]}),
                json!({"args": ["--api-key", "***", "--token=***", "--port", "8080", "--key", "-v", secret]}),
            ),
            (
                json!({"url": "https://u:hunter2@a.example/x?api_key=hunter2-hunter2&page=2"}),
                json!({"url": "https://u:[REDACTED:url_password]@a.example/x?api_key=***&page=2"}),
            ),
            (json!({"args": ["--token", "${TOKEN}"]}), json!({"args": ["--token", "${TOKEN}"]})),
            (json!([secret]), json!(null)),
        ] {
            assert_eq!(entry(&given), shown, "{given}");
        }
    }
}
