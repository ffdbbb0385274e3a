//! Streamable HTTP, with size limits for answers.
//!
//! The library reads a plain JSON answer to its end, however long it is, and events with a parser of its own. Here
//! both are bounded, and events are read as everywhere in ona.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use ona_http::sse::Event;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE,
};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;
use url::Url;

use super::bound::{MAX_RESPONSE, TOO_LARGE};
use super::error::brief;
use super::events::events;
use super::unread::in_place_of;

/// How long a connection may take to come about.
const CONNECT_WITHIN: Duration = Duration::from_secs(20);
/// Hops to other places of the same server.
const MAX_REDIRECTS: usize = 5;
/// The limit for the body of an error response.
const MAX_ERROR_BODY: usize = 64 << 10;

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";

/// Headers that the protocol sets itself.
const RESERVED: [&str; 5] =
    ["accept", "content-type", "mcp-session-id", "mcp-protocol-version", "last-event-id"];

pub(crate) type Outcome<T> = Result<T, StreamableHttpError<reqwest::Error>>;

/// The way to servers that listen at an address.
#[derive(Clone, Debug)]
pub(crate) struct Web(pub(crate) Client);

/// The HTTP client could not be made.
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot set up HTTP: {0}")]
pub(crate) struct NoWeb(Arc<reqwest::Error>);

impl Web {
    pub(crate) fn new() -> Result<Self, NoWeb> {
        let client = ona_http::client()
            .user_agent(concat!("ona/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_WITHIN)
            .redirect(Policy::custom(within_server))
            .build();
        client.map(Self).map_err(|error| NoWeb(Arc::new(error)))
    }
}

/// An HTTP error without the URL, except for the host: the rest may contain credentials.
pub(crate) fn bare(error: reqwest::Error) -> reqwest::Error {
    let place = error.url().and_then(|url| Url::parse(&url.origin().ascii_serialization()).ok());
    match place {
        Some(place) => error.with_url(place),
        None => error.without_url(),
    }
}

fn client_error(error: reqwest::Error) -> StreamableHttpError<reqwest::Error> {
    StreamableHttpError::Client(bare(error))
}

/// A redirect is followed only within the same server, and only if it keeps the body: headers must not go elsewhere.
fn within_server(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let keeps_message = [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT]
        .contains(&attempt.status());
    let first = attempt.previous().first();
    let same = first.is_some_and(|first| first.origin() == attempt.url().origin());
    match keeps_message && same && attempt.previous().len() <= MAX_REDIRECTS {
        true => attempt.follow(),
        false => attempt.stop(),
    }
}

/// Why headers of settings cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HeaderError {
    #[error("`{0}` is not a valid header name")]
    Name(String),
    #[error("the header `{0}` is MCP's own; take it out of the settings")]
    Reserved(String),
    #[error("the header `{0}` has a value that is not valid in HTTP")]
    Value(String),
}

/// Headers of settings, as HTTP takes them.
pub(crate) fn header_map(
    headers: &[(String, String)],
) -> Result<HashMap<HeaderName, HeaderValue>, HeaderError> {
    let mut map = HashMap::new();
    for (name, value) in headers {
        let key =
            HeaderName::try_from(name.as_str()).map_err(|_| HeaderError::Name(name.clone()))?;
        if RESERVED.contains(&key.as_str()) {
            return Err(HeaderError::Reserved(name.clone()));
        }
        // What it holds is likely a secret.
        let mut value =
            HeaderValue::try_from(value.trim()).map_err(|_| HeaderError::Value(name.clone()))?;
        value.set_sensitive(true);
        map.insert(key, value);
    }
    Ok(map)
}

/// Whether the settings already contain credentials.
pub(crate) fn says_who(headers: &HashMap<HeaderName, HeaderValue>) -> bool {
    headers.contains_key(&AUTHORIZATION)
}

/// The challenge of a server that requires a sign-in.
pub(crate) fn challenge(headers: &HeaderMap) -> AuthRequiredError {
    let said = headers.get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    AuthRequiredError::new(said.unwrap_or("Bearer").to_owned())
}

/// A body, up to the limit; `None` if it is larger.
pub(crate) async fn body(response: Response, most: usize) -> reqwest::Result<Option<Vec<u8>>> {
    let mut chunks = response.bytes_stream();
    let mut body = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(bare)?;
        if body.len() + chunk.len() > most {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}

impl StreamableHttpClient for Web {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Outcome<StreamableHttpPostResponse> {
        let has_session = session.is_some();
        let request = self.0.post(&*uri).header(ACCEPT, format!("{JSON}, {EVENTS}"));
        let request = with_headers(request, session, token, headers);
        let response = request.json(&message).send().await.map_err(client_error)?;
        let status = response.status();
        match status {
            StatusCode::UNAUTHORIZED => {
                let challenge = challenge(response.headers());
                return Err(StreamableHttpError::AuthRequired(challenge));
            }
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
                return Ok(StreamableHttpPostResponse::Accepted);
            }
            StatusCode::NOT_FOUND if has_session => {
                return Err(StreamableHttpError::SessionExpired);
            }
            _ => {}
        }
        if !status.is_success() {
            return refused(&message, response).await;
        }
        answered(&message, response).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        _most: usize,
    ) -> Outcome<StreamableHttpPostResponse> {
        self.post_message(uri, message, session, token, headers).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Outcome<()> {
        let request = with_headers(self.0.delete(&*uri), Some(session), token, headers);
        let response = request.send().await.map_err(client_error)?;
        // A server need not let clients end sessions.
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Ok(());
        }
        response.error_for_status().map(drop).map_err(client_error)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Outcome<BoxStream<'static, Result<Sse, SseError>>> {
        let mut request = self.0.get(&*uri).header(ACCEPT, format!("{EVENTS}, {JSON}"));
        if let Some(last) = last {
            request = request.header(LAST_EVENT, last);
        }
        let request = with_headers(request, session, token, headers);
        opened(request.send().await.map_err(client_error)?)
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        _most: usize,
    ) -> Outcome<BoxStream<'static, Result<Sse, SseError>>> {
        self.get_stream(uri, session, last, token, headers).await
    }
}

