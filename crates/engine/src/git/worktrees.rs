//! Worktrees that agents work in.

use std::path::Path;

use ona_sandbox::Ending;

use super::{GitError, git, head, said};

/// Makes a worktree with a branch of its own, from the commit that is checked out. Returns that commit.
pub(crate) async fn add(root: &Path, path: &Path, branch: &str) -> Result<String, GitError> {
    let Some(base) = head(root).await? else {
        return Err(GitError::Failed {
            command: "worktree add".to_owned(),
            said: "the repository has no commit yet".to_owned(),
        });
    };
    let place = path.to_string_lossy();
    // What hooks of the repository do at a checkout is not for an agent to cause.
    let add = ["-c", "core.hooksPath=/dev/null", "worktree", "add", "-b", branch, &place, &base];
    said(root, &add).await?;
    Ok(base)
}

/// Whether anything in a worktree is not as it was at the commit: files, ignored ones and those git was told not to look
/// at included, or the commits. What ona itself writes does not count.
pub(crate) async fn is_touched(path: &Path, base: &str) -> Result<bool, GitError> {
    let status = ["status", "--porcelain", "-z", "--untracked-files=all", "--ignored=matching"];
    let changed = said(path, &status).await?;
    let own = |entry: &[u8]| {
        let name = entry.get(3..).unwrap_or_default();
        name.starts_with(b".orchestration/") || name == b".intentignore"
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

/// Takes a worktree away in which nothing was changed, and its branch.
pub(crate) async fn remove(root: &Path, path: &Path, branch: &str) -> Result<(), GitError> {
    said(root, &["worktree", "remove", "--force", &path.to_string_lossy()]).await?;
    let outcome = git(root, &["branch", "-D", branch], &[]).await?;
    match outcome.ending {
        Ending::Exited(0) => Ok(()),
        _ => Err(super::failed(root, "branch", &outcome)),
    }
}
