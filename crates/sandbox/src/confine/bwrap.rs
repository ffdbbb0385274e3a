//! Bubblewrap: namespaces of its own for a command, and a file system in which only some of it can be written.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{Confinement, Network, by_depth};

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

/// Bubblewrap on this path, as long as only the administrator can have put it there.
pub fn find(path: &OsStr) -> Result<PathBuf, NoHelper> {
    let mut unfit = None;
    for dir in std::env::split_paths(path).filter(|dir| dir.is_absolute()) {
        let Ok(file) = dir.join("bwrap").canonicalize() else { continue };
        match fitness(&file) {
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

/// The arguments for a command, which follows them.
pub fn arguments(confinement: &Confinement, cwd: &Path, fresh_proc: bool) -> Vec<OsString> {
    let mut args = Arguments::default();
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
    }
    if confinement.network == Network::Everything
        && let Ok(real) = Path::new(NAME_SERVERS).canonicalize()
    {
        args.mount("--ro-bind-try", &real, &real);
    }
    args.mount("--bind", &confinement.temporary, Path::new("/tmp"));
    for root in by_depth(&confinement.writable) {
        args.mount("--bind", root, root);
    }
    if let Network::Proxy(socket) = &confinement.network {
        args.mount("--ro-bind", socket, socket);
    }
    for path in by_depth(&confinement.protected) {
        args.mount("--ro-bind-try", path, path);
    }
    for path in by_depth(&confinement.hidden).into_iter().filter(|path| is_seen(path, confinement))
    {
        if path.is_dir() {
            args.path("--tmpfs", path);
            args.path("--remount-ro", path);
        } else if path.exists() {
            args.mount("--ro-bind", Path::new("/dev/null"), path);
        }
    }
    args.path("--chdir", cwd);
    args.flags(&["--"]);
    args.0
}

fn is_real_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// Whether a path can be seen at all: not below a directory that is empty, unless it is below a root in it.
fn is_seen(path: &Path, confinement: &Confinement) -> bool {
    let is_covered = EMPTY.into_iter().chain(["/tmp"]).any(|dir| path.starts_with(dir));
    !is_covered || confinement.writable.iter().any(|root| path.starts_with(root))
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn flags(&mut self, flags: &[&str]) {
        self.0.extend(flags.iter().map(OsString::from));
    }

    fn path(&mut self, flag: &str, path: &Path) {
        self.0.extend([OsString::from(flag), path.into()]);
    }

    fn mount(&mut self, flag: &str, from: &Path, to: &Path) {
        self.0.extend([OsString::from(flag), from.into(), to.into()]);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn words(confinement: &Confinement) -> String {
        let args = arguments(confinement, Path::new("/w"), true);
        let words: Vec<_> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        words.join(" ")
    }

    #[test]
    fn what_is_hidden_comes_last_and_roots_before_what_is_protected_in_them() {
        let confinement = Confinement {
            writable: vec!["/w/a/b".into(), "/w".into()],
            protected: vec!["/w/.git".into()],
            hidden: vec!["/etc".into()],
            temporary: "/state/tmp".into(),
            network: Network::Nothing,
        };
        let words = words(&confinement);
        let at = |part: &str| words.find(part).unwrap_or_else(|| panic!("{part}: {words}"));
        let order = [
            "--ro-bind / /",
            "--proc /proc --remount-ro /proc",
            "--bind /state/tmp /tmp",
            "--bind /w /w",
            "--bind /w/a/b /w/a/b",
            "--ro-bind-try /w/.git /w/.git",
            "--tmpfs /etc --remount-ro /etc",
            "--chdir /w --",
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
        let found = find(dir.path().as_os_str());
        assert!(matches!(found, Err(NoHelper::Unfit { .. })), "{found:?}");
        assert_eq!(find(OsStr::new("/no/such/dir:relative")), Err(NoHelper::Missing));
    }
}
