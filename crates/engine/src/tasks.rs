//! What goes on in the background: the model is told how it ended, once.

use ona_store::{Step, StoreError, TaskRow};
use ona_tools::SessionServices as _;
use ona_types::{Entry, SystemNote, TaskId, TaskKind};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::session::{Session, SessionRef};
use ona_gate::stages::task_completed;

/// The model is told this much of what an agent said, in bytes.
const LONGEST: u64 = 10_000;

impl Agent {
    /// Tells the model of tasks that have ended since it was last asked; hooks hear of each.
    pub(crate) async fn heed_tasks(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        let ended = self.session.gate.store().untold_tasks(self.session.gate.record.session())?;
        if ended.is_empty() {
            return Ok(());
        }
        let (mut entries, mut hooks) = (Vec::new(), Vec::new());
        for task in &ended {
            let mut fired =
                self.fire(task_completed(task.id.as_str(), &task.command), cancel).await;
            hooks.append(&mut fired.rows);
            let said = match task.kind {
                TaskKind::Agent => self.session.view().said_last(task),
                TaskKind::Shell => String::new(),
            };
            let mut text = told(task, &said);
            self.session.gate.governance.redactor.mask_string(&mut text);
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
        let (background, session) =
            (&self.session.side.background, self.session.gate.record.session());
        if !self.options.waits {
            return false;
        }
        // One may have ended while the model answered.
        let untold = self.session.gate.store().untold_tasks(session);
        if untold.is_ok_and(|tasks| tasks.iter().any(|task| task.kind == TaskKind::Agent)) {
            return true;
        }
        if background.count(session) == 0 {
            return false;
        }
        tokio::select! {
            () = background.wait_for_one(session) => true,
            () = cancel.cancelled() => false,
        }
    }
}

impl Session {
    /// Waits for the agents in the background, if there are any; an interrupt ends them.
    pub async fn wait_for_agents(&self, cancel: &CancellationToken) {
        let (background, session) = (&self.side.background, self.gate.record.session());
        while background.count(session) > 0 {
            tokio::select! {
                () = background.wait_for_one(session) => {}
                () = cancel.cancelled() => {
                    background.stop_all(session);
                    background.wait_for_one(session).await;
                }
            }
        }
    }

    /// Ends everything in the background, for a session that nobody goes on with. What could not be ended is told.
    pub async fn end_tasks(&self) -> Vec<String> {
        let services = self.gate.services();
        let running = match services.running_tasks() {
            Ok(running) => running,
            Err(error) => return vec![error.to_string()],
        };
        let mut left = Vec::new();
        for task in running {
            if let Err(why) = services.stop_task(&task).await {
                left.push(format!("the task {} goes on: {why}", task.id));
            }
        }
        left
    }
}

impl SessionRef<'_> {
    /// What an agent said last, or the end of its output where there is no such thing.
    fn said_last(self, task: &TaskRow) -> String {
        let store = self.gate.store();
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
