//! A checkout: the one walk up to `.git`, and where the repository behind it is.
//!
//! A checkout's `.git` is a directory, or a file that names one: in a linked worktree and in a submodule. A linked
//! worktree shares a *common* directory with the main checkout, or with a bare repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ona_files::read_text_at_most;

use crate::index::{Tracked, read_index};

/// The limit for a file that contains a path.
pub(crate) const MAX_LINK_FILE: u64 = 64 << 10;

/// An index that is larger is not read.
const MAX_INDEX: u64 = 100 << 20;

/// A checkout and where its repository is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    top: PathBuf,
    git: Option<GitDirs>,
}

/// The directories of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitDirs {
    /// The checkout's own: its index and its HEAD are there.
    pub own: PathBuf,
    /// What a linked worktree shares with the others: objects, branches, configuration. Else the same.
    pub common: PathBuf,
}

impl Checkout {
    /// The checkout that a directory belongs to: the nearest directory upwards with a `.git` in it.
    pub fn of(dir: &Path) -> Option<Self> {
        Self::top_of(dir).map(Self::at)
    }

    /// Its top alone, for whoever needs to know no more. This is the one walk.
    pub fn top_of(dir: &Path) -> Option<&Path> {
        dir.ancestors().find(|dir| Self::is_top(dir))
    }

    /// Whether a directory is the top of a checkout.
    pub fn is_top(dir: &Path) -> bool {
        dir.join(".git").exists()
    }

    /// The checkout with this top.
    pub fn at(top: &Path) -> Self {
        Self { top: top.to_owned(), git: git_dirs(top) }
    }

    /// Its top directory.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The directories of its repository, if they can be found.
    pub fn git(&self) -> Option<&GitDirs> {
        self.git.as_ref()
    }

    /// Whether it is one of several checkouts of its repository, and not the main one.
    pub fn is_linked(&self) -> bool {
        self.git.as_ref().is_some_and(|git| git.own != git.common)
    }

    /// The files git tracks; nothing if its index cannot be read.
    pub fn tracked(&self) -> Option<Vec<Tracked>> {
        let git = self.git.as_ref()?;
        let index = git.own.join("index");
        match fs::metadata(&index) {
            Err(_) => return Some(Vec::new()),
            Ok(meta) if meta.len() > MAX_INDEX => return None,
            Ok(_) => {}
        }
        let config = ona_files::content_text(git.common.join("config")).unwrap_or_default();
        let hash = if config.to_ascii_lowercase().contains("sha256") { 32 } else { 20 };
        read_index(&ona_files::content(&index).ok()?, hash, &self.top)
    }

    /// When the index was last written. A file that changed within that very moment may have changed again
    /// without showing.
    pub fn indexed(&self) -> Option<SystemTime> {
        fs::metadata(self.git.as_ref()?.own.join("index")).ok()?.modified().ok()
    }

    /// Where the branch that is checked out may be stored.
    pub(crate) fn branch_files(&self) -> Vec<PathBuf> {
        let Some(git) = &self.git else { return Vec::new() };
        let head = read_text_at_most(&git.own.join("HEAD"), MAX_LINK_FILE).ok().flatten();
        let branch = head.as_deref().and_then(branch);
        let places = branch.map(|name| [git.own.join(name), git.common.join(name)]);
        places.into_iter().flatten().collect()
    }

    /// The name of the branch that is checked out; none with a detached HEAD.
    pub fn branch(&self) -> Option<String> {
        let head = read_text_at_most(&self.git.as_ref()?.own.join("HEAD"), MAX_LINK_FILE);
        let head = head.ok().flatten()?;
        branch(&head)?.strip_prefix("refs/heads/").map(str::to_owned)
    }

    /// The commit that is checked out, if there is one and its name stands in a plain file.
    pub fn revision(&self) -> Option<String> {
        let git = self.git.as_ref()?;
        let head = ona_files::content_text(git.own.join("HEAD")).ok()?;
        if !head.trim().starts_with("ref: ") {
            return revision(&head);
        }
        let name = branch(&head)?;
        for dir in [&git.own, &git.common] {
            if let Ok(text) = ona_files::content_text(dir.join(name)) {
                return revision(&text);
            }
        }
        let packed = ona_files::content_text(git.common.join("packed-refs")).ok()?;
        let named = |line: &&str| line.split_once(' ').is_some_and(|(_, of)| of == name);
        packed.lines().find(named).and_then(|line| revision(line.split(' ').next()?))
    }
}

fn git_dirs(top: &Path) -> Option<GitDirs> {
    let mut own = top.join(".git");
    if !own.is_dir() {
        let text = read_text_at_most(&own, MAX_LINK_FILE).ok()??;
        // git takes line ends away and nothing else.
        own = top.join(text.trim_end_matches(['\r', '\n']).strip_prefix("gitdir: ")?);
    }
    let common = match read_text_at_most(&own.join("commondir"), MAX_LINK_FILE) {
        Ok(Some(text)) => own.join(text.trim_end_matches(['\r', '\n'])),
        _ => own.clone(),
    };
    Some(GitDirs { own, common })
}

