//! Trusted files of repositories, each with the hash of the content that the operator approved.

use ona_types::ContentHash;
use rusqlite::Row;

use crate::error::StoreError;
use crate::store::Store;

/// One version of one file that is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedContent {
    /// The repository's root directory.
    pub root: String,
    /// The file, from the root of a checkout.
    pub place: String,
    /// All that was agreed to.
    pub hash: ContentHash,
    /// What of it runs.
    pub runs_hash: ContentHash,
    /// When.
    pub trusted_at: String,
}

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

impl Store {
    /// What is trusted in a repository.
    pub fn trusted(&self, root: &str) -> Result<Vec<TrustedContent>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare_cached(&format!("{COLUMNS} WHERE root = ?1"))?;
            let rows = statement.query_map([root], content)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Trusts files as they are: for each its place, the hash of all that counts, and of what runs.
    pub fn trust<'a>(
        &self,
        root: &str,
        files: impl IntoIterator<Item = (&'a str, &'a ContentHash, &'a ContentHash)>,
    ) -> Result<(), StoreError> {
        self.write(|tx| {
            for (place, hash, runs_hash) in files {
                tx.execute(
                    "INSERT OR REPLACE INTO trusted_content(root, place, hash, runs_hash)
                     VALUES (?1, ?2, ?3, ?4)",
                    (root, place, hash.as_str(), runs_hash.as_str()),
                )?;
            }
            Ok(())
        })
    }

    /// Revokes a repository's trust; false if there was none.
    pub fn untrust(&self, root: &str) -> Result<bool, StoreError> {
        self.write(|tx| Ok(tx.execute("DELETE FROM trusted_content WHERE root = ?1", [root])? > 0))
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
        store.trust("/r", [("a", &one, &one), ("b", &one, &two)]).unwrap();
        store.trust("/r", [("a", &two, &one), ("a", &one, &one)]).unwrap();
        store.trust("/other", [("a", &two, &one)]).unwrap();
        let found = store.trusted("/r").unwrap();
        let places: Vec<&str> = found.iter().map(|content| content.place.as_str()).collect();
        assert_eq!(places, ["a", "a", "b"], "both versions of `a` stay");
        assert_eq!(store.all_trusted().unwrap().len(), 4);
        assert!(store.untrust("/r").unwrap());
        assert!(!store.untrust("/r").unwrap());
        assert_eq!(store.all_trusted().unwrap().len(), 1, "the other repository's stays");
    }
}
