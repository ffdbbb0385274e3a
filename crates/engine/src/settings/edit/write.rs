//! Replacing a settings file as a whole or not at all, with no edit of another process lost.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ona_policy::path::resolve;

use super::super::file::{self, BadFile, LARGEST};
use super::EditError;

/// An edit takes milliseconds; whoever holds the lock for longer is not editing.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(10);
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
    replace(path, 0o666, &mut edit).map_err(named)
}

/// The same; a file that is new is its owner's alone.
pub fn write_private(
    path: &Path,
    mut edit: impl FnMut(&str) -> Result<String, EditError>,
) -> Result<(), EditError> {
    let named = |reason| EditError::In { file: path.to_owned(), reason: Box::new(reason) };
    replace(path, 0o600, &mut edit).map_err(named)
}

fn replace(
    path: &Path,
    new_mode: u32,
    edit: &mut dyn FnMut(&str) -> Result<String, EditError>,
) -> Result<(), EditError> {
    let real = resolve(Path::new("/"), path).map_err(BadFile::from)?;
    let parent = real.parent().unwrap_or(Path::new("/")).to_owned();
    fs::create_dir_all(&parent)?;
    let lock = lock(&parent)?;
    for _ in 0..ATTEMPTS {
        let old = file::read(&real)?;
        let new = edit(old.as_deref().unwrap_or_default())?;
        if new == old.as_deref().unwrap_or_default() {
            return Ok(());
        }
        if new.len() as u64 > LARGEST {
            return Err(BadFile::TooLarge(LARGEST).into());
        }
        let mut staged = tempfile::Builder::new()
            .prefix(".settings-")
            .permissions(fs::Permissions::from_mode(new_mode))
            .tempfile_in(&parent)?;
        staged.write_all(new.as_bytes())?;
        if let Ok(meta) = fs::metadata(&real) {
            staged.as_file().set_permissions(meta.permissions())?;
        }
        staged.as_file().sync_all()?;
        if file::read(&real)? == old {
            staged.persist(&real).map_err(|failed| failed.error)?;
            // The edit is made; that not every directory can be synced does not unmake it.
            lock.sync_all().ok();
            return Ok(());
        }
    }
    Err(EditError::Busy)
}

/// The directory, locked: it stays what it is while the file in it is replaced, and no lock file is
/// left behind.
fn lock(dir: &Path) -> Result<File, EditError> {
    let dir = File::open(dir)?;
    let since = Instant::now();
    loop {
        match dir.try_lock() {
            Ok(()) => return Ok(dir),
            Err(TryLockError::WouldBlock) if since.elapsed() < PATIENCE => sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Err(EditError::Busy),
            // Not every file system can lock a directory. Comparing before the rename must do there.
            Err(TryLockError::Error(_)) => return Ok(dir),
        }
    }
}
