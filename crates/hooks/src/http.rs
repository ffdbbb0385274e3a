//! HTTP hooks: the input is posted, the answer is the body.

use std::time::Duration;

use ona_policy::wildcard;
use reqwest::redirect;

use crate::handler::{Ran, STREAM_CAP};
use crate::plane::HookHost;

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
        return Ran::failed(format!("{url} is not among allowedHttpHookUrls"))
            .hint("add it there, or remove the hook");
    }
    // Whoever answers must not choose where the input and the headers go next.
    let client = reqwest::Client::builder().redirect(redirect::Policy::none());
    let client = match client.timeout(limit).no_gzip().build() {
        Ok(client) => client,
        Err(error) => return Ran::failed(describe(&error)),
    };
    let mut request =
        client.post(url).header("content-type", "application/json").body(format!("{input}\n"));
    for (name, value) in headers {
        request = request.header(name, filled(value, allowed_env, host));
    }
    let mut response = match request.send().await {
        Ok(response) => response,
        Err(error) => return broken(&error),
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
            Err(error) => return broken(&error),
        }
    }
    let body = String::from_utf8_lossy(&body).into_owned();
    if status.is_success() {
        return Ran { exit_code: Some(0), stdout: body, ..Ran::default() };
    }
    let failed = Ran::failed(format!("{url} answered {status}: {body:.200}"));
    if status.is_redirection() {
        return failed.hint("redirects are not followed: write the last address into the hook");
    }
    failed.hint("only a 2xx answer is heard")
}

/// There was no answer, or not all of one.
fn broken(error: &reqwest::Error) -> Ran {
    let failed = Ran::failed(describe(error)).hint("see that its server runs and can be reached");
    Ran { timed_out: error.is_timeout(), ..failed }
}

/// The whole chain: reqwest's own message leaves the cause out.
fn describe(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// `$NAME` and `${NAME}` filled in, for the names that may be: others stay as they are, so that no
/// secret leaves by a header nobody meant it for.
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
