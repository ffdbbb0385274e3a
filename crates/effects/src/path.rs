//! Paths as a call names them, and as they really are.

use std::path::{Component, Path, PathBuf};

pub use ona_types::PathError;
use ona_types::World;

/// A path a call touches: as it was named, and as it is. They differ where symlinks are in between, and
/// rules look at both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Absolute, with `.` and `..` removed lexically.
    pub named: PathBuf,
    /// Where it really leads.
    pub real: PathBuf,
}

impl Target {
    /// The target that `path`, taken from the directory `cwd`, names.
    pub fn of(world: &dyn World, cwd: &Path, path: impl AsRef<Path>) -> Result<Self, PathError> {
        let real = world.resolve(cwd, path.as_ref())?;
        let named = Path::new("/").join(in_words(&cwd.join(path)));
        Ok(Self { named, real })
    }

    /// A target that is named by its real path.
    pub fn real(path: PathBuf) -> Self {
        Self { named: path.clone(), real: path }
    }
}

/// A path with `.` and `..` removed lexically, regardless of links.
pub(crate) fn in_words(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}
