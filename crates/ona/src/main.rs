//! The binary: arguments in, an exit code out, and everything between wired together.
//!
//! Only this crate reads the environment, the home directory and the terminal. It holds no behaviour of
//! its own beyond saying what happened; see `docs/ARCHITECTURE.md` for where things are.
#![allow(clippy::disallowed_methods, reason = "this is the crate that reads the environment")]

mod args;
mod doctor;
mod env;
mod error;
mod eval;
mod helpers;
mod output;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::error::CliError;

fn main() -> ExitCode {
    ona_sandbox::adopt_orphans();
    let outcome = dispatch(&Cli::parse());
    outcome.unwrap_or_else(|error| {
        output::complain(&error.to_string());
        error.kind.exit_code()
    })
}

fn dispatch(cli: &Cli) -> Result<ExitCode, CliError> {
    match &cli.command {
        Some(Command::Doctor { json }) => doctor::run(*json),
        Some(Command::TaskHost) => helpers::task_host(),
        Some(Command::PdfText) => helpers::pdf_text(),
        None if cli.init_db => eval::init_db(),
        None => match &cli.eval {
            Some(call) => eval::run(call, cli),
            None => Err(CliError::usage("nothing to do").hint("`ona --help` shows what there is")),
        },
    }
}
