//! Edits of any JSON file that people keep, at any depth: lists included.

use std::fmt;

use serde_json::Value;

use super::EditError;
use super::splice::{Document, Slot};

/// One step down into a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// To the member of an object.
    Key(&'a str),
    /// To an entry of a list.
    Index(usize),
}

/// Steps as a person would write them, such as `hooks.Stop[0]`.
struct Path<'p, 'a>(&'p [Step<'a>]);

impl fmt::Display for Path<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if at == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// What a text says. One without anything says `{}`.
pub fn value(text: &str) -> Result<Value, EditError> {
    let document = Document::read(text)?;
    Ok(document.value(&document.root()))
}

/// The text with one more entry in the list at `path`; lists and objects on the way are made where there are none.
pub fn push(text: &str, path: &[Step<'_>], entry: &Value) -> Result<String, EditError> {
    let document = Document::read(text)?;
    match walk(&document, path)? {
        Walked::To(slot) => match document.value(&slot) {
            Value::Array(_) => Ok(document.append(&slot, None, entry)),
            Value::Null => Ok(document.replace(&slot, &Value::Array(vec![entry.clone()]))),
            _ => Err(refused(&document, &slot, EditError::NotAnArray, path)),
        },
        Walked::Until(slot, depth) => {
            let list = Value::Array(vec![entry.clone()]);
            add(&document, &slot, &path[..depth], &path[depth..], &list)
        }
    }
}

/// The text with the value at `path`, which must be one of an object's.
pub fn put(text: &str, path: &[Step<'_>], new: &Value) -> Result<String, EditError> {
    let document = Document::read(text)?;
    match walk(&document, path)? {
        Walked::To(slot) if document.value(&slot) == *new => Ok(document.text),
        Walked::To(slot) => Ok(document.replace(&slot, new)),
        Walked::Until(slot, depth) => add(&document, &slot, &path[..depth], &path[depth..], new),
    }
}

/// The text without the value at `path`, and without the lists and objects on the way that held nothing else, not
/// even a comment.
pub fn prune(text: &str, path: &[Step<'_>]) -> Result<String, EditError> {
    let mut text = text.to_owned();
    for depth in (1..=path.len()).rev() {
        let document = Document::read(&text)?;
        let (Walked::To(slot), Walked::To(parent)) =
            (walk(&document, &path[..depth])?, walk(&document, &path[..depth - 1])?)
        else {
            return Ok(text);
        };
        let emptied = matches!(document.written_at(&slot), "{}" | "[]");
        if depth < path.len() && !emptied {
            return Ok(text);
        }
        let at = match path[depth - 1] {
            Step::Key(key) => document.position(&parent, key),
            Step::Index(index) => Some(index),
        };
        let Some(at) = at else { return Ok(text) };
        text = document.without(&parent, at);
    }
    Ok(text)
}

/// How far a path leads.
enum Walked {
    /// To its end.
    To(Slot),
    /// To this object or list, which has nothing of the next name; so many steps were taken.
    Until(Slot, usize),
}

fn walk(document: &Document, path: &[Step<'_>]) -> Result<Walked, EditError> {
    let mut slot = document.root();
    for (depth, step) in path.iter().enumerate() {
        let next = match (step, document.value(&slot)) {
            (Step::Key(key), Value::Object(_)) => document.member(&slot, key),
            (Step::Index(index), Value::Array(_)) => document.nth(&slot, *index),
            // A null is as good as nothing.
            (_, Value::Null) => None,
            (Step::Key(_), _) => {
                let to = EditError::NotAnObject;
                return Err(refused(document, &slot, to, &path[..depth]));
            }
            (Step::Index(_), _) => {
                let to = EditError::NotAnArray;
                return Err(refused(document, &slot, to, &path[..depth]));
            }
        };
        match next {
            Some(next) => slot = next,
            None => return Ok(Walked::Until(slot, depth)),
        }
    }
    Ok(Walked::To(slot))
}

/// Adds what a path lacks.
fn add(
    document: &Document,
    slot: &Slot,
    taken: &[Step<'_>],
    missing: &[Step<'_>],
    value: &Value,
) -> Result<String, EditError> {
    let mut value = value.clone();
    for step in missing[1..].iter().rev() {
        value = match step {
            Step::Key(key) => Value::Object([((*key).to_owned(), value)].into_iter().collect()),
            Step::Index(_) => Value::Array(vec![value]),
        };
    }
    match (missing[0], document.value(slot)) {
        (Step::Key(key), Value::Null) => {
            let object = Value::Object([(key.to_owned(), value)].into_iter().collect());
            Ok(document.replace(slot, &object))
        }
        (Step::Key(key), _) => Ok(document.append(slot, Some(key), &value)),
        (Step::Index(_), Value::Null) => Ok(document.replace(slot, &Value::Array(vec![value]))),
        (Step::Index(_), Value::Array(_)) => Ok(document.append(slot, None, &value)),
        (Step::Index(_), _) => Err(refused(document, slot, EditError::NotAnArray, taken)),
    }
}

/// What is in the way, with its place in the text.
fn refused(
    document: &Document,
    slot: &Slot,
    error: impl FnOnce(String) -> EditError,
    path: &[Step<'_>],
) -> EditError {
    let (line, column) = document.place(slot);
    let name = if path.is_empty() { "the top level".to_owned() } else { Path(path).to_string() };
    EditError::At { line, column, reason: Box::new(error(name)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use Step::{Index, Key};

    #[test]
    fn what_was_put_in_comes_out_again_to_the_byte() {
        let entry = json!({"matcher": "*", "hooks": [{"command": "x"}]});
        let path = [Key("hooks"), Key("Stop")];
        for text in [
            "{}",
            "{}\n",
            "{\"a\": 1}",
            "{\n\t\"a\": 1\n}\n",
            "{\n    \"a\": 1, // one\n}\n",
            "{\r\n  \"hooks\": {\r\n    \"Stop\": [1]\r\n  }\r\n}\r\n",
            "{\n  \"hooks\": { /* mine */\n  },\n  \"b\": {}\n}",
            "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"x\": 1}\n    ],\n    \"Other\": []\n  }\n}\n",
        ] {
            let with = push(text, &path, &entry).unwrap();
            let list = value(&with).unwrap()["hooks"]["Stop"].as_array().unwrap().clone();
            assert_eq!(list.last(), Some(&entry), "{with}");
            let at = [&path[..], &[Index(list.len() - 1)]].concat();
            assert_eq!(prune(&with, &at).unwrap(), text, "{with}");
        }
    }

    #[test]
    fn what_is_in_the_way_is_named_with_its_place() {
        let said =
            |text: &str, path: &[Step<'_>]| push(text, path, &json!(1)).unwrap_err().to_string();
        let path = [Key("hooks"), Key("Stop")];
        assert_eq!(said("{\n  \"hooks\": []\n}", &path), "line 2 column 12: hooks is no object");
        assert_eq!(
            said("{\"hooks\": {\"Stop\": {}}}", &path),
            "line 1 column 20: hooks.Stop is no array"
        );
        assert_eq!(
            said("{\"hooks\": [5]}", &[Key("hooks"), Index(0), Key("a")]),
            "line 1 column 12: hooks[0] is no object"
        );
    }

    #[test]
    fn values_are_put_where_others_stand_and_where_none_does() {
        let at = [Key("a"), Key("b")];
        assert_eq!(put("{\"a\": {\"b\": 1}}", &at, &json!(2)).unwrap(), "{\"a\": {\"b\": 2}}");
        assert_eq!(put("{\"a\": null}", &at, &json!(2)).unwrap(), "{\"a\": {\"b\":2}}");
        assert_eq!(value(&put("", &at, &json!(2)).unwrap()).unwrap(), json!({"a": {"b": 2}}));
        assert_eq!(prune("{\"a\": 1}", &at[..1]).unwrap(), "{}");
        assert_eq!(prune("{\"c\": 1}", &at).unwrap(), "{\"c\": 1}");
    }
}
