//! Queries to the real `git` about a checkout.
//!
//! Nothing that the repository configures is run ([`safe`] is the one place that starts git). Names come with NUL between them, so that none can pass for two. All paths are
//! relative to the directory that is asked about, which may lie below the checkout's top.

mod fetch;
mod history;
mod safe;
mod stuck;
pub mod worktrees;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ona_sandbox::{ChildOutcome, Ending, SpawnError};

use crate::checkout::Checkout;

use safe::{git, git_with};

pub use fetch::fetch;
pub use history::{
    Commit, changed_between, commits_since, describe, earlier_names, identity, line_commits,
    messages_since, prefix,
};
pub use safe::{give_up, shell_function};

/// The limit for the output of one command, and for a file of the work tree, in bytes.
const MAX_OUTPUT: usize = 256 << 20;

/// The time limit for one command.
const PATIENCE: Duration = Duration::from_secs(120);

/// The mode of a submodule in trees and in the index.
const SUBMODULE: &str = "160000";

/// Why a git query failed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// git is not installed, or cannot be started.
    #[error("git cannot be started: {0}")]
    Start(#[from] SpawnError),
    /// The directory is not in a checkout.
    #[error("{} is not in a git checkout", .0.display())]
    NoCheckout(PathBuf),
    /// git would take a directory of the checkout for a repository.
    #[error("{} looks like a git repository: git would use it instead of the repository of the checkout", .0.display())]
    LooksLikeRepository(PathBuf),
    /// The commit does not exist.
    #[error("commit `{rev}` not found in this repository{}", if *.shallow { ", which is a shallow clone" } else { "" })]
    NoCommit {
        /// As it was named.
        rev: String,
        /// Whether the clone is shallow, so that the commit may exist in its origin.
        shallow: bool,
    },
    /// A version of a file was never fetched.
    #[error("the repository has no object {0}: it is a partial clone, or damaged")]
    NoObject(String),
    /// Its output is larger than the limit.
    #[error("`git {0}` printed more than {MAX_OUTPUT} bytes")]
    TooMuch(String),
    /// A file that cannot be compared.
    #[error("{} is larger than {MAX_OUTPUT} bytes and cannot be compared", .0.display())]
    TooLarge(PathBuf),
    /// A file that cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// git cannot read its configuration.
    #[error(
        "git does not answer: it waits for a file of its configuration; check that the files it includes, and your own, are regular files"
    )]
    Stuck,
    /// Anything else that git says.
    #[error("`git {command}` failed: {said}")]
    Failed {
        /// The command.
        command: String,
        /// What it said.
        said: String,
    },
}

/// A file that is not as it was at a commit, or may not be: git looks at times before it looks at content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Where it is.
    pub path: PathBuf,
    /// The object before; `None` if the file did not exist.
    pub old: Option<String>,
    /// It was a submodule's commit, not a file.
    pub was_submodule: bool,
    /// The submodule it is in, whose objects are its own.
    pub within: Option<PathBuf>,
    /// Its permissions before and now, where only git's two kinds count and they differ.
    pub modes: Option<(u32, u32)>,
}

/// A file before and now. `None`: the file does not exist. A submodule is what `git diff` shows of it, a line with its
/// commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// At the commit.
    pub old: Option<Vec<u8>>,
    /// In the work tree.
    pub new: Option<Vec<u8>>,
}

/// The commit that is checked out; none before the first one.
pub async fn head(root: &Path) -> Result<Option<String>, GitError> {
    let outcome = git(root, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], &[]).await?;
    match outcome.ending {
        Ending::Exited(0) => Ok(Some(first_line(&outcome.stdout.bytes))),
        Ending::Exited(1) => Ok(None),
        _ => Err(failed(root, "rev-parse", &outcome)),
    }
}

/// The commit that a revision names.
pub async fn commit(root: &Path, rev: &str) -> Result<String, GitError> {
    let peeled = format!("{rev}^{{commit}}");
    let asked = ["rev-parse", "--verify", "--quiet", &peeled];
    // A revision that starts with a dash would be read as an option.
    if !rev.starts_with('-') {
        let outcome = git(root, &asked, &[]).await?;
        match outcome.ending {
            Ending::Exited(0) => return Ok(first_line(&outcome.stdout.bytes)),
            Ending::Exited(1) => {}
            _ => {
                let error = failed(root, "rev-parse", &outcome);
                if matches!(error, GitError::NoCheckout(_)) {
                    return Err(error);
                }
            }
        }
    }
    let shallow = said(root, &["rev-parse", "--is-shallow-repository"]).await?;
    Err(GitError::NoCommit { rev: rev.to_owned(), shallow: first_line(&shallow) == "true" })
}

