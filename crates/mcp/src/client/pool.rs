//! All servers of a session, together.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ona_sandbox::confine::Confined;
use ona_types::gate::Permit;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::call::{Asking, CallOptions};
use super::callbacks::{Browser, ServerCallbacks, TokenStore, token_key};
use super::child::Groups;
use super::connect::{Common, Link};
use super::content::{CallOutcome, PromptMessage, ResourceContent};
use super::error::McpError;
use super::keeper::Keeper;
use super::lists::{McpPrompt, McpResource, McpTemplate, McpTool};
use super::names::slugs;
use super::oauth::{AuthorizeError, sign_in};
use super::server::{Command, News, Retry, Server, ServerInfo, ServerState};
use super::server_requests::Root;
use crate::spec::{Remote, ServerSpec, Way};

/// How long all servers together may take to end.
const CLOSE_WITHIN: Duration = Duration::from_secs(5);
/// How long it may take to tell a server that the roots changed.
const TELL_WITHIN: Duration = Duration::from_secs(1);
/// The limit for queued commands of a keeper.
const MAX_COMMANDS: usize = 16;

/// What a pool is started with, beside its servers.
#[derive(Clone, Default)]
pub struct PoolOptions {
    /// Directories that servers may work in.
    pub roots: Vec<Root>,
    /// The store for tokens; without it, signing in is not possible.
    pub tokens: Option<Arc<dyn TokenStore>>,
    /// Servers that are connected only on request.
    pub disabled: HashSet<String>,
    /// When lost connections are retried.
    pub retry: Retry,
    /// What programs may touch; everything if `None`.
    pub confined: Option<Confined>,
}

/// The status of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerStatus {
    /// What it is called in settings.
    pub name: String,
    /// What it is called in names of tools.
    pub slug: String,
    /// Its state.
    pub state: ServerState,
    /// What is wrong; for a program with what it last said.
    pub error: Option<String>,
    /// What it says it is.
    pub info: Option<ServerInfo>,
    /// How many tools it has.
    pub tools: usize,
    /// Warnings about tools that are left out because no model could use them.
    pub left_out: Vec<String>,
    /// Its first output that is not a message.
    pub noise: Option<String>,
    /// What it says a model should know, cut at 2 KB.
    pub instructions: Option<String>,
}

/// The servers of a session. Each is connected by a task of its own; none can hold up another.
///
/// When this is dropped, programs are killed with everything in their process groups; [`Pool::close`] asks them to end
/// first.
pub struct Pool {
    servers: Vec<Arc<Server>>,
    common: Common,
    news: News,
    closing: CancellationToken,
    keepers: Mutex<Vec<JoinHandle<()>>>,
}

impl Pool {
    /// Starts to connect servers, and returns at once. It has to be called within a runtime of tokio. Of servers with the
    /// same name the first counts.
    pub fn start(specs: Vec<ServerSpec>, callbacks: Arc<dyn ServerCallbacks>) -> Self {
        Self::start_with(specs, callbacks, PoolOptions::default())
    }

    /// The same, with options.
    pub fn start_with(
        mut specs: Vec<ServerSpec>,
        callbacks: Arc<dyn ServerCallbacks>,
        options: PoolOptions,
    ) -> Self {
        let mut names = HashSet::new();
        specs.retain(|spec| names.insert(spec.name.clone()));
        let slugs = slugs(specs.iter().map(|spec| spec.name.as_str()));
        let common = Common {
            callbacks,
            tokens: options.tokens,
            roots: Arc::new(Mutex::new(options.roots)),
            groups: Groups::default(),
            confined: options.confined,
            web: Arc::default(),
        };
        let news = News { any: watch::Sender::new(0), tools: watch::Sender::new(0) };
        let closing = CancellationToken::new();
        let (mut servers, mut keepers) = (Vec::new(), Vec::new());
        for (spec, slug) in specs.into_iter().zip(slugs) {
            let enabled = !options.disabled.contains(&spec.name);
            let (sender, commands) = mpsc::channel(MAX_COMMANDS);
            let server = Arc::new(Server::new(spec, slug, sender, news.clone()));
            let keeper = Keeper {
                server: Arc::clone(&server),
                common: common.clone(),
                retry: options.retry,
                commands,
                closing: closing.clone(),
                enabled,
            };
            keepers.push(tokio::spawn(keeper.keep()));
            servers.push(server);
        }
        Self { servers, common, news, closing, keepers: Mutex::new(keepers) }
    }

