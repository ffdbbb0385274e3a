//! Replacing the file in one step, one writer at a time.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;

use super::edit::EditError;
use super::load::{LoadError, read_text, within};
use super::{DIRECTORY, INTENTS_FILE};

/// Whoever changes the file holds a lock on this one.
const LOCK: &str = ".orchestration/.active_intents.lock";
/// How long another writer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why the file was not changed. It is as it was.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It cannot be read.
    #[error("{INTENTS_FILE}: {0}")]
    Load(#[from] LoadError),
    /// It cannot be changed so.
    #[error("{INTENTS_FILE}: {0}")]
    Edit(#[from] EditError),
    /// Another writer does not come to an end.
    #[error("{INTENTS_FILE}: somebody else keeps changing it")]
    Busy,
    /// The file system says no.
    #[error("{INTENTS_FILE} cannot be written: {0}")]
    Io(#[from] io::Error),
}

/// Changes the file's text; a file that is not there yet is empty. Says whether anything is different now.
pub fn update(
    root: &Path,
    edit: impl FnOnce(&str) -> Result<String, EditError>,
) -> Result<bool, WriteError> {
    DirBuilder::new().recursive(true).mode(0o777).create(within(root, DIRECTORY)?)?;
    let _lock = lock(root)?;
    let old = match read_text(root, INTENTS_FILE) {
        Err(LoadError::Missing) => None,
        other => Some(other?),
    };
    let new = edit(old.as_deref().unwrap_or_default())?;
    if old.as_deref() == Some(new.as_str()) {
        return Ok(false);
    }
    let real = within(root, INTENTS_FILE)?;
    let place = Temporary::beside(&real, new.as_bytes())?;
    // An editor knows nothing of locks.
    let now = match read_text(root, INTENTS_FILE) {
        Err(LoadError::Missing) => None,
        other => Some(other?),
    };
    if now != old {
        return Err(WriteError::Busy);
    }
    place.replace(&real)?;
    Ok(true)
}

fn lock(root: &Path) -> Result<File, WriteError> {
    let path = within(root, LOCK)?;
    // A pipe in its place must not make us wait.
    let flags = OFlag::O_NONBLOCK.bits() | OFlag::O_NOFOLLOW.bits();
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .custom_flags(flags)
        .open(path)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(2));
            }
            Err(TryLockError::WouldBlock) => return Err(WriteError::Busy),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
    }
}

/// The new file under another name; gone again unless it takes the old one's place.
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    fn beside(real: &Path, bytes: &[u8]) -> io::Result<Self> {
        // The lock sees to it that there is one at a time, so one name will do; what a crash left there goes.
        let path = real.with_extension("yaml.ona-new");
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().create_new(true).write(true).mode(0o666).open(&path)?;
        let this = Self { path };
        file.write_all(bytes)?;
        if let Ok(meta) = fs::metadata(real) {
            file.set_permissions(fs::Permissions::from_mode(meta.permissions().mode() & 0o7777))?;
        }
        file.sync_all()?;
        Ok(this)
    }

    fn replace(self, real: &Path) -> io::Result<()> {
        fs::rename(&self.path, real)?;
        real.parent().map_or(Ok(()), |dir| File::open(dir)?.sync_all())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Once it has the file's own name there is nothing left under this one.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

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
        assert!(matches!(result, Err(WriteError::Busy)));
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
