//! Git's index: the files that it tracks, and what it last saw of them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// A file that git tracks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracked {
    /// Where it is.
    pub path: PathBuf,
    /// Another repository, which git would go into.
    pub is_repository: bool,
    /// The object with its content, in hexadecimal.
    pub object: String,
    /// How long the file was when git last looked at it.
    pub length: u32,
    /// When anything about it, and when its content, had last been changed then; in seconds and nanoseconds.
    pub changed: (u32, u32),
    /// As above: the content.
    pub modified: (u32, u32),
}

/// The entries of an index of version 2, 3 or 4.
pub(crate) fn read_index(bytes: &[u8], hash: usize, top: &Path) -> Option<Vec<Tracked>> {
    let number = |at: usize| {
        let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_be_bytes(four))
    };
    if bytes.get(..4)? != b"DIRC" {
        return None;
    }
    let (version, count) = (number(4)?, number(8)?);
    let (mut at, mut name) = (12, Vec::new());
    let mut files = Vec::new();
    for _ in 0..count {
        let mode = number(at + 24)?;
        let flags = at + 40 + hash;
        let extended = version >= 3 && bytes.get(flags)? & 0x40 != 0;
        let mut start = flags + if extended { 4 } else { 2 };
        if version >= 4 {
            let (strip, length) = variable(bytes.get(start..)?)?;
            start += length;
            name.truncate(name.len().checked_sub(strip)?);
        } else {
            name.clear();
        }
        let length = bytes.get(start..)?.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(&bytes[start..start + length]);
        let path = top.join(OsStr::from_bytes(&name));
        let object = bytes.get(at + 40..flags)?.iter().map(|byte| format!("{byte:02x}")).collect();
        let moment = |at: usize| Some((number(at)?, number(at + 4)?));
        files.push(Tracked {
            path,
            is_repository: mode == 0o160_000,
            object,
            length: number(at + 36)?,
            changed: moment(at)?,
            modified: moment(at + 8)?,
        });
        let end = start + length;
        at = if version >= 4 { end + 1 } else { at + (end - at + 8) / 8 * 8 };
    }
    // A part of it may lie in another file.
    if bytes.get(at..at + 4) == Some(b"link") {
        return None;
    }
    Some(files)
}

/// A number as git packs it, and how many bytes it takes.
fn variable(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = usize::from(bytes.first()? & 0x7f);
    let mut at = 0;
    while bytes.get(at)? & 0x80 != 0 {
        at += 1;
        value = value.checked_add(1)?.checked_mul(128)? + usize::from(bytes.get(at)? & 0x7f);
    }
    Some((value, at + 1))
}
