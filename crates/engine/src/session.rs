//! Joining a conversation.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ona_front::DeniedCall;
use ona_hooks::{HOOK_RUN, runs_of};
use ona_intents::Workspace;
use ona_policy::secrets::masks;
use ona_provider::ToolSpec;
use ona_repo::Repository;
use ona_sandbox::{Liveness, Owner};
use ona_store::{Join, NewSession, Seat, Store, StoreError};
use ona_tools::{Host, Place, StructuredOutput, Tool, ToolSettings};
use ona_types::{ConversationId, PermissionMode, SessionId};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::agent::{AgentOptions, Mind};
use crate::crew::Crew;
use crate::extensions::{AgentDefinition, Extensions};
use crate::governance::{Config, Governance, GovernanceError, Remember};
use crate::instructions;
use crate::intents::{self, SELECT_ACTIVE_INTENT, SelectActiveIntent, with_metadata};
use crate::mcp::{Connected, FOR_SERVERS, SERVER_RUN};
use crate::servers::{PluginServers, Servers};
use crate::subagents::Identity;
use ona_front::{CoreEnd, Human, channel};

/// What every session of this process shares.
#[derive(Debug)]
pub struct Engine {
    /// The record.
    pub store: Store,
    /// What the operator adjusted.
    pub settings: ToolSettings,
    /// What the process provides.
    pub host: Host,
    /// How settings are found.
    pub config: Config,
    /// Agents that work in the background.
    pub crew: Crew,
}

/// Which session to join.
#[derive(Clone, Debug)]
pub struct JoinRequest {
    /// The directory the operator stands in, without symlinks.
    pub cwd: PathBuf,
    /// The conversation, if the operator named one.
    pub conversation: Option<ConversationId>,
}

/// A seat in a conversation, ready for calls.
#[derive(Debug)]
pub struct Session {
    pub(crate) engine: Arc<Engine>,
    pub(crate) front: CoreEnd,
    pub(crate) seat: Seat,
    pub(crate) place: Place,
    pub(crate) governance: Governance,
    /// Who judges for hooks that ask a model.
    pub(crate) mind: Option<Arc<Mind>>,
    /// The tools that are offered, where not all are.
    pub(crate) tools: Option<Vec<String>>,
    /// Takes answers of a shape that was asked for.
    pub(crate) answers: Option<Arc<StructuredOutput>>,
    /// The workspace whose intents the work is for, where the project has any.
    pub(crate) workspace: Option<Arc<Workspace>>,
    /// Its MCP servers.
    pub(crate) mcp: Option<Connected>,
    /// Agents, skills, commands and plugins.
    pub(crate) extended: Arc<Mutex<Extensions>>,
    /// Calls beside the turn's own that were not let through: of agents, and of skills' commands.
    pub(crate) refused: Arc<Mutex<Vec<DeniedCall>>>,
    /// The mode the session was in before planning.
    pub(crate) mode_before: Option<PermissionMode>,
    /// Who works here, where a call started it.
    pub(crate) agent: Option<Identity>,
    /// The kind of agent that the main one is to be, where it is one of those that files describe.
    pub(crate) role: Option<Arc<AgentDefinition>>,
    /// How the agent here is to work, for agents that it starts.
    pub(crate) work: Option<Arc<AgentOptions>>,
    /// Only one call at a time is judged, run and recorded, however many agents are waited for.
    pub(crate) door: Arc<Semaphore>,
}

/// A tool of a session.
pub(crate) enum SessionTool {
    /// One that every session has.
    BuiltIn(&'static dyn Tool),
    /// One that takes answers, or selects intents.
    Own(Arc<dyn Tool>),
}

impl std::ops::Deref for SessionTool {
    type Target = dyn Tool;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::BuiltIn(tool) => *tool,
            Self::Own(tool) => tool.as_ref(),
        }
    }
}

impl Session {
    /// Joins the named conversation, else the latest of the directory, else makes one; calls that a
    /// dead process left open there are settled first.
    pub fn join(engine: &Arc<Engine>, request: &JoinRequest) -> Result<Self, GovernanceError> {
        let here = request.cwd.to_string_lossy();
        let seat = engine
            .store
            .join(&Join { project_dir: &here, conversation: request.conversation.as_ref() })?;
        // Whoever drives a session alone says what happens in it.
        let seat = match engine.store.driver(&seat.session, is_gone)? {
            Some(driver) if driver != serde_json::json!(Owner::current()) => {
                engine.store.new_session(&NewSession {
                    project_dir: &seat.project_dir,
                    conversation: Some(&seat.conversation),
                    id: None,
                    origin: "eval",
                    name: None,
                })?
            }
            _ => seat,
        };
        Self::open(engine, seat, &request.cwd)
    }

