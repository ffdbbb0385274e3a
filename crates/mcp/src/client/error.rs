//! Errors of requests to a server.

use std::time::Duration;

use ona_types::gate::WrongPermit;
use rmcp::ServiceError;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::{AuthRequiredError, StreamableHttpError};

use super::bound::TOO_LARGE;
use super::sse::SseFault;
use super::unread::UNREADABLE;

/// Why a call, or another request to a server, failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// The gate has permitted another call.
    #[error(transparent)]
    WrongPermit(#[from] WrongPermit),
    /// The server is unknown.
    #[error("unknown MCP server `{name}`; known: {known}")]
    UnknownServer {
        /// The name.
        name: String,
        /// The known names.
        known: String,
    },
    /// The server has no such tool, or no longer.
    #[error("the MCP server `{server}` has no tool `{tool}`")]
    UnknownTool {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// There is no connection at the moment.
    #[error("the MCP server `{server}` is not connected: {why}")]
    NotConnected {
        /// The server.
        server: String,
        /// Why not.
        why: String,
    },
    /// It requires a sign-in.
    #[error("the MCP server `{server}` requires sign-in")]
    NeedsAuth {
        /// The server.
        server: String,
    },
    /// There was no answer in time. The request was cancelled.
    #[error("the MCP server `{server}` gave no answer within {} s", after.as_secs_f64())]
    Timeout {
        /// The server.
        server: String,
        /// How long it had.
        after: Duration,
    },
    /// The caller cancelled the request. The server was told.
    #[error("the call was cancelled")]
    Cancelled,
    /// The answer is larger than the limit.
    #[error("the answer of the MCP server `{server}` is too large: {message}")]
    TooLarge {
        /// The server.
        server: String,
        /// How large it may be.
        message: String,
    },
    /// The answer is not valid.
    #[error("the MCP server `{server}` gave no usable answer: {why}")]
    NoAnswer {
        /// The server.
        server: String,
        /// What there is.
        why: String,
    },
    /// The server says no, in these words of its own.
    #[error("the MCP server says: {message} ({code})")]
    Protocol {
        /// The code of JSON-RPC.
        code: i32,
        /// What it says.
        message: String,
    },
}

impl McpError {
    /// Converts an error of the library.
    pub(crate) fn of(server: &str, error: ServiceError) -> Self {
        let no_answer = |why| Self::NoAnswer { server: server.to_owned(), why };
        match error {
            ServiceError::McpError(error) if error.code.0 == TOO_LARGE => {
                Self::TooLarge { server: server.to_owned(), message: error.message.into_owned() }
            }
            ServiceError::McpError(error) if error.code.0 == UNREADABLE => {
                no_answer(error.message.into_owned())
            }
            ServiceError::McpError(error) => {
                Self::Protocol { code: error.code.0, message: error.message.into_owned() }
            }
            ServiceError::TransportSend(error) if needs_auth(&error) => {
                Self::NeedsAuth { server: server.to_owned() }
            }
            ServiceError::TransportSend(error) if refuses(&error) => no_answer(failure(&error)),
            ServiceError::TransportSend(error) => {
                Self::NotConnected { server: server.to_owned(), why: failure(&error) }
            }
            ServiceError::TransportClosed => {
                let why = "the connection was lost".to_owned();
                Self::NotConnected { server: server.to_owned(), why }
            }
            ServiceError::Cancelled { .. } => Self::Cancelled,
            ServiceError::Timeout { timeout } => {
                Self::Timeout { server: server.to_owned(), after: timeout }
            }
            ServiceError::UnexpectedResponse => {
                no_answer("it does not match the request".to_owned())
            }
            error => no_answer(error.to_string()),
        }
    }

    /// Whether the connection is to blame, so that a new one may help.
    pub(crate) fn is_broken(&self) -> bool {
        matches!(self, Self::NotConnected { .. } | Self::NeedsAuth { .. })
    }
}

type HttpError = StreamableHttpError<reqwest::Error>;

/// Whether the server received the request and rejected it.
fn refuses(error: &DynamicTransportError) -> bool {
    let refused = |error: &HttpError| {
        matches!(
            error,
            StreamableHttpError::HttpStatus(_)
                | StreamableHttpError::UnexpectedServerResponse(_)
                | StreamableHttpError::UnexpectedContentType(_)
                | StreamableHttpError::InsufficientScope(_)
        )
    };
    error.error.downcast_ref().is_some_and(refused)
        || matches!(error.error.downcast_ref(), Some(SseFault::Status(_)))
}

/// Why a request was not sent, with all causes.
pub(crate) fn failure(error: &DynamicTransportError) -> String {
    match error.error.downcast_ref::<HttpError>() {
        // The library does not expose the cause.
        Some(StreamableHttpError::Client(error)) => chain(error),
        Some(StreamableHttpError::UnexpectedServerResponse(said)) => said.to_string(),
        Some(StreamableHttpError::UnexpectedContentType(kind)) => {
            let kind = kind.as_deref().filter(|kind| !kind.is_empty());
            format!("it is `{}`, not JSON", kind.unwrap_or("of no type"))
        }
        _ => chain(&*error.error),
    }
}

/// Whether a request failed because the server requires a sign-in.
fn needs_auth(error: &DynamicTransportError) -> bool {
    let mut cause = Some(&*error.error as &(dyn std::error::Error + 'static));
    while let Some(error) = cause {
        let unknown = matches!(error.downcast_ref(), Some(AuthError::AuthorizationRequired));
        if unknown || error.is::<AuthRequiredError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// What is shown of a server's own words.
const MAX_ERROR_CHARS: usize = 300;

/// A server's error message, on one line and shortened.
pub(crate) fn brief(words: &str) -> String {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match ona_types::whole_words(&line, MAX_ERROR_CHARS) {
        shown if shown.len() < line.len() => format!("{shown}…"),
        _ => line,
    }
}

/// An error message without a URL, which may contain credentials.
fn words(error: &(dyn std::error::Error + 'static)) -> String {
    let said = error.to_string();
    let mut cause = Some(error);
    let mut url = None;
    while let Some(error) = cause.filter(|_| url.is_none()) {
        url = error.downcast_ref::<reqwest::Error>().and_then(reqwest::Error::url);
        cause = error.source();
    }
    match url {
        Some(url) => said.replace(url.as_str(), &url.origin().ascii_serialization()),
        None => said,
    }
}

/// An error with all its causes, each said once.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut said = words(error);
    let mut cause = error.source();
    while let Some(error) = cause {
        let further = words(error);
        if !said.contains(&further) {
            said = format!("{said}: {further}");
        }
        cause = error.source();
    }
    said
}
