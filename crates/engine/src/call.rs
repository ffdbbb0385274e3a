//! The path of one tool call.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::task::Poll;
use std::time::Instant;

use ona_sandbox::Owner;
use ona_store::{CallStart, StoreError};
use ona_tools::{Running, ToolContext, Views};
use ona_types::{FileView, SessionId, ToolOutput, ToolUseId};
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

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
        cancel: &CancellationToken,
    ) -> Result<CallReport, CallError> {
        let store = &self.engine.store;
        let id = ToolUseId::generate();
        let owner = json!(Owner::current());
        let start = CallStart { id: &id, tool, input, owner: &owner };
        store.start_call(&self.seat, &start).map_err(CallError::NotStarted)?;
        let started = Instant::now();
        let output = self.run(&id, tool, input, cancel).await;
        let duration = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        store
            .finish_call(&self.seat, &id, &output, duration)
            .map_err(|cause| CallError::OutcomeLost { id: id.clone(), cause })?;
        let is_error = output.is_error();
        Ok(CallReport { tool_use_id: id, content: output.content, is_error })
    }

    async fn run(
        &self,
        id: &ToolUseId,
        name: &str,
        input: &Value,
        cancel: &CancellationToken,
    ) -> ToolOutput {
        let Some(tool) = ona_tools::find(name) else {
            let names: Vec<&str> = ona_tools::TOOLS.iter().map(|tool| tool.name()).collect();
            return ToolOutput::rejected(format!(
                "there is no tool `{name}`; the tools are {}",
                names.join(", ")
            ));
        };
        if let Err(error) = tool.prepare(input, &self.place) {
            return ToolOutput::rejected(error.to_string());
        }
        let views = SessionViews { engine: self.engine, session: &self.seat.session };
        let cx = ToolContext {
            tool_use_id: id,
            session: &self.seat.session,
            place: &self.place,
            views: &views,
            settings: &self.engine.settings,
            host: &self.engine.host,
            cancel,
        };
        guarded(tool.run(input, &cx)).await
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
