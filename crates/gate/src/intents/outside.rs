//! What a call changed outside the scope of its intent: reported, and restored if the policy says so.
//!
//! The files that define the scope are restored whatever the policy says: an agent must not widen its own scope. The
//! replaced content is kept in a backup, because it may be somebody's work: the changes of a command cannot be told
//! from those that others make in the tree at the same time.

use std::path::{Path, PathBuf};

use ona_intents::Workspace;
use ona_intents::file::{self, INTENTS_FILE};
use ona_intents::hook_policy::OutOfScopeWrite;
use ona_intents::scope::Held;
use ona_store::{Seat, Store, StoreError};
use ona_types::{ContentHash, ToolUseId};
use serde_json::{Value, json};

use super::Governed;
use crate::Record;
use crate::settle::is_gone;
use ona_repo::snapshot::{Change, RestoreError, Side};

/// How files are restored.
pub struct Handling<'a> {
    /// The directory for backups.
    aside: PathBuf,
    store: &'a Store,
    seat: &'a Seat,
    /// The call was refused: it may not change anything.
    everything: bool,
}

/// Records that ona itself wrote the current intents file, for somebody who may change it.
pub fn vouch(store: &Store, workspace: &Workspace) -> Result<(), StoreError> {
    let bytes = ona_files::content(workspace.root().join(INTENTS_FILE)).unwrap_or_default();
    store.keep_snapshot(&vouched(workspace.root()), ContentHash::of(&bytes).as_str())
}

fn vouched(root: &Path) -> String {
    format!("intents:{}", root.display())
}

impl<'a> Handling<'a> {
    /// For the changes of a call: those outside the scope, or all of them if it was refused.
    pub fn new(record: &'a Record, id: &ToolUseId, everything: bool) -> Self {
        let outputs = record.core.host.outputs_of(record.session());
        let aside = outputs.join(format!("aside-{}", id.file_name()));
        Self { aside, store: record.store(), seat: &record.seat, everything }
    }

    /// Whether ona itself wrote the file while the call ran.
    fn is_onas(&self, root: &Path, change: &Change) -> bool {
        let known = self.store.snapshot(&vouched(root)).ok().flatten();
        change.path == Path::new(INTENTS_FILE)
            && change.new.bytes().map(|bytes| ContentHash::of(bytes).to_string()) == known
    }

    /// Whether another call runs in the workspace, whose changes could be mistaken for this one's.
    fn others(&self, root: &Path) -> bool {
        let calls = self.store.calls_below(&root.to_string_lossy()).unwrap_or_default();
        calls.iter().any(|(session, owner)| {
            *session != self.seat.session && (owner.get("host").is_some() || !is_gone(owner))
        })
    }
}

/// Files that the call was not allowed to change.
#[derive(Debug, Default)]
pub struct Outside {
    whose: String,
    left: Vec<String>,
    put_back: Vec<String>,
    remarks: Vec<String>,
}

impl Outside {
    /// The changes outside the scope, and the changes that are left: those of restored files are gone.
    pub fn of(governed: &Governed, files: Vec<Change>, how: &Handling<'_>) -> (Self, Vec<Change>) {
        let mut outside = Self::default();
        let ignore = governed.workspace.ignore();
        let intent = governed.intent.as_ref();
        outside.whose = intent.map_or_else(|| "any intent".to_owned(), |intent| intent.id.clone());
        let is_in_scope = |change: &Change| match intent {
            // The gate could not judge the call and let it pass.
            None => !how.everything,
            Some(intent) => {
                let Some(path) = change.path.to_str() else { return false };
                let held =
                    intent.scope().is_ok_and(|scope| matches!(scope.holds(path), Held::By(_)));
                held && !how.everything && ignore.blocks_path(path).is_none()
            }
        };
        let left = outside.sort(governed, files, is_in_scope, how);
        (outside, left)
    }

    fn sort(
        &mut self,
        governed: &Governed,
        all: Vec<Change>,
        is_in_scope: impl Fn(&Change) -> bool,
        how: &Handling<'_>,
    ) -> Vec<Change> {
        let root = governed.workspace.root();
        let mut gone = vec![false; all.len()];
        let wants = governed.policy.on_out_of_scope_write == OutOfScopeWrite::Revert;
        let mut others = None;
        for at in 0..all.len() {
            let change = &all[at];
            let governs = file::governing().any(|name| change.path == Path::new(name));
            if gone[at] || is_in_scope(change) || governs && how.is_onas(root, change) {
                continue;
            }
            let path = change.path.to_string_lossy().into_owned();
            let others = wants && !governs && *others.get_or_insert_with(|| how.others(root));
            if governs || wants && !others {
                match undo(&all, at, &mut gone, root, &how.aside) {
                    Ok(()) => {
                        self.put_back.push(path);
                        continue;
                    }
                    Err(why) => self.remarks.push(format!("{path} could not be restored: {why}.")),
                }
            } else if others && self.remarks.is_empty() {
                let why = "Nothing was restored: another call is running here at the same time.";
                self.remarks.push(why.to_owned());
            }
            self.left.push(path);
        }
        if !self.put_back.is_empty() && how.aside.exists() {
            let kept = format!("The replaced content is kept in {}.", how.aside.display());
            self.remarks.push(kept);
        }
        let kept = all.into_iter().zip(gone).filter(|(_, gone)| !gone);
        kept.map(|(change, _)| change).collect()
    }

    /// Whether everything was in scope.
    pub fn is_empty(&self) -> bool {
        self.left.is_empty() && self.put_back.is_empty()
    }

    /// Warnings for the trace.
    pub fn warnings(&self) -> Vec<String> {
        let left = self.left.iter().map(|path| format!("out_of_scope: {path}"));
        left.chain(self.put_back.iter().map(|path| format!("put_back: {path}"))).collect()
    }

    /// For the record.
    pub fn to_json(&self) -> Value {
        json!({"left": self.left, "put_back": self.put_back})
    }

    /// The text for the model, if there is something to report.
    pub fn words(&self) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let mut said = vec![format!("This changed files outside the scope of {}.", self.whose)];
        if !self.put_back.is_empty() {
            said.push(format!("Restored: {}.", self.put_back.join(", ")));
        }
        if !self.left.is_empty() {
            said.push(format!(
                "Still changed, and recorded as out of scope: {}. Undo unintended changes, and ask the user to widen \
                 the scope (`ona intent request-scope`) for the others.",
                self.left.join(", ")
            ));
        }
        said.extend(self.remarks.iter().cloned());
        Some(said.join(" "))
    }
}

/// Undoes one of the changes. A moved file is moved back, because its content may exist nowhere else.
fn undo(
    all: &[Change],
    at: usize,
    gone: &mut [bool],
    root: &Path,
    aside: &Path,
) -> Result<(), RestoreError> {
    let change = &all[at];
    let open = |other: &usize| *other != at && !gone[*other];
    let from = (0..all.len()).filter(open).find(|other| change.came_from(&all[*other]));
    let to = (0..all.len()).filter(open).find(|other| all[*other].came_from(change));
    let other = match (from, to) {
        (Some(other), _) => {
            change.move_back(&all[other], root)?;
            Some(other)
        }
        (None, Some(other)) if change.old == Side::Unknown => {
            all[other].move_back(change, root)?;
            Some(other)
        }
        _ => {
            change.put_back(root, aside)?;
            None
        }
    };
    gone[at] = true;
    if let Some(other) = other {
        gone[other] = true;
    }
    Ok(())
}
