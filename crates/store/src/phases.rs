//! Phases of a conversation, changed in one commit (S0 §4.8, §8.2).

use ona_types::{ConversationId, Phase, SessionId};
use rusqlite::OptionalExtension;
use serde::Serialize;
use serde_json::{Value, json};

use crate::conversations::Seat;
use crate::error::StoreError;
use crate::rows::{Connection, Key, Transaction};
use crate::store::{Failure, Store};
use crate::tool_calls::event_of;

/// The phase of a conversation, and whether it has an approved plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its phase; an unknown word counts as planning without an approved plan.
    pub phase: Phase,
    /// Whether it has an approved plan.
    pub approved_plan: bool,
}

/// The state that guides the work in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steering {
    /// The conversation's phase.
    pub phase: Phase,
    /// Its latest valid plan, with its status.
    pub plan: Option<(String, String)>,
    /// What the session began with.
    pub first_prompt: Option<String>,
    /// What was said last.
    pub last_prompt: Option<String>,
}

impl Store {
    /// The state that guides the work in a session.
    pub fn steering(&self, seat: &Seat) -> Result<Steering, StoreError> {
        let phase = self.standing(&seat.conversation)?.phase;
        self.read(|c| {
            let plan = c
                .query_row(
                    "SELECT status, content FROM plans
                     WHERE conversation_id = ?1 AND status IN ('draft', 'approved')
                     ORDER BY id DESC LIMIT 1",
                    [Key(seat.conversation.as_str())],
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )
                .optional()?;
            let prompt = |order: &str| -> rusqlite::Result<Option<String>> {
                c.query_row(
                    &format!(
                        "SELECT json_extract(payload_json, '$.content[0].text') FROM transcript_entries
                         WHERE session_id = ?1 AND entry_type = 'user' AND json_valid(payload_json)
                         ORDER BY sequence {order} LIMIT 1"
                    ),
                    [Key(seat.session.as_str())],
                    |row| row.get(0),
                )
                .optional()
                .map(Option::flatten)
            };
            Ok(Steering {
                phase,
                plan,
                first_prompt: prompt("ASC")?,
                last_prompt: prompt("DESC")?,
            })
        })
    }

    /// The phase of a conversation, and whether it has an approved plan.
    pub fn standing(&self, conversation: &ConversationId) -> Result<Standing, StoreError> {
        self.read(|c| standing(c, conversation))
    }

    /// The changes of a conversation's phase, and the attempts that were refused, latest first.
    pub fn phase_history(
        &self,
        conversation: &ConversationId,
        limit: u32,
    ) -> Result<Vec<PhaseEvent>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare(
                "SELECT timestamp, event_type, detail FROM events
                 WHERE conversation_id = ?1 AND event_type IN ('phase.changed', 'phase.refused')
                 ORDER BY id DESC LIMIT ?2",
            )?;
            let rows = statement.query_map((Key(conversation.as_str()), limit), |row| {
                let detail: Option<String> = row.get(2)?;
                let detail: Value =
                    detail.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
                let word = |key: &str| detail[key].as_str().map(str::to_owned);
                Ok(PhaseEvent {
                    at: row.get(0)?,
                    refused: row.get::<_, String>(1)? == "phase.refused",
                    from: word("from").unwrap_or_default(),
                    to: word("to").unwrap_or_default(),
                    by: word("by"),
                    missing: word("missing"),
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

/// A change of the phase, or an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PhaseEvent {
    /// When.
    pub at: String,
    /// Whether it was refused.
    pub refused: bool,
    /// From which phase.
    pub from: String,
    /// To which.
    pub to: String,
    /// Who asked for it, where that is known.
    pub by: Option<String>,
    /// What was missing.
    pub missing: Option<String>,
}

pub(crate) fn standing(c: &Connection, conversation: &ConversationId) -> Result<Standing, Failure> {
    let row: Option<(String, bool)> = c
        .prepare_cached(
            "SELECT phase, EXISTS (SELECT 1 FROM plans
                 WHERE conversation_id = conversations.id AND status = 'approved')
             FROM conversations WHERE id = ?1",
        )?
        .query_row([Key(conversation.as_str())], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (phase, approved_plan) =
        row.ok_or_else(|| StoreError::UnknownConversation(conversation.to_string()))?;
    // An unknown word is none of S0 §8.1: nothing is allowed by it.
    Ok(match phase.parse() {
        Ok(phase) => Standing { phase, approved_plan },
        Err(_) => Standing { phase: Phase::Planning, approved_plan: false },
    })
}

/// A change of the phase.
pub(crate) struct PhaseMove<'a> {
    pub(crate) from: Phase,
    pub(crate) to: Phase,
    /// Who asked for it.
    pub(crate) by: &'a str,
    /// What else is to be known of it.
    pub(crate) detail: &'a Value,
}

/// Changes the phase of a conversation, with the event for it.
pub(crate) fn move_phase(
    tx: &Transaction<'_>,
    conversation: &ConversationId,
    session: Option<&SessionId>,
    &PhaseMove { from, to, by, detail }: &PhaseMove<'_>,
) -> Result<(), Failure> {
    if to == Phase::Planning && from != Phase::Planning {
        // A new round: what was approved before allows nothing in it. A draft that was made since is for this round.
        tx.execute(
            "UPDATE plans SET status = 'superseded'
             WHERE conversation_id = ?1 AND (status = 'approved' OR status = 'draft' AND id < coalesce(
                 (SELECT max(id) FROM plans WHERE conversation_id = ?1 AND status = 'approved'), id + 1))",
            [Key(conversation.as_str())],
        )?;
    }
    tx.execute(
        "UPDATE conversations SET phase = ?2, last_active = datetime('now') WHERE id = ?1",
        (Key(conversation.as_str()), Key(to.as_str())),
    )?;
    let detail = json!({"from": from, "to": to, "by": by, "detail": detail});
    event_of(tx, conversation, session, "phase.changed", &detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Join;

    #[test]
    fn a_phase_changes_with_its_event_and_so_does_an_attempt() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        let seat = store.join(&Join { project_dir: "/a", conversation: None }).unwrap();
        let id = &seat.conversation;
        let idle = Standing { phase: Phase::Idle, approved_plan: false };
        assert_eq!(store.standing(id).unwrap(), idle);
        let yes = |now: Standing, _: &_| if now == idle { Ok(Value::Null) } else { Err("no") };
        let moved = || store.change_phase_if(id, Phase::Planning, "operator", &yes).unwrap();
        assert_eq!(moved(), Ok(Phase::Idle));
        assert_eq!(moved(), Err("no"));
        assert_eq!(store.standing(id).unwrap().phase, Phase::Planning);
        let history = store.phase_history(id, 9).unwrap();
        let told: Vec<_> =
            history.iter().map(|one| (one.refused, one.missing.as_deref())).collect();
        assert_eq!(told, [(true, Some("no")), (false, None)]);
    }
}
