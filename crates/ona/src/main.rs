//! The binary: arguments in, an exit code out, and everything between wired together.
//!
//! Only this crate reads the environment, the home directory and the terminal. It holds no behaviour of
//! its own beyond saying what happened; see `docs/ARCHITECTURE.md` for where things are.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "this is the crate that speaks to the user and reads the environment"
)]

mod args;
mod doctor;
mod env;
mod error;
mod eval;
mod helpers;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::error::CliError;

fn main() -> ExitCode {
    let outcome = dispatch(&Cli::parse());
    outcome.unwrap_or_else(|error| {
        eprint!("{error}");
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
