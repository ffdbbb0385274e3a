//! Which servers may be started: what settings allow, deny, approve and reject.

use ona_effects::wildcard;
use ona_mcp::{Remote, Way};
use serde_json::Value;
use url::Url;

use super::ServerScope;
use super::places::{Exclusive, Found};
use crate::approvals::Approvals;
use crate::settings::{self, Layer, SERVER_LIMITS};

/// What the settings say about servers.
#[derive(Debug)]
pub(super) struct Limits {
    /// The organisation's own file of servers: if it exists, no others are used.
    exclusive: Option<Exclusive>,
    denied: Vec<Pattern>,
    /// The only servers that may be started; any, if there is no such list.
    allowed: Option<Vec<Pattern>>,
    approvals: Approvals,
    /// The organisation's settings with an invalid limit, and its key: what it would forbid is unknown.
    unreadable: Option<(String, &'static str)>,
}

/// An entry of a list, and the settings it comes from.
#[derive(Debug)]
struct Pattern {
    name: Option<String>,
    command: Option<Vec<String>>,
    url: Option<String>,
    source: String,
}

impl Limits {
    /// The limits that settings set. Lists that deny count from every scope; lists that allow count from the
    /// organisation alone, if its settings say so.
    pub(super) fn of(layers: &[Layer], exclusive: Option<Exclusive>) -> Self {
        let managed_only = settings::managed_servers_only(layers);
        let allowing = layers.iter().filter(|layer| !managed_only || settings::is_managed(layer));
        Self {
            exclusive,
            denied: layers
                .iter()
                .filter_map(|l| patterns(l, "deniedMcpServers"))
                .flatten()
                .collect(),
            allowed: allowing.filter_map(|layer| patterns(layer, "allowedMcpServers")).reduce(
                |mut all, more| {
                    all.extend(more);
                    all
                },
            ),
            approvals: Approvals::of(layers.iter()),
            unreadable: layers.iter().filter(|layer| settings::is_managed(layer)).find_map(unread),
        }
    }

    /// The reason why a server may not be started.
    pub(super) fn refuse(&self, one: &Found, way: &Way) -> Option<String> {
        if let Some(Exclusive(file)) = &self.exclusive
            && one.scope != ServerScope::Managed
        {
            return Some(format!("only the organisation's servers are used (see {file})"));
        }
        if let Some((source, key)) = &self.unreadable {
            return Some(format!(
                "{key} in {source} is invalid, so no server may be started: ask your administrator to fix it"
            ));
        }
        if let Some(pattern) = self.denied.iter().find(|pattern| pattern.denies(&one.name, way)) {
            return Some(format!("denied by deniedMcpServers in {}", pattern.source));
        }
        if let Some(allowed) = &self.allowed
            && !allows(allowed, &one.name, way)
        {
            return Some("it is not in allowedMcpServers".to_owned());
        }
        if one.is_projects_file() {
            let rejected = self.approvals.rejects(&one.name);
            return rejected
                .map(|source| format!("rejected by disabledMcpjsonServers in {source}"));
        }
        None
    }

