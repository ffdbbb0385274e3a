//! `.intentignore`: intents and paths that may not be touched.
//!
//! It only narrows (S4). An entry blocks the intent of that id; one that does not look like an id is a path
//! glob too, blocked for every intent. Both places are read and count together.

use std::path::Path;

pub use crate::file::IGNORE_FILES;
use crate::file::{LoadError, read_text};
use crate::scope::{Glob, GlobError};

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The id or the glob, as it is written.
    pub text: String,
    /// Its file.
    pub file: &'static str,
    /// The line, from 1.
    pub line: usize,
    glob: Option<Glob>,
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IgnoreError {
    /// It cannot be read.
    #[error("{file}: {error}")]
    Load {
        /// The file.
        file: &'static str,
        /// Why.
        error: LoadError,
    },
    /// A line cannot be used, and what it protects is not known.
    #[error("{file} line {line}: {error}")]
    Glob {
        /// The file.
        file: &'static str,
        /// The line, from 1.
        line: usize,
        /// Why.
        error: GlobError,
    },
}

/// Everything that may not be touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ignore {
    /// The lines.
    pub entries: Vec<Entry>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// Errors: more may be blocked than is known.
    pub errors: Vec<IgnoreError>,
}

impl Ignore {
    /// Reads both files of a workspace; a missing file is empty.
    pub fn load(root: &Path) -> Self {
        let mut all = Self::default();
        for file in IGNORE_FILES {
            match read_text(root, file) {
                Ok(text) => all.read(file, &text),
                Err(LoadError::Missing) => {}
                Err(error) => all.errors.push(IgnoreError::Load { file, error }),
            }
        }
        all
    }

    /// Adds the lines of a file.
    pub fn read(&mut self, file: &'static str, text: &str) {
        for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line_number = at + 1;
            let (entry, comment) = split(line);
            if comment.is_some_and(speaks_of_bypass) {
                self.warnings.push(format!(
                    "{file} line {line_number}: the comment mentions bypassing approval; entries here only block"
                ));
            }
            if !entry.is_empty() {
                self.entry(file, line_number, entry);
            }
        }
    }

    fn entry(&mut self, file: &'static str, line: usize, text: &str) {
        let mut entry = Entry { text: text.to_owned(), file, line, glob: None };
        if is_intent_id(text) {
            self.entries.push(entry);
            return;
        }
        if text.starts_with('!') {
            // A negated entry would widen the scope.
            self.warnings.push(format!(
                "{file} line {line}: `{text}` is ignored: entries cannot be negated"
            ));
            return;
        }
        // As in a .gitignore, a slash in front means the top.
        let pattern = text.strip_prefix("./").unwrap_or(text).trim_start_matches('/');
        match Glob::read(pattern) {
            Ok(glob) => {
                entry.glob = glob;
                self.entries.push(entry);
            }
            Err(error) => self.errors.push(IgnoreError::Glob { file, line, error }),
        }
    }

    /// The entry that blocks the intent. Any entry that is its id does, whatever the id looks like.
    pub fn blocks_intent(&self, id: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.text == id)
    }

    /// The entry that blocks the path, which is relative to the workspace. A directory's name blocks what is in it.
    pub fn blocks_path(&self, path: &str) -> Option<&Entry> {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        let above: Vec<&str> = ends.map(|end| &path[..end]).collect();
        self.entries.iter().find(|entry| {
            entry.glob.as_ref().is_some_and(|glob| above.iter().any(|path| glob.matches(path)))
        })
    }
}

