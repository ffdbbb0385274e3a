//! The agent: a session, somebody to ask, and what has been said so far.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use ona_front::Op;
use ona_hooks::Fired;
use ona_provider::{Model, Request};
use ona_sandbox::Owner;
use ona_store::{Step, StoreError};
use ona_tools::Tool as _;
use ona_types::hook::{HookDetail, SessionEndReason, StartSource};
use ona_types::{Entry, SystemNote, ToolKind, ToolUseId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::context_room::Squeeze;
use crate::identity;
use crate::model_context::ModelContext;
use crate::model_handle::ModelHandle;
use crate::options::AgentOptions;
use crate::prompt;
use crate::session::Session;
use ona_config::instructions::{self, Conditional, Instruction};
use ona_config::watch::Watch;
use ona_gate::intents;
use ona_gate::settle::is_gone;

/// Why an agent cannot start.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Somebody else drives the session.
    #[error("the session {session} is in use by process {pid}")]
    InUse {
        /// The session.
        session: String,
        /// Who.
        pid: String,
    },
    /// The record failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An agent at work.
pub struct Agent {
    pub(crate) session: Session,
    pub(crate) model_handle: Arc<ModelHandle>,
    /// The model to return to when a skill has been done with.
    pub(crate) own_model: Option<Arc<ModelHandle>>,
    pub(crate) options: AgentOptions,
    pub(crate) thread: ModelContext,
    /// Where instructions were looked for at the start, and are again after a compaction.
    pub(crate) instruction_roots: instructions::Roots,
    /// Instructions that come in later; none if none are read.
    pub(crate) conditional: Option<Conditional>,
    /// How many prompts there have been.
    pub(crate) turn: i64,
    /// How full the context was when the model was last asked.
    pub(crate) context_tokens: u64,
    /// What compaction has come to in this turn.
    pub(crate) squeeze: Squeeze,
    /// How often hooks have sent the model back since somebody told it something.
    pub(crate) sent_back: u32,
    /// The inputs of the calls that are still to run.
    pub(crate) inputs: HashMap<ToolUseId, Value>,
    /// What a hook has the user say before the first prompt.
    pub(crate) initial: Option<String>,
    /// Servers of which the model or the user was told, and whether they were connected.
    pub(crate) servers_told: HashSet<(String, bool)>,
    /// The files that hooks hear of, and those of them that hooks named themselves.
    pub(crate) watch: Watch,
    pub(crate) watch_paths: Vec<PathBuf>,
    owner: Value,
}

impl Agent {
    /// Takes the session over, reads what was said in it, and says what has to be said at the start.
    pub async fn start(
        session: Session,
        model_handle: Arc<ModelHandle>,
        options: AgentOptions,
    ) -> Result<Self, AgentError> {
        let store = session.gate.store();
        let owner = json!(Owner::current());
        if let Some(holder) = store.take_lease(session.gate.record.session(), &owner, is_gone)? {
            return Err(AgentError::InUse {
                session: session.seat().session.to_string(),
                pid: holder["pid"].to_string(),
            });
        }
        let mut thread = ModelContext::new(model_handle.model.provider);
        store.view_live(session.gate.record.session(), |row| thread.read(row))?;
        let turn = store.turns(session.gate.record.session())?;
        let context_tokens = store.context_tokens(session.gate.record.session())?;
        let instruction_roots = instructions::Roots {
            read_additional: options.read_additional,
            ..session.view().instruction_roots()
        };
        let mut agent = Self {
            session,
            model_handle,
            own_model: None,
            thread,
            instruction_roots,
            conditional: None,
            turn,
            context_tokens,
            squeeze: Squeeze::default(),
            sent_back: 0,
            inputs: HashMap::new(),
            initial: None,
            servers_told: HashSet::new(),
            watch: Watch::default(),
            watch_paths: Vec::new(),
            owner,
            options,
        };
        let options = Arc::new(agent.options.clone());
        agent.session.change_side(|side| side.options = Some(Arc::clone(&options)));
        let toolbox = &mut agent.session.gate.toolbox;
        toolbox.only.clone_from(&options.tools);
        toolbox.answers = options.shape.as_ref().map(|shape| Arc::clone(&shape.tool));
        if let (Some(only), Some(answers)) = (&mut toolbox.only, &toolbox.answers) {
            only.push(answers.name().to_owned());
        }
        agent.open().await?;
        Ok(agent)
    }

    /// The model that is asked.
    pub fn model(&self) -> &Model {
        &self.model_handle.model
    }

    /// Where the credential for it comes from.
    pub fn credential_source(&self) -> &str {
        self.model_handle.client.credential_source()
    }

    /// The session that it drives.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The tools the model may call: what is offered, without what a rule forbids altogether.
    pub fn tools(&self) -> Vec<String> {
        self.session.gate.offered()
    }

    /// Does what the front-end asks for, until it asks for no more.
    pub async fn drive(&mut self) {
        while let Some(op) = self.session.gate.front.next().await {
            let cancel = self.session.gate.front.begin();
            match op {
                Op::Submit { prompt, attachments } => {
                    self.turn(Some((prompt, attachments)), &cancel).await;
                }
                Op::GoOn => {
                    self.turn(None, &cancel).await;
                }
                Op::Compact { instructions } => {
                    if let Err(why) = self.compact("manual", instructions, &cancel).await {
                        self.warn(format!("the context was not compacted: {why}"));
                    }
                }
                Op::End => break,
                Op::Answer { .. } | Op::Interrupt | Op::Quit => {}
            }
        }
    }

    /// Says that the session is over, and gives it back.
    pub async fn end(mut self, reason: SessionEndReason) -> Result<(), StoreError> {
        let cancel = CancellationToken::new();
        self.dismiss().await;
        let rows = match &self.session.side.identity {
            // SubagentStop has told it.
            Some(_) => Vec::new(),
            None => self.fire(HookDetail::SessionEnd { reason }, &cancel).await.rows,
        };
        let detail = json!({"reason": reason});
        let event = Some(("session.ended", &detail));
        self.keep(&Step { hooks: &rows, event, ..Step::default() })?;
        // Agents use their caller's servers.
        if self.session.side.identity.is_none() {
            self.session.gate.close_own_servers().await;
        }
        if let Some(pool) =
            self.session.gate.pool().filter(|_| self.session.side.identity.is_none())
        {
            pool.close().await;
        }
        self.session.gate.store().release_lease(self.session.gate.record.session(), &self.owner)
    }

    /// Ends the agents that work in the background: nobody would hear of them.
    pub(crate) async fn dismiss(&self) {
        let (background, session) =
            (&self.session.side.background, self.session.gate.record.session());
        background.stop_all(session);
        while background.count(session) > 0 {
            background.wait_for_one(session).await;
        }
    }

    /// What the model is told of skills.
    pub(crate) fn skills_told(&self) -> Option<Entry> {
        let mut text = self.skill_listing()?;
        self.session.gate.governance.redactor.mask_string(&mut text);
        Some(Entry::system(&SystemNote::Context { text, from: "skills".to_owned() }))
    }

    async fn open(&mut self) -> Result<(), StoreError> {
        let cancel = self.session.gate.front.running();
        let source = self.options.source.unwrap_or(StartSource::Startup);
        if self.session.side.identity.is_none() && !self.options.unheard {
            self.session.view().sweep_worktrees().await?;
        }
        let (mut hooks, mut entries) = (Vec::new(), Vec::new());
        if let Some(trigger) = self.options.setup {
            let mut fired = self.fire(HookDetail::Setup { trigger }, &cancel).await;
            hooks.append(&mut fired.rows);
            entries.extend(self.contexts(&fired.contexts, "Setup hook"));
        }
        let detail = match &self.session.side.identity {
            Some(identity) => identity::began(identity),
            None => HookDetail::SessionStart {
                source,
                agent_type: self.session.agent_type_here(),
                model: Some(self.model_handle.model.wire.clone()),
            },
        };
        let mut fired = self.fire(detail, &cancel).await;
        hooks.append(&mut fired.rows);
        let mut blocks =
            prompt::system(&self.options.prompt, self.session.gate.place(), &self.options.today);
        blocks.extend(self.session.gate.workspace.as_ref().map(|_| intents::ORDER.to_owned()));
        blocks.extend(self.options.shape.as_ref().map(|_| prompt::SHAPED_ANSWER.to_owned()));
        if self.thread.system() != blocks {
            entries.push(Entry::system(&SystemNote::Prompt { blocks }));
        }
        if !self.options.bare {
            let roots = &self.instruction_roots;
            let (found, warnings, conditional) = match source {
                // What a session has been told it still knows.
                StartSource::Resume => {
                    let (conditional, warnings) =
                        Conditional::resume(roots, self.thread.instruction_files());
                    (Vec::new(), warnings, conditional)
                }
                _ => {
                    let (loaded, conditional) = instructions::load(roots);
                    (loaded.instructions, loaded.warnings, conditional)
                }
            };
            self.conditional = Some(conditional);
            for warning in &warnings {
                self.warn(warning.to_string());
            }
            entries.extend(self.instructed(&found, &mut hooks, &cancel).await);
            if source != StartSource::Resume {
                entries.extend(self.remembered()?);
            }
        }
        let from = match &self.session.side.identity {
            Some(_) => "SubagentStart hook",
            None => "SessionStart hook",
        };
        entries.extend(self.skills_told());
        entries.extend(self.contexts(&fired.contexts, from));
        let first = self.options.initial.take().into_iter().chain(fired.initial_message.take());
        self.initial = Some(first.collect::<Vec<_>>().join("\n\n")).filter(|text| !text.is_empty());
        self.take_watch_paths(&fired);
        let mut detail = json!({
            "source": source, "provider": self.model_handle.model.provider.as_str(), "model": self.model_handle.model.wire,
        });
        if let Some(agent_type) = self.session.agent_type_here() {
            detail["agent"] = agent_type.into();
        }
        if self.session.side.identity.is_some() {
            // Who goes on here without its caller is to be no freer.
            detail["mode"] = self.session.mode().as_str().into();
        }
        let event = Some(("session.started", &detail));
        self.keep(&Step { entries: &entries, hooks: &hooks, event, ..Step::default() })
    }

    /// What instruction files bring in; hooks hear of each.
    pub(crate) async fn instructed(
        &mut self,
        found: &[Instruction],
        hooks: &mut Vec<ona_types::hook::HookInvocation>,
        cancel: &CancellationToken,
    ) -> Option<Entry> {
        let permissions = Arc::clone(&self.session.gate.governance.permissions);
        // What may not be read is not told either.
        let mut told: Vec<Instruction> =
            found.iter().filter(|one| !permissions.hides(&one.path)).cloned().collect();
        for instruction in &mut told {
            self.session.gate.governance.redactor.mask_string(&mut instruction.content);
            let mut fired = self.fire(instruction.event(), cancel).await;
            hooks.append(&mut fired.rows);
        }
        if told.is_empty() {
            return None;
        }
        let files = told.iter().map(|one| one.path.display().to_string()).collect();
        let text = instructions::render(&told);
        Some(Entry::system(&SystemNote::Instructions { text, files }))
    }

    /// What is remembered from earlier sessions.
    pub(crate) fn remembered(&self) -> Result<Option<Entry>, StoreError> {
        let toolbox = &self.session.gate.toolbox;
        let runs_commands = |name: &String| {
            toolbox.find(name).is_some_and(|tool| tool.facts().kind == ToolKind::Command)
        };
        let has_bash = self.tools().iter().any(runs_commands);
        if !self.options.memories {
            return Ok(None);
        }
        self.session.remembered(self.session.memory_tokens(), has_bash)
    }

    /// Entries for what hooks say to the model.
    pub(crate) fn contexts(&self, contexts: &[String], from: &str) -> Vec<Entry> {
        let entry = |text: &String| {
            let text = self.session.gate.shortened(text.clone());
            Entry::system(&SystemNote::Context { text, from: from.to_owned() })
        };
        contexts.iter().map(entry).collect()
    }

    /// Fires an event that is about no call.
    pub(crate) async fn fire(&self, detail: HookDetail, cancel: &CancellationToken) -> Fired {
        if self.options.unheard {
            return Fired::default();
        }
        self.session.gate.fire(detail, None, cancel).await
    }

    /// What was spent since the start, by everybody who works for it.
    pub(crate) fn spent(&self) -> f64 {
        self.model_handle.budget.spent()
    }

    /// Commits a step, and reads it back: what the model is told is what is on the record.
    pub(crate) fn keep(&mut self, step: &Step<'_>) -> Result<(), StoreError> {
        // S0 §2.8: whatever they come from, no live secret is kept.
        let mut entries = step.entries.to_vec();
        for entry in &mut entries {
            self.session.gate.governance.redactor.mask_live_value(&mut entry.payload);
        }
        let step = Step { entries: &entries, ..*step };
        self.session.gate.store().keep_step(self.session.gate.seat(), &step)?;
        self.catch_up()
    }

    /// Reads what was committed since.
    pub(crate) fn catch_up(&mut self) -> Result<(), StoreError> {
        let store = self.session.gate.store();
        let from = self.thread.next();
        store.view_from(self.session.gate.record.session(), from, |row| self.thread.read(row))
    }

    pub(crate) fn warn(&self, text: String) {
        self.session.gate.front.warn(text);
    }

    /// The next question to the model, made of the record alone.
    pub(crate) fn request(&self) -> Request<'_> {
        let mut request = Request::new(&self.model_handle.model.wire, self.model_handle.max_output);
        request.system = self.thread.system().to_vec();
        (request.earlier, request.recent) = self.thread.messages();
        request.messages.extend(self.thread.results());
        request.thinking = self.model_handle.thinking;
        let model_handle = &self.model_handle;
        request.effort =
            model_handle.effort.effort().and_then(|wish| model_handle.model.effort(wish));
        // What was looked for comes last: what stands before it stays in the provider's cache.
        let deferred: HashSet<String> =
            self.session.gate.deferred_tools().into_iter().map(|tool| tool.name).collect();
        let mut tools = self.tools();
        tools.retain(|name| !deferred.contains(name));
        tools.extend(self.thread.loaded().iter().filter(|name| deferred.contains(*name)).cloned());
        request.tools = self.session.tool_specs(&tools);
        request
    }
}