/// A request with what goes with every message of a session.
fn with_headers(
    mut request: RequestBuilder,
    session: Option<Arc<str>>,
    token: Option<String>,
    headers: HashMap<HeaderName, HeaderValue>,
) -> RequestBuilder {
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    for (name, value) in headers {
        request = request.header(name, value);
    }
    match session {
        Some(session) => request.header(SESSION, &*session),
        None => request,
    }
}

/// The stream that a server opens for what it says unasked.
fn opened(response: Response) -> Outcome<BoxStream<'static, Result<Sse, SseError>>> {
    let status = response.status();
    let challenged = response.headers().contains_key(WWW_AUTHENTICATE);
    match status {
        StatusCode::METHOD_NOT_ALLOWED => return Err(StreamableHttpError::ServerDoesNotSupportSse),
        StatusCode::UNAUTHORIZED if challenged => {
            return Err(StreamableHttpError::AuthRequired(challenge(response.headers())));
        }
        StatusCode::FORBIDDEN if challenged => {
            let said = challenge(response.headers()).www_authenticate_header;
            let error = InsufficientScopeError::new(said, None);
            return Err(StreamableHttpError::InsufficientScope(error));
        }
        _ if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
            return Err(HttpStatusError::new(status.as_u16(), None).into());
        }
        _ => {}
    }
    let response = response.error_for_status().map_err(client_error)?;
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.map(str::to_ascii_lowercase);
    match kind.as_deref().is_some_and(|kind| kind.starts_with(EVENTS) || kind.starts_with(JSON)) {
        true => Ok(stream(response)),
        false => Err(StreamableHttpError::UnexpectedContentType(kind)),
    }
}

/// The events of a response, as the library takes them.
fn stream(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    let events = events(response.bytes_stream().map(|bytes| bytes.map_err(bare)));
    let sse = |event: Event| {
        let Event { name, data, id, retry } = event;
        Sse { event: Some(name).filter(|name| !name.is_empty()), data, id, retry }
    };
    events.map(move |event| event.map(sse).map_err(|error| SseError::Body(error.into()))).boxed()
}

