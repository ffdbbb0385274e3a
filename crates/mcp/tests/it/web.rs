//! A listener on loopback that answers as a test wants.

use std::convert::Infallible;
use std::sync::Arc;

use futures_util::stream::unfold;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

pub type Answer = Response<BoxBody<Bytes, Infallible>>;

/// Listens until the runtime ends, and gives its address.
pub async fn listen<F, A>(answer: F) -> String
where
    F: Fn(Request<Incoming>) -> A + Send + Sync + 'static,
    A: Future<Output = Answer> + Send + 'static,
{
    let (address, _) = listen_at("127.0.0.1:0", answer).await;
    format!("http://{address}")
}

/// Listens at an address until that is aborted. No connection outlives its request.
pub async fn listen_at<F, A>(address: &str, answer: F) -> (String, JoinHandle<()>)
where
    F: Fn(Request<Incoming>) -> A + Send + Sync + 'static,
    A: Future<Output = Answer> + Send + 'static,
{
    let listener = TcpListener::bind(address).await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answer = Arc::new(answer);
    let listening = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let answer = Arc::clone(&answer);
            let service = service_fn(move |request| {
                let answered = answer(request);
                async { Ok::<_, Infallible>(answered.await) }
            });
            let connection = http1::Builder::new()
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            tokio::spawn(connection);
        }
    });
    (address, listening)
}

/// An answer of some kind.
pub fn answer(status: u16, kind: &str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()).boxed());
    *answer.status_mut() = StatusCode::from_u16(status).unwrap();
    answer.headers_mut().insert(CONTENT_TYPE, kind.parse().unwrap());
    answer
}

pub fn json(value: &Value) -> Answer {
    answer(200, "application/json", value.to_string())
}

pub fn empty(status: u16) -> Answer {
    answer(status, "text/plain", "")
}

/// A stream of events, as they are sent.
pub fn events(events: mpsc::UnboundedReceiver<String>) -> Answer {
    let frames = unfold(events, |mut events| async move {
        let event = events.recv().await?;
        Some((Ok::<_, Infallible>(Frame::data(Bytes::from(event))), events))
    });
    let mut answer = Response::new(StreamBody::new(frames).boxed());
    answer.headers_mut().insert(CONTENT_TYPE, "text/event-stream".parse().unwrap());
    answer
}

pub async fn body(request: Request<Incoming>) -> Vec<u8> {
    request.into_body().collect().await.unwrap().to_bytes().to_vec()
}
