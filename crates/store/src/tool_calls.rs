//! One tool call on the record: its start is committed before it runs, its result in one commit after.
//!
//! Between the two, a row in `running_calls` says who runs it. If that process dies, the row is what
//! is left, and the call can be settled as interrupted.

use std::borrow::Cow;
use std::path::Path;

use crate::rows::{Bind, Connection, Key, MaybeKey, Transaction};
use ona_types::hook::HookInvocation;
use ona_types::{
    ContentHash, ConversationId, Entry, FileView, IntentSelected, Seen, SessionId, ToolOutput,
    ToolUseId, restore_keys,
};
use rusqlite::OptionalExtension;
use serde_json::{Map, Value, json};

use crate::call_ids;
use crate::changes;
use crate::conversations::{Seat, cwd_key};
use crate::error::StoreError;
use crate::intents;
use crate::store::{Failure, Store};
use crate::tasks;
use crate::transcript::append;

/// A call about to run.
#[derive(Clone, Copy, Debug)]
pub struct CallStart<'a> {
    /// The call's id.
    pub id: &'a ToolUseId,
    /// The tool's name, known or not.
    pub tool: &'a str,
    /// Its input as given.
    pub input: &'a Value,
    /// Who runs it, in words that tell later whether it is still alive.
    pub owner: &'a Value,
}

/// What one stage of the gate said, as the record keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct GateRow {
    /// The stage.
    pub stage: String,
    /// `pass`, `allow`, `ask` or `deny`.
    pub verdict: String,
    /// Why, in words.
    pub reason: String,
    /// Why, for programs.
    pub detail: Value,
}

/// What was decided where the rules said to ask.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// `allow` or `deny`.
    pub decision: String,
    /// Who decided, and why.
    pub reason: Value,
}

/// The complete outcome of a call, committed at once.
#[derive(Clone, Copy, Debug)]
pub struct CallOutcome<'a> {
    /// The result from the tool, or from the stage that denied it.
    pub output: &'a ToolOutput,
    /// How long it took.
    pub duration_ms: u64,
    /// Every hook that ran or was skipped.
    pub hooks: &'a [HookInvocation],
    /// What every stage said.
    pub gate: &'a [GateRow],
    /// What was decided where there was something to ask.
    pub decisions: &'a [Decision],
    /// What hooks have to say to the model.
    pub contexts: &'a [String],
    /// Further entries for the transcript.
    pub entries: &'a [Entry],
    /// What else happened, each with its kind.
    pub events: &'a [(String, Value)],
}

impl<'a> CallOutcome<'a> {
    /// An outcome with nothing around it.
    pub fn of(output: &'a ToolOutput) -> Self {
        Self {
            output,
            duration_ms: 0,
            hooks: &[],
            gate: &[],
            decisions: &[],
            contexts: &[],
            entries: &[],
            events: &[],
        }
    }
}

/// A call whose start is on the record and whose outcome is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedCall {
    /// The call's id.
    pub id: ToolUseId,
    /// The tool's name.
    pub tool: String,
}

impl Store {
    /// Commits that a call starts: its `tool_use` entry, its `tool.started` event, its running row.
    pub fn start_call(&self, seat: &Seat, call: &CallStart<'_>) -> Result<(), StoreError> {
        self.write(|tx| start(tx, seat, call))
    }

    /// Commits the complete outcome of a call at once (S0 §4.8).
    pub fn finish_call(
        &self,
        seat: &Seat,
        id: &ToolUseId,
        outcome: &CallOutcome<'_>,
    ) -> Result<(), StoreError> {
        self.write(|tx| finish(tx, seat, id, outcome))
    }

