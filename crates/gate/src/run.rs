//! Running a tool that the gate has permitted.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::task::Poll;

use ona_policy::secrets::Redactor;
use ona_store::Store;
use ona_tools::{Hides, Running, ToolContext, Views};
use ona_types::gate::{Judged as _, Permit};
use ona_types::{BoxError, FileView, SessionId, ToolOutput};

use super::judgement::Judgement;
use super::masked_path::masked_path;

impl Judgement<'_> {
    /// Runs the tool. No transaction is open during that time.
    pub(super) async fn run(&self, permit: Permit) -> ToolOutput {
        let gate = &*self.gate;
        let session = gate.record.session();
        let views =
            SessionViews { store: gate.store(), session, redactor: &gate.governance.redactor };
        let permissions = Arc::clone(&gate.governance.permissions);
        let hides: Hides = if permissions.hides_nothing_in(&self.effects.reads) {
            Arc::new(|_| false)
        } else {
            Arc::new(move |path| permissions.hides(path))
        };
        let services = gate.services();
        let cx = ToolContext {
            permit,
            tool_use_id: self.id,
            session,
            place: gate.place(),
            judged: &self.effects,
            views: &views,
            hides: &hides,
            services: &services,
            redactor: gate.redactor(),
            settings: &gate.record.core.settings,
            host: &gate.governance.host,
            confined: self.runs.confined(),
            cancel: self.cancel,
        };
        let input = self.input();
        guarded(self.tool.run(&input, &cx)).await
    }
}

/// Turns a panic in a tool into a failed call, so that the session continues.
async fn guarded(mut running: Running<'_>) -> ToolOutput {
    poll_fn(|task| {
        let polled = catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(task)));
        polled.unwrap_or_else(|_| {
            Poll::Ready(ToolOutput::internal("the tool crashed; this is a bug in ona"))
        })
    })
    .await
}

/// What this session has seen of files, from the record.
struct SessionViews<'a> {
    store: &'a Store,
    session: &'a SessionId,
    redactor: &'a Redactor,
}

impl Views for SessionViews<'_> {
    fn last_view(&self, path: &Path) -> Result<Option<FileView>, BoxError> {
        // Paths that differ only in a secret share a row; the hash tells which file it is about.
        let known = self.store.last_view(self.session, &masked_path(self.redactor, path))?;
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
