//! What the pool needs from its owner: a human's answers, a command's output, a store for tokens, a browser.

use std::time::Duration;

use ona_types::BoxError;
use serde_json::{Map, Value};

use crate::BoxFuture;

/// Where servers' questions are answered.
pub trait ServerCallbacks: Send + Sync + 'static {
    /// A server asks the human something. Only one question is open at a time.
    fn elicit<'a>(&'a self, server: &'a str, asked: Elicitation) -> BoxFuture<'a, ElicitAnswer>;

    /// Runs a server's `headersHelper` and returns its output.
    fn headers<'a>(
        &'a self,
        server: &'a str,
        command: &'a str,
    ) -> BoxFuture<'a, Result<String, HelperError>>;
}

/// Why a `headersHelper` printed no headers.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// It did not start.
    #[error("could not be run: {0}")]
    NotRun(BoxError),
    /// It was killed after this time.
    #[error("took longer than {} s", .0.as_secs())]
    TimedOut(Duration),
    /// It ended with another code than 0.
    #[error("failed with exit code {0}")]
    Failed(i32),
    /// A signal ended it.
    #[error("was ended by signal {0}")]
    Signalled(i32),
    /// The session ended first.
    #[error("was interrupted")]
    Interrupted,
}

/// What a server wants to know.
#[derive(Clone, Debug, PartialEq)]
pub struct Elicitation {
    /// What it says to the human.
    pub message: String,
    /// How it is to be answered.
    pub form: ElicitForm,
}

/// How a question is to be answered.
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitForm {
    /// By values of these fields.
    Fields {
        /// A JSON schema: an object of plain values.
        schema: Value,
    },
    /// By visiting a page; what is entered there does not pass through ona.
    Page {
        /// Its address, http or https.
        url: String,
        /// What the server calls the question.
        id: String,
    },
}

/// The human's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitAnswer {
    /// Yes, with these values; none if a page was to be visited.
    Accept(Map<String, Value>),
    /// No.
    Decline,
    /// Neither: the question was dismissed.
    Cancel,
}

/// A store for tokens between sessions. The values are secret. It may block: it is called on a thread
/// that may wait.
pub trait TokenStore: Send + Sync + 'static {
    /// What is kept under a key.
    fn load(&self, key: &str) -> Result<Option<String>, BoxError>;

    /// Keeps a secret under a key, in place of what was there.
    fn save(&self, key: &str, secret: &str) -> Result<(), BoxError>;

    /// Removes the secret under a key.
    fn forget(&self, key: &str) -> Result<(), BoxError>;

    /// Held while a token is renewed: of two processes that do so at once, one would lose its sign-in. By default
    /// nothing is held.
    fn lock(&self, _key: &str) -> Result<Option<Box<dyn Send>>, BoxError> {
        Ok(None)
    }
}

/// The key of a server's tokens. A changed address requires a new sign-in.
pub fn token_key(server: &str, url: &str) -> String {
    format!("mcp {server} {url}")
}

/// Shows a page to the human.
pub trait Browser: Send + Sync {
    /// Opens an address. It does not wait for what is done there.
    fn open(&self, url: &str) -> std::io::Result<()>;
}
