//! Tools, resources and prompts of MCP servers in a session.
//!
//! A server's tool is a tool like any other: it has a name that rules and hooks can be held against, passes the gate, and
//! its result is kept within bounds. A server that is not there, or not there yet, costs a session nothing but its tools.

mod desk;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ona_front::Event;
use ona_hooks::runs_of;
use ona_mcp::{
    Body, ContentPart, McpTool, OnProgress, Pool, PoolOptions, Progress, PromptArgument,
    ResourceContent, Root, ServerSpec, ServerState, ServerStatus, TokenStore, Way, token_key,
};
use ona_policy::secrets::Late;
use ona_policy::{Answer, By, Call, Stage, Verdict};
use ona_store::{Step, StoreError};
use ona_tools::{Deferred, ServerTool, Tool};
use ona_types::{Behavior, Entry, SystemNote, ToolUseId};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::compact::WINDOW;
use crate::explain;
use crate::extensions::{AgentDefinition, ServerUse};
use crate::gate::PendingCall;
use crate::servers::{self, PluginServers};
use crate::session::Session;
pub use desk::ELICITATION;
use desk::SessionDesk;

/// How the names of servers' tools begin.
pub(crate) const PREFIX: &str = "mcp__";

/// How long an agent waits for servers of its own.
const AGENT_WAIT: Duration = Duration::from_secs(5);
/// How long a question to the model waits for tools that a server has said are others now.
const LISTS_WAIT: Duration = Duration::from_millis(500);

/// Built-in tools that are of use only where there are servers.
pub(crate) const FOR_SERVERS: &[&str] = &["ListMcpResources", "ReadMcpResource", "ToolSearch"];

/// When tools of servers are kept from the model until it looks for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferral {
    /// Always.
    Always,
    /// Never.
    Never,
    /// When they would fill more of the context than this, in percent.
    Above(u8),
}

impl Default for Deferral {
    fn default() -> Self {
        Self::Above(10)
    }
}

/// The servers of a session, and how their tools are offered.
#[derive(Clone)]
pub(crate) struct Connected {
    pub(crate) pool: Arc<Pool>,
    /// Servers that an agent has for itself.
    own: Option<Arc<Pool>>,
    /// The only servers whose tools are offered, where an agent names some.
    only: Option<Vec<String>>,
    pub(crate) deferral: Deferral,
}

impl Connected {
    /// The tools that are offered, of all servers.
    fn tools(&self) -> Vec<McpTool> {
        let mut tools = self.pool.tools();
        if let Some(own) = &self.own {
            tools.extend(own.tools());
        }
        tools.retain(|tool| self.offers(&tool.server));
        tools
    }

    /// Whether a server is one of those that the session has.
    fn offers(&self, server: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|one| one == server))
    }

    fn find(&self, name: &str) -> Option<(Arc<Pool>, McpTool)> {
        let pools = self.own.iter().chain([&self.pool]);
        let mut found = pools.filter_map(|pool| Some((Arc::clone(pool), pool.find(name)?)));
        found.find(|(_, tool)| self.offers(&tool.server))
    }
}

impl std::fmt::Debug for Connected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connected").field("deferral", &self.deferral).finish_non_exhaustive()
    }
}

/// The variable that programs of servers carry.
pub(crate) const SERVER_RUN: &str = "ONA_SERVER_RUN";

impl Session {
    /// Servers whose programs are found by a mark, should this process be killed: not all end with their input.
    fn marked(&self, mut specs: Vec<ServerSpec>) -> Vec<ServerSpec> {
        let mark = format!("{}0", runs_of(&self.seat.session, std::process::id()));
        for spec in &mut specs {
            if let Way::Stdio { env, .. } = &mut spec.way {
                env.push((SERVER_RUN.to_owned(), mark.clone()));
            }
        }
        specs
    }

