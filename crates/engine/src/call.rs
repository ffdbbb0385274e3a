//! The path of one tool call.

use std::borrow::Cow;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use ona_front::Event;
use ona_hooks::Fired;
use ona_policy::secrets::Redactor;
use ona_policy::{Stage, ToolPermit, Verdict};
use ona_sandbox::Owner;
use ona_store::{CallOutcome, CallStart, Decision, GateRow, StoreError};
use ona_tools::{Asks, Hides, Running, STRUCTURED_OUTPUT, ToolContext, Views};
use ona_types::hook::{HookDetail, HookInvocation};
use ona_types::{Change, FileView, SessionId, ToolOutput, ToolUseId};
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::gate::{Denial, PendingCall, gate_rows};
use crate::intents::vouch;
use crate::mcp::PREFIX;
use crate::session::{Engine, Session};
use ona_front::Human;

/// The key under which arguments that were no JSON are kept.
pub(crate) const INVALID_JSON: &str = "invalid_json";

/// As many tools of servers are named where one is asked for that there is not.
const MOST_NAMED: usize = 40;

/// What the caller is told, once it is on the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallReport {
    /// The call's id.
    pub tool_use_id: ToolUseId,
    /// What the model sees.
    pub content: String,
    /// Whether the call failed.
    pub is_error: bool,
    /// A hook or the human wants the agent to stop, for this reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// The gate said no.
    #[serde(skip)]
    pub denied: bool,
    /// The answer that was given by it, as hooks left it.
    #[serde(skip)]
    pub answer: Option<Value>,
}

/// The record could not be written.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Before the tool ran: nothing has happened.
    #[error(transparent)]
    NotStarted(StoreError),
    /// After it ran.
    #[error("the tool has run, but what came of it could not be recorded ({id}): {cause}")]
    OutcomeLost {
        /// The call, which now counts as interrupted.
        id: ToolUseId,
        /// What went wrong.
        cause: StoreError,
    },
}

impl Session {
    /// Takes one call of the operator's all the way.
    pub async fn call(
        &mut self,
        tool: &str,
        input: &Value,
        cancel: &CancellationToken,
    ) -> Result<CallReport, CallError> {
        self.call_as(ToolUseId::generate(), tool, input, cancel).await
    }

    /// Takes one call all the way, when it is its turn. An error means that the record could not be written, and says
    /// whether the tool has run; everything that goes wrong with the call itself is in the report.
    pub(crate) async fn call_as(
        &mut self,
        id: ToolUseId,
        tool: &str,
        input: &Value,
        cancel: &CancellationToken,
    ) -> Result<CallReport, CallError> {
        self.enter().await;
        let report = self.call_now(id, tool, input, cancel).await;
        self.leave();
        report
    }

    async fn call_now(
        &mut self,
        id: ToolUseId,
        tool: &str,
        input: &Value,
        cancel: &CancellationToken,
    ) -> Result<CallReport, CallError> {
        let owner = json!(Owner::current());
        let mut kept = input.clone();
        self.governance.redactor.mask_value(&mut kept);
        let name = self.governance.redactor.mask(tool).into_owned();
        let start = CallStart { id: &id, tool: &name, input: &kept, owner: &owner };
        self.engine.store.start_call(&self.seat, &start).map_err(CallError::NotStarted)?;
        let started = Instant::now();
        self.find_workspace();
        let known = self.tool(tool);
        let mut answer = None;
        let mut done = match (&known, self.unusable(tool, input)) {
            (_, Some(reason)) => Done::refused(reason),
            (None, None) => Done::refused(self.no_such_tool(tool)),
            (Some(known), None) => {
                let mut input = input.clone();
                // Answers are the user's to give, or a hook's.
                if known.asks() == Asks::AnAnswer && self.front.human() != Human::Operator {
                    for key in ["answers", "annotations"] {
                        input.as_object_mut().map(|input| input.remove(key));
                    }
                }
                if known.name() == "Agent" {
                    self.same_kind_again(&mut input);
                }
                let mut call = PendingCall::new(&id, &**known, input);
                let output = self.run(&mut call, cancel).await;
                if known.name() == STRUCTURED_OUTPUT && !output.is_error() {
                    answer = Some(call.input.clone());
                }
                self.keep_trace(&mut call, &output).await;
                if let (Some(_), Some(workspace)) = (&output.intent, &self.workspace)
                    && let Err(error) = vouch(&self.engine.store, workspace)
                {
                    self.front.tell(Event::Warning { text: error.to_string() });
                }
                Done::of(output, call)
            }
        };
        let moved = done.output.cwd.clone();
        done.redact(&self.governance.redactor);
        let outcome = CallOutcome {
            output: &done.output,
            duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            hooks: &done.hooks,
            gate: &done.gate,
            decisions: &done.decisions,
            contexts: &done.contexts,
            events: &done.events,
        };
        self.engine
            .store
            .finish_call(&self.seat, &id, &outcome)
            .map_err(|cause| CallError::OutcomeLost { id: id.clone(), cause })?;
        self.follow_phase(&done.output.changes);
        if let Some(cwd) = moved {
            self.governance.moved(&cwd);
            self.place.cwd = cwd;
        }
        Ok(CallReport {
            tool_use_id: id,
            is_error: done.output.is_error(),
            denied: done.output.detail.contains_key("denied_by"),
            content: done.output.content,
            stop: done.stop,
            answer,
        })
    }

