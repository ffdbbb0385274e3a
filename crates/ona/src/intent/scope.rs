//! `ona intent scope-check` and `request-scope`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ona_intents::file::{Found, Intent, Intents};
use ona_intents::ignore::Ignore;
use ona_intents::scope::{Glob, Held, locate};
use ona_store::{Join, Seat, Store};
use serde_json::{Value, json};

use super::change::widen;
use crate::args::Cli;
use crate::env;
use crate::error::CliError;
use crate::governed;
use crate::output::{complain, plain};
use crate::workspace::{Workspace, by, meant, named_session, own_session, printed, unchanged};

/// What is to be said of one path.
struct Answer {
    /// As it was given.
    given: String,
    /// Where it is below the workspace, if it is there.
    file: Option<String>,
    /// The pattern that holds it.
    pattern: Option<String>,
    /// Why it is not in scope.
    why: Option<String>,
    /// The other intents that own it, and by which pattern.
    others: Vec<(String, String)>,
}

pub fn check(
    cli: &Cli,
    paths: &[PathBuf],
    (intent, session): (Option<&str>, Option<&str>),
    as_json: bool,
) -> Result<ExitCode, CliError> {
    let workspace = Workspace::find(cli)?;
    let intents = workspace.intents()?;
    let intent = meant(&workspace, &intents, intent, session)?;
    // A scope that cannot be read holds nothing, but the path is not to blame.
    intent.scope().map_err(|error| {
        CliError::usage(format!("{}: {error}", intent.id)).hint("`ona intent lint` shows where")
    })?;
    let ignore = Ignore::load(&workspace.root);
    if let Some(error) = ignore.errors.first() {
        return Err(CliError::usage(error.to_string()).hint("`ona intent lint` shows all"));
    }
    let answers: Vec<Answer> =
        paths.iter().map(|path| answer(&workspace, &intents, intent, &ignore, path)).collect();
    let all_in = answers.iter().all(|answer| answer.pattern.is_some());
    let status = intent.status();
    let text = if as_json {
        let rows: Vec<Value> = answers.iter().map(Answer::json).collect();
        let value = json!({"intent_id": intent.id, "intent_status": status.as_str(),
            "in_scope": all_in, "paths": rows});
        format!("{value}\n")
    } else {
        answers.iter().map(|answer| answer.words(&intent.id)).collect()
    };
    if !status.is_open() {
        complain(&format!("note: {} is {status}: no file may be changed for it\n", intent.id));
    }
    printed(&text)?;
    Ok(ExitCode::from(u8::from(!all_in)))
}

fn answer(
    workspace: &Workspace,
    intents: &Intents,
    intent: &Intent,
    ignore: &Ignore,
    path: &Path,
) -> Answer {
    let mut answer = Answer {
        given: path.display().to_string(),
        file: None,
        pattern: None,
        why: None,
        others: Vec::new(),
    };
    let file = match locate(&workspace.root, &workspace.here, path) {
        Ok(file) => file,
        Err(outside) => {
            answer.why = Some(outside.to_string());
            return answer;
        }
    };
    let holds = |intent: &Intent| match intent.scope().map(|scope| scope.holds(&file)) {
        Ok(Held::By(pattern)) => Ok(pattern.to_owned()),
        Ok(Held::Excluded(pattern)) => Err(format!("excluded by `{pattern}` of {}", intent.id)),
        Ok(Held::No) | Err(_) => Err(format!("no pattern of {} matches", intent.id)),
    };
    let blocked = ignore.blocks_path(&file);
    match (holds(intent), blocked) {
        (_, Some(entry)) => {
            let (name, line, text) = (entry.file, entry.line, &entry.text);
            answer.why = Some(format!("blocked for every intent by {name} line {line} (`{text}`)"));
        }
        (Ok(pattern), None) => answer.pattern = Some(pattern),
        (Err(why), None) => {
            answer.why = Some(why);
            let others = intents
                .all
                .iter()
                .filter(|other| other.id != intent.id && other.status().is_open());
            answer.others =
                others.filter_map(|other| Some((other.id.clone(), holds(other).ok()?))).collect();
        }
    }
    answer.file = Some(file);
    answer
}

impl Answer {
    fn json(&self) -> Value {
        let others: Vec<Value> = self
            .others
            .iter()
            .map(|(id, pattern)| json!({"intent_id": id, "pattern": pattern}))
            .collect();
        json!({"path": self.given, "file": self.file, "in_scope": self.pattern.is_some(),
            "pattern": self.pattern, "why": self.why, "intents": others})
    }

    fn words(&self, id: &str) -> String {
        let file = self.file.as_deref().unwrap_or(&self.given);
        let line = match (&self.pattern, &self.why) {
            (Some(pattern), _) => format!("in scope      {file}: matches `{pattern}` of {id}"),
            (None, why) => {
                let others: Vec<String> = self
                    .others
                    .iter()
                    .map(|(id, pattern)| format!("{id} by `{pattern}`"))
                    .collect();
                let others = match others.is_empty() {
                    true => String::new(),
                    false => format!("; in the scope of {}", others.join(", ")),
                };
                format!(
                    "out of scope  {file}: {}{others}",
                    why.as_deref().unwrap_or("no pattern matches")
                )
            }
        };
        format!("{}\n", plain(&line).replace('\n', " "))
    }
}

pub fn request(
    cli: &Cli,
    glob: &str,
    (intent, session): (Option<&str>, Option<&str>),
    grant: bool,
    as_json: bool,
) -> Result<ExitCode, CliError> {
    let workspace = Workspace::find(cli)?;
    let intents = workspace.intents()?;
    let intent = meant(&workspace, &intents, intent, session)?;
    match Glob::read(glob) {
        Ok(Some(_)) => {}
        Ok(None) => {
            return Err(CliError::usage(format!("`{glob}` is a comment, not a pattern")));
        }
        Err(error) => return Err(CliError::usage(error.to_string())),
    }
    let known = intent.owned_scope.iter().any(|item| item.text == glob);
    let starter = governed::started_by();
    let who = by(starter.as_ref());
    let outcome = if known {
        "known"
    } else {
        let store = Store::open(&env::database()?)?;
        let seat = seat(&store, &workspace, session)?;
        if grant {
            widen(&workspace, &intent.id, glob).map_err(unchanged)?;
        }
        store.request_scope(&seat, &workspace.name(), (&intent.id, glob), who, grant)?;
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
fn seat(store: &Store, workspace: &Workspace, session: Option<&str>) -> Result<Seat, CliError> {
    let session = match session {
        Some(word) => Some(named_session(store, workspace, word)?),
        None => own_session(store, governed::started_by().as_ref())?,
    };
    if let Some(session) = session
        && let ona_store::Found::One(seat) =
            store.find_session(session.as_str(), &workspace.here.to_string_lossy())?
    {
        return Ok(seat);
    }
    let here = workspace.root.to_string_lossy();
    Ok(store.join(&Join { project_dir: &here, conversation: None })?)
}

/// The command that grants a wish, as a shell takes it.
fn granting(id: &str, glob: &str) -> String {
    let glob = glob.replace('\'', r"'\''");
    format!("ona intent request-scope '{glob}' --intent {id} --grant")
}

pub fn requests(cli: &Cli, as_json: bool) -> Result<ExitCode, CliError> {
    let workspace = Workspace::find(cli)?;
    let intents = workspace.intents()?;
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
    for wish in store.scope_requests(&workspace.name())? {
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
