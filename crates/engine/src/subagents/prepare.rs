//! Preparing a subagent: its session, rules, model and tools.

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use ona_front::Listener;
use ona_store::{AgentRun, NewAgent, Seat, StoreError};
use ona_tools::{AgentOrder, PREFIX};
use ona_types::hook::StartSource;
use ona_types::{PermissionMode, TaskId, ToolUseId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::SubagentError;
use super::work::Subagent;
use crate::agent::Agent;
use crate::agent_side::AgentSide;
use crate::background_agents::AgentLog;
use crate::identity::Identity;
use crate::isolation::Isolation;
use crate::model_handle::ModelHandle;
use crate::options::AgentOptions;
use crate::prompt::PromptOptions;
use crate::session::{Session, SessionRef};
use ona_extensions::{AgentDefinition, SkillDefinition, tools_for};
use ona_gate::governance::AgentTerms;

/// The request to start a subagent.
#[derive(Clone)]
pub(super) struct StartRequest<'a> {
    /// Its definition.
    pub(super) definition: &'a AgentDefinition,
    /// The caller's order.
    pub(super) order: &'a AgentOrder,
    /// The skill it runs, if any.
    pub(super) skill: Option<&'a SkillDefinition>,
    /// The call that starts it.
    pub(super) call: &'a ToolUseId,
    /// Its log, if it runs in the background.
    pub(super) log: Option<Arc<AgentLog>>,
    /// Cancelled when the user interrupts.
    pub(super) cancel: &'a CancellationToken,
}

/// Where a subagent starts.
struct StartPoint {
    seat: Seat,
    source: StartSource,
    /// The worktree of its earlier turn.
    kept: Option<String>,
    /// Whether that worktree no longer exists.
    lost: bool,
    /// A remark for the caller.
    remark: Option<String>,
}

