//! What a session says of its MCP servers: to the model what they say of themselves, to the user which are missing.

use ona_mcp::ServerState;
use ona_store::{Step, StoreError};
use ona_tools::PREFIX;
use ona_types::{Entry, SystemNote};

use crate::agent::Agent;

impl Agent {
    /// Tells the model what servers say of themselves, once each, and the user which are not there.
    pub(crate) async fn heed_servers(&mut self) -> Result<(), StoreError> {
        let Some(servers) = self.session.gate.toolbox.servers.clone() else { return Ok(()) };
        // Of its caller's servers, an agent's user has heard already.
        let is_main = self.session.side.identity.is_none();
        let mut entries = Vec::new();
        for (status, is_own) in servers.statuses().await {
            let warns = is_main || is_own;
            if !self
                .servers_told
                .insert((status.name.clone(), status.state == ServerState::Connected))
            {
                continue;
            }
            for left_out in status.left_out.iter().filter(|_| warns) {
                let left_out = self.session.gate.masked(left_out);
                self.warn(format!("of the MCP server {} {left_out}", status.name));
            }
            match (status.state, &status.error, &status.instructions) {
                (ServerState::Connected, _, Some(instructions)) => {
                    let mut text = format!(
                        "The MCP server {} says of its tools ({PREFIX}{}__*):\n{instructions}",
                        status.name, status.slug
                    );
                    self.session.gate.governance.redactor.mask_string(&mut text);
                    let from = format!("mcp server {}", status.name);
                    entries.push(Entry::system(&SystemNote::Context { text, from }));
                }
                (ServerState::Failed | ServerState::NeedsAuth, ..) if !warns => {}
                (ServerState::Failed, error, _) => {
                    let why =
                        self.session.gate.masked(error.as_deref().unwrap_or("no reason was given"));
                    self.warn(format!("the MCP server {} is not connected: {why}", status.name));
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
