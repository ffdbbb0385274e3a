//! The engine's services for the gate: model calls, subagents and skills.

use ona_gate::Gate;
use ona_gate::services::{AgentIdentity, EngineServices, SkillOrder};
use ona_hooks::Judge;
use ona_tools::{AgentOrder, AgentType, Calling, ServiceError, SkillView, Waits};
use ona_types::{TaskId, ToolOutput};
use ona_web::{WebFound, WebQuery};

use crate::agent_side::AgentSide;
use crate::identity::GENERAL;
use crate::judge::ModelJudge;
use crate::session::SessionRef;

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
        let model_handle = self.model.as_ref()?;
        Some(Box::new(ModelJudge { session: SessionRef { gate, side: self }, model_handle }))
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
        match &self.starter {
            Some(starter) => starter.start(order, call),
            None => Box::pin(SessionRef { gate, side: self }.start_agent(order, None, call)),
        }
    }

    fn stop_agent<'a>(
        &'a self,
        gate: &'a Gate,
        task: &'a TaskId,
    ) -> Waits<'a, Result<(), ServiceError>> {
        Box::pin(SessionRef { gate, side: self }.stop_agent(task))
    }

    fn may_start(&self, gate: &Gate, agent_type: &str) -> Result<(), ServiceError> {
        let found = SessionRef { gate, side: self }.agent_type(agent_type);
        found.map(drop).map_err(ServiceError::of)
    }

    fn skill_view(&self, name: &str) -> Result<SkillView, ServiceError> {
        let extensions = self.extensions();
        let skill = self.usable_skill(&extensions, name).map_err(ServiceError::of)?;
        let agent_type = || skill.agent.clone().unwrap_or_else(|| GENERAL.to_owned());
        Ok(SkillView {
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
            let answer = SessionRef { gate, side: self }.ask_about(prompt, text).await?;
            Some(answer.map_err(ServiceError::of))
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
