//! Bubblewrap: namespaces of its own for a command, and a file system in which only some of it can be written.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{Access, Confinement, Network, Sockets};

/// Directories whose sockets and files are other programs'. `/tmp` is the session's own.
const EMPTY: [&str; 2] = ["/run", "/var/tmp"];
/// The file with the name servers; often it is a link into `/run`.
const NAME_SERVERS: &str = "/etc/resolv.conf";

/// Why a helper is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoHelper {
    /// There is none.
    #[error("bwrap is not installed")]
    Missing,
    /// Others than the administrator could have changed it.
    #[error("{} is not used: {why}", path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: &'static str,
    },
}

/// Bubblewrap on this path, as long as only the administrator can have put it there: not in one of the directories that
/// commands may write.
pub fn find(path: &OsStr, writable: &[PathBuf]) -> Result<PathBuf, NoHelper> {
    let mut unfit = None;
    for dir in std::env::split_paths(path).filter(|dir| dir.is_absolute()) {
        let Ok(file) = dir.join("bwrap").canonicalize() else { continue };
        let is_inside = writable.iter().any(|dir| file.starts_with(dir));
        let inside = is_inside.then_some("commands can write there");
        match inside.or_else(|| fitness(&file)) {
            None => return Ok(file),
            Some(why) => unfit = unfit.or(Some(NoHelper::Unfit { path: file, why })),
        }
    }
    Err(unfit.unwrap_or(NoHelper::Missing))
}

/// Why a file is not fit to be the helper.
fn fitness(file: &Path) -> Option<&'static str> {
    let is_open = |path: &Path| {
        // A directory such as `/tmp` is open too, although nobody can replace another user's file there.
        fs::metadata(path).is_ok_and(|meta| meta.uid() != 0 || meta.mode() & 0o022 != 0)
    };
    let Ok(meta) = fs::metadata(file) else { return Some("it cannot be read") };
    if !meta.is_file() {
        return Some("it is not a file");
    }
    if file.ancestors().any(is_open) {
        return Some("others than root can change it");
    }
    let mut start = [0; 4];
    match File::open(file).and_then(|mut file| file.read_exact(&mut start)) {
        Ok(()) if start == *b"\x7fELF" => None,
        Ok(()) => Some("it is a script"),
        Err(_) => Some("it cannot be read"),
    }
}

/// Arguments in the making.
#[derive(Debug, Default)]
pub struct Arguments {
    words: Vec<OsString>,
    /// Where something else stands in the place of what is there.
    covered: Vec<PathBuf>,
    /// Where what is there can be seen again.
    shown: Vec<PathBuf>,
}

impl Arguments {
    /// The arguments for a confinement.
    pub fn of(confinement: &Confinement, fresh_proc: bool) -> Self {
        let shown = [confinement.writable.as_slice(), &confinement.readable].concat();
        let mut args = Self { shown, ..Self::default() };
        args.flags(&[
            "--die-with-parent",
            "--unshare-user",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--unshare-cgroup-try",
        ]);
        if confinement.network != Network::Everything {
            args.flags(&["--unshare-net"]);
        }
        args.flags(&["--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev"]);
        // Root without capabilities is still the owner of the kernel's settings.
        args.flags(match fresh_proc {
            true => &["--proc", "/proc", "--remount-ro", "/proc"],
            false => &["--tmpfs", "/proc", "--remount-ro", "/proc"],
        });
        for dir in EMPTY.into_iter().filter(|dir| is_real_dir(Path::new(dir))) {
            args.flags(&["--tmpfs", dir]);
            args.covered.push(dir.into());
        }
        if confinement.network == Network::Everything
            && let Ok(real) = Path::new(NAME_SERVERS).canonicalize()
        {
            args.mount("--ro-bind-try", &real, &real);
        }
        // What is mounted below it needs a place there. That must not be one that a command could have made a link of: so it
        // is a new one for each command.
        args.flags(&["--tmpfs", "/tmp"]);
        args.covered.push("/tmp".into());
        args.mount("--bind", &confinement.temporary, &confinement.temporary);
        for (path, access) in confinement.layers() {
            match access {
                Access::Pinned if args.shows(path) && is_real_dir(path) => {
                    args.mount("--bind", path, path);
                }
                Access::Pinned => {}
                Access::Readable => args.mount("--ro-bind-try", path, path),
                Access::Writable => args.mount("--bind", path, path),
                // In what cannot be seen there is nothing to protect or to hide.
                _ if !args.shows(path) => continue,
                Access::Protected => args.mount("--ro-bind-try", path, path),
                Access::Hidden if path.is_dir() => {
                    args.path("--tmpfs", path);
                    args.covered.push(path.to_owned());
                }
                Access::Hidden if path.exists() => {
                    args.mount("--ro-bind", Path::new("/dev/null"), path);
                }
                Access::Hidden => {}
            }
        }
        if let Sockets::These(sockets) = &confinement.sockets {
            let is_other = |socket: &PathBuf| !sockets.contains(socket) && args.shows(socket);
            let others: Vec<PathBuf> = sockets_of_this_machine().filter(is_other).collect();
            for socket in others {
                args.mount("--ro-bind", Path::new("/dev/null"), &socket);
            }
            for socket in sockets.iter().filter(|socket| socket.exists()) {
                args.mount("--bind", socket, socket);
            }
        }
        // Last: mounts below it have to be made before.
        for path in confinement.hidden.iter().filter(|path| path.is_dir()) {
            if args.covered.contains(path) {
                args.path("--remount-ro", path);
            }
        }
        args
    }

