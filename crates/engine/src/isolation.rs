//! Worktrees of subagents: created for one agent, kept only if the agent changed something.

mod include;
mod stale;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ona_files::{ReplaceError, ReplaceOptions, replace};
use ona_intents::Workspace;
use ona_intents::file::INTENTS_FILE;
use ona_intents::hook_policy::POLICY_FILE;
use ona_intents::ignore::IGNORE_FILES;
use ona_store::{Step, Store, StoreError};
use ona_types::SessionId;
use ona_types::hook::{HookDetail, HookEvent};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::session::SessionRef;
use ona_config::settings::Repository;
use ona_gate::governance::basis::WORKTREES;
use ona_gate::intents::vouch;
use ona_repo::git::GitError;
use ona_repo::git::worktrees;

/// Limit for the files compared where git does not track changes.
const MAX_FILES: usize = 100_000;

/// The name of an agent's worktree: this prefix and the end of the agent's id.
const NAME_PREFIX: &str = "agent-";

/// A worktree for one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Isolation {
    /// Its path.
    pub(crate) path: PathBuf,
    /// The root of the checkout it belongs to.
    checkout: PathBuf,
    made: Made,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Made {
    /// By git: its branch and base commit.
    ByGit { branch: String, base: String },
    /// By a WorktreeCreate hook, with the files it had then.
    ByHook(Option<Listing>),
    /// In an earlier turn of the same agent.
    Earlier,
}

/// The files of a directory, with size and modification time.
type Listing = BTreeMap<PathBuf, (u64, Option<SystemTime>)>;

/// Why a worktree cannot be created.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IsolationError {
    #[error("{} is a symlink; worktrees must be inside the checkout", .0.display())]
    Link(PathBuf),
    #[error("cannot write {}: {cause}", file.display())]
    Write { file: PathBuf, cause: std::io::Error },
    #[error("a WorktreeCreate hook refused it: {0}")]
    Refused(String),
    #[error("a WorktreeCreate hook failed: {0}")]
    HookFailed(String),
    #[error("the WorktreeCreate hook returned no path")]
    NoPath,
    #[error("cannot use the path {path} of the WorktreeCreate hook: {cause}")]
    BadPath { path: String, cause: std::io::Error },
    #[error("the WorktreeCreate hook returned {}, which is or contains the checkout", .0.display())]
    Checkout(PathBuf),
    #[error(transparent)]
    Replace(#[from] ReplaceError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Isolation {
    /// The worktree of an agent's earlier turn.
    pub(crate) fn existing(path: PathBuf, project_dir: &Path) -> Self {
        Self { path, checkout: Repository::of(project_dir).checkout, made: Made::Earlier }
    }

    /// The directory in the worktree that corresponds to `dir` in the checkout. It is created if git does not track it:
    /// a parent directory would give the agent more to write.
    pub(crate) fn place_of(&self, dir: &Path) -> std::io::Result<PathBuf> {
        let below = dir.strip_prefix(&self.checkout).unwrap_or(Path::new(""));
        let place = self.path.join(below);
        fs::create_dir_all(&place)?;
        Ok(place)
    }

    /// Copies the caller's intents, policy and ignore files to the worktree.
    pub(crate) fn copy_intents(
        &self,
        workspace: &Workspace,
        store: &Store,
    ) -> Result<(), IsolationError> {
        let below = workspace.root().strip_prefix(&self.checkout).unwrap_or(Path::new(""));
        let root = self.path.join(below);
        let files = [INTENTS_FILE, POLICY_FILE].into_iter().chain(IGNORE_FILES);
        for file in files {
            let Ok(content) = ona_files::content(workspace.root().join(file)) else { continue };
            let there = root.join(file);
            write_if_changed(&there, &content)?;
        }
        let theirs = Workspace::at(&root)
            .map_err(|cause| IsolationError::Write { file: root.clone(), cause })?;
        Ok(vouch(store, &theirs)?)
    }

    /// The message if something still runs in the worktree.
    pub(crate) fn still_used(&self) -> String {
        format!("Something still runs in its worktree {}", self.path.display())
    }
}

