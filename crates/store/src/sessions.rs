//! Sessions as the operator sees them: created, found, driven by one process at a time, forked, renamed.

use crate::rows::{Bind, Connection, Key, MaybeKey};
use ona_types::{ConversationId, SessionId};
use rusqlite::{OptionalExtension, Row};
use serde::Serialize;
use serde_json::{Value, json};

use crate::conversations::{Seat, create, cwd_key};
use crate::error::StoreError;
use crate::store::{Failure, Store, behind_prefix};
use crate::tool_calls::event;

/// A session about to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewSession<'a> {
    /// Where the work is.
    pub project_dir: &'a str,
    /// The conversation it belongs to, which is made if there is none of this id; a new one if it is not said.
    pub conversation: Option<&'a ConversationId>,
    /// Its id, if the caller chooses one.
    pub id: Option<&'a SessionId>,
    /// `headless`, `interactive`, `subagent`, or the host whose session it is.
    pub origin: &'a str,
    /// Its name, if it has one.
    pub name: Option<&'a str>,
}

/// A session, as lists show it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionRow {
    /// Its id.
    pub session_id: String,
    /// Its conversation.
    pub conversation_id: String,
    /// Where the work is.
    pub project_dir: String,
    /// Its name.
    pub name: Option<String>,
    /// How it came about.
    pub origin: String,
    /// The session it was forked from.
    pub forked_from: Option<String>,
    /// When it began.
    pub started_at: String,
    /// When something last happened in it, in milliseconds since 1970.
    pub last_active_ms: i64,
    /// How many entries its transcript has.
    pub entries: i64,
    /// How many prompts.
    pub turns: i64,
    /// What it began with.
    pub first_prompt: Option<String>,
    /// What it cost, as far as prices are known.
    pub cost_usd: f64,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hit {
    /// The session.
    pub session_id: String,
    /// The entry.
    pub sequence: i64,
    /// Its type.
    pub entry_type: String,
    /// The text around what was looked for.
    pub excerpt: String,
}

/// A copy of a session.
#[derive(Clone, Copy, Debug)]
pub struct NewFork<'a> {
    /// Its id; a new one if `None`.
    pub id: Option<&'a SessionId>,
    /// The last entry to copy; all of them if `None`.
    pub upto: Option<i64>,
    /// How it came about.
    pub origin: &'a str,
    /// Its name.
    pub name: Option<&'a str>,
}

impl Default for NewFork<'_> {
    fn default() -> Self {
        Self { id: None, upto: None, origin: "headless", name: None }
    }
}

/// The result of looking up a session by a word.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// This is it.
    One(Seat),
    /// There is none.
    None,
    /// It could be any of these.
    Many(Vec<SessionRow>),
}

/// When something last happened in a session `s`, in milliseconds since 1970.
pub(crate) const LAST_ACTIVE: &str =
    "coalesce(i.last_active_ms, CAST(strftime('%s', c.last_active) AS INTEGER) * 1000)";

const ROWS: &str = "
    SELECT s.session_id, s.conversation_id, c.project_dir, i.name, coalesce(i.origin, 'eval'),
        i.forked_from, s.started_at,
        coalesce(i.last_active_ms, CAST(strftime('%s', c.last_active) AS INTEGER) * 1000),
        (SELECT count(*) FROM transcript_entries t WHERE t.session_id = s.session_id),
        (SELECT count(*) FROM transcript_entries t
         WHERE t.session_id = s.session_id AND t.entry_type = 'user'),
        (SELECT coalesce(json_extract(payload_json, '$.typed'), json_extract(payload_json, '$.content[0].text')) FROM transcript_entries t
         WHERE t.session_id = s.session_id AND t.entry_type = 'user' AND json_valid(payload_json)
         ORDER BY sequence LIMIT 1),
        (SELECT coalesce(sum(cost_usd), 0.0) FROM model_calls m WHERE m.session_id = s.session_id)
    FROM sessions s JOIN conversations c ON c.id = s.conversation_id
    LEFT JOIN session_info i ON i.session_id = s.session_id
    WHERE typeof(s.session_id) = 'text'";
