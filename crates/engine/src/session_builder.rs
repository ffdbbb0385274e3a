//! Starting a session, for every front-end. The steps and their order are only here:
//!
//! 1. which session ([`Which`]); joining one writes to the record already here;
//! 2. the settings, and trust in the repository's configuration;
//! 3. the extensions;
//! 4. the main agent's role: its tools, hooks and mode (its prompt and servers follow after step 8);
//! 5. the model (of calls without turns: already in `prepare`);
//! 6. the record of a new or forked session: a start that fails before leaves nothing behind;
//! 7. the front-end;
//! 8. the MCP servers;
//! 9. the agent.
//!
//! [`SessionBuilder::prepare`] does the first four, which need no front-end; [`Prepared::session`] and
//! [`Prepared::agent`] do the rest.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ona_front::CoreEnd;
use ona_mcp::TokenStore;
use ona_policy::secrets::LearnedSecrets;
use ona_provider::Model;
use ona_store::{NewFork, NewSession, Seat, Step, StoreError};
use ona_tools::{ModelNeed, PREFIX, STRUCTURED_OUTPUT};
use ona_types::hook::StartSource;
use serde_json::json;

use crate::agent::{Agent, AgentError};
use crate::agent_types::{RoleError, TypeError};
use crate::model_choice::{ChoiceError, ModelWords};
use crate::model_handle::ModelHandle;
use crate::options::AgentOptions;
use crate::session::{Engine, Session};
use crate::which_session::{Fork, SeatError, Which};
use ona_config::settings::{Layer, Settings};
use ona_gate::governance::{Governance, GovernanceError, Unread};
use ona_gate::servers::{Connecting, Deferral};

/// What the program that starts a session provides.
pub trait Starter {
    /// Its error type.
    type Error: From<StartError>;

    /// Shows a warning to the user.
    fn warn(&self, warning: &str);

    /// Shows an error that does not stop the start, and what ona does without.
    fn warn_without(&self, error: &Self::Error, without: &str);

    /// Asks the user whether to trust a folder: what would run, and what else would take effect.
    fn trusts(&self, folder: &Path, runs: &[String], also: &[String]) -> bool;

    /// Whether to start although something cannot be read that may forbid or ask.
    fn goes_on_without(&self, unread: &[String]) -> bool;

    /// What the operator says about the model.
    fn model_words(&self) -> Result<ModelWords, Self::Error>;

    /// The connection to a model. An error means that it cannot be asked, for example because there is no credential.
    fn connect_model(&self, model: Model, access: &ModelAccess)
    -> Result<ModelHandle, Self::Error>;

    /// A model that cannot be asked yet, for a session that starts all the same: somebody may sign in there. Every request
    /// fails with the error.
    fn unconnected(&self, _model: Model, _error: &Self::Error) -> Option<ModelHandle> {
        None
    }

    /// An error in one line, without hints.
    fn message(&self, error: &Self::Error) -> String;

    /// The options for MCP servers.
    fn server_options(&self) -> Result<ServerOptions, Self::Error>;
}

/// What a connection to a model depends on.
pub struct ModelAccess {
    /// The settings in force, by their sources.
    pub layers: Vec<Layer>,
    /// The same, merged.
    pub settings: Settings,
    /// Where the operator's commands run.
    pub project_dir: PathBuf,
    /// Learns secrets that become known later.
    pub learned: LearnedSecrets,
}

/// The options for MCP servers.
pub struct ServerOptions {
    /// The store for tokens.
    pub tokens: Arc<dyn TokenStore>,
    /// When their tools are deferred until the model searches for them.
    pub deferral: Deferral,
    /// How long the start waits for them. A server that connects later is used from then on.
    pub wait: Duration,
}

/// The purpose of the session. It decides what is loaded and connected.
#[derive(Clone, Copy, Debug)]
pub enum Work<'a> {
    /// One call of this tool, without a turn.
    Call(&'a str),
    /// Many calls, without turns.
    Calls,
    /// The turns of an agent.
    Turns {
        /// The type of the main agent, if the operator named one.
        agent: Option<&'a str>,
        /// Whether the operator named the model, which then overrides the agent's own.
        model_named: bool,
    },
}