    /// Gives every call of the session whose owner `is_gone` its missing `tool_result`, so that the
    /// transcript is whole again and says what happened. Returns the calls.
    pub fn settle_interrupted(
        &self,
        seat: &Seat,
        is_gone: impl Fn(&Value) -> bool,
    ) -> Result<Vec<StartedCall>, StoreError> {
        let left = |c: &Connection| -> Result<Vec<(StartedCall, bool)>, Failure> {
            let mut statement = c.prepare_cached(
                "SELECT tool_use_id, tool_name, owner, waits FROM running_calls WHERE session_id = ?1
                 ORDER BY entry_id",
            )?;
            let rows = statement.query_map([Key(seat.session.as_str())], |row| {
                let owner: String = row.get(2)?;
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, owner, row.get(3)?))
            })?;
            let mut calls = Vec::new();
            for row in rows {
                let (id, tool, owner, waits) = row?;
                let owner: Value = serde_json::from_str(&owner).unwrap_or(Value::Null);
                if is_gone(&owner) {
                    let call = StartedCall { id: ToolUseId::from_existing(id), tool };
                    calls.push((call, waits));
                }
            }
            Ok(calls)
        };
        if self.read(left)?.is_empty() {
            return Ok(Vec::new());
        }
        self.write(|tx| {
            let calls = left(tx)?;
            for (call, waited) in &calls {
                let (_, entry_id) = take_running(tx, &call.id)?;
                let output = ToolOutput::internal(match waited {
                    true => "interrupted: ona ended while a human was asked about the call; the tool has not run",
                    false => {
                        "interrupted: ona ended before the outcome was recorded; \
                         the tool may have run in part or in full, and what it left running is killed"
                    }
                });
                let result = Entry::tool_result(&call.id, &output.content, output.is_error());
                append(tx, &seat.session, Some(entry_id), &result)?;
                let detail = json!({"tool_use_id": call.id, "tool_name": call.tool});
                event(tx, seat, "tool.interrupted", &detail)?;
            }
            Ok(calls.into_iter().map(|(call, _)| call).collect())
        })
    }

    /// The commands of a conversation that run now, each with its owner, who may be dead.
    pub fn running_commands(
        &self,
        conversation: &ConversationId,
    ) -> Result<Vec<(String, Value)>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare_cached(
                "SELECT r.tool_use_id, r.owner FROM running_calls r
                 JOIN sessions s ON s.session_id = r.session_id
                 WHERE s.conversation_id = ?1 AND r.tool_name = 'Bash' AND r.waits = 0",
            )?;
            let rows = statement.query_map([Key(conversation.as_str())], |row| {
                let owner: String = row.get(1)?;
                Ok((row.get(0)?, serde_json::from_str(&owner).unwrap_or(Value::Null)))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Records that a call waits for an answer of a human, or waits no longer.
    pub fn call_waits(&self, id: &ToolUseId, waits: bool) -> Result<(), StoreError> {
        self.write(|tx| {
            tx.prepare_cached("UPDATE running_calls SET waits = ?2 WHERE tool_use_id = ?1")?
                .execute((Key(id.as_str()), waits))?;
            Ok(())
        })
    }

    /// A file's content as the session last saw it.
    pub fn last_view(
        &self,
        session: &SessionId,
        path: &Path,
    ) -> Result<Option<FileView>, StoreError> {
        self.read(|c| last_view(c, session, path))
    }
}

/// A call's `tool_use` entry, its `tool.started` event, its running row.
pub(crate) fn start(
    tx: &Transaction<'_>,
    seat: &Seat,
    call: &CallStart<'_>,
) -> Result<(), Failure> {
    call_ids::start(tx, &seat.session, call.id)?;
    let entry = Entry::tool_use(call.id, call.tool, call.input);
    let entry_id = append(tx, &seat.session, None, &entry)?;
    tx.prepare_cached(
        "INSERT INTO running_calls(tool_use_id, session_id, tool_name, entry_id, owner)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute((
        Key(call.id.as_str()),
        Key(seat.session.as_str()),
        call.tool,
        entry_id,
        call.owner.to_string(),
    ))?;
    let detail = json!({
        "tool_use_id": call.id, "tool_name": call.tool, "owner": call.owner,
    });
    event(tx, seat, "tool.started", &detail)
}

