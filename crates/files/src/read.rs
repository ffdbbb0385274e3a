//! Reading a regular file up to a limit.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;
use ona_types::{ContentHash, Hasher};

use crate::resolved::HeldDir;

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A directory.
    #[error("it is a directory")]
    Directory,
    /// A pipe, a socket or a device; or a symbolic link that is not followed.
    #[error("it is not a regular file")]
    NotRegular,
    /// More bytes than the limit.
    #[error("it is larger than {}", size(*.limit))]
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
    },
    /// Not text.
    #[error("it is not UTF-8")]
    NotUtf8 {
        /// Where the first wrong byte is, counted from 0.
        at: usize,
    },
    /// The file system refuses.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// A size in the largest unit that divides it.
fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => {
            format!("{} MiB", bytes >> 20)
        }
        bytes if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => {
            format!("{} KiB", bytes >> 10)
        }
        bytes => format!("{bytes} bytes"),
    }
}

/// The limit for files that have no lower one of their own.
pub const MAX_WHOLE: u64 = 1 << 30;

/// What to do if the path is a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Follow it.
    Follow,
    /// Refuse it: the path was already resolved, so the link was put there afterwards.
    Refuse,
    /// Refuse every link in the path, above the file too.
    RefuseAll,
}

/// Opens a regular file to read it; `None` if it does not exist. Never waits for the writer of a pipe.
pub fn open(path: &Path, links: Links) -> Result<Option<File>, ReadError> {
    if let (Links::RefuseAll, Some(parent), Some(name)) = (links, path.parent(), path.file_name()) {
        return match HeldDir::open(parent, false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            held => open(&held?.path().join(name), Links::Refuse),
        };
    }
    let (look, no_follow): (fn(&Path) -> _, _) = match links {
        Links::Follow => (|path| fs::metadata(path), OFlag::empty()),
        Links::Refuse | Links::RefuseAll => (|path| fs::symlink_metadata(path), OFlag::O_NOFOLLOW),
    };
    // Opening a device can have effects, so its type is checked first.
    match look(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        meta => is_regular(&meta?)?,
    }
    let flags = OFlag::O_NONBLOCK | no_follow;
    match OpenOptions::new().read(true).custom_flags(flags.bits()).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        file => {
            let file = file?;
            // It may have been replaced since.
            is_regular(&file.metadata()?)?;
            Ok(Some(file))
        }
    }
}

/// Opens a file that a walk has just found to be regular, without looking at it again. What has taken its place since is
/// neither followed, if it is a link, nor waited for, if it is a pipe.
pub fn open_found(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW;
    OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)
}

fn is_regular(meta: &fs::Metadata) -> Result<(), ReadError> {
    match meta {
        meta if meta.is_file() => Ok(()),
        meta if meta.is_dir() => Err(ReadError::Directory),
        _ => Err(ReadError::NotRegular),
    }
}

/// The rest of an open file.
pub fn read_open(file: &File, limit: u64) -> Result<Vec<u8>, ReadError> {
    // A sparse file may be of any size.
    if file.metadata()?.len() > limit {
        return Err(ReadError::TooLarge { limit });
    }
    let mut bytes = Vec::new();
    // It may grow while it is read.
    file.take(limit + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > limit {
        true => Err(ReadError::TooLarge { limit }),
        false => Ok(bytes),
    }
}

/// The content of a regular file; `None` if it does not exist. A symbolic link is followed.
pub fn read_at_most(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, ReadError> {
    open(path, Links::Follow)?.map(|file| read_open(&file, limit)).transpose()
}

/// The content of a regular file, as [`std::fs::read`] has it: but nothing else is opened or waited for, and more than
/// [`MAX_WHOLE`] is an error.
pub fn content(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let read = read_at_most(path.as_ref(), MAX_WHOLE).map_err(|error| match error {
        ReadError::Io(error) => error,
        other => io::Error::other(other.to_string()),
    });
    read?.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// How many names a file has; 1 if that cannot be told.
pub fn link_count(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(1, |meta| std::os::unix::fs::MetadataExt::nlink(&meta))
}

/// The same, as [`std::fs::read_to_string`] has it.
pub fn content_text(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(content(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// The same for a file that must be UTF-8 text.
pub fn read_text_at_most(path: &Path, limit: u64) -> Result<Option<String>, ReadError> {
    read_at_most(path, limit)?.map(text).transpose()
}

/// The same for a path that was already resolved: a link that was put there afterwards is refused.
pub fn read_resolved_text(path: &Path, limit: u64) -> Result<Option<String>, ReadError> {
    let Some(file) = open(path, Links::Refuse)? else { return Ok(None) };
    text(read_open(&file, limit)?).map(Some)
}

/// Bytes as text.
fn text(bytes: Vec<u8>) -> Result<String, ReadError> {
    String::from_utf8(bytes)
        .map_err(|error| ReadError::NotUtf8 { at: error.utf8_error().valid_up_to() })
}

/// The hash of the rest of an open file; more than [`MAX_WHOLE`] is an error.
pub fn hash(file: &File) -> io::Result<ContentHash> {
    let too_large = || io::Error::other(ReadError::TooLarge { limit: MAX_WHOLE }.to_string());
    if file.metadata()?.len() > MAX_WHOLE {
        return Err(too_large());
    }
    let mut file = file.take(MAX_WHOLE + 1);
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 if file.limit() == 0 => return Err(too_large()),
            0 => return Ok(hasher.finish()),
            count => hasher = hasher.update(&buffer[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn a_file_is_read_up_to_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        assert!(read_at_most(&path, 4).unwrap().is_none());
        fs::write(&path, "four").unwrap();
        assert_eq!(read_text_at_most(&path, 4).unwrap().as_deref(), Some("four"));
        fs::write(&path, "fives").unwrap();
        let said = |limit| read_at_most(&path, limit).unwrap_err().to_string();
        assert_eq!(said(4), "it is larger than 4 bytes");
        fs::write(&path, vec![b'a'; (1 << 20) + 1]).unwrap();
        assert_eq!(said(1 << 20), "it is larger than 1 MiB");
        assert_eq!(said(3 << 10), "it is larger than 3 KiB");
        fs::write(&path, b"ab\xff").unwrap();
        assert!(matches!(read_text_at_most(&path, 9), Err(ReadError::NotUtf8 { at: 2 })));
    }

    #[test]
    fn a_sparse_file_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sparse");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(matches!(read_at_most(&path, MAX_WHOLE), Err(ReadError::TooLarge { .. })));
        assert!(content(&path).is_err());
        assert!(hash(&File::open(&path).unwrap()).is_err());
        let missing = content(dir.path().join("none")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_is_not_a_regular_file_is_refused_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        mkfifo(&at("pipe"), Mode::S_IRWXU).unwrap();
        let _socket = UnixListener::bind(at("socket")).unwrap();
        fs::write(at("real"), "x").unwrap();
        symlink("real", at("link")).unwrap();
        assert!(matches!(read_at_most(dir.path(), 9), Err(ReadError::Directory)));
        for path in [at("pipe"), at("socket"), "/dev/zero".into()] {
            assert!(matches!(read_at_most(&path, 9), Err(ReadError::NotRegular)), "{path:?}");
        }
        assert!(open(&at("link"), Links::Follow).unwrap().is_some());
        assert!(matches!(open(&at("link"), Links::Refuse), Err(ReadError::NotRegular)));
    }
}