impl Work<'_> {
    /// Whether MCP servers are connected.
    fn needs_servers(self) -> bool {
        match self {
            Self::Call(tool) => {
                let facts = ona_tools::find(tool).map(|tool| tool.facts());
                tool.starts_with(PREFIX) || facts.is_some_and(|facts| facts.needs_servers)
            }
            Self::Calls => false,
            Self::Turns { .. } => true,
        }
    }

    /// Whether agents, skills and plugins are loaded.
    fn needs_extensions(self) -> bool {
        match self {
            Self::Call(tool) => {
                let facts = ona_tools::find(tool).map(|tool| tool.facts());
                self.needs_servers() || facts.is_some_and(|facts| facts.starts_agents)
            }
            Self::Calls | Self::Turns { .. } => true,
        }
    }
}

/// Why a session cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The session was not found or cannot be used.
    #[error(transparent)]
    Seat(#[from] SeatError),
    /// Its settings cannot be used.
    #[error(transparent)]
    Governance(#[from] GovernanceError),
    /// The main agent's type cannot be used.
    #[error("{from}: {cause}")]
    Role {
        /// Where the type comes from.
        from: RoleFrom,
        /// The error.
        cause: TypeError,
    },
    /// The model is unknown.
    #[error("{cause}")]
    Model {
        /// Why.
        cause: ChoiceError,
        /// The settings that name it.
        named_in: Option<String>,
    },
    /// A rule denies the tool that returns structured answers.
    #[error("--json-schema: a rule denies {STRUCTURED_OUTPUT}, the tool that returns the answer")]
    AnswerDenied,
    /// The main agent's role cannot be applied.
    #[error(transparent)]
    RoleSetup(#[from] RoleError),
    /// The agent cannot start.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The record failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Where the main agent's type comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleFrom {
    /// The command line.
    Option,
    /// The session, which had it before.
    Session,
    /// The settings.
    Setting,
}

impl std::fmt::Display for RoleFrom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Option => "--agent",
            Self::Session => "the agent of the resumed session",
            Self::Setting => "the setting `agent`",
        })
    }
}

/// A session to start.
pub struct SessionBuilder<'a, S> {
    /// The parts that all sessions share.
    pub engine: &'a Engine,
    /// The program that starts it.
    pub starter: S,
    /// The directory, without symlinks.
    pub cwd: &'a Path,
    /// Which session to start.
    pub which: Which,
    /// Its purpose.
    pub work: Work<'a>,
    /// The origin that the record gets for a new session.
    pub origin: &'static str,
    /// Its name.
    pub name: Option<&'a str>,
}

/// A session that can start: its settings are valid. A new session is not on the record yet.
pub struct Prepared<'a, S> {
    builder: SessionBuilder<'a, S>,
    session: Session,
    source: StartSource,
    /// What was decided about guards that cannot be read.
    unread: Unread,
}

impl<'a, S: Starter> SessionBuilder<'a, S> {
    /// Does the steps that can fail because of the user's input or settings.
    pub fn prepare(self) -> Result<Prepared<'a, S>, S::Error> {
        let store = &self.engine.core.store;
        let (seat, source) = self.which.seat(store, self.cwd).map_err(StartError::from)?;
        let (session, unread) = self.open(&seat)?;
        for warning in session.warnings() {
            self.starter.warn(warning);
        }
        let mut prepared = Prepared { builder: self, session, source, unread };
        for warning in prepared.extend()? {
            prepared.builder.starter.warn(&warning);
        }
        Ok(prepared)
    }

    /// Opens the session, if its guards can be read and the repository's configuration is trusted.
    fn open(&self, seat: &Seat) -> Result<(Session, Unread), StartError> {
        let mut unread = Unread::Stops;
        loop {
            match Session::open(self.engine, seat.clone(), self.cwd, unread) {
                Err(GovernanceError::Unread { what }) if self.starter.goes_on_without(&what) => {
                    unread = Unread::IsTold;
                }
                Err(GovernanceError::Untrusted { what, also, request })
                    if self.starter.trusts(
                        &request.root,
                        &request.told(&what),
                        &request.told_also(&also),
                    ) =>
                {
                    request.trust(&self.engine.core.store)?;
                }
                opened => return Ok((opened?, unread)),
            }
        }
    }
}

