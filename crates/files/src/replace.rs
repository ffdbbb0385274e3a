//! Replacing a file in one step, and only if it is still the file the caller knows.
//!
//! The new content is written to a temporary file, flushed, and then renamed over the old: a crash leaves either the old
//! content or the new. A file whose content is expected is locked from the comparison to the replacement, so of two
//! processes that know the same content only one can write.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::{AT_FDCWD, AtFlags, OFlag};
use nix::unistd::linkat;
use ona_types::ContentHash;

use crate::lock::{Lock, LockError};
use crate::read;
use crate::resolved::HeldDir;

/// How long another process may hold its lock on the file.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a file was not replaced. It is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    /// Its content is not the expected one.
    #[error("it has changed since it was read: read it again")]
    Changed,
    /// It should be a new file, but exists.
    #[error("it exists already")]
    Exists,
    /// Another process holds a lock on it.
    #[error("another process holds a lock on it: try again later")]
    Locked,
    /// The file system refuses.
    #[error("it cannot be written: {0}")]
    Io(#[from] io::Error),
}

/// What must exist at the path; otherwise nothing is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Whatever is there.
    Anything,
    /// No file.
    Nothing,
    /// A file with this content.
    Content(ContentHash),
}

impl Expect {
    /// The content that was read; `None` if there was no file.
    pub fn same_as(read: Option<&[u8]>) -> Self {
        read.map_or(Self::Nothing, |bytes| Self::Content(ContentHash::of(bytes)))
    }
}

/// Who may read and write the new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Mode and owner of the file that it replaces; 0666 minus the umask for a new file.
    Keep,
    /// Mode and owner of the file that it replaces; 0600 for a new file.
    KeepOrPrivate,
    /// 0600, whatever was there.
    Private,
}

/// How a file is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplaceOptions {
    /// What must be there before.
    pub expect: Expect,
    /// Who may read it after.
    pub mode: Mode,
    /// Whether missing directories are created. They are removed again if the file is not written.
    pub make_parents: bool,
    /// Whether the path was resolved: a link above the file was put there since, and nothing is written behind it.
    pub resolved: bool,
}

impl Default for ReplaceOptions {
    fn default() -> Self {
        Self { expect: Expect::Anything, mode: Mode::Keep, make_parents: true, resolved: false }
    }
}

impl ReplaceOptions {
    /// Only if the file does not exist.
    pub fn new_file() -> Self {
        Self { expect: Expect::Nothing, ..Self::default() }
    }

    /// Only if the file has this content.
    pub fn expecting(content: &ContentHash) -> Self {
        Self { expect: Expect::Content(content.clone()), ..Self::default() }
    }

    /// At a path that was resolved.
    #[must_use]
    pub fn resolved(self) -> Self {
        Self { resolved: true, ..self }
    }
}

/// Writes this content to the file at `path`. The path is not resolved: a symbolic link there is replaced, not
/// followed.
pub fn replace(path: &Path, bytes: &[u8], options: &ReplaceOptions) -> Result<(), ReplaceError> {
    // A cheap early check, before anything is written.
    let held = Held::check(path, &options.expect)?;
    let staged = Staged::write(path, bytes, options)?;
    match options.resolved {
        // What was checked may be elsewhere: only now is the directory held.
        true => {
            drop(held);
            staged.commit()
        }
        false => staged.swap_in(held),
    }
}

/// New content on the disk, beside the file it will replace. Dropping it removes it.
#[derive(Debug)]
pub struct Staged {
    path: PathBuf,
    dir: PathBuf,
    content: Content,
    expect: Expect,
    made: MadeDirs,
    /// What `path` and `dir` lead through.
    _held_dir: Option<HeldDir>,
}

impl Staged {
    /// Writes the content to a temporary file that is not visible yet.
    pub fn write(
        path: &Path,
        bytes: &[u8],
        options: &ReplaceOptions,
    ) -> Result<Self, ReplaceError> {
        let dir = path.parent().ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
        let made = match options.make_parents {
            true => MadeDirs::missing(dir),
            false => MadeDirs(Vec::new()),
        };
        let held_dir = match options.resolved {
            true => Some(HeldDir::open(dir, options.make_parents)?),
            false => {
                made.make(dir)?;
                None
            }
        };
        let (path, dir) = match (&held_dir, path.file_name()) {
            (Some(held), Some(name)) => (&held.path().join(name), held.path()),
            _ => (&path.to_owned(), dir.to_owned()),
        };
        let old = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
        let new_mode = if options.mode == Mode::Keep { 0o666 } else { 0o600 };
        let content = Content::write(&dir, bytes, new_mode)?;
        if let Some(old) = old.filter(|_| options.mode != Mode::Private) {
            // Changing the owner may be forbidden and clears set-id bits, so it goes first and may fail.
            let _ = fchown(content.file(), Some(old.uid()), Some(old.gid()));
            content.file().set_permissions(Permissions::from_mode(old.mode() & 0o7777))?;
        }
        content.file().sync_all()?;
        let expect = options.expect.clone();
        Ok(Self { path: path.clone(), dir, content, expect, made, _held_dir: held_dir })
    }

