//! What goes on in the background: the model is told how it ended, once.

use std::time::Duration;

use ona_store::{Step, StoreError, TaskRow};
use ona_types::hook::HookDetail;
use ona_types::{Entry, SystemNote, TaskEnd, TaskId, TaskKind};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::session::Session;

/// As much of what an agent said is told at once.
const LONGEST: u64 = 10_000;
/// So long does who stops an agent wait for its end.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

impl Agent {
    /// Tells the model of tasks that have ended since it was last asked; hooks hear of each.
    pub(crate) async fn heed_tasks(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        let ended = self.session.engine.store.untold_tasks(&self.session.seat.session)?;
        if ended.is_empty() {
            return Ok(());
        }
        let (mut entries, mut hooks) = (Vec::new(), Vec::new());
        for task in &ended {
            let mut fired = self.fire(completed(task.id.as_str(), &task.command), cancel).await;
            hooks.append(&mut fired.rows);
            let said = match task.kind {
                TaskKind::Agent => self.session.said_last(task),
                TaskKind::Shell => String::new(),
            };
            let mut text = told(task, &said);
            self.session.governance.redactor.mask_string(&mut text);
            let from = "background task".to_owned();
            entries.push(Entry::system(&SystemNote::Context { text, from }));
            entries.extend(self.contexts(&fired.contexts, "TaskCompleted hook"));
            if fired.denies() {
                entries.extend(self.contexts(&[fired.denial()], "TaskCompleted hook"));
            }
        }
        let told: Vec<TaskId> = ended.into_iter().map(|task| task.id).collect();
        self.keep(&Step { entries: &entries, hooks: &hooks, told: &told, ..Step::default() })
    }

    /// Waits until an agent in the background has ended, if one is at work and the turn is to wait. Whether there is
    /// something to tell the model.
    pub(crate) async fn wait_for_agents(&mut self, cancel: &CancellationToken) -> bool {
        let (crew, session) = (&self.session.engine.crew, &self.session.seat.session);
        if !self.options.waits {
            return false;
        }
        // One may have ended while the model answered.
        let untold = self.session.engine.store.untold_tasks(session);
        if untold.is_ok_and(|tasks| tasks.iter().any(|task| task.kind == TaskKind::Agent)) {
            return true;
        }
        if crew.of(session) == 0 {
            return false;
        }
        tokio::select! {
            () = crew.one_ended(session) => true,
            () = cancel.cancelled() => false,
        }
    }
}

impl Session {
    /// Waits for the agents in the background, if there are any; an interrupt ends them.
    pub async fn wait_for_agents(&self, cancel: &CancellationToken) {
        let (crew, session) = (&self.engine.crew, &self.seat.session);
        while crew.of(session) > 0 {
            tokio::select! {
                () = crew.one_ended(session) => {}
                () = cancel.cancelled() => {
                    crew.stop_all(session);
                    crew.one_ended(session).await;
                }
            }
        }
    }

    /// Ends everything in the background, for a session that nobody goes on with. What could not be ended is told.
    pub async fn end_tasks(&self) -> Vec<String> {
        let running = match ona_tools::Desk::running_tasks(self) {
            Ok(running) => running,
            Err(error) => return vec![error],
        };
        let mut left = Vec::new();
        for task in running {
            if let Err(why) = self.end_task(&task).await {
                left.push(format!("the task {} goes on: {why}", task.id));
            }
        }
        left
    }

    /// Ends a task, with everything it has started.
    pub(crate) async fn end_task(&self, task: &ona_tools::TaskView) -> Result<(), String> {
        let id = TaskId::from_existing(task.id.clone());
        match task.kind {
            TaskKind::Agent => {
                // Known before it ends: then they would be its caller's.
                let commands = self.commands_of(&id).map_err(|error| error.to_string())?;
                if !self.engine.crew.stop(&id) {
                    return Err(format!("the agent {id} works in another process of ona"));
                }
                for command in &commands {
                    self.end_command(command).await?;
                }
                self.engine.crew.gone(&id, ENDS_WITHIN).await;
                Ok(())
            }
            TaskKind::Shell => self.end_command(&id).await,
        }
    }

    /// The commands in the background that an agent, or one below it, has started.
    fn commands_of(&self, agent: &TaskId) -> Result<Vec<TaskId>, StoreError> {
        let store = &self.engine.store;
        let Some(session) = store.agent_of_task(agent)? else { return Ok(Vec::new()) };
        let mut all = store.agents_below(&session)?;
        all.push(session);
        let running = store.running_tasks(&self.seat.conversation)?.into_iter();
        let theirs =
            running.filter(|task| task.kind == TaskKind::Shell && all.contains(&task.session));
        Ok(theirs.map(|task| task.id).collect())
    }

    async fn end_command(&self, id: &TaskId) -> Result<(), String> {
        // First of all: what its supervisor sees of it then is no end of its own.
        let end = TaskEnd { exit_code: None, reason: "stopped".to_owned() };
        let kept = self.engine.store.finish_task(id, &end);
        kept.map_err(|error| error.to_string())?;
        let marker = ona_tools::task_marker(id);
        let killed =
            tokio::task::spawn_blocking(move || ona_sandbox::kill_tree(None, Some(&marker)));
        killed.await.map_err(|error| format!("it could not be ended: {error}"))
    }

    /// What an agent said last, or the end of its output where there is no such thing.
    fn said_last(&self, task: &TaskRow) -> String {
        let store = &self.engine.store;
        let said = store.agent_of_task(&task.id).ok().flatten();
        let said = said.and_then(|session| store.last_words(&session).ok().flatten());
        match said {
            Some(said) if !said.trim().is_empty() => {
                let from = said.ceil_char_boundary(said.len().saturating_sub(LONGEST as usize));
                said[from..].to_owned()
            }
            _ => ona_tools::end_of_file(&task.output_path, LONGEST)
                .map_or_else(|error| format!("(it cannot be read: {error})"), |(said, _)| said),
        }
    }
}

/// What the model is told of a task. What others said is quoted, or set in: it must not pass for what ona says.
fn told(task: &TaskRow, said: &str) -> String {
    let end = task.end.as_ref();
    let how = match end {
        Some(end) => match end.exit_code {
            Some(code) => format!("exited with code {code}"),
            None => end.reason.replace('_', " "),
        },
        None => "goes on".to_owned(),
    };
    let (what, file) = (json!(task.command), task.output_path.display());
    match task.kind {
        TaskKind::Shell => {
            format!(
                "[background command {} ended: {how}; it was {what}; its output is in {file}]",
                task.id
            )
        }
        TaskKind::Agent => {
            let said: Vec<String> = said.trim().lines().map(|line| format!("  {line}")).collect();
            format!(
                "[background agent {} ended: {how}; it was to do: {what}; all it did is in {file}; its answer:]\n{}",
                task.id,
                said.join("\n")
            )
        }
    }
}

/// A task has begun.
pub(crate) fn created(id: &str, subject: &str) -> HookDetail {
    HookDetail::TaskCreated {
        task_id: id.to_owned(),
        task_subject: subject.to_owned(),
        task_description: None,
        teammate_name: None,
        team_name: None,
    }
}

/// A task has ended.
pub(crate) fn completed(id: &str, subject: &str) -> HookDetail {
    HookDetail::TaskCompleted {
        task_id: id.to_owned(),
        task_subject: subject.to_owned(),
        task_description: None,
        teammate_name: None,
        team_name: None,
    }
}