    /// Waits until every server is connected or has failed, at most this long.
    pub async fn settle(&self, within: Duration) {
        let settled = self.until(|| {
            self.servers.iter().all(|server| server.view().state != Some(ServerState::Pending))
        });
        let _ = tokio::time::timeout(within, settled).await;
    }

    /// Waits until changed tool lists are read again, at most this long.
    pub async fn tools_known(&self, within: Duration) {
        let links = self.servers.iter().filter_map(|server| server.view().link.clone());
        let links: Vec<Arc<Link>> = links.collect();
        let known = async {
            for link in &links {
                link.stale.tools_known().await;
            }
        };
        let _ = tokio::time::timeout(within, known).await;
    }

    async fn until(&self, reached: impl Fn() -> bool) {
        let mut news = self.news.any.subscribe();
        while !reached() {
            if news.changed().await.is_err() {
                return;
            }
        }
    }

    /// The status of every server, in their order.
    pub fn statuses(&self) -> Vec<ServerStatus> {
        self.servers.iter().map(|server| status(server)).collect()
    }

    /// Counts changes of states and lists, for displays that wait for a change.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.news.any.subscribe()
    }

    /// Changes whenever the tools of a server do.
    pub fn version(&self) -> u64 {
        *self.news.tools.borrow()
    }

    /// The tools of all servers that are connected.
    pub fn tools(&self) -> Vec<McpTool> {
        self.servers.iter().flat_map(|server| server.view().tools.to_vec()).collect()
    }

    /// The tool that models know by this name.
    pub fn find(&self, full_name: &str) -> Option<McpTool> {
        self.servers.iter().find_map(|server| {
            let tools = Arc::clone(&server.view().tools);
            tools.iter().find(|tool| tool.full_name == full_name).cloned()
        })
    }

    /// The prompts of all servers that are connected.
    pub fn prompts(&self) -> Vec<McpPrompt> {
        self.servers.iter().flat_map(|server| server.view().prompts.to_vec()).collect()
    }

    /// The resources of one server, or of all that are connected.
    pub fn resources(&self, server: Option<&str>) -> Result<Vec<McpResource>, McpError> {
        match server {
            None => {
                let all = self.servers.iter();
                Ok(all.flat_map(|server| server.view().resources.to_vec()).collect())
            }
            Some(name) => {
                let server = self.server(name)?;
                self.link(server)?;
                Ok(server.view().resources.to_vec())
            }
        }
    }

    /// The shapes of addresses of one server, or of all that are connected.
    pub fn templates(&self, server: Option<&str>) -> Result<Vec<McpTemplate>, McpError> {
        match server {
            None => {
                let all = self.servers.iter();
                Ok(all.flat_map(|server| server.view().templates.to_vec()).collect())
            }
            Some(name) => {
                let server = self.server(name)?;
                self.link(server)?;
                Ok(server.view().templates.to_vec())
            }
        }
    }

    /// Calls a tool that the gate has permitted, by the names that the server and its settings give. It may take as long as the server's settings say,
    /// whatever progress it makes; only the time in which the human answers the server's own questions does not count.
    pub async fn call(
        &self,
        permit: &Permit,
        server: &str,
        tool: &str,
        arguments: Map<String, Value>,
        options: CallOptions,
    ) -> Result<CallOutcome, McpError> {
        let server = self.server(server)?;
        let link = self.link(server)?;
        let known = server.view().tools.iter().find(|known| known.name == tool).cloned();
        let Some(known) = known else {
            let (server, tool) = (server.spec.name.clone(), tool.to_owned());
            return Err(McpError::UnknownTool { server, tool });
        };
        permit.check(&known.full_name, &Value::Object(arguments.clone()))?;
        let asking = asking(server, &link, options.cancel);
        let outcome = asking.call(tool, arguments, options.progress).await;
        self.look_after(server, &link, outcome)
    }

    /// Reads a resource, on behalf of a call that the gate has permitted.
    pub async fn read(
        &self,
        _permit: &Permit,
        server: &str,
        uri: &str,
        cancel: CancellationToken,
    ) -> Result<Vec<ResourceContent>, McpError> {
        let server = self.server(server)?;
        let link = self.link(server)?;
        let read = asking(server, &link, cancel).read(uri).await;
        self.look_after(server, &link, read)
    }

    /// The messages of a prompt. Arguments are strings.
    pub async fn prompt(
        &self,
        server: &str,
        name: &str,
        arguments: Vec<(String, String)>,
        cancel: CancellationToken,
    ) -> Result<Vec<PromptMessage>, McpError> {
        let server = self.server(server)?;
        let link = self.link(server)?;
        let arguments = arguments.into_iter().map(|(name, text)| (name, text.into())).collect();
        let said = asking(server, &link, cancel).prompt(name, arguments).await;
        self.look_after(server, &link, said)
    }

    /// Gives servers other directories to work in, and tells those that are connected.
    pub async fn set_roots(&self, roots: Vec<Root>) {
        *self.common.roots.lock().unwrap_or_else(PoisonError::into_inner) = roots;
        let links: Vec<_> =
            self.servers.iter().filter_map(|server| server.view().link.clone()).collect();
        for link in links {
            #[allow(deprecated, reason = "servers of today ask for roots")]
            let told = link.running.peer().notify_roots_list_changed();
            let _ = tokio::time::timeout(TELL_WITHIN, told).await;
        }
    }

    /// Reconnects a server, and waits for the result.
    pub async fn reconnect(&self, name: &str) -> Result<ServerStatus, McpError> {
        let server = self.server(name)?;
        self.tell(server, Command::Connect).await;
        let within = server.spec.start_timeout.saturating_add(CLOSE_WITHIN);
        let settled = self.until(|| server.view().state != Some(ServerState::Pending));
        let _ = tokio::time::timeout(within, settled).await;
        Ok(status(server))
    }

    /// Ends the connection with a server, and makes none until [`Pool::reconnect`].
    pub async fn disable(&self, name: &str) -> Result<(), McpError> {
        self.tell(self.server(name)?, Command::Disable).await;
        Ok(())
    }

    /// Has the human sign in to a server, stores the tokens, and connects.
    pub async fn authorize(
        &self,
        name: &str,
        browser: &dyn Browser,
    ) -> Result<ServerStatus, AuthorizeError> {
        let server = self.server(name)?;
        let (remote, store) = self.remote(server)?;
        let challenge = server.view().challenge.clone();
        sign_in(name, remote, store, challenge.as_deref(), browser).await?;
        Ok(self.reconnect(name).await?)
    }

    /// Forgets the tokens of a server, and connects without.
    pub async fn sign_out(&self, name: &str) -> Result<ServerStatus, AuthorizeError> {
        let server = self.server(name)?;
        let (remote, store) = self.remote(server)?;
        let (store, key) = (Arc::clone(store), token_key(name, &remote.url));
        let forgotten = tokio::task::spawn_blocking(move || store.forget(&key)).await;
        let why = match forgotten {
            Ok(Ok(())) => return Ok(self.reconnect(name).await?),
            Ok(Err(why)) => why.to_string(),
            Err(error) => error.to_string(),
        };
        Err(AuthorizeError::Refused { server: name.to_owned(), why })
    }

    /// Ends everything: programs see their input closed, and whatever is left of their process groups shortly after is
    /// killed.
    pub async fn close(&self) {
        self.closing.cancel();
        let keepers =
            std::mem::take(&mut *self.keepers.lock().unwrap_or_else(PoisonError::into_inner));
        let deadline = Instant::now() + CLOSE_WITHIN;
        for mut keeper in keepers {
            if tokio::time::timeout_at(deadline, &mut keeper).await.is_err() {
                keeper.abort();
            }
        }
        self.common.groups.kill_all();
    }

    fn server(&self, name: &str) -> Result<&Arc<Server>, McpError> {
        self.servers.iter().find(|server| server.spec.name == name).ok_or_else(|| {
            let known: Vec<&str> =
                self.servers.iter().map(|server| server.spec.name.as_str()).collect();
            let known = match known.is_empty() {
                true => "none".to_owned(),
                false => known.join(", "),
            };
            McpError::UnknownServer { name: name.to_owned(), known }
        })
    }

    /// The connection with a server.
    fn link(&self, server: &Server) -> Result<Arc<Link>, McpError> {
        let view = server.view();
        let name = server.spec.name.clone();
        let why = match (&view.link, view.state) {
            (Some(link), _) => return Ok(Arc::clone(link)),
            (None, Some(ServerState::NeedsAuth)) => {
                return Err(McpError::NeedsAuth { server: name });
            }
            (None, Some(ServerState::Disabled)) => Some("it is switched off".to_owned()),
            (None, _) => view.error.clone(),
        };
        let why = why.unwrap_or_else(|| "it is still being started".to_owned());
        Err(McpError::NotConnected { server: name, why })
    }

    /// Requests a reconnect after a lost connection.
    fn look_after<T>(
        &self,
        server: &Server,
        link: &Arc<Link>,
        outcome: Result<T, McpError>,
    ) -> Result<T, McpError> {
        if let Err(error) = &outcome
            && error.is_broken()
        {
            // If the keeper is busy it knows already.
            let broken = Command::Broken(Arc::clone(link), error.to_string());
            let _ = server.commands.try_send(broken);
        }
        outcome
    }

    /// Sends a command to a keeper, and waits until it starts to act on it.
    async fn tell(&self, server: &Server, command: impl FnOnce(oneshot::Sender<()>) -> Command) {
        let (sender, heard) = oneshot::channel();
        if server.commands.send(command(sender)).await.is_ok() {
            let _ = heard.await;
        }
    }

    /// A server that one can sign in to, and where its tokens are kept.
    fn remote<'a>(
        &'a self,
        server: &'a Server,
    ) -> Result<(&'a Remote, &'a Arc<dyn TokenStore>), AuthorizeError> {
        let name = server.spec.name.clone();
        let remote = match &server.spec.way {
            Way::Http(remote) | Way::Sse(remote) => remote,
            Way::Stdio { .. } => return Err(AuthorizeError::NotRemote(name)),
        };
        let why = "there is no store for tokens".to_owned();
        let refused = AuthorizeError::Refused { server: name, why };
        Ok((remote, self.common.tokens.as_ref().ok_or(refused)?))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.closing.cancel();
        for keeper in self.keepers.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            keeper.abort();
        }
        self.common.groups.kill_all();
    }
}

fn asking<'a>(server: &'a Server, link: &'a Link, cancel: CancellationToken) -> Asking<'a> {
    let ServerSpec { name, call_timeout, .. } = &server.spec;
    Asking { server: name, link, within: *call_timeout, cancel }
}

fn status(server: &Server) -> ServerStatus {
    let view = server.view();
    ServerStatus {
        name: server.spec.name.clone(),
        slug: server.slug.clone(),
        state: view.state.unwrap_or(ServerState::Pending),
        error: view.error.clone(),
        info: view.info.clone(),
        tools: view.tools.len(),
        left_out: view.left_out.clone(),
        noise: view.link.as_ref().and_then(|link| link.noise.heard()),
        instructions: view.instructions.clone(),
    }
}
