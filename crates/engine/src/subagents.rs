//! Agents that calls start: a session of its own in the same conversation, the same gate and settings, a narrower hand
//! (S0 §2, §7).

use std::io::Write as _;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ona_front::{Ending, Listener, TurnEnd};
use ona_sandbox::Owner;
use ona_store::{AgentRun, NewAgent, Seat, StoreError};
use ona_tools::AgentOrder;
use ona_types::hook::{HookDetail, SessionEndReason, StartSource};
use ona_types::{
    PermissionMode, SessionId, TRUNCATED_SUFFIX, TaskEnd, TaskId, TaskKind, TaskStarted,
    ToolOutput, ToolUseId,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, AgentOptions, Mind, millis};
use crate::crew::AgentLog;
use crate::extensions::{AgentDefinition, SkillDefinition};
use crate::isolation::Isolation;
use crate::prompt::PromptOptions;
use crate::session::Session;

/// Who works in a session that a call started, as hooks are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The session's id, which is the agent's.
    pub(crate) id: SessionId,
    /// What kind of agent it is.
    pub(crate) kind: String,
    /// What it is called.
    pub(crate) name: Option<String>,
    /// The task that it is, where it works in the background.
    pub(crate) task: TaskId,
}

/// A helper who is ready to begin.
struct Helper {
    agent: Box<Agent>,
    prompt: String,
    isolation: Option<Isolation>,
    identity: Identity,
    /// What its caller may not expect of it.
    remark: Option<String>,
}

/// Where a helper begins.
struct Start<'a> {
    seat: Seat,
    source: StartSource,
    mind: Mind,
    options: &'a AgentOptions,
    /// The worktree it has worked in before.
    kept: Option<String>,
    /// Whether it had one, which is gone.
    lost: bool,
}

/// What came of a helper's work.
struct Work {
    end: TurnEnd,
    /// What became of its worktree.
    left: Option<String>,
    duration_ms: u64,
}

impl Session {
    /// A call with the name of an agent that there has been, and without a kind, means that one's: rules and hooks are to
    /// judge what would work. Where the record cannot be read, nothing begins.
    pub(crate) fn same_kind_again(&self, input: &mut Value) {
        if input.get("subagent_type").is_none_or(Value::is_null)
            && let Some(name) = input["name"].as_str()
            && let Ok(Some(run)) = self.engine.store.agent_named(&self.seat.session, name)
        {
            input["subagent_type"] = run.agent_type.into();
        }
    }

    /// Has an agent do something, here or in the background.
    pub(crate) async fn start_agent(
        &self,
        order: AgentOrder,
        call: &ToolUseId,
        skill: Option<&SkillDefinition>,
        cancel: &CancellationToken,
    ) -> ToolOutput {
        if self.agent.is_some() {
            return ToolOutput::rejected(
                "an agent that a call started can start no agents itself: do the work, or say at your end what is left",
            );
        }
        let kind = match self.kind(&order.subagent_type) {
            Ok(kind) => kind,
            Err(why) => return ToolOutput::rejected(why),
        };
        let background = order.background.unwrap_or(kind.background);
        if background && let Some(why) = self.engine.settings.no_background {
            return ToolOutput::rejected(format!(
                "there are no background tasks: {why}. Start the agent in the foreground"
            ));
        }
        if background {
            return self.launch(kind, order, call).await;
        }
        let helper = match self.helper(&kind, &order, call, None, skill, cancel).await {
            Ok(helper) => helper,
            Err(why) => return ToolOutput::rejected(why),
        };
        let (id, kind) = (helper.identity.id.clone(), helper.identity.kind.clone());
        let remark = helper.remark.clone();
        // While it works, others may pass the gate.
        let work = self.outside(Box::pin(helper.work(self, cancel))).await;
        match work {
            Err(error) => ToolOutput::internal(error.to_string()),
            Ok(work) => self.told(&id, &kind, work, remark),
        }
    }

