//! Files of JSON lines that are only ever appended to.
//!
//! A crash, or a full disk, can tear the last line. It stays as it is: the next writer ends it with a line end and
//! appends its own line, and a reader sees that the torn line is not a record.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use nix::fcntl::OFlag;

use crate::lock::{Lock, LockError};

/// The limit for one line, longer than any record: a file without line ends must not fill the memory.
pub const MAX_LINE: usize = 32 << 20;

/// How much is read at once from the back.
const CHUNK: usize = 64 << 10;

/// Why nothing can be appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The lock cannot be taken.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The path is a directory, a pipe or a device.
    #[error("it is not a regular file")]
    NotRegular,
    /// The file system refuses.
    #[error("it cannot be written: {0}")]
    Io(#[from] io::Error),
}

/// A file of JSON lines, open to append to, with the lock that keeps other writers out.
#[derive(Debug)]
pub struct Appender {
    file: File,
    _lock: Lock,
}

impl Appender {
    /// Opens the file; it and its directory are created if missing. Writers hold the lock file
    /// at `lock`, not a lock on the file itself, so readers and writers that ignore the lock never block
    /// them. A symbolic link is not followed.
    pub fn open(path: &Path, lock: &Path, patience: Duration) -> Result<Self, AppendError> {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        if lock.parent() != path.parent() {
            fs::create_dir_all(lock.parent().unwrap_or(lock))?;
        }
        let lock = Lock::acquire(lock, patience)?;
        let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).custom_flags(flags.bits());
        let file = file.open(path)?;
        match file.metadata()?.is_file() {
            true => Ok(Self { file, _lock: lock }),
            false => Err(AppendError::NotRegular),
        }
    }

    /// The existing lines, the last one first.
    pub fn backward(&self) -> io::Result<Backward<'_>> {
        Backward::new(&self.file)
    }

    /// Appends a line (given without a line end) in one write. A torn last line is ended first.
    pub fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        let mut last = [b'\n'];
        if length > 0 {
            self.file.read_exact_at(&mut last, length - 1)?;
        }
        let mut bytes = Vec::with_capacity(line.len() + 2);
        if last != [b'\n'] {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
        // One write may be partial, so the rest follows; if that fails, the next writer ends the torn line.
        self.file.write_all(&bytes)
    }
}

/// A line without its end.
#[derive(Debug, PartialEq, Eq)]
pub struct RawLine {
    /// Counted from 1.
    pub number: u64,
    /// Without `\n` and without a `\r` before it. Empty if it was too long.
    pub bytes: Vec<u8>,
    /// Whether it has an end.
    pub ended: bool,
    /// Whether it was longer than any record.
    pub too_long: bool,
}

/// Lines from the front.
#[derive(Debug)]
pub struct Forward<R> {
    from: R,
    number: u64,
}

impl<R: BufRead> Forward<R> {
    /// The lines of what is read here.
    pub fn new(from: R) -> Self {
        Self { from, number: 0 }
    }

    /// The next line, or `None` at the end.
    pub fn next_line(&mut self) -> io::Result<Option<RawLine>> {
        let mut bytes = Vec::new();
        let limit = MAX_LINE as u64 + 1;
        if self.from.by_ref().take(limit).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        let mut ended = bytes.last() == Some(&b'\n');
        let too_long = !ended && bytes.len() > MAX_LINE;
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

/// Lines from the end of the file, the last one first. Reads only as far as needed.
#[derive(Debug)]
pub struct Backward<'f> {
    file: &'f File,
    /// Bytes before here are not read yet.
    unread: u64,
    /// What was read and not given out: the bytes from `unread` on.
    held: Vec<u8>,
    started: bool,
}

impl<'f> Backward<'f> {
    /// The lines of an open file.
    pub fn new(file: &'f File) -> io::Result<Self> {
        let unread = file.metadata()?.len();
        Ok(Self { file, unread, held: Vec::new(), started: false })
    }

    /// The line before, without its end, and whether it had one.
    pub fn next_line(&mut self) -> io::Result<Option<(Vec<u8>, bool)>> {
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
            if self.held.len() > MAX_LINE {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("a line is longer than {MAX_LINE} bytes"),
                ));
            }
            searched = self.read_more()?;
        }
    }

    fn read_more(&mut self) -> io::Result<usize> {
        // Reads as much as is held already, so a long line costs linear time.
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
    use std::os::unix::fs::symlink;

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
    fn a_torn_line_is_ended_and_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (path, lock) = (dir.path().join("new/log.jsonl"), dir.path().join("new/log.lock"));
        let open = || Appender::open(&path, &lock, Duration::ZERO);
        open().unwrap().append(b"{\"a\":1}").unwrap();
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"to").unwrap();
        let mut appender = open().unwrap();
        assert!(matches!(open(), Err(AppendError::Lock(LockError::Held { .. }))));
        let last = appender.backward().unwrap().next_line().unwrap();
        assert_eq!(last, Some((b"{\"to".to_vec(), false)));
        appender.append(b"{\"b\":2}").unwrap();
        appender.append(b"{\"c\":3}").unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, "{\"a\":1}\n{\"to\n{\"b\":2}\n{\"c\":3}\n");
    }

    #[test]
    fn a_link_in_its_place_is_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let (path, lock) = (dir.path().join("log"), dir.path().join("lock"));
        fs::write(dir.path().join("source.rs"), "").unwrap();
        symlink("source.rs", &path).unwrap();
        assert!(Appender::open(&path, &lock, Duration::ZERO).is_err());
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(Appender::open(&path, &lock, Duration::ZERO).is_err());
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
