//! What a response is, its bytes as text, and HTML as Markdown.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use htmd::HtmlToMarkdown;
use ona_files::text;

/// The hidden command by which the program turns HTML into Markdown for itself: the converter follows how elements
/// are nested, and a page can nest them until its stack is full.
pub const HTML_TEXT: &str = "html-text";

/// The stack the converter gets. Memory is taken only for what is used of it.
const STACK: usize = 256 << 20;
/// Elements whose content is not text.
const SKIPPED: [&str; 6] = ["script", "style", "svg", "template", "iframe", "object"];
/// How far into a page its own word about its encoding stands (HTML's rule).
const PRESCAN: usize = 1024;

/// A page, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Where it came from in the end.
    pub url: String,
    /// The HTTP status.
    pub status: u16,
    /// What it is, in words.
    pub kind: &'static str,
    /// How many bytes came, decompressed.
    pub bytes: usize,
    /// Its text.
    pub text: String,
    /// It was cut at the limit.
    pub cut: bool,
}

/// What can be read of the web.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// HTML, which becomes Markdown.
    Html,
    /// Any other text.
    Text,
    /// A PDF, of which the text is read.
    Pdf,
    /// The server does not say, or says nothing that helps: the bytes have to.
    Unsaid,
}

impl Kind {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Html => "HTML as Markdown",
            Self::Pdf => "the text of a PDF",
            Self::Text | Self::Unsaid => "text",
        }
    }
}

/// Types outside `text/` that are text all the same.
const TEXTS: &[&str] = &[
    "application/ecmascript",
    "application/graphql",
    "application/javascript",
    "application/json",
    "application/jsonl",
    "application/ld+json",
    "application/markdown",
    "application/ndjson",
    "application/sql",
    "application/toml",
    "application/x-javascript",
    "application/x-ndjson",
    "application/x-sh",
    "application/x-yaml",
    "application/xml",
    "application/yaml",
    "message/rfc822",
];

/// The server says that a page is of a type that cannot be read as text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{content_type}` cannot be read as text")]
pub(crate) struct NotText {
    pub(crate) content_type: String,
}

/// What a `Content-Type` promises.
pub(crate) fn promised(content_type: Option<&str>) -> Result<Kind, NotText> {
    let said = content_type.unwrap_or_default().split(';').next().unwrap_or_default();
    let said = said.trim().to_ascii_lowercase();
    Ok(match said.as_str() {
        "" | "application/octet-stream" | "binary/octet-stream" | "unknown/unknown" => Kind::Unsaid,
        "text/html" | "application/xhtml+xml" => Kind::Html,
        "application/pdf" | "application/x-pdf" => Kind::Pdf,
        text if text.starts_with("text/") || TEXTS.contains(&text) => Kind::Text,
        text if text.ends_with("+json") || text.ends_with("+xml") || text.ends_with("+yaml") => {
            Kind::Text
        }
        _ => return Err(NotText { content_type: said }),
    })
}

/// Guesses the kind from the bytes; `None` if they are not text.
pub(crate) fn sniffed(body: &[u8], whole: bool) -> Option<Kind> {
    if body.starts_with(b"%PDF-") {
        return Some(Kind::Pdf);
    }
    let start = &body[..body.len().min(PRESCAN)];
    let start = String::from_utf8_lossy(start).trim_start().to_ascii_lowercase();
    if start.starts_with("<!doctype html") || start.starts_with("<html") {
        return Some(Kind::Html);
    }
    match text::sniff(body, whole) {
        text::Kind::Text(..) => Some(Kind::Text),
        text::Kind::Binary => None,
    }
}

/// The bytes as text: a byte order mark says how, else the server, else the page itself, else what fits.
pub fn decode(body: &[u8], content_type: Option<&str>, kind: Kind) -> String {
    let parameters = content_type.unwrap_or_default().split(';').skip(1);
    let said = parameters.filter_map(|one| one.split_once('=')).find_map(|(name, value)| {
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| Encoding::for_label(value.trim().trim_matches('"').as_bytes()))?
    });
    let own = || match kind {
        Kind::Html => declared(body),
        Kind::Text | Kind::Unsaid | Kind::Pdf => in_xml(body),
    };
    let fits = || match std::str::from_utf8(body) {
        Ok(_) => UTF_8,
        // The last of several such characters may be cut at the end of what was taken.
        Err(error) if error.error_len().is_none() && !body[..error.valid_up_to()].is_ascii() => {
            UTF_8
        }
        Err(_) => WINDOWS_1252,
    };
    said.or_else(own).unwrap_or_else(fits).decode(body).0.into_owned()
}

/// The encoding an HTML page names in a `meta` element, or in its XML declaration.
fn declared(body: &[u8]) -> Option<&'static Encoding> {
    let start = &body[..body.len().min(PRESCAN)];
    let start = String::from_utf8_lossy(start).to_ascii_lowercase();
    let metas = start.match_indices("<meta").filter_map(|(at, _)| {
        let element = start[at..].split('>').next()?;
        let value = element.split_once("charset")?.1.trim_start().strip_prefix('=')?;
        label(value)
    });
    let found = metas.filter_map(|name| Encoding::for_label(name.as_bytes())).next();
    // A page whose `meta` can be read byte by byte is in no UTF-16, whatever it says.
    found.map(|found| if text::is_bytewise(found) { found } else { UTF_8 }).or_else(|| in_xml(body))
}

