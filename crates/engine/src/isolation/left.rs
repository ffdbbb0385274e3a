//! Worktrees that agents have left behind which did not come to their end: their process was killed.

use ona_store::StoreError;

use crate::git::worktrees;
use crate::governance::basis::WORKTREES;
use crate::session::{Session, is_gone};
use crate::settings::Repository;

impl Session {
    /// Takes away the worktrees that dead agents of this repository have left and changed nothing in. What they have
    /// changed stays, and `ona doctor` names it.
    pub(crate) async fn sweep_worktrees(&self) -> Result<(), StoreError> {
        let checkout = Repository::of(&self.place.project_dir).checkout;
        let all = checkout.join(WORKTREES);
        for left in self.engine.store.left_worktrees()? {
            let path = left.path.as_path();
            // What a hook has made is not ours to take away.
            let name =
                path.file_name().filter(|_| path.parent() == Some(all.as_path()) && path.is_dir());
            let Some(name) = name.and_then(|name| name.to_str()) else { continue };
            if !left.owners.iter().all(is_gone) {
                continue;
            }
            let removed = match worktrees::begun_at(path).await {
                Ok(base) => match worktrees::is_touched(&checkout, path, &base).await {
                    Ok(false) => {
                        worktrees::remove(&checkout, path, &format!("worktree-{name}")).await
                    }
                    Ok(true) => continue,
                    Err(error) => Err(error),
                },
                Err(error) => Err(error),
            };
            match removed {
                Ok(()) => {
                    self.worktree_event("worktree.removed", path).unwrap_or_else(|why| {
                        self.warn(why);
                    });
                }
                Err(error) => self.warn(format!(
                    "the worktree {} of an agent that was killed was left: {error}",
                    path.display()
                )),
            }
        }
        Ok(())
    }
}
