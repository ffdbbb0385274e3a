//! The files that `ona init` adds to a repository for its intents.

use std::path::{Path, PathBuf};

use ona_repo::Repository;

use crate::file::{INTENTS_FILE, workspace};
use crate::hook_policy::{NEW_POLICY, POLICY_FILE};

/// The text of a new list of intents.
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

/// What git must not track: locks, and files that are about to replace others.
const NEW_IGNORE: &str = "*.lock\n*.ona-new\n.ona-*.tmp\n";

/// The new files and their text, from the root of the project. A file that exists stays as it is.
pub const NEW_FILES: [(&str, &str); 3] = [
    (INTENTS_FILE, NEW_INTENTS),
    (POLICY_FILE, NEW_POLICY),
    (".orchestration/.gitignore", NEW_IGNORE),
];

/// Where git is told how to merge.
pub const ATTRIBUTES: &str = ".gitattributes";

/// The trace is append-only, so both sides of a merge are right. Rows of the map that occur twice are merged when it is
/// next written.
const MERGE_RULES: [&str; 2] =
    [".orchestration/agent_trace.jsonl merge=union", ".orchestration/intent_map.md merge=union"];

/// The directory that intents belong to: where they are already, else the top of the checkout, else `dir` itself. Never
/// below others: the nearest directory counts, so a second one would hide files from the first.
pub fn root_for(dir: &Path) -> PathBuf {
    workspace(dir).unwrap_or_else(|| Repository::of(dir).checkout)
}

/// Every file that is set up, from the root of the project.
pub fn files() -> impl Iterator<Item = &'static str> {
    NEW_FILES.into_iter().map(|(path, _)| path).chain([ATTRIBUTES])
}

/// The text that setting up gives a file. None if it is not one of [`files`], or stays as it is.
pub fn set_up(path: &str, before: Option<&str>) -> Option<String> {
    if path == ATTRIBUTES {
        let before = before.unwrap_or_default();
        let after = MERGE_RULES.iter().fold(before.to_owned(), |text, line| with_line(&text, line));
        return Some(after).filter(|after| after != before);
    }
    let new = NEW_FILES.into_iter().find(|(new, _)| *new == path).map(|(_, text)| text.to_owned());
    new.filter(|_| before.is_none())
}

/// The text of [`ATTRIBUTES`] without what was added to it; none if nothing is left.
pub fn without_merge_rules(text: &str) -> Option<String> {
    MERGE_RULES.iter().try_fold(text.to_owned(), |text, line| without_line(&text, line))
}

/// The text with a line at its end, unless it has that line.
fn with_line(text: &str, line: &str) -> String {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    if text.lines().any(|known| words(known) == words(line)) {
        return text.to_owned();
    }
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
    format!("{text}{end}{line}{newline}")
}

/// The text without a line; none if nothing is left.
fn without_line(text: &str, line: &str) -> Option<String> {
    let left: String = text.split_inclusive('\n').filter(|known| known.trim() != line).collect();
    (left == text || !left.is_empty()).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Intents;

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
    fn only_what_is_missing_is_set_up_and_can_be_taken_out_again() {
        assert_eq!(set_up(INTENTS_FILE, None).as_deref(), Some(NEW_INTENTS));
        assert_eq!(set_up(INTENTS_FILE, Some("mine")), None);
        assert_eq!(set_up("src/a.rs", None), None);
        let added = set_up(ATTRIBUTES, Some("*.png binary\n")).unwrap();
        assert_eq!(set_up(ATTRIBUTES, Some(&added)), None);
        assert_eq!(without_merge_rules(&added).as_deref(), Some("*.png binary\n"));
        assert_eq!(without_merge_rules(&set_up(ATTRIBUTES, None).unwrap()), None);
        let intents = Intents::read(NEW_INTENTS).unwrap();
        assert!(intents.available().is_empty() && intents.warnings.is_empty(), "{intents:?}");
    }
}
