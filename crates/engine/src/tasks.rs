//! Background tasks: the model is told once how each ended.

use ona_store::{GateRow, Step, StoreError, TaskRow};
use ona_tools::SessionServices as _;
use ona_types::gate::{StageName, Verdict};
use ona_types::{Entry, SystemNote, TaskEnd, TaskId, TaskKind};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::session::{Session, SessionRef};
use ona_gate::stages::task_completed;

/// Limit for the part of an agent's answer that the model gets, in bytes.
const MAX_REPORT_BYTES: u64 = 10_000;

impl Agent {
    /// Reports the tasks that ended since the last model call. TaskCompleted hooks run for each.
    pub(crate) async fn report_ended_tasks(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        let ended = self.session.gate.store().untold_tasks(self.session.gate.record.session())?;
        if ended.is_empty() {
            return Ok(());
        }
        let (mut entries, mut hooks, mut answers) = (Vec::new(), Vec::new(), Vec::new());
        for task in &ended {
            let mut fired =
                self.fire(task_completed(task.id.as_str(), &task.command), cancel).await;
            hooks.append(&mut fired.rows);
            let answer = match task.kind {
                TaskKind::Agent => self.session.view().last_message(task),
                TaskKind::Shell => String::new(),
            };
            let mut text = task_notice(task, &answer);
            self.session.gate.governance.redactor.mask_string(&mut text);
            let from = "background task".to_owned();
            entries.push(Entry::system(&SystemNote::Context { text, from }));
            entries.extend(self.context_entries(&fired.contexts, "TaskCompleted hook"));
            if fired.denies() {
                answers.push((task.call.clone(), refusal(task, &fired.denial())));
                entries.extend(self.context_entries(&[fired.denial()], "TaskCompleted hook"));
            }
        }
        let reported: Vec<TaskId> = ended.into_iter().map(|task| task.id).collect();
        let (entries, hooks, told) = (&entries[..], &hooks[..], &reported[..]);
        self.commit(&Step { entries, hooks, told, answers: &answers, ..Step::default() })
    }

    /// Waits for an agent in the background, if one is running and the options say so. Returns whether there is something to
    /// report.
    pub(crate) async fn wait_for_agents(&mut self, cancel: &CancellationToken) -> bool {
        let (background, session) =
            (&self.session.side.background, self.session.gate.record.session());
        if !self.options.waits_for_agents {
            return false;
        }
        // One may have ended during the model call.
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
    /// Waits for all agents in the background. An interrupt stops them.
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

    /// Stops all background tasks of a session that ends. Returns what could not be stopped.
    pub async fn stop_tasks(&self) -> Vec<String> {
        let services = self.gate.services();
        let running = match services.running_tasks() {
            Ok(running) => running,
            Err(error) => return vec![error.to_string()],
        };
        let mut left = Vec::new();
        for task in running {
            if let Err(why) = services.stop_task(&task).await {
                left.push(format!("task {} is still running: {why}", task.id));
            }
        }
        left
    }
}

impl SessionRef<'_> {
    /// An agent's last message, or the end of its log if there is none.
    fn last_message(self, task: &TaskRow) -> String {
        let store = self.gate.store();
        let answer = store.agent_of_task(&task.id).ok().flatten();
        let answer = answer.and_then(|session| store.last_words(&session).ok().flatten());
        match answer {
            Some(answer) if !answer.trim().is_empty() => {
                let from = answer
                    .ceil_char_boundary(answer.len().saturating_sub(MAX_REPORT_BYTES as usize));
                answer[from..].to_owned()
            }
            _ => ona_tools::end_of_file(&task.output_path, MAX_REPORT_BYTES).map_or_else(
                |error| format!("(cannot read its output: {error})"),
                |(answer, _)| answer,
            ),
        }
    }
}

/// A refusal of TaskCompleted hooks, for the record: the task itself has ended.
fn refusal(task: &TaskRow, why: &str) -> GateRow {
    GateRow {
        stage: StageName::Tasks.as_str().to_owned(),
        verdict: Verdict::Deny.as_str().to_owned(),
        reason: format!(
            "a TaskCompleted hook refuses \"{}\", which has ended: {why}",
            task.command
        ),
        detail: json!({"event": "TaskCompleted", "task": task.id}),
    }
}

/// The notice about a task. Text of others is quoted or indented: it must not pass for ona's own.
fn task_notice(task: &TaskRow, answer: &str) -> String {
    let how = task.end.as_ref().map_or_else(|| "still running".to_owned(), TaskEnd::how);
    let (what, file) = (json!(task.command), task.output_path.display());
    match task.kind {
        TaskKind::Shell => {
            format!(
                "[background command {} ended: {how}; command: {what}; output: {file}]",
                task.id
            )
        }
        TaskKind::Agent => {
            let answer: Vec<String> =
                answer.trim().lines().map(|line| format!("  {line}")).collect();
            format!(
                "[background agent {} ended: {how}; task: {what}; log: {file}; answer:]\n{}",
                task.id,
                answer.join("\n")
            )
        }
    }
}
