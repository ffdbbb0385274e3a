//! Errors of the record, and what to do about them.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::schema::ForeignSchema;

/// Why the record could not be opened, read or written. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file is something else.
    #[error("{} is not a SQLite database", .0.display())]
    NotADatabase(PathBuf),
    /// A SQLite database of another program.
    #[error("{} is a SQLite database, but not an ona database: {}", .0.display(), .1)]
    Foreign(PathBuf, ForeignSchema),
    /// Written by an ona that knows more than this one.
    #[error("{} was written by a newer version of ona ({found}; this version supports {known})", path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// What it says of itself.
        found: String,
        /// What this program can read.
        known: String,
    },
    /// The file or its directory may not be written.
    #[error("{} cannot be written: {}", .0.display(), .1)]
    ReadOnly(PathBuf, String),
    /// It cannot be opened or created.
    #[error("{} cannot be opened: {}", .0.display(), .1)]
    CannotOpen(PathBuf, String),
    /// The disk is full.
    #[error("no space left to write {}: {}", .0.display(), .1)]
    Full(PathBuf, String),
    /// Writing failed: a quota, a file size limit, or a failing disk.
    #[error("{} could not be written: {}", .0.display(), .1)]
    NotTaken(PathBuf, String),
    /// Another process kept it locked for the whole of `busy_timeout`.
    #[error("{} stayed locked by another process for {} s", .0.display(), .1)]
    Busy(PathBuf, u64),
    /// Another process uses it, and the operation would block that process.
    #[error("{} is in use by {}", .0.display(), .1)]
    AtWork(PathBuf, String),
    /// The system's clock shows a time that cannot be recorded.
    #[error("the system's clock shows a time before 1970 or after 9999")]
    Clock,
    /// The file is damaged.
    #[error("{} is damaged: {}", .0.display(), .1)]
    Corrupt(PathBuf, String),
    /// No conversation has this id.
    #[error("conversation `{0}` not found")]
    UnknownConversation(String),
    /// A session with this id exists.
    #[error("session `{0}` already exists")]
    SessionExists(String),
    /// A word that would name a session names another one.
    #[error("`{word}` is already the name or id of session {session}")]
    NameTaken {
        /// The word.
        word: String,
        /// The session.
        session: String,
    },
    /// A process drives the session.
    #[error("the session {0} is in use")]
    SessionInUse(String),
    /// A session has no entry with this number.
    #[error("session {1} has no entry {0}")]
    UnknownEntry(i64, String),
    /// Another call has this id.
    #[error("another call has the id `{0}`")]
    CallExists(String),
    /// The call's result is already recorded, by the process that found it interrupted.
    #[error("the call {0} was already settled")]
    AlreadySettled(String),
    /// The transcript has reached the largest sequence number, which only a hand-made row can do.
    #[error("the transcript of session {0} has no sequence number left")]
    Exhausted(String),
    /// Anything else SQLite says.
    #[error("{}: {}", .0.display(), brief(.1))]
    Sqlite(PathBuf, #[source] rusqlite::Error),
}

/// SQLite's codes for writing, as opposed to reading, that failed. A disk that is full has a code of its own.
const NOT_WRITTEN: [i32; 4] = [
    rusqlite::ffi::SQLITE_IOERR_WRITE,
    rusqlite::ffi::SQLITE_IOERR_FSYNC,
    rusqlite::ffi::SQLITE_IOERR_TRUNCATE,
    rusqlite::ffi::SQLITE_IOERR_SHMSIZE,
];

/// The first line: SQLite's messages may quote a whole schema behind it.
fn brief(error: &rusqlite::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

impl StoreError {
    /// Classifies an error of SQLite by what the operator can do about it.
    pub(crate) fn sort(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let reason = error.to_string();
        let extended = error.sqlite_error().map_or(0, |error| error.extended_code);
        match error.sqlite_error_code() {
            Some(ErrorCode::SystemIoFailure) if NOT_WRITTEN.contains(&extended) => {
                Self::NotTaken(path, reason)
            }
            Some(ErrorCode::NotADatabase) => Self::NotADatabase(path),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly(path, reason),
            Some(ErrorCode::CannotOpen) => Self::CannotOpen(path, reason),
            Some(ErrorCode::DiskFull) => Self::Full(path, reason),
            Some(ErrorCode::DatabaseCorrupt) => Self::Corrupt(path, reason),
            Some(ErrorCode::DatabaseBusy) => Self::Busy(path, crate::store::BUSY_TIMEOUT.as_secs()),
            _ => Self::Sqlite(path, error),
        }
    }

    /// What the operator can do.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotADatabase(_) | Self::Foreign(..) => {
                "point AGENT_SDLC_DB at another path; `ona --init-db` creates the file"
            }
            Self::Newer { .. } => {
                "use the newer version of ona, or point AGENT_SDLC_DB at another path"
            }
            Self::ReadOnly(..) => {
                "make the file and its directory writable (SQLite keeps -wal and -shm beside it)"
            }
            Self::CannotOpen(..) => {
                "check that the directory exists and is writable, and that the path is not itself a directory"
            }
            Self::Full(..) => "free some space, then try again",
            Self::NotTaken(..) => "check disk space, quota and `ulimit -f`, then try again",
            Self::Busy(..) => {
                "find the process that holds it (`fuser` on the file), then try again"
            }
            Self::Clock => "set the clock, then try again",
            Self::AtWork(..) => "wait until it has ended, or end it, then try again",
            Self::Corrupt(..) => {
                "run `ona doctor`; keep a copy, then `sqlite3 FILE .recover` into a new file"
            }
            Self::UnknownConversation(_) => {
                "omit --conversation to join the latest conversation of this directory"
            }
            Self::SessionExists(_) => "choose another id, or continue it with --resume",
            Self::NameTaken { .. } => {
                "choose another, or go on in that session with --resume; `ona sessions rename` gives it another name"
            }
            Self::SessionInUse(_) => "end the ona process that uses it first",
            Self::UnknownEntry(..) => "`ona sessions show` lists the entries",
            Self::Exhausted(_) => "remove the row with the sqlite3 shell",
            Self::CallExists(_) | Self::AlreadySettled(_) | Self::Sqlite(..) => {
                "run `ona doctor` for details"
            }
        }
    }

    /// Whether the place or kind of the database is wrong, rather than the moment.
    pub fn is_configuration(&self) -> bool {
        matches!(
            self,
            Self::NotADatabase(_)
                | Self::Foreign(..)
                | Self::Newer { .. }
                | Self::ReadOnly(..)
                | Self::CannotOpen(..)
                | Self::UnknownConversation(_)
                | Self::SessionExists(_)
                | Self::NameTaken { .. }
                | Self::UnknownEntry(..)
        )
    }
}
