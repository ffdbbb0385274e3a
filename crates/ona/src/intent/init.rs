//! `ona intent init`: the same as `ona init` without --tool.

use std::process::ExitCode;

use ona_cli::bootstrap::directory;
use ona_cli::{CliError, Options};
use ona_hosts::project;
use ona_intents::setup;
use serde_json::json;

use crate::workspace::printed;

pub fn run(cli: &Options, as_json: bool) -> Result<ExitCode, CliError> {
    let root = setup::root_for(&directory(cli.cwd.as_deref())?);
    let made = project::prepare(&root)?;
    let done: Vec<(&str, &str)> = setup::files()
        .map(|path| match made.iter().find(|change| change.path == path) {
            None => (path, "kept"),
            Some(change) if change.before.is_some() => (path, "extended"),
            Some(_) => (path, "created"),
        })
        .collect();
    let text = if as_json {
        let files: Vec<_> =
            done.iter().map(|(path, what)| json!({"path": path, "done": what})).collect();
        format!("{}\n", json!({"workspace": root, "files": files}))
    } else {
        let lines: String =
            done.iter().map(|(path, what)| format!("  {what:<8} {path}\n")).collect();
        format!(
            "intents of {}\n{lines}next: `ona intent add --name … --scope …`, then `ona intent select`\n",
            root.display()
        )
    };
    printed(&text)?;
    Ok(ExitCode::SUCCESS)
}
