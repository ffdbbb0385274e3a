//! Walks over a tree, without what its lists of ignored files exclude.
//!
//! The `ignore` crate walks and knows the patterns, but it opens no file here: it would wait for a pipe, and read a file
//! without end. The lists are read by `ona-files`; one that is not a regular file, or too large, excludes nothing. This is
//! the one place that makes walkers, and a test of the workspace checks that.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock, mpsc};
use std::time::Duration;
use std::{fs, thread};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::overrides::Override;
use ignore::{DirEntry, Match, WalkBuilder};
use ona_files::read_at_most;

use crate::checkout::Checkout;

/// The limit for one list: its patterns are compiled, which takes up to 4 s for 1 MiB.
const MAX_LIST: u64 = 512 << 10;

/// The limit for all lists of a tree together.
const MAX_LISTS: u64 = 4 << 20;

/// How long the user's own list is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Which lists of ignored files count besides git's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    /// `.ignore` counts, and before git's lists.
    pub plain: bool,
    /// git's lists count only in a repository, and not those above it.
    pub in_repository: bool,
}

/// What a walk leaves out.
#[derive(Clone, Debug)]
pub struct Filters {
    /// Whether hidden entries are left out, unless a list says that they are not ignored.
    pub hidden: bool,
    /// The lists, if any.
    pub lists: Option<Lists>,
    /// What is wanted whatever the lists say, and what is not.
    pub overrides: Override,
}

impl Default for Filters {
    fn default() -> Self {
        Self { hidden: false, lists: None, overrides: Override::empty() }
    }
}

/// A walk that follows no links and leaves out what the filters do, and what is not kept. A directory that is left out is
/// not entered.
pub fn walker(
    root: &Path,
    filters: Filters,
    keep: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
) -> WalkBuilder {
    let Filters { hidden, lists, overrides } = filters;
    // Without a slash at its end: directories are looked up by their bytes.
    let root: &Path = &root.components().collect::<PathBuf>();
    let mut walk = WalkBuilder::new(root);
    walk.standard_filters(false).follow_links(false);
    if !overrides.is_empty() {
        walk.overrides(overrides.clone());
    }
    let Some(lists) = lists else {
        walk.hidden(hidden).filter_entry(move |entry| entry.depth() == 0 || keep(entry));
        return walk;
    };
    let ignored = Ignored::below(root, lists);
    walk.filter_entry(move |entry| {
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        let is_wanted = || {
            if overrides.matched(entry.path(), is_dir).is_whitelist() {
                return true;
            }
            let is_hidden = || entry.file_name().as_encoded_bytes().first() == Some(&b'.');
            match ignored.verdict(entry.path(), is_dir) {
                Verdict::Ignored => false,
                Verdict::Kept => true,
                Verdict::Unnamed => !hidden || !is_hidden(),
            }
        };
        entry.depth() == 0 || (is_wanted() && keep(entry))
    });
    walk
}

/// Whether git ignores a file of the checkout: its own lists, and the user's.
pub fn is_ignored(checkout: &Path, file: &Path) -> bool {
    let checkout: &Path = &checkout.components().collect::<PathBuf>();
    let lists = Ignored::below(checkout, Lists { plain: false, in_repository: true });
    let users = users_list(checkout);
    let Ok(below) = file.strip_prefix(checkout) else { return false };
    let mut at = checkout.to_owned();
    let mut parts = below.components().peekable();
    while let Some(part) = parts.next() {
        at.push(part);
        let is_dir = parts.peek().is_some();
        let is_ignored = match lists.verdict(&at, is_dir) {
            Verdict::Ignored => true,
            Verdict::Kept => false,
            Verdict::Unnamed => users.matched(&at, is_dir).is_ignore(),
        };
        if is_ignored {
            return true;
        }
    }
    false
}

/// The list that the user's own configuration names. It is looked for as the environment says, and read by a thread that
/// nobody waits for if it waits itself.
fn users_list(checkout: &Path) -> Gitignore {
    let (sender, list) = mpsc::channel();
    let root = checkout.to_owned();
    thread::spawn(move || sender.send(GitignoreBuilder::new(root).build_global().0));
    list.recv_timeout(PATIENCE).unwrap_or_else(|_| Gitignore::empty())
}

/// What the lists say of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Ignored,
    /// It is named as an exception.
    Kept,
    Unnamed,
}

/// The lists of a directory, and of those above it.
#[derive(Debug)]
struct Node {
    above: Option<Arc<Node>>,
    plain: Gitignore,
    git: Gitignore,
    exclude: Gitignore,
    /// git's lists further up do not count.
    is_top: bool,
    /// git's lists count.
    in_git: bool,
}

