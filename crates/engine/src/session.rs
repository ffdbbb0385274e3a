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
use crate::seats::new_seat;
use ona_config::instructions;
use ona_front::CoreEnd;
use ona_gate::core::Core;
use ona_gate::governance::{AgentTerms, Governance, GovernanceError, Remember, Untrusted};
use ona_gate::intents::metadata::with_metadata;
use ona_gate::settle::settle;
use ona_gate::{Gate, Record};

/// What every session of this process shares.
#[derive(Clone, Debug)]
pub struct Engine {
    /// The record, the settings and the means.
    pub core: Arc<Core>,
    /// Agents that work in the background.
    pub background: Arc<BackgroundAgents>,
}

impl Engine {
    /// An engine without agents at work.
    pub fn new(core: Core) -> Self {
        Self { core: Arc::new(core), background: Arc::default() }
    }
}

/// A place in a conversation, ready for calls.
#[derive(Debug)]
pub struct Session {
    /// What its calls are judged by.
    pub gate: Gate,
    /// The model, the extensions and the agents behind the gate.
    pub(crate) side: Arc<AgentSide>,
}

/// A session as its calls see it.
#[derive(Clone, Copy)]
pub(crate) struct SessionRef<'a> {
    pub(crate) gate: &'a Gate,
    pub(crate) side: &'a AgentSide,
}

impl Session {
    /// A session to ask about what would happen in it: the one that
    /// [`Which::Join`](crate::Which::Join) would find, or one that there is no record of. Nothing is written, settled or ended.
    pub fn look(
        engine: &Engine,
        cwd: &Path,
        conversation: Option<&ConversationId>,
    ) -> Result<Self, GovernanceError> {
        let join = Join { project_dir: &cwd.to_string_lossy(), conversation };
        let seat = engine.core.store.seat(&join)?.unwrap_or_else(|| {
            let new = new_seat(None, cwd);
            Seat { conversation: conversation.cloned().unwrap_or(new.conversation), ..new }
        });
        Self::seated(engine, seat, cwd, Remember::Nothing)
    }

    /// The same for a session that would be new.
    pub fn look_new(engine: &Engine, cwd: &Path) -> Result<Self, GovernanceError> {
        Self::seated(engine, new_seat(None, cwd), cwd, Remember::Nothing)
    }

    /// Opens a session whose seat is known.
    pub(crate) fn open(engine: &Engine, seat: Seat, cwd: &Path) -> Result<Self, GovernanceError> {
        settle(&engine.core.store, &seat)?;
        Self::seated(engine, seat, cwd, Remember::Settings)
    }

    fn seated(
        engine: &Engine,
        seat: Seat,
        cwd: &Path,
        remember: Remember,
    ) -> Result<Self, GovernanceError> {
        let mut place = place(&seat, cwd);
        let lost = masks(&place.cwd.to_string_lossy()).next().is_some() && !place.cwd.is_dir();
        let left_in = lost.then(|| std::mem::replace(&mut place.cwd, place.project_dir.clone()));
        let goes_on_in = place.cwd.clone();
        let core = &engine.core;
        let mut governance = Governance::load(core, &seat, place, remember, Untrusted::Stops)?;
        governance.warnings.extend(left_in.map(|dir| {
            format!(
                "the session was left in {}, a name that is not kept because it holds a secret: it goes on \
                 in {}",
                dir.display(),
                goes_on_in.display()
            )
        }));
        let record = Record { core: Arc::clone(core), seat };
        let side = Arc::new(AgentSide::new(Arc::clone(&engine.background)));
        let gate = Gate::new(record, governance, Arc::<AgentSide>::clone(&side));
        Ok(Self { gate, side })
    }

