//! Subagents: each has a session of its own in the same conversation, with the same gate and settings and fewer rights
//! (S0 §2, §7).

mod moved;
mod prepare;
mod work;

use std::sync::Arc;

use ona_front::{Ending, TurnEnd};
use ona_provider::ModelError;
use ona_sandbox::Owner;
use ona_store::StoreError;
use ona_tools::{AgentOrder, Calling, ServiceError};
use ona_types::{TRUNCATED_SUFFIX, TaskEnd, TaskId, TaskKind, TaskStarted, ToolOutput, ToolUseId};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::agent::AgentError;
use crate::agent_types::TypeError;
use crate::background_agents::AgentLog;
use crate::identity::Identity;
use crate::isolation::IsolationError;
use crate::session::SessionRef;
use crate::skills::SkillError;
use moved::Worked;
use ona_extensions::{AgentDefinition, SkillDefinition};
use prepare::StartRequest;
use work::{Subagent, SubagentResult};

/// How long stopping an agent waits for its end.
const STOP_WAIT: std::time::Duration = std::time::Duration::from_secs(2);

/// Why an agent cannot be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SubagentError {
    #[error("a subagent cannot start agents: do the work yourself, or report what is left")]
    Nested,
    #[error(transparent)]
    Type(#[from] TypeError),
    #[error("background tasks are off: {0}. Start the agent in the foreground")]
    NoBackground(&'static str),
    #[error(
        "cannot start an agent: no model is configured; `ona help cold-start` shows how to set a key"
    )]
    NoModel,
    #[error("the agent's model: {0}")]
    Model(ModelError),
    #[error("the agent {0} is still running: wait for its end, or use another name")]
    AtWork(String),
    #[error("the agent's session was not found")]
    SessionGone,
    #[error("cannot create a worktree for the agent: {cause}{hint}")]
    Worktree { cause: IsolationError, hint: &'static str },
    #[error("cannot create the agent's directory in its worktree: {0}")]
    NoPlace(std::io::Error),
    #[error(transparent)]
    Skill(#[from] SkillError),
    #[error(transparent)]
    Start(#[from] AgentError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SessionRef<'_> {
    /// Starts an agent, in the foreground or in the background, for a call that the gate has permitted.
    pub(crate) async fn start_agent(
        self,
        order: AgentOrder,
        skill: Option<&SkillDefinition>,
        call: Calling<'_>,
    ) -> ToolOutput {
        let started = match self.definition_for(&order) {
            Ok((definition, true)) => self.run_background(&definition, &order, call).await,
            Ok((definition, false)) => {
                Box::pin(self.run_foreground(&definition, &order, skill, call)).await
            }
            Err(error) => Err(error),
        };
        started.unwrap_or_else(|error| match error {
            SubagentError::Store(error) => ToolOutput::internal(error.to_string()),
            error => ToolOutput::rejected(error.to_string()),
        })
    }

    /// The definition of the agent, and whether it runs in the background.
    fn definition_for(self, order: &AgentOrder) -> Result<(AgentDefinition, bool), SubagentError> {
        if self.side.identity.is_some() {
            return Err(SubagentError::Nested);
        }
        let definition = self.agent_type(&order.subagent_type)?;
        let background = order.background.unwrap_or(definition.background);
        match self.gate.record.core.settings.no_background {
            Some(why) if background => Err(SubagentError::NoBackground(why)),
            _ => Ok((definition, background)),
        }
    }

    /// Runs the agent and waits for its end.
    async fn run_foreground(
        self,
        definition: &AgentDefinition,
        order: &AgentOrder,
        skill: Option<&SkillDefinition>,
        call: Calling<'_>,
    ) -> Result<ToolOutput, SubagentError> {
        let Calling { id, cancel, .. } = call;
        let request = StartRequest { definition, order, skill, call: id, log: None, cancel };
        let subagent = Box::pin(self.prepare_subagent(request)).await?;
        let (identity, remark) = (subagent.identity.clone(), subagent.remark.clone());
        // Other calls may pass the gate while it works.
        let work = self.gate.while_others_pass(self.work_or_move(subagent, order, call)).await?;
        Ok(match work {
            Worked::Here(work) => self.result_output(&identity, *work, remark),
            Worked::InBackground(output) => *output,
        })
    }

    /// Starts the agent in the background and returns.
    async fn run_background(
        self,
        definition: &AgentDefinition,
        order: &AgentOrder,
        call: Calling<'_>,
    ) -> Result<ToolOutput, SubagentError> {
        let (core, seat) = (&self.gate.record.core, self.gate.seat());
        let id = TaskId::of_call(call.id);
        let (output_path, file) = match core.host.new_output(&seat.session, &format!("{id}.log")) {
            Ok(made) => made,
            Err(error) => {
                let why = format!("cannot create a file for the agent's output: {error}");
                return Ok(ToolOutput::internal(why));
            }
        };
        let limit = core.settings.background_output_limit;
        let log = Arc::new(AgentLog::new(file, limit, self.gate.redactor().clone()));
        let background = &self.side.background;
        let cancel = background.started(&id, &seat.session);
        let prepared = async {
            let log = Some(Arc::clone(&log));
            let call = call.id;
            let request =
                StartRequest { definition, order, skill: None, call, log, cancel: &cancel };
            let subagent = Box::pin(self.prepare_subagent(request)).await?;
            let command = match &subagent.identity.name {
                Some(name) => format!("{name}: {}", order.description),
                None => order.description.clone(),
            };
            let kind = TaskKind::Agent;
            let task = TaskStarted { id: id.clone(), kind, command, output_path };
            let owner = json!(Owner::current());
            self.gate.store().watch_task(&seat.session, call, &task, &owner)?;
            Ok::<_, SubagentError>((subagent, task, self.for_concurrent_use()?))
        };
        let (subagent, task, session) = match Box::pin(prepared).await {
            Ok(prepared) => prepared,
            Err(error) => {
                background.ended(&id);
                return Err(error);
            }
        };
        let mut output = ToolOutput::success(format!(
            "Started the agent {} ({}) as background task {id}\nIts output goes to {}\nYou will be notified when it ends{}",
            subagent.identity.id,
            subagent.identity.agent_type,
            task.output_path.display(),
            subagent.remark.as_ref().map(|remark| format!("\n{remark}")).unwrap_or_default(),
        ))
        .with_detail("task_id", id.as_str())
        .with_detail("agent_id", subagent.identity.id.as_str());
        tokio::spawn(async move {
            let end = session.view().finish_in_background(subagent, &log, &cancel).await;
            // If this fails, the next process that opens the session records that the end is unknown.
            let _ = session.gate.store().finish_task(&id, &end);
            session.side.background.ended(&id);
        });
        output.task = Some(task);
        Ok(output)
    }

    /// Runs the agent to its end in the background. Returns how it ended.
    async fn finish_in_background(
        self,
        subagent: Subagent,
        log: &AgentLog,
        cancel: &CancellationToken,
    ) -> TaskEnd {
        let ended = |reason: &str| TaskEnd { exit_code: None, reason: reason.to_owned() };
        match subagent.run(self, cancel).await {
            Err(error) => {
                log.write(&format!("[the record failed: {error}]"));
                ended("failed")
            }
            Ok(work) => {
                self.add_account(&work.end);
                if let Some(note) = &work.worktree_note {
                    log.write(&format!("[{note}]"));
                }
                if let Some(why) = work.end.ending.problem() {
                    log.write(&format!("[{why}]"));
                }
                ended(ending_word(&work.end.ending))
            }
        }
    }

    /// The caller's result of a subagent.
    fn result_output(
        self,
        identity: &Identity,
        result: SubagentResult,
        remark: Option<String>,
    ) -> ToolOutput {
        let SubagentResult { end, worktree_note, duration_ms } = result;
        self.add_account(&end);
        let mut content = match (&end.ending, end.text.trim().is_empty()) {
            (Ending::Done, true) => "The agent ended without an answer".to_owned(),
            (_, true) => String::new(),
            (_, false) => self.truncated(end.text),
        };
        let failed = end.ending.problem();
        if let Some(why) = &failed {
            let before = if content.is_empty() { "" } else { "\n\n" };
            content.push_str(&format!("{before}The agent did not finish: {why}"));
        }
        for more in remark.into_iter().chain(worktree_note) {
            content.push_str(&format!("\n\n{more}"));
        }
        let tokens: u64 = end.used.iter().map(|one| one.used.context_tokens()).sum();
        let asked =
            if end.asked == 1 { "1 answer".to_owned() } else { format!("{} answers", end.asked) };
        let Identity { id, agent_type, .. } = identity;
        content.push_str(&format!("\n\n(agent {id}, {agent_type}: {asked}, {tokens} tokens)"));
        let output = match failed {
            None => ToolOutput::success(content),
            Some(_) => ToolOutput::rejected(content),
        };
        output
            .with_detail("agent_id", id.as_str())
            .with_detail("agent_type", agent_type.as_str())
            .with_detail("agent_duration_ms", duration_ms)
            .with_detail("agent_tokens", tokens)
    }

    /// Adds a subagent's usage and denied calls to its caller's.
    fn add_account(self, end: &TurnEnd) {
        if let Some(model_handle) = &self.side.model {
            for used in end.used.iter().cloned() {
                model_handle.add_side_usage(used);
            }
        }
        self.side.add_denials(end.denials.iter().cloned());
    }

    /// Truncates a long answer; a file has the whole.
    fn truncated(self, text: String) -> String {
        let limit = self.gate.record.core.settings.agent_output_chars;
        if text.char_indices().nth(limit).is_none() {
            return text;
        }
        let shown = self.gate.redactor().first_chars(&text, limit);
        let name = format!("agent-{}.txt", ToolUseId::generate());
        let whole = self.gate.save_full_text(&name, &text);
        format!("{shown}\n{TRUNCATED_SUFFIX} ({whole})")
    }

    /// Stops an agent in the background, with the commands that it or its subagents started.
    pub(crate) async fn stop_agent(self, id: &TaskId) -> Result<(), ServiceError> {
        // Read before it ends: then they belong to its caller.
        let commands = self.commands_of(id).map_err(ServiceError::of)?;
        if !self.side.background.stop(id) {
            return Err(ServiceError(format!("the agent {id} runs in another process of ona")));
        }
        for command in &commands {
            self.gate.stop_command(command).await?;
        }
        self.side.background.wait_for(id, STOP_WAIT).await;
        Ok(())
    }

    /// The background commands that an agent or its subagents started.
    fn commands_of(self, agent: &TaskId) -> Result<Vec<TaskId>, StoreError> {
        let store = self.gate.store();
        let Some(session) = store.agent_of_task(agent)? else { return Ok(Vec::new()) };
        let mut all = store.agents_below(&session)?;
        all.push(session);
        let running = store.running_tasks(&self.gate.seat().conversation)?.into_iter();
        let theirs =
            running.filter(|task| task.kind == TaskKind::Shell && all.contains(&task.session));
        Ok(theirs.map(|task| task.id).collect())
    }
}

/// The record's word for how an agent ended.
fn ending_word(ending: &Ending) -> &'static str {
    match ending {
        Ending::Done => "completed",
        Ending::Interrupted => "stopped",
        _ => "failed",
    }
}
