//! Replacing a file in one step, and only if it is still the file we know.
//!
//! The new content is written to a file without a name, flushed, and then takes the place of the old
//! one: a crash leaves either the old content or the new. An existing file is locked from the check of
//! its content to the replacement, so of two processes that read the same content only one can write.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::{AT_FDCWD, AtFlags, OFlag};
use nix::unistd::linkat;
use ona_types::{ContentHash, Hasher};

/// How long another process may hold its lock on the file.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// Why a file was not replaced. It is as it was.
#[derive(Debug)]
pub(crate) enum ReplaceError {
    /// Its content is not the expected one.
    Changed,
    /// It should be new, and exists.
    Exists,
    /// Another process holds a lock on it.
    Locked,
    /// The file system says no.
    Io(io::Error),
}

impl From<io::Error> for ReplaceError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Creates `path`, which must not exist, with its parents.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> Result<(), ReplaceError> {
    let dir = parent(path)?;
    let made = Made::dirs(&dir)?;
    let file = Nameless::write(&dir, bytes)?;
    match file.link(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(ReplaceError::Exists),
        other => Ok(other?),
    }?;
    made.keep();
    Ok(sync_dir(&dir)?)
}

/// Directories made on the way to a new file, the innermost first; taken away again if the file does not
/// come to be.
struct Made(Vec<PathBuf>);

impl Made {
    fn dirs(dir: &Path) -> io::Result<Self> {
        let missing: Vec<PathBuf> =
            dir.ancestors().take_while(|dir| !dir.exists()).map(Path::to_owned).collect();
        let made = Self(missing);
        fs::create_dir_all(dir)?;
        Ok(made)
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for dir in &self.0 {
            // Somebody else may have put something there meanwhile: then it stays.
            if fs::remove_dir(dir).is_err() {
                break;
            }
        }
    }
}

/// Replaces `path`, whose content must hash to `expected`; mode and owner stay.
pub(crate) fn replace(
    path: &Path,
    expected: &ContentHash,
    bytes: &[u8],
) -> Result<(), ReplaceError> {
    let dir = parent(path)?;
    let old = lock(path)?;
    if &hash(&old)? != expected {
        return Err(ReplaceError::Changed);
    }
    let meta = old.metadata()?;
    let file = Nameless::write(&dir, bytes)?;
    // Changing the owner may be forbidden and clears set-id bits, so it goes first and may fail.
    let _ = fchown(file.file(), Some(meta.uid()), Some(meta.gid()));
    file.file().set_permissions(fs::Permissions::from_mode(meta.mode() & 0o7777))?;
    file.rename_over(path, &dir)?;
    Ok(sync_dir(&dir)?)
}

/// The hash of a whole file.
pub(crate) fn hash(file: &File) -> io::Result<ContentHash> {
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut file = file;
    loop {
        match io::Read::read(&mut file, &mut buffer)? {
            0 => return Ok(hasher.finish()),
            count => hasher = hasher.update(&buffer[..count]),
        }
    }
}

fn parent(path: &Path) -> io::Result<PathBuf> {
    path.parent().map(Path::to_owned).ok_or_else(|| io::ErrorKind::IsADirectory.into())
}

/// Locks the file that `path` names; not one that was just replaced by another.
fn lock(path: &Path) -> Result<File, ReplaceError> {
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ReplaceError::Changed);
            }
            other => other?,
        };
        match file.try_lock() {
            Ok(()) => {
                let (locked, named) = (file.metadata()?, fs::metadata(path));
                if named
                    .is_ok_and(|named| (named.dev(), named.ino()) == (locked.dev(), locked.ino()))
                {
                    return Ok(file);
                }
            }
            Err(fs::TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(2)),
            Err(fs::TryLockError::Error(error)) => return Err(error.into()),
        }
        if Instant::now() > deadline {
            return Err(ReplaceError::Locked);
        }
    }
}

/// A flushed file that has no name yet, where the file system can do that: nothing is left behind
/// should we be killed. Elsewhere a temporary name has to do.
enum Nameless {
    Unnamed(File),
    Named(tempfile::NamedTempFile),
}

impl Nameless {
    fn write(dir: &Path, bytes: &[u8]) -> io::Result<Self> {
        let unnamed = OpenOptions::new()
            .write(true)
            .mode(0o666)
            .custom_flags(OFlag::O_TMPFILE.bits())
            .open(dir);
        let this = match unnamed {
            Ok(file) => Self::Unnamed(file),
            // Not every file system has nameless files; every real trouble shows up here again.
            Err(_) => Self::Named(named(dir)?),
        };
        let mut file = this.file();
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(this)
    }

    fn file(&self) -> &File {
        match self {
            Self::Unnamed(file) => file,
            Self::Named(file) => file.as_file(),
        }
    }

    /// Gives it the name `path`, which must be free.
    fn link(self, path: &Path) -> io::Result<()> {
        match self {
            Self::Unnamed(file) => link_fd(&file, path),
            Self::Named(file) => {
                file.persist_noclobber(path).map(drop).map_err(|error| error.error)
            }
        }
    }

    /// Puts it in the place of `path`.
    fn rename_over(self, path: &Path, dir: &Path) -> io::Result<()> {
        match self {
            // Linking cannot replace, so it takes a temporary name for the blink of the rename.
            Self::Unnamed(file) => {
                let name = named(dir)?.into_temp_path();
                fs::remove_file(&name)?;
                link_fd(&file, &name)?;
                name.persist(path).map_err(|error| error.error)
            }
            Self::Named(file) => file.persist(path).map(drop).map_err(|error| error.error),
        }
    }
}

fn named(dir: &Path) -> io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".ona-")
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(dir)
}

fn link_fd(file: &File, path: &Path) -> io::Result<()> {
    let source = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    linkat(AT_FDCWD, &source, AT_FDCWD, path, AtFlags::AT_SYMLINK_FOLLOW).map_err(io::Error::from)
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn creates_with_parents_and_never_over_something() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/new.txt");
        create(&path, b"one").unwrap();
        assert!(matches!(create(&path, b"two"), Err(ReplaceError::Exists)));
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(names(path.parent().unwrap()), ["new.txt"], "nothing is left lying about");
    }

    #[test]
    fn replaces_what_it_knows_and_keeps_the_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.sh");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
        replace(&path, &ContentHash::of(b"old"), b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o751);
        assert!(matches!(
            replace(&path, &ContentHash::of(b"old"), b"newer"),
            Err(ReplaceError::Changed)
        ));
        assert_eq!(names(dir.path()), ["run.sh"]);
    }

    #[test]
    fn of_many_writers_that_know_the_same_content_one_wins() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        fs::write(&path, "start").unwrap();
        let known = ContentHash::of(b"start");
        let wins: Vec<bool> = thread::scope(|scope| {
            let tries: Vec<_> = (0..8)
                .map(|n| {
                    let (path, known) = (&path, &known);
                    scope.spawn(move || {
                        replace(path, known, format!("writer {n}").as_bytes()).is_ok()
                    })
                })
                .collect();
            tries.into_iter().map(|handle| handle.join().unwrap()).collect()
        });
        assert_eq!(wins.iter().filter(|won| **won).count(), 1, "{wins:?}");
    }
}
