//! The trace together with the history that git keeps: blame with commits, and exports since a commit.

use std::collections::HashSet;
use std::io;
use std::ops::RangeInclusive;

use ona_repo::git::{self, GitError};
use ona_trace::blame::{Blame, Origin, Target, blame};
use ona_trace::export::{NoteFile, Since, git_ai_note};
use ona_trace::ledger::LEDGER_PATH;
use ona_trace::paths::UnsafePath;
use ona_trace::ranges::{hunks, is_binary};

use crate::workspace::Workspace;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// git has no answer.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The trace is not where it should be.
    #[error(transparent)]
    Path(#[from] UnsafePath),
    /// The trace cannot be read.
    #[error("cannot read {LEDGER_PATH}: {0}")]
    Trace(#[from] io::Error),
    /// The repository is empty.
    #[error("no commit yet")]
    NoCommit,
    /// No entry wrote a line of the commit.
    #[error("the trace has no line of {0}")]
    NotTraced(String),
}

/// The blame of some lines of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileBlame {
    /// Who wrote them. Where the trace does not know, the commit they came with.
    pub blame: Blame,
    /// The names that the file had before, as git knows them.
    pub earlier_names: Vec<String>,
}

/// Blames lines of a file, counted from 1. Without git, only the trace answers.
pub async fn blame_lines(
    workspace: &Workspace,
    path: &str,
    content: &[u8],
    lines: RangeInclusive<u64>,
) -> Result<FileBlame, HistoryError> {
    let root = workspace.root();
    let earlier_names = git::earlier_names(root, path).await.unwrap_or_default();
    let target = Target { path, content, earlier_names: &earlier_names, commits: None };
    let mut blame = blame(&workspace.ledger()?, &target)?;
    blame.keep(lines);
    // git is slow, so it is asked only about lines that the trace does not know.
    if blame.lines.iter().any(|line| matches!(line.origin, Origin::Unknown(_))) {
        let commits = git::line_commits(root, path).await.unwrap_or_default();
        for line in &mut blame.lines {
            let at = usize::try_from(line.line).unwrap_or_default();
            line.commit = commits.get(at - 1).cloned().flatten();
        }
    }
    Ok(FileBlame { blame, earlier_names })
}

/// Tells which entries are later than a revision.
pub async fn since(workspace: &Workspace, rev: &str) -> Result<Since, GitError> {
    let root = workspace.root();
    let commit = git::commit(root, rev).await?;
    let at = git::describe(root, &commit).await?.at;
    Ok(Since { commits: git::commits_since(root, &commit).await?.into_iter().collect(), at })
}

/// The Git AI note of HEAD: who wrote the lines that it changed, or that changed since a revision.
pub async fn note(
    workspace: &Workspace,
    since: Option<&str>,
    ona_version: &str,
) -> Result<String, HistoryError> {
    let root = workspace.root();
    let head = git::head(root).await?.ok_or(HistoryError::NoCommit)?;
    let head = git::describe(root, &head).await?;
    let base = match since {
        Some(rev) => Some(git::commit(root, rev).await?),
        None => head.parent.clone(),
    };
    let changed = git::changed_between(root, base.as_deref(), &head.id).await?;
    let prefix = git::prefix(root).await?;
    let ledger = workspace.ledger()?;
    let mut blames: Vec<(String, Blame)> = Vec::new();
    for (path, contents) in changed {
        let (Some(path), Some(new)) = (path.to_str(), contents.new) else { continue };
        let old = contents.old.unwrap_or_default();
        if is_binary(&new) || is_binary(&old) {
            continue;
        }
        let target = Target { path, content: &new, earlier_names: &[], commits: None };
        let mut found = blame(&ledger, &target)?;
        let added: HashSet<u64> = hunks(&old, &new)
            .into_iter()
            .flat_map(|hunk| hunk.new)
            .map(|at| at as u64 + 1)
            .collect();
        found.lines.retain(|line| added.contains(&line.line));
        blames.push((format!("{prefix}{path}"), found));
    }
    let files: Vec<NoteFile<'_>> =
        blames.iter().map(|(path, blame)| NoteFile { path, blame }).collect();
    git_ai_note(&head.id, &head.author, ona_version, &files).ok_or(HistoryError::NotTraced(head.id))
}
