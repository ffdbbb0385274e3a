//! `ona doctor`'s view of the record: it looks and changes nothing.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

use crate::rows::Connection;
use rusqlite::OpenFlags;
use serde::Serialize;
use serde_json::Value;

use crate::agents::{self, LeftWorktree};
use crate::error::StoreError;
use crate::schema::{self, LATEST_MIGRATION, Version};
use crate::store::{Failure, connect};
use crate::tasks::{self, UnfinishedTask};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Ok,
    /// Worth knowing; nothing is wrong with the record.
    Warn,
    /// The record is damaged or cannot be used.
    Fail,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was checked.
    pub check: &'static str,
    /// How it came out.
    pub level: Level,
    /// What was found.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Finding {
    /// All is well.
    pub fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, level: Level::Ok, message: message.into(), hint: None }
    }

    /// A warning or an error.
    pub fn bad(check: &'static str, level: Level, message: impl Into<String>, hint: &str) -> Self {
        Self { check, level, message: message.into(), hint: Some(hint.to_owned()) }
    }
}

/// A call that has started and not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningCall {
    /// The call's id.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// Who runs it.
    pub owner: Value,
    /// Since when.
    pub started_at: String,
}

/// Everything an inspection saw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inspection {
    /// One finding a check.
    pub findings: Vec<Finding>,
    /// Calls without a result; the caller checks whether their owners are alive.
    pub running: Vec<RunningCall>,
    /// Background tasks that have not ended, to be checked in the same way.
    pub tasks: Vec<UnfinishedTask>,
    /// Worktrees of agents whose end is not recorded, to be checked in the same way.
    pub worktrees: Vec<LeftWorktree>,
}

/// How far an inspection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is checked.
    pub check: &'static str,
    /// The number of this check, from 1.
    pub number: usize,
    /// How many there are.
    pub of: usize,
}

/// A progress callback, called repeatedly during an inspection.
#[derive(Clone, Default)]
pub struct Watch(Option<Arc<dyn Fn(Progress) + Send + Sync>>);

impl Watch {
    /// Calls this.
    pub fn new(call: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(call)))
    }
}

/// Steps of SQLite between two calls of a [`Watch`]: some milliseconds.
const STEPS: i32 = 100_000;

/// Tells a [`Watch`] which check is at work.
struct Checks {
    watch: Watch,
    at: Arc<Mutex<Progress>>,
}

impl Checks {
    fn of(c: &mut Connection, watch: &Watch) -> rusqlite::Result<Self> {
        // Integrity and foreign keys, then the rows.
        let first = Progress { check: "integrity", number: 0, of: 2 + ORPHANS.len() };
        let checks = Self { watch: watch.clone(), at: Arc::new(Mutex::new(first)) };
        if let Some(call) = watch.0.clone() {
            let at = Arc::clone(&checks.at);
            let tick = move || {
                call(*at.lock().unwrap_or_else(PoisonError::into_inner));
                false
            };
            c.progress_handler(STEPS, Some(tick))?;
        }
        Ok(checks)
    }

    fn begin(&self, check: &'static str) {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        *at = Progress { check, number: at.number + 1, ..*at };
        if let Some(call) = &self.watch.0 {
            call(*at);
        }
    }
}

