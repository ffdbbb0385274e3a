//! Fetches one page: redirects, limits and errors.

use std::sync::Arc;

use ona_http::link::{self, LinkError};
use ona_http::private_host::PrivateHost;
use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use reqwest::{Response, StatusCode};
use url::Url;

use crate::names::{Checked, NotPublic, check_literal};
use crate::page::{self, Kind, NotText};
use crate::{ExtraCaError, USER_AGENT, Web, describe};

/// The limit for a body after decompression, in bytes.
const MAX_BODY: usize = 10 << 20;
/// How many redirects are followed.
const MAX_REDIRECTS: usize = 10;
/// The limit for a server's error message.
const MAX_ERROR_CHARS: usize = 1000;
/// Added to the error if the environment names a proxy.
const WITHOUT_PROXY: &str = " (pages are fetched without the proxy that the environment names: it would look up \
                             names by itself, past the check of their addresses)";
/// Markdown, where a server has it; text before pictures.
const WANTED: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, \
                      application/json;q=0.8, text/*;q=0.8, application/pdf;q=0.7, */*;q=0.1";

/// What was got.
#[derive(Debug)]
pub enum Got {
    /// The page.
    Page(Body),
    /// The page is at another host, which needs a new permission.
    Elsewhere {
        /// What redirects.
        from: Url,
        /// Where it redirects to.
        to: Url,
        /// With this HTTP status.
        status: u16,
    },
}

/// A page as it came.
#[derive(Debug)]
pub struct Body {
    /// Where it came from in the end.
    pub url: Url,
    /// The HTTP status.
    pub status: u16,
    /// What it is.
    pub kind: Kind,
    /// What the server says that it is.
    pub content_type: Option<String>,
    /// Its bytes, decompressed.
    pub bytes: Vec<u8>,
    /// There is more of it.
    pub cut: bool,
}

/// Why a page could not be fetched.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum GetError {
    #[error(transparent)]
    NotPublic(#[from] NotPublic),
    #[error("{url} cannot be fetched: {why}")]
    Transport { url: Url, why: String },
    #[error("{url} answered {status}{complaint}")]
    Status { url: Url, status: StatusCode, complaint: String },
    #[error("{url} answered {status} without a redirect target")]
    NoLocation { url: Url, status: StatusCode },
    #[error("{url} redirects to a URL that is not followed: {why}")]
    BadLocation { url: Url, why: LinkError },
    #[error("{url} redirects in a loop, back to {to}")]
    Circle { url: Box<Url>, to: Box<Url> },
    #[error("{0} redirects more than {MAX_REDIRECTS} times")]
    TooManyRedirects(Url),
    #[error(
        "{url} is {what}, which WebFetch cannot read: it reads HTML, text, JSON and PDF. Download the file \
         where it is needed"
    )]
    Unreadable { url: Url, what: String },
    #[error("{url} came compressed as `{encoding}`, though only gzip was asked for")]
    Encoded { url: Url, encoding: String },
    #[error("{0} is a PDF larger than the limit of {MAX_BODY} bytes")]
    TooLarge(Url),
    #[error(transparent)]
    ExtraCa(#[from] ExtraCaError),
    #[error("{}", describe(.0))]
    Client(reqwest::Error),
}

/// Fetches a page, and follows redirects on the same host.
pub async fn get(web: &Web, start: &Url, private: &[PrivateHost]) -> Result<Got, GetError> {
    let mut url = start.clone();
    let mut been: Vec<Url> = Vec::new();
    loop {
        let is_private = private.iter().any(|host| host.covers(&url));
        let now = link::asked(url, is_private);
        if been.contains(&now) {
            let last = been.last().unwrap_or(start).clone();
            return Err(GetError::Circle { url: Box::new(last), to: Box::new(now) });
        }
        if been.len() > MAX_REDIRECTS {
            return Err(GetError::TooManyRedirects(start.clone()));
        }
        let response = send(web, &now, is_private).await?;
        let Some(to) = redirect(&now, &response)? else {
            return take(now, response).await.map(Got::Page);
        };
        if link::host(&to) != link::host(&now) {
            return Ok(Got::Elsewhere { from: now, to, status: response.status().as_u16() });
        }
        been.push(now);
        url = to;
    }
}

