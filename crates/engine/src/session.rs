//! A session: a gate, and the agent's side of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ona_policy::secrets::masks;
use ona_provider::ToolSpec;
use ona_repo::Repository;
use ona_store::{Join, NewSession, Seat, StoreError};
use ona_tools::{ModelNeed, Place, Tool};
use ona_types::{ConversationId, PermissionMode};
use tokio_util::sync::CancellationToken;

use crate::agent_side::AgentSide;
use crate::background_agents::BackgroundAgents;
use crate::model_handle::ModelHandle;
use crate::options::AgentOptions;
use crate::which_session::new_seat;
use ona_config::instructions;
use ona_front::CoreEnd;
use ona_gate::core::Core;
use ona_gate::governance::{
    AgentTerms, Governance, GovernanceError, LoadOptions, Remember, Unread, Untrusted,
};
use ona_gate::intents::metadata::with_metadata;
use ona_gate::settle::settle;
use ona_gate::{Gate, Record};

/// The parts that all sessions of this process share.
#[derive(Clone, Debug)]
pub struct Engine {
    /// The record and the configuration.
    pub core: Arc<Core>,
    /// Agents in the background.
    pub background: Arc<BackgroundAgents>,
}

impl Engine {
    /// An engine without running agents.
    pub fn new(core: Core) -> Self {
        Self { core: Arc::new(core), background: Arc::default() }
    }
}

/// A session, ready for calls.
#[derive(Debug)]
pub struct Session {
    /// The gate for its calls.
    pub gate: Gate,
    /// The model, the extensions and the agents behind the gate.
    pub(crate) side: Arc<AgentSide>,
}

/// A borrowed session.
#[derive(Clone, Copy)]
pub(crate) struct SessionRef<'a> {
    pub(crate) gate: &'a Gate,
    pub(crate) side: &'a AgentSide,
}

impl Session {
    /// A session to explain calls with: the one that [`Which::Join`](crate::Which::Join) would find, or one that is not
    /// on the record. Nothing is written or settled.
    pub fn read_only(
        engine: &Engine,
        cwd: &Path,
        conversation: Option<&ConversationId>,
        unread: Unread,
    ) -> Result<Self, GovernanceError> {
        let join = Join { project_dir: &cwd.to_string_lossy(), conversation };
        let seat = engine.core.store.seat(&join)?.unwrap_or_else(|| {
            let new = new_seat(None, cwd);
            Seat { conversation: conversation.cloned().unwrap_or(new.conversation), ..new }
        });
        Self::with_seat(engine, seat, cwd, (Remember::Nothing, unread))
    }

    /// The same for a new session.
    pub fn new_read_only(engine: &Engine, cwd: &Path) -> Result<Self, GovernanceError> {
        let seat = new_seat(None, cwd);
        Self::with_seat(engine, seat, cwd, (Remember::Nothing, Unread::Stops))
    }

    /// Opens the session of a seat.
    pub(crate) fn open(
        engine: &Engine,
        seat: Seat,
        cwd: &Path,
        unread: Unread,
    ) -> Result<Self, GovernanceError> {
        settle(&engine.core.store, &seat)?;
        Self::with_seat(engine, seat, cwd, (Remember::Settings, unread))
    }

    fn with_seat(
        engine: &Engine,
        seat: Seat,
        cwd: &Path,
        (remember, unread): (Remember, Unread),
    ) -> Result<Self, GovernanceError> {
        let mut place = place(&seat, cwd);
        let lost = masks(&place.cwd.to_string_lossy()).next().is_some() && !place.cwd.is_dir();
        let left_in = lost.then(|| std::mem::replace(&mut place.cwd, place.project_dir.clone()));
        let goes_on_in = place.cwd.clone();
        let core = &engine.core;
        let options = LoadOptions { remember, untrusted: Untrusted::Stops, unread };
        let mut governance = Governance::load(core, &seat, place, options)?;
        governance.warnings.extend(left_in.map(|dir| {
            format!(
                "the session's last directory {} has a secret in its name, which is not stored; it continues in {}",
                dir.display(),
                goes_on_in.display()
            )
        }));
        let record = Record { core: Arc::clone(core), seat };
        let side = Arc::new(AgentSide::new(Arc::clone(&engine.background)));
        let gate = Gate::new(record, governance, Arc::<AgentSide>::clone(&side));
        Ok(Self { gate, side })
    }

