//! What a command may touch, and how a level sees to it.
//!
//! A [`Confinement`] says what is allowed, in paths. `bwrap` makes arguments for bubblewrap of it, `landlock` rules for
//! the kernel. None of them decides anything: whoever builds a confinement does.

pub mod bwrap;
pub mod known;
#[cfg(target_os = "linux")]
pub mod landlock;
mod limits;
mod placeholder;
pub mod probe;
#[cfg(target_os = "linux")]
mod seccomp;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use ona_types::SandboxLevel;

pub use limits::Limits;
pub use placeholder::Placeholders;

/// What a command may touch. All paths are absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Directories in which everything may be written.
    pub writable: Vec<PathBuf>,
    /// What in them may only be read. It need not exist: then it cannot be made.
    pub protected: Vec<PathBuf>,
    /// What cannot even be read.
    pub hidden: Vec<PathBuf>,
    /// A directory of the session in the place of `/tmp`.
    pub temporary: PathBuf,
    /// What it reaches of the network.
    pub network: Network,
}

/// What a command reaches of the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Nothing.
    #[default]
    Nothing,
    /// Hosts that a proxy lets through, which listens at this socket.
    Proxy(PathBuf),
    /// Everything.
    Everything,
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
                Err(_) => left_out.push(LeftOut::Missing(root.clone())),
                Ok(real) if real != *root && within(root) && !within(&real) => {
                    left_out.push(LeftOut::Link(root.clone()));
                }
                Ok(real) if !real.is_dir() => left_out.push(LeftOut::NoDirectory(root.clone())),
                Ok(real) if within(&real) => {}
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
            hidden: resolved(&self.hidden),
            temporary: real(&self.temporary),
            network: self.network.clone(),
            writable,
        };
        (confinement, left_out)
    }

    /// Whether a path lies in a directory that may be written.
    pub fn may_write(&self, path: &Path) -> bool {
        let in_any = |all: &[PathBuf]| all.iter().any(|one| path.starts_with(one));
        in_any(&self.writable) && !in_any(&self.protected) && !in_any(&self.hidden)
    }
}

/// A confinement at a level, to be put around commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confined {
    /// The level.
    pub level: SandboxLevel,
    /// The program that it needs.
    pub helper: Option<PathBuf>,
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
    Placeholder(#[from] io::Error),
    /// The rules of the kernel.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Landlock(#[from] landlock::LandlockError),
    /// The level does not exist here.
    #[error("the sandbox level {0} does not work on this system")]
    Elsewhere(SandboxLevel),
}

impl Confined {
    /// A program as it runs at this level, and what has to be held until it has ended.
    pub fn command(
        &self,
        program: &Path,
        args: &[OsString],
        cwd: &Path,
    ) -> Result<(Command, Placeholders), ConfineError> {
        let plain = || {
            let mut command = Command::new(program);
            command.args(args).current_dir(cwd);
            command
        };
        let (mut command, held) = match (self.level, &self.helper) {
            (SandboxLevel::None, _) => (plain(), Placeholders::default()),
            (level @ (SandboxLevel::Bwrap | SandboxLevel::BwrapNoproc), Some(helper)) => {
                let held = Placeholders::new(&self.confinement.protected)?;
                let fresh_proc = level == SandboxLevel::Bwrap;
                let mut command = Command::new(helper);
                command
                    .args(bwrap::arguments(&self.confinement, cwd, fresh_proc))
                    .arg(program)
                    .args(args)
                    .current_dir("/");
                (command, held)
            }
            #[cfg(target_os = "linux")]
            (SandboxLevel::Landlock, _) => {
                let mut command = plain();
                landlock::confine(&mut command, &self.confinement)?;
                (command, Placeholders::default())
            }
            (level, _) => return Err(ConfineError::Elsewhere(level)),
        };
        self.limits.set(&mut command);
        Ok((command, held))
    }

    /// Variables that a command needs to find its way.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        let temporary = match self.level {
            SandboxLevel::None => return Vec::new(),
            SandboxLevel::Bwrap | SandboxLevel::BwrapNoproc => PathBuf::from("/tmp"),
            SandboxLevel::Landlock | SandboxLevel::Seatbelt => self.confinement.temporary.clone(),
        };
        vec![("TMPDIR".into(), temporary.into())]
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
            protected: vec![path("/w/.git")],
            hidden: vec![path("/w/secret")],
            ..Confinement::default()
        };
        for (file, may) in [
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