/// The encoding that an XML declaration names.
fn in_xml(body: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(&body[..body.len().min(PRESCAN)]);
    let declaration = start.strip_prefix("<?xml")?.split("?>").next()?;
    let value = declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?;
    Encoding::for_label(label(value)?.as_bytes()).filter(|found| text::is_bytewise(found))
}

/// A value, with or without quotes around it.
fn label(value: &str) -> Option<&str> {
    let value = value.trim_start().trim_start_matches(['"', '\'']);
    value.split(|c: char| c.is_whitespace() || "\"';/>".contains(c)).next()
}

/// Why HTML could not be converted.
#[derive(Debug, thiserror::Error)]
pub enum HtmlError {
    /// The converter cannot run, or cannot read the page.
    #[error(transparent)]
    Convert(#[from] std::io::Error),
    /// The converter panicked.
    #[error("the converter crashed")]
    Crashed,
}

/// HTML as Markdown. A page that nests its elements too deep overflows the stack, so this runs in a process of
/// its own.
pub fn markdown(html: &str) -> Result<String, HtmlError> {
    std::thread::scope(|scope| {
        let converter =
            std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || {
                // No script runs here: what is for those without is for us.
                let converter = HtmlToMarkdown::builder()
                    .skip_tags(SKIPPED.to_vec())
                    .scripting_enabled(false)
                    .build();
                converter.convert(html)
            })?;
        Ok(converter.join().map_err(|_| HtmlError::Crashed)??)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_promises_something_to_read_or_not() {
        for (said, kind) in [
            (None, Kind::Unsaid),
            (Some("text/html; charset=utf-8"), Kind::Html),
            (Some("TEXT/HTML"), Kind::Html),
            (Some("application/xhtml+xml"), Kind::Html),
            (Some("application/json"), Kind::Text),
            (Some("application/vnd.api+json"), Kind::Text),
            (Some("application/atom+xml;type=feed"), Kind::Text),
            (Some("text/markdown"), Kind::Text),
            (Some("application/pdf"), Kind::Pdf),
            (Some("application/octet-stream"), Kind::Unsaid),
        ] {
            assert_eq!(promised(said), Ok(kind), "{said:?}");
        }
        for said in ["image/png", "video/mp4", "application/zip", "font/woff2", "nonsense"] {
            assert_eq!(promised(Some(said)), Err(NotText { content_type: said.to_owned() }));
        }
    }

    #[test]
    fn bytes_tell_where_the_server_does_not() {
        assert_eq!(sniffed(b"%PDF-1.7 \x00", true), Some(Kind::Pdf));
        assert_eq!(sniffed(b"\n <!DOCTYPE HTML><p>", true), Some(Kind::Html));
        assert_eq!(sniffed(b"<html><body>", true), Some(Kind::Html));
        assert_eq!(sniffed(b"just text", true), Some(Kind::Text));
        assert_eq!(sniffed(b"", true), Some(Kind::Text));
        assert_eq!(sniffed(b"\x7fELF\x00\x01", true), None);
    }

    #[test]
    fn an_encoding_is_found_wherever_it_is_said() {
        let html = |body: &[u8], said: Option<&str>| decode(body, said, Kind::Html);
        assert_eq!(html(b"caf\xe9", Some("text/html; charset=ISO-8859-1")), "café");
        assert_eq!(html(b"caf\xe9", Some("text/html; Charset=\"latin1\"")), "café");
        assert_eq!(html("café".as_bytes(), Some("text/html")), "café");
        assert_eq!(html(b"caf\xe9", None), "café", "what fits");
        assert_eq!(html(b"caf\xe9", Some("text/html; charset=klingon")), "café");
        let meta = b"<meta charset='shift_jis'>\x83\x8a";
        assert_eq!(html(meta, None), "<meta charset='shift_jis'>リ");
        let old = b"<META http-equiv=Content-Type content=\"text/html; charset=koi8-r\">\xc1";
        assert!(html(old, None).ends_with('а'));
        assert!(html(b"<meta charset=utf-16>\xc3\xa9", None).ends_with('é'), "no such thing");
        assert_eq!(html(b"\xff\xfea\x00", Some("text/html; charset=utf-8")), "a", "the mark wins");
        let xml = b"<?xml version='1.0' encoding='ISO-8859-1'?>\xe9";
        assert!(decode(xml, Some("application/xml"), Kind::Text).ends_with('é'));
        assert_eq!(decode(b"\xc3\xa9\xc3", None, Kind::Text), "é\u{fffd}", "cut in a character");
    }

    #[test]
    fn html_becomes_markdown() {
        let page = "<html><head><title>T</title><style>p{}</style><script>evil()</script></head>\
                    <body><h1>Head</h1><p>One <b>two</b> <a href=\"/x\">three</a></p>\
                    <noscript>without</noscript><pre><code>let x = 1;</code></pre>\
                    <ul><li>a</li><li>b</li></ul></body></html>";
        let text = markdown(page).unwrap();
        for part in ["# Head", "One **two** [three](/x)", "without", "let x = 1;", "a\n"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("evil") && !text.contains("p{}"), "{text}");
        assert_eq!(markdown("").unwrap(), "");
    }

    #[test]
    fn nesting_that_real_pages_have_is_read() {
        let deep = format!("{}x{}", "<div>".repeat(500), "</div>".repeat(500));
        assert_eq!(markdown(&deep).unwrap().trim(), "x");
    }
}
