//! The intent stage of the gate (S2, S4): which intent a call is for and whether it may change its targets; and the
//! trace of what it then changed.

pub mod lesson;
pub mod metadata;
pub mod observe;
pub mod outside;
pub mod record;
pub mod select;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ona_effects::Effects;
use ona_effects::path::Target;
use ona_intents::file::{Found, Intent};
use ona_intents::gate::{Allowed, CallClass, Decision};
use ona_intents::hook_policy::{Class, Classified, HookPolicy, MutationClassCheck};
use ona_intents::refusal::Refusal;
use ona_intents::scope::relative;
use ona_intents::{Asked, Workspace};
use ona_policy::secrets::Redactor;
use ona_store::{Seat, Store, StoreError};
use ona_tools::Tool;
use ona_trace::TraceEntry;
use ona_trace::class::{Versions, check};
use ona_trace::entry::{MutationClass, ScopeValidation};
use ona_trace::ranges::prefixed_hash;
use ona_types::gate::{Answer, StageName, Verdict};
use ona_types::{ContentHash, SessionId};
use serde_json::{Value, json};

use super::Gate;
use super::masked_path::masked_path;
use metadata::Metadata;
pub use outside::{Handling, Outside, vouch};

/// The instruction to the model at the start.
pub const ORDER: &str = "\
Changes in this repository are made for intents. Before the first change call SelectActiveIntent with the id of the \
intent you work for; it tells you what you may change, which constraints apply and when it is done. A change outside \
its owned_scope is refused, with a hint on how to continue. If no intent fits, say so and ask for one; do not change \
files by other means.";

/// The event for a call that passed because the gate could not judge it (DESIGN §3).
pub const DEGRADED: &str = "governance_degraded";

/// What the stage found out about a call in a workspace with intents.
#[derive(Debug)]
pub struct Governed {
    /// The workspace.
    pub workspace: Arc<Workspace>,
    /// What kind of call it is.
    pub class: CallClass,
    /// How strict the workspace is.
    pub policy: Arc<HookPolicy>,
    /// The intent it is for, if any.
    pub intent: Option<Intent>,
    /// How the scope was judged.
    pub scope: ScopeValidation,
    /// Why it may write outside the workspace, where nobody sees it.
    pub unseen: Vec<String>,
    /// The class of change that the call claims.
    pub claimed: Option<MutationClass>,
    /// The hash of each file it names, at the time of the judgement.
    pub seen: Vec<(PathBuf, Option<String>)>,
}

impl Governed {
    /// Whether the call is traced.
    pub fn mutates(&self) -> bool {
        match &self.class {
            CallClass::Read | CallClass::Exempt => false,
            CallClass::Classified(Classified { class, .. }) => *class == Class::Destructive,
            CallClass::Write => true,
        }
    }
}

/// A call to be checked against the intents.
pub struct Subject<'a> {
    /// The tool.
    pub tool: &'a dyn Tool,
    /// Its input, with its metadata.
    pub input: &'a Value,
    /// What it would touch.
    pub effects: &'a Effects,
    /// The session's intent.
    pub selected: Option<&'a str>,
    /// Files that have changed since they were seen.
    pub stale: &'a [PathBuf],
}

/// The ruling on a call.
pub enum Ruled {
    /// It may run; if there is a reason here, a human has to approve it.
    Allowed(Option<String>),
    /// It is refused.
    Refused(Refusal),
    /// The gate could not judge it, and the policy lets such calls pass.
    Degraded(Refusal),
}

impl Ruled {
    /// The stage's answer, the same for every caller. Whether the call was approved in advance is looked up only if it
    /// matters.
    pub fn answer(
        &self,
        governed: &Governed,
        approved_before: impl FnOnce() -> Option<String>,
    ) -> Answer {
        let answer = |verdict, reason: String| Answer::new(StageName::Intent, verdict, reason);
        let id = governed.intent.as_ref().map(|intent| intent.id.as_str());
        match self {
            Self::Refused(refusal) => {
                answer(Verdict::Deny, refusal.to_string()).with(refusal.to_json())
            }
            Self::Degraded(refusal) => {
                answer(Verdict::Pass, format!("governance degraded: {}", refusal.message()))
                    .with(refusal.to_json())
            }
            Self::Allowed(None) if !governed.mutates() => {
                answer(Verdict::Pass, "it changes nothing that an intent owns".to_owned())
            }
            Self::Allowed(None) => {
                let id = id.unwrap_or_default();
                answer(Verdict::Pass, format!("{id} owns what it would change")).with(json!({
                    "intent_id": id, "scope_validation": governed.scope.as_str(),
                }))
            }
            Self::Allowed(Some(why)) => {
                let detail = json!({"intent_id": id, "destructive": why});
                match approved_before() {
                    Some(by) => answer(
                        Verdict::Pass,
                        format!("it may change files ({why}), and was approved in advance: {by}"),
                    ),
                    None => answer(
                        Verdict::Ask,
                        format!("it may change files, and a human has to approve that: {why}"),
                    ),
                }
                .with(detail)
            }
        }
    }
}

