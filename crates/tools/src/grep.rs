//! Grep: which files, or which of their lines, match a regular expression.
//!
//! Files are found first and put in order. Then threads take them a few at a time and stop as soon as
//! the files taken so far fill the answer. Only output lines are kept, so a search needs little more
//! memory than the list of files and the text it returns.

mod worker;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use grep_searcher::BinaryDetection;
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};
use ona_effects::Effects;
use ona_mcp::Hints;
use ona_policy::RuleSubject;
use ona_policy::secrets::Redactor;
use ona_types::{TRUNCATED_SUFFIX, ToolKind, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::{Hides, Place, ToolContext};
use crate::facts::Facts;
use crate::input::{InputError, lenient_bool, lenient_count};
use crate::tool::{BuiltIn, Refusal};
use crate::walk::{self, Halt};
use crate::write::target;

use worker::{Batch, Worker};

/// The limit for an answer, in bytes.
const MAX_BYTES: usize = 1024 * 1024;
/// The part of that reserved for the text around the entries.
const FRAME_BYTES: usize = 512;
/// The upper bound of one entry: a path of 4096 bytes, a cut line, its number and a marker.
const MAX_ENTRY: usize = 32 * 1024;
/// The memory limit for searching one file.
const MAX_HEAP: usize = 256 * 1024 * 1024;
/// How many files a thread takes at a time.
const MAX_FILES: usize = 32;

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
    const FACTS: Facts =
        Facts { kind: ToolKind::Read, rules: RuleSubject::Reads, ..Facts::plain(Hints::READS) };
    type Input = GrepInput;

    fn effects(input: &GrepInput, place: &Place) -> Result<Effects, InputError> {
        let path = input.path.as_deref().unwrap_or(".");
        Ok(Effects::read(target::<Self>(place, "path", path)?))
    }

    async fn run(input: GrepInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let (root, halt) = (cx.judged_path()?, Halt::new(cx.cancel, cx.settings.search_timeout));
        let (hides, redactor) = (cx.hides.clone(), cx.redactor.clone());
        walk::search(halt, move |halt| answer(&input, &root, hides, &redactor, halt)).await
    }
}

fn answer(
    input: &GrepInput,
    root: &Path,
    hides: Hides,
    redactor: &Redactor,
    halt: &Halt,
) -> Result<String, Refusal> {
    let query = Query::new(input, redactor)?;
    Ok(query.text(&query.search(root, input, hides, halt)?))
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
    redactor: Redactor,
}

