//! Worktrees of agents that no longer run: their process was killed, or a task still ran there when they ended.

use std::fs;
use std::path::Path;
use std::time::Duration;

use ona_store::StoreError;

use super::NAME_PREFIX;
use crate::session::SessionRef;
use ona_config::settings::Repository;
use ona_gate::governance::basis::WORKTREES;
use ona_gate::settle::is_gone;
use ona_repo::git::worktrees;
use tokio::time::timeout;

/// How long the start of a session waits for git.
const PATIENCE: Duration = Duration::from_secs(8);

impl SessionRef<'_> {
    /// Removes the worktrees of ended agents if nothing was changed and no process works there. Worktrees with changes stay;
    /// `ona doctor` lists them. Worktrees made by hooks, or of agents that are not on this record, are left alone.
    /// It is given up if it takes long: the session waits for it.
    pub(crate) async fn remove_stale_worktrees(self) -> Result<(), StoreError> {
        timeout(PATIENCE, self.remove_stale()).await.unwrap_or_else(|_| {
            self.warn(format!(
                "worktrees of ended agents are not removed: it took longer than {} s",
                PATIENCE.as_secs()
            ));
            Ok(())
        })
    }

    async fn remove_stale(self) -> Result<(), StoreError> {
        let checkout = Repository::of(&self.gate.place().project_dir).checkout;
        for entry in fs::read_dir(checkout.join(WORKTREES)).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let Some(name) = name.to_str().filter(|_| path.is_dir()) else { continue };
            if !self.is_stale(name)? || ona_sandbox::is_worked_in(&path) {
                continue;
            }
            match remove_unchanged(&checkout, &path, name).await {
                Ok(false) => {}
                Ok(true) => {
                    self.worktree_event("worktree.removed", &path).unwrap_or_else(|why| {
                        self.warn(why.to_string());
                    });
                }
                Err(error) => self.warn(format!(
                    "cannot remove the worktree {} of an ended agent: {error}",
                    path.display()
                )),
            }
        }
        // A branch whose worktree was never created.
        for branch in worktrees::branches(&checkout).await.unwrap_or_default() {
            let name = branch.strip_prefix("worktree-").unwrap_or_default();
            let is_there = checkout.join(WORKTREES).join(name).exists();
            if !is_there && self.is_stale(name)? {
                // A branch with commits of its own stays.
                let _ = worktrees::drop_branch(&checkout, &branch).await;
            }
        }
        Ok(())
    }

    /// Whether a worktree belongs to an agent on the record that no longer runs.
    fn is_stale(self, name: &str) -> Result<bool, StoreError> {
        let Some(ending) = name.strip_prefix(NAME_PREFIX).filter(|ending| !ending.is_empty())
        else {
            return Ok(false);
        };
        let drivers = self.gate.store().drivers_of_agent(ending)?;
        Ok(drivers.is_some_and(|drivers| drivers.iter().all(is_gone)))
    }
}

/// Removes a worktree without changes; returns whether it did.
async fn remove_unchanged(
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
