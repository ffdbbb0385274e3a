//! Replacing a settings file as a whole or not at all, with no edit of another process lost.

use std::fs;
use std::path::Path;
use std::time::Duration;

use ona_files::resolve;
use ona_files::{Expect, Lock, LockError, Mode, ReadError, ReplaceError, ReplaceOptions};

use super::super::file::{self, BadFile, LARGEST};
use super::EditError;

/// An edit takes milliseconds; whoever holds the lock for longer is not editing.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often somebody who knows nothing of the lock may come in between.
const ATTEMPTS: usize = 10;

/// Gives the file at an absolute path the text that `edit` makes of the one it has; a missing file has
/// the empty text. A symlink is followed, parents are created, the file's mode is kept. Where the file
/// changes in the meantime, `edit` is asked again.
pub fn write(
    path: &Path,
    mut edit: impl FnMut(&str) -> Result<String, EditError>,
) -> Result<(), EditError> {
    let named = |reason| EditError::In { file: path.to_owned(), reason: Box::new(reason) };
    replace(path, Mode::Keep, &mut edit).map_err(named)
}

/// The same; a file that is new is its owner's alone.
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
        if new.len() as u64 > LARGEST {
            return Err(BadFile::Read(ReadError::TooLarge { limit: LARGEST }).into());
        }
        let expect = Expect::same_as(old.as_deref().map(str::as_bytes));
        let options = ReplaceOptions { expect, mode, ..ReplaceOptions::default() };
        match ona_files::replace(&real, new.as_bytes(), &options) {
            // Somebody who knows nothing of the lock was faster.
            Err(ReplaceError::Changed | ReplaceError::Exists) => {}
            done => return Ok(done?),
        }
    }
    Err(EditError::Busy)
}