    /// Connects servers, without waiting for any, and knows the secrets they are given. It has to be called within a
    /// runtime.
    pub fn connect(
        &mut self,
        specs: Vec<ServerSpec>,
        secrets: Vec<String>,
        tokens: Option<Arc<dyn TokenStore>>,
        deferral: Deferral,
    ) -> Result<(), StoreError> {
        if specs.is_empty() {
            return Ok(());
        }
        let specs = self.marked(specs);
        let mut secrets = secrets;
        secrets.extend(kept_tokens(&specs, tokens.as_deref()));
        let engine = Arc::clone(&self.engine);
        self.governance.know(&engine, secrets, &mut self.place);
        let desk = Arc::new(SessionDesk { session: self.beside()? });
        let tokens = tokens.map(|store| -> Arc<dyn TokenStore> {
            Arc::new(Heard { store, late: engine.config.late.clone() })
        });
        let options = PoolOptions { roots: self.roots(), tokens, ..PoolOptions::default() };
        let pool = Arc::new(Pool::start_with(specs, desk, options));
        self.mcp = Some(Connected { pool, own: None, only: None, deferral });
        Ok(())
    }

    /// A text without what is secret in this session.
    pub fn masked(&self, text: &str) -> String {
        self.governance.redactor.mask(text).into_owned()
    }

    /// Waits until every server is there or will not be, at most so long.
    pub async fn settle_servers(&self, within: Duration) {
        if let Some(mcp) = &self.mcp {
            mcp.pool.settle(within).await;
        }
    }

    /// The servers that are connected, if there are any.
    pub fn pool(&self) -> Option<Arc<Pool>> {
        self.mcp.as_ref().map(|mcp| Arc::clone(&mcp.pool))
    }

    /// The directories servers may work in.
    fn roots(&self) -> Vec<Root> {
        let dirs = std::iter::once(&self.place.project_dir).chain(&self.place.additional_dirs);
        let root = |dir: &std::path::PathBuf| {
            let uri = file_uri(dir)?;
            let name = dir.file_name().map(|name| name.to_string_lossy().into_owned());
            Some(Root { uri, name })
        };
        dirs.filter_map(root).collect()
    }

    /// The tool of a server by its whole name.
    pub(crate) fn server_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        if !name.starts_with(PREFIX) {
            return None;
        }
        let mcp = self.mcp.as_ref()?;
        let (pool, tool) = mcp.find(name)?;
        Some(Arc::new(ServerTool::new(pool, tool)))
    }

    /// The names of all tools of servers.
    pub(crate) fn server_tools(&self) -> Vec<String> {
        let Some(mcp) = &self.mcp else { return Vec::new() };
        mcp.tools().into_iter().map(|tool| tool.full_name).collect()
    }

    /// Why a tool of a server is not there, if it is because the server is not.
    pub(crate) fn server_is_away(&self, tool: &str) -> Option<String> {
        let statuses = self.mcp.as_ref()?.pool.statuses();
        let of_server =
            |slug: &str| tool.strip_prefix(PREFIX)?.strip_prefix(slug)?.strip_prefix("__");
        let status = statuses.iter().find(|status| of_server(&status.slug).is_some())?;
        let why = match status.state {
            ServerState::Connected => return None,
            ServerState::Pending => "it is being connected; try again shortly".to_owned(),
            ServerState::NeedsAuth => {
                format!("the user has to sign in: `ona mcp login {}`", status.name)
            }
            ServerState::Failed | ServerState::Disabled => {
                let why = status.error.as_deref().unwrap_or("it is switched off");
                self.masked(why)
            }
        };
        Some(format!("the MCP server {} is not there: {why}", status.name))
    }

    /// Whose tools there are to look for, as the model is told.
    pub(crate) fn servers_to_search(&self) -> String {
        let deferred = self.deferred_tools();
        let Some(mcp) = self.mcp.as_ref().filter(|_| !deferred.is_empty()) else {
            return String::new();
        };
        let mut text = "\nThere are tools of these servers:".to_owned();
        for status in mcp.pool.statuses().iter().filter(|status| status.tools > 0) {
            text.push_str(&format!(
                "\n- {} ({PREFIX}{}__*, {} tools)",
                status.name, status.slug, status.tools
            ));
        }
        text
    }

    /// Tools of servers that the model is not shown until it looks for them.
    pub(crate) fn deferred_tools(&self) -> Vec<Deferred> {
        let Some(mcp) = &self.mcp else { return Vec::new() };
        let offered: HashSet<String> = self.offered().into_iter().collect();
        let tools = mcp.tools().into_iter().filter(|tool| offered.contains(&tool.full_name));
        let tools: Vec<McpTool> = tools.collect();
        let defers = match mcp.deferral {
            Deferral::Always => true,
            Deferral::Never => false,
            Deferral::Above(percent) => {
                let window = self.mind.as_ref().and_then(|mind| mind.model.context_window);
                let window = window.map_or(WINDOW, u64::from);
                tokens(&tools) * 100 > window * u64::from(percent)
            }
        };
        if !defers {
            return Vec::new();
        }
        let deferred =
            |tool: McpTool| Deferred { name: tool.full_name, description: tool.description };
        tools.into_iter().map(deferred).collect()
    }
}