/// The complete outcome of a call.
pub(crate) fn finish(
    tx: &Transaction<'_>,
    seat: &Seat,
    id: &ToolUseId,
    outcome: &CallOutcome<'_>,
) -> Result<(), Failure> {
    let output = outcome.output;
    let (tool, entry_id) = take_running(tx, id)?;
    for hook in outcome.hooks {
        keep_hook(tx, seat, hook)?;
    }
    for answer in outcome.gate {
        keep_answer(tx, seat, id, answer)?;
    }
    for decision in outcome.decisions {
        tx.prepare_cached(
            "INSERT INTO tool_permission_log(session_id, tool_use_id, tool_name, decision, reason_json)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute((
            Key(seat.session.as_str()),
            Key(id.as_str()),
            &tool,
            &decision.decision,
            decision.reason.to_string(),
        ))?;
    }
    let result = Entry::tool_result(id, &output.content, output.is_error());
    let result_id = append(tx, &seat.session, Some(entry_id), &result)?;
    for attachment in &output.attachments {
        append(tx, &seat.session, Some(result_id), &Entry::attachment(id, attachment))?;
    }
    for context in outcome.contexts {
        append(tx, &seat.session, Some(result_id), &Entry::hook_context(id, context))?;
    }
    for entry in outcome.entries {
        append(tx, &seat.session, Some(result_id), entry)?;
    }
    for view in &output.views {
        keep_view(tx, &seat.session, view)?;
    }
    if let Some(cwd) = &output.cwd {
        tx.prepare_cached(
            "INSERT OR REPLACE INTO state(conversation_id, key, value) VALUES (?1, ?2, ?3)",
        )?
        .execute((
            Key(seat.conversation.as_str()),
            Key(&cwd_key(&seat.session)),
            Key(&path_below(tx, &seat.project_dir, cwd)),
        ))?;
    }
    if let Some(task) = &output.task {
        tasks::started(tx, &seat.session, id, task)?;
    }
    if let Some(IntentSelected { workspace, intent_id }) = &output.intent {
        intents::select(tx, seat, &workspace.to_string_lossy(), intent_id)?;
    }
    for change in &output.changes {
        changes::apply(tx, seat, change)?;
    }
    for (kind, what) in outcome.events {
        event(tx, seat, kind, &json!({"tool_use_id": id, "what": what}))?;
    }
    let mut detail = Map::new();
    detail.insert("tool_use_id".into(), json!(id));
    detail.insert("tool_name".into(), json!(tool));
    detail.insert("class".into(), json!(output.class));
    detail.insert("duration_ms".into(), json!(outcome.duration_ms));
    detail.extend(output.detail.clone());
    event(tx, seat, "tool.finished", &Value::Object(detail))?;
    touch(tx, seat)
}

fn last_view(
    c: &Connection,
    session: &SessionId,
    path: &Path,
) -> Result<Option<FileView>, Failure> {
    let row: Option<(String, String)> = c
        .prepare_cached(
            "SELECT content_hash, seen FROM file_views WHERE session_id = ?1 AND path = ?2",
        )?
        .query_row((Key(session.as_str()), path_text(path)), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(row.map(|(hash, seen)| FileView {
        path: path.to_owned(),
        hash: ContentHash::from_hex(hash),
        seen: seen.parse().unwrap_or_else(|_| Seen::part()),
    }))
}

pub(crate) fn keep_hook(
    tx: &Transaction<'_>,
    seat: &Seat,
    hook: &HookInvocation,
) -> Result<(), Failure> {
    let values: [&dyn Bind; 15] = [
        &Key(seat.session.as_str()),
        &Key(seat.conversation.as_str()),
        &hook.event.as_str(),
        &hook.ordinal,
        &hook.matcher,
        &hook.command,
        &MaybeKey(hook.tool_use_id.as_ref().map(ToolUseId::as_str)),
        &hook.tool_name,
        &hook.input_json,
        &hook.exit_code,
        &hook.stdout_text,
        &hook.stderr_text,
        &hook.started_ms,
        &hook.completed_ms,
        &hook.skipped_reason,
    ];
    tx.prepare_cached(
        "INSERT INTO hook_invocations(session_id, conversation_id, hook_event, hook_ordinal, matcher,
             command, tool_use_id, tool_name, input_json, exit_code, stdout_text, stderr_text,
             started_at, completed_at, skipped_reason)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,
             strftime('%Y-%m-%d %H:%M:%f', ?13 / 1000.0, 'unixepoch'),
             strftime('%Y-%m-%d %H:%M:%f', ?14 / 1000.0, 'unixepoch'), ?15)",
    )?
    .execute(&values[..])?;
    Ok(())
}

pub(crate) fn keep_answer(
    tx: &Transaction<'_>,
    seat: &Seat,
    id: &ToolUseId,
    answer: &GateRow,
) -> Result<(), Failure> {
    let detail = (!answer.detail.is_null()).then(|| answer.detail.to_string());
    tx.prepare_cached(
        "INSERT INTO gate_answers(session_id, tool_use_id, stage, verdict, reason, detail)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((
        Key(seat.session.as_str()),
        Key(id.as_str()),
        &answer.stage,
        &answer.verdict,
        &answer.reason,
        detail,
    ))?;
    Ok(())
}

