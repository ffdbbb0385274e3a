//! What Glob and Grep share: where a search starts, the walk over the tree below, and how it is stopped.

use std::borrow::Cow;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use ignore::overrides::Override;
use ignore::{DirEntry, WalkBuilder, WalkState};
use ona_files::resolve;
use ona_repo::walk::{Filters, Lists};
use ona_types::PathError;
use ona_types::ToolOutput;
use tokio_util::sync::CancellationToken;

use crate::context::Hides;
use crate::tool::Refusal;

/// Directories of version control systems: large, and never what a search is after.
pub(crate) const VCS_DIRS: [&str; 4] = [".git", ".hg", ".svn", ".jj"];

/// What ends a search early.
pub(crate) struct Halt {
    cancel: CancellationToken,
    timeout: Duration,
    /// None if the timeout lies beyond what the clock can express.
    deadline: Option<Instant>,
}

impl Halt {
    pub(crate) fn new(cancel: &CancellationToken, timeout: Duration) -> Self {
        // A child, so that ending this search does not cancel the session's other work.
        let cancel = cancel.child_token();
        Self { cancel, timeout, deadline: Instant::now().checked_add(timeout) }
    }

    fn timed_out(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Whether every thread of the search should stop.
    pub(crate) fn is_due(&self) -> bool {
        self.cancel.is_cancelled() || self.timed_out()
    }

    /// Waits until the search should have stopped by now.
    async fn is_overdue(&self) {
        match self.deadline {
            Some(deadline) => {
                tokio::select! {
                    () = self.cancel.cancelled() => {}
                    () = tokio::time::sleep_until(deadline.into()) => {}
                }
            }
            None => self.cancel.cancelled().await,
        }
        tokio::time::sleep(STOP_GRACE).await;
    }

    /// The refusal to end with, if the search was stopped.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.cancel.is_cancelled() {
            return Err(Refusal::Internal("interrupted".to_owned()));
        }
        if self.timed_out() {
            return Err(Refusal::Internal(format!(
                "the search timed out after {} s; narrow the pattern or search a smaller directory",
                self.timeout.as_secs_f64()
            )));
        }
        Ok(())
    }
}

/// A file that ends in an error once the search is to stop, so that a large one does not delay it.
pub(crate) struct Haltable<'a> {
    file: File,
    halt: &'a Halt,
}

impl<'a> Haltable<'a> {
    pub(crate) fn new(file: File, halt: &'a Halt) -> Self {
        Self { file, halt }
    }
}

impl Read for Haltable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.halt.is_due() {
            return Err(io::Error::other("the search was stopped"));
        }
        self.file.read(buffer)
    }
}

/// How long a search that has to stop may take to do so.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// Runs a search off the async threads. It stops when it is cancelled, dropped or out of time; a thread that waits for a
/// dead disk is left to itself.
pub(crate) async fn search(
    halt: Halt,
    work: impl FnOnce(&Halt) -> Result<String, Refusal> + Send + 'static,
) -> Result<ToolOutput, Refusal> {
    let _stop_if_dropped = halt.cancel.clone().drop_guard();
    let halt = Arc::new(halt);
    let same = Arc::clone(&halt);
    let done = tokio::select! {
        biased;
        done = tokio::task::spawn_blocking(move || work(&same)) => done,
        () = halt.is_overdue() => return Err(halt.check().err().unwrap_or_else(stuck)),
    };
    done.map_err(|error| Refusal::Internal(format!("the search crashed: {error}")))?
        .map(ToolOutput::success)
}

fn stuck() -> Refusal {
    Refusal::Internal("the search does not stop".to_owned())
}

/// As many threads as cores; at least two, so that one can work while another waits for the disk.
pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 12))
}

/// The directory or file a search starts at.
pub(crate) fn root(cwd: &Path, path: Option<&str>) -> Result<PathBuf, PathError> {
    resolve(cwd, path.unwrap_or("."))
}

/// What is at the root of a search, which must exist.
pub(crate) fn inspect(root: &Path) -> Result<Metadata, Refusal> {
    fs::metadata(root).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Refusal::rejected(format!(
            "`path`: {} does not exist; check the spelling, or look for it with Glob",
            root.display()
        )),
        _ => unreadable(root, &error),
    })
}

/// The refusal for a root that is there but closed to us.
pub(crate) fn unreadable(root: &Path, error: &io::Error) -> Refusal {
    Refusal::rejected(format!(
        "`path`: {} cannot be read ({error}); check its permissions, or search elsewhere",
        root.display()
    ))
}

