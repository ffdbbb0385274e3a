//! The text of a file, and the places where text can be inserted.

use std::ops::Range;

use serde_saphyr::granit_parser::ScalarStyle;

use super::edit::EditError;
use crate::yaml::{Document, Id, Kind, YamlError};

/// A text, and its parsed form.
pub(super) struct Page {
    pub(super) text: String,
    pub(super) document: Document,
}

/// How a text is written down.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    /// Without, where it cannot be mistaken for anything else.
    Plain,
    Single,
    Double,
}

impl Page {
    pub(super) fn read(text: String) -> Result<Self, YamlError> {
        let document = Document::read(&text)?;
        Ok(Self { text, document })
    }

    /// The line ending of the file.
    pub(super) fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// The page with one range replaced.
    pub(super) fn with(&self, range: Range<usize>, new: &str) -> Result<Self, EditError> {
        let mut text = self.text.clone();
        text.replace_range(range, new);
        // A text that can no longer be read was edited in the wrong place; the file on the disk is not touched.
        Self::read(text).map_err(|_| EditError::Layout)
    }

    pub(super) fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// After the line's end, or the end of the text.
    pub(super) fn next_line(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |newline| at + newline + 1)
    }

    /// Inserts whole lines below the line that `at` is in.
    pub(super) fn below(&self, at: usize, lines: &[String]) -> Result<Self, EditError> {
        let place = self.next_line(at);
        let newline = self.newline();
        let ends = self.text[..place].ends_with('\n') || place == 0;
        let mut new = if ends { String::new() } else { newline.to_owned() };
        new += &lines.join(newline);
        if ends {
            new += newline;
        }
        self.with(place..place, &new)
    }

    /// Where the text of a node ends: the end of a block may come after comments.
    pub(super) fn end(&self, id: Id) -> usize {
        let node = self.document.node(id);
        match &node.kind {
            Kind::Scalar { .. } => {
                let words = self.text[node.span.clone()].trim_end();
                node.span.start + words.len()
            }
            Kind::List(items) if !node.flow => {
                items.last().map_or(node.span.start, |item| self.end(*item))
            }
            Kind::Map(pairs) if !node.flow => {
                pairs.last().map_or(node.span.start, |(key, value)| {
                    self.end(*value).max(self.colon(*key).unwrap_or_default())
                })
            }
            _ => node.span.end,
        }
    }

    /// After the colon of a key.
    pub(super) fn colon(&self, key: Id) -> Option<usize> {
        let end = self.document.node(key).span.end;
        let rest = &self.text[end..];
        let spaces = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        rest[spaces..].starts_with(':').then_some(end + spaces + 1)
    }

    /// The indentation of a node.
    pub(super) fn blanks(&self, id: Id) -> String {
        let start = self.document.node(id).span.start;
        let before = &self.text[self.line_start(start)..start];
        " ".repeat(before.chars().filter(|character| *character != '\u{feff}').count())
    }

    /// Where the dash of a block list's item stands.
    pub(super) fn dash(&self, item: Id) -> Result<usize, EditError> {
        let start = self.document.node(item).span.start;
        let before = self.text[..start].trim_end();
        let found = before.ends_with('-').then(|| before.len() - 1).filter(|dash| {
            self.text[self.line_start(*dash)..*dash]
                .chars()
                .all(|character| " -\u{feff}".contains(character))
        });
        found.ok_or(EditError::Layout)
    }

    /// How a scalar is quoted.
    pub(super) fn quotes(&self, id: Id) -> Quotes {
        match self.document.node(id).kind {
            Kind::Scalar { style: ScalarStyle::SingleQuoted, .. } => Quotes::Single,
            Kind::Scalar { style: ScalarStyle::DoubleQuoted, .. } => Quotes::Double,
            _ => Quotes::Plain,
        }
    }
}

/// Words that other readers do not read as text.
const NO_TEXT: &[&str] = &["true", "false", "yes", "no", "on", "off", "y", "n", "null"];

/// A text as YAML, quoted in this way if possible.
pub(super) fn scalar(text: &str, quotes: Quotes) -> String {
    let printable = !text.chars().any(char::is_control);
    match quotes {
        Quotes::Plain if is_plain(text) => text.to_owned(),
        Quotes::Single if printable => format!("'{}'", text.replace('\'', "''")),
        // A JSON string is a YAML string, as long as unprintable characters are escaped.
        _ => serde_json::Value::from(text).to_string(),
    }
}

fn is_plain(text: &str) -> bool {
    let harmless = |character: char| character.is_alphanumeric() || "_./-() '".contains(character);
    let time = text.len() >= 20 && text.ends_with('Z') && text.as_bytes()[4] == b'-';
    let begins = text.starts_with(|first: char| first.is_alphabetic() || first == '_');
    if time {
        return text
            .chars()
            .all(|character| character.is_ascii_digit() || "-:.TZ".contains(character));
    }
    begins
        && text.chars().all(harmless)
        && !text.ends_with(' ')
        && !NO_TEXT.contains(&text.to_lowercase().as_str())
}

/// Texts as a list in brackets.
pub(crate) fn list(texts: &[String]) -> String {
    let items: Vec<String> = texts.iter().map(|text| scalar(text, Quotes::Double)).collect();
    format!("[{}]", items.join(", "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_quoted_where_they_have_to_be() {
        for (text, quotes, expected) in [
            ("Rate limit", Quotes::Plain, "Rate limit"),
            ("2026-05-02T09:00:00Z", Quotes::Plain, "2026-05-02T09:00:00Z"),
            ("no", Quotes::Plain, "\"no\""),
            ("012", Quotes::Plain, "\"012\""),
            ("a: b", Quotes::Plain, "\"a: b\""),
            ("*.rs", Quotes::Plain, "\"*.rs\""),
            ("it's", Quotes::Single, "'it''s'"),
            ("a\nb", Quotes::Single, "\"a\\nb\""),
        ] {
            assert_eq!(scalar(text, quotes), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            text in "[a-z0-9 :#'\"\\\\{},*&!|>%@`~é\n\t-]{0,20}",
            quotes in prop::sample::select(vec![Quotes::Plain, Quotes::Single, Quotes::Double].into_iter().map(|q| q as u8).collect::<Vec<_>>()),
        ) {
            let quotes = [Quotes::Plain, Quotes::Single, Quotes::Double][usize::from(quotes)];
            for yaml in [format!("k: {}\n", scalar(&text, quotes)), format!("k: [{}]\n", scalar(&text, quotes))] {
                let page = Page::read(yaml).unwrap();
                let value = page.document.get(page.document.root().unwrap(), "k").unwrap();
                let value = page.document.list(value).map_or(value, |items| items[0]);
                prop_assert_eq!(page.document.text(value), Some(text.as_str()));
                prop_assert!(!page.document.is_null(value));
            }
        }
    }
}
