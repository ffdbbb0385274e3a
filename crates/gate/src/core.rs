//! What every session of a process shares.

use ona_sandbox::confine::Machine;
use ona_store::{Store, StoreError};
use ona_tools::{Host, ToolSettings};
use ona_types::trust::{TrustRecord as _, TrustedContent};

use ona_config::Config;

use crate::moved_tasks::MovedTasks;

/// The record, the settings and the host that every session of this process shares.
#[derive(Debug)]
pub struct Core {
    /// The record.
    pub store: Store,
    /// Settings of tools.
    pub settings: ToolSettings,
    /// What the process provides.
    pub host: Host,
    /// How settings are found.
    pub config: Config,
    /// Commands that the user moved into the background.
    pub moved: MovedTasks,
    /// What this machine has for a sandbox.
    pub machine: Machine,
}

impl Core {
    /// What is trusted in a repository: by the record, and for this run.
    pub fn trusted(&self, root: &str) -> Result<Vec<TrustedContent>, StoreError> {
        let mut trusted = self.store.trusted(root)?;
        trusted.extend(self.config.trust.covers(root));
        Ok(trusted)
    }
}
