//! What the pool asks of whoever holds it: a human's answers, a command's output, a place for tokens, a browser.

use serde_json::{Map, Value};

use crate::BoxFuture;

/// Where servers' questions are answered.
pub trait ServerCallbacks: Send + Sync + 'static {
    /// A server wants to know something of the human. It is asked one thing at a time.
    fn elicit<'a>(&'a self, server: &'a str, asked: Elicitation) -> BoxFuture<'a, ElicitAnswer>;

    /// Runs a server's `headersHelper`, and gives what it printed; or says why it could not.
    fn headers<'a>(
        &'a self,
        server: &'a str,
        command: &'a str,
    ) -> BoxFuture<'a, Result<String, String>>;
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
    /// Neither: the question was put away.
    Cancel,
}

/// Where tokens are kept between sessions. What is kept is secret, and is asked for again after a long time: by a thread
/// that may wait.
pub trait TokenStore: Send + Sync + 'static {
    /// What is kept under a key.
    fn load(&self, key: &str) -> Result<Option<String>, String>;

    /// Keeps a secret under a key, in place of what was there.
    fn save(&self, key: &str, secret: &str) -> Result<(), String>;

    /// Keeps nothing under a key any more.
    fn forget(&self, key: &str) -> Result<(), String>;

    /// Held while a token is renewed: of two processes that do so at once, one would lose its sign-in. By default
    /// nothing is held.
    fn lock(&self, _key: &str) -> Result<Option<Box<dyn Send>>, String> {
        Ok(None)
    }
}

/// The key that a server's tokens are kept under. Who changes the address signs in anew.
pub fn token_key(server: &str, url: &str) -> String {
    format!("mcp {server} {url}")
}

/// Shows a page to the human.
pub trait Browser: Send + Sync {
    /// Opens an address; or says why it could not. It does not wait for what is done there.
    fn open(&self, url: &str) -> Result<(), String>;
}
