//! Limits of reading: which files, and how much.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ona_files::resolve;
use ona_policy::holds_credentials;
use ona_types::hook::MemoryType;

use super::{Problem, Roots};

/// The maximum size of all files together.
const MAX_TOTAL_BYTES: u64 = 40 << 20;

/// The maximum number of files, imports and globs. A text of 4 MiB has room for a million imports.
pub(super) const MAX_STEPS: usize = 10_000;

/// The maximum length of a glob.
const MAX_GLOB: usize = 4096;

/// What may be read.
#[derive(Debug)]
pub(super) struct Bounds {
    /// The real paths of the project and the further working directories.
    inside: Vec<PathBuf>,
    excludes: GlobSet,
    bytes: u64,
    steps: usize,
}

impl Bounds {
    /// The limits, and the problems in the excludes.
    pub(super) fn new(roots: &Roots) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let mut excludes = GlobSetBuilder::new();
        for text in &roots.excludes {
            match exclude(text, &roots.home) {
                Ok(glob) => drop(excludes.add(glob)),
                Err(why) => problems.push(Problem::Glob { glob: text.clone(), why }),
            }
        }
        let excludes = excludes.build().unwrap_or_else(|error| {
            let glob = error.glob().unwrap_or_default().to_owned();
            problems.push(Problem::Glob { glob, why: error.into() });
            GlobSet::empty()
        });
        let dirs = [&roots.project_root, &roots.cwd].into_iter().chain(&roots.additional_dirs);
        let inside = dirs.map(|dir| real(dir)).collect();
        (Self { inside, excludes, bytes: 0, steps: 0 }, problems)
    }

    /// Whether a file is left out by the settings. The organisation's never are.
    pub(super) fn excludes(&self, memory_type: MemoryType, named: &Path, real: &Path) -> bool {
        memory_type != MemoryType::Managed
            && (self.excludes.is_match(named) || self.excludes.is_match(real))
    }

    /// Whether a path is among stored credentials. Whose instructions lead there does not matter, but a project of
    /// that name is none.
    pub(super) fn stored(&self, real: &Path) -> bool {
        let own = |inside: &PathBuf| real.starts_with(inside) && holds_credentials(inside);
        holds_credentials(real) && !self.inside.iter().any(own)
    }

    /// Whether a path is outside the project, the further working directories and `dir`, and that matters: users and
    /// organisations may refer to any path.
    pub(super) fn external(&self, memory_type: MemoryType, dir: &Path, real: &Path) -> bool {
        matches!(memory_type, MemoryType::Project | MemoryType::Local)
            && !real.starts_with(dir)
            && !self.inside.iter().any(|inside| real.starts_with(inside))
    }

    /// Counts one step, within the limit.
    pub(super) fn step(&mut self) -> Result<(), Problem> {
        if self.steps >= MAX_STEPS {
            return Err(Problem::TooMany);
        }
        self.steps += 1;
        Ok(())
    }

    /// Counts bytes, within the limit.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), Problem> {
        let bytes = self.bytes.saturating_add(bytes as u64);
        if bytes > MAX_TOTAL_BYTES {
            return Err(Problem::TotalTooLarge);
        }
        self.bytes = bytes;
        Ok(())
    }
}

/// The real path of a directory; a loop of links stays as it is.
pub(super) fn real(dir: &Path) -> PathBuf {
    resolve(Path::new("/"), dir).unwrap_or_else(|_| dir.to_owned())
}

/// A glob in which `*` stays within a name.
pub(super) fn glob(text: &str) -> Result<globset::Glob, GlobError> {
    if text.len() > MAX_GLOB {
        return Err(GlobError::TooLong);
    }
    if text.starts_with('!') {
        return Err(GlobError::Negated);
    }
    Ok(GlobBuilder::new(text).literal_separator(true).build()?)
}

/// Why a glob cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    /// It is longer than the limit.
    #[error("it is too long")]
    TooLong,
    /// It starts with `!`.
    #[error("it cannot start with `!`")]
    Negated,
    /// An exclude must match absolute paths.
    #[error("it matches no absolute path: start it with `/`, `~/` or `**/`")]
    Relative,
    /// It has a syntax error.
    #[error("{}", .0.kind())]
    Syntax(#[from] globset::Error),
}

fn exclude(text: &str, home: &Path) -> Result<globset::Glob, GlobError> {
    match text.strip_prefix("~/") {
        Some(rest) => glob(&format!("{}/{rest}", globset::escape(&home.to_string_lossy()))),
        None if text.starts_with(['/', '*', '{']) => glob(text),
        None => Err(GlobError::Relative),
    }
}
