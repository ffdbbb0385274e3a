//! What a command may touch, and how a level sees to it.
//!
//! A [`Confinement`] says what is allowed, in paths and hosts. `bwrap` makes arguments for bubblewrap of it, `landlock` rules
//! for the kernel, `seatbelt` a profile for macOS. None of them decides anything: whoever builds a confinement does.
//! While a command runs it is attended to ([`Held`]): what the kernel refuses it is told, and its way to the network is served.

#[cfg(target_os = "linux")]
mod attend;
pub mod bwrap;
#[cfg(target_os = "linux")]
mod enter;
mod hosts;
pub mod known;
#[cfg(target_os = "linux")]
pub mod landlock;
mod limits;
mod machine;
#[cfg(target_os = "linux")]
mod pipe;
mod placeholder;
pub mod probe;
#[cfg(target_os = "linux")]
mod proxy;
pub mod seatbelt;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod watch;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use ona_types::SandboxLevel;
use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
pub use enter::enter_if_asked;
pub use hosts::{HostPattern, NoHost};
pub use limits::Limits;
pub use machine::Machine;
pub use placeholder::Placeholders;

/// The port of the proxy in a network namespace: nobody else is there.
const HTTP_PORT: u16 = 3128;
/// The port of the user's SOCKS proxy there.
const SOCKS_PORT: u16 = 1080;
/// What is reached without a proxy: the command's own servers.
const NO_PROXY: &str = "localhost,127.0.0.1,::1";

/// What a command may touch. All paths are absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Directories in which everything may be written.
    pub writable: Vec<PathBuf>,
    /// What in them may only be read. It need not exist: then it cannot be made.
    pub protected: Vec<PathBuf>,
    /// What of it no setting opens, because a rule or a setting closes it.
    #[serde(default)]
    pub forbidden: Vec<PathBuf>,
    /// What of it nothing opens, because other programs act on it.
    #[serde(default)]
    pub closed: Vec<PathBuf>,
    /// What cannot even be read.
    pub hidden: Vec<PathBuf>,
    /// What can be read in directories that cannot.
    pub readable: Vec<PathBuf>,
    /// A directory of the session in the place of `/tmp`.
    pub temporary: PathBuf,
    /// What it reaches of the network.
    pub network: Network,
    /// Which programs on this machine it reaches.
    pub sockets: Sockets,
}

/// What may be done with a path and what is below it. Of one path, the last counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Access {
    /// As what it lies in, but it cannot be moved.
    Pinned,
    Readable,
    Writable,
    Protected,
    Hidden,
}

/// What a command reaches of the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// These hosts, through ona's proxy.
    Hosts(Vec<HostPattern>),
    /// What proxies of the user on this machine let through.
    Proxies {
        /// The port of one for HTTP.
        http: Option<u16>,
        /// The port of one for SOCKS.
        socks: Option<u16>,
    },
    /// Everything.
    Everything,
}

impl Default for Network {
    fn default() -> Self {
        Self::Hosts(Vec::new())
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hosts(hosts) if hosts.is_empty() => f.write_str("no network"),
            Self::Hosts(hosts) => {
                let names: Vec<String> = hosts.iter().map(ToString::to_string).collect();
                write!(f, "network: {}", names.join(", "))
            }
            Self::Proxies { .. } => f.write_str("network: your proxy"),
            Self::Everything => f.write_str("network: everything"),
        }
    }
}

/// Which programs on this machine a command reaches by their sockets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sockets {
    /// None: no such socket can be made.
    #[default]
    None,
    /// These, as far as other sockets can be kept from it.
    These(Vec<PathBuf>),
    /// All that can be seen.
    All,
}

/// What the kernel, or the proxy, refused a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refused {
    /// To write there.
    Write(PathBuf),
    /// To write what a rule or a setting closes.
    Forbidden(PathBuf),
    /// To write what nothing opens.
    Closed(PathBuf),
    /// To reach this host.
    Host(String),
    /// To reach this address without the proxy.
    Direct(String),
    /// To ask for the address of a name.
    Names,
    /// To reach the network at all.
    Network,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(path) | Self::Forbidden(path) | Self::Closed(path) => {
                write!(f, "writing {}", plain(path))
            }
            Self::Host(host) => write!(f, "reaching {host}"),
            Self::Direct(address) => write!(f, "reaching {address} directly"),
            Self::Names => f.write_str("looking up host names"),
            Self::Network => f.write_str("using the network"),
        }
    }
}

