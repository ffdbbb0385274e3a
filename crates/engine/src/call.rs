//! The path of one tool call.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use ona_policy::{Stage, Verdict};
use ona_sandbox::Owner;
use ona_store::{CallOutcome, CallStart, Decision, GateRow, StoreError};
use ona_tools::{Hides, Running, ToolContext, Views};
use ona_types::hook::{HookDetail, HookInvocation};
use ona_types::{FileView, SessionId, ToolOutput, ToolUseId};
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::ask::Human;
use crate::gate::{Denial, PendingCall};
use crate::session::{Engine, Session};

/// What the caller is told, once it is on the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallReport {
    /// The call's id.
    pub tool_use_id: ToolUseId,
    /// What the model sees.
    pub content: String,
    /// Whether the call failed.
    pub is_error: bool,
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

impl Session<'_> {
    /// Takes one call all the way. An error means that the record could not be written, and says whether
    /// the tool has run; everything that goes wrong with the call itself is in the report.
    pub async fn call(
        &self,
        tool: &str,
        input: &Value,
        human: Human<'_>,
        cancel: &CancellationToken,
    ) -> Result<CallReport, CallError> {
        let store = &self.engine.store;
        let id = ToolUseId::generate();
        let owner = json!(Owner::current());
        let start = CallStart { id: &id, tool, input, owner: &owner };
        store.start_call(&self.seat, &start).map_err(CallError::NotStarted)?;
        let started = Instant::now();
        let done = match ona_tools::find(tool) {
            None => Done::without_tool(tool),
            Some(known) => {
                let mut call = PendingCall::new(&id, known, input.clone());
                let output = self.run(&mut call, human, cancel).await;
                Done {
                    output,
                    gate: call.rows(),
                    hooks: call.hooks,
                    decisions: call.decisions,
                    contexts: call.contexts,
                }
            }
        };
        let outcome = CallOutcome {
            output: &done.output,
            duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            hooks: &done.hooks,
            gate: &done.gate,
            decisions: &done.decisions,
            contexts: &done.contexts,
        };
        store
            .finish_call(&self.seat, &id, &outcome)
            .map_err(|cause| CallError::OutcomeLost { id: id.clone(), cause })?;
        let is_error = done.output.is_error();
        Ok(CallReport { tool_use_id: id, content: done.output.content, is_error })
    }

    /// The gate, the tool, and the hooks that hear what became of it.
    async fn run(
        &self,
        call: &mut PendingCall<'_>,
        human: Human<'_>,
        cancel: &CancellationToken,
    ) -> ToolOutput {
        let permit = match self.judge(call, human, cancel).await {
            Ok(permit) => permit,
            Err(Denial::Store(error)) => return ToolOutput::internal(error.to_string()),
            Err(Denial::By(stage, reason)) => {
                // Hooks need not be told what a hook, or the schema, has said.
                if !matches!(stage, Stage::Input | Stage::Hooks) {
                    self.fire(
                        call,
                        |tool_name, tool_input, tool_use_id| HookDetail::PermissionDenied {
                            tool_name,
                            tool_input,
                            tool_use_id,
                            reason: reason.clone(),
                        },
                        cancel,
                    )
                    .await;
                }
                return ToolOutput::rejected(reason).with_detail("denied_by", stage.as_str());
            }
        };
        let views = SessionViews { engine: self.engine, session: &self.seat.session };
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
            settings: &self.engine.settings,
            host: &self.engine.host,
            cancel,
        };
        let input = call.input.clone();
        let output = guarded(call.tool.run(permit, &input, &cx)).await;
        let (content, failed) = (output.content.clone(), output.is_error());
        let interrupted = cancel.is_cancelled();
        self.fire(
            call,
            |tool_name, tool_input, tool_use_id| {
                if failed {
                    HookDetail::PostToolUseFailure {
                        tool_name,
                        tool_input,
                        tool_use_id,
                        error: content,
                        is_interrupt: interrupted.then_some(true),
                    }
                } else {
                    HookDetail::PostToolUse {
                        tool_name,
                        tool_input,
                        tool_response: Value::String(content),
                        tool_use_id,
                    }
                }
            },
            cancel,
        )
        .await;
        output
    }

    /// Fires an event about a call that can no longer change it. What hooks say goes to the model.
    async fn fire(
        &self,
        call: &mut PendingCall<'_>,
        detail: impl FnOnce(String, Value, ToolUseId) -> HookDetail,
        cancel: &CancellationToken,
    ) {
        let detail = detail(call.tool.name().to_owned(), call.input.clone(), call.id.clone());
        let base = self.hook_base();
        let hooks = &self.governance.hooks;
        let mut fired = hooks.fire(&base, detail, Some(&call.effects), cancel).await;
        call.take(&mut fired);
        // S0 §5.6, 5: what blocks afterwards is told, in the order of the hooks.
        if fired.denies() {
            call.contexts.push(fired.denial());
        }
    }
}

/// Everything that came of a call.
struct Done {
    output: ToolOutput,
    gate: Vec<GateRow>,
    hooks: Vec<HookInvocation>,
    decisions: Vec<Decision>,
    contexts: Vec<String>,
}

impl Done {
    fn without_tool(name: &str) -> Self {
        let names: Vec<&str> = ona_tools::TOOLS.iter().map(|tool| tool.name()).collect();
        let reason = format!("there is no tool `{name}`; the tools are {}", names.join(", "));
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

/// What this session has seen of files, asked of the record.
struct SessionViews<'a> {
    engine: &'a Engine,
    session: &'a SessionId,
}

impl Views for SessionViews<'_> {
    fn last_view(&self, path: &Path) -> Result<Option<FileView>, String> {
        self.engine.store.last_view(self.session, path).map_err(|error| error.to_string())
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
