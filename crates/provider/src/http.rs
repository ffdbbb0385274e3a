//! The HTTP transport: the server's address, proxies, certificates and timeouts.
//!
//! The caller gives all settings. reqwest would read proxies from the environment by itself; this is
//! switched off, so that a session only uses the settings it was started with.

use std::fmt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Certificate, ClientBuilder, NoProxy, Proxy, Url};

use crate::credential::Masks;

/// The user agent of every request.
const USER_AGENT: &str = concat!("ona/", env!("CARGO_PKG_VERSION"));

/// A wrong setting. It is reported before any network I/O.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigurationError {
    /// The address of the server.
    #[error("the base URL `{url}` cannot be used: {reason}")]
    BaseUrl {
        /// The address.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The address of a proxy. It may contain a password and is not shown.
    #[error("the value of {variable} is not a usable proxy: {reason}")]
    Proxy {
        /// Which one, by the variable's name.
        variable: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A header. Its value may be a secret and is not shown.
    #[error("the custom header `{name}` cannot be sent: {reason}")]
    Header {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The extra certificates.
    #[error("the extra CA certificates cannot be used: {0}")]
    Certificates(String),
    /// The unix socket.
    #[error("the unix socket {} cannot be used: {reason}", path.display())]
    UnixSocket {
        /// Where it should be.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The credential, which is not shown.
    #[error(
        "the credential from {0} cannot be sent: it contains a line break or another control character"
    )]
    Credential(String),
    /// The HTTP client cannot be made.
    #[error("the HTTP client cannot be set up: {0}")]
    Client(String),
}

/// Proxies, in the form of the well-known variables. An empty value counts as none.
#[derive(Clone, Default)]
pub struct Proxies {
    /// `http_proxy`: for `http://` addresses.
    pub http: Option<String>,
    /// `https_proxy`: for `https://` addresses.
    pub https: Option<String>,
    /// `no_proxy`: hosts, domains and networks that are asked directly, by commas; `*` is all of them.
    pub none_for: Option<String>,
}

/// The way to a server.
#[derive(Clone)]
pub struct Transport {
    /// Its address, up to where the API's own paths begin.
    pub base_url: String,
    /// The proxies.
    pub proxies: Proxies,
    /// Where to connect instead of to the address; no proxy then.
    pub unix_socket: Option<PathBuf>,
    /// Certificates to trust beside the system's, in PEM.
    pub extra_ca: Option<Vec<u8>>,
    /// Additional headers; they replace default headers of the same name.
    pub headers: Vec<(String, String)>,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long a stream may be silent.
    pub idle_timeout: Duration,
    /// How long an answer may take that comes in one piece.
    pub answer_timeout: Duration,
}

impl Transport {
    /// A transport to this address with default settings.
    pub fn to(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            proxies: Proxies::default(),
            unix_socket: None,
            extra_ca: None,
            headers: Vec::new(),
            connect_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(300),
            answer_timeout: Duration::from_secs(600),
        }
    }
}

impl fmt::Debug for Transport {
    /// Without the values of headers and proxies, which may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Transport")
            .field("base_url", &shown(&self.base_url))
            .field("unix_socket", &self.unix_socket)
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

/// A transport whose settings were checked.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) client: reqwest::Client,
    /// Where questions go.
    pub(crate) url: Url,
    /// The custom headers.
    pub(crate) headers: HeaderMap,
    /// Secrets among the settings.
    pub(crate) masks: Masks,
    pub(crate) idle_timeout: Duration,
    pub(crate) answer_timeout: Duration,
}

impl Line {
    /// A line to `path` under the transport's base.
    pub(crate) fn open(transport: &Transport, path: &str) -> Result<Self, ConfigurationError> {
        let url = address(&transport.base_url, path)?;
        let mut masks = Masks::default();
        let mut builder = ona_http::client()
            .no_proxy()
            // A redirected POST means a wrong base URL, and the key must not go elsewhere.
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            // A compressed stream would arrive in large chunks.
            .no_gzip()
            .user_agent(USER_AGENT)
            .connect_timeout(transport.connect_timeout)
            .tcp_nodelay(true);
        let secured = match &transport.unix_socket {
            Some(path) => {
                check_socket(path)?;
                builder = builder.unix_socket(path.as_path().to_path_buf());
                url.scheme() == "https"
            }
            None => {
                let (with_proxies, proxy_secured) =
                    add_proxies(builder, &transport.proxies, &mut masks)?;
                builder = with_proxies;
                proxy_secured || url.scheme() == "https"
            }
        };
        let extra = transport.extra_ca.as_deref().map(certificates).transpose()?;
        builder = match extra {
            // Reading the system's certificates takes longer than a whole turn with a local model.
            _ if !secured => builder.tls_certs_only([]),
            Some(extra) => builder.tls_certs_merge(extra),
            None => builder,
        };
        let client =
            builder.build().map_err(|error| ConfigurationError::Client(describe(&error)))?;
        let headers = headers(&transport.headers, &mut masks)?;
        let Transport { idle_timeout, answer_timeout, .. } = *transport;
        Ok(Self { client, url, headers, masks, idle_timeout, answer_timeout })
    }
}

