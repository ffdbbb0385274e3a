//! The way to the web: fetches pages and asks search backends. The tools that use it are in `ona-tools`.
//!
//! Web content is data: it is limited in size, turned into text, and never obeyed. Where a request goes is decided
//! here alone: a name is resolved once, every resulting address is checked, and the connection is made to one of
//! exactly those (`names`). Time limits, masking of secrets and the process that converts a page are the caller's.

mod backend;
mod cache;
mod get;
mod names;
mod page;
mod search;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use secrecy::SecretString;

use cache::Cache;
use names::{Names, SystemNames};

pub use backend::{Backend, BackendError, NOT_SET};
pub use cache::CacheKey;
pub use get::{Body, GetError, Got, get};
pub use names::{NotPublic, check_literal};
pub use page::{HTML_TEXT, HtmlError, Kind, Page, decode, markdown};
pub use search::{WebFound, WebHit, WebQuery, WebSearchSettings};

/// The user agent of every request.
const USER_AGENT: &str = concat!("ona/", env!("CARGO_PKG_VERSION"));

/// What the operator's environment gives for the web.
#[derive(Clone, Default)]
pub struct WebAccess {
    /// The key for Brave's search.
    pub brave_key: Option<SecretString>,
    /// The key for Tavily's search.
    pub tavily_key: Option<SecretString>,
    /// The proxies to a search backend. Pages are never fetched through them: a proxy would resolve names by
    /// itself and bypass the address check.
    pub proxies: WebProxies,
    /// A PEM file with certificates to trust besides the system's.
    pub extra_ca: Option<PathBuf>,
}

/// Proxies, in the form of the well-known variables.
#[derive(Clone, Default)]
pub struct WebProxies {
    /// `http_proxy`.
    pub http: Option<String>,
    /// `https_proxy`.
    pub https: Option<String>,
    /// `no_proxy`.
    pub none_for: Option<String>,
}

/// The web as one process sees it: the ways there, and what was fetched lately.
pub struct Web {
    access: WebAccess,
    names: Arc<dyn Names>,
    cache: Mutex<Cache>,
}

impl Web {
    /// With nothing fetched yet.
    pub fn new(access: WebAccess) -> Self {
        Self { access, names: Arc::new(SystemNames), cache: Mutex::default() }
    }

    /// A page that was fetched lately.
    pub fn cached(&self, key: &CacheKey) -> Option<Arc<Page>> {
        self.cache().get(key, Instant::now())
    }

    /// Keeps a page for a while.
    pub fn keep(&self, key: CacheKey, page: &Arc<Page>) {
        self.cache().put(key, page, Instant::now());
    }

    /// What was fetched lately. It is whole between any two statements, so a panic elsewhere spoils nothing.
    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The certificates to trust besides the system's.
    fn extra_ca(&self) -> Result<Vec<reqwest::Certificate>, ExtraCaError> {
        let Some(file) = &self.access.extra_ca else { return Ok(Vec::new()) };
        let pem = ona_files::content(file)
            .map_err(|error| ExtraCaError::Unreadable { file: file.clone(), error })?;
        reqwest::Certificate::from_pem_bundle(&pem)
            .map_err(|error| ExtraCaError::Invalid { file: file.clone(), error })
    }
}

/// Why the certificates that the environment names cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ExtraCaError {
    #[error("NODE_EXTRA_CA_CERTS names {}: {error}", file.display())]
    Unreadable { file: PathBuf, error: std::io::Error },
    #[error("NODE_EXTRA_CA_CERTS names {}: {}", file.display(), describe(error))]
    Invalid { file: PathBuf, error: reqwest::Error },
}

impl Default for Web {
    fn default() -> Self {
        Self::new(WebAccess::default())
    }
}

impl fmt::Debug for Web {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It holds keys, and proxies' passwords.
        f.debug_struct("Web").finish_non_exhaustive()
    }
}

/// The whole chain of causes, which reqwest's own message leaves out.
fn describe(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests;
