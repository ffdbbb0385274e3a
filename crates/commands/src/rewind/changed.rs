//! What calls have changed since a prompt, by the record.

use std::collections::HashMap;
use std::path::PathBuf;

use ona_gate::file_history::present;
use ona_store::FileHistoryRow;
use ona_types::{FileState, SessionId};

/// Reasons why other files may have changed too, at most.
const MAX_UNSURE: usize = 3;

/// What calls have changed.
pub(super) struct Changes {
    /// The files, directories last.
    pub(super) files: Vec<ChangedFile>,
    /// Why there may be others, each once.
    unsure: Vec<String>,
}

/// A file that is not what it was before the first of some calls.
pub(super) struct ChangedFile {
    pub(super) path: PathBuf,
    /// What it was, and the session that keeps its content; `None` if there was no such file.
    pub(super) was: Option<(FileState, SessionId)>,
    /// What the last call left; `None` if it removed the file.
    left: Option<FileState>,
    /// The calls that changed it, by their place among all of them.
    pub(super) calls: Vec<usize>,
}

impl Changes {
    /// From these entries, the oldest first.
    pub(super) fn of<'r>(rows: impl Iterator<Item = &'r FileHistoryRow>) -> Self {
        let mut files: Vec<ChangedFile> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        let mut unsure: Vec<String> = Vec::new();
        for (call, row) in rows.enumerate() {
            if let Some(why) = row.unsure.as_ref().filter(|why| !unsure.contains(*why)) {
                unsure.push(why.clone());
            }
            for file in &row.files {
                let at = *known.entry(&file.path).or_insert_with(|| {
                    let was = file.before.clone().map(|was| (was, row.kept_by.clone()));
                    let path = PathBuf::from(&file.path);
                    files.push(ChangedFile { path, was, left: None, calls: Vec::new() });
                    files.len() - 1
                });
                files[at].left.clone_from(&file.after);
                files[at].calls.push(call);
            }
        }
        files.retain(|file| match (&file.was, &file.left) {
            (Some((FileState::Unknown { .. }, _)), _) => true,
            (Some((was, _)), Some(left)) => !was.is_like(left),
            (was, left) => was.is_some() || left.is_some(),
        });
        files.sort_by_key(ChangedFile::is_directory);
        Self { files, unsure }
    }

    /// Why other files may have changed.
    pub(super) fn unsure(&self) -> Vec<String> {
        let mut said: Vec<String> = self.unsure.iter().take(MAX_UNSURE).cloned().collect();
        if self.unsure.len() > MAX_UNSURE {
            said.push(format!("what {} more commands changed", self.unsure.len() - MAX_UNSURE));
        }
        said
    }
}

impl ChangedFile {
    fn is_directory(&self) -> bool {
        let state = self.was.as_ref().map(|(was, _)| was).or(self.left.as_ref());
        matches!(state, Some(FileState::Directory { .. }))
    }

    /// Whether it is a file that can be put back.
    pub(super) fn counts(&self) -> bool {
        !self.is_directory() && !matches!(self.was, Some((FileState::Unknown { .. }, _)))
    }

    /// Whether someone else has changed the file since the last call did.
    pub(super) fn is_edited(&self) -> bool {
        !self.is_directory()
            && match (present(&self.path), &self.left) {
                (Some(now), Some(left)) => !now.is_like(left),
                (now, left) => now.is_some() || left.is_some(),
            }
    }

    /// What going back does to it.
    pub(super) fn outlook(&self) -> String {
        match &self.was {
            None if self.is_directory() => "is removed, if it is empty then".to_owned(),
            None => "is removed".to_owned(),
            Some((FileState::Unknown { unknown }, _)) => format!("cannot be put back: {unknown}"),
            Some((FileState::Link { link }, _)) => format!("leads to `{link}` again"),
            Some((FileState::Directory { .. }, _)) => "is a directory as before again".to_owned(),
            Some((was, _)) => match &self.left {
                Some(left) if left.hash() == was.hash() => "gets its old mode".to_owned(),
                _ => "gets its old content".to_owned(),
            },
        }
    }
}
