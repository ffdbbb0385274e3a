//! What is wrong with a file, for whoever wrote it: which file, which line, why, and what to do.

use std::path::{Path, PathBuf};

use ona_types::Diagnostic;

use crate::keys::Bad;

/// Takes down what is wrong with one file.
#[derive(Debug)]
pub(crate) struct Notes<'a> {
    /// The file, or what else it comes from.
    file: &'a Path,
    /// Whether that is a file.
    is_file: bool,
    pub(crate) said: Vec<Diagnostic>,
}

impl<'a> Notes<'a> {
    pub(crate) fn about(file: &'a Path) -> Self {
        Self { file, is_file: true, said: Vec::new() }
    }

    /// About something that is in no file.
    pub(crate) fn without_file(name: &'a Path) -> Self {
        Self { file: name, is_file: false, said: Vec::new() }
    }

    /// The file, if it is one.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        self.is_file.then(|| self.file.to_owned())
    }

    pub(crate) fn say(&mut self, line: Option<u64>, why: String, remedy: &str) {
        self.said.push(Diagnostic::new(self.file, why).at_line(line).hint(remedy));
    }

    /// What a key says; where it cannot be read, that is noted and it counts as not there. Only for keys that
    /// restrict nothing.
    pub(crate) fn or_default<T: Default>(&mut self, read: Result<T, Bad>) -> T {
        read.unwrap_or_else(|bad| {
            self.say(bad.line, bad.why, "until it is mended the key does not count");
            T::default()
        })
    }
}
