//! What files were before a call changed them, so that the operator can go back (`/rewind`).
//!
//! The content is kept in files beside the record, which may hold what the record must not; the transcript has an entry
//! `file_history_snapshot` with the paths and hashes. Of a directory that a call may move or remove, all that is below it
//! is looked at. What is beyond the limits is named in the entry: a file that nobody can put back is at least known.

mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use ona_effects::path::Target;
use ona_effects::{Access, Effects};
use ona_files::{ReplaceOptions, replace};
use ona_front::FileDiff;
use ona_policy::secrets::Redactor;
use ona_tools::Host;
use ona_types::{ContentHash, Entry, FileState, FileVersion, SessionId};

use self::state::{Found, Stamp, Unkept};
use crate::file_diff;

/// Files, links and directories of one call that are looked at, at most.
const MAX_FILES: usize = 5_000;
/// Larger files are not kept.
const MAX_BYTES: u64 = 20 << 20;
/// Nor is more than this in one call.
const MAX_TOTAL: u64 = 100 << 20;

/// Below a directory that is only gone through, these are left alone: what versions and traces hold has an order of its
/// own, which old content would break.
const ONLY_WHOLE: [&str; 5] = [".git", ".hg", ".svn", ".jj", ona_intents::file::DIRECTORY];

/// The files that a call may change, as they were before it.
#[derive(Debug, Default)]
pub(crate) struct PreImages {
    files: BTreeMap<PathBuf, Found>,
    roots: Vec<Root>,
    /// Nothing below these is kept.
    own: Vec<PathBuf>,
}

/// A path that a call may change, with all that is below it.
#[derive(Debug)]
struct Root {
    path: PathBuf,
    reach: Reach,
    /// There is more below it than is looked at.
    cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// The path only, unless it is made by the call.
    Itself,
    /// Something below it may change.
    Perhaps,
    /// Everything below it may change.
    Through,
    /// It is moved or removed as a whole.
    Whole,
}

/// What a call has changed.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    /// The files.
    pub(crate) versions: Vec<FileVersion>,
    /// The change, if it is one of one file.
    pub(crate) diff: Option<FileDiff>,
    /// Why something that was changed may not be among the files.
    pub(crate) unsure: Option<String>,
    /// Why the old content could not be kept.
    pub(crate) problem: Option<io::Error>,
}

impl Changed {
    /// The entry for the transcript.
    pub(crate) fn entry(&self, session: &SessionId) -> Option<Entry> {
        let is_empty = self.versions.is_empty() && self.unsure.is_none();
        (!is_empty).then(|| Entry::file_history(session, &self.versions, self.unsure.as_deref()))
    }
}

impl PreImages {
    /// Looks at what a call with these effects may change.
    pub(crate) fn read(effects: &Effects, host: &Host) -> Self {
        let own = host.stores.iter().chain([&host.outputs]).cloned().collect();
        let mut images = Self { own, ..Self::default() };
        let trees = effects.trees.iter().filter(|tree| tree.access == Access::Writes);
        images.add(&effects.written.certain, Reach::Whole);
        images.add(&effects.writes, Reach::Itself);
        images.add(trees.map(|tree| &tree.root), Reach::Through);
        images.add(&effects.written.possible, Reach::Perhaps);
        images.look();
        images
    }

