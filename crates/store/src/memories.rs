//! `memories`: notes for later conversations, with their authors.
//!
//! S0 §4.3 has the table and its full-text index ([`index`]), which change in one transaction. How memories are found
//! and ranked is in [`rank`].

mod index;
mod rank;

use crate::rows::{Connection, Key, MaybeKey, Transaction};
use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension, Row};
use serde::Serialize;
use serde_json::{Value, json};

pub use rank::MemoryHit;

use crate::conversations::Seat;
use crate::error::StoreError;
use crate::store::{Failure, Store};

/// Something worth remembering across conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// The key; saving under it again corrects the memory.
    pub id: String,
    /// What kind of memory it is.
    #[serde(rename = "type")]
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

/// A memory in the record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryRow {
    /// What it says.
    #[serde(flatten)]
    pub memory: Memory,
    /// How often it was written, the first time included.
    pub correction_count: i64,
    /// When it was first written, in seconds since 1970.
    pub created_at: i64,
    /// When it was last written.
    pub updated_at: i64,
    /// When it was last found.
    pub last_accessed: Option<i64>,
    /// How often it was found.
    pub access_count: i64,
    /// How much attention it gets, from 0 to 1.
    pub attention_score: f64,
    /// Who wrote it.
    pub written_by: WrittenBy,
    /// The file it was imported from.
    pub source: Option<String>,
}

/// Who wrote a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WrittenBy {
    /// The operator, also by a hand-made row.
    Human,
    /// Something that an agent's call started.
    Agent,
}

impl WrittenBy {
    /// As the record says it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Agent => "agent",
        }
    }
}

/// Who writes, and on whose record that goes.
#[derive(Clone, Copy, Debug)]
pub struct Author<'a> {
    /// The author. An agent cannot change what a human wrote.
    pub by: WrittenBy,
    /// What started it, where it was an agent.
    pub started_by: Option<&'a str>,
    /// The session it happens in, if there is one.
    pub seat: Option<&'a Seat>,
}

impl Author<'_> {
    /// The operator, outside any session.
    pub fn human() -> Self {
        Self { by: WrittenBy::Human, started_by: None, seat: None }
    }
}

/// Which memories are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within<'a> {
    /// Those of one project, and those that belong everywhere.
    Project(&'a str),
    /// All there are.
    All,
}

impl<'a> Within<'a> {
    /// The parameter `?1` of what follows.
    fn project(self) -> MaybeKey<'a> {
        MaybeKey(match self {
            Self::Project(project) => Some(project),
            Self::All => None,
        })
    }

    /// The columns of all that are meant. Each half can be answered from the index on projects.
    fn select(self, columns: &str) -> String {
        match self {
            Self::Project(_) => format!(
                "SELECT {columns} FROM memories m WHERE m.project_scope = ?1
                 UNION ALL SELECT {columns} FROM memories m WHERE m.project_scope IS NULL"
            ),
            Self::All => format!("SELECT {columns} FROM memories m WHERE ?1 IS NULL"),
        }
    }

    /// The condition that a row is one of them.
    fn holds(self) -> &'static str {
        match self {
            Self::Project(_) => "(m.project_scope = ?1 OR m.project_scope IS NULL)",
            Self::All => "?1 IS NULL",
        }
    }
}

/// Changes to a memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryChange {
    /// Another kind.
    pub kind: Option<String>,
    /// Another title.
    pub title: Option<String>,
    /// Another text, or none.
    pub content: Option<Option<String>>,
    /// Other words, or none.
    pub keywords: Option<Option<String>>,
    /// Other questions, or none.
    pub anticipated_queries: Option<Option<String>>,
    /// Another project, or everywhere.
    pub project_scope: Option<Option<String>>,
    /// The `correction_count` it was read with, where a later one would be overwritten.
    pub read_at: Option<i64>,
}

/// The result of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// It was made, or there was nothing to make.
    Done,
    /// The memory does not exist.
    Missing,
    /// An agent may not change what a human wrote.
    NotTheirs,
    /// It was changed since it was read.
    Meanwhile,
}

