//! Whether paths are in the scope of an intent, and which other intents own them.

use std::path::Path;

use crate::file::{Intent, Intents};
use crate::ignore::{Ignore, IgnoreError};
use crate::scope::{GlobError, Held, locate};
use crate::workspace::Workspace;

/// Why a scope cannot be checked. The path is not to blame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScopeCheckError {
    /// The scope of the intent cannot be read.
    #[error("{id}: {error}")]
    Scope {
        /// The intent.
        id: String,
        /// The pattern, and why.
        error: GlobError,
    },
    /// `.intentignore` cannot be read, so it is unknown what it blocks.
    #[error(transparent)]
    Ignore(#[from] IgnoreError),
}

/// The answer about one path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeAnswer {
    /// From the workspace; none if the path lies outside.
    pub file: Option<String>,
    /// The pattern that includes it; none if it is out of scope.
    pub pattern: Option<String>,
    /// Why it is out of scope.
    pub why: Option<String>,
    /// The other open intents that own it, each with its pattern.
    pub owners: Vec<(String, String)>,
}

/// Checks paths against the scope of one intent.
#[derive(Debug)]
pub struct ScopeCheck<'a> {
    root: &'a Path,
    intents: &'a Intents,
    intent: &'a Intent,
    ignore: Ignore,
}

impl<'a> ScopeCheck<'a> {
    /// Prepares the check for an intent of the workspace.
    pub fn new(
        workspace: &'a Workspace,
        intents: &'a Intents,
        intent: &'a Intent,
    ) -> Result<Self, ScopeCheckError> {
        intent.scope().map_err(|error| ScopeCheckError::Scope {
            id: intent.id.clone(),
            error: error.clone(),
        })?;
        let ignore = Ignore::load(workspace.root());
        match ignore.errors.first() {
            Some(error) => Err(error.clone().into()),
            None => Ok(Self { root: workspace.root(), intents, intent, ignore }),
        }
    }

    /// The answer about a path, which is relative to `dir` or absolute. It need not exist.
    pub fn path(&self, dir: &Path, path: &Path) -> ScopeAnswer {
        let file = match locate(self.root, dir, path) {
            Ok(file) => file,
            Err(outside) => {
                return ScopeAnswer { why: Some(outside.to_string()), ..ScopeAnswer::default() };
            }
        };
        let mut answer = ScopeAnswer::default();
        let id = &self.intent.id;
        match (held(self.intent, &file), self.ignore.blocks_path(&file)) {
            (_, Some(entry)) => {
                let (name, line, text) = (entry.file, entry.line, &entry.text);
                answer.why =
                    Some(format!("blocked for every intent by {name} line {line} (`{text}`)"));
            }
            (Held::By(pattern), None) => answer.pattern = Some(pattern.to_owned()),
            (Held::Excluded(pattern), None) => {
                answer.why = Some(format!("excluded by `{pattern}` of {id}"));
                answer.owners = self.owners(&file);
            }
            (Held::No, None) => {
                answer.why = Some(format!("no pattern of {id} matches"));
                answer.owners = self.owners(&file);
            }
        }
        answer.file = Some(file);
        answer
    }

    fn owners(&self, file: &str) -> Vec<(String, String)> {
        let others = self.intents.all.iter();
        let others = others.filter(|one| one.id != self.intent.id && one.status().is_open());
        let owner = |one: &Intent| match held(one, file) {
            Held::By(pattern) => Some((one.id.clone(), pattern.to_owned())),
            Held::Excluded(_) | Held::No => None,
        };
        others.filter_map(owner).collect()
    }
}

/// Whether a file is in the scope of an intent. A scope that cannot be read includes nothing.
fn held<'i>(intent: &'i Intent, file: &str) -> Held<'i> {
    intent.scope().map_or(Held::No, |scope| scope.holds(file))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::file::{Found, INTENTS_FILE};

    #[test]
    fn a_path_is_in_scope_or_somebody_elses_or_blocked() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".orchestration")).unwrap();
        let text = "active_intents:\n  - {id: INT-1, owned_scope: ['src/**', '!src/gen/**']}\n  - {id: INT-2, owned_scope: ['docs/**']}\n  - {id: INT-3, status: DONE, owned_scope: ['**']}\n  - {id: INT-4, owned_scope: ['+(x)']}\n";
        fs::write(dir.path().join(INTENTS_FILE), text).unwrap();
        fs::write(dir.path().join(".intentignore"), "src/secret.rs\n").unwrap();
        let workspace = Workspace::at(dir.path()).unwrap();
        let intents = workspace.intents().unwrap();
        let find = |id: &str| match intents.find(id) {
            Found::One(intent) => intent,
            _ => panic!("{id}"),
        };
        let check = ScopeCheck::new(&workspace, &intents, find("INT-1")).unwrap();
        let ask = |path: &str| check.path(workspace.root(), Path::new(path));
        let answer = ask("src/a.rs");
        assert_eq!((answer.pattern.as_deref(), answer.why), (Some("src/**"), None));
        assert_eq!(ask("src/gen/b.rs").why.as_deref(), Some("excluded by `!src/gen/**` of INT-1"));
        let answer = ask("docs/c.md");
        assert_eq!(answer.why.as_deref(), Some("no pattern of INT-1 matches"));
        assert_eq!(answer.owners, [("INT-2".to_owned(), "docs/**".to_owned())]);
        let answer = ask("src/secret.rs");
        assert!(answer.pattern.is_none() && answer.why.unwrap().starts_with("blocked for every"));
        let answer = ask("../elsewhere");
        assert!(answer.file.is_none() && answer.why.is_some());
        let error = ScopeCheck::new(&workspace, &intents, find("INT-4")).unwrap_err();
        assert!(matches!(error, ScopeCheckError::Scope { .. }), "{error}");
    }
}
