//! The agent's side of a session: the model that is asked, what extends it, and the agents that its calls start.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ona_front::DeniedCall;
use ona_hooks::Judge;
use ona_tools::{
    AgentOrder, AgentType, Calling, ServiceError, SkillView, Waits, WebFound, WebQuery,
};
use ona_types::{TaskId, ToolOutput};

use crate::agent::{AgentOptions, Mind};
use crate::agent_types::GENERAL;
use crate::background_agents::BackgroundAgents;
use crate::extensions::Extensions;
use crate::gate::Gate;
use crate::gate::services::{AgentIdentity, EngineServices, SkillOrder};
use crate::judge::ModelJudge;
use crate::session::SessionRef;
use crate::subagents::Identity;

/// What stands behind the gate of a session.
#[derive(Clone, Debug)]
pub(crate) struct AgentSide {
    /// Agents of this process that work in the background.
    pub(crate) background: Arc<BackgroundAgents>,
    /// Who is asked: by turns, by hooks and by tools.
    pub(crate) model: Option<Arc<Mind>>,
    /// How the agent here is to work, for agents that it starts.
    pub(crate) options: Option<Arc<AgentOptions>>,
    /// Agents, skills, commands and plugins.
    pub(crate) extensions: Arc<Mutex<Extensions>>,
    /// Calls beside the turn's own that were not let through: of agents, and of skills' commands.
    pub(crate) denials: Arc<Mutex<Vec<DeniedCall>>>,
    /// Who works here, where a call started it.
    pub(crate) identity: Option<Identity>,
    /// The user has asked for the skill that is applied here.
    pub(crate) by_user: bool,
}

impl AgentSide {
    /// Nobody works here yet.
    pub(crate) fn new(background: Arc<BackgroundAgents>) -> Self {
        Self {
            background,
            model: None,
            options: None,
            extensions: Arc::default(),
            denials: Arc::default(),
            identity: None,
            by_user: false,
        }
    }

    /// What extends the session.
    pub(crate) fn extensions(&self) -> MutexGuard<'_, Extensions> {
        self.extensions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls were not let through beside the turn's own.
    pub(crate) fn add_denials(&self, calls: impl IntoIterator<Item = DeniedCall>) {
        self.denials.lock().unwrap_or_else(PoisonError::into_inner).extend(calls);
    }

    /// Those of which nobody was told yet.
    pub(crate) fn take_denials(&self) -> Vec<DeniedCall> {
        std::mem::take(&mut *self.denials.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl EngineServices for AgentSide {
    fn identity(&self) -> AgentIdentity {
        match &self.identity {
            Some(identity) => AgentIdentity {
                agent_id: Some(identity.id.to_string()),
                agent_type: Some(identity.agent_type.clone()),
                task: Some(identity.task.clone()),
                host: None,
            },
            None => AgentIdentity::default(),
        }
    }

    fn model_name(&self) -> Option<String> {
        let model = &self.model.as_ref()?.model;
        Some(format!("{}/{}", model.provider.as_str(), model.wire))
    }

    fn context_window(&self) -> Option<u64> {
        self.model.as_ref()?.model.context_window.map(u64::from)
    }

    fn judge<'a>(&'a self, gate: &'a Gate) -> Option<Box<dyn Judge + Send + 'a>> {
        let mind = self.model.as_ref()?;
        Some(Box::new(ModelJudge { session: SessionRef { gate, side: self }, mind }))
    }

    fn agent_types(&self, gate: &Gate) -> Vec<AgentType> {
        SessionRef { gate, side: self }.startable_types()
    }

    fn agent<'a>(
        &'a self,
        gate: &'a Gate,
        order: AgentOrder,
        call: Calling<'a>,
    ) -> Waits<'a, ToolOutput> {
        Box::pin(SessionRef { gate, side: self }.start_agent(order, None, call))
    }

    fn stop_agent<'a>(
        &'a self,
        gate: &'a Gate,
        task: &'a TaskId,
    ) -> Waits<'a, Result<(), ServiceError>> {
        Box::pin(SessionRef { gate, side: self }.stop_agent(task))
    }

    fn skill_view(&self, name: &str) -> Option<SkillView> {
        let extensions = self.extensions();
        let skill = extensions.skill(name).ok()?;
        let agent_type = || skill.agent.clone().unwrap_or_else(|| GENERAL.to_owned());
        Some(SkillView {
            only_instructs: skill.allowed_tools.is_empty() && skill.hooks.is_none(),
            agent_type: skill.forks.then(agent_type),
        })
    }

    fn skill<'a>(
        &'a self,
        gate: &'a Gate,
        skill: SkillOrder<'a>,
        call: Calling<'a>,
    ) -> Waits<'a, ToolOutput> {
        Box::pin(SessionRef { gate, side: self }.use_skill(skill, call))
    }

    fn digest<'a>(
        &'a self,
        gate: &'a Gate,
        prompt: &'a str,
        text: &'a str,
    ) -> Waits<'a, Option<Result<String, ServiceError>>> {
        Box::pin(async move {
            let said = SessionRef { gate, side: self }.ask_about(prompt, text).await?;
            Some(said.map_err(ServiceError::of))
        })
    }

    fn search<'a>(
        &'a self,
        gate: &'a Gate,
        query: &'a WebQuery,
    ) -> Waits<'a, Option<Result<WebFound, ServiceError>>> {
        Box::pin(async move {
            let found = SessionRef { gate, side: self }.search_web(query).await?;
            Some(found.map_err(ServiceError::of))
        })
    }
}
