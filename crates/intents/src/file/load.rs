//! The file on the disk: read once, and again when it has changed.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use ona_files::resolve;
use ona_files::{Links, ReadError};
use ona_types::PathError;

use super::INTENTS_FILE;
use super::model::Intents;
use crate::yaml::YamlError;

/// Larger files are refused unread.
pub const MAX_FILE: u64 = 4 * 1024 * 1024;

/// A file younger than this may change again without its times showing it.
const SETTLE_TIME: Duration = Duration::from_millis(50);

/// Why a file of the orchestration directory cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// There is none.
    #[error("{INTENTS_FILE} does not exist")]
    Missing,
    /// It is too large.
    #[error("the file is larger than {} MiB", .0 >> 20)]
    TooLarge(u64),
    /// It is a directory, a pipe or a device.
    #[error("it is not a regular file")]
    NotAFile,
    /// A symlink points outside the workspace.
    #[error("it points outside the workspace, to {}", .0.display())]
    LeadsOut(PathBuf),
    /// Its path cannot be resolved.
    #[error("{0}")]
    Path(PathError),
    /// It is not UTF-8.
    #[error("it is not UTF-8 from byte {0} on")]
    NotText(usize),
    /// It is not YAML, or not a list of intents.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// The file system refuses.
    #[error("it cannot be read: {0}")]
    Io(String),
}

impl From<io::Error> for LoadError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // A file in the place of a parent directory counts as missing too.
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            _ => Self::Io(error.to_string()),
        }
    }
}

impl From<ReadError> for LoadError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Directory | ReadError::NotRegular => Self::NotAFile,
            ReadError::TooLarge { limit } => Self::TooLarge(limit),
            ReadError::NotUtf8 { at } => Self::NotText(at),
            ReadError::Io(error) => error.into(),
        }
    }
}

/// What tells one state of a file from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    file: (u64, u64),
    length: u64,
    changed: (i64, i64, i64, i64),
    /// It had been at rest for a while when it was looked at.
    cold: bool,
}

fn stamp_of(meta: &fs::Metadata) -> Stamp {
    let changed = (meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec());
    let cold = meta
        .modified()
        .ok()
        .and_then(|modified| SystemTime::now().duration_since(modified).ok())
        .is_some_and(|age| age > SETTLE_TIME);
    Stamp { file: (meta.dev(), meta.ino()), length: meta.len(), changed, cold }
}

/// The state a file is in, if it is one.
pub(crate) fn stamp(path: &Path) -> Option<Stamp> {
    fs::metadata(path).ok().map(|meta| stamp_of(&meta))
}

impl Stamp {
    /// Whether what was read then is what is there now.
    pub(crate) fn still_holds(&self, now: &Self) -> bool {
        self.cold && Self { cold: true, ..*now } == *self
    }
}

/// The resolved path of a file that belongs to the workspace.
pub(super) fn within(root: &Path, name: &str) -> Result<PathBuf, LoadError> {
    let root = resolve(Path::new("/"), root).map_err(LoadError::Path)?;
    let real = resolve(&root, name).map_err(LoadError::Path)?;
    if real.starts_with(&root) { Ok(real) } else { Err(LoadError::LeadsOut(real)) }
}

/// The text of a file of the workspace.
pub(crate) fn read_text(root: &Path, name: &str) -> Result<String, LoadError> {
    Ok(open_text(&within(root, name)?)?.0)
}

fn open_text(real: &Path) -> Result<(String, Stamp), LoadError> {
    let file = ona_files::open(real, Links::Refuse)?.ok_or(LoadError::Missing)?;
    let meta = file.metadata()?;
    let bytes = ona_files::read_open(&file, MAX_FILE)?;
    let text = String::from_utf8(bytes)
        .map_err(|error| LoadError::NotText(error.utf8_error().valid_up_to()))?;
    Ok((text, stamp_of(&meta)))
}

type Loaded = Result<Arc<Intents>, LoadError>;

