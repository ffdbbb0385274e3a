//! Deletes sessions permanently, with everything that belongs to them.

use crate::rows::{Key, Transaction};
use ona_types::{ConversationId, SessionId};
use serde_json::{Value, json};

use crate::call_ids;
use crate::changes::todos_key;
use crate::conversations::{Seat, cwd_key};
use crate::error::StoreError;
use crate::sessions::holder;
use crate::store::{Failure, Store};
use crate::tool_calls::event;
use crate::trace;

/// Tables whose rows belong to a session by `session_id`. What others point at comes last.
const OF_SESSION: [&str; 13] = [
    "agent_runs",
    "selected_intents",
    "foreign_calls",
    "running_calls",
    "file_views",
    "background_tasks",
    "gate_answers",
    "hook_invocations",
    "tool_permission_log",
    "model_calls",
    "session_leases",
    "session_info",
    "transcript_entries",
];

impl Store {
    /// Deletes a session and everything that belongs to it; that it was deleted stays on the record.
    pub fn delete_session(
        &self,
        seat: &Seat,
        is_gone: impl Fn(&Value) -> bool,
    ) -> Result<(), StoreError> {
        self.for_good(|| {
            self.write(|tx| {
                if holder(tx, &seat.session)?.is_some_and(|holder| !is_gone(&holder)) {
                    return Err(StoreError::SessionInUse(seat.session.to_string()).into());
                }
                remove(tx, &seat.session, &seat.conversation)?;
                event(tx, seat, "session.deleted", &json!({"session_id": seat.session}))
            })
        })
    }

    /// Overwrites what `removes` deletes, in the file and in what waits to be written there.
    pub(crate) fn for_good<T>(
        &self,
        removes: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.outside_transactions(|c| Ok(c.pragma_update(None, "secure_delete", true)?))?;
        let value = removes()?;
        self.outside_transactions(|c| {
            Ok(c.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
        })?;
        Ok(value)
    }
}

/// Removes a session with everything that belongs to it. How many entries it had.
pub(crate) fn remove(
    tx: &Transaction<'_>,
    session: &SessionId,
    conversation: &ConversationId,
) -> Result<usize, Failure> {
    let id = Key(session.as_str());
    call_ids::forget(tx, id)?;
    let mut entries = 0;
    for table in OF_SESSION {
        entries = tx
            .prepare_cached(&format!("DELETE FROM {table} WHERE session_id = ?1"))?
            .execute([id])?;
    }
    trace::keep_heads(tx, id)?;
    tx.prepare_cached("DELETE FROM events WHERE session_id = ?1")?.execute([id])?;
    tx.prepare_cached(
        "DELETE FROM settings_snapshot WHERE scope IN ('session:' || ?1, 'rules:' || ?1)",
    )?
    .execute([id])?;
    tx.prepare_cached("DELETE FROM state WHERE conversation_id = ?1 AND key IN (?2, ?3)")?
        .execute((Key(conversation.as_str()), Key(&cwd_key(session)), Key(&todos_key(session))))?;
    tx.prepare_cached("DELETE FROM sessions WHERE session_id = ?1")?.execute([id])?;
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{new, say, store};

    #[test]
    fn what_is_deleted_is_gone_and_that_it_was_is_known() {
        let (_dir, store) = store();
        let seat = store.new_session(&new("/a", Some("x"))).unwrap();
        say(&store, &seat, "the \"quick\" brown fox");
        let kept = store.new_session(&new("/a", None)).unwrap();
        say(&store, &kept, "slow");
        let hits = store.search("\"QUICK\" br", 10).unwrap();
        assert_eq!((hits.len(), hits[0].sequence), (1, 0));
        assert!(hits[0].excerpt.contains("brown fox"), "{hits:?}");
        store.delete_session(&seat, |_| false).unwrap();
        assert!(store.search("quick", 10).unwrap().is_empty());
        assert_eq!(store.session(&seat.session).unwrap(), None);
        let rows = store.sessions(Some("/a"), None).unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].first_prompt.as_deref(), Some("slow"));
        let told: i64 = store
            .read(|c| {
                let sql = "SELECT count(*) FROM events WHERE event_type = 'session.deleted'";
                Ok(c.query_row(sql, [], |row| row.get(0))?)
            })
            .unwrap();
        assert_eq!(told, 1);
    }

    /// Every table with a `session_id` is cleared with its session, or named here.
    #[test]
    fn no_table_of_a_session_is_forgotten() {
        // Triggers clear those behind `sessions`; ids that copies have stay.
        let others = ["call_ids", "events", "sessions", "main_sessions", "resumable_sessions"];
        let (_dir, store) = store();
        let seat = store.new_session(&new("/a", Some("x"))).unwrap();
        say(&store, &seat, "hello");
        let tables: Vec<String> = store
            .read(|c| {
                let mut statement = c.prepare(
                    "SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) p
                     WHERE m.type = 'table' AND p.name = 'session_id' ORDER BY m.name",
                )?;
                let names = statement.query_map([], |row| row.get(0))?;
                Ok(names.collect::<Result<_, _>>()?)
            })
            .unwrap();
        store.delete_session(&seat, |_| false).unwrap();
        for table in tables {
            let known = OF_SESSION.contains(&table.as_str());
            assert!(known || others.contains(&table.as_str()), "{table}");
            let sql = format!(
                "SELECT count(*) FROM {table} WHERE session_id = ?1 AND '{table}' <> 'events'"
            );
            let left: i64 = store
                .read(|c| Ok(c.query_row(&sql, [seat.session.as_str()], |row| row.get(0))?))
                .unwrap();
            assert_eq!(left, 0, "{table}");
        }
    }
}
