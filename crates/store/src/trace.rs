//! What the record knows of a workspace's trace, so that entries which are gone from the file are noticed.

use ona_types::ConversationId;
use serde_json::json;

use crate::error::StoreError;
use crate::rows::{Key, Transaction};
use crate::store::{Failure, Store};
use crate::tool_calls::event_of;

/// The kind of the event that an entry was appended.
const APPENDED: &str = "trace.appended";

impl Store {
    /// The entries that ona has appended to the trace of a workspace, the oldest first: the number and the hash of each.
    /// Of deleted sessions, only the latest entry of the workspace is known.
    pub fn traced(&self, workspace: &str) -> Result<Vec<(u64, String)>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare(
                "SELECT json_extract(detail, '$.what.seq'), json_extract(detail, '$.what.entry_hash')
                 FROM events
                 WHERE event_type = 'trace.appended'
                   AND CASE WHEN json_valid(detail) THEN json_extract(detail, '$.what.workspace') END = ?1
                   AND typeof(json_extract(detail, '$.what.seq')) = 'integer'
                   AND typeof(json_extract(detail, '$.what.entry_hash')) = 'text'
                 ORDER BY id",
            )?;
            let rows = statement.query_map([Key(workspace)], |row| {
                Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get(1)?))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// The workspaces whose traces are known.
    pub fn traced_workspaces(&self) -> Result<Vec<String>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare(
                "SELECT DISTINCT CASE WHEN json_valid(detail) THEN json_extract(detail, '$.what.workspace') END AS place
                 FROM events WHERE event_type = 'trace.appended' AND typeof(place) = 'text'",
            )?;
            let rows = statement.query_map([], |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Commits that the operator has appended entries to the trace of a workspace: the number and the hash of each.
    pub fn keep_traced(
        &self,
        workspace: &str,
        entries: &[(u64, String)],
    ) -> Result<(), StoreError> {
        self.write(|tx| {
            for (seq, entry_hash) in entries {
                let what = json!({"workspace": workspace, "seq": seq, "entry_hash": entry_hash});
                let nobodys = ConversationId::from_existing("");
                event_of(tx, &nobodys, None, APPENDED, &json!({"what": what}))?;
            }
            Ok(())
        })
    }
}

/// Keeps how far the trace of each workspace went, whichever session wrote there last: otherwise its end
/// could be cut off unnoticed.
pub(crate) fn keep_heads(tx: &Transaction<'_>, session: Key<'_>) -> Result<(), Failure> {
    let workspace = |of: &str| {
        format!(
            "CASE WHEN json_valid({of}.detail) THEN json_extract({of}.detail, '$.what.workspace') END"
        )
    };
    tx.prepare_cached(&format!(
        "UPDATE events SET conversation_id = '', session_id = NULL
         WHERE session_id = ?1 AND event_type = 'trace.appended' AND NOT EXISTS (
             SELECT 1 FROM events later WHERE later.event_type = 'trace.appended'
               AND {} = {} AND later.id > events.id)",
        workspace("later"),
        workspace("events")
    ))?
    .execute([session])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seat;
    use crate::tests::{new, store};
    use crate::tool_calls::event;

    fn appended(store: &Store, seat: &Seat, workspace: &str, seq: i64) {
        let what = json!({"workspace": workspace, "seq": seq, "entry_hash": format!("h{seq}")});
        let detail = json!({"tool_use_id": "t", "what": what});
        store.write(|tx| event(tx, seat, APPENDED, &detail)).unwrap();
    }

    #[test]
    fn every_entry_is_known_and_of_deleted_sessions_the_last() {
        let (_dir, store) = store();
        let [first, last] = ["first", "last"].map(|_| store.new_session(&new("/a", None)).unwrap());
        appended(&store, &first, "/w", 1);
        appended(&store, &first, "/other", 1);
        appended(&store, &last, "/w", 2);
        let known = |workspace: &str| -> Vec<u64> {
            store.traced(workspace).unwrap().into_iter().map(|(seq, _)| seq).collect()
        };
        assert_eq!((known("/w"), known("/other"), known("/none")), (vec![1, 2], vec![1], vec![]));
        for seat in [&first, &last] {
            store.delete_session(seat, |_| false).unwrap();
        }
        assert_eq!((known("/w"), known("/other")), (vec![2], vec![1]), "only the heads");
    }

    #[test]
    fn what_the_operator_appended_is_known_too() {
        let (_dir, store) = store();
        store.keep_traced("/w", &[(1, "a".into()), (2, "b".into())]).unwrap();
        assert_eq!(store.traced("/w").unwrap(), [(1, "a".into()), (2, "b".into())]);
    }
}
