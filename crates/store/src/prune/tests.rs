use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::tests::{new, say, store};
use crate::{NewAgent, NewFork, Seat, Watch};
use ona_types::{TaskId, TaskKind, TaskStarted, ToolUseId};

const DAY: i64 = 86_400_000;
const NOW: i64 = 100 * 365 * DAY;

fn older_than(days: i64) -> Prune<'static> {
    Prune { before_ms: NOW - days * DAY, keep: None, asked_by: "operator" }
}

/// A session in which something was last said so many days ago.
fn idle(store: &Store, id: &str, days: i64) -> Seat {
    let session = SessionId::from_existing(id);
    let seat = store.new_session(&crate::NewSession { id: Some(&session), ..new("/a", None) });
    let seat = seat.unwrap();
    say(store, &seat, "hello");
    say(store, &seat, "again");
    age(store, &seat, days);
    seat
}

fn age(store: &Store, seat: &Seat, days: i64) {
    let ms = NOW - days * DAY;
    store
        .write(|tx| {
            tx.execute(
                "UPDATE session_info SET last_active_ms = ?2 WHERE session_id = ?1",
                (seat.session.as_str(), ms),
            )?;
            tx.execute(
                "UPDATE transcript_entries SET created_at = datetime(?2 / 1000, 'unixepoch')
                 WHERE session_id = ?1",
                (seat.session.as_str(), ms),
            )?;
            tx.execute(
                "UPDATE conversations SET last_active = datetime(?2 / 1000, 'unixepoch') WHERE id = ?1",
                (seat.conversation.as_str(), ms),
            )?;
            Ok(())
        })
        .unwrap();
}

fn agent_of(store: &Store, parent: &Seat, call: &str, worktree: Option<&str>) -> Seat {
    let call = ToolUseId::from_existing(call);
    let new = NewAgent { parent, call: &call, agent_type: "Explore", name: None, worktree };
    store.new_agent(&new).unwrap()
}

fn sessions(store: &Store) -> BTreeSet<String> {
    store.sessions(None, None).unwrap().into_iter().map(|row| row.session_id).collect()
}

fn events(store: &Store) -> Vec<Value> {
    let lines = store.log(0, None, 1000).unwrap();
    let pruned = lines.into_iter().filter(|line| line.event_type == "sessions.pruned");
    pruned.map(|line| line.detail).collect()
}

fn assert_sound(store: &Store) {
    let found = crate::inspect(store.path(), &Watch::default()).findings;
    assert!(found.iter().all(|finding| finding.level == crate::Level::Ok), "{found:?}");
}

