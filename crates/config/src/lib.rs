//! Configuration: what settings, trust, servers, extensions and instructions say, read from where they stand.
//!
//! It reads and merges; it decides about no call, starts nothing and keeps no record. What was agreed to comes through
//! [`ona_types::trust::TrustRecord`].

mod approvals;
mod config;
mod extension_effects;
pub mod extensions;
pub mod instructions;
pub mod own;
pub mod servers;
pub mod settings;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod trust;
mod trust_request;
pub mod watch;

pub use config::Config;
pub use trust_request::trust_request;
