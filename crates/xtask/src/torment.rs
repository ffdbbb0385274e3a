//! `cargo xtask torment`: random keys, pastes and resizes for the interactive session.
//!
//! It is not part of the tests, because it takes as long as one lets it.

use std::path::Path;

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
    let mut command = process::cargo();
    command
        .args([
            "run",
            "--locked",
            "--quiet",
            "-p",
            "ona-testkit",
            "--example",
            "terminal",
            "--",
            "fuzz",
        ])
        .arg(ona)
        .arg(seconds)
        .current_dir(root);
    process::run(&mut command)
}