/// Rows with a missing reference, or transcripts with a gap: a name and a query that counts them.
const ORPHANS: &[(&str, &str)] = &[
    (
        "events of unknown conversations",
        // What the operator does outside any conversation is told with an empty one.
        "SELECT count(*) FROM events
         WHERE conversation_id <> '' AND conversation_id NOT IN (SELECT id FROM conversations)",
    ),
    (
        "state of unknown conversations",
        "SELECT count(*) FROM state WHERE conversation_id NOT IN (SELECT id FROM conversations)",
    ),
    (
        "plans of unknown conversations",
        "SELECT count(*) FROM plans WHERE conversation_id NOT IN (SELECT id FROM conversations)",
    ),
    (
        "hook invocations of unknown sessions",
        "SELECT count(*) FROM hook_invocations
         WHERE session_id NOT IN (SELECT session_id FROM sessions)",
    ),
    (
        "permission decisions of unknown sessions",
        "SELECT count(*) FROM tool_permission_log
         WHERE session_id NOT IN (SELECT session_id FROM sessions)",
    ),
    (
        "tool results without their tool_use",
        "SELECT count(*) FROM transcript_entries r WHERE r.entry_type = 'tool_result'
         AND NOT EXISTS (SELECT 1 FROM transcript_entries u WHERE u.session_id = r.session_id
             AND u.entry_type = 'tool_use' AND u.tool_use_id = r.tool_use_id)",
    ),
    (
        "tool uses without result or running row",
        "SELECT count(*) FROM transcript_entries u WHERE u.entry_type = 'tool_use'
         AND u.tool_use_id NOT IN (SELECT tool_use_id FROM running_calls)
         AND NOT EXISTS (SELECT 1 FROM transcript_entries r WHERE r.session_id = u.session_id
             AND r.entry_type = 'tool_result' AND r.tool_use_id = u.tool_use_id)",
    ),
    (
        "sessions with a gap in their sequence",
        "SELECT count(*) FROM (SELECT 1 FROM transcript_entries GROUP BY session_id
         HAVING max(sequence) - min(sequence) + 1 <> count(*) OR min(sequence) <> 0)",
    ),
    (
        "transcript entries whose payload is not JSON",
        "SELECT count(*) FROM transcript_entries WHERE NOT json_valid(payload_json)",
    ),
    (
        "transcript entries of an unknown type",
        "SELECT count(*) FROM transcript_entries WHERE entry_type NOT IN
         ('user', 'assistant', 'system', 'tool_use', 'tool_result', 'progress', 'attachment',
          'internal_hook', 'content_replacement', 'collapse_commit', 'file_history_snapshot',
          'attribution_snapshot', 'queue_operation', 'speculation_accept', 'ai_title')",
    ),
    (
        "conversations in an unknown phase",
        "SELECT count(*) FROM conversations
         WHERE phase NOT IN ('idle', 'planning', 'implement', 'test', 'verify', 'done')",
    ),
    (
        "conversations or sessions whose id is not text",
        "SELECT (SELECT count(*) FROM conversations WHERE typeof(id) <> 'text')
              + (SELECT count(*) FROM sessions WHERE typeof(session_id) <> 'text')",
    ),
    (
        "memories missing from the full-text index",
        "SELECT abs((SELECT count(*) FROM memories) - (SELECT count(*) FROM memories_fts))",
    ),
];

/// Looks at the database at `path`, every row of it.
pub fn inspect(path: &Path, watch: &Watch) -> Inspection {
    let mut inspection = Inspection::default();
    if let Err(error) = look(path, watch, &mut inspection) {
        inspection.findings.push(Finding::bad(
            "database",
            Level::Fail,
            error.to_string(),
            error.hint(),
        ));
    }
    inspection
}

