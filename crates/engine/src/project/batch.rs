//! Changing several files of a repository: all of them, or none.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ona_policy::path::{PathError, resolve};
use tempfile::NamedTempFile;

/// Nobody writes such files by hand.
const LARGEST: u64 = 4 << 20;

/// What a file is to become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where, from the root.
    pub path: String,
    /// What it holds now; nothing if there is none.
    pub before: Option<String>,
    /// What it is to hold; nothing if it is to go.
    pub after: Option<String>,
}

impl Change {
    /// A change of one file.
    pub fn new(path: &str, before: Option<&str>, after: Option<&str>) -> Self {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Self { path: path.to_owned(), before: owned(before), after: owned(after) }
    }
}

/// Why files cannot be changed. None is then.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ChangeError {
    #[error("{path}: {why}")]
    Path { path: String, why: PathError },
    #[error("{path} leads out of the project, to {}", to.display())]
    Outside { path: String, to: PathBuf },
    #[error("{path} is no regular file")]
    NotRegular { path: String },
    #[error("{path} is larger than 4 MiB")]
    TooLarge { path: String },
    #[error("{path} is not UTF-8")]
    NotUtf8 { path: String },
    #[error("{path} has just been changed by somebody else")]
    Moved { path: String },
    #[error("{path}: {cause}")]
    Io { path: String, cause: io::Error },
}

/// Where a path below the root really leads, which must be there too.
fn inside(root: &Path, path: &str) -> Result<PathBuf, ChangeError> {
    let bad = |why| ChangeError::Path { path: path.to_owned(), why };
    let to = resolve(root, path).map_err(bad)?;
    let own = resolve(root, ".").map_err(bad)?;
    match to.starts_with(own) {
        true => Ok(to),
        false => Err(ChangeError::Outside { path: path.to_owned(), to }),
    }
}

fn failed(path: &str) -> impl Fn(io::Error) -> ChangeError + '_ {
    move |cause| ChangeError::Io { path: path.to_owned(), cause }
}

/// Whether there is something at the path. A link that leads out is refused, whatever it leads to.
pub(super) fn exists(root: &Path, path: &str) -> Result<bool, ChangeError> {
    Ok(inside(root, path)?.symlink_metadata().is_ok())
}

/// What a file of the repository holds; nothing if there is none.
pub fn read(root: &Path, path: &str) -> Result<Option<String>, ChangeError> {
    let real = inside(root, path)?;
    let meta = match fs::metadata(&real) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        meta => meta.map_err(failed(path))?,
    };
    // Looked at before it is opened: to open a pipe is to wait for its writer.
    if !meta.is_file() {
        return Err(ChangeError::NotRegular { path: path.to_owned() });
    }
    let mut bytes = Vec::new();
    let file = File::open(&real).map_err(failed(path))?;
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed(path))?;
    if bytes.len() as u64 > LARGEST {
        return Err(ChangeError::TooLarge { path: path.to_owned() });
    }
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|_| ChangeError::NotUtf8 { path: path.to_owned() })
}

/// A change that waits to be made.
struct Staged<'c> {
    change: &'c Change,
    real: PathBuf,
    /// What is to replace the file.
    new: Option<NamedTempFile>,
}

/// Makes all the changes, or none: everything is written aside first, and what was swapped in is taken back if a
/// later one fails.
pub fn apply(root: &Path, changes: &[Change]) -> Result<(), ChangeError> {
    let mut made = Vec::new();
    let outcome = stage(root, changes, &mut made).and_then(|staged| swap(root, staged));
    if outcome.is_err() {
        // Innermost first; one that is not empty is not only ours any more.
        for dir in made.iter().rev() {
            let _ = fs::remove_dir(dir);
        }
    }
    outcome
}

fn stage<'c>(
    root: &Path,
    changes: &'c [Change],
    made: &mut Vec<PathBuf>,
) -> Result<Vec<Staged<'c>>, ChangeError> {
    let mut staged = Vec::new();
    for change in changes {
        let path = change.path.as_str();
        let real = inside(root, path)?;
        let new = match &change.after {
            None => None,
            Some(text) => {
                let dir = real.parent().unwrap_or(root);
                make(dir, made).map_err(failed(path))?;
                Some(written(dir, &real, text).map_err(failed(path))?)
            }
        };
        staged.push(Staged { change, real, new });
    }
    Ok(staged)
}

/// Makes a directory, and says which of those above it had to be made.
fn make(dir: &Path, made: &mut Vec<PathBuf>) -> io::Result<()> {
    let missing: Vec<&Path> = dir.ancestors().take_while(|dir| !dir.exists()).collect();
    for dir in missing.into_iter().rev() {
        fs::create_dir(dir)?;
        made.push(dir.to_owned());
    }
    Ok(())
}

/// The text in a file beside the one it is to replace, with that one's mode.
fn written(dir: &Path, real: &Path, text: &str) -> io::Result<NamedTempFile> {
    let mut new = tempfile::Builder::new()
        .prefix(".ona-")
        .suffix(".tmp")
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(dir)?;
    new.write_all(text.as_bytes())?;
    if let Ok(meta) = fs::metadata(real) {
        new.as_file().set_permissions(meta.permissions())?;
    }
    new.as_file().sync_all()?;
    Ok(new)
}

fn swap(root: &Path, staged: Vec<Staged<'_>>) -> Result<(), ChangeError> {
    for Staged { change, .. } in &staged {
        if read(root, &change.path)? != change.before {
            return Err(ChangeError::Moved { path: change.path.clone() });
        }
    }
    let mut done: Vec<(&Change, PathBuf)> = Vec::new();
    for Staged { change, real, new } in staged {
        let swapped = match new {
            Some(new) => new.persist(&real).map(drop).map_err(|failed| failed.error),
            None => fs::remove_file(&real),
        };
        if let Err(cause) = swapped {
            for (change, real) in done.into_iter().rev() {
                take_back(change, &real);
            }
            return Err(ChangeError::Io { path: change.path.clone(), cause });
        }
        done.push((change, real));
    }
    for (change, real) in &done {
        tidy(root, change, real);
    }
    Ok(())
}

/// Undoes a change as well as it can be: there is nobody left to tell if even that fails.
fn take_back(change: &Change, real: &Path) {
    let _ = match (&change.before, real.parent()) {
        (Some(text), Some(dir)) => written(dir, real, text)
            .and_then(|old| old.persist(real).map(drop).map_err(|failed| failed.error)),
        _ => fs::remove_file(real),
    };
}

/// Makes the change durable, and takes away directories that a file that went has left empty.
fn tidy(root: &Path, change: &Change, real: &Path) {
    for dir in real.ancestors().skip(1).take_while(|dir| dir.starts_with(root) && *dir != root) {
        // One that is not empty stays.
        if change.after.is_some() || fs::remove_dir(dir).is_err() {
            break;
        }
    }
    if let Some(dir) = real.parent() {
        // The changes are made; that not every directory can be synced does not unmake them.
        let _ = File::open(dir).and_then(|dir| dir.sync_all());
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

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
            // A directory cannot be replaced by a file, but that shows only when it is tried.
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