impl Session {
    /// Gives an agent the servers its file names: of the session's only those, and its own, which live as long as it
    /// does.
    pub(crate) async fn use_servers(&mut self, kind: &AgentDefinition) -> Result<(), StoreError> {
        if kind.mcp_servers.is_empty() {
            return Ok(());
        }
        let mut inline = Map::new();
        let mut only = Vec::new();
        for server in &kind.mcp_servers {
            match server {
                ServerUse::Named(name) => only.push(name.clone()),
                ServerUse::Inline { name, definition } => {
                    only.push(name.clone());
                    inline.insert(name.clone(), definition.clone());
                }
            }
        }
        let names: Vec<String> = inline.keys().cloned().collect();
        let file = kind.path.clone().unwrap_or_default();
        let brought = PluginServers { file, servers: inline };
        let found = self.servers(&[brought])?;
        for warning in found.warnings.iter().filter(|_| !names.is_empty()) {
            self.front.tell(Event::Warning { text: warning.to_string() });
        }
        let own: Vec<ServerSpec> =
            found.specs.into_iter().filter(|spec| names.contains(&spec.name)).collect();
        let engine = Arc::clone(&self.engine);
        self.governance.know(&engine, servers::secrets(&own), &mut self.place);
        let pool_of = |specs, session: &Self| -> Result<Arc<Pool>, StoreError> {
            let desk = Arc::new(SessionDesk { session: session.beside()? });
            let options = PoolOptions { roots: session.roots(), ..PoolOptions::default() };
            Ok(Arc::new(Pool::start_with(specs, desk, options)))
        };
        let own = match own.is_empty() {
            true => None,
            false => Some(pool_of(self.marked(own), self)?),
        };
        if let Some(own) = &own {
            own.settle(AGENT_WAIT).await;
        }
        let (pool, deferral) = match &self.mcp {
            Some(mcp) => (Arc::clone(&mcp.pool), mcp.deferral),
            None => (pool_of(Vec::new(), self)?, Deferral::default()),
        };
        self.mcp = Some(Connected { pool, own, only: Some(only), deferral });
        Ok(())
    }

    /// Ends the servers that an agent had for itself.
    pub(crate) async fn close_own_servers(&self) {
        if let Some(own) = self.mcp.as_ref().and_then(|mcp| mcp.own.as_ref()) {
            own.close().await;
        }
    }
}

impl Session {
    /// What rules about a server say of reading what it has; nothing where they leave it to those of the tool. What the
    /// server has not listed is asked about like its tools: an address can say anything.
    pub(crate) fn ask_server_rules(&self, call: &PendingCall<'_>) -> Option<Answer> {
        let reads = call.tool.name() == "ReadMcpResource";
        if !reads && call.tool.name() != "ListMcpResources" {
            return None;
        }
        let server = call.input.get("server").and_then(Value::as_str)?;
        let name = format!("{PREFIX}{}__resources", ona_mcp::slug(server));
        let ruling = self.governance.permissions.judge(&Call { tool: &name, ..call.as_call() });
        let (reason, detail) = explain::ruling(&ruling);
        let answer =
            |verdict| Some(Answer::new(Stage::Rules, verdict, reason.clone()).with(detail.clone()));
        let uri = call.input.get("uri").and_then(Value::as_str);
        let listed = || {
            let pool = &self.mcp.as_ref()?.pool;
            let resources = pool.resources(Some(server)).ok()?;
            Some(resources.iter().any(|one| Some(one.uri.as_str()) == uri))
        };
        match (ruling.behavior, &ruling.by) {
            (Behavior::Deny, By::Rules(_)) => answer(Verdict::Deny),
            (Behavior::Ask, By::Rules(_)) => answer(Verdict::Ask),
            (Behavior::Allow, _) => None,
            _ if !reads || call.allowed_by_hooks() || listed() != Some(false) => None,
            _ => answer(Verdict::Ask),
        }
    }
}

