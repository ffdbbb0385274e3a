//! The trace entry of a call, and how it is appended.

use std::path::Path;
use std::sync::Arc;

use ona_effects::Effects;
use ona_intents::gate::{CallClass, written};
use ona_intents::map::MapError;
use ona_intents::scope::relative;
use ona_intents::{Workspace, map};
use ona_policy::secrets::Redactor;
use ona_repo::Checkout;
use ona_tools::Tool;
use ona_trace::Ledger;
use ona_trace::class::Versions;
use ona_trace::entry::{
    AgentAction, FileChange, ModeChange, ModifiedRange, MutationClass, ScopeValidation, ToolOrigin,
};
use ona_trace::ledger::{AppendError, Appended};
use ona_trace::paths::UnsafePath;
use ona_trace::{TraceEntry, mutation, ranges};
use ona_types::{ToolKind, ToolUseId, WriteAction};
use serde_json::{Value, json};

use super::Governed;
use crate::Gate;
use ona_repo::snapshot::{Change, Side};

/// A warning: the earlier content of the file is unknown, so the changed lines are too.
const BEFORE_UNKNOWN: &str = "before_unknown";

/// A warning: files outside the workspace may have been written, and nobody has seen it.
const UNSEEN: &str = "outside_unseen";

/// The event that records how long the trace is: whoever truncates the trace cannot change the record.
pub const APPENDED: &str = "trace.appended";

/// The limit for an error, in characters.
const MAX_ERROR_CHARS: usize = 2_000;

/// Who made a call.
#[derive(Clone, Debug)]
pub struct Who {
    /// The session.
    pub session: String,
    /// Its conversation.
    pub conversation: Option<String>,
    /// The call.
    pub tool_use_id: String,
    /// The tool.
    pub tool: String,
    /// What the tool does.
    pub kind: ToolKind,
    /// The model that asked for it.
    pub model: Option<String>,
    /// Who approved it.
    pub approver: Option<String>,
    /// The host of the agent, if it is not ona.
    pub host: Option<String>,
}

impl Who {
    /// The agent behind a gate, with a call of this tool.
    pub fn of(gate: &Gate, id: &ToolUseId, tool: &dyn Tool) -> Self {
        Self {
            session: gate.seat().session.to_string(),
            conversation: Some(gate.seat().conversation.to_string()),
            tool_use_id: id.to_string(),
            tool: tool.name().to_owned(),
            kind: tool.facts().kind,
            model: gate.engine.model_name(),
            approver: None,
            host: gate.engine.identity().host,
        }
    }
}

/// An entry about a call, without its changes.
pub fn entry(governed: &Governed, who: Who) -> TraceEntry {
    let origin = match governed.policy.kind_of(&who.tool, who.kind) {
        ToolKind::Server => ToolOrigin::Mcp,
        ToolKind::Other => ToolOrigin::Custom,
        _ => ToolOrigin::Native,
    };
    let intent = governed.intent.as_ref();
    TraceEntry {
        intent_id: intent.map(|intent| intent.id.clone()),
        session_id: Some(who.session),
        agent_action: Some(action(who.kind)),
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
        warnings: governed.unseen.iter().map(|why| format!("{UNSEEN}: {why}")).collect(),
        ..TraceEntry::new()
    }
}

/// The current commit, or S4's word for none.
fn revision(root: &Path) -> String {
    let revision = Checkout::of(root).and_then(|checkout| checkout.revision());
    revision.unwrap_or_else(|| "unknown".to_owned())
}

fn action(kind: ToolKind) -> AgentAction {
    match kind {
        ToolKind::Write(WriteAction::Write) => AgentAction::WriteFile,
        ToolKind::Write(WriteAction::Edit) => AgentAction::EditFile,
        ToolKind::Write(WriteAction::Patch) => AgentAction::PatchFile,
        ToolKind::Write(WriteAction::Generate) => AgentAction::GenerateAsset,
        _ => AgentAction::Mutate,
    }
}

