//! A question can be taken back at any moment.

use std::time::Duration;

use ona_provider::scripted::Reply;
use ona_provider::{AskError, Live};
use tokio_util::sync::CancellationToken;

use crate::{BOTH, Pair, request};

#[tokio::test]
async fn before_it_is_asked() {
    for provider in BOTH {
        let pair = Pair::new(provider, [Reply::say("never")]);
        let cancel = CancellationToken::new();
        cancel.cancel();
        let error = pair.client.ask(&request(provider), &mut |_| (), &cancel).await.unwrap_err();
        assert_eq!((error.word(), error), (None, AskError::Cancelled));
        assert!(pair.server.requests().is_empty());
    }
}

#[tokio::test]
async fn while_the_answer_comes_in() {
    for provider in BOTH {
        let endless = Reply::say("a ".repeat(100)).slow(Duration::from_millis(20));
        let pair = Pair::new(provider, [endless]);
        let cancel = CancellationToken::new();
        let mut heard = 0;
        let mut on = |live: Live<'_>| {
            heard += usize::from(matches!(live, Live::Started { .. }));
            cancel.cancel();
        };
        let error = pair.client.ask(&request(provider), &mut on, &cancel).await.unwrap_err();
        assert_eq!((error, heard), (AskError::Cancelled, 1));
    }
}

#[tokio::test]
async fn while_the_server_is_silent() {
    for provider in BOTH {
        let pair = Pair::new(provider, [Reply::say("never").slow(Duration::from_secs(600))]);
        let cancel = CancellationToken::new();
        let request = request(provider);
        let mut on = |_: Live<'_>| ();
        let asking = pair.client.ask(&request, &mut on, &cancel);
        let cancelling = async {
            // As soon as the server has the question.
            while pair.server.requests().is_empty() {
                tokio::task::yield_now().await;
            }
            cancel.cancel();
        };
        let (answer, ()) = tokio::join!(asking, cancelling);
        assert_eq!(answer.unwrap_err(), AskError::Cancelled);
    }
}

#[tokio::test]
async fn while_waiting_for_the_next_attempt() {
    for provider in BOTH {
        let later = Reply::error(429, "rate_limit_error", "later").header("retry-after", "59");
        let pair = Pair::new(provider, [later]);
        let cancel = CancellationToken::new();
        let mut on = |live: Live<'_>| {
            if matches!(live, Live::Retry { .. }) {
                cancel.cancel();
            }
        };
        let error = pair.client.ask(&request(provider), &mut on, &cancel).await.unwrap_err();
        assert_eq!(error, AskError::Cancelled);
    }
}

#[tokio::test]
async fn on_the_last_event() {
    for provider in BOTH {
        let pair = Pair::new(provider, [Reply::say("whole")]);
        let cancel = CancellationToken::new();
        let mut on = |live: Live<'_>| {
            if matches!(live, Live::Raw(event) if event["type"] == "message_stop") {
                cancel.cancel();
            }
        };
        let error = pair.client.ask(&request(provider), &mut on, &cancel).await.unwrap_err();
        assert_eq!(error, AskError::Cancelled);
    }
}
