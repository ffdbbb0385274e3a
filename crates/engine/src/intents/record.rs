//! The entry of the trace that tells of a call, and where it goes.

use std::path::Path;
use std::sync::Arc;

use ona_intents::class::Versions;
use ona_intents::gate::{CallClass, written};
use ona_intents::hook_policy::ToolKind;
use ona_intents::scope::relative;
use ona_intents::trace::{
    AgentAction, Appended, FileChange, Ledger, ModifiedRange, MutationClass, ScopeValidation,
    ToolOrigin,
};
use ona_intents::{TraceEntry, Workspace, map, mutation, ranges};
use ona_policy::Effects;
use ona_repo::Checkout;
use serde_json::{Value, json};

use super::Governed;
use ona_repo::snapshot::{Change, Side};

/// A warning: what the file was before is not known, so neither is where it changed.
const BEFORE_UNKNOWN: &str = "before_unknown";

/// The event that tells how far the trace went: who cuts its end off cannot cut that.
pub(crate) const APPENDED: &str = "trace.appended";

/// As much of an error is kept.
const LONGEST_ERROR: usize = 2_000;

/// Who made a call, for whom.
#[derive(Clone, Debug, Default)]
pub(crate) struct Who {
    pub(crate) session: String,
    pub(crate) conversation: Option<String>,
    pub(crate) tool_use_id: String,
    pub(crate) tool: String,
    pub(crate) model: Option<String>,
    pub(crate) approver: Option<String>,
    pub(crate) host: Option<String>,
}

/// An entry about a call, without what it changed.
pub(crate) fn entry(governed: &Governed, who: Who) -> TraceEntry {
    let origin = match governed.policy.kind_of(&who.tool) {
        ToolKind::Mcp => ToolOrigin::Mcp,
        ToolKind::Unknown => ToolOrigin::Custom,
        _ => ToolOrigin::Native,
    };
    let intent = governed.intent.as_ref();
    TraceEntry {
        intent_id: intent.map(|intent| intent.id.clone()),
        session_id: Some(who.session),
        agent_action: Some(action(&who.tool)),
        tool_name: who.tool,
        tool_origin: Some(origin),
        scope_validation: Some(governed.scope),
        revision_id: Some(revision(governed.workspace.root())),
        related_requirements: intent
            .map(|intent| intent.related_requirements.clone())
            .unwrap_or_default(),
        bead_id: intent.and_then(|intent| intent.bead_id.clone()),
        conversation_id: who.conversation,
        tool_use_id: Some(who.tool_use_id),
        actor: Some("agent".to_owned()),
        model: who.model,
        approver: who.approver,
        host: who.host,
        ..TraceEntry::new()
    }
}

/// The commit at the time, or S4's word for none.
fn revision(root: &Path) -> String {
    let revision = Checkout::of(root).and_then(|checkout| checkout.revision());
    revision.unwrap_or_else(|| "unknown".to_owned())
}

fn action(tool: &str) -> AgentAction {
    match tool {
        "Write" | "write_to_file" => AgentAction::WriteFile,
        "Edit" | "MultiEdit" | "NotebookEdit" | "edit" | "edit_file" | "search_replace"
        | "search_and_replace" | "insert_code_block" => AgentAction::EditFile,
        "apply_patch" | "apply_diff" => AgentAction::PatchFile,
        "generate_image" => AgentAction::GenerateAsset,
        _ => AgentAction::Mutate,
    }
}

/// A call that did not succeed, and why.
pub(crate) fn failed(entry: &mut TraceEntry, error: &str) {
    entry.success = false;
    entry.error = Some(error.chars().take(LONGEST_ERROR).collect());
}

