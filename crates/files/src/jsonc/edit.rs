//! Edits of a hand-written JSON file at any depth, including lists.

use std::fmt;

use serde_json::Value;

use super::ParseError;
use super::document::{Document, Slot};

/// Why a text cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// It is not JSON, or not an object.
    #[error(transparent)]
    Text(#[from] ParseError),
    /// The path is empty.
    #[error("no key is given")]
    NoKey,
    /// The path continues below a value that is not an object.
    #[error("line {line} column {column}: {path} is not an object")]
    NotAnObject {
        /// As a person would write it, such as `hooks.Stop[0]`.
        path: String,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
    /// The path continues below a value that is not an array.
    #[error("line {line} column {column}: {path} is not an array")]
    NotAnArray {
        /// As a person would write it, such as `hooks.Stop[0]`.
        path: String,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
}

impl EditError {
    /// Where in the text it is, if that is known: line and column, counted from 1.
    pub fn place(&self) -> Option<(usize, usize)> {
        match self {
            Self::Text(ParseError::Syntax(error)) => Some((error.line(), error.column())),
            Self::Text(ParseError::NotAnObject) => Some((1, 1)),
            Self::NotAnObject { line, column, .. } | Self::NotAnArray { line, column, .. } => {
                Some((*line, *column))
            }
            Self::NoKey => None,
        }
    }

    /// The message without the position, for callers that have already named it.
    pub fn without_place(&self) -> String {
        match self {
            Self::NotAnObject { path, .. } => format!("{path} is not an object"),
            Self::NotAnArray { path, .. } => format!("{path} is not an array"),
            Self::Text(_) => {
                let text = self.to_string();
                let end = text.rfind(" at line ").unwrap_or(text.len());
                text[..end].to_owned()
            }
            Self::NoKey => self.to_string(),
        }
    }
}

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
        if self.0.is_empty() {
            return f.write_str("the top level");
        }
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

/// The value of a text. An empty text counts as `{}`.
pub fn value(text: &str) -> Result<Value, EditError> {
    let document = Document::read(text)?;
    Ok(document.value(&document.root()))
}

/// The text with one more entry in the list at `path`; missing lists and objects on the path are created.
pub fn push(text: &str, path: &[Step<'_>], entry: &Value) -> Result<String, EditError> {
    let document = Document::read(text)?;
    match walk(&document, path)? {
        Walked::To(slot) => match document.value(&slot) {
            Value::Array(_) => Ok(document.append(&slot, None, entry)),
            Value::Null => Ok(document.replace(&slot, &Value::Array(vec![entry.clone()]))),
            _ => Err(not_an_array(&document, &slot, path)),
        },
        Walked::Until(slot, depth) => {
            let list = Value::Array(vec![entry.clone()]);
            add(&document, &slot, &path[..depth], &path[depth..], &list)
        }
    }
}

/// The same, unless the list has such an entry already.
pub fn include(text: &str, path: &[Step<'_>], entry: &Value) -> Result<String, EditError> {
    let document = Document::read(text)?;
    match list(&document, path)? {
        Some(slot) if document.entry(&slot, entry).is_some() => Ok(text.to_owned()),
        _ => push(text, path, entry),
    }
}

/// The text without the entry in the list at `path`, all occurrences of it.
pub fn exclude(text: &str, path: &[Step<'_>], entry: &Value) -> Result<String, EditError> {
    let mut text = text.to_owned();
    loop {
        let document = Document::read(&text)?;
        let Some(slot) = list(&document, path)? else { return Ok(text) };
        match document.entry(&slot, entry) {
            None => return Ok(text),
            Some(at) => text = document.without(&slot, at),
        }
    }
}

/// The list at `path`, if there is one.
fn list(document: &Document, path: &[Step<'_>]) -> Result<Option<Slot>, EditError> {
    let Walked::To(slot) = walk(document, path)? else { return Ok(None) };
    match document.value(&slot) {
        Value::Array(_) => Ok(Some(slot)),
        Value::Null => Ok(None),
        _ => Err(not_an_array(document, &slot, path)),
    }
}

/// The text with the value at `path`; missing objects and lists on the path are created.
pub fn put(text: &str, path: &[Step<'_>], new: &Value) -> Result<String, EditError> {
    if path.is_empty() {
        return Err(EditError::NoKey);
    }
    let document = Document::read(text)?;
    match walk(&document, path)? {
        Walked::To(slot) if document.value(&slot) == *new => Ok(document.text),
        Walked::To(slot) => Ok(document.replace(&slot, new)),
        Walked::Until(slot, depth) => add(&document, &slot, &path[..depth], &path[depth..], new),
    }
}

/// The text without the value at `path`. A duplicate key is removed each time: the first would count again once the last
/// is gone.
pub fn remove(text: &str, path: &[Step<'_>]) -> Result<String, EditError> {
    let Some((last, parents)) = path.split_last() else { return Err(EditError::NoKey) };
    let mut text = text.to_owned();
    loop {
        let document = Document::read(&text)?;
        let Walked::To(parent) = walk(&document, parents)? else { return Ok(text) };
        let at = match (last, document.value(&parent)) {
            (_, Value::Null) => None,
            (Step::Key(key), Value::Object(_)) => document.position(&parent, key),
            (Step::Key(_), _) => return Err(not_an_object(&document, &parent, parents)),
            (Step::Index(index), Value::Array(list)) => (*index < list.len()).then_some(*index),
            (Step::Index(_), _) => return Err(not_an_array(&document, &parent, parents)),
        };
        match at {
            None => return Ok(text),
            Some(at) => text = document.without(&parent, at),
        }
        // The entry behind it has its index now.
        if matches!(last, Step::Index(_)) {
            return Ok(text);
        }
    }
}

/// The text without the value at `path`, and without the lists and objects on the path that contained nothing else, not
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
    /// To this object or list, which lacks the next name; with the number of steps taken.
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
            (Step::Key(_), _) => return Err(not_an_object(document, &slot, &path[..depth])),
            (Step::Index(_), _) => return Err(not_an_array(document, &slot, &path[..depth])),
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
        (Step::Index(_), _) => Err(not_an_array(document, slot, taken)),
    }
}

/// The error for a value that is not an object.
fn not_an_object(document: &Document, slot: &Slot, path: &[Step<'_>]) -> EditError {
    let (line, column) = document.place(slot);
    EditError::NotAnObject { path: Path(path).to_string(), line, column }
}

/// The error for a value that is not an array.
fn not_an_array(document: &Document, slot: &Slot, path: &[Step<'_>]) -> EditError {
    let (line, column) = document.place(slot);
    EditError::NotAnArray { path: Path(path).to_string(), line, column }
}

#[cfg(test)]
mod tests;
