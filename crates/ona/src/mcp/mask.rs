//! A server as it may be shown: without what it is given in secret.

use ona_policy::secrets::{Redactor, names_secret};
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
                hide_named(&mut value);
                redactor.mask_value(&mut value);
                value
            }
        };
        (key.clone(), shown)
    };
    Value::Object(entry.iter().map(shown).collect())
}

/// Hides what has the name of a secret, however deep.
fn hide_named(value: &mut Value) {
    for (name, value) in value.as_object_mut().into_iter().flatten() {
        match value {
            Value::String(text) if is_secret(name, text) => *value = Value::from(MASKED),
            value => hide_named(value),
        }
    }
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
            (Some("-H" | "--header"), _) => header(text),
            (Some(option), _) if is_secret(option, text) => MASKED.to_owned(),
            (_, Some(("--header", given))) => format!("--header={}", header(given)),
            // An address has names of its own, behind its `?`.
            (_, Some((name, value))) if !name.contains("://") && is_secret(name, value) => {
                format!("{name}={MASKED}")
            }
            _ => address(text, redactor),
        }));
        named = text.starts_with('-').then_some(text);
    }
    shown
}

/// `Name: value`, without the value.
fn header(text: &str) -> String {
    match text.split_once(':') {
        Some((_, value)) if is_reference(value.trim()) => text.to_owned(),
        Some((name, _)) => format!("{name}: {MASKED}"),
        None => MASKED.to_owned(),
    }
}

/// Whether what has this name, as an option or in a query, is a secret, however short. A path that exists leads to one,
/// and is none.
fn is_secret(name: &str, value: &str) -> bool {
    let name = name.trim_start_matches('-').replace('-', "_");
    let is_path = value.starts_with('/') && std::path::Path::new(value).exists();
    !value.is_empty() && !is_reference(value) && !is_path && names_secret(&name)
}

/// An address without who uses it: `user:***@`, or `***@` where the one word may be a token.
fn nobody_at(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (user, host) = authority.rsplit_once('@')?;
    let user = match user.split_once(':') {
        Some((_, password)) if is_reference(password) => user.to_owned(),
        Some((name, _)) => format!("{name}:{MASKED}"),
        None if is_reference(user) => user.to_owned(),
        None => MASKED.to_owned(),
    };
    Some(format!("{scheme}://{user}@{host}{path}"))
}

/// An address without a password and without secrets in its query.
fn address(url: &str, redactor: &Redactor) -> String {
    let url = nobody_at(url).unwrap_or_else(|| url.to_owned());
    let url = redactor.mask(&url).into_owned();
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
                json!({"url": "https://u:***@a.example/x?api_key=***&page=2"}),
            ),
            (
                json!({"args": ["--token", "abc", "--password=x", "--secret", "1", "--max", "9", "--key", "/etc/passwd"]}),
                json!({"args": ["--token", "***", "--password=***", "--secret", "***", "--max", "9", "--key", "/etc/passwd"]}),
            ),
            (
                json!({"args": ["-e", "API_KEY=abc", "--header", "X-Me: abc", "--header=Authorization: Bearer x",
                    "https://abc@b.example/?token=x", "postgres://u:pw@db/x"]}),
                json!({"args": ["-e", "API_KEY=***", "--header", "X-Me: ***", "--header=Authorization: ***",
                    "https://***@b.example/?token=***", "postgres://u:***@db/x"]}),
            ),
            (
                json!({"url": "https://${U}:${P}@a.example/?token=${T}", "oauth": {"clientId": "me", "clientSecret": "s"}}),
                json!({"url": "https://${U}:${P}@a.example/?token=${T}", "oauth": {"clientId": "me", "clientSecret": "***"}}),
            ),
            (json!({"args": ["--token", "${TOKEN}"]}), json!({"args": ["--token", "${TOKEN}"]})),
            (json!([secret]), json!(null)),
        ] {
            assert_eq!(entry(&given), shown, "{given}");
        }
    }
}
