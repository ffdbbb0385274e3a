//! Turns a fetched page into text that a model can read.

use ona_policy::secrets::Redactor;
use ona_web::{HTML_TEXT, Kind, decode};

use super::MAX_CONTENT;
use crate::context::ToolContext;
use crate::helper::{HelperError, read_aside};
use crate::pdf;
use crate::read::PDF_TEXT;

/// The limit for a PDF's text from its reader, in JSON.
const MAX_PDF_TEXT: usize = 32 << 20;

/// What a body says, read by a process of its own where that could crash; and whether that was cut.
pub(super) async fn read(
    kind: Kind,
    body: Vec<u8>,
    content_type: Option<&str>,
    cx: &ToolContext<'_>,
) -> Result<(String, bool), HelperError> {
    let limit = cx.settings.web_timeout;
    match kind {
        Kind::Text | Kind::Unsaid => {
            let text = decode(&body, content_type, kind);
            if text.contains('\0') {
                let why = "its server declares it as text, but it contains binary data";
                return Err(HelperError::Refused(why.to_owned()));
            }
            Ok(bounded(text, false, cx.redactor))
        }
        Kind::Html => {
            let html = decode(&body, content_type, kind).into_bytes();
            if html.is_empty() {
                return Ok((String::new(), false));
            }
            let read = read_aside(cx, &[HTML_TEXT], html, MAX_CONTENT + 1, limit).await?;
            let text = String::from_utf8_lossy(&read.bytes);
            // The line end is the printer's.
            Ok(bounded(
                text.strip_suffix('\n').unwrap_or(&text).to_owned(),
                read.truncated,
                cx.redactor,
            ))
        }
        Kind::Pdf => {
            let most = MAX_CONTENT.to_string();
            let command = [PDF_TEXT, "--bytes", &most];
            let read = read_aside(cx, &command, body, MAX_PDF_TEXT, limit).await?;
            let too_long = |_| HelperError::Refused("its text is too long to be read".to_owned());
            let text: pdf::Extract = serde_json::from_slice(&read.bytes).map_err(too_long)?;
            Ok(bounded(text.render(), !text.is_whole(), cx.redactor))
        }
    }
}

/// No more of a text than can be shown.
fn bounded(text: String, cut: bool, redactor: &Redactor) -> (String, bool) {
    if !cut && text.len() <= MAX_CONTENT {
        return (text, false);
    }
    let text = redactor.cut_after(&text[..text.floor_char_boundary(MAX_CONTENT)]);
    (text, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_where_it_is_too_long() {
        let long = "é".repeat(MAX_CONTENT);
        let (text, cut) = bounded(long, false, &Redactor::default());
        assert!(cut && text.len() == MAX_CONTENT);
        assert_eq!(bounded("a".to_owned(), false, &Redactor::default()), ("a".to_owned(), false));
    }
}
