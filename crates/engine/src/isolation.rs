//! Worktrees of agents: made for one agent, kept only if it has changed something.

use std::path::{Path, PathBuf};

use ona_store::Step;
use ona_types::SessionId;
use ona_types::hook::{HookDetail, HookEvent};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::git::worktrees;
use crate::session::Session;
use crate::trust::repository_root;

/// Where worktrees of agents are, below the root of the repository.
const WORKTREES: &str = ".claude/worktrees";

/// A worktree for one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Isolation {
    /// Where it is.
    pub(crate) path: PathBuf,
    made: Made,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Made {
    /// By git: from which repository, with which branch, at which commit.
    ByGit { root: PathBuf, branch: String, base: String },
    /// By a WorktreeCreate hook.
    ByHook,
}

impl Session {
    /// Makes a worktree for an agent: by WorktreeCreate hooks, where there are any, else by git.
    pub(crate) async fn isolate(
        &self,
        agent: &SessionId,
        cancel: &CancellationToken,
    ) -> Result<Isolation, String> {
        // Ids begin with the time: those of one moment differ at their end.
        let id = agent.as_str();
        let name = format!("agent-{}", &id[id.len().saturating_sub(12)..]);
        let wants = |entry: &&ona_hooks::HookEntry| entry.event == HookEvent::WorktreeCreate;
        if self.governance.hooks.entries().iter().find(wants).is_some() {
            return self.isolate_by_hook(name, cancel).await;
        }
        let root = repository_root(&self.place.project_dir);
        let path = root.join(WORKTREES).join(&name);
        let branch = format!("worktree-{name}");
        let base =
            worktrees::add(&root, &path, &branch).await.map_err(|error| error.to_string())?;
        self.worktree_event("worktree.created", &path)?;
        Ok(Isolation { path, made: Made::ByGit { root, branch, base } })
    }

    async fn isolate_by_hook(
        &self,
        name: String,
        cancel: &CancellationToken,
    ) -> Result<Isolation, String> {
        let fired = self.fire_event(HookDetail::WorktreeCreate { name }, None, cancel).await;
        let step = Step { hooks: &fired.rows, ..Step::default() };
        self.engine.store.keep_step(&self.seat, &step).map_err(|error| error.to_string())?;
        if fired.denies() {
            return Err(format!("a WorktreeCreate hook refuses it: {}", fired.denial()));
        }
        if let Some((_, why)) = fired.failed.first() {
            return Err(format!("a WorktreeCreate hook failed: {why}"));
        }
        // A hook says where in JSON, or prints the path alone.
        let printed = || {
            let printed = fired.rows.iter().filter_map(|row| row.stdout_text.as_deref());
            printed.flat_map(str::lines).map(str::trim).rfind(|line| line.starts_with('/'))
        };
        let path = fired.worktree_path.clone().or_else(|| printed().map(str::to_owned));
        let path = path.ok_or("the WorktreeCreate hook does not say where the worktree is")?;
        let path = Path::new(&path).canonicalize().map_err(|error| {
            format!("the WorktreeCreate hook says {path}, which cannot be used: {error}")
        })?;
        self.worktree_event("worktree.created", &path)?;
        Ok(Isolation { path, made: Made::ByHook })
    }

    /// Takes a worktree away in which nothing was changed. Says what became of it.
    pub(crate) async fn release(
        &self,
        isolation: &Isolation,
        cancel: &CancellationToken,
    ) -> String {
        let path = &isolation.path;
        let released = match &isolation.made {
            Made::ByHook => {
                let worktree_path = path.display().to_string();
                let detail = HookDetail::WorktreeRemove { worktree_path };
                let fired = self.fire_event(detail, None, cancel).await;
                let step = Step { hooks: &fired.rows, ..Step::default() };
                let kept = self.engine.store.keep_step(&self.seat, &step);
                return match kept {
                    Ok(()) => format!("It worked in {}", path.display()),
                    Err(error) => format!("It worked in {} ({error})", path.display()),
                };
            }
            Made::ByGit { root, branch, base } => match worktrees::is_touched(path, base).await {
                Ok(false) => worktrees::remove(root, path, branch).await,
                Ok(true) => {
                    return format!(
                        "What it changed is in the worktree {} on the branch {branch}",
                        path.display()
                    );
                }
                Err(error) => Err(error),
            },
        };
        match released.map_err(|error| error.to_string()) {
            Ok(()) => match self.worktree_event("worktree.removed", path) {
                Ok(()) => "It changed nothing in its worktree, which is gone again".to_owned(),
                Err(error) => error,
            },
            Err(error) => format!("Its worktree {} was left: {error}", path.display()),
        }
    }

    fn worktree_event(&self, kind: &str, path: &Path) -> Result<(), String> {
        let detail = json!({"path": path});
        let step = Step { event: Some((kind, &detail)), ..Step::default() };
        self.engine.store.keep_step(&self.seat, &step).map_err(|error| error.to_string())
    }
}
