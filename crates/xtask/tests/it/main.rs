//! Tests of the workspace itself, which no single crate can do.
//!
//! - [`layers`]: crates depend on each other as docs/ARCHITECTURE.md says;
//! - [`matrix`]: the acceptance matrix, its scripts and its runner agree;
//! - [`files`]: test files are wired in, files are short, start with a comment
//!   and name no path of the machine they were written on;
//! - [`cites`]: every cited clause exists;
//! - [`cycles`]: modules import each other in one direction only;
//! - [`purity`]: pure crates touch no file and start no process;
//! - [`error_types`]: no error is a `String`;
//! - [`catalogue`]: every message is in a snapshot, and reviewed when it changes;
//! - [`messages`]: no message points at a file that only the repository has.
//!
//! Each module parses text with pure functions, tested on samples, and then
//! checks the real files of the repository.

#![allow(
    clippy::disallowed_methods,
    reason = "the data comes from cargo, git and the acceptance script"
)]

mod catalogue;
mod cites;
mod cycles;
mod error_types;
mod file_reads;
mod files;
mod layers;
mod markdown;
mod matrix;
mod messages;
mod purity;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of the file at `path` under the root.
fn read(path: impl AsRef<Path>) -> Result<String> {
    let path = path.as_ref();
    std::fs::read_to_string(root().join(path))
        .with_context(|| format!("cannot read {}", path.display()))
}

/// The output of a command run at the root.
fn capture(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root())
        .output()
        .with_context(|| format!("cannot start {program}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} {}: {said}", arguments.join(" "));
    Ok(String::from_utf8(output.stdout)?)
}

/// Passes if nothing was found, otherwise fails with one line per finding.
fn none_of(what: &str, found: &[String]) -> Result<()> {
    ensure!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
    Ok(())
}
