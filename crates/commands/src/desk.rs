//! What a command works with. It is made anew for every turn and every command, so that commands can run while the agent
//! is at work.

use std::path::PathBuf;

use ona_config::settings::Settings;
use ona_engine::{Agent, Engine, LiveChanges, ModelHandle, Session};
use ona_extensions::slash;
use ona_front::CoreEnd;
use ona_store::{Store, StoreError};
use ona_types::{PermissionMode, SessionId};
use tokio_util::sync::CancellationToken;

use crate::act::Act;
use crate::outside::{Outside, Printed};
use crate::run;
use crate::table::{Command, Meaning, find, name_of};

/// What a command works with.
pub(crate) struct Desk<O> {
    pub(crate) engine: Engine,
    pub(crate) outside: O,
    /// The session beside the running one.
    pub(crate) session: Session,
    pub(crate) front: CoreEnd,
    /// The model when this was made; [`Desk::model`] is the one of the next request.
    first_model: ModelHandle,
    pub(crate) changes: LiveChanges,
    /// Where ona was started.
    pub(crate) cwd: PathBuf,
    /// What the context begins with, in bytes.
    pub(crate) context_parts: Vec<(&'static str, usize)>,
    /// Problems in the settings.
    pub(crate) warnings: Vec<String>,
    /// The mode when this was made; [`Desk::mode`] is the one of the next step.
    first_mode: PermissionMode,
    /// Whether it was chosen for this session: settings do not change it.
    pub(crate) keeps_mode: bool,
}

/// Why a command did nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Said(String),
}

impl<O: Outside> Desk<O> {
    /// The desk beside an agent.
    pub(crate) fn beside(
        agent: &Agent,
        engine: &Engine,
        outside: &O,
        cwd: &std::path::Path,
    ) -> Result<Self, StoreError> {
        let session = agent.session().beside()?;
        let (changes, mode) = (agent.changes(), agent.session().mode());
        changes.start_from(agent.model_handle(), mode);
        Ok(Self {
            engine: engine.clone(),
            outside: outside.clone(),
            front: session.gate.front.another(),
            first_mode: mode,
            keeps_mode: agent.session().gate.governance.has_own_mode(),
            session,
            first_model: agent.model_handle().clone(),
            changes,
            cwd: cwd.to_owned(),
            context_parts: agent.context_parts(),
            warnings: agent.session().warnings().to_vec(),
        })
    }

    /// The command of a line, if it is one of ona's own.
    pub(crate) fn command(line: &str) -> Option<(Meaning, &str)> {
        let (name, arguments) = slash(line)?;
        Some((find(name)?, arguments.trim()))
    }

    /// Runs a command.
    pub(crate) async fn run(
        &self,
        meaning: Meaning,
        arguments: &str,
        cancel: &CancellationToken,
    ) -> Act {
        if let Some(variable) = self.outside.switched_off_by(name_of(meaning)) {
            return Act::error(format!("/{} is switched off by {variable}", name_of(meaning)));
        }
        match meaning {
            Meaning::Closed(closed) => Act::plain(format!("/{}: {}", closed.name, closed.row)),
            Meaning::Command(command) if command.takes_nothing() && !arguments.is_empty() => {
                Act::error(format!("unknown argument `{arguments}`: /{} takes none", command.name))
            }
            Meaning::Command(Command { run, .. }) => {
                match run::run(self, *run, arguments, cancel).await {
                    Ok(act) => act,
                    Err(error) => Act::error(error.to_string()),
                }
            }
        }
    }

    /// The model, with what was changed since the turn began.
    pub(crate) fn model(&self) -> ModelHandle {
        self.changes.model().unwrap_or_else(|| self.first_model.clone())
    }

    /// The mode, with what was changed since the turn began.
    pub(crate) fn mode(&self) -> PermissionMode {
        self.changes.mode().unwrap_or(self.first_mode)
    }

    pub(crate) fn store(&self) -> &Store {
        &self.engine.core.store
    }

    pub(crate) fn session_id(&self) -> &SessionId {
        &self.session.seat().session
    }

    pub(crate) fn settings(&self) -> Settings {
        self.session.gate.settings()
    }

    /// The directory of the project, as it is on the record.
    pub(crate) fn project_dir(&self) -> &str {
        &self.session.seat().project_dir
    }

    /// What one of ona's own command lines prints.
    pub(crate) async fn printed(&self, words: &[&str]) -> Printed {
        let outside = self.outside.clone();
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let done = tokio::task::spawn_blocking(move || outside.run(&words)).await;
        done.unwrap_or_else(|error| Printed { text: error.to_string(), ok: false })
    }

    /// The same as an answer.
    pub(crate) async fn print(&self, words: &[&str]) -> Act {
        let Printed { text, ok } = self.printed(words).await;
        let text = text.trim_end().to_owned();
        if ok { Act::plain(text) } else { Act::error(text) }
    }

    /// The same for words that are followed by what was typed: quotes hold words together.
    pub(crate) async fn print_typed(&self, words: &[&str], typed: &str) -> Act {
        let typed = ona_extensions::words(typed);
        let words: Vec<&str> =
            words.iter().copied().chain(typed.iter().map(String::as_str)).collect();
        self.print(&words).await
    }
}
