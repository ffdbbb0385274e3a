//! What a call changed outside the scope of its intent: told, and put back where the policy wants it.

use ona_intents::hook_policy::OutOfScopeWrite;
use ona_intents::scope::Held;
use serde_json::{Value, json};

use super::Governed;
use crate::worktree::Change;

/// Files that were not the call's to change.
#[derive(Debug, Default)]
pub(crate) struct Outside {
    whose: String,
    left: Vec<String>,
    put_back: Vec<String>,
    failures: Vec<String>,
}

impl Outside {
    /// Of the changes, those outside the scope, or all of them where nothing was to be changed. What is put back is no
    /// longer among the changes.
    pub(crate) fn of(governed: &Governed, files: &mut Vec<Change>, everything: bool) -> Self {
        let mut outside = Self::default();
        let Some(intent) = governed.intent.as_ref() else {
            // The gate could not judge, and let it through.
            if everything {
                outside.whose = "any intent".to_owned();
                outside.sort(governed, files, |_| false);
            }
            return outside;
        };
        outside.whose.clone_from(&intent.id);
        let ignore = governed.workspace.ignore();
        outside.sort(governed, files, |change| {
            let Some(path) = change.path.to_str() else { return false };
            let held = intent.scope().is_ok_and(|scope| matches!(scope.holds(path), Held::By(_)));
            held && !everything && ignore.blocks_path(path).is_none()
        });
        outside
    }

    fn sort(
        &mut self,
        governed: &Governed,
        files: &mut Vec<Change>,
        is_in_scope: impl Fn(&Change) -> bool,
    ) {
        files.retain(|change| {
            if is_in_scope(change) {
                return true;
            }
            let path = change.path.to_string_lossy().into_owned();
            if governed.policy.on_out_of_scope_write == OutOfScopeWrite::Revert {
                match change.put_back(governed.workspace.root()) {
                    Ok(()) => {
                        self.put_back.push(path);
                        return false;
                    }
                    Err(why) => self.failures.push(format!("{path} could not be put back: {why}")),
                }
            }
            self.left.push(path);
            true
        });
    }

    /// Whether everything was in scope.
    pub(crate) fn is_empty(&self) -> bool {
        self.left.is_empty() && self.put_back.is_empty()
    }

    /// What the trace says of it.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let left = self.left.iter().map(|path| format!("out_of_scope: {path}"));
        left.chain(self.put_back.iter().map(|path| format!("put_back: {path}"))).collect()
    }

    /// What the record says of it.
    pub(crate) fn to_json(&self) -> Value {
        json!({"left": self.left, "put_back": self.put_back})
    }

    /// What the model is told, if there is something to tell.
    pub(crate) fn words(&self) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let mut said = vec![format!("This changed files outside the scope of {}.", self.whose)];
        if !self.put_back.is_empty() {
            said.push(format!("Put back as they were: {}.", self.put_back.join(", ")));
        }
        if !self.left.is_empty() {
            said.push(format!(
                "Still changed, and on record as out of scope: {}. Undo what was not meant, and ask the user to \
                 widen the scope (`ona intent request-scope`) for what was.",
                self.left.join(", ")
            ));
        }
        said.extend(self.failures.iter().cloned());
        Some(said.join(" "))
    }
}