/// Ends a call's running row; its tool and the `tool_use` entry the result answers.
fn take_running(tx: &Transaction<'_>, id: &ToolUseId) -> Result<(String, i64), Failure> {
    tx.prepare_cached(
        "DELETE FROM running_calls WHERE tool_use_id = ?1 RETURNING tool_name, entry_id",
    )?
    .query_row([Key(id.as_str())], |row| Ok((row.get(0)?, row.get(1)?)))
    .optional()?
    .ok_or_else(|| StoreError::AlreadySettled(id.to_string()).into())
}

/// Windows of the same content add up.
fn keep_view(tx: &Transaction<'_>, session: &SessionId, view: &FileView) -> Result<(), Failure> {
    let seen = match last_view(tx, session, &view.path)? {
        Some(before) if before.hash == view.hash => before.seen.and(&view.seen),
        _ => view.seen.clone(),
    };
    tx.prepare_cached(
        "INSERT OR REPLACE INTO file_views(session_id, path, content_hash, seen)
         VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute((
        Key(session.as_str()),
        path_text(&view.path),
        Key(view.hash.as_str()),
        seen.to_string(),
    ))?;
    Ok(())
}

pub(crate) fn event(
    tx: &Transaction<'_>,
    seat: &Seat,
    kind: &str,
    detail: &Value,
) -> Result<(), Failure> {
    event_of(tx, &seat.conversation, Some(&seat.session), kind, detail)
}

/// The same, for what need not belong to a session.
pub(crate) fn event_of(
    tx: &Transaction<'_>,
    conversation: &ConversationId,
    session: Option<&SessionId>,
    kind: &str,
    detail: &Value,
) -> Result<(), Failure> {
    tx.prepare_cached(
        "INSERT INTO events(conversation_id, session_id, event_type, detail) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute((
        Key(conversation.as_str()),
        MaybeKey(session.map(SessionId::as_str)),
        kind,
        Key(&detail_text(tx, detail)),
    ))?;
    Ok(())
}

/// What an event tells, masked but for the keys by which it is found.
fn detail_text(c: &Connection, detail: &Value) -> String {
    let text = detail.to_string();
    let masked = match c.masked(&text) {
        Cow::Borrowed(_) => None,
        Cow::Owned(masked) => Some(masked),
    };
    match masked {
        None => text,
        Some(masked) => match serde_json::from_str::<Value>(&masked) {
            Ok(mut value) => {
                restore_keys(&mut value, detail);
                value.to_string()
            }
            Err(_) => masked,
        },
    }
}

pub(crate) fn touch(tx: &Transaction<'_>, seat: &Seat) -> Result<(), Failure> {
    tx.prepare_cached("UPDATE conversations SET last_active = datetime('now') WHERE id = ?1")?
        .execute([Key(seat.conversation.as_str())])?;
    tx.prepare_cached(
        "UPDATE session_info SET last_active_ms = unixepoch('subsec') * 1000 WHERE session_id = ?1",
    )?
    .execute([Key(seat.session.as_str())])?;
    Ok(())
}

/// A directory at or below the project's, which is a key; only what is below it is masked.
fn path_below(c: &Connection, project_dir: &str, path: &Path) -> String {
    let path = path.to_string_lossy();
    match path.strip_prefix(project_dir) {
        Some(below) => format!("{project_dir}{}", c.masked(below)),
        None => c.masked(&path).into_owned(),
    }
}

