//! A search of the web: who is asked, for what, and what was found.

/// `webSearch` of the settings in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebSearchSettings {
    /// The name of the backend.
    pub backend: Option<&'static str>,
    /// Its address.
    pub url: Option<String>,
}

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

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebFound {
    /// The pages, best first.
    pub hits: Vec<WebHit>,
    /// The searcher's summary, if it gives one.
    pub remarks: String,
}
