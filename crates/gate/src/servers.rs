//! Tools, resources and prompts of MCP servers in a session.
//!
//! A server's tool is a tool like any other: rules and hooks match its name, it passes the gate, and the size of its
//! result is limited. If a server is not connected, the session only lacks its tools.

pub mod callbacks;
mod progress;
mod secrets;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ona_hooks::runs_of;
use ona_mcp::{
    McpTool, Pool, PoolOptions, Root, ServerSpec, ServerState, ServerStatus, TokenStore, Way,
};
use ona_store::StoreError;
use ona_tools::{Deferred, PREFIX, ServerTool, Tool};
use serde_json::{Map, Value, json};

use super::Gate;
use callbacks::GateCallbacks;
use ona_config::servers::{self, PluginServers};
use ona_extensions::{AgentDefinition, ServerUse};
use secrets::{MaskedTokens, stored_tokens};

/// How long an agent waits for its own servers.
const AGENT_WAIT: Duration = Duration::from_secs(5);
/// How long a request to the model waits for a changed list of tools.
const LISTS_WAIT: Duration = Duration::from_millis(500);

/// The context window of a model if it is not known, in tokens.
pub const DEFAULT_CONTEXT_WINDOW: u64 = 128_000;

/// The variable that marks server processes.
pub const SERVER_RUN: &str = "ONA_SERVER_RUN";

/// When the model has to search for tools of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferral {
    /// Always.
    Always,
    /// Never.
    Never,
    /// If they would fill more than this percentage of the context.
    Above(u8),
}

impl Default for Deferral {
    fn default() -> Self {
        Self::Above(10)
    }
}

/// The servers of a session, and how their tools are offered.
#[derive(Clone)]
pub struct Connected {
    /// Those that all agents of the session share.
    pub pool: Arc<Pool>,
    /// The agent's own servers.
    own: Option<Arc<Pool>>,
    /// If set, only tools of these servers are offered.
    only: Option<Vec<String>>,
    /// When the model has to search for their tools.
    pub deferral: Deferral,
}

impl Connected {
    /// The offered tools of all servers.
    fn tools(&self) -> Vec<McpTool> {
        let mut tools = self.pool.tools();
        if let Some(own) = &self.own {
            tools.extend(own.tools());
        }
        tools.retain(|tool| self.offers(&tool.server));
        tools
    }

    /// Whether the session has this server.
    fn offers(&self, server: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|one| one == server))
    }

    /// The names of all their tools.
    pub fn tool_names(&self) -> Vec<String> {
        self.tools().into_iter().map(|tool| tool.full_name).collect()
    }

    /// The tool of a server by its full name.
    pub fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        if !name.starts_with(PREFIX) {
            return None;
        }
        let pools = self.own.iter().chain([&self.pool]);
        let mut found = pools.filter_map(|pool| Some((Arc::clone(pool), pool.find(name)?)));
        let (pool, tool) = found.find(|(_, tool)| self.offers(&tool.server))?;
        Some(Arc::new(ServerTool::new(pool, tool)))
    }

    /// The state of every server and whether it is the agent's own, once the lists of tools are known.
    pub async fn statuses(&self) -> Vec<(ServerStatus, bool)> {
        for pool in self.own.iter().chain([&self.pool]) {
            pool.tools_known(LISTS_WAIT).await;
        }
        let shared = self.pool.statuses().into_iter().filter(|one| self.offers(&one.name));
        let own = self.own.iter().flat_map(|own| own.statuses());
        shared.map(|one| (one, false)).chain(own.map(|one| (one, true))).collect()
    }
}

impl std::fmt::Debug for Connected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connected").field("deferral", &self.deferral).finish_non_exhaustive()
    }
}

/// What is needed to connect a session's servers.
#[derive(Default)]
pub struct Connecting {
    /// The servers.
    pub specs: Vec<ServerSpec>,
    /// Secrets that they are given.
    pub secrets: Vec<String>,
    /// Where tokens are kept.
    pub tokens: Option<Arc<dyn TokenStore>>,
    /// When the model has to search for their tools.
    pub deferral: Deferral,
}

impl Gate {
    /// Servers whose processes are marked, so that they are found if this process is killed: not all end when their input
    /// closes.
    fn marked(&self, mut specs: Vec<ServerSpec>) -> Vec<ServerSpec> {
        let mark = format!("{}0", runs_of(self.record.session(), std::process::id()));
        for spec in &mut specs {
            if let Way::Stdio { env, .. } = &mut spec.way {
                env.push((SERVER_RUN.to_owned(), mark.clone()));
            }
        }
        specs
    }

