//! One thread of a search: file after file, each turned into lines of output.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};

use super::{MAX_HEAP, OutputMode, Query};
use crate::text::{self, LINE_BYTES};
use crate::walk::{self, Halt, Haltable};
use ona_policy::secrets::Redactor;

/// Lines of output: each entry is one, and ends in a line end.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) text: String,
    pub(super) entries: usize,
}

impl Batch {
    pub(super) fn push(&mut self, entry: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(entry);
        self.text.push('\n');
        self.entries += 1;
    }
}

/// One thread's tools, used for file after file.
pub(super) struct Worker<'a> {
    query: &'a Query,
    /// A clone: threads that share a regex wait for each other.
    matcher: RegexMatcher,
    searcher: Searcher,
    halt: &'a Halt,
}

impl<'a> Worker<'a> {
    pub(super) fn new(query: &'a Query, binary: BinaryDetection, halt: &'a Halt) -> Self {
        let searcher = SearcherBuilder::new()
            .multi_line(query.multiline)
            .line_number(query.line_numbers)
            .before_context(query.before)
            .after_context(query.after)
            .binary_detection(binary)
            .heap_limit(Some(MAX_HEAP))
            .build();
        Self { query, matcher: query.matcher.clone(), searcher, halt }
    }

    pub(super) fn search_batch(&mut self, files: &[PathBuf]) -> Batch {
        let mut batch = Batch::default();
        for file in files {
            if self.query.is_full(batch.entries, batch.text.len()) {
                break;
            }
            // A file that cannot be read is skipped, as ripgrep does.
            let _ = self.search(file, &mut batch);
        }
        batch
    }

    pub(super) fn search(&mut self, path: &Path, batch: &mut Batch) -> io::Result<()> {
        let file = ona_files::open_found(path)?;
        // Buffered, because the searcher reads the first three bytes on their own.
        let reader = BufReader::new(Haltable::new(file, self.halt));
        let query = self.query;
        let mut hits = Hits { query, path, name: None, batch, count: 0, nul: None };
        let searched = self.searcher.search_reader(&self.matcher, reader, &mut hits);
        match (query.mode, hits.count) {
            (OutputMode::Content, _) | (_, 0) => {}
            (OutputMode::FilesWithMatches, _) => batch.push(format_args!("{}", walk::shown(path))),
            (OutputMode::Count, count) => batch.push(format_args!("{}:{count}", walk::shown(path))),
        }
        searched
    }
}

/// Takes what the searcher finds in one file.
struct Hits<'a> {
    query: &'a Query,
    path: &'a Path,
    /// The path as shown, once something is.
    name: Option<Cow<'a, str>>,
    batch: &'a mut Batch,
    /// Matches, unless their lines are shown.
    count: u64,
    /// Where the first NUL byte is: the file is binary.
    nul: Option<u64>,
}

impl Hits<'_> {
    fn show(&mut self, mark: char, number: Option<u64>, text: &str) {
        let name = self.name.get_or_insert_with(|| {
            self.query.separate(self.batch);
            walk::shown(self.path)
        });
        match number {
            Some(number) => self.batch.push(format_args!("{name}{mark}{number}{mark}{text}")),
            None => self.batch.push(format_args!("{name}{mark}{text}")),
        }
    }

    fn is_full(&self) -> bool {
        self.query.is_full(self.batch.entries, self.batch.text.len())
    }

    /// How many matches begin in what the searcher reports at once, which may be several if they
    /// span lines.
    fn matches(&self, searcher: &Searcher, found: &SinkMatch<'_>) -> u64 {
        if !searcher.multi_line_with_matcher(&self.query.matcher) {
            return 1;
        }
        let (range, mut count) = (found.bytes_range_in_buffer(), 0);
        // A regex search has no way to fail.
        let _ = self.query.matcher.find_iter_at(found.buffer(), range.start, |hit| {
            let inside = hit.start() < range.end;
            count += u64::from(inside);
            inside
        });
        count
    }
}

impl Sink for Hits<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        match (self.query.mode, self.nul) {
            (OutputMode::FilesWithMatches, _) => {
                self.count = 1;
                Ok(false)
            }
            (OutputMode::Count, _) => {
                self.count += self.matches(searcher, found);
                Ok(true)
            }
            (OutputMode::Content, Some(at)) => {
                let note = format!(" binary file matches (found a NUL byte around offset {at})");
                self.show(':', None, &note);
                Ok(false)
            }
            (OutputMode::Content, None) => {
                for (line, number) in found.lines().zip(0..) {
                    let number = found.line_number().map(|first| first + number);
                    self.show(':', number, &shown(line, &self.query.redactor));
                    if self.is_full() {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        if self.nul.is_none() {
            let line = shown(context.bytes(), &self.query.redactor);
            self.show('-', context.line_number(), &line);
        }
        Ok(!self.is_full())
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.query.separate(self.batch);
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, offset: u64) -> io::Result<bool> {
        self.nul = self.nul.or(Some(offset));
        Ok(true)
    }
}

/// A line as shown: without its end, and cut if it is long.
fn shown(line: &[u8], redactor: &Redactor) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // A huge line is not decoded as a whole.
    let start = line.get(..LINE_BYTES).unwrap_or(line);
    text::cut_line(&String::from_utf8_lossy(start), redactor).0.into_owned()
}