impl SessionRef<'_> {
    /// Prepares a subagent.
    pub(super) async fn prepare_subagent(
        self,
        request: StartRequest<'_>,
    ) -> Result<Subagent, SubagentError> {
        let StartRequest { definition, order, skill, .. } = &request;
        let (Some(model_handle), Some(options)) = (&self.side.model, &self.side.options) else {
            return Err(SubagentError::NoModel);
        };
        let effort = skill.and_then(|skill| skill.effort).or(definition.effort);
        let model_handle = self.model_for(model_handle, definition, order)?.with_effort(effort);
        let start = self.start_point(&request)?;
        let id = start.seat.session.clone();
        // A whole session is made in it.
        let built = Box::pin(self.build(request, start, model_handle, options)).await;
        if built.is_err() {
            // It did not start.
            self.gate.store().agent_ended(&id, Some("failed"))?;
        }
        built
    }

    /// The session of a new agent, or of the named agent that waits for another prompt.
    fn start_point(self, request: &StartRequest<'_>) -> Result<StartPoint, SubagentError> {
        let StartRequest { definition, order, call, .. } = request;
        let (store, own) = (self.gate.store(), self.gate.seat());
        let named = order.name.as_deref().unwrap_or_default();
        let known = match &order.name {
            Some(name) => store.agent_named(&own.session, name)?,
            None => None,
        };
        let is_other = |run: &AgentRun| run.agent_type != definition.name;
        let mut remark = known.as_ref().filter(|run| is_other(run)).map(|run| {
            format!(
                "The earlier agent {named} is of the type {}. This is a new agent without its context",
                run.agent_type
            )
        });
        let known = known.filter(|run| !is_other(run));
        let (kept, lost) = match known.as_ref().and_then(|run| run.worktree.clone()) {
            Some(dir) if !Path::new(&dir).is_dir() => {
                remark =
                    Some(format!("Its worktree {dir} no longer exists; it continued in a new one"));
                (None, true)
            }
            before => (before, false),
        };
        let (seat, source) = match &known {
            Some(run) if run.ending.is_none() => {
                return Err(SubagentError::AtWork(named.to_owned()));
            }
            Some(run) => {
                let (seat, _) = store.seat_of(&run.session)?.ok_or(SubagentError::SessionGone)?;
                store.agent_ended(&seat.session, None)?;
                (seat, StartSource::Resume)
            }
            None => {
                let seat = store.new_agent(&NewAgent {
                    parent: own,
                    call,
                    agent_type: &definition.name,
                    name: order.name.as_deref(),
                    worktree: None,
                })?;
                (seat, StartSource::Startup)
            }
        };
        Ok(StartPoint { seat, source, kept, lost, remark })
    }

    /// Builds the agent in its session.
    async fn build(
        self,
        request: StartRequest<'_>,
        start: StartPoint,
        model_handle: ModelHandle,
        options: &AgentOptions,
    ) -> Result<Subagent, SubagentError> {
        let StartRequest { definition, order, skill, call, cancel, .. } = request;
        let (source, remark) = (start.source, start.remark.clone());
        let identity = Identity {
            id: start.seat.session.clone(),
            agent_type: definition.name.clone(),
            name: order.name.clone(),
            task: TaskId::of_call(call),
        };
        let isolation = self.isolation(&request, &start).await?;
        let mut session =
            self.subagent_session(&request, start.seat, isolation.as_ref(), &identity)?;
        if let Some(skill) = skill {
            session.apply_skill(skill);
        }
        session.gate.use_servers(definition).await?;
        // Its memory is in the caller's project, whatever worktree it works in.
        let known =
            [self.memory_prompt(definition), self.preloaded_skills(definition, cancel).await?];
        let known: Vec<String> = known.into_iter().flatten().collect();
        let append = (!known.is_empty()).then(|| known.join("\n\n"));
        let options = AgentOptions {
            prompt: PromptOptions { replace: Some(definition.prompt.clone()), append },
            tools: Some(self.tools_of(definition, &session)),
            shape: None,
            source: Some(source),
            setup: None,
            initial: None,
            max_turns: definition.max_turns.map(NonZeroU32::get).or(options.max_turns),
            partial: options.partial,
            read_additional: false,
            waits_for_agents: true,
            ..options.clone()
        };
        let agent = Box::new(Agent::start(session, Arc::new(model_handle), options).await?);
        Ok(Subagent { agent, prompt: order.prompt.clone(), isolation, identity, remark })
    }

    /// The worktree of the agent, if it needs one.
    async fn isolation(
        self,
        request: &StartRequest<'_>,
        start: &StartPoint,
    ) -> Result<Option<Isolation>, SubagentError> {
        let StartRequest { definition, order, cancel, .. } = request;
        let StartPoint { seat, kept, lost, .. } = start;
        match kept {
            Some(path) => {
                Ok(Some(Isolation::existing(path.into(), &self.gate.place().project_dir)))
            }
            None if order.worktree || definition.isolated || *lost => {
                let made = self.isolate(&seat.session, cancel).await;
                let hint = if *lost { "; use another name" } else { "" };
                let made = made.map_err(|cause| SubagentError::Worktree { cause, hint })?;
                let path = made.path.to_string_lossy();
                self.gate.store().agent_worktree(&seat.session, &path)?;
                Ok(Some(made))
            }
            None => Ok(None),
        }
    }

    /// The model of an agent: the operator's, else the order's, else the definition's, else the caller's.
    fn model_for(
        self,
        model_handle: &ModelHandle,
        definition: &AgentDefinition,
        order: &AgentOrder,
    ) -> Result<ModelHandle, SubagentError> {
        let options = self.side.options.as_ref();
        let fixed = options.and_then(|options| options.subagent_model.clone());
        let wanted = fixed.or_else(|| order.model.clone()).or_else(|| definition.model.clone());
        let wanted = wanted.filter(|name| name != "inherit");
        let model_handle = match wanted {
            Some(name) => match model_handle.for_model(&name) {
                Ok(model_handle) => model_handle,
                // The provider may not have the model that a definition names.
                Err(_) if order.model.is_none() && definition.model.as_ref() == Some(&name) => {
                    model_handle.clone()
                }
                Err(why) => return Err(SubagentError::Model(why)),
            },
            None => model_handle.clone(),
        };
        // Its usage is reported at its own end, within the same budget.
        Ok(ModelHandle { side_usage: Arc::default(), ..model_handle })
    }

    /// The session of a subagent. It never has more rights than its caller.
    fn subagent_session(
        self,
        request: &StartRequest<'_>,
        seat: Seat,
        isolation: Option<&Isolation>,
        identity: &Identity,
    ) -> Result<Session, SubagentError> {
        let StartRequest { definition, order, call, log, .. } = request;
        let own = self.gate.place();
        let mut place = own.clone();
        if let Some(isolation) = isolation {
            // The same directory as the caller's, within the worktree.
            let there = |dir: &Path| isolation.place_of(dir).map_err(SubagentError::NoPlace);
            let cwd = Some(&own.cwd).filter(|cwd| cwd.starts_with(&own.project_dir));
            let cwd = there(cwd.unwrap_or(&own.project_dir))?;
            (place.cwd, place.project_dir) = (cwd, there(&own.project_dir)?);
        }
        let asked = order.mode.as_deref().and_then(|mode| mode.parse().ok());
        let modes: Vec<PermissionMode> =
            asked.into_iter().chain(definition.permission_mode).collect();
        let terms = AgentTerms {
            place,
            modes,
            hooks: own_hooks(definition),
            worktree: isolation.map(|isolation| isolation.path.as_path()),
        };
        let listener =
            log.clone().map(|log| -> Listener { Arc::new(move |event| log.log_event(event)) });
        let mut gate =
            self.gate.for_agent(seat, terms, self.gate.front.for_agent(call, listener))?;
        let side = Arc::new(AgentSide {
            identity: Some(identity.clone()),
            options: None,
            for_user: None,
            ..self.side.clone()
        });
        gate.engine = Arc::<AgentSide>::clone(&side);
        if let (Some(isolation), Some(workspace)) = (isolation, &self.gate.workspace) {
            let cause = isolation.copy_intents(workspace, self.gate.store());
            cause.map_err(|cause| SubagentError::Worktree { cause, hint: "" })?;
        }
        gate.find_workspace();
        let session = Session { gate, side };
        self.inherit_intent(&session)?;
        Ok(session)
    }

    /// A subagent works for its caller's intent until it selects another.
    fn inherit_intent(self, subagent: &Session) -> Result<(), StoreError> {
        let (Some(own), Some(theirs)) = (&self.gate.workspace, &subagent.gate.workspace) else {
            return Ok(());
        };
        let Some(intent) = self.gate.selected_intent(own)? else { return Ok(()) };
        let root = theirs.root().to_string_lossy();
        let session = Some(&subagent.seat().session);
        self.gate.store().select_intent(&root, session, Some(&intent), "agent")?;
        Ok(())
    }

    /// The tools of a subagent: those of this session, and those of its own servers.
    fn tools_of(self, definition: &AgentDefinition, theirs: &Session) -> Vec<String> {
        let (toolbox, permissions) = (&self.gate.toolbox, &self.gate.governance.permissions);
        let mine = self.gate.offered();
        let has = |tool: &String| match toolbox.find(tool) {
            Some(_) => mine.contains(tool),
            None => !permissions.denies_tool(tool, Default::default()),
        };
        let built_in = mine.iter().filter(|tool| !tool.starts_with(PREFIX)).cloned();
        let of_servers = theirs.gate.toolbox.server_names().into_iter().filter(has);
        let all: Vec<String> = built_in.chain(of_servers).collect();
        let mut tools = tools_for(definition, &all);
        // Only the main agent makes plans.
        tools.retain(|name| toolbox.find(name).is_none_or(|tool| !tool.facts().main_agent_only));
        tools
    }
}

/// The hooks of an agent type. Its Stop hooks run at SubagentStop.
fn own_hooks(definition: &AgentDefinition) -> Option<Value> {
    let mut hooks = definition.hooks.clone()?;
    if let Some(events) = hooks.as_object_mut()
        && let Some(Value::Array(mut stop)) = events.remove("Stop")
    {
        if let Some(Value::Array(own)) = events.get("SubagentStop") {
            stop.extend(own.iter().cloned());
        }
        events.insert("SubagentStop".to_owned(), Value::Array(stop));
    }
    Some(hooks)
}
