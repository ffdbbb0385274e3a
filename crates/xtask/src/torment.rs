//! `cargo xtask torment`: random keys, pastes and resizes for the interactive session.
//!
//! It is not part of the tests, because it takes as long as one lets it.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::{metadata, process};

#[derive(clap::Args)]
pub struct Args {
    /// How long it goes on
    #[arg(long, default_value_t = 10)]
    minutes: u64,
}

pub fn run(root: &Path, args: &Args) -> Result<()> {
    process::run(process::cargo().args(["build", "--locked", "-p", "ona"]).current_dir(root))?;
    let ona = metadata::load(root)?.target_directory.join("debug/ona");
    let seconds = (args.minutes * 60).to_string();
    let mut command = terminal(root);
    command.arg("fuzz").arg(ona).arg(seconds);
    process::run(&mut command)
}

/// The program that drives the interactive session.
pub fn terminal(root: &Path) -> Command {
    let mut command = process::cargo();
    command
        .args(["run", "--locked", "--quiet", "-p", "ona-testkit", "--example", "terminal", "--"])
        .current_dir(root);
    command
}
