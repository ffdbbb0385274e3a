//! Splits a byte stream into messages, with a size limit.
//!
//! A server may send anything, without end. Here its bytes are split into messages; one that gets too
//! large is not kept. If it was the answer to a request, an error replaces it, so that the caller learns why.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use futures_util::Stream;
use hyper::body::Bytes;
use tracing::debug;

/// The limit for a message from a server, in bytes.
pub(crate) const MAX_RESPONSE: usize = 16 << 20;
/// The code of the error that takes the place of a message that was too large. Servers' own codes are above.
pub(crate) const TOO_LARGE: i32 = -32_998;
/// How much of the first non-message output is kept, in bytes.
const MAX_NOISE_LEN: usize = 200;
/// The limit for an id or a key, in bytes.
const MAX_WORD: usize = 64;

/// How messages end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// Each is a line. What cannot be a message is left out.
    Line,
    /// Each is an event of a `text/event-stream`, with an empty line behind it.
    Event,
}

/// The first output of a server that is not a message, for diagnosis.
#[derive(Clone, Debug, Default)]
pub(crate) struct Noise(Arc<Mutex<Option<String>>>);

impl Noise {
    pub(crate) fn hear(&self, line: &[u8]) {
        let said = line.trim_ascii();
        let mut noise = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if noise.is_none() && !said.is_empty() {
            let said = &said[..said.len().min(MAX_NOISE_LEN)];
            debug!(target: "ona::mcp", said = %String::from_utf8_lossy(said), "no message");
            *noise = Some(String::from_utf8_lossy(said).into_owned());
        }
    }

    pub(crate) fn heard(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Whole messages, as bytes, out of bytes that come in any pieces.
pub(crate) struct Bounded<S> {
    bytes: S,
    cutter: Cutter,
}

impl<S> Bounded<S> {
    pub(crate) fn new(bytes: S, frame: Frame, most: usize, noise: Noise) -> Self {
        Self { bytes, cutter: Cutter::new(frame, most, noise) }
    }
}

impl<S, E> Stream for Bounded<S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(message) = self.cutter.whole.pop_front() {
                return Poll::Ready(Some(Ok(message)));
            }
            match ready!(Pin::new(&mut self.bytes).poll_next(cx)) {
                Some(Ok(bytes)) => self.cutter.take(&bytes),
                Some(Err(error)) => return Poll::Ready(Some(Err(io::Error::other(error)))),
                None => return Poll::Ready(None),
            }
        }
    }
}

/// Cuts bytes into messages.
struct Cutter {
    frame: Frame,
    most: usize,
    noise: Noise,
    whole: VecDeque<Bytes>,
    /// The message that is under way.
    kept: Vec<u8>,
    /// Set while one goes by that is too large.
    lost: Option<Scan>,
    /// Bytes of the line that is under way.
    line: usize,
    /// The last byte was a carriage return.
    returned: bool,
}

impl Cutter {
    fn new(frame: Frame, most: usize, noise: Noise) -> Self {
        let (whole, kept) = (VecDeque::new(), Vec::new());
        Self { frame, most, noise, whole, kept, lost: None, line: 0, returned: false }
    }

