//! Locks between processes. The kernel releases a lock when its process ends, even by a crash.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;

/// The time between two attempts to take a lock.
const PAUSE: Duration = Duration::from_micros(500);

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process held it for longer than the patience.
    #[error("another process holds the lock {} for longer than {patience:?}: wait for it, or end it", path.display())]
    Held {
        /// What is locked.
        path: PathBuf,
        /// How long this process waited.
        patience: Duration,
    },
    /// The path is a directory, a link, a pipe or a device.
    #[error("{} is not a regular file, and cannot be a lock: remove it", .0.display())]
    NotRegular(PathBuf),
    /// The file system refuses.
    #[error("the lock {} cannot be taken: {error}", path.display())]
    Io {
        /// What should be locked.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock file at `path`, which is created if missing.
    pub fn acquire(path: &Path, patience: Duration) -> Result<Self, LockError> {
        acquire(path, patience, || open_or_make(path, 0o666))
    }

    /// The same; a new lock file is accessible to its owner only.
    pub fn acquire_private(path: &Path, patience: Duration) -> Result<Self, LockError> {
        acquire(path, patience, || open_or_make(path, 0o600))
    }

    /// Takes the lock on a directory, so that no lock file is left in it. Not every file system can do that; where
    /// it cannot, nothing is locked, and the comparison before replacing must suffice.
    pub fn acquire_directory(dir: &Path, patience: Duration) -> Result<Option<Self>, LockError> {
        match acquire(dir, patience, || File::open(dir)) {
            Ok(lock) => Ok(Some(lock)),
            Err(LockError::Io { .. }) if dir.is_dir() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes the lock on a file that must exist and has not been replaced meanwhile. Returns the file.
    pub(crate) fn existing(path: &Path, patience: Duration) -> Result<File, LockError> {
        let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
        let open = || OpenOptions::new().read(true).custom_flags(flags.bits()).open(path);
        acquire(path, patience, open).map(|lock| lock._file)
    }
}

/// A link is not followed, a pipe not waited for.
fn open_or_make(path: &Path, mode: u32) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    options.mode(mode).custom_flags(flags.bits()).open(path)
}

/// The one loop that waits for a lock.
#[allow(clippy::disallowed_methods, reason = "this is where locks are taken")]
fn acquire(
    path: &Path,
    patience: Duration,
    open: impl Fn() -> io::Result<File>,
) -> Result<Lock, LockError> {
    let failed = |error| LockError::Io { path: path.to_owned(), error };
    let started = Instant::now();
    loop {
        let file = open().map_err(|error| match fs::symlink_metadata(path) {
            Ok(meta) if !meta.is_file() && !meta.is_dir() => LockError::NotRegular(path.to_owned()),
            _ => failed(error),
        })?;
        let meta = file.metadata().map_err(failed)?;
        if !meta.is_file() && !meta.is_dir() {
            return Err(LockError::NotRegular(path.to_owned()));
        }
        match file.try_lock() {
            Ok(()) if is_still(&meta, path) => return Ok(Lock { _file: file }),
            // It was removed or replaced between opening and locking, so this lock protects nothing.
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        if started.elapsed() >= patience {
            return Err(LockError::Held { path: path.to_owned(), patience });
        }
    }
}

fn is_still(opened: &fs::Metadata, path: &Path) -> bool {
    let named = fs::metadata(path);
    named.is_ok_and(|named| (named.dev(), named.ino()) == (opened.dev(), opened.ino()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn one_at_a_time_and_the_other_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = Lock::acquire(&path, Duration::ZERO).unwrap();
        let error = Lock::acquire(&path, Duration::ZERO).unwrap_err();
        assert!(matches!(error, LockError::Held { .. }), "{error}");
        assert!(error.to_string().contains("another process holds the lock"), "{error}");
        drop(held);
        Lock::acquire(&path, Duration::ZERO).unwrap();
    }

    #[test]
    fn whoever_waits_gets_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = Lock::acquire(&path, Duration::ZERO).unwrap();
        thread::scope(|scope| {
            let waits = scope.spawn(|| Lock::acquire(&path, Duration::from_secs(30)).is_ok());
            drop(held);
            assert!(waits.join().unwrap());
        });
    }

    #[test]
    fn a_lock_file_that_was_removed_keeps_nobody_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let old = Lock::acquire(&path, Duration::ZERO).unwrap();
        fs::remove_file(&path).unwrap();
        let new = Lock::acquire(&path, Duration::ZERO).unwrap();
        drop(old);
        assert!(Lock::acquire(&path, Duration::ZERO).is_err());
        drop(new);
    }

    #[test]
    fn a_directory_is_locked_without_a_file_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let held = Lock::acquire_directory(dir.path(), Duration::ZERO).unwrap();
        if held.is_some() {
            assert!(Lock::acquire_directory(dir.path(), Duration::ZERO).is_err());
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        assert!(Lock::acquire_directory(&dir.path().join("none"), Duration::ZERO).is_err());
    }

    #[test]
    fn links_and_pipes_are_no_locks_and_a_private_one_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        symlink("elsewhere", at("link")).unwrap();
        mkfifo(&at("pipe"), Mode::S_IRWXU).unwrap();
        for name in ["link", "pipe"] {
            let error = Lock::acquire(&at(name), Duration::ZERO).unwrap_err();
            assert!(matches!(error, LockError::NotRegular(_)), "{name}: {error}");
        }
        assert!(!at("elsewhere").exists());
        Lock::acquire_private(&at("own"), Duration::ZERO).unwrap();
        assert_eq!(fs::metadata(at("own")).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
