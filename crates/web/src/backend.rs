//! Search backends that the operator chooses: SearXNG, Brave, Tavily.

use ona_http::link::{self, LinkError};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use reqwest::{NoProxy, Proxy, RequestBuilder, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use url::{Host, Url};

use crate::search::{WebFound, WebHit, WebQuery, WebSearchSettings};
use crate::{ExtraCaError, USER_AGENT, Web, WebProxies, describe};

/// The backends there are.
const BACKENDS: [&str; 3] = ["searxng", "brave", "tavily"];

/// The message if no backend is available.
pub const NOT_SET: &str = "no search backend is configured: this session's provider has no web search, \
    and the setting webSearch.backend is not set. The operator can set it to searxng (with webSearch.url), to brave \
    (with the key in BRAVE_API_KEY) or to tavily (with the key in TAVILY_API_KEY), for example by \
    `ona config set --scope user webSearch.backend brave`";

/// How many pages are asked for.
const MAX_HITS: usize = 10;
/// The limit for an answer, in bytes.
const MAX_RESPONSE: usize = 4 << 20;

/// Why a backend did not answer a search.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum BackendError {
    #[error("the setting webSearch.backend is `{0}`; the backends are {known}", known = BACKENDS.join(", "))]
    Unknown(String),
    #[error(
        "the setting webSearch.backend is {name}, which needs a key, and {variable} is not set in ona's \
         environment"
    )]
    NoKey { name: &'static str, variable: &'static str },
    #[error(
        "the setting webSearch.backend is {0}, but webSearch.url is not set: set it to the \
         address of your instance, such as http://localhost:8888"
    )]
    NoUrl(&'static str),
    #[error("the setting webSearch.url: {0}")]
    BadUrl(LinkError),
    #[error(
        "the setting webSearch.url: the key of {0} would be sent over unencrypted http; use \
         https"
    )]
    Unencrypted(&'static str),
    #[error("the key of {0} contains a line break or another control character")]
    BadKey(&'static str),
    #[error("{variable} is not a valid proxy: {}", describe(error))]
    BadProxy { variable: &'static str, error: reqwest::Error },
    #[error(transparent)]
    ExtraCa(#[from] ExtraCaError),
    #[error("{}", describe(.0))]
    Client(reqwest::Error),
    #[error("{name} at {url} cannot be reached: {}", describe(error))]
    Unreachable { name: &'static str, url: Box<Url>, error: reqwest::Error },
    #[error("{0} answered more than {MAX_RESPONSE} bytes")]
    TooLarge(&'static str),
    #[error("{name} at {url} answered {status}{said}{hint}")]
    Refused {
        name: &'static str,
        url: Box<Url>,
        status: StatusCode,
        /// All that the backend said, not masked.
        said: String,
        hint: &'static str,
    },
    #[error("{name} at {url} did not answer with JSON ({error}): check webSearch.url")]
    NotJson { name: &'static str, url: Box<Url>, error: serde_json::Error },
    #[error("{name} at {url} answered JSON without a list of results: check webSearch.url")]
    NoResults { name: &'static str, url: Box<Url> },
}

/// A backend, ready to be asked.
pub struct Backend<'w> {
    kind: Kind,
    url: Url,
    key: Option<&'w SecretString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Searxng,
    Brave,
    Tavily,
}

/// What is fixed about each: its name, where it is unless said otherwise, and the path under that.
const KINDS: [(Kind, &str, Option<&str>, &str); 3] = [
    (Kind::Searxng, BACKENDS[0], None, "search"),
    (Kind::Brave, BACKENDS[1], Some("https://api.search.brave.com"), "res/v1/web/search"),
    (Kind::Tavily, BACKENDS[2], Some("https://api.tavily.com"), "search"),
];

fn base(text: &str) -> Result<Url, LinkError> {
    link::parse(text)
}

/// The address that is asked, whether or not the base has the path already.
fn address(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_query(None);
    url.set_fragment(None);
    let own = url.path().trim_end_matches('/').to_owned();
    if !own.ends_with(&format!("/{path}")) {
        url.set_path(&format!("{own}/{path}"));
    }
    url
}

/// Whether the connection cannot be eavesdropped on.
fn is_safe(url: &Url) -> bool {
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || is_here
}

impl<'w> Backend<'w> {
    /// The one that the settings name, with what it needs.
    pub fn of(settings: &WebSearchSettings, web: &'w Web) -> Result<Self, BackendError> {
        let name = settings.backend.unwrap_or_default();
        let Some((kind, name, default, path)) = KINDS.iter().find(|(_, known, ..)| *known == name)
        else {
            return Err(BackendError::Unknown(name.to_owned()));
        };
        let (variable, key) = match kind {
            Kind::Searxng => ("", None),
            Kind::Brave => ("BRAVE_API_KEY", web.access.brave_key.as_ref()),
            Kind::Tavily => ("TAVILY_API_KEY", web.access.tavily_key.as_ref()),
        };
        if !variable.is_empty() && key.is_none() {
            return Err(BackendError::NoKey { name, variable });
        }
        let Some(given) =
            settings.url.as_deref().map(str::trim).filter(|url| !url.is_empty()).or(*default)
        else {
            return Err(BackendError::NoUrl(name));
        };
        let base = base(given).map_err(BackendError::BadUrl)?;
        if key.is_some() && !is_safe(&base) {
            return Err(BackendError::Unencrypted(name));
        }
        Ok(Self { kind: *kind, url: address(&base, path), key })
    }

    /// Its name in the settings.
    pub fn name(&self) -> &'static str {
        KINDS.iter().find(|(kind, ..)| *kind == self.kind).map_or("", |(_, name, ..)| name)
    }

    /// Asks it.
    pub async fn ask(&self, query: &WebQuery, web: &Web) -> Result<WebFound, BackendError> {
        let request = self.request(query, &self.client(web)?)?;
        let (name, url) = (self.name(), &self.url);
        let failed = |error: reqwest::Error| BackendError::Unreachable {
            name,
            url: Box::new(url.clone()),
            error: error.without_url(),
        };
        let mut response = request.send().await.map_err(failed)?;
        let status = response.status();
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(failed)? {
            if body.len() + piece.len() > MAX_RESPONSE {
                return Err(BackendError::TooLarge(name));
            }
            body.extend_from_slice(&piece);
        }
        if !status.is_success() {
            return Err(self.refused(status, &body));
        }
        let answer: Value = serde_json::from_slice(&body)
            .map_err(|error| BackendError::NotJson { name, url: Box::new(url.clone()), error })?;
        let hits = self.hits(&answer)?;
        Ok(WebFound { hits, remarks: String::new() })
    }

    fn client(&self, web: &Web) -> Result<reqwest::Client, BackendError> {
        let mut builder = ona_http::client()
            .no_proxy()
            // The key must not go to another host.
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .user_agent(USER_AGENT);
        for proxy in proxies(&web.access.proxies)? {
            builder = builder.proxy(proxy);
        }
        let builder = match self.url.scheme() {
            "https" => builder.tls_certs_merge(web.extra_ca()?),
            _ => builder.tls_certs_only([]),
        };
        builder.build().map_err(BackendError::Client)
    }

    fn request(
        &self,
        query: &WebQuery,
        client: &reqwest::Client,
    ) -> Result<RequestBuilder, BackendError> {
        let count = MAX_HITS.to_string();
        let mut url = self.url.clone();
        let request = match self.kind {
            Kind::Searxng => {
                url.query_pairs_mut()
                    .append_pair("q", &with_sites(query))
                    .append_pair("format", "json");
                client.get(url)
            }
            Kind::Brave => {
                url.query_pairs_mut()
                    .append_pair("q", &with_sites(query))
                    .append_pair("count", &count)
                    .append_pair("text_decorations", "false");
                client.get(url).header("x-subscription-token", self.secret("")?)
            }
            Kind::Tavily => client.post(url).header(AUTHORIZATION, self.secret("Bearer ")?).json(&json!({
                "query": query.query, "max_results": MAX_HITS,
                "include_domains": query.allowed_domains, "exclude_domains": query.blocked_domains,
            })),
        };
        Ok(request.header(ACCEPT, "application/json"))
    }

    fn secret(&self, scheme: &str) -> Result<HeaderValue, BackendError> {
        let key = self.key.map(ExposeSecret::expose_secret).unwrap_or_default();
        let mut value = HeaderValue::from_str(&format!("{scheme}{key}"))
            .map_err(|_| BackendError::BadKey(self.name()))?;
        value.set_sensitive(true);
        Ok(value)
    }

    fn refused(&self, status: StatusCode, body: &[u8]) -> BackendError {
        let said = String::from_utf8_lossy(body);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        let hint = match (self.kind, status.as_u16()) {
            (_, 300..=399) => "; redirects are not followed: set webSearch.url to where it leads",
            (Kind::Searxng, 403) => "; its settings.yml must list json under search.formats",
            (Kind::Brave, 401 | 403 | 422) => "; check BRAVE_API_KEY",
            (Kind::Tavily, 401 | 403) => "; check TAVILY_API_KEY",
            (_, 404) => "; check webSearch.url",
            (_, 429) => "; its rate limit is reached",
            _ => "",
        };
        BackendError::Refused {
            name: self.name(),
            url: Box::new(self.url.clone()),
            status,
            said,
            hint,
        }
    }

    fn hits(&self, answer: &Value) -> Result<Vec<WebHit>, BackendError> {
        let (list, snippet) = match self.kind {
            Kind::Searxng | Kind::Tavily => (&answer["results"], "content"),
            // Where there is nothing, the whole part is missing.
            Kind::Brave if answer["web"].is_null() && answer.is_object() => return Ok(Vec::new()),
            Kind::Brave => (&answer["web"]["results"], "description"),
        };
        let list = list.as_array().ok_or_else(|| BackendError::NoResults {
            name: self.name(),
            url: Box::new(self.url.clone()),
        })?;
        let text = |hit: &Value, key: &str| hit[key].as_str().unwrap_or_default().to_owned();
        let hits = list.iter().filter(|hit| hit["url"].is_string()).take(MAX_HITS);
        let hits = hits.map(|hit| WebHit {
            title: text(hit, "title"),
            url: text(hit, "url"),
            snippet: text(hit, snippet),
        });
        Ok(hits.collect())
    }
}

/// The query with what narrows it to domains, in the words most engines know.
fn with_sites(query: &WebQuery) -> String {
    let mut text = query.query.clone();
    let sites: Vec<String> =
        query.allowed_domains.iter().map(|domain| format!("site:{domain}")).collect();
    match sites.as_slice() {
        [] => {}
        [site] => text.push_str(&format!(" {site}")),
        sites => text.push_str(&format!(" ({})", sites.join(" OR "))),
    }
    for domain in &query.blocked_domains {
        text.push_str(&format!(" -site:{domain}"));
    }
    text
}

/// What lies between, as the environment says it.
fn proxies(given: &WebProxies) -> Result<Vec<Proxy>, BackendError> {
    let none_for = given.none_for.as_deref().unwrap_or_default();
    // reqwest takes `*` for all names, but not for addresses.
    if none_for.split(',').any(|entry| entry.trim() == "*") {
        return Ok(Vec::new());
    }
    let direct = NoProxy::from_string(none_for);
    let mut proxies = Vec::new();
    type Scope = fn(&str) -> reqwest::Result<Proxy>;
    let kinds: [(&'static str, &Option<String>, Scope); 2] = [
        ("HTTP_PROXY", &given.http, |url| Proxy::http(url)),
        ("HTTPS_PROXY", &given.https, |url| Proxy::https(url)),
    ];
    for (variable, value, scope) in kinds {
        let Some(value) = value.as_deref().map(str::trim).filter(|value| !value.is_empty()) else {
            continue;
        };
        // Not the value: it may hold a password.
        let proxy = scope(value)
            .map_err(|error| BackendError::BadProxy { variable, error: error.without_url() })?;
        proxies.push(proxy.no_proxy(direct.clone()));
    }
    Ok(proxies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WebAccess;

    fn with_keys() -> Web {
        let key = || Some(SecretString::from("key-of-this-test"));
        Web::new(WebAccess { brave_key: key(), tavily_key: key(), ..WebAccess::default() })
    }

    fn chosen(backend: &'static str, url: Option<&str>) -> WebSearchSettings {
        WebSearchSettings { backend: Some(backend), url: url.map(str::to_owned) }
    }

    fn refusal(settings: &WebSearchSettings, web: &Web) -> String {
        Backend::of(settings, web).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_is_missing_is_named() {
        let none = Web::default();
        for (settings, web, expected) in [
            (chosen("google", None), &none, "the backends are searxng, brave, tavily"),
            (chosen("searxng", None), &none, "webSearch.url is not set"),
            (
                chosen("searxng", Some("nope")),
                &none,
                "the setting webSearch.url: it is not a valid URL",
            ),
            (chosen("brave", None), &none, "BRAVE_API_KEY is not set"),
            (chosen("tavily", None), &none, "TAVILY_API_KEY is not set"),
            (chosen("brave", Some("http://far.example")), &with_keys(), "use https"),
        ] {
            let refused = refusal(&settings, web);
            assert!(refused.contains(expected), "{refused}");
        }
    }

    #[test]
    fn addresses_are_what_the_backends_say() {
        let web = with_keys();
        for (settings, expected) in [
            (chosen("brave", None), "https://api.search.brave.com/res/v1/web/search"),
            (chosen("tavily", None), "https://api.tavily.com/search"),
            (chosen("searxng", Some("http://far.example/")), "http://far.example/search"),
            (chosen("searxng", Some("http://h/x/search/")), "http://h/x/search/"),
            (chosen("tavily", Some("http://localhost:1")), "http://localhost:1/search"),
            (chosen("tavily", Some("http://[::1]:1")), "http://[::1]:1/search"),
        ] {
            let backend = Backend::of(&settings, &web).map_err(|why| panic!("{why}")).unwrap();
            assert_eq!(backend.url.as_str(), expected);
            assert_eq!(settings.backend, Some(backend.name()));
        }
    }

    #[test]
    fn domains_become_part_of_the_query() {
        let query = |allowed: &[&str], blocked: &[&str]| WebQuery {
            query: "q".into(),
            allowed_domains: allowed.iter().map(ToString::to_string).collect(),
            blocked_domains: blocked.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(with_sites(&query(&[], &[])), "q");
        assert_eq!(with_sites(&query(&["a.b"], &[])), "q site:a.b");
        assert_eq!(with_sites(&query(&["a.b", "c.d"], &[])), "q (site:a.b OR site:c.d)");
        assert_eq!(with_sites(&query(&[], &["a.b", "c.d"])), "q -site:a.b -site:c.d");
    }

    #[test]
    fn proxies_are_those_that_are_named() {
        let named = |http: &str, none_for: &str| WebProxies {
            http: Some(http.to_owned()),
            none_for: Some(none_for.to_owned()),
            ..WebProxies::default()
        };
        assert_eq!(proxies(&named("http://p:1", "")).unwrap().len(), 1);
        assert_eq!(proxies(&named("p:1", "a.example, *")).unwrap().len(), 0);
        assert_eq!(proxies(&named("", "")).unwrap().len(), 0);
        let refused = proxies(&named("http://me:hunter22@:x", "")).unwrap_err().to_string();
        assert!(refused.starts_with("HTTP_PROXY") && !refused.contains("hunter22"), "{refused}");
    }
}
