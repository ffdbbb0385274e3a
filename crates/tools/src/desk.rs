//! What the session around a call does for tools that cannot do it alone.
//!
//! A tool sees neither the record, nor a model, nor whoever sits at the terminal. Where it needs them it asks here, and
//! the engine answers.

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;

/// An answer of the desk's, to be awaited.
pub type Waits<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A search of the web.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebQuery {
    /// What is looked for.
    pub query: String,
    /// Only on these domains, if there are any.
    pub allowed_domains: Vec<String>,
    /// Not on these.
    pub blocked_domains: Vec<String>,
}

/// A page that a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebHit {
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// What it says, where the search tells.
    pub snippet: String,
}

/// What came of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebFound {
    /// The pages, best first.
    pub hits: Vec<WebHit>,
    /// What the searcher makes of them, where it says something.
    pub remarks: String,
}

/// The session's side of a call.
pub trait Desk: Send + Sync {
    /// A value of the settings in force, such as `webSearch`; null where nothing is set.
    fn setting(&self, key: &str) -> Value;

    /// Has the provider's small model answer a prompt about a text.
    fn digest<'a>(&'a self, prompt: &'a str, text: &'a str) -> Waits<'a, Result<String, String>>;

    /// Has the provider search the web itself; nothing where it cannot.
    fn search<'a>(&'a self, query: &'a WebQuery) -> Waits<'a, Option<Result<WebFound, String>>>;
}