    /// The session as its calls see it.
    pub(crate) fn view(&self) -> SessionRef<'_> {
        SessionRef { gate: &self.gate, side: &self.side }
    }

    /// Changes the agent's side.
    pub(crate) fn change_side(&mut self, change: impl FnOnce(&mut AgentSide)) {
        change(Arc::make_mut(&mut self.side));
        self.gate.engine = Arc::<AgentSide>::clone(&self.side);
    }

    /// The session with somebody in front of it; without, there is nobody to ask.
    #[must_use]
    pub(crate) fn facing(mut self, front: CoreEnd) -> Self {
        self.gate.front = front;
        self
    }

    /// The session with a model that its hooks may ask.
    #[must_use]
    pub(crate) fn judged_by(mut self, model_handle: Arc<ModelHandle>) -> Self {
        self.change_side(|side| side.model = Some(model_handle));
        self
    }

    /// The session for agents that its calls start.
    #[must_use]
    pub(crate) fn working(mut self, options: AgentOptions) -> Self {
        self.change_side(|side| side.options = Some(Arc::new(options)));
        self
    }

    /// Whether some hook would ask a model.
    pub(crate) fn wants_model(&self) -> bool {
        self.gate.governance.hooks.wants_model()
    }

    /// Whether a call of this tool would ask a model.
    pub(crate) fn model_need(&self, tool: &str) -> ModelNeed {
        let tool = self.gate.toolbox.find(tool);
        tool.map(|tool| tool.model_need(&self.gate.services())).unwrap_or_default()
    }

    /// What is wrong with settings, for the user.
    pub fn warnings(&self) -> &[String] {
        &self.gate.governance.warnings
    }

    /// The permission mode in force.
    pub fn mode(&self) -> PermissionMode {
        self.gate.mode()
    }

    /// Tools as a model is told of them.
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

    /// What a tool may do; of one that is not there, anything.
    pub fn hints(&self, name: &str) -> ona_mcp::Hints {
        let tool = self.gate.toolbox.find(name);
        tool.map_or(ona_mcp::Hints::ANYTHING, |tool| tool.facts().hints)
    }

    /// Takes notice of settings, of a workspace and of the phase that have changed since the last call; for who makes
    /// calls over a long time and has no turns.
    pub async fn look_again(&mut self, cancel: &CancellationToken) -> Result<(), StoreError> {
        self.gate.find_workspace();
        self.gate.follow_approval()?;
        self.heed_settings(false, cancel).await.map(drop)
    }

    /// What an interrupt would end.
    pub fn running(&self) -> CancellationToken {
        self.gate.front.running()
    }

    /// Where the session stands in the record.
    pub fn seat(&self) -> &Seat {
        self.gate.seat()
    }
}

impl SessionRef<'_> {
    /// The same session, for somebody who works beside this one.
    pub(crate) fn beside(self) -> Result<Session, StoreError> {
        let side = Arc::new(self.side.clone());
        Ok(Session { gate: self.gate.beside()?, side })
    }

    /// A session of the same conversation, with the same terms and the same model behind it.
    pub(crate) fn aside(self) -> Result<Session, StoreError> {
        let own = self.gate.seat();
        let seat = self.gate.store().new_session(&NewSession {
            project_dir: &own.project_dir,
            conversation: Some(&own.conversation),
            id: None,
            origin: "subagent",
            name: None,
        })?;
        let terms = AgentTerms::at(self.gate.place().clone());
        let side = Arc::new(AgentSide { options: None, identity: None, ..self.side.clone() });
        let mut gate = self.gate.for_agent(seat, terms, self.gate.front.another())?;
        gate.engine = Arc::<AgentSide>::clone(&side);
        Ok(Session { gate, side })
    }

    /// Where instructions are for this session.
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

/// The conversation's own directory is the project, where it still exists; the shell goes on where it
/// was left.
fn place(seat: &Seat, here: &Path) -> Place {
    let project = Path::new(&seat.project_dir);
    let project = project.canonicalize().ok().filter(|dir| dir.is_dir());
    let project_dir = project.unwrap_or_else(|| here.to_owned());
    let cwd = seat.cwd.as_ref().map_or_else(|| here.to_owned(), PathBuf::from);
    Place { cwd, project_dir, additional_dirs: Vec::new() }
}