impl SessionRef<'_> {
    /// Creates a worktree for an agent: by WorktreeCreate hooks if there are any, otherwise by git.
    pub(crate) async fn isolate(
        self,
        agent: &SessionId,
        cancel: &CancellationToken,
    ) -> Result<Isolation, IsolationError> {
        // Ids start with the time; ids of the same moment differ at the end.
        let id = agent.as_str();
        let name = format!("{NAME_PREFIX}{}", &id[id.len().saturating_sub(12)..]);
        let wants = |entry: &ona_hooks::HookEntry| entry.event == HookEvent::WorktreeCreate;
        if self.gate.governance.hooks.entries().iter().any(wants) {
            return self.isolate_by_hook(name, cancel).await;
        }
        let checkout = Repository::of(&self.gate.place().project_dir).checkout;
        let all = checkout.join(WORKTREES);
        let plain = || checkout.canonicalize().map(|checkout| checkout.join(WORKTREES)).ok();
        if all.exists() && all.canonicalize().ok() != plain() {
            return Err(IsolationError::Link(all));
        }
        let path = all.join(&name);
        let branch = format!("worktree-{name}");
        // Recorded before it exists: if the process is killed now, the worktree can still be found.
        let store = self.gate.store();
        store.agent_worktree(agent, &path.to_string_lossy())?;
        ignore_in_git(&all)?;
        let base = worktrees::add(&checkout, &path, &branch).await?;
        for left_out in include::bring_files(&checkout, &path).await {
            self.warn(left_out);
        }
        self.worktree_event("worktree.created", &path)?;
        Ok(Isolation { path, checkout, made: Made::ByGit { branch, base } })
    }

    async fn isolate_by_hook(
        self,
        name: String,
        cancel: &CancellationToken,
    ) -> Result<Isolation, IsolationError> {
        let fired = self.gate.fire(HookDetail::WorktreeCreate { name }, None, cancel).await;
        let step = Step { hooks: &fired.rows, ..Step::default() };
        self.gate.store().keep_step(self.gate.seat(), &step)?;
        if fired.denies() {
            return Err(IsolationError::Refused(fired.denial()));
        }
        if let Some((_, why)) = fired.failed.first() {
            return Err(IsolationError::HookFailed(why.clone()));
        }
        // A hook returns the path in JSON, or prints it.
        let printed = || {
            let printed = fired.rows.iter().filter_map(|row| row.stdout_text.as_deref());
            printed.flat_map(str::lines).map(str::trim).rfind(|line| line.starts_with('/'))
        };
        let path = fired.worktree_path.clone().or_else(|| printed().map(str::to_owned));
        let path = path.ok_or(IsolationError::NoPath)?;
        let path = Path::new(&path)
            .canonicalize()
            .map_err(|cause| IsolationError::BadPath { path: path.clone(), cause })?;
        let checkout = Repository::of(&self.gate.place().project_dir).checkout;
        // Removing the worktree would remove the checkout.
        if checkout.canonicalize().is_ok_and(|checkout| checkout.starts_with(&path)) {
            return Err(IsolationError::Checkout(path));
        }
        self.worktree_event("worktree.created", &path)?;
        let made = Made::ByHook(listing(&path));
        Ok(Isolation { path, checkout, made })
    }

    /// Removes a worktree without changes. Returns a message about the result.
    pub(crate) async fn remove_if_unchanged(
        self,
        isolation: &Isolation,
        cancel: &CancellationToken,
    ) -> String {
        let path = &isolation.path;
        let released = match &isolation.made {
            Made::Earlier => return format!("It worked in its worktree {}", path.display()),
            Made::ByHook(before) if before.is_none() || *before != listing(path) => {
                return format!("Its changes are in the worktree {}", path.display());
            }
            Made::ByHook(_) => {
                let worktree_path = path.display().to_string();
                let detail = HookDetail::WorktreeRemove { worktree_path };
                let fired = self.gate.fire(detail, None, cancel).await;
                let step = Step { hooks: &fired.rows, ..Step::default() };
                let kept = self.gate.store().keep_step(self.gate.seat(), &step);
                return match kept {
                    Ok(()) => "It changed nothing in its worktree".to_owned(),
                    Err(error) => format!("It changed nothing in its worktree ({error})"),
                };
            }
            Made::ByGit { branch, base } => {
                match worktrees::is_touched(&isolation.checkout, path, base).await {
                    Ok(false) => worktrees::remove(&isolation.checkout, path, branch).await,
                    Ok(true) => {
                        return format!(
                            "Its changes are in the worktree {} on the branch {branch}",
                            path.display()
                        );
                    }
                    Err(error) => Err(error),
                }
            }
        };
        match released.map_err(|error| error.to_string()) {
            Ok(()) => match self.worktree_event("worktree.removed", path) {
                Ok(()) => "It changed nothing; its worktree was removed".to_owned(),
                Err(error) => error.to_string(),
            },
            Err(error) => format!("Its worktree {} was not removed: {error}", path.display()),
        }
    }

    pub(crate) fn worktree_event(self, kind: &str, path: &Path) -> Result<(), StoreError> {
        let detail = json!({"path": path});
        let step = Step { event: Some((kind, &detail)), ..Step::default() };
        self.gate.store().keep_step(self.gate.seat(), &step)
    }
}

/// Makes git ignore the directory of worktrees.
fn ignore_in_git(all: &Path) -> Result<(), ReplaceError> {
    match replace(&all.join(".gitignore"), b"*\n", &ReplaceOptions::new_file()) {
        Err(ReplaceError::Exists) => Ok(()),
        done => done,
    }
}

/// Writes a file if its content differs. A symlink in its place is replaced, because it would lead elsewhere.
fn write_if_changed(file: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
    if let Some(dir) = file.parent().filter(|dir| is_link(dir)) {
        fs::remove_file(dir)?;
    }
    if !is_link(file) && ona_files::content(file).is_ok_and(|there| there == content) {
        return Ok(());
    }
    replace(file, content, &ReplaceOptions::default())
}

/// The files of a directory, without ona's own; `None` if there are too many.
fn listing(dir: &Path) -> Option<Listing> {
    let mut found = Listing::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).ok()?.flatten() {
            let meta = entry.metadata().ok()?;
            if meta.is_dir() {
                if entry.file_name() != ".orchestration" {
                    dirs.push(entry.path());
                }
            } else {
                found.insert(entry.path(), (meta.len(), meta.modified().ok()));
            }
            if found.len() > MAX_FILES {
                return None;
            }
        }
    }
    Some(found)
}
