//! What the settings say about the sandbox (`sandbox.*`).

use std::path::{Component, Path, PathBuf};

use ona_config::settings::{
    Layer, Roots, Sandbox, SandboxFiles, SandboxProfile, Settings, foreign_sandbox_keys,
    is_projects, sandbox_path,
};
use ona_policy::{Anchors, Rule, Scope, Source};
use ona_sandbox::confine::{HostPattern, Limits, Network, Sockets};
use ona_types::{Behavior, SandboxLevel};

/// What the settings want.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// Whether commands are confined.
    pub enabled: bool,
    /// Whether a session stops if that does not work.
    pub fail_if_unavailable: bool,
    /// Whether a confined command needs no question.
    pub auto_allow: bool,
    /// Whether a call may ask to leave.
    pub may_leave: bool,
    /// The level below which nothing runs.
    pub minimum: SandboxLevel,
    /// Whether hooks are confined.
    pub hooks: bool,
    /// Whether servers over stdio are confined.
    pub servers: bool,
    /// Commands that run outside.
    pub excluded: Vec<Rule>,
    /// What may be written besides the working directories.
    pub allow_write: Vec<PathBuf>,
    /// What in them may not be written.
    pub deny_write: Vec<PathBuf>,
    /// What may not be read.
    pub deny_read: Vec<PathBuf>,
    /// What may be read all the same.
    pub allow_read: Vec<PathBuf>,
    /// Whether the caches of package managers may be written.
    pub caches: bool,
    /// What may be reached.
    pub network: Network,
    /// Which programs on this machine may be reached.
    pub sockets: Sockets,
    /// What a command may use up.
    pub limits: Limits,
    /// Settings that have no effect, and why.
    pub idle: Vec<String>,
}

impl Terms {
    /// The terms of these settings, and what is wrong with them.
    pub fn of(layers: &[Layer], roots: &Roots) -> (Self, Vec<String>) {
        let settings = Settings::merged(layers);
        let Some(sandbox) = settings.sandbox.as_deref() else {
            return (Self::default(), Vec::new());
        };
        let mut wrong = Vec::new();
        let net = sandbox.network.as_deref();
        let hosts = net.and_then(|net| net.allowed_domains.as_ref()).into_iter().flatten();
        let hosts = hosts.filter_map(|text| match text.parse::<HostPattern>() {
            Ok(host) => Some(host),
            Err(why) => {
                wrong.push(format!("sandbox.network.allowedDomains: {why}"));
                None
            }
        });
        let hosts: Vec<HostPattern> = hosts.collect();
        let (http, socks) =
            net.map_or((None, None), |net| (net.http_proxy_port, net.socks_proxy_port));
        let network = match (http, socks) {
            (None, None) => Network::Hosts(hosts),
            (http, socks) => Network::Proxies { http, socks },
        };
        let unix = net.and_then(|net| net.allow_unix_sockets.clone()).unwrap_or_default();
        let sockets = match net.is_some_and(|net| net.allow_all_unix_sockets == Some(true)) {
            true => Sockets::All,
            false if unix.is_empty() => Sockets::None,
            false => {
                let paths = unix.iter().map(|text| resolved(text, &roots.project_dir, roots));
                Sockets::These(paths.collect())
            }
        };
        let limits = sandbox.limits.as_deref();
        let limits = limits.map_or_else(Limits::default, |limits| Limits {
            cpu_seconds: limits.cpu_seconds,
            memory_mb: limits.memory_mb,
            processes: limits.processes,
            file_size_mb: limits.file_size_mb,
        });
        let excluded = sandbox.excluded_commands.iter().flatten().filter_map(|text| {
            let anchors = Anchors {
                source: roots.project_dir.clone(),
                cwd: roots.project_dir.clone(),
                home: roots.home.clone(),
            };
            let source = Source::of(Scope::Session);
            match Rule::parse(&format!("Bash({text})"), Behavior::Allow, source, &anchors) {
                Ok((rule, _)) => Some(rule),
                Err(why) => {
                    wrong.push(format!("sandbox.excludedCommands: {text}: {why}"));
                    None
                }
            }
        });
        let excluded = excluded.collect();
        let paths = |list: List| paths(layers, roots, list);
        let mut terms = Self {
            enabled: sandbox.enabled.unwrap_or(sandbox.profile.is_some()),
            fail_if_unavailable: sandbox.fail_if_unavailable == Some(true),
            auto_allow: sandbox.auto_allow_bash_if_sandboxed != Some(false),
            may_leave: sandbox.allow_unsandboxed_commands != Some(false),
            minimum: sandbox.minimum.unwrap_or_default(),
            hooks: sandbox.hooks == Some(true),
            servers: sandbox.mcp_servers == Some(true),
            excluded,
            allow_write: paths(|files| &files.allow_write),
            deny_write: paths(|files| &files.deny_write),
            deny_read: paths(|files| &files.deny_read),
            allow_read: paths(|files| &files.allow_read),
            caches: false,
            network,
            sockets,
            limits,
            idle: Vec::new(),
        };
        if let Some(profile) = sandbox.profile.filter(|_| terms.enabled) {
            terms.take(profile, sandbox.minimum.is_none());
        }
        // What is demanded is on.
        terms.enabled |= terms.minimum > SandboxLevel::None;
        terms.idle = idle(sandbox, &terms);
        let foreign = layers.iter().flat_map(foreign_sandbox_keys);
        terms.idle.extend(foreign.map(|key| format!("{key}: unknown key")));
        (terms, wrong)
    }

