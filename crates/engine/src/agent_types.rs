//! The types of agents: which a session can start, and the main agent as one of them (`--agent`).

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

/// Why there is no agent of a type.
#[derive(Debug, thiserror::Error)]
pub enum TypeError {
    /// No file describes one.
    #[error("{cause}; the types are {known}")]
    Unknown {
        /// What is wrong with the name.
        cause: NotFound,
        /// The types there are.
        known: String,
    },
    /// The role here may not start it.
    #[error("the agent {role} may not start {wanted}; it may start {known}")]
    NotStartable {
        /// Who works here.
        role: String,
        /// What was wanted.
        wanted: String,
        /// The types that it may start.
        known: String,
    },
}

impl SessionRef<'_> {
    /// The types of agents that can be started here.
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

    /// The type of this name.
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

    /// Whether the role leaves this type to be started: `Agent(a, b)` names the only ones.
    fn may_start(self, definition: &AgentDefinition) -> bool {
        let role = self.gate.toolbox.role.as_ref();
        let only = role.and_then(|role| role.may_start.as_ref());
        only.is_none_or(|only| only.contains(&definition.name))
    }
}

impl Session {
    /// Takes the role of this type of agent: its tools, its hooks, and a mode that is no laxer than before, nor than the
    /// one that it had already.
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

    /// What the role has the user say first.
    pub(crate) fn initial_prompt(&self) -> Option<&str> {
        self.gate.toolbox.role.as_ref()?.initial_prompt.as_deref()
    }

    /// The model of the role, unless the operator has named one for this run.
    #[must_use]
    pub(crate) fn model_of_role(&self, model_handle: ModelHandle, named: bool) -> ModelHandle {
        let Some(role) = &self.gate.toolbox.role else { return model_handle };
        let wanted = role.model.as_deref().filter(|_| !named);
        let model_handle = match wanted.map(|name| model_handle.called(name)) {
            None => model_handle,
            Some(Ok(theirs)) => theirs,
            Some(Err(why)) => {
                let own = &model_handle.model.wire;
                self.gate
                    .front
                    .warn(format!("the model of the agent {}: {why}; {own} is asked", role.name));
                model_handle
            }
        };
        model_handle.trying(role.effort)
    }

    /// The rest of the role, when there are servers and somebody to ask: what the model is told first, the servers it
    /// uses, the skills it knows, how often it may ask. What the operator has said for this run counts above it.
    pub(crate) async fn play(&mut self, options: AgentOptions) -> Result<AgentOptions, PlayError> {
        let Some(role) = self.gate.toolbox.role.clone() else { return Ok(options) };
        self.gate.use_servers(&role).await?;
        let known = self.view().known_skills(&role, &self.gate.front.running()).await;
        let known = known.map_err(PlayError::Skill)?;
        let mut options = options;
        options.prompt.replace.get_or_insert_with(|| role.prompt.clone());
        let more = [self.view().memories_of(&role), known, options.prompt.append.take()];
        let more: Vec<String> = more.into_iter().flatten().collect();
        options.prompt.append = (!more.is_empty()).then(|| more.join("\n\n"));
        options.max_turns = options.max_turns.or(role.max_turns.map(NonZeroU32::get));
        Ok(options)
    }

    /// What type of agent works here; nothing where it is the plain one.
    pub fn agent_type_here(&self) -> Option<String> {
        self.gate.identity().agent_type
    }
}

/// Why the main agent cannot play its role.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// A skill that it knows from the start cannot be used.
    #[error(transparent)]
    Skill(SkillError),
    /// The record failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
