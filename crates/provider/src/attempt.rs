//! One request and its response, as far as it goes.

use std::time::{Duration, Instant, SystemTime};

use ona_http::sse::{Event, Parser};
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION,
};
use reqwest::{Response, StatusCode};
use serde_json::Value;
use tokio::time::timeout;
use tracing::debug;

use crate::credential::Credential;
use crate::failure::{Complaint, FailedAttempt, Remedy};
use crate::http::{Line, describe};
use crate::live::Listener;
use crate::message::Answer;
use crate::model::ProviderKind;
use crate::{anthropic, openai, retry};

/// The limit for an answer, streamed or not.
const ANSWER_CAP: usize = 64 << 20;
/// The limit for an error response.
const REFUSAL_CAP: usize = 64 << 10;
/// How long to wait for more when the answer is whole: usage, or a word that this was all.
const AFTERWORD: Duration = Duration::from_secs(10);
/// How long to wait in the background for the end of a response, so that the connection can be reused.
const DRAIN: Duration = Duration::from_secs(1);

/// A decoder of either kind.
enum Decoder {
    Anthropic(anthropic::Decoder),
    OpenAi(openai::Decoder),
}

impl Decoder {
    fn new(provider: ProviderKind) -> Self {
        match provider {
            ProviderKind::ClaudeCodeSubscription => Self::Anthropic(anthropic::Decoder::new()),
            other => Self::OpenAi(openai::Decoder::new(other)),
        }
    }

    fn heard(&self) -> bool {
        match self {
            Self::Anthropic(decoder) => decoder.assembly().started(),
            Self::OpenAi(decoder) => decoder.assembly().started(),
        }
    }

    fn take(&mut self, event: &Event, on: &mut Listener<'_>) -> Result<(), FailedAttempt> {
        match self {
            Self::Anthropic(decoder) => decoder.take(event, on),
            Self::OpenAi(decoder) => decoder.take(event, on),
        }
    }

    fn take_whole(&mut self, value: &Value, on: &mut Listener<'_>) -> Result<(), FailedAttempt> {
        match self {
            Self::Anthropic(decoder) => decoder.take_whole(value, on),
            Self::OpenAi(decoder) => decoder.take_whole(value, on),
        }
    }

    /// Whether nothing more need be read.
    fn done(&self) -> bool {
        match self {
            Self::Anthropic(decoder) => decoder.assembly().stopped(),
            Self::OpenAi(decoder) => decoder.done(),
        }
    }

    /// Whether the stream may end here, however it ends.
    fn whole(&self) -> bool {
        match self {
            Self::Anthropic(decoder) => decoder.assembly().stopped(),
            Self::OpenAi(decoder) => decoder.whole(),
        }
    }

    fn finish(self, on: &mut Listener<'_>) -> Result<Answer, FailedAttempt> {
        match self {
            Self::Anthropic(decoder) => decoder.finish(),
            Self::OpenAi(decoder) => decoder.finish(on),
        }
    }
}

/// The answer in a recorded stream, without a server; `None` if it is incomplete. For the fuzz
/// target: whatever a server may send can be tried without one.
#[doc(hidden)]
pub fn read_stream(provider: ProviderKind, chunks: &[&[u8]]) -> Option<Answer> {
    let (mut parser, mut decoder) = (Parser::default(), Decoder::new(provider));
    let on: &mut Listener<'_> = &mut |_live| ();
    for chunk in chunks {
        let mut events = Vec::new();
        parser.push(chunk, &mut events).ok()?;
        for event in &events {
            if decoder.done() {
                return decoder.finish(on).ok();
            }
            decoder.take(event, on).ok()?;
        }
    }
    decoder.finish(on).ok()
}

/// The headers of a request. `None` if the credential contains a character that is not allowed in a header.
pub(crate) fn headers(
    provider: ProviderKind,
    credential: &Credential,
    stream: bool,
    custom: &HeaderMap,
) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let accept = if stream { "text/event-stream" } else { "application/json" };
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
    let anthropic = provider == ProviderKind::ClaudeCodeSubscription;
    if anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static(anthropic::VERSION));
    }
    if let Some(secret) = credential.secret() {
        let (as_key, as_bearer) = match credential {
            _ if !anthropic => (false, true),
            Credential::ApiKey(_) => (true, false),
            Credential::KeyAndBearer(_) => (true, true),
            Credential::Bearer(_) | Credential::None => (false, true),
        };
        let mut add = |name: HeaderName, value: String| {
            let mut value = HeaderValue::from_str(&value).ok()?;
            value.set_sensitive(true);
            headers.insert(name, value);
            Some(())
        };
        if as_key {
            add(HeaderName::from_static("x-api-key"), secret.to_owned())?;
        }
        if as_bearer {
            add(AUTHORIZATION, format!("Bearer {secret}"))?;
        }
    }
    for name in custom.keys() {
        headers.remove(name);
    }
    for (name, value) in custom {
        headers.append(name, value.clone());
    }
    Some(headers)
}