/// Checks a call against a workspace's intents.
pub fn check_call(workspace: &Arc<Workspace>, subject: &Subject<'_>) -> (Governed, Ruled) {
    let metadata = Metadata::of(subject.input);
    let bare = metadata::bare(subject.tool.facts().kind, subject.input);
    let command = subject.tool.command(&bare);
    let judged = workspace.judge(&Asked {
        tool: subject.tool.name(),
        kind: subject.tool.facts().kind,
        command: command.as_deref(),
        effects: subject.effects,
        selected: subject.selected,
        intent_id: metadata.intent_id,
        mutation_class: metadata.mutation_class,
        stale: subject.stale,
    });
    let found =
        judged.intents.as_ref().map(|intents| intents.find(subject.selected.unwrap_or_default()));
    let mut governed = Governed {
        workspace: Arc::clone(workspace),
        class: judged.class,
        policy: judged.policy,
        intent: match found {
            Some(Found::One(intent)) => Some(intent.clone()),
            _ => None,
        },
        scope: ScopeValidation::Exempt,
        unseen: Vec::new(),
        claimed: metadata.mutation_class.and_then(MutationClass::from_name),
        seen: Vec::new(),
    };
    let in_background = subject.tool.runs_in_background(&bare);
    let ruled = match judged.decision {
        Decision::Allow(_) if in_background && governed.mutates() => {
            Ruled::Refused(Refusal::ScopeValidationFailed {
                id: subject.selected.unwrap_or_default().to_owned(),
                why: "what a command changes in the background cannot be seen; run it in the foreground, or have it \
                      listed as one that only reads (hook_policy.yaml)"
                    .to_owned(),
            })
        }
        Decision::Degraded(refusal) => Ruled::Degraded(refusal),
        Decision::Refuse(refusal) => {
            if matches!(refusal, Refusal::ScopeViolation { .. } | Refusal::PathBlocked { .. }) {
                governed.scope = ScopeValidation::Fail;
            }
            Ruled::Refused(refusal)
        }
        Decision::Allow(allowed) => {
            governed.scope = allowed.scope();
            let Allowed { files, approval, unseen, .. } = allowed;
            governed.unseen = unseen;
            let hash = |real: &Path| ona_files::content(real).ok().map(|bytes| prefixed_hash(&bytes));
            governed.seen =
                files.into_iter().map(|file| (file.real.clone(), hash(&file.real))).collect();
            match mismatch(&governed, subject) {
                Some(refusal) => Ruled::Refused(refusal),
                None => Ruled::Allowed(approval),
            }
        }
    };
    (governed, ruled)
}

/// Files that have changed since the session saw them (DESIGN §5 no. 18).
pub fn stale(
    store: &Store,
    session: &SessionId,
    redactor: &Redactor,
    writes: &[Target],
) -> Result<Vec<PathBuf>, StoreError> {
    let mut stale = Vec::new();
    for target in writes {
        let known = store.last_view(session, &masked_path(redactor, &target.real))?;
        let Some(view) = known else { continue };
        // A file that no longer exists cannot be overwritten.
        let now = ona_files::content(&target.real).ok();
        if now.is_some_and(|bytes| ContentHash::of(&bytes) != view.hash) {
            stale.push(target.real.clone());
        }
    }
    Ok(stale)
}

/// Whether an entry of the trace is about a recorded call of another session: anybody can write a line.
pub fn vouched_for(store: &Store, seat: &Seat, entry: &TraceEntry) -> bool {
    let (Some(session), Some(id)) = (&entry.session_id, &entry.tool_use_id) else { return false };
    *session != seat.session.as_str() && store.has_call(session, id).unwrap_or(false)
}

/// Checks the claimed class of a change that is known in advance, if the policy refuses wrong claims.
fn mismatch(governed: &Governed, subject: &Subject<'_>) -> Option<Refusal> {
    let claimed = governed.claimed?;
    if governed.policy.mutation_class_check != MutationClassCheck::Refuse {
        return None;
    }
    let (real, _) = governed.seen.first()?;
    let old = ona_files::content(real).ok();
    let bare = metadata::bare(subject.tool.facts().kind, subject.input);
    let new = subject.tool.preview(&bare, old.as_deref())?;
    let path = relative(governed.workspace.root(), real).ok()?;
    let versions = Versions { path: &path, old: old.as_deref(), new: Some(&new) };
    check(claimed, &[versions]).map(|mismatch| Refusal::MutationClassMismatch {
        claimed: mismatch.claimed.as_str().to_owned(),
        found: mismatch.found.as_str().to_owned(),
    })
}

impl Gate {
    /// The session's intent.
    pub fn selected_intent(&self, workspace: &Workspace) -> Result<Option<String>, StoreError> {
        let root = workspace.root().to_string_lossy();
        let selected = self.store().selected_intent(&root, Some(self.record.session()))?;
        Ok(selected.and_then(|selection| selection.intent_id))
    }

    /// The brief of the session's intent, if one is selected and still open.
    pub fn intent_context(&self) -> Result<Option<String>, StoreError> {
        let Some(workspace) = &self.workspace else { return Ok(None) };
        let Some(id) = self.selected_intent(workspace)? else { return Ok(None) };
        let Ok(intents) = workspace.intents() else { return Ok(None) };
        let intent = ona_intents::gate::valid(&id, &intents).ok();
        Ok(intent.map(|intent| workspace.context(intent).0))
    }
}
