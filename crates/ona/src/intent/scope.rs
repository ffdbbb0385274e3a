//! `ona intent scope-check` and `request-scope`.

use std::path::PathBuf;
use std::process::ExitCode;

use ona_cli::output::{complain, plain};
use ona_cli::started_by::started_by;
use ona_cli::{CliError, Options, env, record};
use ona_intents::file::{self, Found};
use ona_intents::scope::Glob;
use ona_intents::scope_check::{ScopeAnswer, ScopeCheck, ScopeCheckError};
use ona_store::{Join, Seat, Store};
use serde_json::{Value, json};

use crate::workspace::{
    Location, by, meant, named_session, own_session, printed, unchanged, update,
};

pub fn check(
    cli: &Options,
    paths: &[PathBuf],
    (intent, session): (Option<&str>, Option<&str>),
    as_json: bool,
) -> Result<ExitCode, CliError> {
    let location = Location::find(cli)?;
    let intents = location.intents()?;
    let intent = meant(&location, &intents, intent, session)?;
    let check = ScopeCheck::new(&location.workspace, &intents, intent).map_err(|error| {
        let hint = match error {
            ScopeCheckError::Scope { .. } => "`ona intent lint` shows where",
            ScopeCheckError::Ignore(_) => "`ona intent lint` shows all",
        };
        CliError::usage(error.to_string()).hint(hint)
    })?;
    let answers: Vec<(String, ScopeAnswer)> = paths
        .iter()
        .map(|path| (path.display().to_string(), check.path(&location.here, path)))
        .collect();
    let all_in = answers.iter().all(|(_, answer)| answer.pattern.is_some());
    let status = intent.status();
    let text = if as_json {
        let rows: Vec<Value> = answers.iter().map(|(given, answer)| row(given, answer)).collect();
        let value = json!({"intent_id": intent.id, "intent_status": status.as_str(),
            "in_scope": all_in, "paths": rows});
        format!("{value}\n")
    } else {
        answers.iter().map(|(given, answer)| line(given, answer, &intent.id)).collect()
    };
    if !status.is_open() {
        complain(&format!("note: {} is {status}: no file may be changed for it\n", intent.id));
    }
    printed(&text)?;
    Ok(ExitCode::from(u8::from(!all_in)))
}

fn row(given: &str, answer: &ScopeAnswer) -> Value {
    let owners: Vec<Value> = answer
        .owners
        .iter()
        .map(|(id, pattern)| json!({"intent_id": id, "pattern": pattern}))
        .collect();
    json!({"path": given, "file": answer.file, "in_scope": answer.pattern.is_some(),
        "pattern": answer.pattern, "why": answer.why, "intents": owners})
}

fn line(given: &str, answer: &ScopeAnswer, id: &str) -> String {
    let file = answer.file.as_deref().unwrap_or(given);
    let line = match &answer.pattern {
        Some(pattern) => format!("in scope      {file}: matches `{pattern}` of {id}"),
        None => {
            let owners: Vec<String> =
                answer.owners.iter().map(|(id, pattern)| format!("{id} by `{pattern}`")).collect();
            let owners = match owners.is_empty() {
                true => String::new(),
                false => format!("; in the scope of {}", owners.join(", ")),
            };
            let why = answer.why.as_deref().unwrap_or("no pattern matches");
            format!("out of scope  {file}: {why}{owners}")
        }
    };
    format!("{}\n", plain(&line).replace('\n', " "))
}

pub fn request(
    cli: &Options,
    glob: &str,
    (intent, session): (Option<&str>, Option<&str>),
    grant: bool,
    as_json: bool,
) -> Result<ExitCode, CliError> {
    let location = Location::find(cli)?;
    let intents = location.intents()?;
    let intent = meant(&location, &intents, intent, session)?;
    match Glob::read(glob) {
        Ok(Some(_)) => {}
        Ok(None) => {
            return Err(CliError::usage(format!("`{glob}` is a comment, not a pattern")));
        }
        Err(error) => return Err(CliError::usage(error.to_string())),
    }
    let known = intent.owned_scope.iter().any(|item| item.text == glob);
    let starter = started_by();
    let who = by(starter.as_ref());
    let outcome = if known {
        "known"
    } else {
        let store = record::open(Some(location.root()))?;
        let seat = seat(&store, &location, session)?;
        if grant {
            update(&location, |text| file::widen(text, &intent.id, glob)).map_err(unchanged)?;
        }
        store.request_scope(&seat, &location.name(), (&intent.id, glob), who, grant)?;
        if grant { "granted" } else { "requested" }
    };
    let id = &intent.id;
    let granting = granting(id, glob);
    let text = match (as_json, outcome) {
        (true, _) => {
            let value = json!({"intent_id": id, "pattern": glob, "by": who, "outcome": outcome,
                "grant_with": (outcome == "requested").then_some(&granting)});
            format!("{value}\n")
        }
        (false, "known") => format!("`{glob}` is already in the scope of {id}\n"),
        (false, "granted") => format!("`{glob}` is now in the scope of {id}\n"),
        (false, _) => format!(
            "requested: `{glob}` for {id} ({})\nthe operator grants it with: {granting}\n",
            intent.title()
        ),
    };
    printed(&plain(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// Whose record the wish goes on: the named session's, the caller's own, else that of the workspace.
fn seat(store: &Store, location: &Location, session: Option<&str>) -> Result<Seat, CliError> {
    let session = match session {
        Some(word) => Some(named_session(store, location, word)?),
        None => own_session(store, started_by().as_ref())?,
    };
    if let Some(session) = session
        && let ona_store::Found::One(seat) =
            store.find_session(session.as_str(), &location.here.to_string_lossy())?
    {
        return Ok(seat);
    }
    let here = location.root().to_string_lossy();
    Ok(store.join(&Join { project_dir: &here, conversation: None })?)
}

/// The command that grants a wish, as a shell takes it.
fn granting(id: &str, glob: &str) -> String {
    let glob = glob.replace('\'', r"'\''");
    format!("ona intent request-scope '{glob}' --intent {id} --grant")
}

pub fn requests(cli: &Options, as_json: bool) -> Result<ExitCode, CliError> {
    let location = Location::find(cli)?;
    let intents = location.intents()?;
    let store = Store::look(&env::database()?)?;
    // The file says what was granted; nothing else is the authority for a scope.
    let state = |id: &str, pattern: &str| match intents.find(id) {
        Found::One(intent) if intent.owned_scope.iter().any(|item| item.text == pattern) => {
            "granted"
        }
        Found::One(_) => "open",
        Found::Several(..) | Found::None => "no such intent",
    };
    let (mut text, mut rows) = (String::new(), Vec::new());
    for wish in store.scope_requests(&location.name())? {
        let state = state(&wish.intent_id, &wish.pattern);
        let mut row = json!(wish);
        row["state"] = json!(state);
        let more = match state {
            "open" => format!("\n  grant with: {}", granting(&wish.intent_id, &wish.pattern)),
            _ => String::new(),
        };
        text.push_str(&format!(
            "{state}  {}  {}  `{}`  by {} in {}{more}\n",
            wish.at,
            wish.intent_id,
            wish.pattern,
            wish.by,
            wish.session_id.as_deref().unwrap_or("no session"),
        ));
        rows.push(row);
    }
    if text.is_empty() {
        text = "no scope requests\n".to_owned();
    }
    printed(&if as_json { format!("{}\n", Value::Array(rows)) } else { plain(&text) })?;
    Ok(ExitCode::SUCCESS)
}