fn address(base: &str, path: &str) -> Result<Url, ConfigurationError> {
    let wrong =
        |reason: &str| ConfigurationError::BaseUrl { url: shown(base), reason: reason.to_owned() };
    let base_url = base.trim();
    if !["http://", "https://"].iter().any(|scheme| base_url.starts_with(scheme)) {
        return Err(wrong("it must begin with http:// or https://"));
    }
    let url = Url::parse(base_url).map_err(|error| wrong(&error.to_string()))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("it contains a user name; credentials do not belong in the URL"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("it must end with a path, without `?` or `#`"));
    }
    let joined = format!("{}/{path}", url.as_str().trim_end_matches('/'));
    Url::parse(&joined).map_err(|error| wrong(&error.to_string()))
}

/// A URL without parts that may be secret: before an `@`, and after `?` or `#`.
fn shown(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let scheme = if scheme.is_empty() { String::new() } else { format!("{scheme}://") };
    let (place, query) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    if query.contains('@') {
        // A password may contain such a character; it does not start a query.
        return format!("{scheme}…");
    }
    let place = match place.rsplit_once('@') {
        Some((_, after)) => format!("…@{after}"),
        None => place.to_owned(),
    };
    let query = query.chars().next().map_or_else(String::new, |sign| format!("{sign}…"));
    format!("{scheme}{place}{query}")
}

fn check_socket(path: &Path) -> Result<(), ConfigurationError> {
    let wrong = |reason: String| ConfigurationError::UnixSocket { path: path.to_owned(), reason };
    let metadata = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?;
    if metadata.file_type().is_socket() {
        Ok(())
    } else {
        Err(wrong("it is not a socket".to_owned()))
    }
}

/// Adds the proxies, and says whether one of them is itself spoken to over TLS.
fn add_proxies(
    mut builder: ClientBuilder,
    proxies: &Proxies,
    masks: &mut Masks,
) -> Result<(ClientBuilder, bool), ConfigurationError> {
    let mut secured = false;
    let none_for = proxies.none_for.as_deref().unwrap_or_default();
    // reqwest takes `*` for all names, but not for addresses.
    let everywhere = none_for.split(',').any(|entry| entry.trim() == "*");
    let direct = NoProxy::from_string(none_for);
    type Scope = fn(Url) -> reqwest::Result<Proxy>;
    let kinds: [(&'static str, &Option<String>, Scope); 2] =
        [("http_proxy", &proxies.http, Proxy::http), ("https_proxy", &proxies.https, Proxy::https)];
    for (variable, value, scope) in kinds {
        let Some(value) = value.as_deref().map(str::trim).filter(|value| !value.is_empty()) else {
            continue;
        };
        let wrong = |reason: String| ConfigurationError::Proxy { variable, reason };
        // `localhost:3128` is what people write.
        let full = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
        let url = Url::parse(&full).map_err(|error| wrong(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong(format!("`{}` proxies are not supported", url.scheme())));
        }
        secured |= url.scheme() == "https";
        masks.add(url.password().unwrap_or_default());
        let proxy = scope(url).map_err(|error| wrong(describe(&error.without_url())))?;
        if !everywhere {
            builder = builder.proxy(proxy.no_proxy(direct.clone()));
        }
    }
    Ok((builder, secured))
}

fn certificates(pem: &[u8]) -> Result<Vec<Certificate>, ConfigurationError> {
    let wrong = |reason: String| ConfigurationError::Certificates(reason);
    let read = Certificate::from_pem_bundle(pem).map_err(|error| wrong(describe(&error)))?;
    if read.is_empty() {
        return Err(wrong("they contain no PEM certificate".to_owned()));
    }
    Ok(read)
}

/// Headers about the protocol, which contain no secret.
const PLAIN_HEADERS: [&str; 7] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "anthropic-beta",
    "anthropic-version",
    "content-type",
    "user-agent",
];
/// Words in a header's name that mark its value as a secret.
const SECRET_WORDS: [&str; 5] = ["auth", "key", "token", "secret", "cookie"];
/// The value of any other header counts as a secret only from this length on.
const MIN_UNNAMED_SECRET: usize = 8;

/// The parts of a custom header that must not be shown. A gateway's key may have any name.
pub fn header_secrets<'v>(name: &str, value: &'v str) -> impl Iterator<Item = &'v str> {
    let name = name.trim().to_ascii_lowercase();
    let is_plain = PLAIN_HEADERS.contains(&name.as_str());
    let says_so = SECRET_WORDS.iter().any(|word| name.contains(word));
    // `Bearer abc`: what follows the scheme is the secret, and may be shown without it.
    let parts = [Some(value.trim()), value.split_whitespace().next_back()];
    let secret = move |part: &&str| says_so || (!is_plain && part.len() >= MIN_UNNAMED_SECRET);
    parts.into_iter().flatten().filter(secret)
}

