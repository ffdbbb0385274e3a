//! The pool, against real servers: programs on pipes, and listeners on loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
#![allow(clippy::disallowed_methods, reason = "tests start programs")]

mod http;
mod oauth;
mod permit;
mod processes;
mod questions;
mod sse;
mod stdio;
mod web;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ona_mcp::{
    BoxFuture, CallOptions, CallOutcome, ContentPart, ElicitAnswer, Elicitation, HelperError,
    McpError, Pool, PoolOptions, Retry, ServerCallbacks, ServerSpec, ServerState, ServerStatus,
    Way,
};
use ona_types::gate::Permit;
use permit::permit;
use serde_json::{Map, Value, json};

/// Longer than anything takes, however busy the machine is.
const LONG: Duration = Duration::from_secs(60);

/// Answers servers' questions as it was told, and remembers them.
#[derive(Default)]
struct Answers {
    answer: Mutex<Option<ElicitAnswer>>,
    asked: Mutex<Vec<Elicitation>>,
    headers: Mutex<Option<Result<String, i32>>>,
}

impl Answers {
    fn with(answer: ElicitAnswer) -> Arc<Self> {
        Arc::new(Self { answer: Mutex::new(Some(answer)), ..Self::default() })
    }
}

impl ServerCallbacks for Answers {
    fn elicit<'a>(&'a self, _server: &'a str, asked: Elicitation) -> BoxFuture<'a, ElicitAnswer> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(asked);
            let answer = self.answer.lock().unwrap().clone();
            match answer {
                Some(answer) => answer,
                // Nobody is there.
                None => std::future::pending().await,
            }
        })
    }

    fn headers<'a>(
        &'a self,
        _server: &'a str,
        command: &'a str,
    ) -> BoxFuture<'a, Result<String, HelperError>> {
        assert_eq!(command, "print-headers");
        Box::pin(async {
            let printed = self.headers.lock().unwrap().clone().unwrap();
            printed.map_err(HelperError::Failed)
        })
    }
}

fn spec(name: &str, way: Way) -> ServerSpec {
    ServerSpec { name: name.to_owned(), way, call_timeout: LONG, start_timeout: LONG }
}

/// The fixture, as a program.
fn fixture(name: &str, args: &[&str]) -> ServerSpec {
    let own = std::env::current_exe().unwrap();
    let built = own.parent().and_then(|deps| deps.parent()).unwrap();
    let program: PathBuf = built.join("examples").join("fixture");
    assert!(program.is_file(), "{} is an example, and built with the tests", program.display());
    let way = Way::Stdio {
        command: program.to_string_lossy().into_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: vec![("FIXTURE".into(), "marked".into())],
        cwd: std::env::temp_dir().canonicalize().unwrap(),
    };
    spec(name, way)
}

fn quick() -> PoolOptions {
    let retry = Retry { most: 3, first: Duration::from_millis(1) };
    PoolOptions { retry, ..PoolOptions::default() }
}

async fn settled(specs: Vec<ServerSpec>) -> Pool {
    settled_with(specs, Arc::new(Answers::default()), quick()).await
}

async fn settled_with(
    specs: Vec<ServerSpec>,
    callbacks: Arc<dyn ServerCallbacks>,
    options: PoolOptions,
) -> Pool {
    let pool = Pool::start_with(specs, callbacks, options);
    pool.settle(LONG).await;
    pool
}

/// Waits until something holds.
async fn until(pool: &Pool, holds: impl Fn(&Pool) -> bool) {
    let mut changes = pool.changes();
    let reached = async {
        while !holds(pool) {
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(LONG, reached).await.expect("it never came to that");
}

fn status(pool: &Pool, name: &str) -> ServerStatus {
    pool.statuses().into_iter().find(|status| status.name == name).unwrap()
}

fn state(pool: &Pool, name: &str) -> ServerState {
    status(pool, name).state
}

/// Why a server is not connected.
fn failure(pool: &Pool, name: &str) -> String {
    let status = status(pool, name);
    assert_eq!(status.state, ServerState::Failed, "{status:?}");
    status.error.unwrap()
}

fn with_text(text: &str) -> Map<String, Value> {
    json!({ "text": text }).as_object().unwrap().clone()
}

async fn call(pool: &Pool, tool: &str, text: &str) -> Result<CallOutcome, McpError> {
    let permit = permitted("s", tool, text).await;
    pool.call(&permit, "s", tool, with_text(text), CallOptions::default()).await
}

/// The permit for a call of a server's tool with a text.
async fn permitted(server: &str, tool: &str, text: &str) -> Permit {
    permit(&format!("mcp__{server}__{tool}"), Value::Object(with_text(text))).await
}

/// The one text of an answer.
async fn said(pool: &Pool, tool: &str, text: &str) -> String {
    let outcome = call(pool, tool, text).await.unwrap();
    match outcome.parts.as_slice() {
        [ContentPart::Text(text)] => text.clone(),
        parts => panic!("{parts:?}"),
    }
}
