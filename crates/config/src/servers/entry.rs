//! Reads the definition of one server: how it is reached, or why the definition is invalid.

use std::path::Path;

use ona_mcp::{OauthClient, Remote, Way};
use serde_json::{Map, Value};
use url::{Host, Url};

use super::expand::{Missing, expand};
use crate::own_server;
use crate::own_variables::{OWN_VARIABLE, is_own_variable};

/// The maximum length of a name: model APIs allow 64 characters for a tool's name, which includes its server's.
const MAX_NAME: usize = 40;

/// The types as people write them.
const TYPES: &[(&str, Kind)] = &[
    ("stdio", Kind::Stdio),
    ("http", Kind::Http),
    ("streamable-http", Kind::Http),
    ("streamableHttp", Kind::Http),
    ("sse", Kind::Sse),
];

const METADATA_URL: &str = "authServerMetadataUrl";
/// The keys of `oauth`.
const OAUTH: [&str; 5] = ["clientId", "clientSecret", "callbackPort", "scopes", METADATA_URL];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stdio,
    Http,
    Sse,
}

/// Why a definition is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum BadEntry {
    #[error("it is not an object")]
    NotAnObject,
    #[error("the name `{name}` {why}")]
    Name { name: String, why: &'static str },
    #[error("the type `{0}` is unknown: use stdio, http or sse")]
    Type(String),
    #[error("it has neither a command nor a url")]
    Nothing,
    #[error("it has a url and no type: write \"type\": \"http\", or \"sse\"")]
    NoType,
    #[error("`{0}` is missing")]
    Lacks(&'static str),
    #[error("`{key}`: {why}")]
    Value { key: String, why: String },
    #[error("`{key}`: {missing}")]
    Variable { key: String, missing: Missing },
}

fn bad(key: impl Into<String>, why: impl Into<String>) -> BadEntry {
    BadEntry::Value { key: key.into(), why: why.into() }
}

/// Refuses a name that cannot be part of a tool's name, `mcp__<server>__<tool>`.
pub fn check_name(name: &str) -> Result<(), BadEntry> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let why = if name.is_empty() {
        "is empty"
    } else if name.len() > MAX_NAME {
        "is longer than 40 characters"
    } else if !name.bytes().all(plain) {
        "may contain only letters, digits, `-` and `_`"
    } else if name.contains("__") || name.starts_with('_') || name.ends_with('_') {
        "may have single `_` only between other characters: `__` separates the parts of `mcp__server__tool`"
    } else if name.eq_ignore_ascii_case(own_server::NAME) {
        "is reserved for ona's own server"
    } else {
        return Ok(());
    };
    Err(BadEntry::Name { name: name.to_owned(), why })
}

/// Refuses a definition that is invalid for all values of its variables.
pub fn check(entry: &Value) -> Result<(), BadEntry> {
    // A variable may have any value, a URL too.
    let anything = |_: &str| Some("http://variable".to_owned());
    let strict = read(entry, Path::new("/"), &anything);
    match strict {
        Err(BadEntry::Value { key, .. }) if is_variable_address(entry, &key) => Ok(()),
        other => other.map(drop),
    }
}

fn is_variable_address(entry: &Value, key: &str) -> bool {
    let address = match key.strip_prefix("oauth.") {
        Some(METADATA_URL) => &entry["oauth"][METADATA_URL],
        _ if key == "url" => &entry["url"],
        _ => return false,
    };
    address.as_str().is_some_and(|address| address.contains("${"))
}

/// Remarks about a valid definition: each with its key.
type Odd = Vec<(String, String)>;

