//! Project instructions: the `CLAUDE.md` family, found, read and made ready for the model.
//!
//! [`load`] reads what applies from the start, the broadest first: the organisation's, the user's, then those of
//! every directory from the root of the file system down to the session's directory. All of them are passed on;
//! none replaces another. It also returns what is [`Conditional`]: rules for certain paths and the files of
//! directories further down, which apply when a file there is read. [`render`] makes one text of them.
//!
//! A repository's author is not the operator. A repository's files are read only if they are really in the project. A
//! link or an import that leads out of it is reported as a [`Diagnostic`], unless its target is in a further working
//! directory. Every file is read once, and sizes and look-ups are limited.

mod bounds;
mod conditional;
mod file;
pub mod front;
mod reader;
mod render;
mod rules;
mod text;

use std::path::{Path, PathBuf};

use ona_files::ReadError;
use ona_types::hook::{HookDetail, LoadReason, MemoryType};
use ona_types::{Diagnostic, PathError};

pub use conditional::Conditional;
use reader::{Find, Reader};
pub use render::render;
pub use rules::{BadGlob, path_globs};

/// Where instructions are looked for; all paths are absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    /// The session's directory.
    pub cwd: PathBuf,
    /// The root of the session's checkout (of a linked worktree, its own); without a repository, `cwd`.
    pub project_root: PathBuf,
    /// The user's home.
    pub home: PathBuf,
    /// `~/.claude`, or what `CLAUDE_CONFIG_DIR` says.
    pub claude_dir: PathBuf,
    /// The organisation's directories.
    pub managed_dirs: Vec<PathBuf>,
    /// Further working directories: links to them are allowed.
    pub additional_dirs: Vec<PathBuf>,
    /// Whether their instructions are read too (`CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD`).
    pub read_additional: bool,
    /// `claudeMdExcludes`: globs for absolute paths of files that are not read.
    pub excludes: Vec<String>,
}

/// One file of instructions, as it goes to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The file, as it was named.
    pub path: PathBuf,
    /// Whose instructions these are; an imported file has its importer's.
    pub memory_type: MemoryType,
    /// Why it was read.
    pub load_reason: LoadReason,
    /// The globs of a rule for certain paths.
    pub globs: Option<Vec<String>>,
    /// The file whose reading made it apply.
    pub trigger: Option<PathBuf>,
    /// The file that imports this one.
    pub parent: Option<PathBuf>,
    /// The text, without front matter and comments.
    pub content: String,
}

impl Instruction {
    /// What hooks on `InstructionsLoaded` are told.
    pub fn event(&self) -> HookDetail {
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        HookDetail::InstructionsLoaded {
            file_path: text(&self.path),
            memory_type: self.memory_type,
            load_reason: self.load_reason,
            globs: self.globs.clone(),
            trigger_file_path: self.trigger.as_ref().map(text),
            parent_file_path: self.parent.as_ref().map(text),
        }
    }
}

/// What was found.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The instructions in the order the model gets them. An import follows the file that imports it.
    pub instructions: Vec<Instruction>,
    /// What was skipped or changed.
    pub warnings: Vec<Diagnostic>,
}

/// Why a file, or a part of it, is skipped.
#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("broken link")]
    Missing,
    #[error("it is not a text file")]
    Binary,
    #[error("it is not UTF-8: invalid bytes were replaced")]
    NotUtf8,
    #[error(
        "it leads out of the project, to {}: it is not read unless that is in a working directory (--add-dir {}, or \
         permissions.additionalDirectories in your own settings)",
        .0.display(),
        .0.parent().unwrap_or(.0).display()
    )]
    External(PathBuf),
    #[error("it leads to {}, which holds credentials: it is never read as instructions", .0.display())]
    Stored(PathBuf),
    #[error("imported by {}: more than 5 levels of imports", .0.display())]
    TooDeep(PathBuf),
    #[error("skipped: all instructions together exceed the limit of 40 MiB")]
    TotalTooLarge,
    #[error("too many files, imports or globs: the rest is skipped")]
    TooMany,
    #[error("invalid `paths`, so the rule applies everywhere: {0}")]
    FrontMatter(String),
    #[error("the glob `{glob}` is skipped: {why}")]
    Glob { glob: String, why: bounds::GlobError },
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Reads what applies from the start of a session, and what may apply later.
pub fn load(roots: &Roots) -> (Loaded, Conditional) {
    read(roots, LoadReason::SessionStart)
}

/// Reads all of it again, after compaction. What applied later counts as not read, and applies again when it is
/// needed.
pub fn reload(roots: &Roots) -> (Loaded, Conditional) {
    read(roots, LoadReason::Compact)
}

fn read(roots: &Roots, reason: LoadReason) -> (Loaded, Conditional) {
    let mut reader = Reader::new(roots);
    let mut out = Vec::new();
    for dir in &roots.managed_dirs {
        let find = Find::new(MemoryType::Managed, reason, dir);
        out.extend(reader.read(&dir.join("CLAUDE.md"), &find));
    }
    let find = Find::new(MemoryType::User, reason, &roots.claude_dir);
    out.extend(reader.read(&roots.claude_dir.join("CLAUDE.md"), &find));
    for rule in reader.users_rules() {
        out.extend(reader.read(&rule, &find.rule()));
    }
    for (dir, own) in directories(roots) {
        out.extend(reader.directory(&dir, own, reason, None));
    }
    let warnings = std::mem::take(&mut reader.warnings);
    (Loaded { instructions: out, warnings }, Conditional::new(reader))
}

/// The directories whose instructions apply from the start, the broadest first, each with whether it belongs to the
/// session itself: in further working directories the user's local file is never read.
fn directories(roots: &Roots) -> Vec<(PathBuf, bool)> {
    let mut dirs: Vec<_> = roots.cwd.ancestors().map(|dir| (dir.to_owned(), true)).collect();
    dirs.reverse();
    dirs.extend(additional(roots).map(|dir| (dir.to_owned(), false)));
    dirs
}

/// The further working directories whose instructions are read.
fn additional(roots: &Roots) -> impl Iterator<Item = &Path> {
    roots.additional_dirs.iter().filter(|_| roots.read_additional).map(PathBuf::as_path)
}

#[cfg(test)]
mod tests;
