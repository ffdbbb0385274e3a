//! Server-sent events, read from bytes as they arrive.
//!
//! The rules are those of the HTML standard's `text/event-stream`. Where the standard changes the state of a
//! connection (`id`, `retry`), the event says so and the reader decides. However the bytes are cut into chunks,
//! the events are the same.
//!
//! ```
//! use ona_http::sse::Parser;
//! let mut events = Vec::new();
//! let mut parser = Parser::default();
//! parser.push(b"event: ping\r\nda", &mut events)?;
//! parser.push(b"ta: {}\r\n\r\n", &mut events)?;
//! assert_eq!((events[0].name.as_str(), events[0].data.as_deref()), ("ping", Some("{}")));
//! # Ok::<(), ona_http::sse::TooLarge>(())
//! ```

/// The default limit for the size of one event, in bytes.
pub const EVENT_CAP: usize = 16 << 20;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// One event: the lines up to an empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its `event` field; empty if it has none.
    pub name: String,
    /// Its `data` lines, joined by line feeds. An event without data matters only for its
    /// `id` or `retry`.
    pub data: Option<String>,
    /// Its `id` field: a reader that reconnects sends it as the last id it has seen.
    pub id: Option<String>,
    /// Its `retry` field: how many milliseconds a reader waits before it reconnects.
    pub retry: Option<u64>,
}

impl Event {
    /// The bytes it holds.
    fn size(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        self.name.len() + text(&self.data) + text(&self.id)
    }
}

/// An event that is larger than the cap. The stream cannot be read further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {0} bytes")]
pub struct TooLarge(pub usize);

/// Reads events from bytes.
#[derive(Debug)]
pub struct Parser {
    cap: usize,
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// Whether the line before ended in a carriage return, so that a line feed belongs to it.
    after_return: bool,
    first_line: bool,
    event: Event,
    failed: bool,
}

impl Default for Parser {
    fn default() -> Self {
        Self::with_cap(EVENT_CAP)
    }
}

impl Parser {
    /// A parser that refuses events of more than `cap` bytes.
    pub fn with_cap(cap: usize) -> Self {
        Self {
            cap,
            line: Vec::new(),
            after_return: false,
            first_line: true,
            event: Event::default(),
            failed: false,
        }
    }