/// Marks the entry as failed, with the reason.
pub fn failed(entry: &mut TraceEntry, error: &str) {
    entry.success = false;
    entry.error = Some(error.to_owned());
}

/// Names the first file that a call would have written; it was not changed.
pub fn untouched(entry: &mut TraceEntry, governed: &Governed, effects: &Effects) {
    // For a command, only files that it would certainly write count.
    let certain = match governed.class {
        CallClass::Classified(_) => written(effects).0,
        _ => effects.writes.clone(),
    };
    let Some(target) = certain.first() else { return };
    let Ok(path) = relative(governed.workspace.root(), &target.real) else { return };
    let hash = ona_files::content(&target.real).ok().map(|bytes| ranges::prefixed_hash(&bytes));
    entry.file = Some(FileChange {
        relative_path: path,
        pre_hash: hash.clone(),
        post_hash: hash,
        previous_path: None,
    });
}

/// Fills in the changes of files.
pub fn describe(entry: &mut TraceEntry, changes: &[Change], claimed: Option<MutationClass>) {
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
            let path = change.path.display().to_string();
            let change = ModeChange { path, old: then & 0o7777, new: now & 0o7777 };
            entry.warnings.push(change.to_string());
        }
    }
    if changes.is_empty() {
        // Nothing changed, so there is no class of change.
        entry.mutation_class = claimed;
        entry.mutation_class_mismatch = None;
        if claimed.is_none() {
            entry.mutation_class_source = None;
        }
    }
}

/// Why the trace has a gap.
#[derive(Debug, thiserror::Error)]
enum Gap {
    #[error(transparent)]
    Path(#[from] UnsafePath),
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Map(#[from] MapError),
    #[error("{0}")]
    Thread(#[from] tokio::task::JoinError),
}

/// Masks the entry and appends it, and brings the map up to date. A trace that cannot be written is a gap, and never a
/// reason to stop (S2 §3.3). Returns the event for the record, and the reason for a gap.
pub async fn appended(
    workspace: &Arc<Workspace>,
    mut entry: TraceEntry,
    redactor: &Redactor,
) -> ((String, Value), Option<String>) {
    mask(&mut entry, redactor);
    let (workspace, id) = (Arc::clone(workspace), entry.id.clone());
    let written = tokio::task::spawn_blocking(move || append_now(&workspace, entry)).await;
    match written.map_err(Gap::from).and_then(|written| written) {
        Ok(head) => ((APPENDED.to_owned(), head), None),
        Err(gap) => {
            let why = gap.to_string();
            (("trace.gap".to_owned(), json!({"entry": id, "why": why})), Some(why))
        }
    }
}

/// Masks the texts of an entry, and the name of a file that was not changed: readers look up only changed files. An
/// error is masked before it is cut, so that no part of a secret is left at its end.
fn mask(entry: &mut TraceEntry, redactor: &Redactor) {
    for text in entry.warnings.iter_mut().chain([&mut entry.tool_name]) {
        redactor.mask_string(text);
    }
    if let Some(file) = entry.file.as_mut().filter(|file| file.pre_hash == file.post_hash) {
        redactor.mask_string(&mut file.relative_path);
    }
    if let Some(error) = &mut entry.error {
        redactor.mask_string(error);
        *error = error.chars().take(MAX_ERROR_CHARS).collect();
    }
}

fn append_now(workspace: &Workspace, entry: TraceEntry) -> Result<Value, Gap> {
    let ledger = Ledger::of(workspace.root())?;
    let appended = ledger.append(entry)?;
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
    map::record(workspace.root(), &ledger, &entry, name)?;
    Ok(head)
}

/// The scope judgement after the changes of a call are known.
pub fn scope_after(in_scope: bool, changes: &[Change]) -> ScopeValidation {
    match (in_scope, changes.is_empty()) {
        (false, _) => ScopeValidation::Fail,
        (true, true) => ScopeValidation::Exempt,
        (true, false) => ScopeValidation::Pass,
    }
}
