//! Worktrees that agents work in.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use ona_files::read_text_at_most;
use ona_sandbox::Ending;

use super::{GitError, git, head, said};
use crate::checkout::Checkout;

/// The limit for the file in which git packs branches.
const MAX_PACKED_REFS: u64 = 64 << 20;

/// Makes a worktree with a branch of its own, from the commit that is checked out. Returns that commit.
pub async fn add(root: &Path, path: &Path, branch: &str) -> Result<String, GitError> {
    let Some(base) = head(root).await? else {
        return Err(GitError::Failed {
            command: "worktree add".to_owned(),
            said: "the repository has no commit yet".to_owned(),
        });
    };
    let place = path.to_string_lossy();
    let add = ["worktree", "add", "-b", branch, &place, &base];
    said(root, &add).await?;
    Ok(base)
}

/// The commit that a worktree was made at: where its HEAD has been first.
pub async fn begun_at(path: &Path) -> Result<String, GitError> {
    let been = said(path, &["reflog", "--format=%H", "HEAD"]).await?;
    let been = String::from_utf8_lossy(&been).into_owned();
    been.lines().last().map(str::to_owned).ok_or_else(|| GitError::Failed {
        command: "reflog".to_owned(),
        said: "the commit it was created from is unknown".to_owned(),
    })
}

/// The files that git ignores and this file of patterns names, from the root of the checkout.
pub async fn ignored_of(root: &Path, patterns: &str) -> Result<Vec<Vec<u8>>, GitError> {
    let from = format!("--exclude-from={patterns}");
    let named = said(root, &["ls-files", "-z", "--others", "--ignored", &from]).await?;
    if named.is_empty() {
        return Ok(Vec::new());
    }
    // This command refuses to be told that names are names, and takes them for such.
    let asked = ["--no-literal-pathspecs", "check-ignore", "-z", "--stdin"];
    let outcome = git(root, &asked, &named).await?;
    let ignored = match outcome.ending {
        // None of them is.
        Ending::Exited(1) => return Ok(Vec::new()),
        _ => super::whole(root, "check-ignore", outcome)?,
    };
    // A name with a slash behind it is a repository of its own.
    let is_file = |name: &&[u8]| !name.is_empty() && !name.ends_with(b"/");
    Ok(ignored.split(|byte| *byte == 0).filter(is_file).map(<[u8]>::to_vec).collect())
}

/// Whether anything in a worktree is not as it was at the commit: files, ignored ones and those git was told not to look
/// at included, or the commits. What ona itself writes does not count, nor what git ignores and the checkout has too, the
/// same.
pub async fn is_touched(root: &Path, path: &Path, base: &str) -> Result<bool, GitError> {
    let status = ["status", "--porcelain", "-z", "--untracked-files=all", "--ignored=traditional"];
    let changed = said(path, &status).await?;
    let own = |entry: &[u8]| {
        let name = entry.get(3..).unwrap_or_default();
        let copied = || is_same(root, path, Path::new(OsStr::from_bytes(name)));
        name.starts_with(b".orchestration/")
            || name == b".intentignore"
            || entry.starts_with(b"!! ") && copied()
    };
    if changed.split(|byte| *byte == 0).any(|entry| !entry.is_empty() && !own(entry)) {
        return Ok(true);
    }
    // A lower-case letter, or `S`: git does not look whether the file has changed.
    let flags = said(path, &["ls-files", "-v"]).await?;
    let unseen =
        |line: &[u8]| line.first().is_some_and(|flag| flag.is_ascii_lowercase() || *flag == b'S');
    if flags.split(|byte| *byte == b'\n').any(unseen) || head(path).await?.as_deref() != Some(base)
    {
        return Ok(true);
    }
    // Commits on other branches, left behind: where HEAD has been.
    let been = said(path, &["reflog", "--format=%H", "HEAD"]).await?;
    let been = String::from_utf8_lossy(&been).into_owned();
    Ok(been.lines().any(|commit| commit != base))
}

/// Whether both have the same file at this place.
fn is_same(one: &Path, other: &Path, name: &Path) -> bool {
    let plain = |dir: &Path| {
        let file = dir.join(name);
        let meta = file.symlink_metadata().ok().filter(|meta| meta.is_file())?;
        Some((file, meta.len()))
    };
    match (plain(one), plain(other)) {
        (Some((one, length)), Some((other, same))) if length == same => ona_files::content(one)
            .ok()
            .is_some_and(|bytes| ona_files::content(other).is_ok_and(|it| it == bytes)),
        _ => false,
    }
}

/// The branches that were made for worktrees of agents. They are looked for at every start of a session, so git is not
/// asked where its files say it.
pub async fn branches(root: &Path) -> Result<Vec<String>, GitError> {
    super::safe::check(root)?;
    let common = Checkout::of(root).and_then(|checkout| Some(checkout.git()?.common.clone()));
    if let Some(common) = common.filter(|common| !common.join("reftable").exists()) {
        return Ok(stored_branches(&common).into_iter().collect());
    }
    let asked = ["for-each-ref", "--format=%(refname:short)", "refs/heads/worktree-agent-*"];
    let found = said(root, &asked).await?;
    Ok(String::from_utf8_lossy(&found).lines().map(str::to_owned).collect())
}

/// The same, as the files of a repository say it.
fn stored_branches(common: &Path) -> BTreeSet<String> {
    let is_ours = |name: &str| name.starts_with("worktree-agent-") && !name.contains('/');
    let files = fs::read_dir(common.join("refs/heads")).into_iter().flatten().flatten();
    let mut found: BTreeSet<String> =
        files.filter_map(|file| file.file_name().into_string().ok()).collect();
    let packed = read_text_at_most(&common.join("packed-refs"), MAX_PACKED_REFS).ok().flatten();
    let names = |line: &str| Some(line.split_once(" refs/heads/")?.1.to_owned());
    found.extend(packed.iter().flat_map(|text| text.lines()).filter_map(names));
    found.retain(|name| is_ours(name) && !name.ends_with(".lock"));
    found
}

/// Removes a branch without commits of its own.
pub async fn drop_branch(root: &Path, branch: &str) -> Result<(), GitError> {
    said(root, &["branch", "-d", branch]).await.map(drop)
}

/// Removes a worktree in which nothing was changed, and its branch.
pub async fn remove(root: &Path, path: &Path, branch: &str) -> Result<(), GitError> {
    said(root, &["worktree", "remove", "--force", &path.to_string_lossy()]).await?;
    let outcome = git(root, &["branch", "-D", branch], &[]).await?;
    match outcome.ending {
        Ending::Exited(0) => Ok(()),
        _ => Err(super::failed(root, "branch", &outcome)),
    }
}