/// `^[A-Z][A-Z0-9]*-[0-9]+$`
pub fn is_intent_id(text: &str) -> bool {
    let Some((name, number)) = text.split_once('-') else { return false };
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// The entry of a line and its comment. A path may contain `#`, but not after a blank.
fn split(line: &str) -> (&str, Option<&str>) {
    let comment = line.match_indices('#').map(|(at, _)| at).find(|at| {
        let before = &line[..*at];
        before.trim().is_empty() || before.ends_with([' ', '\t']) || is_intent_id(before.trim())
    });
    match comment {
        Some(at) => (line[..at].trim(), Some(&line[at + 1..])),
        None => (line.trim(), None),
    }
}

fn speaks_of_bypass(comment: &str) -> bool {
    let plain = comment.to_lowercase().replace(['-', '_'], " ");
    [
        "bypass",
        "auto approv",
        "autoapprov",
        "skip approv",
        "skip the approv",
        "without approv",
        "no approval",
    ]
    .iter()
    .any(|words| plain.contains(words))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;
    use crate::scope::GlobProblem;

    fn of(text: &str) -> Ignore {
        let mut ignore = Ignore::default();
        ignore.read(IGNORE_FILES[0], text);
        ignore
    }

    #[test]
    fn ids_block_intents_and_the_rest_blocks_paths() {
        let ignore = of(
            "\u{feff}# frozen until the audit ends\r\nINT-009   # why\r\nINT-010#too\r\n\r\nsecrets/**\r\n.env\n/node_modules\nodd#name\nint-x\n",
        );
        assert_eq!(ignore.errors, []);
        assert_eq!(ignore.warnings, [""; 0]);
        assert_eq!(ignore.blocks_intent("INT-009").map(|entry| entry.line), Some(2));
        assert!(ignore.blocks_intent("INT-010").is_some());
        assert!(ignore.blocks_intent("int-x").is_some(), "an id of another shape");
        assert!(ignore.blocks_intent("INT-011").is_none());
        for (path, blocked) in [
            ("secrets/a", true),
            (".env", true),
            ("src/.env", false),
            ("node_modules/a/b.js", true),
            ("odd#name", true),
            ("INT-009", false),
            ("src/a", false),
        ] {
            assert_eq!(ignore.blocks_path(path).is_some(), blocked, "{path}");
        }
    }

    #[test]
    fn nothing_widens() {
        let ignore = of("# listed intents bypass the prompt\nsrc/**\n!src/a.rs\n+(a|b)\n");
        assert!(ignore.blocks_path("src/a.rs").is_some());
        assert_eq!(ignore.warnings.len(), 2);
        assert!(ignore.warnings[0].contains("bypass"));
        assert!(matches!(
            &ignore.errors[..],
            [IgnoreError::Glob { line: 4, error, .. }] if error.problem == GlobProblem::Extglob
        ));
    }

    #[test]
    fn both_places_count() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("work");
        fs::create_dir_all(root.join(".orchestration")).unwrap();
        assert_eq!(Ignore::load(&root), Ignore::default());
        fs::write(root.join(".intentignore"), "A-1\n").unwrap();
        fs::write(root.join(IGNORE_FILES[0]), "A-2\n").unwrap();
        let ignore = Ignore::load(&root);
        assert!(ignore.blocks_intent("A-1").is_some() && ignore.blocks_intent("A-2").is_some());
        fs::remove_file(root.join(".intentignore")).unwrap();
        symlink("/etc/passwd", root.join(".intentignore")).unwrap();
        assert!(matches!(
            &Ignore::load(&root).errors[..],
            [IgnoreError::Load { error: LoadError::LeadsOut(_), .. }]
        ));
    }

    proptest! {
        #[test]
        fn more_lines_never_block_less(lines in prop::collection::vec("[A-Z]{1,2}-[0-9]|[ab*/!#]{1,6}", 0..5), more in "[A-Z]-[0-9]|[ab*/!#]{1,6}", path in "[ab]{1,2}(/[ab]){0,2}") {
            let less = of(&lines.join("\n"));
            let longer = of(&format!("{}\n{more}", lines.join("\n")));
            prop_assert!(less.blocks_path(&path).is_none() || longer.blocks_path(&path).is_some());
        }
    }
}