    fn add<'t>(&mut self, targets: impl IntoIterator<Item = &'t Target>, reach: Reach) {
        for target in targets {
            // A link itself, and where it leads.
            for path in [in_real_directory(&target.named), target.real.clone()] {
                match self.roots.iter_mut().find(|root| root.path == path) {
                    Some(root) => root.reach = root.reach.max(reach),
                    None => self.roots.push(Root { path, reach, cut: false }),
                }
            }
        }
    }

    fn look(&mut self) {
        let mut made = BTreeSet::new();
        for at in 0..self.roots.len() {
            let Root { path, reach, .. } = &self.roots[at];
            let (path, reach) = (path.clone(), *reach);
            if state::is_absent(&path) {
                // So are the directories that it is made with.
                made.extend(
                    path.ancestors()
                        .skip(1)
                        .take_while(|above| state::is_absent(above))
                        .map(Path::to_owned),
                );
            }
            let deep = reach != Reach::Itself;
            let (found, cut) = self.below(&path, reach, deep);
            self.roots[at].cut = cut;
            for path in found {
                self.files.entry(path).or_insert(Found::Nothing);
            }
        }
        made.retain(|path| !self.roots.iter().any(|root| root.path == *path));
        for path in made {
            self.files.insert(path.clone(), Found::Nothing);
            self.roots.push(Root { path, reach: Reach::Itself, cut: false });
        }
        let mut room = MAX_TOTAL;
        for (path, found) in &mut self.files {
            *found = Found::at(path, MAX_BYTES.min(room));
            if let Found::File { content, .. } = found {
                room = room.saturating_sub(content.len() as u64);
            }
        }
    }

    /// A path and, if it is a directory, what is below it; and whether that is not all.
    fn below(&self, path: &Path, reach: Reach, deep: bool) -> (Vec<PathBuf>, bool) {
        if self.own.iter().any(|own| path.starts_with(own)) {
            return (Vec::new(), false);
        }
        let mut room = MAX_FILES.saturating_sub(self.files.len());
        let mut found = vec![path.to_owned()];
        let mut at = 0;
        while deep && at < found.len() {
            for (name, path) in state::listed(&found[at], at == 0) {
                let left_out = reach != Reach::Whole && ONLY_WHOLE.iter().any(|only| name == *only);
                if left_out || self.own.iter().any(|own| path.starts_with(own)) {
                    continue;
                }
                if !self.files.contains_key(&path) {
                    let Some(less) = room.checked_sub(1) else { return (found, true) };
                    room = less;
                }
                found.push(path);
            }
            at += 1;
        }
        (found, false)
    }

    /// Compares the files with what they are now, and keeps the old content of those that changed.
    pub(crate) fn changed(
        mut self,
        host: &Host,
        session: &SessionId,
        redactor: &Redactor,
    ) -> Changed {
        let mut out = Changed::default();
        let mut files = std::mem::take(&mut self.files);
        for root in &self.roots {
            let was_directory = files.get(&root.path).is_some_and(Found::is_directory);
            let deep = !was_directory || root.reach != Reach::Itself;
            let (found, cut) = self.below(&root.path, root.reach, deep);
            if root.cut && root.reach > Reach::Perhaps {
                // What was moved away from there cannot be told from what was made.
                files.remove(&root.path);
                let before = Some(Unkept::TooMany.state());
                out.versions.push(version(&root.path, before, present(&root.path)));
            } else if root.cut || cut {
                out.unsure = Some(format!("{}: {}", root.path.display(), Unkept::TooMany));
            }
            if !root.cut {
                for path in found {
                    files.entry(path).or_insert(Found::Nothing);
                }
            }
        }
        let mut diffs = Vec::new();
        for (path, was) in files {
            let now = match &was {
                Found::Unkept { stamp, .. } if *stamp == Stamp::of(&path) => continue,
                _ => Found::at(&path, MAX_BYTES),
            };
            if was == now {
                continue;
            }
            let shown = path.display().to_string();
            let diff = file_diff::file_diff(&shown, was.content(), now.content());
            let (added, removed) = diff.as_ref().map_or((0, 0), |diff| (diff.added, diff.removed));
            let mut before = was.state();
            if let Found::File { content, .. } = &was
                && let Err(error) = keep(host, session, content)
            {
                before = Some(FileState::Unknown { unknown: error.to_string() });
                out.problem = Some(error);
            }
            if path.to_str().is_none() {
                before = Some(Unkept::BadName.state());
            }
            diffs.extend((!now.is_directory()).then_some(diff));
            let after = now.state();
            out.versions.push(FileVersion { added, removed, ..version(&path, before, after) });
        }
        if let [Some(_)] = diffs.as_slice() {
            out.diff = diffs.pop().flatten().map(|diff| file_diff::masked(diff, redactor));
        }
        out
    }
}

fn version(path: &Path, before: Option<FileState>, after: Option<FileState>) -> FileVersion {
    FileVersion { path: path.display().to_string(), before, after, added: 0, removed: 0 }
}

/// A path whose last part may be a link, in the directory that the rest leads to.
fn in_real_directory(path: &Path) -> PathBuf {
    match (path.parent().map(std::fs::canonicalize), path.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}

/// Keeps a content under its hash.
fn keep(host: &Host, session: &SessionId, content: &[u8]) -> io::Result<()> {
    let hash = ContentHash::of(content).to_string();
    let path = host.private_dir(&host.pre_images_of(session))?.join(hash);
    if !path.exists() {
        replace(&path, content, &ReplaceOptions::default()).map_err(io::Error::other)?;
    }
    Ok(())
}

/// Keeps what is at a path before ona itself changes it.
pub fn keep_present(
    host: &Host,
    session: &SessionId,
    path: &Path,
) -> io::Result<Option<FileState>> {
    match Found::at(path, MAX_BYTES) {
        Found::Unkept { why, .. } => Err(io::Error::other(why.to_string())),
        found => {
            if let Some(content) = found.content() {
                keep(host, session, content)?;
            }
            Ok(found.state())
        }
    }
}

/// What is at a path; `None` if there is nothing.
pub fn present(path: &Path) -> Option<FileState> {
    Found::at(path, MAX_BYTES).state()
}

/// The content that was kept under a hash.
pub fn kept_content(host: &Host, session: &SessionId, hash: &str) -> io::Result<Vec<u8>> {
    ona_files::content(host.pre_images_of(session).join(hash))
}