    /// A session to ask about what would happen in it: the one that [`Session::join`] would find, or one that
    /// there is no record of. Nothing is written, settled or ended.
    pub fn look(engine: &Arc<Engine>, request: &JoinRequest) -> Result<Self, GovernanceError> {
        let here = request.cwd.to_string_lossy();
        let join = Join { project_dir: &here, conversation: request.conversation.as_ref() };
        let seat = engine.store.seat(&join)?.unwrap_or_else(|| Seat {
            conversation: request.conversation.clone().unwrap_or_else(ConversationId::generate),
            session: SessionId::generate(),
            project_dir: here.into_owned(),
            cwd: None,
        });
        Self::seated(engine, seat, &request.cwd, Remember::Nothing)
    }

    /// The same for a session that would be new.
    pub fn look_new(engine: &Arc<Engine>, cwd: &Path) -> Result<Self, GovernanceError> {
        let seat = Seat {
            conversation: ConversationId::generate(),
            session: SessionId::generate(),
            project_dir: cwd.to_string_lossy().into_owned(),
            cwd: None,
        };
        Self::seated(engine, seat, cwd, Remember::Nothing)
    }

    /// Opens a session whose seat is known.
    pub fn open(engine: &Arc<Engine>, seat: Seat, cwd: &Path) -> Result<Self, GovernanceError> {
        settle(engine, &seat)?;
        settle_agents(engine, &seat)?;
        // So are sessions that somebody drove who was killed, and the hooks and servers that ran for them.
        for (session, owner) in engine.store.take_back(is_gone)? {
            if let Ok(owner) = serde_json::from_value::<Owner>(owner) {
                for mark in [HOOK_RUN, SERVER_RUN] {
                    ona_sandbox::kill_marked(mark, &runs_of(&session, owner.pid));
                }
            }
            if let Some((left, _)) = engine.store.seat_of(&session)? {
                settle(engine, &left)?;
            }
        }
        Self::seated(engine, seat, cwd, Remember::Settings)
    }

    fn seated(
        engine: &Arc<Engine>,
        seat: Seat,
        cwd: &Path,
        remember: Remember,
    ) -> Result<Self, GovernanceError> {
        let mut place = place(&seat, cwd);
        let lost = masks(&place.cwd.to_string_lossy()).next().is_some() && !place.cwd.is_dir();
        let left_in = lost.then(|| std::mem::replace(&mut place.cwd, place.project_dir.clone()));
        let mut governance = Governance::load(engine, &seat, &mut place, remember)?;
        governance.warnings.extend(left_in.map(|dir| {
            format!(
                "the session was left in {}, a name that is not kept because it holds a secret: it goes on \
                 in {}",
                dir.display(),
                place.cwd.display()
            )
        }));
        let (front, ..) = channel(Human::Nobody);
        let mut session = Self {
            engine: Arc::clone(engine),
            front,
            seat,
            place,
            governance,
            mind: None,
            tools: None,
            answers: None,
            workspace: None,
            mcp: None,
            extended: Arc::default(),
            refused: Arc::default(),
            mode_before: None,
            agent: None,
            role: None,
            work: None,
            door: Arc::new(Semaphore::new(1)),
        };
        session.find_workspace();
        Ok(session)
    }

    /// Another session with the same model behind it.
    pub(crate) fn another(
        &self,
        seat: Seat,
        place: Place,
        governance: Governance,
        front: CoreEnd,
    ) -> Self {
        Self {
            engine: Arc::clone(&self.engine),
            front,
            seat,
            place,
            governance,
            mind: self.mind.clone(),
            tools: None,
            answers: None,
            workspace: None,
            mcp: self.mcp.clone(),
            extended: Arc::clone(&self.extended),
            refused: Arc::clone(&self.refused),
            mode_before: None,
            agent: None,
            role: None,
            work: None,
            door: Arc::new(Semaphore::new(1)),
        }
    }

    /// The same session, for somebody who works beside this one.
    pub(crate) fn beside(&self) -> Result<Self, StoreError> {
        let mut place = self.place.clone();
        let seats = (&self.seat, &self.seat);
        let governance =
            self.governance.for_agent(&self.engine, seats, &mut place, &[], None, None)?;
        let same = self.another(self.seat.clone(), place, governance, self.front.another());
        Ok(Self {
            tools: self.tools.clone(),
            answers: self.answers.clone(),
            workspace: self.workspace.clone(),
            mode_before: self.mode_before,
            agent: self.agent.clone(),
            role: self.role.clone(),
            work: self.work.clone(),
            door: Arc::clone(&self.door),
            ..same
        })
    }

    /// Takes over what was allowed for good in a session beside this one.
    pub(crate) fn take_rules(&mut self) -> Result<(), StoreError> {
        let mut place = self.place.clone();
        let engine = Arc::clone(&self.engine);
        self.governance.take_session_rules(&engine, &self.seat, &mut place)?;
        self.place = place;
        Ok(())
    }

