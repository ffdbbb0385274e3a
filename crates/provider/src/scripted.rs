//! A model server with scripted replies.
//!
//! It speaks real HTTP on loopback or on a unix socket, in both protocols, and can misbehave in every way
//! that is known of real ones. Tests and the demonstration use it; no real model is called.
//!
//! ```
//! use ona_provider::scripted::{Reply, Script, Server};
//! use serde_json::json;
//!
//! let told = Server::start([
//!     Reply::say("Let me look.").call("t1", "Read", json!({"file_path": "/etc/hostname"})),
//!     Reply::say("Done."),
//! ])?;
//! let thinking = Server::start(Script::choose(|request| {
//!     Reply::say(format!("You said: {}", request.last_said()))
//! }))?;
//! assert!(told.base_url().starts_with("http://127.0.0.1:"));
//! assert!(thinking.requests().is_empty());
//! # Ok::<(), std::io::Error>(())
//! ```

mod anthropic;
mod body;
mod openai;
mod recorded;
mod reply;
mod responses;

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::http::{HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use self::body::Body;
pub use self::recorded::Recorded;
pub use self::reply::Reply;
use self::reply::{Rendered, render};

/// What the server answers, question by question.
pub struct Script(Box<dyn FnMut(&Recorded) -> Reply + Send>);

impl Script {
    /// Each reply is chosen when the question is known.
    pub fn choose(chooser: impl FnMut(&Recorded) -> Reply + Send + 'static) -> Self {
        Self(Box::new(chooser))
    }
}

impl From<Vec<Reply>> for Script {
    /// One reply after the other. A question beyond the last is refused, for good.
    fn from(replies: Vec<Reply>) -> Self {
        let mut replies = replies.into_iter();
        Self::choose(move |_| replies.next().unwrap_or_else(Reply::none_left))
    }
}

impl<const N: usize> From<[Reply; N]> for Script {
    fn from(replies: [Reply; N]) -> Self {
        Vec::from(replies).into()
    }
}

/// What the connections of one server share.
struct Shared {
    script: Mutex<Script>,
    requests: Mutex<Vec<Recorded>>,
    spent: Mutex<Duration>,
}

/// A running server; it ends when it is dropped.
pub struct Server {
    base_url: String,
    shared: Arc<Shared>,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Server {
    /// Starts a server on a free port of loopback.
    pub fn start(script: impl Into<Script>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let base_url = format!("http://{}", listener.local_addr()?);
        Self::run(Listener::Tcp(listener), base_url, script.into())
    }

    /// Starts a server on a unix socket. Its base URL names no port; the socket says where it is.
    pub fn start_on_socket(path: &Path, script: impl Into<Script>) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        Self::run(Listener::Unix(listener), "http://localhost".to_owned(), script.into())
    }

    /// Runs in a thread of its own, so that tests that are not async can use it too.
    fn run(listener: Listener, base_url: String, script: Script) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            script: Mutex::new(script),
            requests: Mutex::default(),
            spent: Mutex::default(),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let stop = CancellationToken::new();
        let (until, state) = (stop.clone(), Arc::clone(&shared));
        let thread =
            std::thread::Builder::new().name("scripted-model".to_owned()).spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = until.cancelled() => {}
                        // Without a listener there is nothing to do.
                        _ = accept(listener, state) => {}
                    }
                });
            })?;
        Ok(Self { base_url, shared, stop, thread: Some(thread) })
    }

    /// Its address, for the Anthropic API.
    pub fn base_url(&self) -> String {
        self.base_url.clone()
    }

    /// Its address, for Chat Completions.
    pub fn openai_base_url(&self) -> String {
        format!("{}/v1", self.base_url)
    }

    /// Every question so far, in order.
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.shared.requests).clone()
    }

    /// How much time the server itself used so far, for its replies and its scripted waits. A benchmark of a
    /// program that calls it can subtract this.
    pub fn time_spent(&self) -> Duration {
        *lock(&self.shared.spent)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            // A panic there has been shown already.
            let _ = thread.join();
        }
    }
}

/// The data is whole between any two statements, so a panic elsewhere spoils nothing.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: Listener, shared: Arc<Shared>) -> io::Result<Infallible> {
    match listener {
        Listener::Tcp(listener) => {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            loop {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                tokio::spawn(serve(stream, Arc::clone(&shared)));
            }
        }
        Listener::Unix(listener) => {
            let listener = tokio::net::UnixListener::from_std(listener)?;
            loop {
                let (stream, _) = listener.accept().await?;
                tokio::spawn(serve(stream, Arc::clone(&shared)));
            }
        }
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send, shared: Arc<Shared>) {
    let service = service_fn(|request| answer(request, &shared));
    // Connections end in all the ways the script wants them to.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// An error closes the connection without an answer.
async fn answer(
    request: hyper::Request<Incoming>,
    shared: &Shared,
) -> io::Result<hyper::Response<Body>> {
    let (head, body) = request.into_parts();
    // Asks for nothing, only whether somebody answers.
    if head.method == hyper::Method::HEAD {
        return Ok(hyper::Response::new(Body::new([])));
    }
    let body = body.collect().await.map_err(io::Error::other)?;
    let started = Instant::now();
    let recorded = Recorded::new(&head, &body.to_bytes());
    let number = lock(&shared.requests).len() + 1;
    let reply = (lock(&shared.script).0)(&recorded);
    let rendered = render(&reply, &recorded, number);
    lock(&shared.requests).push(recorded);
    let Some(Rendered { status, headers, body }) = rendered else {
        return Err(io::ErrorKind::ConnectionAborted.into());
    };
    *lock(&shared.spent) += started.elapsed() + body.pauses();
    let mut response = hyper::Response::new(body);
    *response.status_mut() = status.try_into().map_err(io::Error::other)?;
    for (name, value) in headers {
        let name = HeaderName::try_from(name).map_err(io::Error::other)?;
        let value = HeaderValue::try_from(value).map_err(io::Error::other)?;
        response.headers_mut().append(name, value);
    }
    Ok(response)
}