/// The branch that a HEAD names.
fn branch(head: &str) -> Option<&str> {
    let name = head.trim().strip_prefix("ref: ")?;
    (!name.split('/').any(|part| part == "..")).then_some(name)
}

/// The text, if it names a commit.
fn revision(text: &str) -> Option<String> {
    let text = text.trim();
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hex && matches!(text.len(), 40 | 64)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::testing::git;

    fn names(checkout: &Checkout) -> Vec<String> {
        let files = checkout.tracked().unwrap();
        let name =
            |file: &Tracked| file.path.strip_prefix(&checkout.top).unwrap().display().to_string();
        files.iter().map(name).collect()
    }

    #[test]
    fn tracked_files_are_read_from_every_kind_of_index() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        git(top, &["init", "-q"]);
        assert!(names(&Checkout::of(top).unwrap()).is_empty());
        fs::create_dir_all(top.join("a/deep")).unwrap();
        let files = [".env", "a/deep/other.rs", "a/deep/some.rs", "a/x", "exactly8", "z é"];
        for name in files {
            fs::write(top.join(name), name).unwrap();
        }
        git(top, &["add", "-A"]);
        for version in ["2", "4"] {
            git(top, &["update-index", "--index-version", version]);
            assert_eq!(names(&Checkout::of(&top.join("a/deep")).unwrap()), files, "{version}");
        }
        fs::write(top.join("later"), "").unwrap();
        git(top, &["update-index", "--index-version", "2"]);
        git(top, &["add", "-N", "later"]);
        assert_eq!(names(&Checkout::of(top).unwrap()).len(), 7, "an entry with more flags");
        assert!(Checkout::of(top).unwrap().is_plain());
        fs::write(top.join(".git/index"), "DIRC nonsense that is too short").unwrap();
        assert_eq!(Checkout::of(top).unwrap().tracked(), None);
        assert!(!Checkout::of(top).unwrap().is_plain());
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "git itself is asked")]
    fn the_commit_and_the_objects_are_those_that_git_names() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("top");
        fs::create_dir(&top).unwrap();
        git(&top, &["init", "-q"]);
        let checkout = Checkout::of(&top).unwrap();
        assert_eq!(checkout.revision(), None, "no commit yet");
        fs::write(top.join("a"), "text\n").unwrap();
        git(&top, &["add", "-A"]);
        git(&top, &["commit", "-q", "-m", "x"]);
        let says = |args: &[&str]| {
            let output = Command::new("git").current_dir(&top).args(args).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let head = says(&["rev-parse", "HEAD"]);
        assert_eq!(checkout.revision().as_ref(), Some(&head));
        let tracked = checkout.tracked().unwrap();
        assert_eq!(tracked[0].object, says(&["rev-parse", "HEAD:a"]));
        assert_eq!(tracked[0].length, 5);
        git(&top, &["pack-refs", "--all"]);
        assert_eq!(checkout.revision().as_ref(), Some(&head));
        git(&top, &["worktree", "add", "-q", "../tree"]);
        let tree = Checkout::of(&dir.path().join("tree")).unwrap();
        assert_eq!(tree.revision().as_ref(), Some(&head));
        assert_eq!(tree.branch().as_deref(), Some("tree"));
        assert_eq!(checkout.branch(), Some(says(&["branch", "--show-current"])));
        git(&top, &["checkout", "-q", "--detach"]);
        assert_eq!(checkout.branch(), None);
        assert_eq!(checkout.revision(), Some(head));
        fs::write(top.join(".git/HEAD"), "ref: ../../etc/passwd").unwrap();
        assert_eq!(checkout.revision(), None);
    }

    #[test]
    fn the_nearest_git_upwards_counts_whatever_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b/c")).unwrap();
        git(&top, &["init", "-q"]);
        let found = Checkout::of(&top.join("a/b/c")).unwrap();
        assert_eq!(found.top(), top);
        assert_eq!(found.git().unwrap().own, top.join(".git"));
        assert!(!found.is_linked());
        // Its repository is unknown, but it is a checkout nevertheless.
        fs::write(top.join("a/b/.git"), "nonsense").unwrap();
        let broken = Checkout::of(&top.join("a/b/c")).unwrap();
        assert_eq!((broken.top(), broken.git()), (&*top.join("a/b"), None));
        assert_eq!(broken.tracked(), None);
        assert!(!broken.is_plain());
        git(&top, &["commit", "-q", "--allow-empty", "-m", "x"]);
        git(&top, &["worktree", "add", "-q", "linked"]);
        let linked = Checkout::of(&top.join("linked")).unwrap();
        assert!(linked.is_linked());
        let common = linked.git().unwrap().common.canonicalize().unwrap();
        assert_eq!(common, top.join(".git"));
    }
}
