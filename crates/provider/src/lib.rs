//! Speaks to a model: a neutral request goes out, live deltas and one whole answer come back.
//!
//! [`resolve`] turns a name from the closed tables of S0 §2.2 into a [`Model`]. A [`Client`] puts a
//! [`Request`] into the words of the Anthropic Messages API or of OpenAI Chat Completions, reads the
//! stream, and tries again what is worth trying again. An [`Answer`] is only ever whole: an attempt that
//! broke off is declared [`Live::Void`] and made again, or ends in an [`AskError`].
//!
//! It knows no conversation, runs no tool, reads no environment and finds no credential: the caller
//! brings those. [`scripted`] is the other end of the wire, a model server that says what it is told to.
//!
//! ```
//! use std::sync::Arc;
//! use ona_provider::scripted::{Reply, Server};
//! use ona_provider::{Client, Credential, Fixed, Message, ProviderKind, Request, Retry, Transport};
//! use tokio_util::sync::CancellationToken;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::start([Reply::say("Hello.")])?;
//! let client = Client::new(
//!     ProviderKind::ClaudeCodeSubscription,
//!     &Transport::to(server.base_url()),
//!     Arc::new(Fixed::new("example", Credential::None)),
//!     Retry::default(),
//! )?;
//! let request = Request::new("claude-opus-4-20250514", 1024).with(Message::user("Hi."));
//! let answer = client.ask(&request, &mut |_live| (), &CancellationToken::new()).await?;
//! assert_eq!(answer.text(), "Hello.");
//! # Ok(())
//! # }
//! ```

mod anthropic;
mod assemble;
mod attempt;
mod client;
mod credential;
mod failure;
mod history;
mod http;
mod json_text;
mod live;
mod message;
mod model;
mod openai;
mod retry;
pub mod scripted;
mod usage;
mod web_search;
mod wire;

#[doc(hidden)]
pub use attempt::read_stream;
pub use client::{Client, Unreachable};
pub use credential::{Credential, CredentialError, Credentials, Fetching, Fixed};
pub use failure::{AskError, Failure, FailureWord};
pub use history::{History, Written};
pub use http::{ConfigurationError, Proxies, Transport, header_secrets};
pub use json_text::JsonText;
pub use live::Live;
pub use message::{
    Answer, Block, Message, Part, Request, Role, StopReason, ToolChoice, ToolInput, ToolSpec,
};
pub use model::{
    Aliases, Model, ModelError, ProviderKind, UnknownProvider, allowed, is_wire_name, model_ids,
    resolve,
};
pub use ona_types::Usage;
pub use retry::{Backoff, Retry};
pub use usage::Price;
pub use web_search::{Citation, Found, SearchError, Searched, WebSearch};
