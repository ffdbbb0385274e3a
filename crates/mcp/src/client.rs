//! The client: the servers that ona is connected to, and what they offer.
//!
//! A [`Pool`] connects the servers it is given ([`crate::ServerSpec`]), each by a task of its own, and keeps them
//! connected. What a server sends is limited in size and number, and every operation in time; a misbehaving server
//! harms only itself.

mod bound;
mod call;
mod callbacks;
mod child;
mod connect;
mod content;
mod error;
mod events;
mod keeper;
mod lists;
mod names;
mod oauth;
mod pipe;
mod pool;
mod reading;
mod server;
mod server_requests;
mod signed_in;
mod sse;
mod stale;
mod tap;
mod unread;
mod web;

pub use call::CallOptions;
pub use callbacks::{
    Browser, ElicitAnswer, ElicitForm, Elicitation, HelperError, ServerCallbacks, TokenStore,
    token_key,
};
pub use content::{Body, CallOutcome, ContentPart, PromptMessage, ResourceContent};
pub use error::McpError;
pub use lists::{McpPrompt, McpResource, McpTemplate, McpTool, PromptArgument};
pub use names::{slug, tool_name};
pub use oauth::AuthorizeError;
pub use pool::{Pool, PoolOptions, ServerStatus};
pub use server::{Retry, ServerInfo, ServerState};
pub use server_requests::Root;
pub use tap::OnProgress;
