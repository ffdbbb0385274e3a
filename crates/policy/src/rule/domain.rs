//! `WebFetch(domain:…)`: the shape of a host.

use super::{RuleError, refuse};

/// The shape of a host, label by label from the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DomainPattern(Vec<String>);

impl DomainPattern {
    pub(crate) fn parse(content: &str) -> Result<Self, RuleError> {
        let Some(host) = content.strip_prefix("domain:") else {
            return refuse(
                "WebFetch takes `domain:` and a host, such as WebFetch(domain:example.com)",
            );
        };
        let host = normal(host);
        if host.is_empty() || host.contains(['/', ' ', '@']) || host.split('.').any(str::is_empty) {
            return refuse(format!("`{host}` is not a valid host"));
        }
        Ok(Self(labels(&host)))
    }

    pub(crate) fn matches(&self, host: &str) -> bool {
        let host = labels(&normal(host));
        let mut host = host.iter();
        let mut pattern = self.0.iter().peekable();
        while let Some(wanted) = pattern.next() {
            // A leading star takes in one label or more, any other exactly one.
            if wanted == "*" && pattern.peek().is_none() {
                return host.next().is_some();
            }
            match host.next() {
                Some(label) if ona_effects::wildcard::matches(wanted, label) => {}
                _ => return false,
            }
        }
        host.next().is_none()
    }
}

/// Case and a trailing dot do not matter.
fn normal(host: &str) -> String {
    let host = host.trim().to_ascii_lowercase();
    host.strip_suffix('.').unwrap_or(&host).to_owned()
}

fn labels(host: &str) -> Vec<String> {
    host.rsplit('.').map(str::to_owned).collect()
}