const NEWEST_FIRST: &str = " ORDER BY 8 DESC, s.rowid DESC";

fn session_row(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    Ok(SessionRow {
        session_id: row.get(0)?,
        conversation_id: row.get(1)?,
        project_dir: row.get(2)?,
        name: row.get(3)?,
        origin: row.get(4)?,
        forked_from: row.get(5)?,
        started_at: row.get(6)?,
        last_active_ms: row.get(7)?,
        entries: row.get(8)?,
        turns: row.get(9)?,
        first_prompt: row.get(10)?,
        cost_usd: row.get(11)?,
    })
}

impl Store {
    /// Makes a session.
    pub fn new_session(&self, new: &NewSession<'_>) -> Result<Seat, StoreError> {
        self.write(|tx| {
            let conversation = match new.conversation {
                Some(chosen) => {
                    tx.execute(
                        "INSERT OR IGNORE INTO conversations(id, project_dir) VALUES (?1, ?2)",
                        (Key(chosen.as_str()), Key(new.project_dir)),
                    )?;
                    chosen.clone()
                }
                None => create(tx, new.project_dir)?,
            };
            let session = new.id.cloned().unwrap_or_else(SessionId::generate);
            let made = tx.execute(
                "INSERT OR IGNORE INTO sessions(session_id, conversation_id) VALUES (?1, ?2)",
                (Key(session.as_str()), Key(conversation.as_str())),
            )?;
            if made == 0 {
                return Err(StoreError::SessionExists(session.to_string()).into());
            }
            for word in new.name.into_iter().chain([session.as_str()]) {
                check_free(tx, word, &session, new.project_dir)?;
            }
            tx.execute(
                "INSERT INTO session_info(session_id, name, origin, last_active_ms)
                 VALUES (?1, ?2, ?3, unixepoch('subsec') * 1000)",
                (Key(session.as_str()), new.name, new.origin),
            )?;
            let project_dir = new.project_dir.to_owned();
            Ok(Seat { conversation, session, project_dir, cwd: None })
        })
    }

    /// The session of a directory in which something was last said, by the order of the record: a clock may have
    /// been set back since. One without a first prompt cannot be resumed.
    pub fn latest_session(&self, project_dir: &str) -> Result<Option<Seat>, StoreError> {
        self.read(|c| {
            let row = c
                .prepare_cached(
                    "SELECT session_id FROM resumable_sessions WHERE project_dir = ?1
                     ORDER BY place DESC LIMIT 1",
                )?
                .query_row([Key(project_dir)], |row| row.get::<_, String>(0))
                .optional()?;
            row.map_or(Ok(None), |id| seat(c, &id))
        })
    }

    /// The session that a word names: its id, the beginning of its id, or its name. Of several with the same
    /// name, one of this directory comes first.
    pub fn find_session(&self, word: &str, project_dir: &str) -> Result<Found, StoreError> {
        // Nothing is the beginning of every id, and names none.
        if word.trim().is_empty() {
            return Ok(Found::None);
        }
        self.read(|c| {
            if let Some(seat) = seat(c, word)? {
                return Ok(Found::One(seat));
            }
            let of_name = rows(c, &format!("{ROWS} AND i.name = ?1{NEWEST_FIRST}"), &[&word])?;
            let here: Vec<_> =
                of_name.iter().filter(|row| row.project_dir == project_dir).cloned().collect();
            let begins_so = || {
                let sql = format!(
                    "{ROWS} AND s.session_id >= ?1 AND s.session_id < ?2{NEWEST_FIRST} LIMIT 10"
                );
                rows(c, &sql, &[&Key(word), &Key(&behind_prefix(word))])
            };
            let mut found = if here.is_empty() { of_name } else { here };
            if found.is_empty() {
                found = begins_so()?;
            }
            match found.len() {
                0 => {}
                1 => {
                    let found = found.remove(0).session_id;
                    return Ok(seat(c, &found)?.map_or(Found::None, Found::One));
                }
                _ => return Ok(Found::Many(found)),
            }
            Ok(Found::None)
        })
    }

