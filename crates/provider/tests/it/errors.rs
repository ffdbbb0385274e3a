//! What is not tried again, and what is said of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ona_provider::scripted::{Reply, Script, Server};
use ona_provider::{
    AskError, Client, ConfigurationError, Credential, CredentialError, Credentials, FailureWord,
    Fetching, Fixed, ProviderKind, Transport,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{BOTH, KEY, Pair, base_url, quick, request};

#[tokio::test]
async fn refusals_end_the_question_with_their_word() {
    use FailureWord::*;
    for provider in BOTH {
        for (status, kind, message, word) in [
            (400, "invalid_request_error", "bad field", InvalidRequest),
            (401, "authentication_error", "invalid x-api-key", AuthenticationFailed),
            (403, "permission_error", "not yours", AuthenticationFailed),
            (402, "billing_error", "pay first", BillingError),
            (400, "invalid_request_error", "Your credit balance is too low", BillingError),
            (429, "insufficient_quota", "no quota", BillingError),
            (404, "not_found_error", "model: x", InvalidRequest),
            (413, "request_too_large", "too many bytes", InvalidRequest),
        ] {
            let reply = Reply::error(status, kind, message).header("request-id", "req_1");
            let (failure, asked) = Pair::new(provider, [reply]).failure().await;
            assert_eq!((failure.word, failure.status, asked), (word, Some(status), 1), "{message}");
            assert_eq!(failure.request_id.as_deref(), Some("req_1"));
            assert!(failure.message.contains(message), "{failure}");
            let named = failure.message.ends_with("; the credential came from the test");
            assert_eq!(named, word == AuthenticationFailed, "{failure}");
        }
    }
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_told_apart() {
    for provider in BOTH {
        for reply in [
            Reply::error(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
            Reply::status(
                400,
                json!({"error": {"message": "no", "code": "context_length_exceeded"}}),
            ),
            Reply::status(
                413,
                json!({"error": "Trying to keep the first 9 tokens when context the overflows."}),
            ),
            Reply::new().then_error("error", "This model's maximum context length is 8 tokens"),
        ] {
            let error = Pair::new(provider, [reply]).ask().await.0.unwrap_err();
            assert!(matches!(error, AskError::ContextTooLong(_)), "{error:?}");
            assert_eq!(error.word(), Some(FailureWord::InvalidRequest));
        }
    }
}

#[tokio::test]
async fn what_a_server_says_is_passed_on_in_measure() {
    let long = format!("no: {}", "x".repeat(20_000));
    let (failure, _) = Pair::new(BOTH[0], [Reply::error(400, "e", &long)]).failure().await;
    // The cut drops the last 512 characters of an unbroken word, because they could be part of a secret.
    assert_eq!(failure.message.chars().count(), 2000 - 512);
}

#[tokio::test]
async fn a_page_instead_of_an_answer_names_the_address() {
    // Longer than what is read of it.
    let rest = "<p>".repeat(50_000);
    let page =
        format!("<!doctype html>\n<html><head><title>Welcome to nginx!</title></head>{rest}");
    for provider in BOTH {
        for status in [200, 404] {
            let pair = Pair::new(provider, [Reply::html(status, &*page)]);
            let (failure, asked) = pair.failure().await;
            assert_eq!((failure.word, asked), (FailureWord::InvalidRequest, 1));
            let path = if provider == BOTH[0] { "/v1/messages" } else { "/v1/chat/completions" };
            let url = format!("{}{path}", pair.server.base_url());
            let reason = if status == 200 { "OK" } else { "Not Found" };
            assert_eq!(
                failure.message,
                format!(
                    "{url} answered {status} {reason} with text/html where JSON was expected: \
                     \"Welcome to nginx!\". Check the base URL"
                )
            );
        }
        let pair = Pair::new(provider, [Reply::html(502, &*page), Reply::say("back")]);
        assert_eq!(pair.text().await, ("back".to_owned(), 2));
    }
}

#[tokio::test]
async fn an_answer_of_something_else_is_not_asked_for_again() {
    for provider in BOTH {
        for (reply, expected) in [
            (
                Reply::status(200, json!({"status": "up"})),
                "the server's answer is JSON, but not a ",
            ),
            (
                Reply::page(200, "text/plain", "Welcome.\n"),
                "text/plain where JSON was expected: \"Welcome.\"",
            ),
            (Reply::page(200, "", ""), "no content type where JSON was expected: nothing. Check"),
        ] {
            let (failure, asked) = Pair::new(provider, [reply]).failure().await;
            assert_eq!((failure.word, failure.status), (FailureWord::InvalidRequest, Some(200)));
            assert!(failure.message.contains(expected) && asked == 1, "{failure}");
        }
        let late = json!({"error": {"type": "overloaded_error", "message": "later"}});
        let pair = Pair::new(provider, [Reply::status(200, late), Reply::say("now")]);
        assert_eq!(pair.text().await, ("now".to_owned(), 2));
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let moved = Reply::html(301, "").header("location", "https://elsewhere.example/v1");
    let (failure, asked) = Pair::new(BOTH[0], [moved]).failure().await;
    assert_eq!((failure.word, asked), (FailureWord::InvalidRequest, 1));
    assert!(
        failure.message.contains("the server redirects to https://elsewhere.example/v1"),
        "{failure}"
    );
}

#[tokio::test]
async fn a_secret_that_is_echoed_is_masked() {
    for provider in BOTH {
        let script = Script::choose(|request| {
            let sent = request.header("x-api-key").or(request.header("authorization"));
            let extra = request.header("x-extra-token").unwrap_or_default();
            let message = format!("wrong key {} {extra}", sent.unwrap_or_default());
            Reply::error(401, "authentication_error", &message)
        });
        let pair = Pair::with(provider, script, quick(), |transport| {
            transport.headers.push(("X-Extra-Token".to_owned(), "abc-def-ghi".to_owned()));
        });
        let (failure, _) = pair.failure().await;
        assert!(failure.message.contains("wrong key"), "{failure}");
        // Also where the text is cut in the middle of it.
        for cut in [195, 1990] {
            let text = format!("{}{KEY}", "x".repeat(cut));
            for reply in [Reply::page(400, "text/plain", &*text), Reply::error(400, "e", &text)] {
                let (failure, _) = Pair::new(provider, [reply]).failure().await;
                assert!(!failure.message.contains("xsk-"), "{failure}");
            }
        }
        assert!(!format!("{failure:?} {failure}").contains(KEY));
        assert!(!failure.message.contains("abc-def-ghi"), "{failure}");
    }
}

/// A key that is refused until it has been renewed.
struct Aging(AtomicUsize);

impl Credentials for Aging {
    fn credential(&self) -> Fetching<'_, Credential> {
        let key = format!("key-number-{}", self.0.load(Ordering::Relaxed));
        Box::pin(async { Ok(Credential::Bearer(key.into())) })
    }

    fn refused(&self) -> Fetching<'_, bool> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Ok(true) })
    }

    fn source(&self) -> &str {
        "a helper"
    }
}

#[tokio::test]
async fn a_refused_credential_is_renewed_once() {
    for provider in BOTH {
        for (good, expected) in
            [("Bearer key-number-1", Ok("in")), ("Bearer key-number-2", Err(()))]
        {
            let script = Script::choose(move |request| match request.header("authorization") {
                Some(sent) if sent == good => Reply::say("in"),
                _ => Reply::error(401, "authentication_error", "expired"),
            });
            let server = Server::start(script).unwrap();
            let transport = Transport::to(base_url(provider, &server));
            let aging = Arc::new(Aging(AtomicUsize::new(0)));
            let client = Client::new(provider, &transport, aging, quick()).unwrap();
            let answer =
                client.ask(&request(provider), &mut |_| (), &CancellationToken::new()).await;
            assert_eq!(answer.map(|answer| answer.text()).as_deref().map_err(|_| ()), expected);
            assert_eq!(server.requests().len(), 2);
        }
    }
}

/// A place where there is none.
struct Nowhere;

impl Credentials for Nowhere {
    fn credential(&self) -> Fetching<'_, Credential> {
        let (source_name, reason) = ("apiKeyHelper".to_owned(), "it printed nothing".to_owned());
        Box::pin(async { Err(CredentialError { source_name, reason }) })
    }

    fn source(&self) -> &str {
        "apiKeyHelper"
    }
}

#[tokio::test]
async fn without_a_credential_nothing_is_sent() {
    let server = Server::start([Reply::say("never")]).unwrap();
    let transport = Transport::to(server.base_url());
    let provider = ProviderKind::ClaudeCodeSubscription;
    let cancel = CancellationToken::new();
    let client = Client::new(provider, &transport, Arc::new(Nowhere), quick()).unwrap();
    let error = client.ask(&request(provider), &mut |_| (), &cancel).await.unwrap_err();
    assert_eq!(error.to_string(), "no credential from apiKeyHelper: it printed nothing");
    assert_eq!(error.word(), Some(FailureWord::AuthenticationFailed));

    let broken = Fixed::new("ANTHROPIC_API_KEY", Credential::ApiKey("line\nbreak".into()));
    let client = Client::new(provider, &transport, Arc::new(broken), quick()).unwrap();
    let error = client.ask(&request(provider), &mut |_| (), &cancel).await.unwrap_err();
    let expected = ConfigurationError::Credential("ANTHROPIC_API_KEY".to_owned());
    assert_eq!(error, AskError::Configuration(expected));
    assert!(server.requests().is_empty());
}
