//! What every session of a process shares.

use ona_store::Store;
use ona_tools::{Host, ToolSettings};

use ona_config::Config;

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
}