    /// Connects servers without waiting, and masks their secrets. Must be called within a runtime.
    pub fn connect(&mut self, connecting: Connecting) -> Result<(), StoreError> {
        let Connecting { specs, mut secrets, tokens, deferral } = connecting;
        if specs.is_empty() {
            return Ok(());
        }
        let specs = self.marked(specs);
        secrets.extend(stored_tokens(&specs, tokens.as_deref()));
        self.governance.add_secrets(secrets);
        let learned = self.record.core.config.learned_secrets.clone();
        let tokens = tokens
            .map(|store| -> Arc<dyn TokenStore> { Arc::new(MaskedTokens { store, learned }) });
        let pool = self.start_pool(specs, tokens)?;
        self.toolbox.servers = Some(Connected { pool, own: None, only: None, deferral });
        Ok(())
    }

    fn start_pool(
        &self,
        specs: Vec<ServerSpec>,
        tokens: Option<Arc<dyn TokenStore>>,
    ) -> Result<Arc<Pool>, StoreError> {
        let callbacks = Arc::new(GateCallbacks { gate: self.beside()? });
        let confined = self.governance.confined_servers();
        let options =
            PoolOptions { roots: self.roots(), tokens, confined, ..PoolOptions::default() };
        Ok(Arc::new(Pool::start_with(specs, callbacks, options)))
    }

    /// A text without the secrets of this session.
    pub fn masked(&self, text: &str) -> String {
        self.redactor().mask(text).into_owned()
    }

    /// Waits until every server is connected or has failed, up to a limit.
    pub async fn settle_servers(&self, within: Duration) {
        if let Some(servers) = &self.toolbox.servers {
            servers.pool.settle(within).await;
        }
    }

    /// The pool of servers, if there is one.
    pub fn pool(&self) -> Option<Arc<Pool>> {
        self.toolbox.servers.as_ref().map(|servers| Arc::clone(&servers.pool))
    }

    /// The directories servers may work in.
    fn roots(&self) -> Vec<Root> {
        let place = self.place();
        let root = |dir: &PathBuf| {
            let uri = file_uri(dir)?;
            let name = dir.file_name().map(|name| name.to_string_lossy().into_owned());
            Some(Root { uri, name })
        };
        std::iter::once(&place.project_dir).chain(&place.additional_dirs).filter_map(root).collect()
    }

    /// The server of a tool and why it is not connected, if it is not.
    pub(super) fn disconnected_server(&self, tool: &str) -> Option<(String, String)> {
        let statuses = self.pool()?.statuses();
        let of_server =
            |slug: &str| tool.strip_prefix(PREFIX)?.strip_prefix(slug)?.strip_prefix("__");
        let status = statuses.iter().find(|status| of_server(&status.slug).is_some())?;
        let why = match status.state {
            ServerState::Connected => return None,
            ServerState::Pending => "it is connecting; try again shortly".to_owned(),
            ServerState::NeedsAuth => {
                format!("the user has to sign in: `ona mcp login {}`", status.name)
            }
            ServerState::Failed | ServerState::Disabled => {
                self.masked(status.error.as_deref().unwrap_or("it is disabled"))
            }
        };
        Some((status.name.clone(), why))
    }

