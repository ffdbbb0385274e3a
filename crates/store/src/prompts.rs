//! What an interactive session reads and keeps besides the turns: typed prompts, pages of the transcript, file history,
//! statistics.

use ona_types::{FileVersion, SessionId};
use rusqlite::OptionalExtension as _;
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::rows::{Key, MaybeKey};
use crate::store::Store;
use crate::transcript::{StoredEntry, stored_entry};

/// This many typed prompts of a directory are kept.
const MAX_TYPED: i64 = 2_000;

/// A prompt of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PromptRow {
    /// Its number in the transcript.
    pub sequence: i64,
    /// The text.
    pub text: String,
    /// When it was sent.
    pub created_at: String,
}

/// What calls have done to files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileHistoryRow {
    /// The entry's number in the transcript.
    pub sequence: i64,
    /// The session that keeps the old content.
    pub kept_by: SessionId,
    /// The files.
    pub files: Vec<FileVersion>,
    /// Why others may have changed too.
    pub unsure: Option<String>,
}

#[derive(Deserialize)]
struct FileHistory {
    kept_by: SessionId,
    files: Vec<FileVersion>,
    #[serde(default)]
    unsure: Option<String>,
}

/// A call that the gate refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Denial {
    /// The call.
    pub tool_use_id: String,
    /// The tool.
    pub tool: String,
    /// The stage.
    pub stage: String,
    /// Why.
    pub reason: String,
    /// When it was asked for.
    pub at: String,
}

/// The use of a model on a day.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DayUse {
    /// The day, such as `2026-11-18`.
    pub day: String,
    /// The model.
    pub model: String,
    /// The number of sessions that used it.
    pub sessions: i64,
    /// The number of model calls.
    pub calls: i64,
    /// Tokens, in and out.
    pub tokens: i64,
    /// The cost, as far as prices are known.
    pub cost_usd: f64,
}

impl Store {
    /// Keeps what was typed in a directory.
    pub fn keep_typed(&self, project_dir: &str, text: &str) -> Result<(), StoreError> {
        let text = without_secret(text);
        self.write(|tx| {
            tx.execute(
                "INSERT INTO typed_prompts(project_dir, text) VALUES (?1, ?2)",
                (Key(project_dir), text),
            )?;
            tx.execute(
                "DELETE FROM typed_prompts WHERE project_dir = ?1 AND id <= (
                     SELECT id FROM typed_prompts WHERE project_dir = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
                (Key(project_dir), MAX_TYPED),
            )?;
            Ok(())
        })
    }