/// The lists of a tree, each read when something next to it is looked at.
struct Ignored {
    root: PathBuf,
    /// The same without links: patterns of lists above it name its real place.
    real: PathBuf,
    is_moved: bool,
    lists: Lists,
    /// How many bytes of lists may still be read.
    left: AtomicU64,
    /// By the directory, as the walk names it. `None`: there is no list up to the root of the disk.
    known: RwLock<HashMap<OsString, Option<Arc<Node>>>>,
}

impl Ignored {
    fn below(root: &Path, lists: Lists) -> Self {
        let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let mut this = Self {
            root: root.to_owned(),
            real: real.clone(),
            is_moved: root.as_os_str() != real.as_os_str(),
            lists,
            left: AtomicU64::new(MAX_LISTS),
            known: RwLock::default(),
        };
        let mut node = None;
        for dir in real.ancestors().collect::<Vec<_>>().into_iter().rev() {
            node = this.read(dir, node);
        }
        this.known = RwLock::new(HashMap::from([(root.as_os_str().to_owned(), node)]));
        this
    }

    fn verdict(&self, path: &Path, is_dir: bool) -> Verdict {
        let node = directory(path).and_then(|dir| self.node(dir));
        let mut next = node.as_deref();
        let Some(node) = next else { return Verdict::Unnamed };
        let moved;
        let path = match self.is_moved {
            true => {
                moved = self.real.join(path.strip_prefix(&self.root).unwrap_or(path));
                &moved
            }
            false => path,
        };
        let (mut plain, mut git, mut exclude) = (Match::None, Match::None, Match::None);
        let mut counts = node.in_git;
        while let Some(node) = next {
            let look = |found: &mut Match<_>, list: &'_ Gitignore| {
                if found.is_none() {
                    *found = list.matched(path, is_dir).map(|_| ());
                }
            };
            look(&mut plain, &node.plain);
            if counts {
                look(&mut git, &node.git);
                look(&mut exclude, &node.exclude);
            }
            counts &= !node.is_top;
            next = node.above.as_deref();
        }
        match plain.or(git).or(exclude) {
            Match::Ignore(()) => Verdict::Ignored,
            Match::Whitelist(()) => Verdict::Kept,
            Match::None => Verdict::Unnamed,
        }
    }

    /// The lists of a directory of the tree.
    fn node(&self, dir: &Path) -> Option<Arc<Node>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(dir.as_os_str()) {
            return known.clone();
        }
        drop(known);
        let above = dir.parent().and_then(|above| self.node(above));
        let below = dir.strip_prefix(&self.root).ok()?;
        let node = self.read(&self.real.join(below), above);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(dir.as_os_str().to_owned(), node.clone());
        node
    }

    /// The lists of a directory; those above it if it has none.
    fn read(&self, dir: &Path, above: Option<Arc<Node>>) -> Option<Arc<Node>> {
        let Lists { plain, in_repository } = self.lists;
        let plain = match plain {
            true => self.list(dir, &dir.join(".ignore")),
            false => Gitignore::empty(),
        };
        let git = self.list(dir, &dir.join(".gitignore"));
        let has_git = fs::metadata(dir.join(".git")).is_ok();
        let exclude = match has_git.then(|| Checkout::at(dir)).as_ref().and_then(Checkout::git) {
            Some(dirs) => self.list(dir, &dirs.common.join("info/exclude")),
            None => Gitignore::empty(),
        };
        let is_top = in_repository && (has_git || dir.join(".jj").exists());
        if !is_top && plain.is_empty() && git.is_empty() && exclude.is_empty() {
            return above;
        }
        let in_git = !in_repository || is_top || above.as_ref().is_some_and(|up| up.in_git);
        Some(Arc::new(Node { above, plain, git, exclude, is_top, in_git }))
    }

    /// A list whose patterns are about what is in `dir`.
    fn list(&self, dir: &Path, file: &Path) -> Gitignore {
        let Ok(Some(bytes)) = read_at_most(file, MAX_LIST) else { return Gitignore::empty() };
        let size = bytes.len() as u64;
        let rest = |left: u64| left.checked_sub(size);
        if self.left.fetch_update(Relaxed, Relaxed, rest).is_err() {
            return Gitignore::empty();
        }
        let text = String::from_utf8_lossy(&bytes);
        let mut list = GitignoreBuilder::new(dir);
        for line in text.trim_start_matches('\u{feff}').lines() {
            // A pattern that makes no sense is left out.
            let _ = list.add_line(None, line);
        }
        list.build().unwrap_or_else(|_| Gitignore::empty())
    }
}

/// The directory that an entry of a walk is in. It is asked for every entry, and [`Path::parent`] takes its time.
fn directory(path: &Path) -> Option<&Path> {
    let bytes = path.as_os_str().as_bytes();
    let end = bytes.iter().rposition(|byte| *byte == b'/')?;
    Some(Path::new(OsStr::from_bytes(&bytes[..end.max(1)])))
}

#[cfg(test)]
mod tests;
