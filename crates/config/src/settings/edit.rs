//! Edits of a settings file that keep everything else in it.

mod write;

use std::path::PathBuf;

use ona_files::jsonc::{self, Step, exclude, include, put, remove};
use ona_files::{LockError, ReplaceError};
use ona_types::PermissionUpdate;
use serde_json::Value;

use super::file::BadFile;
use super::jsonc::{NotSettings, parse};
use super::known_keys::BadKey;

pub use write::{write, write_private};

/// Why settings cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The text cannot be edited in this way.
    #[error(transparent)]
    Text(#[from] jsonc::EditError),
    /// The key cannot be set.
    #[error(transparent)]
    Key(#[from] BadKey),
    /// The key is not in the file.
    #[error("`{0}` is not set there")]
    NotSet(String),
    /// No file belongs to the destination.
    #[error("this scope has no settings file")]
    NoFile,
    /// Reading the file would drop the value, for this reason.
    #[error("{0}")]
    Dropped(String),
    /// Changing one of several would not change the merged value.
    #[error("{0} occurs more than once: keep only one first")]
    Twice(String),
    /// Another program keeps changing the file.
    #[error("another program keeps changing it: try again later")]
    Busy,
    /// It cannot be locked.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] BadFile),
    /// The file cannot be written.
    #[error(transparent)]
    Unwritable(#[from] ReplaceError),
    /// One of these errors, with its file.
    #[error("{}: {reason}", file.display())]
    In {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        #[source]
        reason: Box<EditError>,
    },
}

impl From<NotSettings> for EditError {
    fn from(error: NotSettings) -> Self {
        Self::Text(error.into())
    }
}

/// The text with the key set to the value.
pub fn set(text: &str, key: &[&str], value: &Value) -> Result<String, EditError> {
    let path: Vec<Step<'_>> = key.iter().copied().map(Step::Key).collect();
    Ok(put(text, &path, value)?)
}

/// The text without the key.
pub fn unset(text: &str, key: &[&str]) -> Result<String, EditError> {
    let path: Vec<Step<'_>> = key.iter().copied().map(Step::Key).collect();
    match remove(text, &path)? {
        same if same == text => Err(EditError::NotSet(key.join("."))),
        new => Ok(new),
    }
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

/// Appends what is missing to a list in `permissions`.
fn add(text: &str, list: &str, entries: &[String]) -> Result<String, EditError> {
    let path = [Step::Key("permissions"), Step::Key(list)];
    entries
        .iter()
        .try_fold(text.to_owned(), |text, entry| Ok(include(&text, &path, &entry.as_str().into())?))
}

/// Refuses a list in `permissions` that occurs more than once.
fn once(text: &str, list: &str) -> Result<(), EditError> {
    // A text without settings has no duplicates.
    if jsonc::to_json(text).trim().is_empty() {
        return Ok(());
    }
    let (_, twice) = parse(text)?;
    let of_list = ["permissions".to_owned(), format!("permissions.{list}")];
    match twice.into_iter().find(|key| of_list.contains(key)) {
        Some(key) => Err(EditError::Twice(key)),
        None => Ok(()),
    }
}

/// Removes every occurrence of these entries from a list in `permissions`.
fn take(text: &str, list: &str, entries: &[String]) -> Result<String, EditError> {
    once(text, list)?;
    let path = [Step::Key("permissions"), Step::Key(list)];
    entries
        .iter()
        .try_fold(text.to_owned(), |text, entry| Ok(exclude(&text, &path, &entry.as_str().into())?))
}

#[cfg(test)]
mod tests;
