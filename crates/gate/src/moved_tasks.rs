//! Commands that the user moved into the background: this process runs them, and they end with it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ona_types::TaskId;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The commands that were moved into the background and still run.
#[derive(Debug, Default)]
pub struct MovedTasks {
    state: Mutex<State>,
    fewer: Notify,
}

#[derive(Debug, Default)]
struct State {
    running: Vec<(TaskId, CancellationToken)>,
    leaving: bool,
}

impl MovedTasks {
    /// One more, and what stops it.
    pub(crate) fn add(&self, id: TaskId, stop: CancellationToken) {
        self.state().running.push((id, stop));
    }

    /// One has ended. Whether it was stopped because the process ends.
    pub(crate) fn ended(&self, id: &TaskId) -> bool {
        self.state().leaving
            && self.state().running.iter().any(|(known, stop)| known == id && stop.is_cancelled())
    }

    /// Its end is on the record.
    pub(crate) fn remove(&self, id: &TaskId) {
        self.state().running.retain(|(known, _)| known != id);
        self.fewer.notify_waiters();
    }

    /// Stops all of them, and waits until their end is on the record; how many there were.
    pub async fn end_all(&self) -> usize {
        let running = {
            let mut state = self.state();
            state.leaving = true;
            state.running.iter().map(|(_, stop)| stop.clone()).collect::<Vec<_>>()
        };
        running.iter().for_each(CancellationToken::cancel);
        loop {
            let fewer = self.fewer.notified();
            if self.state().running.is_empty() {
                return running.len();
            }
            fewer.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
