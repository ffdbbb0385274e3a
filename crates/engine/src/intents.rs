//! The intent stage of the gate (S2, S4): which intent a call is for, whether it may touch what it would touch; and
//! the trace of what it then changed.

pub(crate) mod lesson;
mod metadata;
pub(crate) mod observe;
mod outside;
pub(crate) mod record;
mod select;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ona_front::Event;
use ona_intents::class::{Versions, check};
use ona_intents::file::{Found, Intent};
use ona_intents::gate::{Allowed, CallClass, Decision};
use ona_intents::hook_policy::{Class, Classified, HookPolicy, MutationClassCheck};
use ona_intents::ranges::prefixed_hash;
use ona_intents::refusal::{GateKind, Refusal};
use ona_intents::scope::relative;
use ona_intents::trace::{MutationClass, ScopeValidation};
use ona_intents::{Asked, TraceEntry, Workspace};
use ona_policy::path::Target;
use ona_policy::secrets::Redactor;
use ona_policy::{Answer, By, Call, Effects, Scope, Stage, Verdict};
use ona_store::{Seat, Store, StoreError};
use ona_tools::{InputError, Tool};
use ona_types::{Behavior, ContentHash, SessionId, ToolOutput};
use serde_json::{Value, json};

use crate::call::masked_path;
use crate::gate::PendingCall;
use crate::session::Session;
use lesson::Check;
pub(crate) use metadata::{Metadata, bare, with_metadata};
use observe::{Before, Changes};
pub use outside::vouch;
pub(crate) use outside::{Handling, Outside};
use record::Who;
pub(crate) use select::{ALIAS, SELECT_ACTIVE_INTENT, SelectActiveIntent};

/// What the model is told of it before anything else.
pub(crate) const ORDER: &str = "\
Changes in this repository are made for intents. Before the first change call SelectActiveIntent with the id of the \
intent you work for; it tells you what may be touched, what has to be kept to and when it is done. A change outside \
its owned_scope is refused, with words on how to go on. If no intent fits, say so and ask for one; do not change \
files by other means.";

/// The event for a gate that could not judge and let a call through (DESIGN §3).
pub(crate) const DEGRADED: &str = "governance_degraded";

/// What the stage found about a call in a workspace with intents.
#[derive(Debug)]
pub(crate) struct Governed {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) class: CallClass,
    pub(crate) policy: Arc<HookPolicy>,
    /// The intent it is for, where there is one.
    pub(crate) intent: Option<Intent>,
    pub(crate) scope: ScopeValidation,
    pub(crate) claimed: Option<MutationClass>,
    /// The hash of each file it names as it was when it was judged.
    pub(crate) seen: Vec<(PathBuf, Option<String>)>,
}

impl Governed {
    /// Whether it is one of the calls that the trace tells of.
    pub(crate) fn mutates(&self) -> bool {
        match &self.class {
            CallClass::Read | CallClass::Exempt => false,
            CallClass::Classified(Classified { class, .. }) => *class == Class::Destructive,
            CallClass::Write => true,
        }
    }
}

/// A call as it is held against the intents.
pub(crate) struct Subject<'a> {
    pub(crate) tool: &'a str,
    /// The command line, where it is one.
    pub(crate) command: Option<&'a str>,
    pub(crate) input: &'a Value,
    pub(crate) effects: &'a Effects,
    pub(crate) selected: Option<&'a str>,
    pub(crate) stale: &'a [PathBuf],
}

/// What becomes of a call.
pub(crate) enum Ruled {
    /// It may go on; a human has to approve it, for this reason.
    Allowed(Option<String>),
    /// It may not.
    Refused(Refusal),
    /// The gate could not judge, and lets such calls through.
    Degraded(Refusal),
}

