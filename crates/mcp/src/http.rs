//! Many clients, by streamable HTTP. Only ever on loopback, and never for a web page.
//!
//! The library keeps no state between requests, so it cannot cancel one. Running calls are
//! tracked here: a client gets a session id at `initialize`, and requests with that id are its own.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use http_body_util::{BodyExt, BodyStream, Full, StreamBody, combinators::BoxBody};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use ona_types::SessionId;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::handler::Handler;
use crate::message::fault;
use crate::{MAX_MESSAGE, ServeError, ToolSet};

/// Where clients post to.
const PATH: &str = "/mcp";
/// The header that names a client's session.
const SESSION: &str = "mcp-session-id";
/// The notification by which a client cancels a call.
const CANCELLED: &str = "notifications/cancelled";
/// Connections at a time; more wait.
const MAX_CONNECTIONS: usize = 512;
/// Requests at a time; more wait. A connection without a complete request does not count.
const MAX_REQUESTS: usize = 64;
/// The time limit for a request's headers.
const HEADERS_WITHIN: Duration = Duration::from_secs(5);
/// The time limit for a request's body.
const MESSAGE_WITHIN: Duration = Duration::from_secs(30);
/// How long running calls may continue after the shutdown.
const GRACE: Duration = Duration::from_secs(2);

type Service = StreamableHttpService<Handler, NeverSessionManager>;
type Answered = Response<BoxBody<Bytes, Infallible>>;

/// Serves on a port of 127.0.0.1, 0 for any, until it is cancelled. `listening` gets the address as soon as it is
/// known.
pub async fn serve_http(
    tools: Arc<dyn ToolSet>,
    port: u16,
    cancel: CancellationToken,
    listening: impl FnOnce(&str),
) -> Result<(), ServeError> {
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
    let port = listener.local_addr()?.port();
    listening(&format!("http://127.0.0.1:{port}{PATH}"));
    let handler = Handler { tools };
    let service: Service = StreamableHttpService::new(
        move || Ok(handler.clone()),
        Arc::new(NeverSessionManager::default()),
        config(port, cancel.clone()),
    );
    let calls = Calls::default();
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let turns = Arc::new(Semaphore::new(MAX_REQUESTS));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = cancel.cancelled() => break,
            accepted = accept(&listener, &room) => accepted,
        };
        // What has ended is forgotten.
        while connections.try_join_next().is_some() {}
        let Some((stream, seat)) = accepted else { continue };
        let (service, calls, cancel) = (service.clone(), calls.clone(), cancel.clone());
        let turns = Arc::clone(&turns);
        connections.spawn(async move {
            let _seat = seat;
            let answer = service_fn(move |request| {
                let answered = answer(service.clone(), calls.clone(), request);
                let turns = Arc::clone(&turns);
                async move {
                    let _turn = turns.acquire().await;
                    answered.await
                }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADERS_WITHIN)
                .serve_connection(TokioIo::new(stream), answer);
            tokio::pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = cancel.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                debug!(target: "ona::mcp", %error, "a connection was lost");
            }
        });
    }
    let _ = tokio::time::timeout(GRACE, async { while connections.join_next().await.is_some() {} })
        .await;
    Ok(())
}

/// The next connection with its slot; `None` if it was lost at once.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> Option<(tokio::net::TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let seat = Arc::clone(room).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, seat)),
        Err(error) => {
            debug!(target: "ona::mcp", %error, "a connection was not accepted");
            // Out of descriptors, most likely: others have to end first.
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

/// No state between requests; `Host` must name this server, which prevents DNS rebinding, and
/// `Origin`, which only browsers send, must be its own.
fn config(port: u16, cancel: CancellationToken) -> StreamableHttpServerConfig {
    let own = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{port}"));
    StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_MESSAGE)
        .with_allowed_origins(own.iter().map(|own| format!("http://{own}")))
        .enforce_origin_validation()
        .with_allowed_hosts(own)
        .with_cancellation_token(cancel)
}

