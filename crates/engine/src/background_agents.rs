//! The agents in the background of this process.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ona_front::Event;
use ona_policy::secrets::Redactor;
use ona_types::{SessionId, TRUNCATED_SUFFIX, TaskId};
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The running agents, by task.
#[derive(Debug, Default)]
pub struct BackgroundAgents {
    running: Mutex<HashMap<TaskId, RunningAgent>>,
    /// Notified when an agent has ended.
    ended_signal: Notify,
}

#[derive(Debug)]
struct RunningAgent {
    parent: SessionId,
    cancel: CancellationToken,
}

impl BackgroundAgents {
    fn running(&self) -> MutexGuard<'_, HashMap<TaskId, RunningAgent>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an agent. Cancelling the token stops it.
    pub(crate) fn started(&self, task: &TaskId, parent: &SessionId) -> CancellationToken {
        let cancel = CancellationToken::new();
        let agent = RunningAgent { parent: parent.clone(), cancel: cancel.clone() };
        self.running().insert(task.clone(), agent);
        cancel
    }

    /// Removes an agent. Its end must be on the record.
    pub(crate) fn ended(&self, task: &TaskId) {
        self.running().remove(task);
        self.ended_signal.notify_waiters();
    }

    /// Stops an agent; `false` if it does not run in this process.
    pub(crate) fn stop(&self, task: &TaskId) -> bool {
        let running = self.running();
        let agent = running.get(task);
        agent.inspect(|agent| agent.cancel.cancel()).is_some()
    }

    /// Waits until the agent has ended, or until the timeout.
    pub(crate) async fn wait_for(&self, task: &TaskId, within: Duration) {
        let ended = async {
            loop {
                let signal = self.ended_signal.notified();
                tokio::pin!(signal);
                signal.as_mut().enable();
                if !self.running().contains_key(task) {
                    return;
                }
                signal.await;
            }
        };
        let _ = tokio::time::timeout(within, ended).await;
    }

    /// Stops all agents of a session.
    pub(crate) fn stop_all(&self, parent: &SessionId) {
        for agent in self.running().values().filter(|agent| agent.parent == *parent) {
            agent.cancel.cancel();
        }
    }

    /// The number of running agents of a session.
    pub(crate) fn count(&self, parent: &SessionId) -> usize {
        self.running().values().filter(|agent| agent.parent == *parent).count()
    }

    /// Waits until one of the session's agents has ended; returns at once if none is running.
    pub(crate) async fn wait_for_one(&self, parent: &SessionId) {
        let before = self.count(parent);
        loop {
            let signal = self.ended_signal.notified();
            tokio::pin!(signal);
            signal.as_mut().enable();
            if before == 0 || self.count(parent) < before {
                return;
            }
            signal.await;
        }
    }
}

/// The log file of an agent in the background, with a size limit.
#[derive(Debug)]
pub(crate) struct AgentLog {
    file: Mutex<(File, u64)>,
    limit: u64,
    redactor: Redactor,
}

impl AgentLog {
    pub(crate) fn new(file: File, limit: u64, redactor: Redactor) -> Self {
        Self { file: Mutex::new((file, 0)), limit, redactor }
    }

    pub(crate) fn log_event(&self, event: &Event) {
        match event {
            Event::Answered { message } => {
                let blocks = message["content"].as_array().into_iter().flatten();
                for text in blocks.filter_map(|block| block["text"].as_str()) {
                    self.write(text);
                }
            }
            Event::ToolStarted { tool, input, .. } => {
                self.write(&format!("[{tool} {}]", self.short(input)));
            }
            _ => {}
        }
    }

    /// Appends lines. A write error is ignored: nothing else depends on the log.
    pub(crate) fn write(&self, text: &str) {
        let text = &*self.redactor.mask(text);
        let mut kept = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, written) = &mut *kept;
        if *written >= self.limit {
            return;
        }
        let left = usize::try_from(self.limit - *written).unwrap_or(usize::MAX);
        *written += text.len() as u64 + 1;
        let _ = match *written > self.limit {
            true => writeln!(file, "{}{TRUNCATED_SUFFIX}", &text[..text.floor_char_boundary(left)]),
            false => writeln!(file, "{text}"),
        };
    }

    fn short(&self, input: &Value) -> String {
        const MOST: usize = 200;
        let text = input.to_string();
        match text.char_indices().nth(MOST) {
            Some(_) => format!("{}…", self.redactor.first_chars(&text, MOST)),
            None => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waiting_ends_with_an_agent_of_the_same_session() {
        let (agents, mine) = (BackgroundAgents::default(), SessionId::from_existing("mine"));
        agents.wait_for_one(&mine).await;
        let (one, two) = (TaskId::from_existing("1"), TaskId::from_existing("2"));
        let cancel = agents.started(&one, &mine);
        agents.started(&two, &SessionId::from_existing("other"));
        assert_eq!(agents.count(&mine), 1);
        let end = async {
            agents.ended(&two);
            assert!(agents.stop(&one) && cancel.is_cancelled());
            agents.ended(&one);
        };
        tokio::join!(agents.wait_for_one(&mine), end);
        assert!(!agents.stop(&one), "it is gone");
    }

    #[test]
    fn a_log_ends_at_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let log = AgentLog::new(File::create(&path).unwrap(), 20, Redactor::default());
        for text in ["one", "two", "a line that is too long", "four"] {
            log.write(text);
        }
        let kept = std::fs::read_to_string(&path).unwrap();
        assert_eq!(kept, format!("one\ntwo\na line that {TRUNCATED_SUFFIX}\n"));
    }
}
