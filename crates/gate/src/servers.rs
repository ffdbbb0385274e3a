//! Tools, resources and prompts of MCP servers in a session.
//!
//! A server's tool is a tool like any other: it has a name that rules and hooks can be held against, passes the gate, and
//! its result is kept within bounds. A server that is not there, or not there yet, costs a session nothing but its tools.

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
use secrets::{HeardTokens, kept_tokens};

/// How long an agent waits for servers of its own.
const AGENT_WAIT: Duration = Duration::from_secs(5);
/// How long a question to the model waits for tools that a server has said are others now.
const LISTS_WAIT: Duration = Duration::from_millis(500);

/// A model of which nobody knows how much it takes in takes in this much, in tokens.
pub const DEFAULT_CONTEXT_WINDOW: u64 = 128_000;

/// The variable that programs of servers carry.
pub const SERVER_RUN: &str = "ONA_SERVER_RUN";

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
pub struct Connected {
    /// Those that every agent of the session shares.
    pub pool: Arc<Pool>,
    /// Servers that an agent has for itself.
    own: Option<Arc<Pool>>,
    /// The only servers whose tools are offered, where an agent names some.
    only: Option<Vec<String>>,
    /// When their tools are kept from the model.
    pub deferral: Deferral,
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

    /// The names of all their tools.
    pub fn tool_names(&self) -> Vec<String> {
        self.tools().into_iter().map(|tool| tool.full_name).collect()
    }

    /// The tool of a server by its whole name.
    pub fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        if !name.starts_with(PREFIX) {
            return None;
        }
        let pools = self.own.iter().chain([&self.pool]);
        let mut found = pools.filter_map(|pool| Some((Arc::clone(pool), pool.find(name)?)));
        let (pool, tool) = found.find(|(_, tool)| self.offers(&tool.server))?;
        Some(Arc::new(ServerTool::new(pool, tool)))
    }

    /// The state of every server, each with whether it is an agent's own, once their lists of tools are known.
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

/// What a session's servers are connected with.
#[derive(Default)]
pub struct Connecting {
    /// The servers.
    pub specs: Vec<ServerSpec>,
    /// Secrets that they are given.
    pub secrets: Vec<String>,
    /// Where tokens are kept.
    pub tokens: Option<Arc<dyn TokenStore>>,
    /// When their tools are kept from the model.
    pub deferral: Deferral,
}

impl Gate {
    /// Servers whose programs are found by a mark, should this process be killed: not all end with their input.
    fn marked(&self, mut specs: Vec<ServerSpec>) -> Vec<ServerSpec> {
        let mark = format!("{}0", runs_of(self.record.session(), std::process::id()));
        for spec in &mut specs {
            if let Way::Stdio { env, .. } = &mut spec.way {
                env.push((SERVER_RUN.to_owned(), mark.clone()));
            }
        }
        specs
    }

    /// Connects servers, without waiting for any, and knows the secrets they are given. It has to be called within a
    /// runtime.
    pub fn connect(&mut self, connecting: Connecting) -> Result<(), StoreError> {
        let Connecting { specs, mut secrets, tokens, deferral } = connecting;
        if specs.is_empty() {
            return Ok(());
        }
        let specs = self.marked(specs);
        secrets.extend(kept_tokens(&specs, tokens.as_deref()));
        self.governance.add_secrets(secrets);
        let learned = self.record.core.config.learned_secrets.clone();
        let tokens =
            tokens.map(|store| -> Arc<dyn TokenStore> { Arc::new(HeardTokens { store, learned }) });
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
        let options = PoolOptions { roots: self.roots(), tokens, ..PoolOptions::default() };
        Ok(Arc::new(Pool::start_with(specs, callbacks, options)))
    }

    /// A text without what is secret in this session.
    pub fn masked(&self, text: &str) -> String {
        self.redactor().mask(text).into_owned()
    }

    /// Waits until every server is there or will not be, at most so long.
    pub async fn settle_servers(&self, within: Duration) {
        if let Some(servers) = &self.toolbox.servers {
            servers.pool.settle(within).await;
        }
    }

    /// The servers that are connected, if there are any.
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

    /// Why a tool of a server is not there, if it is because the server is not.
    pub(super) fn server_is_away(&self, tool: &str) -> Option<String> {
        let statuses = self.pool()?.statuses();
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
                self.masked(status.error.as_deref().unwrap_or("it is switched off"))
            }
        };
        Some(format!("the MCP server {} is not connected: {why}", status.name))
    }

    /// Tools of servers that the model is not shown until it looks for them.
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

    /// Gives an agent the servers its file names: of the session's only those, and its own, which live as long as it
    /// does.
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

    /// Ends the servers that an agent had for itself.
    pub async fn close_own_servers(&self) {
        if let Some(own) = self.toolbox.servers.as_ref().and_then(|servers| servers.own.as_ref()) {
            own.close().await;
        }
    }
}

/// How many tokens the definitions of tools fill, about.
fn tokens(tools: &[McpTool]) -> u64 {
    let of = |tool: &McpTool| {
        let schema = Value::Object(tool.input_schema.clone()).to_string();
        (tool.full_name.len() + tool.description.len() + schema.len()) as u64 / 4
    };
    tools.iter().map(of).sum()
}

/// A directory as the address of a root.
fn file_uri(dir: &Path) -> Option<String> {
    url::Url::from_file_path(dir).ok().map(String::from)
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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use std::sync::Mutex;

    use ona_mcp::ServerCallbacks as _;

    use super::secrets::HeardTokens;
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
        let gate = world.gate();
        let beside = gate.beside().unwrap();
        let learned = world.core().config.learned_secrets.clone();
        let store = Arc::new(Drawer::default());
        let kept = |token: &str| json!({"token_response": {"access_token": token}}).to_string();
        store.save("other", &kept("renewed-elsewhere")).unwrap();
        let tokens = HeardTokens { store, learned };
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
