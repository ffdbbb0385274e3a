//! Opening the record read-only.

use std::io;
use std::path::Path;
use std::sync::Mutex;

use crate::rows::Connection;
use rusqlite::OpenFlags;
use rusqlite::backup::Backup;

use crate::error::StoreError;
use crate::schema::{self, LATEST_MIGRATION, Version};
use crate::store::{Store, connect};

impl Store {
    /// The record, read-only. A missing record is not created; one
    /// that lacks tables of this version is completed in a copy in memory.
    pub fn look(path: &Path) -> Result<Self, StoreError> {
        let sorted = |error| StoreError::sort(path, error);
        let of = |connection| Self::of(connection, path);
        let found = path.symlink_metadata();
        if found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            let store = of(Connection::open_in_memory().map_err(sorted)?);
            schema::bring_up_to_date(&store)?;
            return Ok(store);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = connect(path, flags)?;
        connection.pragma_update(None, "query_only", true).map_err(sorted)?;
        if matches!(schema::version(&connection), Ok(Version::Migration(found)) if found == LATEST_MIGRATION)
        {
            return Ok(of(connection));
        }
        let mut copy = Connection::open_in_memory().map_err(sorted)?;
        Backup::new(&connection, &mut copy)
            .and_then(|backup| backup.step(-1).map(drop))
            .map_err(sorted)?;
        let store = of(copy);
        schema::bring_up_to_date(&store)?;
        Ok(store)
    }

    fn of(connection: Connection, path: &Path) -> Self {
        Self { connection: Mutex::new(connection), path: path.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ona_types::trust::TrustRecord as _;

    use rusqlite::Connection;

    use super::*;
    use crate::conversations::Join;

    #[test]
    fn who_only_looks_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("below/agent.db");
        let join = Join { project_dir: "/p", conversation: None };
        let nowhere = Store::look(&path).unwrap();
        assert_eq!(nowhere.seat(&join).unwrap(), None);
        assert_eq!(nowhere.path(), path);
        assert!(!dir.path().join("below").exists());

        let seat = Store::open(&path).unwrap().join(&join).unwrap();
        let before = fs::read(&path).unwrap();
        let store = Store::look(&path).unwrap();
        assert_eq!(store.seat(&join).unwrap(), Some(seat));
        let elsewhere = Join { project_dir: "/q", conversation: None };
        assert_eq!(store.seat(&elsewhere).unwrap(), None);
        assert!(store.join(&elsewhere).is_err(), "it cannot be changed");
        drop(store);
        assert_eq!(fs::read(&path).unwrap(), before);
    }

    #[test]
    fn an_older_record_is_completed_in_a_copy() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agent.db");
        Connection::open(&path).unwrap().execute_batch(schema::S0).unwrap();
        let before = fs::read(&path).unwrap();
        let store = Store::look(&path).unwrap();
        assert_eq!(store.trusted("/p").unwrap(), []);
        assert_eq!(fs::read(&path).unwrap(), before);

        fs::write(&path, "").unwrap();
        assert!(Store::look(&path).is_ok(), "an empty file is one that ona would fill");
        fs::write(&path, "no database at all, but long enough to be one").unwrap();
        assert!(Store::look(&path).is_err());
        fs::remove_file(&path).unwrap();
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs(x)").unwrap();
        assert!(matches!(Store::look(&path), Err(StoreError::Foreign(..))));
    }
}