    /// What was typed in a directory, the oldest first, up to a limit.
    pub fn typed(&self, project_dir: &str, most: i64) -> Result<Vec<String>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare_cached(
                "SELECT text FROM typed_prompts WHERE project_dir = ?1 ORDER BY id DESC LIMIT ?2",
            )?;
            let rows = statement.query_map((Key(project_dir), most), |row| row.get(0))?;
            let mut typed: Vec<String> = rows.collect::<Result<_, _>>()?;
            typed.reverse();
            Ok(typed)
        })
    }

    /// Entries of a session before one, the oldest first, up to a limit; the latest if `before` is `None`.
    pub fn entries_before(
        &self,
        session: &SessionId,
        before: Option<i64>,
        most: i64,
    ) -> Result<Vec<StoredEntry>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare_cached(
                "SELECT id, sequence, parent_entry_id, entry_type, payload_json, tool_use_id
                 FROM transcript_entries WHERE session_id = ?1 AND sequence < ?2 ORDER BY sequence DESC LIMIT ?3",
            )?;
            let rows = statement.query_map(
                (Key(session.as_str()), before.unwrap_or(i64::MAX), most),
                stored_entry,
            )?;
            let mut entries: Vec<StoredEntry> = rows.collect::<Result<_, _>>()?;
            entries.reverse();
            Ok(entries)
        })
    }

    /// The prompts of a session, the oldest first.
    pub fn prompts(&self, session: &SessionId) -> Result<Vec<PromptRow>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare_cached(
                "SELECT sequence, coalesce(json_extract(payload_json, '$.typed'), json_extract(payload_json,
                     '$.content[' || (json_array_length(payload_json, '$.content') - 1) || '].text'), ''), created_at
                 FROM transcript_entries
                 WHERE session_id = ?1 AND entry_type = 'user' AND json_valid(payload_json) ORDER BY sequence",
            )?;
            let rows = statement.query_map([Key(session.as_str())], |row| {
                Ok(PromptRow { sequence: row.get(0)?, text: row.get(1)?, created_at: row.get(2)? })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// What calls of a session, and of the agents it started, have done to files since an entry, the oldest first.
    pub fn file_history(
        &self,
        session: &SessionId,
        since: i64,
    ) -> Result<Vec<FileHistoryRow>, StoreError> {
        let agents = self.agents_below(session)?;
        self.read(|c| {
            let from: Option<i64> = c
                .prepare_cached(
                    "SELECT min(id) FROM transcript_entries WHERE session_id = ?1 AND sequence >= ?2",
                )?
                .query_row((Key(session.as_str()), since), |row| row.get(0))
                .optional()?
                .flatten();
            let mut found = Vec::new();
            for session in std::iter::once(session).chain(&agents) {
                let mut statement = c.prepare_cached(
                    "SELECT id, sequence, payload_json FROM transcript_entries
                     WHERE session_id = ?1 AND id >= ?2 AND entry_type = 'file_history_snapshot'",
                )?;
                let rows = statement.query_map(
                    (Key(session.as_str()), from.unwrap_or(i64::MAX)),
                    |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
                )?;
                for row in rows {
                    let (id, sequence, payload): (i64, i64, String) = row?;
                    if let Ok(FileHistory { kept_by, files, unsure }) =
                        serde_json::from_str(&payload)
                    {
                        found.push((id, FileHistoryRow { sequence, kept_by, files, unsure }));
                    }
                }
            }
            found.sort_by_key(|(id, _)| *id);
            Ok(found.into_iter().map(|(_, row)| row).collect())
        })
    }

    /// The latest calls of a session that were refused, the latest first.
    pub fn denials(&self, session: &SessionId, most: i64) -> Result<Vec<Denial>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare_cached(
                "SELECT a.tool_use_id, coalesce(json_extract(t.payload_json, '$.name'), ''), a.stage, a.reason,
                     coalesce(t.created_at, '')
                 FROM gate_answers a LEFT JOIN transcript_entries t
                   ON t.tool_use_id = a.tool_use_id AND t.entry_type = 'tool_use' AND t.session_id = a.session_id
                 WHERE a.session_id = ?1 AND a.verdict = 'deny' ORDER BY a.id DESC LIMIT ?2",
            )?;
            let rows = statement.query_map((Key(session.as_str()), most), |row| {
                Ok(Denial {
                    tool_use_id: row.get(0)?,
                    tool: row.get(1)?,
                    stage: row.get(2)?,
                    reason: row.get(3)?,
                    at: row.get(4)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Which stage refused a call, and why. A copy of a session shows calls that the original made.
    pub fn refusal(
        &self,
        session: &SessionId,
        call: &str,
    ) -> Result<Option<(String, String)>, StoreError> {
        self.read(|c| {
            Ok(c.prepare_cached(
                "SELECT stage, reason FROM gate_answers WHERE tool_use_id = ?1 AND verdict = 'deny'
                 ORDER BY session_id <> ?2, id DESC LIMIT 1",
            )?
            .query_row([Key(call), Key(session.as_str())], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?)
        })
    }

    /// The latest call of a session.
    pub fn latest_call(&self, session: &SessionId) -> Result<Option<String>, StoreError> {
        self.read(|c| {
            Ok(c.prepare_cached(
                "SELECT tool_use_id FROM transcript_entries
                 WHERE session_id = ?1 AND entry_type = 'tool_use' ORDER BY sequence DESC LIMIT 1",
            )?
            .query_row([Key(session.as_str())], |row| row.get(0))
            .optional()?
            .flatten())
        })
    }

    /// The calls of a session since its latest prompt, in their order: the id, the tool, and whether it was refused.
    pub fn calls_of_turn(
        &self,
        session: &SessionId,
    ) -> Result<Vec<(String, String, bool)>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare_cached(
                "SELECT t.tool_use_id, coalesce(json_extract(t.payload_json, '$.name'), ''),
                     EXISTS (SELECT 1 FROM gate_answers g
                         WHERE g.tool_use_id = t.tool_use_id AND g.verdict = 'deny')
                 FROM transcript_entries t
                 WHERE t.session_id = ?1 AND t.entry_type = 'tool_use' AND t.tool_use_id IS NOT NULL
                     AND t.sequence > coalesce((SELECT max(sequence) FROM transcript_entries
                         WHERE session_id = ?1 AND entry_type = 'user'), -1)
                 ORDER BY t.sequence",
            )?;
            let rows = statement.query_map([Key(session.as_str())], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// The use of models by day since a day, the latest day first; in one directory, or in all.
    pub fn use_by_day(
        &self,
        project_dir: Option<&str>,
        since: &str,
    ) -> Result<Vec<DayUse>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare_cached(
                "SELECT date(m.answered_at), m.model, count(DISTINCT m.session_id), count(*),
                     CAST(total(m.input_tokens + m.output_tokens + m.cache_creation_input_tokens
                         + m.cache_read_input_tokens) AS INTEGER), coalesce(sum(m.cost_usd), 0.0)
                 FROM model_calls m JOIN sessions s ON s.session_id = m.session_id
                 JOIN conversations c ON c.id = s.conversation_id
                 WHERE m.answered_at >= ?2 AND (?1 IS NULL OR c.project_dir = ?1)
                 GROUP BY 1, 2 ORDER BY 1 DESC, 4 DESC",
            )?;
            let rows = statement.query_map((MaybeKey(project_dir), since), |row| {
                Ok(DayUse {
                    day: row.get(0)?,
                    model: row.get(1)?,
                    sessions: row.get(2)?,
                    calls: row.get(3)?,
                    tokens: row.get(4)?,
                    cost_usd: row.get(5)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

/// A typed line without what may be a secret: the values of variables, headers and helpers for keys, and the words that
/// add a server. Nothing in a value itself tells that it is one.
fn without_secret(text: &str) -> &str {
    let adds_server = |text: &str| {
        let mut words = text.split_whitespace();
        (words.next(), words.next()) == (Some("/mcp"), Some("add"))
    };
    if adds_server(text) {
        return "/mcp add ";
    }
    let setting = ["/config ", "/settings "].iter().find_map(|name| text.strip_prefix(name));
    let Some((key, value)) = setting.and_then(|setting| setting.split_once('=')) else {
        return text;
    };
    let hides =
        |part: &str| ["env", "headers", "hooks"].contains(&part) || part.ends_with("Helper");
    match key.trim().split('.').any(hides) {
        true => &text[..text.len() - value.len()],
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use ona_types::Entry;

    use super::*;
    use crate::{NewSession, Seat};

    fn seat(store: &Store) -> Seat {
        let new = NewSession {
            project_dir: "/w",
            conversation: None,
            id: None,
            origin: "interactive",
            name: None,
        };
        store.new_session(&new).unwrap()
    }

    #[test]
    fn the_value_of_a_secret_setting_is_not_kept() {
        assert_eq!(without_secret("/config env.FOO_TOKEN=x=y"), "/config env.FOO_TOKEN=");
        assert_eq!(without_secret("/settings apiKeyHelper=echo k"), "/settings apiKeyHelper=");
        assert_eq!(without_secret("/mcp  add x -e TOKEN=y -- run"), "/mcp add ");
        for kept in ["/mcp", "/mcp list", "/config theme=dark", "/config env", "env.X=1 is wrong"] {
            assert_eq!(without_secret(kept), kept);
        }
    }

    #[test]
    fn typed_prompts_stay_with_their_directory() {
        let store = Store::in_memory().unwrap();
        for text in ["one", "two", "three"] {
            store.keep_typed("/w", text).unwrap();
        }
        store.keep_typed("/other", "else").unwrap();
        assert_eq!(store.typed("/w", 2).unwrap(), ["two", "three"]);
        assert_eq!(store.typed("/w", 9).unwrap(), ["one", "two", "three"]);
    }

    #[test]
    fn the_transcript_is_read_page_by_page() {
        let store = Store::in_memory().unwrap();
        let seat = seat(&store);
        let entries: Vec<Entry> = (0..5)
            .map(|number| {
                let text = format!("prompt {number}");
                let blocks = [ona_types::ContentBlock::Text { text }];
                Entry::message(ona_types::EntryType::User, "u", &blocks)
            })
            .collect();
        store.append(&seat.session, &entries).unwrap();
        let page = |before| {
            let page = store.entries_before(&seat.session, before, 2).unwrap();
            page.iter().map(|entry| entry.sequence).collect::<Vec<_>>()
        };
        assert_eq!(page(None), [3, 4]);
        assert_eq!(page(Some(3)), [1, 2]);
        assert!(page(Some(0)).is_empty());
        let prompts = store.prompts(&seat.session).unwrap();
        assert_eq!((prompts.len(), prompts[4].text.as_str()), (5, "prompt 4"));
    }

    #[test]
    fn file_history_counts_from_an_entry_on() {
        let store = Store::in_memory().unwrap();
        let seat = seat(&store);
        let version = |path: &str| FileVersion {
            path: path.to_owned(),
            before: None,
            after: None,
            added: 2,
            removed: 1,
        };
        let entries: Vec<Entry> = ["a", "b"]
            .map(|path| Entry::file_history(&seat.session, &[version(path)], None))
            .into();
        store.append(&seat.session, &entries).unwrap();
        let paths = |since| {
            let rows = store.file_history(&seat.session, since).unwrap();
            rows.iter().map(|row| row.files[0].path.clone()).collect::<Vec<_>>()
        };
        assert_eq!(paths(0), ["a", "b"]);
        assert_eq!(paths(1), ["b"]);
        assert_eq!(paths(2), Vec::<String>::new());
    }
}
