//! Serde's errors about a value, in words for users.

/// What serde says about a value that does not fit, without names of Rust types.
pub fn plain_misfit(error: &str) -> String {
    let text = error.strip_prefix("unknown variant ").map(|rest| format!("unknown value {rest}"));
    let text = text.unwrap_or_else(|| error.to_owned());
    // Only what serde itself says: the value before it may be any text.
    let Some((found, expected)) = text.rsplit_once(", expected ") else { return text };
    let found = match found.strip_prefix("invalid type: ") {
        Some("sequence") => "invalid type: list",
        Some("map") => "invalid type: object",
        _ => found,
    };
    let expected = match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a sequence" => "a list",
        "a map" => "an object",
        "a boolean" => "true or false",
        nonzero if nonzero.starts_with("a nonzero ") => "a whole number, 1 or more",
        other => other,
    };
    format!("{found}, expected {expected}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_types_and_the_words_of_serde_are_not_shown() {
        let value = |json| serde_json::from_value::<u32>(json).unwrap_err().to_string();
        assert_eq!(
            plain_misfit(&value(serde_json::json!("x, expected u32"))),
            "invalid type: string \"x, expected u32\", expected a whole number, 0 or more"
        );
        assert_eq!(
            plain_misfit(&value(serde_json::json!([]))),
            "invalid type: list, expected a whole number, 0 or more"
        );
        let zero = serde_json::from_value::<std::num::NonZeroU32>(serde_json::json!(0));
        assert_eq!(
            plain_misfit(&zero.unwrap_err().to_string()),
            "invalid value: integer `0`, expected a whole number, 1 or more"
        );
        let word = serde_json::from_value::<crate::Behavior>(serde_json::json!("x"));
        let word = plain_misfit(&word.unwrap_err().to_string());
        assert!(word.starts_with("unknown value `x`, expected "), "{word}");
        assert_eq!(plain_misfit("missing field `a`"), "missing field `a`");
    }
}
