//! Tables: S0 §4.3 to the letter, then numbered migrations.
//!
//! `schema_meta.schema_version` names S0's DDL and stays `1`; the key `migration` counts the further
//! tables. A file made with `schema.sql` and the `sqlite3` shell is taken as it is and completed.

use crate::rows::Connection;
use rusqlite::OptionalExtension;

use crate::error::StoreError;
use crate::store::{Failure, Store};

/// S0 §4.3.
pub(crate) const S0: &str = include_str!("../migrations/s0.sql");

/// S0 §4.2.
const SCHEMA_VERSION: i64 = 1;

/// What came after, in order. A migration that was released is never edited.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_tool_calls.sql"),
    include_str!("../migrations/0002_gate.sql"),
    include_str!("../migrations/0003_agent.sql"),
    include_str!("../migrations/0004_intents.sql"),
    include_str!("../migrations/0005_agents.sql"),
    include_str!("../migrations/0006_memories.sql"),
    include_str!("../migrations/0007_growth.sql"),
    include_str!("../migrations/0008_call_ids.sql"),
    include_str!("../migrations/0009_prompts.sql"),
    include_str!("../migrations/0010_behaviour.sql"),
];

/// The number of the latest migration.
pub const LATEST_MIGRATION: i64 = MIGRATIONS.len() as i64;

/// What a database says of itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// No table at all.
    Empty,
    /// Ona's, at this migration.
    Migration(i64),
    /// Written by a newer version of ona.
    Newer(String),
    /// Another program's database, with the reason.
    Foreign(ForeignSchema),
}

/// How a database shows that another program wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForeignSchema {
    /// A table of every ona database is missing.
    #[error("it has no table {0}")]
    NoTable(&'static str),
    /// It has ona's tables, but does not say which migration they are from.
    #[error("its schema_meta has no row `migration`")]
    NoMigration,
    /// A version is not a number.
    #[error("its {key} is `{found}`, not a number")]
    NotANumber {
        /// The key in `schema_meta`.
        key: &'static str,
        /// Its value.
        found: String,
    },
}

pub(crate) fn version(connection: &Connection) -> rusqlite::Result<Version> {
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 {
        return Ok(Version::Empty);
    }
    for table in ["schema_meta", "conversations", "transcript_entries"] {
        let found: Option<i64> = connection
            .query_row("SELECT 1 FROM sqlite_schema WHERE name = ?1", [table], |row| row.get(0))
            .optional()?;
        if found.is_none() {
            return Ok(Version::Foreign(ForeignSchema::NoTable(table)));
        }
    }
    // Ona's own tables, and nothing that says since when: guessing would migrate them twice.
    let migrated: Option<i64> = connection
        .query_row("SELECT 1 FROM sqlite_schema WHERE name = 'running_calls'", [], |row| row.get(0))
        .optional()?;
    let counted: Option<i64> = connection
        .query_row("SELECT 1 FROM schema_meta WHERE key = 'migration'", [], |row| row.get(0))
        .optional()?;
    if migrated.is_some() && counted.is_none() {
        return Ok(Version::Foreign(ForeignSchema::NoMigration));
    }
    let number =
        |key: &'static str, default: i64| -> rusqlite::Result<Result<i64, ForeignSchema>> {
            let value: Option<String> = connection
                .query_row("SELECT value FROM schema_meta WHERE key = ?1", [key], |row| row.get(0))
                .optional()?;
            Ok(match value {
                None => Ok(default),
                Some(found) => found.parse().map_err(|_| ForeignSchema::NotANumber { key, found }),
            })
        };
    Ok(match (number("schema_version", SCHEMA_VERSION)?, number("migration", 0)?) {
        (Err(reason), _) | (_, Err(reason)) => Version::Foreign(reason),
        (Ok(version), _) if version > SCHEMA_VERSION => {
            Version::Newer(format!("schema_version {version}"))
        }
        (Ok(_), Ok(migration)) if migration > LATEST_MIGRATION => {
            Version::Newer(format!("migration {migration}"))
        }
        (Ok(_), Ok(migration)) => Version::Migration(migration),
    })
}

/// Refuses a foreign database; returns the migration of ona's own.
fn migration_of(connection: &Connection, store: &Store) -> Result<Option<i64>, Failure> {
    let path = store.path().to_owned();
    match version(connection)? {
        Version::Empty => Ok(None),
        Version::Migration(migration) => Ok(Some(migration)),
        Version::Foreign(reason) => Err(StoreError::Foreign(path, reason).into()),
        Version::Newer(found) => {
            let known = format!("migration {LATEST_MIGRATION}");
            Err(StoreError::Newer { path, found, known }.into())
        }
    }
}

/// Refuses a foreign database before anything is changed.
pub(crate) fn refuse_others(store: &Store) -> Result<(), StoreError> {
    store.read(|connection| migration_of(connection, store)).map(drop)
}