    /// Sessions, the latest first, up to a limit; of one directory, or of all.
    pub fn sessions(
        &self,
        project_dir: Option<&str>,
        most: Option<u32>,
    ) -> Result<Vec<SessionRow>, StoreError> {
        // Which they are is found first: only of those the entries are counted.
        let latest = "SELECT s.session_id FROM conversations c
            CROSS JOIN sessions s ON s.conversation_id = c.id
            LEFT JOIN session_info i ON i.session_id = s.session_id";
        let which = match project_dir {
            Some(_) => "WHERE c.project_dir = ?1",
            None => "WHERE ?1 IS NULL",
        };
        let sql = format!(
            "{ROWS} AND s.session_id IN (
                 {latest} {which} ORDER BY {LAST_ACTIVE} DESC, s.rowid DESC LIMIT ?2){NEWEST_FIRST}"
        );
        // Negative: all of them.
        let most = most.map_or(-1, i64::from);
        self.read(|c| rows(c, &sql, &[&MaybeKey(project_dir), &most]))
    }

    /// One session.
    pub fn session(&self, id: &SessionId) -> Result<Option<SessionRow>, StoreError> {
        let found =
            self.read(|c| rows(c, &format!("{ROWS} AND s.session_id = ?1"), &[&Key(id.as_str())]));
        Ok(found?.pop())
    }

    /// The git branch that was checked out when a session was last started or resumed, if that is known.
    pub fn last_branch(&self, id: &str) -> Result<Option<String>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare_cached(
                "SELECT CASE WHEN json_valid(detail) THEN CAST(json_extract(detail, '$.branch') AS TEXT) END
                 FROM events WHERE session_id = ?1 AND event_type = 'session.started' ORDER BY id DESC LIMIT 1",
            )?;
            Ok(statement.query_row([Key(id)], |row| row.get(0)).optional()?.flatten())
        })
    }

    /// Gives a session another name, or none.
    pub fn rename_session(&self, seat: &Seat, name: Option<&str>) -> Result<(), StoreError> {
        self.write(|tx| {
            if let Some(name) = name {
                check_free(tx, name, &seat.session, &seat.project_dir)?;
            }
            tx.execute(
                "INSERT INTO session_info(session_id, name, origin, last_active_ms)
                 VALUES (?1, ?2, 'eval', unixepoch('subsec') * 1000)
                 ON CONFLICT(session_id) DO UPDATE SET name = excluded.name",
                (Key(seat.session.as_str()), name),
            )?;
            event(tx, seat, "session.renamed", &json!({"name": name}))
        })
    }

    /// Acquires a session for one process. If a living process already has it, that owner is returned.
    pub fn take_lease(
        &self,
        session: &SessionId,
        owner: &Value,
        is_gone: impl Fn(&Value) -> bool,
    ) -> Result<Option<Value>, StoreError> {
        self.write(|tx| {
            if let Some(holder) = holder(tx, session)?
                && holder != *owner
                && !is_gone(&holder)
            {
                return Ok(Some(holder));
            }
            tx.execute(
                "INSERT OR REPLACE INTO session_leases(session_id, owner) VALUES (?1, ?2)",
                (Key(session.as_str()), Key(&owner.to_string())),
            )?;
            Ok(None)
        })
    }

    /// Who drives a session, if they live.
    pub fn driver(
        &self,
        session: &SessionId,
        is_gone: impl Fn(&Value) -> bool,
    ) -> Result<Option<Value>, StoreError> {
        let holder = self.read(|c| holder(c, session))?;
        Ok(holder.filter(|holder| !is_gone(holder)))
    }

    /// Releases every session whose owner is gone. Returns those sessions and their owners.
    pub fn take_back(
        &self,
        is_gone: impl Fn(&Value) -> bool,
    ) -> Result<Vec<(SessionId, Value)>, StoreError> {
        let held = self.read(|c| {
            let mut all = c.prepare_cached("SELECT session_id, owner FROM session_leases")?;
            let rows = all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<Vec<(String, String)>, _>>()?)
        })?;
        let mut left = Vec::new();
        for (session, owner) in held {
            let owner: Value = serde_json::from_str(&owner).unwrap_or_default();
            if is_gone(&owner) {
                let session = SessionId::from_existing(session);
                self.release_lease(&session, &owner)?;
                left.push((session, owner));
            }
        }
        Ok(left)
    }

    /// Releases a session.
    pub fn release_lease(&self, session: &SessionId, owner: &Value) -> Result<(), StoreError> {
        self.write(|tx| {
            tx.execute(
                "DELETE FROM session_leases WHERE session_id = ?1 AND owner = ?2",
                (Key(session.as_str()), Key(&owner.to_string())),
            )?;
            Ok(())
        })
    }

    /// Copies a session up to and including an entry, or all of it, into a new one of the same conversation.
    pub fn fork_session(&self, from: &Seat, new: &NewFork<'_>) -> Result<Seat, StoreError> {
        let NewFork { id, upto, origin, name } = *new;
        self.write(|tx| {
            let session = id.cloned().unwrap_or_else(SessionId::generate);
            let last: Option<i64> = tx.query_row(
                "SELECT max(sequence) FROM transcript_entries WHERE session_id = ?1",
                [Key(from.session.as_str())],
                |row| row.get(0),
            )?;
            let upto = match (upto, last) {
                (Some(upto), last) if upto < 0 || last.is_none_or(|last| upto > last) => {
                    return Err(StoreError::UnknownEntry(upto, from.session.to_string()).into());
                }
                (upto, last) => upto.or(last).unwrap_or(-1),
            };
            let made = tx.execute(
                "INSERT OR IGNORE INTO sessions(session_id, conversation_id) VALUES (?1, ?2)",
                (Key(session.as_str()), Key(from.conversation.as_str())),
            )?;
            if made == 0 {
                return Err(StoreError::SessionExists(session.to_string()).into());
            }
            for word in std::iter::once(session.as_str()).chain(name) {
                check_free(tx, word, &session, &from.project_dir)?;
            }
            tx.execute(
                "INSERT INTO session_info(session_id, name, origin, forked_from, forked_at, last_active_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, unixepoch('subsec') * 1000)",
                (Key(session.as_str()), name, origin, Key(from.session.as_str()), upto),
            )?;
            tx.execute(
                "INSERT INTO transcript_entries(session_id, sequence, entry_type, payload_json, tool_use_id, created_at)
                 SELECT ?1, sequence, entry_type, payload_json, tool_use_id, created_at
                 FROM transcript_entries WHERE session_id = ?2 AND sequence <= ?3 ORDER BY sequence",
                (Key(session.as_str()), Key(from.session.as_str()), upto),
            )?;
            // Parents are those of the copies.
            tx.execute(
                "UPDATE transcript_entries AS new SET parent_entry_id = (
                     SELECT copy.id FROM transcript_entries old
                     JOIN transcript_entries parent ON parent.id = old.parent_entry_id
                     JOIN transcript_entries copy
                       ON copy.session_id = ?1 AND copy.sequence = parent.sequence
                     WHERE old.session_id = ?2 AND old.sequence = new.sequence)
                 WHERE new.session_id = ?1",
                (Key(session.as_str()), Key(from.session.as_str())),
            )?;
            // What was read later the copy has not seen.
            tx.execute(
                "INSERT INTO file_views(session_id, path, content_hash, seen, seen_at)
                 SELECT ?1, path, content_hash, seen, seen_at FROM file_views
                 WHERE session_id = ?2 AND seen_at <= coalesce(
                     (SELECT created_at FROM transcript_entries WHERE session_id = ?2 AND sequence = ?3), seen_at)",
                (Key(session.as_str()), Key(from.session.as_str()), upto),
            )?;
            tx.execute(
                "INSERT INTO state(conversation_id, key, value)
                 SELECT conversation_id, ?1, value FROM state WHERE conversation_id = ?2 AND key = ?3",
                (Key(&cwd_key(&session)), Key(from.conversation.as_str()), Key(&cwd_key(&from.session))),
            )?;
            tx.execute(
                "INSERT INTO selected_intents(workspace, session_id, intent_id, selected_by, selected_at)
                 SELECT workspace, ?1, intent_id, selected_by, selected_at FROM selected_intents
                 WHERE session_id = ?2",
                (Key(session.as_str()), Key(from.session.as_str())),
            )?;
            let seat = Seat { session, ..from.clone() };
            let detail = json!({"from": from.session, "at": upto});
            event(tx, &seat, "session.forked", &detail)?;
            Ok(seat)
        })
    }

    /// Entries in which users, models and tools have said a text, the latest first.
    pub fn search(&self, text: &str, most: i64) -> Result<Vec<Hit>, StoreError> {
        let wanted = text.to_lowercase();
        self.read(|c| {
            // SQLite knows upper and lower case of ASCII only; then it can leave most rows out.
            let mut statement = c.prepare(
                "SELECT session_id, sequence, entry_type, payload_json FROM transcript_entries
                 WHERE entry_type IN ('user', 'assistant', 'tool_use', 'tool_result')
                   AND (?1 IS NULL OR instr(lower(payload_json), ?1) > 0)
                 ORDER BY id DESC",
            )?;
            let plain = |c: char| c.is_ascii() && !matches!(c, '"' | '\\') && !c.is_control();
            let prefilter = wanted.chars().all(plain).then_some(wanted.as_str());
            let mut rows = statement.query([prefilter])?;
            let mut hits = Vec::new();
            while let Some(row) = rows.next()? {
                let said = said(&row.get::<_, String>(3)?);
                let Some(excerpt) = excerpt(&said, &wanted) else { continue };
                hits.push(Hit {
                    session_id: row.get(0)?,
                    sequence: row.get(1)?,
                    entry_type: row.get(2)?,
                    excerpt,
                });
                if i64::try_from(hits.len()).is_ok_and(|found| found >= most) {
                    break;
                }
            }
            Ok(hits)
        })
    }
}

