//! The content of a work tree in one hash, and which files are others than before.
//!
//! What was shown about one tree holds for no other: a result is kept with the hash of the tree it was seen on. A commit
//! changes no content, so it changes no hash.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use ona_types::ContentHash;

use crate::snapshot::{OwnFiles, walk};

/// What ona and its like write into a work tree about the work: it is no part of what the work is about.
const LEFT_OUT: [&str; 4] = [".git", ".orchestration", "runs", "decision_ledger.jsonl"];

/// The limit for a digest that is read: a million files.
const MAX_STORED: u64 = 256 << 20;

/// What is known of a file: its kind and whether it can be run, and the hash of its content.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Content {
    kind: u8,
    hash: [u8; 32],
}

/// The content of every file of a work tree that git tracks, or would track.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    files: BTreeMap<PathBuf, Content>,
}

/// A stored digest that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the stored digest of the work tree is damaged")]
pub struct DamagedDigest;

impl Digest {
    /// Reads a work tree. Waits for the disk.
    pub fn of(root: &Path) -> Self {
        let own = OwnFiles { dir: PathBuf::from(".orchestration"), governing: Vec::new() };
        let files = walk(root, &own).into_iter();
        let belongs = |path: &Path| !LEFT_OUT.iter().any(|name| path.starts_with(name));
        let files = files.filter(|(path, _)| belongs(path));
        Self {
            files: files
                .map(|(path, meta)| {
                    let content = Content::of(&root.join(&path), &meta);
                    (path, content)
                })
                .collect(),
        }
    }

    /// The hash of all of it.
    pub fn hash(&self) -> ContentHash {
        ContentHash::of(&self.plain())
    }

    /// The files that are new since an earlier digest, or have another content.
    pub fn changed_since<'a>(&'a self, earlier: &'a Self) -> impl Iterator<Item = &'a Path> {
        let changed =
            self.files.iter().filter(|(path, now)| earlier.files.get(*path) != Some(*now));
        changed.map(|(path, _)| path.as_path())
    }

    /// Whether a file had this content.
    pub fn had(&self, path: &Path, bytes: &[u8]) -> bool {
        let hash = ContentHash::of(bytes);
        self.files.get(path).is_some_and(|known| known.hash == binary(&hash))
    }

    /// Every file as a line: kind, hash, length of the name, name. Unambiguous, whatever a name contains.
    fn plain(&self) -> Vec<u8> {
        let mut plain = Vec::new();
        for (path, Content { kind, hash }) in &self.files {
            let name = path.as_os_str().as_bytes();
            plain.push(*kind);
            plain.extend_from_slice(hash);
            plain.extend_from_slice(&(name.len() as u32).to_le_bytes());
            plain.extend_from_slice(name);
        }
        plain
    }

    /// For the record.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::fast());
        // Writing into memory does not fail.
        let _ = packed.write_all(&self.plain());
        packed.finish().unwrap_or_default()
    }

    /// What was stored.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DamagedDigest> {
        let mut plain = Vec::new();
        DeflateDecoder::new(bytes)
            .take(MAX_STORED)
            .read_to_end(&mut plain)
            .map_err(|_| DamagedDigest)?;
        let mut files = BTreeMap::new();
        let mut rest = plain.as_slice();
        while !rest.is_empty() {
            let (kind, after) = rest.split_first().ok_or(DamagedDigest)?;
            let (hash, after) = after.split_first_chunk().ok_or(DamagedDigest)?;
            let (length, after) = after.split_first_chunk().ok_or(DamagedDigest)?;
            let length = u32::from_le_bytes(*length) as usize;
            let (name, after) = after.split_at_checked(length).ok_or(DamagedDigest)?;
            let path = PathBuf::from(std::ffi::OsString::from_vec(name.to_vec()));
            files.insert(path, Content { kind: *kind, hash: *hash });
            rest = after;
        }
        Ok(Self { files })
    }
}

impl Content {
    fn of(path: &Path, meta: &fs::Metadata) -> Self {
        let (kind, hash) = if meta.is_symlink() {
            let to = fs::read_link(path).unwrap_or_default();
            (b'l', ContentHash::of(to.as_os_str().as_bytes()))
        } else {
            let kind = if meta.permissions().mode() & 0o111 == 0 { b'f' } else { b'x' };
            match ona_files::open_found(path).and_then(|file| ona_files::hash(&file)) {
                Ok(hash) => (kind, hash),
                // Too large, or not to be read: what the file system says of it has to do.
                Err(_) => {
                    let stamp = (meta.len(), meta.ino(), meta.mtime(), meta.mtime_nsec());
                    (b'?', ContentHash::of(format!("{stamp:?}").as_bytes()))
                }
            }
        };
        Self { kind, hash: binary(&hash) }
    }
}

/// A hash in half the space.
fn binary(hash: &ContentHash) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(hash.as_str().as_bytes().chunks_exact(2)) {
        let digit = |at: usize| (pair[at] as char).to_digit(16).unwrap_or_default() as u8;
        *byte = digit(0) << 4 | digit(1);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn changed(now: &Digest, then: &Digest) -> Vec<String> {
        now.changed_since(then).map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn it_is_the_content_that_counts() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir(root.join(".git")).unwrap();
        write(root, ".gitignore", "build/\n");
        write(root, "a.txt", "one");
        write(root, "src/b.txt", "two");
        let first = Digest::of(root);
        assert_eq!(Digest::of(root).hash(), first.hash());
        assert_eq!(Digest::from_bytes(&first.to_bytes()).unwrap(), first);

        for ignored in [
            "build/out",
            ".git/x",
            "runs/r.json",
            ".orchestration/t.jsonl",
            "decision_ledger.jsonl",
        ] {
            write(root, ignored, "said");
            assert_eq!(Digest::of(root).hash(), first.hash(), "{ignored}");
        }
        write(root, "src/b.txt", "2");
        write(root, "new", "");
        let second = Digest::of(root);
        assert_ne!(second.hash(), first.hash());
        assert_eq!(changed(&second, &first), ["new", "src/b.txt"]);
        assert!(
            first.had(Path::new("src/b.txt"), b"two")
                && !second.had(Path::new("src/b.txt"), b"two")
        );
        fs::remove_file(root.join("new")).unwrap();
        write(root, "src/b.txt", "two");
        assert_eq!(Digest::of(root), first);

        fs::set_permissions(root.join("a.txt"), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(changed(&Digest::of(root), &first), ["a.txt"]);
        fs::remove_file(root.join("a.txt")).unwrap();
        let third = Digest::of(root);
        assert_ne!(third.hash(), first.hash());
        assert_eq!(changed(&third, &first), [""; 0], "what is gone has no content");
        std::os::unix::fs::symlink("src/b.txt", root.join("a.txt")).unwrap();
        assert_eq!(changed(&Digest::of(root), &first), ["a.txt"]);
    }

    #[test]
    fn a_damaged_one_is_told() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "a", "one");
        let bytes = Digest::of(dir.path()).to_bytes();
        assert!(Digest::from_bytes(&bytes[..bytes.len() / 2]).is_err());
        assert!(Digest::from_bytes(b"no digest").is_err());
    }
}
