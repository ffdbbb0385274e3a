//! Secrets in the definition of a server: shows a definition without them, and lists the values that must not be stored.

use ona_mcp::{Remote, Way};
use ona_policy::secrets::{Redactor, can_be_secret, names_secret};
use ona_repo::Disk;
use serde_json::{Map, Value};
use url::Url;

/// The replacement of a secret.
const MASKED: &str = "***";
/// Headers that hold no secrets.
const PLAIN_HEADERS: [&str; 6] =
    ["accept", "accept-encoding", "accept-language", "cache-control", "origin", "user-agent"];
/// A shorter value of lowercase letters and digits counts as ordinary words, not as a secret.
const MIN_SECRET: usize = 16;

/// The definition of a server without its secrets.
pub fn shown(entry: &Value, redactor: &Redactor) -> Value {
    let mut mask = Mask { redactor, hidden: Vec::new() };
    let Value::Object(entry) = entry else { return Value::Null };
    let shown = |(key, value): (&String, &Value)| {
        let shown = match (key.as_str(), value) {
            ("env" | "headers", Value::Object(table)) => Value::Object(values(table)),
            ("args", Value::Array(args)) => {
                let arg = |arg: &Value, shown| {
                    if arg.is_string() { Value::String(shown) } else { arg.clone() }
                };
                let texts: Vec<&str> = args.iter().map(|arg| arg.as_str().unwrap_or("")).collect();
                args.iter()
                    .zip(mask.arguments(&texts))
                    .map(|(one, shown)| arg(one, shown))
                    .collect()
            }
            ("url", Value::String(url)) => Value::String(mask.address(url)),
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

/// The secret values of a server: those that [`shown`] hides, except words that are too common to mask.
pub(crate) fn hidden(way: &Way) -> Vec<String> {
    let redactor = Redactor::knowing([]);
    let mut mask = Mask { redactor: &redactor, hidden: Vec::new() };
    match way {
        Way::Stdio { args, env, .. } => {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            mask.arguments(&args);
            for (name, value) in env {
                mask.address(value);
                if is_secret(name, value) || !is_plain(value) {
                    mask.hide(value);
                }
            }
        }
        Way::Http(Remote { url, headers, oauth, .. })
        | Way::Sse(Remote { url, headers, oauth, .. }) => {
            let client = oauth.as_ref();
            mask.hidden.extend(client.and_then(|client| client.client_secret.clone()));
            mask.address(url);
            mask.hidden.extend(headers.iter().flat_map(|(name, value)| in_header(name, value)));
        }
    }
    mask.hidden.retain(|value| can_be_secret(&Disk, value));
    mask.hidden
}

/// The secret parts of a header: the value, and each of its words except the scheme of an Authorization.
pub fn in_header(name: &str, value: &str) -> Vec<String> {
    if PLAIN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
        return Vec::new();
    }
    let words = value.split([' ', ';', ',']).flat_map(|word| {
        // `session=…` of a cookie.
        let inner = word.split_once('=').map(|(_, value)| value);
        [Some(word), inner].into_iter().flatten()
    });
    let mut found: Vec<String> = std::iter::once(value).chain(words).map(str::to_owned).collect();
    found.retain(|value| can_be_secret(&Disk, value));
    found.dedup();
    found
}

/// Whether a value is not secret as a whole: a URL or a path, whose secret parts are found separately, or a few short
/// words and numbers such as `us-east-1`.
fn is_plain(value: &str) -> bool {
    let is_path = value.starts_with(['/', '~', '.']);
    let is_address = Url::parse(value).is_ok_and(|url| url.has_host());
    let word = |word: &str| {
        word.bytes().all(|b| b.is_ascii_lowercase()) || word.bytes().all(|b| b.is_ascii_digit())
    };
    let of_words = value.len() < MIN_SECRET
        && value.contains(|c: char| c.is_ascii_lowercase())
        && value.split(['-', '_', '.', ':', ',', '/', ' ']).all(word);
    is_path || is_address || of_words
}

/// Hides secrets, and remembers them.
struct Mask<'a> {
    redactor: &'a Redactor,
    hidden: Vec<String>,
}

impl Mask<'_> {
    fn hide(&mut self, value: &str) -> &'static str {
        self.hidden.push(value.to_owned());
        MASKED
    }

    /// Arguments without what looks like a secret, and without the value of an option with a secret's name.
    fn arguments(&mut self, args: &[&str]) -> Vec<String> {
        let mut named = None::<&str>;
        let mut shown = Vec::new();
        for text in args {
            let option = named.take().filter(|_| !text.starts_with('-'));
            shown.push(match (option, text.split_once('=')) {
                (Some("-H" | "--header"), _) => self.header(text),
                (Some(option), _) if is_secret(option, text) => self.hide(text).to_owned(),
                (_, Some(("--header", given))) => format!("--header={}", self.header(given)),
                // A URL has its own names after the `?`.
                (_, Some((name, value))) if !name.contains("://") && is_secret(name, value) => {
                    format!("{name}={}", self.hide(value))
                }
                _ => self.address(text),
            });
            named = text.starts_with('-').then_some(text);
        }
        shown
    }

    /// `Name: value`, without the value.
    fn header(&mut self, text: &str) -> String {
        match text.split_once(':') {
            Some((_, value)) if is_reference(value.trim()) => text.to_owned(),
            Some((name, value)) => {
                self.hidden.extend(in_header(name.trim(), value.trim()));
                format!("{name}: {MASKED}")
            }
            None => self.hide(text).to_owned(),
        }
    }

    /// A URL without its password and without secrets in its query.
    fn address(&mut self, url: &str) -> String {
        let url = self.without_password(url).unwrap_or_else(|| url.to_owned());
        let url = self.redactor.mask(&url).into_owned();
        let Some((before, query)) = url.split_once('?') else { return url };
        let (query, fragment) = query.split_once('#').map_or((query, None), |(a, b)| (a, Some(b)));
        let mut shown = Vec::new();
        for part in query.split('&') {
            shown.push(match part.split_once('=') {
                Some((name, value)) if is_secret(name, value) => {
                    self.hide_encoded(value);
                    format!("{name}={MASKED}")
                }
                _ => part.to_owned(),
            });
        }
        let fragment = fragment.map(|text| format!("#{text}")).unwrap_or_default();
        format!("{before}?{}{fragment}", shown.join("&"))
    }

    /// A URL without its password: `user:***@`, or `***@` if there is one word that may be a token.
    fn without_password(&mut self, url: &str) -> Option<String> {
        let (scheme, rest) = url.split_once("://")?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (user, host) = authority.rsplit_once('@')?;
        let user = match user.split_once(':') {
            Some((_, password)) if is_reference(password) => user.to_owned(),
            Some((name, password)) => {
                self.hide_encoded(password);
                format!("{name}:{MASKED}")
            }
            None if is_reference(user) => user.to_owned(),
            None => {
                self.hide_encoded(user);
                MASKED.to_owned()
            }
        };
        Some(format!("{scheme}://{user}@{host}{path}"))
    }

    /// Hides a value as it is encoded in a URL, and decoded.
    fn hide_encoded(&mut self, value: &str) {
        let pair = format!("x={value}");
        let meant = url::form_urlencoded::parse(pair.as_bytes()).next();
        if let Some((_, meant)) = meant.filter(|(_, meant)| meant != value) {
            self.hide(&meant);
        }
        self.hide(value);
    }
}

/// Hides values with the name of a secret, at any depth.
fn hide_named(value: &mut Value) {
    for (name, value) in value.as_object_mut().into_iter().flatten() {
        match value {
            Value::String(text) if is_secret(name, text) => *value = Value::from(MASKED),
            value => hide_named(value),
        }
    }
}

/// Names are shown, values are not, unless a value is only a reference.
fn values(table: &Map<String, Value>) -> Map<String, Value> {
    let shown = |value: &Value| match value.as_str() {
        Some(text) if is_reference(text) => value.clone(),
        _ => Value::from(MASKED),
    };
    table.iter().map(|(name, value)| (name.clone(), shown(value))).collect()
}

/// `${VAR}`, alone or after the scheme of an Authorization.
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

/// Whether an option or a query parameter of this name holds a secret, however short. The path of an existing file is
/// not secret.
fn is_secret(name: &str, value: &str) -> bool {
    let name = name.trim_start_matches('-').replace('-', "_");
    let is_path = value.starts_with('/') && std::path::Path::new(value).exists();
    !value.is_empty() && !is_reference(value) && !is_path && names_secret(&name)
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
            assert_eq!(super::shown(&given, &Redactor::knowing([])), shown, "{given}");
        }
    }
}
