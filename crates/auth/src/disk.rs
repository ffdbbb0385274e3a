//! Private files of one user: created private, checked before use, replaced atomically.

use std::fs::{self, DirBuilder, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;
use std::time::Duration;

use nix::unistd::geteuid;
use ona_files::{Links, Lock, Mode, ReadError, ReplaceOptions};
use zeroize::Zeroizing;

use crate::error::VaultError;

/// The modes of files and of directories.
const FILE: u32 = 0o600;
const DIRECTORY: u32 = 0o700;

/// How long to wait for another process.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

fn failed(path: &Path) -> impl FnOnce(io::Error) -> VaultError {
    let path = path.to_owned();
    move |error| VaultError::Io { path, error }
}

/// Creates a directory if it is missing, and checks that only this user can access it.
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

/// Refuses a file that belongs to another user or that others can access.
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

/// The content of a private file, up to `most` bytes; `None` if it does not exist.
pub(crate) fn read(path: &Path, most: usize) -> Result<Option<Zeroizing<Vec<u8>>>, VaultError> {
    let bad = |error| match error {
        ReadError::Io(error) => failed(path)(error),
        _ => VaultError::NotAFile(path.to_owned()),
    };
    let Some(file) = ona_files::open(path, Links::Refuse).map_err(bad)? else { return Ok(None) };
    let meta = file.metadata().map_err(failed(path))?;
    ours(path, &meta, FILE, geteuid().as_raw())?;
    // Not by `read_open`: what is read may be a key, and is overwritten when it is dropped.
    let mut bytes = Zeroizing::new(Vec::with_capacity(most.min(64 * 1024)));
    file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(failed(path))?;
    Ok(Some(bytes))
}

/// Creates or replaces a file atomically and durably.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), VaultError> {
    let options =
        ReplaceOptions { mode: Mode::Private, make_parents: false, ..ReplaceOptions::default() };
    ona_files::replace(path, bytes, &options)
        .map_err(|error| VaultError::Write { path: path.to_owned(), error })
}

/// Removes a file, if it is there.
pub(crate) fn remove(path: &Path) -> Result<(), VaultError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(path)(error)),
        _ => Ok(()),
    }
}

/// Waits for a lock.
pub(crate) fn lock(path: &Path, patience: Duration) -> Result<Lock, VaultError> {
    Ok(Lock::acquire_private(path, patience)?)
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
}
