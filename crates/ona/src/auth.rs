//! `ona auth`: which credential is used, and where it comes from.

use std::process::ExitCode;

use clap::Subcommand;
use ona_auth::sources::Row;
use ona_cli::bootstrap::directory;
use ona_cli::credentials::Available;
use ona_cli::env::model::models;
use ona_cli::output::print_line;
use ona_cli::{CliError, Options, env, model};
use ona_config::settings::Settings;

use crate::config::in_force;

#[derive(Debug, Subcommand)]
pub enum Auth {
    /// Show which credential is used, and where it comes from; never the secret
    ///
    /// The exit code is 1 if there is none. apiKeyHelper is not run.
    #[command(
        after_help = "Examples:\n  ona auth status\n  ona auth status --json | jq -r .source"
    )]
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub fn run(cli: &Options, command: &Auth) -> Result<ExitCode, CliError> {
    match command {
        Auth::Status { json } => status(cli, *json),
    }
}

fn status(cli: &Options, as_json: bool) -> Result<ExitCode, CliError> {
    let here = directory(cli.cwd.as_deref())?;
    let roots = env::config(cli)?.roots(&here, &here);
    let layers = in_force(cli, &roots, None)?;
    let provider = model::provider(&cli.agent, &Settings::merged(&layers))?;
    let available = Available::find(provider, models()?, &layers, cli.agent.bare)?;
    let status = available.status();
    let active = available.active();
    let printed = match as_json {
        true => print_line(&status.to_string()),
        false => print_line(&words(&available, active)),
    };
    printed.map_err(|error| CliError::failed(format!("cannot print the result: {error}")))?;
    Ok(if active.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The same for people.
fn words(available: &Available, active: Option<&'static Row>) -> String {
    let mut text = format!("provider  {}\n", available.provider());
    text.push_str(&match active {
        Some(row) => format!("source    {} ({})", row.name, row.class),
        None => "source    none: no credential is set".to_owned(),
    });
    for (row, present) in available.sources() {
        let state = match (present, active.is_some_and(|one| one.source == row.source)) {
            (_, true) => "used",
            (true, false) => "set, not used",
            (false, false) => "not set",
        };
        text.push_str(&format!("\n  {:40} {state}", row.name));
    }
    text
}