fn look(path: &Path, watch: &Watch, into: &mut Inspection) -> Result<(), StoreError> {
    match fs::metadata(path) {
        Ok(_) => {}
        // A dangling link is not a missing file: nothing could be created there.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(path).is_err() =>
        {
            into.findings.push(Finding::bad(
                "database",
                Level::Warn,
                format!("{} does not exist yet", path.display()),
                "`ona --init-db` creates it, and so does the first call",
            ));
            return Ok(());
        }
        Err(error) => return Err(StoreError::CannotOpen(path.to_owned(), error.to_string())),
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = connect(path, flags)?;
    let sorted = |failure| match failure {
        Failure::Sqlite(error) => StoreError::sort(path, error),
        Failure::Store(error) => error,
    };
    into.findings.push(Finding::ok("database", path.display().to_string()));
    let checks =
        Checks::of(&mut connection, watch).map_err(|error| StoreError::sort(path, error))?;
    checks.begin("integrity");
    into.findings.push(integrity(&connection).map_err(sorted)?);
    if !version(&connection, into).map_err(sorted)? {
        return Ok(());
    }
    into.findings.push(writable(path, &connection));
    into.findings.push(pragmas(&connection).map_err(sorted)?);
    if let Some(missing) = missing_tables(&connection).map_err(sorted)? {
        into.findings.push(missing);
        return Ok(());
    }
    checks.begin("foreign keys");
    into.findings.push(foreign_keys(&connection).map_err(sorted)?);
    into.findings.extend(orphans(&connection, &checks).map_err(sorted)?);
    into.running = running(&connection).map_err(sorted)?;
    into.tasks = tasks::unfinished(&connection, None).map_err(sorted)?;
    into.worktrees = agents::left_worktrees(&connection).map_err(sorted)?;
    Ok(())
}

/// Takes the write lock and gives it back: no byte changes.
fn writable(path: &Path, c: &Connection) -> Finding {
    match c.execute_batch("BEGIN IMMEDIATE; ROLLBACK") {
        Ok(()) => Finding::ok("writing", "the write lock can be taken"),
        Err(error) => {
            let error = StoreError::sort(path, error);
            Finding::bad("writing", Level::Fail, error.to_string(), error.hint())
        }
    }
}

fn missing_tables(c: &Connection) -> Result<Option<Finding>, Failure> {
    let mut statement = c.prepare("SELECT name FROM sqlite_schema")?;
    let found: Vec<String> =
        statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    // What belongs to a table goes with it and need not be named.
    let is_missing = |(name, table): &(String, String)| {
        !found.contains(name) && (name == table || found.contains(table))
    };
    let missing = schema::expected_names()?.into_iter().filter(is_missing);
    let missing: Vec<String> = missing.map(|(name, _)| name).collect();
    Ok((!missing.is_empty()).then(|| {
        Finding::bad(
            "schema",
            Level::Fail,
            format!("missing: {}", missing.join(", ")),
            "they were dropped: restore a backup, or point AGENT_SDLC_DB at a new file",
        )
    }))
}

fn integrity(c: &Connection) -> Result<Finding, Failure> {
    let mut statement = c.prepare("PRAGMA integrity_check")?;
    let lines: Vec<String> =
        statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(if lines == ["ok"] {
        Finding::ok("integrity", "every page is sound")
    } else {
        Finding::bad(
            "integrity",
            Level::Fail,
            lines.join("; "),
            "keep a copy, then `sqlite3 FILE .recover | sqlite3 NEW`",
        )
    })
}

/// Says where the schema stands; true if the tables can be looked into.
fn version(c: &Connection, into: &mut Inspection) -> Result<bool, Failure> {
    let (finding, usable) = match schema::version(c)? {
        Version::Migration(found) if found == LATEST_MIGRATION => {
            (Finding::ok("schema", format!("schema_version 1, migration {found}")), true)
        }
        Version::Migration(found) => (
            Finding::bad(
                "schema",
                Level::Warn,
                format!("migration {found} of {LATEST_MIGRATION}"),
                "`ona --init-db` brings it up to date, and so does the next call",
            ),
            false,
        ),
        Version::Empty => (
            Finding::bad(
                "schema",
                Level::Warn,
                "the file has no tables yet",
                "`ona --init-db` creates them, and so does the first call",
            ),
            false,
        ),
        Version::Newer(found) => (
            Finding::bad(
                "schema",
                Level::Fail,
                format!("written by a newer version of ona ({found})"),
                "use the newer version of ona, or point AGENT_SDLC_DB at another path",
            ),
            false,
        ),
        Version::Foreign(reason) => (
            Finding::bad(
                "schema",
                Level::Fail,
                format!("not an ona database: {reason}"),
                "point AGENT_SDLC_DB at another path",
            ),
            false,
        ),
    };
    into.findings.push(finding);
    Ok(usable)
}

fn pragmas(c: &Connection) -> Result<Finding, Failure> {
    let number = |name: &str| c.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let journal: String = c.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    let found = (
        number("foreign_keys")?,
        journal.as_str(),
        number("busy_timeout")?,
        number("synchronous")?,
    );
    let text = format!(
        "foreign_keys={} journal_mode={} busy_timeout={} synchronous={}",
        found.0, found.1, found.2, found.3
    );
    Ok(if found == (1, "wal", 30_000, 2) {
        Finding::ok("pragmas", text)
    } else {
        Finding::bad(
            "pragmas",
            Level::Fail,
            text,
            "the file system may not support WAL (network mounts do not): move the database",
        )
    })
}

fn foreign_keys(c: &Connection) -> Result<Finding, Failure> {
    let mut statement =
        c.prepare("SELECT \"table\", count(*) FROM pragma_foreign_key_check GROUP BY 1")?;
    let broken: Vec<String> = statement
        .query_map([], |row| {
            Ok(format!("{} in {}", row.get::<_, i64>(1)?, row.get::<_, String>(0)?))
        })?
        .collect::<Result<_, _>>()?;
    Ok(if broken.is_empty() {
        Finding::ok("foreign keys", "every reference has its row")
    } else {
        Finding::bad(
            "foreign keys",
            Level::Fail,
            format!("rows whose reference is missing: {}", broken.join(", ")),
            "`PRAGMA foreign_key_check` in the sqlite3 shell lists them",
        )
    })
}

fn orphans(c: &Connection, checks: &Checks) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    for (name, query) in ORPHANS {
        checks.begin(name);
        let count: i64 = c.query_row(query, [], |row| row.get(0))?;
        if count > 0 {
            findings.push(Finding::bad(
                "rows",
                Level::Warn,
                format!("{count} {name}"),
                "ona never writes such rows; they were added by hand or by another program",
            ));
        }
    }
    if findings.is_empty() {
        findings.push(Finding::ok("rows", "no orphans, no gaps"));
    }
    Ok(findings)
}

