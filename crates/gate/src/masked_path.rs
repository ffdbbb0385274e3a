//! Paths in the record, without secrets.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use ona_policy::secrets::Redactor;

/// A path without secrets.
pub fn masked_path(redactor: &Redactor, path: &Path) -> PathBuf {
    match redactor.mask(&path.to_string_lossy()) {
        Cow::Borrowed(_) => path.to_owned(),
        Cow::Owned(masked) => masked.into(),
    }
}