    /// Starts it and goes on.
    async fn launch(
        &self,
        kind: AgentDefinition,
        order: AgentOrder,
        call: &ToolUseId,
    ) -> ToolOutput {
        let id = TaskId::of_call(call);
        let file = self.engine.host.new_output(&self.seat.session, &format!("{id}.log"));
        let (output_path, file) = match file {
            Ok(made) => made,
            Err(error) => {
                return ToolOutput::internal(format!("no file for the agent's output: {error}"));
            }
        };
        let log = Arc::new(AgentLog::new(file, self.engine.settings.background_output_limit));
        let cancel = self.engine.crew.joins(&id, &self.seat.session);
        let helper = self.helper(&kind, &order, call, Some(Arc::clone(&log)), None, &cancel).await;
        let helper = match helper {
            Ok(helper) => helper,
            Err(why) => {
                self.engine.crew.leaves(&id);
                return ToolOutput::rejected(why);
            }
        };
        let command = match &helper.identity.name {
            Some(name) => format!("{name}: {}", order.description),
            None => order.description.clone(),
        };
        let task = TaskStarted { id: id.clone(), kind: TaskKind::Agent, command, output_path };
        let (store, owner) = (&self.engine.store, json!(Owner::current()));
        let watched = store.watch_task(&self.seat.session, call, &task, &owner);
        let beside = match watched.and_then(|()| self.beside()) {
            Ok(beside) => beside,
            Err(error) => {
                self.engine.crew.leaves(&id);
                return ToolOutput::internal(error.to_string());
            }
        };
        let mut output = ToolOutput::success(format!(
            "Started the agent {} ({}) as background task {id}\nIts output goes to {}\nYou are told when it has ended{}",
            helper.identity.id,
            helper.identity.kind,
            task.output_path.display(),
            helper.remark.as_ref().map(|remark| format!("\n{remark}")).unwrap_or_default(),
        ))
        .with_detail("task_id", id.as_str())
        .with_detail("agent_id", helper.identity.id.as_str());
        tokio::spawn(async move {
            let end = beside.in_background(helper, &log, &cancel).await;
            // Where that cannot be written, whoever opens the session next says that nobody saw its end.
            let _ = beside.engine.store.finish_task(&id, &end);
            beside.engine.crew.leaves(&id);
        });
        output.task = Some(task);
        output
    }

    /// Works to the end in the background, and says how it was.
    async fn in_background(
        &self,
        helper: Helper,
        log: &AgentLog,
        cancel: &CancellationToken,
    ) -> TaskEnd {
        let ended = |reason: &str| TaskEnd { exit_code: None, reason: reason.to_owned() };
        match helper.work(self, cancel).await {
            Err(error) => {
                log.write(&format!("[the record failed: {error}]"));
                ended("failed")
            }
            Ok(work) => {
                self.take_account(&work.end);
                if let Some(left) = &work.left {
                    log.write(&format!("[{left}]"));
                }
                if let Some(why) = work.end.ending.problem() {
                    log.write(&format!("[{why}]"));
                }
                ended(word(&work.end.ending))
            }
        }
    }

    /// Makes an agent ready: its session, its rules, its model and its tools.
    async fn helper(
        &self,
        kind: &AgentDefinition,
        order: &AgentOrder,
        call: &ToolUseId,
        log: Option<Arc<AgentLog>>,
        skill: Option<&SkillDefinition>,
        cancel: &CancellationToken,
    ) -> Result<Helper, String> {
        let Some((mind, options)) = self.mind.as_ref().zip(self.work.as_ref()) else {
            return Err("there is no model in this session that an agent could ask".to_owned());
        };
        let effort = skill.and_then(|skill| skill.effort).or(kind.effort);
        let mind = self.mind_for(mind, kind, order)?.trying(effort);
        let store = &self.engine.store;
        let text = |error: StoreError| error.to_string();
        // One of this name that waits is told something more.
        let known = match &order.name {
            Some(name) => store.agent_named(&self.seat.session, name).map_err(text)?,
            None => None,
        };
        let mut remark = None;
        let same = |run: &AgentRun| {
            let same = run.agent_type == kind.name;
            if !same {
                remark = Some(format!(
                    "The agent {} that was there before is of the kind {}: this is another one, which knows nothing of what \
                     that one was told",
                    order.name.as_deref().unwrap_or_default(),
                    run.agent_type
                ));
            }
            same
        };
        let known = known.filter(same);
        let before = known.as_ref().and_then(|run| run.worktree.clone());
        let (kept, lost) = match before {
            Some(dir) if !Path::new(&dir).is_dir() => {
                remark = Some(format!("Its worktree {dir} was gone: it went on in a new one"));
                (None, true)
            }
            before => (before, false),
        };
        let (seat, source) = match &known {
            Some(run) if run.ending.is_none() => {
                return Err(format!(
                    "the agent {} is still at work: wait for its end, or start one of another name",
                    order.name.as_deref().unwrap_or_default()
                ));
            }
            Some(run) => {
                let seat = store.seat_of(&run.session).map_err(text)?;
                let (seat, _) = seat.ok_or("the agent's session is gone")?;
                store.agent_ended(&seat.session, None).map_err(text)?;
                (seat, StartSource::Resume)
            }
            None => {
                let new = NewAgent {
                    parent: &self.seat,
                    call,
                    agent_type: &kind.name,
                    name: order.name.as_deref(),
                    worktree: None,
                };
                (store.new_agent(&new).map_err(text)?, StartSource::Startup)
            }
        };
        let id = seat.session.clone();
        let start = Start { seat, source, mind, options, kept, lost };
        let ready = self.ready(start, kind, order, call, log, skill, cancel).await;
        if ready.is_err() {
            // It has not begun, and is not at work.
            store.agent_ended(&id, Some("failed")).map_err(text)?;
        }
        Ok(Helper { remark, ..ready? })
    }

