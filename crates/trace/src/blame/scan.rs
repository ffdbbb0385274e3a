//! Going through the ledger without parsing the lines that do not speak of a file.

use std::io::{self, Read};
use std::thread;

use ona_files::jsonl::MAX_LINE;
use regex::bytes::{Regex, RegexBuilder};

use crate::ledger::Ledger;

/// How much of the ledger is looked at in one go.
const BLOCK: usize = 4 << 20;

/// A shorter part of a name is not worth searching for.
const MIN_LEN: usize = 3;

/// From this many lines on, threads are used.
const PARALLEL_FROM: usize = 512;

/// A line, and the byte of the ledger it starts at.
type Line<'b> = (&'b [u8], u64);

/// Makes of every line that may speak of one of the names what `read` makes of it, in the order of the ledger.
pub(super) fn scan<T: Send>(
    ledger: &Ledger,
    names: &[String],
    read: impl Fn(Line<'_>) -> Vec<T> + Sync,
) -> io::Result<Vec<T>> {
    let mut all = Vec::new();
    let Some(mut file) = ledger.open_to_read()? else { return Ok(all) };
    let needle = needle(names);
    let mut buffer = Vec::new();
    let mut offset = 0;
    loop {
        let held = buffer.len();
        let count = file.by_ref().take(BLOCK as u64).read_to_end(&mut buffer)?;
        let whole = match buffer[held..].iter().rposition(|byte| *byte == b'\n') {
            Some(at) => held + at + 1,
            None if count == 0 => buffer.len(),
            None if buffer.len() > MAX_LINE => {
                // No record is that long: what is left of the line will not parse either.
                offset += buffer.len() as u64;
                buffer.clear();
                continue;
            }
            None => continue,
        };
        read_all(&hits(&buffer[..whole], offset, needle.as_ref()), &read, &mut all);
        offset += whole as u64;
        buffer.drain(..whole);
        if count == 0 {
            return Ok(all);
        }
    }
}

fn read_all<T: Send>(
    lines: &[Line<'_>],
    read: &(impl Fn(Line<'_>) -> Vec<T> + Sync),
    all: &mut Vec<T>,
) {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(4);
    if lines.len() < PARALLEL_FROM || threads == 1 {
        all.extend(lines.iter().flat_map(|line| read(*line)));
        return;
    }
    thread::scope(|scope| {
        let parts: Vec<_> = lines
            .chunks(lines.len().div_ceil(threads))
            .map(|part| {
                scope.spawn(move || part.iter().flat_map(|line| read(*line)).collect::<Vec<T>>())
            })
            .collect();
        for part in parts {
            all.extend(part.join().unwrap_or_default());
        }
    });
}

/// The lines of a block that the needle is in.
fn hits<'b>(block: &'b [u8], offset: u64, needle: Option<&Regex>) -> Vec<Line<'b>> {
    let Some(needle) = needle else {
        let mut at = offset;
        let lines = block.split_inclusive(|byte| *byte == b'\n').map(|line| {
            at += line.len() as u64;
            (line, at - line.len() as u64)
        });
        return lines.collect();
    };
    let mut lines = Vec::new();
    let newline = |byte: &u8| *byte == b'\n';
    let mut from = 0;
    while let Some(found) = needle.find_at(block, from) {
        // A hit lies behind the last line that was one.
        let start = block[from..found.start()].iter().rposition(newline);
        let start = start.map_or(from, |at| from + at + 1);
        let end = block[found.end()..].iter().position(newline);
        let end = end.map_or(block.len(), |at| found.end() + at);
        lines.push((&block[start..end], offset + start as u64));
        from = (end + 1).min(block.len());
    }
    lines
}

/// Matches every line that can hold one of the names, however it is escaped: of each name the longest part that
/// no JSON writer escapes. None if there is no such part worth searching for, or too many names.
fn needle(names: &[String]) -> Option<Regex> {
    let mut parts = Vec::new();
    for name in names {
        let plain = |c: char| c.is_ascii_graphic() && c != '"' && c != '\\' || c == ' ';
        let part = name.split(|c: char| !plain(c)).max_by_key(|part| part.len())?;
        // Of a name that is escaped somewhere only what lies in one directory is sure.
        let part = if part.len() == name.len() { part } else { part.rsplit('/').next()? };
        if part.len() < MIN_LEN {
            return None;
        }
        // The solidus may be written `\/`.
        parts.push(regex::escape(part).replace('/', r"\\?/"));
    }
    RegexBuilder::new(&format!("(?-u){}", parts.join("|"))).size_limit(64 << 20).build().ok()
}
