//! How far reading goes: which files, and how much of everything.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ona_files::resolve;
use ona_types::hook::MemoryType;

use super::{Problem, Roots};

/// All files together. What a person wrote is a thousandth of it.
const MOST_BYTES: u64 = 40 << 20;

/// Files, imports and globs looked at. A text of 4 MiB has room for a million imports.
pub(super) const MOST_STEPS: usize = 10_000;

/// A glob longer than any path.
const LONGEST_GLOB: usize = 4096;

/// What may be read.
#[derive(Debug)]
pub(super) struct Bounds {
    /// Where the project and the further working directories really are.
    inside: Vec<PathBuf>,
    excludes: GlobSet,
    bytes: u64,
    steps: usize,
}

impl Bounds {
    /// The bounds, and what is wrong with the excludes.
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
            problems.push(Problem::Glob { glob, why: error.kind().to_string() });
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

    /// Whether something is neither in the project, nor in a directory that the operator added, nor in `dir`, and
    /// whose it is makes that matter: users and organisations may point where they like.
    pub(super) fn external(&self, memory_type: MemoryType, dir: &Path, real: &Path) -> bool {
        matches!(memory_type, MemoryType::Project | MemoryType::Local)
            && !real.starts_with(dir)
            && !self.inside.iter().any(|inside| real.starts_with(inside))
    }

    /// Goes one step further, if that is not too far.
    pub(super) fn step(&mut self) -> Result<(), Problem> {
        if self.steps >= MOST_STEPS {
            return Err(Problem::TooMany);
        }
        self.steps += 1;
        Ok(())
    }

    /// Takes in as many bytes more, if that is not too much.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), Problem> {
        let bytes = self.bytes.saturating_add(bytes as u64);
        if bytes > MOST_BYTES {
            return Err(Problem::TotalTooLarge);
        }
        self.bytes = bytes;
        Ok(())
    }
}

/// Where a directory really is; a loop of links is nowhere else.
pub(super) fn real(dir: &Path) -> PathBuf {
    resolve(Path::new("/"), dir).unwrap_or_else(|_| dir.to_owned())
}

/// A glob in which `*` stays within a name.
pub(super) fn glob(text: &str) -> Result<globset::Glob, String> {
    if text.len() > LONGEST_GLOB {
        return Err("it is too long".to_owned());
    }
    if text.starts_with('!') {
        return Err("it cannot begin with `!`".to_owned());
    }
    let glob = GlobBuilder::new(text).literal_separator(true).build();
    glob.map_err(|error| error.kind().to_string())
}

fn exclude(text: &str, home: &Path) -> Result<globset::Glob, String> {
    match text.strip_prefix("~/") {
        Some(rest) => glob(&format!("{}/{rest}", globset::escape(&home.to_string_lossy()))),
        None if text.starts_with(['/', '*', '{']) => glob(text),
        None => Err("it matches no absolute path: begin it with `/`, `~/` or `**/`".to_owned()),
    }
}
