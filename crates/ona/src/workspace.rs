//! Shared by the commands for intents, trace and blame: the workspace, the caller, and its session.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ona_cli::bootstrap::directory;
use ona_cli::output::complain;
use ona_cli::started_by::{StartedBy, started_by};
use ona_cli::{CliError, Options, env, record};
use ona_engine::find_session;
use ona_intents::Workspace;
use ona_intents::file::{
    self, EditError, Found, INTENTS_FILE, Intent, Intents, LoadError, WriteError, YamlError,
};
use ona_intents::history::HistoryError;
use ona_repo::git::GitError;
use ona_store::{Selection, Store};
use ona_trace::Ledger;
use ona_trace::ledger::{Entries, LEDGER_PATH};
use ona_types::SessionId;

/// What every message about a file of intents that cannot be read ends with.
const LINT: &str = "`ona intent lint` lists all problems";

/// Where a command was called: the workspace, and the caller's directory in it.
pub struct Location {
    pub workspace: Workspace,
    /// The caller's directory, resolved.
    pub here: PathBuf,
}

impl Location {
    /// The caller's.
    pub fn find(cli: &Options) -> Result<Self, CliError> {
        let here = directory(cli.cwd.as_deref())?;
        let root = file::workspace(&here).ok_or_else(|| {
            CliError::usage(format!("no intents are set up for {}", here.display()))
                .hint("`ona intent init` sets them up")
        })?;
        Self::at(&root, here)
    }

    /// A directory in the workspace with this root.
    pub fn at(root: &Path, here: PathBuf) -> Result<Self, CliError> {
        let workspace = Workspace::at(root)
            .map_err(|error| CliError::failed(format!("{}: {error}", root.display())))?;
        Ok(Self { workspace, here })
    }

    /// The root of the workspace, resolved.
    pub fn root(&self) -> &Path {
        self.workspace.root()
    }

    /// The workspace, as the record names it.
    pub fn name(&self) -> String {
        self.root().to_string_lossy().into_owned()
    }

    /// The intents of the workspace.
    pub fn intents(&self) -> Result<Arc<Intents>, CliError> {
        self.workspace.intents().map_err(|error| unreadable(&error))
    }

    /// The intents, where an answer is possible without them.
    pub fn intents_if_any(&self) -> Arc<Intents> {
        self.intents().unwrap_or_else(|error| {
            if self.root().join(INTENTS_FILE).exists() {
                complain(&error.warning("intents have no names here"));
            }
            Arc::default()
        })
    }

    /// The trace of the workspace.
    pub fn ledger(&self) -> Result<Ledger, CliError> {
        self.workspace.ledger().map_err(|error| CliError::usage(error.to_string()))
    }
}

/// Changes the file of intents. That it is ona's doing is remembered: a command of an agent that runs meanwhile is not
/// to answer for it.
pub fn update(
    location: &Location,
    edit: impl FnOnce(&str) -> Result<String, EditError>,
) -> Result<bool, WriteError> {
    let changed = file::update(location.root(), edit)?;
    vouch(location);
    Ok(changed)
}

/// Remembers that the file of intents is as ona wrote it. Where there is no record, no agent is at work either.
pub fn vouch(location: &Location) {
    if !env::database().is_ok_and(|path| path.exists()) {
        return;
    }
    let vouched = record::open(Some(location.root()))
        .and_then(|store| Ok(ona_gate::intents::vouch(&store, &location.workspace)?));
    if let Err(error) = vouched {
        complain(&format!("warning: {}\n", error.message()));
    }
}

/// The one intent with an id.
pub fn find_intent<'i>(intents: &'i Intents, id: &str) -> Result<&'i Intent, CliError> {
    match intents.find(id) {
        Found::One(intent) => Ok(intent),
        Found::Several(one, other) => Err(CliError::usage(format!(
            "duplicate intent {id}: at {INTENTS_FILE}:{}:{} and at {}:{}",
            one.place.line, one.place.column, other.place.line, other.place.column
        ))
        .hint("give one of them another id")),
        Found::None => Err(no_intent(intents, id)),
    }
}

fn no_intent(intents: &Intents, id: &str) -> CliError {
    let known: Vec<&str> = intents.all.iter().map(|intent| intent.id.as_str()).take(10).collect();
    let hint = match known.is_empty() {
        true => "no intents yet; `ona intent add` adds one".to_owned(),
        false => format!("known intents: {}; `ona intent list --all` lists all", known.join(", ")),
    };
    CliError::usage(format!("unknown intent {id}")).hint(hint)
}

/// `file:line:column: what`.
fn placed(error: &YamlError) -> String {
    format!("{INTENTS_FILE}:{}:{}: {}", error.place.line, error.place.column, error.message)
}

/// Why the file of intents cannot be used, and what to do.
pub fn unreadable(error: &LoadError) -> CliError {
    match error {
        LoadError::Missing => {
            CliError::usage(error.to_string()).hint("`ona intent init` creates it")
        }
        LoadError::Yaml(error) => CliError::usage(placed(error)).hint(LINT),
        other => CliError::usage(format!("{INTENTS_FILE}: {other}")).hint(LINT),
    }
}

