//! Replacing the file in one step, one writer at a time.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use ona_files::{Expect, Lock, LockError, ReplaceError, ReplaceOptions, replace};

use super::edit::EditError;
use super::load::{LoadError, read_text, within};
use super::{DIRECTORY, INTENTS_FILE};

/// The lock file for changes.
const LOCK: &str = ".orchestration/.active_intents.lock";
/// How long another writer may take.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Why the file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It cannot be read.
    #[error("{INTENTS_FILE}: {0}")]
    Load(#[from] LoadError),
    /// The change is not possible.
    #[error("{INTENTS_FILE}: {0}")]
    Edit(#[from] EditError),
    /// Another writer keeps it locked, or it cannot be locked.
    #[error("{INTENTS_FILE}: {0}")]
    Lock(#[from] LockError),
    /// It was not replaced: it has just been changed by someone else, or the file system refuses.
    #[error("{INTENTS_FILE}: {0}")]
    Replace(#[from] ReplaceError),
    /// The file system refuses.
    #[error("{INTENTS_FILE} cannot be written: {0}")]
    Io(#[from] io::Error),
}

/// Changes the file's text; a file that does not exist counts as empty. Returns whether it changed.
pub fn update(
    root: &Path,
    edit: impl FnOnce(&str) -> Result<String, EditError>,
) -> Result<bool, WriteError> {
    fs::create_dir_all(within(root, DIRECTORY)?)?;
    let _lock = Lock::acquire(&within(root, LOCK)?, LOCK_TIMEOUT)?;
    let old = match read_text(root, INTENTS_FILE) {
        Err(LoadError::Missing) => None,
        other => Some(other?),
    };
    let new = edit(old.as_deref().unwrap_or_default())?;
    if old.as_deref() == Some(new.as_str()) {
        return Ok(false);
    }
    let real = within(root, INTENTS_FILE)?;
    // Editors do not use the lock.
    let expect = Expect::same_as(old.as_deref().map(str::as_bytes));
    replace(&real, new.as_bytes(), &ReplaceOptions { expect, ..ReplaceOptions::default() })?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::thread;

    use super::*;
    use crate::file::{Change, Intents, NewIntent, TextField, add, change};

    fn intent(n: usize) -> NewIntent {
        NewIntent {
            id: format!("INT-{n}"),
            name: "x".into(),
            status: "PLANNED".into(),
            at: "2026-05-02T09:00:00Z".into(),
            ..NewIntent::default()
        }
    }

    #[test]
    fn a_file_is_made_and_changed_and_keeps_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        assert!(update(root, |text| add(text, &intent(1))).unwrap());
        let file = root.join(INTENTS_FILE);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let done = [Change::Text(TextField::Status, "DONE".into())];
        assert!(update(root, |text| change(text, "INT-1", &done)).unwrap());
        assert!(!update(root, |text| change(text, "INT-1", &done)).unwrap());
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o640);
        assert!(matches!(
            update(root, |text| change(text, "INT-9", &done)),
            Err(WriteError::Edit(EditError::NoIntent(_)))
        ));
        let mut names: Vec<_> = fs::read_dir(root.join(DIRECTORY))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, [".active_intents.lock", "active_intents.yaml"]);
    }

    #[test]
    fn a_change_behind_the_back_is_not_lost() {
        let dir = tempfile::tempdir().unwrap();
        update(dir.path(), |text| add(text, &intent(1))).unwrap();
        let file = dir.path().join(INTENTS_FILE);
        let result = update(dir.path(), |text| {
            fs::write(&file, "# by hand\n").unwrap();
            add(text, &intent(2))
        });
        assert!(matches!(result, Err(WriteError::Replace(ReplaceError::Changed))));
        assert_eq!(fs::read_to_string(&file).unwrap(), "# by hand\n");
    }

    #[test]
    fn many_writers_at_once_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        thread::scope(|scope| {
            for n in 0..8 {
                let root = dir.path();
                scope.spawn(move || {
                    for m in 0..10 {
                        update(root, |text| add(text, &intent(n * 100 + m))).unwrap();
                    }
                });
            }
        });
        let text = fs::read_to_string(dir.path().join(INTENTS_FILE)).unwrap();
        let intents = Intents::read(&text).unwrap();
        assert_eq!(intents.all.len(), 80);
        assert_eq!(intents.warnings, []);
    }
}
