//! What a decision needs to know about the disk and git. Decisions ask a [`World`] and do no I/O themselves.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a path cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathError {
    /// The empty string.
    Empty,
    /// A NUL byte, which no file system accepts.
    Nul,
    /// Symlinks form a loop at this link.
    Loop(PathBuf),
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the path is empty"),
            Self::Nul => f.write_str("the path contains a NUL byte"),
            Self::Loop(link) => write!(f, "symlinks form a loop at {}", link.display()),
        }
    }
}

impl std::error::Error for PathError {}

/// Read access to the disk and git for decisions. The real implementation is `ona_repo::Disk`.
pub trait World: fmt::Debug + Send + Sync {
    /// The absolute path that `path`, taken from the directory `cwd`, really names: `..` and symlinks are followed as
    /// the kernel follows them. It need not exist.
    fn resolve(&self, cwd: &Path, path: &Path) -> Result<PathBuf, PathError>;

    /// Whether the path exists.
    fn exists(&self, path: &Path) -> bool;

    /// Whether it is a directory.
    fn is_dir(&self, path: &Path) -> bool;

    /// The names in a directory; nothing if there are more than `most`.
    fn names(&self, dir: &Path, most: usize) -> Option<Vec<OsString>>;

    /// The content of a regular file; nothing if it is none, cannot be read, or is longer than this many bytes.
    fn content(&self, path: &Path, most: u64) -> Option<Vec<u8>>;

    /// Shows everything below a directory, without the directory itself, until `visit` has seen enough.
    fn walk(
        &self,
        dir: &Path,
        wanted: &Wanted,
        visit: &mut dyn FnMut(PathBuf, bool) -> ControlFlow<()>,
    );

    /// The top of the checkout that a directory belongs to.
    fn checkout(&self, dir: &Path) -> Option<PathBuf>;

    /// The files that git tracks in the checkout that a directory belongs to.
    fn tracked(&self, dir: &Path) -> TrackedIn;

    /// Why git, started in `dir`, may run something or look elsewhere although it only reads. Nothing if it finds the
    /// repository of the checkout that `project` is in, or of a submodule of it, or none at all, and nothing there makes
    /// it do so.
    fn git_oddity(&self, dir: &Path, project: &Path) -> Option<String>;

    /// Whether there is no such reason.
    fn git_is_plain(&self, dir: &Path, project: &Path) -> bool {
        self.git_oddity(dir, project).is_none()
    }
}

/// Whether an entry with this name is wanted; it may be a directory.
pub type IsWanted = Arc<dyn Fn(&OsStr, bool) -> bool + Send + Sync>;

/// Which entries of a directory are wanted.
#[derive(Clone)]
pub struct Wanted {
    /// Also names that begin with a dot.
    pub hidden: bool,
    /// Also what git ignores.
    pub ignored: bool,
    /// By their names. A directory that is not wanted is not entered.
    pub names: IsWanted,
}

impl fmt::Debug for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hidden, ignored, .. } = self;
        write!(f, "Wanted {{ hidden: {hidden}, ignored: {ignored}, .. }}")
    }
}

/// What git tracks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrackedIn {
    /// There is no checkout.
    Nothing,
    /// There is one, and its index cannot be read.
    Unreadable,
    /// These files.
    Files(Vec<PathBuf>),
}
