//! Private hosts that the operator allows: `webFetch.allowPrivateHosts`.

use std::net::Ipv6Addr;

use url::{Host, Url};

use crate::link;

/// A host that may be fetched from wherever it is, by one port or by all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateHost {
    host: String,
    port: Option<u16>,
}

/// Why a text names no such host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a valid host: write a name or an address, with or without a port, such as localhost:8080"
)]
pub struct PrivateHostError(String);

impl PrivateHost {
    /// Reads a host such as `wiki.internal`, `10.0.0.5:8080` or `[::1]`.
    pub fn parse(text: &str) -> Result<Self, PrivateHostError> {
        let wrong = || PrivateHostError(text.to_owned());
        let given = text.trim();
        if let Ok(address) = given.parse::<Ipv6Addr>() {
            return Ok(Self { host: format!("[{address}]"), port: None });
        }
        let (host, port) = match given.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                (host, Some(port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?))
            }
            _ => (given, None),
        };
        let host = host.strip_suffix('.').unwrap_or(host);
        if host.contains('*') {
            return Err(wrong());
        }
        let host = Host::parse(host).map_err(|_| wrong())?.to_string();
        Ok(Self { host, port })
    }

    /// Whether an address, as it was written, is at this host.
    pub fn covers(&self, url: &Url) -> bool {
        link::host(url) == self.host
            && self.port.is_none_or(|port| url.port_or_known_default() == Some(port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_covers_itself_and_nothing_else() {
        for (host, url, covered) in [
            ("localhost", "http://localhost:8080/", true),
            ("LOCALHOST.", "http://localhost./", true),
            ("localhost", "http://127.0.0.1/", false),
            ("localhost", "http://a.localhost/", false),
            ("localhost:8080", "http://localhost:8080/", true),
            ("localhost:8080", "http://localhost/", false),
            ("localhost:80", "http://localhost/", true),
            ("localhost:443", "https://localhost/", true),
            ("127.0.0.1", "http://2130706433/", true),
            ("0x7f.1", "http://127.0.0.1/", true),
            ("127.0.0.1", "http://[::ffff:127.0.0.1]/", false),
            ("::1", "http://[::1]:3000/", true),
            ("[::1]:3000", "http://[::1]:3000/", true),
            ("[::1]:3000", "http://[::1]:3001/", false),
        ] {
            let host = PrivateHost::parse(host).unwrap();
            assert_eq!(host.covers(&url.parse().unwrap()), covered, "{host:?} {url}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in ["", " ", "http://localhost", "localhost/x", "a b", "*.internal", "localhost:0"]
        {
            let refused = PrivateHost::parse(text).unwrap_err().to_string();
            assert!(refused.contains("is not a valid host"), "{refused}");
        }
        for text in ["localhost:x", "localhost:99999", "me@localhost", "[::1", "localhost:"] {
            PrivateHost::parse(text).unwrap_err();
        }
    }
}