    /// Takes the next bytes and appends the events they complete, also those before an error.
    pub fn push(&mut self, mut bytes: &[u8], events: &mut Vec<Event>) -> Result<(), TooLarge> {
        if self.failed {
            return Err(TooLarge(self.cap));
        }
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            self.line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            if self.event.size() + self.line.len() > self.cap {
                self.failed = true;
                return Err(TooLarge(self.cap));
            }
            let Some(end) = end else { break };
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            events.extend(self.end_line(&line));
            self.line = line;
            self.line.clear();
        }
        Ok(())
    }

    /// A line is whole; an empty one ends the event.
    fn end_line(&mut self, mut line: &[u8]) -> Option<Event> {
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix(BOM).unwrap_or(line);
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            // A name without data is not an event.
            let says = event.data.is_some() || event.id.is_some() || event.retry.is_some();
            return says.then_some(event);
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = match colon {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = String::from_utf8_lossy(value);
        match field {
            b"data" => match &mut self.event.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(&text);
                }
                None => self.event.data = Some(text.into_owned()),
            },
            b"event" => self.event.name = text.into_owned(),
            b"id" if !value.contains(&0) => self.event.id = Some(text.into_owned()),
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                self.event.retry = text.parse().ok().or(self.event.retry);
            }
            // A comment, or a field that the standard does not know.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Read = (Vec<Event>, Result<(), TooLarge>);

    fn read<'a>(cap: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Read {
        let mut parser = Parser::with_cap(cap);
        let mut events = Vec::new();
        let mut result = Ok(());
        for chunk in chunks {
            result = parser.push(chunk, &mut events);
        }
        (events, result)
    }

    fn pairs(bytes: &[u8]) -> Vec<(String, String)> {
        let (events, result) = read(EVENT_CAP, [bytes]);
        assert_eq!(result, Ok(()));
        events.into_iter().filter_map(|event| Some((event.name, event.data?))).collect()
    }

    #[test]
    fn events_are_read_as_the_standard_says() {
        let pair = |name: &str, data: &str| (name.to_owned(), data.to_owned());
        for (bytes, expected) in [
            (&b"data: a\n\n"[..], vec![pair("", "a")]),
            (b"\xEF\xBB\xBFdata: a\r\r", vec![pair("", "a")]),
            (b"data: a\r\n\r\ndata: b\n\n", vec![pair("", "a"), pair("", "b")]),
            (
                b": note\nevent: x\nid: 1\nretry: 5\ndata:a\ndata\ndata:  b\n\n",
                vec![pair("x", "a\n\n b")],
            ),
            (b"event: lost\n\ndata: kept\n\n", vec![pair("", "kept")]),
            (b"data\n\n", vec![pair("", "")]),
            (b"data: never ended\n", vec![]),
            (b"\n\n\r\n", vec![]),
            (b"data: \xFF\n\n", vec![pair("", "\u{FFFD}")]),
            (b"data: \xEF\xBB\xBF\n\n", vec![pair("", "\u{FEFF}")]),
        ] {
            assert_eq!(pairs(bytes), expected, "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn an_event_says_where_and_when_to_reconnect() {
        let event = |data: Option<&str>, id: Option<&str>, retry| Event {
            name: String::new(),
            data: data.map(str::to_owned),
            id: id.map(str::to_owned),
            retry,
        };
        for (bytes, expected) in [
            (
                &b"id: 7\ndata: a\n\ndata: b\n\n"[..],
                vec![event(Some("a"), Some("7"), None), event(Some("b"), None, None)],
            ),
            (b"retry: 500\n\n", vec![event(None, None, Some(500))]),
            (b"id\n\n", vec![event(None, Some(""), None)]),
            (b"event: x\nid: a\0b\nretry: +5\nretry: 1.5\nretry\n\n", vec![]),
            (b"retry: 5\nretry: 99999999999999999999\n\n", vec![event(None, None, Some(5))]),
        ] {
            let (events, result) = read(EVENT_CAP, [bytes]);
            assert_eq!(
                (events, result),
                (expected, Ok(())),
                "{:?}",
                String::from_utf8_lossy(bytes)
            );
        }
    }

    #[test]
    fn an_event_at_the_cap_is_read_and_one_above_is_not() {
        assert_eq!(read(7, [&b"data: a\n\n"[..]]).0.len(), 1);
        let (events, result) = read(7, [&b"data: a\n\ndata: bc\n\n"[..], b"data: d\n\n"]);
        assert_eq!((events.len(), result), (1, Err(TooLarge(7))));
        let many_lines = b"data: abc\n".repeat(5);
        assert_eq!(read(20, [&many_lines[..]]).1, Err(TooLarge(20)));
    }

    /// Bytes in which what matters to the parser is frequent.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just(b"data: ".to_vec()),
            Just(b"event:".to_vec()),
            Just(b"id: ".to_vec()),
            Just(b"retry: 1".to_vec()),
            Just(b"\n".to_vec()),
            Just(b"\r".to_vec()),
            Just(b"\r\n\r\n".to_vec()),
            Just(BOM.to_vec()),
            Just("äö€😀".as_bytes().to_vec()),
            proptest::collection::vec(any::<u8>(), 0..6),
        ];
        proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_events(
            bytes in stream(),
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
            cap in prop_oneof![Just(EVENT_CAP), 1..40_usize],
        ) {
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let chunks = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            let whole = read(cap, [&bytes[..]]);
            prop_assert_eq!(&whole, &read(cap, chunks));
            prop_assert_eq!(&whole, &read(cap, bytes.chunks(1)));
        }
    }
}
