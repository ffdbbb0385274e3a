//! Notices about MCP servers: their instructions for the model, and connection problems for the user.

use ona_mcp::ServerState;
use ona_store::{Step, StoreError};
use ona_tools::PREFIX;
use ona_types::{Entry, SystemNote};

use crate::agent::Agent;

impl Agent {
    /// Gives the model each server's instructions once, and warns the user about servers that are not connected.
    pub(crate) async fn report_servers(&mut self) -> Result<(), StoreError> {
        let Some(servers) = self.session.gate.toolbox.servers.clone() else { return Ok(()) };
        // The caller's servers were already reported to the user.
        let is_main = self.session.side.identity.is_none();
        let mut entries = Vec::new();
        for (status, is_own) in servers.statuses().await {
            let warns = is_main || is_own;
            if !self
                .reported_servers
                .insert((status.name.clone(), status.state == ServerState::Connected))
            {
                continue;
            }
            for left_out in status.left_out.iter().filter(|_| warns) {
                let left_out = self.session.gate.masked(left_out);
                self.warn(format!("MCP server {}: {left_out}", status.name));
            }
            match (status.state, &status.error, &status.instructions) {
                (ServerState::Connected, _, Some(instructions)) => {
                    let mut text = format!(
                        "Instructions of the MCP server {} for its tools ({PREFIX}{}__*):\n{instructions}",
                        status.name, status.slug
                    );
                    self.session.gate.governance.redactor.mask_string(&mut text);
                    let from = format!("mcp server {}", status.name);
                    entries.push(Entry::system(&SystemNote::Context { text, from }));
                }
                (ServerState::Failed | ServerState::NeedsAuth, ..) if !warns => {}
                (ServerState::Failed, error, _) => {
                    let why =
                        self.session.gate.masked(error.as_deref().unwrap_or("unknown reason"));
                    self.warn(format!("MCP server {} is not connected: {why}", status.name));
                }
                (ServerState::NeedsAuth, ..) => self.warn(format!(
                    "MCP server {0} requires sign-in: run `ona mcp login {0}`",
                    status.name
                )),
                // It may connect later.
                (ServerState::Pending, ..) => {
                    self.reported_servers.remove(&(status.name.clone(), false));
                }
                (ServerState::Connected | ServerState::Disabled, ..) => {}
            }
        }
        match entries.is_empty() {
            true => Ok(()),
            false => self.commit(&Step { entries: &entries, ..Step::default() }),
        }
    }
}
