//! Keys that stand twice in an object: a reader that takes the first one sees other content than the one that was hashed.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Whether an object in the line has a key twice. The value is what serde_json made of it.
pub(super) fn repeats_a_key(line: &[u8], value: &Value) -> bool {
    serde_json::from_slice::<Keys>(line).is_ok_and(|keys| keys.0 != count(value))
}

fn count(value: &Value) -> usize {
    match value {
        Value::Object(members) => members.len() + members.values().map(count).sum::<usize>(),
        Value::Array(entries) => entries.iter().map(count).sum(),
        _ => 0,
    }
}

/// How many keys a text has.
struct Keys(usize);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Counter)
    }
}

struct Counter;

impl<'de> Visitor<'de> for Counter {
    type Value = Keys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Keys, E> {
        Ok(Keys(0))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Keys, E> {
        Ok(Keys(0))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Keys, E> {
        Ok(Keys(0))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Keys, E> {
        Ok(Keys(0))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Keys, E> {
        Ok(Keys(0))
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Keys, E> {
        Ok(Keys(0))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Keys, A::Error> {
        let mut all = 0;
        while let Some(Keys(more)) = entries.next_element()? {
            all += more;
        }
        Ok(Keys(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Keys, A::Error> {
        let mut all = 0;
        while let Some((_, Keys(more))) = members.next_entry::<IgnoredAny, Keys>()? {
            all += 1 + more;
        }
        Ok(Keys(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_stands_twice_is_seen_at_any_depth() {
        for (line, expected) in [
            (r#"{"a": 1, "b": [{"a": null}, true]}"#, false),
            (r#"{"a": 1, "a": 1}"#, true),
            (r#"{"b": [{"a": 1, "a": 2.5}]}"#, true),
        ] {
            let value = serde_json::from_str(line).unwrap();
            assert_eq!(repeats_a_key(line.as_bytes(), &value), expected, "{line}");
        }
    }
}
