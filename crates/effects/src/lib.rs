//! What a tool call would touch, before it runs.
//!
//! A tool turns its input into [`Effects`]: the paths it reads and writes, the shell commands it
//! starts, the hosts it contacts. Decisions about a call look only at those. Two things make
//! them trustworthy: paths that were resolved, through `..` and symlinks, and [`shell::parse`],
//! which reads a command line with a real grammar and says so when it cannot. What a single program does with its
//! arguments is the knowledge of [`ona_programs`]. This crate puts it together for the whole line: the directories
//! each command runs in, the values of variables, the files that are there, and which commands only read.
//!
//! The crate is pure: it accesses the disk and git only through a [`World`].

mod braces;
mod effects;
mod hidden_options;
mod nested;
mod open_repositories;
pub mod path;
mod pattern;
pub mod read_only;
mod shell_settings;
mod surroundings;
pub mod wildcard;

pub use ona_shell as shell;
pub use ona_types::World;

pub use effects::{
    Access, Effects, Given, Listing, Run, Skips, Start, TrackedFiles, Tree, Wide, Written,
};
pub use read_only::{git_only_reads, why_git_is_not_free};
pub use surroundings::Surroundings;