    /// Replaces the file, if its content is what was expected.
    pub fn commit(self) -> Result<(), ReplaceError> {
        let held = Held::check(&self.path, &self.expect)?;
        self.swap_in(held)
    }

    fn swap_in(self, _held: Held) -> Result<(), ReplaceError> {
        let Self { path, dir, content, expect, made, _held_dir } = self;
        if expect == Expect::Nothing {
            content.link(&path).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => ReplaceError::Exists,
                _ => error.into(),
            })?;
        } else {
            content.rename_over(&path, &dir)?;
        }
        made.keep();
        // The file is replaced already; a directory that cannot be flushed does not undo that.
        let _ = sync_directory(&dir);
        Ok(())
    }
}

/// Flushes a directory, so that created, renamed and removed names survive a crash.
pub fn sync_directory(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// The file as it was expected, locked while it is replaced.
struct Held {
    _file: Option<File>,
}

impl Held {
    fn check(path: &Path, expect: &Expect) -> Result<Self, ReplaceError> {
        let Expect::Content(expected) = expect else {
            let exists = *expect == Expect::Nothing && fs::symlink_metadata(path).is_ok();
            return if exists { Err(ReplaceError::Exists) } else { Ok(Self { _file: None }) };
        };
        let file = Lock::existing(path, PATIENCE).map_err(|error| match error {
            LockError::Held { .. } => ReplaceError::Locked,
            LockError::NotRegular(_) => ReplaceError::Changed,
            LockError::Io { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                ReplaceError::Changed
            }
            LockError::Io { error, .. } => ReplaceError::Io(error),
        })?;
        match read::hash(&file)? == *expected {
            true => Ok(Self { _file: Some(file) }),
            false => Err(ReplaceError::Changed),
        }
    }
}

/// Directories created for a new file, the innermost first; removed again if the file is not written.
#[derive(Debug)]
struct MadeDirs(Vec<PathBuf>);

impl MadeDirs {
    /// Those that are not there yet.
    fn missing(dir: &Path) -> Self {
        let missing = dir.ancestors().take_while(|dir| !dir.exists());
        Self(missing.map(Path::to_owned).collect())
    }

    fn make(&self, dir: &Path) -> io::Result<()> {
        match self.0.is_empty() {
            true => Ok(()),
            false => fs::create_dir_all(dir),
        }
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for MadeDirs {
    fn drop(&mut self) {
        for dir in &self.0 {
            // Another process may have put something there meanwhile; then the directory stays.
            if fs::remove_dir(dir).is_err() {
                break;
            }
        }
    }
}

/// A file without a name, if the file system supports that: nothing is left behind if ona is killed. Otherwise a
/// file with a temporary name.
#[derive(Debug)]
enum Content {
    Unnamed(File),
    Named(tempfile::NamedTempFile),
}

impl Content {
    fn write(dir: &Path, bytes: &[u8], mode: u32) -> io::Result<Self> {
        let flags = OFlag::O_TMPFILE.bits();
        let unnamed = OpenOptions::new().write(true).mode(mode).custom_flags(flags).open(dir);
        let this = match unnamed {
            Ok(file) => Self::Unnamed(file),
            // Not every file system supports this; a real error occurs again below.
            Err(_) => Self::Named(named(dir, mode)?),
        };
        this.file().write_all(bytes)?;
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

    /// Renames it over `path`.
    #[allow(clippy::disallowed_methods, reason = "this is where files are replaced")]
    fn rename_over(self, path: &Path, dir: &Path) -> io::Result<()> {
        match self {
            // Linking cannot replace a file, so it gets a temporary name first and is then renamed.
            Self::Unnamed(file) => {
                let name = named(dir, 0o600)?.into_temp_path();
                fs::remove_file(&name)?;
                link_fd(&file, &name)?;
                name.persist(path).map_err(|error| error.error)
            }
            Self::Named(file) => file.persist(path).map(drop).map_err(|error| error.error),
        }
    }
}

fn named(dir: &Path, mode: u32) -> io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".ona-")
        .suffix(".tmp")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(dir)
        // Without the temporary name, which tells nobody anything.
        .map_err(|error| error.kind().into())
}

fn link_fd(file: &File, path: &Path) -> io::Result<()> {
    let source = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    linkat(AT_FDCWD, &source, AT_FDCWD, path, AtFlags::AT_SYMLINK_FOLLOW).map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::thread;

    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn creates_with_parents_and_never_over_something() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/new.txt");
        let create = |bytes: &[u8]| replace(&path, bytes, &ReplaceOptions::new_file());
        create(b"one").unwrap();
        assert!(matches!(create(b"two"), Err(ReplaceError::Exists)));
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(names(path.parent().unwrap()), ["new.txt"], "nothing is left lying about");
    }

    #[test]
    fn replaces_what_it_knows_and_keeps_the_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.sh");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o751)).unwrap();
        let known = ReplaceOptions::expecting(&ContentHash::of(b"old"));
        replace(&path, b"new", &known).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(mode(&path), 0o751);
        assert!(matches!(replace(&path, b"newer", &known), Err(ReplaceError::Changed)));
        assert_eq!(names(dir.path()), ["run.sh"]);
        fs::remove_file(&path).unwrap();
        assert!(matches!(replace(&path, b"newer", &known), Err(ReplaceError::Changed)));
    }

    #[test]
    fn of_many_writers_that_know_the_same_content_one_wins() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        fs::write(&path, "start").unwrap();
        let known = ReplaceOptions::expecting(&ContentHash::of(b"start"));
        let wins: Vec<bool> = thread::scope(|scope| {
            let tries: Vec<_> = (0..8)
                .map(|n| {
                    let (path, known) = (&path, &known);
                    scope.spawn(move || {
                        replace(path, format!("writer {n}").as_bytes(), known).is_ok()
                    })
                })
                .collect();
            tries.into_iter().map(|handle| handle.join().unwrap()).collect()
        });
        assert_eq!(wins.iter().filter(|won| **won).count(), 1, "{wins:?}");
    }

    #[test]
    fn a_private_file_is_private_from_the_start() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        let private = ReplaceOptions { mode: Mode::Private, ..ReplaceOptions::default() };
        replace(&path, b"x", &private).unwrap();
        assert_eq!(mode(&path), 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let kept = ReplaceOptions { mode: Mode::KeepOrPrivate, ..ReplaceOptions::default() };
        replace(&path, b"y", &kept).unwrap();
        assert_eq!(mode(&path), 0o644);
        replace(&path, b"z", &private).unwrap();
        assert_eq!(mode(&path), 0o600);
        fs::remove_file(&path).unwrap();
        replace(&path, b"y", &kept).unwrap();
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn a_replacement_that_fails_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::create_dir_all(path.join("b")).unwrap();
        let options = ReplaceOptions::default();
        assert!(replace(&path, b"x", &options).is_err(), "a directory is not replaced");
        assert_eq!(names(dir.path()), ["a"]);
        let staged = Staged::write(&dir.path().join("new/dir/x"), b"x", &options).unwrap();
        drop(staged);
        assert_eq!(names(dir.path()), ["a"], "directories that were made go too");
        let none = ReplaceOptions { make_parents: false, ..options };
        assert!(replace(&dir.path().join("none/x"), b"x", &none).is_err());
    }

    #[test]
    fn a_link_is_replaced_and_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        fs::write(&real, "theirs").unwrap();
        symlink("real", &link).unwrap();
        replace(&link, b"ours", &ReplaceOptions::default()).unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"theirs");
        assert!(!link.is_symlink());
    }

    #[test]
    fn behind_a_link_that_was_put_above_a_resolved_path_nothing_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("elsewhere")).unwrap();
        fs::write(top.join("elsewhere/x"), "same").unwrap();
        symlink("elsewhere", top.join("sub")).unwrap();
        let known = ReplaceOptions::expecting(&ContentHash::of(b"same"));
        for (path, options) in [
            ("sub/x", known.clone()),
            ("sub/new", ReplaceOptions::new_file()),
            ("sub/a/b/new", ReplaceOptions::new_file()),
            ("sub/new", ReplaceOptions::default()),
        ] {
            assert!(replace(&top.join(path), b"ours", &options.resolved()).is_err(), "{path}");
        }
        assert_eq!(names(&top.join("elsewhere")), ["x"]);
        assert_eq!(fs::read(top.join("elsewhere/x")).unwrap(), b"same");
        let own = ReplaceOptions::new_file().resolved();
        replace(&top.join("a/b/new"), b"ours", &own).unwrap();
        assert_eq!(fs::read(top.join("a/b/new")).unwrap(), b"ours");
        replace(&top.join("elsewhere/x"), b"ours", &known.resolved()).unwrap();
        assert_eq!(fs::read(top.join("elsewhere/x")).unwrap(), b"ours");
        assert_eq!(names(&top.join("elsewhere")), ["x"]);
    }

    #[test]
    fn what_was_staged_is_swapped_in_only_over_what_was_expected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let options = ReplaceOptions { expect: Expect::same_as(None), ..Default::default() };
        let staged = Staged::write(&path, b"ours", &options).unwrap();
        fs::write(&path, "theirs").unwrap();
        assert!(matches!(staged.commit(), Err(ReplaceError::Exists)));
        let options =
            ReplaceOptions { expect: Expect::same_as(Some(b"theirs")), ..Default::default() };
        Staged::write(&path, b"ours", &options).unwrap().commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"ours");
        assert_eq!(names(dir.path()), ["x"]);
    }
}
