//! TaskCreated and TaskCompleted hooks, about the tasks that the call would create or complete. They run last, on the
//! final input.

use ona_store::StoreError;
use ona_tools::{TaskChange, TaskEvent};
use ona_types::gate::{Answer, Judging, Mode, Stage, StageName, Verdict};
use ona_types::hook::HookDetail;

use crate::judgement::Judgement;

pub struct TasksStage;

impl<'g> Stage<Judgement<'g>> for TasksStage {
    fn name(&self) -> StageName {
        StageName::Tasks
    }

    fn judge<'a>(
        &'a self,
        call: &'a mut Judgement<'g>,
        _: &'a [Answer],
        mode: Mode,
    ) -> Judging<'a, StoreError> {
        Box::pin(async move { Ok(answer(call, mode).await.into()) })
    }
}

async fn answer(call: &mut Judgement<'_>, mode: Mode) -> Answer {
    let answer = |verdict, reason: String| Answer::new(StageName::Tasks, verdict, reason);
    if mode == Mode::Foreign {
        return answer(Verdict::Silent, "the host keeps its own tasks".to_owned());
    }
    let changes = call.tool.task_changes(&call.input, call.id, &call.gate.services());
    let changes = match changes {
        Ok(changes) => changes,
        Err(error) => return answer(Verdict::Deny, error.to_string()),
    };
    if changes.is_empty() {
        return answer(Verdict::Pass, "no task affected".to_owned());
    }
    if mode == Mode::Explain {
        let why = "TaskCreated or TaskCompleted hooks may refuse it";
        return answer(Verdict::Silent, why.to_owned());
    }
    for change in &changes {
        let fired = call.fire(event(change)).await;
        if fired.denies() {
            let name = match change.event {
                TaskEvent::Created => "TaskCreated",
                TaskEvent::Completed => "TaskCompleted",
            };
            return answer(
                Verdict::Deny,
                format!(
                    "a {name} hook refuses \"{}\", and {}: {}",
                    change.subject,
                    change.unchanged,
                    fired.denial()
                ),
            );
        }
    }
    answer(Verdict::Pass, "no hook refuses its tasks".to_owned())
}

fn event(change: &TaskChange) -> HookDetail {
    match change.event {
        TaskEvent::Created => created(&change.id, &change.subject),
        TaskEvent::Completed => completed(&change.id, &change.subject),
    }
}

/// A task is created.
fn created(id: &str, subject: &str) -> HookDetail {
    HookDetail::TaskCreated {
        task_id: id.to_owned(),
        task_subject: subject.to_owned(),
        task_description: None,
        teammate_name: None,
        team_name: None,
    }
}

/// A task is completed or has ended.
pub fn completed(id: &str, subject: &str) -> HookDetail {
    HookDetail::TaskCompleted {
        task_id: id.to_owned(),
        task_subject: subject.to_owned(),
        task_description: None,
        teammate_name: None,
        team_name: None,
    }
}
