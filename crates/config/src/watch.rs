//! Which files have changed since the last look. There is no background watcher: the session looks between calls, so
//! that hooks get changes in order and never in the middle of a call.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ona_types::hook::FileEvent;

/// What identifies a state of a file: inode, size and modification time.
type Stamp = (u64, u64, i64, i64);

/// Watched files, each with its state at the last look; `None` if it did not exist.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    files: BTreeMap<PathBuf, Option<Stamp>>,
}

impl Watch {
    /// Watches these files only. Files that were watched before keep their last state.
    pub fn keep_to(&mut self, files: impl IntoIterator<Item = PathBuf>) {
        let before = std::mem::take(&mut self.files);
        for file in files {
            let seen = before.get(&file).copied().unwrap_or_else(|| stamp(&file));
            self.files.insert(file, seen);
        }
    }

    /// Marks the current state of a file as seen.
    pub fn seen(&mut self, file: &Path) {
        if let Some(seen) = self.files.get_mut(file) {
            *seen = stamp(file);
        }
    }

    /// The changes since the last look, sorted by name.
    pub fn changes(&mut self) -> Vec<(PathBuf, FileEvent)> {
        let mut changes = Vec::new();
        for (file, seen) in &mut self.files {
            let now = stamp(file);
            let event = match (&*seen, &now) {
                (Some(before), Some(now)) if before != now => FileEvent::Change,
                (None, Some(_)) => FileEvent::Add,
                (Some(_), None) => FileEvent::Unlink,
                _ => continue,
            };
            *seen = now;
            changes.push((file.clone(), event));
        }
        changes
    }
}

/// Links are followed: a changed link target is a change.
fn stamp(file: &Path) -> Option<Stamp> {
    let meta = fs::metadata(file).ok()?;
    Some((meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_told_once() {
        let dir = tempfile::tempdir().unwrap();
        let [old, new, other] = ["old", "new", "other"].map(|name| dir.path().join(name));
        fs::write(&old, "a").unwrap();
        fs::write(&other, "a").unwrap();
        let mut watch = Watch::default();
        watch.keep_to([old.clone(), new.clone()]);
        assert!(watch.changes().is_empty());
        fs::write(&old, "longer").unwrap();
        fs::write(&new, "").unwrap();
        fs::write(&other, "nobody asked").unwrap();
        assert_eq!(
            watch.changes(),
            [(new.clone(), FileEvent::Add), (old.clone(), FileEvent::Change)]
        );
        assert!(watch.changes().is_empty());
        fs::remove_file(&new).unwrap();
        fs::write(&old, "own").unwrap();
        watch.seen(&old);
        watch.keep_to([old, new.clone(), other]);
        assert_eq!(
            watch.changes(),
            [(new, FileEvent::Unlink)],
            "what is new to the list is as it is"
        );
    }
}
