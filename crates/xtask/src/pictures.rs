//! `cargo xtask pictures`: the pictures of the interactive session in `docs/pictures`, as tmux shows it.

use std::path::Path;

use anyhow::Result;

use crate::{metadata, needs, process, torment};

pub fn run(root: &Path) -> Result<()> {
    needs::provide(&[("tmux", "tmux")])?;
    process::run(process::cargo().args(["build", "--locked", "-p", "ona"]).current_dir(root))?;
    let ona = metadata::load(root)?.target_directory.join("debug/ona");
    let mut command = torment::terminal(root);
    process::run(command.arg("pictures").arg(ona).arg(root.join("docs/pictures")))
}
