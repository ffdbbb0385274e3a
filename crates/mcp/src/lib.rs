//! MCP, client and server: tools of MCP servers for ona, and ona's tools for other agents.
//!
//! A [`Pool`] connects servers and calls their tools. To offer tools, implement [`ToolSet`]; [`serve_stdio`]
//! and [`serve_http`] speak the protocol. The library behind it (`rmcp`) changes fast and is not exposed by this crate.
//!
//! It does not know what the tools do, and neither prints nor reads the environment.

mod client;
mod handler;
mod http;
mod lines;
mod message;
mod spec;
mod stdio;

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

pub use client::{
    AuthorizeError, Body, Browser, CallOptions, CallOutcome, ContentPart, ElicitAnswer, ElicitForm,
    Elicitation, HelperError, McpError, McpPrompt, McpResource, McpTemplate, McpTool, OnProgress,
    Pool, PoolOptions, PromptArgument, PromptMessage, ResourceContent, Retry, Root,
    ServerCallbacks, ServerInfo, ServerState, ServerStatus, TokenStore, slug, token_key, tool_name,
};
pub use handler::Reporter;
pub use http::serve_http;
pub use spec::{CALL_TIMEOUT, OauthClient, Remote, START_TIMEOUT, ServerSpec, Way};
pub use stdio::serve_stdio;

/// The limit for an incoming message, in bytes.
pub const MAX_MESSAGE: usize = 4 << 20;

/// Something that is awaited.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// How far a call got.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// So far; more than the time before.
    pub done: f64,
    /// Of how much, if that is known.
    pub total: Option<f64>,
    /// What is being done.
    pub message: Option<String>,
}

/// A tool, as clients are told.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: Cow<'static, str>,
    /// What it is for, to a model.
    pub description: Cow<'static, str>,
    /// The JSON schema of its arguments, an object.
    pub schema: Map<String, Value>,
    /// What it may do.
    pub hints: Hints,
}

/// What a tool may do, whatever it is called with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub reads_only: bool,
    /// It may change or remove what is there, and not only add to it.
    pub destructive: bool,
    /// The same call a second time changes nothing more.
    pub idempotent: bool,
    /// It reaches out of this machine, or may.
    pub open_world: bool,
}

impl Hints {
    /// It changes nothing, and stays on this machine.
    pub const READS: Self =
        Self { reads_only: true, destructive: false, idempotent: true, open_world: false };
    /// It only adds to what is there.
    pub const ADDS: Self = Self { reads_only: false, idempotent: false, ..Self::READS };
    /// It replaces or removes what is there.
    pub const CHANGES: Self = Self { destructive: true, ..Self::ADDS };
    /// It may do anything.
    pub const ANYTHING: Self = Self { open_world: true, ..Self::CHANGES };

    /// The same, of a tool that reaches out of this machine.
    #[must_use]
    pub const fn far(self) -> Self {
        Self { open_world: true, ..self }
    }

    /// The same, of a tool that does nothing more when it is called twice.
    #[must_use]
    pub const fn once(self) -> Self {
        Self { idempotent: true, ..self }
    }
}

/// What a tool answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What the model reads, one block each.
    pub texts: Vec<String>,
    /// Whether the tool could not do what it was asked for.
    pub is_error: bool,
}

/// The tool is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown tool")]
pub struct UnknownTool;

/// A call of a tool that is offered.
#[derive(Debug)]
pub struct Call {
    /// The tool's name.
    pub name: String,
    /// What it is called with.
    pub arguments: Map<String, Value>,
    /// Cancelled when the client cancels the call or disconnects. The answer is not read then, so a tool may stop as
    /// soon as what it did is on the record.
    pub cancel: CancellationToken,
    /// Reports progress.
    pub progress: Reporter,
}

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

    /// Calls a tool. Calls run in parallel; one that blocks must use its own thread. It is awaited to its end
    /// even if the client has cancelled it.
    fn call(self: Arc<Self>, call: Call) -> BoxFuture<'static, Result<Answer, UnknownTool>>;
}

/// Why serving ended unexpectedly.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The client spoke something else than MCP.
    #[error("the client does not speak MCP: {0}")]
    Client(String),
    /// The transport failed.
    #[error("the connection failed: {0}")]
    Transport(#[from] std::io::Error),
    /// A part of the server itself ended by a panic.
    #[error("the server stopped: {0}")]
    Broken(String),
}
