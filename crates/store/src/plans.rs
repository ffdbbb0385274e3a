//! Plans: submitted by an agent, approved or rejected by a human (S0 §8.2).

use crate::rows::{Connection, Key, MaybeKey};
use ona_types::{ConversationId, Phase, PlanBaseline};
use rusqlite::{OptionalExtension, Row};
use serde::Serialize;
use serde_json::json;

use crate::changes::{BY_HUMAN, approve, reject, submit, supersede};
use crate::error::StoreError;
use crate::phases::{PhaseMove, move_phase};
use crate::store::{Failure, Store};
use crate::tool_calls::event_of;

/// A plan as recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanRow {
    /// Its number.
    pub id: i64,
    /// The conversation it is for.
    pub conversation_id: String,
    /// The project of that conversation.
    pub project_dir: String,
    /// `draft`, `approved`, `completed` or `superseded`.
    pub status: String,
    /// Its text.
    pub content: String,
    /// The hash of that.
    pub hash: String,
    /// When it was submitted.
    pub created_at: String,
    /// When it was approved.
    pub approved_at: Option<String>,
    /// The phase of its conversation.
    pub phase: String,
}

/// The result of approving or rejecting a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanMoved {
    /// It is done.
    Done(PlanRow),
    /// The plan is not a draft.
    NotADraft(PlanRow),
    /// The conversation is in another phase.
    NotInPlanning(PlanRow),
    /// Its text is another than the one that was looked at.
    OtherHash(PlanRow),
    /// The plan does not exist.
    Unknown,
}