/// About as many tokens the definitions of tools fill.
fn tokens(tools: &[McpTool]) -> u64 {
    let of = |tool: &McpTool| {
        let schema = Value::Object(tool.input_schema.clone()).to_string();
        (tool.full_name.len() + tool.description.len() + schema.len()) as u64 / 4
    };
    tools.iter().map(of).sum()
}

/// A place for tokens: what is put there is secret from then on.
struct Heard {
    store: Arc<dyn TokenStore>,
    late: Late,
}

impl TokenStore for Heard {
    fn load(&self, key: &str) -> Result<Option<String>, String> {
        let found = self.store.load(key)?;
        // Another process may have renewed it.
        self.late.learn(found.iter().flat_map(|kept| secrets_in(kept)));
        Ok(found)
    }

    fn save(&self, key: &str, secret: &str) -> Result<(), String> {
        self.late.learn(secrets_in(secret));
        self.store.save(key, secret)
    }

    fn forget(&self, key: &str) -> Result<(), String> {
        self.store.forget(key)
    }

    fn lock(&self, key: &str) -> Result<Option<Box<dyn Send>>, String> {
        self.store.lock(key)
    }
}

/// The tokens and secrets in what is kept of a sign-in.
fn secrets_in(kept: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(kept) = serde_json::from_str(kept) {
        texts(&kept, &mut found);
    }
    found
}

/// The tokens that are kept for these servers: they are not kept elsewhere.
fn kept_tokens(specs: &[ServerSpec], tokens: Option<&dyn TokenStore>) -> Vec<String> {
    let remotes = specs.iter().filter_map(|spec| match &spec.way {
        Way::Http(remote) | Way::Sse(remote) => Some(token_key(&spec.name, &remote.url)),
        Way::Stdio { .. } => None,
    });
    let Some(tokens) = tokens else { return Vec::new() };
    let kept = remotes.filter_map(|key| tokens.load(&key).ok().flatten());
    kept.flat_map(|kept| secrets_in(&kept)).collect()
}

/// The texts in a value that are named like tokens and secrets.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name.contains("token") || name.contains("secret") => {
                        found.push(text.clone());
                    }
                    other => texts(other, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        _ => {}
    }
}

/// What a prompt has not been told that it must be, and what else it may be; nothing if it knows enough.
fn missing(arguments: &[PromptArgument], given: usize) -> Option<String> {
    let names = |required: bool| -> Vec<&str> {
        let rest = arguments.iter().skip(given).filter(|one| one.required == required);
        rest.map(|one| one.name.as_str()).collect()
    };
    let (wanted, optional) = (names(true), names(false));
    match (wanted.is_empty(), optional.is_empty()) {
        (true, _) => None,
        (false, true) => Some(format!("wants {}", wanted.join(", "))),
        (false, false) => {
            Some(format!("wants {} (optional: {})", wanted.join(", "), optional.join(", ")))
        }
    }
}

/// A directory as the address of a root.
fn file_uri(dir: &std::path::Path) -> Option<String> {
    url::Url::from_file_path(dir).ok().map(String::from)
}

