//! Changing a settings file and nothing else in it.
//!
//! An edit is a splice into the file's own text: comments, order, layout and unknown keys keep their
//! bytes. What is added is laid out like what stands around it.

#[cfg(test)]
pub(super) mod noise;
mod splice;
mod steps;
mod write;

use std::path::PathBuf;
use std::slice;

use ona_types::PermissionUpdate;
use serde_json::{Map, Value};

use super::file::BadFile;
use super::jsonc::{self, NotSettings};
use super::known::BadKey;
use splice::{Document, Slot};

pub use steps::{Step, prune, push, put, value};
pub use write::{write, write_private};

/// Why settings cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The text is none that could be changed.
    #[error(transparent)]
    Text(#[from] NotSettings),
    /// A key is asked for without a name.
    #[error("no key is given")]
    NoKey,
    /// There is no such key.
    #[error(transparent)]
    Key(#[from] BadKey),
    /// No file belongs to the destination.
    #[error("there is no file for it")]
    NoFile,
    /// Who reads it again would drop the value, for this reason.
    #[error("{0}")]
    Dropped(String),
    /// A key inside this one is asked for.
    #[error("{0} is no object")]
    NotAnObject(String),
    /// Entries of this one are asked for.
    #[error("{0} is no array")]
    NotAnArray(String),
    /// To change one of them would not change what they say together.
    #[error("{0} stands there more than once: make one of them first")]
    Twice(String),
    /// Somebody else is at it, and does not come to an end.
    #[error("somebody else keeps changing it")]
    Busy,
    /// The file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] BadFile),
    /// The file cannot be written.
    #[error("it cannot be written: {0}")]
    Unwritable(#[from] std::io::Error),
    /// One of these, and its place in the text.
    #[error("line {line} column {column}: {reason}")]
    At {
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
        /// What is wrong.
        #[source]
        reason: Box<EditError>,
    },
    /// One of these, and the file.
    #[error("{}: {reason}", file.display())]
    In {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        #[source]
        reason: Box<EditError>,
    },
}

impl EditError {
    /// Where in the text it is, if that is known: line and column, counted from 1.
    pub fn place(&self) -> Option<(usize, usize)> {
        match self {
            Self::Text(NotSettings::Syntax(error)) => Some((error.line(), error.column())),
            Self::Text(NotSettings::NotAnObject) => Some((1, 1)),
            Self::At { line, column, .. } => Some((*line, *column)),
            Self::In { reason, .. } => reason.place(),
            _ => None,
        }
    }
}

/// The text with the key set to the value.
pub fn set(text: &str, key: &[&str], value: &Value) -> Result<String, EditError> {
    let document = Document::read(text)?;
    let mut slot = document.root();
    for (depth, name) in key.iter().enumerate() {
        let rest = &key[depth + 1..];
        match document.member(&slot, name) {
            None => return Ok(document.append(&slot, Some(name), &nested(rest, value))),
            Some(found) => slot = found,
        }
        match document.value(&slot) {
            old if rest.is_empty() && old == *value => return Ok(document.text),
            Value::Object(_) if !rest.is_empty() => {}
            // A null is as good as nothing.
            Value::Null => return Ok(document.replace(&slot, &nested(rest, value))),
            _ if rest.is_empty() => return Ok(document.replace(&slot, value)),
            _ => return Err(EditError::NotAnObject(key[..=depth].join("."))),
        }
    }
    Err(EditError::NoKey)
}

/// The value inside the objects that these keys name.
fn nested(keys: &[&str], value: &Value) -> Value {
    keys.iter().rev().fold(value.clone(), |inner, key| {
        Value::Object(Map::from_iter([((*key).to_owned(), inner)]))
    })
}

/// The text without the key.
pub fn remove(text: &str, key: &[&str]) -> Result<String, EditError> {
    let [parents @ .., name] = key else { return Err(EditError::NoKey) };
    let mut text = text.to_owned();
    loop {
        let document = Document::read(&text)?;
        let Some(parent) = find(&document, parents)? else { return Ok(text) };
        // Where a key stands twice, the first would count again once the last is gone.
        match document.position(&parent, name) {
            None => return Ok(text),
            Some(at) => text = document.without(&parent, at),
        }
    }
}

/// The object with these keys, if there is one.
fn find(document: &Document, keys: &[&str]) -> Result<Option<Slot>, EditError> {
    let mut slot = document.root();
    for (depth, name) in keys.iter().enumerate() {
        match document.member(&slot, name) {
            None => return Ok(None),
            Some(found) => slot = found,
        }
        match document.value(&slot) {
            Value::Object(_) => {}
            Value::Null => return Ok(None),
            _ => return Err(EditError::NotAnObject(keys[..=depth].join("."))),
        }
    }
    Ok(Some(slot))
}

/// The text with the permissions changed.
pub fn apply(text: &str, update: &PermissionUpdate) -> Result<String, EditError> {
    use PermissionUpdate::{
        AddDirectories, AddRules, RemoveDirectories, RemoveRules, ReplaceRules, SetMode,
    };
    match update {
        AddRules { rules, behavior, .. } => add(text, behavior.as_str(), &texts(rules)),
        ReplaceRules { rules, behavior, .. } => {
            once(text, behavior.as_str())?;
            set(text, &["permissions", behavior.as_str()], &texts(rules).into())
        }
        RemoveRules { rules, behavior, .. } => take(text, behavior.as_str(), &texts(rules)),
        SetMode { mode, .. } => set(text, &["permissions", "defaultMode"], &mode.as_str().into()),
        AddDirectories { directories, .. } => add(text, "additionalDirectories", directories),
        RemoveDirectories { directories, .. } => take(text, "additionalDirectories", directories),
    }
}

fn texts(rules: &[impl ToString]) -> Vec<String> {
    rules.iter().map(ToString::to_string).collect()
}

/// Appends to a list in `permissions` what it lacks.
fn add(text: &str, list: &str, entries: &[String]) -> Result<String, EditError> {
    let mut text = text.to_owned();
    for entry in entries {
        let document = Document::read(&text)?;
        let slot = permission_list(&document, list)?;
        text = match &slot {
            Some(slot) if document.entry(slot, slice::from_ref(entry)).is_some() => continue,
            Some(slot) => document.append(slot, None, &entry.as_str().into()),
            None => set(&text, &["permissions", list], &vec![entry.as_str()].into())?,
        };
    }
    Ok(text)
}

/// Refuses a list in `permissions` that is put together from several.
fn once(text: &str, list: &str) -> Result<(), EditError> {
    let (_, twice) = jsonc::parse(&Document::read(text)?.text)?;
    let of_list = ["permissions".to_owned(), format!("permissions.{list}")];
    match twice.into_iter().find(|key| of_list.contains(key)) {
        Some(key) => Err(EditError::Twice(key)),
        None => Ok(()),
    }
}

/// Takes out of a list in `permissions` what is named, as often as it is there.
fn take(text: &str, list: &str, entries: &[String]) -> Result<String, EditError> {
    once(text, list)?;
    let mut text = text.to_owned();
    loop {
        let document = Document::read(&text)?;
        let Some(slot) = permission_list(&document, list)? else { return Ok(text) };
        match document.entry(&slot, entries) {
            None => return Ok(text),
            Some(at) => text = document.without(&slot, at),
        }
    }
}

fn permission_list(document: &Document, list: &str) -> Result<Option<Slot>, EditError> {
    let Some(permissions) = find(document, &["permissions"])? else { return Ok(None) };
    let Some(slot) = document.member(&permissions, list) else { return Ok(None) };
    match document.value(&slot) {
        Value::Array(_) => Ok(Some(slot)),
        Value::Null => Ok(None),
        _ => Err(EditError::NotAnArray(format!("permissions.{list}"))),
    }
}

#[cfg(test)]
mod tests;