    /// Takes over what a profile of S1 §7 says.
    fn take(&mut self, profile: SandboxProfile, no_minimum: bool) {
        match profile {
            SandboxProfile::Sandbox => {
                self.network = Network::default();
                if no_minimum {
                    self.minimum = SandboxLevel::Landlock;
                }
            }
            SandboxProfile::CiLike => self.caches = true,
        }
    }
}

/// The settings that have no effect, whatever the machine.
fn idle(sandbox: &Sandbox, terms: &Terms) -> Vec<String> {
    let net = sandbox.network.as_deref();
    let said = [
        (
            sandbox.enable_weaker_nested_sandbox.is_some(),
            "sandbox.enableWeakerNestedSandbox: the strongest level that works is used anyway; demand one with \
             sandbox.minimum",
        ),
        (
            sandbox.enable_weaker_network_isolation.is_some(),
            "sandbox.enableWeakerNetworkIsolation: it is for the sandbox of macOS in Claude Code",
        ),
        (
            net.is_some_and(|net| net.allow_local_binding.is_some()),
            "sandbox.network.allowLocalBinding: a command can always listen in its own network",
        ),
        (!terms.enabled && sandbox.enabled.is_none(), "sandbox: sandbox.enabled is not set"),
    ];
    said.into_iter().filter(|(is_set, _)| *is_set).map(|(_, why)| why.to_owned()).collect()
}

/// One of the lists of paths.
type List = fn(&SandboxFiles) -> &Option<Vec<String>>;

/// The paths of one list in all layers. `./` and plain names are meant from the project's directory in the project's own
/// files, from the directory of the settings in the user's.
fn paths(layers: &[Layer], roots: &Roots, list: List) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for layer in layers {
        let settings = layer.settings();
        let files = settings.sandbox.as_deref().and_then(|sandbox| sandbox.filesystem.as_deref());
        let base = match is_projects(layer) || layer.source.scope == Scope::User {
            true => &layer.base,
            false => &roots.project_dir,
        };
        for text in files.and_then(|files| list(files).as_ref()).into_iter().flatten() {
            // Patterns were reported, and dropped, when the file was read.
            let Some(path) = sandbox_path(text) else { continue };
            let path = resolved(path, base, roots);
            if !all.contains(&path) {
                all.push(path);
            }
        }
    }
    all
}

