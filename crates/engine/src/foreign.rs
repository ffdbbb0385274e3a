//! Other agents behind the same gate: what their hooks tell, judged by the same stages, and answered in their words.
//!
//! A host starts ona once before a call and once after it. The first process judges, answers and keeps what has to be
//! known afterwards; the second finds what was changed, and completes record and trace. What a host does with an
//! answer is its own affair, so a call that ran although it was refused is noticed.

mod payload;
mod targets;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ona_intents::file::Found;
use ona_intents::hook_policy::FailureMode;
use ona_intents::trace::{MutationClass, ScopeValidation};
use ona_intents::{Workspace, gate::CallClass, hook_policy::Classified};
use ona_policy::secrets::Redactor;
use ona_policy::{Answer, Call, Effects, Stage, Verdict};
use ona_store::{CallOutcome, CallStart, NewSession, Seat, Step, StoreError};
use ona_types::hook::{HookEvent, HookInvocation};
use ona_types::{Behavior, FileView, PermissionMode, Seen, ToolOutput, ToolUseId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::explain;
use crate::gate::gate_rows;
use crate::intents::observe::Before;
use crate::intents::record::{self, Who};
use crate::intents::{Governed, Outside, Ruled, Subject, hold};
use crate::phase;
use crate::session::{Engine, JoinRequest, Session};
pub use payload::PayloadError;
use payload::{HostCall, Payload};

/// A host whose hooks ona answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
}

impl Host {
    /// All of them, by the names that commands and records use.
    pub const ALL: [(Self, &'static str); 2] =
        [(Self::ClaudeCode, "claude_code"), (Self::Codex, "codex")];

    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude_code",
            Self::Codex => "codex",
        }
    }

    /// The host of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(host, _)| *host)
    }

    /// Whether a hook's `ask` makes the host ask. Codex reads it and goes on.
    fn asks(self) -> bool {
        self == Self::ClaudeCode
    }
}

/// What the host is told: JSON on standard output, words on standard error, and an exit code.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// What is printed, if anything.
    pub stdout: Option<Value>,
    /// What is said beside it.
    pub stderr: String,
    /// 0: go on. 2: it may not.
    pub code: u8,
}

/// Why a hook has no answer.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// What the host says cannot be used.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The record failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The session of ours with this id is not the host's.
const NOT_THEIRS: &str = ":";

/// As much of a call's response is kept.
const LONGEST_RESPONSE: usize = 10_000;

/// The tools of ona's own MCP server as hosts name them. They only tell, and select.
const OWN_SERVER: &str = "mcp__ona__";
const SELECT: &str = "mcp__ona__select_active_intent";

/// What the first hook of a call leaves to the second.
#[derive(Serialize, Deserialize)]
struct Pending {
    tool_use_id: String,
    intent: Option<String>,
    scope: String,
    claimed: Option<String>,
    /// A command or another tool that could have changed anything, and why it is taken for one.
    classified: Option<String>,
    refused: Option<String>,
    before: Before,
}

/// How a host's hooks are answered.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostOptions {
    /// Hold calls against the permission rules too.
    pub rules: bool,
}

/// Answers a hook. What cannot be answered at all is decided by the policy of the workspace: see [`unanswered`].
pub async fn answer(
    engine: &Engine,
    host: Host,
    said: &str,
    here: &Path,
    options: HostOptions,
) -> Result<Reply, HostError> {
    let started_ms = now_ms();
    let payload = Payload::read(host, said)?;
    let hearing = Hearing::new(engine, host, &payload, here)?;
    let reply = match (payload.event, &payload.call) {
        (HookEvent::PreToolUse, Some(call)) => hearing.before(call, options).await?,
        (HookEvent::PostToolUse | HookEvent::PostToolUseFailure, Some(call)) => {
            hearing.after(call).await?
        }
        (HookEvent::SessionStart, _) => hearing.session_started()?,
        (HookEvent::UserPromptSubmit, _) => hearing.prompted()?,
        _ => Reply::default(),
    };
    hearing.keep(said, &reply, started_ms)?;
    Ok(reply)
}

