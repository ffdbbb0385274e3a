//! HTTP+SSE of protocol 2024-11-05: one event stream from the server, and a URL that it names to post
//! messages to.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt as _;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{RequestBuilder, Response, StatusCode};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::AuthRequiredError;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tracing::debug;
use url::Url;

use super::error::{brief, chain};
use super::events::events;
use super::oauth::Tokens;
use super::unread::read;
use super::web::{Web, bare, body, challenge};

/// The limit for queued messages; the server waits when it is reached.
const MAX_WAITING: usize = 16;
/// The limit for the body of an error response.
const MAX_ERROR_BODY: usize = 64 << 10;

/// Why a message could not be sent, or the stream not opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SseFault {
    #[error(transparent)]
    Http(reqwest::Error),
    #[error("HTTP {0}")]
    Status(String),
    #[error("the server requires sign-in")]
    Auth(#[source] AuthRequiredError),
    #[error("the token could not be renewed: {}", chain(.0))]
    Token(AuthError),
    #[error("the URL returns `{0}`, not an event stream")]
    NoStream(String),
    #[error("the stream ended before it named an address to post to")]
    NoEndpoint,
    #[error("the server wants messages posted to `{0}`, which is not its own")]
    Elsewhere(String),
}

impl From<reqwest::Error> for SseFault {
    fn from(error: reqwest::Error) -> Self {
        Self::Http(bare(error))
    }
}

/// A connection.
pub(crate) struct SseTransport {
    messages: mpsc::Receiver<RxJsonRpcMessage<RoleClient>>,
    mailbox: Arc<Mailbox>,
    reading: AbortHandle,
}

/// Where messages are posted to.
struct Mailbox {
    way: Way,
    endpoint: Url,
}

/// How a server is reached.
#[derive(Clone)]
pub(crate) struct Way {
    pub(crate) web: Web,
    pub(crate) headers: HashMap<HeaderName, HeaderValue>,
    pub(crate) tokens: Option<Arc<Tokens>>,
}

impl Way {
    /// Sends a request; with a token if there is one, and once more with a new one if the server will not have that.
    async fn send(&self, request: impl Fn() -> RequestBuilder) -> Result<Response, SseFault> {
        let mut token = match &self.tokens {
            Some(tokens) => tokens.current().await.map_err(SseFault::Token)?,
            None => None,
        };
        loop {
            let mut request = request();
            for (name, value) in &self.headers {
                request = request.header(name, value);
            }
            if let Some(token) = &token {
                request = request.bearer_auth(token);
            }
            let response = request.send().await?;
            let status = response.status();
            if status != StatusCode::UNAUTHORIZED {
                if status.is_success() {
                    return Ok(response);
                }
                let said = body(response, MAX_ERROR_BODY).await.ok().flatten().unwrap_or_default();
                let said = String::from_utf8_lossy(&said);
                let said = format!("{status} {}", brief(&said));
                return Err(SseFault::Status(said.trim().to_owned()));
            }
            let newer = match (&self.tokens, token.take()) {
                (Some(tokens), Some(old)) => tokens.renewed(&old).await.map_err(SseFault::Token)?,
                _ => None,
            };
            match newer {
                Some(newer) => token = Some(newer),
                None => return Err(SseFault::Auth(challenge(response.headers()))),
            }
        }
    }
}

impl SseTransport {
    /// Opens the stream, and waits until it has named the address.
    pub(crate) async fn open(url: &str, way: Way) -> Result<Self, SseFault> {
        let response = way.send(|| way.web.0.get(url).header(ACCEPT, "text/event-stream")).await?;
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or("nothing").to_ascii_lowercase();
        if !kind.starts_with("text/event-stream") {
            return Err(SseFault::NoStream(kind));
        }
        let base = response.url().clone();
        let mut events = events(response.bytes_stream());
        let endpoint = loop {
            match events.next().await {
                Some(Ok(event)) if event.name == "endpoint" => {
                    break event.data.unwrap_or_default();
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(SseFault::NoEndpoint),
            }
        };
        // Headers and tokens are for this server alone.
        let own = base.join(endpoint.trim()).ok().filter(|own| own.origin() == base.origin());
        let endpoint = own.ok_or(SseFault::Elsewhere(endpoint))?;
        let (sender, messages) = mpsc::channel(MAX_WAITING);
        let reading = tokio::spawn(async move {
            while let Some(Ok(event)) = events.next().await {
                let is_message = matches!(&*event.name, "" | "message");
                let Some(data) = event.data.filter(|_| is_message) else { continue };
                match read(data.as_bytes()) {
                    Some(message) => {
                        if sender.send(message).await.is_err() {
                            return;
                        }
                    }
                    None => debug!(target: "ona::mcp", "an event is not a message"),
                }
            }
        });
        let mailbox = Arc::new(Mailbox { way, endpoint });
        Ok(Self { messages, mailbox, reading: reading.abort_handle() })
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = SseFault;

    fn name() -> Cow<'static, str> {
        "sse".into()
    }

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SseFault>> + Send + 'static {
        let mailbox = Arc::clone(&self.mailbox);
        async move {
            let Mailbox { way, endpoint } = &*mailbox;
            way.send(|| way.web.0.post(endpoint.clone()).json(&message)).await.map(drop)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> Result<(), SseFault> {
        self.reading.abort();
        Ok(())
    }
}

impl Drop for SseTransport {
    fn drop(&mut self) {
        self.reading.abort();
    }
}