impl Store {
    /// The plans of a project, or of all, latest first.
    pub fn plans(&self, project_dir: Option<&str>) -> Result<Vec<PlanRow>, StoreError> {
        self.read(|c| {
            let sql = format!("{PLANS} WHERE ?1 IS NULL OR c.project_dir = ?1 ORDER BY p.id DESC");
            let mut statement = c.prepare(&sql)?;
            let rows = statement.query_map([MaybeKey(project_dir)], plan_row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// A plan by its number.
    pub fn plan(&self, id: i64) -> Result<Option<PlanRow>, StoreError> {
        self.read(|c| find(c, id))
    }

    /// Whether a human rejected a plan; its status alone does not tell that from a newer plan.
    pub fn is_rejected(&self, id: i64) -> Result<bool, StoreError> {
        self.read(|c| {
            let sql = "SELECT EXISTS (SELECT 1 FROM events
                WHERE event_type = 'plan.rejected' AND json_extract(detail, '$.plan') = ?1)";
            Ok(c.query_row(sql, [id], |row| row.get(0))?)
        })
    }

    /// The plans of a conversation, in the order in which they came.
    pub fn conversation_plans(
        &self,
        conversation: &ConversationId,
    ) -> Result<Vec<PlanRow>, StoreError> {
        self.read(|c| {
            let sql = format!("{PLANS} WHERE p.conversation_id = ?1 ORDER BY p.id");
            let mut statement = c.prepare(&sql)?;
            let rows = statement.query_map([Key(conversation.as_str())], plan_row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// A human approves a plan with this hash: it counts, and its conversation goes on to implement it, in one commit.
    pub fn approve_plan(
        &self,
        id: i64,
        hash: &str,
        baseline: &PlanBaseline,
    ) -> Result<PlanMoved, StoreError> {
        self.write(|tx| {
            let plan = match open(find(tx, id)?) {
                Ok(plan) if plan.hash != hash => return Ok(PlanMoved::OtherHash(plan)),
                Ok(plan) => plan,
                Err(why) => return Ok(why),
            };
            let conversation = conversation(&plan);
            approve(tx, &conversation, None, id, BY_HUMAN, Some(baseline))?;
            let detail = json!({"plan": id, "hash": hash});
            let (from, to) = (Phase::Planning, Phase::Implement);
            let moved = PhaseMove { from, to, by: BY_HUMAN, detail: &detail };
            move_phase(tx, &conversation, None, &moved)?;
            Ok(find(tx, id)?.map_or(PlanMoved::Unknown, PlanMoved::Done))
        })
    }

    /// A new version of a plan: a draft that takes the place of other drafts. Approved plans stay what they are.
    pub fn edit_plan(&self, id: i64, content: &str) -> Result<Option<PlanRow>, StoreError> {
        self.write(|tx| {
            let Some(plan) = find(tx, id)? else { return Ok(None) };
            let conversation = conversation(&plan);
            let new = submit(tx, &conversation, content)?;
            let detail = json!({"plan": new, "from": id});
            event_of(tx, &conversation, None, "plan.edited", &detail)?;
            find(tx, new)
        })
    }

    /// A plan counts no more, whether it was approved or not. `None` if there is no such plan.
    pub fn supersede_plan(&self, id: i64) -> Result<Option<PlanRow>, StoreError> {
        self.write(|tx| {
            let Some(plan) = find(tx, id)? else { return Ok(None) };
            supersede(tx, id)?;
            let detail = json!({"plan": id, "hash": plan.hash, "was": plan.status});
            event_of(tx, &conversation(&plan), None, "plan.superseded", &detail)?;
            find(tx, id)
        })
    }

    /// A human rejects a plan, with a reason: the conversation stays in planning.
    pub fn reject_plan(&self, id: i64, reason: &str, by: &str) -> Result<PlanMoved, StoreError> {
        self.write(|tx| {
            let plan = match open(find(tx, id)?) {
                Ok(plan) => plan,
                Err(why) => return Ok(why),
            };
            reject(tx, &conversation(&plan), None, id, reason, by)?;
            Ok(find(tx, id)?.map_or(PlanMoved::Unknown, PlanMoved::Done))
        })
    }
}

#[allow(clippy::result_large_err, reason = "it is made once, when a human decides")]
fn open(plan: Option<PlanRow>) -> Result<PlanRow, PlanMoved> {
    match plan {
        None => Err(PlanMoved::Unknown),
        Some(plan) if plan.status != "draft" => Err(PlanMoved::NotADraft(plan)),
        Some(plan) if plan.phase != Phase::Planning.as_str() => Err(PlanMoved::NotInPlanning(plan)),
        Some(plan) => Ok(plan),
    }
}

fn conversation(plan: &PlanRow) -> ConversationId {
    ConversationId::from_existing(plan.conversation_id.clone())
}

const PLANS: &str = "SELECT p.id, p.conversation_id, c.project_dir, p.status, p.content, p.hash,
        p.created_at, p.approved_at, c.phase
    FROM plans p JOIN conversations c ON c.id = p.conversation_id";

/// The approved plan of a conversation.
pub(crate) fn approved_plan(
    c: &Connection,
    conversation: &ConversationId,
) -> Result<Option<PlanRow>, Failure> {
    let sql = format!(
        "{PLANS} WHERE p.conversation_id = ?1 AND p.status = 'approved' ORDER BY p.id DESC LIMIT 1"
    );
    Ok(c.query_row(&sql, [Key(conversation.as_str())], plan_row).optional()?)
}

pub(crate) fn find(c: &Connection, id: i64) -> Result<Option<PlanRow>, Failure> {
    Ok(c.query_row(&format!("{PLANS} WHERE p.id = ?1"), [id], plan_row).optional()?)
}

fn plan_row(row: &Row<'_>) -> rusqlite::Result<PlanRow> {
    Ok(PlanRow {
        id: row.get(0)?,
        conversation_id: row.get(1)?,
        project_dir: row.get(2)?,
        status: row.get(3)?,
        content: row.get(4)?,
        hash: row.get(5)?,
        created_at: row.get(6)?,
        approved_at: row.get(7)?,
        phase: row.get(8)?,
    })
}