    fn take(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            // The second half of an end that was made whole already.
            let between = self.kept.is_empty() && self.lost.is_none();
            if between && self.returned && *first == b'\n' {
                self.returned = false;
                rest = &rest[1..];
                continue;
            }
            let (length, ended) = self.until_end(rest);
            let (part, further) = rest.split_at(length);
            self.keep(part);
            if ended {
                self.end();
            }
            rest = further;
        }
    }

    /// How many of these bytes belong to the message, and whether it ends with them.
    fn until_end(&mut self, bytes: &[u8]) -> (usize, bool) {
        if self.frame == Frame::Line {
            let end = bytes.iter().position(|byte| *byte == b'\n');
            return end.map_or((bytes.len(), false), |at| (at + 1, true));
        }
        for (at, byte) in bytes.iter().enumerate() {
            let after_return = std::mem::replace(&mut self.returned, *byte == b'\r');
            match byte {
                // The second half of an end that was seen already.
                b'\n' if after_return => {}
                b'\n' | b'\r' if self.line == 0 => return (at + 1, true),
                b'\n' | b'\r' => self.line = 0,
                _ => self.line += 1,
            }
        }
        (bytes.len(), false)
    }

    fn keep(&mut self, bytes: &[u8]) {
        if let Some(scan) = &mut self.lost {
            scan.take(bytes);
        } else if self.kept.len() + bytes.len() > self.most {
            let mut scan = Scan::default();
            scan.take(&std::mem::take(&mut self.kept));
            scan.take(bytes);
            self.lost = Some(scan);
        } else {
            self.kept.extend_from_slice(bytes);
        }
    }

    fn end(&mut self) {
        let mut message = std::mem::take(&mut self.kept);
        if self.frame == Frame::Event && message.ends_with(b"\r") {
            // The parser would wait for what may follow a carriage return.
            message.push(b'\n');
        }
        match self.lost.take() {
            Some(scan) => self.whole.extend(scan.answered().map(|id| self.in_place_of(&id))),
            None if self.frame == Frame::Line && !could_be_message(&message) => {
                self.noise.hear(&message)
            }
            None => self.whole.push_back(message.into()),
        }
    }

    /// The error that takes the place of an answer.
    fn in_place_of(&self, id: &str) -> Bytes {
        let most = self.most >> 20;
        let error = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{TOO_LARGE},"message":"the answer is larger than {most} MiB"}}}}"#
        );
        match self.frame {
            Frame::Line => format!("{error}\n"),
            Frame::Event => format!("data: {error}\n\n"),
        }
        .into()
    }
}

fn could_be_message(line: &[u8]) -> bool {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    matches!(line.trim_ascii().first(), Some(b'{' | b'['))
}

/// Finds the `id` of a message while it passes, without keeping the message.
#[derive(Default)]
pub(crate) struct Scan {
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// The text or number under way at the top, as far as it is of interest.
    word: String,
    /// The last text at the top was a key, and this one.
    key: String,
    after_colon: bool,
    id: Option<String>,
    /// It asks, or tells something.
    pub(crate) is_request: bool,
    /// It has what only messages have.
    pub(crate) speaks: bool,
}

impl Scan {
    /// What a whole message shows.
    pub(crate) fn of(message: &[u8]) -> Self {
        let mut scan = Self::default();
        scan.take(message);
        scan
    }

    fn take(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((byte, further)) = rest.split_first() {
            // Most of what is large is text, and that is of no interest until it ends.
            if self.in_text && !self.escaped && self.depth != 1 {
                let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
                let Some(end) = end else { return };
                rest = &rest[end..];
                self.byte(rest[0]);
                rest = &rest[1..];
                continue;
            }
            self.byte(*byte);
            rest = further;
        }
    }

