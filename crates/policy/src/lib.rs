//! The effects of a tool call, and the permission rules that judge them.
//!
//! A tool turns its input into [`Effects`]: the paths it reads and writes, the shell commands it
//! starts, the hosts it contacts. Decisions about a call look only at those. Two things make
//! them trustworthy: paths that were resolved, through `..` and symlinks, and [`shell::parse`],
//! which reads a command line with a real grammar and says so when it cannot. [`Permissions`] holds
//! the rules of S0 §5.12 and returns a [`Ruling`] with the rules behind it. [`secrets`] masks what must not
//! be stored.
//!
//! The crate is pure: it accesses the disk and git only through a [`World`].
//!
//! ```
//! use ona_policy::shell;
//! let script = shell::parse("git log > /tmp/log; rm -rf \"$DIR\"");
//! assert_eq!(script.commands[0].text(), "git log");
//! assert_eq!(script.redirects[0].target.literal.as_deref(), Some("/tmp/log"));
//! assert_eq!(script.commands[1].words[2].literal, None); // depends on a variable
//! ```

mod builtin;
mod commands;
mod effects;
mod files;
mod git_options;
pub mod path;
mod permissions;
mod programs;
mod read_only;
mod remedy;
mod rule;
pub mod secrets;
pub mod shell;
mod subject;
mod suggest;
pub mod wildcard;

pub use ona_types::World;

pub use effects::{Access, Effects, Given, Skips, Start, TrackedFiles, Tree};
pub use permissions::{By, Call, Permissions, Ruling, Surroundings};
pub use read_only::git_only_reads;
pub use remedy::Change;
pub use rule::{Anchors, Rule, RuleError, Scope, Source, TOOL_NAMES, split_rules, tool_named};
pub use subject::{RuleFacts, RuleSubject};
