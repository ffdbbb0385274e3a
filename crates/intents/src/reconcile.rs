//! Changes in a work tree since a commit, and those that the trace does not explain.

use ona_repo::git::{self, Contents};
use ona_trace::class::Versions;
use ona_trace::entry::ModeChange;
use ona_trace::ledger::LEDGER_PATH;
use ona_trace::reconcile::{ChangeKind, Ungoverned, reconcile, unexplained_modes};

use crate::file::INTENTS_FILE;
use crate::history::HistoryError;
use crate::map::MAP_PATH;
use crate::setup::set_up;
use crate::workspace::Workspace;

/// A changed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// From the workspace, with `/`.
    pub path: String,
    /// At the commit and now.
    pub contents: Contents,
    /// Its change of permissions that the trace does not explain.
    pub mode: Option<ModeChange>,
}

impl ChangedFile {
    /// Its two versions.
    pub fn versions(&self) -> Versions<'_> {
        let Contents { old, new } = &self.contents;
        Versions { path: &self.path, old: old.as_deref(), new: new.as_deref() }
    }
}

/// The changes since a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// The commit; none before the first one.
    pub base: Option<String>,
    /// Every changed file, except for those that ona itself writes.
    pub files: Vec<ChangedFile>,
    /// The places that no entry explains, ordered by file.
    pub ungoverned: Vec<Ungoverned>,
}

impl Changes {
    /// The changes since a revision, or since the commit that is checked out.
    pub async fn since(workspace: &Workspace, rev: Option<&str>) -> Result<Self, HistoryError> {
        let root = workspace.root();
        let base = match rev {
            Some(rev) => Some(git::commit(root, rev).await?),
            None => git::head(root).await?,
        };
        let changed = git::changed_since(root, base.as_deref()).await?;
        let contents = git::contents(root, &changed).await?;
        let ledger = workspace.ledger()?;
        let path = |file: &git::Changed| file.path.to_string_lossy().into_owned();
        let modes = changed.iter().filter_map(|file| {
            let (old, new) = file.modes?;
            Some(ModeChange { path: path(file), old, new })
        });
        let modes = unexplained_modes(&ledger, modes.collect())?;
        let files = changed.iter().map(path).zip(contents).map(|(path, contents)| {
            let mode = modes.iter().find(|mode| mode.path == path).cloned();
            ChangedFile { path, contents, mode }
        });
        let files: Vec<ChangedFile> = files.filter(is_change).collect();
        let versions: Vec<Versions<'_>> = files.iter().map(ChangedFile::versions).collect();
        let mut ungoverned = reconcile(&ledger, &versions)?;
        for mode in &modes {
            if !ungoverned.iter().any(|one| one.path == mode.path) {
                ungoverned.push(Ungoverned {
                    path: mode.path.clone(),
                    kind: ChangeKind::Changed,
                    old_range: None,
                    new_range: None,
                    content_hash: None,
                });
            }
        }
        ungoverned.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(Self { base, files, ungoverned })
    }

    /// The files with places that no entry explains, and these places.
    pub fn unexplained(&self) -> Vec<(&ChangedFile, Vec<&Ungoverned>)> {
        let places = |path: &str| -> Vec<&Ungoverned> {
            self.ungoverned.iter().filter(|one| one.path == path).collect()
        };
        let all = self.files.iter().map(|file| (file, places(&file.path)));
        all.filter(|(_, places)| !places.is_empty()).collect()
    }
}

fn is_change(file: &ChangedFile) -> bool {
    let same = file.contents.old == file.contents.new;
    (!same && !is_written_by_ona(file)) || file.mode.is_some()
}

/// Whether ona writes the file itself, or it is as `ona intent init` leaves it. The other files that govern changes, the
/// policy and `.intentignore`, are listed like any file.
fn is_written_by_ona(file: &ChangedFile) -> bool {
    let text = |bytes: &Option<Vec<u8>>| {
        bytes.as_deref().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    };
    let set_up = set_up(&file.path, text(&file.contents.old).as_deref());
    [INTENTS_FILE, LEDGER_PATH, MAP_PATH].contains(&file.path.as_str())
        || set_up.is_some() && set_up == text(&file.contents.new)
}
