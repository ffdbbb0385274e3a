//! The terminal side of ona that all commands share: options, environment variables, errors with hints, output, questions
//! on the terminal, and bootstrapping.
//!
//! Only this crate and the binary read the environment, the home directory and the terminal.
#![allow(clippy::disallowed_methods, reason = "this is the crate that reads the environment")]

pub mod agent_args;
pub mod asker;
pub mod bootstrap;
pub mod browser;
mod call_view;
pub mod credentials;
pub mod env;
mod error;
pub mod interrupts;
pub mod login;
pub mod model;
mod options;
pub mod output;
pub mod record;
pub mod secrets;
pub mod sign_in;
pub mod started_by;
pub mod tokens;

pub use error::{CliError, Kind};
pub use options::Options;