/// A path for one line of text: a name is no order to a terminal, and no line of its own.
fn plain(path: &Path) -> String {
    let safe = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    path.to_string_lossy().chars().map(safe).collect()
}

impl Refused {
    /// Whether it is about a file, not the network.
    fn is_write(&self) -> bool {
        matches!(self, Self::Write(_) | Self::Forbidden(_) | Self::Closed(_))
    }

    /// What would allow it, or why nothing does.
    fn remedy(&self) -> &'static str {
        match self {
            Self::Write(path)
                if ["/proc", "/sys", "/dev"].iter().any(|dir| path.starts_with(dir)) =>
            {
                ""
            }
            Self::Write(_) => ": sandbox.filesystem.allowWrite would allow it",
            Self::Forbidden(_) => ": sandbox.filesystem.denyWrite or a deny rule of Edit closes it",
            Self::Closed(_) => ": no setting opens it, because git runs what it says",
            Self::Host(_) => ": sandbox.network.allowedDomains would allow it",
            Self::Direct(_) | Self::Names => {
                ": hosts are reached through the proxy in HTTP_PROXY, as far as sandbox.network.allowedDomains allows them"
            }
            Self::Network => {
                ": sandbox.network.allowedDomains would allow it, at the level landlock only with `*`"
            }
        }
    }
}

/// Why a path of a confinement is left out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeftOut {
    /// Nothing is there.
    #[error("{} is not writable in the sandbox: it does not exist", .0.display())]
    Missing(PathBuf),
    /// A command could have made the link.
    #[error("{} is not writable in the sandbox: it is a symbolic link in a writable directory", .0.display())]
    Link(PathBuf),
    /// There are too many files to find all that rules with patterns hide.
    #[error(
        "not every file that rules with patterns close was found (limits: {looked_at} files looked at, {found} found): others are open"
    )]
    Files {
        /// How many are looked at.
        looked_at: usize,
        /// How many are kept.
        found: usize,
    },
    /// It is no directory.
    #[error("{} is not writable in the sandbox: it is not a directory", .0.display())]
    NoDirectory(PathBuf),
}

impl Confinement {
    /// The same with every path resolved, and what had to be left out. A link that a command could have made is none of a
    /// directory that may be written: it could lead anywhere.
    pub fn resolved(&self) -> (Self, Vec<LeftOut>) {
        let mut left_out = Vec::new();
        let mut writable: Vec<PathBuf> = Vec::new();
        for root in by_depth(&self.writable) {
            let within = |path: &Path| writable.iter().any(|known| path.starts_with(known));
            match root.canonicalize() {
                // It can be made.
                Err(_) if within(root) => {}
                Err(_) => left_out.push(LeftOut::Missing(root.clone())),
                Ok(real) if real != *root && within(root) && !within(&real) => {
                    left_out.push(LeftOut::Link(root.clone()));
                }
                Ok(real) if within(&real) => {}
                Ok(real) if !real.is_dir() => left_out.push(LeftOut::NoDirectory(root.clone())),
                Ok(real) => writable.push(real),
            }
        }
        let resolved = |paths: &[PathBuf]| -> Vec<PathBuf> {
            let mut all: Vec<PathBuf> = paths.iter().map(|path| real(path)).collect();
            all.sort();
            all.dedup();
            all
        };
        let confinement = Self {
            protected: resolved(&self.protected),
            forbidden: resolved(&self.forbidden),
            closed: resolved(&self.closed),
            hidden: resolved(&self.hidden),
            readable: resolved(&self.readable),
            temporary: real(&self.temporary),
            network: self.network.clone(),
            sockets: match &self.sockets {
                Sockets::These(paths) => Sockets::These(resolved(paths)),
                other => other.clone(),
            },
            writable,
        };
        (confinement, left_out)
    }