impl Ruled {
    /// What the stage says, in words, whoever makes the call. Whether somebody has approved it beforehand is asked only
    /// where it matters.
    pub(crate) fn answer(
        &self,
        governed: &Governed,
        approved_before: impl FnOnce() -> Option<String>,
    ) -> Answer {
        let answer = |verdict, reason: String| Answer::new(Stage::Intent, verdict, reason);
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
                        format!("it may change files ({why}), and was approved beforehand: {by}"),
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

/// Holds a call against a workspace's intents.
pub(crate) fn hold(workspace: &Arc<Workspace>, subject: &Subject<'_>) -> (Governed, Ruled) {
    let metadata = Metadata::of(subject.input);
    let judged = workspace.judge(&Asked {
        tool: subject.tool,
        command: subject.command,
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
        claimed: metadata.mutation_class.and_then(MutationClass::from_name),
        seen: Vec::new(),
    };
    let in_background = subject.input.get("run_in_background") == Some(&Value::Bool(true));
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
            let Allowed { files, approval, .. } = allowed;
            let hash = |real: &Path| std::fs::read(real).ok().map(|bytes| prefixed_hash(&bytes));
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

/// Files that a session knows otherwise than they are now (DESIGN §5 no. 18).
pub(crate) fn stale(
    store: &Store,
    session: &SessionId,
    redactor: &Redactor,
    writes: &[Target],
) -> Result<Vec<PathBuf>, StoreError> {
    let mut stale = Vec::new();
    for target in writes {
        let known = store.last_view(session, &masked_path(redactor, &target.real))?;
        let Some(view) = known else { continue };
        // What is no longer there cannot be overwritten.
        let now = std::fs::read(&target.real).ok();
        if now.is_some_and(|bytes| ContentHash::of(&bytes) != view.hash) {
            stale.push(target.real.clone());
        }
    }
    Ok(stale)
}

/// Whether an entry of the trace is about a call of another session that the record knows: a line can be written by
/// anybody.
pub(crate) fn vouched_for(store: &Store, seat: &Seat, entry: &TraceEntry) -> bool {
    let (Some(session), Some(id)) = (&entry.session_id, &entry.tool_use_id) else { return false };
    *session != seat.session.as_str() && store.has_call(session, id).unwrap_or(false)
}

/// The claim about a change that is known beforehand, where the policy refuses wrong ones.
fn mismatch(governed: &Governed, subject: &Subject<'_>) -> Option<Refusal> {
    let claimed = governed.claimed?;
    if governed.policy.mutation_class_check != MutationClassCheck::Refuse {
        return None;
    }
    let (real, _) = governed.seen.first()?;
    let old = std::fs::read(real).ok();
    let new = metadata::preview(subject.tool, subject.input, old.as_deref())?;
    let path = relative(governed.workspace.root(), real).ok()?;
    let versions = Versions { path: &path, old: old.as_deref(), new: Some(&new) };
    check(claimed, &[versions]).map(|mismatch| Refusal::MutationClassMismatch {
        claimed: mismatch.claimed.as_str().to_owned(),
        found: mismatch.found.as_str().to_owned(),
    })
}

impl Session {
    /// Looks whether the project has intents: somebody may have made the first one meanwhile, and a session that
    /// began with intents keeps to them.
    pub(crate) fn find_workspace(&mut self) {
        let root = ona_intents::file::workspace(&self.place.project_dir);
        let known = self.workspace.as_ref().map(|workspace| workspace.root().to_owned());
        if let Some(root) = root
            .and_then(|root| root.canonicalize().ok())
            .filter(|root| Some(root) != known.as_ref())
        {
            self.workspace = Workspace::at(&root).ok().map(Arc::new);
        }
    }

    /// The intent the session works for.
    pub(crate) fn selected_intent(
        &self,
        workspace: &Workspace,
    ) -> Result<Option<String>, StoreError> {
        let root = workspace.root().to_string_lossy();
        let selected = self.engine.store.selected_intent(&root, Some(&self.seat.session))?;
        Ok(selected.and_then(|selection| selection.intent_id))
    }

    /// What the stage says of a call, and what it found. Changes nothing.
    pub(crate) fn judge_intent(
        &self,
        call: &PendingCall<'_>,
    ) -> Result<Option<(Governed, Ruled)>, StoreError> {
        let Some(workspace) = &self.workspace else { return Ok(None) };
        let selected = self.selected_intent(workspace)?;
        let (store, redactor) = (&self.engine.store, &self.governance.redactor);
        let stale = stale(store, &self.seat.session, redactor, &call.effects.writes)?;
        let subject = Subject {
            tool: call.tool.name(),
            command: call.input.get("command").and_then(Value::as_str),
            input: &call.input,
            effects: &call.effects,
            selected: selected.as_deref(),
            stale: &stale,
        };
        Ok(Some(hold(workspace, &subject)))
    }

    pub(crate) fn ask_intent(&self, call: &mut PendingCall<'_>) -> Result<Answer, StoreError> {
        let Some((governed, ruled)) = self.judge_intent(call)? else {
            let why = "the project has no intents";
            return Ok(Answer::new(Stage::Intent, Verdict::Pass, why));
        };
        let answer = self.intent_answer(call, &governed, &ruled);
        if let Ruled::Degraded(refusal) = &ruled {
            call.events.push((DEGRADED.to_owned(), refusal.to_json()));
            let text = format!("{}: the call goes on unjudged by intents", refusal.message());
            self.front.tell(Event::Warning { text });
        }
        call.governed = Some(governed);
        Ok(answer)
    }

    /// What the stage says, in words.
    pub(crate) fn intent_answer(
        &self,
        call: &PendingCall<'_>,
        governed: &Governed,
        ruled: &Ruled,
    ) -> Answer {
        ruled.answer(governed, || self.approved_before(&call.as_call()))
    }

    /// A rule that somebody wrote, or a mode that somebody chose, is an approval given beforehand. ona's own rules are
    /// nobody's approval.
    pub(crate) fn approved_before(&self, call: &Call<'_>) -> Option<String> {
        let ruling = self.governance.permissions.judge(call);
        let theirs = match &ruling.by {
            By::Rules(rules) => rules.iter().any(|rule| rule.source.scope != Scope::Builtin),
            By::Mode(_) => true,
            By::Opaque(_) => false,
        };
        (ruling.behavior == Behavior::Allow && theirs).then(|| crate::explain::ruling(&ruling).0)
    }

    /// Takes down what a call could change, right before it runs.
    pub(crate) async fn observe(&self, call: &PendingCall<'_>) -> Option<Before> {
        let governed = call.governed.as_ref().filter(|governed| governed.mutates())?;
        Some(Before::take(governed, &call.effects.writes).await)
    }

    /// Tells what a call that has run changed: for the trace, and for the model where it went too far.
    pub(crate) async fn attribute(
        &self,
        call: &mut PendingCall<'_>,
        before: Before,
        output: &mut ToolOutput,
    ) {
        let Some(governed) = &call.governed else { return };
        let vouched = |entry: &TraceEntry| vouched_for(&self.engine.store, &self.seat, entry);
        let Changes { mut files, mut warnings, trace_cut } =
            before.changes(governed.workspace.root(), &vouched).await;
        if trace_cut {
            let text = "the trace is shorter than it was: lines were taken out of it".to_owned();
            call.events.push(("trace.damaged".to_owned(), json!({"why": text})));
            self.front.tell(Event::Warning { text });
        }
        let mut entry = record::entry(governed, self.who(call));
        if let CallClass::Classified(_) = governed.class {
            let how = Handling::new(&self.engine, &self.seat, call.id, false);
            let outside = Outside::of(governed, &mut files, &how);
            entry.scope_validation = Some(record::scope_after(outside.is_empty(), &files));
            warnings.extend(outside.warnings());
            if let Some(said) = outside.words() {
                output.content.push_str(&format!("\n[scope] {said}"));
                output.detail.insert("out_of_scope".to_owned(), outside.to_json());
                let text = format!("{}: {said}", call.tool.name());
                self.front.tell(Event::Warning { text });
            }
        }
        if output.task.is_some() {
            warnings.push("background".to_owned());
        }
        record::describe(&mut entry, &files, governed.claimed);
        warnings.dedup();
        entry.warnings.extend(warnings);
        if output.is_error() {
            record::failed(&mut entry, &output.content);
        }
        call.trace = Some(entry);
    }

    /// A call that was refused, for the trace: if it is one that would have changed something.
    pub(crate) fn refused(&self, call: &mut PendingCall<'_>, reason: &str) {
        if call.governed.is_none() {
            // Refused before the stage was asked.
            let Ok(found) = self.judge_intent(call) else { return };
            call.governed = found.map(|(governed, _)| governed);
        }
        let Some(governed) = call.governed.as_ref().filter(|governed| governed.mutates()) else {
            return;
        };
        let mut entry = record::entry(governed, self.who(call));
        record::describe(&mut entry, &[], governed.claimed);
        record::untouched(&mut entry, governed, &call.effects);
        record::failed(&mut entry, reason);
        call.trace = Some(entry);
    }

    /// Who makes a call.
    fn who(&self, call: &PendingCall<'_>) -> Who {
        let human = call
            .answers
            .iter()
            .find(|answer| answer.stage == Stage::Human && answer.verdict == Verdict::Allow);
        Who {
            session: self.seat.session.to_string(),
            conversation: Some(self.seat.conversation.to_string()),
            tool_use_id: call.id.to_string(),
            tool: call.tool.name().to_owned(),
            model: self
                .mind
                .as_ref()
                .map(|mind| format!("{}/{}", mind.model.provider.as_str(), mind.model.wire)),
            approver: human.and_then(|answer| answer.detail["by"].as_str().map(str::to_owned)),
            host: None,
        }
    }

    /// Appends what the trace is to tell of a call, and the lesson of a check that failed. A gap is told and goes on
    /// record (S2 §3.3).
    pub(crate) async fn keep_trace(&self, call: &mut PendingCall<'_>, output: &ToolOutput) {
        let Some(mut entry) = call.trace.take() else { return };
        let Some(governed) = &call.governed else { return };
        let redactor = &self.governance.redactor;
        for text in entry.error.iter_mut().chain(&mut entry.warnings) {
            redactor.mask_string(text);
        }
        let workspace = &governed.workspace;
        let id = entry.id.clone();
        let command = call.input.get("command").and_then(Value::as_str);
        let exit_code = output.detail.get("exit_code").and_then(Value::as_i64);
        let lesson = match (command, exit_code) {
            (Some(command), Some(exit_code)) => {
                let check = Check { command, exit_code, output: &output.content };
                lesson::note(governed, self.who(call), &check, redactor)
            }
            _ => Ok(None),
        };
        let lesson = lesson.unwrap_or_else(|text| {
            self.front.tell(Event::Warning { text });
            None
        });
        for entry in [Some(entry), lesson].into_iter().flatten() {
            match record::append(workspace, entry).await {
                Ok(head) => call.events.push((record::APPENDED.to_owned(), head)),
                Err(why) => {
                    call.events.push(("trace.gap".to_owned(), json!({"entry": id, "why": why})));
                    self.front.tell(Event::Warning { text: format!("the trace has a gap: {why}") });
                }
            }
        }
    }

    /// What a stage's no looks like to the model: in a workspace with intents, structured (S4).
    pub(crate) fn refusal_text(
        &self,
        call: &PendingCall<'_>,
        stage: Stage,
        reason: &str,
    ) -> String {
        let kind = match stage {
            Stage::Intent => {
                let detail = call.answers.last().map(|answer| answer.detail.clone());
                return detail.unwrap_or_default().to_string();
            }
            Stage::Phase => GateKind::PhaseDenied,
            Stage::Rules | Stage::Human => GateKind::PermissionDenied,
            Stage::Input | Stage::Hooks => return reason.to_owned(),
        };
        if self.workspace.is_none() {
            return reason.to_owned();
        }
        let rule = call.answers.last().map(|answer| answer.detail.clone()).unwrap_or_default();
        let rule = rule["rules"][0]["rule"].as_str().unwrap_or(stage.as_str()).to_owned();
        let gate = stage.as_str().to_owned();
        Refusal::Gate { kind, message: reason.to_owned(), gate, rule }.to_json().to_string()
    }

    /// Validates an input and says what it would touch; what it says about itself is not the tool's business.
    pub(crate) fn prepare(&self, tool: &dyn Tool, input: &Value) -> Result<Effects, InputError> {
        tool.prepare(&self.bare_input(tool, input), &self.place)
    }

    /// The input as the tool gets it.
    pub(crate) fn bare_input<'v>(
        &self,
        tool: &dyn Tool,
        input: &'v Value,
    ) -> std::borrow::Cow<'v, Value> {
        match &self.workspace {
            Some(_) => bare(tool.name(), input),
            None => std::borrow::Cow::Borrowed(input),
        }
    }

    /// What the session's intent is about, where one is selected and can still be worked on.
    pub(crate) fn intent_context(&self) -> Result<Option<String>, StoreError> {
        let Some(workspace) = &self.workspace else { return Ok(None) };
        let Some(id) = self.selected_intent(workspace)? else { return Ok(None) };
        let Ok(intents) = workspace.intents() else { return Ok(None) };
        let intent = ona_intents::gate::valid(&id, &intents).ok();
        Ok(intent.map(|intent| workspace.context(intent, &mut Vec::new())))
    }
}
