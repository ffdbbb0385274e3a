//! Making an agent ready: its session, its rules, its model and its tools.

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
use super::work::Helper;
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

/// An agent that is to be started.
#[derive(Clone)]
pub(super) struct Starting<'a> {
    /// What kind of agent it is.
    pub(super) definition: &'a AgentDefinition,
    /// What it is wanted for.
    pub(super) order: &'a AgentOrder,
    /// The skill that it runs, where it runs one.
    pub(super) skill: Option<&'a SkillDefinition>,
    /// The call that wants it.
    pub(super) call: &'a ToolUseId,
    /// Where its output goes, where it works in the background.
    pub(super) log: Option<Arc<AgentLog>>,
    /// Cancelled when the user interrupts.
    pub(super) cancel: &'a CancellationToken,
}

/// Where it begins.
struct Beginning {
    seat: Seat,
    source: StartSource,
    /// The worktree it has worked in before.
    kept: Option<String>,
    /// Whether it had one, which is gone.
    lost: bool,
    /// What its caller may not expect of it.
    remark: Option<String>,
}

impl SessionRef<'_> {
    /// Makes an agent ready.
    pub(super) async fn helper(self, starting: Starting<'_>) -> Result<Helper, SubagentError> {
        let Starting { definition, order, skill, .. } = &starting;
        let (Some(model_handle), Some(options)) = (&self.side.model, &self.side.options) else {
            return Err(SubagentError::NoModel);
        };
        let effort = skill.and_then(|skill| skill.effort).or(definition.effort);
        let model_handle = self.model_for(model_handle, definition, order)?.trying(effort);
        let beginning = self.beginning(&starting)?;
        let id = beginning.seat.session.clone();
        let ready = self.ready(starting, beginning, model_handle, options).await;
        if ready.is_err() {
            // It has not begun, and is not at work.
            self.gate.store().agent_ended(&id, Some("failed"))?;
        }
        ready
    }

    /// The session of a new agent, or of one with this name that waits to be told something more.
    fn beginning(self, starting: &Starting<'_>) -> Result<Beginning, SubagentError> {
        let Starting { definition, order, call, .. } = starting;
        let (store, own) = (self.gate.store(), self.gate.seat());
        let named = order.name.as_deref().unwrap_or_default();
        let known = match &order.name {
            Some(name) => store.agent_named(&own.session, name)?,
            None => None,
        };
        let is_other = |run: &AgentRun| run.agent_type != definition.name;
        let mut remark = known.as_ref().filter(|run| is_other(run)).map(|run| {
            format!(
                "The agent {named} that was there before is of the type {}: this is another one, which knows nothing of \
                 what that one was told",
                run.agent_type
            )
        });
        let known = known.filter(|run| !is_other(run));
        let (kept, lost) = match known.as_ref().and_then(|run| run.worktree.clone()) {
            Some(dir) if !Path::new(&dir).is_dir() => {
                remark = Some(format!("Its worktree {dir} was gone: it went on in a new one"));
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
        Ok(Beginning { seat, source, kept, lost, remark })
    }

    /// The agent, in its session.
    async fn ready(
        self,
        starting: Starting<'_>,
        beginning: Beginning,
        model_handle: ModelHandle,
        options: &AgentOptions,
    ) -> Result<Helper, SubagentError> {
        let Starting { definition, order, skill, call, cancel, .. } = starting;
        let (source, remark) = (beginning.source, beginning.remark.clone());
        let identity = Identity {
            id: beginning.seat.session.clone(),
            agent_type: definition.name.clone(),
            name: order.name.clone(),
            task: TaskId::of_call(call),
        };
        let isolation = self.isolation(&starting, &beginning).await?;
        let mut session =
            self.narrowed(&starting, beginning.seat, isolation.as_ref(), &identity)?;
        if let Some(skill) = skill {
            session.apply_skill(skill);
        }
        session.gate.use_servers(definition).await?;
        // Its memories are where its caller is, whatever worktree it works in.
        let known = [self.memories_of(definition), self.known_skills(definition, cancel).await?];
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
            waits: true,
            ..options.clone()
        };
        let agent = Box::new(Agent::start(session, Arc::new(model_handle), options).await?);
        Ok(Helper { agent, prompt: order.prompt.clone(), isolation, identity, remark })
    }

    /// The worktree that it works in, if it is to work in one.
    async fn isolation(
        self,
        starting: &Starting<'_>,
        beginning: &Beginning,
    ) -> Result<Option<Isolation>, SubagentError> {
        let Starting { definition, order, cancel, .. } = starting;
        let Beginning { seat, kept, lost, .. } = beginning;
        match kept {
            Some(path) => Ok(Some(Isolation::kept(path.into(), &self.gate.place().project_dir))),
            None if order.worktree || definition.isolated || *lost => {
                let made = self.isolate(&seat.session, cancel).await;
                let hint = if *lost { "; start one with another name" } else { "" };
                let made = made.map_err(|cause| SubagentError::Worktree { cause, hint })?;
                let path = made.path.to_string_lossy();
                self.gate.store().agent_worktree(&seat.session, &path)?;
                Ok(Some(made))
            }
            None => Ok(None),
        }
    }

    /// The model of an agent: the operator's word, else the caller's, else its own, else the caller's own.
    fn model_for(
        self,
        model_handle: &ModelHandle,
        definition: &AgentDefinition,
        order: &AgentOrder,
    ) -> Result<ModelHandle, SubagentError> {
        let options = self.side.options.as_ref();
        let fixed = options.and_then(|options| options.model_of_agents.clone());
        let wanted = fixed.or_else(|| order.model.clone()).or_else(|| definition.model.clone());
        let wanted = wanted.filter(|name| name != "inherit");
        let model_handle = match wanted {
            Some(name) => match model_handle.called(&name) {
                Ok(model_handle) => model_handle,
                // A type of agent names a model that this provider may not have.
                Err(_) if order.model.is_none() && definition.model.as_ref() == Some(&name) => {
                    model_handle.clone()
                }
                Err(why) => return Err(SubagentError::Model(why)),
            },
            None => model_handle.clone(),
        };
        // What it spends it tells of at its own end, within the same budget.
        Ok(ModelHandle { aside: Arc::default(), ..model_handle })
    }

    /// A session for an agent: what it may do is never more than what its caller may.
    fn narrowed(
        self,
        starting: &Starting<'_>,
        seat: Seat,
        isolation: Option<&Isolation>,
        identity: &Identity,
    ) -> Result<Session, SubagentError> {
        let Starting { definition, order, call, log, .. } = starting;
        let own = self.gate.place();
        let mut place = own.clone();
        if let Some(isolation) = isolation {
            // At the place in it that its caller has in the checkout: no further up.
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
            log.clone().map(|log| -> Listener { Arc::new(move |event| log.hear(event)) });
        let mut gate =
            self.gate.for_agent(seat, terms, self.gate.front.for_agent(call, listener))?;
        let side = Arc::new(AgentSide {
            identity: Some(identity.clone()),
            options: None,
            ..self.side.clone()
        });
        gate.engine = Arc::<AgentSide>::clone(&side);
        if let (Some(isolation), Some(workspace)) = (isolation, &self.gate.workspace) {
            let cause = isolation.bring_intents(workspace, self.gate.store());
            cause.map_err(|cause| SubagentError::Worktree { cause, hint: "" })?;
        }
        gate.find_workspace();
        let session = Session { gate, side };
        self.hand_on_intent(&session)?;
        Ok(session)
    }

    /// An agent works for the intent of whoever started it, until it selects another.
    fn hand_on_intent(self, helper: &Session) -> Result<(), StoreError> {
        let (Some(own), Some(theirs)) = (&self.gate.workspace, &helper.gate.workspace) else {
            return Ok(());
        };
        let Some(intent) = self.gate.selected_intent(own)? else { return Ok(()) };
        let root = theirs.root().to_string_lossy();
        let session = Some(&helper.seat().session);
        self.gate.store().select_intent(&root, session, Some(&intent), "agent")?;
        Ok(())
    }

    /// The tools of an agent of this type, which works in that session: what this one has, and what servers of its own
    /// bring.
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
        // Plans are made and approved where the user is.
        tools.retain(|name| toolbox.find(name).is_none_or(|tool| !tool.facts().main_agent_only));
        tools
    }
}

/// The hooks of a type of agent: its Stop is that of an agent.
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
