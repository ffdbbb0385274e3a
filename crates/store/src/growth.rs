//! Tests that a start, a call and `ona why` cost the same however large the record is.
//!
//! Counted, not timed: SQLite calls back at the turns of its loops, so whatever looks at each row of a table that grows
//! is seen.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ona_types::hook::{HookEvent, HookInvocation};
use ona_types::trust::TrustRecord as _;
use ona_types::{
    ContentBlock, Entry, EntryType, SessionId, TaskEnd, TaskId, TaskKind, TaskStarted, ToolOutput,
    ToolUseId,
};
use serde_json::{Value, json};

use crate::rows::tests::Hides;
use crate::{
    CallOutcome, CallStart, Decision, Found, GateRow, HeardHook, Join, ModelCall, NewAgent,
    NewSession, Seat, Step, Store,
};

const HERE: &str = "/here";

/// A record with as many sessions of every kind, most of them in one directory, and what was counted in it.
struct Record {
    store: Store,
    turns: Arc<AtomicU64>,
    /// The session that everything is asked about.
    seat: Seat,
}

impl Record {
    fn of(sessions: usize, entries: usize) -> Self {
        Self::filled(Store::in_memory().unwrap(), sessions, entries)
    }

    fn filled(store: Store, sessions: usize, entries: usize) -> Self {
        // The latest session of ona's own is older than all others, so that a search for it passes them.
        let seat = session(&store, HERE, "headless", "own", entries);
        let parent = session(&store, HERE, "headless", "parent", entries);
        for n in 0..sessions {
            session(&store, HERE, "headless", &format!("first-{n}"), entries);
            session(&store, HERE, "claude_code", &format!("foreign-{n}"), entries);
            session(&store, "/elsewhere", "headless", &format!("elsewhere-{n}"), entries);
            let call = ToolUseId::from_existing(format!("agent-{n}"));
            let new = NewAgent {
                parent: &parent,
                call: &call,
                agent_type: "Explore",
                name: None,
                worktree: None,
            };
            let agent = store.new_agent(&new).unwrap();
            fill(&store, &agent, entries);
            store.agent_ended(&agent.session, Some("completed")).unwrap();
        }
        say(&store, &seat, "the last word here");
        for n in 0..sessions {
            session(&store, HERE, "codex", &format!("later-{n}"), entries);
        }
        let turns = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&turns);
        let tick = move || {
            count.fetch_add(1, Ordering::Relaxed);
            false
        };
        store.connection.lock().unwrap().progress_handler(1, Some(tick)).unwrap();
        Self { store, turns, seat }
    }

    /// How often SQLite turned while this was done.
    fn cost(&self, work: &dyn Fn(&Record)) -> u64 {
        // The first time statements are compiled, which reads the schema.
        self.turns.store(0, Ordering::Relaxed);
        work(self);
        self.turns.load(Ordering::Relaxed)
    }
}

fn session(store: &Store, dir: &str, origin: &str, id: &str, entries: usize) -> Seat {
    let id = SessionId::from_existing(id);
    let name = format!("name of {id}");
    let new = NewSession {
        project_dir: dir,
        conversation: None,
        id: Some(&id),
        origin,
        name: Some(&name),
    };
    let seat = store.new_session(&new).unwrap();
    fill(store, &seat, entries);
    seat
}

/// Prompts, one call with all that is kept of it, a task that has ended.
fn fill(store: &Store, seat: &Seat, entries: usize) {
    for n in 0..entries {
        say(store, seat, &format!("prompt {n}"));
    }
    let id = ToolUseId::from_existing(format!("toolu_{}", seat.session));
    call(store, seat, &id);
    let task = TaskStarted {
        id: TaskId::of_call(&id),
        kind: TaskKind::Shell,
        command: "true".into(),
        output_path: "/log".into(),
    };
    store.watch_task(&seat.session, &id, &task, &json!({"pid": 1})).unwrap();
    let end = TaskEnd { exit_code: Some(0), reason: "exited".into() };
    store.finish_task(&task.id, &end).unwrap();
    store.select_intent("/w", Some(&seat.session), Some("INT-1"), "agent").unwrap();
    store
        .request_scope(seat, &format!("/w/{}", seat.session), ("INT-1", "a"), "agent", false)
        .unwrap();
    let step = Step {
        model_call: Some(&ModelCall {
            turn: 1,
            purpose: "turn",
            provider: "anthropic",
            model: "m".into(),
            duration_ms: 1,
            used: Default::default(),
            cost_usd: None,
            stop_reason: "end_turn".into(),
            response_id: "r".into(),
        }),
        event: Some(("session.started", &json!({"agent": null}))),
        told: &[task.id],
        ..Step::default()
    };
    store.keep_step(seat, &step).unwrap();
}

