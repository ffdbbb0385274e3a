//! The agents that work in the background of this process.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ona_front::Event;
use ona_types::{SessionId, TRUNCATED_SUFFIX, TaskId};
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Who works, by task.
#[derive(Debug, Default)]
pub struct BackgroundAgents {
    at_work: Mutex<HashMap<TaskId, Worker>>,
    /// Rung when somebody has ended.
    bell: Notify,
}

#[derive(Debug)]
struct Worker {
    parent: SessionId,
    cancel: CancellationToken,
}

impl BackgroundAgents {
    fn at_work(&self) -> MutexGuard<'_, HashMap<TaskId, Worker>> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody begins; cancelling ends it.
    pub(crate) fn started(&self, task: &TaskId, parent: &SessionId) -> CancellationToken {
        let cancel = CancellationToken::new();
        let worker = Worker { parent: parent.clone(), cancel: cancel.clone() };
        self.at_work().insert(task.clone(), worker);
        cancel
    }

    /// Somebody has ended, and that is on the record.
    pub(crate) fn ended(&self, task: &TaskId) {
        self.at_work().remove(task);
        self.bell.notify_waiters();
    }

    /// Ends one; false if it does not work here.
    pub(crate) fn stop(&self, task: &TaskId) -> bool {
        let at_work = self.at_work();
        let worker = at_work.get(task);
        worker.inspect(|worker| worker.cancel.cancel()).is_some()
    }

    /// Waits until somebody has ended; at most so long.
    pub(crate) async fn wait_for(&self, task: &TaskId, within: Duration) {
        let ended = async {
            loop {
                let rung = self.bell.notified();
                tokio::pin!(rung);
                rung.as_mut().enable();
                if !self.at_work().contains_key(task) {
                    return;
                }
                rung.await;
            }
        };
        let _ = tokio::time::timeout(within, ended).await;
    }

    /// Ends everybody a session has started.
    pub(crate) fn stop_all(&self, parent: &SessionId) {
        for worker in self.at_work().values().filter(|worker| worker.parent == *parent) {
            worker.cancel.cancel();
        }
    }

    /// How many a session has at work.
    pub(crate) fn count(&self, parent: &SessionId) -> usize {
        self.at_work().values().filter(|worker| worker.parent == *parent).count()
    }

    /// Waits until one of a session's has ended; at once if none is at work.
    pub(crate) async fn wait_for_one(&self, parent: &SessionId) {
        let before = self.count(parent);
        loop {
            let rung = self.bell.notified();
            tokio::pin!(rung);
            rung.as_mut().enable();
            if before == 0 || self.count(parent) < before {
                return;
            }
            rung.await;
        }
    }
}

/// What an agent in the background says and does, in a file that is kept within a limit.
#[derive(Debug)]
pub(crate) struct AgentLog {
    file: Mutex<(File, u64)>,
    limit: u64,
}

impl AgentLog {
    pub(crate) fn new(file: File, limit: u64) -> Self {
        Self { file: Mutex::new((file, 0)), limit }
    }

    pub(crate) fn hear(&self, event: &Event) {
        match event {
            Event::Answered { message } => {
                let blocks = message["content"].as_array().into_iter().flatten();
                for text in blocks.filter_map(|block| block["text"].as_str()) {
                    self.write(text);
                }
            }
            Event::ToolStarted { tool, input, .. } => {
                self.write(&format!("[{tool} {}]", short(input)))
            }
            _ => {}
        }
    }

    /// Adds lines. What cannot be written is lost to the file and to nothing else.
    pub(crate) fn write(&self, text: &str) {
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
}

fn short(input: &Value) -> String {
    let text = input.to_string();
    match text.char_indices().nth(200) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_waits_hears_of_an_end_and_of_nobody_elses() {
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
        let log = AgentLog::new(File::create(&path).unwrap(), 20);
        for text in ["one", "two", "a line that is too long", "four"] {
            log.write(text);
        }
        let kept = std::fs::read_to_string(&path).unwrap();
        assert_eq!(kept, format!("one\ntwo\na line that {TRUNCATED_SUFFIX}\n"));
    }
}
