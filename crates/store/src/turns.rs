//! The steps of a turn, each committed in one piece (S0 §4.8): a prompt, an answer, an end.

use crate::rows::{Bind, Connection, Key};
use ona_types::hook::HookInvocation;
use ona_types::{Entry, SessionId, TaskId, ToolUseId, Usage};
use rusqlite::OptionalExtension;
use serde::Serialize;
use serde_json::Value;

use crate::call_ids;
use crate::conversations::Seat;
use crate::error::StoreError;
use crate::store::{Failure, Store};
use crate::tasks;
use crate::tool_calls::{GateRow, event, keep_answer, keep_hook, touch};
use crate::transcript::{EntryView, append, view};

/// A question to a model that was answered, or began to be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelCall {
    /// The turn it belongs to, from 1.
    pub turn: i64,
    /// `turn`, `compact`, `hook`, `web` for a page read or a search, or `cut` for an answer that broke off.
    pub purpose: &'static str,
    /// S0 §2.1.
    pub provider: &'static str,
    /// The wire name.
    pub model: String,
    /// How long the provider took, retries included.
    pub duration_ms: i64,
    /// What it used.
    pub used: Usage,
    /// The cost, if the price is known.
    pub cost_usd: Option<f64>,
    /// Why it ended.
    pub stop_reason: String,
    /// The provider's id for it.
    pub response_id: String,
}

/// What a session has used of one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spent {
    /// The wire name.
    pub model: String,
    /// How many questions.
    pub calls: i64,
    /// How long the provider took.
    pub duration_ms: i64,
    /// Tokens.
    pub used: Usage,
    /// The cost, if the price is known.
    pub cost_usd: f64,
}

/// What one step of a turn adds to the record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Step<'a> {
    /// Transcript entries, in order.
    pub entries: &'a [Entry],
    /// The calls of an answer, whose ids must be free.
    pub calls: &'a [ToolUseId],
    /// Hooks that ran or were skipped.
    pub hooks: &'a [HookInvocation],
    /// The question that was answered.
    pub model_call: Option<&'a ModelCall>,
    /// What happened, for the log.
    pub event: Option<(&'a str, &'a Value)>,
    /// Background tasks whose end the entries tell of.
    pub told: &'a [TaskId],
    /// Answers of the gate that came after their call had ended.
    pub answers: &'a [(ToolUseId, GateRow)],
}

impl Store {
    /// Commits a step of a turn. Nothing of it is kept if the id of a call is taken.
    pub fn keep_step(&self, seat: &Seat, step: &Step<'_>) -> Result<(), StoreError> {
        self.write(|tx| {
            for call in step.calls {
                call_ids::reserve(tx, &seat.session, call)?;
            }
            for hook in step.hooks {
                keep_hook(tx, seat, hook)?;
            }
            for entry in step.entries {
                append(tx, &seat.session, None, entry)?;
            }
            if let Some(call) = step.model_call {
                keep_call(tx, &seat.session, call)?;
            }
            if let Some((kind, detail)) = step.event {
                event(tx, seat, kind, detail)?;
            }
            for task in step.told {
                tasks::told(tx, task)?;
            }
            for (call, answer) in step.answers {
                keep_answer(tx, seat, call, answer)?;
            }
            touch(tx, seat)
        })
    }

