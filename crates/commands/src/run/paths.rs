//! Paths that are typed after a command, and the files that commands write.

use std::io;
use std::path::{Path, PathBuf};

use ona_files::{Expect, ReplaceError, ReplaceOptions, replace};

use super::confirm::{YES, confirm};
use crate::act::Act;
use crate::desk::Desk;
use crate::files::absolute;
use crate::outside::Outside;

/// Why a path cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum PathError {
    #[error("{} does not exist", .0.display())]
    Missing(PathBuf),
    #[error("the directory {} does not exist\ncreate it first: !mkdir -p {}", .0.display(), quoted(.0))]
    NoParent(PathBuf),
    #[error("{} is not a directory", .0.display())]
    NotADirectory(PathBuf),
    #[error("{} is a directory; name a file in it", .0.display())]
    IsDirectory(PathBuf),
    #[error("permission denied: {}", .0.display())]
    NoPermission(PathBuf),
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
}

impl PathError {
    fn of(path: &Path, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing(path.to_owned()),
            io::ErrorKind::PermissionDenied => Self::NoPermission(path.to_owned()),
            io::ErrorKind::NotADirectory => Self::NotADirectory(path.to_owned()),
            _ => Self::Io { path: path.to_owned(), error },
        }
    }
}

/// A path as a word of a command line.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = text.chars().all(|c| c.is_alphanumeric() || "/._-+@:".contains(c));
    if is_plain { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// The path that was typed: from the working directory; `~` is the home directory, and quotes around it are not part of it.
pub(super) fn typed<O: Outside>(desk: &Desk<O>, text: &str) -> PathBuf {
    let place = desk.session.gate.place();
    absolute(&place.cwd, place.home.as_deref(), unquoted(text))
}

/// A text without the quotes around it.
pub(super) fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let between = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    between('"').or_else(|| between('\'')).filter(|inner| !inner.is_empty()).unwrap_or(text)
}

/// A directory that exists and can be read.
pub(super) fn directory(path: &Path) -> Result<PathBuf, PathError> {
    let dir = path.canonicalize().map_err(|error| PathError::of(path, error))?;
    if !dir.is_dir() {
        return Err(PathError::NotADirectory(dir));
    }
    std::fs::read_dir(&dir).map_err(|error| PathError::of(&dir, error))?;
    Ok(dir)
}

/// A file that can be written: its directory exists.
pub(super) fn file(path: &Path) -> Result<(), PathError> {
    if path.is_dir() {
        return Err(PathError::IsDirectory(path.to_owned()));
    }
    match path.parent() {
        Some(parent) if !parent.is_dir() => match parent.metadata() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Err(PathError::NoPermission(parent.to_owned()))
            }
            Ok(_) => Err(PathError::NotADirectory(parent.to_owned())),
            Err(_) => Err(PathError::NoParent(parent.to_owned())),
        },
        _ => Ok(()),
    }
}

/// What a command writes into a file.
pub(super) struct Output<'a> {
    pub(super) path: PathBuf,
    pub(super) text: &'a str,
    /// The file that exists may be replaced.
    pub(super) overwrites: bool,
    /// The command line without its file, and with the word that overwrites.
    pub(super) again: String,
}

/// Writes a file. One that exists is not overwritten without a question.
pub(super) fn write(output: &Output<'_>) -> Act {
    let Output { path, text, overwrites, again } = output;
    if let Err(error) = file(path) {
        return Act::error(error.to_string());
    }
    let expect = if *overwrites { Expect::Anything } else { Expect::Nothing };
    let options = ReplaceOptions { expect, ..ReplaceOptions::default() };
    match replace(path, text.as_bytes(), &options) {
        Ok(()) => Act::plain(format!("wrote {}", path.display())),
        Err(ReplaceError::Exists) => {
            let question = format!("{} exists already. Overwrite it?", path.display());
            confirm(question, "", format!("{again} {YES} {}", path.display()))
        }
        Err(ReplaceError::Io(error)) if error.kind() == io::ErrorKind::PermissionDenied => {
            Act::error(PathError::NoPermission(path.clone()).to_string())
        }
        Err(error) => Act::error(format!("{}: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_around_a_path_are_not_part_of_it() {
        assert_eq!(unquoted(" \"my file.txt\" "), "my file.txt");
        assert_eq!(unquoted("'a b'"), "a b");
        assert_eq!(unquoted("it's"), "it's");
        assert_eq!(unquoted("\"\""), "\"\"");
    }

    #[test]
    fn what_is_wrong_with_a_path_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let of = |name: &str| dir.path().join(name);
        std::fs::write(of("a.txt"), "").unwrap();
        let said = |error: PathError| error.to_string();
        assert!(said(directory(&of("none")).unwrap_err()).ends_with("none does not exist"));
        assert!(said(directory(&of("a.txt")).unwrap_err()).ends_with("a.txt is not a directory"));
        assert!(said(file(&of("none/x.txt")).unwrap_err()).contains("create it first: !mkdir -p "));
        assert!(said(file(&of("a.txt/x")).unwrap_err()).ends_with("a.txt is not a directory"));
        assert!(said(file(dir.path()).unwrap_err()).contains("is a directory; name a file in it"));
        assert!(file(&of("new.txt")).is_ok() && directory(dir.path()).is_ok());
    }

    #[test]
    fn a_path_with_blanks_is_quoted_for_the_shell() {
        assert_eq!(quoted(Path::new("/a/b-c")), "/a/b-c");
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