/// What a host is told when its hook could not be answered: where the workspace says so, that a call may not go on.
pub fn unanswered(host: Host, said: &str, here: &Path, error: &HostError) -> Reply {
    match error {
        HostError::Payload(PayloadError::UnknownEvent(_)) => {
            Reply { stderr: format!("ona: {error}"), ..Reply::default() }
        }
        _ => unheard(host, said, here, &error.to_string()),
    }
}

/// The same, where not even the hook's words could be taken in.
pub fn unheard(host: Host, said: &str, here: &Path, error: &str) -> Reply {
    let stderr = format!("ona: {error}");
    let known = serde_json::from_str::<Value>(said).ok();
    let field =
        |key: &str| known.as_ref().and_then(|said| said.get(key)?.as_str().map(str::to_owned));
    let dir = field("cwd").map_or_else(|| here.to_owned(), PathBuf::from);
    let is_closed = Workspace::around(&dir)
        .ok()
        .flatten()
        .is_some_and(|workspace| workspace.policy().failure_mode == FailureMode::Closed);
    // Of what is no JSON it cannot be told that it is not about a call.
    let may_be_a_call = field("hook_event_name").is_none_or(|event| event == "PreToolUse");
    if is_closed && may_be_a_call {
        return denied(host, &format!("{error}; failure_mode is closed, so nothing goes on"));
    }
    Reply { stderr, code: 1, ..Reply::default() }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A no, said in every way that hosts have been seen to heed.
fn denied(_host: Host, reason: &str) -> Reply {
    Reply {
        stdout: Some(json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }})),
        stderr: reason.to_owned(),
        code: 2,
    }
}

fn context(event: HookEvent, text: &str) -> Reply {
    Reply {
        stdout: Some(json!({"hookSpecificOutput": {
            "hookEventName": event.as_str(), "additionalContext": text,
        }})),
        ..Reply::default()
    }
}

/// One hook of a host's session.
struct Hearing<'e> {
    engine: &'e Engine,
    host: Host,
    payload: &'e Payload,
    seat: Seat,
    cwd: PathBuf,
    workspace: Option<Arc<Workspace>>,
    redactor: Redactor,
}

impl<'e> Hearing<'e> {
    fn new(
        engine: &'e Engine,
        host: Host,
        payload: &'e Payload,
        here: &Path,
    ) -> Result<Self, HostError> {
        let cwd = payload.cwd.clone().unwrap_or_else(|| here.to_owned());
        let cwd = cwd.canonicalize().unwrap_or(cwd);
        let workspace = Workspace::around(&cwd).ok().flatten().map(Arc::new);
        let project = workspace.as_ref().map_or(cwd.as_path(), |workspace| workspace.root());
        let seat = seat(engine, host, payload, project)?;
        let redactor = Redactor::knowing(engine.config.secrets.iter().cloned());
        Ok(Self { engine, host, payload, seat, cwd, workspace, redactor })
    }

    fn selected(&self, workspace: &Workspace) -> Result<Option<String>, StoreError> {
        let root = workspace.root().to_string_lossy();
        let selected = self.engine.store.selected_intent(&root, Some(&self.seat.session))?;
        Ok(selected.and_then(|selection| selection.intent_id))
    }

