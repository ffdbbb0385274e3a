//! Putting files back. What is there before is kept first; what calls have made is removed last, and stays where
//! something could not be put back: it may be that very thing, moved.

use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use ona_files::{ReplaceOptions, replace};
use ona_gate::file_history::{keep_present, kept_content};
use ona_store::{PromptRow, Step};
use ona_tools::Host;
use ona_types::{Entry, FileState, FileVersion, SessionId};
use serde_json::json;

use super::changed::{ChangedFile, Changes};
use crate::desk::{CommandError, Desk};
use crate::outside::Outside;
use crate::run::counted;

/// Lines of a kind that an answer has at most.
const MAX_LINES: usize = 10;

/// Puts files back, and says what was done.
pub(super) fn restore<O: Outside>(
    desk: &Desk<O>,
    prompt: &PromptRow,
) -> Result<String, CommandError> {
    let rows = desk.store().file_history(desk.session_id(), prompt.sequence)?;
    let changes = Changes::of(rows.iter());
    let session = desk.session_id();
    let mut work = Work::new(&desk.session.gate.governance.host, session);
    work.put_back(&changes.files);
    let Work { noted, done, directories, failed, left, edited, .. } = work;
    let detail = json!({"to": prompt.sequence, "files": done, "failed": failed, "left": left});
    if !changes.files.is_empty() {
        let entries = [Entry::file_history(session, &noted, None)];
        let entries = if noted.is_empty() { &entries[..0] } else { &entries[..] };
        let step = Step { entries, event: Some(("files.rewound", &detail)), ..Step::default() };
        desk.store().keep_step(desk.session.seat(), &step)?;
    }
    let files = counted(done.len(), "file");
    let mut said = match (done.len(), directories) {
        (0, 0) if failed.is_empty() && left.is_empty() => "no files to put back".to_owned(),
        (_, 0) => format!("put back {files}"),
        (0, some) => format!("put back {}", directory_count(some)),
        (_, some) => format!("put back {files} and {}", directory_count(some)),
    };
    add(&mut said, "", &edited);
    add(&mut said, "not put back: ", &failed);
    let why = "stays, as it may be what was not put back: ";
    add(&mut said, why, &left);
    add(&mut said, "not known: ", &changes.unsure());
    Ok(said)
}

fn directory_count(count: usize) -> String {
    if count == 1 { "1 directory".to_owned() } else { format!("{count} directories") }
}

fn add(said: &mut String, kind: &str, lines: &[String]) {
    for line in lines.iter().take(MAX_LINES) {
        said.push_str(&format!("\n{kind}{line}"));
    }
    if lines.len() > MAX_LINES {
        said.push_str(&format!("\n{kind}{} more", lines.len() - MAX_LINES));
    }
}

struct Work<'d> {
    host: &'d Host,
    session: &'d SessionId,
    noted: Vec<FileVersion>,
    /// Files that are what they were.
    done: Vec<String>,
    /// How many directories are.
    directories: usize,
    failed: Vec<String>,
    /// What calls have made and is not removed.
    left: Vec<String>,
    edited: Vec<String>,
    /// Calls of which not everything is undone.
    half: HashSet<usize>,
}

impl<'d> Work<'d> {
    fn new(host: &'d Host, session: &'d SessionId) -> Self {
        Self {
            host,
            session,
            noted: Vec::new(),
            done: Vec::new(),
            directories: 0,
            failed: Vec::new(),
            left: Vec::new(),
            edited: Vec::new(),
            half: HashSet::new(),
        }
    }

    fn put_back(&mut self, files: &[ChangedFile]) {
        let (mut wanted, mut made): (Vec<_>, Vec<_>) =
            files.iter().partition(|file| file.was.is_some());
        // Directories first, from above; where a directory stands, what calls have put into it goes first.
        wanted.sort_by_key(|file| (file.counts(), file.path.clone()));
        let (later, wanted): (Vec<_>, Vec<_>) =
            wanted.into_iter().partition(|file| file.counts() && is_directory(&file.path));
        for file in &wanted {
            self.put(file);
        }
        made.sort_by(|one, other| other.path.cmp(&one.path));
        for file in made {
            match file.calls.iter().any(|call| self.half.contains(call)) {
                true if file.counts() => self.left.push(file.path.display().to_string()),
                true => {}
                false => self.put(file),
            }
        }
        for file in later {
            self.put(file);
        }
        for file in wanted.iter().rev() {
            if let Some((FileState::Directory { directory }, _)) = &file.was {
                // Only now: nothing could be put into one that may not be written.
                let _ = fs::set_permissions(&file.path, Permissions::from_mode(*directory));
            }
        }
    }

    fn put(&mut self, file: &ChangedFile) {
        let shown = file.path.display().to_string();
        let is_edited = file.is_edited();
        let put = keep_present(self.host, self.session, &file.path)
            .and_then(|before| self.make(file).map(|()| before));
        match put {
            Ok(before) => {
                if let Some(hash) = before.as_ref().and_then(FileState::hash).filter(|_| is_edited)
                {
                    let kept = self.host.pre_images_of(self.session).join(hash);
                    self.edited.push(format!(
                        "{shown} was changed by someone else before; that content is kept in {}",
                        kept.display()
                    ));
                }
                let after = file.was.as_ref().map(|(was, _)| was.clone());
                match file.counts() {
                    true => self.done.push(shown.clone()),
                    false => self.directories += 1,
                }
                self.noted.push(FileVersion { path: shown, before, after, added: 0, removed: 0 });
            }
            Err(error) => {
                self.half.extend(&file.calls);
                self.failed.push(format!("{shown}: {error}"));
            }
        }
    }

    /// Makes a path what it was.
    fn make(&self, file: &ChangedFile) -> io::Result<()> {
        let path = &file.path;
        match &file.was {
            None => cleared(path),
            Some((FileState::Unknown { unknown }, _)) => Err(io::Error::other(unknown.clone())),
            Some((FileState::Directory { .. }, _)) if is_directory(path) => Ok(()),
            Some((FileState::Directory { .. }, _)) => {
                cleared(path)?;
                fs::create_dir_all(path)
            }
            Some((FileState::Link { link }, _)) => {
                cleared(path)?;
                path.parent().map_or(Ok(()), fs::create_dir_all)?;
                symlink(link, path)
            }
            Some((FileState::Content(hash), by)) => self.write(path, hash, by),
            Some((FileState::File { hash, mode }, by)) => {
                self.write(path, hash, by)?;
                fs::set_permissions(path, Permissions::from_mode(*mode))
            }
        }
    }

    fn write(&self, path: &Path, hash: &str, kept_by: &SessionId) -> io::Result<()> {
        let old = kept_content(self.host, kept_by, hash).map_err(|error| {
            io::Error::other(format!("its old content is not kept any more: {error}"))
        })?;
        if is_directory(path) {
            cleared(path)?;
        }
        replace(path, &old, &ReplaceOptions::default()).map_err(io::Error::other)
    }
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// Removes what is at a path; a directory only if it is empty.
fn cleared(path: &Path) -> io::Result<()> {
    let removed = if is_directory(path) { fs::remove_dir(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            Err(io::Error::other("the directory is not empty"))
        }
        removed => removed,
    }
}
