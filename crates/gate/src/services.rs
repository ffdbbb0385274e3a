//! The services of a session for its tools, and of the engine for the session.

use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use ona_effects::Effects;
use ona_front::{Event, Human};
use ona_hooks::Judge;
use ona_mcp::{OnProgress, Pool};
use ona_policy::{By, Call};
use ona_sandbox::Owner;
use ona_store::{StoreError, TaskRow};
use ona_tools::{
    AgentOrder, AgentType, AlsoRuled, Calling, Deferred, OnOutput, ServiceError, SessionServices,
    SkillView, TaskEnded, TaskView, Waits, WebFetchSettings, Whose,
};
use ona_types::{Behavior, Phase, TaskId, TaskKind, TaskStarted, Todo, ToolOutput, ToolUseId};
use ona_web::{WebFound, WebQuery, WebSearchSettings};
use serde_json::json;

use super::Gate;

/// Who works in a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentIdentity {
    /// The agent's id, if a call started it.
    pub agent_id: Option<String>,
    /// Its type.
    pub agent_type: Option<String>,
    /// Its task, if it runs in the background.
    pub task: Option<TaskId>,
    /// The host of the agent, if it is not ona.
    pub host: Option<String>,
}

/// Services that need a model, agents or skills. Without an engine the defaults apply.
pub trait EngineServices: Send + Sync {
    /// Who works here.
    fn identity(&self) -> AgentIdentity {
        AgentIdentity::default()
    }

    /// The model's name, for the trace.
    fn model_name(&self) -> Option<String> {
        None
    }

    /// The model's context window, in tokens.
    fn context_window(&self) -> Option<u64> {
        None
    }

    /// Asks a model on behalf of hooks, if there is one.
    fn judge<'a>(&'a self, _gate: &'a Gate) -> Option<Box<dyn Judge + Send + 'a>> {
        None
    }

    /// The types of agents that can be started here.
    fn agent_types(&self, _gate: &Gate) -> Vec<AgentType> {
        Vec::new()
    }

    /// Starts an agent.
    fn agent<'a>(&'a self, _: &'a Gate, _: AgentOrder, _: Calling<'a>) -> Waits<'a, ToolOutput> {
        Box::pin(async { ToolOutput::rejected("agents are not available in this session") })
    }

    /// Ends an agent in the background, with everything it has started.
    fn stop_agent<'a>(
        &'a self,
        _: &'a Gate,
        id: &'a TaskId,
    ) -> Waits<'a, Result<(), ServiceError>> {
        Box::pin(async move {
            Err(ServiceError(format!("the agent {id} works in another process of ona")))
        })
    }

    /// Information about a skill, or why it cannot be applied.
    fn skill_view(&self, name: &str) -> Result<SkillView, ServiceError> {
        Err(ServiceError(format!("unknown skill `{name}`")))
    }

    /// Whether an agent of this type can be started, or why not.
    fn may_start(&self, _: &Gate, _agent_type: &str) -> Result<(), ServiceError> {
        Ok(())
    }

    /// Applies a skill.
    fn skill<'a>(
        &'a self,
        _: &'a Gate,
        skill: SkillOrder<'a>,
        _: Calling<'a>,
    ) -> Waits<'a, ToolOutput> {
        Box::pin(async move { ToolOutput::rejected(format!("unknown skill `{}`", skill.name)) })
    }

    /// Asks the small model about a text; `None` if no model is configured.
    fn digest<'a>(
        &'a self,
        _: &'a Gate,
        _prompt: &'a str,
        _text: &'a str,
    ) -> Waits<'a, Option<Result<String, ServiceError>>> {
        Box::pin(async { None })
    }

    /// Searches the web through the provider; `None` if it cannot.
    fn search<'a>(
        &'a self,
        _: &'a Gate,
        _: &'a WebQuery,
    ) -> Waits<'a, Option<Result<WebFound, ServiceError>>> {
        Box::pin(async { None })
    }
}

/// No engine behind the gate: no model, no agents, no skills.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoEngine;

impl EngineServices for NoEngine {}

/// A request for a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkillOrder<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its arguments.
    pub args: &'a str,
}

/// A gate's services for its tools.
pub struct GateServices<'g>(&'g Gate);

