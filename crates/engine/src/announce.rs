//! What a call's changes mean to others: hooks hear of things to do and of tasks, and may refuse them; the session's mode
//! follows the phase.

use ona_policy::Stage;
use ona_store::StoreError;
use ona_types::{Change, PermissionMode, Phase, TaskId, Todo, TodoStatus, ToolOutput};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::gate::PendingCall;
use crate::session::Session;
use crate::tasks::{completed, created};

impl Session {
    /// Tells hooks of a task that a call is about to start in the background. One that says no keeps it from starting.
    pub(crate) async fn announce_task(
        &self,
        call: &mut PendingCall<'_>,
        cancel: &CancellationToken,
    ) -> Option<ToolOutput> {
        let said = |key: &str| call.input.get(key).and_then(Value::as_str).map(str::to_owned);
        let wanted = call.input.get("run_in_background");
        let wanted = wanted.map(|wanted| *wanted == true || *wanted == "true");
        let subject = match call.tool.name() {
            "Bash" if wanted == Some(true) => said("command")?,
            "Agent" => {
                let kind = said("subagent_type").unwrap_or_else(|| "general-purpose".to_owned());
                let background = || self.kind(&kind).is_ok_and(|kind| kind.background);
                wanted.unwrap_or_else(background).then(|| said("description")).flatten()?
            }
            _ => return None,
        };
        let id = TaskId::of_call(call.id);
        let fired = self.fire(call, created(id.as_str(), &subject), cancel).await;
        fired.denies().then(|| {
            let why = format!(
                "a TaskCreated hook refuses it, and it was not started: {}",
                fired.denial()
            );
            ToolOutput::rejected(why)
        })
    }

    /// Tells hooks of what a call would change, before it is on the record. One that says no undoes it.
    pub(crate) async fn announce(
        &self,
        call: &mut PendingCall<'_>,
        output: &mut ToolOutput,
        cancel: &CancellationToken,
    ) {
        let todos = output.changes.iter().find_map(|change| match change {
            Change::Todos(todos) => Some(todos.clone()),
            _ => None,
        });
        if let Some(todos) = todos
            && let Some(refused) = self.announce_todos(call, &todos, cancel).await
        {
            *output = ToolOutput::rejected(refused);
        }
    }

    /// Things to do that appear, and those that become done. Why the list stays as it is, if it does.
    async fn announce_todos(
        &self,
        call: &mut PendingCall<'_>,
        todos: &[Todo],
        cancel: &CancellationToken,
    ) -> Option<String> {
        let before = match self.engine.store.todos(&self.seat) {
            Ok(before) => before,
            Err(error) => return Some(error.to_string()),
        };
        let done = |todo: &Todo| todo.status == TodoStatus::Completed;
        for todo in todos {
            let known = before.iter().find(|known| known.id == todo.id);
            let mut events = Vec::new();
            if known.is_none() {
                events.push(("TaskCreated", created(&todo.id, &todo.content)));
            }
            if done(todo) && !known.is_some_and(done) {
                events.push(("TaskCompleted", completed(&todo.id, &todo.content)));
            }
            for (name, detail) in events {
                let fired = self.fire(call, detail, cancel).await;
                if fired.denies() {
                    return Some(format!(
                        "a {name} hook refuses \"{}\", and the list stays as it was: {}",
                        todo.content,
                        fired.denial()
                    ));
                }
            }
        }
        None
    }

    /// A plan that a human has refused is sent back. One that nobody has read is kept as a draft: somebody can still
    /// read it, and `ona plan approve` it.
    pub(crate) fn plan_to_keep(&self, call: &PendingCall<'_>, stage: Stage) -> Option<Change> {
        let plan = ona_tools::plan_of(call.tool.name(), &call.input)?;
        let standing = self.engine.store.standing(&self.seat.conversation).ok()?;
        if stage != Stage::Human || standing.phase != Phase::Planning {
            return None;
        }
        let answer = call.answers.last()?;
        Some(match answer.detail["by"] == "human" {
            true => Change::PlanRejected { plan, reason: answer.reason.clone() },
            false => Change::PlanSubmitted(plan),
        })
    }

    /// The mode follows the phase: planning is plan mode, and an approved plan is worked on as before it.
    pub(crate) fn follow_phase(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Planning if self.mode() != PermissionMode::Plan => {
                    self.mode_before = Some(self.mode());
                    self.governance.use_mode(PermissionMode::Plan, &mut self.place);
                }
                Change::PlanApproved(_) => self.leave_planning(),
                _ => {}
            }
        }
    }

    fn leave_planning(&mut self) {
        if self.mode() == PermissionMode::Plan {
            let before = self.mode_before.take().unwrap_or_default();
            let before = if self.governance.may_use(before) { before } else { self.mode() };
            self.governance.use_mode(before, &mut self.place);
        }
    }

    /// Takes notice of a plan that the operator has approved elsewhere: `ona plan approve`.
    pub(crate) fn heed_approval(&mut self) -> Result<(), StoreError> {
        if self.mode_before.is_some()
            && self.engine.store.standing(&self.seat.conversation)?.phase != Phase::Planning
        {
            self.leave_planning();
        }
        Ok(())
    }
}
