//! Project instructions: the `CLAUDE.md` family, found, read and made ready for the model.
//!
//! [`load`] reads what holds from the start, the broadest first: the organisation's, the user's, then those of
//! every directory from the top of the file system down to where the session stands. All of them are passed on,
//! none replaces another. It also returns what is [`Conditional`]: rules for certain paths and the files of
//! directories further down, which come in when a file there is read. [`render`] makes one text of them.
//!
//! A repository's author is not the operator. What a repository brings is read only where it really lies in the
//! project; a link or an import that leads out is listed as a [`Diagnostic`] unless the operator has made the place it
//! leads to a working directory.
//! However much is thrown at it, reading ends soon: every file is read once, and sizes and look-ups are capped.

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
    /// Where the session stands.
    pub cwd: PathBuf,
    /// The top of the checkout the session is in, of a linked worktree its own; without a repository, `cwd`.
    pub project_root: PathBuf,
    /// The user's home.
    pub home: PathBuf,
    /// `~/.claude`, or what `CLAUDE_CONFIG_DIR` says.
    pub claude_dir: PathBuf,
    /// The organisation's directories.
    pub managed_dirs: Vec<PathBuf>,
    /// Further working directories: whoever added them has agreed to what leads there.
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
    /// The file that was read and brought this in.
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
    /// What was not read, or not as it stands.
    pub warnings: Vec<Diagnostic>,
}

/// Why a file is skipped, or what of it is.
#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("the link leads nowhere")]
    Missing,
    #[error("it holds no text")]
    Binary,
    #[error("it is not UTF-8: what cannot be read was replaced")]
    NotUtf8,
    #[error(
        "it leads out of the project, to {}: it is not read unless that is in a working directory (--add-dir {}, or \
         permissions.additionalDirectories in your own settings)",
        .0.display(),
        .0.parent().unwrap_or(.0).display()
    )]
    External(PathBuf),
    #[error("imported by {}: more than 5 imports deep", .0.display())]
    TooDeep(PathBuf),
    #[error("it is not read: all instructions together are larger than 40 MiB")]
    TotalTooLarge,
    #[error("the rest is not looked at: too many files, imports or globs")]
    TooMany,
    #[error("its `paths` cannot be understood, so it holds everywhere: {0}")]
    FrontMatter(String),
    #[error("the glob `{glob}` is skipped: {why}")]
    Glob { glob: String, why: String },
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Reads what holds from the start of a session, and what may hold later.
pub fn load(roots: &Roots) -> (Loaded, Conditional) {
    read(roots, LoadReason::SessionStart)
}

/// Reads all of it again, after compaction. What came in later counts as not read: it comes in again when it
/// is called for.
pub fn reload(roots: &Roots) -> (Loaded, Conditional) {
    read(roots, LoadReason::Compact)
}

fn read(roots: &Roots, reason: LoadReason) -> (Loaded, Conditional) {
    let mut reader = Reader::new(roots);
    let mut out = Vec::new();
    for dir in &roots.managed_dirs {
        let find = Find::new(MemoryType::Managed, reason, dir);
        reader.read(&dir.join("CLAUDE.md"), &find, &mut out);
    }
    let find = Find::new(MemoryType::User, reason, &roots.claude_dir);
    reader.read(&roots.claude_dir.join("CLAUDE.md"), &find, &mut out);
    for rule in reader.users_rules() {
        reader.read(&rule, &find.rule(), &mut out);
    }
    for (dir, own) in directories(roots) {
        reader.directory(&dir, own, reason, None, &mut out);
    }
    let warnings = std::mem::take(&mut reader.warnings);
    (Loaded { instructions: out, warnings }, Conditional::new(reader))
}

/// The directories whose instructions hold from the start, the broadest first, each with whether it is the
/// session's own: of further working directories, the user's local file is never read.
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