impl Gate {
    /// Who works here: an agent that a call started, or the main agent with its role.
    pub fn identity(&self) -> AgentIdentity {
        let mut identity = self.engine.identity();
        if identity.agent_type.is_none() {
            identity.agent_type = self.toolbox.role.as_ref().map(|role| role.name.clone());
        }
        identity
    }

    /// The session's services for tools.
    pub fn services(&self) -> GateServices<'_> {
        GateServices(self)
    }

    fn task_view(&self, row: TaskRow) -> Result<TaskView, StoreError> {
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
        let (identity, own) = (self.identity(), self.record.session());
        if identity.agent_id.is_none() {
            return Ok(Whose::Own);
        }
        if identity.task.as_ref() == Some(&row.id) {
            return Ok(Whose::Itself);
        }
        let below = || self.store().agents_below(own);
        let is_own = row.session == *own || below()?.contains(&row.session);
        Ok(if is_own { Whose::Own } else { Whose::Callers })
    }

    /// Ends a command in the background, with everything it has started.
    pub async fn stop_command(&self, id: &TaskId) -> Result<(), ServiceError> {
        // Recorded first, so that the supervisor does not take it for the command's own end.
        let end = ona_types::TaskEnd { exit_code: None, reason: "stopped".to_owned() };
        self.store().finish_task(id, &end).map_err(ServiceError::of)?;
        // One that was moved into the background carries the marker of its call.
        let row = self.store().task(&self.seat().conversation, id).map_err(ServiceError::of)?;
        let call = row.map(|row| ona_tools::marker(&row.call));
        let markers: Vec<_> = std::iter::once(ona_tools::task_marker(id)).chain(call).collect();
        let killed = tokio::task::spawn_blocking(move || {
            markers.iter().for_each(|marker| ona_sandbox::kill_tree(None, Some(marker)));
        });
        killed.await.map_err(|error| ServiceError(format!("the task could not be ended: {error}")))
    }
}