    /// Every path, those above others first. What comes later counts.
    fn layers(&self) -> Vec<(&Path, Access)> {
        let all = [
            (&self.readable, Access::Readable),
            (&self.writable, Access::Writable),
            (&self.protected, Access::Protected),
            (&self.hidden, Access::Hidden),
        ];
        let mut layers: Vec<(&Path, Access)> = all
            .into_iter()
            .flat_map(|(paths, access)| paths.iter().map(move |path| (path.as_path(), access)))
            .collect();
        // What a path lies in must stay where it is: something that is mounted cannot be moved away.
        let pinned: Vec<&Path> = self
            .protected
            .iter()
            .chain(&self.hidden)
            .flat_map(|path| path.ancestors().skip(1))
            .filter(|dir| self.writable.iter().any(|root| dir != root && dir.starts_with(root)))
            .collect();
        layers.extend(pinned.into_iter().map(|dir| (dir, Access::Pinned)));
        layers.sort_by_key(|(path, access)| (path.components().count(), *access));
        layers.dedup();
        layers
    }

    /// Whether a path may be written.
    pub fn may_write(&self, path: &Path) -> bool {
        let is_temporary =
            !self.temporary.as_os_str().is_empty() && path.starts_with(&self.temporary);
        let layers = self.layers();
        let counts = |(known, access): &&(&Path, Access)| {
            *access != Access::Pinned && path.starts_with(known)
        };
        let last = layers.iter().rev().find(counts);
        is_temporary || last.is_some_and(|(_, access)| *access == Access::Writable)
    }
}

impl Confinement {
    /// A write there that is refused, for those who want to know why.
    #[cfg(target_os = "linux")]
    fn refused_write(&self, path: &Path) -> Refused {
        // It is told and recorded as text.
        let path = PathBuf::from(path.to_string_lossy().into_owned());
        let lies_in = |all: &[PathBuf]| all.iter().any(|known| path.starts_with(known));
        match (lies_in(&self.closed), lies_in(&self.forbidden)) {
            (true, _) => Refused::Closed(path),
            (_, true) => Refused::Forbidden(path),
            _ => Refused::Write(path),
        }
    }
}

/// The version of the kernel's rules, at a level that uses them.
pub fn abi(level: SandboxLevel) -> Option<i32> {
    #[cfg(target_os = "linux")]
    return (level == SandboxLevel::Landlock).then(landlock::abi);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = level;
        None
    }
}

/// The limit for refused writes in a note. Every refused host is named.
const MAX_TOLD: usize = 5;

/// What was refused, a line for each, without what would allow it.
pub fn refusal_lines(refused: &[Refused]) -> String {
    refused.iter().take(MAX_TOLD).map(|one| format!("[sandbox] refused {one}\n")).collect()
}

/// What is said of refusals, and which settings would allow them.
pub fn refusal_note(refused: &[Refused]) -> Option<String> {
    if refused.is_empty() {
        return None;
    }
    let (hosts, writes): (Vec<&Refused>, Vec<&Refused>) =
        refused.iter().partition(|one| !one.is_write());
    let mut lines: Vec<String> = hosts
        .iter()
        .chain(writes.iter().take(MAX_TOLD))
        .map(|one| format!("[sandbox] refused {one}{}", one.remedy()))
        .collect();
    if writes.len() > MAX_TOLD {
        // No more than so many are kept.
        let at_least = if writes.len() < attend::MAX_WRITES { "" } else { "at least " };
        let more = writes.len() - MAX_TOLD;
        let writes = if more == 1 { "write" } else { "writes" };
        lines.push(format!("[sandbox] and refused {at_least}{more} more {writes}"));
    }
    Some(lines.join("\n"))
}

/// A confinement at a level, to be put around commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confined {
    /// The level.
    pub level: SandboxLevel,
    /// The program that it needs.
    pub helper: Option<PathBuf>,
    /// This program, to be started again inside namespaces: without it nothing is told and no host is reached.
    pub own_program: Option<PathBuf>,
    /// What is allowed, resolved.
    pub confinement: Confinement,
    /// What may be used up.
    pub limits: Limits,
}

/// Why a command cannot be confined. It does not run then.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// A protected name could not be kept free.
    #[error("a protected name cannot be kept free: {0}")]
    Placeholder(io::Error),
    /// The private pipe.
    #[error("the sandbox cannot be attended to: {0}")]
    Attend(io::Error),
    /// The rules of the kernel.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Landlock(#[from] landlock::LandlockError),
    /// The level does not exist here.
    #[error("the sandbox level {0} does not work on this system")]
    Elsewhere(SandboxLevel),
}

/// What has to be kept until a confined command has ended.
#[derive(Debug, Default)]
pub struct Held {
    _placeholders: Placeholders,
    #[cfg(target_os = "linux")]
    attendant: Option<attend::Attendant>,
    /// Whether the helper says when the command starts.
    #[cfg(target_os = "linux")]
    announces: bool,
}