    /// The same, when it is known in which session.
    #[allow(clippy::too_many_arguments, reason = "each of them is what makes it another agent")]
    async fn ready(
        &self,
        start: Start<'_>,
        kind: &AgentDefinition,
        order: &AgentOrder,
        call: &ToolUseId,
        log: Option<Arc<AgentLog>>,
        skill: Option<&SkillDefinition>,
        cancel: &CancellationToken,
    ) -> Result<Helper, String> {
        let Start { seat, source, mind, options, kept, lost } = start;
        let store = &self.engine.store;
        let text = |error: StoreError| error.to_string();
        let identity = Identity {
            id: seat.session.clone(),
            kind: kind.name.clone(),
            name: order.name.clone(),
            task: TaskId::of_call(call),
        };
        let isolation = match kept {
            Some(path) => Some(Isolation::kept(path.into(), &self.place.project_dir)),
            None if order.worktree || kind.isolated || lost => {
                let made = self.isolate(&seat.session, cancel).await;
                let other = if lost { "; start one of another name" } else { "" };
                let made = made
                    .map_err(|why| format!("there is no worktree for the agent: {why}{other}"))?;
                store.agent_worktree(&seat.session, &made.path.to_string_lossy()).map_err(text)?;
                Some(made)
            }
            None => None,
        };
        let asked = order.mode.as_deref().and_then(|mode| mode.parse().ok());
        let modes: Vec<PermissionMode> = asked.into_iter().chain(kind.permission_mode).collect();
        let mut session =
            self.narrowed(seat, &modes, kind, isolation.as_ref(), call, log, identity.clone())?;
        if let Some(skill) = skill {
            session.take_up(skill);
        }
        session.use_servers(kind).await.map_err(text)?;
        // Its memories are where its caller is, whatever worktree it works in.
        let known = [self.memories_of(kind), self.known_skills(kind, cancel).await?];
        let known: Vec<String> = known.into_iter().flatten().collect();
        let append = (!known.is_empty()).then(|| known.join("\n\n"));
        let options = AgentOptions {
            prompt: PromptOptions { replace: Some(kind.prompt.clone()), append },
            tools: Some(self.tools_of(kind, &session)),
            shape: None,
            source: Some(source),
            setup: None,
            initial: None,
            max_turns: kind.max_turns.map(NonZeroU32::get).or(options.max_turns),
            partial: options.partial,
            instructions: session.instruction_roots(&self.engine.config),
            waits: true,
            ..AgentOptions::clone(options)
        };
        let agent = Agent::start(session, Arc::new(mind), options).await;
        let agent = Box::new(agent.map_err(|error| error.to_string())?);
        Ok(Helper { agent, prompt: order.prompt.clone(), isolation, identity, remark: None })
    }