    /// Holds the rules against what is there now.
    pub(crate) fn hold_rules_anew(&mut self) {
        let engine = Arc::clone(&self.engine);
        self.governance.rebuild(&engine, &mut self.place);
    }

    /// Calls were not let through beside the turn's own.
    pub(crate) fn refused_aside(&self, calls: impl IntoIterator<Item = DeniedCall>) {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).extend(calls);
    }

    /// Those of which nobody was told yet.
    pub(crate) fn take_refused(&self) -> Vec<DeniedCall> {
        std::mem::take(&mut *self.refused.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for something while others may pass the gate.
    pub(crate) async fn outside<T>(&self, waiting: impl Future<Output = T>) -> T {
        self.door.add_permits(1);
        let done = waiting.await;
        self.enter().await;
        done
    }

    /// Waits for its turn at the gate.
    pub(crate) async fn enter(&self) {
        // It is never closed.
        if let Ok(permit) = self.door.acquire().await {
            permit.forget();
        }
    }

    /// Leaves the gate to the next.
    pub(crate) fn leave(&self) {
        self.door.add_permits(1);
    }

    /// The session with somebody in front of it; without, there is nobody to ask.
    #[must_use]
    pub fn facing(self, front: CoreEnd) -> Self {
        Self { front, ..self }
    }

    /// The session as it would be in this mode, if it is one that may be chosen.
    #[must_use]
    pub(crate) fn in_mode(mut self, mode: Option<PermissionMode>) -> Self {
        if let Some(mode) = mode.filter(|mode| self.governance.may_use(*mode)) {
            self.governance.use_mode(mode, &mut self.place);
        }
        self
    }

    /// The session with a model that its hooks may ask.
    #[must_use]
    pub fn judged_by(self, mind: Arc<Mind>) -> Self {
        Self { mind: Some(mind), ..self }
    }

    /// The session for agents that its calls start.
    #[must_use]
    pub fn working(self, options: AgentOptions) -> Self {
        Self { work: Some(Arc::new(options)), ..self }
    }

    /// Whether some hook would ask a model.
    pub fn wants_model(&self) -> bool {
        self.governance.hooks.wants_model()
    }

    /// What is wrong with settings, for the user.
    pub fn warnings(&self) -> &[String] {
        &self.governance.warnings
    }

    /// The settings in force, merged.
    pub fn settings(&self) -> Value {
        self.governance.settings()
    }

    /// The MCP servers there are, as the settings and files say at this moment; nothing is started.
    pub fn servers(&self, plugins: &[PluginServers]) -> Result<Servers, StoreError> {
        self.governance.servers(&self.engine, plugins)
    }

    /// The permission mode in force.
    pub fn mode(&self) -> PermissionMode {
        self.governance.permissions.mode()
    }

    /// Where instructions are for this session.
    pub fn instruction_roots(&self, config: &Config) -> instructions::Roots {
        let excludes = &self.settings()["claudeMdExcludes"];
        let excludes = excludes.as_array().into_iter().flatten();
        let excludes = excludes.filter_map(|glob| glob.as_str().map(str::to_owned)).collect();
        let project_root = Repository::of(&self.place.project_dir).checkout;
        instructions::Roots {
            cwd: self.place.cwd.clone(),
            project_root,
            home: config.home.clone(),
            claude_dir: config.claude_dir.clone(),
            managed_dirs: config.managed_dirs.clone(),
            additional_dirs: self.place.additional_dirs.clone(),
            read_additional: false,
            excludes,
        }
    }

    /// Reads the settings anew, except these files, which count as they were. Gives what is wrong with them.
    pub(crate) fn read_settings_again(
        &mut self,
        except: &[PathBuf],
    ) -> Result<Vec<String>, GovernanceError> {
        let mut place = self.place.clone();
        let engine = Arc::clone(&self.engine);
        let new = self.governance.again(&engine, &self.seat, &mut place, except)?;
        (self.governance, self.place) = (new, place);
        Ok(self.governance.warnings.clone())
    }

    /// Whether a rule takes a tool away altogether.
    pub fn denies_tool(&self, name: &str) -> bool {
        self.governance.permissions.denies_tool(name)
    }

    /// The tool that takes answers, if this session has one.
    fn answering(&self) -> Option<SessionTool> {
        self.answers.clone().map(|tool| SessionTool::Own(tool))
    }

    /// The tool that selects intents, where there are any.
    pub(crate) fn selecting(&self) -> Option<SessionTool> {
        let workspace = Arc::clone(self.workspace.as_ref()?);
        Some(SessionTool::Own(Arc::new(SelectActiveIntent { workspace })))
    }

    /// The tool of this name; names are case-sensitive.
    pub(crate) fn tool(&self, name: &str) -> Option<SessionTool> {
        let name = if name == intents::ALIAS { SELECT_ACTIVE_INTENT } else { name };
        let own = self.answering().into_iter().chain(self.selecting());
        let built_in = ona_tools::find(name).map(SessionTool::BuiltIn);
        let servers = || self.server_tool(name).map(SessionTool::Own);
        built_in.or_else(|| own.into_iter().find(|tool| tool.name() == name)).or_else(servers)
    }

    /// The tools that may be called: what is offered, without what a rule forbids altogether.
    pub fn offered(&self) -> Vec<String> {
        let names = self.tool_names().into_iter();
        let offered = |name: &String| {
            self.has(name)
                && !self.denies_tool(name)
                && (name != "Skill" || !self.engine.config.skills_off)
                && (self.mcp.is_some() || !FOR_SERVERS.contains(&name.as_str()))
        };
        names.filter(offered).collect()
    }

    /// Whether a tool is among those that the operator, and the role, leave to whoever works here. What takes answers
    /// and selects intents is no tool that a file could leave out.
    pub(crate) fn has(&self, name: &str) -> bool {
        let is_own = || {
            let mut own = self.selecting().into_iter().chain(self.answering());
            own.any(|tool| tool.name() == name)
        };
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|tool| tool == name))
            && self.role.as_ref().is_none_or(|kind| kind.has(name) || is_own())
    }

    /// The names of all its tools.
    pub(crate) fn tool_names(&self) -> Vec<String> {
        let built_in = ona_tools::TOOLS.iter().map(|tool| tool.name().to_owned());
        let own = self.selecting().into_iter().chain(self.answering());
        let own = own.map(|tool| tool.name().to_owned());
        built_in.chain(own).chain(self.server_tools()).collect()
    }

    /// Tools as a model is told of them.
    pub fn tool_specs(&self, names: &[String]) -> Vec<ToolSpec> {
        let policy = self.workspace.as_ref().map(|workspace| workspace.policy());
        let spec = |tool: SessionTool| ToolSpec {
            name: tool.name().to_owned(),
            description: self.describe(&*tool),
            input_schema: match &policy {
                Some(policy) => with_metadata(tool.name(), tool.input_schema(), policy),
                None => tool.input_schema(),
            },
        };
        names.iter().filter_map(|name| self.tool(name)).map(spec).collect()
    }

    /// What a tool may do; of one that is not there, anything.
    pub fn hints(&self, name: &str) -> ona_mcp::Hints {
        self.tool(name).map_or(ona_mcp::Hints::ANYTHING, |tool| tool.hints())
    }

    /// Takes notice of settings, of a workspace and of the phase that have changed since the last call; for who makes
    /// calls over a long time and has no turns.
    pub async fn look_again(&mut self, cancel: &CancellationToken) -> Result<(), StoreError> {
        self.find_workspace();
        self.heed_approval()?;
        self.heed_settings(false, cancel).await.map(drop)
    }

    /// What an interrupt would end.
    pub fn running(&self) -> CancellationToken {
        self.front.running()
    }

    /// Where the session stands in the record.
    pub fn seat(&self) -> &Seat {
        &self.seat
    }
}