/// Every existing file, tracked or not, that is not ignored.
pub async fn files(root: &Path) -> Result<Vec<PathBuf>, GitError> {
    let asked = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"];
    Ok(names(&said(root, &asked).await?).map(PathBuf::from).collect())
}

/// Every file of the work tree that is not as it was at the commit: staged, unstaged, untracked and not ignored.
/// Without a commit, as before the first one. Submodules are gone into.
pub async fn changed_since(root: &Path, commit: Option<&str>) -> Result<Vec<Changed>, GitError> {
    let base = match commit {
        Some(commit) => commit.to_owned(),
        None => empty_tree(root).await?,
    };
    let mut found: BTreeMap<PathBuf, Changed> = BTreeMap::new();
    let mut trees: Vec<(Option<PathBuf>, String)> = vec![(None, base)];
    while let Some((within, base)) = trees.pop() {
        let dir = within.as_ref().map_or_else(|| root.to_owned(), |module| root.join(module));
        let at =
            |name: &OsStr| within.as_ref().map_or_else(PathBuf::new, PathBuf::clone).join(name);
        for entry in differences(&dir, &base).await? {
            let path = at(&entry.name);
            let module = root.join(&path);
            if entry.is_submodule && knows(&module, &entry.object).await {
                trees.push((Some(path), entry.object));
                continue;
            }
            let changed = Changed {
                path: path.clone(),
                old: entry.was_there.then_some(entry.object),
                was_submodule: entry.is_submodule && entry.was_there,
                within: within.clone(),
                modes: entry.modes,
            };
            found.insert(path, changed);
        }
        let asked = ["ls-files", "-z", "--others", "--exclude-standard"];
        for name in names(&said(&dir, &asked).await?) {
            // A name with a slash behind it is a repository of its own.
            let path = at(OsStr::from_bytes(
                name.as_bytes().strip_suffix(b"/").unwrap_or(name.as_bytes()),
            ));
            // What was taken out of the index is there in both lists.
            found.entry(path.clone()).or_insert_with(|| Changed {
                path,
                old: None,
                was_submodule: false,
                within: within.clone(),
                modes: None,
            });
        }
    }
    Ok(found.into_values().collect())
}

/// What the files were at the commit, and what they are now.
pub async fn contents(root: &Path, changed: &[Changed]) -> Result<Vec<Contents>, GitError> {
    let mut all = vec![Contents::default(); changed.len()];
    let mut asked: BTreeMap<Option<&Path>, Vec<(usize, &str)>> = BTreeMap::new();
    for (index, file) in changed.iter().enumerate() {
        all[index].new = work_version(&root.join(&file.path)).await?;
        match &file.old {
            Some(old) if file.was_submodule => all[index].old = Some(submodule_line(old)),
            Some(old) => asked.entry(file.within.as_deref()).or_default().push((index, old)),
            None => {}
        }
    }
    for (within, files) in asked {
        let dir = within.map_or_else(|| root.to_owned(), |module| root.join(module));
        let objects: Vec<&str> = files.iter().map(|(_, object)| *object).collect();
        for ((index, object), blob) in files.into_iter().zip(blobs(&dir, &objects).await?) {
            all[index].old = Some(blob.ok_or_else(|| GitError::NoObject(object.to_owned()))?);
        }
    }
    Ok(all)
}

/// The content of objects by their ids; `None` if missing or not a file.
pub async fn blobs(root: &Path, ids: &[&str]) -> Result<Vec<Option<Vec<u8>>>, GitError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let asked = ids.join("\n") + "\n";
    let outcome = git(root, &["cat-file", "--batch"], asked.as_bytes()).await?;
    let said = whole(root, "cat-file", outcome)?;
    let mut rest = &said[..];
    let mut next = || -> Option<Option<Vec<u8>>> {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let header = String::from_utf8_lossy(&rest[..end]);
        let body = &rest[end + 1..];
        // `<id> <type> <size>`, or `<id> missing`.
        let words: Vec<&str> = header.split(' ').collect();
        let [_, kind, size] = words[..] else {
            rest = body;
            return Some(None);
        };
        let size: usize = size.parse().ok()?;
        let content = body.get(..size)?;
        let blob = (kind == "blob").then(|| content.to_vec());
        rest = body.get(size + 1..)?;
        Some(blob)
    };
    let cut = || GitError::Failed {
        command: "cat-file".to_owned(),
        said: "its output cannot be parsed".to_owned(),
    };
    ids.iter().map(|_| next().ok_or_else(cut)).collect()
}

/// One line of a raw difference.
struct Entry {
    name: OsString,
    /// The old one's id; zeros if there was none.
    object: String,
    /// The new one's id; zeros if there is none, or it is in the work tree.
    new_object: String,
    was_there: bool,
    /// On the old side, or where that is empty on the new one.
    is_submodule: bool,
    modes: Option<(u32, u32)>,
}

