//! Phases of a conversation, changed in one commit (S0 §4.8, §8.2).

use ona_types::{ConversationId, Phase};
use rusqlite::OptionalExtension;
use serde_json::{Value, json};

use crate::conversations::Seat;
use crate::error::StoreError;
use crate::rows::Key;
use crate::store::Store;

/// The phase of a conversation, and whether it has an approved plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its phase; an unknown word counts as idle.
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
        self.read(|c| {
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
            Ok(Standing { phase: phase.parse().unwrap_or(Phase::Idle), approved_plan })
        })
    }

    /// Moves a conversation from one phase to the next with the event that says so, in one commit. False
    /// if it stood elsewhere by then.
    pub fn change_phase(
        &self,
        conversation: &ConversationId,
        from: Phase,
        to: Phase,
        detail: &Value,
    ) -> Result<bool, StoreError> {
        self.write(|tx| {
            let moved = tx.execute(
                "UPDATE conversations SET phase = ?3, last_active = datetime('now')
                 WHERE id = ?1 AND phase = ?2",
                (Key(conversation.as_str()), Key(from.as_str()), Key(to.as_str())),
            )?;
            if moved == 0 {
                return Ok(false);
            }
            let detail = json!({"from": from, "to": to, "detail": detail});
            tx.execute(
                "INSERT INTO events(conversation_id, event_type, detail) VALUES (?1, ?2, ?3)",
                (Key(conversation.as_str()), "phase.changed", detail.to_string()),
            )?;
            Ok(true)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Join;

    #[test]
    fn a_phase_changes_once_and_with_its_event() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        let seat = store.join(&Join { project_dir: "/a", conversation: None }).unwrap();
        let id = &seat.conversation;
        let standing = Standing { phase: Phase::Idle, approved_plan: false };
        assert_eq!(store.standing(id).unwrap(), standing);
        assert!(store.change_phase(id, Phase::Idle, Phase::Planning, &Value::Null).unwrap());
        assert!(!store.change_phase(id, Phase::Idle, Phase::Planning, &Value::Null).unwrap());
        assert_eq!(store.standing(id).unwrap().phase, Phase::Planning);
        let events: i64 = store
            .read(|c| Ok(c.query_row("SELECT count(*) FROM events", [], |row| row.get(0))?))
            .unwrap();
        assert_eq!(events, 1);
    }
}
