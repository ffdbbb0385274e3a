//! Names that must not be made while a command runs.
//!
//! A mount needs something that it is mounted on. Where a protected name does not exist, an empty directory stands for it
//! while commands run, and goes again with the last of them.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use nix::libc;

/// The permissions by which they are known.
const MODE: u32 = ona_types::PLACEHOLDER_MODE;

/// Empty directories in the place of names that do not exist.
#[derive(Debug, Default)]
pub struct Placeholders(Vec<(PathBuf, Option<Flock<File>>)>);

impl Placeholders {
    /// Makes them. What exists already is left alone, unless it is a placeholder of another command: then both hold it.
    pub fn new(names: &[PathBuf]) -> io::Result<Self> {
        let mut all = Self::default();
        for name in names {
            if let Some(held) = placeholder(name)? {
                all.0.push((name.clone(), Some(held)));
            }
        }
        Ok(all)
    }
}

/// Makes one, or holds one that is there; `None` if it needs none.
fn placeholder(name: &Path) -> io::Result<Option<Flock<File>>> {
    const TRIES: usize = 100;
    for _ in 0..TRIES {
        match DirBuilder::new().mode(MODE).create(name) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                match is_placeholder(name) {
                    Ok(true) => {}
                    Ok(false) => return Ok(None),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(error),
                }
            }
            // What we cannot make, the command cannot make either.
            Err(error) if is_impossible(&error) => return Ok(None),
            Err(error) => return Err(error),
        }
        // Whoever held it last may have removed it just now.
        match hold(name) {
            Ok(held) if is_still(name, &held) => return Ok(Some(held)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("{} comes and goes", name.display())))
}

/// Whether nothing can be made there: below what does not exist or is no directory, or where the user may not write.
fn is_impossible(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
    )
}

/// Whether a name still stands for an open directory.
fn is_still(name: &Path, held: &File) -> bool {
    let of = |meta: fs::Metadata| (meta.dev(), meta.ino());
    let (named, open) = (fs::symlink_metadata(name).map(of), held.metadata().map(of));
    matches!((named, open), (Ok(named), Ok(open)) if named == open)
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        for (name, held) in &mut self.0 {
            let Some(held) = held.take() else { continue };
            // Whoever is alone with it removes it. The lock is let go while it is changed, so that meanwhile another may have
            // removed it and a third made it anew. It is no longer empty if it was filled from outside.
            let alone = held.relock(FlockArg::LockExclusiveNonblock);
            if alone.is_ok() && is_still(name, &held) {
                let _ = fs::remove_dir(name);
            }
        }
    }
}

/// Whether a directory is one, also of a process that was killed. An empty directory of the user is none.
fn is_placeholder(dir: &Path) -> io::Result<bool> {
    let meta = fs::symlink_metadata(dir)?;
    let could_be = meta.is_dir() && meta.mode() & 0o777 == MODE;
    Ok(could_be && fs::read_dir(dir)?.next().is_none())
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
    fn many_at_once_never_leave_a_name_free() {
        let dir = tempfile::tempdir().unwrap();
        let name = dir.path().join(".git");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let held = Placeholders::new(std::slice::from_ref(&name)).unwrap();
                        assert!(name.is_dir());
                        drop(held);
                    }
                });
            }
        });
        assert!(!name.exists());
    }

    #[test]
    fn one_that_a_killed_process_has_left_goes_with_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let name = dir.path().join(".git");
        DirBuilder::new().mode(MODE).create(&name).unwrap();
        drop(Placeholders::new(std::slice::from_ref(&name)).unwrap());
        assert!(!name.exists());
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
