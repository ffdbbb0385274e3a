//! What a tool call would touch, before it runs.
//!
//! A tool turns its input into [`Effects`]: the paths it reads and writes, the shell commands it
//! starts, the hosts it contacts. Decisions about a call look only at those. Two things make
//! them trustworthy: paths that were resolved, through `..` and symlinks, and [`shell::parse`],
//! which reads a command line with a real grammar and says so when it cannot. What a program does with its
//! arguments comes from tables: the files it opens, the programs it starts, whether it only reads.
//!
//! The crate is pure: it accesses the disk and git only through a [`World`].

mod braces;
pub mod commands;
mod effects;
mod files;
mod git_options;
mod hidden_options;
mod inner_lines;
mod nested;
mod open_repositories;
pub mod path;
mod pattern;
mod programs;
pub mod read_only;
mod shell_settings;
mod surroundings;
pub mod wildcard;
mod wrappers;

pub use ona_shell as shell;
pub use ona_types::World;

pub use effects::{
    Access, Effects, Given, Listing, Run, Skips, Start, TrackedFiles, Tree, Wide, Written,
};
pub use read_only::{git_only_reads, why_git_is_not_free};
pub use surroundings::Surroundings;
