//! Background tasks: written by the call that starts one and by the supervisor that sees it end.
//!
//! Either may come first, so each fills in its half of the row.

use ona_types::{SessionId, TaskId, TaskStarted, ToolUseId};
use rusqlite::{OptionalExtension, Transaction};

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
    /// `exited`, `signalled`, `output_limit`, `stopped`, `failed_to_start`.
    pub reason: String,
}

impl Store {
    /// Records how a task ended.
    pub fn finish_task(
        &self,
        session: &SessionId,
        call: &ToolUseId,
        task: &TaskStarted,
        end: &TaskEnd,
    ) -> Result<(), StoreError> {
        self.write(|tx| {
            started(tx, session, call, task)?;
            tx.execute(
                "UPDATE background_tasks
                 SET ended_at = datetime('now'), exit_code = ?2, end_reason = ?3 WHERE task_id = ?1",
                (task.id.as_str(), end.exit_code, &end.reason),
            )?;
            Ok(())
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

pub(crate) fn started(
    tx: &Transaction<'_>,
    session: &SessionId,
    call: &ToolUseId,
    task: &TaskStarted,
) -> Result<(), Failure> {
    tx.execute(
        "INSERT OR IGNORE INTO background_tasks(task_id, session_id, tool_use_id, command, output_path)
         VALUES (?1, ?2, ?3, ?4, ?5)",
        (task.id.as_str(), session.as_str(), call.as_str(), &task.command, path_text(&task.output_path)),
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_may_be_recorded_before_the_start() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        let session = SessionId::from_existing("s");
        let call = ToolUseId::from_existing("t");
        let task = TaskStarted {
            id: TaskId::from_existing("k"),
            command: "true".into(),
            output_path: "/log".into(),
        };
        let end = TaskEnd { exit_code: Some(0), reason: "exited".into() };
        store.finish_task(&session, &call, &task, &end).unwrap();
        store.write(|tx| started(tx, &session, &call, &task)).unwrap();
        assert_eq!(store.task(&task.id).unwrap().unwrap().end, Some(end));
        assert_eq!(store.task(&TaskId::from_existing("none")).unwrap(), None);
    }
}
