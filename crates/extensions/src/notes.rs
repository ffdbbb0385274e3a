//! Collects the problems of one file while it is read.

use std::path::{Path, PathBuf};

use ona_types::Diagnostic;

use crate::keys::KeyError;

/// The problems of one file.
#[derive(Debug)]
pub(crate) struct Notes<'a> {
    /// The file, or the option it comes from.
    file: &'a Path,
    /// Whether it is a file.
    is_file: bool,
    pub(crate) found: Vec<Diagnostic>,
}

impl<'a> Notes<'a> {
    pub(crate) fn about(file: &'a Path) -> Self {
        Self { file, is_file: true, found: Vec::new() }
    }

    /// For something that is not in a file.
    pub(crate) fn without_file(name: &'a Path) -> Self {
        Self { file: name, is_file: false, found: Vec::new() }
    }

    /// The file, if it is one.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        self.is_file.then(|| self.file.to_owned())
    }

    pub(crate) fn warn(&mut self, line: Option<u64>, why: String, remedy: &str) {
        self.found.push(Diagnostic::new(self.file, why).at_line(line).hint(remedy));
    }

    /// The value of a key; an invalid value is reported and ignored. Only for keys that do not restrict anything.
    pub(crate) fn or_default<T: Default>(&mut self, read: Result<T, KeyError>) -> T {
        read.unwrap_or_else(|bad| {
            self.warn(bad.line, bad.why, "the key is ignored until it is fixed");
            T::default()
        })
    }
}