fn say(store: &Store, seat: &Seat, text: &str) {
    let block = [ContentBlock::Text { text: text.into() }];
    store.append(&seat.session, &[Entry::message(EntryType::User, "u", &block)]).unwrap();
}

fn hook(id: &ToolUseId) -> HookInvocation {
    HookInvocation {
        event: HookEvent::PreToolUse,
        ordinal: 0,
        matcher: String::new(),
        command: "true".into(),
        tool_use_id: Some(id.clone()),
        tool_name: Some("Read".into()),
        input_json: "{}".into(),
        exit_code: Some(0),
        stdout_text: None,
        stderr_text: None,
        started_ms: 0,
        completed_ms: Some(1),
        skipped_reason: None,
    }
}

fn call(store: &Store, seat: &Seat, id: &ToolUseId) {
    let start = CallStart { id, tool: "Read", input: &json!({}), owner: &json!({"pid": 1}) };
    store.start_call(seat, &start).unwrap();
    let output = ToolOutput::success("done");
    let answer = GateRow {
        stage: "rules".into(),
        verdict: "allow".into(),
        reason: "a rule".into(),
        detail: Value::Null,
    };
    let decision = Decision { decision: "allow".into(), reason: json!({}) };
    let workspace = format!("/w/{}", seat.session);
    let appended = json!({"workspace": workspace, "seq": 1, "entry_hash": "h"});
    let outcome = CallOutcome {
        hooks: &[hook(id)],
        gate: &[answer],
        decisions: &[decision],
        events: &[("trace.appended".into(), appended)],
        ..CallOutcome::of(&output)
    };
    store.finish_call(seat, id, &outcome).unwrap();
}

