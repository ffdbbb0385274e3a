//! Repositories the operator trusts, each with the hash of what was trusted.

use ona_types::ContentHash;
use rusqlite::OptionalExtension;

use crate::error::StoreError;
use crate::store::Store;

/// A trusted repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedRoot {
    /// Its root directory.
    pub root: String,
    /// What was trusted.
    pub hash: ContentHash,
    /// When.
    pub trusted_at: String,
}

impl Store {
    /// What was trusted in a repository.
    pub fn trusted(&self, root: &str) -> Result<Option<ContentHash>, StoreError> {
        self.read(|c| {
            let hash: Option<String> = c
                .query_row("SELECT hash FROM trusted_roots WHERE root = ?1", [root], |row| {
                    row.get(0)
                })
                .optional()?;
            Ok(hash.map(ContentHash::from_hex))
        })
    }

    /// Trusts a repository as it is.
    pub fn trust(&self, root: &str, hash: &ContentHash) -> Result<(), StoreError> {
        self.write(|tx| {
            tx.execute(
                "INSERT OR REPLACE INTO trusted_roots(root, hash) VALUES (?1, ?2)",
                (root, hash.as_str()),
            )?;
            Ok(())
        })
    }

    /// Takes trust back; false if there was none.
    pub fn untrust(&self, root: &str) -> Result<bool, StoreError> {
        self.write(|tx| Ok(tx.execute("DELETE FROM trusted_roots WHERE root = ?1", [root])? > 0))
    }

    /// Every trusted repository.
    pub fn trusted_roots(&self) -> Result<Vec<TrustedRoot>, StoreError> {
        self.read(|c| {
            let mut statement =
                c.prepare("SELECT root, hash, trusted_at FROM trusted_roots ORDER BY root")?;
            let rows = statement.query_map([], |row| {
                Ok(TrustedRoot {
                    root: row.get(0)?,
                    hash: ContentHash::from_hex(row.get::<_, String>(1)?),
                    trusted_at: row.get(2)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_is_given_changed_and_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        assert_eq!(store.trusted("/r").unwrap(), None);
        let (one, two) = (ContentHash::of(b"1"), ContentHash::of(b"2"));
        store.trust("/r", &one).unwrap();
        store.trust("/r", &two).unwrap();
        assert_eq!(store.trusted("/r").unwrap(), Some(two));
        assert_eq!(store.trusted_roots().unwrap().len(), 1);
        assert!(store.untrust("/r").unwrap());
        assert!(!store.untrust("/r").unwrap());
    }
}
