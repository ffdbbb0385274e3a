//! Worktrees of agents: made for one agent, kept only if it has changed something.

mod include;
mod left;

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

/// As many files are looked at for changes where git does not.
const MOST_FILES: usize = 100_000;

/// What worktrees of agents are called, before the end of the agent's id.
const NAME: &str = "agent-";

/// A worktree for one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Isolation {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// The root of the checkout it stands for.
    checkout: PathBuf,
    made: Made,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Made {
    /// By git: with which branch, at which commit.
    ByGit { branch: String, base: String },
    /// By a WorktreeCreate hook; with what it held.
    ByHook(Option<Listing>),
    /// For an earlier turn of the same agent.
    Before,
}

/// The files of a directory, with their sizes and times.
type Listing = BTreeMap<PathBuf, (u64, Option<SystemTime>)>;

/// Why there is no worktree.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IsolationError {
    #[error("{} is a link, and worktrees are not put elsewhere", .0.display())]
    Link(PathBuf),
    #[error("{} cannot be written: {cause}", file.display())]
    Write { file: PathBuf, cause: std::io::Error },
    #[error("a WorktreeCreate hook refuses it: {0}")]
    Refused(String),
    #[error("a WorktreeCreate hook failed: {0}")]
    HookFailed(String),
    #[error("the WorktreeCreate hook does not say where the worktree is")]
    NoPath,
    #[error("the WorktreeCreate hook says {path}, which cannot be used: {cause}")]
    BadPath { path: String, cause: std::io::Error },
    #[error("the WorktreeCreate hook says {}, which is the checkout itself or holds it", .0.display())]
    Checkout(PathBuf),
    #[error(transparent)]
    Replace(#[from] ReplaceError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Isolation {
    /// The worktree that an agent has worked in before.
    pub(crate) fn kept(path: PathBuf, project_dir: &Path) -> Self {
        Self { path, checkout: Repository::of(project_dir).checkout, made: Made::Before }
    }

    /// The place in it of a directory of the checkout. One that git does not know is made: further up there is more to
    /// write.
    pub(crate) fn place_of(&self, dir: &Path) -> std::io::Result<PathBuf> {
        let below = dir.strip_prefix(&self.checkout).unwrap_or(Path::new(""));
        let place = self.path.join(below);
        fs::create_dir_all(&place)?;
        Ok(place)
    }

    /// What governs the caller's workspace governs the agent's, as it is now.
    pub(crate) fn bring_intents(
        &self,
        workspace: &Workspace,
        store: &Store,
    ) -> Result<(), IsolationError> {
        let below = workspace.root().strip_prefix(&self.checkout).unwrap_or(Path::new(""));
        let root = self.path.join(below);
        let files = [INTENTS_FILE, POLICY_FILE].into_iter().chain(IGNORE_FILES);
        for file in files {
            let Ok(content) = fs::read(workspace.root().join(file)) else { continue };
            let there = root.join(file);
            put(&there, &content)?;
        }
        let theirs = Workspace::at(&root)
            .map_err(|cause| IsolationError::Write { file: root.clone(), cause })?;
        Ok(vouch(store, &theirs)?)
    }

    /// What is said where something still runs in it.
    pub(crate) fn still_used(&self) -> String {
        format!("It has left something running in its worktree {}", self.path.display())
    }
}

impl SessionRef<'_> {
    /// Makes a worktree for an agent: by WorktreeCreate hooks, where there are any, else by git.
    pub(crate) async fn isolate(
        self,
        agent: &SessionId,
        cancel: &CancellationToken,
    ) -> Result<Isolation, IsolationError> {
        // Ids begin with the time: those of one moment differ at their end.
        let id = agent.as_str();
        let name = format!("{NAME}{}", &id[id.len().saturating_sub(12)..]);
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
        // Before it is there: whoever is killed now leaves something that can be found.
        let store = self.gate.store();
        store.agent_worktree(agent, &path.to_string_lossy())?;
        hide(&all)?;
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
        // A hook says where in JSON, or prints the path alone.
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
        // Who takes it away again would take that away.
        if checkout.canonicalize().is_ok_and(|checkout| checkout.starts_with(&path)) {
            return Err(IsolationError::Checkout(path));
        }
        self.worktree_event("worktree.created", &path)?;
        let made = Made::ByHook(listing(&path));
        Ok(Isolation { path, checkout, made })
    }

    /// Takes a worktree away in which nothing was changed. Says what became of it.
    pub(crate) async fn release(self, isolation: &Isolation, cancel: &CancellationToken) -> String {
        let path = &isolation.path;
        let released = match &isolation.made {
            Made::Before => return format!("It worked in its worktree {}", path.display()),
            Made::ByHook(before) if before.is_none() || *before != listing(path) => {
                return format!("What it changed is in the worktree {}", path.display());
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
                            "What it changed is in the worktree {} on the branch {branch}",
                            path.display()
                        );
                    }
                    Err(error) => Err(error),
                }
            }
        };
        match released.map_err(|error| error.to_string()) {
            Ok(()) => match self.worktree_event("worktree.removed", path) {
                Ok(()) => "It changed nothing in its worktree, which is gone again".to_owned(),
                Err(error) => error.to_string(),
            },
            Err(error) => format!("Its worktree {} was left: {error}", path.display()),
        }
    }

    pub(crate) fn worktree_event(self, kind: &str, path: &Path) -> Result<(), StoreError> {
        let detail = json!({"path": path});
        let step = Step { event: Some((kind, &detail)), ..Step::default() };
        self.gate.store().keep_step(self.gate.seat(), &step)
    }
}

/// Keeps the directory of worktrees out of what git would add.
fn hide(all: &Path) -> Result<(), ReplaceError> {
    match replace(&all.join(".gitignore"), b"*\n", &ReplaceOptions::new_file()) {
        Err(ReplaceError::Exists) => Ok(()),
        done => done,
    }
}

/// Puts a file there as it should be. A link in its place would lead elsewhere, and is replaced.
fn put(file: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
    if let Some(dir) = file.parent().filter(|dir| is_link(dir)) {
        fs::remove_file(dir)?;
    }
    if !is_link(file) && fs::read(file).is_ok_and(|there| there == content) {
        return Ok(());
    }
    replace(file, content, &ReplaceOptions::default())
}

/// What a directory holds, beside what ona itself writes; nothing if that is too much to look at.
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
            if found.len() > MOST_FILES {
                return None;
            }
        }
    }
    Some(found)
}
