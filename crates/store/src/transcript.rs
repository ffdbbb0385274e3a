//! `transcript_entries` (S0 §4.5): appended with the next sequence number, never changed.

use crate::rows::{Connection, Key, MaybeKey, Transaction};
use ona_types::{Entry, SessionId};
use rusqlite::Row;
use rusqlite::types::ValueRef;

use crate::error::StoreError;
use crate::store::{Failure, Store};

/// A row of the transcript as it was found. Types and payloads are text, so that rows made by hand
/// can be read too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    /// The row's id.
    pub id: i64,
    /// From 0, step 1 within a session.
    pub sequence: i64,
    /// The entry this one answers or follows.
    pub parent: Option<i64>,
    /// `entry_type`.
    pub entry_type: String,
    /// `payload_json`.
    pub payload_json: String,
    /// `tool_use_id`.
    pub tool_use_id: Option<String>,
}

/// A row of the transcript while it is read. It borrows SQLite's memory: a caller that converts it
/// anyway needs no copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryView<'r> {
    /// From 0, step 1 within a session.
    pub sequence: i64,
    /// `entry_type`.
    pub entry_type: &'r str,
    /// `payload_json`.
    pub payload_json: &'r str,
    /// `tool_use_id`.
    pub tool_use_id: Option<&'r str>,
}

impl Store {
    /// Appends entries to a session's transcript in one transaction, each following the one before.
    pub fn append(&self, session: &SessionId, entries: &[Entry]) -> Result<(), StoreError> {
        self.write(|tx| {
            for entry in entries {
                append(tx, session, None, entry)?;
            }
            Ok(())
        })
    }

    /// A session's transcript in order.
    pub fn transcript(&self, session: &SessionId) -> Result<Vec<StoredEntry>, StoreError> {
        self.read(|c| entries(c, session, i64::MIN))
    }
}

/// A session's entries from a sequence number on, in order.
pub(crate) fn entries(
    c: &Connection,
    session: &SessionId,
    from: i64,
) -> Result<Vec<StoredEntry>, Failure> {
    let mut statement = c.prepare_cached(
        "SELECT id, sequence, parent_entry_id, entry_type, payload_json, tool_use_id
         FROM transcript_entries WHERE session_id = ?1 AND sequence >= ?2 ORDER BY sequence",
    )?;
    let rows = statement.query_map((Key(session.as_str()), from), stored_entry)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// An entry from its columns, in the order of the queries here.
pub(crate) fn stored_entry(row: &Row<'_>) -> rusqlite::Result<StoredEntry> {
    Ok(StoredEntry {
        id: row.get(0)?,
        sequence: row.get(1)?,
        parent: row.get(2)?,
        entry_type: row.get(3)?,
        payload_json: row.get(4)?,
        tool_use_id: row.get(5)?,
    })
}

/// Shows a session's entries from a sequence number on, in order.
pub(crate) fn view(
    c: &Connection,
    session: &SessionId,
    from: i64,
    mut look: impl FnMut(EntryView<'_>),
) -> Result<(), Failure> {
    let mut statement = c.prepare_cached(
        "SELECT sequence, entry_type, payload_json, tool_use_id
         FROM transcript_entries WHERE session_id = ?1 AND sequence >= ?2 ORDER BY sequence",
    )?;
    let mut rows = statement.query((Key(session.as_str()), from))?;
    while let Some(row) = rows.next()? {
        look(EntryView {
            sequence: row.get(0)?,
            entry_type: text(row, 1)?,
            payload_json: text(row, 2)?,
            tool_use_id: match row.get_ref(3)? {
                ValueRef::Null => None,
                _ => Some(text(row, 3)?),
            },
        });
    }
    Ok(())
}

fn text<'r>(row: &'r Row<'_>, column: usize) -> rusqlite::Result<&'r str> {
    let value = row.get_ref(column)?;
    value.as_str().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, value.data_type(), Box::new(error))
    })
}

/// Appends one entry and returns its id. Without a `parent` it follows the session's last entry.
pub(crate) fn append(
    tx: &Transaction<'_>,
    session: &SessionId,
    parent: Option<i64>,
    entry: &Entry,
) -> Result<i64, Failure> {
    let last = last_entry(tx, session)?;
    let sequence = match last {
        None => 0,
        Some((_, sequence)) => {
            sequence.checked_add(1).ok_or_else(|| StoreError::Exhausted(session.to_string()))?
        }
    };
    tx.prepare_cached(
        "INSERT INTO transcript_entries
             (session_id, sequence, parent_entry_id, entry_type, payload_json, tool_use_id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((
        Key(session.as_str()),
        sequence,
        parent.or(last.map(|(id, _)| id)),
        entry.entry_type.as_str(),
        entry.payload.to_string(),
        MaybeKey(entry.tool_use_id.as_ref().map(|id| id.as_str())),
    ))?;
    Ok(tx.last_insert_rowid())
}

fn last_entry(c: &Connection, session: &SessionId) -> Result<Option<(i64, i64)>, Failure> {
    let mut statement = c.prepare_cached(
        "SELECT id, sequence FROM transcript_entries WHERE session_id = ?1
         ORDER BY sequence DESC LIMIT 1",
    )?;
    let mut rows = statement.query([Key(session.as_str())])?;
    Ok(match rows.next()? {
        Some(row) => Some((row.get(0)?, row.get(1)?)),
        None => None,
    })
}

#[cfg(test)]
mod tests {
    use ona_types::{ContentBlock, EntryType};

    use super::*;
    use crate::Join;

    #[test]
    fn sequence_starts_at_zero_and_payloads_are_compact() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        let seat = store.join(&Join { project_dir: "/a", conversation: None }).unwrap();
        let text = [ContentBlock::Text { text: "hi".into() }];
        let entries = [
            Entry::message(EntryType::User, "u1", &text),
            Entry::message(EntryType::Assistant, "u2", &text),
        ];
        store.append(&seat.session, &entries).unwrap();
        store.append(&seat.session, &entries[..1]).unwrap();

        let rows = store.transcript(&seat.session).unwrap();
        assert_eq!(rows.iter().map(|row| row.sequence).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(rows[2].parent, Some(rows[1].id));
        assert_eq!(
            rows[0].payload_json,
            r#"{"_t":"user","uuid":"u1","content":[{"type":"text","text":"hi"}]}"#
        );
    }

    #[test]
    fn goes_on_after_rows_made_by_hand() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        let seat = store.join(&Join { project_dir: "/a", conversation: None }).unwrap();
        store
            .write(|tx| {
                tx.execute(
                    "INSERT INTO transcript_entries(session_id, sequence, entry_type, payload_json)
                     VALUES (?1, 7, 'whatever', 'no json')",
                    [seat.session.as_str()],
                )?;
                Ok(())
            })
            .unwrap();
        store.append(&seat.session, &[Entry::message(EntryType::User, "u", &[])]).unwrap();
        let rows = store.transcript(&seat.session).unwrap();
        assert_eq!(rows[1].sequence, 8);
        assert_eq!(rows[0].entry_type, "whatever");
    }
}
