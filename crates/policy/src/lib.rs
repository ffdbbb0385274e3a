//! The permission rules that judge what a call would touch, and the secrets that must not be stored.
//!
//! [`Permissions`] holds the rules of S0 §5.12 and returns a [`Ruling`] about a call's effects, with the rules
//! behind it, and what would change it. [`secrets`] masks what must not be stored.
//!
//! The crate is pure: it accesses the disk and git only through a `World`.

mod builtin;
mod keyring;
mod permissions;
mod remedy;
mod rule;
pub mod secrets;
mod store;
mod subject;
mod suggest;

pub use permissions::{By, Call, Confines, Permissions, RulePaths, Ruling, covered_by};
pub use remedy::Change;
pub use rule::{
    Anchors, Rule, RuleError, Scope, Source, TOOL_NAMES, server_tool_name, split_rules, tool_named,
};
pub use store::holds_credentials;
pub use subject::{RuleFacts, RuleSubject};