/// How the server is reached.
pub(super) fn read(
    entry: &Value,
    cwd: &Path,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<(Way, Odd), BadEntry> {
    let Value::Object(entry) = entry else { return Err(BadEntry::NotAnObject) };
    let reader = Reader { entry, variable };
    let mut odd = Odd::new();
    let way = match reader.kind()? {
        Kind::Stdio => {
            let command = reader.text("command")?.ok_or(BadEntry::Lacks("command"))?;
            if command.trim().is_empty() {
                return Err(bad("command", "it is empty"));
            }
            let args = reader.texts("args")?;
            let env = reader.table("env", variable_name)?;
            Way::Stdio { command, args, env, cwd: cwd.to_owned() }
        }
        kind => {
            let remote = Remote {
                url: reader.url()?,
                headers: reader.table("headers", header)?,
                headers_helper: reader.plain_text("headersHelper")?,
                oauth: reader.oauth(&mut odd)?,
            };
            if kind == Kind::Http { Way::Http(remote) } else { Way::Sse(remote) }
        }
    };
    Ok((way, odd))
}

struct Reader<'a> {
    entry: &'a Map<String, Value>,
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Reader<'_> {
    /// The value of a key; a null counts as missing.
    fn get(&self, key: &str) -> Option<&Value> {
        self.entry.get(key).filter(|value| !value.is_null())
    }

    fn kind(&self) -> Result<Kind, BadEntry> {
        let has = |key| self.get(key).is_some();
        match self.get("type") {
            None if has("command") => Ok(Kind::Stdio),
            None if has("url") => Err(BadEntry::NoType),
            None => Err(BadEntry::Nothing),
            Some(Value::String(name)) => {
                let known = TYPES.iter().find(|(known, _)| known == name);
                known.map(|(_, kind)| *kind).ok_or_else(|| BadEntry::Type(name.clone()))
            }
            Some(_) => Err(bad("type", "expected a string")),
        }
    }

    fn expand(&self, key: &str, text: &str) -> Result<String, BadEntry> {
        let text = expand(text, self.variable)
            .map_err(|missing| BadEntry::Variable { key: key.to_owned(), missing })?;
        if text.contains('\0') {
            return Err(bad(key, "it contains NUL"));
        }
        Ok(text)
    }

    /// A string without variables.
    fn plain_text(&self, key: &str) -> Result<Option<String>, BadEntry> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(bad(key, "expected a string")),
        }
    }

    fn text(&self, key: &str) -> Result<Option<String>, BadEntry> {
        self.plain_text(key)?.map(|text| self.expand(key, &text)).transpose()
    }

    fn texts(&self, key: &str) -> Result<Vec<String>, BadEntry> {
        let list = match self.get(key) {
            None => return Ok(Vec::new()),
            Some(Value::Array(list)) => list,
            Some(_) => return Err(bad(key, "expected a list of strings")),
        };
        let text = |(at, value): (usize, &Value)| match value {
            Value::String(text) => self.expand(&format!("{key}[{at}]"), text),
            other => Err(bad(format!("{key}[{at}]"), not_text(other))),
        };
        list.iter().enumerate().map(text).collect()
    }

    fn table(
        &self,
        key: &str,
        check: fn(&str, &str) -> Result<(), &'static str>,
    ) -> Result<Vec<(String, String)>, BadEntry> {
        let table = match self.get(key) {
            None => return Ok(Vec::new()),
            Some(Value::Object(table)) => table,
            Some(_) => return Err(bad(key, "expected an object of strings")),
        };
        let pair = |(name, value): (&String, &Value)| {
            let key = format!("{key}.{name}");
            let Value::String(text) = value else { return Err(bad(key, not_text(value))) };
            let text = self.expand(&key, text)?;
            check(name, &text).map_err(|why| bad(key, why))?;
            Ok((name.clone(), text))
        };
        table.iter().map(pair).collect()
    }

    fn url(&self) -> Result<String, BadEntry> {
        let url = self.text("url")?.ok_or(BadEntry::Lacks("url"))?;
        let wrong = |why: String| Err(bad("url", why));
        match Url::parse(url.trim()) {
            Err(error) => wrong(format!("invalid URL: {error}")),
            Ok(parsed) if !matches!(parsed.scheme(), "http" | "https") => {
                wrong("it must start with http:// or https://".to_owned())
            }
            Ok(_) => Ok(url.trim().to_owned()),
        }
    }

    /// A URL whose answer decides where the human signs in, so it must not be changed on the way: https, or this machine.
    fn metadata_url(&self) -> Result<Option<String>, BadEntry> {
        let Some(url) = self.text(METADATA_URL)? else { return Ok(None) };
        let wrong = |why: &str| Err(bad(METADATA_URL, why));
        match Url::parse(url.trim()) {
            Err(error) => wrong(&format!("invalid URL: {error}")),
            Ok(parsed) if parsed.scheme() == "https" || is_loopback(&parsed) => {
                Ok(Some(parsed.into()))
            }
            Ok(_) => wrong("it must start with https://"),
        }
    }

    fn oauth(&self, odd: &mut Odd) -> Result<Option<OauthClient>, BadEntry> {
        let oauth = match self.get("oauth") {
            None => return Ok(None),
            Some(Value::Object(oauth)) => oauth,
            Some(_) => return Err(bad("oauth", "expected an object")),
        };
        let inside = Reader { entry: oauth, variable: self.variable };
        let named = |error| match error {
            BadEntry::Value { key, why } => bad(format!("oauth.{key}"), why),
            BadEntry::Variable { key, missing } => {
                BadEntry::Variable { key: format!("oauth.{key}"), missing }
            }
            other => other,
        };
        let port = match inside.get("callbackPort") {
            None => None,
            Some(port) => match port.as_u64().and_then(|port| u16::try_from(port).ok()) {
                Some(port) if port > 0 => Some(port),
                _ => return Err(bad("oauth.callbackPort", "expected a port from 1 to 65535")),
            },
        };
        for key in oauth.keys() {
            if !OAUTH.contains(&key.as_str()) {
                let reason = format!("unknown key; the keys are {}", OAUTH.join(", "));
                odd.push((format!("oauth.{key}"), reason));
            }
        }
        let client_id = inside.text("clientId").map_err(named)?;
        let client_secret = inside.text("clientSecret").map_err(named)?;
        if client_secret.is_some() && client_id.is_none() {
            return Err(bad("oauth.clientSecret", "it needs a clientId"));
        }
        Ok(Some(OauthClient {
            client_id,
            client_secret,
            callback_port: port,
            scopes: inside.texts("scopes").map_err(named)?,
            metadata_url: inside.metadata_url().map_err(named)?,
        }))
    }
}