/// Sends the body and reads the answer.
pub(crate) async fn exchange(
    line: &Line,
    provider: ProviderKind,
    headers: HeaderMap,
    body: Vec<u8>,
    stream: bool,
    on: &mut Listener<'_>,
) -> Result<Answer, FailedAttempt> {
    let limit = if stream { line.idle_timeout } else { line.answer_timeout };
    let started = Instant::now();
    let ms = || u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    debug!(
        target: "ona::api", method = "POST", url = %line.url, bytes = body.len(), stream, "asks",
    );
    let sent = line.client.post(line.url.clone()).headers(headers).body(body).send();
    let response = match timeout(limit, sent).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(unreachable(line, error)),
        Err(_) => return Err(FailedAttempt::unreachable(silent(line, limit))),
    };
    let status = response.status().as_u16();
    let request_id = request_id(response.headers());
    debug!(target: "ona::api", status, request_id = request_id.as_deref(), ms = ms(), "is answered");
    let mut decoder = Decoder::new(provider);
    let result = receive(line, response, &mut decoder, limit, on).await;
    let heard = decoder.heard();
    debug!(target: "ona::api", status, whole = result.is_ok(), ms = ms(), "has heard it");
    result.and_then(|()| decoder.finish(on)).map_err(|mut trouble| {
        trouble.heard = heard;
        // An error after a 200 may correspond to another status; a broken stream to none.
        if trouble.remedy == Remedy::Fail {
            trouble.failure.status.get_or_insert(status);
        }
        trouble.failure.request_id = trouble.failure.request_id.or(request_id);
        trouble
    })
}

async fn receive(
    line: &Line,
    mut response: Response,
    decoder: &mut Decoder,
    limit: Duration,
    on: &mut Listener<'_>,
) -> Result<(), FailedAttempt> {
    let status = response.status();
    if !status.is_success() {
        return Err(refusal(line, response, limit).await);
    }
    match content_type(&response).as_str() {
        "text/html" => {
            // As much of the page as there is.
            let mut page = Vec::new();
            let _ = read(&mut response, &mut page, REFUSAL_CAP, limit).await;
            Err(FailedAttempt::foreign(not_json(line, status, "text/html", &page)))
        }
        // Asked for, or from a server that does not stream.
        "application/json" => {
            let mut body = Vec::new();
            let cut = |error: BodyError| FailedAttempt::cut(error.to_string());
            read(&mut response, &mut body, ANSWER_CAP, limit).await.map_err(cut)?;
            let value = serde_json::from_slice(&body).map_err(|error| {
                FailedAttempt::cut(format!("the server's answer is not complete JSON: {error}"))
            })?;
            decoder.take_whole(&value, on)
        }
        _ => follow(line, response, decoder, limit, on).await,
    }
}

/// Follows a stream to its end.
async fn follow(
    line: &Line,
    mut response: Response,
    decoder: &mut Decoder,
    limit: Duration,
    on: &mut Listener<'_>,
) -> Result<(), FailedAttempt> {
    let declared = content_type(&response) == "text/event-stream";
    let status = response.status();
    let mut parser = Parser::default();
    let mut events = Vec::new();
    let mut seen = Vec::new();
    let mut length = 0;
    while !decoder.done() {
        let limit = if decoder.whole() { limit.min(AFTERWORD) } else { limit };
        let chunk = match timeout(limit, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            // Something, but neither a stream nor said to be one.
            Ok(Ok(None)) if !declared && !decoder.heard() => {
                let kind = content_type(&response);
                return Err(FailedAttempt::foreign(not_json(line, status, &kind, &seen)));
            }
            Ok(Ok(None)) => return Ok(()),
            _ if decoder.whole() => return Ok(()),
            Ok(Err(error)) => {
                let why = describe(&error.without_url());
                return Err(FailedAttempt::cut(format!(
                    "the stream of {} was cut off: {why}",
                    line.url
                )));
            }
            Err(_) => return Err(FailedAttempt::cut(silent(line, limit))),
        };
        length += chunk.len();
        if length > ANSWER_CAP {
            return Err(FailedAttempt::foreign(BodyError::TooLarge(ANSWER_CAP).to_string()));
        }
        if !declared && !decoder.heard() && seen.len() < REFUSAL_CAP {
            seen.extend_from_slice(&chunk);
        }
        let pushed = parser.push(&chunk, &mut events);
        for event in events.drain(..) {
            if decoder.done() {
                break;
            }
            decoder.take(&event, on)?;
        }
        pushed.map_err(|error| FailedAttempt::cut(error.to_string()))?;
    }
    // Only a connection that was read to the end can be reused for the next request.
    tokio::spawn(timeout(DRAIN, async move { while let Ok(Some(_)) = response.chunk().await {} }));
    Ok(())
}