    /// The model of an agent: the operator's word, else the caller's, else its own, else the caller's own.
    fn mind_for(
        &self,
        mind: &Mind,
        kind: &AgentDefinition,
        order: &AgentOrder,
    ) -> Result<Mind, String> {
        let fixed = self.work.as_ref().and_then(|options| options.model_of_agents.clone());
        let wanted = fixed.or_else(|| order.model.clone()).or_else(|| kind.model.clone());
        let wanted = wanted.filter(|name| name != "inherit");
        let mind = match wanted {
            Some(name) => match mind.called(&name) {
                Ok(mind) => mind,
                // A kind of agent names a model that this provider may not have.
                Err(_) if order.model.is_none() && kind.model.as_ref() == Some(&name) => {
                    mind.clone()
                }
                Err(why) => return Err(format!("the agent's model: {why}")),
            },
            None => mind.clone(),
        };
        // What it spends it tells of at its own end; out of the same purse.
        Ok(Mind { aside: Arc::default(), ..mind })
    }

    /// A session for an agent: what it may do is never more than what its caller may.
    #[allow(clippy::too_many_arguments, reason = "each of them is what makes it another session")]
    fn narrowed(
        &self,
        seat: Seat,
        modes: &[PermissionMode],
        kind: &AgentDefinition,
        isolation: Option<&Isolation>,
        call: &ToolUseId,
        log: Option<Arc<AgentLog>>,
        identity: Identity,
    ) -> Result<Self, String> {
        let text = |error: StoreError| error.to_string();
        let mut place = self.place.clone();
        if let Some(isolation) = isolation {
            // At the place in it that its caller has in the checkout: no further up.
            let there = |dir: &Path| {
                let place = isolation.place_of(dir);
                place.map_err(|error| format!("there is no place for it in its worktree: {error}"))
            };
            let project = &self.place.project_dir;
            let cwd = Some(&self.place.cwd).filter(|cwd| cwd.starts_with(project));
            (place.cwd, place.project_dir) = (there(cwd.unwrap_or(project))?, there(project)?);
        }
        let governance = self.governance.for_agent(
            &self.engine,
            (&self.seat, &seat),
            &mut place,
            modes,
            own_hooks(kind).as_ref(),
            isolation.map(|isolation| isolation.path.as_path()),
        );
        let listener = log.map(|log| -> Listener { Arc::new(move |event| log.hear(event)) });
        let front = self.front.for_agent(call, listener);
        let mut session = self.another(seat, place, governance.map_err(text)?, front);
        session.agent = Some(identity);
        if let (Some(isolation), Some(workspace)) = (isolation, &self.workspace) {
            isolation.bring_intents(workspace, &self.engine.store)?;
        }
        session.find_workspace();
        self.hand_on_intent(&session).map_err(text)?;
        Ok(session)
    }

    /// An agent works for the intent of whoever started it, until it selects another.
    fn hand_on_intent(&self, helper: &Self) -> Result<(), StoreError> {
        let (Some(own), Some(theirs)) = (&self.workspace, &helper.workspace) else { return Ok(()) };
        let Some(intent) = self.selected_intent(own)? else { return Ok(()) };
        let root = theirs.root().to_string_lossy();
        let session = Some(&helper.seat.session);
        self.engine.store.select_intent(&root, session, Some(&intent), "agent")?;
        Ok(())
    }

    /// What the caller is told of a helper's work.
    fn told(&self, id: &SessionId, kind: &str, work: Work, remark: Option<String>) -> ToolOutput {
        let Work { end, left, duration_ms } = work;
        self.take_account(&end);
        let mut content = match (&end.ending, end.text.trim().is_empty()) {
            (Ending::Done, true) => "The agent ended without a word".to_owned(),
            (_, true) => String::new(),
            (_, false) => self.capped(end.text),
        };
        let failed = end.ending.problem();
        if let Some(why) = &failed {
            let before = if content.is_empty() { "" } else { "\n\n" };
            content.push_str(&format!("{before}The agent did not come to its end: {why}"));
        }
        for more in remark.into_iter().chain(left) {
            content.push_str(&format!("\n\n{more}"));
        }
        let tokens: u64 = end.used.iter().map(|one| one.used.context_tokens()).sum();
        let asked =
            if end.asked == 1 { "1 answer".to_owned() } else { format!("{} answers", end.asked) };
        content.push_str(&format!("\n\n(agent {id}, {kind}: {asked}, {tokens} tokens)"));
        let output = match failed {
            None => ToolOutput::success(content),
            Some(_) => ToolOutput::rejected(content),
        };
        output
            .with_detail("agent_id", id.as_str())
            .with_detail("agent_type", kind)
            .with_detail("agent_duration_ms", duration_ms)
            .with_detail("agent_tokens", tokens)
    }

