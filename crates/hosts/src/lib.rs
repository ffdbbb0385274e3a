//! Other agents behind the same gate: their hooks report calls, which the same stages judge.
//!
//! A host starts ona once before a call and once after it. The first process judges, answers and stores what is needed
//! afterwards; the second finds the changes, and completes record and trace. A host may ignore an answer, so a call
//! that ran although it was refused is recorded as such.

mod after;
mod before;
pub mod install;
mod payload;
pub mod project;
#[cfg(test)]
mod same_gate;
#[cfg(test)]
mod same_masks;
mod served_tools;
mod session;
mod targets;
pub mod tools;

pub use served_tools::ServedTools;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ona_intents::Workspace;
use ona_intents::hook_policy::FailureMode;
use ona_store::{HeardHook, StoreError};
use ona_tools::Place;
use ona_trace::TraceEntry;
use ona_types::PermissionMode;
use ona_types::hook::{HookEvent, HookInvocation};
use serde_json::{Value, json};

use ona_gate::core::Core;
use ona_gate::governance::{
    Governance, GovernanceError, LoadOptions, Remember, Unread, Untrusted, learn_secrets,
};
use ona_gate::intents::record;
use ona_gate::services::{AgentIdentity, EngineServices};
use ona_gate::{Gate, Record};
use payload::Payload;
pub use payload::PayloadError;

/// A host whose hooks ona answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
}

impl Host {
    /// All hosts, with their names in commands and records.
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

    /// Whether a hook's `ask` makes the host ask. Codex ignores it.
    fn asks(self) -> bool {
        self == Self::ClaudeCode
    }
}

/// The answer to the host: JSON on standard output, text on standard error, and an exit code.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The JSON, if any.
    pub stdout: Option<Value>,
    /// The text.
    pub stderr: String,
    /// 0: continue. 2: denied.
    pub code: u8,
}

