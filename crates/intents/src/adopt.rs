//! Adopting changes: records those that the trace does not explain as made by a human for an intent.
//!
//! Each entry tells only of the unexplained part of a file ([`revert`]); lines that an agent wrote stay the agent's.

use ona_repo::git;
use ona_trace::TraceEntry;
use ona_trace::class::Versions;
use ona_trace::entry::{AgentAction, ScopeValidation, ToolOrigin};
use ona_trace::ledger::{AppendError, Appended};
use ona_trace::mutation::describe;
use ona_trace::paths::UnsafePath;
use ona_trace::reconcile::revert;

use crate::file::{Intent, LoadError};
use crate::gate::{not_blocked, valid};
use crate::history::HistoryError;
use crate::ignore::{Ignore, IgnoreError};
use crate::map::{self, MapError};
use crate::reconcile::Changes;
use crate::refusal::Refusal;
use crate::scope::{GlobError, Held};
use crate::workspace::Workspace;

/// The tool that such entries name.
const TOOL: &str = "adopt";

/// Where lines repeat, the difference to the reverted version need not be the places that were reverted, and some of
/// them stay unexplained. The last round records the whole difference to the commit.
const MAX_ROUNDS: usize = 3;

/// Why changes were not adopted.
#[derive(Debug, thiserror::Error)]
pub enum AdoptError {
    /// The intents cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The intent may not be worked on.
    #[error("{}", .0.message())]
    Refused(Refusal),
    /// The scope of the intent cannot be read.
    #[error("{id}: {error}")]
    Scope {
        /// The intent.
        id: String,
        /// The pattern, and why.
        error: GlobError,
    },
    /// `.intentignore` cannot be read, so it is unknown what it blocks.
    #[error(transparent)]
    Ignore(IgnoreError),
    /// Some of the files are not in the scope of the intent.
    #[error("nothing was adopted: out of scope of {id}:\n  {}", files.join("\n  "))]
    OutOfScope {
        /// The intent.
        id: String,
        /// The files, with the reason where there is more to say.
        files: Vec<String>,
    },
    /// The changes are not known.
    #[error(transparent)]
    Changes(#[from] HistoryError),
    /// The trace is not where it should be.
    #[error(transparent)]
    Path(#[from] UnsafePath),
    /// The entry was not written. Entries before it were.
    #[error(transparent)]
    Append(#[from] AppendError),
}

/// What was adopted.
#[derive(Debug, Default)]
pub struct Adopted {
    /// The entries, each with its file.
    pub entries: Vec<(String, Appended)>,
    /// Why the map is not up to date, if it is not. The trace is.
    pub map_errors: Vec<MapError>,
}

/// Records every unexplained change since a revision, or since the commit that is checked out. Either all files are in
/// the scope of the intent, or nothing is recorded.
pub async fn adopt(
    workspace: &Workspace,
    since: Option<&str>,
    id: &str,
) -> Result<Adopted, AdoptError> {
    let intents = workspace.intents()?;
    let intent = valid(id, &intents).map_err(AdoptError::Refused)?;
    let template = template(workspace, intent).await;
    let ledger = workspace.ledger()?;
    let name = |id: &str| intents.all.iter().find(|one| one.id == id)?.name.clone();
    let mut adopted = Adopted::default();
    for round in 1..=MAX_ROUNDS {
        let changes = Changes::since(workspace, since).await?;
        let files = changes.unexplained();
        if files.is_empty() {
            break;
        }
        let paths = files.iter().map(|(file, _)| file.path.as_str());
        let refused = out_of_scope(workspace, intent, paths)?;
        if !refused.is_empty() {
            return Err(AdoptError::OutOfScope { id: id.to_owned(), files: refused });
        }
        for (file, places) in files {
            let versions = file.versions();
            let reverted = revert(&versions, &places);
            let old = if round < MAX_ROUNDS { reverted.as_deref() } else { versions.old };
            let mut entry = TraceEntry { id: TraceEntry::new().id, ..template.clone() };
            describe(&mut entry, &[Versions { old, ..versions }], None);
            entry.warnings.extend(file.mode.as_ref().map(ToString::to_string));
            let appended = ledger.append(entry)?;
            let mapped = map::record(workspace.root(), &ledger, &appended.entry, name);
            adopted.map_errors.extend(mapped.err());
            adopted.entries.push((file.path.clone(), appended));
        }
    }
    Ok(adopted)
}

/// The files that the intent does not own, and why.
fn out_of_scope<'p>(
    workspace: &Workspace,
    intent: &Intent,
    paths: impl Iterator<Item = &'p str>,
) -> Result<Vec<String>, AdoptError> {
    let scope = intent
        .scope()
        .map_err(|error| AdoptError::Scope { id: intent.id.clone(), error: error.clone() })?;
    let ignore = Ignore::load(workspace.root());
    if let Some(error) = ignore.errors.first() {
        return Err(AdoptError::Ignore(error.clone()));
    }
    not_blocked(&ignore, intent).map_err(AdoptError::Refused)?;
    let why = |path: &str| match (ignore.blocks_path(path), scope.holds(path)) {
        (Some(entry), _) => Some(format!("{path} ({} line {})", entry.file, entry.line)),
        (None, Held::By(_)) => None,
        (None, Held::Excluded(pattern)) => Some(format!("{path} (excluded by `{pattern}`)")),
        (None, Held::No) => Some(path.to_owned()),
    };
    Ok(paths.filter_map(why).collect())
}

/// What all entries have in common.
async fn template(workspace: &Workspace, intent: &Intent) -> TraceEntry {
    let head = git::head(workspace.root()).await.ok().flatten();
    let approver = git::identity(workspace.root()).await.ok().flatten();
    TraceEntry {
        intent_id: Some(intent.id.clone()),
        tool_name: TOOL.to_owned(),
        tool_origin: Some(ToolOrigin::Native),
        agent_action: Some(AgentAction::Mutate),
        scope_validation: Some(ScopeValidation::Pass),
        revision_id: Some(head.unwrap_or_else(|| "unknown".to_owned())),
        related_requirements: intent.related_requirements.clone(),
        bead_id: intent.bead_id.clone(),
        actor: Some("human".to_owned()),
        approver,
        ..TraceEntry::new()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use ona_testkit::git;
    use ona_trace::ranges::modified_ranges;

    use super::*;
    use crate::file::INTENTS_FILE;

    const INTENTS: &str = "active_intents:\n  - {id: INT-1, status: IN_PROGRESS, owned_scope: ['src/**', '!src/gen/**']}\n  - {id: INT-2, status: DONE, owned_scope: ['**']}\n";

    /// A repository with one committed file and its intents.
    fn repository() -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for (path, text) in crate::setup::NEW_FILES {
            write(root, path, text);
        }
        write(root, INTENTS_FILE, INTENTS);
        write(root, "src/a.rs", "one\ntwo\nthree\n");
        git(root, &["init", "-q"]);
        git(root, &["add", "."]);
        git(root, &["commit", "-q", "-m", "first"]);
        let workspace = Workspace::at(root).unwrap();
        (dir, workspace)
    }

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[tokio::test]
    async fn only_the_unexplained_part_is_adopted() {
        let (dir, workspace) = repository();
        let root = dir.path();
        let ledger = workspace.ledger().unwrap();
        let (base, agent) = ("one\ntwo\nthree\n", "one\nagent\ntwo\nthree\n");
        let mut entry = TraceEntry::new();
        entry.modified_ranges =
            modified_ranges("src/a.rs", Some(base.as_bytes()), Some(agent.as_bytes()));
        ledger.append(entry).unwrap();
        write(root, "src/a.rs", "one\nagent\ntwo\nhuman\nthree\n");
        let changes = Changes::since(&workspace, None).await.unwrap();
        let [(file, places)] = &changes.unexplained()[..] else { panic!("{changes:?}") };
        assert_eq!((file.path.as_str(), places.len()), ("src/a.rs", 1));
        let adopted = adopt(&workspace, None, "INT-1").await.unwrap();
        assert!(adopted.map_errors.is_empty(), "{adopted:?}");
        let [(path, appended)] = &adopted.entries[..] else { panic!("{adopted:?}") };
        let entry = &appended.entry;
        assert_eq!((path.as_str(), entry.actor.as_deref()), ("src/a.rs", Some("human")));
        let [range] = &entry.modified_ranges[..] else { panic!("{entry:?}") };
        let lines = range.new_range.unwrap();
        assert_eq!((lines.start_line, lines.end_line), (4, 4), "the agent's line is not claimed");
        assert!(adopt(&workspace, None, "INT-1").await.unwrap().entries.is_empty());
    }

    #[tokio::test]
    async fn permissions_are_adopted_too() {
        let (dir, workspace) = repository();
        let file = dir.path().join("src/a.rs");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        let changes = Changes::since(&workspace, None).await.unwrap();
        assert_eq!(changes.ungoverned.len(), 1, "{changes:?}");
        let adopted = adopt(&workspace, None, "INT-1").await.unwrap();
        let warnings = &adopted.entries[0].1.entry.warnings;
        assert_eq!(warnings[..], ["mode_changed: src/a.rs 644 755"]);
        assert!(Changes::since(&workspace, None).await.unwrap().ungoverned.is_empty());
    }

    #[tokio::test]
    async fn a_file_out_of_scope_stops_all_of_it() {
        let (dir, workspace) = repository();
        let root = dir.path();
        write(root, "src/b.rs", "b\n");
        write(root, "src/gen/c.rs", "c\n");
        write(root, "docs/d.md", "d\n");
        let AdoptError::OutOfScope { files, .. } =
            adopt(&workspace, None, "INT-1").await.unwrap_err()
        else {
            panic!("adopted")
        };
        assert_eq!(files, ["docs/d.md", "src/gen/c.rs (excluded by `!src/gen/**`)"]);
        assert!(!workspace.ledger().unwrap().path().exists(), "nothing was recorded");
        let error = adopt(&workspace, None, "INT-2").await.unwrap_err();
        assert!(matches!(error, AdoptError::Refused(Refusal::IntentInactive { .. })), "{error:?}");
        let error = adopt(&workspace, Some("nowhere"), "INT-1").await.unwrap_err();
        assert!(matches!(error, AdoptError::Changes(HistoryError::Git(_))), "{error:?}");
        write(root, ".intentignore", "INT-1\n");
        let error = adopt(&workspace, None, "INT-1").await.unwrap_err();
        assert!(matches!(error, AdoptError::Refused(Refusal::IntentBlocked { .. })), "{error:?}");
    }

    #[tokio::test]
    async fn onas_own_files_are_no_changes() {
        let (dir, workspace) = repository();
        let root = dir.path();
        write(root, INTENTS_FILE, &format!("{INTENTS}  # more\n"));
        write(root, ".gitattributes", &crate::setup::set_up(".gitattributes", None).unwrap());
        workspace.ledger().unwrap().append(TraceEntry::new()).unwrap();
        let changes = Changes::since(&workspace, None).await.unwrap();
        assert!(changes.files.is_empty(), "{changes:?}");
        write(root, ".gitattributes", "* -text\n");
        let changes = Changes::since(&workspace, None).await.unwrap();
        assert_eq!(changes.files.len(), 1, "{changes:?}");
    }
}