/// Where the work tree differs from a commit or tree.
async fn differences(dir: &Path, base: &str) -> Result<Vec<Entry>, GitError> {
    let asked = [
        "diff-index",
        "--raw",
        "-z",
        "--no-abbrev",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--ignore-submodules=none",
        "--relative",
        base,
        "--",
    ];
    Ok(raw(&said(dir, &asked).await?))
}

/// `:<mode> <mode> <id> <id> <status>`, NUL, name, NUL.
fn raw(said: &[u8]) -> Vec<Entry> {
    let mut words = names(said);
    let mut entries = Vec::new();
    while let (Some(head), Some(name)) = (words.next(), words.next()) {
        let head = head.to_string_lossy().into_owned();
        let parts: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, object, new_object, _] = parts[..] else { break };
        let was_there = old_mode != "000000";
        entries.push(Entry {
            name,
            object: object.to_owned(),
            new_object: new_object.to_owned(),
            was_there,
            is_submodule: if was_there { old_mode == SUBMODULE } else { new_mode == SUBMODULE },
            modes: regular(old_mode).zip(regular(new_mode)).filter(|(old, new)| old != new),
        });
    }
    entries
}

/// The permissions of a regular file, as git writes its mode.
fn regular(mode: &str) -> Option<u32> {
    u32::from_str_radix(mode.strip_prefix("100")?, 8).ok()
}

/// Whether a directory is a repository of its own that has the object.
async fn knows(dir: &Path, object: &str) -> bool {
    // git would go up to the repository around it.
    Checkout::is_top(dir)
        && git(dir, &["cat-file", "-e", object], &[])
            .await
            .is_ok_and(|outcome| outcome.ending == Ending::Exited(0))
}

/// The tree with nothing in it; its id depends on the repository's kind of hash.
async fn empty_tree(root: &Path) -> Result<String, GitError> {
    Ok(first_line(&said(root, &["hash-object", "-t", "tree", "--stdin"]).await?))
}

/// The content at a path now, as git would store it.
async fn work_version(path: &Path) -> Result<Option<Vec<u8>>, GitError> {
    let unreadable = |source| GitError::Unreadable { path: path.to_owned(), source };
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(error)),
    };
    if meta.is_symlink() {
        let target = fs::read_link(path).map_err(unreadable)?;
        return Ok(Some(target.into_os_string().into_vec()));
    }
    if meta.is_dir() {
        // A file became a directory, whose files are listed themselves; or it is a repository of its own.
        return Ok(match Checkout::is_top(path) {
            true => Some(submodule_line(&head(path).await?.unwrap_or_default())),
            false => None,
        });
    }
    if !meta.is_file() {
        return Ok(None);
    }
    if meta.len() > MAX_OUTPUT as u64 {
        return Err(GitError::TooLarge(path.to_owned()));
    }
    ona_files::content(path).map(Some).map_err(unreadable)
}

fn submodule_line(commit: &str) -> Vec<u8> {
    format!("Subproject commit {commit}\n").into_bytes()
}

/// Names with a NUL behind each.
fn names(said: &[u8]) -> impl Iterator<Item = OsString> {
    let words = said.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    words.map(|name| OsStr::from_bytes(name).to_owned())
}

fn first_line(said: &[u8]) -> String {
    String::from_utf8_lossy(said).lines().next().unwrap_or_default().to_owned()
}

/// The output of a command that has to succeed.
async fn said(root: &Path, args: &[&str]) -> Result<Vec<u8>, GitError> {
    let outcome = git(root, args, &[]).await?;
    whole(root, args[0], outcome)
}

fn whole(root: &Path, command: &str, outcome: ChildOutcome) -> Result<Vec<u8>, GitError> {
    if outcome.ending != Ending::Exited(0) {
        return Err(failed(root, command, &outcome));
    }
    if outcome.stdout.truncated {
        return Err(GitError::TooMuch(command.to_owned()));
    }
    Ok(outcome.stdout.bytes)
}

fn failed(root: &Path, command: &str, outcome: &ChildOutcome) -> GitError {
    let said = String::from_utf8_lossy(&outcome.stderr.bytes).trim().to_owned();
    if said.contains("not a git repository")
        || said.contains("cannot use bare repository")
        || said.contains("must be run in a work tree")
    {
        return GitError::NoCheckout(root.to_owned());
    }
    let said = match (outcome.ending, said.is_empty()) {
        (Ending::TimedOut, _) => format!("it took longer than {} s", PATIENCE.as_secs()),
        (Ending::Interrupted, _) => "it was interrupted".to_owned(),
        (ending, true) => format!("{ending:?}"),
        (_, false) => said,
    };
    GitError::Failed { command: command.to_owned(), said }
}

#[cfg(test)]
mod tests;
