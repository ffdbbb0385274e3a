//! Which hosts a confined command may reach.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ona_types::not_public;
use serde::{Deserialize, Serialize};

/// A host that may be reached: a name, an address, or `*.` and a name for everything below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPattern(Host);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    Name(String),
    Below(String),
    Any,
}

/// A text that names no host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a host: write a name such as example.com, *.example.com or an address, without scheme or path"
)]
pub struct NoHost(String);

impl FromStr for HostPattern {
    type Err = NoHost;

    fn from_str(text: &str) -> Result<Self, NoHost> {
        let name = text.strip_prefix("*.").unwrap_or(text);
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_address = name.parse::<IpAddr>().is_ok();
        if text == "*" {
            return Ok(Self(Host::Any));
        }
        if name.is_empty() || name.starts_with('.') || !(name.chars().all(is_name) || is_address) {
            return Err(NoHost(text.to_owned()));
        }
        let plain = folded(name);
        Ok(Self(if name == text { Host::Name(plain) } else { Host::Below(plain) }))
    }
}

impl TryFrom<String> for HostPattern {
    type Error = NoHost;

    fn try_from(text: String) -> Result<Self, NoHost> {
        text.parse()
    }
}

impl From<HostPattern> for String {
    fn from(pattern: HostPattern) -> Self {
        pattern.to_string()
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Host::Name(name) => f.write_str(name),
            Host::Below(name) => write!(f, "*.{name}"),
            Host::Any => f.write_str("*"),
        }
    }
}

impl HostPattern {
    /// Whether the pattern is this very host.
    fn names(&self, host: &str) -> bool {
        matches!(&self.0, Host::Name(name) if *name == host)
    }

    fn fits(&self, host: &str) -> bool {
        match &self.0 {
            Host::Name(name) => name == host,
            Host::Below(name) => {
                host.strip_suffix(name.as_str()).is_some_and(|sub| sub.ends_with('.') && sub != ".")
            }
            Host::Any => true,
        }
    }
}

/// Whether a host may be reached.
pub(super) fn allows(patterns: &[HostPattern], host: &str) -> bool {
    let host = folded(host);
    patterns.iter().any(|pattern| pattern.fits(&host))
}

/// Whether an address that a host has led to may be connected to. This machine and its network only if the host is named
/// itself: a name below an allowed one may belong to anybody.
pub(super) fn may_connect(patterns: &[HostPattern], host: &str, address: IpAddr) -> bool {
    let host = folded(host);
    not_public(address).is_none() || patterns.iter().any(|pattern| pattern.names(&host))
}

/// A name as it is compared.
fn folded(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Vec<HostPattern> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn a_name_is_itself_and_a_star_is_everything_below() {
        let listed = patterns(&["example.com", "*.example.org", "10.0.0.1"]);
        for (host, allowed) in [
            ("example.com", true),
            ("EXAMPLE.com.", true),
            ("www.example.com", false),
            ("badexample.com", false),
            ("www.example.org", true),
            ("a.b.example.org", true),
            ("example.org", false),
            (".example.org", false),
            ("badexample.org", false),
            ("10.0.0.1", true),
            ("10.0.0.11", false),
            ("", false),
        ] {
            assert_eq!(allows(&listed, host), allowed, "{host}");
        }
        assert!(allows(&patterns(&["*"]), "anything"));
        assert!(!allows(&[], "example.com"));
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in ["", "*.", "https://example.com", "example.com/x", "a b", "*.*.com", "."] {
            assert!(text.parse::<HostPattern>().is_err(), "{text}");
        }
        for text in ["localhost", "::1", "*.example.com", "*"] {
            assert_eq!(text.parse::<HostPattern>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn addresses_of_this_network_need_a_host_that_is_named() {
        let listed = patterns(&["git.corp.example", "*.example.org"]);
        let private: IpAddr = "10.1.2.3".parse().unwrap();
        assert!(may_connect(&listed, "git.corp.example", private));
        assert!(!may_connect(&listed, "x.example.org", private));
        assert!(may_connect(&listed, "x.example.org", "93.184.216.34".parse().unwrap()));
    }
}