/// Refuses a word for a session that names another: by its id, or in the same directory by its name. Of two that one
/// word names, one could not be found by it.
fn check_free(
    c: &Connection,
    word: &str,
    session: &SessionId,
    project_dir: &str,
) -> Result<(), Failure> {
    let other: Option<String> = c
        .prepare_cached(
            "SELECT session_id FROM sessions WHERE session_id = ?1 AND session_id <> ?2
             UNION ALL
             SELECT i.session_id FROM session_info i
             JOIN sessions s ON s.session_id = i.session_id
             JOIN conversations c ON c.id = s.conversation_id
             WHERE i.name = ?4 AND i.session_id <> ?2 AND c.project_dir = ?3
             LIMIT 1",
        )?
        .query_row((Key(word), Key(session.as_str()), Key(project_dir), word), |row| row.get(0))
        .optional()?;
    match other {
        None => Ok(()),
        Some(session) => Err(StoreError::NameTaken { word: word.to_owned(), session }.into()),
    }
}

/// The words of an entry, without what only holds them together.
fn said(payload: &str) -> String {
    fn texts<'v>(value: &'v Value, into: &mut Vec<&'v str>) {
        match value {
            Value::String(text) => into.push(text),
            Value::Array(items) => items.iter().for_each(|item| texts(item, into)),
            Value::Object(members) => {
                let names = ["_t", "type", "id", "uuid", "tool_use_id"];
                let said = members.iter().filter(|(name, _)| !names.contains(&name.as_str()));
                said.for_each(|(_, member)| texts(member, into));
            }
            _ => {}
        }
    }
    let payload: Value = serde_json::from_str(payload).unwrap_or_default();
    let mut found = Vec::new();
    texts(&payload, &mut found);
    found.join(" ")
}

