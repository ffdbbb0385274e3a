//! Calls of other agents, of which ona hears twice: before they run and after.

use ona_types::{SessionId, ToolUseId};
use rusqlite::OptionalExtension;
use serde_json::Value;

use crate::conversations::Seat;
use crate::error::StoreError;
use crate::store::Store;
use crate::tool_calls::{GateRow, keep_answer};

impl Store {
    /// Keeps what the stages said of a call that is not over yet.
    pub fn keep_gate(
        &self,
        seat: &Seat,
        id: &ToolUseId,
        gate: &[GateRow],
    ) -> Result<(), StoreError> {
        self.write(|tx| gate.iter().try_for_each(|answer| keep_answer(tx, seat, id, answer)))
    }

    /// Keeps what was found about a call of another agent before it ran.
    pub fn begin_foreign_call(
        &self,
        session: &SessionId,
        id: &ToolUseId,
        tool: &str,
        found: &Value,
    ) -> Result<(), StoreError> {
        self.write(|tx| {
            tx.prepare_cached(
                "INSERT OR REPLACE INTO foreign_calls(session_id, tool_use_id, tool_name, found)
                 VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute((session.as_str(), id.as_str(), tool, found.to_string()))?;
            Ok(())
        })
    }

    /// What was found about a call of another agent; it is told once.
    pub fn end_foreign_call(
        &self,
        session: &SessionId,
        id: &ToolUseId,
    ) -> Result<Option<Value>, StoreError> {
        self.write(|tx| {
            let found: Option<String> = tx
                .prepare_cached(
                    "DELETE FROM foreign_calls WHERE session_id = ?1 AND tool_use_id = ?2 RETURNING found",
                )?
                .query_row((session.as_str(), id.as_str()), |row| row.get(0))
                .optional()?;
            Ok(found.and_then(|found| serde_json::from_str(&found).ok()))
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_foreign_call_is_told_of_once() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        let (session, id) = (SessionId::from_existing("s"), ToolUseId::from_existing("t"));
        assert_eq!(store.end_foreign_call(&session, &id).unwrap(), None);
        store.begin_foreign_call(&session, &id, "Edit", &json!({"a": 1})).unwrap();
        assert_eq!(store.end_foreign_call(&session, &id).unwrap(), Some(json!({"a": 1})));
        assert_eq!(store.end_foreign_call(&session, &id).unwrap(), None);
    }
}
