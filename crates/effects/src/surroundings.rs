//! Where a call is judged: directories, protected files, access to the disk.

use std::path::{Path, PathBuf};

use ona_types::World;

use crate::path::Target;

/// Where a call is judged.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The session's directory.
    pub cwd: PathBuf,
    /// The project's directory.
    pub project_dir: PathBuf,
    /// The user's home.
    pub home: PathBuf,
    /// The directories work is meant to happen in, resolved; the project's is one.
    pub working_dirs: Vec<PathBuf>,
    /// Where ona puts output of this session's tools that the model may want to read.
    pub outputs: Option<PathBuf>,
    /// Files and directories that decide what is allowed, beside those known by name: writing them is asked for.
    pub protected: Vec<PathBuf>,
    /// Directories with stored credentials: no call reads or writes them, whatever the mode.
    pub stores: Vec<PathBuf>,
    /// Access to the disk and git.
    pub world: &'static dyn World,
}

impl Surroundings {
    /// The path is in a working directory.
    pub fn contains(&self, path: &Path) -> bool {
        self.working_dirs.iter().any(|dir| path.starts_with(dir))
    }

    /// The target, followed through links, is in a working directory.
    pub fn holds(&self, target: &Target) -> bool {
        self.contains(&target.real)
    }
}