type Work = (&'static str, fn(&Record));

/// What happens at a start (`ona -p`, `--continue`, `--resume`, `--eval`, `ona hook`), at a call, and for `ona why`.
const WORK: &[Work] = &[
    ("--eval joins", |r| {
        let seat = r.store.join(&Join { project_dir: HERE, conversation: None }).unwrap();
        assert_eq!(seat.project_dir, HERE);
    }),
    ("--eval in a new directory", |r| {
        r.store.join(&Join { project_dir: "/new", conversation: None }).unwrap();
    }),
    ("--eval in a conversation with many agents", |r| {
        let (parent, _) = r.store.seat_of(&SessionId::from_existing("parent")).unwrap().unwrap();
        let join = Join { project_dir: HERE, conversation: Some(&parent.conversation) };
        assert_eq!(r.store.join(&join).unwrap().session, parent.session);
    }),
    ("--continue", |r| {
        assert_eq!(r.store.latest_session(HERE).unwrap().unwrap().session, r.seat.session);
    }),
    ("--continue where there is none", |r| {
        assert_eq!(r.store.latest_session("/nowhere").unwrap(), None);
    }),
    ("--resume ID", |r| {
        assert!(matches!(r.store.find_session("own", HERE).unwrap(), Found::One(_)));
    }),
    ("--resume with the beginning of an id", |r| {
        assert!(matches!(r.store.find_session("ow", HERE).unwrap(), Found::One(_)));
    }),
    ("--resume NAME", |r| {
        assert!(matches!(r.store.find_session("name of own", HERE).unwrap(), Found::One(_)));
    }),
    ("--resume with a word that names none", |r| {
        assert_eq!(r.store.find_session("zzz", HERE).unwrap(), Found::None);
    }),
    ("a new session", |r| {
        let id = SessionId::generate();
        assert_eq!(r.store.session(&id).unwrap(), None);
        let new = NewSession {
            project_dir: HERE,
            conversation: None,
            id: Some(&id),
            origin: "headless",
            name: Some(id.as_str()),
        };
        r.store.new_session(&new).unwrap();
    }),
    ("calls, tasks and agents of a session are settled", |r| {
        r.store.settle_interrupted(&r.seat, |_| true).unwrap();
        r.store.settle_tasks(&r.seat.session, |_| true).unwrap();
        r.store.unfinished_agents(&r.seat.session).unwrap();
        r.store.take_back(|_| true).unwrap();
    }),
    ("the settings and the trust of a session", |r| {
        r.store.operators_snapshot().unwrap();
        r.store.trusted("/w").unwrap();
    }),
    ("the role and the model of a session", |r| {
        r.store.role_of(&r.seat.session).unwrap();
        r.store.last_model(&r.seat.session).unwrap();
    }),
    ("a session, as a list shows it", |r| {
        assert!(r.store.session(&r.seat.session).unwrap().is_some());
    }),
    ("a session is taken", |r| {
        r.store.take_lease(&r.seat.session, &json!({"pid": 1}), |_| true).unwrap();
        r.store.release_lease(&r.seat.session, &json!({"pid": 1})).unwrap();
    }),
    ("what the model is told", |r| {
        r.store.view_live(&r.seat.session, |_| {}).unwrap();
        r.store.turns(&r.seat.session).unwrap();
        r.store.context_tokens(&r.seat.session).unwrap();
    }),
    ("what steers a turn", |r| {
        r.store.standing(&r.seat.conversation).unwrap();
        r.store.steering(&r.seat).unwrap();
        r.store.selected_intent("/w", Some(&r.seat.session)).unwrap();
        r.store.todos(&r.seat).unwrap();
    }),
    ("the tasks and agents of a turn", |r| {
        r.store.untold_tasks(&r.seat.session).unwrap();
        r.store.running_tasks(&r.seat.conversation).unwrap();
        r.store.agents_below(&r.seat.session).unwrap();
    }),
    ("a call", |r| {
        let id = ToolUseId::from_existing("toolu_new");
        assert!(!r.store.knows_call(&id).unwrap());
        call(&r.store, &r.seat, &id);
    }),
    ("ona hook", |r| {
        let session = SessionId::from_existing("foreign-0");
        let (seat, _) = r.store.seat_of(&session).unwrap().unwrap();
        assert!(!r.store.has_call("foreign-0", "toolu_none").unwrap());
        r.store.calls_below(HERE).unwrap();
        let hook = hook(&ToolUseId::from_existing("toolu_none"));
        r.store.foreign_hook(&seat, &HeardHook { hook: &hook, events: &[] }).unwrap();
    }),
    ("ona why ID", |r| {
        let story = r.store.story("toolu_own").unwrap().unwrap();
        assert_eq!((story.hooks.len(), story.decisions.len(), story.answers.len()), (1, 1, 1));
        assert!(story.finished.is_some());
    }),
    ("ona why with the beginning of an id", |r| {
        assert_eq!(r.store.calls_like("toolu_", 2).unwrap().len(), 2);
        assert_eq!(r.store.calls_like("toolu_ow", 2).unwrap(), ["toolu_own"]);
    }),
    ("ona log", |r| {
        assert_eq!(r.store.log(0, None, 10).unwrap().len(), 10);
        assert!(!r.store.log(0, Some("own"), 10).unwrap().is_empty());
    }),
    ("the head of a trace and wishes for a scope", |r| {
        assert!(!r.store.traced("/w/own").unwrap().is_empty());
        assert_eq!(r.store.scope_requests("/w/own").unwrap().len(), 1);
    }),
    ("a session is renamed", |r| r.store.rename_session(&r.seat, Some("new name")).unwrap()),
    ("a session is deleted", |r| r.store.delete_session(&r.seat, |_| true).unwrap()),
];

#[test]
fn nothing_at_a_start_or_a_call_grows_with_the_record() {
    let (small, large) = (Record::of(4, 3), Record::of(60, 3));
    let mut grown = Vec::new();
    for (name, work) in WORK {
        let (few, many) = (small.cost(work), large.cost(work));
        // A look at each session would be dozens more.
        if many > few + 8 {
            grown.push(format!("{name}: {few} turns in a small record, {many} in a large one"));
        }
    }
    assert!(grown.is_empty(), "{grown:#?}");
}

/// Processes know different secrets, and some of those stand in directories and ids.
#[test]
fn what_one_process_stored_another_finds_whatever_secrets_they_know() {
    for word in ["here", "own", "/w", "parent", "toolu_", "foreign-0"] {
        for (writer, reader) in [(word, "\u{1}"), ("\u{1}", word), (word, word)] {
            let store = Store::in_memory().unwrap().masking(Arc::new(Hides(writer)));
            let mut record = Record::filled(store, 2, 2);
            record.store = record.store.masking(Arc::new(Hides(reader)));
            for (name, work) in WORK {
                // A name is a text.
                if *name != "--resume NAME" {
                    work(&record);
                }
            }
        }
    }
}

#[test]
fn a_list_of_sessions_does_not_read_those_that_it_leaves_out() {
    let list = |r: &Record| {
        assert_eq!(r.store.sessions(Some(HERE), Some(3)).unwrap().len(), 3);
    };
    let few = Record::of(10, 1).cost(&list);
    let many = Record::of(10, 40).cost(&list);
    // Of the three that are shown the entries are counted, and each is met a few times; there are fifty others.
    assert!(many < few + 3 * 40 * 8, "{few} turns with short sessions, {many} with long ones");
}

/// The triggers of migration 7 name the origins of other agents: one that is added needs a migration.
#[test]
fn sessions_of_every_other_agent_are_left_alone() {
    for origin in crate::foreign::OTHERS {
        let store = Store::in_memory().unwrap();
        let seat = session(&store, HERE, origin, "theirs", 1);
        assert_eq!(store.latest_session(HERE).unwrap(), None, "{origin}");
        let joined = store.join(&Join { project_dir: HERE, conversation: None }).unwrap();
        assert_ne!(joined.conversation, seat.conversation, "{origin}");
    }
}
