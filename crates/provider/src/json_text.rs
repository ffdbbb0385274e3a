//! Text as a raw JSON string. Tool results are most of what is sent, and both the record and the wire are JSON, so they
//! are copied without decoding.

use serde::Serialize;
use serde_json::value::RawValue;

/// A JSON string with something in it.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct JsonText(Box<RawValue>);

impl JsonText {
    /// `None` if it is not a string, is blank, or contains `\u` escapes: those may be lone surrogates, which
    /// only decoding can tell.
    pub fn new(json: &RawValue) -> Option<Self> {
        let inner = json.get().strip_prefix('"')?.strip_suffix('"')?;
        (!inner.contains("\\u") && !is_blank(inner)).then(|| Self(json.to_owned()))
    }

    /// The decoded text.
    pub fn text(&self) -> String {
        // It was checked that it is a string without anything that could be wrong.
        serde_json::from_str(self.0.get()).unwrap_or_default()
    }
}

impl PartialEq for JsonText {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

/// Whether the inside of a JSON string is white space alone.
fn is_blank(inner: &str) -> bool {
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        let blank = match letter {
            '\\' => matches!(letters.next(), Some('n' | 't' | 'r' | 'f')),
            other => other.is_whitespace(),
        };
        if !blank {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn recorded(json: &str) -> Option<JsonText> {
        JsonText::new(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn what_is_no_plain_text_is_left_to_others() {
        for json in ["1", "null", "[\"a\"]", "\"\"", r#"" \n\t""#, r#""\ud800""#, r#""a\u0001""#] {
            assert_eq!(recorded(json), None, "{json}");
        }
        assert_eq!(recorded(r#""\\""#).unwrap().text(), "\\");
    }

    proptest! {
        /// Whatever is written as JSON is kept, if it has anything in it and no control characters, and is read
        /// and written again as it was.
        #[test]
        fn texts_stay_what_they_are(text in "[ \\n\\t\\\\\"u\u{1}\u{c}aé]{0,6}") {
            let json = serde_json::to_string(&text).unwrap();
            let has_numbers = json.contains("\\u");
            match recorded(&json) {
                None => prop_assert!(has_numbers || text.trim().is_empty(), "{}", json),
                Some(kept) => {
                    prop_assert!(!text.trim().is_empty());
                    prop_assert_eq!(serde_json::to_string(&kept).unwrap(), json);
                    prop_assert_eq!(kept.text(), text);
                }
            }
        }
    }
}