fn running(c: &Connection) -> Result<Vec<RunningCall>, Failure> {
    let mut statement = c.prepare(
        "SELECT tool_use_id, tool_name, owner, started_at FROM running_calls ORDER BY entry_id",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(RunningCall {
            id: row.get(0)?,
            tool: row.get(1)?,
            owner: serde_json::from_str(&row.get::<_, String>(2)?).unwrap_or(Value::Null),
            started_at: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rusqlite::Connection;

    use super::*;
    use crate::{Join, Store};

    fn worst(path: &Path) -> Level {
        inspect(path, &Watch::default()).findings.iter().map(|finding| finding.level).max().unwrap()
    }

    #[test]
    fn a_sound_database_has_only_good_news() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agent.db");
        assert_eq!(worst(&path), Level::Warn, "missing");
        assert!(!path.exists(), "looking creates nothing");
        Store::open(&path).unwrap();
        let inspection = inspect(&path, &Watch::default());
        assert!(inspection.findings.iter().all(|f| f.level == Level::Ok), "{inspection:?}");
    }

    #[test]
    fn bad_news_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agent.db");
        let store = Store::open(&path).unwrap();
        store.join(&Join { project_dir: "/a", conversation: None }).unwrap();
        drop(store);
        let raw = Connection::open(&path).unwrap();
        raw.execute_batch(
            "PRAGMA foreign_keys = OFF;
             INSERT INTO events(conversation_id, event_type) VALUES ('nobody', 'x');
             INSERT INTO transcript_entries(session_id, sequence, entry_type, payload_json)
             VALUES ('nobody', 3, 'user', '{}');",
        )
        .unwrap();
        let messages: Vec<String> = inspect(&path, &Watch::default())
            .findings
            .into_iter()
            .map(|finding| finding.message)
            .collect();
        let all = messages.join("\n");
        assert!(all.contains("1 in transcript_entries"), "{all}");
        assert!(all.contains("1 events of unknown conversations"), "{all}");
        assert!(all.contains("1 sessions with a gap in their sequence"), "{all}");

        let text = dir.path().join("text.db");
        fs::write(&text, "plain text, and more than a hundred bytes of it\n".repeat(20)).unwrap();
        assert_eq!(worst(&text), Level::Fail);
        assert_eq!(worst(dir.path()), Level::Fail, "a directory");
    }

    #[test]
    fn whoever_watches_hears_of_every_check() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agent.db");
        drop(Store::open(&path).unwrap());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&heard);
        inspect(&path, &Watch::new(move |progress| into.lock().unwrap().push(progress)));
        let heard = heard.lock().unwrap();
        let numbers: Vec<usize> = heard.iter().map(|progress| progress.number).collect();
        let of = heard[0].of;
        assert_eq!(numbers, (1..=of).collect::<Vec<_>>(), "a small record is checked in no time");
        assert_eq!((heard[0].check, heard[1].check), ("integrity", "foreign keys"));
    }
}
