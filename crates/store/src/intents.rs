//! Which intent a session works for, and the calls of other agents that have begun.

use ona_types::{SessionId, ToolUseId};
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde::Serialize;
use serde_json::{Value, json};

use crate::conversations::Seat;
use crate::error::StoreError;
use crate::sessions::seat;
use crate::store::{Failure, Store};
use crate::tool_calls::event;

/// What was selected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Selection {
    /// The intent; none where it was cleared.
    pub intent_id: Option<String>,
    /// `agent` or `human`.
    pub selected_by: String,
    /// When.
    pub selected_at: String,
    /// Whether it is the workspace's default and not the session's own.
    pub is_default: bool,
}

impl Store {
    /// Selects an intent, or none, for a session, or as the default of the workspace for sessions that have none.
    pub fn select_intent(
        &self,
        workspace: &str,
        session: Option<&SessionId>,
        intent: Option<&str>,
        by: &str,
    ) -> Result<(), StoreError> {
        self.write(|tx| {
            match (session, intent) {
                (None, None) => {
                    tx.prepare_cached(
                        "DELETE FROM selected_intents WHERE workspace = ?1 AND session_id = ''",
                    )?
                    .execute([workspace])?;
                    return Ok(());
                }
                (session, intent) => keep_selection(tx, workspace, session, intent, by)?,
            }
            // A session of a host that ona has not heard of yet has no seat.
            match session.map(|session| seat(tx, session.as_str())).transpose()?.flatten() {
                Some(seat) => selected(tx, &seat, intent, by),
                None => Ok(()),
            }
        })
    }

    /// What a session works for: its own selection, else the workspace's default.
    pub fn selected_intent(
        &self,
        workspace: &str,
        session: Option<&SessionId>,
    ) -> Result<Option<Selection>, StoreError> {
        self.read(|c| {
            let own =
                session.map(|session| selection(c, workspace, session.as_str())).transpose()?;
            Ok(match own.flatten() {
                Some(own) => Some(own),
                None => selection(c, workspace, "")?,
            })
        })
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

/// Keeps a selection of a session, with the event that tells of it.
pub(crate) fn select(
    tx: &Transaction<'_>,
    seat: &Seat,
    workspace: &str,
    intent: &str,
) -> Result<(), Failure> {
    keep_selection(tx, workspace, Some(&seat.session), Some(intent), "agent")?;
    selected(tx, seat, Some(intent), "agent")
}

fn selected(
    tx: &Transaction<'_>,
    seat: &Seat,
    intent: Option<&str>,
    by: &str,
) -> Result<(), Failure> {
    event(tx, seat, "intent.selected", &json!({"intent_id": intent, "by": by}))
}

fn keep_selection(
    tx: &Transaction<'_>,
    workspace: &str,
    session: Option<&SessionId>,
    intent: Option<&str>,
    by: &str,
) -> Result<(), Failure> {
    tx.prepare_cached(
        "INSERT OR REPLACE INTO selected_intents(workspace, session_id, intent_id, selected_by)
         VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute((workspace, session.map_or("", SessionId::as_str), intent, by))?;
    Ok(())
}

fn selection(c: &Connection, workspace: &str, session: &str) -> Result<Option<Selection>, Failure> {
    Ok(c.prepare_cached(
        "SELECT intent_id, selected_by, selected_at FROM selected_intents
         WHERE workspace = ?1 AND session_id = ?2",
    )?
    .query_row((workspace, session), |row| {
        Ok(Selection {
            intent_id: row.get(0)?,
            selected_by: row.get(1)?,
            selected_at: row.get(2)?,
            is_default: session.is_empty(),
        })
    })
    .optional()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_its_own_intent_or_the_default() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        let (one, two) = (SessionId::from_existing("one"), SessionId::from_existing("two"));
        let of = |session: &SessionId| {
            let selected = store.selected_intent("/w", Some(session)).unwrap();
            selected.map(|selection| (selection.intent_id, selection.is_default))
        };
        assert_eq!(of(&one), None);
        store.select_intent("/w", None, Some("INT-1"), "human").unwrap();
        store.select_intent("/w", Some(&one), Some("INT-2"), "agent").unwrap();
        assert_eq!(of(&one), Some((Some("INT-2".into()), false)));
        assert_eq!(of(&two), Some((Some("INT-1".into()), true)));
        assert_eq!(store.selected_intent("/other", Some(&two)).unwrap(), None);
        store.select_intent("/w", Some(&one), None, "human").unwrap();
        assert_eq!(of(&one), Some((None, false)), "cleared is not the default");
        store.select_intent("/w", None, None, "human").unwrap();
        assert_eq!(of(&two), None);
    }

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
