//! The text of PDF files, page by page.
//!
//! Parsing an untrusted PDF may panic, loop or overflow the stack inside a
//! third-party library. Panics are caught in [`extract`]; for the rest the caller runs it in a child
//! process. Nothing here writes to stdout; a caught panic leaves its usual message on stderr.

use std::any::Any;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pdf_extract::{Document, Error, OutputError, PlainTextOutput, output_doc_page};
use serde::{Deserialize, Serialize};

/// The limit for the pages of one request.
const MAX_RANGE: u32 = 20;
/// A document up to this many pages is read whole when no range is asked for.
const MAX_WHOLE: u32 = 10;

/// Why a PDF, or some pages of it, cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PdfError {
    /// The range is neither a page nor two pages with a dash between.
    #[error(
        "`{0}` is not a page range; give one page like \"3\" or a first and last page like \"1-5\""
    )]
    NotARange(String),
    /// The range names page 0.
    #[error("`{0}` names page 0; pages start at 1")]
    PageZero(String),
    /// The last page comes before the first.
    #[error("the page range `{0}` runs backwards; give the first page, then the last")]
    Backwards(String),
    /// More pages than one request may name.
    #[error("`{0}` is more than {MAX_RANGE} pages; ask for at most {MAX_RANGE} at a time")]
    TooManyPages(String),
    /// A long document, and no range asked for.
    #[error(
        "the PDF has {0} pages, too many to read at once; ask for some with `pages`, \
         for example \"1-{MAX_WHOLE}\" (at most {MAX_RANGE} at a time)"
    )]
    NeedsRange(usize),
    /// The range begins after the last page.
    #[error("page {first} is beyond the end: the PDF has {total} page(s); ask for pages up to it")]
    BeyondEnd {
        /// The first page asked for.
        first: u32,
        /// How many pages there are.
        total: usize,
    },
    /// The document cannot be read without a password.
    #[error(
        "the PDF is encrypted and its text cannot be read without the password; save a decrypted \
         copy first, for example with `qpdf --decrypt --password=… in.pdf out.pdf`"
    )]
    Encrypted,
    /// The document has no pages.
    #[error("the PDF has no pages; check that the file is complete")]
    NoPages,
    /// The document cannot be parsed.
    #[error("the PDF cannot be read ({0}); check that the file is complete and really a PDF")]
    Broken(String),
}

/// Reads a page range: `"3"` or `"1-5"`, counted from 1, at most 20 pages.
pub fn page_range(spec: &str) -> Result<RangeInclusive<u32>, PdfError> {
    let page = |text: &str| {
        let text = text.trim();
        // `parse` alone would take "+3".
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let page = digits.then(|| text.parse::<u32>().ok()).flatten();
        page.ok_or_else(|| PdfError::NotARange(spec.to_owned()))
    };
    let (first, last) = match spec.split_once('-') {
        Some((first, last)) => (page(first)?, page(last)?),
        None => (page(spec)?, page(spec)?),
    };
    if first == 0 || last == 0 {
        Err(PdfError::PageZero(spec.to_owned()))
    } else if last < first {
        Err(PdfError::Backwards(spec.to_owned()))
    } else if last - first >= MAX_RANGE {
        Err(PdfError::TooManyPages(spec.to_owned()))
    } else {
        Ok(first..=last)
    }
}

/// What is wanted of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All of it, if it is short.
    Whole,
    /// These pages.
    Pages(RangeInclusive<u32>),
    /// From the beginning on, until the text has this many bytes.
    Bytes(usize),
}

/// The text of some pages. Converting a page takes a while, and a document may have thousands: no other page is converted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extract {
    /// How many pages the document has.
    pub total: usize,
    /// The number of the first page here.
    pub first: u32,
    /// The pages from there on.
    pub pages: Vec<String>,
}

/// The pages to show of a document with `total` pages.
fn choose(total: usize, wanted: &Wanted) -> Result<RangeInclusive<u32>, PdfError> {
    let count = u32::try_from(total).unwrap_or(u32::MAX);
    match wanted {
        _ if count == 0 => Err(PdfError::NoPages),
        Wanted::Whole if count > MAX_WHOLE => Err(PdfError::NeedsRange(total)),
        Wanted::Whole | Wanted::Bytes(_) => Ok(1..=count),
        Wanted::Pages(range) if *range.start() > count => {
            Err(PdfError::BeyondEnd { first: *range.start(), total })
        }
        Wanted::Pages(range) => Ok(*range.start()..=count.min(*range.end())),
    }
}

