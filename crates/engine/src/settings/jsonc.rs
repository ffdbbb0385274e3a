//! JSON as people write it into settings: with comments and trailing commas.
//!
//! Both are blanked out and the rest is left to serde_json. Nothing moves, so a position in what it
//! reads is the position in the file: for its messages, and for [`edit`](super::edit).

use serde_json::{Map, Value};

use super::twice;

/// Why a text is no settings.
#[derive(Debug, thiserror::Error)]
pub enum NotSettings {
    /// It cannot be parsed; the error knows line and column.
    #[error("it is no JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// It can, to something else.
    #[error("its top level is no object")]
    NotAnObject,
}

/// The settings in a text, and the keys that stand twice in it.
pub(super) fn parse(text: &str) -> Result<(Map<String, Value>, Vec<String>), NotSettings> {
    match twice::read(&without_commas(&without_comments(text)))? {
        (Value::Object(settings), twice) => Ok((settings, twice)),
        _ => Err(NotSettings::NotAnObject),
    }
}

/// The text with spaces in place of `/* */` and tabs in place of `//`, so that one can still be told
/// from the other. Line ends stay. A byte order mark counts as a comment.
pub(super) fn without_comments(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut rest = text;
    if let Some(after) = rest.strip_prefix('\u{feff}') {
        blank(&mut bare, "\u{feff}", ' ');
        rest = after;
    }
    while let Some(at) = rest.find(['"', '/']) {
        bare.push_str(&rest[..at]);
        rest = &rest[at..];
        let (length, filler) = if rest.starts_with("//") {
            (rest.find(['\n', '\r']).unwrap_or(rest.len()), Some('\t'))
        } else if let Some(comment) = rest.strip_prefix("/*") {
            match comment.find("*/") {
                Some(end) => (end + 4, Some(' ')),
                // It has no end: serde_json will complain about its beginning.
                None => (rest.len(), None),
            }
        } else if rest.starts_with('"') {
            (string_length(rest), None)
        } else {
            (1, None)
        };
        match filler {
            Some(filler) => blank(&mut bare, &rest[..length], filler),
            None => bare.push_str(&rest[..length]),
        }
        rest = &rest[length..];
    }
    bare.push_str(rest);
    bare
}

/// The comment-free text with a space in place of each comma that stands before a closing bracket and
/// after a value.
pub(super) fn without_commas(bare: &str) -> String {
    let mut plain = String::with_capacity(bare.len());
    let mut rest = bare;
    let mut follows_value = false;
    while let Some(next) = rest.chars().next() {
        let length = if next == '"' { string_length(rest) } else { next.len_utf8() };
        let after = &rest[length..];
        let trailing = || after.trim_start_matches([' ', '\t', '\n', '\r']).starts_with([']', '}']);
        if next == ',' && follows_value && trailing() {
            plain.push(' ');
        } else {
            plain.push_str(&rest[..length]);
        }
        if !matches!(next, ' ' | '\t' | '\n' | '\r') {
            follows_value = !matches!(next, ',' | ':' | '[' | '{');
        }
        rest = after;
    }
    plain
}

/// How long the string at the beginning of the text is.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn blank(into: &mut String, comment: &str, filler: char) {
    into.extend(comment.bytes().map(|byte| match byte {
        b'\n' | b'\r' => char::from(byte),
        _ => filler,
    }));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::edit::noise::{self, json_object};
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_no_trouble() {
        let table = [
            ("{}", json!({})),
            ("\u{feff}{}", json!({})),
            ("// a\n{/* b */}// c", json!({})),
            ("/**/{\"a\": 1,}", json!({"a": 1})),
            ("{\"a\": [1, /* , */ 2, // ]\n ],\r\n}", json!({"a": [1, 2]})),
            (r#"{"a//b": "/* \" */ // ,]"}"#, json!({"a//b": "/* \" */ // ,]"})),
            ("{// a\r\"b\": 1}", json!({"b": 1})),
            ("{\"ä\": /* ö */ \"ü\"}", json!({"ä": "ü"})),
        ];
        for (text, value) in table {
            assert_eq!(Value::Object(parse(text).unwrap().0), value, "{text}");
        }
    }

    #[test]
    fn what_is_no_json_is_said_with_its_place() {
        let table = [
            ("", "it is no JSON: EOF while parsing a value at line 1 column 0"),
            ("[]", "its top level is no object"),
            ("{,}", "it is no JSON: key must be a string at line 1 column 2"),
            ("{\"a\": [1,,]}", "it is no JSON: expected value at line 1 column 10"),
            ("{\"a\": [,]}", "it is no JSON: expected value at line 1 column 8"),
            ("{\"a\":,}", "it is no JSON: expected value at line 1 column 6"),
            ("// x\n{\n  /* y }", "it is no JSON: key must be a string at line 3 column 3"),
            ("{\"a\": / 1}", "it is no JSON: expected value at line 1 column 7"),
            ("{} {}", "it is no JSON: trailing characters at line 1 column 4"),
            ("{\"a", "it is no JSON: EOF while parsing a string at line 1 column 3"),
        ];
        for (text, reason) in table {
            assert_eq!(parse(text).unwrap_err().to_string(), reason, "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_moves_and_nothing_panics(text in r#"([\[\]{}:, \t\r\n"\\/*a1ä\u{feff}]|//|/\*|\*/|"a"){0,40}"#) {
            let bare = without_comments(&text);
            let plain = without_commas(&bare);
            prop_assert_eq!((bare.len(), plain.len()), (text.len(), text.len()));
            let ends = |text: &str| text.match_indices('\n').map(|(at, _)| at).collect::<Vec<_>>();
            prop_assert_eq!(ends(&plain), ends(&text));
            // Whatever serde_json itself can read is left alone.
            if serde_json::from_str::<Value>(&text).is_ok() {
                prop_assert_eq!(plain, text);
            }
        }

        #[test]
        fn plain_json_is_left_alone(object in json_object()) {
            for text in [object.to_string(), format!("{object:#}")] {
                prop_assert_eq!(without_commas(&without_comments(&text)), text);
            }
        }

        #[test]
        fn noise_does_not_matter(object in json_object(), noise in noise::strategy()) {
            let text = noise::written(&object, &noise);
            prop_assert_eq!(Value::Object(parse(&text).unwrap().0), object);
        }
    }
}
