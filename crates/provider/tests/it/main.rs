//! A client against a server, over real HTTP on loopback: what goes over the wire, what is heard, what is
//! tried again, and that an answer is never half.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod cancel;
mod errors;
mod odd;
mod retries;
mod round_trip;
mod tls;
mod transport;

use std::sync::Arc;
use std::time::Duration;

use ona_provider::scripted::{Script, Server};
use ona_provider::{
    Answer, AskError, Backoff, Block, Client, Credential, Failure, Fixed, Live, Message,
    ProviderKind, Request, Retry, ToolSpec, Transport,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Both protocols.
const BOTH: [ProviderKind; 2] =
    [ProviderKind::ClaudeCodeSubscription, ProviderKind::OpenAiCompatible];

const KEY: &str = "sk-test-1234567890";

/// Waits so short that no test has to wait.
fn quick() -> Retry {
    let backoff = Backoff { base: Duration::from_millis(1), ..Backoff::default() };
    Retry { backoff, ..Retry::default() }
}

fn model(provider: ProviderKind) -> &'static str {
    match provider {
        ProviderKind::ClaudeCodeSubscription => "claude-opus-4-20250514",
        _ => "gpt-4o",
    }
}

fn base_url(provider: ProviderKind, server: &Server) -> String {
    match provider {
        ProviderKind::ClaudeCodeSubscription => server.base_url(),
        _ => server.openai_base_url(),
    }
}

fn request(provider: ProviderKind) -> Request<'static> {
    let mut request = Request::new(model(provider), 1000).with(Message::user("Hi."));
    request.system = vec!["You are ona.".to_owned()];
    request.tools = vec![ToolSpec {
        name: "Read".to_owned(),
        description: "Reads a file.".to_owned(),
        input_schema: json!({"type": "object"}),
    }];
    request
}

fn client_by(provider: ProviderKind, transport: &Transport, retry: Retry) -> Client {
    let key = Fixed::new("the test", Credential::ApiKey(KEY.into()));
    Client::new(provider, transport, Arc::new(key), retry).unwrap()
}

/// A server, and a client of it.
struct Pair {
    provider: ProviderKind,
    server: Server,
    client: Client,
}

/// What was heard, without the raw events, and with neighbouring texts joined.
#[derive(Default)]
struct Heard {
    shown: Vec<String>,
    raw: Vec<Value>,
}

impl Heard {
    fn hear(&mut self, live: Live<'_>) {
        match live {
            Live::Raw(event) => self.raw.push(event.clone()),
            Live::Text(text) => match self.shown.last_mut() {
                Some(last) if last.starts_with("text ") => last.push_str(text),
                _ => self.shown.push(format!("text {text}")),
            },
            Live::Retry { attempt, max_retries, status, .. } => {
                self.shown.push(format!("retry {attempt}/{max_retries} {status:?}"));
            }
            Live::Started { .. } => self.shown.push("started".to_owned()),
            Live::Thinking(text) => self.shown.push(format!("thinking {text}")),
            Live::ToolInput { name, .. } => {
                let line = format!("call {name}");
                if self.shown.last() != Some(&line) {
                    self.shown.push(line);
                }
            }
            Live::Void => self.shown.push("void".to_owned()),
        }
    }
}

impl Pair {
    fn new(provider: ProviderKind, script: impl Into<Script>) -> Self {
        Self::with(provider, script, quick(), |_| ())
    }

    fn with(
        provider: ProviderKind,
        script: impl Into<Script>,
        retry: Retry,
        change: impl FnOnce(&mut Transport),
    ) -> Self {
        let server = Server::start(script).unwrap();
        let mut transport = Transport::to(base_url(provider, &server));
        change(&mut transport);
        let client = client_by(provider, &transport, retry);
        Self { provider, server, client }
    }

    async fn ask(&self) -> (Result<Answer, AskError>, Heard) {
        self.ask_for(&request(self.provider)).await
    }

    async fn ask_for(&self, request: &Request<'_>) -> (Result<Answer, AskError>, Heard) {
        let mut heard = Heard::default();
        let answer =
            self.client.ask(request, &mut |live| heard.hear(live), &CancellationToken::new()).await;
        (answer, heard)
    }

    /// The text of an answer that must come, and how often the server was asked for it.
    async fn text(&self) -> (String, usize) {
        let answer = self.ask().await.0.unwrap();
        (answer.text(), self.server.requests().len())
    }

    /// The failure that must come, and how often the server was asked.
    async fn failure(&self) -> (Failure, usize) {
        let error = self.ask().await.0.unwrap_err();
        let AskError::Failed(failure) = error else { panic!("{error:?}") };
        (failure, self.server.requests().len())
    }
}

fn calls(answer: &Answer) -> Vec<(&str, &str, Value)> {
    let calls = answer.content.iter().filter_map(|block| match block {
        Block::ToolUse { id, name, input } => Some((id.as_str(), name.as_str(), input.to_object())),
        _ => None,
    });
    calls.collect()
}