impl Held {
    /// What was refused so far.
    pub fn refused(&self) -> Vec<Refused> {
        #[cfg(target_os = "linux")]
        return self.attendant.as_ref().map(attend::Attendant::refused).unwrap_or_default();
        #[cfg(not(target_os = "linux"))]
        Vec::new()
    }

    /// Whether the command itself has started, of one that has ended: if not, its exit code and its output are the
    /// helper's.
    pub fn has_started(&self) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(attendant) = self.attendant.as_ref().filter(|_| self.announces) {
            return attendant.has_started();
        }
        true
    }
}

impl Confined {
    /// A sandbox that nothing starts in: for programs that must not run outside of one that is not to be had.
    pub fn impossible() -> Self {
        Self {
            level: SandboxLevel::Bwrap,
            helper: None,
            own_program: None,
            confinement: Confinement::default(),
            limits: Limits::default(),
        }
    }

    /// A program as it runs at this level, and what has to be held until it has ended.
    pub fn command(
        &self,
        program: &Path,
        args: &[OsString],
        cwd: &Path,
    ) -> Result<(Command, Held), ConfineError> {
        let plain = |program: &Path| {
            let mut command = Command::new(program);
            command.args(args).current_dir(cwd);
            command
        };
        match (self.level, &self.helper) {
            (SandboxLevel::None, _) => {
                let mut command = plain(program);
                self.limits.set(&mut command);
                Ok((command, Held::default()))
            }
            #[cfg(target_os = "linux")]
            (SandboxLevel::Bwrap | SandboxLevel::BwrapNoproc, Some(helper)) => {
                self.in_namespaces(helper, program, args, cwd)
            }
            #[cfg(target_os = "linux")]
            (SandboxLevel::Landlock, _) => {
                // What lies in a writable directory is not protected there, so nothing is refused.
                let allowed = Confinement { protected: Vec::new(), ..self.confinement.clone() };
                let rules = watch::Rules::new(allowed, false);
                let network = self.confinement.network.clone();
                let (attendant, pipe) =
                    attend::Attendant::new(rules, network).map_err(ConfineError::Attend)?;
                let mut command = plain(program);
                landlock::confine(&mut command, &self.confinement, Some(pipe))?;
                self.limits.set(&mut command);
                Ok((command, Held { attendant: Some(attendant), ..Held::default() }))
            }
            #[cfg(target_os = "macos")]
            (SandboxLevel::Seatbelt, Some(helper)) => {
                let mut command = Command::new(helper);
                command.arg("-p").arg(seatbelt::profile(&self.confinement)).arg(program);
                command.args(args).current_dir(cwd);
                self.limits.set(&mut command);
                Ok((command, Held::default()))
            }
            (level, _) => Err(ConfineError::Elsewhere(level)),
        }
    }

    /// Inside bubblewrap's namespaces this program is started again, and becomes the command.
    #[cfg(target_os = "linux")]
    fn in_namespaces(
        &self,
        helper: &Path,
        program: &Path,
        args: &[OsString],
        cwd: &Path,
    ) -> Result<(Command, Held), ConfineError> {
        let placeholders =
            Placeholders::new(&self.confinement.protected).map_err(ConfineError::Placeholder)?;
        let fresh_proc = self.level == SandboxLevel::Bwrap;
        let mut command = Command::new(helper);
        let mut arguments = bwrap::Arguments::of(&self.confinement, fresh_proc);
        if let Some(own) = &self.own_program {
            arguments.keep_visible(own);
        }
        command.args(arguments.end(cwd)).current_dir("/");
        if self.own_program.is_none() {
            command.arg("--");
        }
        let mut held = Held { _placeholders: placeholders, ..Held::default() };
        match &self.own_program {
            None => self.limits.set(&mut command),
            Some(own) => {
                let network = self.confinement.network.clone();
                let rules = watch::Rules::new(self.confinement.clone(), true);
                let (attendant, pipe) =
                    attend::Attendant::new(rules, network).map_err(ConfineError::Attend)?;
                let (http, socks) = self.ports();
                let entry = enter::Entry {
                    pipe: std::os::fd::AsRawFd::as_raw_fd(&pipe),
                    http,
                    socks,
                    own_network: self.confinement.network != Network::Everything,
                    filtered: seccomp::Filtered {
                        // The first process of the namespace is none of the command's.
                        others: true,
                        network: false,
                        unix: self.confinement.sockets == Sockets::None,
                    },
                    limits: self.limits,
                };
                command.arg("--as-pid-1").arg("--").arg(own).args(entry.words());
                enter::inherit(&mut command, pipe);
                (held.attendant, held.announces) = (Some(attendant), true);
            }
        }
        command.arg(program).args(args);
        Ok((command, held))
    }

