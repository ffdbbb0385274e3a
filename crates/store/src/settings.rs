//! `settings_snapshot`: the settings of a session, and whether ona or the operator wrote them.

use crate::rows::{Connection, Key};
use ona_types::ContentHash;
use rusqlite::OptionalExtension;

use crate::error::StoreError;
use crate::store::{Failure, Store};

/// The scope of S0 §4.4.
const EFFECTIVE: &str = "effective";
/// Where the hash of what ona itself last wrote there is kept.
const OWN: &str = "effective_snapshot_hash";

impl Store {
    /// The snapshot `effective`, if the operator put it there: its bytes are not those ona last wrote.
    pub fn operators_snapshot(&self) -> Result<Option<String>, StoreError> {
        self.read(|c| {
            let Some(json) = snapshot(c, EFFECTIVE)? else { return Ok(None) };
            let own: Option<String> = c
                .query_row("SELECT value FROM schema_meta WHERE key = ?1", [OWN], |row| row.get(0))
                .optional()?;
            let written = ContentHash::of(json.as_bytes());
            Ok((own.as_deref() != Some(written.as_str())).then_some(json))
        })
    }

    /// Writes the snapshot `effective`, as imported from settings files.
    pub fn import_settings(&self, json: &str) -> Result<(), StoreError> {
        // By these bytes ona knows its own snapshot again.
        let json = &*self.read(|c| Ok(c.masked(json).into_owned()))?;
        if self.read(|c| snapshot(c, EFFECTIVE))?.as_deref() == Some(json) {
            return Ok(());
        }
        self.write(|tx| {
            put(tx, EFFECTIVE, json)?;
            tx.execute(
                "INSERT OR REPLACE INTO schema_meta(key, value) VALUES (?1, ?2)",
                (OWN, ContentHash::of(json.as_bytes()).as_str()),
            )?;
            Ok(())
        })
    }

    /// A snapshot by its scope.
    pub fn snapshot(&self, scope: &str) -> Result<Option<String>, StoreError> {
        self.read(|c| snapshot(c, scope))
    }

    /// Keeps the snapshot a session runs on.
    pub fn keep_snapshot(&self, scope: &str, json: &str) -> Result<(), StoreError> {
        let json = &*self.read(|c| Ok(c.masked(json).into_owned()))?;
        if self.snapshot(scope)?.as_deref() == Some(json) {
            return Ok(());
        }
        self.write(|tx| put(tx, scope, json))
    }
}

fn snapshot(c: &Connection, scope: &str) -> Result<Option<String>, Failure> {
    Ok(c.prepare_cached("SELECT json FROM settings_snapshot WHERE scope = ?1")?
        .query_row([Key(scope)], |row| row.get(0))
        .optional()?)
}

fn put(c: &Connection, scope: &str, json: &str) -> Result<(), Failure> {
    c.execute(
        "INSERT OR REPLACE INTO settings_snapshot(scope, json, updated_at)
         VALUES (?1, ?2, datetime('now'))",
        (Key(scope), json),
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ona_did_not_write_is_the_operators() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        assert_eq!(store.operators_snapshot().unwrap(), None);
        store.import_settings("{}").unwrap();
        assert_eq!(store.operators_snapshot().unwrap(), None);
        store.write(|tx| put(tx, EFFECTIVE, r#"{"hooks":[]}"#)).unwrap();
        assert_eq!(store.operators_snapshot().unwrap().as_deref(), Some(r#"{"hooks":[]}"#));
        store.import_settings(r#"{"a":1}"#).unwrap();
        assert_eq!(store.operators_snapshot().unwrap(), None, "imported over it");
        store.keep_snapshot("session:x", "{}").unwrap();
        assert_eq!(store.snapshot("session:x").unwrap().as_deref(), Some("{}"));
    }
}
