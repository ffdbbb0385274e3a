//! Where a browser comes back to after a sign-in: a page on loopback, for one visitor with the right state.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use url::Url;

/// The time limit for a browser's request.
const HEADERS_WITHIN: Duration = Duration::from_secs(10);
/// The time limit for a browser's connection.
const VISIT_WITHIN: Duration = Duration::from_secs(15);
/// The limit for concurrent connections: the oldest one is closed for a further one. A browser asks at once.
const MAX_CONNECTIONS: usize = 32;
/// The path of the page.
const PATH: &str = "/callback";

/// Why the browser did not come back with a sign-in.
#[derive(Debug, thiserror::Error)]
pub enum Denial {
    /// In the authorization server's words.
    #[error("{error}{}", description.as_ref().map_or(String::new(), |why| format!(": {why}")))]
    Said {
        /// Its code.
        error: String,
        /// What it says of it.
        description: Option<String>,
    },
    /// Nobody can come any more.
    #[error("no more connections can be accepted: {0}")]
    Accept(io::Error),
}

/// The page, before anybody came.
pub struct Callback {
    listener: TcpListener,
    port: u16,
    url: String,
}

impl Callback {
    /// Listens on loopback; with port 0 on a random one. The browser knows the host by this name.
    pub async fn listen(port: u16, host: &str) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port, url: format!("http://{host}:{port}{PATH}") })
    }

    /// The address of the page.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Waits for the browser to come back, and gives the address it came with. A request with another state does not
    /// belong to this sign-in.
    pub async fn visited(self, state: &str) -> Result<Url, Denial> {
        let expected = Arc::new((self.url, state.to_owned()));
        let (sender, mut found) = mpsc::channel::<Result<Url, Denial>>(1);
        let mut connections = JoinSet::new();
        let mut oldest_first: VecDeque<AbortHandle> = VecDeque::new();
        loop {
            let stream = tokio::select! {
                Some(came) = found.recv() => return came,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    Err(error) => return Err(Denial::Accept(error)),
                },
            };
            while connections.try_join_next().is_some() {}
            oldest_first.retain(|connection| !connection.is_finished());
            if oldest_first.len() >= MAX_CONNECTIONS
                && let Some(oldest) = oldest_first.pop_front()
            {
                oldest.abort();
            }
            let (expected, sender) = (Arc::clone(&expected), sender.clone());
            oldest_first.push_back(connections.spawn(async move {
                let (told, mut came) = mpsc::channel(1);
                let answer = service_fn(move |request: Request<Incoming>| {
                    let (text, status, came) = visit(&request, &expected.0, &expected.1);
                    if let Some(came) = came {
                        let _ = told.try_send(came);
                    }
                    async move { Ok::<_, Infallible>(page(text, status)) }
                });
                let connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEADERS_WITHIN)
                    .keep_alive(false)
                    .serve_connection(TokioIo::new(stream), answer);
                let _ = tokio::time::timeout(VISIT_WITHIN, connection).await;
                // Only now: the human must see the page before the listener closes.
                if let Ok(came) = came.try_recv() {
                    let _ = sender.send(came).await;
                }
            }));
        }
    }
}

/// The page for the browser, and the result of the request.
fn visit(
    request: &Request<Incoming>,
    back: &str,
    state: &str,
) -> (&'static str, StatusCode, Option<Result<Url, Denial>>) {
    let query = request.uri().query().unwrap_or_default();
    let Ok(url) = Url::parse(&format!("{back}?{query}")) else {
        return ("Invalid URL.", StatusCode::BAD_REQUEST, None);
    };
    let value = |name: &str| {
        url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    };
    if request.uri().path() != PATH {
        return ("Not found.", StatusCode::NOT_FOUND, None);
    }
    if request.method() != Method::GET {
        return ("A browser comes with GET.", StatusCode::METHOD_NOT_ALLOWED, None);
    }
    if value("state").as_deref() != Some(state) {
        return ("This is not the sign-in that was asked for.", StatusCode::BAD_REQUEST, None);
    }
    if let Some(error) = value("error") {
        let denial = Denial::Said { error, description: value("error_description") };
        let text = "The sign-in was refused. You can close this page.";
        return (text, StatusCode::OK, Some(Err(denial)));
    }
    if value("code").is_none_or(|code| code.is_empty()) {
        return ("There is no code in this address.", StatusCode::BAD_REQUEST, None);
    }
    let text = "You can close this page. ona completes the sign-in, and says how it went.";
    (text, StatusCode::OK, Some(Ok(url)))
}

fn page(text: &'static str, status: StatusCode) -> Response<Full<Bytes>> {
    let mut page = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *page.status_mut() = status;
    page.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    page
}