impl Query {
    fn new(input: &GrepInput, redactor: &Redactor) -> Result<Self, Refusal> {
        let mode = input.output_mode.unwrap_or_default();
        let multiline = input.multiline.unwrap_or(false);
        let count = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        let context = |lines: Option<u64>| match mode {
            OutputMode::Content => count(lines.or(input.around).or(input.context).unwrap_or(0)),
            _ => 0,
        };
        Ok(Self {
            matcher: matcher(&input.pattern, input.ignore_case.unwrap_or(false), multiline)?,
            redactor: redactor.clone(),
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

    /// Whether this much output fills the answer. One entry more than is
    /// returned is needed, so that the answer can say whether it is complete.
    fn is_full(&self, entries: usize, bytes: usize) -> bool {
        let skipped = self.offset.saturating_mul(MAX_ENTRY);
        entries > self.offset.saturating_add(self.limit)
            || bytes >= skipped.saturating_add(MAX_BYTES)
    }

    fn search(
        &self,
        root: &Path,
        input: &GrepInput,
        hides: Hides,
        halt: &Halt,
    ) -> Result<Batch, Refusal> {
        let (globs, types) = filters(root, input)?;
        let kind = walk::inspect(root)?;
        if kind.is_dir() {
            let mut walk = walk::walker(root, true, false, globs, Vec::new(), hides)?;
            let mut files = walk::collect(walk.types(types), halt, |entry| {
                entry.file_type()?.is_file().then(|| entry.into_path())
            })?;
            files.sort_by_cached_key(|path| order(path));
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
        let [next, entries, bytes] = [const { AtomicUsize::new(0) }; 3];
        let (sender, batches) = mpsc::channel();
        // Few files may be large ones, and should keep every thread busy.
        let size = files.len().div_ceil(4 * walk::threads()).clamp(1, MAX_FILES);
        let work = |sender: mpsc::Sender<(usize, Batch)>| {
            let mut worker = Worker::new(self, BinaryDetection::quit(0), halt);
            // Looks first and takes then. What is taken is searched, so what was searched in the end
            // has no gaps, and any output that fills an answer is enough.
            while !halt.is_due() && !self.is_full(entries.load(Relaxed), bytes.load(Relaxed)) {
                let index = next.fetch_add(1, Relaxed);
                let Some(files) = files.chunks(size).nth(index) else { break };
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

    /// The requested entries, with a note about the others.
    fn text(&self, found: &Batch) -> String {
        let (offset, all) = (self.offset, found.entries);
        let (unit, none) = match self.mode {
            OutputMode::FilesWithMatches => ("files", "No files found"),
            OutputMode::Count => ("files", "No matches found"),
            OutputMode::Content => ("lines", "No matches found"),
        };
        if all == 0 {
            return none.to_owned();
        }
        if offset >= all {
            return format!("(no more {unit}: offset={offset}, but there are only {all})");
        }
        let (mut entries, mut end) = (String::new(), offset);
        for entry in found.text.split_terminator('\n').skip(offset).take(self.limit) {
            if entries.len() + entry.len() + FRAME_BYTES > MAX_BYTES {
                break;
            }
            entries.push_str(entry);
            entries.push('\n');
            end += 1;
        }
        let mut text = match (self.mode, all) {
            (OutputMode::Content | OutputMode::Count, _) => String::new(),
            (_, 1) => "Found 1 file\n".to_owned(),
            // The search stops when it has enough, so how many more there are is not known.
            _ if end < all => format!("Found at least {} files\n", end + 1),
            _ => format!("Found {all} files\n"),
        };
        text += entries.trim_end_matches('\n');
        if end < all {
            let first = offset + 1;
            text += &format!(
                "\n({unit} {first} to {end}; there are more: go on with offset={end}, or narrow the search)"
            );
        }
        if end < all && end - offset < self.limit {
            text = text + "\n" + TRUNCATED_SUFFIX;
        }
        text
    }
}

/// What sorts like the path but is quicker to compare: bytes, with separators below all others.
fn order(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.iter().map(|byte| if *byte == b'/' { 0 } else { *byte }).collect()
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::time::Duration;

    use grep_matcher::Matcher;
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::input::parse;
    use crate::text::MAX_LINE;
    use crate::walk::testing::{nothing_hidden, patient, reason, tree};

    const CONTENT: &str = "content";
    const COUNT: &str = "count";
    const FILES: &str = "files_with_matches";

    fn grep_until(root: &Path, input: &Value, halt: &Halt) -> Result<String, Refusal> {
        let input = parse("Grep", input).map_err(|error| Refusal::rejected(error.to_string()))?;
        let place = Place::at(root);
        let judged = <Grep as BuiltIn>::effects(&input, &place)
            .map_err(|error| Refusal::rejected(error.to_string()))?;
        let judged = &judged.reads[0].real;
        let text = answer(&input, judged, nothing_hidden(), &Redactor::default(), halt)?;
        Ok(text.replace(&format!("{}/", root.display()), ""))
    }

    /// The answer, with paths relative to `root`.
    fn grep(root: &Path, mode: &str, pattern: &str, more: &Value) -> String {
        let mut input = json!({"output_mode": mode, "pattern": pattern});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        grep_until(root, &input, &patient()).unwrap()
    }

    fn check(root: &Path, cases: &[(&str, &str, Value, &str)]) {
        for (mode, pattern, more, expected) in cases {
            assert_eq!(grep(root, mode, pattern, more), *expected, "{mode} {pattern} {more}");
        }
    }

    #[test]
    fn modes() {
        let (_dir, root) = tree(&[("b.rs", "one\ntwo one\n"), ("a/z", "One\r\n"), ("a.rs", "x")]);
        check(
            &root,
            &[
                (FILES, "one", json!({}), "Found 1 file\nb.rs"),
                (FILES, "one", json!({"-i": true}), "Found 2 files\na/z\nb.rs"),
                (FILES, "one", json!({"path": "b.rs"}), "Found 1 file\nb.rs"),
                (FILES, "none", json!({}), "No files found"),
                (CONTENT, "(?i)^one", json!({}), "a/z:1:One\nb.rs:1:one"),
                (CONTENT, "two", json!({"-n": "false"}), "b.rs:two one"),
                (CONTENT, "none", json!({}), "No matches found"),
                (COUNT, "one", json!({}), "b.rs:2"),
                (COUNT, "none", json!({}), "No matches found"),
            ],
        );
    }

    #[test]
    fn context_lines() {
        let (_dir, root) = tree(&[("a", "1\n2\nx\n4\n5\n6\n7\nx\nx\n"), ("b", "x\n2\n")]);
        let around = "a-2-2\na:3:x\na-4-4\n--\na-7-7\na:8:x\na:9:x\n--\nb:1:x\nb-2-2";
        let page =
            "--\na-7-7\n(lines 4 to 5; there are more: go on with offset=5, or narrow the search)";
        check(
            &root,
            &[
                (CONTENT, "x", json!({"-C": 1}), around),
                (CONTENT, "x", json!({"context": "1"}), around),
                (CONTENT, "x", json!({"-A": 1, "-B": 1}), around),
                (CONTENT, "4", json!({"-A": 1, "-n": false}), "a:4\na-5"),
                (CONTENT, "4", json!({"-C": 9, "-A": 0, "-B": 1}), "a-3-x\na:4:4"),
                (CONTENT, "x", json!({"-C": 1, "offset": 3, "head_limit": 2}), page),
                (FILES, "2", json!({"-C": 1}), "Found 2 files\na\nb"),
                (COUNT, "2", json!({"-C": 1}), "a:1\nb:1"),
            ],
        );
    }

    #[test]
    fn matches_across_lines() {
        let (_dir, root) = tree(&[("a", "fn a(\n  b\n)\nfn c()\n")]);
        let multiline = json!({"multiline": true});
        check(
            &root,
            &[
                (CONTENT, "a.*?\\)", multiline.clone(), "a:1:fn a(\na:2:  b\na:3:)"),
                (COUNT, "\\(\n", multiline.clone(), "a:1"),
                (COUNT, "[abc]", multiline, "a:3"),
                (FILES, "a.*b", json!({}), "No files found"),
            ],
        );
    }

    #[test]
    fn which_files() {
        let (_dir, root) = tree(&[
            (".gitignore", "*.log\nout/\n"),
            ("a.log", "x"),
            ("out/b.rs", "x"),
            (".hidden/c.py", "x"),
            ("src/d.rs", "x"),
            ("src/.git/e.rs", "x"),
            ("src/deep/f.rs", "x"),
        ]);
        symlink("src/d.rs", root.join("link.rs")).unwrap();
        for (more, expected) in [
            (json!({}), ".hidden/c.py src/d.rs src/deep/f.rs"),
            (json!({"glob": "*.{rs,md}"}), "src/d.rs src/deep/f.rs"),
            (json!({"glob": "/src/*.rs"}), "src/d.rs"),
            (json!({"glob": "!src/**"}), ".hidden/c.py"),
            (json!({"glob": "deep/**", "path": "src"}), "src/deep/f.rs"),
            (json!({"type": "py"}), ".hidden/c.py"),
            // Asked for by name, whatever excludes them.
            (json!({"path": "a.log"}), "a.log"),
            (json!({"path": "out"}), "out/b.rs"),
            (json!({"path": "src/.git"}), "src/.git/e.rs"),
            (json!({"path": "link.rs"}), "src/d.rs"),
        ] {
            let found = grep(&root, FILES, "^x", &more);
            assert_eq!(found.lines().skip(1).collect::<Vec<_>>().join(" "), expected, "{more}");
        }
    }

    #[test]
    fn pages() {
        let names: Vec<_> = (0..100).map(|n| format!("{n:02}")).collect();
        let (_dir, root) = tree(&names.iter().map(|name| (&**name, "x\nx\n")).collect::<Vec<_>>());
        let page = |offset: u64, limit: u64| {
            grep(&root, FILES, "x", &json!({"offset": offset, "head_limit": limit}))
        };
        let more = "there are more: go on with offset=2, or narrow the search)";
        assert_eq!(page(0, 2), format!("Found at least 3 files\n00\n01\n(files 1 to 2; {more}"));
        assert!(page(97, 2).starts_with("Found at least 100 files\n97\n98\n(files 98 to 99; "));
        assert_eq!(page(98, 2), "Found 100 files\n98\n99");
        assert_eq!(page(98, u64::MAX), "Found 100 files\n98\n99");
        assert_eq!(page(100, 0), "(no more files: offset=100, but there are only 100)");
        assert_eq!(page(0, 0), format!("Found 100 files\n{}", names.join("\n")));
        // 200 lines are within the default limit; 299 with the separators are not.
        let lines = |more| grep(&root, CONTENT, "x", &more).lines().count();
        assert_eq!((lines(json!({})), lines(json!({"-C": 1}))), (200, 251));
    }

    #[test]
    fn long_lines_and_long_answers_are_cut() {
        let most = "é".repeat(MAX_LINE);
        let (_dir, root) = tree(&[("a", &most), ("b", &format!("{most}é"))]);
        let cut = format!("a:1:{most}\nb:1:{most}… [line cut at 2000 characters]");
        assert_eq!(grep(&root, CONTENT, "é", &json!({})), cut);

        let line = format!("{}\n", "x".repeat(999));
        let (_dir, root) = tree(&[("a", &line.repeat(700)), ("b", &line.repeat(700))]);
        let page = |offset| grep(&root, CONTENT, "x", &json!({"head_limit": 0, "offset": offset}));
        let first = page(0);
        let shown = first.lines().filter(|line| line.ends_with('x')).count();
        assert!(first.len() <= MAX_BYTES && first.len() > MAX_BYTES / 10 * 9);
        assert!(first.contains(&format!("go on with offset={shown},")), "{shown}");
        assert!(first.ends_with(TRUNCATED_SUFFIX));
        let second = page(shown);
        assert_eq!(second.lines().filter(|line| line.ends_with('x')).count(), 1400 - shown);
        assert!(second.ends_with('x'));
    }

    #[test]
    fn bytes_that_are_no_utf8() {
        let (_dir, root) = tree(&[("late", &format!("{}\0", "x\n".repeat(100_000)))]);
        let utf16 = "\u{feff}wide x\n".encode_utf16().flat_map(u16::to_le_bytes);
        fs::write(root.join("bin"), b"x\n\0x\n").unwrap();
        fs::write(root.join("latin"), b"x\xe9\n").unwrap();
        fs::write(root.join("wide"), utf16.collect::<Vec<_>>()).unwrap();
        let note = "bin: binary file matches (found a NUL byte around offset 2)";
        check(
            &root,
            &[
                (FILES, "x", json!({}), "Found 3 files\nlate\nlatin\nwide"),
                (CONTENT, "x", json!({"glob": "!late"}), "latin:1:x\u{fffd}\nwide:1:wide x"),
                (CONTENT, "x", json!({"path": "bin", "-C": 1}), note),
                (CONTENT, "x\n", json!({"path": "bin", "multiline": true}), note),
                (COUNT, "x", json!({"path": "bin"}), "bin:2"),
                (FILES, "x", json!({"path": "bin"}), "Found 1 file\nbin"),
            ],
        );
    }

    #[test]
    fn what_is_refused() {
        let (_dir, root) = tree(&[("a", "x")]);
        let _socket = UnixListener::bind(root.join("socket")).unwrap();
        for (input, expected) in [
            (json!({"pattern": "("}), "unclosed group"),
            (json!({"pattern": "a\nb"}), "set `multiline` to match across lines"),
            (json!({"pattern": "x", "glob": "[a"}), "`glob`: error parsing glob"),
            (json!({"pattern": "x", "type": "nosuch"}), "unrecognized file type: nosuch; use"),
            (json!({"pattern": "x", "path": "b"}), "/b does not exist; check"),
            (json!({"pattern": "x", "path": ""}), "`path`: the path is empty"),
            (json!({"pattern": "x", "path": "a\0"}), "`path`: the path contains a NUL byte"),
            (json!({"pattern": "x", "path": "socket"}), "/socket is neither a file nor"),
            (json!({"pattern": "x", "path": "/proc/self/mem"}), "cannot be read (Input/output"),
            (json!({"pattern": "x", "output_mode": "lines"}), "unknown value `lines`"),
            (json!({"pattern": "x", "-D": 1}), "unknown field `-D`"),
            (json!({}), "missing field `pattern`"),
        ] {
            let refusal = grep_until(&root, &input, &patient()).unwrap_err();
            assert!(matches!(refusal, Refusal::Rejected(_)), "{refusal:?}");
            assert!(reason(&refusal).contains(expected), "{refusal:?}");
        }
        // In a directory, what cannot be read is skipped.
        let query =
            Query::new(&parse("Grep", &json!({"pattern": "x"})).unwrap(), &Redactor::default())
                .unwrap();
        let files = [PathBuf::from("/proc/self/mem"), root.join("gone"), root.join("a")];
        assert_eq!(query.search_files(&files, &patient()).unwrap().entries, 1);
    }

    #[test]
    fn stops_when_told() {
        let (_dir, root) = tree(&[("a", "x")]);
        for path in [".", "a"] {
            let late = Halt::new(&CancellationToken::new(), Duration::ZERO);
            let refusal = grep_until(&root, &json!({"pattern": "x", "path": path}), &late);
            assert!(matches!(refusal, Err(Refusal::Internal(text)) if text.contains("timed out")));
        }
    }

    #[test]
    fn schema_and_effects() {
        let tool = crate::find("Grep").unwrap();
        let schema = tool.input_schema();
        let keys: Vec<_> = schema["properties"].as_object().unwrap().keys().map(|k| &**k).collect();
        let expected =
            "pattern path glob type output_mode -A -B -C context -n -i head_limit offset";
        assert_eq!(keys.join(" "), format!("{expected} multiline"));
        assert_eq!(schema["required"], json!(["pattern"]));
        assert_eq!(schema["additionalProperties"], json!(false));
        assert_eq!(schema["properties"]["-A"]["type"], json!(["integer", "null"]));
        assert_eq!(schema["properties"]["-n"]["type"], json!(["boolean", "null"]));
        let input = json!({"pattern": "x", "path": "../y"});
        let effects = tool.prepare(&input, &Place::at("/no/such")).unwrap();
        assert_eq!(effects, Effects::read(ona_effects::path::Target::real("/no/y".into())));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn finds_what_a_naive_scan_finds(
            files in prop::collection::btree_map(
                "([.]?[a-c-]{1,2}/){0,2}[.]?[a-c-]{1,2}[.]t", "[xyzé\n]{0,12}", 0..24
            ),
            pattern in "[\\^]?[xyz.é]{1,2}[*+?]?[xz]?[$]?",
        ) {
            let (_dir, root) = tree(&files.iter().map(|(p, t)| (&**p, &**t)).collect::<Vec<_>>());
            let regex = RegexMatcher::new(&pattern).unwrap();
            let matches = |text: &str| text.lines().any(|line| regex.is_match(line.as_bytes()).unwrap());
            let expected = files.iter().filter(|(_, text)| matches(text)).map(|(path, _)| Path::new(path));
            let expected: std::collections::BTreeSet<_> = expected.collect();
            let found = grep(&root, FILES, &pattern, &json!({"head_limit": 0}));
            let found: Vec<_> = found.lines().skip(1).map(Path::new).collect();
            prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
