//! `ona sandbox`.

use std::path::Path;
use std::process::ExitCode;

use ona_cli::output::print;
use ona_cli::{CliError, env};
use ona_sandbox::confine::known;
use ona_sandbox::confine::probe::Probed;
use serde_json::json;

use crate::args::Sandbox;

pub fn run(command: &Sandbox) -> Result<ExitCode, CliError> {
    match command {
        Sandbox::Status { fresh, json } => status(*fresh, *json),
    }
}

fn status(fresh: bool, as_json: bool) -> Result<ExitCode, CliError> {
    let database = env::database()?;
    let state = database.parent().unwrap_or(Path::new("/"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = if fresh { known::anew(state, &path) } else { known::known(state, &path) };
    let best = found.iter().find(|one| one.problem.is_none()).map(|one| one.level);
    let text = match as_json {
        true => format!("{}\n", json!({"best": best, "used": false, "levels": found})),
        false => {
            let best = best.map_or("none", |level| level.as_str());
            let rows: String = found.iter().map(row).collect();
            format!(
                "{rows}the strongest level that works here is {best}\nno command is confined yet: the settings \
                 `sandbox.*` do not act\n"
            )
        }
    };
    print(&text).map_err(|error| CliError::failed(format!("cannot print the levels: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

fn row(one: &Probed) -> String {
    match &one.problem {
        None => format!("{:<13} works\n", one.level.as_str()),
        Some(problem) => format!("{:<13} does not work: {problem}\n", one.level.as_str()),
    }
}
