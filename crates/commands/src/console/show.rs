//! What the front-end is told: the session that is open, and what has changed.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ona_engine::{Agent, ModelHandle, Session};
use ona_front::{CommandInfo, Event, Reply};
use ona_store::StoreError;
use ona_types::hook::StartSource;
use ona_types::{PermissionMode, Phase, SessionId, TaskId, Todo, whole_words};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{Console, HISTORY};
use crate::closed::CLOSED;
use crate::opened::{self, PAGE};
use crate::outside::Outside;
use crate::run::OUT_OF_PLANNING;
use crate::status;
use crate::table::{COMMANDS, When};

/// How long the status line waits for further changes.
const SETTLE: Duration = Duration::from_millis(300);

/// What the front-end was told last, so that it is not told twice.
#[derive(Default)]
pub(super) struct Shown {
    pub(super) status: Option<ona_front::Status>,
    /// The mode when the state was looked at last.
    pub(super) mode: Option<PermissionMode>,
    pub(super) tasks: Option<Vec<ona_front::TaskInfo>>,
    /// The session, and those of its background tasks of which it is known that they have ended.
    pub(super) ended: Option<(SessionId, HashSet<TaskId>)>,
    pub(super) todos: Option<Vec<Todo>>,
    pub(super) commands: Option<Vec<CommandInfo>>,
    pub(super) preferences: Option<ona_front::Preferences>,
    pub(super) colour: Option<String>,
    /// The mode of the prompt's editor, with vim keys.
    pub(super) vim: Option<String>,
    /// What the sessions have cost that this one is a copy of.
    pub(super) cost_before: f64,
    /// Whether this one is a copy of the one before.
    pub(super) is_copy: bool,
    /// When the session was opened.
    pub(super) opened: Option<Instant>,
    /// Stops the status line command that runs.
    pub(super) custom: CancellationToken,
    /// The status line command.
    pub(super) command: Option<String>,
    /// Whether its failure was told.
    pub(super) told_failure: Arc<AtomicBool>,
}

impl<O: Outside> Console<O> {
    /// Tells the front-end about a session that is open.
    pub(super) fn opened(&mut self, agent: &Agent, source: StartSource) -> Result<(), StoreError> {
        let session = agent.session();
        self.shown.opened = Some(Instant::now());
        let store = &self.engine.core.store;
        let (entries, more) = match source {
            StartSource::Startup | StartSource::Clear => (Vec::new(), false),
            _ if self.shown.is_copy => (Vec::new(), false),
            _ => opened::page(store, &session.seat().session, None, PAGE)?,
        };
        let source = source.as_str().to_owned();
        let prompts = store.typed(&session.seat().project_dir, HISTORY)?;
        self.front.tell(Event::History { prompts });
        self.show(agent)?;
        self.front.tell(Event::Opened { source, entries, more });
        if let Some((command, reply)) = self.said.take() {
            self.front.tell(Event::Reply { command, reply });
        }
        if let Some(text) = self.input.take() {
            self.front.tell(Event::Input { text });
        }
        Ok(())
    }

    /// Tells the front-end what has changed.
    pub(super) fn show(&mut self, agent: &Agent) -> Result<(), StoreError> {
        let (session, shown) = (agent.session(), &mut self.shown);
        let keybindings = ona_files::content_text(self.outside.keybindings()).ok();
        let mut preferences = status::preferences(session, keybindings);
        preferences.colour.clone_from(&shown.colour);
        if shown.preferences.as_ref() != Some(&preferences) {
            shown.preferences = Some(preferences.clone());
            self.front.tell(Event::Preferences { preferences: Box::new(preferences) });
        }
        let commands = commands(session, &self.outside);
        if shown.commands.as_ref() != Some(&commands) {
            shown.commands = Some(commands.clone());
            self.front.tell(Event::Commands { commands });
        }
        self.show_todos(session.gate.store().todos(session.seat())?);
        self.show_state(agent.session(), agent.model_handle(), None)
    }

    /// The todo list, if it is another one.
    pub(super) fn show_todos(&mut self, todos: Vec<Todo>) {
        if self.shown.todos.as_ref() != Some(&todos) {
            self.shown.todos = Some(todos.clone());
            self.front.tell(Event::Todos { todos });
        }
    }

