//! Changes several files of a repository: all of them or none.

use std::fs;
use std::path::{Path, PathBuf};

use ona_files::resolve;
use ona_files::{ReadError, ReplaceError, ReplaceOptions, Staged, read_text_at_most};
use ona_types::PathError;

/// The limit for a file, in bytes.
const MAX_FILE: u64 = 4 << 20;

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its path, relative to the root.
    pub path: String,
    /// Its content now; `None` if it does not exist.
    pub before: Option<String>,
    /// Its new content; `None` to remove it.
    pub after: Option<String>,
}

impl Change {
    /// A change of the file at `path`.
    pub fn new(path: &str, before: Option<&str>, after: Option<&str>) -> Self {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Self { path: path.to_owned(), before: owned(before), after: owned(after) }
    }
}

/// Why the files were not changed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ChangeError {
    #[error("{path}: {why}")]
    Path { path: String, why: PathError },
    #[error("{path} leads out of the project, to {}", to.display())]
    Outside { path: String, to: PathBuf },
    #[error("{path}: {cause}")]
    Read { path: String, cause: ReadError },
    #[error("{path} was changed by another process")]
    Moved { path: String },
    #[error("{path}: {cause}")]
    Write { path: String, cause: ReplaceError },
}

/// The real path of a file below the root; it must be below the root too.
fn inside(root: &Path, path: &str) -> Result<PathBuf, ChangeError> {
    let bad = |why| ChangeError::Path { path: path.to_owned(), why };
    let to = resolve(root, path).map_err(bad)?;
    let own = resolve(root, ".").map_err(bad)?;
    match to.starts_with(own) {
        true => Ok(to),
        false => Err(ChangeError::Outside { path: path.to_owned(), to }),
    }
}

/// Whether the path exists. A link that leads out of the root is refused.
pub(super) fn exists(root: &Path, path: &str) -> Result<bool, ChangeError> {
    Ok(inside(root, path)?.symlink_metadata().is_ok())
}

/// The content of a file of the repository; `None` if it does not exist.
pub fn read(root: &Path, path: &str) -> Result<Option<String>, ChangeError> {
    let real = inside(root, path)?;
    read_text_at_most(&real, MAX_FILE)
        .map_err(|cause| ChangeError::Read { path: path.to_owned(), cause })
}

/// A staged change.
struct Waiting<'c> {
    change: &'c Change,
    real: PathBuf,
    /// The new file, if there is one.
    new: Option<Staged>,
}

/// Makes all the changes or none: everything is written to temporary files first, and finished changes are undone if a
/// later one fails.
pub fn apply(root: &Path, changes: &[Change]) -> Result<(), ChangeError> {
    let mut waiting = Vec::new();
    for change in changes {
        let real = inside(root, &change.path)?;
        // Staged changes and new directories are removed if this returns early.
        let new =
            change.after.as_deref().map(|text| staged(&change.path, &real, text)).transpose()?;
        waiting.push(Waiting { change, real, new });
    }
    swap(root, waiting)
}

fn staged(path: &str, real: &Path, text: &str) -> Result<Staged, ChangeError> {
    Staged::write(real, text.as_bytes(), &ReplaceOptions::default())
        .map_err(|cause| ChangeError::Write { path: path.to_owned(), cause })
}

fn swap(root: &Path, waiting: Vec<Waiting<'_>>) -> Result<(), ChangeError> {
    for Waiting { change, .. } in &waiting {
        if read(root, &change.path)? != change.before {
            return Err(ChangeError::Moved { path: change.path.clone() });
        }
    }
    let mut done: Vec<(&Change, PathBuf)> = Vec::new();
    for Waiting { change, real, new } in waiting {
        let swapped = match new {
            Some(new) => new.commit(),
            None => fs::remove_file(&real).map_err(ReplaceError::Io),
        };
        if let Err(cause) = swapped {
            for (change, real) in done.into_iter().rev() {
                take_back(root, change, &real);
            }
            return Err(ChangeError::Write { path: change.path.clone(), cause });
        }
        done.push((change, real));
    }
    for (change, real) in &done {
        tidy(root, change, real);
    }
    Ok(())
}