impl Agent {
    /// Tells the model what servers say of themselves, once each, and the user which are not there.
    pub(crate) async fn heed_servers(&mut self) -> Result<(), StoreError> {
        let Some(mcp) = &self.session.mcp else { return Ok(()) };
        for pool in mcp.own.iter().chain([&mcp.pool]) {
            pool.tools_known(LISTS_WAIT).await;
        }
        // Of its caller's servers, an agent's user has heard already.
        let is_main = self.session.agent.is_none();
        let mut statuses: Vec<(ServerStatus, bool)> = Vec::new();
        let shared = mcp.pool.statuses().into_iter();
        statuses.extend(shared.filter(|one| mcp.offers(&one.name)).map(|one| (one, is_main)));
        let own = mcp.own.iter().flat_map(|own| own.statuses());
        statuses.extend(own.map(|one| (one, true)));
        let mut entries = Vec::new();
        for (status, warns) in statuses {
            if !self
                .servers_told
                .insert((status.name.clone(), status.state == ServerState::Connected))
            {
                continue;
            }
            for left_out in status.left_out.iter().filter(|_| warns) {
                let left_out = self.session.masked(left_out);
                self.warn(format!("of the MCP server {} {left_out}", status.name));
            }
            match (status.state, &status.error, &status.instructions) {
                (ServerState::Connected, _, Some(instructions)) => {
                    let mut text = format!(
                        "The MCP server {} says of its tools ({PREFIX}{}__*):\n{instructions}",
                        status.name, status.slug
                    );
                    self.session.governance.redactor.mask_string(&mut text);
                    let from = format!("mcp server {}", status.name);
                    entries.push(Entry::system(&SystemNote::Context { text, from }));
                }
                (ServerState::Failed | ServerState::NeedsAuth, ..) if !warns => {}
                (ServerState::Failed, error, _) => {
                    let why =
                        self.session.masked(error.as_deref().unwrap_or("no reason was given"));
                    self.warn(format!("the MCP server {} is not there: {why}", status.name));
                }
                (ServerState::NeedsAuth, ..) => self.warn(format!(
                    "the MCP server {0} wants you to sign in: `ona mcp login {0}`",
                    status.name
                )),
                // It may come yet.
                (ServerState::Pending, ..) => {
                    self.servers_told.remove(&(status.name.clone(), false));
                }
                (ServerState::Connected | ServerState::Disabled, ..) => {}
            }
        }
        match entries.is_empty() {
            true => Ok(()),
            false => self.keep(&Step { entries: &entries, ..Step::default() }),
        }
    }
}

/// Servers as the first line of a stream tells of them.
pub fn server_lines(pool: &Pool) -> Vec<Value> {
    let word = |state| match state {
        ServerState::Pending => "pending",
        ServerState::Connected => "connected",
        ServerState::Failed => "failed",
        ServerState::NeedsAuth => "needs-auth",
        ServerState::Disabled => "disabled",
    };
    let statuses = pool.statuses().into_iter();
    statuses.map(|status| json!({"name": status.name, "status": word(status.state)})).collect()
}

/// Nobody reads more steps of a call than ten in a second.
const STEP_EVERY: Duration = Duration::from_millis(100);

/// When the last step was told.
#[derive(Default)]
struct Pace(Option<Instant>);

impl Pace {
    fn is_due(&mut self, now: Instant) -> bool {
        let due = self.0.is_none_or(|last| now.saturating_duration_since(last) >= STEP_EVERY);
        if due {
            self.0 = Some(now);
        }
        due
    }
}

impl Session {
    /// Tells the front-end how far a call got, as a server tells it.
    pub(crate) fn on_progress(&self, call: &ToolUseId) -> OnProgress {
        let (front, call) = (self.front.another(), call.clone());
        let pace = Mutex::new(Pace::default());
        Arc::new(move |progress: Progress| {
            let is_last = progress.total == Some(progress.done);
            let mut pace = pace.lock().unwrap_or_else(PoisonError::into_inner);
            if !pace.is_due(Instant::now()) && !is_last {
                return;
            }
            front.tell(Event::ToolProgress {
                id: call.clone(),
                done: progress.done,
                total: progress.total,
                message: progress.message,
            });
        })
    }
}

