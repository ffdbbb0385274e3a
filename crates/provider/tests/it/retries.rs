//! What is tried again, how often, and what of it is heard.

use std::time::Duration;

use ona_provider::scripted::{Reply, Script};
use ona_provider::{AskError, FailureWord, Live, ProviderKind, Retry};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{BOTH, Pair, quick, request};

#[tokio::test]
async fn statuses_that_may_pass_are_tried_again() {
    for provider in BOTH {
        for status in [408, 409, 429, 500, 502, 503, 504, 529] {
            let refusal = || Reply::error(status, "some_error", "later");
            let pair = Pair::new(provider, [refusal(), refusal(), Reply::say("yes")]);
            let (answer, heard) = pair.ask().await;
            assert_eq!(answer.unwrap().text(), "yes", "{status}");
            let retry = |n: u32| format!("retry {n}/10 Some({status})");
            assert_eq!(heard.shown, [&*retry(1), &*retry(2), "started", "text yes"]);
        }
    }
}

#[tokio::test]
async fn connections_that_break_are_tried_again_and_what_was_heard_is_void() {
    for provider in BOTH {
        let pair = Pair::new(
            provider,
            [
                Reply::hang_up(),
                Reply::say("a lie that is long enough to be cut in the middle").cut_mid_event(),
                Reply::say("another lie").not_json(),
                Reply::say("the truth"),
            ],
        );
        let (answer, heard) = pair.ask().await;
        assert_eq!(answer.unwrap().text(), "the truth");
        let mut shown = heard.shown.clone();
        shown.retain(|line| !line.starts_with("text") || line == "text the truth");
        assert_eq!(
            shown,
            [
                "retry 1/10 None",
                "started",
                "void",
                "retry 2/10 None",
                "started",
                "void",
                "retry 3/10 None",
                "started",
                "text the truth",
            ],
            "{provider}"
        );
    }
}

#[tokio::test]
async fn an_answer_is_never_half_wherever_it_is_cut() {
    for provider in BOTH {
        let reply = || Reply::say("Hello.").call("t1", "Read", json!({"a": [1, 2, 3]}));
        let whole = Pair::new(provider, [reply()]).ask().await.0.unwrap();
        // No cut is beyond what ends the answer: `message_stop`, or the usage after `finish_reason`.
        for bytes in (0..1200).step_by(37) {
            let retry = Retry { max_retries: 1, ..quick() };
            let script = [reply().cut_after(bytes), reply()];
            let pair = Pair::with(provider, script, retry, |_| ());
            let (answer, heard) = pair.ask().await;
            let mut answer = answer.unwrap();
            answer.id.clone_from(&whole.id);
            // After the reason for its end an answer is whole; only what it used may be missing.
            answer.usage = whole.usage;
            assert_eq!(answer, whole, "{provider}, cut after {bytes}");
            let starts = heard.shown.iter().filter(|line| *line == "started").count();
            let voids = heard.shown.iter().filter(|line| *line == "void").count();
            assert_eq!(starts, voids + 1, "{provider}, cut after {bytes}");
        }
    }
}

#[tokio::test]
async fn after_three_cuts_the_answer_is_asked_for_in_one_piece_once() {
    for provider in BOTH {
        let cut = || Reply::say("x").call("t1", "Read", json!({})).without_end();
        let whole = || Reply::new().thinking("hm", "s").text("whole").call("t1", "Read", json!({}));
        let pair = Pair::new(provider, [cut(), cut(), cut(), whole()]);
        let (answer, heard) = pair.ask().await;
        let answer = answer.unwrap();
        assert_eq!((answer.text().as_str(), answer.content.len()), ("whole", 3));
        let tail = &heard.shown[heard.shown.len() - 4..];
        assert_eq!(tail, ["started", "thinking hm", "text whole", "call Read"]);
        let streamed: Vec<_> =
            pair.server.requests().iter().map(|seen| seen.body["stream"] == true).collect();
        assert_eq!(streamed, [true, true, true, false]);
        assert!(pair.server.requests()[3].body.get("stream_options").is_none());

        let pair = Pair::new(provider, [cut(), cut(), cut(), cut(), Reply::say("streamed")]);
        assert_eq!(pair.text().await, ("streamed".to_owned(), 5));
        let last = &pair.server.requests()[4];
        assert_eq!(last.body["stream"], true);
    }
}

#[tokio::test]
async fn errors_within_the_stream_are_tried_again_as_the_status_they_stand_for() {
    for provider in BOTH {
        for (kind, status) in
            [("overloaded_error", 529), ("api_error", 500), ("rate_limit_error", 429)]
        {
            let script = [Reply::say("half").then_error(kind, "no"), Reply::say("whole")];
            let pair = Pair::new(provider, script);
            let (answer, heard) = pair.ask().await;
            assert_eq!(answer.unwrap().text(), "whole");
            let retry = format!("retry 1/10 Some({status})");
            assert_eq!(
                heard.shown,
                ["started", "text half", "void", &retry, "started", "text whole"]
            );
        }
    }
}

