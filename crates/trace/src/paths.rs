//! Paths of files in a workspace that ona writes itself.

use std::fs;
use std::path::{Path, PathBuf};

use ona_files::resolve;
use ona_types::PathError;

/// Why a file of the workspace is not used.
#[derive(Debug, thiserror::Error)]
pub enum UnsafePath {
    /// A symlink on the path points outside the workspace.
    #[error("{path} points outside the workspace, to {}; nothing is written through it", real.display())]
    Outside {
        /// As named, from the workspace.
        path: String,
        /// Where it leads.
        real: PathBuf,
    },
    /// The file is a symlink, which could make ona write into another file.
    #[error("{path} is a symbolic link; nothing is written through it")]
    Link {
        /// As named, from the workspace.
        path: String,
    },
    /// The path cannot be resolved.
    #[error(transparent)]
    Unresolved(#[from] PathError),
}

/// The real path of a file of the workspace, unless it lies outside.
pub fn inside(workspace: &Path, path: &str) -> Result<PathBuf, UnsafePath> {
    let root = resolve(workspace, ".")?;
    let real = resolve(&root, path)?;
    if real.starts_with(&root) {
        Ok(real)
    } else {
        Err(UnsafePath::Outside { path: path.to_owned(), real })
    }
}

/// The same for a file that only ona writes. Its directory may be a link within the workspace. The file itself may
/// not: it could lead to a source file, which would get the lines. A link that is created later is not followed when
/// the file is opened.
pub fn own_file(workspace: &Path, path: &str) -> Result<PathBuf, UnsafePath> {
    let real = inside(workspace, path)?;
    let found = fs::symlink_metadata(workspace.join(path));
    if found.is_ok_and(|meta| meta.file_type().is_symlink()) {
        return Err(UnsafePath::Link { path: path.to_owned() });
    }
    Ok(real)
}
