//! The commands about the phases of a conversation (S0 §8): `ona phase`, `ona plan`, `ona test`, `ona report`.
//!
//! Each finds the conversation ([`conversation`]), asks `ona-phases`, and prints. What is allowed and what counts is decided
//! there, not here.

mod conversation;
pub mod phase;
pub mod plan;
pub mod report;
mod room;
pub mod test;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use ona_cli::output::print;
use ona_cli::started_by::started_by;
use ona_cli::{CliError, asker};
use ona_gate::settle::is_gone;
use ona_phases::machine::Actor;
use ona_store::Store;
use ona_types::{ContentHash, ConversationId};

/// Who runs this command (DESIGN §5 no. 12).
pub fn actor() -> Actor {
    match started_by() {
        Some(_) => Actor::Agent,
        None if std::io::stdin().is_terminal() => Actor::Human,
        None => Actor::System,
    }
}

/// Refuses whoever is no human at a terminal, with the command to be run there.
fn humans_only(what: &str, command: &str) -> Result<Actor, CliError> {
    match actor() {
        Actor::Human => Ok(Actor::Human),
        Actor::System => Err(CliError::failed(format!(
            "{what} needs a human at a terminal, and standard input is none"
        ))
        .hint(format!("run `{command}` in a terminal"))),
        Actor::Agent => Err(CliError::failed(format!(
            "{what} needs a human, and this ona was started by an agent"
        ))
        .hint(format!("the operator runs `{command}` in their own terminal"))),
    }
}

/// Refuses an approval while a command of this conversation runs: it could have opened the terminal in which somebody seems to
/// approve.
fn nothing_runs(store: &Store, conversation: &str) -> Result<(), CliError> {
    let running = store.running_commands(&ConversationId::from_existing(conversation))?;
    match running.iter().find(|(_, owner)| !is_gone(owner)) {
        None => Ok(()),
        Some((id, _)) => Err(CliError::failed(format!(
            "a command of an agent in this conversation runs right now ({id})"
        ))
        .hint("approve when it has ended; `ona why` tells about it")),
    }
}

/// Asks a human at the terminal; anything but a yes is a no.
fn asks(question: &str) -> Result<bool, CliError> {
    let line = asker::line(&format!("{question} [y/N] "))
        .map_err(|error| CliError::failed(format!("cannot ask on the terminal: {error}")))?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// The least of a hash that is taken for it.
const MIN_HASH: usize = 8;

/// Whether a given hash, or its beginning, is this one.
fn check_hash(given: Option<&str>, is: &str, what: &str) -> Result<(), CliError> {
    match given {
        Some(given) if given.len() < MIN_HASH || !is.starts_with(&given.to_lowercase()) => {
            Err(CliError::failed(format!(
                "the hash of {what} is {}, not {}",
                short(is),
                ona_types::shown(given)
            ))
            .hint(format!("give at least {MIN_HASH} digits of the hash of what you have read")))
        }
        _ => Ok(()),
    }
}

/// A hash that people can compare.
fn short(hash: &str) -> &str {
    hash.get(..16).unwrap_or(hash)
}

/// Prints the result of something that is done already.
fn done(text: &str) -> Result<ExitCode, CliError> {
    print(text)
        .map_err(|error| CliError::failed(format!("done, but cannot print the result: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints what was asked for.
fn shown(text: &str) -> Result<ExitCode, CliError> {
    print(text).map_err(|error| CliError::failed(format!("cannot print the result: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// The hash of a text as it is stored.
fn hash_of(text: &str) -> ContentHash {
    ContentHash::of(text.as_bytes())
}
