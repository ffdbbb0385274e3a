//! Many clients, by streamable HTTP. Only ever on loopback, and never for a web page.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::handler::Handler;
use crate::{LARGEST_MESSAGE, ServeError, ToolSet};

/// Where clients post to.
const PATH: &str = "/mcp";
/// Connections at a time; more wait.
const MOST_CONNECTIONS: usize = 64;
/// How long a client may take to say what it wants.
const HEADERS_WITHIN: Duration = Duration::from_secs(10);
/// How long calls that are under way may go on after the end.
const GRACE: Duration = Duration::from_secs(2);

type Service = StreamableHttpService<Handler, NeverSessionManager>;
type Answered = Response<BoxBody<Bytes, Infallible>>;

/// Serves on a port of 127.0.0.1, 0 for any, until it is cancelled. `listening` is told the address as soon as there is
/// one.
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
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = cancel.cancelled() => break,
            accepted = accept(&listener, &room) => accepted,
        };
        // What has ended is forgotten.
        while connections.try_join_next().is_some() {}
        let Some((stream, seat)) = accepted else { continue };
        let (service, cancel) = (service.clone(), cancel.clone());
        connections.spawn(async move {
            let _seat = seat;
            let answer = service_fn(move |request| answer(service.clone(), request));
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
                debug!(target: "ona::mcp", %error, "a connection broke off");
            }
        });
    }
    let _ = tokio::time::timeout(GRACE, async { while connections.join_next().await.is_some() {} })
        .await;
    Ok(())
}

/// The next connection, and a seat for it; nothing if it broke off at once.
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

/// No state between requests; `Host` must name this server, so that no other name that was made to lead here does, and
/// `Origin`, which only browsers send, must be its own.
fn config(port: u16, cancel: CancellationToken) -> StreamableHttpServerConfig {
    let own = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{port}"));
    StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(LARGEST_MESSAGE)
        .with_allowed_origins(own.iter().map(|own| format!("http://{own}")))
        .enforce_origin_validation()
        .with_allowed_hosts(own)
        .with_cancellation_token(cancel)
}

async fn answer(service: Service, request: Request<Incoming>) -> Result<Answered, Infallible> {
    if request.uri().path() == PATH {
        return Ok(service.handle(request).await);
    }
    let body = Full::new(Bytes::from_static(b"MCP is at /mcp\n")).boxed();
    let mut nowhere = Response::new(body);
    *nowhere.status_mut() = StatusCode::NOT_FOUND;
    Ok(nowhere)
}