/// Why the file of intents was not changed.
#[allow(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
pub fn unchanged(error: WriteError) -> CliError {
    let untouched = "the file is unchanged";
    match &error {
        WriteError::Load(error) => unreadable(error),
        WriteError::Edit(EditError::Yaml(error)) => CliError::usage(placed(error)).hint(LINT),
        WriteError::Edit(EditError::NoIntent(_)) => {
            CliError::usage(error.to_string()).hint("`ona intent list --all` lists all")
        }
        WriteError::Edit(error @ EditError::NotInList { id, .. }) => {
            CliError::usage(error.to_string()).hint(format!("`ona intent show {id}`"))
        }
        WriteError::Edit(_) => CliError::usage(error.to_string()).hint(untouched),
        WriteError::Lock(_) | WriteError::Replace(_) | WriteError::Io(_) => {
            CliError::failed(error.to_string()).hint(untouched)
        }
    }
}

/// Why git has no answer, and what to do.
#[allow(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
pub fn no_answer(error: GitError) -> CliError {
    let said = error.to_string();
    match error {
        GitError::NoCheckout(_) => CliError::usage(said)
            .hint("changes are found by comparing with a commit: `git init` creates a repository"),
        GitError::NoCommit { shallow: true, .. } => {
            CliError::usage(said).hint("`git fetch --unshallow` fetches the rest of the history")
        }
        GitError::NoCommit { .. } => CliError::usage(said).hint("`git log` lists the commits"),
        GitError::TooLarge(_) => CliError::failed(said).hint("add it to .gitignore"),
        _ => CliError::failed(said),
    }
}

/// Waits for git.
pub fn wait<T>(asked: impl Future<Output = Result<T, GitError>>) -> Result<T, CliError> {
    runtime()?.block_on(asked).map_err(no_answer)
}

/// The same where no answer is an answer.
pub fn wait_if_any<T>(asked: impl Future<Output = Result<T, GitError>>) -> Option<T> {
    runtime().ok()?.block_on(asked).ok()
}

pub fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::failed(format!("cannot start the runtime: {error}")))
}

/// What happens when the trace cannot be read.
#[allow(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
pub fn no_trace(error: std::io::Error) -> CliError {
    CliError::failed(format!("cannot read {LEDGER_PATH}: {error}"))
}

/// Entries of the trace; warns about lines that cannot be read.
pub fn entries(read: std::io::Result<Entries>) -> Result<Entries, CliError> {
    let read = read.map_err(no_trace)?;
    if read.bad > 0 {
        complain(&format!(
            "warning: cannot read {} of {LEDGER_PATH}; `ona trace verify` names the first\n",
            counted(read.bad, "line")
        ));
    }
    Ok(read)
}

/// Why the trace or git has no answer, and what to do.
pub fn no_history(error: HistoryError) -> CliError {
    match error {
        HistoryError::Git(error) => no_answer(error),
        HistoryError::Path(_) | HistoryError::NoCommit => CliError::usage(error.to_string()),
        HistoryError::Trace(_) => CliError::failed(error.to_string()),
        HistoryError::NotTraced(_) => {
            CliError::failed(error.to_string()).hint("`ona blame FILE` shows why")
        }
    }
}

/// The caller, as the record names it.
pub fn by(starter: Option<&StartedBy>) -> &'static str {
    if starter.is_some() { "agent" } else { "human" }
}

/// The session that a call of it asks for, if one does.
pub fn own_session(
    store: &Store,
    starter: Option<&StartedBy>,
) -> Result<Option<SessionId>, CliError> {
    let Some(StartedBy::Call(call)) = starter else { return Ok(None) };
    Ok(store.story(call)?.map(|story| SessionId::from_existing(&story.session_id)))
}

/// The session that is named. One that the record does not know yet may be another agent's.
pub fn named_session(
    store: &Store,
    location: &Location,
    word: &str,
) -> Result<SessionId, CliError> {
    if word.trim().is_empty() {
        return Err(CliError::usage("empty session id"));
    }
    match store.find_session(word, &location.here.to_string_lossy())? {
        ona_store::Found::One(seat) => Ok(seat.session),
        ona_store::Found::None => Ok(SessionId::from_existing(word)),
        ona_store::Found::Many(_) => Ok(find_session(store, word, &location.here)?.session),
    }
}

/// What is selected for a session: the named one, else the caller's own, else the workspace's default.
pub fn selection(
    store: &Store,
    location: &Location,
    session: Option<&str>,
) -> Result<Option<Selection>, CliError> {
    let session = match session {
        Some(word) => Some(named_session(store, location, word)?),
        None => own_session(store, started_by().as_ref())?,
    };
    Ok(store.selected_intent(&location.name(), session.as_ref())?)
}

/// The intent that is meant: the named one, else the selected one.
pub fn meant<'i>(
    location: &Location,
    intents: &'i Intents,
    intent: Option<&str>,
    session: Option<&str>,
) -> Result<&'i Intent, CliError> {
    if let Some(id) = intent {
        return find_intent(intents, id);
    }
    let store = Store::look(&env::database()?)?;
    let selected = selection(&store, location, session)?.and_then(|selected| selected.intent_id);
    match selected {
        Some(id) => find_intent(intents, &id),
        None => Err(CliError::usage("no intent is selected")
            .hint("give one with --intent, or select one with `ona intent select`")),
    }
}

/// Prints an answer.
pub fn printed(text: &str) -> Result<(), CliError> {
    ona_cli::output::print(text)
        .map_err(|error| CliError::failed(format!("cannot print the result: {error}")))
}

/// `1 line`, `2 lines`, `2 memories`.
pub fn counted(count: usize, what: &str) -> String {
    match what.strip_suffix("ry") {
        _ if count == 1 => format!("1 {what}"),
        Some(stem) => format!("{count} {stem}ries"),
        None => format!("{count} {what}s"),
    }
}
