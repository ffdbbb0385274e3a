//! Agent types: which ones a session can start, and the type of the main agent (`--agent`).

use std::num::NonZeroU32;
use std::sync::Arc;

use ona_store::StoreError;
use ona_tools::AgentType;
use ona_types::PermissionMode;

use crate::model_handle::ModelHandle;
use crate::options::AgentOptions;
use crate::session::{Session, SessionRef};
use crate::skills::SkillError;
use ona_extensions::{AgentDefinition, NotFound};

/// Why an agent type cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TypeError {
    /// Unknown type.
    #[error("{cause}; available agents: {known}")]
    Unknown {
        /// The error of the lookup.
        cause: NotFound,
        /// The known types.
        known: String,
    },
    /// The session's own role may not start this type.
    #[error("the agent {role} cannot start {wanted}; it can start {known}")]
    NotStartable {
        /// The role.
        role: String,
        /// The type.
        wanted: String,
        /// The types the role may start.
        known: String,
    },
}

impl SessionRef<'_> {
    /// The agent types this session can start.
    pub(crate) fn startable_types(self) -> Vec<AgentType> {
        let extensions = self.side.extensions();
        let startable = extensions.agents.iter().filter(|one| self.may_start(one));
        startable
            .map(|one| AgentType {
                name: one.name.clone(),
                description: one.description.clone(),
                background: one.background,
            })
            .collect()
    }

    /// Finds an agent type by name.
    pub(crate) fn agent_type(self, name: &str) -> Result<AgentDefinition, TypeError> {
        let extensions = self.side.extensions();
        let startable = extensions.agents.iter().filter(|one| self.may_start(one));
        let known = startable.map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ");
        match extensions.agent(name) {
            Ok(found) if self.may_start(found) => Ok(found.clone()),
            Ok(found) => Err(TypeError::NotStartable {
                role: self.gate.identity().agent_type.unwrap_or_default(),
                wanted: found.name.clone(),
                known,
            }),
            Err(cause) => Err(TypeError::Unknown { cause, known }),
        }
    }

    /// Whether the role may start this type: `Agent(a, b)` limits it to `a` and `b`.
    fn may_start(self, definition: &AgentDefinition) -> bool {
        let role = self.gate.toolbox.role.as_ref();
        let only = role.and_then(|role| role.may_start.as_ref());
        only.is_none_or(|only| only.contains(&definition.name))
    }
}

impl Session {
    /// Sets the role of the session: its tools, its hooks, and its mode, unless the current mode or the mode it had
    /// before is stricter.
    pub(crate) fn take_role(
        &mut self,
        name: &str,
        had: Option<PermissionMode>,
    ) -> Result<(), TypeError> {
        let definition = self.view().agent_type(name)?;
        let modes: Vec<PermissionMode> =
            had.into_iter().chain(definition.permission_mode).collect();
        self.gate.governance.take_role(&modes, definition.hooks.as_ref());
        self.gate.toolbox.role = Some(Arc::new(definition));
        Ok(())
    }

    /// The first user message of the role.
    pub(crate) fn initial_prompt(&self) -> Option<&str> {
        self.gate.toolbox.role.as_ref()?.initial_prompt.as_deref()
    }

    /// The role's model, unless the operator named one for this run.
    #[must_use]
    pub(crate) fn role_model(&self, model_handle: ModelHandle, named: bool) -> ModelHandle {
        let Some(role) = &self.gate.toolbox.role else { return model_handle };
        let wanted = role.model.as_deref().filter(|_| !named);
        let model_handle = match wanted.map(|name| model_handle.for_model(name)) {
            None => model_handle,
            Some(Ok(theirs)) => theirs,
            Some(Err(why)) => {
                let own = &model_handle.model.wire;
                self.gate
                    .front
                    .warn(format!("the model of the agent {}: {why}; using {own}", role.name));
                model_handle
            }
        };
        model_handle.with_effort(role.effort)
    }

    /// Applies the rest of the role when servers are configured and a model is there: prompt, servers, skills, turn limit.
    /// The operator's options for this run override it.
    pub(crate) async fn apply_role(
        &mut self,
        options: AgentOptions,
    ) -> Result<AgentOptions, RoleError> {
        let Some(role) = self.gate.toolbox.role.clone() else { return Ok(options) };
        self.gate.use_servers(&role).await?;
        let known = self.view().preloaded_skills(&role, &self.gate.front.running()).await;
        let known = known.map_err(RoleError::Skill)?;
        let mut options = options;
        options.prompt.replace.get_or_insert_with(|| role.prompt.clone());
        let more = [self.view().memory_prompt(&role), known, options.prompt.append.take()];
        let more: Vec<String> = more.into_iter().flatten().collect();
        options.prompt.append = (!more.is_empty()).then(|| more.join("\n\n"));
        options.max_turns = options.max_turns.or(role.max_turns.map(NonZeroU32::get));
        Ok(options)
    }

    /// The agent type of this session; `None` for the default agent.
    pub fn agent_type_name(&self) -> Option<String> {
        self.gate.identity().agent_type
    }
}

/// Why the main agent's role cannot be applied.
#[derive(Debug, thiserror::Error)]
pub enum RoleError {
    /// One of its skills cannot be used.
    #[error(transparent)]
    Skill(SkillError),
    /// The record failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
