//! A problem in something that a user wrote: where it is, what it is, and what to do about it.

use std::fmt;
use std::path::PathBuf;

/// A problem that does not stop ona, for the user. It is shown as `FILE:LINE: KEY: PROBLEM; HINT`; whoever prints it
/// puts `warning: ` before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file, or what else it is about: an option, a setting.
    pub file: PathBuf,
    /// The line, if it is known.
    pub line: Option<u64>,
    /// The key, as in `permissions.allow[2]`; none if it is about the whole file.
    pub key: Option<String>,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// A problem with a file as a whole.
    pub fn new(file: impl Into<PathBuf>, problem: impl Into<String>) -> Self {
        Self { file: file.into(), line: None, key: None, problem: problem.into(), hint: None }
    }

    /// With the line, if it is known.
    #[must_use]
    pub fn at_line(mut self, line: Option<u64>) -> Self {
        self.line = line;
        self
    }

    /// With the key.
    #[must_use]
    pub fn in_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// With what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ": {key}")?;
        }
        write!(f, ": {}", self.problem)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_where_what_and_what_to_do() {
        let bare = Diagnostic::new("a.json", "invalid JSON");
        assert_eq!(bare.to_string(), "a.json: invalid JSON");
        let full = bare.at_line(Some(3)).in_key("hooks[0]").hint("remove it");
        assert_eq!(full.to_string(), "a.json:3: hooks[0]: invalid JSON; remove it");
    }
}
