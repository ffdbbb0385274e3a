//! Trusted files of repositories, each with the hash of the content that the operator approved.

use ona_types::ContentHash;
use ona_types::trust::{TrustRecord, TrustedContent, TrustedFile};
use rusqlite::Row;

use crate::error::StoreError;
use crate::rows::Key;
use crate::store::Store;

const COLUMNS: &str = "SELECT root, place, hash, runs_hash, trusted_at FROM trusted_content";

fn content(row: &Row<'_>) -> rusqlite::Result<TrustedContent> {
    Ok(TrustedContent {
        root: row.get(0)?,
        place: row.get(1)?,
        hash: ContentHash::from_hex(row.get::<_, String>(2)?),
        runs_hash: ContentHash::from_hex(row.get::<_, String>(3)?),
        trusted_at: row.get(4)?,
    })
}

impl TrustRecord for Store {
    type Error = StoreError;

    fn trusted(&self, root: &str) -> Result<Vec<TrustedContent>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare_cached(&format!("{COLUMNS} WHERE root = ?1"))?;
            let rows = statement.query_map([Key(root)], content)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    fn trust(&self, root: &str, files: &[TrustedFile<'_>]) -> Result<(), StoreError> {
        self.write(|tx| {
            for TrustedFile { place, hash, runs_hash } in files {
                tx.execute(
                    "INSERT OR REPLACE INTO trusted_content(root, place, hash, runs_hash)
                     VALUES (?1, ?2, ?3, ?4)",
                    (Key(root), Key(place), Key(hash.as_str()), Key(runs_hash.as_str())),
                )?;
            }
            Ok(())
        })
    }
}

impl Store {
    /// Revokes a repository's trust; false if there was none.
    pub fn untrust(&self, root: &str) -> Result<bool, StoreError> {
        self.write(|tx| {
            Ok(tx.execute("DELETE FROM trusted_content WHERE root = ?1", [Key(root)])? > 0)
        })
    }

    /// Everything that is trusted.
    pub fn all_trusted(&self) -> Result<Vec<TrustedContent>, StoreError> {
        self.read(|c| {
            let mut statement =
                c.prepare(&format!("{COLUMNS} ORDER BY root, place, trusted_at, hash"))?;
            let rows = statement.query_map([], content)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_is_given_added_to_and_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        assert_eq!(store.trusted("/r").unwrap(), []);
        let (one, two) = (ContentHash::of(b"1"), ContentHash::of(b"2"));
        let file = |place, hash, runs_hash| TrustedFile { place, hash, runs_hash };
        store.trust("/r", &[file("a", &one, &one), file("b", &one, &two)]).unwrap();
        store.trust("/r", &[file("a", &two, &one), file("a", &one, &one)]).unwrap();
        store.trust("/other", &[file("a", &two, &one)]).unwrap();
        let found = store.trusted("/r").unwrap();
        let places: Vec<&str> = found.iter().map(|content| content.place.as_str()).collect();
        assert_eq!(places, ["a", "a", "b"], "both versions of `a` stay");
        assert_eq!(store.all_trusted().unwrap().len(), 4);
        assert!(store.untrust("/r").unwrap());
        assert!(!store.untrust("/r").unwrap());
        assert_eq!(store.all_trusted().unwrap().len(), 1, "the other repository's stays");
    }
}
