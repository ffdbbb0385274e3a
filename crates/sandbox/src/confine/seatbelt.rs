//! The profile of macOS: what `sandbox-exec` is told.
//!
//! The last rule that fits counts, so everything is allowed first, and what is protected or hidden comes behind what is
//! writable.

use std::fmt::Write as _;
use std::path::Path;

use super::{Access, Confinement, Network, Sockets};

/// The program that applies a profile; it is part of the system.
pub const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// Devices that may be written.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/tty", "/dev/ptmx", "/dev/dtracehelper"];

/// The profile for a confinement.
pub fn profile(confinement: &Confinement) -> String {
    let mut text = String::from("(version 1)\n(allow default)\n(deny file-write*)\n");
    let mut rule = |verb: &str, what: &str, kind: &str, path: &Path| {
        let _ = writeln!(text, "({verb} {what} ({kind} {}))", quoted(path));
    };
    for device in DEVICES {
        rule("allow", "file-write*", "literal", Path::new(device));
    }
    rule("allow", "file-write*", "subpath", &confinement.temporary);
    for (path, access) in confinement.layers() {
        match access {
            Access::Pinned => {}
            Access::Readable => rule("allow", "file-read*", "subpath", path),
            Access::Writable => rule("allow", "file-read* file-write*", "subpath", path),
            Access::Protected => rule("deny", "file-write*", "subpath", path),
            Access::Hidden => rule("deny", "file-read* file-write*", "subpath", path),
        }
    }
    match &confinement.network {
        Network::Everything => {}
        // There is no network namespace in which a proxy could be the only way.
        Network::Hosts(_) => text.push_str("(deny network*)\n"),
        Network::Proxies { http, socks } => {
            text.push_str("(deny network*)\n");
            for port in [http, socks].into_iter().flatten() {
                let _ =
                    writeln!(text, "(allow network-outbound (remote tcp \"localhost:{port}\"))");
            }
        }
    }
    match &confinement.sockets {
        Sockets::None => text.push_str("(deny network-outbound (remote unix-socket))\n"),
        Sockets::These(sockets) => {
            text.push_str("(deny network-outbound (remote unix-socket))\n");
            for socket in sockets {
                let _ = writeln!(text, "(allow network-outbound (literal {}))", quoted(socket));
            }
        }
        Sockets::All => text.push_str("(allow network-outbound (remote unix-socket))\n"),
    }
    // Signals and tracing reach the command's own processes only.
    text.push_str("(deny signal)\n(allow signal (target same-sandbox))\n(deny process-info*)\n");
    text.push_str("(allow process-info* (target same-sandbox))\n");
    text
}

/// A path as a string of the profile's language.
fn quoted(path: &Path) -> String {
    let mut text = String::from("\"");
    for c in path.to_string_lossy().chars() {
        if matches!(c, '"' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_denies_after_it_allows() {
        let confinement = Confinement {
            writable: vec!["/w/a b".into()],
            protected: vec!["/w/a b/.git".into()],
            hidden: vec!["/Users/u/.ssh".into(), "/w/a b/x/\"q\"".into()],
            temporary: "/private/tmp/ona".into(),
            ..Confinement::default()
        };
        let text = profile(&confinement);
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
        let order = [
            "(deny file-write*)\n",
            "(allow file-write* (subpath \"/private/tmp/ona\"))",
            "(allow file-read* file-write* (subpath \"/w/a b\"))",
            "(deny file-write* (subpath \"/w/a b/.git\"))",
            "(deny file-read* file-write* (subpath \"/w/a b/x/\\\"q\\\"\"))",
            "(deny network*)",
            "(deny network-outbound (remote unix-socket))",
            "(deny signal)",
        ];
        assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{text}");
        let open = Confinement { network: Network::Everything, ..confinement.clone() };
        assert!(!profile(&open).contains("(deny network*)"));
        let proxies = Network::Proxies { http: Some(8080), socks: None };
        let through = Confinement { network: proxies, ..confinement };
        assert!(profile(&through).contains("(remote tcp \"localhost:8080\")"));
    }
}
