//! What a session does for its tools.

use std::path::PathBuf;
use std::sync::Arc;

use ona_front::Event;
use ona_mcp::{OnProgress, Pool};
use ona_store::{StoreError, TaskRow};
use ona_tools::{AgentOrder, Deferred, Desk, TaskView, Waits, WebFound, WebQuery, Whose};
use ona_types::{Phase, TaskId, Todo, ToolOutput, ToolUseId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::session::Session;

impl Session {
    fn view(&self, row: TaskRow) -> Result<TaskView, StoreError> {
        Ok(TaskView {
            whose: self.whose(&row)?,
            id: row.id.to_string(),
            kind: row.kind,
            command: row.command,
            output_path: row.output_path,
            end: row.end,
        })
    }

    fn whose(&self, row: &TaskRow) -> Result<Whose, StoreError> {
        let (Some(agent), own) = (&self.agent, &self.seat.session) else { return Ok(Whose::Own) };
        if row.id == agent.task {
            return Ok(Whose::Itself);
        }
        let below = || self.engine.store.agents_below(own);
        let is_own = row.session == *own || below()?.contains(&row.session);
        Ok(if is_own { Whose::Own } else { Whose::Callers })
    }
}

impl Desk for Session {
    fn setting(&self, key: &str) -> Value {
        self.governance.settings()[key].clone()
    }

    fn todos(&self) -> Result<Vec<Todo>, String> {
        self.engine.store.todos(&self.seat).map_err(|error| error.to_string())
    }

    fn phase(&self) -> Result<Phase, String> {
        let standing = self.engine.store.standing(&self.seat.conversation);
        standing.map(|standing| standing.phase).map_err(|error| error.to_string())
    }

    fn say(&self, message: &str, attachments: &[PathBuf], status: &str) {
        let redactor = &self.governance.redactor;
        let shown = |path: &PathBuf| redactor.mask(&path.display().to_string()).into_owned();
        self.front.tell(Event::Said {
            message: redactor.mask(message).into_owned(),
            attachments: attachments.iter().map(shown).collect(),
            status: status.to_owned(),
        });
    }

    fn task(&self, id: &str) -> Result<Option<TaskView>, String> {
        let id = TaskId::from_existing(id.to_owned());
        let found = self.engine.store.task(&self.seat.conversation, &id);
        let found = found.and_then(|row| row.map(|row| self.view(row)).transpose());
        found.map_err(|error| error.to_string())
    }

    fn running_tasks(&self) -> Result<Vec<TaskView>, String> {
        let running = self.engine.store.running_tasks(&self.seat.conversation);
        let running: Result<_, StoreError> =
            running.and_then(|rows| rows.into_iter().map(|row| self.view(row)).collect());
        running.map_err(|error| error.to_string())
    }

    fn stop_task<'a>(&'a self, task: &'a TaskView) -> Waits<'a, Result<(), String>> {
        Box::pin(self.end_task(task))
    }

    fn agent<'a>(
        &'a self,
        order: AgentOrder,
        call: &'a ToolUseId,
        cancel: &'a CancellationToken,
    ) -> Waits<'a, ToolOutput> {
        Box::pin(self.start_agent(order, call, None, cancel))
    }

    fn skill<'a>(
        &'a self,
        name: &'a str,
        args: &'a str,
        call: &'a ToolUseId,
        cancel: &'a CancellationToken,
    ) -> Waits<'a, ToolOutput> {
        Box::pin(self.use_skill(name, args, call, cancel))
    }

    fn servers(&self) -> Option<Arc<Pool>> {
        self.pool()
    }

    fn progress(&self, call: &ToolUseId) -> Option<OnProgress> {
        Some(self.on_progress(call))
    }

    fn deferred(&self) -> Vec<Deferred> {
        self.deferred_tools()
    }

    fn digest<'a>(
        &'a self,
        prompt: &'a str,
        text: &'a str,
    ) -> Waits<'a, Option<Result<String, String>>> {
        Box::pin(self.ask_aside(prompt, text))
    }

    fn search<'a>(&'a self, query: &'a WebQuery) -> Waits<'a, Option<Result<WebFound, String>>> {
        Box::pin(self.search_aside(query))
    }
}
