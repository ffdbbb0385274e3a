//! Worktrees of agents that are at work no more: their process was killed, or something still ran there when they ended.

use std::fs;
use std::path::Path;

use ona_store::StoreError;

use super::NAME;
use crate::session::SessionRef;
use ona_config::settings::Repository;
use ona_gate::governance::basis::WORKTREES;
use ona_gate::settle::is_gone;
use ona_repo::git::worktrees;

impl SessionRef<'_> {
    /// Takes away the worktrees of agents in which nothing was changed and nobody works. What they have changed stays,
    /// and `ona doctor` names it. Worktrees that a hook made, and those of agents this record does not know, are not ours
    /// to take away.
    pub(crate) async fn sweep_worktrees(self) -> Result<(), StoreError> {
        let checkout = Repository::of(&self.gate.place().project_dir).checkout;
        for entry in fs::read_dir(checkout.join(WORKTREES)).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let Some(name) = name.to_str().filter(|_| path.is_dir()) else { continue };
            if !self.is_left(name)? || ona_sandbox::is_worked_in(&path) {
                continue;
            }
            match take_away(&checkout, &path, name).await {
                Ok(false) => {}
                Ok(true) => {
                    self.worktree_event("worktree.removed", &path).unwrap_or_else(|why| {
                        self.warn(why.to_string());
                    });
                }
                Err(error) => self.warn(format!(
                    "the worktree {} of an agent that has ended was left: {error}",
                    path.display()
                )),
            }
        }
        // A branch whose worktree never came to be.
        for branch in worktrees::branches(&checkout).await.unwrap_or_default() {
            let name = branch.strip_prefix("worktree-").unwrap_or_default();
            let is_there = checkout.join(WORKTREES).join(name).exists();
            if !is_there && self.is_left(name)? {
                // One that holds commits of its own stays.
                let _ = worktrees::drop_branch(&checkout, &branch).await;
            }
        }
        Ok(())
    }

    /// Whether a worktree is that of an agent on record, and nobody drives that any more.
    fn is_left(self, name: &str) -> Result<bool, StoreError> {
        let Some(ending) = name.strip_prefix(NAME).filter(|ending| !ending.is_empty()) else {
            return Ok(false);
        };
        let drivers = self.gate.store().drivers_of_agent(ending)?;
        Ok(drivers.is_some_and(|drivers| drivers.iter().all(is_gone)))
    }
}

/// Takes a worktree away if nothing in it was changed; whether it did.
async fn take_away(
    checkout: &Path,
    path: &Path,
    name: &str,
) -> Result<bool, ona_repo::git::GitError> {
    let base = worktrees::begun_at(path).await?;
    if worktrees::is_touched(checkout, path, &base).await? {
        return Ok(false);
    }
    worktrees::remove(checkout, path, &format!("worktree-{name}")).await?;
    Ok(true)
}
