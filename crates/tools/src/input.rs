//! Tool inputs: JSON objects with known keys, parsed leniently.
//!
//! Models sometimes write `"true"` for `true` and `"5"` for `5`; both are accepted. Everything else
//! that does not fit is refused with the key and the reason.

use ona_effects::path::PathError;
use ona_types::plain_misfit;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// An input that does not fit a tool's schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid input for {tool}: {reason}")]
pub struct InputError {
    /// The tool.
    pub tool: String,
    /// The key, and what is wrong with it.
    pub reason: String,
}

impl InputError {
    /// For the tool of this name, and what is wrong.
    pub fn new(tool: &str, reason: impl Into<String>) -> Self {
        Self { tool: tool.to_owned(), reason: reason.into() }
    }

    pub(crate) fn path(tool: &str, key: &str, error: &PathError) -> Self {
        Self::new(tool, format!("`{key}`: {error}"))
    }
}

/// Reads a tool's input into its type.
pub(crate) fn parse<T: DeserializeOwned>(tool: &str, input: &Value) -> Result<T, InputError> {
    if !input.is_object() {
        return Err(InputError::new(tool, format!("expected a JSON object, not {}", kind(input))));
    }
    serde_path_to_error::deserialize(input).map_err(|error| {
        let path = error.path().to_string();
        let reason = plain_misfit(&error.inner().to_string());
        // "missing field" and "unknown field" name the key themselves.
        if path == "." || reason.contains(" field `") {
            InputError::new(tool, reason)
        } else {
            InputError::new(tool, format!("`{path}`: {reason}"))
        }
    })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A boolean, or its name in a string.
pub(crate) fn lenient_bool<'de, D: Deserializer<'de>>(de: D) -> Result<Option<bool>, D::Error> {
    match Option::<Value>::deserialize(de)? {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(value)) => Ok(Some(value)),
        Some(Value::String(text)) if text == "true" => Ok(Some(true)),
        Some(Value::String(text)) if text == "false" => Ok(Some(false)),
        Some(other) => {
            Err(serde::de::Error::custom(format!("expected true or false, not {other}")))
        }
    }
}

/// A whole number from zero up, or its digits in a string.
pub(crate) fn lenient_count<'de, D: Deserializer<'de>>(de: D) -> Result<Option<u64>, D::Error> {
    let count = |value: &Value| match value {
        Value::Number(number) => number.as_u64().or_else(|| {
            let float = number.as_f64()?;
            (float >= 0.0 && float.fract() == 0.0 && float < 1e15).then_some(float as u64)
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    match Option::<Value>::deserialize(de)? {
        None | Some(Value::Null) => Ok(None),
        Some(value) => count(&value).map(Some).ok_or_else(|| {
            serde::de::Error::custom(format!("expected a whole number from 0 up, not {value}"))
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "read through Debug")]
    struct Sample {
        path: String,
        #[serde(default, deserialize_with = "lenient_bool")]
        flag: Option<bool>,
        #[serde(default, deserialize_with = "lenient_count")]
        count: Option<u64>,
    }

    #[test]
    fn names_of_numbers_and_booleans_are_taken() {
        let sample: Sample =
            parse("T", &json!({"path": "x", "flag": "true", "count": "5"})).unwrap();
        assert_eq!((sample.flag, sample.count), (Some(true), Some(5)));
        let sample: Sample = parse("T", &json!({"path": "x", "count": 5.0, "flag": null})).unwrap();
        assert_eq!((sample.flag, sample.count), (None, Some(5)));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (input, expected) in [
            (json!([]), "invalid input for T: expected a JSON object, not an array"),
            (json!({}), "invalid input for T: missing field `path`"),
            (
                json!({"path": "x", "pth": 1}),
                "invalid input for T: unknown field `pth`, expected one of `path`, `flag`, `count`",
            ),
            (
                json!({"path": 3}),
                "invalid input for T: `path`: invalid type: integer `3`, expected a string",
            ),
            (
                json!({"path": "x", "count": -1}),
                "invalid input for T: `count`: expected a whole number from 0 up, not -1",
            ),
            (
                json!({"path": "x", "flag": "yes"}),
                "invalid input for T: `flag`: expected true or false, not \"yes\"",
            ),
        ] {
            assert_eq!(parse::<Sample>("T", &input).unwrap_err().to_string(), expected);
        }
    }
}
