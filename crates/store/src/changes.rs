//! Changes that a call makes to the session (not to files): committed with its result.

use crate::rows::{Key, Transaction};
use ona_types::{
    Change, ContentHash, ConversationId, Entry, Phase, PlanBaseline, SessionId, SystemNote, Todo,
};
use rusqlite::OptionalExtension;
use serde_json::json;

use crate::behaviour::keep_approval;
use crate::conversations::Seat;
use crate::error::StoreError;
use crate::phases::{PhaseMove, move_phase, standing};
use crate::store::{Failure, Store};
use crate::tool_calls::event_of;
use crate::transcript::append;

/// Who approves plans, as recorded.
pub(crate) const BY_HUMAN: &str = "human";
/// Who enters planning with a tool.
const BY_AGENT: &str = "agent";
/// Who calls it directly.
const BY_OPERATOR: &str = "operator";

pub(crate) fn todos_key(session: &SessionId) -> String {
    format!("todos/{session}")
}

impl Store {
    /// The session's list of things to do.
    pub fn todos(&self, seat: &Seat) -> Result<Vec<Todo>, StoreError> {
        self.read(|c| {
            let kept: Option<String> = c
                .prepare_cached("SELECT value FROM state WHERE conversation_id = ?1 AND key = ?2")?
                .query_row(
                    (Key(seat.conversation.as_str()), Key(&todos_key(&seat.session))),
                    |row| row.get(0),
                )
                .optional()?;
            // A hand-written list that cannot be parsed counts as missing.
            Ok(kept.and_then(|kept| serde_json::from_str(&kept).ok()).unwrap_or_default())
        })
    }
}

/// Applies a change.
pub(crate) fn apply(tx: &Transaction<'_>, seat: &Seat, change: &Change) -> Result<(), Failure> {
    match change {
        Change::Todos(todos) => {
            tx.prepare_cached(
                "INSERT OR REPLACE INTO state(conversation_id, key, value) VALUES (?1, ?2, ?3)",
            )?
            .execute((
                Key(seat.conversation.as_str()),
                Key(&todos_key(&seat.session)),
                json!(todos).to_string(),
            ))?;
            Ok(())
        }
        Change::Planning { by_operator } => {
            let by = if *by_operator { BY_OPERATOR } else { BY_AGENT };
            move_to(tx, seat, Phase::Planning, by)
        }
        Change::PlanSubmitted(content) => submit(tx, &seat.conversation, content).map(drop),
        Change::PlanRejected { plan, reason } => {
            let id = submit(tx, &seat.conversation, plan)?;
            reject(tx, &seat.conversation, Some(&seat.session), id, reason, BY_HUMAN)
        }
        Change::PlanApproved { plan, baseline } => {
            let id = submit(tx, &seat.conversation, plan)?;
            let session = Some(&seat.session);
            approve(tx, &seat.conversation, session, id, BY_HUMAN, baseline.as_deref())?;
            move_to(tx, seat, Phase::Implement, BY_HUMAN)
        }
        Change::ToolsLoaded(names) => {
            let note = SystemNote::ToolsLoaded { names: names.clone() };
            append(tx, &seat.session, None, &Entry::system(&note)).map(drop)
        }
        Change::SkillTold { name, text } => {
            let note = SystemNote::Skill { name: name.clone(), text: text.clone() };
            append(tx, &seat.session, None, &Entry::system(&note)).map(drop)
        }
    }
}

/// Stores a submitted plan; the same plan is stored only once.
pub(crate) fn submit(
    tx: &Transaction<'_>,
    conversation: &ConversationId,
    content: &str,
) -> Result<i64, Failure> {
    let content = tx.masked(content);
    let hash = ContentHash::of(content.as_bytes());
    let known: Option<i64> = tx
        .query_row(
            "SELECT id FROM plans WHERE conversation_id = ?1 AND hash = ?2 AND status = 'draft'",
            (Key(conversation.as_str()), Key(hash.as_str())),
            |row| row.get(0),
        )
        .optional()?;
    if let Some(known) = known {
        return Ok(known);
    }
    tx.execute(
        "UPDATE plans SET status = 'superseded' WHERE conversation_id = ?1 AND status = 'draft'",
        [Key(conversation.as_str())],
    )?;
    tx.execute(
        "INSERT INTO plans(conversation_id, content, hash) VALUES (?1, ?2, ?3)",
        (Key(conversation.as_str()), &*content, Key(hash.as_str())),
    )?;
    Ok(tx.last_insert_rowid())
}

/// A human approves a plan, with the event for it.
pub(crate) fn approve(
    tx: &Transaction<'_>,
    conversation: &ConversationId,
    session: Option<&SessionId>,
    plan: i64,
    by: &str,
    baseline: Option<&PlanBaseline>,
) -> Result<(), Failure> {
    tx.execute(
        "UPDATE plans SET status = 'approved', approved_at = datetime('now') WHERE id = ?1",
        [plan],
    )?;
    // One plan counts at a time.
    tx.execute(
        "UPDATE plans SET status = 'superseded'
         WHERE conversation_id = ?1 AND status = 'approved' AND id <> ?2",
        (Key(conversation.as_str()), plan),
    )?;
    if let Some(baseline) = baseline {
        keep_approval(tx, plan, by, baseline)?;
    }
    let detail = json!({"plan": plan, "hash": hash_of(tx, plan)?, "by": by});
    event_of(tx, conversation, session, "plan.approved", &detail)
}

/// A human rejects a plan, with the event for it.
pub(crate) fn reject(
    tx: &Transaction<'_>,
    conversation: &ConversationId,
    session: Option<&SessionId>,
    plan: i64,
    reason: &str,
    by: &str,
) -> Result<(), Failure> {
    supersede(tx, plan)?;
    let detail = json!({"plan": plan, "hash": hash_of(tx, plan)?, "by": by, "reason": reason});
    event_of(tx, conversation, session, "plan.rejected", &detail)
}

/// A plan counts no more.
pub(crate) fn supersede(tx: &Transaction<'_>, plan: i64) -> Result<(), Failure> {
    tx.execute("UPDATE plans SET status = 'superseded' WHERE id = ?1", [plan])?;
    Ok(())
}

/// What a plan is for is done.
pub(crate) fn complete(tx: &Transaction<'_>, plan: i64) -> Result<(), Failure> {
    tx.execute(
        "UPDATE plans SET status = 'completed', completed_at = datetime('now') WHERE id = ?1",
        [plan],
    )?;
    Ok(())
}

pub(crate) fn hash_of(tx: &Transaction<'_>, plan: i64) -> Result<String, Failure> {
    Ok(tx.query_row("SELECT hash FROM plans WHERE id = ?1", [plan], |row| row.get(0))?)
}

/// Changes the phase of a session's conversation.
fn move_to(tx: &Transaction<'_>, seat: &Seat, to: Phase, by: &str) -> Result<(), Failure> {
    let from = standing(tx, &seat.conversation)?.phase;
    let moved = PhaseMove { from, to, by, detail: &json!({}) };
    move_phase(tx, &seat.conversation, Some(&seat.session), &moved)
}