    /// Whether settings approve a server of a `.mcp.json`.
    pub(super) fn approve(&self, one: &Found) -> bool {
        self.approvals.approves(&one.name)
    }
}

/// A limit of a layer that is not a list.
fn unread(layer: &Layer) -> Option<(String, &'static str)> {
    let is_list = |value: &Value| value.is_array() || value.is_null();
    let key =
        SERVER_LIMITS.iter().find(|key| layer.json.get(**key).is_some_and(|v| !is_list(v)))?;
    Some((layer.source.to_string(), key))
}

/// The entries of a layer's list, if it has the list.
fn patterns(layer: &Layer, key: &str) -> Option<Vec<Pattern>> {
    let list = layer.json.get(key)?.as_array()?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let pattern = |entry: &Value| Pattern {
        name: text(&entry["serverName"]),
        command: entry["serverCommand"]
            .as_array()
            .map(|words| words.iter().filter_map(text).collect()),
        url: text(&entry["serverUrl"]),
        source: layer.source.to_string(),
    };
    Some(list.iter().map(pattern).collect())
}

/// A name says little about what runs: if the list has commands, a program must match one of them; if it has URLs, a
/// URL must match one of them.
fn allows(allowed: &[Pattern], name: &str, way: &Way) -> bool {
    let by_name = || allowed.iter().any(|pattern| pattern.name.as_deref() == Some(name));
    match way {
        Way::Stdio { command, args, .. } => {
            let mut commands = allowed.iter().filter_map(|p| p.command.as_deref()).peekable();
            match commands.peek() {
                None => by_name(),
                Some(_) => commands.any(|words| is_command(words, command, args)),
            }
        }
        Way::Http(Remote { url, .. }) | Way::Sse(Remote { url, .. }) => {
            let mut urls = allowed.iter().filter_map(|p| p.url.as_deref()).peekable();
            match urls.peek() {
                None => by_name(),
                Some(_) => urls.any(|pattern| fits(pattern, url, false)),
            }
        }
    }
}

fn is_command(words: &[String], command: &str, args: &[String]) -> bool {
    words.split_first().is_some_and(|(first, rest)| first == command && rest == args)
}

impl Pattern {
    fn denies(&self, name: &str, way: &Way) -> bool {
        // Its tools have the name in lowercase, so case is ignored.
        let by_name = self.name.as_deref().is_some_and(|known| known.eq_ignore_ascii_case(name));
        by_name
            || match way {
                Way::Stdio { command, args, .. } => {
                    self.command.as_deref().is_some_and(|words| is_command(words, command, args))
                }
                Way::Http(Remote { url, .. }) | Way::Sse(Remote { url, .. }) => {
                    self.url.as_deref().is_some_and(|pattern| fits(pattern, url, true))
                }
            }
    }
}

/// Whether a URL matches a pattern, in which `*` stands for anything. A pattern with a scheme is compared with each part
/// of the URL, so that no path or user name passes for a host. A deny pattern without a port covers every port.
fn fits(pattern: &str, url: &str, denies: bool) -> bool {
    let Ok(mut url) = Url::parse(url) else { return denies };
    // `a.example.` is the same host.
    if let Some(host) = url.host_str().and_then(|host| host.strip_suffix('.')).map(str::to_owned)
        && url.set_host(Some(&host)).is_err()
    {
        return denies;
    }
    let Some((scheme, rest)) = pattern.split_once("://") else {
        return wildcard::matches(pattern, url.as_str());
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let name = url.host_str().unwrap_or_default();
    let authority = match url.port() {
        Some(port) => format!("{name}:{port}"),
        None => name.to_owned(),
    };
    let host = host.to_ascii_lowercase();
    let host = host.strip_suffix('.').unwrap_or(&host);
    let host_fits =
        wildcard::matches(host, &authority) || (denies && wildcard::matches(host, name));
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let path_fits = match path {
        "" => denies || target == "/",
        path => wildcard::matches(path, &target) || wildcard::matches(path, url.path()),
    };
    wildcard::matches(&scheme.to_ascii_lowercase(), url.scheme()) && host_fits && path_fits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_held_against_patterns_part_by_part() {
        for (pattern, url, allows, denies) in [
            ("https://a.example/*", "https://a.example/mcp", true, true),
            ("https://a.example/*", "https://A.example", true, true),
            ("https://a.example", "https://a.example/", true, true),
            ("https://a.example", "https://a.example/mcp", false, true),
            ("https://*.example/*", "https://b.a.example/x?y=z", true, true),
            ("https://*.example/*", "https://evil.test/.example/", false, false),
            ("https://a.example/*", "https://a.example@evil.test/", false, false),
            ("https://a.example/*", "https://u:p@a.example/", true, true),
            ("https://a.example/*", "https://a.example:8443/", false, true),
            ("http://localhost:*/*", "http://localhost:3000/mcp", true, true),
            ("https://a.example/*", "http://a.example/", false, false),
            ("*://a.example/*", "http://a.example/", true, true),
            ("*example*", "http://a.example/", true, true),
            ("*", "http://a.example/", true, true),
            ("https://a.example/*", "https://a.example./mcp", true, true),
            ("https://a.example./*", "https://a.example:8443/", false, true),
            ("https://a.example/*", "https://a.example.:8443/", false, true),
            ("*a.example/*", "https://a.example./", true, true),
        ] {
            assert_eq!(fits(pattern, url, false), allows, "{pattern} {url}");
            assert_eq!(fits(pattern, url, true), denies, "{pattern} {url}");
        }
    }
}
