//! JSON with duplicate keys in an object: no value is lost, and each duplicate key is named.
//!
//! serde_json keeps only the last value, so a rule that forbids something could get lost.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::merge::{list_hooks, merge_objects};

/// The message about a duplicate key.
pub(super) const REASON: &str = "it occurs more than once: lists and objects are merged, otherwise the last one \
                                 counts; keep only one";

/// The value in a JSON text, and its duplicate keys, such as `permissions.deny`.
pub(super) fn read(text: &str) -> Result<(Value, Vec<String>), serde_json::Error> {
    let mut twice = BTreeSet::new();
    let mut json = serde_json::Deserializer::from_str(text);
    let value = Reader { name: String::new(), twice: &mut twice }.deserialize(&mut json)?;
    json.end()?;
    Ok((value, twice.into_iter().collect()))
}

/// Reads the value of this name.
struct Reader<'t> {
    name: String,
    twice: &'t mut BTreeSet<String>,
}

impl Reader<'_> {
    /// Merges two values of the same name as the settings of two files are merged.
    fn join(&self, into: &mut Map<String, Value>, key: String, value: Value) {
        match (into.get_mut(&key), value) {
            // A value of the wrong type is dropped later: it must not replace the other one.
            (
                Some(Value::Object(_) | Value::Array(_)),
                Value::Bool(_) | Value::Number(_) | Value::String(_),
            ) => {}
            (Some(before), mut value) => {
                let differ = before.is_array() != value.is_array();
                if self.name.is_empty() && key == "hooks" && differ {
                    list_hooks(before);
                    list_hooks(&mut value);
                }
                merge_objects(into, Map::from_iter([(key, value)]));
            }
            (None, value) => {
                into.insert(key, value);
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let name = format!("{}[{}]", self.name, list.len());
            let reader = Reader { name, twice: &mut *self.twice };
            match entries.next_element_seed(reader)? {
                Some(entry) => list.push(entry),
                None => return Ok(list.into()),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let name = match self.name.as_str() {
                "" => key.clone(),
                outer => format!("{outer}.{key}"),
            };
            if object.contains_key(&key) {
                self.twice.insert(name.clone());
            }
            let value = members.next_value_seed(Reader { name, twice: &mut *self.twice })?;
            self.join(&mut object, key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use ona_testkit::jsonc::json_object;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_that_stands_twice_is_lost() {
        let table = [
            (r#"{"a": 1, "b": {"a": 2}}"#, json!({"a": 1, "b": {"a": 2}}), vec![]),
            (r#"{"a": 1, "a": 2}"#, json!({"a": 2}), vec!["a"]),
            (r#"{"p": {"deny": ["x"]}, "p": {}}"#, json!({"p": {"deny": ["x"]}}), vec!["p"]),
            (
                r#"{"p": {"deny": ["x"], "deny": ["y"]}, "p": {"deny": ["z", "x"]}}"#,
                json!({"p": {"deny": ["x", "y", "z"]}}),
                vec!["p", "p.deny"],
            ),
            (r#"{"p": ["x"], "p": null}"#, json!({"p": ["x"]}), vec!["p"]),
            (r#"{"p": ["x"], "p": false}"#, json!({"p": ["x"]}), vec!["p"]),
            (r#"{"p": "x", "p": ["y"]}"#, json!({"p": ["y"]}), vec!["p"]),
            (r#"[{"a": 1}, {"a": 1, "a": 1}]"#, json!([{"a": 1}, {"a": 1}]), vec!["[1].a"]),
            (
                r#"{"hooks": {"Stop": [{"hooks": []}]}, "hooks": [{"hook_event_name": "Stop"}]}"#,
                json!({"hooks": [
                    {"hook_event_name": "Stop", "hooks": []}, {"hook_event_name": "Stop"},
                ]}),
                vec!["hooks"],
            ),
        ];
        for (text, value, twice) in table {
            let (read, found) = read(text).unwrap();
            assert_eq!(read, value, "{text}");
            assert_eq!(found, twice, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_stands_once_is_read_as_by_serde_json(object in json_object()) {
            let text = object.to_string();
            prop_assert_eq!(read(&text).unwrap(), (serde_json::from_str(&text).unwrap(), vec![]));
        }

        #[test]
        fn errors_are_those_of_serde_json(text in r#"([\[\]{}:, \n"\\a1.\-e]|"a"|null|true){0,20}"#) {
            let expected = serde_json::from_str::<Value>(&text).map_err(|error| error.to_string());
            match (read(&text).map_err(|error| error.to_string()), expected) {
                (Ok((read, twice)), Ok(value)) if twice.is_empty() => prop_assert_eq!(read, value),
                (Ok(_), Ok(_)) => {}
                (read, expected) => prop_assert_eq!(read.map(|(value, _)| value), expected),
            }
        }
    }
}