    /// Tools of servers that the model has to search for.
    pub fn deferred_tools(&self) -> Vec<Deferred> {
        let Some(servers) = &self.toolbox.servers else { return Vec::new() };
        let offered: HashSet<String> = self.offered().into_iter().collect();
        let tools = servers.tools().into_iter().filter(|tool| offered.contains(&tool.full_name));
        let tools: Vec<McpTool> = tools.collect();
        let defers = match servers.deferral {
            Deferral::Always => true,
            Deferral::Never => false,
            Deferral::Above(percent) => {
                let window = self.engine.context_window().unwrap_or(DEFAULT_CONTEXT_WINDOW);
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

    /// Gives an agent the servers that its file names: some of the session's, and its own, which live as long as the
    /// agent.
    pub async fn use_servers(&mut self, definition: &AgentDefinition) -> Result<(), StoreError> {
        if definition.mcp_servers.is_empty() {
            return Ok(());
        }
        let mut inline = Map::new();
        let mut only = Vec::new();
        for server in &definition.mcp_servers {
            match server {
                ServerUse::Named(name) => only.push(name.clone()),
                ServerUse::Inline { name, definition } => {
                    only.push(name.clone());
                    inline.insert(name.clone(), definition.clone());
                }
            }
        }
        let names: Vec<String> = inline.keys().cloned().collect();
        let file = definition.path.clone().unwrap_or_default();
        let brought = PluginServers { file, servers: inline };
        let found = self.governance.servers(&[brought])?;
        for warning in found.warnings.iter().filter(|_| !names.is_empty()) {
            self.front.warn(warning.to_string());
        }
        let own: Vec<ServerSpec> =
            found.specs.into_iter().filter(|spec| names.contains(&spec.name)).collect();
        self.governance.add_secrets(servers::secrets(&own));
        let own = match own.is_empty() {
            true => None,
            false => Some(self.start_pool(self.marked(own), None)?),
        };
        if let Some(own) = &own {
            own.settle(AGENT_WAIT).await;
        }
        let (pool, deferral) = match &self.toolbox.servers {
            Some(servers) => (Arc::clone(&servers.pool), servers.deferral),
            None => (self.start_pool(Vec::new(), None)?, Deferral::default()),
        };
        self.toolbox.servers = Some(Connected { pool, own, only: Some(only), deferral });
        Ok(())
    }

    /// Ends the agent's own servers.
    pub async fn close_own_servers(&self) {
        if let Some(own) = self.toolbox.servers.as_ref().and_then(|servers| servers.own.as_ref()) {
            own.close().await;
        }
    }
}

/// About how many tokens the definitions of tools take.
fn tokens(tools: &[McpTool]) -> u64 {
    let of = |tool: &McpTool| {
        let schema = Value::Object(tool.input_schema.clone()).to_string();
        (tool.full_name.len() + tool.description.len() + schema.len()) as u64 / 4
    };
    tools.iter().map(of).sum()
}

/// A directory as the URI of a root.
fn file_uri(dir: &Path) -> Option<String> {
    url::Url::from_file_path(dir).ok().map(String::from)
}

/// Servers, for the first line of a stream.
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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use std::sync::Mutex;

    use ona_mcp::ServerCallbacks as _;
    use ona_types::BoxError;

    use super::secrets::MaskedTokens;
    use super::*;
    use crate::testing::World;

    #[derive(Default)]
    struct Drawer(Mutex<HashMap<String, String>>);

    impl TokenStore for Drawer {
        fn load(&self, key: &str) -> Result<Option<String>, BoxError> {
            Ok(self.0.lock().unwrap().get(key).cloned())
        }

        fn save(&self, key: &str, secret: &str) -> Result<(), BoxError> {
            self.0.lock().unwrap().insert(key.to_owned(), secret.to_owned());
            Ok(())
        }

        fn forget(&self, _: &str) -> Result<(), BoxError> {
            Ok(())
        }
    }

    #[test]
    fn a_token_is_secret_from_the_moment_it_is_known() {
        let world = World::new(&json!({}));
        let gate = world.gate();
        let beside = gate.beside().unwrap();
        let learned = world.core().config.learned_secrets.clone();
        let store = Arc::new(Drawer::default());
        let kept = |token: &str| json!({"token_response": {"access_token": token}}).to_string();
        store.save("other", &kept("renewed-elsewhere")).unwrap();
        let tokens = MaskedTokens { store, learned };
        let masked = |text: &str| {
            let (one, other) = (gate.redactor(), beside.redactor());
            assert_eq!(one.mask(text), other.mask(text));
            one.mask(text).into_owned()
        };
        assert_eq!(masked("it is renewed-token"), "it is renewed-token");
        tokens.save("key", &kept("renewed-token")).unwrap();
        assert_eq!(masked("it is renewed-token"), "it is [REDACTED:live]");
        tokens.load("other").unwrap();
        assert_eq!(masked("it is renewed-elsewhere"), "it is [REDACTED:live]");
    }

    #[tokio::test]
    async fn headers_that_a_command_prints_are_secret() {
        let world = World::new(&json!({}));
        let gate = world.gate();
        let callbacks = GateCallbacks { gate: gate.beside().unwrap() };
        let printed = r#"echo '{"X-Key": "0f-the-helper", "Authorization": "Bearer t0ken-of-it", "Accept": "text/html"}'"#;
        callbacks.headers("s", printed).await.unwrap();
        assert_eq!(
            gate.masked("0f-the-helper, t0ken-of-it, text/html"),
            "[REDACTED:live], [REDACTED:live], text/html"
        );
    }
}