    fn byte(&mut self, byte: u8) {
        if self.in_text {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
            return self.note(byte);
        }
        match byte {
            b'"' => {
                self.in_text = true;
                self.note(byte);
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.value_ends();
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => {
                self.key = std::mem::take(&mut self.word);
                self.is_request |= self.key == "\"method\"";
                self.speaks |= ["\"jsonrpc\"", "\"result\""].contains(&self.key.as_str());
                self.after_colon = true;
            }
            b',' => self.value_ends(),
            b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E' if self.after_colon => self.note(byte),
            _ => {}
        }
    }

    fn note(&mut self, byte: u8) {
        // One more than fits marks a word that is too long to be anything.
        if self.depth == 1 && self.word.len() <= MAX_WORD {
            self.word.push(char::from(byte));
        }
    }

    fn value_ends(&mut self) {
        if self.depth != 1 {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let plain = |c: char| c.is_ascii_graphic() && c != '\\';
        if self.key == "\"id\"" && !word.is_empty() && word.len() <= MAX_WORD {
            // Anything odd could break out of the text that it is put into.
            self.id = word.chars().all(plain).then_some(word);
        }
        self.key.clear();
        self.after_colon = false;
    }

    /// The id of the request that the message answers, as JSON.
    pub(crate) fn answered(self) -> Option<String> {
        self.id.filter(|_| !self.is_request)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(frame: Frame, most: usize, pieces: &[&[u8]]) -> (Vec<String>, Option<String>) {
        let noise = Noise::default();
        let mut cutter = Cutter::new(frame, most, noise.clone());
        for piece in pieces {
            cutter.take(piece);
            assert!(cutter.kept.len() <= most, "no more is kept than may be");
        }
        let whole = cutter.whole.iter().map(|m| String::from_utf8(m.to_vec()).unwrap()).collect();
        (whole, noise.heard())
    }

    fn lines(most: usize, text: &str) -> Vec<String> {
        cut(Frame::Line, most, &[text.as_bytes()]).0
    }

    #[test]
    fn lines_come_whole_and_noise_does_not_come() {
        let (whole, noise) =
            cut(Frame::Line, 100, &[b"Welcome!\n\n{\"a\"", b":1}\n", b" [2]\r\n{\"cut\""]);
        assert_eq!(whole, ["{\"a\":1}\n", " [2]\r\n"]);
        assert_eq!(noise.as_deref(), Some("Welcome!"));
    }

    #[test]
    fn an_answer_that_is_too_large_becomes_an_error() {
        let long = "x".repeat(100);
        for (message, id) in [
            (format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"id":8,"t":"{long}"}}}}"#), "7"),
            (format!(r#"{{"result":["{long}",{{"id":1}}],"id" : "a-1"}}"#), "\"a-1\""),
            (format!(r#"{{"result":"\"id\":9,{long}\\","id":-3}}"#), "-3"),
        ] {
            let whole = lines(64, &format!("{message}\n{{\"next\":1}}\n"));
            assert_eq!(whole.len(), 2, "{message}");
            let error: serde_json::Value = serde_json::from_str(&whole[0]).unwrap();
            assert_eq!(error["id"].to_string(), id);
            assert_eq!(error["error"]["code"], TOO_LARGE);
        }
    }

    #[test]
    fn what_is_too_large_and_answers_nothing_is_gone() {
        let long = "x".repeat(100);
        for message in [
            format!(r#"{{"id":7,"method":"roots/list","x":"{long}"}}"#),
            format!(r#"{{"method":"notifications/message","params":"{long}"}}"#),
            format!(r#"{{"id":{{"id":1}},"result":"{long}"}}"#),
            format!(r#"{{"id":"{long}"}}"#),
            format!("{{{long}"),
        ] {
            assert_eq!(lines(64, &format!("{message}\n{{}}\n")), ["{}\n"], "{message}");
        }
    }

    #[test]
    fn events_end_with_an_empty_line_however_lines_end() {
        for end in ["\n", "\r\n", "\r"] {
            let text = format!("event: a{end}data: 1{end}{end}data: 2{end}{end}data: 3{end}");
            let whole = cut(Frame::Event, 100, &[text.as_bytes()]).0;
            assert_eq!(whole.len(), 2, "{end:?}");
            let plain = |text: &str| text.replace("\r\n", "\n").replace('\r', "\n");
            assert!(plain(&text).starts_with(&plain(&whole.concat())));
            assert!(whole.iter().all(|event| event.ends_with('\n')), "{whole:?}");
        }
        let long = "x".repeat(100);
        let text = format!("data: {{\"id\":1,\ndata: \"result\":\"{long}\"}}\n\ndata: {{}}\n\n");
        let whole = cut(Frame::Event, 64, &[text.as_bytes()]).0;
        assert!(whole[0].starts_with("data: {\"jsonrpc\"") && whole[0].ends_with("\n\n"));
        assert_eq!(whole[1], "data: {}\n\n");
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_bytes_come_in(
            text in "[\\[{\"\\\\:,a-c0-9 \n\r}\\]]{0,80}",
            at in 0usize..80,
            most in 1usize..40,
        ) {
            for frame in [Frame::Line, Frame::Event] {
                let at = at.min(text.len());
                let pieces = [&text.as_bytes()[..at], &text.as_bytes()[at..]];
                prop_assert_eq!(cut(frame, most, &[text.as_bytes()]), cut(frame, most, &pieces));
            }
        }
    }
}
