//! The gate: every step of a call from the request to the record (DESIGN §3).
//!
//! [`Gate`] holds what judges one session's calls: its record, its governance, its toolbox and its front-end.
//! [`Gate::call`] judges, runs and records a call, [`Gate::explain`] only judges it, and [`Gate::judge_foreign`] judges a
//! call that another agent's host runs. All three walk the same list of stages ([`stages`]).

mod attribution;
pub mod call;
pub mod core;
pub mod explain;
pub mod file_diff;
pub mod file_history;
pub mod foreign;
pub mod governance;
pub mod hooks;
pub mod intents;
pub mod judgement;
mod masked_path;
mod moved;
pub mod moved_tasks;
pub mod outcome;
mod planning;
pub mod rule_words;
mod run;
pub mod sandbox;
mod sandboxed_call;
pub mod servers;
pub mod services;
pub mod settle;
pub mod stages;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod toolbox;

use std::future::Future;
use std::path::Path;
use std::sync::Arc;

use ona_config::settings::{Layer, Settings};
use ona_front::{CoreEnd, Human, channel};
use ona_intents::Workspace;
use ona_policy::secrets::Redactor;
use ona_store::{Seat, Standing, Store, StoreError};
use ona_tools::Place;
use ona_types::{PermissionMode, Phase, SessionId};
use tokio::sync::Semaphore;

use self::core::Core;
use self::governance::{AgentTerms, Governance};
use self::services::EngineServices;
use self::toolbox::Toolbox;

/// A session's place in the record.
#[derive(Clone, Debug)]
pub struct Record {
    /// What the process shares, including the store.
    pub core: Arc<Core>,
    /// The conversation and the session.
    pub seat: Seat,
}

impl Record {
    /// The store.
    pub fn store(&self) -> &Store {
        &self.core.store
    }

    /// The session's id.
    pub fn session(&self) -> &SessionId {
        &self.seat.session
    }

    /// The phase of the conversation, and whether its plan is approved. An unrecorded conversation has just begun.
    pub fn standing(&self) -> Result<Standing, StoreError> {
        match self.store().standing(&self.seat.conversation) {
            Err(StoreError::UnknownConversation(_)) => {
                Ok(Standing { phase: Phase::Idle, approved_plan: false })
            }
            standing => standing,
        }
    }
}

/// Judges the calls of one session.
pub struct Gate {
    /// Where they are recorded.
    pub record: Record,
    /// The rules and hooks in force, and the directories they apply to.
    pub governance: Governance,
    /// The tools.
    pub toolbox: Toolbox,
    /// The front-end, which is told of events and asked.
    pub front: CoreEnd,
    /// The workspace with intents, if the project has any.
    pub workspace: Option<Arc<Workspace>>,
    /// The engine's services for calls: models, agents, skills.
    pub engine: Arc<dyn EngineServices>,
    /// The names of MCP servers that are configured, where they are not connected.
    pub unconnected: Vec<String>,
    /// Whether the old content of files that calls change is kept, so that the operator can go back.
    pub keeps_files: bool,
    /// One call at a time is judged, run and recorded, however many agents are running.
    turn: Arc<Semaphore>,
    /// The mode before planning.
    mode_before_planning: Option<PermissionMode>,
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").field("seat", &self.record.seat).finish_non_exhaustive()
    }
}

impl Gate {
    /// A gate without a front-end.
    pub fn new(record: Record, governance: Governance, engine: Arc<dyn EngineServices>) -> Self {
        let (front, ..) = channel(Human::Nobody);
        let toolbox = Toolbox::new(record.core.config.skills_off);
        let mut gate = Self {
            record,
            governance,
            toolbox,
            front,
            workspace: None,
            engine,
            unconnected: Vec::new(),
            keeps_files: false,
            turn: Arc::new(Semaphore::new(1)),
            mode_before_planning: None,
        };
        gate.find_workspace();
        gate
    }

    /// The gate of a session that this one starts, with the same tools of servers.
    pub fn for_agent(
        &self,
        seat: Seat,
        terms: AgentTerms<'_>,
        front: CoreEnd,
    ) -> Result<Self, StoreError> {
        let governance = self.governance.for_agent(&self.record.seat, &seat, terms)?;
        let record = Record { core: Arc::clone(&self.record.core), seat };
        Ok(Self {
            record,
            governance,
            toolbox: self.toolbox.for_agent(),
            front,
            workspace: None,
            engine: Arc::clone(&self.engine),
            unconnected: Vec::new(),
            keeps_files: self.keeps_files,
            turn: Arc::new(Semaphore::new(1)),
            mode_before_planning: None,
        })
    }

    /// The same gate, for concurrent work.
    pub fn beside(&self) -> Result<Self, StoreError> {
        let seat = &self.record.seat;
        let terms = AgentTerms::at(self.place().clone());
        Ok(Self {
            record: self.record.clone(),
            governance: self.governance.for_agent(seat, seat, terms)?,
            toolbox: self.toolbox.clone(),
            front: self.front.another(),
            workspace: self.workspace.clone(),
            engine: Arc::clone(&self.engine),
            unconnected: Vec::new(),
            keeps_files: self.keeps_files,
            turn: Arc::clone(&self.turn),
            mode_before_planning: self.mode_before_planning,
        })
    }

    /// Where calls happen.
    pub fn place(&self) -> &Place {
        self.governance.place()
    }

    /// The store.
    pub fn store(&self) -> &Store {
        self.record.store()
    }

    /// The session's place in the record.
    pub fn seat(&self) -> &Seat {
        &self.record.seat
    }

    /// Masks secrets.
    pub fn redactor(&self) -> &Redactor {
        &self.governance.redactor
    }

    /// The permission mode in force.
    pub fn mode(&self) -> PermissionMode {
        self.governance.permissions.mode()
    }

    /// The tools that may be called.
    pub fn offered(&self) -> Vec<String> {
        self.toolbox.offered(&self.governance.permissions)
    }

    /// The settings in force, by their sources.
    pub fn layers(&self) -> &[Layer] {
        self.governance.layers()
    }

    /// The settings in force, merged.
    pub fn settings(&self) -> Settings {
        self.governance.settings()
    }

    /// Waits for something while other calls may pass the gate.
    pub async fn while_others_pass<T>(&self, waiting: impl Future<Output = T>) -> T {
        self.leave();
        let done = waiting.await;
        self.enter().await;
        done
    }

    /// Waits for a turn at the gate.
    async fn enter(&self) {
        // It is never closed.
        if let Ok(permit) = self.turn.acquire().await {
            permit.forget();
        }
    }

    /// Lets the next call pass.
    fn leave(&self) {
        self.turn.add_permits(1);
    }

    /// Checks whether the project has intents: the first one may be new. A session that began with intents keeps them.
    pub fn find_workspace(&mut self) {
        let root = ona_intents::file::workspace(&self.place().project_dir);
        let known = self.workspace.as_ref().map(|workspace| workspace.root().to_owned());
        let root = root.and_then(|root| root.canonicalize().ok());
        if let Some(root) = root.filter(|root| Some(root) != known.as_ref()) {
            self.workspace = Workspace::at(&root).ok().map(Arc::new);
        }
        self.toolbox.offer_intents(self.workspace.as_ref());
    }

    /// Uses the intents of this workspace, wherever the session's directory is.
    pub fn use_workspace(&mut self, workspace: Option<Arc<Workspace>>) {
        self.workspace = workspace;
        self.toolbox.offer_intents(self.workspace.as_ref());
    }

    /// The session has moved to another directory.
    fn moved(&mut self, cwd: &Path) {
        self.governance.moved(cwd);
    }
}