    /// Why a call is none: the model's arguments were no JSON, or the tool is not offered in this session.
    fn unusable(&self, tool: &str, input: &Value) -> Option<String> {
        if let Some(text) = input.get(INVALID_JSON).and_then(Value::as_str) {
            let why = match serde_json::from_str::<Value>(text) {
                Err(error) => error.to_string(),
                Ok(_) => "not a JSON object".to_owned(),
            };
            return Some(format!(
                "the arguments of {tool} are no valid JSON ({why}); nothing was run: call it again with a \
                 JSON object"
            ));
        }
        let known = self.tool(tool);
        let name = known.as_ref().map_or(tool, |tool| tool.name());
        (!self.has(name)).then(|| {
            format!(
                "there is no tool `{tool}` in this session; the tools are {}",
                self.offered().join(", ")
            )
        })
    }

    fn no_such_tool(&self, name: &str) -> String {
        if let Some(why) = self.server_is_away(name) {
            return why;
        }
        // Tools of servers may be thousands.
        let (brought, own): (Vec<String>, Vec<String>) =
            self.tool_names().into_iter().partition(|name| name.starts_with(PREFIX));
        let more = match (brought.len(), self.deferred_tools().is_empty()) {
            (0, _) => String::new(),
            (few, true) if few <= MOST_NAMED => format!(", {}", brought.join(", ")),
            (more, true) => format!(", and {more} of MCP servers"),
            (more, false) => format!(", and {more} of MCP servers, which ToolSearch finds"),
        };
        format!("there is no tool `{name}`; the tools are {}{more}", own.join(", "))
    }

    /// The gate, the tool, and the hooks that hear what became of it.
    async fn run(&mut self, call: &mut PendingCall<'_>, cancel: &CancellationToken) -> ToolOutput {
        let permit = match self.judge(call, cancel).await {
            Ok(permit) => permit,
            Err(Denial::Store(error)) => return ToolOutput::internal(error.to_string()),
            Err(Denial::By(stage, reason)) => {
                self.refused(call, &reason);
                let mut content = self.refusal_text(call, stage, &reason);
                // Hooks need not be told what a hook, or the schema, has said.
                if !matches!(stage, Stage::Input | Stage::Hooks) {
                    let (tool_name, tool_input, tool_use_id) = call.named();
                    let detail =
                        HookDetail::PermissionDenied { tool_name, tool_input, tool_use_id, reason };
                    if self.tell(call, detail, cancel).await.retry {
                        content.push_str("\n(a hook says that it may be tried again)");
                    }
                }
                let mut output =
                    ToolOutput::rejected(content).with_detail("denied_by", stage.as_str());
                if let Some(plan) = self.plan_to_keep(call, stage) {
                    if matches!(plan, Change::PlanSubmitted(_)) {
                        output.content.push_str(
                            "\nThe plan is kept as a draft: `ona plan show` shows it, and whoever may approves it \
                             with `ona plan approve`",
                        );
                    }
                    output.changes.push(plan);
                }
                // Where something was asked, whose no it is: that of nobody is no human's.
                return match call.answers.last().and_then(|answer| answer.detail["by"].as_str()) {
                    Some(who) if stage == Stage::Human => output.with_detail("decided_by", who),
                    _ => output,
                };
            }
        };
        if let Some(refused) = self.announce_task(call, cancel).await {
            return refused;
        }
        let mut before = self.observe(call).await;
        let mut output = self.run_tool(call, permit, cancel).await;
        self.announce(call, &mut output, cancel).await;
        // What a command changed is told before hooks add to it; what a tool wrote, as hooks leave it.
        if let Some(tree) = before.take_if(|before| before.is_tree()) {
            self.attribute(call, tree, &mut output).await;
        }
        if let Some(before) = &mut before {
            before.compare_with(&output.views);
        }
        // Hooks read it too, so it is clean before they do.
        if self.governance.redactor.mask_string(&mut output.content) {
            output.detail.insert("redacted".to_owned(), Value::Bool(true));
        }
        let (tool_name, tool_input, tool_use_id) = call.named();
        let content = output.content.clone();
        let detail = if output.is_error() {
            HookDetail::PostToolUseFailure {
                tool_name,
                tool_input,
                tool_use_id,
                error: content,
                is_interrupt: cancel.is_cancelled().then_some(true),
            }
        } else {
            let tool_response = Value::String(content);
            HookDetail::PostToolUse { tool_name, tool_input, tool_response, tool_use_id }
        };
        self.tell(call, detail, cancel).await;
        if let Some(before) = before {
            self.attribute(call, before, &mut output).await;
        }
        output
    }

