//! Calls of other agents, which report to ona twice: before they run and after. The host waits for ona's answer, so
//! each time everything goes into one commit.

use crate::rows::{Key, Transaction};
use ona_types::hook::HookInvocation;
use ona_types::{ConversationId, SessionId, ToolUseId};
use rusqlite::OptionalExtension;
use serde_json::Value;

use crate::conversations::Seat;
use crate::error::StoreError;
use crate::store::Store;
use crate::tool_calls::{
    CallOutcome, CallStart, GateRow, event, finish, keep_answer, keep_hook, start, touch,
};

/// The origins of other agents' sessions: ona records them, and resumes none.
pub(crate) const OTHERS: [&str; 3] = ["claude_code", "codex", "mcp"];

/// Whether a session of this origin is another agent's.
pub fn is_foreign(origin: &str) -> bool {
    OTHERS.contains(&origin)
}

/// What is known of a call before it runs.
#[derive(Clone, Copy, Debug)]
pub struct ForeignCall<'a> {
    /// The call, by ona's id for it.
    pub call: CallStart<'a>,
    /// The host's id for it.
    pub host_id: &'a ToolUseId,
    /// What the stages said.
    pub gate: &'a [GateRow],
    /// What the second hook has to know.
    pub found: &'a Value,
    /// The result, if it was refused.
    pub refused: Option<&'a CallOutcome<'a>>,
}

/// What is recorded about a hook.
#[derive(Clone, Copy, Debug)]
pub struct HeardHook<'a> {
    /// The hook itself.
    pub hook: &'a HookInvocation,
    /// What else happened, each with its kind.
    pub events: &'a [(&'a str, Value)],
}

impl Store {
    /// A session with its origin, where there is one.
    pub fn seat_of(&self, id: &SessionId) -> Result<Option<(Seat, String)>, StoreError> {
        self.read(|c| {
            let found = c
                .prepare_cached(
                    "SELECT s.conversation_id, c.project_dir, coalesce(i.origin, 'eval')
                     FROM sessions s JOIN conversations c ON c.id = s.conversation_id
                     LEFT JOIN session_info i ON i.session_id = s.session_id
                     WHERE s.session_id = ?1",
                )?
                .query_row([Key(id.as_str())], |row| {
                    let seat = Seat {
                        conversation: ConversationId::from_existing(row.get::<_, String>(0)?),
                        session: id.clone(),
                        project_dir: row.get(1)?,
                        cwd: None,
                    };
                    Ok((seat, row.get(2)?))
                })
                .optional()?;
            Ok(found)
        })
    }

