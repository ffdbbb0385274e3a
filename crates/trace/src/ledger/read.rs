//! Reading the ledger.

use std::fs::File;
use std::io::{self, BufReader};

use ona_files::jsonl::{Forward, MAX_LINE, RawLine};
use ona_files::{Links, MAX_WHOLE, ReadError};

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

impl Ledger {
    /// All lines. A ledger that does not exist has none.
    pub fn read(&self) -> io::Result<Reader> {
        Ok(Reader { lines: self.open_to_read()?.map(|file| Forward::new(reader(file))) })
    }

    /// The file itself; one that is too large, which a sparse file easily is, is an error.
    pub(crate) fn open_to_read(&self) -> io::Result<Option<File>> {
        let file = ona_files::open(self.path(), Links::Refuse).map_err(|error| match error {
            ReadError::Io(error) => error,
            error => io::Error::other(error),
        })?;
        match &file {
            Some(file) if file.metadata()?.len() > MAX_WHOLE => {
                Err(io::Error::other(ReadError::TooLarge { limit: MAX_WHOLE }))
            }
            _ => Ok(file),
        }
    }
}

pub(super) fn reader(file: File) -> BufReader<File> {
    BufReader::with_capacity(256 << 10, file)
}
