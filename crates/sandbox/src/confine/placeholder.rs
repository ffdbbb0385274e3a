//! Names that must not be made while a command runs.
//!
//! A mount needs something that it is mounted on. Where a protected name does not exist, an empty directory stands for it
//! while commands run, and goes again with the last of them.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use nix::libc;

/// Empty directories in the place of names that do not exist.
#[derive(Debug, Default)]
pub struct Placeholders(Vec<(PathBuf, Option<Flock<File>>)>);

impl Placeholders {
    /// Makes them. What exists already is left alone, unless it is a placeholder of another command: then both hold it.
    pub fn new(names: &[PathBuf]) -> io::Result<Self> {
        let mut all = Self::default();
        for name in names {
            let is_new = match fs::create_dir(name) {
                Ok(()) => true,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
                // Nothing can be made below what does not exist either.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            if is_new || is_empty(name) {
                let held = hold(name)?;
                all.0.push((name.clone(), Some(held)));
            }
        }
        Ok(all)
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        for (name, held) in &mut self.0 {
            let Some(held) = held.take() else { continue };
            // Whoever is alone with it removes it. It is no longer empty if it was filled from outside.
            if held.relock(FlockArg::LockExclusiveNonblock).is_ok() {
                let _ = fs::remove_dir(name);
            }
        }
    }
}

fn is_empty(dir: &Path) -> bool {
    fs::symlink_metadata(dir).is_ok_and(|meta| meta.is_dir())
        && fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
}

fn hold(dir: &Path) -> io::Result<Flock<File>> {
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(dir)?;
    Flock::lock(file, FlockArg::LockShared).map_err(|(_, error)| error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_several_removes_it() {
        let dir = tempfile::tempdir().unwrap();
        let (missing, there) = (dir.path().join(".git"), dir.path().join("runs"));
        fs::create_dir(&there).unwrap();
        fs::write(there.join("x"), "").unwrap();
        let names = [missing.clone(), there.clone(), dir.path().join("no/such")];
        let first = Placeholders::new(&names).unwrap();
        let second = Placeholders::new(&names).unwrap();
        assert!(missing.is_dir());
        drop(first);
        assert!(missing.is_dir(), "the other still needs it");
        drop(second);
        assert!(!missing.exists() && there.exists());
    }

    #[test]
    fn what_was_put_into_it_from_outside_stays() {
        let dir = tempfile::tempdir().unwrap();
        let name = dir.path().join(".git");
        let held = Placeholders::new(std::slice::from_ref(&name)).unwrap();
        fs::write(name.join("config"), "").unwrap();
        drop(held);
        assert!(name.join("config").exists());
    }
}
