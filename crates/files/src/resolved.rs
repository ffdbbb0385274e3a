//! Directories of a path that was resolved before.
//!
//! A resolved path has no links in it. If there is one now, somebody has put it there since, and it is not followed,
//! wherever in the path it stands.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::{Mode, mkdirat};

/// A directory that is held open: its name may be given to another one, and it stays the same.
#[derive(Debug)]
pub(crate) struct HeldDir(File);

impl HeldDir {
    /// Opens a directory by its resolved path. Missing ones are created if `make` is set.
    pub(crate) fn open(path: &Path, make: bool) -> io::Result<Self> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mut dir: OwnedFd = open("/", flags, Mode::empty())?;
        for component in path.components() {
            let name = match component {
                Component::RootDir => continue,
                Component::Normal(name) => name,
                // It is not resolved.
                _ => return Err(io::ErrorKind::InvalidInput.into()),
            };
            let next = openat(&dir, name, flags, Mode::empty());
            dir = match next {
                Err(Errno::ENOENT) if make => {
                    match mkdirat(&dir, name, Mode::from_bits_truncate(0o777)) {
                        // Another process may have made it meanwhile.
                        Ok(()) | Err(Errno::EEXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    openat(&dir, name, flags, Mode::empty())?
                }
                next => next?,
            };
        }
        Ok(Self(File::from(dir)))
    }

    /// A path that leads to this directory as long as it is held, whatever its name is.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_link_is_followed_wherever_it_stands() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("real/inner")).unwrap();
        symlink("real", top.join("link")).unwrap();
        symlink("inner", top.join("real/last")).unwrap();
        for (path, opens) in
            [("real/inner", true), ("link/inner", false), ("real/last", false), ("none", false)]
        {
            assert_eq!(HeldDir::open(&top.join(path), false).is_ok(), opens, "{path}");
        }
        assert!(HeldDir::open(&top.join("link/new/er"), true).is_err());
        assert!(!top.join("real/new").exists(), "nothing is made behind a link");
        HeldDir::open(&top.join("real/new/er"), true).unwrap();
        assert!(top.join("real/new/er").is_dir());
    }

    #[test]
    fn a_held_directory_stays_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a")).unwrap();
        let held = HeldDir::open(&top.join("a"), false).unwrap();
        fs::rename(top.join("a"), top.join("b")).unwrap();
        symlink("/", top.join("a")).unwrap();
        fs::write(held.path().join("x"), "x").unwrap();
        assert!(top.join("b/x").exists());
    }
}