    /// The ports inside a network namespace for the proxy, and for the user's SOCKS proxy.
    fn ports(&self) -> (Option<u16>, Option<u16>) {
        match &self.confinement.network {
            Network::Hosts(_) => (Some(HTTP_PORT), None),
            Network::Proxies { http, socks } => {
                (http.map(|_| HTTP_PORT), socks.map(|_| SOCKS_PORT))
            }
            Network::Everything => (None, None),
        }
    }

    /// Variables that a command needs to find its way.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        if self.level == SandboxLevel::None {
            return Vec::new();
        }
        let mut all = vec![("TMPDIR".into(), self.confinement.temporary.clone().into())];
        let has_namespace = matches!(self.level, SandboxLevel::Bwrap | SandboxLevel::BwrapNoproc);
        let (http, socks) = match has_namespace && self.own_program.is_some() {
            true => self.ports(),
            false => (None, None),
        };
        let mut set = |names: &[&str], value: String| {
            all.extend(names.iter().map(|name| (name.into(), value.clone().into())));
        };
        if let Some(port) = http {
            let names = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];
            set(&names, format!("http://127.0.0.1:{port}"));
        }
        if let Some(port) = socks {
            set(&["ALL_PROXY", "all_proxy"], format!("socks5h://127.0.0.1:{port}"));
        }
        if http.is_some() || socks.is_some() {
            set(&["NO_PROXY", "no_proxy"], NO_PROXY.to_owned());
        }
        all
    }
}

/// A path whose existing part is resolved.
fn real(path: &Path) -> PathBuf {
    for known in path.ancestors() {
        if let Ok(real) = known.canonicalize() {
            let rest = path.strip_prefix(known).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_owned()
}

/// Paths, those above others first.
fn by_depth(paths: &[PathBuf]) -> Vec<&PathBuf> {
    let mut sorted: Vec<&PathBuf> = paths.iter().collect();
    sorted.sort_by_key(|path| path.components().count());
    sorted
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn in_an_impossible_sandbox_nothing_starts() {
        let made = Confined::impossible().command(Path::new("/bin/true"), &[], Path::new("/"));
        assert!(matches!(made, Err(ConfineError::Elsewhere(SandboxLevel::Bwrap))));
    }

    #[test]
    fn links_that_a_command_could_have_made_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["work/sub", "secret"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("file"), "").unwrap();
        symlink(root.join("work"), root.join("link")).unwrap();
        symlink(root.join("secret"), root.join("work/build")).unwrap();
        symlink("sub", root.join("work/inner")).unwrap();
        let at = |names: &[&str]| names.iter().map(|name| root.join(name)).collect::<Vec<_>>();
        let wanted = Confinement {
            writable: at(&["work/build", "work/inner", "link", "none", "file"]),
            ..Confinement::default()
        };
        let (confinement, left_out) = wanted.resolved();
        assert_eq!(confinement.writable, at(&["work"]));
        assert_eq!(
            left_out,
            [
                LeftOut::Missing(root.join("none")),
                LeftOut::NoDirectory(root.join("file")),
                LeftOut::Link(root.join("work/build")),
            ]
        );
    }

    #[test]
    fn what_is_protected_may_not_be_written() {
        let path = |text: &str| PathBuf::from(text);
        let confinement = Confinement {
            writable: vec![path("/w")],
            protected: vec![path("/w/.git"), path("/home")],
            hidden: vec![path("/w/secret"), path("/home/u")],
            ..Confinement::default()
        };
        let confinement =
            Confinement { writable: vec![path("/w"), path("/home/u/project")], ..confinement };
        for (file, may) in [
            ("/home/u/project/a", true),
            ("/home/u/a", false),
            ("/w/a", true),
            ("/w/.github/a", true),
            ("/w/.git/hooks/a", false),
            ("/w/secret", false),
            ("/etc/a", false),
            ("/world", false),
        ] {
            assert_eq!(confinement.may_write(&path(file)), may, "{file}");
        }
    }
}