    /// A call that is about to run.
    async fn before(&self, call: &HostCall, options: HostOptions) -> Result<Reply, HostError> {
        let id = self.start(call)?;
        let effects = targets::effects(call, &self.cwd);
        let mut answers = Vec::new();
        let mut governed = None;
        let mut selected = None;
        let verdict = 'stages: {
            let standing = self.engine.store.standing(&self.seat.conversation)?;
            if let Some(reason) = phase::forbids(standing, &call.tool) {
                answers.push(Answer::new(Stage::Phase, Verdict::Deny, reason.clone()));
                break 'stages Said::No(reason);
            }
            let phase = format!("the phase is {}", standing.phase);
            answers.push(Answer::new(Stage::Phase, Verdict::Pass, phase));
            let (answer, said) = match &self.workspace {
                Some(_) if call.tool.starts_with(OWN_SERVER) => {
                    match self.own_tool(call)? {
                        Ok(intent) => selected = intent,
                        Err(refusal) => {
                            let said = refusal.to_string();
                            answers.push(Answer::new(Stage::Intent, Verdict::Deny, said.clone()));
                            break 'stages Said::No(said);
                        }
                    }
                    (
                        Answer::new(Stage::Intent, Verdict::Pass, "the handshake itself"),
                        Said::Nothing,
                    )
                }
                Some(workspace) => {
                    let (found, answer, said) = self.hold(workspace, call, &effects)?;
                    governed = Some(found);
                    (answer, said)
                }
                None => (
                    Answer::new(Stage::Intent, Verdict::Pass, "the project has no intents"),
                    Said::Nothing,
                ),
            };
            answers.push(answer);
            match said {
                Said::No(_) => break 'stages said,
                other if !options.rules => break 'stages other,
                other => {
                    let (answer, by_rules) = self.by_rules(call, &effects);
                    answers.push(answer);
                    break 'stages match (by_rules, other) {
                        (Said::Nothing, other) => other,
                        (by_rules, _) => by_rules,
                    };
                }
            }
        };
        self.engine.store.keep_gate(&self.seat, &id, &gate_rows(&answers))?;
        if let Some(intent) = &selected
            && let Some(workspace) = &self.workspace
        {
            let root = workspace.root().to_string_lossy();
            self.engine.store.select_intent(
                &root,
                Some(&self.seat.session),
                Some(intent),
                "agent",
            )?;
        }
        let refused = match &verdict {
            Said::No(reason) => Some(reason.clone()),
            _ => None,
        };
        self.keep_for_later(call, &id, governed.as_ref(), &effects, refused.as_deref()).await?;
        if let Some(reason) = &refused {
            self.refuse(call, &id, governed.as_ref(), &effects, reason).await?;
        }
        Ok(match verdict {
            Said::Nothing => Reply::default(),
            Said::No(reason) => denied(self.host, &reason),
            Said::Ask(reason) if self.host.asks() => Reply {
                stdout: Some(json!({"hookSpecificOutput": {
                    "hookEventName": "PreToolUse", "permissionDecision": "ask",
                    "permissionDecisionReason": reason,
                }})),
                ..Reply::default()
            },
            // The host's own approval is the human's.
            Said::Ask(_) => Reply::default(),
        })
    }

    /// Commits that a call starts. An id that is taken, by a call of long ago, gets a number behind it.
    fn start(&self, call: &HostCall) -> Result<ToolUseId, StoreError> {
        let owner = json!({"host": self.host.as_str(), "session": self.payload.session});
        let mut input = call.input.clone();
        self.redactor.mask_value(&mut input);
        let (store, mut id, mut number) = (&self.engine.store, call.id.clone(), 1);
        while store.knows_call(&id)? {
            number += 1;
            id = ToolUseId::from_existing(format!("{}-{number}", call.id));
        }
        let start = CallStart { id: &id, tool: &call.tool, input: &input, owner: &owner };
        store.start_call(&self.seat, &start)?;
        Ok(id)
    }

    /// A call of ona's own server: the handshake selects for the host's session, which the server does not know.
    fn own_tool(&self, call: &HostCall) -> Result<Result<Option<String>, Value>, StoreError> {
        let (Some(workspace), SELECT) = (&self.workspace, call.tool.as_str()) else {
            return Ok(Ok(None));
        };
        let id = call.input.get("intent_id").and_then(Value::as_str).unwrap_or_default();
        Ok(match workspace.select(id) {
            Ok(selected) => Ok(Some(selected.intent.id)),
            Err(refusal) => Err(refusal.to_json()),
        })
    }

    fn hold(
        &self,
        workspace: &Arc<Workspace>,
        call: &HostCall,
        effects: &Effects,
    ) -> Result<(Governed, Answer, Said), StoreError> {
        let selected = self.selected(workspace)?;
        let stale = self.stale(effects)?;
        let command = payload::command_of(&call.input);
        let subject = Subject {
            tool: &call.tool,
            command: command.as_deref().filter(|_| call.tool == "Bash"),
            input: &call.input,
            effects,
            selected: selected.as_deref(),
            stale: &stale,
        };
        let (governed, ruled) = hold(workspace, &subject);
        let answer = |verdict, reason: String| Answer::new(Stage::Intent, verdict, reason);
        let id = governed.intent.as_ref().map(|intent| intent.id.clone());
        let (answer, said) = match ruled {
            Ruled::Refused(refusal) => (
                answer(Verdict::Deny, refusal.to_string()).with(refusal.to_json()),
                Said::No(refusal.to_json().to_string()),
            ),
            Ruled::Degraded(refusal) => {
                let detail = refusal.to_json();
                let event = Some((crate::intents::DEGRADED, &detail));
                self.engine.store.keep_step(&self.seat, &Step { event, ..Step::default() })?;
                let reason = format!("governance degraded: {}", refusal.message());
                (answer(Verdict::Pass, reason).with(detail), Said::Nothing)
            }
            Ruled::Allowed(None) => {
                let words = match (&id, governed.mutates()) {
                    (Some(id), true) => format!("{id} owns what it would change"),
                    _ => "it changes nothing that an intent owns".to_owned(),
                };
                (answer(Verdict::Pass, words).with(json!({"intent_id": id})), Said::Nothing)
            }
            Ruled::Allowed(Some(why)) => match self.approved_before(call, effects) {
                Some(by) => {
                    let words =
                        format!("it may change files ({why}), and was approved beforehand: {by}");
                    (answer(Verdict::Pass, words), Said::Nothing)
                }
                None => {
                    let words =
                        format!("it may change files, and a human has to approve that: {why}");
                    (answer(Verdict::Ask, words.clone()), Said::Ask(words))
                }
            },
        };
        Ok((governed, answer, said))
    }

    fn stale(&self, effects: &Effects) -> Result<Vec<PathBuf>, StoreError> {
        let mut stale = Vec::new();
        for target in &effects.writes {
            let view = self.engine.store.last_view(&self.seat.session, &target.real)?;
            let Some(view) = view else { continue };
            let now = std::fs::read(&target.real).ok();
            if now.is_none_or(|bytes| ona_types::ContentHash::of(&bytes) != view.hash) {
                stale.push(target.real.clone());
            }
        }
        Ok(stale)
    }

    /// The rules of the settings that ona and Claude Code share, in the mode the host says it is in.
    fn with_rules<T>(
        &self,
        call: &HostCall,
        effects: &Effects,
        tell: impl FnOnce(&Session<'_>, &Call<'_>) -> T,
    ) -> Option<T> {
        let request = JoinRequest { cwd: self.cwd.clone(), conversation: None };
        let session = Session::look(self.engine, &request).ok()?;
        let named = self.payload.permission_mode.as_deref();
        let known = PermissionMode::ALL.iter().find(|(_, name)| Some(*name) == named);
        let mode = known.map(|(mode, _)| *mode);
        let session = session.in_mode(mode);
        let call = Call { tool: &call.tool, input: &call.input, effects };
        Some(tell(&session, &call))
    }

    fn approved_before(&self, call: &HostCall, effects: &Effects) -> Option<String> {
        self.with_rules(call, effects, |session, call| session.approved_before(call)).flatten()
    }

    fn by_rules(&self, call: &HostCall, effects: &Effects) -> (Answer, Said) {
        let found = self.with_rules(call, effects, |session, call| {
            let ruling = session.governance.permissions.judge(call);
            let (reason, detail) = explain::ruling(&ruling);
            (ruling.behavior, reason, detail)
        });
        let Some((behavior, reason, detail)) = found else {
            let reason = "the settings cannot be read".to_owned();
            return (Answer::new(Stage::Rules, Verdict::Deny, reason.clone()), Said::No(reason));
        };
        let answer =
            |verdict, reason: &str| Answer::new(Stage::Rules, verdict, reason).with(detail.clone());
        match behavior {
            Behavior::Deny => (answer(Verdict::Deny, &reason), Said::No(reason)),
            Behavior::Ask => (answer(Verdict::Ask, &reason), Said::Ask(reason)),
            // Allowing is left to the host, which has rules of its own.
            Behavior::Allow => (answer(Verdict::Allow, &reason), Said::Nothing),
        }
    }

    async fn keep_for_later(
        &self,
        call: &HostCall,
        id: &ToolUseId,
        governed: Option<&Governed>,
        effects: &Effects,
        refused: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut pending = Pending {
            tool_use_id: id.to_string(),
            intent: None,
            scope: ScopeValidation::Exempt.as_str().to_owned(),
            claimed: None,
            classified: None,
            refused: refused.map(str::to_owned),
            before: Before::default(),
        };
        if let Some(governed) = governed.filter(|governed| governed.mutates()) {
            pending.intent = governed.intent.as_ref().map(|intent| intent.id.clone());
            pending.scope = governed.scope.as_str().to_owned();
            pending.claimed = governed.claimed.map(|class| class.as_str().to_owned());
            pending.classified = match &governed.class {
                CallClass::Classified(Classified { reason, .. }) => Some(reason.clone()),
                _ => None,
            };
            pending.before = Before::take(governed, &effects.writes).await;
        }
        let found = serde_json::to_value(&pending).unwrap_or_default();
        self.engine.store.begin_foreign_call(&self.seat.session, &call.id, &call.tool, &found)
    }

    /// Records a call that was refused, and has the trace tell of it.
    async fn refuse(
        &self,
        call: &HostCall,
        id: &ToolUseId,
        governed: Option<&Governed>,
        effects: &Effects,
        reason: &str,
    ) -> Result<(), StoreError> {
        if let Some(governed) = governed.filter(|governed| governed.mutates()) {
            let mut entry = record::entry(governed, self.who(call, id));
            record::describe(&mut entry, &[], governed.claimed);
            record::untouched(&mut entry, governed.workspace.root(), &effects.writes);
            record::failed(&mut entry, &self.redactor.mask(reason));
            self.append(&governed.workspace, entry).await?;
        }
        let mut output = ToolOutput::rejected(reason).with_detail("denied_by", self.host.as_str());
        self.redactor.mask_string(&mut output.content);
        self.engine.store.finish_call(&self.seat, id, &CallOutcome::of(&output))
    }

    async fn append(
        &self,
        workspace: &Arc<Workspace>,
        entry: ona_intents::TraceEntry,
    ) -> Result<(), StoreError> {
        let id = entry.id.clone();
        let Err(why) = record::append(workspace, entry).await else { return Ok(()) };
        let detail = json!({"entry": id, "why": why});
        let event = Some(("trace.gap", &detail));
        self.engine.store.keep_step(&self.seat, &Step { event, ..Step::default() })
    }

    fn who(&self, call: &HostCall, id: &ToolUseId) -> Who {
        Who {
            session: self.seat.session.to_string(),
            conversation: Some(self.seat.conversation.to_string()),
            tool_use_id: id.to_string(),
            tool: call.tool.clone(),
            model: self.payload.model.clone(),
            approver: None,
            host: Some(self.host.as_str().to_owned()),
        }
    }

    /// A call that has run.
    async fn after(&self, call: &HostCall) -> Result<Reply, HostError> {
        let found = self.engine.store.end_foreign_call(&self.seat.session, &call.id)?;
        let pending = found.and_then(|found| serde_json::from_value::<Pending>(found).ok());
        let mut output = response(call);
        self.redactor.mask_string(&mut output.content);
        output.views = self.views(call);
        let (id, pending) = match pending {
            Some(pending) => (ToolUseId::from_existing(&pending.tool_use_id), Some(pending)),
            // Nobody asked before it ran.
            None => (self.start(call)?, None),
        };
        let was_refused = pending.as_ref().is_some_and(|pending| pending.refused.is_some());
        let said = self.attribute(call, &id, pending, &mut output).await?;
        if was_refused {
            let detail = json!({"tool_use_id": id, "host": self.host.as_str()});
            let event = Some(("ran_although_refused", &detail));
            self.engine.store.keep_step(&self.seat, &Step { event, ..Step::default() })?;
        } else {
            self.engine.store.finish_call(&self.seat, &id, &CallOutcome::of(&output))?;
        }
        Ok(said.map_or_else(Reply::default, |said| context(self.payload.event, &said)))
    }

    /// Finds what the call changed, and has the trace tell of it. Gives what the agent has to be told.
    async fn attribute(
        &self,
        call: &HostCall,
        id: &ToolUseId,
        pending: Option<Pending>,
        output: &mut ToolOutput,
    ) -> Result<Option<String>, StoreError> {
        let Some(workspace) = &self.workspace else { return Ok(None) };
        let effects = targets::effects(call, &self.cwd);
        let command = payload::command_of(&call.input);
        let subject = Subject {
            tool: &call.tool,
            command: command.as_deref().filter(|_| call.tool == "Bash"),
            input: &call.input,
            effects: &effects,
            selected: pending.as_ref().and_then(|pending| pending.intent.as_deref()),
            stale: &[],
        };
        let (mut governed, _) = hold(workspace, &subject);
        if !governed.mutates() || call.tool.starts_with(OWN_SERVER) {
            return Ok(None);
        }
        let (mut warnings, mut refused) = (Vec::new(), None);
        let changes = match pending {
            Some(pending) => {
                let intents = workspace.intents().ok();
                let intent = intents
                    .as_ref()
                    .map(|intents| intents.find(pending.intent.as_deref().unwrap_or_default()));
                governed.intent = match intent {
                    Some(Found::One(intent)) => Some(intent.clone()),
                    _ => None,
                };
                governed.scope =
                    ScopeValidation::from_name(&pending.scope).unwrap_or(ScopeValidation::Exempt);
                governed.claimed = pending.claimed.as_deref().and_then(MutationClass::from_name);
                if let Some(reason) = pending.classified {
                    governed.class = CallClass::Classified(Classified {
                        class: ona_intents::hook_policy::Class::Destructive,
                        reason,
                    });
                }
                refused = pending.refused;
                pending.before.changes(workspace.root()).await
            }
            None => {
                warnings.push("not_asked_before".to_owned());
                Before::unseen(workspace.root(), &effects.writes).changes(workspace.root()).await
            }
        };
        let mut files = changes.files;
        warnings.extend(changes.warnings);
        let mut entry = record::entry(&governed, self.who(call, id));
        let is_classified = matches!(governed.class, CallClass::Classified(_));
        let mut said = None;
        if is_classified || refused.is_some() {
            let outside = Outside::of(&governed, &mut files, refused.is_some());
            entry.scope_validation = Some(record::scope_after(outside.is_empty(), &files));
            warnings.extend(outside.warnings());
            said = outside.words();
        }
        if refused.is_some() {
            if files.is_empty() && said.is_none() {
                return Ok(None);
            }
            warnings.push("ran_although_refused".to_owned());
            entry.scope_validation = Some(ScopeValidation::Fail);
        }
        record::describe(&mut entry, &files, governed.claimed);
        entry.warnings.extend(warnings);
        if output.is_error() {
            record::failed(&mut entry, &output.content);
        }
        if let Some(said) = &said {
            output.content.push_str(&format!("\n[scope] {said}"));
        }
        self.append(workspace, entry).await?;
        Ok(said)
    }

    /// What the agent knows of files by now: the ones it has read or written.
    fn views(&self, call: &HostCall) -> Vec<FileView> {
        let effects = targets::effects(call, &self.cwd);
        let targets = match call.tool.as_str() {
            "Bash" => Vec::new(),
            _ => effects.reads.into_iter().chain(effects.writes).collect(),
        };
        let view = |real: PathBuf| {
            let bytes = std::fs::read(&real).ok()?;
            let hash = ona_types::ContentHash::of(&bytes);
            Some(FileView { path: real, hash, seen: Seen::Whole })
        };
        targets.into_iter().filter_map(|target| view(target.real)).collect()
    }

    /// What the agent is told when its session starts.
    fn session_started(&self) -> Result<Reply, HostError> {
        let Some(workspace) = &self.workspace else { return Ok(Reply::default()) };
        Ok(context(HookEvent::SessionStart, &self.order(workspace)?))
    }

    /// A prompt of the user: the agent is reminded where there is still no intent.
    fn prompted(&self) -> Result<Reply, HostError> {
        let Some(workspace) = &self.workspace else { return Ok(Reply::default()) };
        match self.selected(workspace)? {
            Some(_) => Ok(Reply::default()),
            None => Ok(context(HookEvent::UserPromptSubmit, &self.order(workspace)?)),
        }
    }

    fn order(&self, workspace: &Workspace) -> Result<String, StoreError> {
        let mut text = format!(
            "Changes in this repository are made for intents. Before the first change call the MCP tool \
             {SELECT} with the id of the intent you work for (or have the user run `ona intent select ID \
             --session {}`); a change outside its owned_scope is refused, with words on how to go on.",
            self.seat.session
        );
        match workspace.intents() {
            Ok(intents) => {
                let open = intents.all.iter().filter(|intent| intent.status().is_open());
                let names: Vec<String> =
                    open.map(|intent| format!("{} ({})", intent.id, intent.title())).collect();
                let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                text.push_str(&format!(" Intents that can be selected: {names}."));
            }
            Err(error) => text.push_str(&format!(" The file of intents cannot be used: {error}.")),
        }
        if let Some(id) = self.selected(workspace)? {
            text.push_str(&format!(" Selected now: {id}."));
        }
        Ok(text)
    }

    /// Puts the hook itself on the record.
    fn keep(&self, said: &str, reply: &Reply, started_ms: i64) -> Result<(), StoreError> {
        let call = self.payload.call.as_ref();
        let text = |text: String| Some(text).filter(|text| !text.is_empty());
        let row = HookInvocation {
            event: self.payload.event,
            ordinal: 0,
            matcher: String::new(),
            command: format!("ona hook {}", self.host.as_str()),
            tool_use_id: call.map(|call| call.id.clone()),
            tool_name: call.map(|call| call.tool.clone()),
            input_json: self.redactor.mask(said).into_owned(),
            exit_code: Some(i32::from(reply.code)),
            stdout_text: reply
                .stdout
                .as_ref()
                .map(|json| self.redactor.mask(&json.to_string()).into_owned()),
            stderr_text: text(self.redactor.mask(&reply.stderr).into_owned()),
            started_ms,
            completed_ms: Some(now_ms()),
            skipped_reason: None,
        };
        let detail = json!({"host": self.host.as_str()});
        let event = match self.payload.event {
            HookEvent::SessionStart => Some(("session.started", &detail)),
            HookEvent::SessionEnd => Some(("session.ended", &detail)),
            _ => None,
        };
        self.engine.store.keep_step(&self.seat, &Step { hooks: &[row], event, ..Step::default() })
    }
}

