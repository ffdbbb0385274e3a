//! `ona operator`: the key by which approvals show who gave them.

use std::process::ExitCode;

use clap::Subcommand;
use ona_auth::operator::{self, OperatorError, OperatorKeys};
use ona_cli::output::print_line;
use ona_cli::{CliError, tokens};
use serde_json::json;

#[derive(Debug, Subcommand)]
pub enum Operator {
    /// Show the operator's public key; the first time one is made
    #[command(
        after_help = "Examples:\n  ona operator show\n  ona operator show --json | jq -r .id"
    )]
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Replace the operator's key by a new one
    ///
    /// What the old key has signed stays signed: `ona operator show` goes on listing it.
    #[command(after_help = "Examples:\n  ona operator rotate\n  ona operator rotate --json")]
    Rotate {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub fn run(command: &Operator) -> Result<ExitCode, CliError> {
    let vault = tokens::open_vault()?;
    let failed = |error: OperatorError| CliError::failed(error.to_string());
    let (keys, as_json) = match command {
        Operator::Show { json } => (operator::show(&vault).map_err(failed)?, *json),
        Operator::Rotate { json } => (operator::rotate(&vault).map_err(failed)?, *json),
    };
    let text = if as_json { json!(keys).to_string() } else { words(&keys) };
    print_line(&text)
        .map_err(|error| CliError::failed(format!("done, but cannot print the result: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

fn words(keys: &OperatorKeys) -> String {
    let mut text =
        format!("id          {}\npublic key  {}", keys.current.id, keys.current.public_key);
    for key in &keys.previous {
        text.push_str(&format!("\nprevious    {}  {}", key.id, key.public_key));
    }
    text
}