/// The text of the pages that are wanted. A page that cannot be read says so in its text; when no page of the document
/// can, that is the error.
pub fn extract(bytes: &[u8], wanted: &Wanted) -> Result<Extract, PdfError> {
    let broken = |panic: Panic| PdfError::Broken(panic.to_string());
    let loaded = guarded(|| Document::load_mem(bytes)).map_err(broken)?;
    let document = loaded.map_err(|error| explain(&error))?;
    // A document that opens with an empty password is decrypted, and the key gone, by now.
    if document.trailer.has(b"Encrypt") {
        return Err(PdfError::Encrypted);
    }
    let numbers: Vec<u32> = guarded(|| document.get_pages()).map_err(broken)?.into_keys().collect();
    let total = numbers.len();
    let range = choose(total, wanted)?;
    let first = *range.start();
    let mut room = match wanted {
        Wanted::Bytes(most) => *most,
        _ => usize::MAX,
    };
    let (mut pages, mut unreadable) = (Vec::new(), Vec::new());
    for number in range {
        let Some(number) = numbers.get(number as usize - 1) else { break };
        let text = page_text(&document, *number).unwrap_or_else(|reason| {
            let told = format!("[this page cannot be read: {reason}]");
            unreadable.push(reason);
            told
        });
        let rest = room.checked_sub(text.len());
        pages.push(text);
        let Some(rest) = rest else { break };
        room = rest;
    }
    match unreadable.first() {
        Some(reason) if unreadable.len() == total => Err(PdfError::Broken(reason.to_string())),
        _ => Ok(Extract { total, first, pages }),
    }
}

/// Why a page cannot be read.
#[derive(Debug, thiserror::Error)]
enum PageError {
    #[error(transparent)]
    Panic(#[from] Panic),
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Third-party code panicked, with this message.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Panic {
    message: String,
}

/// One page at a time: `extract_text_from_mem_by_pages` silently ends at the first broken one.
fn page_text(document: &Document, number: u32) -> Result<String, PageError> {
    let mut text = String::new();
    guarded(|| output_doc_page(document, &mut PlainTextOutput::new(&mut text), number))??;
    Ok(text)
}

/// Runs third-party code and turns a panic into an error. Its data is either only read or
/// discarded afterwards, so no broken state survives.
fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, Panic> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| Panic { message: message(&*panic) })
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown cause").to_owned()
}

fn explain(error: &Error) -> PdfError {
    match error {
        Error::Decryption(_) | Error::InvalidPassword | Error::UnsupportedSecurityHandler(_) => {
            PdfError::Encrypted
        }
        other => PdfError::Broken(other.to_string()),
    }
}

impl Extract {
    /// Shows the pages, each under its number.
    pub fn render(&self) -> String {
        let mut shown = String::new();
        for (number, page) in (self.first..).zip(&self.pages) {
            let text = match page.trim() {
                "" => "[no text on this page]",
                text => text,
            };
            shown.push_str(&format!("--- page {number} ---\n{text}\n"));
        }
        shown
    }

