//! Opening the file, and the one way to write it.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::rows::{Connection, Transaction};
use ona_types::Mask;
use rusqlite::config::DbConfig;
use rusqlite::{ErrorCode, OpenFlags};
use tracing::debug;

use crate::error::StoreError;
use crate::schema;

/// S0 §4.8: how long a writer waits for another process.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_millis(30_000);

/// SQLite's page cache, in KiB. The system caches the rest: a long transcript is read once and from
/// front to back, and memory that is touched for it costs more than reading its pages again would.
const CACHE_KIB: i64 = 512;

/// The `-wal` file is cut back to this after a checkpoint.
const WAL_LIMIT: i64 = 4 << 20;

/// A `-wal` file that is longer than this is not left behind.
const LOG_LEFT: u64 = 1 << 20;

// Older ones have a WAL bug that can lose a commit when two processes write at once.
const _: () = assert!(
    rusqlite::ffi::SQLITE_VERSION_NUMBER >= 3_051_003,
    "the bundled SQLite must be 3.51.3 or newer"
);

/// The record, open for this process. Its one connection is also its one writer (S0 §4.8).
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Mutex<Connection>,
    pub(crate) path: PathBuf,
}

impl Store {
    /// Makes an empty record, for a test that wants one of its own.
    pub fn make_empty(path: &Path) -> Result<(), StoreError> {
        Self::open(path).map(drop)
    }

    /// Opens the record, creates it with its directory if missing, and brings it up to the latest
    /// migration.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        check_clock(SystemTime::now())?;
        if let Some(parent) = path.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(parent)
                .map_err(|error| StoreError::CannotOpen(path.to_owned(), error.to_string()))?;
        }
        // The record holds whatever was read and printed: it is its owner's alone. SQLite gives -wal and
        // -shm the same mode. If this fails, opening it will say why.
        let _ = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = connect(path, flags)?;
        let store = Self { connection: Mutex::new(connection), path: path.to_owned() };
        schema::refuse_others(&store)?;
        make_private(path);
        // Two processes that switch a new file to WAL at once: one is told "busy" without waiting.
        let mut backoff = Backoff::new();
        loop {
            match use_wal(&store.lock()) {
                Ok(()) => break,
                Err(error) if is_busy(&error) && backoff.wait() => {}
                Err(error) => return Err(StoreError::sort(path, error)),
            }
        }
        schema::bring_up_to_date(&store)?;
        debug!(target: "ona::store", path = %path.display(), "opened");
        Ok(store)
    }

    /// A record in memory only, if nothing is to be stored.
    pub fn in_memory() -> Result<Self, StoreError> {
        check_clock(SystemTime::now())?;
        Self::for_judging()
    }

    /// The same, for a judgement that has to be made whatever the clock says.
    pub fn for_judging() -> Result<Self, StoreError> {
        let path = PathBuf::from(":memory:");
        let sorted = |error| StoreError::sort(&path, error);
        let connection = Connection::open_in_memory().map_err(sorted)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(sorted)?;
        let store = Self { connection: Mutex::new(connection), path: path.clone() };
        schema::bring_up_to_date(&store)?;
        Ok(store)
    }

    /// Masks secrets in every text from now on.
    #[must_use]
    pub fn masking(mut self, mask: Arc<dyn Mask>) -> Self {
        self.connection.get_mut().unwrap_or_else(PoisonError::into_inner).mask_with(mask);
        self
    }

    /// Leaves commits in the write-ahead log when this process ends; the next process finds them there. A
    /// process that lives for one commit would spend more on folding the log into the file than on all the rest.
    /// A log that has grown is folded: the next process would read all of it.
    pub fn leave_log(&self) -> Result<(), StoreError> {
        let keep = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        let grown = fs::metadata(log).is_ok_and(|log| log.len() > LOG_LEFT);
        self.read(|c| Ok(c.set_db_config(keep, !grown).map(drop)?))
    }

    /// Where the record is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `change` in one `BEGIN IMMEDIATE` transaction; on return it is on the disk or not at all.
    pub(crate) fn write<T>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        let started = Instant::now();
        let connection = self.lock();
        // `BEGIN IMMEDIATE` waits inside busy_timeout, but SQLite also answers "busy" at once where
        // waiting could deadlock, as during another process's recovery.
        let mut backoff = Backoff::new();
        let transaction = loop {
            match Transaction::begin(&connection) {
                Ok(transaction) => break transaction,
                Err(error) if is_busy(&error) && backoff.wait() => {}
                Err(error) => return Err(StoreError::sort(&self.path, error)),
            }
        };
        let value = change(&transaction).map_err(|failure| failure.sort(&self.path))?;
        transaction.commit().map_err(|error| StoreError::sort(&self.path, error))?;
        let ms = started.elapsed().as_secs_f64() * 1e3;
        debug!(target: "ona::store", ms = %format_args!("{ms:.2}"), "committed");
        Ok(value)
    }

    /// Runs queries, which all see the same state: another process may write between two of them.
    pub(crate) fn read<T>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        let connection = self.lock();
        let run = || {
            let snapshot = connection.snapshot()?;
            let found = query(&connection)?;
            snapshot.commit()?;
            Ok(found)
        };
        run().map_err(|failure: Failure| failure.sort(&self.path))
    }

    /// Runs what does not work in a transaction.
    pub(crate) fn outside_transactions<T>(
        &self,
        act: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        act(&self.lock()).map_err(|failure| failure.sort(&self.path))
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A panic while the lock was held rolled its transaction back: the connection is sound.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a transaction's body gave up: for SQLite's reasons or for ours.
#[derive(Debug)]
pub(crate) enum Failure {
    Sqlite(rusqlite::Error),
    Store(StoreError),
}

impl Failure {
    fn sort(self, path: &Path) -> StoreError {
        match self {
            Self::Sqlite(error) => StoreError::sort(path, error),
            Self::Store(error) => error,
        }
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The first second that has no date of four digits for its year: 10000-01-01.
const NO_MORE_DATES: u64 = 253_402_300_800;

/// Refuses a clock whose time cannot be recorded: ids and dates are made from it.
fn check_clock(now: SystemTime) -> Result<(), StoreError> {
    match now.duration_since(UNIX_EPOCH) {
        Ok(since) if since.as_secs() < NO_MORE_DATES => Ok(()),
        _ => Err(StoreError::Clock),
    }
}

/// Opens a connection. What the file is has yet to be found out, so nothing in it is touched.
pub(crate) fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => {
            return Err(StoreError::CannotOpen(path.to_owned(), "it is a directory".into()));
        }
        Ok(meta) if !meta.is_file() => {
            return Err(StoreError::CannotOpen(path.to_owned(), "it is not a regular file".into()));
        }
        _ => {}
    }
    let sorted = |error| StoreError::sort(path, error);
    let connection = Connection::open_with_flags(path, flags).map_err(sorted)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(sorted)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(sorted)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(sorted)?;
    // Negative: in KiB, not in pages.
    connection.pragma_update(None, "cache_size", -CACHE_KIB).map_err(sorted)?;
    Ok(connection)
}

/// Makes the record private, if it belongs to this user: a file made with the shell, or
/// with an older ona, may be readable by others. A failure is ignored.
fn make_private(path: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let Ok(meta) = fs::metadata(&name) else { continue };
        let open = meta.permissions().mode() & 0o077 != 0;
        if open && meta.uid() == nix::unistd::geteuid().as_raw() {
            let _ = fs::set_permissions(&name, Permissions::from_mode(meta.mode() & 0o700));
        }
    }
}