/// The result of saving a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// It is new.
    Added,
    /// There was one of this id, and it says something else now.
    Corrected,
    /// There was one of this id from the same source, which has not changed since.
    Unchanged,
}

/// A memory from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedMemory {
    /// What it says, under an id that is the same the next time.
    pub memory: Memory,
    /// The file.
    pub source: String,
    /// The hash of what the file said.
    pub source_hash: String,
}

impl Store {
    /// Saves a memory; one with the same id is corrected and counts one correction more.
    pub fn save_memory(&self, memory: &Memory, author: &Author<'_>) -> Result<Saved, StoreError> {
        self.write(|tx| {
            index::align(tx)?;
            let saved = put(tx, memory)?;
            keep_origin(tx, &memory.id, author, None)?;
            let kind = if saved == Saved::Added { "memory.added" } else { "memory.corrected" };
            event(tx, author, kind, told(memory))?;
            Ok(saved)
        })
    }

    /// Saves memories from files, all of them or none. What its source still says as it did the last time stays as it
    /// is, whatever became of it since.
    pub fn import_memories(
        &self,
        imported: &[ImportedMemory],
        author: &Author<'_>,
    ) -> Result<Vec<Saved>, StoreError> {
        self.write(|tx| {
            index::align(tx)?;
            let mut all = Vec::with_capacity(imported.len());
            for one in imported {
                let known: Option<Option<String>> = tx
                    .prepare_cached(
                        "SELECT o.source_hash FROM memory_origins o JOIN memories m ON m.id = o.memory_id
                         WHERE o.memory_id = ?1",
                    )?
                    .query_row([&one.memory.id], |row| row.get(0))
                    .optional()?;
                if known.flatten().as_ref() == Some(&one.source_hash) {
                    all.push(Saved::Unchanged);
                    continue;
                }
                all.push(put(tx, &one.memory)?);
                keep_origin(tx, &one.memory.id, author, Some((&one.source, &one.source_hash)))?;
            }
            let count = |saved: Saved| all.iter().filter(|one| **one == saved).count();
            let (added, corrected) = (count(Saved::Added), count(Saved::Corrected));
            if added + corrected > 0 {
                let detail = json!({"added": added, "corrected": corrected});
                event(tx, author, "memory.imported", detail)?;
            }
            Ok(all)
        })
    }

    /// Changes a memory.
    pub fn change_memory(
        &self,
        id: &str,
        change: &MemoryChange,
        author: &Author<'_>,
    ) -> Result<Changed, StoreError> {
        self.write(|tx| {
            let Some(row) = find(tx, id)? else { return Ok(Changed::Missing) };
            if author.by == WrittenBy::Agent && row.written_by == WrittenBy::Human {
                return Ok(Changed::NotTheirs);
            }
            if change.read_at.is_some_and(|read_at| read_at != row.correction_count) {
                return Ok(Changed::Meanwhile);
            }
            let old = row.memory;
            let pick = |new: &Option<Option<String>>, old: &Option<String>| {
                new.clone().unwrap_or_else(|| old.clone())
            };
            let new = Memory {
                kind: change.kind.clone().unwrap_or_else(|| old.kind.clone()),
                title: change.title.clone().unwrap_or_else(|| old.title.clone()),
                content: pick(&change.content, &old.content),
                keywords: pick(&change.keywords, &old.keywords),
                anticipated_queries: pick(&change.anticipated_queries, &old.anticipated_queries),
                project_scope: pick(&change.project_scope, &old.project_scope),
                id: old.id.clone(),
            };
            if new == old {
                return Ok(Changed::Done);
            }
            index::align(tx)?;
            put(tx, &new)?;
            keep_origin(tx, id, author, None)?;
            event(tx, author, "memory.corrected", told(&new))?;
            Ok(Changed::Done)
        })
    }