/// Why a hook has no answer.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The hook's input is not valid.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The settings cannot be used.
    #[error(transparent)]
    Governance(#[from] GovernanceError),
    /// The record failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The prefix of files in which the first hook of a call stores the state before it.
const BEFORE: &str = "before-";

/// How a host's hooks are answered.
#[derive(Clone, Debug, Default)]
pub struct HostOptions {
    /// Apply the permission rules too.
    pub rules: bool,
    /// The project, if the host names it.
    pub project_dir: Option<PathBuf>,
    /// Why the record cannot be used, if so: then another one in memory takes its place, and only the rules judge.
    pub without_record: Option<String>,
}

/// Answers a hook. If that fails, the policy of the workspace decides: see [`unanswered`].
pub async fn answer(
    core: &Arc<Core>,
    host: Host,
    said: &str,
    here: &Path,
    options: HostOptions,
) -> Result<Reply, HostError> {
    let mut payload = Payload::read(host, said)?;
    // Before the first row: what the settings say is secret must not depend on when they are read.
    let cwd = payload.cwd.as_deref().unwrap_or(here);
    learn_secrets(&core.config, &core.store, &cwd.canonicalize().unwrap_or(cwd.to_owned()))?;
    payload.hide_secrets(host, &core.config.redactor());
    let mut host_hook = HostHook::new(core, host, (&payload, said), here, &options)?;
    let reply = match (payload.event, &payload.call) {
        (HookEvent::PreToolUse, Some(call)) => return host_hook.before(call, &options).await,
        (HookEvent::PostToolUse | HookEvent::PostToolUseFailure, Some(call)) => {
            return host_hook.after(call).await;
        }
        (HookEvent::SessionStart, _) => host_hook.session_started()?,
        (HookEvent::SessionEnd, _) => host_hook.session_ended()?,
        (HookEvent::Stop, _) => host_hook.stopped()?,
        (HookEvent::UserPromptSubmit, _) => host_hook.prompted()?,
        _ => Reply::default(),
    };
    let hook = host_hook.row(&reply);
    let events = host_hook.events();
    let heard = HeardHook { hook: &hook, events: &events };
    core.store.foreign_hook(host_hook.gate.seat(), &heard)?;
    Ok(reply)
}

/// The answer to a host if its hook failed: a denial, if the policy of the workspace says so. If the rules were to judge
/// the call, its user decides, or nobody does: they might forbid it.
pub fn unanswered(host: Host, said: &str, here: &Path, rules: bool, error: &str) -> Reply {
    let reply = unheard(said, here, error);
    let known = serde_json::from_str::<Value>(said).ok();
    let event = known.as_ref().and_then(|said| said.get("hook_event_name")?.as_str());
    if !rules
        || reply.code == 2
        || event.is_some_and(|event| event != HookEvent::PreToolUse.as_str())
    {
        return reply;
    }
    let reason = format!("{error}; so the rules cannot judge the call");
    match event {
        Some(_) if host.asks() => asking(&reason),
        _ => denied(&reason),
    }
}

/// What the policy of the workspace says of a hook that failed.
fn unheard(said: &str, here: &Path, error: &str) -> Reply {
    let stderr = format!("ona: {error}");
    let known = serde_json::from_str::<Value>(said).ok();
    let field =
        |key: &str| known.as_ref().and_then(|said| said.get(key)?.as_str().map(str::to_owned));
    let dir = field("cwd").map_or_else(|| here.to_owned(), PathBuf::from);
    let is_closed = Workspace::around(&dir)
        .ok()
        .flatten()
        .is_some_and(|workspace| workspace.policy().failure_mode == FailureMode::Closed);
    // Input that is not JSON may be about a call.
    let may_be_a_call = field("hook_event_name").is_none_or(|event| event == "PreToolUse");
    if is_closed && may_be_a_call {
        return denied(&format!("{error}; failure_mode is closed, so the call is denied"));
    }
    Reply { stderr, code: 1, ..Reply::default() }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A denial, in every form that hosts respect.
fn denied(reason: &str) -> Reply {
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

/// A question, which the host puts to its user.
fn asking(reason: &str) -> Reply {
    Reply {
        stdout: Some(json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "ask",
            "permissionDecisionReason": reason,
        }})),
        ..Reply::default()
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

/// The agent of a host's session.
struct HostAgent {
    host: Host,
    model: Option<String>,
}

impl EngineServices for HostAgent {
    fn identity(&self) -> AgentIdentity {
        AgentIdentity { host: Some(self.host.as_str().to_owned()), ..AgentIdentity::default() }
    }

    fn model_name(&self) -> Option<String> {
        self.model.clone()
    }
}

/// One hook of a host's session.
struct HostHook<'e> {
    host: Host,
    payload: &'e Payload,
    /// The hook's input, and when it came.
    said: &'e str,
    started_ms: i64,
    /// Judges the session's calls.
    gate: Gate,
    /// What is recorded with the hook.
    events: Vec<(String, Value)>,
}

impl<'e> HostHook<'e> {
    fn new(
        core: &Arc<Core>,
        host: Host,
        (payload, said): (&'e Payload, &'e str),
        here: &Path,
        options: &HostOptions,
    ) -> Result<Self, HostError> {
        let cwd = payload.cwd.clone().unwrap_or_else(|| here.to_owned());
        let cwd = cwd.canonicalize().unwrap_or(cwd);
        let around = |dir: &Path| Workspace::around(dir).ok().flatten();
        let here = around(&cwd);
        let project = here.as_ref().map_or(cwd.as_path(), |workspace| workspace.root());
        let seat = session::seat(core, host, payload, project)?;
        // An agent that changes its directory stays in the workspace in which its session began.
        let began = options.project_dir.as_deref().and_then(around);
        let began = began.or_else(|| around(Path::new(&seat.project_dir)));
        let workspace = began.or(here).map(Arc::new);
        // Which intent is selected is not known either: its policy has had its say.
        let workspace = workspace.filter(|_| options.without_record.is_none());
        let without_record = options.without_record.clone();
        let place =
            Place { project_dir: cwd.clone(), cwd, additional_dirs: Vec::new(), home: None };
        // What cannot be read is answered with each call that the rules judge.
        let options = LoadOptions {
            remember: Remember::Nothing,
            untrusted: Untrusted::IsHeldBack,
            unread: Unread::IsTold,
        };
        let mut governance = Governance::load(core, &seat, place, options)?;
        governance.unread.extend(without_record);
        // The host names its mode, which may be one of ona's.
        let mode = payload.permission_mode.as_deref();
        let mode = mode.and_then(|mode| mode.parse::<PermissionMode>().ok());
        if let Some(mode) = mode.filter(|mode| governance.may_use(*mode)) {
            governance.use_mode(mode);
        }
        let record = Record { core: Arc::clone(core), seat };
        let agent = Arc::new(HostAgent { host, model: payload.model.clone() });
        let mut gate = Gate::new(record, governance, agent);
        gate.use_workspace(workspace);
        Ok(Self { host, payload, said, started_ms: now_ms(), gate, events: Vec::new() })
    }

    fn selected(&self, workspace: &Workspace) -> Result<Option<String>, StoreError> {
        self.gate.selected_intent(workspace)
    }

    /// Appends to the trace. A gap is recorded and stops nothing (S2 §3.3).
    async fn append(&mut self, workspace: &Arc<Workspace>, entry: TraceEntry) {
        let ((kind, what), _) = record::appended(workspace, entry, self.gate.redactor()).await;
        self.events.push((kind, json!({"what": what})));
    }

    /// The events of the hook, for the record.
    fn events(&self) -> Vec<(&str, Value)> {
        let mut events = Vec::new();
        for (kind, detail) in &self.events {
            let mut detail = detail.clone();
            self.gate.redactor().mask_event(&mut detail);
            events.push((kind.as_str(), detail));
        }
        events
    }

    /// The hook, for the record.
    fn row(&self, reply: &Reply) -> HookInvocation {
        let call = self.payload.call.as_ref();
        let masked = |text: &str| self.gate.masked(text);
        let mut input_json = self.said.to_owned();
        self.gate.redactor().mask_json(&mut input_json);
        HookInvocation {
            event: self.payload.event,
            ordinal: 0,
            matcher: String::new(),
            command: format!("ona hook {}", self.host.as_str()),
            tool_use_id: call.map(|call| call.id.clone()),
            tool_name: call.map(|call| masked(&call.tool)),
            input_json,
            exit_code: Some(i32::from(reply.code)),
            stdout_text: reply.stdout.as_ref().map(|json| masked(&json.to_string())),
            stderr_text: Some(masked(&reply.stderr)).filter(|text| !text.is_empty()),
            started_ms: self.started_ms,
            completed_ms: Some(now_ms()),
            skipped_reason: None,
        }
    }
}