/// The tables, indexes and triggers a database of this ona has, each with the table that it belongs to.
pub(crate) fn expected_names() -> rusqlite::Result<Vec<(String, String)>> {
    let model = Connection::open_in_memory()?;
    model.execute_batch(S0)?;
    for migration in MIGRATIONS {
        model.execute_batch(migration)?;
    }
    let mut statement = model.prepare("SELECT name, tbl_name FROM sqlite_schema ORDER BY name")?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// Creates or completes the tables, each migration once, even if other processes open the database too.
pub(crate) fn bring_up_to_date(store: &Store) -> Result<(), StoreError> {
    // Looking first keeps the common start free of a write lock.
    if store.read(|connection| migration_of(connection, store))? == Some(LATEST_MIGRATION) {
        return Ok(());
    }
    store.write(|tx| {
        let done = match migration_of(tx, store)? {
            Some(migration) => migration,
            None => {
                tx.execute_batch(S0)?;
                0
            }
        };
        tx.execute(
            "INSERT OR IGNORE INTO schema_meta(key, value) VALUES ('schema_version', ?1)",
            [SCHEMA_VERSION.to_string()],
        )?;
        for migration in MIGRATIONS.iter().skip(usize::try_from(done).unwrap_or(0)) {
            tx.execute_batch(migration)?;
        }
        tx.execute(
            "INSERT OR REPLACE INTO schema_meta(key, value) VALUES ('migration', ?1)",
            [LATEST_MIGRATION.to_string()],
        )?;
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use rusqlite::Connection;

    use super::*;

    fn tables(connection: &Connection) -> BTreeMap<String, String> {
        connection
            .prepare("SELECT name, coalesce(sql, '') FROM sqlite_schema")
            .unwrap()
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect()
    }

    #[test]
    fn schema_sql_at_the_root_is_the_same_schema() {
        let ours = Connection::open_in_memory().unwrap();
        ours.execute_batch(S0).unwrap();
        let root = Connection::open_in_memory().unwrap();
        root.execute_batch(include_str!("../../../schema.sql")).unwrap();
        assert_eq!(tables(&ours), tables(&root));
        assert!(tables(&ours).contains_key("tool_permission_log"));
    }

    #[test]
    fn migrations_leave_the_tables_of_s0_alone() {
        let s0 = Connection::open_in_memory().unwrap();
        s0.execute_batch(S0).unwrap();
        let before = tables(&s0);
        for migration in MIGRATIONS {
            s0.execute_batch(migration).unwrap();
        }
        let after = tables(&s0);
        for (name, sql) in before {
            assert_eq!(after.get(&name), Some(&sql), "{name}");
        }
    }

    /// `fixtures/migration_<n>.sql` is a database as the ona of that migration left it.
    #[test]
    fn every_old_database_migrates_forward() {
        for old in 0..LATEST_MIGRATION {
            let fixture =
                Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/migration_{old}.sql"));
            let sql = std::fs::read_to_string(&fixture)
                .unwrap_or_else(|_| panic!("add {} before adding a migration", fixture.display()));
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("agent.db");
            Connection::open(&path).unwrap().execute_batch(&sql).unwrap();

            let store = Store::open(&path).unwrap();
            store
                .read(|c| {
                    assert_eq!(version(c)?, Version::Migration(LATEST_MIGRATION));
                    let rows: i64 =
                        c.query_row("SELECT count(*) FROM transcript_entries", [], |row| {
                            row.get(0)
                        })?;
                    assert!(rows > 0, "the fixture's rows are kept");
                    Ok(())
                })
                .unwrap();
            let findings = crate::inspect(&path, &crate::Watch::default()).findings;
            assert!(findings.iter().all(|f| f.level != crate::Level::Fail), "{findings:?}");
        }
    }

    #[test]
    fn other_databases_are_refused_untouched() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("other.db");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs(x)").unwrap();
        assert!(matches!(Store::open(&path), Err(StoreError::Foreign(..))));
        let left = tables(&Connection::open(&path).unwrap());
        assert_eq!(left.keys().collect::<Vec<_>>(), ["theirs"]);
        let mode: String = Connection::open(&path)
            .unwrap()
            .pragma_query_value(None, "journal_mode", |row| row.get(0))
            .unwrap();
        assert_eq!(mode, "delete", "not even its journal mode");
    }

    #[test]
    fn newer_databases_are_refused() {
        for (key, value) in [("schema_version", "2"), ("migration", "999")] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("agent.db");
            drop(Store::open(&path).unwrap());
            Connection::open(&path)
                .unwrap()
                .execute(
                    "INSERT OR REPLACE INTO schema_meta(key, value) VALUES (?1, ?2)",
                    [key, value],
                )
                .unwrap();
            assert!(matches!(Store::open(&path), Err(StoreError::Newer { .. })), "{key}");
        }
    }
}
