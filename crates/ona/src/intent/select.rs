//! `ona intent select` and `clear`: the intent of a session, and the default of the workspace.

use std::process::ExitCode;

use ona_cli::output::{complain, plain, print_line};
use ona_cli::started_by::{StartedBy, started_by};
use ona_cli::{CliError, Options, record};
use ona_intents::refusal::Refusal;
use ona_store::Store;
use ona_types::SessionId;
use serde_json::json;

use crate::governed;
use crate::workspace::{Location, by, find_intent, named_session, own_session, printed, vouch};

pub fn select(
    cli: &Options,
    id: &str,
    session: Option<&str>,
    context: bool,
    as_json: bool,
) -> Result<ExitCode, CliError> {
    let location = Location::find(cli)?;
    let intents = location.intents()?;
    find_intent(&intents, id)?;
    let store = record::open(Some(location.root()))?;
    let starter = started_by();
    let session = session_of(&store, &location, session, starter.as_ref())?;
    let selected = location.workspace.select(id).map_err(|refusal| refused(&refusal, id))?;
    for warning in &selected.warnings {
        complain(&format!("warning: {warning}\n"));
    }
    store.select_intent(&location.name(), session.as_ref(), Some(id), by(starter.as_ref()))?;
    vouch(&location);
    let status = selected.intent.status();
    let text = if context {
        format!("{}\n", selected.context)
    } else if as_json {
        let status = status.as_str();
        format!("{}\n", json!({"intent_id": id, "status": status, "session_id": session}))
    } else {
        let intent = format!("{id} ({}, {status})", selected.intent.title());
        let said = match &session {
            Some(session) => format!("{intent} is now the intent of session {session}"),
            None => format!("{intent} is now the default intent"),
        };
        format!("{}\n", plain(&said))
    };
    printed(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The hint for the operator; an agent gets one from its own tool.
fn refused(refusal: &Refusal, id: &str) -> CliError {
    let error = CliError::usage(refusal.message());
    match refusal {
        Refusal::IntentInactive { .. } => {
            error.hint(format!("`ona intent status {id} IN_PROGRESS` reopens it"))
        }
        Refusal::IntentBlocked { .. } => error.hint("remove it from that list first"),
        other => error.hint(other.hint()),
    }
}

/// The session that is meant. An agent may only select for its own session.
fn session_of(
    store: &Store,
    location: &Location,
    session: Option<&str>,
    starter: Option<&StartedBy>,
) -> Result<Option<SessionId>, CliError> {
    let own = own_session(store, starter)?;
    let named = match (session, starter) {
        (None, None) => return Ok(None),
        (None, Some(starter)) => {
            let refused = governed::refused("about the default intent", starter);
            return Err(match own {
                Some(own) => refused.hint(format!("for your own session: --session {own}")),
                None => refused,
            });
        }
        (Some(word), _) => named_session(store, location, word)?,
    };
    if let Some(starter) = starter {
        if own.as_ref() != Some(&named) {
            return Err(governed::refused("about the intent of another session", starter));
        }
    } else if store.session(&named)?.is_none() {
        complain(&format!(
            "note: session {} is not recorded yet; the selection applies when it starts\n",
            plain(named.as_str())
        ));
    }
    Ok(Some(named))
}

pub fn clear(cli: &Options, session: Option<&str>) -> Result<ExitCode, CliError> {
    let location = Location::find(cli)?;
    let store = record::open(Some(location.root()))?;
    let starter = started_by();
    let session = session_of(&store, &location, session, starter.as_ref())?;
    store.select_intent(&location.name(), session.as_ref(), None, by(starter.as_ref()))?;
    let text = match session {
        Some(session) => format!("session {session}: no intent is selected"),
        None => "no default intent; each session selects its own".to_owned(),
    };
    print_line(&plain(&text))
        .map_err(|error| CliError::failed(format!("cannot print the result: {error}")))?;
    Ok(ExitCode::SUCCESS)
}