/// A walk that follows no links, honours ignore files where `ignored` is false, and enters version
/// control directories only if they are the root or among `entered`. The globs come before ignore files.
pub(crate) fn walker(
    root: &Path,
    hidden: bool,
    ignored: bool,
    globs: Override,
    entered: Vec<&'static str>,
    hides: Hides,
) -> Result<WalkBuilder, Refusal> {
    // The walk reports an unreadable root like any other directory, so it is tried here.
    fs::read_dir(root).map_err(|error| unreadable(root, &error))?;
    // The user's own ignore file is found through the environment, which tools do not read.
    let lists = (!ignored).then_some(Lists { plain: true, in_repository: false });
    let filters = Filters { hidden: !hidden, lists, overrides: globs };
    let mut walk = ona_repo::walk::walker(root, filters, move |entry| {
        let skipped = |dir: &&str| entry.file_name() == *dir && !entered.contains(dir);
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        let is_skipped = is_dir && VCS_DIRS.iter().any(skipped);
        !is_skipped && !hides(entry.path())
    });
    walk.threads(threads());
    Ok(walk)
}

/// What `pick` makes of the entries of a walk, in no order.
pub(crate) fn collect<T: Send>(
    walk: &WalkBuilder,
    halt: &Halt,
    pick: impl Fn(DirEntry) -> Option<T> + Sync,
) -> Result<Vec<T>, Refusal> {
    let (sender, picked) = mpsc::channel();
    walk.build_parallel().run(|| {
        let (sender, pick) = (sender.clone(), &pick);
        Box::new(move |entry| {
            if halt.is_due() {
                return WalkState::Quit;
            }
            // What cannot be read is skipped, as ripgrep does.
            if let Some(item) = entry.ok().and_then(pick)
                && sender.send(item).is_err()
            {
                return WalkState::Quit;
            }
            WalkState::Continue
        })
    });
    drop(sender);
    halt.check()?;
    Ok(picked.into_iter().collect())
}

/// A path as one line of text.
pub(crate) fn shown(path: &Path) -> Cow<'_, str> {
    let text = path.to_string_lossy();
    if text.contains('\n') { Cow::Owned(text.replace('\n', "\\n")) } else { text }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// A directory with these files in it.
    pub(crate) fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        (dir, root)
    }

    pub(crate) fn reason(refusal: &Refusal) -> &str {
        match refusal {
            Refusal::Internal(message) | Refusal::Rejected(message) => message,
        }
    }

    /// Nothing is hidden.
    pub(crate) fn nothing_hidden() -> Hides {
        std::sync::Arc::new(|_| false)
    }

    /// A halt that never happens.
    pub(crate) fn patient() -> Halt {
        Halt::new(&CancellationToken::new(), Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{nothing_hidden, patient, reason, tree};
    use super::*;

    #[test]
    fn a_walk_stops_when_told() {
        let (_dir, root) = tree(&[("a", ""), ("b/c", "")]);
        let walk =
            walker(&root, true, true, Override::empty(), Vec::new(), nothing_hidden()).unwrap();
        let collect = |halt: &Halt| collect(&walk, halt, |entry| Some(entry.into_path()));
        assert_eq!(collect(&patient()).unwrap().len(), 4);
        let cancel = CancellationToken::new();
        let late = collect(&Halt::new(&cancel, Duration::ZERO)).unwrap_err();
        assert!(reason(&late).contains("timed out after 0 s; narrow"));
        cancel.cancel();
        let cancelled = collect(&Halt::new(&cancel, Duration::MAX)).unwrap_err();
        assert_eq!(reason(&cancelled), "interrupted");
    }

    #[test]
    fn a_dropped_search_stops() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (started, start) = tokio::sync::oneshot::channel();
        let (stopped, stop) = mpsc::channel();
        runtime.block_on(async {
            let search = search(patient(), move |halt| {
                started.send(()).unwrap();
                while !halt.is_due() {
                    std::thread::yield_now();
                }
                stopped.send(()).unwrap();
                Ok(String::new())
            });
            tokio::select! { _ = search => {}, _ = start => {} }
        });
        stop.recv().unwrap();
    }

    #[tokio::test]
    async fn a_search_that_hangs_is_left_to_itself() {
        let (cancel, (end, wait)) = (CancellationToken::new(), mpsc::channel::<()>());
        cancel.cancel();
        let refusal = search(Halt::new(&cancel, Duration::MAX), move |_| {
            let _ = wait.recv();
            Ok(String::new())
        })
        .await
        .unwrap_err();
        assert_eq!(reason(&refusal), "interrupted");
        drop(end);
    }

    #[test]
    fn a_path_is_one_line() {
        assert_eq!(shown(Path::new("/a\nb")), "/a\\nb");
    }
}
