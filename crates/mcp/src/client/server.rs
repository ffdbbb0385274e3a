//! A server as the pool knows it: its status, and what it offers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use super::connect::Link;
use super::lists::{McpPrompt, McpResource, McpTemplate, McpTool};
use crate::spec::ServerSpec;

/// When a lost connection is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often it is tried.
    pub most: u32,
    /// How long is waited before the first try; each further one waits twice as long.
    pub first: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { most: 5, first: Duration::from_secs(1) }
    }
}

/// The status of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// It is being connected.
    Pending,
    /// It is connected.
    Connected,
    /// Connecting failed, and there is no further retry.
    Failed,
    /// It wants the human to sign in.
    NeedsAuth,
    /// It is disabled.
    Disabled,
}

/// What a server says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInfo {
    /// What it calls itself.
    pub name: String,
    /// What humans know it by.
    pub title: Option<String>,
    /// Its version.
    pub version: String,
    /// The version of the protocol that is spoken.
    pub protocol: String,
}

/// What is known of a server at a moment.
#[derive(Default)]
pub(crate) struct View {
    pub(crate) state: Option<ServerState>,
    pub(crate) error: Option<String>,
    pub(crate) link: Option<Arc<Link>>,
    pub(crate) info: Option<ServerInfo>,
    pub(crate) instructions: Option<String>,
    pub(crate) tools: Arc<Vec<McpTool>>,
    /// Warnings about tools that are left out.
    pub(crate) left_out: Vec<String>,
    pub(crate) prompts: Arc<Vec<McpPrompt>>,
    pub(crate) resources: Arc<Vec<McpResource>>,
    pub(crate) templates: Arc<Vec<McpTemplate>>,
    /// The server's challenge to sign in.
    pub(crate) challenge: Option<String>,
}

/// A command for a keeper.
pub(crate) enum Command {
    /// Connect, replacing an existing connection. Answered when it starts.
    Connect(oneshot::Sender<()>),
    /// Disconnect and stay so. Answered when the server can no longer be called.
    Disable(oneshot::Sender<()>),
    /// A request found the connection broken.
    Broken(Arc<Link>, String),
}

/// A server, as the pool knows it.
pub(crate) struct Server {
    pub(crate) spec: ServerSpec,
    pub(crate) slug: String,
    pub(crate) commands: mpsc::Sender<Command>,
    view: Mutex<View>,
    news: News,
}

/// Tells of changes.
#[derive(Clone)]
pub(crate) struct News {
    /// Counts changes of any kind.
    pub(crate) any: watch::Sender<u64>,
    /// Counts changes of tools.
    pub(crate) tools: watch::Sender<u64>,
}

impl Server {
    pub(crate) fn new(
        spec: ServerSpec,
        slug: String,
        commands: mpsc::Sender<Command>,
        news: News,
    ) -> Self {
        let view = View { state: Some(ServerState::Pending), ..View::default() };
        Self { spec, slug, commands, view: Mutex::new(view), news }
    }

    pub(crate) fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut View)) {
        let tools_changed = {
            let mut view = self.view();
            let before = Arc::clone(&view.tools);
            change(&mut view);
            !Arc::ptr_eq(&before, &view.tools) && before != view.tools
        };
        if tools_changed {
            self.news.tools.send_modify(|version| *version += 1);
        }
        self.news.any.send_modify(|version| *version += 1);
    }

    /// Sets a state without a connection.
    pub(crate) fn without(&self, state: ServerState, error: Option<String>) {
        self.change(|view| {
            let challenge = view.challenge.take();
            *view = View { state: Some(state), error, challenge, ..View::default() };
        });
    }
}