    /// Forgets a memory.
    pub fn forget_memory(&self, id: &str, author: &Author<'_>) -> Result<Changed, StoreError> {
        // For good: what is deleted is overwritten.
        self.outside_transactions(|c| Ok(c.pragma_update(None, "secure_delete", true)?))?;
        let changed = self.write(|tx| {
            let Some(row) = find(tx, id)? else { return Ok(Changed::Missing) };
            if author.by == WrittenBy::Agent && row.written_by == WrittenBy::Human {
                return Ok(Changed::NotTheirs);
            }
            index::align(tx)?;
            let number: i64 =
                tx.query_row("SELECT rowid FROM memories WHERE id = ?1", [id], |row| row.get(0))?;
            index::remove(tx, number)?;
            tx.execute("DELETE FROM memory_origins WHERE memory_id = ?1", [id])?;
            // The text is gone; the event that it existed stays.
            event(tx, author, "memory.forgotten", json!({"memory_id": id}))?;
            Ok(Changed::Done)
        });
        self.outside_transactions(|c| Ok(c.pragma_update(None, "secure_delete", false)?))?;
        changed
    }

    /// A memory by its id.
    pub fn memory(&self, id: &str) -> Result<Option<MemoryRow>, StoreError> {
        self.read(|c| find(c, id))
    }

