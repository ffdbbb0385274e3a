//! Reading one settings file, and saying why it cannot be read.

use std::path::{Path, PathBuf};
use std::{fs, io};

use ona_files::resolve;
use ona_files::{ReadError, read_at_most, read_text_at_most};
use ona_types::PathError;

use super::jsonc::NotSettings;

/// The maximum size of a settings file.
pub(super) const MAX_BYTES: u64 = 1 << 20;

/// Why a file is skipped.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum BadFile {
    #[error("file not found")]
    Missing,
    #[error("it is a link that leads nowhere, or below one")]
    LeadsNowhere,
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("it leads out of the project, to {}", .0.display())]
    Outside(PathBuf),
    #[error("{} is a link", .0.display())]
    Link(PathBuf),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    Text(#[from] NotSettings),
}

/// The file's text; `None` if it does not exist.
pub fn read(path: &Path) -> Result<Option<String>, BadFile> {
    Ok(read_text_at_most(path, MAX_BYTES)?)
}

/// The file's bytes; `None` if it does not exist.
pub fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, BadFile> {
    Ok(read_at_most(path, MAX_BYTES)?)
}

/// The real path, which must be in `dir`.
pub fn within(dir: &Path, path: &Path) -> Result<PathBuf, BadFile> {
    let real = resolve(dir, path)?;
    if real.starts_with(resolve(dir, ".")?) { Ok(real) } else { Err(BadFile::Outside(real)) }
}

/// Whether nothing stands there. What cannot be looked at may be there, and so may what is below a link that leads
/// nowhere or a file in place of a directory.
pub(super) fn is_missing(path: &Path) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    let looked = path.symlink_metadata();
    if !looked.is_err_and(|error| matches!(error.kind(), NotFound | NotADirectory)) {
        return false;
    }
    let found = path.ancestors().skip(1).find_map(|dir| Some((dir, dir.symlink_metadata().ok()?)));
    found.is_none_or(|(dir, found)| {
        let leads_nowhere = found.is_symlink() && dir.metadata().is_err();
        !leads_nowhere && !found.is_file()
    })
}

/// The `*.json` in a directory, sorted; none if there is no such directory.
pub(super) fn list(dir: &Path) -> Result<Vec<PathBuf>, BadFile> {
    let entries = match fs::read_dir(dir) {
        Err(_) if is_missing(dir) => return Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(BadFile::LeadsNowhere),
        entries => entries.map_err(ReadError::Io)?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(ReadError::Io)?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if path.extension().is_some_and(|extension| extension == "json") && !hidden {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