async fn answer(
    service: Service,
    calls: Calls,
    request: Request<Incoming>,
) -> Result<Answered, Infallible> {
    if request.uri().path() != PATH {
        return Ok(plain(StatusCode::NOT_FOUND, "MCP is at /mcp\n"));
    }
    let (parts, body) = request.into_parts();
    let session = parts.headers.get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
    let Ok(body) = tokio::time::timeout(MESSAGE_WITHIN, taken_in(body)).await else {
        return Ok(plain(StatusCode::REQUEST_TIMEOUT, "the message is incomplete\n"));
    };
    let fault = fault(&body).filter(|_| parts.method == Method::POST);
    let Said { id, method, params } = serde_json::from_slice(&body).unwrap_or_default();
    let answering = service.handle(Request::from_parts(parts, Full::new(body)));
    if let Some(fault) = fault {
        // What the library refuses for another reason, such as its origin, gets no other answer.
        let answer = answering.await;
        return Ok(match answer.status() {
            StatusCode::BAD_REQUEST | StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                json_answer(StatusCode::BAD_REQUEST, &fault)
            }
            _ => answer,
        });
    }
    Ok(match (method.as_str(), session, id) {
        ("initialize", ..) => {
            let mut answer = answering.await;
            if let Ok(id) = HeaderValue::from_str(SessionId::generate().as_str())
                && answer.status() == StatusCode::OK
            {
                answer.headers_mut().insert(SESSION, id);
            }
            answer
        }
        (CANCELLED, Some(session), _) => {
            let answer = answering.await;
            // Only after the library has checked the origin.
            if answer.status() == StatusCode::ACCEPTED {
                calls.cancel(session, &params.request_id);
            }
            answer
        }
        (_, Some(session), Some(id)) => {
            let call = calls.begin(session, &id);
            tokio::select! {
                answer = answering => ending_with(call, answer),
                // If its receiver is dropped, the library ends the call.
                () = call.cancel.cancelled() => taken_back(&id),
            }
        }
        _ => answering.await,
    })
}

/// A message as far as it is of interest here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Said {
    id: Option<Value>,
    method: String,
    params: Params,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Params {
    request_id: Value,
}

/// What a client sends; of what is too large only so much that the library sees that.
async fn taken_in(mut body: Incoming) -> Bytes {
    let mut taken = Vec::new();
    while taken.len() <= MAX_MESSAGE
        && let Some(Ok(frame)) = body.frame().await
    {
        if let Some(bytes) = frame.data_ref() {
            taken.extend_from_slice(bytes);
        }
    }
    taken.into()
}

/// Running calls, by session and the client's request id.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<HashMap<(String, String), CancellationToken>>>);

impl Calls {
    fn begin(&self, session: String, id: &Value) -> Underway {
        let (key, cancel) = ((session, id.to_string()), CancellationToken::new());
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.insert(key.clone(), cancel.clone());
        Underway { calls: self.clone(), key, cancel }
    }

    fn cancel(&self, session: String, id: &Value) {
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cancel) = calls.get(&(session, id.to_string())) {
            cancel.cancel();
        }
    }
}

/// A running call, as long as this value lives.
struct Underway {
    calls: Calls,
    key: (String, String),
    cancel: CancellationToken,
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.calls.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

/// An answer that may still be on its way, until it is whole or taken back.
fn ending_with(call: Underway, answer: Answered) -> Answered {
    let taken_back = call.cancel.clone().cancelled_owned();
    answer.map(|body| {
        let frames = BodyStream::new(body).take_until(taken_back);
        BodyExt::boxed(StreamBody::new(frames.inspect(move |_| _ = &call)))
    })
}

/// The error in place of an answer that was cancelled.
fn taken_back(id: &Value) -> Answered {
    let error = json!({"code": -32_800, "message": "the call was cancelled"});
    json_answer(StatusCode::OK, &json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

fn json_answer(status: StatusCode, said: &Value) -> Answered {
    let mut answer = plain(status, said.to_string());
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn plain(status: StatusCode, said: impl Into<Bytes>) -> Answered {
    let mut answer = Response::new(Full::new(said.into()).boxed());
    *answer.status_mut() = status;
    answer
}
