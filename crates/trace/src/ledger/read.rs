//! Reading the ledger.

use std::fs::File;
use std::io::{self, BufReader};

use ona_files::jsonl::{Backward, Forward, MAX_LINE, RawLine};
use ona_files::{Links, ReadError};
use regex::bytes::Regex;

use super::Ledger;
use crate::entry::{BadLine, Dialect, TraceEntry, parse_line};

/// A line of the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadLine {
    /// Counted from 1.
    pub number: u64,
    /// The record, or why the line is not one.
    pub entry: Result<(Dialect, TraceEntry), BadLine>,
}

/// The lines of the ledger in order, one in memory at a time. Blank lines are left out.
pub struct Reader {
    lines: Option<Forward<BufReader<File>>>,
}

impl Iterator for Reader {
    type Item = io::Result<ReadLine>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.lines.as_mut()?.next_line() {
                Ok(Some(line)) if line.bytes.is_empty() && !line.too_long => {}
                Ok(Some(line)) => {
                    return Some(Ok(ReadLine { number: line.number, entry: record(&line) }));
                }
                Ok(None) => return None,
                Err(error) => {
                    self.lines = None;
                    return Some(Err(error));
                }
            }
        }
    }
}

fn record(line: &RawLine) -> Result<(Dialect, TraceEntry), BadLine> {
    if line.too_long { Err(BadLine::TooLong(MAX_LINE)) } else { parse_line(&line.bytes) }
}

/// The newest entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recent {
    /// The oldest of them first.
    pub entries: Vec<TraceEntry>,
    /// Bad lines met on the way, as far as they could be told without parsing the lines of other intents.
    pub bad: usize,
}

impl Ledger {
    /// All lines. A ledger that does not exist has none.
    pub fn read(&self) -> io::Result<Reader> {
        Ok(Reader { lines: self.open_to_read()?.map(|file| Forward::new(reader(file))) })
    }

    /// The last `limit` entries, of one intent or of all. Reads from the end, no further than it must.
    pub fn recent(&self, intent: Option<&str>, limit: usize) -> io::Result<Recent> {
        let mut recent = Recent::default();
        let Some(file) = self.open_to_read()? else { return Ok(recent) };
        // Lines that do not even hold the id need no parsing; of an id that JSON may escape nothing is assumed.
        let plain =
            |id: &&str| id.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c));
        let needle = intent.filter(plain).and_then(|id| Regex::new(&regex::escape(id)).ok());
        let mut lines = Backward::new(&file)?;
        while recent.entries.len() < limit
            && let Some((line, _)) = lines.next_line()?
        {
            if line.is_empty() {
                continue;
            }
            if needle.as_ref().is_some_and(|needle| !needle.is_match(&line)) {
                let whole = line.first() == Some(&b'{') && line.last() == Some(&b'}');
                recent.bad += usize::from(!whole);
                continue;
            }
            match parse_line(&line) {
                Ok((_, entry)) if intent.is_none() || entry.intent_id.as_deref() == intent => {
                    recent.entries.push(entry);
                }
                Ok(_) => {}
                Err(_) => recent.bad += 1,
            }
        }
        recent.entries.reverse();
        Ok(recent)
    }

    /// The entry with this id.
    pub fn find(&self, id: &str) -> io::Result<Option<TraceEntry>> {
        for line in self.read()? {
            if let Ok((_, entry)) = line?.entry
                && entry.id == id
            {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    pub(crate) fn open_to_read(&self) -> io::Result<Option<File>> {
        ona_files::open(self.path(), Links::Refuse).map_err(|error| match error {
            ReadError::Io(error) => error,
            error => io::Error::other(error),
        })
    }
}

pub(super) fn reader(file: File) -> BufReader<File> {
    BufReader::with_capacity(256 << 10, file)
}
