//! Adds a server to a file, or removes one.

use std::path::PathBuf;

use ona_files::jsonc::{Step, prune, put, value};
use ona_types::trust::TrustRecord;
use serde_json::Value;

use super::entry::{BadEntry, check, check_name};
use super::places::{PROJECTS, SERVERS, own_file};
use crate::settings::edit::{write, write_private};
use crate::settings::{self, EditError, Roots};
use crate::trust::{self, name_of};

/// The scope that a server is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptIn {
    /// For the user, in this project.
    Local,
    /// For the user, everywhere.
    User,
    /// For everybody who works on the project.
    Project,
}

impl KeptIn {
    /// All of them, the highest rank first.
    pub const ALL: [Self; 3] = [Self::Local, Self::Project, Self::User];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::User => "user",
            Self::Project => "project",
        }
    }

    /// The file of the servers.
    pub fn file(self, roots: &Roots) -> PathBuf {
        match self {
            Self::Local | Self::User => own_file(roots),
            Self::Project => roots.checkout().join(".mcp.json"),
        }
    }

    /// The keys that lead to the servers in it.
    fn keys(self, roots: &Roots) -> Vec<String> {
        let servers = SERVERS.to_owned();
        match self {
            Self::User | Self::Project => vec![servers],
            Self::Local => vec![PROJECTS.to_owned(), name_of(&roots.checkout()), servers],
        }
    }
}

/// Why a server cannot be added or removed.
#[derive(Debug, thiserror::Error)]
pub enum KeepError<E: std::error::Error> {
    /// Its definition is invalid.
    #[error(transparent)]
    Entry(#[from] BadEntry),
    /// A server of this name exists, and replacing it was not requested.
    #[error("{} already has a server `{name}`", file.display())]
    Exists {
        /// The file.
        file: PathBuf,
        /// The name.
        name: String,
    },
    /// The file cannot be changed.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The record of trust cannot be read or written.
    #[error(transparent)]
    Record(E),
}

/// A file that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The file.
    pub file: PathBuf,
    /// Whether its new contents are trusted.
    pub agreed: bool,
}

/// Adds a server to the file of a scope.
pub fn add<R: TrustRecord<Error: std::error::Error>>(
    scope: KeptIn,
    name: &str,
    entry: &Value,
    replace: bool,
    (roots, record): (&Roots, &R),
) -> Result<Kept, KeepError<R::Error>> {
    check_name(name)?;
    check(entry)?;
    let mut exists = false;
    let kept = edit(scope, name, roots, record, |text, path| {
        exists = stands_at(&value(text)?, path);
        match exists && !replace {
            true => Ok(text.to_owned()),
            false => Ok(put(text, path, entry)?),
        }
    })?;
    if exists && !replace {
        return Err(KeepError::Exists { file: kept.file, name: name.to_owned() });
    }
    Ok(kept)
}

/// Removes a server from the file of a scope; `None` if it has no server of this name.
pub fn remove<R: TrustRecord<Error: std::error::Error>>(
    scope: KeptIn,
    name: &str,
    roots: &Roots,
    record: &R,
) -> Result<Option<Kept>, KeepError<R::Error>> {
    // A missing file is not created.
    if !kept_in(scope, name, roots)? {
        return Ok(None);
    }
    edit(scope, name, roots, record, |text, path| Ok(prune(text, path)?)).map(Some)
}

/// Whether the file of a scope has a server of this name.
pub fn kept_in(scope: KeptIn, name: &str, roots: &Roots) -> Result<bool, EditError> {
    let file = within(scope, roots)?;
    let named = |reason: EditError| EditError::In { file: file.clone(), reason: Box::new(reason) };
    let Some(text) = settings::read(&file).map_err(|bad| named(bad.into()))? else {
        return Ok(false);
    };
    let keys = scope.keys(roots);
    Ok(stands_at(&value(&text).map_err(|error| named(error.into()))?, &steps(&keys, name)))
}

fn steps<'a>(keys: &'a [String], name: &'a str) -> Vec<Step<'a>> {
    keys.iter().map(String::as_str).chain([name]).map(Step::Key).collect()
}

fn stands_at(object: &Value, path: &[Step<'_>]) -> bool {
    let found = path.iter().try_fold(object, |object, step| match step {
        Step::Key(key) => object.get(key),
        Step::Index(index) => object.get(index),
    });
    found.is_some_and(|found| !found.is_null())
}

/// The file of a scope, unless the repository redirects it with a link.
fn within(scope: KeptIn, roots: &Roots) -> Result<PathBuf, EditError> {
    let file = scope.file(roots);
    if scope == KeptIn::Project
        && let Err(bad) = settings::within(&roots.checkout(), &file)
    {
        return Err(EditError::In { file, reason: Box::new(bad.into()) });
    }
    Ok(file)
}

fn edit<R: TrustRecord<Error: std::error::Error>>(
    scope: KeptIn,
    name: &str,
    roots: &Roots,
    record: &R,
    mut change: impl FnMut(&str, &[Step<'_>]) -> Result<String, EditError>,
) -> Result<Kept, KeepError<R::Error>> {
    let file = within(scope, roots)?;
    let keys = scope.keys(roots);
    let path = steps(&keys, name);
    let mut texts = (String::new(), String::new());
    let changing = |text: &str| {
        let new = change(text, &path)?;
        texts = (text.to_owned(), new.clone());
        Ok(new)
    };
    match scope {
        KeptIn::Project => write(&file, changing)?,
        // Definitions may contain secrets.
        KeptIn::Local | KeptIn::User => write_private(&file, changing)?,
    }
    // A change by the operator through ona keeps the trust in the file.
    let agreed = match scope {
        KeptIn::Local | KeptIn::User => true,
        KeptIn::Project => {
            let (before, after) = (texts.0.as_str(), texts.1.as_str());
            trust::carry_over_servers(&file, (before, after), roots, record)
                .map_err(KeepError::Record)?
        }
    };
    Ok(Kept { file, agreed })
}
