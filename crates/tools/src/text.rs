//! Files as text: windows of lines, line endings.

use std::borrow::Cow;

use encoding_rs::Encoding;
use ona_policy::secrets::Redactor;
use ona_types::Seen;

/// A line longer than this is cut.
pub(crate) const MAX_LINE: usize = 2000;

/// As much of a line as is looked at: the longest line shown in any encoding, and what tells whether a secret begins
/// before its end.
pub(crate) const LINE_BYTES: usize = 4 * (MAX_LINE + 2048);

/// The lines of a window, gathered from a file that arrives in pieces. Whatever the file's size, no
/// more than the window is kept.
pub(crate) struct Window<'r> {
    redactor: &'r Redactor,
    first: u64,
    count: u64,
    encoding: &'static Encoding,
    line: u64,
    pending: Vec<u8>,
    in_line: bool,
    lines: Vec<String>,
    cut_lines: u64,
}

impl<'r> Window<'r> {
    /// `count` lines from line `first`, which counts from 1.
    pub(crate) fn new(
        first: u64,
        count: u64,
        encoding: &'static Encoding,
        redactor: &'r Redactor,
    ) -> Self {
        Self {
            redactor,
            first,
            count,
            encoding,
            line: 1,
            pending: Vec::new(),
            in_line: false,
            lines: Vec::new(),
            cut_lines: 0,
        }
    }

    pub(crate) fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (text, ended, rest) = match bytes.iter().position(|byte| *byte == b'\n') {
                Some(end) => (&bytes[..end], true, &bytes[end + 1..]),
                None => (bytes, false, &bytes[bytes.len()..]),
            };
            self.in_line = true;
            if self.wanted() {
                let room = LINE_BYTES.saturating_sub(self.pending.len());
                self.pending.extend_from_slice(&text[..text.len().min(room)]);
            }
            if ended {
                self.end_line();
            }
            bytes = rest;
        }
    }

    fn wanted(&self) -> bool {
        self.line >= self.first && self.line - self.first < self.count
    }

    fn end_line(&mut self) {
        if self.wanted() {
            let bytes = std::mem::take(&mut self.pending);
            let bytes = bytes.strip_suffix(b"\r").unwrap_or(&bytes);
            let (text, _) = self.encoding.decode_without_bom_handling(bytes);
            let (shown, cut) = cut_line(&text, self.redactor);
            self.cut_lines += u64::from(cut);
            self.lines.push(shown.into_owned());
        }
        self.line += 1;
        self.in_line = false;
    }

    pub(crate) fn finish(mut self) -> Lines {
        if self.in_line {
            self.end_line();
        }
        Lines {
            first: self.first,
            total: self.line - 1,
            lines: self.lines,
            cut_lines: self.cut_lines,
        }
    }
}

/// A window of a file's lines.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lines {
    /// The number of the first line asked for.
    pub(crate) first: u64,
    /// How many lines the file has.
    pub(crate) total: u64,
    /// The lines in the window.
    pub(crate) lines: Vec<String>,
    /// How many of them were cut.
    pub(crate) cut_lines: u64,
}

impl Lines {
    /// How much of the file the window shows. A line that was cut was not seen.
    pub(crate) fn seen(&self) -> Seen {
        if self.total == 0 {
            return Seen::Whole;
        }
        if self.lines.is_empty() || self.cut_lines > 0 {
            return Seen::part();
        }
        Seen::lines(self.first, self.first + self.lines.len() as u64 - 1, self.total)
    }

    /// The lines with their numbers.
    pub(crate) fn numbered(&self) -> String {
        let mut out = String::new();
        for (number, line) in (self.first..).zip(&self.lines) {
            out.push_str(&format!("{number}\t{line}\n"));
        }
        out
    }
}

/// A line as shown, and whether something was cut off.
pub(crate) fn cut_line<'l>(line: &'l str, redactor: &Redactor) -> (Cow<'l, str>, bool) {
    match line.char_indices().nth(MAX_LINE) {
        None => (Cow::Borrowed(line), false),
        Some(_) => {
            let shown = redactor.first_chars(line, MAX_LINE);
            (Cow::Owned(format!("{shown}… [line cut at {MAX_LINE} characters]")), true)
        }
    }
}

/// `1 line`, `2 lines`.
pub(crate) fn count(number: u64, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}

/// How many lines a text has.
pub(crate) fn line_count(text: &str) -> u64 {
    text.lines().count() as u64
}

/// Whether every line of a text ends in CR LF.
pub(crate) fn is_crlf(text: &str) -> bool {
    text.contains("\r\n") && !text.replace("\r\n", "").contains('\n')
}

/// The text with CR LF line ends, whichever it had.
pub(crate) fn to_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

#[cfg(test)]
mod tests {
    use encoding_rs::UTF_8;
    use proptest::prelude::*;

    use super::*;

    fn window(bytes: &[u8], first: u64, count: u64, piece: usize) -> Lines {
        let redactor = Redactor::default();
        let mut window = Window::new(first, count, UTF_8, &redactor);
        for piece in bytes.chunks(piece.max(1)) {
            window.feed(piece);
        }
        window.finish()
    }

    #[test]
    fn windows_of_lines() {
        let lines = window(b"a\nb\r\nc", 2, 5, 100);
        assert_eq!(
            (lines.total, lines.lines.as_slice()),
            (3, &["b".to_owned(), "c".to_owned()][..])
        );
        assert_eq!(lines.seen(), Seen::lines(2, 3, 3));
        assert_eq!(lines.numbered(), "2\tb\n3\tc\n");
        assert_eq!(window(b"a\nb\n", 1, 2000, 1).seen(), Seen::Whole);
        assert_eq!(window(b"", 1, 10, 1).total, 0);
        assert_eq!(window(b"\n", 1, 10, 1).lines, [""]);
        assert_eq!(window(b"a\nb\n", 9, 10, 1).lines, Vec::<String>::new());
    }

    #[test]
    fn long_lines_are_cut_at_characters() {
        let lines = window("ü".repeat(3000).as_bytes(), 1, 10, 7);
        assert_eq!(lines.cut_lines, 1);
        assert_eq!(lines.seen(), Seen::part());
        assert!(lines.lines[0].starts_with(&"ü".repeat(2000)));
        assert!(!lines.lines[0].contains(char::REPLACEMENT_CHARACTER));
    }

    #[test]
    fn line_ends() {
        assert!(is_crlf("a\r\nb\r\n"));
        assert!(!is_crlf("a\r\nb\n"));
        assert!(!is_crlf("a"));
        assert_eq!(to_crlf("a\nb\r\nc"), "a\r\nb\r\nc");
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(text in "[a\n\r]{0,60}", first in 1u64..6, count in 0u64..6, piece in 1usize..9) {
            let whole = window(text.as_bytes(), first, count, usize::MAX);
            prop_assert_eq!(&window(text.as_bytes(), first, count, piece), &whole);
            let expected: Vec<&str> = text
                .split_terminator('\n')
                .map(|line| line.strip_suffix('\r').unwrap_or(line))
                .skip(first as usize - 1)
                .take(count as usize)
                .collect();
            prop_assert_eq!(whole.lines, expected);
        }
    }
}
