//! `ona trace export`.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use ona_repo::git;
use ona_trace::TraceEntry;
use ona_trace::blame::{Blame, Target, blame};
use ona_trace::export::{NoteFile, agent_trace, git_ai_note, json};
use ona_trace::ranges::{hunks, is_binary};

use super::Format;
use crate::error::CliError;
use crate::output::print_line;
use crate::workspace::{Workspace, entries, no_trace, printed, wait};

/// What exports name as the version of the tool.
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub fn run(
    workspace: &Workspace,
    format: Format,
    since: Option<&str>,
    output: Option<&Path>,
) -> Result<ExitCode, CliError> {
    let text = match format {
        Format::GitAiNote => note(workspace, since)?,
        Format::AgentTrace | Format::Json => {
            let mut all = entries(&workspace.ledger()?)?;
            if let Some(rev) = since {
                let wanted = Since::read(workspace, rev)?;
                all.retain(|entry| wanted.holds(entry));
            }
            let record = |entry: &TraceEntry| match format {
                Format::AgentTrace => agent_trace(entry, VERSION),
                _ => Some(json(entry)),
            };
            all.iter().filter_map(record).map(|record| format!("{record}\n")).collect()
        }
    };
    match output.filter(|path| *path != Path::new("-")) {
        None => printed(&text)?,
        Some(path) => {
            let file = workspace.here.join(path);
            fs::write(&file, text).map_err(|error| {
                CliError::failed(format!("cannot write {}: {error}", file.display()))
            })?;
            print_line(&format!("written to {}", file.display()))
                .map_err(|error| CliError::failed(format!("cannot print the result: {error}")))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What counts as later than a commit: what was done when it, or a later one, was checked out. Where a rebase has
/// made such names worthless, the clock has to do.
struct Since {
    commits: HashSet<String>,
    at: String,
}

impl Since {
    fn read(workspace: &Workspace, rev: &str) -> Result<Self, CliError> {
        let root = &workspace.root;
        wait(async {
            let commit = git::commit(root, rev).await?;
            let at = git::describe(root, &commit).await?.at;
            Ok(Self { commits: git::commits_since(root, &commit).await?.into_iter().collect(), at })
        })
    }

    fn holds(&self, entry: &TraceEntry) -> bool {
        let named = entry.revision_id.as_ref().is_some_and(|id| self.commits.contains(id));
        named || entry.timestamp.get(..self.at.len()).is_some_and(|at| at >= self.at.as_str())
    }
}

/// The note of HEAD: who wrote the lines it brought, or that came since a commit.
fn note(workspace: &Workspace, since: Option<&str>) -> Result<String, CliError> {
    let root = &workspace.root;
    let found = wait(async {
        let Some(head) = git::head(root).await? else { return Ok(None) };
        let head = git::describe(root, &head).await?;
        let base = match since {
            Some(rev) => Some(git::commit(root, rev).await?),
            None => head.parent.clone(),
        };
        let files = git::changed_between(root, base.as_deref(), &head.id).await?;
        Ok(Some((head, files, git::prefix(root).await?)))
    })?;
    let Some((head, files, prefix)) = found else {
        return Err(CliError::usage("no commit yet"));
    };
    let ledger = workspace.ledger()?;
    let mut blames: Vec<(String, Blame)> = Vec::new();
    for (path, contents) in files {
        let (Some(path), Some(new)) = (path.to_str(), contents.new) else { continue };
        let old = contents.old.unwrap_or_default();
        if is_binary(&new) || is_binary(&old) {
            continue;
        }
        let target = Target { path, content: &new, earlier_names: &[], commits: None };
        let mut found = blame(&ledger, &target).map_err(no_trace)?;
        let came: HashSet<u64> = hunks(&old, &new)
            .into_iter()
            .flat_map(|hunk| hunk.new)
            .map(|at| at as u64 + 1)
            .collect();
        found.lines.retain(|line| came.contains(&line.line));
        blames.push((format!("{prefix}{path}"), found));
    }
    let files: Vec<NoteFile<'_>> =
        blames.iter().map(|(path, blame)| NoteFile { path, blame }).collect();
    git_ai_note(&head.id, &head.author, VERSION, &files).ok_or_else(|| {
        CliError::failed(format!("the trace has no line of {}", head.id))
            .hint("`ona blame FILE` shows why")
    })
}
