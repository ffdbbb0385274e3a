//! Which intent a session works for.

use crate::rows::{Connection, Key, Transaction};
use ona_types::SessionId;
use rusqlite::OptionalExtension;
use serde::Serialize;
use serde_json::json;

use crate::conversations::Seat;
use crate::error::StoreError;
use crate::sessions::seat;
use crate::store::{Failure, Store};
use crate::tool_calls::event;

/// The event for a request to widen a scope. It has an index.
const SCOPE_REQUESTED: &str = "intent.scope_requested";

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

/// A request to widen an intent's scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScopeRequest {
    /// When.
    pub at: String,
    /// The session it came from.
    pub session_id: Option<String>,
    /// The intent.
    pub intent_id: String,
    /// The pattern that is to be added.
    pub pattern: String,
    /// `agent` or `human`.
    pub by: String,
}

impl Store {
    /// Records a request to widen a scope (`granted`: that it was granted) as an event of the session.
    pub fn request_scope(
        &self,
        seat: &Seat,
        workspace: &str,
        wish: (&str, &str),
        by: &str,
        granted: bool,
    ) -> Result<(), StoreError> {
        let (intent, pattern) = wish;
        let kind = if granted { "intent.scope_granted" } else { SCOPE_REQUESTED };
        let detail =
            json!({"workspace": workspace, "intent_id": intent, "pattern": pattern, "by": by});
        self.write(|tx| event(tx, seat, kind, &detail))
    }

    /// The requests of a workspace, oldest first, each once.
    pub fn scope_requests(&self, workspace: &str) -> Result<Vec<ScopeRequest>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare_cached(
                "SELECT max(timestamp), session_id, json_extract(detail, '$.intent_id'),
                     json_extract(detail, '$.pattern'), json_extract(detail, '$.by')
                 FROM events WHERE event_type = 'intent.scope_requested'
                     AND CASE WHEN json_valid(detail) THEN json_extract(detail, '$.workspace') END = ?1
                 GROUP BY 3, 4 ORDER BY min(id)",
            )?;
            let rows = statement.query_map([Key(workspace)], |row| {
                Ok(ScopeRequest {
                    at: row.get(0)?,
                    session_id: row.get(1)?,
                    intent_id: row.get(2)?,
                    pattern: row.get(3)?,
                    by: row.get(4)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// What each session of a workspace has selected, by its id; the default has none.
    pub fn selections(&self, workspace: &str) -> Result<Vec<(String, Selection)>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare_cached(
                "SELECT session_id, intent_id, selected_by, selected_at FROM selected_intents
                 WHERE workspace = ?1 ORDER BY session_id",
            )?;
            let rows = statement.query_map([Key(workspace)], |row| {
                let session: String = row.get(0)?;
                let selection = Selection {
                    intent_id: row.get(1)?,
                    selected_by: row.get(2)?,
                    selected_at: row.get(3)?,
                    is_default: session.is_empty(),
                };
                Ok((session, selection))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

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
                    .execute([Key(workspace)])?;
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
    .execute((Key(workspace), Key(session.map_or("", SessionId::as_str)), intent, by))?;
    Ok(())
}

fn selection(c: &Connection, workspace: &str, session: &str) -> Result<Option<Selection>, Failure> {
    Ok(c.prepare_cached(
        "SELECT intent_id, selected_by, selected_at FROM selected_intents
         WHERE workspace = ?1 AND session_id = ?2",
    )?
    .query_row((Key(workspace), Key(session)), |row| {
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
    fn wishes_are_told_once_and_by_workspace() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        let seat = store.join(&crate::Join { project_dir: "/w", conversation: None }).unwrap();
        for pattern in ["a/**", "b", "a/**"] {
            store.request_scope(&seat, "/w", ("INT-1", pattern), "agent", false).unwrap();
        }
        store.request_scope(&seat, "/w", ("INT-1", "c"), "human", true).unwrap();
        store.request_scope(&seat, "/other", ("INT-1", "d"), "agent", false).unwrap();
        let wishes = store.scope_requests("/w").unwrap();
        let patterns: Vec<&str> = wishes.iter().map(|wish| wish.pattern.as_str()).collect();
        assert_eq!(patterns, ["a/**", "b"]);
        assert_eq!(wishes[0].session_id.as_deref(), Some(seat.session.as_str()));
        store.select_intent("/w", None, Some("INT-1"), "human").unwrap();
        store.select_intent("/w", Some(&seat.session), Some("INT-2"), "agent").unwrap();
        let selections = store.selections("/w").unwrap();
        assert_eq!(selections.len(), 2);
        assert!(selections[0].1.is_default && selections[0].0.is_empty());
    }
}
