//! The main agent as one of the kinds that files describe (`--agent`): what its file says holds for the session itself.

use std::num::NonZeroU32;
use std::sync::Arc;

use ona_types::PermissionMode;

use crate::agent::{AgentOptions, Mind};
use crate::session::Session;

impl Session {
    /// Takes the role of this kind of agent: its tools, its hooks, and a mode that is no laxer than before, nor than the
    /// one that it had already.
    pub fn take_role(&mut self, name: &str, had: Option<PermissionMode>) -> Result<(), String> {
        let kind = self.kind(name)?;
        let engine = Arc::clone(&self.engine);
        let modes: Vec<PermissionMode> = had.into_iter().chain(kind.permission_mode).collect();
        self.governance.take_role(&engine, &modes, kind.hooks.as_ref(), &mut self.place);
        self.role = Some(Arc::new(kind));
        Ok(())
    }

    /// What the role has the user say first.
    pub fn first_words(&self) -> Option<&str> {
        self.role.as_ref()?.initial_prompt.as_deref()
    }

    /// The model of the role, unless the operator has named one for this run.
    #[must_use]
    pub fn mind_of_role(&self, mind: Mind, named: bool) -> Mind {
        let Some(kind) = &self.role else { return mind };
        let wanted = kind.model.as_deref().filter(|_| !named);
        let mind = match wanted.map(|name| mind.called(name)) {
            None => mind,
            Some(Ok(theirs)) => theirs,
            Some(Err(why)) => {
                let own = &mind.model.wire;
                self.warn(format!("the model of the agent {}: {why}; {own} is asked", kind.name));
                mind
            }
        };
        mind.trying(kind.effort)
    }

    /// The rest of the role, when there are servers and somebody to ask: what the model is told first, the servers it
    /// uses, the skills it knows, how often it may ask. What the operator has said for this run counts above it.
    pub async fn play(&mut self, options: AgentOptions) -> Result<AgentOptions, String> {
        let Some(kind) = self.role.clone() else { return Ok(options) };
        self.use_servers(&kind).await.map_err(|error| error.to_string())?;
        let known = self.known_skills(&kind, &self.front.running()).await?;
        let mut options = options;
        options.prompt.replace.get_or_insert_with(|| kind.prompt.clone());
        let more = [self.memories_of(&kind), known, options.prompt.append.take()];
        let more: Vec<String> = more.into_iter().flatten().collect();
        options.prompt.append = (!more.is_empty()).then(|| more.join("\n\n"));
        options.max_turns = options.max_turns.or(kind.max_turns.map(NonZeroU32::get));
        Ok(options)
    }

    /// What kind of agent works here, by name; nothing where it is the plain one.
    pub fn kind_here(&self) -> Option<&str> {
        let role = self.role.as_ref().map(|kind| kind.name.as_str());
        self.agent.as_ref().map(|agent| agent.kind.as_str()).or(role)
    }
}
