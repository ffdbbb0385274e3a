//! Configuration: what settings, trust, servers and instructions say.
//!
//! It reads and merges files. It does not decide about calls, start anything or keep a record: what the operator has
//! agreed to comes through [`ona_types::trust::TrustRecord`]. Agents, skills, commands and plugins are in
//! `ona-extensions`, one layer above.

mod approvals;
mod config;
pub mod instructions;
pub mod own_server;
mod own_variables;
pub mod servers;
pub mod settings;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod trust;
pub mod watch;

pub use config::Config;
