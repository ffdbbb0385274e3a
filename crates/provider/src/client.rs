//! Sends a request, and retries it while a retry can help.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::credential::Credentials;
use crate::failure::{AskError, FailedAttempt, Failure, FailureWord, Remedy};
use crate::http::{ConfigurationError, Line, Transport, describe};
use crate::live::{Listener, Live};
use crate::message::{Answer, Request};
use crate::model::ProviderKind;
use crate::retry::Retry;
use crate::{anthropic, attempt, openai};

/// After this many broken streams, the answer is requested once without streaming.
const CUTS: u32 = 3;

/// The limit for a server's error message, in characters: some servers echo the whole request.
const MAX_MESSAGE: usize = 2000;

/// A client for one provider.
pub struct Client {
    provider: ProviderKind,
    line: Line,
    credentials: Arc<dyn Credentials>,
    retry: Retry,
    /// Whether the server accepts `stream_options`; learned from its answers.
    stream_options: AtomicBool,
}

/// The server does not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreachable(String);

/// What was tried so far.
#[derive(Default)]
struct Tries {
    retries: u32,
    cuts: u32,
    asked_whole: bool,
    renewed: bool,
}

impl Client {
    /// Creates a client; wrong settings are reported here, before any network I/O.
    pub fn new(
        provider: ProviderKind,
        transport: &Transport,
        credentials: Arc<dyn Credentials>,
        retry: Retry,
    ) -> Result<Self, ConfigurationError> {
        let path = match provider {
            ProviderKind::ClaudeCodeSubscription => anthropic::PATH,
            ProviderKind::OpenAiCompatible | ProviderKind::LmStudioLocal => openai::PATH,
        };
        let line = Line::open(transport, path)?;
        Ok(Self { provider, line, credentials, retry, stream_options: AtomicBool::new(true) })
    }

