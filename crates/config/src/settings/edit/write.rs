//! Replaces a settings file atomically, without losing edits of other processes.

use std::fs;
use std::path::Path;
use std::time::Duration;

use ona_files::resolve;
use ona_files::{Expect, Lock, LockError, Mode, ReadError, ReplaceError, ReplaceOptions};

use super::super::file::{self, BadFile, MAX_BYTES};
use super::EditError;

/// How long to wait for the lock: an edit takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a program that ignores the lock may change the file meanwhile.
const ATTEMPTS: usize = 10;

/// Replaces the text of the file at an absolute path with what `edit` returns for it; a missing file counts as
/// empty. A symlink is followed, parents are created, the file's mode is kept. If the file changes meanwhile,
/// `edit` is called again.
pub fn write(
    path: &Path,
    mut edit: impl FnMut(&str) -> Result<String, EditError>,
) -> Result<(), EditError> {
    let named = |reason| EditError::In { file: path.to_owned(), reason: Box::new(reason) };
    replace(path, Mode::Keep, &mut edit).map_err(named)
}

/// The same; only its owner may read a new file.
pub fn write_private(
    path: &Path,
    mut edit: impl FnMut(&str) -> Result<String, EditError>,
) -> Result<(), EditError> {
    let named = |reason| EditError::In { file: path.to_owned(), reason: Box::new(reason) };
    replace(path, Mode::KeepOrPrivate, &mut edit).map_err(named)
}

fn replace(
    path: &Path,
    mode: Mode,
    edit: &mut dyn FnMut(&str) -> Result<String, EditError>,
) -> Result<(), EditError> {
    let real = resolve(Path::new("/"), path).map_err(BadFile::from)?;
    let parent = real.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent).map_err(ReplaceError::Io)?;
    let _lock = Lock::acquire_directory(parent, PATIENCE).map_err(|error| match error {
        LockError::Held { .. } => EditError::Busy,
        error => error.into(),
    })?;
    for _ in 0..ATTEMPTS {
        let old = file::read(&real)?;
        let new = edit(old.as_deref().unwrap_or_default())?;
        if new == old.as_deref().unwrap_or_default() {
            return Ok(());
        }
        if new.len() as u64 > MAX_BYTES {
            return Err(BadFile::Read(ReadError::TooLarge { limit: MAX_BYTES }).into());
        }
        let expect = Expect::same_as(old.as_deref().map(str::as_bytes));
        let options = ReplaceOptions { expect, mode, ..ReplaceOptions::default() };
        match ona_files::replace(&real, new.as_bytes(), &options) {
            // A program that ignores the lock was faster.
            Err(ReplaceError::Changed | ReplaceError::Exists) => {}
            done => return Ok(done?),
        }
    }
    Err(EditError::Busy)
}