/// Puts a database that is ours into WAL mode.
fn use_wal(connection: &Connection) -> rusqlite::Result<()> {
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if mode != "wal" {
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    }
    connection.pragma_update_and_check(None, "journal_size_limit", WAL_LIMIT, |_| Ok(()))
}

/// The upper bound of all texts with this prefix, for a range query that can use an index, unlike `substr`.
pub(crate) fn behind_prefix(prefix: &str) -> String {
    format!("{prefix}{}", char::MAX)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Waits a little longer each time, for [`BUSY_TIMEOUT`] in all.
struct Backoff {
    deadline: Instant,
    pause: Duration,
}

impl Backoff {
    fn new() -> Self {
        Self { deadline: Instant::now() + BUSY_TIMEOUT, pause: Duration::from_millis(1) }
    }

    /// Waits; false when the time is up.
    fn wait(&mut self) -> bool {
        if Instant::now() >= self.deadline {
            return false;
        }
        thread::sleep(self.pause);
        self.pause = (self.pause * 2).min(Duration::from_millis(50));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_cannot_be_right_is_an_error() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        for fine in [at(0), at(NO_MORE_DATES - 1), SystemTime::now()] {
            assert!(check_clock(fine).is_ok(), "{fine:?}");
        }
        let before = UNIX_EPOCH - Duration::from_nanos(1);
        for wrong in [before, at(NO_MORE_DATES), at(1 << 40)] {
            assert!(matches!(check_clock(wrong), Err(StoreError::Clock)), "{wrong:?}");
        }
    }

    #[test]
    fn every_connection_has_the_pragmas() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        let pragma = |name: &str| -> String {
            store
                .read(|c| {
                    Ok(c.query_row(
                        &format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}"),
                        [],
                        |row| row.get(0),
                    )?)
                })
                .unwrap()
        };
        assert_eq!(pragma("foreign_keys"), "1");
        assert_eq!(pragma("journal_mode"), "wal");
        assert_eq!(pragma("synchronous"), "2");
        let timeout: i64 = store
            .read(|c| {
                Ok(c.query_row("SELECT timeout FROM pragma_busy_timeout", [], |row| row.get(0))?)
            })
            .unwrap();
        assert_eq!(timeout, 30_000);
    }

    fn mode_of(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_record_is_its_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state/ona");
        let path = state.join("agent.db");
        let _store = Store::open(&path).unwrap();
        assert_eq!(mode_of(&state), 0o700);
        for name in ["agent.db", "agent.db-wal", "agent.db-shm"] {
            assert_eq!(mode_of(&state.join(name)), 0o600, "{name}");
        }
    }

    #[test]
    fn a_record_that_others_can_read_is_closed_to_them() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        let path = dir.path().join("agent.db");
        let first = Store::open(&path).unwrap();
        let files = ["agent.db", "agent.db-wal", "agent.db-shm"].map(|name| dir.path().join(name));
        for file in &files {
            fs::set_permissions(file, Permissions::from_mode(0o644)).unwrap();
        }
        let _second = Store::open(&path).unwrap();
        for file in &files {
            assert_eq!(mode_of(file), 0o600, "{}", file.display());
        }
        assert_eq!(mode_of(dir.path()), 0o755, "a directory that was there is left alone");
        drop(first);
    }

    #[test]
    fn a_failed_change_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        let result: Result<(), _> = store.write(|tx| {
            tx.execute("INSERT INTO schema_meta(key, value) VALUES ('x', 'y')", [])?;
            Err(StoreError::UnknownConversation("x".into()).into())
        });
        assert!(result.is_err());
        let rows: i64 = store
            .read(|c| {
                Ok(c.query_row("SELECT count(*) FROM schema_meta WHERE key = 'x'", [], |row| {
                    row.get(0)
                })?)
            })
            .unwrap();
        assert_eq!(rows, 0);
    }

    #[test]
    fn many_threads_with_their_own_stores_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agent.db");
        thread::scope(|scope| {
            for worker in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    let store = Store::open(path).unwrap();
                    for n in 0..25 {
                        store
                            .write(|tx| {
                                tx.execute(
                                    "INSERT INTO schema_meta(key, value) VALUES (?1, '')",
                                    [format!("{worker}-{n}")],
                                )?;
                                Ok(())
                            })
                            .unwrap();
                    }
                });
            }
        });
        let store = Store::open(&path).unwrap();
        let rows: i64 = store
            .read(|c| {
                Ok(c.query_row("SELECT count(*) FROM schema_meta WHERE value = ''", [], |row| {
                    row.get(0)
                })?)
            })
            .unwrap();
        assert_eq!(rows, 100);
    }

    #[test]
    fn the_wal_stays_small() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agent.db");
        let store = Store::open(&path).unwrap();
        let blob = "x".repeat(200_000);
        for n in 0..100 {
            store
                .write(|tx| {
                    tx.execute("INSERT INTO schema_meta(key, value) VALUES (?1, ?2)", (n, &blob))?;
                    Ok(())
                })
                .unwrap();
        }
        let wal = fs::metadata(dir.path().join("agent.db-wal")).unwrap().len();
        assert!(wal < 3 * WAL_LIMIT as u64, "20 MB were written, the -wal holds {wal}");
    }

    #[test]
    fn a_log_that_is_left_behind_stays_small() {
        let dir = tempfile::tempdir().unwrap();
        let blob = "x".repeat(50_000);
        let mut left = Vec::new();
        for n in 0..100 {
            let store = Store::open(&dir.path().join("agent.db")).unwrap();
            store.leave_log().unwrap();
            store
                .write(|tx| {
                    tx.execute("INSERT INTO schema_meta(key, value) VALUES (?1, ?2)", (n, &blob))?;
                    Ok(())
                })
                .unwrap();
            drop(store);
            left.push(fs::metadata(dir.path().join("agent.db-wal")).map_or(0, |log| log.len()));
        }
        assert!(left.iter().all(|log| *log < 2 * LOG_LEFT), "{left:?}");
        assert!(left.iter().filter(|log| **log > 0).count() > 80, "most leave it: {left:?}");
    }
}