    /// What a helper has spent, and what it was refused, is its caller's to tell.
    fn take_account(&self, end: &TurnEnd) {
        if let Some(mind) = &self.mind {
            for used in end.used.iter().cloned() {
                mind.tell_aside(used);
            }
        }
        self.refused_aside(end.denials.iter().cloned());
    }

    /// A long answer is cut; the whole is in a file.
    pub(crate) fn capped(&self, text: String) -> String {
        let most = self.engine.settings.agent_output_chars;
        let Some((cut, _)) = text.char_indices().nth(most) else { return text };
        let name = format!("agent-{}.txt", ToolUseId::generate());
        let kept =
            self.engine.host.new_output(&self.seat.session, &name).and_then(|(path, mut file)| {
                file.write_all(text.as_bytes())?;
                Ok(path)
            });
        let whole = match kept {
            Ok(path) => format!("the whole is in {}", path.display()),
            Err(error) => format!("the whole could not be kept: {error}"),
        };
        format!("{}\n{TRUNCATED_SUFFIX} ({whole})", &text[..cut])
    }
}

impl Helper {
    /// Works to the end. A named agent that has ended waits; a TeammateIdle hook may have it go on.
    async fn work(self, parent: &Session, cancel: &CancellationToken) -> Result<Work, StoreError> {
        let Self { mut agent, prompt, isolation, identity, remark: _ } = self;
        let started = Instant::now();
        let mut end = Box::pin(agent.turn(Some((prompt, Vec::new())), cancel)).await;
        while let (Ending::Done, Some(name)) = (&end.ending, &identity.name) {
            let detail = HookDetail::TeammateIdle {
                teammate_name: name.clone(),
                team_name: parent.seat.session.to_string(),
            };
            let fired = agent.fire(detail, cancel).await;
            agent.keep(&ona_store::Step { hooks: &fired.rows, ..Default::default() })?;
            if !fired.denies()
                || fired.stop.is_some()
                || !agent.goes_back("TeammateIdle", &fired)?
            {
                break;
            }
            let more = Box::pin(agent.further(Some((fired.denial(), Vec::new())), cancel)).await;
            end = more.after(end);
        }
        let store = &parent.engine.store;
        store.agent_ended(&identity.id, Some(word(&end.ending)))?;
        // Who waits for what it has left running is now its caller.
        let running = store.hand_over_tasks(&identity.id, &parent.seat.session)?;
        agent.session.close_own_servers().await;
        agent.end(SessionEndReason::Other).await?;
        let left = match &isolation {
            Some(isolation) if running => Some(isolation.still_used()),
            // Also after an interrupt.
            Some(isolation) => Some(parent.release(isolation, &CancellationToken::new()).await),
            None => None,
        };
        Ok(Work { end, left, duration_ms: millis(started) })
    }
}

/// The hooks of a kind of agent: its Stop is that of an agent.
fn own_hooks(kind: &AgentDefinition) -> Option<Value> {
    let mut hooks = kind.hooks.clone()?;
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

/// The record's word for how an agent ended.
fn word(ending: &Ending) -> &'static str {
    match ending {
        Ending::Done => "completed",
        Ending::Interrupted => "stopped",
        _ => "failed",
    }
}

/// Tells of an agent that began.
pub(crate) fn began(identity: &Identity) -> HookDetail {
    HookDetail::SubagentStart {
        agent_id: identity.id.to_string(),
        agent_type: identity.kind.clone(),
    }
}

/// Tells of an agent that has nothing more to do.
pub(crate) fn stopped(identity: &Identity, before: bool, last: Option<String>) -> HookDetail {
    HookDetail::SubagentStop {
        stop_hook_active: before,
        agent_id: identity.id.to_string(),
        // S0 §6: transcripts are in the record.
        agent_transcript_path: String::new(),
        agent_type: identity.kind.clone(),
        last_assistant_message: last,
    }
}