/// Whether a URL is plain HTTP on this machine.
fn is_loopback(url: &Url) -> bool {
    let here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "http" && here
}

/// Not with the value, which may be a secret.
fn not_text(value: &Value) -> String {
    let why = match value {
        Value::Number(_) | Value::Bool(_) => "expected a string: put it in quotes",
        _ => "expected a string",
    };
    why.to_owned()
}

/// Refuses variables that no process can have, and those that ona sets itself.
fn variable_name(name: &str, _: &str) -> Result<(), &'static str> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err("invalid variable name");
    }
    if is_own_variable(name) { Err(OWN_VARIABLE) } else { Ok(()) }
}

/// Refuses invalid headers.
fn header(name: &str, value: &str) -> Result<(), &'static str> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        return Err("invalid header name");
    }
    let control = |c: char| c.is_control() && c != '\t';
    if value.contains(control) { Err("a header cannot contain a line break") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[allow(clippy::needless_pass_by_value, reason = "callers write json!(…)")]
    fn read_entry(entry: Value) -> Result<Way, String> {
        let variable = |name: &str| (name == "TOKEN").then(|| "t0".to_owned());
        let read = read(&entry, Path::new("/p"), &variable);
        read.map(|(way, _)| way).map_err(|error| error.to_string())
    }

    fn remote(url: &str) -> Remote {
        Remote { url: url.to_owned(), ..Remote::default() }
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn what_stands_there_becomes_a_way() {
        let stdio = |command: &str, args: &[&str], env: &[(String, String)]| Way::Stdio {
            command: command.to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: env.to_vec(),
            cwd: "/p".into(),
        };
        for (entry, way) in [
            (json!({"command": "x"}), stdio("x", &[], &[])),
            (
                json!({"type": "stdio", "command": "${C:-npx}", "args": ["-y", "a ${TOKEN}"],
                    "env": {"K": "${TOKEN}"}, "unknown": 1}),
                stdio("npx", &["-y", "a t0"], &[pair("K", "t0")]),
            ),
            (json!({"command": "x", "args": null, "env": null}), stdio("x", &[], &[])),
            (json!({"type": "http", "url": "https://a/b"}), Way::Http(remote("https://a/b"))),
            (
                json!({"type": "streamable-http", "url": "http://${H:-[::1]}:1/"}),
                Way::Http(remote("http://[::1]:1/")),
            ),
            (
                json!({"type": "sse", "url": "http://a", "headers": {"X-K": "Bearer ${TOKEN}"},
                    "headersHelper": "echo ${TOKEN}",
                    "oauth": {"clientId": "me", "clientSecret": "${TOKEN}", "callbackPort": 8080, "scopes": ["a"],
                        "authServerMetadataUrl": "https://${H:-sign.example}/meta"}}),
                Way::Sse(Remote {
                    headers: vec![pair("X-K", "Bearer t0")],
                    headers_helper: Some("echo ${TOKEN}".to_owned()),
                    oauth: Some(OauthClient {
                        client_id: Some("me".to_owned()),
                        client_secret: Some("t0".to_owned()),
                        callback_port: Some(8080),
                        scopes: vec!["a".to_owned()],
                        metadata_url: Some("https://sign.example/meta".to_owned()),
                    }),
                    ..remote("http://a")
                }),
            ),
        ] {
            assert_eq!(read_entry(entry.clone()), Ok(way), "{entry}");
        }
    }

    #[test]
    fn an_invalid_definition_is_reported_with_its_key() {
        for (entry, why) in [
            (json!("x"), "it is not an object"),
            (json!({}), "it has neither a command nor a url"),
            (
                json!({"url": "http://a"}),
                "it has a url and no type: write \"type\": \"http\", or \"sse\"",
            ),
            (
                json!({"type": "ws", "url": "ws://a"}),
                "the type `ws` is unknown: use stdio, http or sse",
            ),
            (json!({"type": 1}), "`type`: expected a string"),
            (json!({"type": "stdio"}), "`command` is missing"),
            (json!({"type": "http", "command": "x"}), "`url` is missing"),
            (json!({"command": ["x"]}), "`command`: expected a string"),
            (json!({"command": " "}), "`command`: it is empty"),
            (json!({"command": "x\0"}), "`command`: it contains NUL"),
            (json!({"command": "x", "args": "a"}), "`args`: expected a list of strings"),
            (
                json!({"command": "x", "args": ["a", 5]}),
                "`args[1]`: expected a string: put it in quotes",
            ),
            (
                json!({"command": "x", "env": {"A": true}}),
                "`env.A`: expected a string: put it in quotes",
            ),
            (json!({"command": "x", "env": {"A=": ""}}), "`env.A=`: invalid variable name"),
            (
                json!({"command": "x", "env": {"ONA_TOOL_USE_ID": ""}}),
                "`env.ONA_TOOL_USE_ID`: variables of ona itself are not set here, but in its environment",
            ),
            (
                json!({"command": "x", "args": ["${NONE}"]}),
                "`args[0]`: the variable NONE is not set: set it, or write ${NONE:-a default}",
            ),
            (
                json!({"type": "http", "url": "file:///x"}),
                "`url`: it must start with http:// or https://",
            ),
            (
                json!({"type": "http", "url": "nowhere"}),
                "`url`: invalid URL: relative URL without a base",
            ),
            (
                json!({"type": "http", "url": "http://a", "headers": {"a b": ""}}),
                "`headers.a b`: invalid header name",
            ),
            (
                json!({"type": "http", "url": "http://a", "headers": {"a": "b\r\nc: d"}}),
                "`headers.a`: a header cannot contain a line break",
            ),
            (
                json!({"type": "http", "url": "http://a", "oauth": {"callbackPort": 0}}),
                "`oauth.callbackPort`: expected a port from 1 to 65535",
            ),
            (
                json!({"type": "http", "url": "http://a", "oauth": {"clientId": 1}}),
                "`oauth.clientId`: expected a string",
            ),
            (
                json!({"type": "http", "url": "http://a", "oauth": {"clientSecret": "x"}}),
                "`oauth.clientSecret`: it needs a clientId",
            ),
            (
                json!({"type": "http", "url": "http://a", "oauth": {"authServerMetadataUrl": "http://a"}}),
                "`oauth.authServerMetadataUrl`: it must start with https://",
            ),
        ] {
            assert_eq!(read_entry(entry.clone()), Err(why.to_owned()), "{entry}");
        }
        let entry = json!({"type": "http", "url": "http://a",
            "oauth": {"secret": "x", "authServerMetadataUrl": "http://127.0.0.1:1/meta"}});
        let (_, odd) = read(&entry, Path::new("/"), &|_| None).unwrap();
        assert_eq!(odd.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["oauth.secret"]);
    }

    #[test]
    fn what_is_kept_is_checked_without_its_variables() {
        for entry in [
            json!({"command": "${A}", "args": ["${B}"]}),
            json!({"type": "http", "url": "${A}"}),
            json!({"type": "http", "url": "http://${A}/x", "headers": {"K": "${B}"}}),
            json!({"type": "http", "url": "http://a", "oauth": {"authServerMetadataUrl": "${A}"}}),
        ] {
            assert_eq!(check(&entry), Ok(()), "{entry}");
        }
        for entry in [json!({"type": "http", "url": "x"}), json!({"command": 1}), json!(null)] {
            assert!(check(&entry).is_err(), "{entry}");
        }
    }

    #[test]
    fn names_can_be_part_of_a_tools() {
        for name in ["a", "GitHub", "my-db_2"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in
            ["", "a b", "a.b", "a__b", "_a", "a_", "ona", "ONA", "ä", "a/b", &"a".repeat(41)]
        {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