/// Undoes a change. Errors are ignored: the first one is reported already.
fn take_back(root: &Path, change: &Change, real: &Path) {
    match &change.before {
        Some(text) => {
            let _ = ona_files::replace(real, text.as_bytes(), &ReplaceOptions::default());
        }
        None => {
            let _ = fs::remove_file(real);
            remove_empty_parents(root, real);
        }
    }
}

/// Removes directories that a removed file has left empty, and syncs that to the disk.
fn tidy(root: &Path, change: &Change, real: &Path) {
    if change.after.is_some() {
        return;
    }
    remove_empty_parents(root, real);
    if let Some(dir) = real.parent().filter(|dir| dir.exists()) {
        // The file is removed, even if not every directory can be synced.
        let _ = ona_files::sync_directory(dir);
    }
}

fn remove_empty_parents(root: &Path, real: &Path) {
    for dir in real.ancestors().skip(1).take_while(|dir| dir.starts_with(root) && *dir != root) {
        // One that is not empty stays.
        if fs::remove_dir(dir).is_err() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn root() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("root");
        fs::create_dir(&root).unwrap();
        (dir, root)
    }

    #[test]
    fn several_files_change_and_modes_stay() {
        let (_dir, root) = root();
        fs::write(root.join("a"), "old").unwrap();
        fs::set_permissions(root.join("a"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("d/gone"), "x").unwrap();
        let changes = [
            Change::new("a", Some("old"), Some("new")),
            Change::new("deep/er/b", None, Some("b")),
            Change::new("d/gone", Some("x"), None),
        ];
        apply(&root, &changes).unwrap();
        assert_eq!(read(&root, "a").unwrap().as_deref(), Some("new"));
        assert_eq!(fs::metadata(root.join("a")).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(read(&root, "deep/er/b").unwrap().as_deref(), Some("b"));
        assert!(!root.join("d").exists(), "an empty directory goes with its last file");
    }

    #[test]
    fn if_one_cannot_be_changed_none_is() {
        let (_dir, root) = root();
        fs::write(root.join("a"), "old").unwrap();
        fs::create_dir(root.join("b")).unwrap();
        let changes = [
            Change::new("a", Some("old"), Some("new")),
            Change::new("deep/c", None, Some("c")),
            // A directory cannot be replaced by a file, but that fails only at the end.
            Change::new("missing", None, None),
        ];
        let error = apply(&root, &changes).unwrap_err();
        assert!(error.to_string().starts_with("missing: "), "{error}");
        assert_eq!(read(&root, "a").unwrap().as_deref(), Some("old"));
        assert!(!root.join("deep").exists());
        let left: Vec<_> = fs::read_dir(&root).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }

    #[test]
    fn what_changed_meanwhile_is_not_overwritten() {
        let (_dir, root) = root();
        fs::write(root.join("a"), "theirs").unwrap();
        let error = apply(&root, &[Change::new("a", Some("old"), Some("new"))]).unwrap_err();
        assert!(matches!(error, ChangeError::Moved { .. }), "{error}");
        assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "theirs");
    }

    #[test]
    fn links_are_followed_inside_and_refused_outside() {
        let (dir, root) = root();
        fs::write(root.join("real"), "x").unwrap();
        symlink("real", root.join("link")).unwrap();
        apply(&root, &[Change::new("link", Some("x"), Some("y"))]).unwrap();
        assert_eq!(fs::read_to_string(root.join("real")).unwrap(), "y");
        assert!(fs::symlink_metadata(root.join("link")).unwrap().is_symlink());
        symlink(dir.path().join("elsewhere"), root.join("out")).unwrap();
        for path in ["out", "out/x", "../x"] {
            let error = apply(&root, &[Change::new(path, None, Some("y"))]).unwrap_err();
            assert!(matches!(error, ChangeError::Outside { .. }), "{error}");
        }
        assert!(!dir.path().join("elsewhere").exists());
    }
}