/// Reads an error response.
async fn refusal(line: &Line, mut response: Response, limit: Duration) -> FailedAttempt {
    let status = response.status();
    let headers = response.headers().clone();
    let content_type = content_type(&response);
    // The status is enough if the body cannot be read.
    let mut body = Vec::new();
    let _ = read(&mut response, &mut body, REFUSAL_CAP, limit).await;
    let value: Option<Value> = serde_json::from_slice(&body).ok();
    let complaint = value.as_ref().and_then(Complaint::read).map(|mut complaint| {
        complaint.message = format!("the server answered {}: {}", short(status), complaint.message);
        complaint
    });
    let complaint = complaint.unwrap_or_else(|| {
        let location = headers.get(LOCATION).and_then(|place| place.to_str().ok());
        Complaint::said(match location.filter(|_| status.is_redirection()) {
            Some(place) => format!(
                "{} answered {}: the server redirects to {place}. Check the base URL",
                line.url,
                short(status)
            ),
            None => not_json(line, status, &content_type, &body),
        })
    });
    let wait = retry::asked_wait(&headers, SystemTime::now());
    let mut trouble = FailedAttempt::refused(status.as_u16(), &complaint, wait);
    trouble.failure.request_id =
        value.and_then(|value| value["request_id"].as_str().map(str::to_owned));
    let told = headers.get("x-should-retry").and_then(|told| told.to_str().ok());
    match (told, trouble.remedy) {
        (Some("true"), Remedy::Fail) => trouble.remedy = Remedy::Again(wait),
        (Some("false"), Remedy::Again(_)) => trouble.remedy = Remedy::Fail,
        _ => {}
    }
    if matches!(status.as_u16(), 400 | 422) && complaint.mentions("stream_options") {
        trouble.remedy = Remedy::DropStreamOptions;
    }
    trouble
}

/// Why a body could not be read to its end.
#[derive(Debug, thiserror::Error)]
enum BodyError {
    #[error("the server's answer was cut off: {}", describe(.0))]
    Cut(reqwest::Error),
    #[error("the server's answer is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the server's answer took too long")]
    TooSlow,
}

/// Reads a body, up to a cap; keeps what was read before an error.
async fn read(
    response: &mut Response,
    body: &mut Vec<u8>,
    cap: usize,
    limit: Duration,
) -> Result<(), BodyError> {
    let all = async {
        let cut = |error: reqwest::Error| BodyError::Cut(error.without_url());
        while let Some(chunk) = response.chunk().await.map_err(cut)? {
            let room = cap - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                return Err(BodyError::TooLarge(cap));
            }
        }
        Ok(())
    };
    timeout(limit, all).await.unwrap_or(Err(BodyError::TooSlow))
}

fn unreachable(line: &Line, error: reqwest::Error) -> FailedAttempt {
    let why = describe(&error.without_url());
    let mut trouble =
        FailedAttempt::unreachable(format!("the request to {} failed: {why}", line.url));
    // A retry would meet the same certificate.
    if why.contains("certificate") {
        trouble.failure.message.push_str(
            ". If the server or a proxy uses a private certificate authority, configure its CA file",
        );
        trouble.remedy = Remedy::Fail;
    }
    trouble
}

fn silent(line: &Line, limit: Duration) -> String {
    format!("{} was silent for {} s", line.url, limit.as_secs_f64())
}

fn not_json(line: &Line, status: StatusCode, content_type: &str, body: &[u8]) -> String {
    let kind = if content_type.is_empty() { "no content type" } else { content_type };
    let said = match first_line(&line.masks.apply(String::from_utf8_lossy(body).into_owned())) {
        Some(said) => format!("\"{said}\""),
        None => "nothing".to_owned(),
    };
    format!(
        "{} answered {} with {kind} where JSON was expected: {said}. Check the base URL",
        line.url,
        short(status)
    )
}

/// The first line of a page that is not only markup.
fn first_line(page: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        rest = rest[at..].split_once('>').map_or("", |(_, after)| after);
        text.push('\n');
    }
    text.push_str(rest);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(ona_types::whole_words(line, 200).to_owned())
}

fn short(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}

fn content_type(response: &Response) -> String {
    let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let value = value.and_then(|value| value.split(';').next()).unwrap_or_default();
    value.trim().to_ascii_lowercase()
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get("request-id").or_else(|| headers.get("x-request-id"))?;
    id.to_str().ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_a_page_is_its_text() {
        for (page, expected) in [
            ("<html><head>\n<title>404 Not Found</title>", Some("404 Not Found")),
            ("  plain\nmore", Some("plain")),
            ("<html", None),
            ("", None),
        ] {
            assert_eq!(first_line(page).as_deref(), expected, "{page}");
        }
    }

    #[test]
    fn custom_headers_replace_those_of_the_same_name() {
        let mut custom = HeaderMap::new();
        custom.append("authorization", HeaderValue::from_static("Basic x"));
        custom.append("x-a", HeaderValue::from_static("1"));
        custom.append("x-a", HeaderValue::from_static("2"));
        let credential = Credential::Bearer("token".into());
        let headers = headers(ProviderKind::OpenAiCompatible, &credential, true, &custom).unwrap();
        assert_eq!(headers["authorization"], "Basic x");
        assert_eq!(headers.get_all("x-a").iter().count(), 2);
        let broken = Credential::ApiKey("a\nb".into());
        assert!(super::headers(ProviderKind::LmStudioLocal, &broken, true, &custom).is_none());
    }
}
