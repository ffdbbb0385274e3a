//! An agent in the foreground that the user lets go on in the background.

use std::sync::Arc;

use ona_front::Ending;
use ona_sandbox::Owner;
use ona_store::StoreError;
use ona_tools::{AgentOrder, Calling};
use ona_types::{TaskEnd, TaskId, TaskKind, TaskStarted, ToolOutput};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::work::{Subagent, SubagentResult};
use super::{SubagentError, ending_word};
use crate::background_agents::AgentLog;
use crate::session::{Session, SessionRef};

/// Where an agent has worked.
pub(super) enum Worked {
    /// Here, to its end.
    Here(Box<SubagentResult>),
    /// It goes on in the background; what its caller is told.
    InBackground(Box<ToolOutput>),
}

type Working = JoinHandle<(Session, Result<SubagentResult, StoreError>)>;

impl SessionRef<'_> {
    /// Runs an agent to its end, or until the user lets it go on in the background.
    pub(super) async fn work_or_move(
        self,
        subagent: Subagent,
        order: &AgentOrder,
        call: Calling<'_>,
    ) -> Result<Worked, SubagentError> {
        // Where nobody can ask for it, nothing is moved.
        if !self.gate.keeps_files {
            let work = Box::pin(subagent.run(self, call.cancel)).await?;
            return Ok(Worked::Here(Box::new(work)));
        }
        let session = self.for_concurrent_use()?;
        let stop = CancellationToken::new();
        let (name, token) = (subagent.identity.name.clone(), stop.clone());
        let mut working: Working = tokio::spawn(async move {
            let done = Box::pin(subagent.run(session.view(), &token)).await;
            (session, done)
        });
        let lost = |error: &tokio::task::JoinError| {
            ToolOutput::internal(format!("the agent crashed: {error}"))
        };
        tokio::select! {
            biased;
            done = &mut working => match done {
                Ok((_, work)) => Ok(Worked::Here(Box::new(work?))),
                Err(error) => Ok(Worked::InBackground(Box::new(lost(&error)))),
            },
            () = call.cancel.cancelled() => {
                stop.cancel();
                match working.await {
                    Ok((_, work)) => Ok(Worked::Here(Box::new(work?))),
                    Err(error) => Ok(Worked::InBackground(Box::new(lost(&error)))),
                }
            }
            () = self.gate.front.asked_into_background() => {
                let what = match name {
                    Some(name) => format!("{name}: {}", order.description),
                    None => order.description.clone(),
                };
                let output = self.move_agent(what, working, stop, call)?;
                Ok(Worked::InBackground(Box::new(output)))
            }
        }
    }

    /// Lets a running agent go on as a background task.
    fn move_agent(
        self,
        what: String,
        working: Working,
        stop: CancellationToken,
        call: Calling<'_>,
    ) -> Result<ToolOutput, SubagentError> {
        let (core, seat) = (&self.gate.record.core, self.gate.seat());
        let id = TaskId::of_call(call.id);
        let (output_path, file) = match core.host.new_output(&seat.session, &format!("{id}.log")) {
            Ok(made) => made,
            Err(error) => {
                stop.cancel();
                let why = format!("cannot create a file for the agent's output: {error}");
                return Ok(ToolOutput::internal(why));
            }
        };
        let limit = core.settings.background_output_limit;
        let log = Arc::new(AgentLog::new(file, limit, self.gate.redactor().clone()));
        let task = TaskStarted {
            id: id.clone(),
            kind: TaskKind::Agent,
            command: what,
            output_path: output_path.clone(),
        };
        self.gate.store().watch_task(&seat.session, call.id, &task, &json!(Owner::current()))?;
        let asked_to_stop = self.side.background.started(&id, &seat.session);
        let (background, store) = (Arc::clone(&self.side.background), Arc::clone(core));
        let task_id = id.clone();
        tokio::spawn(async move {
            let mut working = working;
            let done = tokio::select! {
                done = &mut working => done,
                () = asked_to_stop.cancelled() => {
                    stop.cancel();
                    working.await
                }
            };
            let reason = match done {
                Ok((session, Ok(work))) => {
                    session.view().add_account(&work.end);
                    log.write(&work.end.text);
                    ending_word(&work.end.ending)
                }
                Ok((_, Err(error))) => {
                    log.write(&format!("[the record failed: {error}]"));
                    "failed"
                }
                Err(_) => {
                    ending_word(&Ending::Failed { error: String::new(), message: String::new() })
                }
            };
            let end = TaskEnd { exit_code: None, reason: reason.to_owned() };
            // If this fails, the next process that opens the session records that the end is unknown.
            let _ = store.store.finish_task(&task_id, &end);
            background.ended(&task_id);
        });
        let mut output = ToolOutput::success(format!(
            "The user moved this agent into the background; it still works as task {id}.\nIts answer goes to {}\nYou will be notified when it ends",
            output_path.display()
        ))
        .with_detail("task_id", id.as_str());
        output.task = Some(task);
        Ok(output)
    }
}