    /// Lets a file be seen, wherever it is.
    pub fn keep_visible(&mut self, file: &Path) {
        if !self.shows(file) {
            self.mount("--ro-bind", file, file);
        }
    }

    /// The whole list, for a command that starts in this directory and follows it behind `--`.
    pub fn end(mut self, cwd: &Path) -> Vec<OsString> {
        self.path("--chdir", cwd);
        self.words
    }

    /// Whether what is at a path can be seen: not below a directory that is covered, unless below a root in it.
    fn shows(&self, path: &Path) -> bool {
        let depth = |all: &[PathBuf]| {
            let above = all.iter().filter(|dir| path.starts_with(dir));
            above.map(|dir| dir.components().count()).max().unwrap_or(0)
        };
        let covered = depth(&self.covered);
        covered == 0 || depth(&self.shown) > covered
    }

    fn flags(&mut self, flags: &[&str]) {
        self.words.extend(flags.iter().map(OsString::from));
    }

    fn path(&mut self, flag: &str, path: &Path) {
        self.words.extend([OsString::from(flag), path.into()]);
    }

    fn mount(&mut self, flag: &str, from: &Path, to: &Path) {
        self.words.extend([OsString::from(flag), from.into(), to.into()]);
    }
}

/// The sockets of programs on this machine that have a name in the file system.
fn sockets_of_this_machine() -> impl Iterator<Item = PathBuf> {
    let list = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let paths: Vec<PathBuf> = list
        .lines()
        .filter_map(|line| line.find(" /").map(|at| PathBuf::from(&line[at + 1..])))
        .collect();
    paths.into_iter().filter(|path| path.exists())
}

fn is_real_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn words(confinement: &Confinement) -> String {
        let args = Arguments::of(confinement, true).end(Path::new("/w"));
        let words: Vec<_> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        words.join(" ")
    }

    #[test]
    fn what_lies_deeper_counts() {
        let confinement = Confinement {
            writable: vec!["/etc/b".into(), "/w".into()],
            protected: vec!["/w/.git".into()],
            hidden: vec!["/etc".into()],
            readable: Vec::new(),
            temporary: "/state/tmp".into(),
            ..Confinement::default()
        };
        let words = words(&confinement);
        let at = |part: &str| words.find(part).unwrap_or_else(|| panic!("{part}: {words}"));
        let order = [
            "--ro-bind / /",
            "--proc /proc --remount-ro /proc",
            "--tmpfs /tmp",
            "--bind /w /w",
            "--tmpfs /etc",
            "--bind /etc/b /etc/b",
            "--ro-bind-try /w/.git /w/.git",
            "--remount-ro /etc",
            "--chdir /w",
        ];
        assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{words}");
        assert!(words.contains("--unshare-net") && words.contains("--cap-drop ALL"), "{words}");
        let open = Confinement { network: Network::Everything, ..confinement };
        assert!(!super::tests::words(&open).contains("--unshare-net"));
    }

    #[test]
    fn a_helper_that_others_could_have_put_there_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("bwrap");
        fs::write(&file, "#!/bin/sh\nexec \"$@\"\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        let found = find(dir.path().as_os_str(), &[]);
        assert!(matches!(found, Err(NoHelper::Unfit { .. })), "{found:?}");
        assert_eq!(find(OsStr::new("/no/such/dir:relative"), &[]), Err(NoHelper::Missing));
        // Root's own file is none either where commands can write.
        if let Ok(file) = find(OsStr::new("/usr/bin"), &[]) {
            let found = find(OsStr::new("/usr/bin"), &["/usr".into()]);
            let why = "commands can write there";
            assert_eq!(found, Err(NoHelper::Unfit { path: file, why }));
        }
    }
}
