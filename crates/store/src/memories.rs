//! `memories` and their full-text index, which is rebuilt in the same transaction as every write
//! (S0 §4.3).

use rusqlite::{OptionalExtension, Row, Transaction};

use crate::error::StoreError;
use crate::store::{Failure, Store};

/// The rebuild, as S0 §4.3 writes it.
const REBUILD: &str = "
    DELETE FROM memories_fts;
    INSERT INTO memories_fts(title, content, keywords, anticipated_queries)
    SELECT title, content, keywords, anticipated_queries FROM memories;";

/// Something worth remembering across conversations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// The key; saving under it again corrects the memory.
    pub id: String,
    /// What kind of memory it is.
    pub kind: String,
    /// One line.
    pub title: String,
    /// The text.
    pub content: Option<String>,
    /// Words to find it by.
    pub keywords: Option<String>,
    /// Questions it answers.
    pub anticipated_queries: Option<String>,
    /// The project it belongs to; everywhere if unset.
    pub project_scope: Option<String>,
}

impl Store {
    /// Saves a memory; one with the same id is corrected and counts one correction more.
    pub fn save_memory(&self, memory: &Memory) -> Result<(), StoreError> {
        self.write(|tx| {
            tx.execute(
                "INSERT INTO memories(id, type, title, content, keywords, anticipated_queries,
                                      project_scope, created_at, updated_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, unixepoch(), unixepoch())
                 ON CONFLICT(id) DO UPDATE SET
                     type = excluded.type, title = excluded.title, content = excluded.content,
                     keywords = excluded.keywords,
                     anticipated_queries = excluded.anticipated_queries,
                     project_scope = excluded.project_scope,
                     correction_count = correction_count + 1, updated_at = unixepoch()",
                (
                    &memory.id,
                    &memory.kind,
                    &memory.title,
                    &memory.content,
                    &memory.keywords,
                    &memory.anticipated_queries,
                    &memory.project_scope,
                ),
            )?;
            rebuild(tx)
        })
    }

    /// Forgets a memory; false if there was none of this id.
    pub fn forget_memory(&self, id: &str) -> Result<bool, StoreError> {
        self.write(|tx| {
            let forgotten = tx.execute("DELETE FROM memories WHERE id = ?1", [id])?;
            rebuild(tx)?;
            Ok(forgotten > 0)
        })
    }

    /// A memory by its id.
    pub fn memory(&self, id: &str) -> Result<Option<Memory>, StoreError> {
        self.read(|c| {
            let sql = format!("SELECT {COLUMNS} FROM memories m WHERE m.id = ?1");
            Ok(c.query_row(&sql, [id], from_row).optional()?)
        })
    }

    /// The memories whose text holds all words of `query`, best first.
    pub fn search_memories(&self, query: &str, most: usize) -> Result<Vec<Memory>, StoreError> {
        // Each word quoted: the operator types words, not FTS5's query language.
        let words: Vec<String> = query
            .split_whitespace()
            .map(|word| format!("\"{}\"", word.replace('"', "\"\"")))
            .collect();
        if words.is_empty() {
            return Ok(Vec::new());
        }
        self.read(|c| {
            // The rebuild numbers its rows 1, 2, … in the order of `memories`: the n-th row of one
            // table is the n-th of the other.
            let sql = format!(
                "WITH m AS (SELECT row_number() OVER (ORDER BY rowid) AS n, * FROM memories)
                 SELECT {COLUMNS} FROM memories_fts JOIN m ON m.n = memories_fts.rowid
                 WHERE memories_fts MATCH ?1 ORDER BY bm25(memories_fts), m.id LIMIT ?2"
            );
            let mut statement = c.prepare(&sql)?;
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let rows = statement.query_map((words.join(" "), most), from_row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

const COLUMNS: &str =
    "m.id, m.type, m.title, m.content, m.keywords, m.anticipated_queries, m.project_scope";

fn from_row(row: &Row<'_>) -> rusqlite::Result<Memory> {
    Ok(Memory {
        id: row.get(0)?,
        kind: row.get(1)?,
        title: row.get(2)?,
        content: row.get(3)?,
        keywords: row.get(4)?,
        anticipated_queries: row.get(5)?,
        project_scope: row.get(6)?,
    })
}

fn rebuild(tx: &Transaction<'_>) -> Result<(), Failure> {
    Ok(tx.execute_batch(REBUILD)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(id: &str, title: &str, content: &str) -> Memory {
        Memory {
            id: id.into(),
            kind: "lesson".into(),
            title: title.into(),
            content: Some(content.into()),
            ..Memory::default()
        }
    }

    #[test]
    fn what_is_saved_is_found_and_what_is_forgotten_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        store.save_memory(&memory("a", "Login", "the token expires")).unwrap();
        store.save_memory(&memory("b", "Build", "needs cmake")).unwrap();
        store.save_memory(&memory("c", "Tokens", "are counted")).unwrap();
        assert!(store.forget_memory("b").unwrap());
        assert!(!store.forget_memory("b").unwrap());

        let found = |query: &str| -> Vec<String> {
            let memories = store.search_memories(query, 10).unwrap();
            memories.into_iter().map(|memory| memory.id).collect()
        };
        let mut both = found("token");
        both.sort();
        assert_eq!(both, ["a", "c"], "by word stem");
        assert_eq!(found("token expires"), ["a"]);
        assert!(found("cmake").is_empty());
        assert!(found("\" OR *").is_empty(), "no query language");

        store.save_memory(&memory("a", "Login", "the cookie expires")).unwrap();
        assert_eq!(found("cookie"), ["a"]);
        assert_eq!(store.memory("a").unwrap().unwrap().content.unwrap(), "the cookie expires");
        let corrections: i64 = store
            .read(|c| {
                Ok(c.query_row(
                    "SELECT correction_count FROM memories WHERE id = 'a'",
                    [],
                    |row| row.get(0),
                )?)
            })
            .unwrap();
        assert_eq!(corrections, 2);
    }
}
