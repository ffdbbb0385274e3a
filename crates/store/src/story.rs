//! Reading the record back: the story of one call, and what happened lately.

use crate::rows::{Connection, Key, MaybeKey};
use rusqlite::OptionalExtension;
use serde::Serialize;
use serde_json::Value;

use crate::call_ids;
use crate::error::StoreError;
use crate::store::{Failure, Store, behind_prefix};
use crate::tool_calls::GateRow;

/// Everything the record knows of one call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallStory {
    /// The call's id.
    pub tool_use_id: String,
    /// The session.
    pub session_id: String,
    /// The tool.
    pub tool: String,
    /// Its input as asked.
    pub input: Value,
    /// When it started.
    pub started_at: String,
    /// What every stage said, in order.
    pub answers: Vec<GateRow>,
    /// The hooks that ran or were skipped.
    pub hooks: Vec<HookStory>,
    /// Decisions where there was something to ask: the decision and its reason.
    pub decisions: Vec<(String, Value)>,
    /// The result: the text and whether it failed; `None` if it has not ended.
    pub result: Option<(String, bool)>,
    /// The class and further facts, from the event of its end.
    pub finished: Option<Value>,
}

impl CallStory {
    /// Who allowed the call: the last yes is the one that counted.
    pub fn approver(&self) -> Option<&str> {
        let yes = self.decisions.iter().rev().find(|(decision, _)| decision == "allow");
        yes.and_then(|(_, reason)| reason["decided"]["by"].as_str())
    }
}

/// A hook's part in a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the columns of hook_invocations")]
pub struct HookStory {
    pub hook_event: String,
    pub hook_ordinal: i64,
    pub matcher: String,
    pub command: String,
    pub exit_code: Option<i32>,
    pub stdout_text: Option<String>,
    pub stderr_text: Option<String>,
    pub skipped_reason: Option<String>,
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogLine {
    /// `events.id`, which grows.
    pub id: i64,
    /// When.
    pub timestamp: String,
    /// The conversation.
    pub conversation_id: String,
    /// The session, where the event belongs to one.
    pub session_id: Option<String>,
    /// What happened.
    pub event_type: String,
    /// The details, as JSON where they are.
    pub detail: Value,
}

impl Store {
    /// The story of a call; `None` if the call is unknown.
    pub fn story(&self, tool_use_id: &str) -> Result<Option<CallStory>, StoreError> {
        self.read(|c| story(c, tool_use_id))
    }

