//! HTTP hooks: the input is posted, the answer is the body.

use std::time::Duration;

use ona_effects::wildcard;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Url, redirect};

use crate::config::shortened;
use crate::handler::{Ran, STREAM_CAP};
use crate::plane::HookHost;

/// Why a hook's URL or headers cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RequestError {
    #[error(
        "`url`: `{shown}` is not a valid URL ({why}); write the full URL, such as https://host/path"
    )]
    NotAUrl { shown: String, why: String },
    #[error("`url`: `{0}` must begin with http:// or https://")]
    Scheme(String),
    #[error("`headers`: `{0}` is not a valid header name")]
    HeaderName(String),
    #[error(
        "`headers.{0}` contains a character that is not allowed in a header, such as a line break or an accented letter"
    )]
    HeaderValue(String),
}

/// Checks a URL and headers as they are written.
pub(crate) fn check(url: &str, headers: &[(String, String)]) -> Result<(), RequestError> {
    let shown = shortened(url);
    match Url::parse(url) {
        Err(error) => return Err(RequestError::NotAUrl { shown, why: error.to_string() }),
        Ok(url) if !matches!(url.scheme(), "http" | "https") => {
            return Err(RequestError::Scheme(shown));
        }
        Ok(_) => {}
    }
    for (name, value) in headers {
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            return Err(RequestError::HeaderName(shortened(name)));
        }
        // Variables are not filled in yet, but their names are plain.
        if HeaderValue::from_str(value).is_err() {
            return Err(RequestError::HeaderValue(name.clone()));
        }
    }
    Ok(())
}

/// Posts the input. A body of a 2xx answer counts as the output of a hook that exited 0; anything else is
/// a failure that decides nothing.
pub(crate) async fn post(
    url: &str,
    headers: &[(String, String)],
    allowed_env: &[String],
    input: &str,
    limit: Duration,
    host: &HookHost,
) -> Ran {
    let listed = |allowed: &Vec<String>| allowed.iter().any(|shape| wildcard::matches(shape, url));
    if !host.allowed_urls.as_ref().is_none_or(listed) {
        return Ran::failed(format!("{url} is not in allowedHttpHookUrls"))
            .hint("add it there, or remove the hook");
    }
    // The server must not choose where the input and the headers go next.
    let client = ona_http::client().redirect(redirect::Policy::none());
    let client = match client.timeout(limit).no_gzip().build() {
        Ok(client) => client,
        Err(error) => return Ran::failed(describe(&error)),
    };
    let mut request =
        client.post(url).header("content-type", "application/json").body(format!("{input}\n"));
    for (name, value) in headers {
        match HeaderValue::from_str(&filled(value, allowed_env, host)) {
            Ok(value) => request = request.header(name, value),
            Err(_) => {
                let why =
                    format!("its header {name} is not valid once its variables are filled in");
                return Ran::failed(why).hint("one of them may end in a line break");
            }
        }
    }
    let mut response = match request.send().await {
        Ok(response) => response,
        Err(error) => return broken(&error, url, limit),
    };
    let status = response.status();
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() <= STREAM_CAP => {
                body.extend_from_slice(&chunk)
            }
            Ok(Some(_)) => {
                return Ran::failed(format!("{url} answered more than {STREAM_CAP} bytes"));
            }
            Ok(None) => break,
            Err(error) => return broken(&error, url, limit),
        }
    }
    let body = String::from_utf8_lossy(&body).into_owned();
    if status.is_success() {
        return Ran { exit_code: Some(0), stdout: body, ..Ran::default() };
    }
    let failed = Ran::failed(format!("{url} answered {status}: {body:.200}"));
    if status.is_redirection() {
        return failed.hint("redirects are not followed: use the final URL in the hook");
    }
    failed.hint("only a 2xx answer counts")
}

/// There was no answer, or not all of one.
fn broken(error: &reqwest::Error, url: &str, limit: Duration) -> Ran {
    if error.is_timeout() {
        let why =
            format!("[timed out after {} ms without an answer from {url}]", limit.as_millis());
        let failed =
            Ran::failed(why).hint("give it a longer `timeout`, or see why its server is slow");
        return Ran { timed_out: true, ..failed };
    }
    Ran::failed(describe(error)).hint("check that its server is running and reachable")
}

/// The whole chain of causes, which reqwest's own message leaves out.
fn describe(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// `$NAME` and `${NAME}` filled in, for the names that may be: others stay as they are, so that no
/// secret leaves in a header that was not meant for it.
fn filled(value: &str, allowed: &[String], host: &HookHost) -> String {
    let mut out = String::new();
    let mut rest = value;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let (name, next) = match braced {
            Some((name, next)) => (name, next),
            None => {
                let end = after
                    .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                    .unwrap_or(after.len());
                after.split_at(end)
            }
        };
        let may = allowed.iter().any(|known| known == name)
            && host
                .allowed_env
                .as_ref()
                .is_none_or(|names| names.iter().any(|known| known == name));
        if may {
            out.push_str(&(host.variable)(name).unwrap_or_default());
            rest = next;
        } else {
            out.push('$');
            rest = after;
        }
    }
    out.push_str(rest);
    out
}
