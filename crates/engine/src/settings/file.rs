//! Reading one settings file, and saying why it cannot be read.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ona_policy::path::{PathError, resolve};

use super::jsonc::NotSettings;

/// Nobody writes settings this long by hand.
pub(super) const LARGEST: u64 = 1 << 20;

/// Why a file is skipped.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum BadFile {
    #[error("there is no such file")]
    Missing,
    #[error("it is a directory")]
    Directory,
    #[error("it is no regular file")]
    NotRegular,
    #[error("it is larger than {} MiB", .0 >> 20)]
    TooLarge(u64),
    #[error("it is not UTF-8")]
    NotUtf8,
    #[error("it leads out of the project, to {}", .0.display())]
    Outside(PathBuf),
    #[error("{} is a link", .0.display())]
    Link(PathBuf),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    #[error(transparent)]
    Text(#[from] NotSettings),
}

/// The file's text; nothing if there is no such file.
pub(super) fn read(path: &Path) -> Result<Option<String>, BadFile> {
    let Some(bytes) = read_bytes(path)? else { return Ok(None) };
    String::from_utf8(bytes).map(Some).map_err(|_| BadFile::NotUtf8)
}

/// What the file holds; nothing if there is no such file.
pub(crate) fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, BadFile> {
    read_at_most(path, LARGEST)
}

/// The same, of a file that may be larger or must be smaller.
pub(crate) fn read_at_most(path: &Path, most: u64) -> Result<Option<Vec<u8>>, BadFile> {
    // Looked at before it is opened: to open a pipe is to wait for its writer.
    let meta = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        meta => meta?,
    };
    if meta.is_dir() {
        return Err(BadFile::Directory);
    }
    if !meta.is_file() {
        return Err(BadFile::NotRegular);
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(BadFile::TooLarge(most));
    }
    Ok(Some(bytes))
}

/// Where a path really leads, which must be in `dir`.
pub(crate) fn within(dir: &Path, path: &Path) -> Result<PathBuf, BadFile> {
    let real = resolve(dir, path)?;
    if real.starts_with(resolve(dir, ".")?) { Ok(real) } else { Err(BadFile::Outside(real)) }
}

/// The `*.json` in a directory, sorted; none if there is no such directory.
pub(super) fn list(dir: &Path) -> Result<Vec<PathBuf>, BadFile> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if path.extension().is_some_and(|extension| extension == "json") && !hidden {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
