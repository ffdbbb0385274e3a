//! Texts that are shown or kept in part. A secret at the cut is masked or left out whole: part of one has no shape
//! by which it could be found later.

use std::borrow::Cow;

use super::{MASK, Redactor, SHAPES, parts};

/// How far back from a cut the beginning of a shape is looked for: the longest token.
const MAX_TOKEN: usize = 1024;

/// A shorter part of a live value says nothing, and many a word begins or ends like it.
const MIN_PART: usize = 4;

impl Redactor {
    /// The beginning of a text, masked before it is cut. A mask at the cut stays whole.
    pub fn first_chars(&self, text: &str, most: usize) -> String {
        // What stands behind the cut serves to find the secrets that begin before it.
        let behind = text.char_indices().nth(most.saturating_add(MAX_TOKEN));
        let mut masked = match behind {
            None => self.mask(text).into_owned(),
            Some((end, _)) => self.cut_after(&text[..end]),
        };
        let Some((mut cut, _)) = masked.char_indices().nth(most) else { return masked };
        let spans = masked.match_indices(MASK).map(|(start, _)| {
            (start, masked[start..].find(']').map_or(masked.len(), |end| start + end + 1))
        });
        if let Some((_, end)) = { spans }.find(|(start, end)| (*start + 1..*end).contains(&cut)) {
            cut = end;
        }
        masked.truncate(cut);
        masked
    }

    /// A text whose end was cut off before it got here, masked.
    pub fn cut_after(&self, text: &str) -> String {
        let mut masked = self.mask(text).into_owned();
        let open = masked.len() - self.certain(masked.as_bytes());
        let open = Some(open).filter(|open| *open >= MIN_PART).unwrap_or(0);
        let open = open.max(open_shape(&masked));
        masked.truncate(masked.floor_char_boundary(masked.len() - open));
        masked
    }

    /// A text whose beginning was cut off before it got here, masked.
    pub fn cut_before(&self, text: &str) -> String {
        let mut masked = self.mask(text).into_owned();
        masked.drain(..self.open_start(&masked));
        masked
    }

    /// How many bytes at the beginning of a text could be the end of a live value.
    fn open_start(&self, text: &str) -> usize {
        let ends = |value: &str| {
            let most = text.len().min(value.len() - 1);
            (MIN_PART..=most).rev().find(|length| {
                value.is_char_boundary(value.len() - length)
                    && text.starts_with(&value[value.len() - length..])
            })
        };
        self.live_values().iter().flat_map(|value| parts(value)).filter_map(ends).max().unwrap_or(0)
    }
}

/// How many bytes at the end of a text could be the beginning of something that has the shape of a secret.
fn open_shape(text: &str) -> usize {
    let from = text.ceil_char_boundary(text.len().saturating_sub(MAX_TOKEN));
    let near = &text[from..];
    let word = near.rfind(char::is_whitespace).map_or(near, |at| near[at..].trim_start());
    let hints = SHAPES.iter().flat_map(|shape| shape.hints);
    hints.filter_map(|hint| word.find(hint)).min().map_or(0, |at| word.len() - at)
}

/// For the store (see there): live values only. Whoever reads tools and hooks masks what has the shape of a secret.
impl ona_types::Mask for Redactor {
    fn for_storage<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let masked = match self.mask_live(text) {
            Cow::Borrowed(_) => return Cow::Borrowed(text),
            Cow::Owned(masked) => masked,
        };
        let parses = |text: &str| serde_json::from_str::<serde_json::Value>(text);
        match parses(text) {
            // A number, or a value with the brackets around it: the mask must be a JSON string of its own.
            Ok(mut value) if parses(&masked).is_err() => {
                self.mask_scalars(&mut value);
                Cow::Owned(value.to_string())
            }
            _ => Cow::Owned(masked),
        }
    }
}

#[cfg(test)]
mod tests {
    use ona_types::Mask as _;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const SECRET: &str = "t0p-secret-value-of-the-operator";

    fn redactor() -> Redactor {
        Redactor::knowing([SECRET.to_owned()])
    }

    /// The longest part of the secret at either end of it that a text has.
    fn left(text: &str) -> usize {
        let parts = |length: &usize| {
            text.contains(&SECRET[..*length]) || text.contains(&SECRET[SECRET.len() - length..])
        };
        (4..=SECRET.len()).rev().find(parts).unwrap_or(0)
    }

    proptest! {
        #[test]
        fn no_part_of_a_live_value_is_left_at_a_cut(before in "[xé ]{0,40}", after in "[xé ]{0,40}", cut in 0usize..120) {
            let text = format!("{before}{SECRET}{after}");
            prop_assert_eq!(left(&redactor().first_chars(&text, cut)), 0);
            let at = text.floor_char_boundary(cut.min(text.len()));
            prop_assert_eq!(left(&redactor().cut_after(&text[..at])), 0);
            prop_assert_eq!(left(&redactor().cut_before(&text[at..])), 0);
        }
    }

    #[test]
    fn what_has_the_shape_of_a_secret_is_not_cut_in_two() {
        let token = format!("ghp_{}", "aB3dE6".repeat(6));
        let text = format!("see https://x.example?t={token}");
        for end in text.find("ghp_").unwrap() + 4..text.len() {
            let kept = redactor().cut_after(&text[..end]);
            assert!(!kept.contains("ghp_"), "{kept}");
        }
        assert_eq!(
            redactor().first_chars(&text, 30),
            "see https://x.example?t=[REDACTED:github_token]"
        );
        assert_eq!(redactor().cut_after("a plain text"), "a plain text");
        assert_eq!(redactor().cut_after("it begins with t0p-"), "it begins with ");
        assert_eq!(redactor().cut_before("operator said yes"), " said yes");
    }

    #[test]
    fn stored_json_stays_json() {
        let quoted = "pass\"word\\1\nline";
        let redactor = Redactor::knowing([
            "12345678901".to_owned(),
            r#"{"type":"account"}"#.to_owned(),
            quoted.to_owned(),
        ]);
        let nested =
            json!({"text": json!({"inner": json!({"x": quoted}).to_string()}).to_string()});
        for (value, expected) in [
            (json!({"n": 12_345_678_901_u64, "m": 1}), json!({"n": "[REDACTED:live]", "m": 1})),
            (json!({"a": {"type": "account"}}), json!({"a": "[REDACTED:live]"})),
            (json!({"a": quoted}), json!({"a": "[REDACTED:live]"})),
            (json!(["12345678901"]), json!(["[REDACTED:live]"])),
        ] {
            let kept = redactor.for_storage(&value.to_string()).into_owned();
            assert_eq!(serde_json::from_str::<Value>(&kept).unwrap(), expected, "{kept}");
        }
        let kept = redactor.for_storage(&nested.to_string()).into_owned();
        assert!(!kept.contains("word"), "{kept}");
        assert!(serde_json::from_str::<Value>(&kept).is_ok(), "{kept}");
        assert_eq!(redactor.for_storage("12345678901 in a text"), "[REDACTED:live] in a text");
    }
}
