//! Which intent a session works for.

use ona_types::SessionId;
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde::Serialize;
use serde_json::json;

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
}