    /// The session, borrowed.
    pub(crate) fn view(&self) -> SessionRef<'_> {
        SessionRef { gate: &self.gate, side: &self.side }
    }

    /// Changes the agent's side.
    pub(crate) fn change_side(&mut self, change: impl FnOnce(&mut AgentSide)) {
        change(Arc::make_mut(&mut self.side));
        self.gate.engine = Arc::<AgentSide>::clone(&self.side);
    }

    /// Sets the front-end. Without one, no user can be asked.
    #[must_use]
    pub(crate) fn with_front(mut self, front: CoreEnd) -> Self {
        self.gate.front = front;
        self
    }

    /// Sets the model.
    #[must_use]
    pub(crate) fn with_model(mut self, model_handle: Arc<ModelHandle>) -> Self {
        self.change_side(|side| side.model = Some(model_handle));
        self
    }

    /// Sets the options of the agents that its calls start.
    #[must_use]
    pub(crate) fn with_agent_options(mut self, options: AgentOptions) -> Self {
        self.change_side(|side| side.options = Some(Arc::new(options)));
        self
    }

    /// Whether a hook calls a model.
    pub(crate) fn wants_model(&self) -> bool {
        self.gate.governance.hooks.wants_model()
    }

    /// Whether a call of this tool needs a model.
    pub(crate) fn model_need(&self, tool: &str) -> ModelNeed {
        let tool = self.gate.toolbox.find(tool);
        tool.map(|tool| tool.model_need(&self.gate.services())).unwrap_or_default()
    }

    /// Problems in the settings, for the user.
    pub fn warnings(&self) -> &[String] {
        &self.gate.governance.warnings
    }

    /// The permission mode in force.
    pub fn mode(&self) -> PermissionMode {
        self.gate.mode()
    }

    /// The definitions of tools for the model.
    pub fn tool_specs(&self, names: &[String]) -> Vec<ToolSpec> {
        let policy = self.gate.workspace.as_ref().map(|workspace| workspace.policy());
        let services = self.gate.services();
        let spec = |tool: &dyn Tool| ToolSpec {
            name: tool.name().to_owned(),
            description: format!("{}{}", tool.description(), tool.more_about(&services)),
            input_schema: match &policy {
                Some(policy) => with_metadata(tool.facts().kind, tool.input_schema(), policy),
                None => tool.input_schema(),
            },
        };
        let tools = names.iter().filter_map(|name| self.gate.toolbox.find(name));
        tools.map(|tool| spec(&*tool)).collect()
    }

    /// The hints of a tool; for an unknown tool, the most cautious ones.
    pub fn hints(&self, name: &str) -> ona_mcp::Hints {
        let tool = self.gate.toolbox.find(name);
        tool.map_or(ona_mcp::Hints::ANYTHING, |tool| tool.facts().hints)
    }

    /// Picks up changes of the settings, the workspace and the phase since the last call; for long-running callers without
    /// turns.
    pub async fn refresh(&mut self, cancel: &CancellationToken) -> Result<(), StoreError> {
        self.gate.find_workspace();
        self.gate.follow_approval()?;
        self.reload_settings(false, cancel).await.map(drop)
    }

    /// The token that an interrupt cancels.
    pub fn running(&self) -> CancellationToken {
        self.gate.front.running()
    }

    /// The seat in the record.
    pub fn seat(&self) -> &Seat {
        self.gate.seat()
    }
}

impl SessionRef<'_> {
    /// The same session, for concurrent calls.
    pub(crate) fn for_concurrent_use(self) -> Result<Session, StoreError> {
        let side = Arc::new(self.side.clone());
        Ok(Session { gate: self.gate.beside()?, side })
    }

    /// A new session of the same conversation, with the same rules and the same model.
    pub(crate) fn side_session(self) -> Result<Session, StoreError> {
        let own = self.gate.seat();
        let seat = self.gate.store().new_session(&NewSession {
            project_dir: &own.project_dir,
            conversation: Some(&own.conversation),
            id: None,
            origin: "subagent",
            name: None,
        })?;
        let terms = AgentTerms::at(self.gate.place().clone());
        let side = Arc::new(AgentSide {
            options: None,
            identity: None,
            starter: None,
            ..self.side.clone()
        });
        let mut gate = self.gate.for_agent(seat, terms, self.gate.front.another())?;
        gate.engine = Arc::<AgentSide>::clone(&side);
        Ok(Session { gate, side })
    }

    /// Where the session's instructions are.
    pub(crate) fn instruction_roots(self) -> instructions::Roots {
        let (config, place) = (&self.gate.record.core.config, self.gate.place());
        let excludes = self.gate.settings().claude_md_excludes.unwrap_or_default();
        instructions::Roots {
            cwd: place.cwd.clone(),
            project_root: Repository::of(&place.project_dir).checkout,
            home: config.home.clone(),
            claude_dir: config.claude_dir.clone(),
            managed_dirs: config.managed_dirs.clone(),
            additional_dirs: place.additional_dirs.clone(),
            read_additional: false,
            excludes,
        }
    }

    pub(crate) fn warn(self, text: impl Into<String>) {
        self.gate.front.warn(text);
    }
}

/// The project is the conversation's directory, and the working directory is where the shell was left: the project's
/// rules govern what runs in it, and not what runs elsewhere. If the project no longer exists, both are this directory.
fn place(seat: &Seat, here: &Path) -> Place {
    let project = Path::new(&seat.project_dir).canonicalize().ok().filter(|dir| dir.is_dir());
    let project_dir = project.clone().unwrap_or_else(|| here.to_owned());
    let cwd = match (&seat.cwd, project) {
        (Some(left_in), Some(_)) => PathBuf::from(left_in),
        (None, Some(project)) if !here.starts_with(&project) => project,
        _ => here.to_owned(),
    };
    Place { cwd, project_dir, additional_dirs: Vec::new(), home: None }
}
