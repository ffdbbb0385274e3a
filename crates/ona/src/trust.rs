//! `ona trust` and `ona untrust`.

use std::path::Path;
use std::process::ExitCode;

use ona_engine::{brought, repository_root, settings};
use ona_store::Store;
use serde_json::json;

use crate::args::Cli;
use crate::asker;
use crate::env;
use crate::error::CliError;
use crate::eval::directory;
use crate::output::{print, print_line};

#[allow(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn unprintable(error: std::io::Error) -> CliError {
    CliError::failed(format!("it is done, but cannot be printed: {error}"))
}

pub fn run(cli: &Cli, list: bool, as_json: bool) -> Result<ExitCode, CliError> {
    let store = Store::open(&env::database()?)?;
    if list {
        let roots = store.trusted_roots()?;
        let text: String = if as_json {
            let rows: Vec<_> = roots
                .iter()
                .map(|r| json!({"root": r.root, "hash": r.hash, "trusted_at": r.trusted_at}))
                .collect();
            format!("{}\n", json!(rows))
        } else {
            roots.iter().map(|r| format!("{}  {}\n", r.trusted_at, r.root)).collect()
        };
        print(&text).map_err(unprintable)?;
        return Ok(ExitCode::SUCCESS);
    }
    let here = directory(cli.cwd.as_ref())?;
    let roots = env::config(cli)?.roots(&here, &here);
    let loaded = settings::load(&roots, &settings::Given::default());
    let found = brought(&here, &loaded.layers);
    store.trust(&found.root.to_string_lossy(), &found.hash)?;
    let mut text = format!("trusted {}\n", found.root.display());
    for what in &found.what {
        text.push_str(&format!("  {what}\n"));
    }
    print(&text).map_err(unprintable)?;
    Ok(ExitCode::SUCCESS)
}

/// Asks at the terminal whether a folder may run what it brings.
pub fn agreed(root: &Path, what: &[String]) -> bool {
    let question = format!(
        "\n{} brings:\n  {}\nThey would run with your rights. Do you trust this folder? [y/N] ",
        root.display(),
        what.join("\n  "),
    );
    matches!(asker::line(&question).as_deref().map(str::trim), Ok("y" | "yes"))
}

pub fn untrust(cli: &Cli) -> Result<ExitCode, CliError> {
    let store = Store::open(&env::database()?)?;
    let root = repository_root(&directory(cli.cwd.as_ref())?);
    if !store.untrust(&root.to_string_lossy())? {
        return Err(CliError::failed(format!("{} was not trusted", root.display()))
            .hint("`ona trust --list` shows what is"));
    }
    print_line(&format!("no longer trusted: {}", root.display())).map_err(unprintable)?;
    Ok(ExitCode::SUCCESS)
}
