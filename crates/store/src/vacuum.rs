//! Compacting the database file after rows were removed.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::ErrorCode;
use serde::Serialize;
use serde_json::Value;

use crate::error::StoreError;
use crate::store::{BUSY_TIMEOUT, Store};

/// How long another writer may take to finish before it counts as at work.
const PATIENCE: Duration = Duration::from_secs(1);

/// How large the record was and is, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Compacted {
    /// Before, with what waited to be written to it.
    pub before: u64,
    /// After.
    pub after: u64,
}

impl Store {
    /// Rewrites the record without the free space of removed rows (`VACUUM`). It happens in one transaction:
    /// whatever goes wrong, nothing is lost. Refuses while another process works with the record, since that would
    /// have to wait for all of it.
    pub fn compact(&self, is_gone: impl Fn(&Value) -> bool) -> Result<Compacted, StoreError> {
        if let Some(owner) = self.owners()?.into_iter().find(|owner| !is_gone(owner)) {
            let who = owner["pid"].as_u64().map(|pid| format!("process {pid}"));
            return Err(self.at_work(who.unwrap_or_else(|| "another process".into())));
        }
        let before = size(self.path());
        self.outside_transactions(|c| {
            c.busy_timeout(PATIENCE)?;
            let done = c
                .execute_batch("BEGIN IMMEDIATE; ROLLBACK; VACUUM")
                .and_then(|()| c.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())));
            c.busy_timeout(BUSY_TIMEOUT)?;
            match done {
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                    Err(self.at_work("another process".into()).into())
                }
                done => Ok(done?),
            }
        })?;
        Ok(Compacted { before, after: size(self.path()) })
    }

    fn at_work(&self, who: String) -> StoreError {
        StoreError::AtWork(self.path().to_owned(), who)
    }

    /// The processes that drive a session, run a call or supervise a task.
    fn owners(&self) -> Result<Vec<Value>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare(
                "SELECT owner FROM session_leases UNION ALL SELECT owner FROM running_calls
                 UNION ALL SELECT owner FROM background_tasks
                     WHERE ended_at IS NULL AND owner IS NOT NULL",
            )?;
            let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
            let read = |owner: String| serde_json::from_str(&owner).unwrap_or(Value::Null);
            Ok(rows.map(|owner| owner.map(read)).collect::<Result<_, _>>()?)
        })
    }
}

/// The bytes of the record, and of what waits beside it.
fn size(path: &Path) -> u64 {
    let beside = path.with_file_name({
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push("-wal");
        name
    });
    [path, &beside]
        .into_iter()
        .filter_map(|file| fs::metadata(file).ok())
        .map(|meta| meta.len())
        .sum()
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;
    use serde_json::json;

    use super::*;
    use crate::tests::{new, say, store};

    #[test]
    fn room_that_was_left_is_given_back() {
        let (_dir, store) = store();
        let kept = store.new_session(&new("/a", None)).unwrap();
        say(&store, &kept, "kept");
        let large = store.new_session(&new("/a", None)).unwrap();
        for _ in 0..50 {
            say(&store, &large, &"x".repeat(20_000));
        }
        store.delete_session(&large, |_| true).unwrap();
        let Compacted { before, after } = store.compact(|_| true).unwrap();
        assert!(before > 1_000_000 && after < before / 2, "{before} → {after}");
        assert_eq!(store.latest_session("/a").unwrap(), Some(kept));
        let again = crate::inspect(store.path(), &crate::Watch::default());
        assert!(again.findings.iter().all(|f| f.level == crate::Level::Ok), "{again:?}");
    }

    #[test]
    fn nobody_is_made_to_wait() {
        let (_dir, store) = store();
        let seat = store.new_session(&new("/a", None)).unwrap();
        store.take_lease(&seat.session, &json!({"pid": 7}), |_| false).unwrap();
        let refused = store.compact(|_| false).unwrap_err();
        assert!(refused.to_string().contains("process 7"), "{refused}");
        assert!(store.compact(|_| true).is_ok(), "its driver has died");
        let other = Connection::open(store.path()).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert!(matches!(store.compact(|_| true), Err(StoreError::AtWork(..))));
        other.execute_batch("ROLLBACK").unwrap();
        assert!(store.compact(|_| true).is_ok());
    }
}