async fn send(web: &Web, url: &Url, is_private: bool) -> Result<Response, GetError> {
    if !is_private {
        check_literal(url)?;
    }
    let resolver = Checked { names: Arc::clone(&web.names), is_private };
    let mut builder = ona_http::client()
        // It would look names up by itself.
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .user_agent(USER_AGENT)
        .referer(false)
        .dns_resolver(Arc::new(resolver));
    builder = if url.scheme() == "https" {
        builder.tls_certs_merge(web.extra_ca()?)
    } else {
        // Reading the system's certificates takes longer than many a page.
        builder.tls_certs_only([])
    };
    let client = builder.build().map_err(GetError::Client)?;
    let request = client.get(url.clone()).header(ACCEPT, WANTED);
    request.send().await.map_err(|error| {
        let is_cut_off = error.is_connect() && web.access.proxies.https.is_some();
        match failed(url, error) {
            GetError::Transport { url, why } if is_cut_off => {
                GetError::Transport { url, why: why + WITHOUT_PROXY }
            }
            other => other,
        }
    })
}

/// Why nothing came: the resolver's own words, where it was the one to refuse.
fn failed(url: &Url, error: reqwest::Error) -> GetError {
    let error = error.without_url();
    let first: &(dyn std::error::Error + 'static) = &error;
    let mut chain = std::iter::successors(Some(first), |cause| cause.source());
    match chain.find_map(|cause| cause.downcast_ref::<NotPublic>()) {
        Some(refused) => GetError::NotPublic(refused.clone()),
        None => GetError::Transport { url: url.clone(), why: describe(&error) },
    }
}

/// Where a page has gone, if it has.
fn redirect(url: &Url, response: &Response) -> Result<Option<Url>, GetError> {
    let status = response.status();
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else {
        return Err(GetError::NoLocation { url: url.clone(), status });
    };
    let location = String::from_utf8_lossy(location.as_bytes());
    let to = url.join(location.trim()).map_err(|error| LinkError::NotAUrl(error.to_string()));
    let to = to.and_then(|to| link::check(&to).map(|()| to));
    to.map(Some).map_err(|why| GetError::BadLocation { url: url.clone(), why })
}

async fn take(url: Url, response: Response) -> Result<Body, GetError> {
    let status = response.status();
    let header = |name| {
        let value = response.headers().get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    // What the client could take off is gone from here.
    let encoding = header(CONTENT_ENCODING).filter(|encoding| encoding != "identity");
    if let Some(encoding) = encoding {
        return Err(GetError::Encoded { url, encoding });
    }
    let content_type = header(CONTENT_TYPE);
    let promised = page::promised(content_type.as_deref());
    if !status.is_success() {
        let complaint = complaint(response, content_type.as_deref(), &promised).await;
        return Err(GetError::Status { url, status, complaint });
    }
    let mut kind = match promised {
        Ok(kind) => kind,
        Err(NotText { content_type }) => {
            return Err(GetError::Unreadable { url, what: content_type });
        }
    };
    let (bytes, cut) = body(&url, response, MAX_BODY).await?;
    if kind == Kind::Unsaid {
        let Some(found) = page::sniffed(&bytes, !cut) else {
            let what = "binary data without a content type".to_owned();
            return Err(GetError::Unreadable { url, what });
        };
        kind = found;
    }
    if kind == Kind::Pdf && cut {
        return Err(GetError::TooLarge(url));
    }
    Ok(Body { url, status: status.as_u16(), kind, content_type, bytes, cut })
}

/// What a server says about an error, where that is plain text: pages say no more than the status.
async fn complaint(
    response: Response,
    content_type: Option<&str>,
    promised: &Result<Kind, NotText>,
) -> String {
    if *promised != Ok(Kind::Text) {
        return String::new();
    }
    let url = response.url().clone();
    let Ok((bytes, _)) = body(&url, response, MAX_ERROR_CHARS).await else {
        return String::new();
    };
    let text = page::decode(&bytes, content_type, Kind::Text);
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

/// No more of a body than `most`, and whether there is more.
async fn body(url: &Url, mut response: Response, most: usize) -> Result<(Vec<u8>, bool), GetError> {
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| failed(url, error))? {
        let room = most - bytes.len();
        bytes.extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            return Ok((bytes, true));
        }
    }
    Ok((bytes, false))
}
