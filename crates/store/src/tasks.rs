//! Background tasks: written by the call that starts one and by the supervisor that watches over it.
//!
//! Either may come first, so each fills in its part of the row.

use std::path::PathBuf;

use crate::rows::{Connection, Key, MaybeKey, Transaction};
use ona_types::{ConversationId, SessionId, TaskEnd, TaskId, TaskKind, TaskStarted, ToolUseId};
use rusqlite::{OptionalExtension, Row};
use serde_json::{Value, json};

use crate::error::StoreError;
use crate::store::{Failure, Store};

/// A background task as recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    /// The task.
    pub id: TaskId,
    /// The session it belongs to.
    pub session: SessionId,
    /// The call that started it.
    pub call: ToolUseId,
    /// What it is.
    pub kind: TaskKind,
    /// What runs.
    pub command: String,
    /// Where its output is.
    pub output_path: PathBuf,
    /// How it ended, if it did.
    pub end: Option<TaskEnd>,
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
                (Key(task.id.as_str()), owner.to_string()),
            )?;
            Ok(())
        })
    }

    /// Records what the sandbox refused a task's command. Of a session that is gone there is nothing to record.
    pub fn task_refused(
        &self,
        session: &SessionId,
        task: &TaskId,
        refused: &[Value],
    ) -> Result<(), StoreError> {
        if refused.is_empty() {
            return Ok(());
        }
        self.write(|tx| {
            for one in refused {
                let detail = json!({"task_id": task, "refused": one});
                tx.execute(
                    "INSERT INTO events(conversation_id, session_id, event_type, detail)
                     SELECT conversation_id, session_id, 'sandbox.refused', ?2 FROM sessions WHERE session_id = ?1",
                    (Key(session.as_str()), detail.to_string()),
                )?;
            }
            Ok(())
        })
    }

    /// Records how a task ended.
    pub fn finish_task(&self, task: &TaskId, end: &TaskEnd) -> Result<(), StoreError> {
        self.write(|tx| finish(tx, task, end))
    }

    /// Marks the session's tasks whose supervisor `is_gone` as ended, since nobody will record it. Returns them.
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

    /// A task by its id, if it belongs to the conversation.
    pub fn task(
        &self,
        conversation: &ConversationId,
        id: &TaskId,
    ) -> Result<Option<TaskRow>, StoreError> {
        self.read(|c| {
            let sql = format!("{TASKS} AND s.conversation_id = ?1 AND t.task_id = ?2");
            let mut found = c.prepare_cached(&sql)?;
            Ok(found
                .query_row((Key(conversation.as_str()), Key(id.as_str())), task_row)
                .optional()?)
        })
    }

    /// Whether a task has ended, or was ended before it began.
    pub fn task_has_ended(&self, id: &TaskId) -> Result<bool, StoreError> {
        self.read(|c| {
            let sql = "SELECT ended_at IS NOT NULL FROM background_tasks WHERE task_id = ?1";
            let mut found = c.prepare_cached(sql)?;
            Ok(found.query_row([Key(id.as_str())], |row| row.get(0)).optional()?.unwrap_or(false))
        })
    }

    /// The tasks of a conversation that go on.
    pub fn running_tasks(&self, conversation: &ConversationId) -> Result<Vec<TaskRow>, StoreError> {
        // By the index of those that go on: in order of their rows all would be read.
        let running = "SELECT task_id FROM background_tasks INDEXED BY idx_background_tasks_running
            WHERE ended_at IS NULL";
        let which = format!("s.conversation_id = ?1 AND t.task_id IN ({running})");
        self.tasks_where(&which, Key(conversation.as_str()))
    }

    /// The tasks of a session that have ended without being reported.
    pub fn untold_tasks(&self, session: &SessionId) -> Result<Vec<TaskRow>, StoreError> {
        let untold = "t.session_id = ?1 AND t.ended_at IS NOT NULL AND t.told_at IS NULL";
        self.tasks_where(untold, Key(session.as_str()))
    }

    /// The tasks of a session that have ended.
    pub fn ended_tasks(&self, session: &SessionId) -> Result<Vec<TaskRow>, StoreError> {
        self.tasks_where("t.session_id = ?1 AND t.ended_at IS NOT NULL", Key(session.as_str()))
    }

    /// Hands the tasks of a session that go on over to another. Whether there were any.
    pub fn hand_over_tasks(&self, from: &SessionId, to: &SessionId) -> Result<bool, StoreError> {
        self.write(|tx| {
            let handed = tx.execute(
                "UPDATE background_tasks SET session_id = ?2 WHERE session_id = ?1 AND told_at IS NULL",
                (Key(from.as_str()), Key(to.as_str())),
            )?;
            Ok(handed > 0)
        })
    }

    fn tasks_where(&self, which: &str, of: Key<'_>) -> Result<Vec<TaskRow>, StoreError> {
        self.read(|c| {
            let mut statement =
                c.prepare_cached(&format!("{TASKS} AND {which} ORDER BY +t.rowid"))?;
            let rows = statement.query_map([of], task_row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

/// CROSS: a conversation may have had many sessions, and few tasks go on.
const TASKS: &str =
    "SELECT t.task_id, t.session_id, t.kind, t.command, t.output_path, t.exit_code, t.end_reason,
        t.tool_use_id
    FROM background_tasks t CROSS JOIN sessions s ON s.session_id = t.session_id WHERE true";

fn task_row(row: &Row<'_>) -> rusqlite::Result<TaskRow> {
    let (exit_code, reason): (_, Option<String>) = (row.get(5)?, row.get(6)?);
    let kind: String = row.get(2)?;
    Ok(TaskRow {
        id: TaskId::from_existing(row.get::<_, String>(0)?),
        session: SessionId::from_existing(row.get::<_, String>(1)?),
        call: ToolUseId::from_existing(row.get::<_, String>(7)?),
        kind: if kind == TaskKind::Agent.as_str() { TaskKind::Agent } else { TaskKind::Shell },
        command: row.get(3)?,
        output_path: row.get::<_, String>(4)?.into(),
        end: reason.map(|reason| TaskEnd { exit_code, reason }),
    })
}

/// The model has been told how a task ended.
pub(crate) fn told(tx: &Transaction<'_>, task: &TaskId) -> Result<(), Failure> {
    tx.execute(
        "UPDATE background_tasks SET told_at = datetime('now') WHERE task_id = ?1",
        [Key(task.as_str())],
    )?;
    Ok(())
}

/// Tasks that have a supervisor and no end, of one session or of all.
pub(crate) fn unfinished(
    c: &Connection,
    session: Option<&SessionId>,
) -> Result<Vec<UnfinishedTask>, Failure> {
    let of_session = match session {
        Some(_) => "session_id = ?1",
        None => "?1 IS NULL",
    };
    let mut statement = c.prepare_cached(&format!(
        "SELECT task_id, command, owner FROM background_tasks
         WHERE ended_at IS NULL AND owner IS NOT NULL AND {of_session} ORDER BY rowid"
    ))?;
    let rows = statement.query_map([MaybeKey(session.map(SessionId::as_str))], |row| {
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
    // The session may have been deleted before its supervisor reports: no row may reappear.
    tx.execute(
        "INSERT OR IGNORE INTO background_tasks(task_id, session_id, tool_use_id, command, output_path, kind)
         SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE EXISTS (SELECT 1 FROM sessions WHERE session_id = ?2)",
        (
            Key(task.id.as_str()),
            Key(session.as_str()),
            Key(call.as_str()),
            &task.command,
            // A place that ona chose: beside the record, named after session and task.
            Key(&task.output_path.to_string_lossy()),
            task.kind.as_str(),
        ),
    )?;
    Ok(())
}

fn finish(tx: &Transaction<'_>, task: &TaskId, end: &TaskEnd) -> Result<(), Failure> {
    tx.execute(
        "UPDATE background_tasks
         SET ended_at = datetime('now'), exit_code = ?2, end_reason = ?3
         WHERE task_id = ?1 AND ended_at IS NULL",
        (Key(task.as_str()), end.exit_code, &end.reason),
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> TaskStarted {
        TaskStarted {
            id: TaskId::from_existing("k"),
            kind: TaskKind::Shell,
            command: "true".into(),
            output_path: "/log".into(),
        }
    }

    fn store() -> (tempfile::TempDir, Store, crate::Seat, ToolUseId) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        let seat = store.join(&crate::Join { project_dir: "/a", conversation: None }).unwrap();
        (dir, store, seat, ToolUseId::from_existing("t"))
    }

    #[test]
    fn a_supervisor_that_comes_late_brings_nothing_back() {
        let (_dir, store, seat, call) = store();
        let session = seat.session.clone();
        store.delete_session(&seat, |_| true).unwrap();
        store.watch_task(&session, &call, &task(), &json!({"pid": 1})).unwrap();
        assert_eq!(store.task(&seat.conversation, &task().id).unwrap(), None);
    }

    #[test]
    fn the_supervisor_may_write_before_the_call_does() {
        let (_dir, store, seat, call) = store();
        let session = &seat.session;
        store.watch_task(session, &call, &task(), &json!({"pid": 1})).unwrap();
        let end = TaskEnd { exit_code: Some(0), reason: "exited".into() };
        store.finish_task(&task().id, &end).unwrap();
        store.write(|tx| started(tx, session, &call, &task())).unwrap();
        assert_eq!(store.task(&seat.conversation, &task().id).unwrap().unwrap().end, Some(end));
        assert_eq!(store.task(&seat.conversation, &TaskId::from_existing("none")).unwrap(), None);
        let other = ConversationId::from_existing("other");
        assert_eq!(store.task(&other, &task().id).unwrap(), None, "another conversation's");
    }

    #[test]
    fn the_end_of_a_task_is_told_once() {
        let (_dir, store, seat, call) = store();
        let session = &seat.session;
        store.watch_task(session, &call, &task(), &json!({"pid": 1})).unwrap();
        assert_eq!(store.running_tasks(&seat.conversation).unwrap().len(), 1);
        assert!(store.untold_tasks(session).unwrap().is_empty(), "it goes on");
        let end = TaskEnd { exit_code: Some(0), reason: "exited".into() };
        store.finish_task(&task().id, &end).unwrap();
        assert!(store.running_tasks(&seat.conversation).unwrap().is_empty());
        assert_eq!(store.untold_tasks(session).unwrap().len(), 1);
        let step = crate::Step { told: &[task().id], ..crate::Step::default() };
        store.keep_step(&seat, &step).unwrap();
        assert!(store.untold_tasks(session).unwrap().is_empty());
    }

    #[test]
    fn a_task_whose_supervisor_died_has_ended() {
        let (_dir, store, seat, call) = store();
        let session = &seat.session;
        store.watch_task(session, &call, &task(), &json!({"pid": 1})).unwrap();
        assert!(store.settle_tasks(session, |_| false).unwrap().is_empty());
        let settled = store.settle_tasks(session, |owner| owner["pid"] == 1).unwrap();
        assert_eq!(settled.len(), 1);
        let end = store.task(&seat.conversation, &task().id).unwrap().unwrap().end.unwrap();
        assert_eq!(end.reason, "supervisor_died");
        assert!(store.settle_tasks(session, |_| true).unwrap().is_empty(), "once");
    }
}
