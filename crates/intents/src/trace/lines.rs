//! The lines of a file, from the front and from the back.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::os::unix::fs::FileExt;

/// Longer than any record: a file that is one endless line must not fill the memory.
pub(crate) const LONGEST_LINE: usize = 32 << 20;

/// How much is read at once from the back.
const CHUNK: usize = 64 << 10;

/// A line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RawLine {
    /// Counted from 1.
    pub(crate) number: u64,
    /// Without `\n` and without a `\r` before it. Empty if it was too long.
    pub(crate) bytes: Vec<u8>,
    /// Whether it has an end.
    pub(crate) ended: bool,
    /// Whether it was longer than any record.
    pub(crate) too_long: bool,
}

/// Lines from the front.
pub(crate) struct Forward<R> {
    from: R,
    number: u64,
}

impl<R: BufRead> Forward<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from, number: 0 }
    }

    /// The next line, or nothing at the end.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<RawLine>> {
        let mut bytes = Vec::new();
        let limit = LONGEST_LINE as u64 + 1;
        if self.from.by_ref().take(limit).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        let mut ended = bytes.last() == Some(&b'\n');
        let too_long = !ended && bytes.len() > LONGEST_LINE;
        if too_long {
            bytes = Vec::new();
            ended = self.skip_to_end()?;
        }
        trim_end(&mut bytes, ended);
        Ok(Some(RawLine { number: self.number, bytes, ended, too_long }))
    }

    fn skip_to_end(&mut self) -> io::Result<bool> {
        loop {
            let buffer = self.from.fill_buf()?;
            if buffer.is_empty() {
                return Ok(false);
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(buffer.len(), |at| at + 1);
            self.from.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }
}

fn trim_end(bytes: &mut Vec<u8>, ended: bool) {
    if ended && bytes.last() == Some(&b'\n') {
        bytes.pop();
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
    }
}

/// Lines from the back, the last one first. Reads only as far as it is asked.
pub(crate) struct Backward<'f> {
    file: &'f File,
    /// Bytes before here are not read yet.
    unread: u64,
    /// What was read and not given out: the bytes from `unread` on.
    held: Vec<u8>,
    started: bool,
}

impl<'f> Backward<'f> {
    pub(crate) fn new(file: &'f File) -> io::Result<Self> {
        let unread = file.metadata()?.len();
        Ok(Self { file, unread, held: Vec::new(), started: false })
    }

    /// The line before, without its end, and whether it had one.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<(Vec<u8>, bool)>> {
        let mut ended = true;
        if !self.started {
            self.started = true;
            self.read_more()?;
            ended = self.held.last() == Some(&b'\n');
            if ended {
                self.held.pop();
            } else if self.held.is_empty() {
                return Ok(None);
            }
        }
        let mut searched = self.held.len();
        loop {
            if let Some(at) = self.held[..searched].iter().rposition(|byte| *byte == b'\n') {
                let mut line = self.held.split_off(at + 1);
                self.held.pop();
                if ended && line.last() == Some(&b'\r') {
                    line.pop();
                }
                return Ok(Some((line, ended)));
            }
            if self.unread == 0 {
                // A blank first line is of no interest.
                if self.held.is_empty() {
                    return Ok(None);
                }
                let mut line = std::mem::take(&mut self.held);
                if ended && line.last() == Some(&b'\r') {
                    line.pop();
                }
                return Ok(Some((line, ended)));
            }
            if self.held.len() > LONGEST_LINE {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("a line is longer than {LONGEST_LINE} bytes"),
                ));
            }
            searched = self.read_more()?;
        }
    }

    fn read_more(&mut self) -> io::Result<usize> {
        // Twice what is held: a long line then costs in proportion to its length.
        let want = (self.held.len().max(CHUNK) as u64).min(self.unread);
        let size = usize::try_from(want).unwrap_or(CHUNK);
        let mut chunk = vec![0; size];
        self.file.read_exact_at(&mut chunk, self.unread - want)?;
        self.unread -= want;
        chunk.append(&mut self.held);
        self.held = chunk;
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    fn forward(bytes: &[u8]) -> Vec<(Vec<u8>, bool)> {
        let mut lines = Forward::new(bytes);
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            all.push((line.bytes, line.ended));
        }
        all
    }

    fn backward(bytes: &[u8]) -> Vec<(Vec<u8>, bool)> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let mut lines = Backward::new(&file).unwrap();
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            all.push(line);
        }
        all.reverse();
        all
    }

    #[test]
    fn ends_of_all_kinds() {
        let text = b"one\r\ntwo\n\nthree";
        let lines = forward(text);
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[0], (b"one".to_vec(), true));
        assert_eq!(lines[3], (b"three".to_vec(), false));
        assert_eq!(backward(text), lines);
        assert!(forward(b"").is_empty() && backward(b"").is_empty());
    }

    proptest! {
        #[test]
        fn from_the_back_the_same_lines(
            lines in prop::collection::vec((0usize..3, 0usize..60_000), 1..8), ended in any::<bool>(),
        ) {
            let mut text = Vec::new();
            for (index, (kind, length)) in lines.iter().enumerate() {
                text.extend(vec![b'a' + index as u8; if *kind == 0 { length * 3 } else { *kind }]);
                text.push(b'\n');
            }
            if !ended {
                text.pop();
            }
            let seen: Vec<_> = forward(&text).into_iter().filter(|line| !line.0.is_empty()).collect();
            let back: Vec<_> = backward(&text).into_iter().filter(|line| !line.0.is_empty()).collect();
            prop_assert!(seen == back);
        }
    }
}
