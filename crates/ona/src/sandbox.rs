//! `ona sandbox`.

use std::path::Path;
use std::process::ExitCode;

use ona_cli::output::print;
use ona_cli::{CliError, Options, bootstrap, env};
use ona_config::trust::repository_root;
use ona_gate::governance::{GovernanceError, Unread};
use ona_sandbox::confine::known;
use ona_sandbox::confine::probe::Probed;
use serde_json::{Value, json};

use crate::args::Sandbox;

pub fn run(cli: &Options, command: &Sandbox) -> Result<ExitCode, CliError> {
    match command {
        Sandbox::Status { fresh, json } => status(cli, *fresh, *json),
    }
}

/// Which levels work.
pub fn levels(cli: &Options, fresh: bool) -> Result<Vec<Probed>, CliError> {
    let database = env::database()?;
    let state = database.parent().unwrap_or(Path::new("/"));
    let here = bootstrap::directory(cli.cwd.as_deref())?;
    let find = if fresh { known::anew } else { known::known };
    let (own, _) = env::own_program()?;
    // A helper in the work tree would be the agent's own.
    Ok(find(state, &env::search_path(), &[repository_root(&here)], &own))
}

fn status(cli: &Options, fresh: bool, as_json: bool) -> Result<ExitCode, CliError> {
    let found = levels(cli, fresh)?;
    let best = found.iter().find(|one| one.problem.is_none()).map(|one| one.level);
    let used = used(cli)?;
    let text = match as_json {
        true => format!("{}\n", json!({"best": best, "levels": found, "used": used.1})),
        false => {
            let rows: String = found.iter().map(row).collect();
            format!("{rows}\nin this folder:\n{}\n", used.0)
        }
    };
    print(&text).map_err(|error| CliError::failed(format!("cannot print the levels: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// How commands run in this folder, in words and for programs.
fn used(cli: &Options) -> Result<(String, Value), CliError> {
    let engine = bootstrap::looking_engine(cli)?;
    match bootstrap::try_look(&engine, cli, Unread::IsTold)? {
        Ok(session) => {
            let governance = &session.gate.governance;
            Ok((governance.sandbox_words(), governance.sandbox_detail()))
        }
        Err(error @ GovernanceError::Untrusted { .. }) => {
            Ok((format!("not known: {error}"), Value::Null))
        }
        Err(error) => Err(error.into()),
    }
}

fn row(one: &Probed) -> String {
    match &one.problem {
        None => format!("{:<13} works\n", one.level.as_str()),
        Some(problem) => format!("{:<13} does not work: {problem}\n", one.level.as_str()),
    }
}
