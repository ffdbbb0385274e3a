//! What a test may look at (S0 §8.5.2): a closed set of surfaces that are seen from outside.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An observable surface.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// Rows of a database.
    DbState,
    /// Files and directories.
    FileState,
    /// What a program prints, and its exit code.
    ProcessOutput,
    /// The result of a tool: content and `is_error`.
    ToolResult,
    /// A row of `hook_invocations`.
    HookRecord,
}

/// Every surface: its name, what it is, and the words in a criterion that point at it. The first that fits counts, so the
/// narrower ones come first.
const TABLE: [(Surface, &str, &str, &[&str]); 5] = [
    (Surface::HookRecord, "hook_record", "a hook's record", &["hook_invocations", "hook", "hooks"]),
    (
        Surface::ToolResult,
        "tool_result",
        "a tool's result",
        &["is_error", "tool_result", "tool result", "tool's result"],
    ),
    (
        Surface::DbState,
        "db_state",
        "rows of a database",
        &["database", "db", "sql", "sqlite", "rows", "row", "record in the"],
    ),
    (
        Surface::ProcessOutput,
        "process_output",
        "the output or exit code of a program",
        &[
            "prints",
            "print",
            "printed",
            "stdout",
            "stderr",
            "output",
            "outputs",
            "exit code",
            "exit status",
            "exits",
            "exit",
            "shows",
            "lists",
            "displays",
            "reports",
            "says",
            "answers",
            "responds",
            "response",
            "status code",
            "http",
            "error message",
            "warns",
            "warning",
            "fails with",
            "refuses",
            "rejects",
            "accepts",
            "message",
            "--help",
        ],
    ),
    (
        Surface::FileState,
        "file_state",
        "a file or directory",
        &[
            "file",
            "files",
            "directory",
            "directories",
            "folder",
            "permissions",
            "writes",
            "creates",
            "deletes",
            "removes",
            "saves",
            "saved",
        ],
    ),
];

impl Surface {
    /// Every surface.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.0)
    }

    fn row(self) -> &'static (Surface, &'static str, &'static str, &'static [&'static str]) {
        TABLE.iter().find(|row| row.0 == self).unwrap_or(&TABLE[0])
    }

    /// Its name in tests and tags.
    pub fn as_str(self) -> &'static str {
        self.row().1
    }

    /// What it is, in words.
    pub fn words(self) -> &'static str {
        self.row().2
    }

    /// The surface that a criterion speaks of, if a word of it points at one.
    pub fn inferred(text: &str) -> Option<Self> {
        let text = text.to_lowercase();
        let row = TABLE.iter().find(|row| row.3.iter().any(|word| has_word(&text, word)));
        row.map(|row| row.0)
    }
}

/// Whether a text has a word, or several, as a whole.
fn has_word(text: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(inside) && !text[at + word.len()..].starts_with(inside)
    })
}

impl fmt::Display for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An unknown surface.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown surface `{}` (expected db_state, file_state, process_output, tool_result or hook_record)",
    ona_types::shown(.0)
)]
pub struct UnknownSurface(pub String);

impl FromStr for Surface {
    type Err = UnknownSurface;

    fn from_str(name: &str) -> Result<Self, UnknownSurface> {
        let row = TABLE.iter().find(|row| row.1 == name);
        row.map(|row| row.0).ok_or_else(|| UnknownSurface(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for surface in Surface::all() {
            assert_eq!(surface.as_str().parse(), Ok(surface));
            assert_eq!(serde_json::to_value(surface).unwrap(), surface.as_str());
        }
        assert!("screen".parse::<Surface>().unwrap_err().to_string().contains("`screen`"));
    }

    #[test]
    fn a_criterion_points_at_what_it_speaks_of() {
        for (text, surface) in [
            ("`todo list` prints one line for each item", Some(Surface::ProcessOutput)),
            ("Six logins in a minute are answered with HTTP 429", Some(Surface::ProcessOutput)),
            ("`todo add` creates `todo.json`, a file of the user", Some(Surface::FileState)),
            ("The table users in the database has a row for each login", Some(Surface::DbState)),
            ("A hook that exits with 2 is recorded", Some(Surface::HookRecord)),
            ("Read of a missing file has is_error true", Some(Surface::ToolResult)),
            ("The code is clean and fast", None),
            ("The cache profiles well", None),
        ] {
            assert_eq!(Surface::inferred(text), surface, "{text}");
        }
    }
}
