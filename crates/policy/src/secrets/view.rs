//! A text as it is looked at: with percent-encoding undone or without line breaks, and where each byte of it stood.

use std::borrow::Cow;
use std::ops::Range;

/// A text, and where its bytes stood in the one it was made of.
pub(super) struct View<'t> {
    bytes: Cow<'t, [u8]>,
    /// Where both do not go on in step.
    steps: Vec<Step>,
}

/// A place in a view where the text that it was made of has more than the view.
#[derive(Clone, Copy)]
struct Step {
    /// The place.
    here: usize,
    /// What stands before it ended there.
    end: usize,
    /// What stands behind it began there.
    start: usize,
}

impl<'t> View<'t> {
    /// The text itself.
    pub(super) fn of(text: &'t [u8]) -> Self {
        Self { bytes: Cow::Borrowed(text), steps: Vec::new() }
    }

    /// Without percent-encoding; `+` may stand for a blank.
    pub(super) fn decoded(text: &[u8], plus: bool) -> Self {
        let digit = |at: usize| text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        let (mut bytes, mut steps) = (Vec::with_capacity(text.len()), Vec::new());
        let mut at = 0;
        while let Some(byte) = text.get(at) {
            match (byte, digit(at + 1), digit(at + 2)) {
                (b'%', Some(high), Some(low)) => {
                    bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
                    at += 3;
                    steps.push(Step { here: bytes.len(), end: at, start: at });
                    continue;
                }
                (b'+', ..) if plus => bytes.push(b' '),
                (byte, ..) => bytes.push(*byte),
            }
            at += 1;
        }
        Self { bytes: Cow::Owned(bytes), steps }
    }

    /// The same without line breaks, also those that JSON writes as `\n`.
    pub(super) fn unbroken(&self) -> Self {
        self.joined(&self.lines())
    }

    /// The same with nothing but the word at the end of each line, without the sign of a difference: lines are shown with
    /// numbers, names or blanks before them.
    pub(super) fn last_words(&self) -> Self {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(byte);
        let words = self.lines().into_iter().map(|Range { start, end }| {
            let line = &self.bytes[start..end];
            let word = line.iter().rev().take_while(|byte| is_word(byte)).count();
            let sign = usize::from(word == line.len() && matches!(line.first(), Some(b'+' | b'-')));
            end - word + sign..end
        });
        self.joined(&words.collect::<Vec<_>>())
    }

    /// Where the lines stand.
    fn lines(&self) -> Vec<Range<usize>> {
        let mut lines = Vec::new();
        let (mut start, mut at) = (0, 0);
        while let Some(byte) = self.bytes.get(at) {
            let length = match (byte, self.bytes.get(at + 1)) {
                (b'\n' | b'\r', _) => 1,
                (b'\\', Some(b'n' | b'r')) => 2,
                _ => 0,
            };
            if length > 0 {
                lines.push(start..at);
                start = at + length;
            }
            at += length.max(1);
        }
        lines.push(start..self.bytes.len());
        lines
    }

    /// These parts of it, one behind the other.
    fn joined(&self, parts: &[Range<usize>]) -> Self {
        if let [all] = parts
            && *all == (0..self.bytes.len())
        {
            return Self { bytes: self.bytes.clone(), steps: self.steps.clone() };
        }
        let (mut bytes, mut steps) = (Vec::with_capacity(self.bytes.len()), Vec::new());
        let mut own = self.steps.iter().copied().peekable();
        let mut before = 0;
        for &Range { start, end } in parts {
            steps.push(Step { here: bytes.len(), end: before, start: self.place(start) });
            while let Some(step) = own.next_if(|step| step.here <= end) {
                let here = bytes.len() + step.here.saturating_sub(start);
                steps.extend((step.here > start).then_some(Step { here, ..step }));
            }
            bytes.extend_from_slice(&self.bytes[start..end]);
            before = self.end(end);
        }
        Self { bytes: Cow::Owned(bytes), steps }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where a byte of the view stood.
    pub(super) fn place(&self, at: usize) -> usize {
        let before = self.steps.partition_point(|step| step.here <= at);
        match before.checked_sub(1).map(|step| self.steps[step]) {
            Some(step) => step.start + at - step.here,
            None => at,
        }
    }

    /// Where what stands before a byte of the view ended.
    fn end(&self, at: usize) -> usize {
        let before = self.steps.partition_point(|step| step.here < at);
        match self.steps.get(before).filter(|step| step.here == at) {
            Some(step) => step.end,
            None => self.place(at),
        }
    }

    /// Where a part of the view stood.
    pub(super) fn range(&self, range: Range<usize>) -> Range<usize> {
        self.place(range.start)..self.end(range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stood(view: &View<'_>, part: &str, text: &str) -> String {
        let seen = String::from_utf8_lossy(view.bytes()).into_owned();
        let at = seen.find(part).unwrap_or_else(|| panic!("{part} is not in {seen}"));
        text[view.range(at..at + part.len())].to_owned()
    }

    #[test]
    fn every_part_is_found_where_it_stood() {
        let text = "x%2Fy+%7Az%zz 1%\r\nab\nc%64e\n";
        let (plain, plus) =
            (View::decoded(text.as_bytes(), false), View::decoded(text.as_bytes(), true));
        assert_eq!(plain.bytes(), b"x/y+zz%zz 1%\r\nab\ncde\n");
        assert_eq!(plus.bytes(), b"x/y zz%zz 1%\r\nab\ncde\n");
        for (part, there) in
            [("x/y", "x%2Fy"), ("/y+z", "%2Fy+%7A"), ("z%zz 1", "z%zz 1"), ("cde", "c%64e")]
        {
            assert_eq!(stood(&plain, part, text), there);
        }
        let line = plain.unbroken();
        assert_eq!(line.bytes(), b"x/y+zz%zz 1%abcde");
        for (part, there) in
            [("/y", "%2Fy"), ("%abcd", "%\r\nab\nc%64"), ("x", "x"), ("bc", "b\nc")]
        {
            assert_eq!(stood(&line, part, text), there);
        }
        assert_eq!(stood(&line, "cde", text), "c%64e");
        let text = "  1\tabc\nx.rs:2:def\n+ghi\n+jkl";
        let words = View::of(text.as_bytes()).last_words();
        assert_eq!(words.bytes(), b"abcdefghijkl");
        assert_eq!(stood(&words, "cdefg", text), "c\nx.rs:2:def\n+g");
        let json = View::of(br#"{"a": "abc\ndef\\"}"#).unbroken();
        assert_eq!(json.bytes(), br#"{"a": "abcdef\\"}"#);
        assert_eq!(View::of(b"ab").unbroken().range(0..2), 0..2);
    }
}