#[test]
fn what_is_old_goes_with_one_event_and_the_rest_stays() {
    let (_dir, store) = store();
    for (id, days) in [("a", 100), ("b", 91), ("c", 89), ("d", 0)] {
        idle(&store, id, days);
    }
    let would = store.prunable(&older_than(90), |_| true).unwrap();
    let ids: Vec<&str> = would.sessions.iter().map(|s| s.session_id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
    assert_eq!(would.sessions[0].entries, 2);
    assert_eq!(sessions(&store).len(), 4, "looking removes nothing");
    assert!(events(&store).is_empty());

    let gone = store.prune(&older_than(90), |_| true).unwrap();
    assert_eq!((gone.sessions.len(), gone.entries, gone.conversations), (2, 4, 2));
    assert_eq!(sessions(&store), ["c", "d"].map(str::to_owned).into());
    let cutoff = "2069-09-08 00:00:00";
    assert_eq!(
        events(&store),
        [json!({"sessions": 2, "entries": 4, "conversations": 2, "idle_since_before": cutoff,
            "asked_by": "operator"})]
    );
    assert_sound(&store);
    assert_eq!(store.prune(&older_than(90), |_| true).unwrap(), Pruned::default());
    assert_eq!(events(&store).len(), 1, "nothing went, nothing is told");
}

#[test]
fn many_batches_are_told_of_once() {
    let (_dir, store) = store();
    for n in 0..3 {
        let seat = idle(&store, &format!("s{n}"), 0);
        let entry = ona_types::Entry::message(ona_types::EntryType::User, "u", &[]);
        store.append(&seat.session, &vec![entry; BATCH_ENTRIES]).unwrap();
        age(&store, &seat, 10);
    }
    let gone = store.prune(&older_than(1), |_| true).unwrap();
    assert_eq!((gone.sessions.len(), gone.entries), (3, 3 * (BATCH_ENTRIES + 2)));
    let told = events(&store);
    assert_eq!(told.len(), 1);
    assert_eq!((&told[0]["sessions"], &told[0]["entries"]), (&json!(3), &json!(gone.entries)));
    assert_sound(&store);
}

#[test]
fn what_is_in_use_stays() {
    let (dir, store) = store();
    let live = |owner: &Value| owner["pid"] != 1;
    let driven = idle(&store, "driven", 10);
    store.take_lease(&driven.session, &json!({"pid": 1}), live).unwrap();
    let calling = idle(&store, "calling", 10);
    let id = ToolUseId::from_existing("t");
    let call =
        crate::CallStart { id: &id, tool: "Read", input: &json!({}), owner: &json!({"pid": 1}) };
    store.start_call(&calling, &call).unwrap();
    age(&store, &calling, 10);
    let working = idle(&store, "working", 10);
    let task = TaskStarted {
        id: TaskId::from_existing("k"),
        kind: TaskKind::Shell,
        command: "make".into(),
        output_path: "/log".into(),
    };
    store.watch_task(&working.session, &id, &task, &json!({"pid": 1})).unwrap();
    let worktree = dir.path().to_str().unwrap().to_owned();
    let parent = idle(&store, "parent", 10);
    let agent = agent_of(&store, &parent, "u", Some(&worktree));
    age(&store, &agent, 10);
    let own = idle(&store, "own", 10);

    let prune = Prune { keep: Some(&own.session), ..older_than(1) };
    let gone = store.prune(&prune, live).unwrap();
    assert_eq!(gone.sessions, []);
    assert_eq!(gone.in_use, ["driven", "calling", "working", "parent"]);
    assert_eq!(store.prunable(&prune, live).unwrap().in_use, gone.in_use);
    assert!(events(&store).is_empty());
    // Who has died keeps nothing.
    let gone = store.prune(&prune, |_| true).unwrap();
    assert_eq!(gone.sessions.len(), 3);
    assert_eq!(gone.in_use, ["parent"]);
    assert_sound(&store);
}

#[test]
fn agents_go_with_the_session_that_started_them_and_not_before() {
    let (_dir, store) = store();
    let parent = idle(&store, "parent", 100);
    let agent = agent_of(&store, &parent, "t", None);
    let below = agent_of(&store, &agent, "u", None);
    say(&store, &below, "task");
    age(&store, &agent, 100);
    age(&store, &below, 5);
    age(&store, &parent, 100);
    // Its conversation was touched with it.
    assert_eq!(store.prune(&older_than(90), |_| true).unwrap(), Pruned::default());
    age(&store, &below, 100);
    let gone = store.prune(&older_than(90), |_| true).unwrap();
    assert_eq!((gone.sessions.len(), gone.conversations), (3, 1));
    assert!(sessions(&store).is_empty());
    assert_sound(&store);
}

#[test]
fn a_conversation_goes_with_its_last_session_and_deletions_stay_known() {
    let (_dir, store) = store();
    let seat = idle(&store, "a", 0);
    let fork = store.fork_session(&seat, &NewFork::default()).unwrap();
    let deleted = store.fork_session(&seat, &NewFork::default()).unwrap();
    store.delete_session(&deleted, |_| true).unwrap();
    store
        .write(|tx| {
            let id = seat.conversation.as_str();
            for sql in [
                "INSERT INTO plans(conversation_id, content, hash) VALUES (?1, 'p', 'h')",
                "INSERT INTO summaries(conversation_id, content, word_count) VALUES (?1, 's', 1)",
                "INSERT INTO task_ratings(conversation_id, rating) VALUES (?1, 5)",
                "INSERT INTO state(conversation_id, key, value) VALUES (?1, 'k', 'v')",
                "INSERT INTO events(conversation_id, event_type) VALUES (?1, 'phase.changed')",
            ] {
                tx.execute(sql, [id])?;
            }
            Ok(())
        })
        .unwrap();
    age(&store, &fork, 5);
    age(&store, &seat, 100);
    let gone = store.prune(&older_than(90), |_| true).unwrap();
    assert_eq!((gone.sessions.len(), gone.conversations), (1, 0), "the fork is left");
    assert!(store.standing(&seat.conversation).is_ok());
    age(&store, &fork, 100);
    let gone = store.prune(&older_than(90), |_| true).unwrap();
    assert_eq!((gone.sessions.len(), gone.conversations), (1, 1));
    for table in ["conversations", "plans", "summaries", "task_ratings", "state"] {
        let sql = format!("SELECT count(*) FROM {table}");
        let left: i64 = store.read(|c| Ok(c.query_row(&sql, [], |row| row.get(0))?)).unwrap();
        assert_eq!(left, 0, "{table}");
    }
    let lines = store.log(0, None, 100).unwrap();
    let kinds: Vec<&str> = lines.iter().map(|line| line.event_type.as_str()).collect();
    assert_eq!(kinds, ["session.deleted", "sessions.pruned", "sessions.pruned"]);
    assert_sound(&store);
}

#[test]
fn a_clean_up_is_due_once_in_its_time() {
    let (_dir, store) = store();
    let due = |now: i64| store.claim_cleanup(now, DAY).unwrap();
    assert!(due(NOW));
    assert!(!due(NOW) && !due(NOW + DAY - 1));
    assert!(due(NOW + DAY));
    assert!(due(NOW - DAY), "the clock was set back");
    assert!(!due(NOW - DAY + 1));
}