fn headers(pairs: &[(String, String)], masks: &mut Masks) -> Result<HeaderMap, ConfigurationError> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let wrong = |reason: &str| ConfigurationError::Header {
            name: name.clone(),
            reason: reason.to_owned(),
        };
        let key = HeaderName::from_bytes(name.trim().as_bytes())
            .map_err(|_| wrong("it is not a valid header name"))?;
        let mut sent = HeaderValue::from_str(value.trim())
            .map_err(|_| wrong("its value contains a line break or another control character"))?;
        sent.set_sensitive(true);
        header_secrets(key.as_str(), value).for_each(|secret| masks.add(secret));
        headers.append(key, sent);
    }
    Ok(headers)
}

/// The whole chain of causes, which reqwest's own message leaves out.
pub(crate) fn describe(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(transport: &Transport) -> String {
        Line::open(transport, "v1/messages")
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn the_path_is_added_to_the_base() {
        for base in ["http://h:1/a/b", "http://h:1/a/b/", " http://h:1/a/b//"] {
            let line = Line::open(&Transport::to(base), "v1/messages").unwrap();
            assert_eq!(line.url.as_str(), "http://h:1/a/b/v1/messages");
        }
        let line = Line::open(&Transport::to("https://api.anthropic.com"), "v1/messages").unwrap();
        assert_eq!(line.url.as_str(), "https://api.anthropic.com/v1/messages");
    }

    #[test]
    fn what_is_set_up_wrongly_is_named_without_secrets() {
        let base = Transport::to("http://h");
        let with_header = |name: &str, value: &str| Transport {
            headers: vec![(name.to_owned(), value.to_owned())],
            ..base.clone()
        };
        let with_proxy = |value: &str| Transport {
            proxies: Proxies { https: Some(value.to_owned()), ..Proxies::default() },
            ..base.clone()
        };
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        let socket = |path: &Path| Transport { unix_socket: Some(path.to_owned()), ..base.clone() };
        let refusals = [
            refusal(&Transport::to("")),
            refusal(&Transport::to("api.anthropic.com")),
            refusal(&Transport::to("ftp://h")),
            refusal(&Transport::to("http://h:99999")),
            refusal(&Transport::to("http://me:hunter22@h")),
            refusal(&Transport::to("http://h/?a=hunter22")),
            refusal(&Transport::to("http://me:a#hunter22@h")),
            refusal(&Transport::to("h?a=hunter22")),
            refusal(&with_header("a b", "x")),
            refusal(&with_header("x-key", "hunter22\nx: y")),
            refusal(&with_proxy("socks5://me:hunter22@h")),
            refusal(&with_proxy("http://me:hunter22@:x")),
            refusal(&Transport { extra_ca: Some(b"no".to_vec()), ..base.clone() }),
            refusal(&socket(&file)).replace(&directory.path().display().to_string(), "DIR"),
            refusal(&socket(&file.join("x")))
                .replace(&directory.path().display().to_string(), "DIR"),
        ];
        let shown = refusals.join("\n");
        assert!(!shown.contains("hunter22"));
        insta::assert_snapshot!(shown, @r"
        the base URL `` cannot be used: it must begin with http:// or https://
        the base URL `api.anthropic.com` cannot be used: it must begin with http:// or https://
        the base URL `ftp://h` cannot be used: it must begin with http:// or https://
        the base URL `http://h:99999` cannot be used: invalid port number
        the base URL `http://…@h` cannot be used: it contains a user name; credentials do not belong in the URL
        the base URL `http://h/?…` cannot be used: it must end with a path, without `?` or `#`
        the base URL `http://…` cannot be used: invalid port number
        the base URL `h?…` cannot be used: it must begin with http:// or https://
        the custom header `a b` cannot be sent: it is not a valid header name
        the custom header `x-key` cannot be sent: its value contains a line break or another control character
        the value of https_proxy is not a usable proxy: `socks5` proxies are not supported
        the value of https_proxy is not a usable proxy: empty host
        the extra CA certificates cannot be used: they contain no PEM certificate
        the unix socket DIR/file cannot be used: it is not a socket
        the unix socket DIR/file/x cannot be used: Not a directory (os error 20)
        ");
    }

    #[test]
    fn secrets_do_not_show_in_debug() {
        let transport = Transport {
            headers: vec![("x-key".to_owned(), "Bearer hunter22".to_owned())],
            proxies: Proxies { http: Some("http://u:hunter22@p".to_owned()), ..Proxies::default() },
            ..Transport::to("http://h")
        };
        assert!(!format!("{transport:?}").contains("hunter22"));
        let line = Line::open(&transport, "x").unwrap();
        assert_eq!(line.masks.apply("Bearer hunter22".to_owned()), "Bearer [secret]");
    }
}
