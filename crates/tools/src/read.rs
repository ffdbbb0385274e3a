//! Read: shows a file to the model.
//!
//! Text comes as numbered lines in a window, pictures as attachments, PDFs page by page, notebooks cell
//! by cell, anything else as a hex dump. In every case the hash of the whole file goes to the
//! record, so that a later write can check whether the file has changed.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use ona_effects::Effects;
use ona_files::MAX_WHOLE;
use ona_files::text::{Kind, is_bytewise, sniff};
use ona_mcp::Hints;
use ona_policy::RuleSubject;
use ona_policy::secrets::Redactor;
use ona_types::{Attachment, ContentHash, FileView, Hasher, Seen, ToolKind, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::context::{Place, ToolContext, ToolSettings};
use crate::facts::Facts;
use crate::helper::read_aside;
use crate::input::{InputError, lenient_count};
use crate::text::{self, Lines, Window, count};
use crate::tool::{BuiltIn, Refusal, blocking};
use crate::write::{existing, target, unreadable};
use crate::{notebook, pdf, picture};

/// The default number of lines.
const DEFAULT_LINES: u64 = 2000;
/// The default number of rows of a hex dump.
const DEFAULT_ROWS: u64 = 256;
/// Pictures, PDFs and notebooks are held in memory; larger ones are refused.
const MAX_DOCUMENT: u64 = 32 << 20;
/// PDFs up to this size also go to the model as they are.
pub(crate) const MAX_ATTACHMENT: usize = 20 << 20;
/// The time limit for a PDF: a hostile one may loop forever.
const PDF_TIMEOUT: Duration = Duration::from_secs(60);
/// The hidden command that reads a PDF in a child process.
pub const PDF_TEXT: &str = "pdf-text";

pub(crate) struct Read;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadInput {
    /// The file, as an absolute path.
    file_path: String,
    /// The first line to show, counted from 1.
    #[serde(default, deserialize_with = "lenient_count")]
    offset: Option<u64>,
    /// How many lines to show.
    #[serde(default, deserialize_with = "lenient_count")]
    limit: Option<u64>,
    /// PDF only: the pages to show, such as "3" or "1-5"; at most 20.
    pages: Option<String>,
}

impl BuiltIn for Read {
    const NAME: &'static str = "Read";
    const DESCRIPTION: &'static str = "Reads a file. Text is shown with line numbers, up to 2000 lines; \
        use offset and limit for a window of a longer file. Also shows images, PDFs (pages), Jupyter \
        notebooks, and a hex dump of other binary files. It cannot list directories: use Glob or Bash.";
    const FACTS: Facts = Facts {
        kind: ToolKind::Read,
        rules: RuleSubject::Reads,
        free_in_accept_edits: true,
        ..Facts::plain(Hints::READS)
    };
    type Input = ReadInput;

    fn effects(input: &ReadInput, place: &Place) -> Result<Effects, InputError> {
        if input.limit == Some(0) {
            return Err(InputError::new(Self::NAME, "`limit` is 0: leave it out for the default"));
        }
        if let Some(pages) = &input.pages {
            pdf::page_range(pages)
                .map_err(|why| InputError::new(Self::NAME, format!("`pages`: {why}")))?;
        }
        Ok(Effects::read(target::<Self>(place, "file_path", &input.file_path)?))
    }

    fn file_shown(input: &ReadInput) -> Option<String> {
        Some(input.file_path.clone())
    }

    async fn run(input: ReadInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let path = cx.judged_path()?;
        let (settings, cwd, pages) =
            (cx.settings.clone(), cx.place.cwd.clone(), input.pages.clone());
        let looked = blocking(cx.cancel, {
            let (path, cancel) = (path.clone(), cx.cancel.clone());
            let redactor = cx.redactor.clone();
            move || look(&path, &input, &settings, &cwd, &redactor, cancel)
        });
        let (shown, hash) = match looked.await? {
            (Looked::Shown(shown), hash) => (shown, hash),
            (Looked::Pdf(bytes), hash) => {
                (show_pdf(&path, bytes, pages.as_deref(), cx).await?, hash)
            }
        };
        check_tokens(&path, &shown.content, cx.settings.read_max_tokens)?;
        let mut output = ToolOutput::success(shown.content);
        output.attachments = shown.attachments;
        Ok(match hash {
            Some(hash) => output.with_view(FileView { path, hash, seen: shown.seen }),
            // It is too large to be edited by a tool anyway.
            None => output,
        })
    }
}

/// The result of a first look at a file; a PDF needs a child process to be read.
enum Looked {
    Shown(Shown),
    Pdf(Vec<u8>),
}

/// What is shown of a file.
struct Shown {
    content: String,
    attachments: Vec<Attachment>,
    seen: Seen,
}

impl Shown {
    fn text(content: String, seen: Seen) -> Self {
        Self { content, attachments: Vec::new(), seen }
    }
}

fn look(
    path: &Path,
    input: &ReadInput,
    settings: &ToolSettings,
    cwd: &Path,
    redactor: &Redactor,
    cancel: CancellationToken,
) -> Result<(Looked, Option<ContentHash>), Refusal> {
    if path.is_dir() {
        return Err(Refusal::rejected(format!(
            "{} is a directory: list it with Glob (pattern \"*\") or with Bash (ls)",
            path.display()
        )));
    }
    let Some(file) = existing(path)? else { return Err(missing(path, cwd)) };
    let size = file.metadata().map_err(|error| unreadable(path, &error))?.len();
    let mut reader = Reader::new(file, size, cancel);
    let start = reader.start(64 * 1024).map_err(|error| unreadable(path, &error))?;
    let is_pdf = start.starts_with(b"%PDF-");
    if input.pages.is_some() && !is_pdf {
        return Err(Refusal::rejected(format!("{} is not a PDF: omit `pages`", path.display())));
    }
    let looked = if let Some(format) = picture::sniff(start) {
        Looked::Shown(show_picture(path, &mut reader, size, format)?)
    } else if is_pdf {
        bounded(path, size)?;
        Looked::Pdf(reader.whole().map_err(|error| unreadable(path, &error))?)
    } else if path.extension().is_some_and(|extension| extension == "ipynb") {
        Looked::Shown(show_notebook(path, &mut reader, size, input, settings, redactor)?)
    } else {
        Looked::Shown(show_text(path, &mut reader, size, input, settings, redactor)?)
    };
    let hash = reader.finish().map_err(|error| unreadable(path, &error))?;
    Ok((looked, hash))
}

/// As much of a file of more than [`MAX_WHOLE`] as is read.
const MAX_LOOK: u64 = 64 << 20;

/// A file read once from front to back, hashed on the way.
struct Reader {
    file: File,
    start: Vec<u8>,
    hasher: Hasher,
    /// How many bytes are left of those that are read at all.
    left: u64,
    cancel: CancellationToken,
}

impl Reader {
    fn new(file: File, size: u64, cancel: CancellationToken) -> Self {
        // What cannot be read to its end is only looked into.
        let left = if size > MAX_WHOLE { MAX_LOOK } else { MAX_WHOLE };
        Self { file, start: Vec::new(), hasher: Hasher::new(), left, cancel }
    }

    /// The first bytes, without consuming them.
    fn start(&mut self, most: u64) -> io::Result<&[u8]> {
        self.file.by_ref().take(most).read_to_end(&mut self.start)?;
        Ok(&self.start)
    }

    /// Passes the rest on in pieces, up to the limit.
    fn each(&mut self, mut take: impl FnMut(&[u8])) -> io::Result<()> {
        let start = std::mem::take(&mut self.start);
        let mut hasher = std::mem::take(&mut self.hasher).update(&start);
        take(&start);
        let mut buffer = vec![0; 256 * 1024];
        loop {
            if self.cancel.is_cancelled() {
                return Err(io::Error::other("interrupted"));
            }
            let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
            match self.file.read(&mut buffer[..most]) {
                Ok(0) => break,
                Ok(count) => {
                    self.left -= count as u64;
                    hasher = hasher.update(&buffer[..count]);
                    take(&buffer[..count]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.hasher = hasher;
        Ok(())
    }

    fn whole(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.each(|piece| bytes.extend_from_slice(piece))?;
        Ok(bytes)
    }

    /// The hash of the file; nothing if not all of it was read.
    fn finish(mut self) -> io::Result<Option<ContentHash>> {
        self.each(|_| {})?;
        let is_whole = self.left > 0 || self.file.read(&mut [0])? == 0;
        Ok(is_whole.then(|| self.hasher.finish()))
    }
}

fn show_text(
    path: &Path,
    reader: &mut Reader,
    size: u64,
    input: &ReadInput,
    settings: &ToolSettings,
    redactor: &Redactor,
) -> Result<Shown, Refusal> {
    let asked = input.offset.is_some() || input.limit.is_some();
    let first = input.offset.unwrap_or(1).max(1);
    let whole = reader.start.len() as u64 == size || size == 0;
    match sniff(&reader.start, whole) {
        Kind::Text(encoding, mark) => {
            if !asked && size > settings.read_max_bytes {
                return Err(too_large(path, size, settings.read_max_bytes));
            }
            let count = input.limit.unwrap_or(DEFAULT_LINES);
            let mut window = Window::new(first, count, encoding, redactor);
            let read = if is_bytewise(encoding) {
                let mut skip = mark;
                reader.each(|piece| {
                    let skipped = skip.min(piece.len());
                    skip -= skipped;
                    window.feed(&piece[skipped..]);
                })
            } else {
                // Its line ends cannot be found in the raw bytes.
                window = Window::new(first, count, encoding_rs::UTF_8, redactor);
                bounded(path, size)?;
                reader.whole().map(|bytes| window.feed(encoding.decode(&bytes).0.as_bytes()))
            };
            read.map_err(|error| unreadable(path, &error))?;
            let note = match encoding.name() {
                "UTF-8" => String::new(),
                name => format!(", decoded from {name}"),
            };
            let lines = window.finish();
            let note = match size > MAX_WHOLE {
                true => format!("{note}, counted in its first 64 MiB"),
                false => note,
            };
            Ok(Shown::text(describe(path, &lines, &note), lines.seen()))
        }
        Kind::Binary => {
            let rows = input.limit.unwrap_or(DEFAULT_ROWS);
            let mut dump = Dump::new(first, rows, redactor);
            reader.each(|piece| dump.feed(piece)).map_err(|error| unreadable(path, &error))?;
            let (content, whole) = dump.finish(path, size);
            Ok(Shown::text(content, if whole { Seen::Whole } else { Seen::part() }))
        }
    }
}

fn describe(path: &Path, lines: &Lines, note: &str) -> String {
    let shown = path.display();
    let total = count(lines.total, "line");
    if lines.total == 0 {
        return format!("{shown} exists but is empty (0 lines)");
    }
    if lines.lines.is_empty() {
        return format!("{shown} has only {total}: offset {} is past the end", lines.first);
    }
    let cut = match lines.cut_lines {
        0 => String::new(),
        cut => format!(", {} cut at {} characters", count(cut, "line"), text::MAX_LINE),
    };
    let last = lines.first + lines.lines.len() as u64 - 1;
    let window = if lines.first == 1 && last == lines.total {
        total
    } else {
        format!("lines {}-{last} of {total}", lines.first)
    };
    format!("{shown} ({window}{cut}{note})\n{}", lines.numbered())
}

/// A window of a hex dump; its rows are its lines.
struct Dump<'a> {
    rows: Range<u64>,
    position: u64,
    /// The rows, and what is around them.
    bytes: Vec<u8>,
    redactor: &'a Redactor,
}

impl<'a> Dump<'a> {
    const ROW: u64 = 16;
    /// A secret that begins or ends in the rows is recognised by what is around them.
    const AROUND: u64 = 16 << 10;

    fn new(first: u64, count: u64, redactor: &'a Redactor) -> Self {
        let first = first - 1;
        let rows = first..first.saturating_add(count.min(4096));
        Self { rows, position: 0, bytes: Vec::new(), redactor }
    }

    /// The bytes of the rows.
    fn wanted(&self) -> Range<u64> {
        self.rows.start.saturating_mul(Self::ROW)..self.rows.end.saturating_mul(Self::ROW)
    }

    fn feed(&mut self, piece: &[u8]) {
        let Range { start, end } = self.wanted();
        let wanted = start.saturating_sub(Self::AROUND)..end.saturating_add(Self::AROUND);
        for (position, byte) in (self.position..).zip(piece) {
            if wanted.contains(&position) {
                self.bytes.push(*byte);
            } else if position >= wanted.end {
                break;
            }
        }
        self.position += piece.len() as u64;
    }

    fn finish(mut self, path: &Path, size: u64) -> (String, bool) {
        let size = size.max(self.position);
        let Range { start, end } = self.wanted();
        // Before they are laid out in rows, in which no secret would be recognised.
        let masked = match self.redactor.blank_bytes(&mut self.bytes) {
            0 => "",
            _ => "; secrets are masked with `*`",
        };
        let before = start.min(Self::AROUND);
        let within = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(self.bytes.len());
        let rows = &self.bytes[within(before)..within(before.saturating_add(end - start))];
        let mut out = format!(
            "{} is binary ({}, shown from byte {start}; offset and limit count rows of 16 bytes{masked})\n",
            path.display(),
            count(size, "byte"),
        );
        for (row, bytes) in rows.chunks(16).enumerate() {
            let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let text: String = bytes
                .iter()
                .map(|byte| if matches!(byte, 0x20..=0x7e) { char::from(*byte) } else { '.' })
                .collect();
            let position = start + row as u64 * Self::ROW;
            out.push_str(&format!("{position:08x}  {:<47}  {text}\n", hex.join(" ")));
        }
        (out, start == 0 && rows.len() as u64 == size)
    }
}

fn show_picture(
    path: &Path,
    reader: &mut Reader,
    size: u64,
    format: picture::Format,
) -> Result<Shown, Refusal> {
    bounded(path, size)?;
    let bytes = reader.whole().map_err(|error| unreadable(path, &error))?;
    let length = bytes.len() as u64;
    let picture = picture::prepare(&bytes, format)
        .map_err(|why| Refusal::rejected(format!("{}: {why}", path.display())))?;
    let resized = match picture.resized {
        None => String::new(),
        Some((width, height)) => format!(", shown at {width}x{height}"),
    };
    let content = format!(
        "{} is an image ({}, {}x{}, {}{resized})",
        path.display(),
        picture.media_type,
        picture.width,
        picture.height,
        count(length, "byte"),
    );
    let image =
        Attachment::Image { media_type: picture.media_type.to_owned(), data: picture.data_base64 };
    Ok(Shown { content, attachments: vec![image], seen: Seen::Whole })
}

/// A notebook that cannot be parsed is shown as text, so that it can be repaired.
fn show_notebook(
    path: &Path,
    reader: &mut Reader,
    size: u64,
    input: &ReadInput,
    settings: &ToolSettings,
    redactor: &Redactor,
) -> Result<Shown, Refusal> {
    bounded(path, size)?;
    let bytes = reader.whole().map_err(|error| unreadable(path, &error))?;
    let why = match std::str::from_utf8(&bytes) {
        Err(_) => "it is not UTF-8".to_owned(),
        Ok(text) => match notebook::render(text.strip_prefix('\u{feff}').unwrap_or(text), redactor)
        {
            Err(why) => why.to_string(),
            Ok(rendered) => {
                let cells = count(rendered.cells as u64, "cell");
                return Ok(Shown {
                    content: format!("{} ({cells})\n{}", path.display(), rendered.content),
                    attachments: rendered.attachments,
                    seen: Seen::Whole,
                });
            }
        },
    };
    reader.start = bytes;
    let hasher = std::mem::take(&mut reader.hasher);
    let mut shown = show_text(path, reader, size, input, settings, redactor)?;
    reader.hasher = hasher;
    shown.content = format!("(not shown as a notebook: {why})\n{}", shown.content);
    Ok(shown)
}

/// The text comes from a child process: a broken or hostile PDF can take that down, not the session.
async fn show_pdf(
    path: &Path,
    bytes: Vec<u8>,
    pages: Option<&str>,
    cx: &ToolContext<'_>,
) -> Result<Shown, Refusal> {
    let refuse = |why: String| Refusal::rejected(format!("{}: {why}", path.display()));
    let mut command = vec![PDF_TEXT];
    command.extend(pages.map(|pages| ["--pages", pages]).into_iter().flatten());
    // The bytes go back and forth: what was hashed is what is read.
    let read = read_aside(cx, &command, bytes.clone(), MAX_DOCUMENT as usize, PDF_TIMEOUT).await;
    let read = read.map_err(|why| match why.is_internal() {
        true => Refusal::Internal(why.to_string()),
        false => refuse(why.to_string()),
    })?;
    let text: pdf::Extract = serde_json::from_slice(&read.bytes)
        .map_err(|_| refuse("its text is too long to be read".into()))?;
    let whole = text.is_whole();
    let total = count(text.total as u64, "page");
    let content = format!("{} (PDF, {total})\n{}", path.display(), text.render());
    let attachments = if whole && bytes.len() <= MAX_ATTACHMENT {
        let data = base64::engine::general_purpose::STANDARD.encode(&bytes);
        vec![Attachment::Document { media_type: "application/pdf".to_owned(), data }]
    } else {
        Vec::new()
    };
    let seen = if whole { Seen::Whole } else { Seen::part() };
    Ok(Shown { content, attachments, seen })
}

fn bounded(path: &Path, size: u64) -> Result<(), Refusal> {
    if size > MAX_DOCUMENT { Err(too_large(path, size, MAX_DOCUMENT)) } else { Ok(()) }
}

fn too_large(path: &Path, size: u64, limit: u64) -> Refusal {
    Refusal::rejected(format!(
        "{} has {size} bytes, more than the {limit} that are read at once: read a window of it with \
         offset and limit, or search it with Grep",
        path.display()
    ))
}

/// The provider counts tokens its own way; about 3.5 bytes make one.
fn check_tokens(path: &Path, content: &str, most: u64) -> Result<(), Refusal> {
    let tokens = content.len() as u64 * 2 / 7;
    if tokens <= most {
        return Ok(());
    }
    Err(Refusal::rejected(format!(
        "{} would fill about {tokens} tokens, more than {most}: read a smaller window with offset and \
         limit, or search it with Grep",
        path.display()
    )))
}

/// A missing file, with the names that come close.
fn missing(path: &Path, cwd: &Path) -> Refusal {
    let mut message = format!("{} does not exist", path.display());
    let wanted = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let siblings = path.parent().and_then(|dir| dir.read_dir().ok());
    let close: Vec<String> = siblings
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| is_close(&name.to_lowercase(), &wanted))
        .take(3)
        .collect();
    if close.is_empty() {
        message.push_str(&format!(" (relative paths start in {})", cwd.display()));
    } else {
        message.push_str(&format!("; did you mean {}?", close.join(" or ")));
    }
    Refusal::rejected(message)
}

/// The same name in another case, or with another ending.
fn is_close(name: &str, wanted: &str) -> bool {
    let stem = |name: &str| Path::new(name).file_stem().map(|stem| stem.to_owned());
    name == wanted || (stem(name) == stem(wanted) && stem(name).is_some_and(|stem| stem.len() > 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dumps_show_offset_hex_and_text() {
        let redactor = Redactor::default();
        let mut dump = Dump::new(1, 10, &redactor);
        dump.feed(b"\x7fELF\x00");
        let (text, whole) = dump.finish(Path::new("/x"), 5);
        assert!(whole);
        assert!(text.contains("00000000  7f 45 4c 46 00"), "{text}");
        assert!(text.contains(".ELF."), "{text}");

        let mut dump = Dump::new(2, 1, &redactor);
        dump.feed(&[b'a'; 20]);
        dump.feed(&[b'b'; 20]);
        let (text, whole) = dump.finish(Path::new("/x"), 40);
        assert!(!whole);
        assert!(text.contains("00000010") && text.contains("aaaabbbbbbbbbbbb"), "{text}");
        assert_eq!(text.lines().count(), 2);
    }

    #[test]
    fn a_secret_across_rows_and_across_the_end_of_a_dump_is_masked() {
        let redactor = Redactor::knowing(["live-Secret-0123456789".to_owned()]);
        for first in 1..=3 {
            let mut dump = Dump::new(first, 1, &redactor);
            for byte in b"\0\0\0\0\0\0\0\0\0\0live-Secret-0123456789\0\0\0\0\0\0\0\0" {
                dump.feed(&[*byte]);
            }
            let (text, _) = dump.finish(Path::new("/x"), 40);
            let row = text.lines().nth(1).unwrap();
            assert!(!row.contains("live-S") && !row.contains("Secre") && !row.contains("789"));
            assert!(!row.contains("6c 69 76 65") && !row.contains("38 39"), "{text}");
            assert_eq!(row.contains("**"), first < 3, "{text}");
            assert!(row.starts_with(&format!("000000{}0 ", first - 1)), "{text}");
        }
    }

    #[test]
    fn close_names() {
        assert!(is_close("readme.md", "readme.md"));
        assert!(is_close("config.yaml", "config.yml"));
        assert!(!is_close("a.rs", "a.py"), "too short to mean anything");
        assert!(!is_close("other.md", "readme.md"));
    }
}