    /// Calls whose ids start with this text, the newest first.
    pub fn calls_like(&self, prefix: &str, most: i64) -> Result<Vec<String>, StoreError> {
        self.read(|c| {
            // A fork has the calls of its origin as well, and they are not its own.
            let sql = match prefix {
                "" => {
                    "SELECT tool_use_id FROM transcript_entries t
                     WHERE entry_type = 'tool_use' AND tool_use_id >= ?1 AND +tool_use_id < ?2
                       AND NOT EXISTS (SELECT 1 FROM call_ids i
                         WHERE i.tool_use_id = t.tool_use_id AND i.session_id <> t.session_id)
                     ORDER BY id DESC LIMIT ?3"
                }
                _ => {
                    "SELECT DISTINCT tool_use_id FROM transcript_entries
                     WHERE tool_use_id >= ?1 AND tool_use_id < ?2 AND entry_type = 'tool_use'
                     ORDER BY tool_use_id DESC LIMIT ?3"
                }
            };
            let mut statement = c.prepare(sql)?;
            let rows = statement
                .query_map((Key(prefix), Key(&behind_prefix(prefix)), most), |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// The events after `after`, oldest first, of one session or of all; at most the latest `most`.
    pub fn log(
        &self,
        after: i64,
        session: Option<&str>,
        most: i64,
    ) -> Result<Vec<LogLine>, StoreError> {
        self.read(|c| {
            // All events of a session are found by it; later ones by their number, since they are few.
            let of_session = match (session, after) {
                (Some(_), ..=0) => "session_id = ?2 AND +id > ?1",
                (Some(_), _) => "+session_id = ?2 AND id > ?1",
                (None, _) => "?2 IS NULL AND id > ?1",
            };
            let mut statement = c.prepare_cached(&format!(
                "SELECT * FROM (
                     SELECT id, timestamp, conversation_id, session_id, event_type, detail FROM events
                     WHERE {of_session} ORDER BY id DESC LIMIT ?3)
                 ORDER BY id",
            ))?;
            let rows = statement.query_map((after, MaybeKey(session), most), |row| {
                Ok(LogLine {
                    id: row.get(0)?,
                    timestamp: row.get(1)?,
                    conversation_id: row.get(2)?,
                    session_id: row.get(3)?,
                    event_type: row.get(4)?,
                    detail: row.get::<_, Option<String>>(5)?.map_or(Value::Null, json_or_text),
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

/// Hand-made rows need not be JSON.
fn json_or_text(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

fn story(c: &Connection, id: &str) -> Result<Option<CallStory>, Failure> {
    let ran_in = call_ids::session_of(c, id)?;
    let asked: Option<(String, String, String)> = c
        .query_row(
            // Forks have copies of it, without what hooks and the operator said. If its session was deleted, a copy is
            // all there is.
            "SELECT session_id, payload_json, created_at FROM transcript_entries
             WHERE tool_use_id = ?1 AND entry_type = 'tool_use'
             ORDER BY session_id IS NOT ?2, id LIMIT 1",
            (Key(id), MaybeKey(ran_in.as_deref())),
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .optional()?;
    let Some((told_in, payload, started_at)) = asked else { return Ok(None) };
    let payload = json_or_text(payload);
    let result: Option<String> = c
        .query_row(
            "SELECT payload_json FROM transcript_entries
             WHERE tool_use_id = ?1 AND session_id = ?2 AND entry_type = 'tool_result'
             ORDER BY id LIMIT 1",
            [Key(id), Key(told_in.as_str())],
            |row| row.get(0),
        )
        .optional()?;
    let session_id = ran_in.unwrap_or(told_in);
    let result = result.map(json_or_text).map(|result| {
        let content = result["content"].as_str().unwrap_or_default().to_owned();
        (content, result["is_error"].as_bool().unwrap_or(true))
    });
    let finished: Option<String> = c
        .query_row(
            "SELECT detail FROM events WHERE session_id = ?1
             AND event_type IN ('tool.finished', 'tool.interrupted')
             AND CASE WHEN json_valid(detail) THEN json_extract(detail, '$.tool_use_id') END = ?2 LIMIT 1",
            [Key(session_id.as_str()), Key(id)],
            |row| row.get(0),
        )
        .optional()?;
    Ok(Some(CallStory {
        tool_use_id: id.to_owned(),
        tool: payload["name"].as_str().unwrap_or_default().to_owned(),
        input: payload["input"].clone(),
        started_at,
        answers: answers(c, &session_id, id)?,
        hooks: hooks(c, &session_id, id)?,
        decisions: decisions(c, &session_id, id)?,
        result,
        finished: finished.map(json_or_text),
        session_id,
    }))
}

fn answers(c: &Connection, session: &str, id: &str) -> Result<Vec<GateRow>, Failure> {
    let mut statement = c.prepare(
        "SELECT stage, verdict, reason, detail FROM gate_answers
         WHERE tool_use_id = ?1 AND session_id = ?2 ORDER BY id",
    )?;
    let rows = statement.query_map([Key(id), Key(session)], |row| {
        Ok(GateRow {
            stage: row.get(0)?,
            verdict: row.get(1)?,
            reason: row.get(2)?,
            detail: row.get::<_, Option<String>>(3)?.map_or(Value::Null, json_or_text),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn hooks(c: &Connection, session: &str, id: &str) -> Result<Vec<HookStory>, Failure> {
    let mut statement = c.prepare(
        "SELECT hook_event, hook_ordinal, matcher, command, exit_code, stdout_text, stderr_text,
             skipped_reason FROM hook_invocations WHERE session_id = ?1 AND tool_use_id = ?2 ORDER BY id",
    )?;
    let rows = statement.query_map([Key(session), Key(id)], |row| {
        Ok(HookStory {
            hook_event: row.get(0)?,
            hook_ordinal: row.get(1)?,
            matcher: row.get(2)?,
            command: row.get(3)?,
            exit_code: row.get(4)?,
            stdout_text: row.get(5)?,
            stderr_text: row.get(6)?,
            skipped_reason: row.get(7)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn decisions(c: &Connection, session: &str, id: &str) -> Result<Vec<(String, Value)>, Failure> {
    let mut statement = c.prepare(
        "SELECT decision, reason_json FROM tool_permission_log
         WHERE session_id = ?1 AND tool_use_id = ?2 ORDER BY id",
    )?;
    let rows = statement.query_map([Key(session), Key(id)], |row| {
        Ok((row.get(0)?, row.get::<_, Option<String>>(1)?.map_or(Value::Null, json_or_text)))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
