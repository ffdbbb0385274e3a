//! Canonical JSON and its hash (S1 §5.4).
//!
//! UTF-8, no insignificant whitespace, arrays in order, keys sorted at every level. What S1 leaves
//! open is settled so that any language can reproduce the bytes:
//!
//! - keys sort by Unicode code point, which for UTF-8 is byte order;
//! - only `"`, `\` and control characters are escaped, everything else is written raw;
//! - numbers are written as ECMAScript writes them, so `1.0` and `1` are the same bytes;
//! - a number that is an integer beyond ±(2^53 − 1) is refused: readers disagree on it, and two
//!   documents could share a hash.
//!
//! Keys are sorted here, not by the map type, so the bytes do not depend on whether some crate in
//! the build turned on `serde_json/preserve_order`.

use serde::Serialize;
use serde_json::{Number, Value};

use crate::ContentHash;

/// The largest integer every JSON reader agrees on.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Why a value has no canonical form.
#[derive(Debug, thiserror::Error)]
pub enum CanonicalError {
    /// A number that not every reader can represent.
    #[error(
        "the number {0} is an integer beyond ±(2^53 − 1); write it as a string, JSON readers disagree on it"
    )]
    UnsafeInteger(String),
    /// The value cannot be expressed in JSON at all.
    #[error("not expressible as JSON: {0}")]
    NotJson(#[from] serde_json::Error),
}

/// The canonical bytes of a value, as text.
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> Result<String, CanonicalError> {
    let mut out = String::new();
    write_value(&serde_json::to_value(value)?, &mut out)?;
    Ok(out)
}

/// The SHA-256 of the canonical bytes.
pub fn hash<T: Serialize + ?Sized>(value: &T) -> Result<ContentHash, CanonicalError> {
    Ok(ContentHash::of(to_string(value)?.as_bytes()))
}

fn write_value(value: &Value, out: &mut String) -> Result<(), CanonicalError> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(number, out)?,
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(item, out)?;
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (index, (key, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write_value(member, out)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

fn write_number(number: &Number, out: &mut String) -> Result<(), CanonicalError> {
    let unsafe_integer = || CanonicalError::UnsafeInteger(number.to_string());
    let integer = match (number.as_u64(), number.as_i64()) {
        (Some(positive), _) => Some(positive),
        (None, Some(negative)) => Some(negative.unsigned_abs()),
        (None, None) => None,
    };
    if let Some(magnitude) = integer {
        if magnitude > MAX_SAFE_INTEGER {
            return Err(unsafe_integer());
        }
        out.push_str(&number.to_string());
        return Ok(());
    }
    // serde_json turns an integer too long for 64 bits into a float, so this check must be here too.
    let float = number.as_f64().filter(|float| float.is_finite()).ok_or_else(unsafe_integer)?;
    if float.fract() == 0.0 && float.abs() > MAX_SAFE_INTEGER as f64 {
        return Err(unsafe_integer());
    }
    out.push_str(ryu_js::Buffer::new().format_finite(float));
    Ok(())
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            control if control < ' ' => {
                out.push_str(&format!("\\u{:04x}", u32::from(control)));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Lines of `{"input": <json text>, "canonical": <text>, "sha256": <hex>}` or
    /// `{"input": …, "error": true}`, made by `fixtures/canonical.py`.
    const VECTORS: &str = include_str!("../fixtures/canonical.jsonl");

    #[test]
    fn agrees_with_the_independent_implementation() {
        let mut seen = 0;
        for line in VECTORS.lines() {
            let vector: Value = serde_json::from_str(line).unwrap();
            let input: Value = serde_json::from_str(vector["input"].as_str().unwrap()).unwrap();
            if vector["error"] == json!(true) {
                assert!(to_string(&input).is_err(), "should be refused: {input}");
            } else {
                assert_eq!(to_string(&input).unwrap(), vector["canonical"].as_str().unwrap());
                assert_eq!(hash(&input).unwrap().as_str(), vector["sha256"].as_str().unwrap());
            }
            seen += 1;
        }
        assert!(seen > 50, "the vectors are missing: only {seen}");
    }

    #[test]
    fn insertion_order_does_not_matter() {
        let one: Value = serde_json::from_str(r#"{"b":1,"a":{"d":2,"c":3}}"#).unwrap();
        let two: Value = serde_json::from_str(r#"{"a":{"c":3,"d":2},"b":1}"#).unwrap();
        assert_eq!(to_string(&one).unwrap(), r#"{"a":{"c":3,"d":2},"b":1}"#);
        assert_eq!(hash(&one).unwrap(), hash(&two).unwrap());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-(MAX_SAFE_INTEGER as i64)..=MAX_SAFE_INTEGER as i64).prop_map(Value::from),
            (-1e6f64..1e6).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    /// Equal as JSON data, with `1.0` and `1` the same number.
    fn same(left: &Value, right: &Value) -> bool {
        match (left, right) {
            (Value::Number(l), Value::Number(r)) => l.as_f64() == r.as_f64(),
            (Value::Array(l), Value::Array(r)) => {
                l.len() == r.len() && l.iter().zip(r).all(|(l, r)| same(l, r))
            }
            (Value::Object(l), Value::Object(r)) => {
                l.len() == r.len()
                    && l.iter().all(|(key, l)| r.get(key).is_some_and(|r| same(l, r)))
            }
            (left, right) => left == right,
        }
    }

    fn reversed(value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(reversed).collect(),
            Value::Object(map) => Value::Object(
                map.iter().rev().map(|(key, member)| (key.clone(), reversed(member))).collect(),
            ),
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn reads_back_as_the_same_data(value in any_json()) {
            let text = to_string(&value).unwrap();
            let back: Value = serde_json::from_str(&text).unwrap();
            prop_assert!(same(&back, &value), "{text}");
            prop_assert_eq!(to_string(&back).unwrap(), text, "canonical form is a fixed point");
        }

        #[test]
        fn member_order_never_shows(value in any_json()) {
            prop_assert_eq!(to_string(&reversed(&value)).unwrap(), to_string(&value).unwrap());
        }
    }
}
