//! `ona trace reconcile --adopt`: records changes made outside the trace as made by a human.

use std::process::ExitCode;

use ona_cli::output::complain;
use ona_cli::{CliError, record};
use ona_intents::adopt::{AdoptError, Adopted, adopt};
use ona_intents::refusal::Refusal;
use serde_json::json;

use crate::workspace::{Location, find_intent, no_history, printed, runtime, unreadable};

pub fn run(
    location: &Location,
    since: Option<&str>,
    id: &str,
    as_json: bool,
) -> Result<ExitCode, CliError> {
    find_intent(&*location.intents()?, id)?;
    let adopted = runtime()?
        .block_on(adopt(&location.workspace, since, id))
        .map_err(|error| not_adopted(error, id))?;
    keep(location, &adopted).unwrap_or_else(|error| {
        complain(&error.warning("the record does not know the new entries of the trace"));
    });
    for error in &adopted.map_errors {
        complain(&format!("warning: {error}\n"));
    }
    printed(&report(&adopted, id, as_json))?;
    Ok(ExitCode::SUCCESS)
}

/// Lets the record know the entries, so that `ona trace verify` notices if one is removed.
fn keep(location: &Location, adopted: &Adopted) -> Result<(), CliError> {
    if adopted.entries.is_empty() {
        return Ok(());
    }
    let entries: Vec<_> =
        adopted.entries.iter().map(|(_, entry)| (entry.seq, entry.entry_hash.clone())).collect();
    Ok(record::open(Some(location.root()))?.keep_traced(&location.name(), &entries)?)
}

fn report(adopted: &Adopted, id: &str, as_json: bool) -> String {
    let entries = adopted.entries.iter();
    if as_json {
        let rows: Vec<_> = entries
            .map(
                |(path, entry)| json!({"path": path, "entry_id": entry.entry.id, "seq": entry.seq}),
            )
            .collect();
        format!("{}\n", json!({"intent_id": id, "adopted": rows}))
    } else if adopted.entries.is_empty() {
        "nothing to adopt: every change is traced\n".to_owned()
    } else {
        entries
            .map(|(path, entry)| format!("adopted {path} for {id} (entry #{})\n", entry.seq))
            .collect()
    }
}

/// Why nothing was adopted, and what to do.
fn not_adopted(error: AdoptError, id: &str) -> CliError {
    let message = error.to_string();
    match error {
        AdoptError::Load(error) => unreadable(&error),
        AdoptError::Changes(error) => no_history(error),
        AdoptError::Refused(Refusal::IntentInactive { .. }) => CliError::usage(message)
            .hint(format!("`ona intent status {id} IN_PROGRESS` reopens it")),
        AdoptError::Refused(_) | AdoptError::Path(_) => CliError::usage(message),
        AdoptError::Scope { .. } => CliError::usage(message).hint("`ona intent lint` shows where"),
        AdoptError::Ignore(_) => CliError::usage(message).hint("`ona intent lint` shows all"),
        AdoptError::OutOfScope { .. } => CliError::failed(message).hint(
            "adopt them for the intent that owns them, or widen the scope with `ona intent edit`",
        ),
        AdoptError::Append(_) => CliError::failed(message),
    }
}