/// Gives calls that a dead process has left their result; what they left running is nobody's any more.
fn settle(engine: &Engine, seat: &Seat) -> Result<(), StoreError> {
    for call in engine.store.settle_interrupted(seat, is_gone)? {
        ona_sandbox::kill_tree(None, Some(&ona_tools::marker(&call.id)));
    }
    for task in engine.store.settle_tasks(&seat.session, is_gone)? {
        ona_sandbox::kill_tree(None, Some(&ona_tools::task_marker(&task.id)));
    }
    Ok(())
}

/// Ends agents that a dead process has left at work, and what they left running.
fn settle_agents(engine: &Arc<Engine>, seat: &Seat) -> Result<(), StoreError> {
    for run in engine.store.unfinished_agents(&seat.session)? {
        if engine.store.driver(&run.session, is_gone)?.is_some() {
            continue;
        }
        if let Some((agent, _)) = engine.store.seat_of(&run.session)? {
            settle(engine, &agent)?;
            engine.store.hand_over_tasks(&agent.session, &seat.session)?;
        }
        engine.store.agent_ended(&run.session, Some("interrupted"))?;
    }
    Ok(())
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

/// Whether the process that started a call is certainly no more.
pub fn is_gone(owner: &Value) -> bool {
    liveness(owner) == Liveness::Gone
}

/// Whether the owner that the record names still lives. One that cannot be read is nobody we could
/// wait for.
pub(crate) fn liveness(owner: &Value) -> Liveness {
    serde_json::from_value::<Owner>(owner.clone()).map_or(Liveness::Gone, |owner| owner.liveness())
}