    async fn run_tool(
        &self,
        call: &PendingCall<'_>,
        permit: ToolPermit,
        cancel: &CancellationToken,
    ) -> ToolOutput {
        let views = SessionViews {
            engine: &self.engine,
            session: &self.seat.session,
            redactor: &self.governance.redactor,
        };
        let permissions = Arc::clone(&self.governance.permissions);
        let hides: Hides = if permissions.hides_nothing() {
            Arc::new(|_| false)
        } else {
            Arc::new(move |path| permissions.hides(path))
        };
        let cx = ToolContext {
            tool_use_id: call.id,
            session: &self.seat.session,
            place: &self.place,
            views: &views,
            hides: &hides,
            desk: self,
            redactor: &self.governance.redactor,
            settings: &self.engine.settings,
            host: &self.governance.host,
            cancel,
        };
        let input = self.bare_input(call.tool, &call.input);
        guarded(call.tool.run(permit, &input, &cx)).await
    }

    /// Fires an event about a call that can no longer change it. What hooks say goes to the model.
    async fn tell(
        &self,
        call: &mut PendingCall<'_>,
        detail: HookDetail,
        cancel: &CancellationToken,
    ) -> Fired {
        let fired = self.fire(call, detail, cancel).await;
        // S0 §5.6, 5: what blocks afterwards is told, in the order of the hooks.
        if fired.denies() {
            call.contexts.push(fired.denial());
        }
        fired
    }
}

/// Everything that came of a call.
struct Done {
    output: ToolOutput,
    gate: Vec<GateRow>,
    hooks: Vec<HookInvocation>,
    decisions: Vec<Decision>,
    contexts: Vec<String>,
    stop: Option<String>,
    events: Vec<(String, Value)>,
}

impl Done {
    fn of(output: ToolOutput, call: PendingCall<'_>) -> Self {
        Self {
            output,
            gate: gate_rows(&call.answers),
            hooks: call.hooks,
            decisions: call.decisions,
            contexts: call.contexts,
            stop: call.stop,
            events: call.events,
        }
    }

    /// What was no call at all.
    fn refused(reason: String) -> Self {
        let gate = GateRow {
            stage: Stage::Input.as_str().to_owned(),
            verdict: Verdict::Deny.as_str().to_owned(),
            reason: reason.clone(),
            detail: Value::Null,
        };
        Self {
            output: ToolOutput::rejected(reason),
            gate: vec![gate],
            hooks: Vec::new(),
            decisions: Vec::new(),
            contexts: Vec::new(),
            stop: None,
            events: Vec::new(),
        }
    }

    /// What hooks printed was masked when it was read; here goes whatever else is kept (DESIGN §5, no. 27).
    fn redact(&mut self, redactor: &Redactor) {
        redactor.mask_string(&mut self.output.content);
        if let Some(task) = &mut self.output.task {
            redactor.mask_string(&mut task.command);
        }
        // The session goes on where it is; the record knows as much of the name as it may.
        let views = self.output.views.iter_mut().map(|view| &mut view.path);
        for path in views.chain(&mut self.output.cwd) {
            *path = masked_path(redactor, path);
        }
        for value in self.output.detail.values_mut() {
            redactor.mask_value(value);
        }
        for row in &mut self.gate {
            redactor.mask_string(&mut row.reason);
            redactor.mask_value(&mut row.detail);
        }
        for decision in &mut self.decisions {
            redactor.mask_value(&mut decision.reason);
        }
        for row in &mut self.hooks {
            redactor.mask_string(&mut row.input_json);
        }
        for (_, detail) in &mut self.events {
            redactor.mask_value(detail);
        }
    }
}

/// A panic in a tool is that call's failure, not the session's end.
async fn guarded(mut running: Running<'_>) -> ToolOutput {
    poll_fn(|task| {
        let polled = catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(task)));
        polled.unwrap_or_else(|_| {
            Poll::Ready(ToolOutput::internal("the tool crashed; this is a bug in ona"))
        })
    })
    .await
}

/// A path as the record may keep it.
pub(crate) fn masked_path(redactor: &Redactor, path: &Path) -> PathBuf {
    match redactor.mask(&path.to_string_lossy()) {
        Cow::Borrowed(_) => path.to_owned(),
        Cow::Owned(masked) => masked.into(),
    }
}

/// What this session has seen of files, asked of the record.
struct SessionViews<'a> {
    engine: &'a Engine,
    session: &'a SessionId,
    redactor: &'a Redactor,
}

impl Views for SessionViews<'_> {
    fn last_view(&self, path: &Path) -> Result<Option<FileView>, String> {
        // Files that differ in nothing but a secret share a row; whether it is about this one, its hash says.
        let known = self.engine.store.last_view(self.session, &masked_path(self.redactor, path));
        let known = known.map_err(|error| error.to_string())?;
        Ok(known.map(|view| FileView { path: path.to_owned(), ..view }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    #[allow(clippy::panic, reason = "the panic is what is tested")]
    async fn a_panic_becomes_an_internal_failure() {
        let output = guarded(Box::pin(async { panic!("boom") })).await;
        assert!(output.is_error());
        assert!(output.content.starts_with("[SDLC_INTERNAL]"));
    }
}
