//! What is at a path: a file, a link, a directory, or something that cannot be kept.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use ona_files::{ReadError, read_at_most};
use ona_types::{ContentHash, FileState};

/// What was found at a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    File { content: Vec<u8>, mode: u32 },
    Link(PathBuf),
    Directory { mode: u32 },
    Unkept { why: Unkept, stamp: Stamp },
}

/// Why something is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unkept {
    #[error("it is too large to be kept")]
    TooLarge,
    #[error("there are more than {} files", super::MAX_FILES)]
    TooMany,
    #[error("it is neither a file nor a link nor a directory")]
    Special,
    #[error("it cannot be read")]
    Unreadable,
    #[error("its name is not UTF-8")]
    BadName,
}

impl Unkept {
    /// As the record has it.
    pub(super) fn state(self) -> FileState {
        FileState::Unknown { unknown: self.to_string() }
    }
}

/// By what a change is seen of something whose content is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    length: u64,
    mode: u32,
    changed: (i64, i64),
}

impl Stamp {
    pub(super) fn of(path: &Path) -> Self {
        fs::symlink_metadata(path).map(|meta| Self::in_meta(&meta)).unwrap_or_default()
    }

    fn in_meta(meta: &Metadata) -> Self {
        Self {
            inode: meta.ino(),
            length: meta.len(),
            mode: meta.mode(),
            changed: (meta.mtime(), meta.mtime_nsec()),
        }
    }
}

impl Found {
    /// Looks at a path. A file with more bytes than `most` is not kept.
    pub(super) fn at(path: &Path, most: u64) -> Self {
        let meta = match fs::symlink_metadata(path) {
            Err(error) if is_nothing(&error) => return Self::Nothing,
            Err(_) => return Self::Unkept { why: Unkept::Unreadable, stamp: Stamp::default() },
            Ok(meta) => meta,
        };
        let unkept = |why| Self::Unkept { why, stamp: Stamp::in_meta(&meta) };
        let mode = meta.permissions().mode() & 0o7777;
        if meta.is_symlink() {
            return fs::read_link(path).map_or_else(|_| unkept(Unkept::Unreadable), Self::Link);
        }
        if meta.is_dir() {
            return Self::Directory { mode };
        }
        if !meta.is_file() {
            return unkept(Unkept::Special);
        }
        match read_at_most(path, most) {
            Ok(Some(content)) => Self::File { content, mode },
            Ok(None) => Self::Nothing,
            Err(ReadError::TooLarge { .. }) => unkept(Unkept::TooLarge),
            Err(_) => unkept(Unkept::Unreadable),
        }
    }

    pub(super) fn content(&self) -> Option<&[u8]> {
        match self {
            Self::File { content, .. } => Some(content),
            _ => None,
        }
    }

    pub(super) fn is_directory(&self) -> bool {
        matches!(self, Self::Directory { .. })
    }

    /// As the record has it.
    pub(super) fn state(&self) -> Option<FileState> {
        match self {
            Self::Nothing => None,
            Self::File { content, mode } => {
                Some(FileState::File { hash: ContentHash::of(content).to_string(), mode: *mode })
            }
            Self::Link(to) => Some(match to.to_str() {
                Some(to) => FileState::Link { link: to.to_owned() },
                None => Unkept::BadName.state(),
            }),
            Self::Directory { mode } => Some(FileState::Directory { directory: *mode }),
            Self::Unkept { why, .. } => Some(why.state()),
        }
    }
}

/// There is nothing at the path: nothing of this name, or no directory above it.
fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

pub(super) fn is_absent(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| is_nothing(&error))
}

/// What a directory holds, in the order of the names; nothing if it is none, or if another file system begins
/// there and it is not where one starts to look.
pub(super) fn listed(path: &Path, is_start: bool) -> Vec<(OsString, PathBuf)> {
    let device = |path: &Path| fs::symlink_metadata(path).map(|meta| meta.dev()).ok();
    let is_mounted =
        !is_start && path.parent().is_some_and(|parent| device(parent) != device(path));
    // Through a link nothing is found that belongs here.
    if is_mounted || !fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir()) {
        return Vec::new();
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries.map(|entry| (entry.file_name(), entry.path())).collect();
    found.sort();
    found
}