    /// Shows the part of a session's transcript that the model sees: from the last compaction on, all of
    /// it where there was none.
    pub fn view_live(
        &self,
        session: &SessionId,
        look: impl FnMut(EntryView<'_>),
    ) -> Result<(), StoreError> {
        self.read(|c| {
            let boundary: Option<i64> = c
                .prepare_cached(
                    "SELECT max(sequence) FROM transcript_entries
                     WHERE session_id = ?1 AND entry_type = 'collapse_commit'",
                )?
                .query_row([Key(session.as_str())], |row| row.get(0))?;
            view(c, session, boundary.unwrap_or(0), look)
        })
    }

    /// Shows a session's entries from a sequence number on.
    pub fn view_from(
        &self,
        session: &SessionId,
        sequence: i64,
        look: impl FnMut(EntryView<'_>),
    ) -> Result<(), StoreError> {
        self.read(|c| view(c, session, sequence, look))
    }

    /// How many prompts a session has had.
    pub fn turns(&self, session: &SessionId) -> Result<i64, StoreError> {
        self.read(|c| {
            Ok(c.prepare_cached(
                "SELECT count(*) FROM transcript_entries WHERE session_id = ?1 AND entry_type = 'user'",
            )?
            .query_row([Key(session.as_str())], |row| row.get(0))?)
        })
    }

    /// How many tokens the context had when a session's model was last asked; none after a compaction.
    pub fn context_tokens(&self, session: &SessionId) -> Result<u64, StoreError> {
        Ok(self.last_usage(session)?.unwrap_or_default().context_tokens())
    }

    /// The tokens of the last answer of a session's model; `None` after a compaction.
    pub fn last_usage(&self, session: &SessionId) -> Result<Option<Usage>, StoreError> {
        self.read(|c| {
            // Compactions that came to nothing are calls as well: what was compacted the transcript knows.
            let used = c
                .prepare_cached(
                    "SELECT input_tokens, output_tokens, cache_creation_input_tokens,
                         cache_read_input_tokens
                     FROM model_calls WHERE session_id = ?1 AND purpose = 'turn'
                       AND NOT EXISTS (
                         SELECT 1 FROM transcript_entries c
                         WHERE c.session_id = ?1 AND c.entry_type = 'collapse_commit'
                           AND NOT EXISTS (
                             SELECT 1 FROM transcript_entries a
                             WHERE a.session_id = ?1 AND a.entry_type = 'assistant'
                               AND a.sequence > c.sequence))
                     ORDER BY id DESC LIMIT 1",
                )?
                .query_row([Key(session.as_str())], |row| {
                    Ok(Usage {
                        input_tokens: tokens(row, 0)?,
                        output_tokens: tokens(row, 1)?,
                        cache_creation_input_tokens: tokens(row, 2)?,
                        cache_read_input_tokens: tokens(row, 3)?,
                    })
                })
                .optional()?;
            Ok(used)
        })
    }

    /// The provider and the wire name of the model that last answered in a session.
    pub fn last_model(&self, session: &SessionId) -> Result<Option<(String, String)>, StoreError> {
        self.read(|c| {
            Ok(c.prepare_cached(
                "SELECT provider, model FROM model_calls WHERE session_id = ?1 AND purpose = 'turn'
                 ORDER BY id DESC LIMIT 1",
            )?
            .query_row([Key(session.as_str())], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?)
        })
    }

    /// What a session has used, by model. Sums that are too large for the record end at the largest number: by
    /// `total()`, since `sum()` would fail.
    pub fn spent(&self, session: &SessionId) -> Result<Vec<Spent>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare_cached(
                "SELECT model, count(*), sum(duration_ms), CAST(total(input_tokens) AS INTEGER),
                     CAST(total(output_tokens) AS INTEGER),
                     CAST(total(cache_creation_input_tokens) AS INTEGER),
                     CAST(total(cache_read_input_tokens) AS INTEGER),
                     coalesce(sum(cost_usd), 0.0)
                 FROM model_calls WHERE session_id = ?1 GROUP BY model ORDER BY min(id)",
            )?;
            let rows = statement.query_map([Key(session.as_str())], |row| {
                Ok(Spent {
                    model: row.get(0)?,
                    calls: row.get(1)?,
                    duration_ms: row.get(2)?,
                    used: Usage {
                        input_tokens: tokens(row, 3)?,
                        output_tokens: tokens(row, 4)?,
                        cache_creation_input_tokens: tokens(row, 5)?,
                        cache_read_input_tokens: tokens(row, 6)?,
                    },
                    cost_usd: row.get(7)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

fn tokens(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::cast_unsigned)
}

/// A figure as the record takes it.
fn kept(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

fn keep_call(c: &Connection, session: &SessionId, call: &ModelCall) -> Result<(), Failure> {
    let values: [&dyn Bind; 13] = [
        &Key(session.as_str()),
        &call.turn,
        &call.purpose,
        &call.provider,
        &call.model,
        &call.duration_ms,
        &kept(call.used.input_tokens),
        &kept(call.used.output_tokens),
        &kept(call.used.cache_creation_input_tokens),
        &kept(call.used.cache_read_input_tokens),
        &call.cost_usd,
        &call.stop_reason,
        &call.response_id,
    ];
    c.prepare_cached(
        "INSERT INTO model_calls(session_id, turn, purpose, provider, model, duration_ms, input_tokens,
             output_tokens, cache_creation_input_tokens, cache_read_input_tokens, cost_usd, stop_reason,
             response_id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?
    .execute(&values[..])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use ona_types::{ContentBlock, EntryType};
    use serde_json::json;

    use super::*;
    use crate::NewSession;

    #[test]
    fn a_step_is_one_piece_and_what_it_used_adds_up() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        let new = NewSession {
            project_dir: "/a",
            conversation: None,
            id: None,
            origin: "headless",
            name: None,
        };
        let seat = store.new_session(&new).unwrap();
        let text = |text: &str| {
            Entry::message(EntryType::User, "u", &[ContentBlock::Text { text: text.into() }])
        };
        let call = ModelCall {
            turn: 1,
            purpose: "turn",
            model: "m".into(),
            duration_ms: 5,
            used: Usage { input_tokens: 10, output_tokens: 3, ..Usage::default() },
            cost_usd: Some(0.5),
            ..ModelCall::default()
        };
        let detail = json!({"why": "test"});
        let step = Step {
            entries: &[text("a"), text("b")],
            model_call: Some(&call),
            event: Some(("turn.started", &detail)),
            ..Step::default()
        };
        store.keep_step(&seat, &step).unwrap();
        store.keep_step(&seat, &step).unwrap();
        let spent = store.spent(&seat.session).unwrap();
        assert_eq!((spent.len(), spent[0].calls, spent[0].used.input_tokens), (1, 2, 20));
        assert!((spent[0].cost_usd - 1.0).abs() < f64::EPSILON);
        assert_eq!(store.turns(&seat.session).unwrap(), 4);

        let most = Usage { input_tokens: u64::MAX, output_tokens: u64::MAX, ..Usage::default() };
        let lie = ModelCall { used: most, ..call.clone() };
        let step = Step { model_call: Some(&lie), ..Step::default() };
        store.keep_step(&seat, &step).unwrap();
        let largest = i64::MAX.cast_unsigned();
        assert_eq!(store.spent(&seat.session).unwrap()[0].used.input_tokens, largest);
        assert_eq!(store.context_tokens(&seat.session).unwrap(), 2 * largest);

        let boundary = Entry {
            entry_type: EntryType::CollapseCommit,
            payload: json!({"_t": "collapse_commit"}),
            tool_use_id: None,
        };
        store.append(&seat.session, &[boundary, text("c")]).unwrap();
        let mut live = Vec::new();
        store.view_live(&seat.session, |row| live.push(row.sequence)).unwrap();
        assert_eq!(live, [4, 5], "what was compacted stays, and is not told again");
        assert_eq!(store.transcript(&seat.session).unwrap().len(), 6);
        let mut later = Vec::new();
        store.view_from(&seat.session, 5, |row| later.push(row.payload_json.to_owned())).unwrap();
        assert_eq!(later, [text("c").payload.to_string()]);
    }
}