/// Reads the intents of a workspace and keeps them until the file changes.
#[derive(Debug)]
pub struct Loader {
    root: PathBuf,
    kept: Mutex<Option<(PathBuf, Stamp, Loaded)>>,
}

impl Loader {
    /// For the workspace in this directory.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), kept: Mutex::new(None) }
    }

    /// The workspace.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The intents as the file has them now. A file that cannot be used is not read again either until it
    /// changes.
    pub fn load(&self) -> Loaded {
        let real = within(&self.root, INTENTS_FILE)?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((path, then, loaded)) = kept.as_ref()
            && *path == real
            && stamp(&real).is_some_and(|now| then.still_holds(&now))
        {
            return loaded.clone();
        }
        let (text, stamp) = match open_text(&real) {
            Ok(read) => read,
            Err(error) => {
                *kept = None;
                return Err(error);
            }
        };
        let loaded: Loaded = Intents::read(&text).map(Arc::new).map_err(LoadError::from);
        *kept = Some((real, stamp, loaded.clone()));
        loaded
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    fn workspace() -> (tempfile::TempDir, Loader, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("work/.orchestration")).unwrap();
        let root = dir.path().join("work");
        let file = root.join(INTENTS_FILE);
        (dir, Loader::new(root), file)
    }

    #[test]
    fn what_was_read_is_kept_until_the_file_changes() {
        let (_dir, loader, file) = workspace();
        assert_eq!(loader.load().unwrap_err(), LoadError::Missing);
        fs::write(&file, "- id: INT-1\n").unwrap();
        let old = SystemTime::now() - Duration::from_secs(5);
        File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
        let first = loader.load().unwrap();
        assert!(Arc::ptr_eq(&first, &loader.load().unwrap()));
        // The same length, and at once.
        fs::write(&file, "- id: INT-2\n").unwrap();
        let second = loader.load().unwrap();
        assert_eq!(second.all[0].id, "INT-2");
        fs::write(&file, "- id: INT-3\n").unwrap();
        assert_eq!(loader.load().unwrap().all[0].id, "INT-3", "a warm file is read again");
        fs::write(&file, "a: [").unwrap();
        assert!(matches!(loader.load().unwrap_err(), LoadError::Yaml(_)));
        fs::remove_file(&file).unwrap();
        assert_eq!(loader.load().unwrap_err(), LoadError::Missing);
    }

    #[test]
    fn what_is_no_plain_file_in_the_workspace_is_refused() {
        let (dir, loader, file) = workspace();
        fs::create_dir(&file).unwrap();
        assert_eq!(loader.load().unwrap_err(), LoadError::NotAFile);
        fs::remove_dir(&file).unwrap();
        mkfifo(&file, Mode::S_IRWXU).unwrap();
        assert_eq!(loader.load().unwrap_err(), LoadError::NotAFile);
        fs::remove_file(&file).unwrap();
        let outside = dir.path().join("elsewhere.yaml");
        fs::write(&outside, "- id: INT-1\n").unwrap();
        symlink(&outside, &file).unwrap();
        assert!(matches!(loader.load().unwrap_err(), LoadError::LeadsOut(_)));
        fs::remove_file(&file).unwrap();
        fs::write(loader.root().join("inside.yaml"), "- id: INT-1\n").unwrap();
        symlink("../inside.yaml", &file).unwrap();
        assert_eq!(loader.load().unwrap().all.len(), 1);
        fs::remove_file(&file).unwrap();
        fs::write(&file, vec![b'#'; 10_000_000]).unwrap();
        assert_eq!(loader.load().unwrap_err(), LoadError::TooLarge(MAX_FILE));
        fs::write(&file, b"- id: \xff\n").unwrap();
        assert_eq!(loader.load().unwrap_err(), LoadError::NotText(6));
        fs::write(&file, "active_intents:\n\t- id: x\n").unwrap();
        let message = loader.load().unwrap_err().to_string();
        assert!(message.starts_with("line 2 column") && message.contains("tab"), "{message}");
    }
}
