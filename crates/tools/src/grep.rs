//! Grep: which files, or which of their lines, match a regular expression.
//!
//! Files are found first and put in order. Then threads take them a few at a time and stop as soon as
//! the files taken so far fill the answer. Only output lines are kept, so a search needs little more
//! memory than the list of files and the text it returns.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;

use grep_matcher::Matcher;
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};
use ona_policy::Effects;
use ona_types::{TRUNCATED_SUFFIX, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::{Place, ToolContext};
use crate::input::{InputError, lenient_bool, lenient_count};
use crate::tool::{BuiltIn, Refusal};
use crate::walk::{self, Halt};

/// The most bytes of an answer.
const MOST_BYTES: usize = 1024 * 1024;
/// What of those is kept for the words around the entries.
const FRAME_BYTES: usize = 512;
/// The most characters of a line.
const MOST_CHARS: usize = 2000;
/// No entry is longer: a path of 4096 bytes, `MOST_CHARS`, a line number and a marker.
const LONGEST_ENTRY: usize = 32 * 1024;
/// The most memory one file may take while it is searched.
const MOST_HEAP: usize = 256 * 1024 * 1024;
/// How many files a thread takes at a time.
const BATCH: usize = 32;

pub(crate) struct Grep;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OutputMode {
    /// The paths of the files that match.
    #[default]
    FilesWithMatches,
    /// The matching lines.
    Content,
    /// How many matches each file has.
    Count,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrepInput {
    /// The regular expression, in ripgrep's syntax: literal braces and parentheses are escaped.
    pattern: String,
    /// The file or directory to search; the current directory if left out.
    path: Option<String>,
    /// Search only files that match this glob, such as `*.ts` or `!vendor/**`.
    glob: Option<String>,
    /// Search only files of this type, such as `rust`, `py` or `js`.
    #[serde(rename = "type")]
    file_type: Option<String>,
    /// What to return: paths (`files_with_matches`, the default), matching lines (`content`) or the
    /// number of matches in each file (`count`).
    output_mode: Option<OutputMode>,
    /// Lines to show after each match; only for `content`.
    #[serde(rename = "-A", default, deserialize_with = "lenient_count")]
    after: Option<u64>,
    /// Lines to show before each match; only for `content`.
    #[serde(rename = "-B", default, deserialize_with = "lenient_count")]
    before: Option<u64>,
    /// Lines to show before and after each match; only for `content`.
    #[serde(rename = "-C", default, deserialize_with = "lenient_count")]
    around: Option<u64>,
    /// The same as `-C`.
    #[serde(default, deserialize_with = "lenient_count")]
    context: Option<u64>,
    /// Show line numbers, which is the default; only for `content`.
    #[serde(rename = "-n", default, deserialize_with = "lenient_bool")]
    line_numbers: Option<bool>,
    /// Ignore case.
    #[serde(rename = "-i", default, deserialize_with = "lenient_bool")]
    ignore_case: Option<bool>,
    /// How many entries to return, which are lines for `content` and files otherwise: 250 if left
    /// out, all if 0.
    #[serde(default, deserialize_with = "lenient_count")]
    head_limit: Option<u64>,
    /// How many entries to skip first.
    #[serde(default, deserialize_with = "lenient_count")]
    offset: Option<u64>,
    /// Let matches span lines, with `.` matching line ends too.
    #[serde(default, deserialize_with = "lenient_bool")]
    multiline: Option<bool>,
}

impl BuiltIn for Grep {
    const NAME: &'static str = "Grep";
    const DESCRIPTION: &'static str = "Searches file contents with a regular expression, as ripgrep \
        does: hidden files are searched, binary files and what .gitignore excludes are not. Returns \
        paths, matching lines or counts, ordered by path.";
    type Input = GrepInput;

    fn effects(input: &GrepInput, place: &Place) -> Result<Effects, InputError> {
        Ok(Effects::read(root(input, place)?))
    }

    async fn run(input: GrepInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let root = root(&input, cx.place).map_err(|error| Refusal::rejected(error.to_string()))?;
        let query = Query::new(&input)?;
        let work = move |halt: &Halt| Ok(query.answer(&query.search(&root, &input, halt)?));
        Ok(ToolOutput::success(walk::search(cx, work).await?))
    }
}

fn root(input: &GrepInput, place: &Place) -> Result<PathBuf, InputError> {
    walk::root(&place.cwd, input.path.as_deref())
        .map_err(|error| InputError::path(Grep::NAME, "path", &error))
}

/// What to look for and how to show it.
struct Query {
    matcher: RegexMatcher,
    mode: OutputMode,
    multiline: bool,
    line_numbers: bool,
    before: usize,
    after: usize,
    offset: usize,
    limit: usize,
}

impl Query {
    fn new(input: &GrepInput) -> Result<Self, Refusal> {
        let mode = input.output_mode.unwrap_or_default();
        let multiline = input.multiline.unwrap_or(false);
        let count = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        let context = |lines: Option<u64>| match mode {
            OutputMode::Content => count(lines.or(input.around).or(input.context).unwrap_or(0)),
            _ => 0,
        };
        Ok(Self {
            matcher: matcher(&input.pattern, input.ignore_case.unwrap_or(false), multiline)?,
            mode,
            multiline,
            line_numbers: mode == OutputMode::Content && input.line_numbers.unwrap_or(true),
            before: context(input.before),
            after: context(input.after),
            offset: count(input.offset.unwrap_or(0)),
            limit: match input.head_limit.unwrap_or(250) {
                0 => usize::MAX,
                limit => count(limit),
            },
        })
    }

    /// Whether so much output fills any answer, whatever comes after it. One entry more than is
    /// returned is asked for, so that the answer knows whether it is the whole one.
    fn is_full(&self, entries: usize, bytes: usize) -> bool {
        let skipped = self.offset.saturating_mul(LONGEST_ENTRY);
        entries > self.offset.saturating_add(self.limit)
            || bytes >= skipped.saturating_add(MOST_BYTES)
    }

    fn search(&self, root: &Path, input: &GrepInput, halt: &Halt) -> Result<Batch, Refusal> {
        let (globs, types) = filters(root, input)?;
        let kind = walk::inspect(root)?;
        if kind.is_dir() {
            let mut walk = walk::walker(root, true, false, Vec::new())?;
            let mut files = walk::collect(walk.overrides(globs).types(types), halt, |entry| {
                entry.file_type()?.is_file().then(|| entry.into_path())
            })?;
            files.sort_unstable();
            self.search_files(&files, halt)
        } else if kind.is_file() {
            // Asked for by name, so what looks binary is searched too.
            let mut batch = Batch::default();
            let searched =
                Worker::new(self, BinaryDetection::convert(0), halt).search(root, &mut batch);
            halt.check()?;
            searched.map_err(|error| walk::unreadable(root, &error))?;
            Ok(batch)
        } else {
            Err(Refusal::rejected(format!(
                "`path`: {} is neither a file nor a directory; search one that is",
                root.display()
            )))
        }
    }

    /// The output of the first files, in their order, as many as it takes to fill the answer.
    fn search_files(&self, files: &[PathBuf], halt: &Halt) -> Result<Batch, Refusal> {
        let (next, entries, bytes) =
            (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let (sender, batches) = mpsc::channel();
        let work = |sender: mpsc::Sender<(usize, Batch)>| {
            let mut worker = Worker::new(self, BinaryDetection::quit(0), halt);
            // Looks first and takes then. What is taken is searched, so what was searched in the end
            // has no gaps, and any output that fills an answer is enough.
            while !halt.is_due() && !self.is_full(entries.load(Relaxed), bytes.load(Relaxed)) {
                let index = next.fetch_add(1, Relaxed);
                let Some(files) = files.chunks(BATCH).nth(index) else { break };
                let batch = worker.search_batch(files);
                entries.fetch_add(batch.entries, Relaxed);
                bytes.fetch_add(batch.text.len(), Relaxed);
                if batch.entries > 0 && sender.send((index, batch)).is_err() {
                    break;
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..walk::threads() {
                let sender = sender.clone();
                scope.spawn(|| work(sender));
            }
        });
        drop(sender);
        halt.check()?;
        let mut batches: Vec<_> = batches.into_iter().collect();
        batches.sort_unstable_by_key(|(index, _)| *index);
        let mut all = Batch::default();
        for (_, batch) in batches {
            self.separate(&mut all);
            all.text.push_str(&batch.text);
            all.entries += batch.entries;
        }
        Ok(all)
    }

    /// Sets what follows apart from what is there, if there are groups of lines to tell apart.
    fn separate(&self, batch: &mut Batch) {
        if (self.before > 0 || self.after > 0) && batch.entries > 0 {
            batch.push(format_args!("--"));
        }
    }

    /// The entries asked for, and what there is to say about the others.
    fn answer(&self, found: &Batch) -> String {
        let (unit, none) = match self.mode {
            OutputMode::FilesWithMatches => ("files", "No files found"),
            OutputMode::Content => ("lines", "No matches found"),
            OutputMode::Count => ("files", "No matches found"),
        };
        if found.entries == 0 {
            return none.to_owned();
        }
        if self.offset >= found.entries {
            let (offset, all) = (self.offset, found.entries);
            return format!("(offset={offset} skips everything: there are {all} {unit})");
        }
        let mut text = String::new();
        let mut end = self.offset;
        for entry in found.text.split_terminator('\n').skip(self.offset).take(self.limit) {
            if text.len() + entry.len() + FRAME_BYTES > MOST_BYTES {
                break;
            }
            text.push_str(entry);
            text.push('\n');
            end += 1;
        }
        if self.mode == OutputMode::FilesWithMatches {
            text.insert_str(0, &heading(end, found.entries));
        }
        if end == found.entries {
            text.pop();
            return text;
        }
        let first = self.offset + 1;
        text += &format!(
            "({unit} {first} to {end}; there are more: go on with offset={end}, or narrow the search)"
        );
        if end - self.offset < self.limit {
            text.push('\n');
            text.push_str(TRUNCATED_SUFFIX);
        }
        text
    }
}

/// How many files there are, as far as known: the search stops soon after the last one shown.
fn heading(end: usize, known: usize) -> String {
    match known {
        1 => "Found 1 file\n".to_owned(),
        _ if end < known => format!("Found at least {} files\n", end + 1),
        _ => format!("Found {known} files\n"),
    }
}

fn matcher(pattern: &str, ignore_case: bool, multiline: bool) -> Result<RegexMatcher, Refusal> {
    let mut builder = RegexMatcherBuilder::new();
    builder.multi_line(true).case_insensitive(ignore_case).dot_matches_new_line(multiline);
    if !multiline {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(pattern).map_err(|error| match error.kind() {
        ErrorKind::NotAllowed(_) => {
            Refusal::rejected(format!("`pattern`: {error}; set `multiline` to match across lines"))
        }
        _ => Refusal::rejected(format!("`pattern`: {error}")),
    })
}

fn filters(root: &Path, input: &GrepInput) -> Result<(Override, Types), Refusal> {
    let mut globs = OverrideBuilder::new(root);
    if let Some(glob) = &input.glob {
        globs.add(glob).map_err(|error| Refusal::rejected(format!("`glob`: {error}")))?;
    }
    let globs = globs.build().map_err(|error| Refusal::rejected(format!("`glob`: {error}")))?;
    let mut types = TypesBuilder::new();
    if let Some(name) = &input.file_type {
        types.add_defaults().select(name);
    }
    let types = types.build().map_err(|error| {
        Refusal::rejected(format!(
            "`type`: {error}; use one that ripgrep knows, such as rust, py, js, ts, go or md, or \
             `glob` with a pattern such as *.rs"
        ))
    })?;
    Ok((globs, types))
}

/// Lines of output: each entry is one, and ends in a line end.
#[derive(Default)]
struct Batch {
    text: String,
    entries: usize,
}

impl Batch {
    fn push(&mut self, entry: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(entry);
        self.text.push('\n');
        self.entries += 1;
    }
}

/// One thread's tools, used for file after file.
struct Worker<'a> {
    query: &'a Query,
    /// A clone: threads that share a regex wait for each other.
    matcher: RegexMatcher,
    searcher: Searcher,
    halt: &'a Halt,
}

impl<'a> Worker<'a> {
    fn new(query: &'a Query, binary: BinaryDetection, halt: &'a Halt) -> Self {
        let searcher = SearcherBuilder::new()
            .multi_line(query.multiline)
            .line_number(query.line_numbers)
            .before_context(query.before)
            .after_context(query.after)
            .binary_detection(binary)
            .heap_limit(Some(MOST_HEAP))
            .build();
        Self { query, matcher: query.matcher.clone(), searcher, halt }
    }

    fn search_batch(&mut self, files: &[PathBuf]) -> Batch {
        let mut batch = Batch::default();
        for file in files {
            if self.halt.is_due() || self.query.is_full(batch.entries, batch.text.len()) {
                break;
            }
            // A file that cannot be read is skipped, as ripgrep does.
            let _ = self.search(file, &mut batch);
        }
        batch
    }

    fn search(&mut self, path: &Path, batch: &mut Batch) -> io::Result<()> {
        let reader = Haltable { file: File::open(path)?, halt: self.halt };
        let (query, matcher) = (self.query, &self.matcher);
        let mut hits = Hits { query, matcher, path, name: None, batch, count: 0, nul: None };
        let searched = self.searcher.search_reader(matcher, reader, &mut hits);
        match (query.mode, hits.count) {
            (OutputMode::Content, _) | (_, 0) => {}
            (OutputMode::FilesWithMatches, _) => batch.push(format_args!("{}", walk::shown(path))),
            (OutputMode::Count, count) => batch.push(format_args!("{}:{count}", walk::shown(path))),
        }
        searched
    }
}

/// A file that ends in an error when the search is to stop, so that a large one does not delay it.
struct Haltable<'a> {
    file: File,
    halt: &'a Halt,
}

impl Read for Haltable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.halt.is_due() {
            return Err(io::Error::other("the search was stopped"));
        }
        self.file.read(buffer)
    }
}

/// Takes what the searcher finds in one file.
struct Hits<'a> {
    query: &'a Query,
    matcher: &'a RegexMatcher,
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
    fn show(&mut self, mark: char, number: Option<u64>, text: fmt::Arguments<'_>) {
        let name = self.name.get_or_insert_with(|| {
            self.query.separate(self.batch);
            walk::shown(self.path)
        });
        match number {
            Some(number) => self.batch.push(format_args!("{name}{mark}{number}{mark}{text}")),
            None => self.batch.push(format_args!("{name}{mark}{text}")),
        }
    }

    fn wants_more(&self) -> bool {
        !self.query.is_full(self.batch.entries, self.batch.text.len())
    }

    /// How many matches begin in what the searcher reports at once, which may be several if they
    /// span lines.
    fn matches(&self, searcher: &Searcher, found: &SinkMatch<'_>) -> u64 {
        if !searcher.multi_line_with_matcher(self.matcher) {
            return 1;
        }
        let (range, mut count) = (found.bytes_range_in_buffer(), 0);
        // A regex search has no way to fail.
        let _ = self.matcher.find_iter_at(found.buffer(), range.start, |hit| {
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
                let note =
                    format_args!(" binary file matches (found a NUL byte around offset {at})");
                self.show(':', None, note);
                Ok(false)
            }
            (OutputMode::Content, None) => {
                for (line, number) in found.lines().zip(0..) {
                    let number = found.line_number().map(|first| first + number);
                    self.show(':', number, format_args!("{}", Line(line)));
                }
                Ok(self.wants_more())
            }
        }
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        if self.nul.is_none() {
            let line = Line(context.bytes());
            self.show('-', context.line_number(), format_args!("{line}"));
        }
        Ok(self.wants_more())
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
struct Line<'a>(&'a [u8]);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.0.strip_suffix(b"\n").unwrap_or(self.0);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // Enough bytes for one character too many, so that a huge line is not decoded as a whole.
        let start = line.get(..4 * (MOST_CHARS + 1)).unwrap_or(line);
        let text = String::from_utf8_lossy(start);
        match text.char_indices().nth(MOST_CHARS) {
            Some((end, _)) => write!(f, "{} [line cut, {} bytes]", &text[..end], line.len()),
            None => f.write_str(&text),
        }
    }
}
