//! A text as it is looked at: with percent-encoding undone or without line breaks, and where each byte of it stood.

use std::borrow::Cow;
use std::ops::Range;

/// A text, and where its bytes stood in the one it was made of.
pub(super) struct View<'t> {
    bytes: Cow<'t, [u8]>,
    /// Pairs of a place here and its place there; from one pair to the next both go on in step.
    steps: Vec<(usize, usize)>,
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
                    steps.push((bytes.len(), at));
                    continue;
                }
                (b'+', ..) if plus => bytes.push(b' '),
                (byte, ..) => bytes.push(*byte),
            }
            at += 1;
        }
        Self { bytes: Cow::Owned(bytes), steps }
    }

    /// The same without line breaks.
    pub(super) fn unbroken(&self) -> Self {
        let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
        if !self.bytes.iter().any(is_break) {
            return Self { bytes: self.bytes.clone(), steps: self.steps.clone() };
        }
        let (mut bytes, mut steps) = (Vec::with_capacity(self.bytes.len()), Vec::new());
        let mut own = self.steps.iter().copied().peekable();
        let mut start = 0;
        for line in self.bytes.split(is_break) {
            steps.push((bytes.len(), self.place(start)));
            let end = start + line.len();
            while let Some((here, there)) = own.next_if(|(here, _)| *here <= end) {
                steps.extend((here > start).then(|| (bytes.len() + here - start, there)));
            }
            bytes.extend_from_slice(line);
            start = end + 1;
        }
        Self { bytes: Cow::Owned(bytes), steps }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where a byte of the view, or its end, stood.
    pub(super) fn place(&self, at: usize) -> usize {
        let before = self.steps.partition_point(|(here, _)| *here <= at);
        match before.checked_sub(1).map(|step| self.steps[step]) {
            Some((here, there)) => there + at - here,
            None => at,
        }
    }

    /// Where a part of the view stood.
    pub(super) fn range(&self, range: Range<usize>) -> Range<usize> {
        self.place(range.start)..self.place(range.end)
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
        assert_eq!(stood(&line, "cde", text).trim_end(), "c%64e");
        assert_eq!(View::of(b"ab").unbroken().range(0..2), 0..2);
    }
}