/// What the stages come to.
enum Said {
    Nothing,
    Ask(String),
    No(String),
}

/// The seat of a host's session, which is made when it is first heard of.
fn seat(
    engine: &Engine,
    host: Host,
    payload: &Payload,
    project: &Path,
) -> Result<Seat, StoreError> {
    let mut id = payload.session.clone();
    for _ in 0..2 {
        match engine.store.session(&id)? {
            Some(row) if row.origin == host.as_str() => {
                return Ok(Seat {
                    conversation: ona_types::ConversationId::from_existing(row.conversation_id),
                    session: id,
                    project_dir: row.project_dir,
                    cwd: None,
                });
            }
            // A session of ona's own, or of another host, is not to be had by naming it.
            Some(_) => {
                id = ona_types::SessionId::from_existing(format!(
                    "{}{NOT_THEIRS}{id}",
                    host.as_str()
                ));
            }
            None => break,
        }
    }
    let made = engine.store.new_session(&NewSession {
        project_dir: &project.to_string_lossy(),
        conversation: None,
        id: Some(&id),
        origin: host.as_str(),
        name: None,
    });
    match made {
        // The other hook of the same moment was faster.
        Err(StoreError::SessionExists(_)) => match engine.store.session(&id)? {
            Some(row) => Ok(Seat {
                conversation: ona_types::ConversationId::from_existing(row.conversation_id),
                session: id,
                project_dir: row.project_dir,
                cwd: None,
            }),
            None => Err(StoreError::SessionExists(id.to_string())),
        },
        other => other,
    }
}

/// What came of a call, as far as the host says it.
fn response(call: &HostCall) -> ToolOutput {
    let text = match (&call.error, &call.response) {
        (Some(error), _) => error.clone(),
        (None, Some(Value::String(text))) => text.clone(),
        (None, Some(other)) => other.to_string(),
        (None, None) => String::new(),
    };
    let text: String = text.chars().take(LONGEST_RESPONSE).collect();
    let failed = call.error.is_some()
        || call.response.as_ref().is_some_and(|response| {
            response.get("success").and_then(Value::as_bool) == Some(false)
                || response.get("is_error").and_then(Value::as_bool) == Some(true)
                || response.get("exit_code").and_then(Value::as_i64).is_some_and(|code| code != 0)
        });
    if failed { ToolOutput::rejected(text) } else { ToolOutput::success(text) }
}