    /// Whether a session has asked for a call of this id.
    pub fn has_call(&self, session: &str, id: &str) -> Result<bool, StoreError> {
        self.read(|c| {
            Ok(c.prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM transcript_entries
                     WHERE tool_use_id = ?1 AND session_id = ?2 AND entry_type = 'tool_use')",
            )?
            .query_row((Key(id), Key(session)), |row| row.get(0))?)
        })
    }

    /// The calls that run in a directory or below it, by their sessions, and who runs them.
    pub fn calls_below(&self, dir: &str) -> Result<Vec<(SessionId, Value)>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare_cached(
                "SELECT r.session_id, r.owner FROM running_calls r
                 JOIN sessions s ON s.session_id = r.session_id
                 JOIN conversations c ON c.id = s.conversation_id
                 WHERE c.project_dir = ?1 OR substr(c.project_dir, 1, length(?1) + 1) = ?1 || '/'",
            )?;
            let rows = statement.query_map([Key(dir)], |row| {
                let owner = serde_json::from_str(&row.get::<_, String>(1)?).unwrap_or(Value::Null);
                Ok((SessionId::from_existing(row.get::<_, String>(0)?), owner))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Commits what is known of a call before it runs, and the hook that told of it.
    pub fn foreign_before(
        &self,
        seat: &Seat,
        foreign: &ForeignCall<'_>,
        heard: &HeardHook<'_>,
    ) -> Result<(), StoreError> {
        let ForeignCall { call, host_id, gate, found, refused } = foreign;
        self.write(|tx| {
            start(tx, seat, call)?;
            gate.iter().try_for_each(|answer| keep_answer(tx, seat, call.id, answer))?;
            if let Some(outcome) = refused {
                finish(tx, seat, call.id, outcome)?;
            }
            tx.prepare_cached(
                "INSERT OR REPLACE INTO foreign_calls(session_id, tool_use_id, tool_name, found)
                 VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute((
                Key(seat.session.as_str()),
                Key(host_id.as_str()),
                call.tool,
                found.to_string(),
            ))?;
            hear(tx, seat, heard)
        })
    }

    /// What the first hook of a call found.
    pub fn foreign_found(
        &self,
        session: &SessionId,
        host_id: &ToolUseId,
    ) -> Result<Option<Value>, StoreError> {
        let found: Option<String> = self.read(|c| {
            Ok(c.prepare_cached(
                "SELECT found FROM foreign_calls WHERE session_id = ?1 AND tool_use_id = ?2",
            )?
            .query_row((Key(session.as_str()), Key(host_id.as_str())), |row| row.get(0))
            .optional()?)
        })?;
        Ok(found.and_then(|found| serde_json::from_str(&found).ok()))
    }

    /// Commits the result of a call, if it is known, and the hook that reported it. What the first hook found is
    /// used up.
    pub fn foreign_after(
        &self,
        seat: &Seat,
        host_id: &ToolUseId,
        outcome: Option<(&ToolUseId, &CallOutcome<'_>)>,
        heard: &HeardHook<'_>,
    ) -> Result<(), StoreError> {
        self.write(|tx| {
            tx.prepare_cached(
                "DELETE FROM foreign_calls WHERE session_id = ?1 AND tool_use_id = ?2",
            )?
            .execute((Key(seat.session.as_str()), Key(host_id.as_str())))?;
            if let Some((id, outcome)) = outcome {
                finish(tx, seat, id, outcome)?;
            }
            hear(tx, seat, heard)
        })
    }

    /// Commits a hook that is about no call.
    pub fn foreign_hook(&self, seat: &Seat, heard: &HeardHook<'_>) -> Result<(), StoreError> {
        self.write(|tx| hear(tx, seat, heard))
    }
}

fn hear(
    tx: &Transaction<'_>,
    seat: &Seat,
    heard: &HeardHook<'_>,
) -> Result<(), crate::store::Failure> {
    keep_hook(tx, seat, heard.hook)?;
    for (kind, detail) in heard.events {
        event(tx, seat, kind, detail)?;
    }
    touch(tx, seat)
}

#[cfg(test)]
mod tests {
    use ona_types::ToolOutput;
    use ona_types::hook::HookEvent;
    use serde_json::json;

    use super::*;
    use crate::sessions::NewSession;

    fn hook(id: &str) -> HookInvocation {
        HookInvocation {
            event: HookEvent::PreToolUse,
            ordinal: 0,
            matcher: String::new(),
            command: "ona hook codex".into(),
            tool_use_id: Some(ToolUseId::from_existing(id)),
            tool_name: Some("Write".into()),
            input_json: "{}".into(),
            exit_code: Some(0),
            stdout_text: None,
            stderr_text: None,
            started_ms: 0,
            completed_ms: Some(1),
            skipped_reason: None,
        }
    }

    #[test]
    fn a_call_is_told_of_before_and_after() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        let session = SessionId::from_existing("s");
        assert_eq!(store.seat_of(&session).unwrap(), None);
        let new = NewSession {
            project_dir: "/p",
            conversation: None,
            id: Some(&session),
            origin: "codex",
            name: None,
        };
        let seat = store.new_session(&new).unwrap();
        assert_eq!(store.seat_of(&session).unwrap(), Some((seat.clone(), "codex".into())));
        let (id, owner, input) = (ToolUseId::from_existing("t"), json!({}), json!({}));
        let call = CallStart { id: &id, tool: "Write", input: &input, owner: &owner };
        let found = json!({"a": 1});
        let foreign = ForeignCall { call, host_id: &id, gate: &[], found: &found, refused: None };
        let hook = hook("t");
        let heard = HeardHook { hook: &hook, events: &[("x.y", json!({}))] };
        store.foreign_before(&seat, &foreign, &heard).unwrap();
        assert_eq!(store.foreign_found(&session, &id).unwrap(), Some(found));
        let output = ToolOutput::success("done");
        let outcome = CallOutcome::of(&output);
        store.foreign_after(&seat, &id, Some((&id, &outcome)), &heard).unwrap();
        assert_eq!(store.foreign_found(&session, &id).unwrap(), None, "used up");
        assert_eq!(store.transcript(&session).unwrap().len(), 2);
    }
}
