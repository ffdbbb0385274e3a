//! The agent: a session, a model, and the conversation so far.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use ona_front::Op;
use ona_hooks::Fired;
use ona_provider::{Model, Request};
use ona_repo::Checkout;
use ona_sandbox::Owner;
use ona_store::{Step, StoreError};
use ona_tools::Tool as _;
use ona_types::hook::{HookDetail, HookInvocation, SessionEndReason, StartSource};
use ona_types::{Entry, SystemNote, ToolKind, ToolUseId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::context_limit::CompactionState;
use crate::identity;
use crate::live_changes::LiveChanges;
use crate::model_context::ModelContext;
use crate::model_handle::ModelHandle;
use crate::options::AgentOptions;
use crate::prompt::{self, Voice};
use crate::session::Session;
use ona_config::instructions::{self, Conditional, Instruction};
use ona_config::watch::Watch;
use ona_gate::intents;
use ona_gate::settle::is_gone;

/// Why an agent cannot start.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Another process runs the session.
    #[error("session {session} is in use by process {pid}")]
    InUse {
        /// The session.
        session: String,
        /// The process.
        pid: String,
    },
    /// The record failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A running agent.
pub struct Agent {
    pub(crate) session: Session,
    pub(crate) model_handle: Arc<ModelHandle>,
    /// The model to return to when a skill is no longer active.
    pub(crate) model_before_skill: Option<Arc<ModelHandle>>,
    pub(crate) options: AgentOptions,
    pub(crate) context: ModelContext,
    /// Where instructions are read at the start and after a compaction.
    pub(crate) instruction_roots: instructions::Roots,
    /// Instructions that load later; `None` if no instructions are read.
    pub(crate) conditional: Option<Conditional>,
    /// The number of prompts so far.
    pub(crate) turn: i64,
    /// The size of the context at the last model call.
    pub(crate) context_tokens: u64,
    /// The state of compaction in this turn.
    pub(crate) compaction: CompactionState,
    /// How often hooks have blocked the stop since the last prompt.
    pub(crate) stop_blocks: u32,
    /// The inputs of the calls that have not run yet.
    pub(crate) inputs: HashMap<ToolUseId, Value>,
    /// A message that a hook puts before the first prompt.
    pub(crate) initial: Option<String>,
    /// The command line that the next prompt stands for.
    pub(crate) typed: Option<String>,
    /// Servers that were reported to the model or the user, and whether they were connected.
    pub(crate) reported_servers: HashSet<(String, bool)>,
    /// The watched files, and the ones that hooks named themselves.
    pub(crate) watch: Watch,
    pub(crate) watch_paths: Vec<PathBuf>,
    /// What the operator has changed since the last step.
    pub(crate) changes: LiveChanges,
    owner: Value,
}

impl Agent {
    /// Takes the session's lease, reads its transcript, and writes the entries that every start needs.
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
        let mut context = ModelContext::new(model_handle.model.provider);
        store.view_live(session.gate.record.session(), |row| context.read(row))?;
        let turn = store.turns(session.gate.record.session())?;
        let context_tokens = store.context_tokens(session.gate.record.session())?;
        let instruction_roots = instructions::Roots {
            read_additional: options.read_additional,
            ..session.view().instruction_roots()
        };
        let mut agent = Self {
            session,
            model_handle,
            model_before_skill: None,
            context,
            instruction_roots,
            conditional: None,
            turn,
            context_tokens,
            compaction: CompactionState::default(),
            stop_blocks: 0,
            inputs: HashMap::new(),
            initial: None,
            typed: None,
            reported_servers: HashSet::new(),
            watch: Watch::default(),
            watch_paths: Vec::new(),
            changes: LiveChanges::default(),
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

    /// The model in use.
    pub fn model(&self) -> &Model {
        &self.model_handle.model
    }

    /// Where its credential comes from.
    pub fn credential_source(&self) -> &str {
        self.model_handle.client.credential_source()
    }

    /// The session of the agent.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The tools the model may call: the offered ones, without those that a rule denies.
    pub fn tools(&self) -> Vec<String> {
        self.session.gate.offered()
    }

    /// Handles the front-end's requests until it ends the session.
    pub async fn drive(&mut self) {
        while let Some(op) = self.session.gate.front.next().await {
            let cancel = self.session.gate.front.begin();
            match op {
                Op::Submit { prompt, attachments, .. } => {
                    self.run_turn(Some((prompt, attachments)), &cancel).await;
                }
                Op::Continue => {
                    self.run_turn(None, &cancel).await;
                }
                Op::Compact { instructions } => {
                    if let Err(why) = self.compact("manual", instructions, &cancel).await {
                        self.warn(format!("the context was not compacted: {why}"));
                    }
                }
                Op::End => break,
                // What only somebody at a terminal does.
                _ => {}
            }
        }
    }

    /// Ends the session and releases its lease.
    pub async fn end(mut self, reason: SessionEndReason) -> Result<(), StoreError> {
        let cancel = CancellationToken::new();
        self.stop_background_agents().await;
        let rows = match &self.session.side.identity {
            // SubagentStop has reported it.
            Some(_) => Vec::new(),
            None => self.fire(HookDetail::SessionEnd { reason }, &cancel).await.rows,
        };
        let detail = json!({"reason": reason});
        let event = Some(("session.ended", &detail));
        self.commit(&Step { hooks: &rows, event, ..Step::default() })?;
        // Subagents use their caller's servers.
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

    /// Stops the agents in the background: no one would read their results.
    pub(crate) async fn stop_background_agents(&self) {
        let (background, session) =
            (&self.session.side.background, self.session.gate.record.session());
        background.stop_all(session);
        while background.count(session) > 0 {
            background.wait_for_one(session).await;
        }
    }

    /// The entry that lists the skills for the model.
    pub(crate) fn skill_listing_entry(&self) -> Option<Entry> {
        let mut text = self.skill_listing()?;
        self.session.gate.governance.redactor.mask_string(&mut text);
        Some(Entry::system(&SystemNote::Context { text, from: "skills".to_owned() }))
    }

    async fn open(&mut self) -> Result<(), StoreError> {
        let cancel = self.session.gate.front.running();
        let source = self.options.source.unwrap_or(StartSource::Startup);
        if self.session.side.identity.is_none() && !self.options.without_hooks {
            self.session.view().remove_stale_worktrees().await?;
        }
        let (mut hooks, mut entries) = (Vec::new(), Vec::new());
        if let Some(trigger) = self.options.setup {
            let mut fired = self.fire(HookDetail::Setup { trigger }, &cancel).await;
            hooks.append(&mut fired.rows);
            entries.extend(self.context_entries(&fired.contexts, "Setup hook"));
        }
        let detail = match &self.session.side.identity {
            Some(identity) => identity::start_event(identity),
            None => HookDetail::SessionStart {
                source,
                agent_type: self.session.agent_type_name(),
                model: Some(self.model_handle.model.wire.clone()),
            },
        };
        let mut fired = self.fire(detail, &cancel).await;
        hooks.append(&mut fired.rows);
        let voice = self.voice();
        let place = self.session.gate.place();
        let mut blocks = prompt::system(&self.options.prompt, &voice, place, &self.options.today);
        blocks.extend(self.session.gate.workspace.as_ref().map(|_| intents::ORDER.to_owned()));
        blocks.extend(self.options.shape.as_ref().map(|_| prompt::SHAPED_ANSWER.to_owned()));
        if self.context.system() != blocks {
            entries.push(Entry::system(&SystemNote::Prompt { blocks }));
        }
        if !self.options.bare {
            let roots = &self.instruction_roots;
            let (found, warnings, conditional) = match source {
                // A resumed session still has the instructions it was given.
                StartSource::Resume => {
                    let (conditional, warnings) =
                        Conditional::resume(roots, self.context.instruction_files());
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
            let (entry, mut fired) = self.instruction_entry(&found, &cancel).await;
            entries.extend(entry);
            hooks.append(&mut fired);
            if source != StartSource::Resume {
                entries.extend(self.memory_entry()?);
            }
        }
        let from = match &self.session.side.identity {
            Some(_) => "SubagentStart hook",
            None => "SessionStart hook",
        };
        entries.extend(self.skill_listing_entry());
        entries.extend(self.context_entries(&fired.contexts, from));
        let first = self.options.initial.take().into_iter().chain(fired.initial_message.take());
        self.initial = Some(first.collect::<Vec<_>>().join("\n\n")).filter(|text| !text.is_empty());
        self.take_watch_paths(&fired);
        let mut detail = json!({
            "source": source, "provider": self.model_handle.model.provider.as_str(), "model": self.model_handle.model.wire,
        });
        if let Some(branch) =
            Checkout::of(&self.session.gate.place().cwd).and_then(|checkout| checkout.branch())
        {
            detail["branch"] = branch.into();
        }
        if let Some(agent_type) = self.session.agent_type_name() {
            detail["agent"] = agent_type.into();
        }
        if let Some(sandbox) = self.session.gate.governance.sandbox_of_session() {
            detail["sandbox"] = sandbox;
        }
        if self.session.side.identity.is_some() {
            // If it continues without its caller, it must not get a laxer mode.
            detail["mode"] = self.session.mode().as_str().into();
        }
        let event = Some(("session.started", &detail));
        self.commit(&Step { entries: &entries, hooks: &hooks, event, ..Step::default() })
    }

    /// How the model answers, by the settings.
    fn voice(&self) -> Voice {
        if self.options.prompt.replace.is_some() {
            return Voice::default();
        }
        let style = match self.session.output_style() {
            Ok(style) => Some(style).filter(|style| !style.body.is_empty()),
            Err(error) => {
                self.warn(format!("outputStyle: {error}; the default style is used"));
                None
            }
        };
        let language = self.session.gate.settings().language.unwrap_or_default();
        let language = language.split_whitespace().collect::<Vec<_>>().join(" ");
        Voice { style, language: Some(language).filter(|name| !name.is_empty()) }
    }

    /// The entry for instruction files, and the InstructionsLoaded hooks that ran for each file.
    pub(crate) async fn instruction_entry(
        &mut self,
        found: &[Instruction],
        cancel: &CancellationToken,
    ) -> (Option<Entry>, Vec<HookInvocation>) {
        let permissions = Arc::clone(&self.session.gate.governance.permissions);
        // A file that may not be read is not shown to the model.
        let mut shown: Vec<Instruction> =
            found.iter().filter(|one| !permissions.hides(&one.path)).cloned().collect();
        let mut hooks = Vec::new();
        for instruction in &mut shown {
            self.session.gate.governance.redactor.mask_string(&mut instruction.content);
            hooks.append(&mut self.fire(instruction.event(), cancel).await.rows);
        }
        let entry = (!shown.is_empty()).then(|| {
            let files = shown.iter().map(|one| one.path.display().to_string()).collect();
            let text = instructions::render(&shown);
            Entry::system(&SystemNote::Instructions { text, files })
        });
        (entry, hooks)
    }

    /// The entry for memories of earlier sessions.
    pub(crate) fn memory_entry(&self) -> Result<Option<Entry>, StoreError> {
        let toolbox = &self.session.gate.toolbox;
        let runs_commands = |name: &String| {
            toolbox.find(name).is_some_and(|tool| tool.facts().kind == ToolKind::Command)
        };
        let has_bash = self.tools().iter().any(runs_commands);
        if !self.options.memories {
            return Ok(None);
        }
        self.session.memory_entry(self.session.memory_tokens(), has_bash)
    }

    /// Entries for the context that hooks add.
    pub(crate) fn context_entries(&self, contexts: &[String], from: &str) -> Vec<Entry> {
        let entry = |text: &String| {
            let text = self.session.gate.shortened(text.clone());
            Entry::system(&SystemNote::Context { text, from: from.to_owned() })
        };
        contexts.iter().map(entry).collect()
    }

    /// Fires an event that belongs to no call.
    pub(crate) async fn fire(&self, detail: HookDetail, cancel: &CancellationToken) -> Fired {
        if self.options.without_hooks {
            return Fired::default();
        }
        self.session.gate.fire(detail, None, cancel).await
    }

    /// The cost since the start, with all subagents.
    pub(crate) fn spent(&self) -> f64 {
        self.model_handle.budget.spent()
    }

    /// Commits a step and reads it back: the model sees exactly the committed rows.
    pub(crate) fn commit(&mut self, step: &Step<'_>) -> Result<(), StoreError> {
        // S0 §2.8: no live secret is stored, wherever the entry comes from.
        let mut entries = step.entries.to_vec();
        for entry in &mut entries {
            self.session.gate.governance.redactor.mask_live_value(&mut entry.payload);
        }
        let step = Step { entries: &entries, ..*step };
        self.session.gate.store().keep_step(self.session.gate.seat(), &step)?;
        self.catch_up()
    }

    /// Reads the rows that were committed since the last read.
    pub(crate) fn catch_up(&mut self) -> Result<(), StoreError> {
        let store = self.session.gate.store();
        let from = self.context.next();
        store.view_from(self.session.gate.record.session(), from, |row| self.context.read(row))
    }

    pub(crate) fn warn(&self, text: String) {
        self.session.gate.front.warn(text);
    }

    /// The next request to the model, built from the record alone.
    pub(crate) fn request(&self) -> Request<'_> {
        let mut request = Request::new(&self.model_handle.model.wire, self.model_handle.max_output);
        request.system = self.context.system().to_vec();
        (request.earlier, request.recent) = self.context.messages();
        request.messages.extend(self.context.results());
        request.thinking = self.model_handle.thinking;
        let model_handle = &self.model_handle;
        request.effort =
            model_handle.effort.effort().and_then(|effort| model_handle.model.effort(effort));
        // Tools that were found by search come last, so that the part before them stays in the provider's cache.
        let deferred: HashSet<String> =
            self.session.gate.deferred_tools().into_iter().map(|tool| tool.name).collect();
        let mut tools = self.tools();
        tools.retain(|name| !deferred.contains(name));
        tools.extend(self.context.loaded().iter().filter(|name| deferred.contains(*name)).cloned());
        request.tools = self.session.tool_specs(&tools);
        request
    }
}