/// What stands around a text in lower case, on one line; nothing if it is not there.
fn excerpt(said: &str, wanted: &str) -> Option<String> {
    const AROUND: usize = 60;
    let lower = said.to_lowercase();
    let at = lower.find(wanted)?;
    // Some letters have another length in lower case; then it is shown from nearby.
    let from = said.floor_char_boundary(at.saturating_sub(AROUND));
    let to = said.floor_char_boundary((at + wanted.len() + AROUND).min(said.len()));
    let around = said.get(from..to).unwrap_or(said);
    Some(around.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn rows(c: &Connection, sql: &str, params: &[&dyn Bind]) -> Result<Vec<SessionRow>, Failure> {
    let mut statement = c.prepare(sql)?;
    let found = statement.query_map(params, session_row)?;
    Ok(found.collect::<Result<_, _>>()?)
}

pub(crate) fn seat(c: &Connection, session: &str) -> Result<Option<Seat>, Failure> {
    let found = c
        .prepare_cached(
            "SELECT s.conversation_id, c.project_dir,
                 (SELECT value FROM state WHERE conversation_id = c.id AND key = ?2)
             FROM sessions s JOIN conversations c ON c.id = s.conversation_id WHERE s.session_id = ?1",
        )?
        .query_row(
            (Key(session), Key(&cwd_key(&SessionId::from_existing(session)))),
            |row| {
                Ok(Seat {
                    conversation: ConversationId::from_existing(row.get::<_, String>(0)?),
                    session: SessionId::from_existing(session),
                    project_dir: row.get(1)?,
                    cwd: row.get(2)?,
                })
            },
        )
        .optional()?;
    Ok(found)
}

pub(crate) fn holder(tx: &Connection, session: &SessionId) -> Result<Option<Value>, Failure> {
    let owner: Option<String> = tx
        .query_row(
            "SELECT owner FROM session_leases WHERE session_id = ?1",
            [Key(session.as_str())],
            |row| row.get(0),
        )
        .optional()?;
    Ok(owner.map(|owner| serde_json::from_str(&owner).unwrap_or(Value::Null)))
}

#[cfg(test)]
mod tests {
    use ona_types::{Entry, SystemNote};

    use super::*;
    use crate::tests::{new, say, store};

    #[test]
    fn sessions_are_found_by_id_prefix_and_name() {
        let (_dir, store) = store();
        let a = store.new_session(&new("/a", Some("fix"))).unwrap();
        let b = store.new_session(&new("/b", Some("fix"))).unwrap();
        let id = SessionId::from_existing("0123-own");
        let own = store.new_session(&NewSession { id: Some(&id), ..new("/a", None) }).unwrap();
        let find = |word: &str, dir: &str| store.find_session(word, dir).unwrap();
        assert_eq!(find(a.session.as_str(), "/z"), Found::One(a.clone()));
        assert_eq!(find("0123", "/z"), Found::One(own.clone()));
        assert_eq!(find("fix", "/b"), Found::One(b.clone()), "the one of this directory");
        assert!(matches!(find("fix", "/z"), Found::Many(rows) if rows.len() == 2));
        assert_eq!(find("nothing", "/a"), Found::None);
        let again = store.new_session(&NewSession { id: Some(&id), ..new("/a", None) });
        assert!(matches!(again, Err(StoreError::SessionExists(_))));
        let first_words = Entry::system(&SystemNote::Prompt { blocks: Vec::new() });
        store.append(&b.session, &[first_words]).unwrap();
        assert_eq!(store.latest_session("/b").unwrap(), None, "nothing was said in it");
        say(&store, &b, "something");
        assert_eq!(store.latest_session("/b").unwrap(), Some(b.clone()));
        assert_eq!(store.latest_session("/z").unwrap(), None);
        store.rename_session(&own, Some("mine")).unwrap();
        assert_eq!(find("mine", "/a"), Found::One(own));
        store.delete_session(&a, |_| false).unwrap();
        store.delete_session(&b, |_| false).unwrap();
        for empty in ["", " "] {
            assert_eq!(find(empty, "/a"), Found::None, "even if there is but one");
        }
    }

    #[test]
    fn the_last_branch_of_a_session_is_that_of_its_last_start() {
        let (_dir, store) = store();
        let seat = store.new_session(&new("/a", None)).unwrap();
        let branch = || store.last_branch(seat.session.as_str()).unwrap();
        let started = |detail: &str| {
            let row = (Key(seat.session.as_str()), seat.conversation.as_str(), detail);
            let sql = "INSERT INTO events(session_id, conversation_id, event_type, detail)
                       VALUES (?1, ?2, 'session.started', ?3)";
            store.write(|tx| Ok(tx.execute(sql, row)?)).unwrap();
        };
        assert_eq!(branch(), None);
        started(r#"{"branch": "main"}"#);
        started(r#"{"branch": "garden"}"#);
        assert_eq!(branch().as_deref(), Some("garden"));
        started("written by hand");
        assert_eq!(branch(), None);
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_change_which_session_is_the_latest() {
        let (_dir, store) = store();
        let before = store.new_session(&new("/a", None)).unwrap();
        say(&store, &before, "at a time that has yet to come");
        store
            .write(|tx| {
                tx.execute(
                    "UPDATE session_info SET last_active_ms = last_active_ms + 86400000",
                    [],
                )?;
                tx.execute("UPDATE conversations SET last_active = '3000-01-01 00:00:00'", [])?;
                Ok(())
            })
            .unwrap();
        let after = store.new_session(&new("/a", None)).unwrap();
        say(&store, &after, "after the clock was set right");
        assert_eq!(store.latest_session("/a").unwrap(), Some(after));
        say(&store, &before, "once more");
        assert_eq!(store.latest_session("/a").unwrap(), Some(before));
    }

    #[test]
    fn one_drives_a_session_until_it_dies() {
        let (_dir, store) = store();
        let seat = store.new_session(&new("/a", None)).unwrap();
        let (me, other) = (json!({"pid": 1}), json!({"pid": 2}));
        let take =
            |who: &Value, gone: bool| store.take_lease(&seat.session, who, |_| gone).unwrap();
        assert_eq!(take(&me, false), None);
        assert_eq!(take(&me, false), None, "again is no harm");
        assert_eq!(take(&other, false), Some(me.clone()));
        assert!(matches!(store.delete_session(&seat, |_| false), Err(StoreError::SessionInUse(_))));
        assert_eq!(take(&other, true), None, "who has died binds nobody");
        store.release_lease(&seat.session, &me).unwrap();
        assert_eq!(take(&me, false), Some(other.clone()), "only the holder gives it back");
        store.release_lease(&seat.session, &other).unwrap();
        assert_eq!(take(&me, false), None);
    }

    #[test]
    fn a_fork_has_the_same_past_and_its_own_future() {
        let (_dir, store) = store();
        let seat = store.new_session(&new("/a", None)).unwrap();
        for text in ["one", "two", "three"] {
            say(&store, &seat, text);
        }
        let fork =
            store.fork_session(&seat, &NewFork { upto: Some(1), ..NewFork::default() }).unwrap();
        say(&store, &fork, "other");
        let texts = |seat: &Seat| -> Vec<String> {
            let rows = store.transcript(&seat.session).unwrap();
            for pair in rows.windows(2) {
                assert_eq!(pair[1].parent, Some(pair[0].id), "parents are of the same session");
            }
            rows.iter().map(|row| row.payload_json.clone()).collect()
        };
        assert_eq!(texts(&fork)[..2], texts(&seat)[..2]);
        assert_eq!((texts(&fork).len(), texts(&seat).len()), (3, 3));
        assert_eq!(fork.conversation, seat.conversation);
        let row = store.session(&fork.session).unwrap().unwrap();
        assert_eq!((row.forked_from.as_deref(), row.turns), (Some(seat.session.as_str()), 3));
        assert!(matches!(
            store.fork_session(&seat, &NewFork { upto: Some(3), ..NewFork::default() }),
            Err(StoreError::UnknownEntry(3, _))
        ));
    }
}