#[tokio::test]
async fn a_silent_stream_is_given_up() {
    for provider in BOTH {
        let slow = Reply::say("never").slow(Duration::from_secs(600));
        let pair = Pair::with(provider, [slow, Reply::say("soon")], quick(), |transport| {
            transport.idle_timeout = Duration::from_millis(50);
        });
        // The second reply may be late too on a busy machine; it is then asked for again, and refused.
        let (answer, heard) = pair.ask().await;
        assert!(heard.shown[0].starts_with("retry 1/10 None"), "{:?}", heard.shown);
        assert!(answer.is_ok() || pair.server.requests().len() > 2);
    }
}

#[tokio::test]
async fn retries_come_to_an_end() {
    for provider in BOTH {
        let retry = Retry { max_retries: 2, ..quick() };
        let script = Script::choose(|_| Reply::error(529, "overloaded_error", "Overloaded"));
        let pair = Pair::with(provider, script, retry, |_| ());
        let (failure, asked) = pair.failure().await;
        assert_eq!((failure.word, failure.status), (FailureWord::ServerError, Some(529)));
        assert_eq!(failure.message, "the server answered 529: Overloaded; gave up after 2 retries");
        assert_eq!(asked, 3);

        let script = Script::choose(|_| Reply::hang_up());
        let pair = Pair::with(provider, script, Retry { max_retries: 0, ..quick() }, |_| ());
        let (failure, asked) = pair.failure().await;
        assert_eq!((failure.word, failure.status, asked), (FailureWord::Unknown, None, 1));
        assert!(failure.message.starts_with("the request to http://127.0.0.1:"), "{failure}");
    }
}

#[tokio::test]
async fn nobody_there_is_tried_again() {
    // Bound and closed again: nobody listens there.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let transport = ona_provider::Transport::to(format!("http://{address}"));
    let provider = ProviderKind::ClaudeCodeSubscription;
    let client = crate::client_by(provider, &transport, Retry { max_retries: 3, ..quick() });
    let mut retries = 0;
    let mut on = |live: Live<'_>| retries += u32::from(matches!(live, Live::Retry { .. }));
    let error =
        client.ask(&request(provider), &mut on, &CancellationToken::new()).await.unwrap_err();
    assert_eq!((retries, error.word()), (3, Some(FailureWord::Unknown)));
    assert!(error.to_string().contains("onnection refused"), "{error}");
}

#[tokio::test]
async fn a_server_may_say_how_long_to_wait() {
    let provider = ProviderKind::ClaudeCodeSubscription;
    let limited = |name: &str, value: &str| {
        Reply::error(429, "rate_limit_error", "slow down").header(name, value)
    };
    for (name, value, expected) in [
        ("retry-after", "7", Duration::from_secs(7)),
        ("retry-after-ms", "2500", Duration::from_millis(2500)),
    ] {
        let pair = Pair::new(provider, [limited(name, value)]);
        let cancel = CancellationToken::new();
        let mut waits = Vec::new();
        let mut on = |live: Live<'_>| {
            if let Live::Retry { delay, .. } = live {
                waits.push(delay);
                cancel.cancel();
            }
        };
        let error = pair.client.ask(&request(provider), &mut on, &cancel).await.unwrap_err();
        assert_eq!((error, waits), (AskError::Cancelled, vec![expected]));
    }
    let past = "Sun, 06 Nov 1994 08:49:37 GMT";
    let script = [limited("retry-after-ms", "1"), limited("retry-after", past), Reply::say("now")];
    assert_eq!(Pair::new(provider, script).text().await, ("now".to_owned(), 3));

    let far = Pair::new(provider, [limited("retry-after", "61"), Reply::say("never")]);
    let (failure, asked) = far.failure().await;
    assert_eq!((failure.word, asked), (FailureWord::RateLimit, 1));
    assert!(failure.message.ends_with("; the server asks to wait 61 s"), "{failure}");
}

#[tokio::test]
async fn a_server_may_say_whether_to_try_again() {
    for provider in BOTH {
        let no = Reply::error(500, "api_error", "no").header("x-should-retry", "false");
        assert_eq!(Pair::new(provider, [no]).failure().await.1, 1);
        let yes = Reply::error(418, "odd", "yes").header("x-should-retry", "true");
        let pair = Pair::new(provider, [yes, Reply::say("fine")]);
        assert_eq!(pair.text().await, ("fine".to_owned(), 2));
    }
}
