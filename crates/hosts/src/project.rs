//! Sets up a project: the files that ona creates in a repository, all of them or none.

mod batch;

use std::path::Path;

use ona_intents::setup::{ATTRIBUTES, NEW_FILES, files, set_up, without_merge_rules};

pub use batch::{Change, ChangeError, apply, read};

/// What a project lacks. Some files only have to exist.
pub fn missing(root: &Path) -> Result<Vec<Change>, ChangeError> {
    let mut missing = Vec::new();
    for path in files() {
        let before = match path {
            ATTRIBUTES => read(root, path)?,
            _ if batch::exists(root, path)? => continue,
            _ => None,
        };
        if let Some(after) = set_up(path, before.as_deref()) {
            missing.push(Change { path: path.to_owned(), before, after: Some(after) });
        }
    }
    Ok(missing)
}

/// Creates what a project lacks: all of it or nothing.
pub fn prepare(root: &Path) -> Result<Vec<Change>, ChangeError> {
    let missing = missing(root)?;
    apply(root, &missing)?;
    Ok(missing)
}

/// The files of a project that are unchanged since setup, and the rest of those to which lines were added.
pub fn untouched(root: &Path) -> Result<Vec<Change>, ChangeError> {
    let mut untouched = Vec::new();
    for (path, text) in NEW_FILES {
        if batch::exists(root, path)? && read(root, path)?.as_deref() == Some(text) {
            untouched.push(Change::new(path, Some(text), None));
        }
    }
    let before = read(root, ATTRIBUTES)?;
    if let Some(text) = before.as_deref()
        && let after = without_merge_rules(text)
        && after != before
    {
        untouched.push(Change { path: ATTRIBUTES.to_owned(), before, after });
    }
    Ok(untouched)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ona_intents::file::{INTENTS_FILE, Loader};
    use ona_intents::hook_policy::POLICY_FILE;

    use super::*;

    #[test]
    fn what_is_there_stays_and_what_is_not_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join(".orchestration")).unwrap();
        fs::write(root.join(POLICY_FILE), "mine").unwrap();
        let made: Vec<String> = prepare(&root).unwrap().into_iter().map(|new| new.path).collect();
        assert_eq!(made, [INTENTS_FILE, ".orchestration/.gitignore", ATTRIBUTES]);
        assert_eq!(fs::read_to_string(root.join(POLICY_FILE)).unwrap(), "mine");
        assert_eq!(prepare(&root).unwrap(), []);
        assert_eq!(untouched(&root).unwrap().len(), 3);
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