/// Names the first file that a call would have written; it is as it was.
pub(crate) fn untouched(entry: &mut TraceEntry, governed: &Governed, effects: &Effects) {
    // Of a command only what it is certain to write is a file it would have written.
    let certain = match governed.class {
        CallClass::Classified(_) => written(None, effects).0,
        _ => effects.writes.clone(),
    };
    let Some(target) = certain.first() else { return };
    let Ok(path) = relative(governed.workspace.root(), &target.real) else { return };
    let hash = std::fs::read(&target.real).ok().map(|bytes| ranges::prefixed_hash(&bytes));
    entry.file = Some(FileChange {
        relative_path: path,
        pre_hash: hash.clone(),
        post_hash: hash,
        previous_path: None,
    });
}

/// Fills in what the files say.
pub(crate) fn describe(entry: &mut TraceEntry, changes: &[Change], claimed: Option<MutationClass>) {
    let (mut known, mut vague) = (Vec::new(), Vec::new());
    for change in changes {
        let path = change.path.to_string_lossy().into_owned();
        match (&change.old, &change.new) {
            (Side::Unknown, _) | (_, Side::Unknown) => vague.push((path, change)),
            _ => known.push((path, change)),
        }
    }
    let versions: Vec<Versions<'_>> = known
        .iter()
        .map(|(path, change)| Versions { path, old: change.old.bytes(), new: change.new.bytes() })
        .collect();
    mutation::describe(entry, &versions, claimed);
    for (path, change) in vague {
        entry.modified_ranges.push(ModifiedRange {
            file: path,
            before_hash: change.old.bytes().map(ranges::prefixed_hash),
            after_hash: change.new.bytes().map(ranges::prefixed_hash),
            ..ModifiedRange::default()
        });
        if !entry.warnings.iter().any(|warning| warning == BEFORE_UNKNOWN) {
            entry.warnings.push(BEFORE_UNKNOWN.to_owned());
        }
    }
    for change in changes.iter().filter(|change| change.mode_changed()) {
        if let (Some(then), Some(now)) = change.modes {
            let (then, now, path) = (then & 0o7777, now & 0o7777, change.path.display());
            entry.warnings.push(format!("mode_changed: {path} {then:o} {now:o}"));
        }
    }
    if changes.is_empty() {
        // Nothing changed, so nothing can be said of what kind.
        entry.mutation_class = claimed;
        entry.mutation_class_mismatch = None;
        if claimed.is_none() {
            entry.mutation_class_source = None;
        }
    }
}

/// Appends the entry, and brings the map up to date. A trace that cannot be written is a gap, and never a reason to
/// stop (S2 §3.3): the gap is told in words.
pub(crate) async fn append(workspace: &Arc<Workspace>, entry: TraceEntry) -> Result<Value, String> {
    let workspace = Arc::clone(workspace);
    let written = tokio::task::spawn_blocking(move || append_now(&workspace, entry)).await;
    written.unwrap_or_else(|error| Err(error.to_string()))
}

fn append_now(workspace: &Workspace, entry: TraceEntry) -> Result<Value, String> {
    let ledger = Ledger::of(workspace.root()).map_err(|error| error.to_string())?;
    let appended = ledger.append(entry).map_err(|error| error.to_string())?;
    let Appended { entry, seq, entry_hash, .. } = appended;
    let head = json!({"workspace": workspace.root(), "seq": seq, "entry_hash": entry_hash});
    if !entry.success || entry.files().is_empty() {
        return Ok(head);
    }
    let intents = workspace.intents().ok();
    let name = |id: &str| {
        let intent = intents.as_ref()?.all.iter().find(|intent| intent.id == id)?;
        intent.name.clone()
    };
    map::record(workspace.root(), &ledger, &entry, name).map_err(|error| error.to_string())?;
    Ok(head)
}

/// How the scope is judged once it is known what a call has changed.
pub(crate) fn scope_after(in_scope: bool, changes: &[Change]) -> ScopeValidation {
    match (in_scope, changes.is_empty()) {
        (false, _) => ScopeValidation::Fail,
        (true, true) => ScopeValidation::Exempt,
        (true, false) => ScopeValidation::Pass,
    }
}