impl<S: Starter> Prepared<'_, S> {
    /// Whether the session is new or resumed.
    pub fn source(&self) -> StartSource {
        self.source
    }

    /// The first user message of the main agent's type.
    pub fn initial_prompt(&self) -> Option<&str> {
        self.session.initial_prompt().filter(|_| self.source == StartSource::Startup)
    }

    /// The merged settings.
    pub fn settings(&self) -> Settings {
        self.session.gate.settings()
    }

    /// What governs it.
    pub fn governance(&self) -> &Governance {
        &self.session.gate.governance
    }

    /// The model, to be asked outside the turns of an agent.
    pub fn model(&self) -> Result<ModelHandle, S::Error> {
        self.builder.starter.connect_model(self.chosen(None)?, &self.access())
    }

    /// What a connection to a model depends on.
    fn access(&self) -> ModelAccess {
        self.session.model_access()
    }

    /// Loads the extensions and sets the main agent's role, as far as the work needs them. Returns warnings.
    fn extend(&mut self) -> Result<Vec<String>, S::Error> {
        let work = self.builder.work;
        let mut warnings = match work.needs_extensions() {
            true => self.session.load_extensions().map_err(StartError::from)?,
            false => Vec::new(),
        };
        if let Work::Turns { agent, .. } = work {
            let (words, settings) = (self.builder.starter.model_words()?, self.settings());
            let missing = self.session.missing_references(|name| words.knows(name, &settings));
            warnings.extend(missing.map_err(StartError::from)?.iter().map(ToString::to_string));
            self.take_role(agent)?;
        }
        Ok(warnings)
    }

    /// The model that the operator, the session's last answer or the settings name.
    fn chosen(&self, last: Option<&(String, String)>) -> Result<Model, S::Error> {
        let words = self.builder.starter.model_words()?;
        let chosen = words.choose(&self.settings(), last).map_err(|cause| {
            let named_in = self.model_named_in().filter(|_| words.model.is_none());
            StartError::Model { cause, named_in }
        });
        Ok(chosen?)
    }

    /// The settings that name the model.
    fn model_named_in(&self) -> Option<String> {
        let names = |layer: &&Layer| {
            layer.json.contains_key("model") || layer.json.contains_key("model_config")
        };
        let layers = self.session.gate.layers();
        layers.iter().rfind(names).map(|layer| layer.source.to_string())
    }

    /// The model of the turns.
    fn model_for_turns(&self) -> Result<ModelHandle, S::Error> {
        let starter = &self.builder.starter;
        let store = &self.builder.engine.core.store;
        let last = store.last_model(&self.session.seat().session).map_err(StartError::from)?;
        let model = self.chosen(last.as_ref())?;
        match starter.connect_model(model.clone(), &self.access()) {
            Ok(model) => Ok(model),
            Err(error) => {
                if let Some(handle) = starter.unconnected(model, &error) {
                    return Ok(handle);
                }
                self.record_refusal(&error).map_err(StartError::from)?;
                Err(error)
            }
        }
    }

    /// Sets the main agent's type: the one the operator named, else the one the session had, else the one in the settings.
    fn take_role(&mut self, named: Option<&str>) -> Result<(), StartError> {
        let before = self.builder.engine.core.store.role_of(&self.session.seat().session)?;
        let settings = self.session.gate.settings();
        let (from, name, mode) = match (named, before, settings.agent.as_deref()) {
            (Some(name), ..) => (RoleFrom::Option, name.to_owned(), None),
            (None, Some(role), _) => (RoleFrom::Session, role.agent, role.mode),
            (None, None, Some(name)) => (RoleFrom::Setting, name.to_owned(), None),
            (None, None, None) => return Ok(()),
        };
        let mode = mode.and_then(|mode| mode.parse().ok());
        let taken = self.session.take_role(&name, mode);
        taken.map_err(|cause| StartError::Role { from, cause })
    }

    /// S0 §2.4, 3: a model that cannot be asked is recorded; where a session was to be forked, in the original.
    fn record_refusal(&self, error: &S::Error) -> Result<(), StoreError> {
        if self.source == StartSource::Startup {
            self.create_record()?;
        }
        let message = self.builder.starter.message(error);
        let detail = json!({"error": "authentication_failed", "message": message});
        let event = Some(("turn.refused", &detail));
        let store = &self.builder.engine.core.store;
        store.keep_step(self.session.seat(), &Step { event, ..Step::default() })
    }

    /// The model for hooks and tools, if they need one. Without a model such hooks are skipped, which is recorded, and such
    /// tools return an error.
    fn model_for_calls(&self) -> Option<ModelHandle> {
        let (session, starter) = (&self.session, &self.builder.starter);
        let work = self.builder.work;
        let need = match work {
            Work::Call(tool) => session.model_need(tool),
            Work::Calls | Work::Turns { .. } => ModelNeed::IfThereIsOne,
        };
        if !session.wants_model() && need == ModelNeed::None {
            return None;
        }
        let found = || starter.connect_model(self.chosen(None)?, &self.access());
        let error: S::Error = match found() {
            Ok(model) => return Some(model),
            Err(error) => error,
        };
        match work {
            _ if session.wants_model() => {
                starter.warn_without(&error, "hooks that call a model do not run");
            }
            Work::Call(tool) if need == ModelNeed::Always => {
                starter.warn_without(&error, &format!("{tool} needs a model"));
            }
            _ => {}
        }
        None
    }

    /// Creates the record of a new session, or the copy of one that is forked. A copy is a session of its own, with its own
    /// settings.
    fn recorded(mut self) -> Result<Self, S::Error> {
        let SessionBuilder { engine, cwd, origin, name, .. } = self.builder;
        if let Some(Fork { id, at }) = self.builder.which.fork() {
            let new = NewFork { id: id.as_ref(), upto: *at, origin, name };
            let copied = engine.core.store.fork_session(self.session.seat(), &new);
            let seat = copied.map_err(StartError::from)?;
            let opened = Session::open(engine, seat, cwd, self.unread);
            self.session = opened.map_err(StartError::from)?;
            self.extend()?;
        } else {
            self.create_record().map_err(StartError::from)?;
        }
        Ok(self)
    }

    /// Creates the record of a new session; one that goes on gets its name.
    fn create_record(&self) -> Result<(), StoreError> {
        let (store, seat) = (&self.builder.engine.core.store, self.session.seat());
        match (self.source, self.builder.name) {
            (StartSource::Startup, name) => {
                store.new_session(&NewSession {
                    project_dir: &seat.project_dir,
                    conversation: Some(&seat.conversation),
                    id: Some(&seat.session),
                    origin: self.builder.origin,
                    name,
                })?;
            }
            (_, Some(name)) => store.rename_session(seat, Some(name))?,
            (_, None) => {}
        }
        Ok(())
    }

    /// The session, ready for calls. `options` are those of the agents that calls start.
    pub async fn session(self, front: CoreEnd, options: AgentOptions) -> Result<Session, S::Error> {
        let model = self.model_for_calls();
        let Self { builder, session, .. } = self.recorded()?;
        let mut session = session.with_front(front);
        if let Some(model) = model {
            builder.warn_of_effort(&model);
            session = session.with_model(Arc::new(model)).with_agent_options(options);
        }
        if builder.work.needs_servers() {
            builder.connect(&mut session).await?;
        }
        Ok(session)
    }

    /// The agent, ready for its first prompt.
    pub async fn agent(self, front: CoreEnd, options: AgentOptions) -> Result<Agent, S::Error> {
        let permissions = &self.session.gate.governance.permissions;
        if options.shape.is_some() && permissions.denies_tool(STRUCTURED_OUTPUT, Default::default())
        {
            return Err(StartError::AnswerDenied.into());
        }
        let model = self.model_for_turns()?;
        let Self { builder, session, source, .. } = self.recorded()?;
        let session = session.with_front(front);
        let named = matches!(builder.work, Work::Turns { model_named: true, .. });
        let model = session.role_model(model, named);
        builder.warn_of_effort(&model);
        let model = Arc::new(model);
        let mut session = session.with_model(Arc::clone(&model));
        builder.connect(&mut session).await?;
        let source = options.source.or(Some(source));
        let options = AgentOptions { source, ..options };
        let options = Box::pin(session.apply_role(options)).await.map_err(StartError::from)?;
        let agent = Box::pin(Agent::start(session, model, options)).await;
        Ok(agent.map_err(StartError::from)?)
    }
}

impl<S: Starter> SessionBuilder<'_, S> {
    /// Connects the session's MCP servers, and waits for them up to the limit.
    async fn connect(&self, session: &mut Session) -> Result<(), S::Error> {
        let ServerOptions { tokens, deferral, wait } = self.starter.server_options()?;
        let servers = session.servers().map_err(StartError::from)?;
        for warning in &servers.warnings {
            self.starter.warn(&warning.to_string());
        }
        let secrets = servers.secrets().map(str::to_owned).collect();
        let connecting =
            Connecting { secrets, specs: servers.specs, tokens: Some(tokens), deferral };
        session.gate.connect(connecting).map_err(StartError::from)?;
        session.gate.settle_servers(wait).await;
        Ok(())
    }

    /// Warns if the model does not support the operator's effort.
    fn warn_of_effort(&self, model: &ModelHandle) {
        if let Some(warning) = model.unsupported_effort() {
            self.starter.warn(&warning);
        }
    }
}