    /// The memories whose ids begin so, at most `most` of them; the one whose id it is comes alone.
    pub fn memories_called(&self, begin: &str, most: usize) -> Result<Vec<MemoryRow>, StoreError> {
        self.read(|c| {
            if let Some(row) = find(c, begin)? {
                return Ok(vec![row]);
            }
            let sql = format!("{ROW} WHERE m.id >= ?1 AND m.id < ?2 ORDER BY m.id LIMIT ?3");
            let after = format!("{begin}\u{10ffff}");
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let mut statement = c.prepare_cached(&sql)?;
            let rows = statement.query_map((begin, after, most), from_row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Memories, the latest first, of one kind or of all.
    pub fn memories(
        &self,
        within: Within<'_>,
        kind: Option<&str>,
        most: usize,
    ) -> Result<Vec<MemoryRow>, StoreError> {
        self.read(|c| {
            // Which they are is found in the index on projects; only those are read.
            let kinds = if kind.is_some() { "m.type = ?2" } else { "?2 IS NULL" };
            let sql = format!(
                "{ROW} WHERE typeof(m.id) = 'text' AND m.rowid IN (
                     SELECT m.rowid FROM memories m WHERE {} AND {kinds}
                     ORDER BY m.updated_at DESC, m.rowid DESC LIMIT ?3)
                 ORDER BY m.updated_at DESC, m.rowid DESC",
                within.holds()
            );
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let mut statement = c.prepare_cached(&sql)?;
            let rows = statement.query_map((within.project(), kind, most), from_row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// How many there are.
    pub fn count_memories(&self, within: Within<'_>) -> Result<usize, StoreError> {
        self.read(|c| {
            let sql = format!("SELECT count(*) FROM ({})", within.select("1"));
            let count: i64 =
                c.prepare_cached(&sql)?.query_row([within.project()], |row| row.get(0))?;
            Ok(usize::try_from(count).unwrap_or(0))
        })
    }
}

/// A row with its origin.
const ROW: &str = "SELECT m.id, m.type, m.title, m.content, m.keywords, m.anticipated_queries, m.project_scope,
    m.correction_count, m.created_at, m.updated_at, m.last_accessed, m.access_count, m.attention_score,
    o.written_by, o.source
    FROM memories m LEFT JOIN memory_origins o ON o.memory_id = m.id";

/// Hand-made rows may have any type in any column: other types are converted to text, or to 0 for a number.
fn from_row(row: &Row<'_>) -> rusqlite::Result<MemoryRow> {
    let text = |at: usize| -> rusqlite::Result<Option<String>> {
        Ok(match row.get_ref(at)? {
            ValueRef::Null => None,
            ValueRef::Integer(number) => Some(number.to_string()),
            ValueRef::Real(number) => Some(number.to_string()),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                Some(String::from_utf8_lossy(bytes).into_owned())
            }
        })
    };
    let number = |at: usize| -> rusqlite::Result<Option<f64>> {
        Ok(match row.get_ref(at)? {
            ValueRef::Integer(number) => Some(number as f64),
            ValueRef::Real(number) => Some(number),
            _ => None,
        })
    };
    let whole = |at: usize| -> rusqlite::Result<i64> { Ok(number(at)?.unwrap_or(0.0) as i64) };
    Ok(MemoryRow {
        memory: Memory {
            id: text(0)?.unwrap_or_default(),
            kind: text(1)?.unwrap_or_default(),
            title: text(2)?.unwrap_or_default(),
            content: text(3)?,
            keywords: text(4)?,
            anticipated_queries: text(5)?,
            project_scope: text(6)?,
        },
        correction_count: whole(7)?,
        created_at: whole(8)?,
        updated_at: whole(9)?,
        last_accessed: number(10)?.map(|at| at as i64),
        access_count: whole(11)?,
        attention_score: number(12)?.unwrap_or(0.0),
        written_by: match text(13)?.as_deref() {
            Some("agent") => WrittenBy::Agent,
            _ => WrittenBy::Human,
        },
        source: text(14)?,
    })
}

fn find(c: &Connection, id: &str) -> Result<Option<MemoryRow>, Failure> {
    let sql = format!("{ROW} WHERE m.id = ?1");
    Ok(c.prepare_cached(&sql)?.query_row([id], from_row).optional()?)
}

/// Adds or corrects a memory, and its row in the index.
fn put(tx: &Transaction<'_>, memory: &Memory) -> Result<Saved, Failure> {
    let number: Option<i64> = tx
        .prepare_cached("SELECT rowid FROM memories WHERE id = ?1")?
        .query_row([&memory.id], |row| row.get(0))
        .optional()?;
    tx.prepare_cached(
        "INSERT INTO memories(id, type, title, content, keywords, anticipated_queries,
                              project_scope, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, unixepoch(), unixepoch())
         ON CONFLICT(id) DO UPDATE SET
             type = excluded.type, title = excluded.title, content = excluded.content,
             keywords = excluded.keywords,
             anticipated_queries = excluded.anticipated_queries,
             project_scope = excluded.project_scope,
             correction_count = coalesce(correction_count, 0) + 1, updated_at = unixepoch()",
    )?
    .execute((
        &memory.id,
        &memory.kind,
        &memory.title,
        &memory.content,
        &memory.keywords,
        &memory.anticipated_queries,
        MaybeKey(memory.project_scope.as_deref()),
    ))?;
    match number {
        Some(number) => index::change(tx, number).map(|()| Saved::Corrected),
        None => index::add(tx, tx.last_insert_rowid()).map(|()| Saved::Added),
    }
}

/// Keeps who wrote a memory. What it was imported from stays, so that it is not imported over the correction.
fn keep_origin(
    tx: &Transaction<'_>,
    id: &str,
    author: &Author<'_>,
    source: Option<(&str, &str)>,
) -> Result<(), Failure> {
    let (source, hash) = source.unzip();
    let session = MaybeKey(author.seat.map(|seat| seat.session.as_str()));
    tx.prepare_cached(
        "INSERT INTO memory_origins(memory_id, written_by, written_in, source, source_hash)
         VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT(memory_id) DO UPDATE SET
             written_by = excluded.written_by, written_in = excluded.written_in,
             source = coalesce(excluded.source, source),
             source_hash = coalesce(excluded.source_hash, source_hash)",
    )?
    .execute((id, author.by.as_str(), session, source, hash))?;
    Ok(())
}

/// What an event tells of a memory.
fn told(memory: &Memory) -> Value {
    json!({"memory_id": memory.id, "type": memory.kind, "title": memory.title,
        "project": memory.project_scope})
}

/// Records who did it. Actions of the operator outside any session belong to no conversation.
fn event(
    tx: &Transaction<'_>,
    author: &Author<'_>,
    kind: &str,
    mut detail: Value,
) -> Result<(), Failure> {
    detail["by"] = json!(author.by);
    if let Some(starter) = author.started_by {
        detail["started_by"] = json!(starter);
    }
    let conversation = Key(author.seat.map_or("", |seat| seat.conversation.as_str()));
    let session = MaybeKey(author.seat.map(|seat| seat.session.as_str()));
    tx.prepare_cached(
        "INSERT INTO events(conversation_id, session_id, event_type, detail) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute((conversation, session, kind, detail.to_string()))?;
    Ok(())
}

#[cfg(test)]
mod tests;
