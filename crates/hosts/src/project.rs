//! Sets up a project: the files that ona creates in a repository, all of them or none.

mod batch;

use std::path::Path;

use ona_intents::file::INTENTS_FILE;
use ona_intents::hook_policy::{NEW_POLICY, POLICY_FILE};

pub use batch::{Change, ChangeError, apply, read};

/// The content of a new list of intents.
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

/// Files of the directory that are not committed: locks and temporary files.
const NEW_IGNORE: &str = "*.lock\n*.ona-new\n.ona-*.tmp\n";

/// The files of a new project, relative to its root. Existing ones are not changed.
const FILES: [(&str, &str); 3] = [
    (INTENTS_FILE, NEW_INTENTS),
    (POLICY_FILE, NEW_POLICY),
    (".orchestration/.gitignore", NEW_IGNORE),
];

/// The file with git's merge rules.
pub const ATTRIBUTES: &str = ".gitattributes";

/// The trace is only appended to, so both sides of a merge are right; duplicate rows of the map are merged when it is
/// next written.
const UNION: [&str; 2] =
    [".orchestration/agent_trace.jsonl merge=union", ".orchestration/intent_map.md merge=union"];

/// Every file that is set up, relative to the project's root.
pub fn files() -> impl Iterator<Item = &'static str> {
    FILES.into_iter().map(|(path, _)| path).chain([ATTRIBUTES])
}

/// The new content of a file; `None` if it is not one of these or does not change.
pub fn set_up(path: &str, before: Option<&str>) -> Option<String> {
    if path == ATTRIBUTES {
        let before = before.unwrap_or_default();
        let after = UNION.iter().fold(before.to_owned(), |text, line| with_line(&text, line));
        return Some(after).filter(|after| after != before);
    }
    let new = FILES.into_iter().find(|(new, _)| *new == path).map(|(_, text)| text.to_owned());
    new.filter(|_| before.is_none())
}

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
    for (path, text) in FILES {
        if batch::exists(root, path)? && read(root, path)?.as_deref() == Some(text) {
            untouched.push(Change::new(path, Some(text), None));
        }
    }
    let before = read(root, ATTRIBUTES)?;
    if let Some(text) = before.as_deref()
        && let after =
            UNION.iter().try_fold(text.to_owned(), |text, line| without_line(&text, line))
        && after != before
    {
        untouched.push(Change { path: ATTRIBUTES.to_owned(), before, after });
    }
    Ok(untouched)
}

/// The text with a line added, unless it has that line.
fn with_line(text: &str, line: &str) -> String {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    if text.lines().any(|there| words(there) == words(line)) {
        return text.to_owned();
    }
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
    format!("{text}{end}{line}{newline}")
}

/// The text without a line; `None` if nothing is left.
fn without_line(text: &str, line: &str) -> Option<String> {
    let kept = text.split_inclusive('\n').filter(|there| there.trim() != line);
    let left: String = kept.collect();
    (left == text || !left.is_empty()).then_some(left)
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
        assert_eq!(made, [INTENTS_FILE, ".orchestration/.gitignore", ATTRIBUTES]);
        assert_eq!(fs::read_to_string(root.join(POLICY_FILE)).unwrap(), "mine");
        assert_eq!(prepare(&root).unwrap(), []);
        assert_eq!(untouched(&root).unwrap().len(), 3);
    }

    #[test]
    fn a_line_is_added_once_and_as_the_file_ends_its_own() {
        for (text, with) in [
            ("", "a b\n"),
            ("x", "x\na b\n"),
            ("x\r\n", "x\r\na b\r\n"),
            ("  a  b\nc", "  a  b\nc"),
        ] {
            assert_eq!(with_line(text, "a b"), with);
        }
        assert_eq!(without_line("a b\n", "a b"), None);
        assert_eq!(without_line("x\na b\ny", "a b").as_deref(), Some("x\ny"));
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
