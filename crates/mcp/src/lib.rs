//! MCP: offering tools to other agents.
//!
//! Whoever has tools to offer implements [`ToolSet`]; [`serve_stdio`] and [`serve_http`] speak the protocol. The
//! library behind it (`rmcp`) moves fast and shows nowhere outside this crate.
//!
//! It knows nothing of what the tools do, and neither prints nor reads the environment.

mod handler;
mod http;
mod spec;
mod stdio;

use serde_json::{Map, Value};

pub use http::serve_http;
pub use spec::{CALL_TIMEOUT, OauthClient, Remote, START_TIMEOUT, ServerSpec, Way};
pub use stdio::serve_stdio;

/// The largest message that is taken in. What ona's tools are asked fits many times over.
pub const LARGEST_MESSAGE: usize = 4 << 20;

/// A tool, as clients are told.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// What it is for, to a model.
    pub description: &'static str,
    /// The JSON schema of its arguments, an object.
    pub schema: Map<String, Value>,
    /// Whether it only reads.
    pub reads_only: bool,
}

/// What a tool answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What the model reads, one block each.
    pub texts: Vec<String>,
    /// Whether the tool could not do what it was asked for.
    pub is_error: bool,
}

/// There is no tool of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no such tool")]
pub struct UnknownTool;

/// Tools that are offered together.
pub trait ToolSet: Send + Sync + 'static {
    /// What the server is called.
    fn name(&self) -> &str;

    /// Its version.
    fn version(&self) -> &str;

    /// What a model should know about the tools as a whole.
    fn instructions(&self) -> &str;

    /// The tools.
    fn tools(&self) -> Vec<ToolSpec>;

    /// Calls one. It may block: calls run beside each other, each on a thread of its own.
    fn call(&self, name: &str, arguments: Map<String, Value>) -> Result<Answer, UnknownTool>;
}

/// Why serving ended that should not have.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The client spoke something else than MCP.
    #[error("the client does not speak MCP: {0}")]
    Client(String),
    /// The transport failed.
    #[error("the connection failed: {0}")]
    Transport(#[from] std::io::Error),
    /// A part of the server itself ended by a panic.
    #[error("the server broke off: {0}")]
    Broken(String),
}