impl SessionServices for GateServices<'_> {
    fn web_fetch(&self) -> WebFetchSettings {
        let settings = self.0.governance.settings().web_fetch.unwrap_or_default();
        WebFetchSettings {
            summarize: settings.summarize.unwrap_or(true),
            private_hosts: settings.allow_private_hosts.clone().unwrap_or_default(),
        }
    }

    fn web_search(&self) -> WebSearchSettings {
        let settings = self.0.governance.settings().web_search.unwrap_or_default();
        WebSearchSettings {
            backend: settings.backend.map(|backend| backend.as_str()),
            url: settings.url.clone(),
        }
    }

    fn is_operators_call(&self) -> bool {
        matches!(self.0.front.human(), Human::Operator(_))
    }

    fn todos(&self) -> Result<Vec<Todo>, ServiceError> {
        self.0.store().todos(self.0.seat()).map_err(ServiceError::of)
    }

    fn phase(&self) -> Result<Phase, ServiceError> {
        let standing = self.0.store().standing(&self.0.seat().conversation);
        standing.map(|standing| standing.phase).map_err(ServiceError::of)
    }

    fn say(&self, message: &str, attachments: &[PathBuf], status: &str) {
        let redactor = self.0.redactor();
        let shown = |path: &PathBuf| redactor.mask(&path.display().to_string()).into_owned();
        self.0.front.tell(Event::Said {
            message: redactor.mask(message).into_owned(),
            attachments: attachments.iter().map(shown).collect(),
            status: status.to_owned(),
        });
    }

    fn task(&self, id: &str) -> Result<Option<TaskView>, ServiceError> {
        let id = TaskId::from_existing(id.to_owned());
        let found = self.0.store().task(&self.0.seat().conversation, &id);
        let found = found.and_then(|row| row.map(|row| self.0.task_view(row)).transpose());
        found.map_err(ServiceError::of)
    }

    fn running_tasks(&self) -> Result<Vec<TaskView>, ServiceError> {
        let running = self.0.store().running_tasks(&self.0.seat().conversation);
        let running: Result<_, StoreError> =
            running.and_then(|rows| rows.into_iter().map(|row| self.0.task_view(row)).collect());
        running.map_err(ServiceError::of)
    }

    fn stop_task<'a>(&'a self, task: &'a TaskView) -> Waits<'a, Result<(), ServiceError>> {
        Box::pin(async move {
            let id = TaskId::from_existing(task.id.clone());
            match task.kind {
                TaskKind::Agent => self.0.engine.stop_agent(self.0, &id).await,
                TaskKind::Shell => self.0.stop_command(&id).await,
            }
        })
    }

    fn agent_types(&self) -> Vec<AgentType> {
        self.0.engine.agent_types(self.0)
    }

    fn type_of_agent(&self, name: &str) -> Option<String> {
        // If the record cannot be read, nothing is filled in, and the call does not start.
        let run = self.0.store().agent_named(self.0.record.session(), name).ok().flatten();
        run.map(|run| run.agent_type)
    }

    fn agent<'a>(&'a self, order: AgentOrder, call: Calling<'a>) -> Waits<'a, ToolOutput> {
        self.0.engine.agent(self.0, order, call)
    }

    fn skill_view(&self, name: &str) -> Result<SkillView, ServiceError> {
        self.0.engine.skill_view(name)
    }

    fn may_start(&self, agent_type: &str) -> Result<(), ServiceError> {
        self.0.engine.may_start(self.0, agent_type)
    }

    fn skill<'a>(
        &'a self,
        name: &'a str,
        args: &'a str,
        call: Calling<'a>,
    ) -> Waits<'a, ToolOutput> {
        self.0.engine.skill(self.0, SkillOrder { name, args }, call)
    }

    fn servers(&self) -> Option<Arc<Pool>> {
        self.0.pool()
    }

    fn server_names(&self) -> Vec<String> {
        match self.0.pool() {
            Some(pool) => pool.statuses().into_iter().map(|status| status.name).collect(),
            None => self.0.unconnected.clone(),
        }
    }

    fn denies(&self, ruled: &AlsoRuled) -> bool {
        // What it would touch is unknown: rules match the name.
        let effects = Effects::default();
        let (tool, facts, input) = (ruled.name.as_str(), ruled.facts, &ruled.input);
        let ruling = self.0.governance.permissions.judge(&Call {
            tool,
            facts,
            input,
            effects: &effects,
            confines: ona_policy::Confines::Nothing,
        });
        ruling.behavior == Behavior::Deny && matches!(ruling.by, By::Rules(_))
    }

    fn progress(&self, call: &ToolUseId) -> Option<OnProgress> {
        Some(self.0.on_progress(call))
    }

    fn on_output(&self, call: &ToolUseId) -> Option<OnOutput> {
        let (front, call) = (self.0.front.another(), call.clone());
        let tell = move |text: &str| {
            front.tell(Event::ToolOutput { id: call.clone(), text: text.to_owned() });
        };
        // Whoever keeps files looks on.
        self.0.keeps_files.then(|| Arc::new(tell) as OnOutput)
    }

    fn asked_into_background(&self) -> Waits<'_, ()> {
        Box::pin(self.0.front.asked_into_background())
    }

    fn keep_running(
        &self,
        call: &ToolUseId,
        task: &TaskStarted,
        stop: CancellationToken,
    ) -> Result<TaskEnded, ServiceError> {
        let (core, id) = (Arc::clone(&self.0.record.core), task.id.clone());
        let owner = json!(Owner::current());
        let session = self.0.record.session();
        core.store.watch_task(session, call, task, &owner).map_err(ServiceError::of)?;
        core.moved.add(id.clone(), stop);
        Ok(Box::new(move |mut end| {
            if core.moved.ended(&id) {
                end.reason = "session_ended".to_owned();
            }
            // If the record fails, the next session settles it.
            let _ = core.store.finish_task(&id, &end);
            core.moved.remove(&id);
        }))
    }

    fn deferred(&self) -> Vec<Deferred> {
        self.0.deferred_tools()
    }

    fn digest<'a>(
        &'a self,
        prompt: &'a str,
        text: &'a str,
    ) -> Waits<'a, Option<Result<String, ServiceError>>> {
        self.0.engine.digest(self.0, prompt, text)
    }

    fn search<'a>(
        &'a self,
        query: &'a WebQuery,
    ) -> Waits<'a, Option<Result<WebFound, ServiceError>>> {
        self.0.engine.search(self.0, query)
    }
}
