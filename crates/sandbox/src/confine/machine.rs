//! What this machine offers, asked once by a process.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::unistd::geteuid;

use super::bwrap::{self, NoHelper};
use super::known::known;
use super::probe::Probed;

/// A directory for temporary files that nobody has used for so long belongs to nobody.
const OLD: Duration = Duration::from_secs(7 * 86_400);

/// The directories in which no helper was looked for, and what was found.
type Found = (Vec<PathBuf>, Arc<[Probed]>);

/// What this machine has for a sandbox, and what of it is in use. The sessions of a process share it.
#[derive(Debug, Default)]
pub struct Machine {
    /// Where it is kept which levels work.
    state: PathBuf,
    hidden: Vec<PathBuf>,
    /// Where helpers are looked for.
    search_path: OsString,
    /// Where directories for temporary files are made.
    temporary: PathBuf,
    /// Levels that were found, by the directories in which no helper is looked for.
    found: Mutex<Vec<Found>>,
    /// Directories that were made.
    made: Mutex<BTreeSet<PathBuf>>,
    /// Whether they stay: what goes on in the background uses them.
    keeps_temporary: AtomicBool,
}

impl Machine {
    /// A machine whose levels are kept in `state`, with helpers on this path. Directories for temporary files are made in
    /// `temporary`.
    pub fn new(state: PathBuf, search_path: OsString, temporary: PathBuf) -> Self {
        Self {
            state,
            search_path,
            temporary,
            found: Mutex::default(),
            made: Mutex::default(),
            keeps_temporary: AtomicBool::new(false),
            hidden: Vec::new(),
        }
    }

    /// The same, with places of credentials that are not where they usually are.
    pub fn hiding(mut self, hidden: Vec<PathBuf>) -> Self {
        self.hidden = hidden;
        self
    }

    /// Places of credentials that are not where they usually are.
    pub fn hidden(&self) -> &[PathBuf] {
        &self.hidden
    }

    /// The directories for temporary files stay when the process ends.
    pub fn keep_temporary(&self) {
        self.keeps_temporary.store(true, Ordering::Relaxed);
    }

    /// The levels of this machine, the strongest first.
    pub fn levels(&self, program: &Path, writable: &[PathBuf]) -> Arc<[Probed]> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, levels)) = found.iter().find(|(known, _)| known == writable) {
            return Arc::clone(levels);
        }
        let levels: Arc<[Probed]> = known(&self.state, &self.search_path, writable, program).into();
        found.push((writable.to_vec(), Arc::clone(&levels)));
        levels
    }

    /// Why a helper that is there is not used, where commands may write these directories.
    pub fn unused_helper(&self, writable: &[PathBuf]) -> Option<NoHelper> {
        bwrap::find(&self.search_path, writable).err().filter(|why| *why != NoHelper::Missing)
    }

    /// The directory for the temporary files of a conversation: its commands see nobody else's.
    pub fn temporary_of(&self, conversation: &str) -> io::Result<PathBuf> {
        let own = self.temporary.join(format!("ona-{}", geteuid().as_raw()));
        let dir = own.join(conversation);
        for dir in [&own, &dir] {
            match DirBuilder::new().mode(0o700).create(dir) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
            // Everybody can make names in /tmp.
            let meta = fs::symlink_metadata(dir)?;
            let is_own = meta.is_dir() && meta.uid() == geteuid().as_raw();
            if !is_own || meta.mode() & 0o077 != 0 {
                let why = format!("{} belongs to somebody else: remove it", dir.display());
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
            }
        }
        let is_first = self.made.lock().unwrap_or_else(PoisonError::into_inner).insert(dir.clone());
        if is_first {
            remove_old(&own, &dir);
        }
        Ok(dir)
    }
}

/// Removes what killed processes have left, and what background commands have outlived, when nothing was made in it for long.
fn remove_old(own: &Path, except: &Path) {
    for entry in fs::read_dir(own).into_iter().flatten().flatten() {
        let changed = entry.metadata().and_then(|meta| meta.modified());
        let is_old = changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > OLD));
        if is_old && entry.path() != except {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if self.keeps_temporary.load(Ordering::Relaxed) {
            return;
        }
        let made = std::mem::take(&mut *self.made.lock().unwrap_or_else(PoisonError::into_inner));
        for dir in made {
            let _ = fs::remove_dir_all(&dir);
            let _ = dir.parent().map(fs::remove_dir);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn temporary_files_of_a_conversation_are_its_own_and_go_with_the_process() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::new(dir.path().into(), OsString::new(), dir.path().into());
        let own = machine.temporary_of("c1").unwrap();
        assert_eq!(own, machine.temporary_of("c1").unwrap());
        assert_ne!(own, machine.temporary_of("c2").unwrap());
        assert_eq!(fs::metadata(&own).unwrap().mode() & 0o777, 0o700);
        fs::write(own.join("x"), "").unwrap();
        drop(machine);
        assert!(!own.exists() && !own.parent().unwrap().exists());
        let kept = Machine::new(dir.path().into(), OsString::new(), dir.path().into());
        kept.keep_temporary();
        let own = kept.temporary_of("c1").unwrap();
        drop(kept);
        assert!(own.exists());
    }

    #[test]
    fn what_was_left_long_ago_goes() {
        let dir = tempfile::tempdir().unwrap();
        let machine = || Machine::new(dir.path().into(), OsString::new(), dir.path().into());
        let first = machine();
        let own = first.temporary_of("now").unwrap().parent().unwrap().to_owned();
        fs::create_dir_all(own.join("old/x")).unwrap();
        fs::create_dir(own.join("new")).unwrap();
        let long_ago = std::time::SystemTime::now() - 2 * OLD;
        fs::File::open(own.join("old")).unwrap().set_modified(long_ago).unwrap();
        let next = machine();
        next.temporary_of("next").unwrap();
        assert!(!own.join("old").exists() && own.join("new").exists());
    }

    #[test]
    fn a_directory_that_somebody_else_has_made_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::new(dir.path().into(), OsString::new(), dir.path().into());
        let own = machine.temporary_of("c1").unwrap();
        fs::remove_dir(&own).unwrap();
        symlink("/etc", &own).unwrap();
        assert!(machine.temporary_of("c1").is_err());
        fs::remove_file(&own).unwrap();
        fs::create_dir(&own).unwrap();
        fs::set_permissions(&own, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(machine.temporary_of("c1").is_err());
    }
}
