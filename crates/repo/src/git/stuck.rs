//! Why git does not answer.
//!
//! It reads files whose names ona does not know beforehand: those that its configuration includes and names, the user's
//! own, lists of ignored files anywhere in the tree. Any of them may be a pipe. To look for them costs time, so that is
//! only done when git has not answered for a while.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ona_files::ReadError;
use ona_sandbox::{Ending, ending};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::GitError;
use super::safe::{Conditions, child};
use crate::checkout::Checkout;
use crate::walk::{Filters, Lists, walker};

/// How long git may take before somebody looks; and how long each look may take.
const LOOK_AFTER: Duration = Duration::from_secs(5);

/// Files that git reads in every directory of a work tree.
const IN_TREE: [&str; 2] = [".gitignore", ".gitattributes"];

/// Settings that name a file which git reads.
const NAMING: &str = r"^(core\.(excludesfile|attributesfile)|mailmap\.file)$";

/// Waits until git must have answered; then says what it waits for, or goes on waiting if nothing is found.
pub(super) async fn stuck(root: &Path) -> GitError {
    sleep(LOOK_AFTER).await;
    let look = ["config", "-z", "--path", "--get-regexp", NAMING];
    let look = child(root, Conditions::default(), &look, &[], LOOK_AFTER);
    let named = match ona_sandbox::run(look, ending()).await {
        Ok(outcome) if outcome.ending == Ending::TimedOut => return GitError::Stuck,
        Ok(outcome) => outcome.stdout.bytes,
        Err(_) => Vec::new(),
    };
    let at = root.to_owned();
    let found = spawn_blocking(move || named_pipe(&at, &named).or_else(|| pipe_in_tree(&at)));
    match found.await.ok().flatten() {
        Some(path) => {
            GitError::Unreadable { path, source: io::Error::other(ReadError::NotRegular) }
        }
        None => std::future::pending().await,
    }
}

/// A file that the configuration names and that is not a regular file: keys with their values behind a line end, NUL between them.
fn named_pipe(root: &Path, said: &[u8]) -> Option<PathBuf> {
    let values = said.split(|byte| *byte == 0).filter_map(|entry| {
        let end = entry.iter().position(|byte| *byte == b'\n')?;
        Some(root.join(OsStr::from_bytes(&entry[end + 1..])))
    });
    let is_odd = |meta: fs::Metadata| !meta.is_file() && !meta.is_dir();
    values.into_iter().find(|path| fs::metadata(path).is_ok_and(is_odd))
}

/// The same for the files that git reads on its way through the tree. It follows no links to them.
fn pipe_in_tree(root: &Path) -> Option<PathBuf> {
    let late = Instant::now() + LOOK_AFTER;
    let lists = Some(Lists { plain: false, in_repository: true });
    let filters = Filters { lists, ..Filters::default() };
    let top = Checkout::top_of(root).unwrap_or(root);
    let walk = walker(top, filters, |entry| entry.file_name() != ".git");
    let entries = walk.build().flatten().take_while(|_| Instant::now() < late);
    let is_pipe = |entry: &ignore::DirEntry| {
        let is_read = IN_TREE.iter().any(|name| entry.file_name() == *name);
        let is_file = |kind: fs::FileType| kind.is_file() || kind.is_dir() || kind.is_symlink();
        is_read && !entry.file_type().is_some_and(is_file)
    };
    entries.into_iter().find(is_pipe).map(ignore::DirEntry::into_path)
}