/// A path of `sandbox.*`: absolute, from the home, or from a directory.
fn resolved(text: &str, base: &Path, roots: &Roots) -> PathBuf {
    let text = text.strip_prefix('/').filter(|rest| rest.starts_with('/')).unwrap_or(text);
    let path = match text.strip_prefix('~') {
        Some("") => roots.home.clone(),
        Some(rest) if rest.starts_with('/') => roots.home.join(rest.trim_start_matches('/')),
        _ => base.join(text),
    };
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn terms(layers: &[(Scope, &str, Value)]) -> (Terms, Vec<String>) {
        let roots = Roots {
            project_dir: "/p".into(),
            home: "/home/u".into(),
            claude_dir: "/home/u/.claude".into(),
            ona_config: "/home/u/.config/ona".into(),
            managed_dirs: Vec::new(),
            cwd: "/p".into(),
        };
        let layers: Vec<Layer> = layers
            .iter()
            .map(|(scope, base, sandbox)| Layer {
                source: Source::of(*scope),
                base: base.into(),
                json: json!({"sandbox": sandbox}).as_object().unwrap().clone(),
            })
            .collect();
        Terms::of(&layers, &roots)
    }

    #[test]
    fn paths_are_meant_from_where_the_settings_are() {
        let (terms, _) = terms(&[
            (
                Scope::User,
                "/home/u/.claude",
                json!({"filesystem": {"allowWrite": ["./out", "~/x/../y"]}}),
            ),
            (
                Scope::Project,
                "/p",
                json!({"filesystem": {"allowWrite": ["build/**", "/abs", "//abs", "*.log"], "denyRead": ["~"]}}),
            ),
        ]);
        let expected = ["/home/u/.claude/out", "/home/u/y", "/p/build", "/abs"].map(PathBuf::from);
        assert_eq!(terms.allow_write, expected);
        assert_eq!(terms.deny_read, [PathBuf::from("/home/u")]);
    }

    #[test]
    fn every_key_has_its_effect() {
        let (off, _) = terms(&[]);
        assert!(!off.enabled && off.minimum == SandboxLevel::None);
        let (on, wrong) = terms(&[(
            Scope::Project,
            "/p",
            json!({
                "enabled": true, "failIfUnavailable": true, "autoAllowBashIfSandboxed": false,
                "allowUnsandboxedCommands": false, "minimum": "bwrap", "hooks": true, "mcpServers": true,
                "excludedCommands": ["docker *", "a) b"],
                "network": {"allowedDomains": ["example.com", "https://x"], "allowUnixSockets": ["~/s"]},
                "limits": {"cpuSeconds": 1, "memoryMb": 2, "processes": 3, "fileSizeMb": 4},
            }),
        )]);
        assert!(on.enabled && on.fail_if_unavailable && !on.auto_allow && !on.may_leave);
        assert!(on.minimum == SandboxLevel::Bwrap && on.hooks && on.servers);
        assert_eq!(
            on.excluded.iter().map(|rule| rule.text.as_str()).next(),
            Some("Bash(docker *)")
        );
        assert_eq!(on.network.to_string(), "network: example.com");
        assert_eq!(on.sockets, Sockets::These(vec!["/home/u/s".into()]));
        let limits = Limits {
            cpu_seconds: Some(1),
            memory_mb: Some(2),
            processes: Some(3),
            file_size_mb: Some(4),
        };
        assert_eq!(on.limits, limits);
        assert!(wrong.iter().any(|text| text.contains("https://x")), "{wrong:?}");
        let (all, _) = terms(&[(
            Scope::Project,
            "/p",
            json!({"network": {"allowAllUnixSockets": true, "httpProxyPort": 8080, "socksProxyPort": 1081}}),
        )]);
        assert_eq!(all.sockets, Sockets::All);
        assert_eq!(all.network, Network::Proxies { http: Some(8080), socks: Some(1081) });
    }

    #[test]
    fn a_profile_fills_in_what_is_not_set() {
        let of = |sandbox: Value| terms(&[(Scope::Project, "/p", sandbox)]).0;
        let strict = of(json!({"profile": "sandbox", "network": {"allowedDomains": ["a.b"]}}));
        assert!(strict.enabled && strict.minimum == SandboxLevel::Landlock && !strict.caches);
        assert_eq!(strict.network, Network::default());
        let low = of(json!({"profile": "sandbox", "minimum": "none"}));
        assert_eq!(low.minimum, SandboxLevel::None);
        let like = of(json!({"profile": "ci-like", "network": {"allowedDomains": ["a.b"]}}));
        assert!(like.caches && like.network.to_string() == "network: a.b");
        assert!(!of(json!({"profile": "sandbox", "enabled": false})).enabled);
    }
}