    /// Tells of background tasks that have ended since, once.
    fn show_ended_tasks(&mut self, session: &Session) -> Result<(), StoreError> {
        let id = &session.seat().session;
        let ended = session.gate.store().ended_tasks(id)?;
        let known = self.shown.ended.take().filter(|(of, _)| of == id).map(|(_, known)| known);
        for task in ended
            .iter()
            .filter(|task| known.as_ref().is_some_and(|known| !known.contains(&task.id)))
        {
            // Who stops one knows it.
            let Some(end) = task.end.as_ref().filter(|end| end.reason != "stopped") else {
                continue;
            };
            let what = whole_words(&task.command, 80);
            let text = format!("background task {} ended, {}: {what}", task.id, end.how());
            let text = session.gate.redactor().mask(&text).into_owned();
            self.front
                .tell(Event::Reply { command: "tasks".to_owned(), reply: Reply::Plain { text } });
        }
        let ids = ended.into_iter().map(|task| task.id).collect();
        self.shown.ended = Some((id.clone(), ids));
        Ok(())
    }

    /// The same for what changes often. `mode` is the permission mode, if the session does not know it yet.
    pub(super) fn show_state(
        &mut self,
        session: &Session,
        model: &ModelHandle,
        mode: Option<PermissionMode>,
    ) -> Result<(), StoreError> {
        let shown = &mut self.shown;
        let mut status = status::status(session, model)?;
        status.mode = mode.unwrap_or(status.mode);
        status.cost_usd += shown.cost_before;
        let mode_before = shown.mode.replace(status.mode);
        if mode_before == Some(PermissionMode::Plan)
            && status.mode != PermissionMode::Plan
            && status.phase == Phase::Planning.to_string()
        {
            let text =
                format!("the phase is still planning, and nothing is changed; {OUT_OF_PLANNING}");
            self.front.tell(Event::Warning { text });
        }
        let changed = shown.status.as_ref() != Some(&status);
        if changed {
            shown.status = Some(status.clone());
            self.front.tell(Event::Status { status: Box::new(status) });
        }
        let tasks = status::tasks(session)?;
        if shown.tasks.as_ref() != Some(&tasks) {
            shown.tasks = Some(tasks.clone());
            self.front.tell(Event::Tasks { tasks });
        }
        self.show_ended_tasks(session)?;
        let command = status::line_command(session);
        let is_other = command != self.shown.command;
        if is_other {
            self.shown.command = command;
            self.shown.told_failure = Arc::default();
        }
        if changed || is_other {
            self.show_custom(session);
        }
        Ok(())
    }

    /// Runs the user's status line command, beside everything else. A newer run ends the one before.
    pub(super) fn show_custom(&mut self, session: &Session) {
        let Some(status) = self.shown.status.clone() else { return };
        let Ok(session) = session.beside() else { return };
        self.shown.custom.cancel();
        let cancel = CancellationToken::new();
        self.shown.custom = cancel.clone();
        let (front, version) = (self.front.another(), self.outside.version());
        let open_for = self.shown.opened.map(|opened| opened.elapsed()).unwrap_or_default();
        let vim = self.shown.vim.clone();
        let facts = status::LineFacts { version, open_for, vim };
        let told_failure = Arc::clone(&self.shown.told_failure);
        tokio::spawn(async move {
            // What changes at the same time is one change.
            sleep(SETTLE).await;
            if cancel.is_cancelled() {
                return;
            }
            let line = status::custom_line(&session, &status, &facts, &cancel).await;
            if cancel.is_cancelled() {
                return;
            }
            if let Err(error) = &line
                && !told_failure.swap(true, Ordering::Relaxed)
            {
                front.warn(format!("{error}; /statusline shows and changes it"));
            }
            front.tell(Event::StatusLine { text: line.ok().flatten() });
        });
    }
}

/// The commands of the menu: ona's own, then those of the project and of servers.
pub(super) fn commands<O: Outside>(session: &Session, outside: &O) -> Vec<CommandInfo> {
    if session.has_no_commands() {
        return Vec::new();
    }
    let there = COMMANDS.iter().filter(|one| outside.switched_off_by(one.name).is_none());
    let own = there.map(|command| CommandInfo {
        name: command.name.to_owned(),
        aliases: command.aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        arguments: command.arguments.to_owned(),
        description: command.about.to_owned(),
        source: "ona".to_owned(),
        immediate: command.when == When::AtOnce,
        closed: false,
    });
    let mut all: Vec<CommandInfo> = own.collect();
    all.extend(CLOSED.iter().map(|closed| CommandInfo {
        name: closed.name.to_owned(),
        aliases: closed.aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        arguments: String::new(),
        description: closed.row.to_owned(),
        source: "ona".to_owned(),
        immediate: true,
        closed: true,
    }));
    for command in session.offered_commands() {
        if !all.iter().any(|known| known.is_called(&command.name)) {
            all.push(command);
        }
    }
    all
}
