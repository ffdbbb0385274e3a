//! Preparing a project: the files of a repository that ona makes, and changing several of them or none.

mod batch;

use std::path::Path;

use ona_intents::file::INTENTS_FILE;
use ona_intents::hook_policy::{NEW_POLICY, POLICY_FILE};

pub use batch::{Change, ChangeError, apply, read};

/// What the new list of intents says.
const NEW_INTENTS: &str = "\
# What may be worked on, and where. A change belongs to one of these intents, and stays in its scope.
#
#   - id: INT-001
#     name: Rate limit the login endpoint
#     status: PLANNED        # or IN_PROGRESS, COMPLETED, BLOCKED, ABANDONED
#     owned_scope: [\"src/auth/**\", \"tests/auth/*.rs\"]
#     constraints: [\"No new dependency\"]
#     acceptance_criteria: [\"The sixth attempt inside a minute answers 429\"]
#     related_requirements: [REQ-AUTH-3]
active_intents: []
";

/// What of the directory is nobody else's business: locks, and files that are about to replace others.
const NEW_IGNORE: &str = "*.lock\n*.ona-new\n.ona-*.tmp\n";

/// The files of a new project, from its root.
const FILES: [(&str, &str); 3] = [
    (INTENTS_FILE, NEW_INTENTS),
    (POLICY_FILE, NEW_POLICY),
    (".orchestration/.gitignore", NEW_IGNORE),
];

/// A file that was made, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// Where, from the project's root.
    pub path: String,
    /// What stands in it.
    pub text: String,
}

/// What a project lacks. Whatever is there already stays as it is, so nothing is looked at but that.
pub fn missing(root: &Path) -> Result<Vec<Created>, ChangeError> {
    let mut missing = Vec::new();
    for (path, text) in FILES {
        if !batch::exists(root, path)? {
            missing.push(Created { path: path.to_owned(), text: text.to_owned() });
        }
    }
    Ok(missing)
}

/// Makes what a project lacks: all of it, or nothing.
pub fn prepare(root: &Path) -> Result<Vec<Created>, ChangeError> {
    let missing = missing(root)?;
    let changes: Vec<Change> =
        missing.iter().map(|new| Change::new(&new.path, None, Some(&new.text))).collect();
    apply(root, &changes)?;
    Ok(missing)
}

/// The files of a project that are still as they were made.
pub fn untouched(root: &Path) -> Result<Vec<Created>, ChangeError> {
    let mut untouched = Vec::new();
    for (path, text) in FILES {
        if batch::exists(root, path)? && read(root, path)?.as_deref() == Some(text) {
            untouched.push(Created { path: path.to_owned(), text: text.to_owned() });
        }
    }
    Ok(untouched)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ona_intents::file::Loader;

    use super::*;

    #[test]
    fn what_is_there_stays_and_what_is_not_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join(".orchestration")).unwrap();
        fs::write(root.join(POLICY_FILE), "mine").unwrap();
        let made: Vec<String> = prepare(&root).unwrap().into_iter().map(|new| new.path).collect();
        assert_eq!(made, [INTENTS_FILE, ".orchestration/.gitignore"]);
        assert_eq!(fs::read_to_string(root.join(POLICY_FILE)).unwrap(), "mine");
        assert_eq!(prepare(&root).unwrap(), []);
        assert_eq!(untouched(&root).unwrap().len(), 2);
    }

    #[test]
    fn a_new_project_can_be_read_and_has_no_intent() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        prepare(&root).unwrap();
        let intents = Loader::new(&root).load().unwrap();
        assert!(intents.available().is_empty() && intents.warnings.is_empty(), "{intents:?}");
    }
}