/// An answer with a status of success.
async fn answered(
    message: &ClientJsonRpcMessage,
    response: Response,
) -> Outcome<StreamableHttpPostResponse> {
    let wants_answer = matches!(message, ClientJsonRpcMessage::Request(_));
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let session = header(SESSION).map(str::to_owned);
    let kind = header(CONTENT_TYPE.as_str()).unwrap_or_default().to_ascii_lowercase();
    if kind.starts_with(EVENTS) {
        let asked = match message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let events = stream(response);
        let events = events.map(move |event| event.map(|event| readable(event, asked.as_ref())));
        return Ok(StreamableHttpPostResponse::Sse(events.boxed(), session));
    }
    if !kind.starts_with(JSON) {
        // There is nothing to be read where nothing was asked.
        return match wants_answer {
            true => Err(StreamableHttpError::UnexpectedContentType(Some(kind))),
            false => Ok(StreamableHttpPostResponse::Accepted),
        };
    }
    let body = body(response, MAX_RESPONSE).await.map_err(StreamableHttpError::Client)?;
    let parsed = match (&body, message) {
        (None, ClientJsonRpcMessage::Request(request)) => {
            let said = format!("the answer is larger than {} MiB", MAX_RESPONSE >> 20);
            let error = ErrorData::new(ErrorCode(TOO_LARGE), said, None);
            return Ok(StreamableHttpPostResponse::Json(
                ServerJsonRpcMessage::error(error, Some(request.id.clone())),
                session,
            ));
        }
        (None, _) => return Ok(StreamableHttpPostResponse::Accepted),
        (Some(body), _) => serde_json::from_slice::<ServerJsonRpcMessage>(body),
    };
    match parsed {
        Ok(parsed) => Ok(StreamableHttpPostResponse::Json(parsed, session)),
        Err(_) if !wants_answer => Ok(StreamableHttpPostResponse::Accepted),
        Err(error) => Err(unexpected(format!("it is not an MCP message: {error}"))),
    }
}

/// An event as it came, or in the place of a message that cannot be read an error for the request that the stream is
/// the answer to.
fn readable(mut event: Sse, asked: Option<&RequestId>) -> Sse {
    let is_message = matches!(event.event.as_deref(), None | Some("" | "message"));
    let Some(text) = event.data.as_deref().filter(|_| is_message) else { return event };
    let Err(error) = serde_json::from_str::<ServerJsonRpcMessage>(text) else { return event };
    if let Some(ServerJsonRpcMessage::Error(mut said)) = in_place_of(text.as_bytes(), &error) {
        said.id = said.id.or_else(|| asked.cloned());
        event.data = serde_json::to_string(&ServerJsonRpcMessage::Error(said)).ok();
    }
    event
}

/// An answer with a status of failure: JSON-RPC's own error if there is one in it.
async fn refused(
    message: &ClientJsonRpcMessage,
    response: Response,
) -> Outcome<StreamableHttpPostResponse> {
    let status = response.status();
    let body = body(response, MAX_ERROR_BODY).await.ok().flatten().unwrap_or_default();
    let parsed = serde_json::from_slice::<ServerJsonRpcMessage>(&body);
    if let (Ok(ServerJsonRpcMessage::Error(error)), ClientJsonRpcMessage::Request(request)) =
        (parsed, message)
    {
        // Middleware that says no before it has read the request cannot know its id.
        let error = ServerJsonRpcMessage::error(error.error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(error, None));
    }
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        return Err(HttpStatusError::new(status.as_u16(), None).into());
    }
    let said = String::from_utf8_lossy(&body);
    let shown = brief(&said);
    Err(unexpected(match shown.is_empty() {
        true => format!("HTTP {status}"),
        false => format!("HTTP {status}: {shown}"),
    }))
}

fn unexpected(said: String) -> StreamableHttpError<reqwest::Error> {
    StreamableHttpError::UnexpectedServerResponse(Cow::Owned(said))
}
