//! `.orchestration/active_intents.yaml`: the authority for what an intent may touch.
//!
//! Reading is tolerant ([`Intents::read`]), [`Loader`] reads the file and keeps what it read, [`update`] changes it
//! and preserves everything else: comments, order, unknown keys, quotes and line endings.

mod add;
mod edit;
mod fields;
mod load;
mod model;
mod read;
mod splice;
mod write;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ona_repo::Checkout;
use ona_repo::snapshot::OwnFiles;
use ona_types::PLACEHOLDER_MODE;

pub use crate::yaml::{Place, YamlError};
pub use add::{NewIntent, add};
pub use edit::{Change, EditError, ListField, TextField, change};
pub use fields::{ListEdit, edit, set_status, widen};
pub use load::{LoadError, Loader, MAX_FILE};
pub(crate) use load::{Stamp, read_text, stamp};
pub use model::{FileProblem, Found, Intent, Intents, Item, ProblemKind, Status};
pub(crate) use splice::list as yaml_list;
pub use write::{WriteError, update};

/// The file's text, for callers that need more than its intents.
pub fn text(root: &Path) -> Result<String, LoadError> {
    read_text(root, INTENTS_FILE)
}

/// The time now, as `created_at` and `updated_at` have it.
pub fn now() -> String {
    ona_trace::time::whole_seconds(&ona_trace::time::now())
}

/// Whether the workspace has intents: without the directory this gate does not apply
/// (S2 §3.2).
pub fn is_governed(root: &Path) -> bool {
    let dir = root.join(DIRECTORY);
    dir.is_dir() && !is_placeholder(&dir)
}

/// Whether the directory only keeps its name free while a command runs in the sandbox.
fn is_placeholder(dir: &Path) -> bool {
    let meta = fs::symlink_metadata(dir);
    meta.is_ok_and(|meta| meta.mode() & 0o777 == PLACEHOLDER_MODE)
        && fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
}

/// The workspace of a directory: the nearest parent with intents, within the checkout. A session that
/// starts in a subdirectory is governed too; without a checkout, only the directory itself counts.
pub fn workspace(dir: &Path) -> Option<PathBuf> {
    let Some(top) = Checkout::top_of(dir) else {
        return is_governed(dir).then(|| dir.to_owned());
    };
    let mut inside = dir.ancestors().take_while(|above| above.starts_with(top));
    inside.find(|above| is_governed(above)).map(Path::to_owned)
}

/// The files that say what may be changed, from the workspace.
pub fn governing() -> impl Iterator<Item = &'static str> {
    [INTENTS_FILE, POLICY_FILE].into_iter().chain(IGNORE_FILES)
}

/// ona's own files in a workspace: the trace, the map and the locks are written for every session, and do
/// not count as changes.
pub fn own_files() -> OwnFiles {
    OwnFiles { dir: DIRECTORY.into(), governing: governing().map(PathBuf::from).collect() }
}

/// Where intents, trace, policy and the rest of it live, below the workspace.
pub const DIRECTORY: &str = ".orchestration";
/// The intents, below the workspace.
pub const INTENTS_FILE: &str = ".orchestration/active_intents.yaml";
/// The hook policy, below the workspace.
pub const POLICY_FILE: &str = ".orchestration/hook_policy.yaml";
/// Where the list of what may not be touched can be, below the workspace.
pub const IGNORE_FILES: [&str; 2] = [".orchestration/.intentignore", ".intentignore"];

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_workspace_reaches_as_far_down_as_its_checkout() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("repo");
        let below = root.join("src/deep");
        fs::create_dir_all(&below).unwrap();
        fs::create_dir_all(root.join(DIRECTORY)).unwrap();
        assert_eq!(workspace(&below), None, "no checkout, so nothing says where it ends");
        assert_eq!(workspace(&root), Some(root.clone()));
        fs::create_dir(root.join(".git")).unwrap();
        assert_eq!(workspace(&below), Some(root.clone()));
        fs::write(root.join("src/.git"), "gitdir: elsewhere\n").unwrap();
        assert_eq!(workspace(&below), None, "a checkout of its own");
    }
}
