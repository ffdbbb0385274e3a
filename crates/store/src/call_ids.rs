//! Which call an id names, and in which session it runs.
//!
//! Ids come from models and other agents, and some reuse them. Several processes write at once. An id belongs to the
//! session that reserves it first; the primary key of `call_ids` decides who that is. Copies of a call in forks are not
//! reservations.

use ona_types::{SessionId, ToolUseId};
use rusqlite::OptionalExtension;

use crate::error::StoreError;
use crate::rows::{Connection, Key, Transaction};
use crate::store::{Failure, Store};

impl Store {
    /// Whether a call with this id is on the record already, in any session.
    pub fn knows_call(&self, id: &ToolUseId) -> Result<bool, StoreError> {
        self.read(|c| {
            Ok(c.prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM call_ids WHERE tool_use_id = ?1)
                     OR EXISTS (SELECT 1 FROM transcript_entries WHERE tool_use_id = ?1)",
            )?
            .query_row([Key(id.as_str())], |row| row.get(0))?)
        })
    }
}

/// Reserves the id of a call that a session will run.
pub(crate) fn reserve(
    tx: &Transaction<'_>,
    session: &SessionId,
    id: &ToolUseId,
) -> Result<(), Failure> {
    let sql = "INSERT OR IGNORE INTO call_ids(tool_use_id, session_id, started) VALUES (?1, ?2, 0)";
    let reserved = tx.prepare_cached(sql)?.execute((Key(id.as_str()), Key(session.as_str())))?;
    given(reserved, id)
}

/// A call starts: its id was reserved by its session, or is free.
pub(crate) fn start(
    tx: &Transaction<'_>,
    session: &SessionId,
    id: &ToolUseId,
) -> Result<(), Failure> {
    let sql = "INSERT INTO call_ids(tool_use_id, session_id, started) VALUES (?1, ?2, 1)
        ON CONFLICT DO UPDATE SET started = 1 WHERE session_id = ?2 AND started = 0";
    let started = tx.prepare_cached(sql)?.execute((Key(id.as_str()), Key(session.as_str())))?;
    given(started, id)
}

fn given(rows: usize, id: &ToolUseId) -> Result<(), Failure> {
    match rows {
        0 => Err(StoreError::CallExists(id.to_string()).into()),
        _ => Ok(()),
    }
}

/// The session in which a call runs; `None` for rows that ona did not write.
pub(crate) fn session_of(c: &Connection, id: &str) -> Result<Option<String>, Failure> {
    Ok(c.prepare_cached("SELECT session_id FROM call_ids WHERE tool_use_id = ?1")?
        .query_row([Key(id)], |row| row.get(0))
        .optional()?)
}