    /// Whether it has every page of the document.
    pub fn is_whole(&self) -> bool {
        self.pages.len() == self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PDF with one line of text per page, and further entries for its trailer.
    fn pdf(pages: &[&str], trailer: &str) -> Vec<u8> {
        let kids: Vec<_> = (0..pages.len()).map(|page| format!("{} 0 R", 4 + 2 * page)).collect();
        let mut objects = vec![
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), pages.len()),
            "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
        ];
        for (page, text) in pages.iter().enumerate() {
            let content = format!("BT /F1 12 Tf 72 700 Td ({text}) Tj ET");
            objects.push(format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {} 0 R \
                 /Resources << /Font << /F1 3 0 R >> >> >>",
                5 + 2 * page
            ));
            objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
        }
        let mut file = "%PDF-1.4\n".to_owned();
        let mut table = "0000000000 65535 f \n".to_owned();
        for (index, object) in objects.iter().enumerate() {
            table.push_str(&format!("{:010} 00000 n \n", file.len()));
            file.push_str(&format!("{} 0 obj\n{object}\nendobj\n", index + 1));
        }
        let (size, start) = (objects.len() + 1, file.len());
        file.push_str(&format!(
            "xref\n0 {size}\n{table}trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\n\
             startxref\n{start}\n%%EOF\n"
        ));
        file.into_bytes()
    }

    fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
        assert_eq!(from.len(), to.len(), "offsets in the file must stay right");
        String::from_utf8(bytes.to_vec()).unwrap().replacen(from, to, 1).into_bytes()
    }

    #[test]
    fn ranges_are_read() {
        assert_eq!(page_range("3"), Ok(3..=3));
        assert_eq!(page_range(" 1 - 5 "), Ok(1..=5));
        assert_eq!(page_range("81-100"), Ok(81..=100));
        for (spec, expected) in [
            ("", "`` is not a page range; give one page like \"3\""),
            ("+3", "`+3` is not a page range"),
            ("1-", "`1-` is not a page range"),
            ("1,3", "`1,3` is not a page range"),
            ("1-2-3", "`1-2-3` is not a page range"),
            ("99999999999", "`99999999999` is not a page range"),
            ("0-3", "`0-3` names page 0; pages start at 1"),
            ("5-3", "the page range `5-3` runs backwards"),
            ("1-21", "`1-21` is more than 20 pages; ask for at most 20 at a time"),
            ("1-4294967295", "`1-4294967295` is more than 20 pages"),
        ] {
            let message = page_range(spec).unwrap_err().to_string();
            assert!(message.starts_with(expected), "{message}");
        }
    }

    #[test]
    fn pages_are_chosen() {
        let pages = Wanted::Pages(5..=8);
        assert_eq!(choose(10, &Wanted::Whole), Ok(1..=10));
        assert_eq!(choose(30, &pages), Ok(5..=8));
        assert_eq!(choose(6, &pages), Ok(5..=6));
        assert_eq!(choose(0, &Wanted::Whole), Err(PdfError::NoPages));
        let long = choose(11, &Wanted::Whole).unwrap_err().to_string();
        assert!(long.contains("11 pages") && long.contains("`pages`"), "{long}");
        let beyond = choose(4, &pages).unwrap_err().to_string();
        assert!(beyond.contains("page 5") && beyond.contains("4 page(s)"), "{beyond}");
    }

    #[test]
    fn text_comes_page_by_page() {
        let document = pdf(&["Hello one", "", "And three"], "");
        let whole = extract(&document, &Wanted::Whole).unwrap();
        assert_eq!(
            whole.render(),
            "--- page 1 ---\nHello one\n--- page 2 ---\n[no text on this page]\n\
             --- page 3 ---\nAnd three\n"
        );
        let last = extract(&document, &Wanted::Pages(3..=9)).unwrap();
        assert_eq!(last.render(), "--- page 3 ---\nAnd three\n");
        assert_eq!((whole.is_whole(), last.is_whole(), last.total), (true, false, 3));
        let begin = extract(&document, &Wanted::Bytes(5)).unwrap();
        assert_eq!((begin.pages.len(), begin.is_whole()), (1, false));
    }

    #[test]
    fn only_the_pages_that_are_wanted_are_converted() {
        let texts: Vec<String> = (1..=2_415).map(|page| format!("This is page {page}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        // The library panics at a page without a MediaBox: a trap on all pages but the first five and the last.
        let document = String::from_utf8(pdf(&texts, "")).unwrap();
        let mut page = 0;
        let mut parts = document.split("/MediaBox");
        let mut trapped = parts.next().unwrap().to_owned();
        for part in parts {
            page += 1;
            trapped.push_str(if (6..2_415).contains(&page) { "/MadeaBox" } else { "/MediaBox" });
            trapped.push_str(part);
        }
        let begin = extract(trapped.as_bytes(), &Wanted::Pages(1..=5)).unwrap();
        assert_eq!((begin.total, begin.pages.len()), (2_415, 5));
        assert!(begin.render().contains("--- page 5 ---\nThis is page 5\n"), "{}", begin.render());
        let end = extract(trapped.as_bytes(), &Wanted::Pages(2_415..=2_420)).unwrap();
        assert_eq!(end.render(), "--- page 2415 ---\nThis is page 2415\n");
        let beginning = extract(trapped.as_bytes(), &Wanted::Bytes(40)).unwrap();
        assert_eq!(beginning.pages.len(), 3);
    }

    #[test]
    fn a_broken_page_costs_no_other() {
        // Without a MediaBox the library panics.
        let broken = replaced(&pdf(&["one", "two"], ""), "/MediaBox", "/MadeaBox");
        let pages = extract(&broken, &Wanted::Whole).unwrap().pages;
        assert!(pages[0].starts_with("[this page cannot be read: "), "{}", pages[0]);
        assert_eq!(pages[1].trim(), "two");
        let alone = replaced(&pdf(&["one"], ""), "/MediaBox", "/MadeaBox");
        assert!(matches!(extract(&alone, &Wanted::Whole), Err(PdfError::Broken(_))));
    }

    #[test]
    fn what_is_no_readable_pdf_is_refused() {
        for bytes in [&b""[..], b"hello", b"%PDF-1.4\n%%EOF"] {
            assert!(matches!(extract(bytes, &Wanted::Whole), Err(PdfError::Broken(_))));
        }
        assert_eq!(extract(&pdf(&[], ""), &Wanted::Whole), Err(PdfError::NoPages));
    }

    #[test]
    fn encrypted_documents_open_only_without_a_password() {
        let encrypted = |password: &str| {
            let id = "/ID [<0123> <0123>]";
            let mut document = Document::load_mem(&pdf(&["secret"], id)).unwrap();
            let version = pdf_extract::EncryptionVersion::V1 {
                document: &document,
                owner_password: "owner",
                user_password: password,
                permissions: pdf_extract::Permissions::all(),
            };
            let state = pdf_extract::EncryptionState::try_from(version).unwrap();
            document.encrypt(&state).unwrap();
            let mut bytes = Vec::new();
            document.save_to(&mut bytes).unwrap();
            bytes
        };
        let read = |bytes: &[u8]| extract(bytes, &Wanted::Whole);
        assert_eq!(read(&encrypted("")).unwrap().pages[0].trim(), "secret");
        assert_eq!(read(&encrypted("password")), Err(PdfError::Encrypted));
        let inline = pdf(&["secret"], "/Encrypt << /Filter /Standard /V 1 /R 2 >>");
        assert_eq!(read(&inline), Err(PdfError::Encrypted));
    }

    #[test]
    fn a_file_cut_anywhere_is_no_panic() {
        let whole = pdf(&["one", "two"], "");
        for cut in (0..whole.len()).step_by(5) {
            let _ = extract(&whole[..cut], &Wanted::Whole);
        }
    }
}
