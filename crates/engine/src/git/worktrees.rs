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

/// Whether anything in a worktree is not as it was at the commit: files, or the commit itself.
pub(crate) async fn is_touched(path: &Path, base: &str) -> Result<bool, GitError> {
    let changed = said(path, &["status", "--porcelain", "-z", "--untracked-files=all"]).await?;
    Ok(!changed.is_empty() || head(path).await?.as_deref() != Some(base))
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
