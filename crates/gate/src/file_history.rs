//! What files were before a call changed them, so that the operator can go back (`/rewind`).
//!
//! The content is kept in files beside the record, which may hold what the record must not; the transcript has an entry
//! `file_history_snapshot` with the paths and hashes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ona_files::{ReplaceOptions, read_at_most, replace};
use ona_front::FileDiff;
use ona_policy::secrets::Redactor;
use ona_tools::Host;
use ona_types::{ContentHash, Entry, FileVersion, SessionId};

use crate::file_diff;

/// Files of one call that are kept at most.
const MAX_FILES: usize = 200;
/// Larger files are not kept.
const MAX_BYTES: u64 = 20 << 20;

/// The files that a call may change, as they were before it.
#[derive(Debug, Default)]
pub(crate) struct PreImages {
    files: Vec<PreImage>,
}

#[derive(Debug)]
struct PreImage {
    path: PathBuf,
    /// `None` if there was no such file.
    content: Option<Vec<u8>>,
}

/// What a call has changed.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    /// The entry for the transcript.
    pub(crate) entry: Option<Entry>,
    /// The change, if it is one of one file.
    pub(crate) diff: Option<FileDiff>,
    /// Why the old content could not be kept.
    pub(crate) problem: Option<io::Error>,
}

impl PreImages {
    /// Reads the files. What is not a regular file, or too large, is left out: there is no going back for it.
    pub(crate) fn read<'p>(paths: impl Iterator<Item = &'p Path>) -> Self {
        let mut files: Vec<PreImage> = Vec::new();
        for path in paths.take(MAX_FILES) {
            if files.iter().any(|file| file.path == path) {
                continue;
            }
            let content = match fs::symlink_metadata(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Ok(meta) if meta.is_file() && meta.len() <= MAX_BYTES => {
                    match read_at_most(path, MAX_BYTES) {
                        Ok(content) => content,
                        Err(_) => continue,
                    }
                }
                _ => continue,
            };
            files.push(PreImage { path: path.to_owned(), content });
        }
        Self { files }
    }

    /// Compares the files with what they are now, and keeps the old content of those that changed.
    pub(crate) fn changed(self, host: &Host, session: &SessionId, redactor: &Redactor) -> Changed {
        let mut found = Changed::default();
        let (mut versions, mut diffs) = (Vec::new(), Vec::new());
        for PreImage { path, content } in self.files {
            let now = match fs::symlink_metadata(&path) {
                Ok(meta) if meta.is_file() => read_at_most(&path, MAX_BYTES).ok().flatten(),
                _ => None,
            };
            if now == content {
                continue;
            }
            let shown = path.display().to_string();
            let diff = file_diff::file_diff(&shown, content.as_deref(), now.as_deref());
            let (added, removed) = diff.as_ref().map_or((0, 0), |diff| (diff.added, diff.removed));
            diffs.push(diff);
            let before = match content.map(|content| keep(host, session, &content)).transpose() {
                Ok(before) => before,
                Err(error) => {
                    found.problem = Some(error);
                    continue;
                }
            };
            let after = now.map(|now| ContentHash::of(&now).to_string());
            versions.push(FileVersion { path: shown, before, after, added, removed });
        }
        if !versions.is_empty() {
            found.entry = Some(Entry::file_history(session, &versions));
        }
        if let [Some(_)] = diffs.as_slice() {
            found.diff = diffs.pop().flatten().map(|diff| file_diff::masked(diff, redactor));
        }
        found
    }
}

/// Keeps a content under its hash.
fn keep(host: &Host, session: &SessionId, content: &[u8]) -> io::Result<String> {
    let hash = ContentHash::of(content).to_string();
    let path = kept(host, session, &hash)?;
    if !path.exists() {
        replace(&path, content, &ReplaceOptions::default()).map_err(io::Error::other)?;
    }
    Ok(hash)
}

fn kept(host: &Host, session: &SessionId, hash: &str) -> io::Result<PathBuf> {
    Ok(host.private_dir(&host.pre_images_of(session))?.join(hash))
}

/// Keeps the present content of a file before ona itself changes it; the version to note.
pub fn note_present(host: &Host, session: &SessionId, path: &Path) -> io::Result<FileVersion> {
    let content = read_at_most(path, MAX_BYTES).map_err(io::Error::other)?;
    let before = content.map(|content| keep(host, session, &content)).transpose()?;
    let path = path.display().to_string();
    Ok(FileVersion { path, before, after: None, added: 0, removed: 0 })
}

/// The hash of a file's present content; `None` if there is no such file, or it is too large to be kept.
pub fn present(path: &Path) -> Option<String> {
    let content = read_at_most(path, MAX_BYTES).ok().flatten()?;
    Some(ContentHash::of(&content).to_string())
}

/// The content that was kept under a hash.
pub fn kept_content(host: &Host, session: &SessionId, hash: &str) -> io::Result<Vec<u8>> {
    ona_files::content(host.pre_images_of(session).join(hash))
}