/// A path as stored: its text, or for the rare name that is not UTF-8 its bytes, so that no two
/// paths share a row.
pub(crate) fn path_text(path: &Path) -> rusqlite::types::Value {
    match path.to_str() {
        Some(text) => rusqlite::types::Value::Text(text.to_owned()),
        None => rusqlite::types::Value::Blob(path.as_os_str().as_encoded_bytes().to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use ona_types::{Attachment, TaskId, TaskStarted};

    use super::*;
    use crate::Join;

    fn store() -> (tempfile::TempDir, Store, Seat) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        let seat = store.join(&Join { project_dir: "/a", conversation: None }).unwrap();
        (dir, store, seat)
    }

    fn start(store: &Store, seat: &Seat, id: &str) -> ToolUseId {
        let id = ToolUseId::from_existing(id);
        let call =
            CallStart { id: &id, tool: "Read", input: &json!({}), owner: &json!({"pid": 1}) };
        store.start_call(seat, &call).unwrap();
        id
    }

    fn events(store: &Store) -> Vec<String> {
        store
            .read(|c| {
                let mut statement = c.prepare("SELECT event_type FROM events ORDER BY id")?;
                let rows = statement.query_map([], |row| row.get(0))?;
                Ok(rows.collect::<Result<_, _>>()?)
            })
            .unwrap()
    }

    fn view(hash: &str, seen: Seen) -> FileView {
        FileView { path: "/a/x".into(), hash: ContentHash::from_hex(hash), seen }
    }

    #[test]
    fn start_and_outcome_make_the_rows_of_s0() {
        let (_dir, store, seat) = store();
        let id = start(&store, &seat, "t1");
        let mut output = ToolOutput::success("3 lines").with_view(view("h1", Seen::Whole));
        output.cwd = Some("/a/sub".into());
        output.attachments =
            vec![Attachment::Image { media_type: "image/png".into(), data: "AA==".into() }];
        output.task = Some(TaskStarted {
            kind: ona_types::TaskKind::Shell,
            id: TaskId::from_existing("task1"),
            command: "make".into(),
            output_path: "/a/log".into(),
        });
        store.finish_call(&seat, &id, &CallOutcome::of(&output)).unwrap();

        let rows = store.transcript(&seat.session).unwrap();
        let types: Vec<_> = rows.iter().map(|row| row.entry_type.as_str()).collect();
        assert_eq!(types, ["tool_use", "tool_result", "attachment"]);
        assert_eq!(rows[1].parent, Some(rows[0].id));
        assert!(rows[1].payload_json.contains(r#""is_error":false"#));
        assert_eq!(events(&store), ["tool.started", "tool.finished"]);
        assert_eq!(store.last_view(&seat.session, Path::new("/a/x")).unwrap(), output.views.pop());
        let again = store.join(&Join { project_dir: "/a", conversation: None }).unwrap();
        assert_eq!(again.cwd.as_deref(), Some("/a/sub"));
        assert_eq!(
            store
                .task(&seat.conversation, &TaskId::from_existing("task1"))
                .unwrap()
                .unwrap()
                .command,
            "make"
        );
    }

    #[test]
    fn an_outcome_is_recorded_once() {
        let (_dir, store, seat) = store();
        let id = start(&store, &seat, "t1");
        store.finish_call(&seat, &id, &CallOutcome::of(&ToolOutput::success(""))).unwrap();
        let again = store.finish_call(&seat, &id, &CallOutcome::of(&ToolOutput::success("other")));
        assert!(matches!(again, Err(StoreError::AlreadySettled(_))));
        assert_eq!(store.transcript(&seat.session).unwrap().len(), 2);
    }

    #[test]
    fn calls_whose_owner_is_gone_are_settled() {
        let (_dir, store, seat) = store();
        let gone = start(&store, &seat, "gone");
        assert!(
            store.settle_interrupted(&seat, |_| false).unwrap().is_empty(),
            "alive: left alone"
        );
        let settled = store.settle_interrupted(&seat, |owner| owner["pid"] == 1).unwrap();
        assert_eq!(settled, [StartedCall { id: gone.clone(), tool: "Read".into() }]);
        let rows = store.transcript(&seat.session).unwrap();
        assert!(rows[1].payload_json.contains("[SDLC_INTERNAL] interrupted"));
        assert_eq!(events(&store), ["tool.started", "tool.interrupted"]);
        let late = store.finish_call(&seat, &gone, &CallOutcome::of(&ToolOutput::success("")));
        assert!(matches!(late, Err(StoreError::AlreadySettled(_))));
    }

    #[test]
    fn windows_of_the_same_content_add_up() {
        let (_dir, store, seat) = store();
        for (n, (hash, seen, expected)) in [
            ("h1", Seen::lines(1, 5, 9), Seen::lines(1, 5, 9)),
            ("h1", Seen::lines(6, 9, 9), Seen::Whole),
            ("h1", Seen::part(), Seen::Whole),
            ("h2", Seen::lines(1, 5, 9), Seen::lines(1, 5, 9)),
        ]
        .into_iter()
        .enumerate()
        {
            let id = start(&store, &seat, &n.to_string());
            let output = ToolOutput::success("").with_view(view(hash, seen));
            store.finish_call(&seat, &id, &CallOutcome::of(&output)).unwrap();
            let kept = store.last_view(&seat.session, Path::new("/a/x")).unwrap().unwrap();
            assert_eq!(kept.seen, expected, "{n}");
        }
    }
}
