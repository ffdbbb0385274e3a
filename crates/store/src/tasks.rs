//! Background tasks: written by the call that starts one and by the supervisor that watches over it.
//!
//! Either may come first, so each fills in its part of the row.

use ona_types::{SessionId, TaskId, TaskStarted, ToolUseId};
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde_json::Value;

use crate::error::StoreError;
use crate::store::{Failure, Store};
use crate::tool_calls::path_text;

/// A background task as recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    /// What runs.
    pub command: String,
    /// How it ended, if it did.
    pub end: Option<TaskEnd>,
}

/// How a background task ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskEnd {
    /// The exit code, unless a signal ended it.
    pub exit_code: Option<i32>,
    /// `exited`, `signalled`, `output_limit`, `failed_to_start`, `supervisor_failed`,
    /// `supervisor_died`.
    pub reason: String,
}

/// A task that has not ended, and who watches over it.
#[derive(Clone, Debug, PartialEq)]
pub struct UnfinishedTask {
    /// The task.
    pub id: TaskId,
    /// What runs.
    pub command: String,
    /// Its supervisor.
    pub owner: Value,
}

impl Store {
    /// Records who watches over a task.
    pub fn watch_task(
        &self,
        session: &SessionId,
        call: &ToolUseId,
        task: &TaskStarted,
        owner: &Value,
    ) -> Result<(), StoreError> {
        self.write(|tx| {
            started(tx, session, call, task)?;
            tx.execute(
                "UPDATE background_tasks SET owner = ?2 WHERE task_id = ?1",
                (task.id.as_str(), owner.to_string()),
            )?;
            Ok(())
        })
    }

    /// Records how a task ended.
    pub fn finish_task(&self, task: &TaskId, end: &TaskEnd) -> Result<(), StoreError> {
        self.write(|tx| finish(tx, task, end))
    }

    /// Ends the session's tasks whose supervisor `is_gone`: nobody will see how they end. Returns them.
    pub fn settle_tasks(
        &self,
        session: &SessionId,
        is_gone: impl Fn(&Value) -> bool,
    ) -> Result<Vec<UnfinishedTask>, StoreError> {
        let lost = |c: &Connection| -> Result<Vec<UnfinishedTask>, Failure> {
            let mut tasks = unfinished(c, Some(session))?;
            tasks.retain(|task| is_gone(&task.owner));
            Ok(tasks)
        };
        if self.read(lost)?.is_empty() {
            return Ok(Vec::new());
        }
        self.write(|tx| {
            let tasks = lost(tx)?;
            for task in &tasks {
                let end = TaskEnd { exit_code: None, reason: "supervisor_died".into() };
                finish(tx, &task.id, &end)?;
            }
            Ok(tasks)
        })
    }

    /// A task by its id.
    pub fn task(&self, id: &TaskId) -> Result<Option<TaskRow>, StoreError> {
        self.read(|c| {
            Ok(c.query_row(
                "SELECT command, exit_code, end_reason FROM background_tasks WHERE task_id = ?1",
                [id.as_str()],
                |row| {
                    let exit_code = row.get(1)?;
                    let reason: Option<String> = row.get(2)?;
                    Ok(TaskRow {
                        command: row.get(0)?,
                        end: reason.map(|reason| TaskEnd { exit_code, reason }),
                    })
                },
            )
            .optional()?)
        })
    }
}

/// Tasks that have a supervisor and no end, of one session or of all.
pub(crate) fn unfinished(
    c: &Connection,
    session: Option<&SessionId>,
) -> Result<Vec<UnfinishedTask>, Failure> {
    let mut statement = c.prepare_cached(
        "SELECT task_id, command, owner FROM background_tasks
         WHERE ended_at IS NULL AND owner IS NOT NULL AND (?1 IS NULL OR session_id = ?1)
         ORDER BY rowid",
    )?;
    let rows = statement.query_map([session.map(SessionId::as_str)], |row| {
        Ok(UnfinishedTask {
            id: TaskId::from_existing(row.get::<_, String>(0)?),
            command: row.get(1)?,
            owner: serde_json::from_str(&row.get::<_, String>(2)?).unwrap_or(Value::Null),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(crate) fn started(
    tx: &Transaction<'_>,
    session: &SessionId,
    call: &ToolUseId,
    task: &TaskStarted,
) -> Result<(), Failure> {
    // A supervisor may be slower than whoever deletes the session: nothing of it comes back.
    tx.execute(
        "INSERT OR IGNORE INTO background_tasks(task_id, session_id, tool_use_id, command, output_path)
         SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM sessions WHERE session_id = ?2)",
        (task.id.as_str(), session.as_str(), call.as_str(), &task.command, path_text(&task.output_path)),
    )?;
    Ok(())
}

fn finish(tx: &Transaction<'_>, task: &TaskId, end: &TaskEnd) -> Result<(), Failure> {
    tx.execute(
        "UPDATE background_tasks
         SET ended_at = datetime('now'), exit_code = ?2, end_reason = ?3
         WHERE task_id = ?1 AND ended_at IS NULL",
        (task.as_str(), end.exit_code, &end.reason),
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn task() -> TaskStarted {
        TaskStarted {
            id: TaskId::from_existing("k"),
            command: "true".into(),
            output_path: "/log".into(),
        }
    }

    fn store() -> (tempfile::TempDir, Store, SessionId, ToolUseId) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        let seat = store.join(&crate::Join { project_dir: "/a", conversation: None }).unwrap();
        (dir, store, seat.session, ToolUseId::from_existing("t"))
    }

    #[test]
    fn a_supervisor_that_comes_late_brings_nothing_back() {
        let (_dir, store, session, call) = store();
        let seat = store.join(&crate::Join { project_dir: "/a", conversation: None }).unwrap();
        store.delete_session(&seat, |_| true).unwrap();
        store.watch_task(&session, &call, &task(), &json!({"pid": 1})).unwrap();
        assert_eq!(store.task(&task().id).unwrap(), None);
    }

    #[test]
    fn the_supervisor_may_write_before_the_call_does() {
        let (_dir, store, session, call) = store();
        store.watch_task(&session, &call, &task(), &json!({"pid": 1})).unwrap();
        let end = TaskEnd { exit_code: Some(0), reason: "exited".into() };
        store.finish_task(&task().id, &end).unwrap();
        store.write(|tx| started(tx, &session, &call, &task())).unwrap();
        assert_eq!(store.task(&task().id).unwrap().unwrap().end, Some(end));
        assert_eq!(store.task(&TaskId::from_existing("none")).unwrap(), None);
    }

    #[test]
    fn a_task_whose_supervisor_died_has_ended() {
        let (_dir, store, session, call) = store();
        store.watch_task(&session, &call, &task(), &json!({"pid": 1})).unwrap();
        assert!(store.settle_tasks(&session, |_| false).unwrap().is_empty());
        let settled = store.settle_tasks(&session, |owner| owner["pid"] == 1).unwrap();
        assert_eq!(settled.len(), 1);
        let end = store.task(&task().id).unwrap().unwrap().end.unwrap();
        assert_eq!(end.reason, "supervisor_died");
        assert!(store.settle_tasks(&session, |_| true).unwrap().is_empty(), "once");
    }
}