/// Frees ids before a session is deleted: its own, and those of which it has the last copy. An id of which another session
/// has a copy stays: it still names that call and no other.
pub(crate) fn forget(tx: &Transaction<'_>, session: Key<'_>) -> Result<(), Failure> {
    let nowhere_else = "NOT EXISTS (SELECT 1 FROM transcript_entries t
        WHERE t.tool_use_id = call_ids.tool_use_id AND t.session_id <> ?1)";
    tx.prepare_cached(&format!("DELETE FROM call_ids WHERE session_id = ?1 AND {nowhere_else}"))?
        .execute([session])?;
    tx.prepare_cached(&format!(
        "DELETE FROM call_ids
         WHERE tool_use_id IN (SELECT tool_use_id FROM transcript_entries
             WHERE session_id = ?1 AND entry_type = 'tool_use')
           AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = call_ids.session_id)
           AND {nowhere_else}"
    ))?
    .execute([session])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use ona_types::ToolOutput;
    use serde_json::json;

    use super::*;
    use crate::sessions::NewFork;
    use crate::tests::{new, store};
    use crate::{CallOutcome, CallStart, GateRow, Seat, Step};

    fn call(name: &str) -> ToolUseId {
        ToolUseId::from_existing(name)
    }

    fn run(store: &Store, seat: &Seat, id: &ToolUseId, said: &str) -> Result<(), StoreError> {
        let (input, owner) = (json!({"said": said}), json!({}));
        store.start_call(seat, &CallStart { id, tool: "Read", input: &input, owner: &owner })?;
        let output = ToolOutput::success(said);
        let row = |stage: &str| GateRow {
            stage: stage.into(),
            verdict: "allow".into(),
            reason: said.into(),
            detail: json!(null),
        };
        let gate = [row("rules")];
        store.finish_call(seat, id, &CallOutcome { gate: &gate, ..CallOutcome::of(&output) })
    }

    #[test]
    fn one_of_many_gets_an_id() {
        let (dir, store) = store();
        let path = dir.path().join("agent.db");
        let seats: Vec<Seat> =
            (0..8).map(|_| store.new_session(&new("/a", None)).unwrap()).collect();
        let together = Barrier::new(seats.len());
        let got: usize = thread::scope(|scope| {
            let ask = |seat| {
                let store = Store::open(&path).unwrap();
                together.wait();
                let calls = [call("reused")];
                store.keep_step(seat, &Step { calls: &calls, ..Step::default() })
            };
            let threads: Vec<_> = seats.iter().map(|seat| scope.spawn(move || ask(seat))).collect();
            threads
                .into_iter()
                .map(|thread| match thread.join().unwrap() {
                    Ok(()) => 1,
                    Err(StoreError::CallExists(id)) if id == "reused" => 0,
                    Err(error) => panic!("{error}"),
                })
                .sum()
        });
        assert_eq!(got, 1);
    }

    #[test]
    fn a_reserved_call_starts_once_and_only_in_its_session() {
        let (_dir, store) = store();
        let [one, other] = ["one", "other"].map(|_| store.new_session(&new("/a", None)).unwrap());
        let calls = [call("c")];
        assert!(!store.knows_call(&calls[0]).unwrap());
        store.keep_step(&one, &Step { calls: &calls, ..Step::default() }).unwrap();
        assert!(store.knows_call(&calls[0]).unwrap());
        let taken = |result| matches!(result, Err(StoreError::CallExists(_)));
        assert!(taken(run(&store, &other, &calls[0], "other")));
        run(&store, &one, &calls[0], "one").unwrap();
        assert!(taken(run(&store, &one, &calls[0], "again")));
        assert_eq!(store.transcript(&other.session).unwrap(), [], "nothing is left of it");
    }

    #[test]
    fn a_call_is_told_of_where_it_ran_and_not_where_it_was_copied() {
        let (_dir, store) = store();
        let seat = store.new_session(&new("/a", None)).unwrap();
        let id = call("c");
        store
            .keep_step(&seat, &Step { calls: std::slice::from_ref(&id), ..Step::default() })
            .unwrap();
        // A fork settles what its origin has not started yet, and is first on the record.
        let fork = store.fork_session(&seat, &NewFork::default()).unwrap();
        let settled = [
            ona_types::Entry::tool_use(&id, "Read", &json!({})),
            ona_types::Entry::tool_result(&id, "not run", true),
        ];
        store.append(&fork.session, &settled).unwrap();
        run(&store, &seat, &id, "ran").unwrap();
        let story = store.story("c").unwrap().unwrap();
        assert_eq!(story.session_id, seat.session.as_str());
        assert_eq!(story.result, Some(("ran".into(), false)));
        assert_eq!(story.answers.len(), 1);
        // The latest call is the latest that ran.
        let later = store.new_session(&new("/a", None)).unwrap();
        run(&store, &later, &call("later"), "later").unwrap();
        let copy = store.fork_session(&seat, &NewFork::default()).unwrap();
        assert_eq!(store.calls_like("", 1).unwrap(), ["later"]);
        // What a copy is of stays known, and its id stays taken.
        store.delete_session(&seat, |_| true).unwrap();
        assert_eq!(store.story("c").unwrap().unwrap().session_id, seat.session.as_str());
        assert!(store.knows_call(&id).unwrap());
        for gone in [&fork, &copy] {
            store.delete_session(gone, |_| true).unwrap();
        }
        assert_eq!(store.story("c").unwrap(), None);
        assert!(!store.knows_call(&id).unwrap(), "nothing is left of it");
    }
}