impl Session {
    /// What a prompt of a server stands for: `/mcp__server__prompt` and words, one for each of its arguments.
    pub(crate) async fn prompt_of_server(
        &self,
        name: &str,
        args: &str,
        cancel: &CancellationToken,
    ) -> Result<String, String> {
        let Some(mcp) = &self.mcp else { return Err("there is no MCP server here".to_owned()) };
        let prompts = mcp.pool.prompts();
        let Some(prompt) = prompts.iter().find(|prompt| prompt.full_name == name) else {
            let names: Vec<&str> = prompts.iter().map(|prompt| prompt.full_name.as_str()).collect();
            return Err(match names.is_empty() {
                true => format!("there is no prompt `{name}`, and no server has any"),
                false => format!("there is no prompt `{name}`; there are {}", names.join(", ")),
            });
        };
        let words = crate::extensions::words(args);
        if let Some(missing) = missing(&prompt.arguments, words.len()) {
            return Err(format!("{name} {missing}"));
        }
        let given = prompt.arguments.iter().zip(words);
        let given = given.map(|(argument, word)| (argument.name.clone(), word)).collect();
        let said = mcp.pool.prompt(&prompt.server, &prompt.name, given, cancel.clone()).await;
        let said = said.map_err(|error| error.to_string())?;
        let texts = said.into_iter().map(|message| match message.part {
            ContentPart::Text(text) => text,
            ContentPart::Resource(ResourceContent { uri, body: Body::Text(text), .. }) => {
                format!("[{uri}]\n{text}")
            }
            _ => "[something that is no text was left out]".to_owned(),
        });
        Ok(texts.collect::<Vec<_>>().join("\n\n"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use ona_mcp::Desk as _;

    use super::*;
    use crate::testing::World;

    #[derive(Default)]
    struct Drawer(Mutex<HashMap<String, String>>);

    impl TokenStore for Drawer {
        fn load(&self, key: &str) -> Result<Option<String>, String> {
            Ok(self.0.lock().unwrap().get(key).cloned())
        }

        fn save(&self, key: &str, secret: &str) -> Result<(), String> {
            self.0.lock().unwrap().insert(key.to_owned(), secret.to_owned());
            Ok(())
        }

        fn forget(&self, _: &str) -> Result<(), String> {
            Ok(())
        }
    }

    #[test]
    fn a_token_is_secret_from_the_moment_it_is_known() {
        let world = World::new(&json!({}));
        let session = world.session();
        let beside = session.beside().unwrap();
        let (store, late) = (Arc::new(Drawer::default()), world.engine.config.late.clone());
        let kept = |token: &str| json!({"token_response": {"access_token": token}}).to_string();
        store.save("other", &kept("renewed-elsewhere")).unwrap();
        let tokens = Heard { store, late };
        let masked = |text: &str| {
            let (one, other) = (&session.governance.redactor, &beside.governance.redactor);
            assert_eq!(one.mask(text), other.mask(text));
            one.mask(text).into_owned()
        };
        assert_eq!(masked("it is renewed-token"), "it is renewed-token");
        tokens.save("key", &kept("renewed-token")).unwrap();
        assert_eq!(masked("it is renewed-token"), "it is [REDACTED:live]");
        tokens.load("other").unwrap();
        assert_eq!(masked("it is renewed-elsewhere"), "it is [REDACTED:live]");
    }

    #[test]
    fn steps_are_told_ten_times_a_second_at_most() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        let told = (0..1000_u64).filter(|at| pace.is_due(start + Duration::from_millis(*at)));
        assert_eq!(told.count(), 10);
    }

    #[tokio::test]
    async fn headers_that_a_command_prints_are_secret() {
        let world = World::new(&json!({}));
        let session = world.session();
        let desk = SessionDesk { session: session.beside().unwrap() };
        let printed = r#"echo '{"X-Key": "0f-the-helper", "Authorization": "Bearer t0ken-of-it", "Accept": "text/html"}'"#;
        desk.headers("s", printed).await.unwrap();
        assert_eq!(
            session.masked("0f-the-helper, t0ken-of-it, text/html"),
            "[REDACTED:live], [REDACTED:live], text/html"
        );
    }
}