    /// Sends the request and passes events to the listener. Returns a complete answer or an error.
    ///
    /// Once `cancel` is cancelled this returns without delay, and the connection is dropped.
    pub async fn ask(
        &self,
        request: &Request<'_>,
        on: &mut (dyn FnMut(Live<'_>) + Send),
        cancel: &CancellationToken,
    ) -> Result<Answer, AskError> {
        let result = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(AskError::Cancelled),
            result = self.persist(request, on) => result,
        };
        // Also if the listener cancelled on the last event.
        if cancel.is_cancelled() { Err(AskError::Cancelled) } else { result }
    }

    async fn persist(
        &self,
        request: &Request<'_>,
        on: &mut Listener<'_>,
    ) -> Result<Answer, AskError> {
        let mut tries = Tries::default();
        loop {
            let stream = tries.cuts < CUTS || tries.asked_whole;
            tries.asked_whole |= !stream;
            let trouble = match self.attempt(request, stream, on).await? {
                Ok(answer) => return Ok(answer),
                Err(trouble) => trouble,
            };
            self.recover(trouble, &mut tries, on).await?;
        }
    }

    /// One attempt. The outer error is one of this side.
    async fn attempt(
        &self,
        request: &Request<'_>,
        stream: bool,
        on: &mut Listener<'_>,
    ) -> Result<Result<Answer, FailedAttempt>, AskError> {
        let credential = self.credentials.credential().await?;
        let headers = attempt::headers(self.provider, &credential, stream, &self.line.headers)
            .ok_or_else(|| ConfigurationError::Credential(self.credentials.source().to_owned()))?;
        let body = match self.provider {
            ProviderKind::ClaudeCodeSubscription => anthropic::encode(request, stream),
            ProviderKind::OpenAiCompatible | ProviderKind::LmStudioLocal => {
                openai::encode(request, stream, self.stream_options.load(Ordering::Relaxed))
            }
        };
        let body = body.map_err(|error| ConfigurationError::Client(error.to_string()))?;
        let mut line = self.line.clone();
        line.masks.add(credential.secret().unwrap_or_default());
        let answer = attempt::exchange(&line, self.provider, headers, body, stream, on).await;
        Ok(answer.map_err(|mut trouble| {
            // Masked before it is cut: a secret cut in two would not be found.
            let message = line.masks.apply(trouble.failure.message);
            trouble.failure.message = ona_types::whole_words(&message, MAX_MESSAGE).to_owned();
            trouble
        }))
    }

    /// Applies the remedy for a failed attempt; an error if there is none.
    async fn recover(
        &self,
        trouble: FailedAttempt,
        tries: &mut Tries,
        on: &mut Listener<'_>,
    ) -> Result<(), AskError> {
        let FailedAttempt { mut failure, remedy, heard } = trouble;
        debug!(
            target: "ona::api", remedy = ?remedy, status = failure.status, why = %failure.message, "fails",
        );
        let mut void = || {
            if heard {
                on(Live::Void);
            }
        };
        let wait = match remedy {
            Remedy::Fail => return Err(AskError::Failed(self.explained(failure))),
            Remedy::Shorten => return Err(AskError::ContextTooLong(failure)),
            Remedy::DropStreamOptions => {
                if !self.stream_options.swap(false, Ordering::Relaxed) {
                    return Err(AskError::Failed(failure));
                }
                void();
                return Ok(());
            }
            Remedy::Renew => {
                let again = !std::mem::replace(&mut tries.renewed, true)
                    && self.credentials.refused().await?;
                if !again {
                    return Err(AskError::Failed(self.explained(failure)));
                }
                void();
                return Ok(());
            }
            Remedy::Again(wait) => wait,
            Remedy::AgainAfterCut => {
                tries.cuts += 1;
                None
            }
        };
        let backoff = &self.retry.backoff;
        if let Some(wait) = wait.filter(|wait| *wait > backoff.longest_asked) {
            let seconds = wait.as_secs();
            failure.message.push_str(&format!("; the server asks to wait {seconds} s"));
            return Err(AskError::Failed(failure));
        }
        if tries.retries >= self.retry.max_retries {
            match tries.retries {
                0 => {}
                1 => failure.message.push_str("; gave up after one retry"),
                many => failure.message.push_str(&format!("; gave up after {many} retries")),
            }
            return Err(AskError::Failed(failure));
        }
        tries.retries += 1;
        let asked = wait.filter(|wait| !wait.is_zero());
        let delay = asked.unwrap_or_else(|| backoff.delay(tries.retries));
        void();
        debug!(
            target: "ona::api", attempt = tries.retries, of = self.retry.max_retries,
            delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX), "waits to ask again",
        );
        on(Live::Retry {
            attempt: tries.retries,
            max_retries: self.retry.max_retries,
            delay,
            status: failure.status,
            error: &failure.message,
        });
        tokio::time::sleep(delay).await;
        Ok(())
    }

    /// The server's address, without a path.
    pub fn server(&self) -> String {
        self.line.url.origin().ascii_serialization()
    }

    /// Whether the server answers at all, and how fast. No credential is sent, and any status counts as an answer.
    pub async fn reach(&self, limit: Duration) -> Result<Duration, Unreachable> {
        let mut url = self.line.url.clone();
        url.set_path("/");
        let start = Instant::now();
        match self.line.client.head(url).timeout(limit).send().await {
            Ok(_) => Ok(start.elapsed()),
            Err(error) => Err(Unreachable(self.line.masks.apply(describe(&error.without_url())))),
        }
    }

    /// Where the credential comes from.
    pub fn credential_source(&self) -> &str {
        self.credentials.source()
    }

    /// Adds the source of a refused credential to the message.
    fn explained(&self, mut failure: Failure) -> Failure {
        if failure.word == FailureWord::AuthenticationFailed {
            let source = self.credentials.source();
            failure.message.push_str(&format!("; the credential came from {source}"));
        }
        failure
    }
}
