//! Which files have changed since somebody looked. There is no watcher behind it: it looks where the session
//! has a moment, so that what hooks hear comes in an order, and never in the middle of a call.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ona_types::hook::FileEvent;

/// What tells one state of a file from another.
type Stamp = (u64, u64, i64, i64);

/// Files, each as it was when somebody last looked; nothing where it did not exist.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    files: BTreeMap<PathBuf, Option<Stamp>>,
}

impl Watch {
    /// These files from now on, and no others. Those that were watched before keep the state they were seen in.
    pub fn keep_to(&mut self, files: impl IntoIterator<Item = PathBuf>) {
        let before = std::mem::take(&mut self.files);
        for file in files {
            let seen = before.get(&file).copied().unwrap_or_else(|| stamp(&file));
            self.files.insert(file, seen);
        }
    }

    /// A file as it is now has been seen.
    pub fn seen(&mut self, file: &Path) {
        if let Some(seen) = self.files.get_mut(file) {
            *seen = stamp(file);
        }
    }

    /// What has changed since the last time, in the order of the names.
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

/// Through links: who points one elsewhere changes what is read.
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
