//! Files that are one user's alone: made so, checked before they are believed, replaced whole.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use nix::unistd::geteuid;
use zeroize::Zeroizing;

use crate::error::VaultError;
use crate::sealed;

/// What files have, and what directories have.
const FILE: u32 = 0o600;
const DIRECTORY: u32 = 0o700;

/// How long another process is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

fn failed(path: &Path) -> impl FnOnce(io::Error) -> VaultError {
    let path = path.to_owned();
    move |error| VaultError::Io { path, error }
}

/// Makes a directory if it is missing, and checks that it is ours alone.
pub(crate) fn directory(path: &Path) -> Result<(), VaultError> {
    match fs::metadata(path) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new().recursive(true).mode(DIRECTORY).create(path).map_err(failed(path))?;
        }
        Err(error) => return Err(failed(path)(error)),
    }
    let meta = fs::metadata(path).map_err(failed(path))?;
    if !meta.is_dir() {
        return Err(VaultError::NotADirectory(path.to_owned()));
    }
    ours(path, &meta, DIRECTORY, geteuid().as_raw())
}

/// Refuses what is another user's, or open to others.
fn ours(path: &Path, meta: &Metadata, wanted: u32, own: u32) -> Result<(), VaultError> {
    if meta.uid() != own {
        return Err(VaultError::NotOurs { path: path.to_owned(), uid: meta.uid(), own });
    }
    let mode = meta.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(VaultError::Open { path: path.to_owned(), mode, wanted });
    }
    Ok(())
}

/// Opens a file that is ours alone. A link is not followed, a pipe not waited for.
fn open(path: &Path, options: &mut OpenOptions) -> Result<Option<File>, VaultError> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = match options.mode(FILE).custom_flags(flags.bits()).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let link = fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_file());
            return Err(match link {
                true => VaultError::NotAFile(path.to_owned()),
                false => failed(path)(error),
            });
        }
    };
    let meta = file.metadata().map_err(failed(path))?;
    if !meta.is_file() {
        return Err(VaultError::NotAFile(path.to_owned()));
    }
    ours(path, &meta, FILE, geteuid().as_raw())?;
    Ok(Some(file))
}

/// What a file holds, and at most one byte more than `most`; nothing if there is none.
pub(crate) fn read(path: &Path, most: usize) -> Result<Option<Zeroizing<Vec<u8>>>, VaultError> {
    let Some(file) = open(path, OpenOptions::new().read(true))? else { return Ok(None) };
    let mut bytes = Zeroizing::new(Vec::with_capacity(most.min(64 * 1024)));
    file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(failed(path))?;
    Ok(Some(bytes))
}

/// Puts a file in place of another, or of none: whole and on the disk, or not at all.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), VaultError> {
    let random = sealed::random::<8>().map_err(VaultError::NoRandom)?;
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{:016x}.new", u64::from_le_bytes(*random)));
    let new = Path::new(&name);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(FILE)
        .open(new)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(new, path));
    if let Err(error) = written {
        let _ = fs::remove_file(new);
        return Err(failed(path)(error));
    }
    // The new name is on the disk too.
    let dir = path.parent().unwrap_or(Path::new("."));
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(failed(dir))
}

/// Held by whoever changes the vault.
pub(crate) struct Lock {
    _file: File,
}

/// Waits for the lock; it is given back when it is dropped, or when the process ends, however it does.
pub(crate) fn lock(path: &Path) -> Result<Lock, VaultError> {
    lock_within(path, PATIENCE)
}

fn lock_within(path: &Path, patience: Duration) -> Result<Lock, VaultError> {
    let file = open(path, OpenOptions::new().write(true).create(true).truncate(false))?;
    let file = file.ok_or_else(|| failed(path)(io::ErrorKind::NotFound.into()))?;
    let deadline = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock { _file: file }),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(TryLockError::WouldBlock) => {
                return Err(VaultError::Busy {
                    path: path.to_owned(),
                    seconds: patience.as_secs(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(failed(path)(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_another_user_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let meta = fs::metadata(dir.path()).unwrap();
        let error = ours(dir.path(), &meta, DIRECTORY, meta.uid() + 1).unwrap_err();
        assert!(matches!(error, VaultError::NotOurs { .. }), "{error}");
        assert!(error.to_string().contains("belongs to user"), "{error}");
    }

    #[test]
    fn who_is_locked_out_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = lock(&path).unwrap();
        let waited = lock_within(&path, Duration::ZERO);
        assert!(matches!(waited, Err(VaultError::Busy { .. })));
        drop(held);
        assert!(lock_within(&path, Duration::ZERO).is_ok());
    }

    #[test]
    fn a_replacement_that_fails_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::create_dir_all(path.join("b")).unwrap();
        assert!(replace(&path, b"x").is_err(), "a directory is not replaced");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
