//! Agents that calls start: a session of its own in the same conversation, the same gate and settings, a narrower hand
//! (S0 §2, §7).

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
use ona_extensions::{AgentDefinition, SkillDefinition};
use prepare::Starting;
use work::{Helper, Work};

/// How long stopping an agent waits for its end.
const STOP_WAIT: std::time::Duration = std::time::Duration::from_secs(2);

/// Why an agent cannot be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SubagentError {
    #[error(
        "an agent that a call started cannot start agents itself: do the work, or say at your end what is left"
    )]
    Nested,
    #[error(transparent)]
    Type(#[from] TypeError),
    #[error("background tasks are off: {0}. Start the agent in the foreground")]
    NoBackground(&'static str),
    #[error("this session has no model that an agent could ask")]
    NoModel,
    #[error("the agent's model: {0}")]
    Model(ModelError),
    #[error("the agent {0} is still at work: wait for its end, or start one with another name")]
    AtWork(String),
    #[error("the agent's session is gone")]
    SessionGone,
    #[error("no worktree for the agent: {cause}{hint}")]
    Worktree { cause: IsolationError, hint: &'static str },
    #[error("no directory for it in its worktree: {0}")]
    NoPlace(std::io::Error),
    #[error(transparent)]
    Skill(#[from] SkillError),
    #[error(transparent)]
    Start(#[from] AgentError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SessionRef<'_> {
    /// Has an agent do something, here or in the background: on behalf of a call that the gate has permitted.
    pub(crate) async fn start_agent(
        self,
        order: AgentOrder,
        skill: Option<&SkillDefinition>,
        call: Calling<'_>,
    ) -> ToolOutput {
        let started = match self.definition_for(&order) {
            Ok((definition, true)) => self.launch(&definition, &order, call).await,
            Ok((definition, false)) => self.delegate(&definition, &order, skill, call).await,
            Err(error) => Err(error),
        };
        started.unwrap_or_else(|error| match error {
            SubagentError::Store(error) => ToolOutput::internal(error.to_string()),
            error => ToolOutput::rejected(error.to_string()),
        })
    }

    /// The agent that an order is about, and whether it works in the background.
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

    /// Has it work, and waits for its end.
    async fn delegate(
        self,
        definition: &AgentDefinition,
        order: &AgentOrder,
        skill: Option<&SkillDefinition>,
        call: Calling<'_>,
    ) -> Result<ToolOutput, SubagentError> {
        let Calling { id, cancel, .. } = call;
        let starting = Starting { definition, order, skill, call: id, log: None, cancel };
        let helper = self.helper(starting).await?;
        let (identity, remark) = (helper.identity.clone(), helper.remark.clone());
        // While it works, others may pass the gate.
        let work = self.gate.outside(Box::pin(helper.work(self, cancel))).await?;
        Ok(self.told(&identity, work, remark))
    }

    /// Starts it and goes on.
    async fn launch(
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
                let why = format!("no file for the agent's output: {error}");
                return Ok(ToolOutput::internal(why));
            }
        };
        let log = Arc::new(AgentLog::new(file, core.settings.background_output_limit));
        let background = &self.side.background;
        let cancel = background.started(&id, &seat.session);
        let prepared = async {
            let log = Some(Arc::clone(&log));
            let call = call.id;
            let starting = Starting { definition, order, skill: None, call, log, cancel: &cancel };
            let helper = self.helper(starting).await?;
            let command = match &helper.identity.name {
                Some(name) => format!("{name}: {}", order.description),
                None => order.description.clone(),
            };
            let kind = TaskKind::Agent;
            let task = TaskStarted { id: id.clone(), kind, command, output_path };
            let owner = json!(Owner::current());
            self.gate.store().watch_task(&seat.session, call, &task, &owner)?;
            Ok::<_, SubagentError>((helper, task, self.beside()?))
        };
        let (helper, task, beside) = match Box::pin(prepared).await {
            Ok(prepared) => prepared,
            Err(error) => {
                background.ended(&id);
                return Err(error);
            }
        };
        let mut output = ToolOutput::success(format!(
            "Started the agent {} ({}) as background task {id}\nIts output goes to {}\nYou are told when it has ended{}",
            helper.identity.id,
            helper.identity.agent_type,
            task.output_path.display(),
            helper.remark.as_ref().map(|remark| format!("\n{remark}")).unwrap_or_default(),
        ))
        .with_detail("task_id", id.as_str())
        .with_detail("agent_id", helper.identity.id.as_str());
        tokio::spawn(async move {
            let end = beside.view().in_background(helper, &log, &cancel).await;
            // Where that cannot be written, whoever opens the session next says that nobody saw its end.
            let _ = beside.gate.store().finish_task(&id, &end);
            beside.side.background.ended(&id);
        });
        output.task = Some(task);
        Ok(output)
    }

    /// Works to the end in the background, and says how it was.
    async fn in_background(
        self,
        helper: Helper,
        log: &AgentLog,
        cancel: &CancellationToken,
    ) -> TaskEnd {
        let ended = |reason: &str| TaskEnd { exit_code: None, reason: reason.to_owned() };
        match helper.work(self, cancel).await {
            Err(error) => {
                log.write(&format!("[the record failed: {error}]"));
                ended("failed")
            }
            Ok(work) => {
                self.take_account(&work.end);
                if let Some(left) = &work.left {
                    log.write(&format!("[{left}]"));
                }
                if let Some(why) = work.end.ending.problem() {
                    log.write(&format!("[{why}]"));
                }
                ended(word(&work.end.ending))
            }
        }
    }

    /// What the caller is told of a helper's work.
    fn told(self, identity: &Identity, work: Work, remark: Option<String>) -> ToolOutput {
        let Work { end, left, duration_ms } = work;
        self.take_account(&end);
        let mut content = match (&end.ending, end.text.trim().is_empty()) {
            (Ending::Done, true) => "The agent ended without a word".to_owned(),
            (_, true) => String::new(),
            (_, false) => self.capped(end.text),
        };
        let failed = end.ending.problem();
        if let Some(why) = &failed {
            let before = if content.is_empty() { "" } else { "\n\n" };
            content.push_str(&format!("{before}The agent did not come to its end: {why}"));
        }
        for more in remark.into_iter().chain(left) {
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

    /// What a helper has spent, and what it was refused, is its caller's to tell.
    fn take_account(self, end: &TurnEnd) {
        if let Some(model_handle) = &self.side.model {
            for used in end.used.iter().cloned() {
                model_handle.tell_aside(used);
            }
        }
        self.side.add_denials(end.denials.iter().cloned());
    }

    /// A long answer is cut; the whole is in a file.
    fn capped(self, text: String) -> String {
        let limit = self.gate.record.core.settings.agent_output_chars;
        let Some((cut, _)) = text.char_indices().nth(limit) else { return text };
        let name = format!("agent-{}.txt", ToolUseId::generate());
        let whole = self.gate.save_full_text(&name, &text);
        format!("{}\n{TRUNCATED_SUFFIX} ({whole})", &text[..cut])
    }

    /// Ends an agent in the background, with the commands that it, or one below it, has started.
    pub(crate) async fn stop_agent(self, id: &TaskId) -> Result<(), ServiceError> {
        // Known before it ends: then they would be its caller's.
        let commands = self.commands_of(id).map_err(ServiceError::of)?;
        if !self.side.background.stop(id) {
            return Err(ServiceError(format!("the agent {id} works in another process of ona")));
        }
        for command in &commands {
            self.gate.stop_command(command).await?;
        }
        self.side.background.wait_for(id, STOP_WAIT).await;
        Ok(())
    }

    /// The commands in the background that an agent, or one below it, has started.
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
fn word(ending: &Ending) -> &'static str {
    match ending {
        Ending::Done => "completed",
        Ending::Interrupted => "stopped",
        _ => "failed",
    }
}
