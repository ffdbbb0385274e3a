//! The events of a server's stream, each no larger than it may be.

use std::io;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream, Stream};
use hyper::body::Bytes;
use ona_http::sse::{Event, Parser};

use super::bound::{Bounded, Frame, MAX_RESPONSE, Noise};

/// Reads events from bytes. One that is too large is an error for the request it answers, or left out.
pub(crate) fn events<S, E>(bytes: S) -> BoxStream<'static, io::Result<Event>>
where
    S: Stream<Item = Result<Bytes, E>> + Send + 'static,
    E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    let whole = Bounded::new(bytes.boxed(), Frame::Event, MAX_RESPONSE, Noise::default());
    // What arrives here is bounded, so this cap is never reached.
    let mut parser = Parser::with_cap(usize::MAX);
    let read = move |bytes: io::Result<Bytes>| {
        let mut events = Vec::new();
        let pushed =
            bytes.and_then(|bytes| parser.push(&bytes, &mut events).map_err(io::Error::other));
        stream::iter(events.into_iter().map(Ok).chain(pushed.err().map(Err)))
    };
    whole.map(read).flatten().boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn events_come_one_by_one_however_their_bytes_come() {
        let text =
            b"\xEF\xBB\xBFid: 1\rdata: a\r\rnonsense\nevent: x\nevent: y\ndata: b\n\nretry: 5\n\n";
        for size in 1..text.len() {
            let pieces =
                text.chunks(size).map(|piece| Ok::<_, io::Error>(Bytes::copy_from_slice(piece)));
            let pieces: Vec<_> = pieces.collect();
            let read: Vec<_> = events(stream::iter(pieces)).map(Result::unwrap).collect().await;
            let data: Vec<_> = read.iter().map(|event| event.data.as_deref()).collect();
            assert_eq!(data, [Some("a"), Some("b"), None], "{size}");
            assert_eq!((read[0].id.as_deref(), &*read[1].name), (Some("1"), "y"));
            assert_eq!(read[2].retry, Some(5));
        }
    }

    #[tokio::test]
    async fn an_event_that_is_too_large_becomes_an_error_and_the_next_is_read() {
        let long = "x".repeat(MAX_RESPONSE);
        let text = format!("data: {{\"id\":7,\"result\":\"{long}\"}}\n\ndata: {{}}\n\n");
        let pieces = vec![Ok::<_, io::Error>(Bytes::from(text)), Err(io::Error::other("gone"))];
        let mut read = events(stream::iter(pieces));
        let first = read.next().await.unwrap().unwrap().data.unwrap();
        assert!(first.contains("\"id\":7") && first.contains("larger than 16 MiB"), "{first}");
        assert_eq!(read.next().await.unwrap().unwrap().data.as_deref(), Some("{}"));
        assert!(read.next().await.unwrap().is_err());
    }
}
