//! `.orchestration/agent_trace.jsonl`: one line for every mutation, and for every one that failed or was refused.
//!
//! The ledger is append-only. Each line of ona's carries the hash of ona's previous line, so that
//! [`Ledger::verify`] finds a line that was changed, removed or moved. Lines of other writers (S2's record, S4's
//! record, agent-trace) may occur in between: they are read, but are not part of the chain.
//!
//! A writer may be killed at any moment. It leaves at most one unfinished line. The next writer ends that line and
//! records its hash, so that it can be told from a damaged line.

mod query;
mod read;
mod repeated_keys;
mod verify;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ona_files::LockError;
use ona_files::jsonl::{self, Appender};
use ona_types::ContentHash;
use ona_types::canonical::{self, CanonicalError};
use serde::Deserialize;
use serde_json::Value;

use crate::entry::{DETAILS_DROPPED, RANGES_CUT, SCHEMA, TraceEntry};
use crate::paths::{UnsafePath, own_file};
use crate::time;
pub use query::{Entries, Filter, Lookup};
pub use read::{ReadLine, Reader};
pub use verify::{Finding, Verification};

/// Where the ledger is, from the workspace.
pub const LEDGER_PATH: &str = ".orchestration/agent_trace.jsonl";

/// Writers hold a lock on this file, never on the ledger, so that readers and other writers do not block them.
const LOCK_PATH: &str = ".orchestration/agent_trace.lock";

/// S2 §3.3: one retry after this long, then the entry is dropped.
pub const LOCK_TIMEOUT: Duration = Duration::from_millis(100);

/// The longest line. A tool may change thousands of files at once, and readers refuse longer lines.
const MAX_ENTRY: usize = 4 << 20;

/// How many ranges an entry that is too long keeps, and how many bytes of its error.
const KEPT_RANGES: usize = 1_000;
const KEPT_ERROR: usize = 64 << 10;

/// Why an entry was not written. The caller records a gap and goes on: S2 §3.3 prefers a gap to blocked work.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Another writer held the lock for longer than [`LOCK_TIMEOUT`].
    #[error("another process holds the lock on the trace; the entry was not written")]
    Held,
    /// It cannot be opened or locked.
    #[error("the trace cannot be written: {0}")]
    Open(jsonl::AppendError),
    /// The file system refuses.
    #[error("the trace cannot be written: {0}")]
    Io(#[from] io::Error),
    /// The entry has no canonical form.
    #[error("the entry cannot be hashed: {0}")]
    Canonical(#[from] CanonicalError),
}

impl From<jsonl::AppendError> for AppendError {
    fn from(error: jsonl::AppendError) -> Self {
        match error {
            jsonl::AppendError::Lock(LockError::Held { .. }) => Self::Held,
            error => Self::Open(error),
        }
    }
}

/// The result of appending an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Its number in the chain.
    pub seq: u64,
    /// Its hash.
    pub entry_hash: String,
    /// How many torn lines were found at the end and ended.
    pub repaired: usize,
    /// The entry as it was written.
    pub entry: TraceEntry,
}

/// The trace of one workspace.
#[derive(Clone, Debug)]
pub struct Ledger {
    path: PathBuf,
    lock: PathBuf,
}

impl Ledger {
    /// The ledger of a workspace. It need not exist yet.
    pub fn of(workspace: &Path) -> Result<Self, UnsafePath> {
        Ok(Self { path: own_file(workspace, LEDGER_PATH)?, lock: own_file(workspace, LOCK_PATH)? })
    }

    /// Where it really is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends an entry as one line, in one write. Sets `schema`, `seq`, `prev_hash` and `entry_hash`,
    /// and the time where it is empty.
    pub fn append(&self, mut entry: TraceEntry) -> Result<Appended, AppendError> {
        fit(&mut entry)?;
        let mut ledger = Appender::open(&self.path, &self.lock, LOCK_TIMEOUT)?;
        let end = End::of(&ledger)?;
        entry.schema = SCHEMA.to_owned();
        // Taken under the lock, so that times grow with the chain.
        if entry.timestamp.is_empty() {
            entry.timestamp = time::now();
        }
        let seq = end.seq + 1;
        entry.seq = Some(seq);
        entry.prev_hash = end.hash;
        let repaired = end.torn.len();
        entry.repaired = end.torn;
        let (line, entry_hash) = seal(&entry)?;
        ledger.append(&line)?;
        entry.entry_hash = Some(entry_hash.clone());
        Ok(Appended { seq, entry_hash, repaired, entry })
    }
}

/// Removes details from an entry that would be too long, and notes that in it.
fn fit(entry: &mut TraceEntry) -> Result<(), CanonicalError> {
    let length = |entry: &TraceEntry| serde_json::to_vec(entry).map(|line| line.len());
    if length(entry)? <= MAX_ENTRY {
        return Ok(());
    }
    for range in &mut entry.modified_ranges {
        range.line_hashes = None;
        range.ast_nodes.clear();
    }
    entry.warnings.push(DETAILS_DROPPED.to_owned());
    if let Some(error) = &mut entry.error {
        error.truncate(error.floor_char_boundary(KEPT_ERROR));
    }
    if length(entry)? > MAX_ENTRY {
        entry.modified_ranges.truncate(KEPT_RANGES);
        entry.warnings.push(RANGES_CUT.to_owned());
    }
    Ok(())
}

/// The entry with its hash as a line, and the hash.
fn seal(entry: &TraceEntry) -> Result<(Vec<u8>, String), CanonicalError> {
    let mut value = serde_json::to_value(entry)?;
    let hash = entry_hash(&mut value)?;
    if let Value::Object(map) = &mut value {
        map.insert("entry_hash".to_owned(), Value::from(hash.clone()));
    }
    Ok((serde_json::to_vec(&value)?, hash))
}

/// The hash of a record: over all of it but `entry_hash`, which is taken out.
fn entry_hash(record: &mut Value) -> Result<String, CanonicalError> {
    if let Value::Object(map) = record {
        map.shift_remove("entry_hash");
    }
    Ok(format!("sha256:{}", canonical::hash(record)?))
}

/// The end of the chain, which a new line continues.
struct End {
    seq: u64,
    hash: Option<String>,
    /// Fragments after the last line of ona's, the first one first.
    torn: Vec<String>,
}

/// As much of a record as the next one needs.
#[derive(Deserialize)]
struct Link {
    seq: Option<u64>,
    entry_hash: Option<String>,
}

impl End {
    /// Reads back to the last line of ona's. Foreign lines do not belong to the chain.
    fn of(ledger: &Appender) -> Result<Self, AppendError> {
        let mut end = Self { seq: 0, hash: None, torn: Vec::new() };
        let mut lines = ledger.backward()?;
        while let Some((line, _)) = lines.next_line()? {
            match serde_json::from_slice::<Link>(&line) {
                Ok(Link { seq: Some(seq), entry_hash: Some(hash) }) => {
                    (end.seq, end.hash) = (seq, Some(hash));
                    break;
                }
                Ok(_) => {}
                Err(_) if line.is_empty() => {}
                Err(_) if serde_json::from_slice::<serde::de::IgnoredAny>(&line).is_ok() => {}
                Err(_) => end.torn.push(torn_hash(&line)),
            }
        }
        end.torn.reverse();
        Ok(end)
    }
}

/// The hash that a torn line is noted by.
fn torn_hash(line: &[u8]) -> String {
    format!("sha256:{}", ContentHash::of(line))
}

#[cfg(test)]
mod tests;
