//! JSON with comments and trailing commas, and edits that preserve everything else in the file.
//!
//! Both are blanked out and the rest is left to serde_json. Nothing moves, so a position in what it reads is the
//! position in the file, both in error messages and for edits, which are splices into the file's text. Comments,
//! order, layout and unknown keys keep their bytes. New text follows the layout around it.
//!
//! ```
//! use ona_files::jsonc::{Step::Key, put};
//! let text = "{\n  // mine\n  \"a\": 1\n}\n";
//! let new = put(text, &[Key("b")], &serde_json::json!(2))?;
//! assert_eq!(new, "{\n  // mine\n  \"a\": 1,\n  \"b\": 2\n}\n");
//! # Ok::<(), ona_files::jsonc::EditError>(())
//! ```

mod document;
mod edit;

pub use edit::{EditError, Step, exclude, include, prune, push, put, remove, value};

/// Why a text is not a JSON object.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// It cannot be parsed; the error knows line and column.
    #[error("invalid JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// It is JSON, but not an object.
    #[error("its top level is not an object")]
    NotAnObject,
}

/// The text as JSON: comments and trailing commas are blanked out, and everything else is where it was.
pub fn to_json(text: &str) -> String {
    without_commas(&without_comments(text))
}

/// The text with spaces in place of `/* */` and tabs in place of `//`, so that one can still be told
/// from the other. Line ends stay. A byte order mark counts as a comment.
pub(crate) fn without_comments(text: &str) -> String {
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
pub(crate) fn without_commas(bare: &str) -> String {
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
    use ona_testkit::jsonc::{json_object, strategy, written};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// Unlike [`value`], an empty text is not one.
    fn parsed(text: &str) -> Result<Value, ParseError> {
        match serde_json::from_str(&to_json(text))? {
            Value::Object(object) => Ok(Value::Object(object)),
            _ => Err(ParseError::NotAnObject),
        }
    }

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
            assert_eq!(parsed(text).unwrap(), value, "{text}");
        }
    }

    #[test]
    fn what_is_not_json_is_said_with_its_place() {
        let table = [
            ("", "invalid JSON: EOF while parsing a value at line 1 column 0"),
            ("[]", "its top level is not an object"),
            ("{,}", "invalid JSON: key must be a string at line 1 column 2"),
            ("{\"a\": [1,,]}", "invalid JSON: expected value at line 1 column 10"),
            ("{\"a\": [,]}", "invalid JSON: expected value at line 1 column 8"),
            ("{\"a\":,}", "invalid JSON: expected value at line 1 column 6"),
            ("// x\n{\n  /* y }", "invalid JSON: key must be a string at line 3 column 3"),
            ("{\"a\": / 1}", "invalid JSON: expected value at line 1 column 7"),
            ("{} {}", "invalid JSON: trailing characters at line 1 column 4"),
            ("{\"a", "invalid JSON: EOF while parsing a string at line 1 column 3"),
        ];
        for (text, reason) in table {
            assert_eq!(parsed(text).unwrap_err().to_string(), reason, "{text}");
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
        fn noise_does_not_matter(object in json_object(), noise in strategy()) {
            let text = written(&object, &noise);
            prop_assert_eq!(parsed(&text).unwrap(), object);
        }
    }
}
