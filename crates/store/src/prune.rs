//! Removes old sessions; one event records how many, since when they were idle, and who requested it.
//!
//! It goes in batches, each one commit, so that other processes wait for none of it for long. The event is written with
//! the first batch and counts on with every further one: whatever ends the process between two of them, the record is
//! whole and says what was removed.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use crate::rows::{Connection, Key, Transaction};
use ona_types::{ConversationId, SessionId};
use rusqlite::OptionalExtension as _;
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::StoreError;
use crate::removal::remove;
use crate::sessions::LAST_ACTIVE;
use crate::store::{Failure, Store};
use crate::tool_calls::event_of;

/// A batch ends with the session that reaches so many entries.
const BATCH_ENTRIES: usize = 5_000;

/// The key under which it stands when old sessions were last removed because a setting says so, in milliseconds since 1970.
const CLEANED_UP: &str = "cleaned_up_ms";

/// Which sessions to remove, and who requested it.
#[derive(Clone, Copy, Debug)]
pub struct Prune<'a> {
    /// Those in which nothing has happened since then, in milliseconds since 1970.
    pub before_ms: i64,
    /// The session of this process, which stays.
    pub keep: Option<&'a SessionId>,
    /// Who requested it, for the event.
    pub asked_by: &'a str,
}

/// A session that would be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Prunable {
    /// Its id.
    pub session_id: String,
    /// Where the work was.
    pub project_dir: String,
    /// Its name.
    pub name: Option<String>,
    /// When something last happened in it, in milliseconds since 1970.
    pub last_active_ms: i64,
    /// How many entries its transcript has.
    pub entries: i64,
}

/// What would be removed, and what is old enough but stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Selected {
    /// The sessions that would be removed.
    pub sessions: Vec<Prunable>,
    /// Old sessions that stay: they are in use, or have a running task or a worktree.
    pub in_use: Vec<String>,
}

/// What went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// The sessions.
    pub sessions: Vec<SessionId>,
    /// How many transcript entries they had.
    pub entries: usize,
    /// How many conversations went with their last session.
    pub conversations: usize,
    /// Old sessions that stayed, as in [`Selected`].
    pub in_use: Vec<String>,
}

impl Pruned {
    fn add(&mut self, more: Self) {
        self.sessions.extend(more.sessions);
        self.entries += more.entries;
        self.conversations += more.conversations;
        self.in_use.extend(more.in_use);
    }
}

/// A session with those of the agents that it has started. They are removed together, or not at all.
type Tree = Vec<Member>;

#[derive(Clone, Debug)]
struct Member {
    session: SessionId,
    conversation: ConversationId,
    last_active_ms: i64,
}

impl Store {
    /// What [`Store::prune`] would remove.
    pub fn prunable(
        &self,
        prune: &Prune<'_>,
        is_gone: impl Fn(&Value) -> bool,
    ) -> Result<Selected, StoreError> {
        self.read(|c| {
            let mut selected = Selected::default();
            for tree in old_trees(c, prune)? {
                if is_in_use(c, &tree, &is_gone)? {
                    selected.in_use.push(name_of(&tree));
                    continue;
                }
                for member in &tree {
                    selected.sessions.push(prunable(c, member)?);
                }
            }
            Ok(selected)
        })
    }

    /// Removes the sessions in which nothing has happened for long, with those of their agents and everything that
    /// belongs to them, and conversations that are left without any. Never one that is in use.
    pub fn prune(
        &self,
        prune: &Prune<'_>,
        is_gone: impl Fn(&Value) -> bool,
    ) -> Result<Pruned, StoreError> {
        let mut left = self.read(|c| old_trees(c, prune))?.into_iter().peekable();
        if left.peek().is_none() {
            return Ok(Pruned::default());
        }
        let mut done = Pruned::default();
        let mut told = None;
        self.for_good(|| {
            while left.peek().is_some() {
                // A failed commit has removed nothing.
                let mut next = done.clone();
                told = self.write(|tx| {
                    for tree in left.by_ref() {
                        next.add(remove_tree(tx, &tree, prune, &is_gone)?);
                        if next.entries - done.entries >= BATCH_ENTRIES {
                            break;
                        }
                    }
                    tell(tx, prune, &next, told)
                })?;
                done = next;
            }
            Ok(done)
        })
    }

    /// Whether it is time to remove old sessions because a setting says so. Of several processes that ask, one is told
    /// to.
    pub fn claim_cleanup(&self, now_ms: i64, every_ms: i64) -> Result<bool, StoreError> {
        let is_due = |c: &Connection| -> Result<bool, Failure> {
            let last: Option<String> = c
                .query_row("SELECT value FROM schema_meta WHERE key = ?1", [CLEANED_UP], |row| {
                    row.get(0)
                })
                .optional()?;
            let last: Option<i64> = last.and_then(|last| last.parse().ok());
            // A clock that was set back must not postpone it forever.
            Ok(last.is_none_or(|last| now_ms < last || now_ms - last >= every_ms))
        };
        if !self.read(is_due)? {
            return Ok(false);
        }
        self.write(|tx| {
            let due = is_due(tx)?;
            if due {
                tx.execute(
                    "INSERT OR REPLACE INTO schema_meta(key, value) VALUES (?1, ?2)",
                    (CLEANED_UP, now_ms.to_string()),
                )?;
            }
            Ok(due)
        })
    }
}

/// Sessions with their agents, in none of which anything has happened since, the oldest first.
fn old_trees(c: &Connection, prune: &Prune<'_>) -> Result<Vec<Tree>, Failure> {
    let mut members = Vec::new();
    let mut parents: HashMap<String, String> = HashMap::new();
    let mut statement = c.prepare(&format!(
        "SELECT s.session_id, s.conversation_id, a.parent_session, {}
         FROM sessions s JOIN conversations c ON c.id = s.conversation_id
         LEFT JOIN session_info i ON i.session_id = s.session_id
         LEFT JOIN agent_runs a ON a.session_id = s.session_id
         WHERE typeof(s.session_id) = 'text' AND typeof(c.id) = 'text' ORDER BY s.rowid",
        last_active()
    ))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let session: String = row.get(0)?;
        if let Some(parent) = row.get(2)? {
            parents.insert(session.clone(), parent);
        }
        members.push(Member {
            session: SessionId::from_existing(session),
            conversation: ConversationId::from_existing(row.get::<_, String>(1)?),
            last_active_ms: row.get(3)?,
        });
    }
    let known: HashMap<&str, usize> =
        members.iter().enumerate().map(|(at, member)| (member.session.as_str(), at)).collect();
    let root = |of: usize| {
        let mut at = of;
        // As many steps as there are sessions: rows made by hand may go in a circle.
        for _ in 0..members.len() {
            let parent = parents.get(members[at].session.as_str());
            match parent.and_then(|parent| known.get(parent.as_str())) {
                Some(parent) => at = *parent,
                None => break,
            }
        }
        at
    };
    let mut trees: BTreeMap<usize, Tree> = BTreeMap::new();
    for (at, member) in members.iter().enumerate() {
        trees.entry(root(at)).or_default().push(member.clone());
    }
    let goes = |tree: &Tree| {
        tree.iter().all(|member| {
            member.last_active_ms < prune.before_ms && prune.keep != Some(&member.session)
        })
    };
    Ok(trees.into_values().filter(goes).collect())
}

/// The last activity in a session `s`: its own time or that of its last entry, whichever is later.
/// If that is not a valid time, it counts as now.
fn last_active() -> String {
    format!(
        "max(coalesce({LAST_ACTIVE}, {never_old}), coalesce((
             SELECT unixepoch(t.created_at) * 1000 FROM transcript_entries t
             WHERE t.session_id = s.session_id ORDER BY t.sequence DESC LIMIT 1), 0))",
        never_old = i64::MAX
    )
}

/// Whether a session of the tree is in use, has a running call or task, or an existing worktree.
fn is_in_use(
    c: &Connection,
    tree: &Tree,
    is_gone: impl Fn(&Value) -> bool,
) -> Result<bool, Failure> {
    for member in tree {
        let id = Key(member.session.as_str());
        let mut owners = c.prepare_cached(
            "SELECT owner FROM session_leases WHERE session_id = ?1
             UNION ALL SELECT owner FROM running_calls WHERE session_id = ?1
             UNION ALL SELECT owner FROM background_tasks
                 WHERE session_id = ?1 AND ended_at IS NULL AND owner IS NOT NULL",
        )?;
        let mut rows = owners.query([id])?;
        while let Some(row) = rows.next()? {
            let owner: Value =
                serde_json::from_str(&row.get::<_, String>(0)?).unwrap_or(Value::Null);
            if !is_gone(&owner) {
                return Ok(true);
            }
        }
        let worktree: Option<Option<String>> = c
            .prepare_cached("SELECT worktree FROM agent_runs WHERE session_id = ?1")?
            .query_row([id], |row| row.get(0))
            .optional()?;
        if worktree.flatten().is_some_and(|worktree| Path::new(&worktree).is_dir()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes a tree, unless it was used since it was selected. Returns what was removed.
fn remove_tree(
    tx: &Transaction<'_>,
    tree: &Tree,
    prune: &Prune<'_>,
    is_gone: impl Fn(&Value) -> bool,
) -> Result<Pruned, Failure> {
    let mut gone = Pruned::default();
    let sql = format!(
        "SELECT {} FROM sessions s JOIN conversations c ON c.id = s.conversation_id
         LEFT JOIN session_info i ON i.session_id = s.session_id WHERE s.session_id = ?1",
        last_active()
    );
    for member in tree {
        let last_active_ms: Option<i64> = tx
            .prepare_cached(&sql)?
            .query_row([Key(member.session.as_str())], |row| row.get(0))
            .optional()?;
        // Another process may have deleted it.
        if last_active_ms.is_none_or(|last| last >= prune.before_ms) {
            return Ok(gone);
        }
    }
    if is_in_use(tx, tree, is_gone)? {
        gone.in_use.push(name_of(tree));
        return Ok(gone);
    }
    for Member { session, conversation, .. } in tree {
        gone.entries += remove(tx, session, conversation)?;
        gone.sessions.push(session.clone());
        gone.conversations += usize::from(remove_empty(tx, conversation, prune.before_ms)?);
    }
    Ok(gone)
}

/// Removes a conversation that has no session any more and is as old; whether it did. That sessions of it were deleted
/// stays on the record.
fn remove_empty(
    tx: &Transaction<'_>,
    conversation: &ConversationId,
    before_ms: i64,
) -> Result<bool, Failure> {
    let id = Key(conversation.as_str());
    let is_empty: bool = tx
        .prepare_cached(
            "SELECT unixepoch(last_active) * 1000 < ?2
                 AND NOT EXISTS (SELECT 1 FROM sessions WHERE conversation_id = ?1)
             FROM conversations WHERE id = ?1",
        )?
        .query_row((id, before_ms), |row| row.get::<_, Option<bool>>(0))?
        .unwrap_or(false);
    if !is_empty {
        return Ok(false);
    }
    for sql in [
        "UPDATE events SET conversation_id = ''
         WHERE conversation_id = ?1 AND event_type = 'session.deleted'",
        "DELETE FROM events WHERE conversation_id = ?1 AND session_id IS NULL",
        "DELETE FROM test_reports WHERE conversation_id = ?1",
        "DELETE FROM behavioral_runs WHERE test_id IN (SELECT t.id FROM behavioral_tests t
             JOIN plans p ON p.id = t.plan_id WHERE p.conversation_id = ?1)",
        "DELETE FROM behavioral_tests WHERE plan_id IN
             (SELECT id FROM plans WHERE conversation_id = ?1)",
        "DELETE FROM test_generations WHERE plan_id IN
             (SELECT id FROM plans WHERE conversation_id = ?1)",
        "DELETE FROM plan_approvals WHERE plan_id IN
             (SELECT id FROM plans WHERE conversation_id = ?1)",
        "DELETE FROM plans WHERE conversation_id = ?1",
        "DELETE FROM task_ratings WHERE conversation_id = ?1",
        "DELETE FROM summaries WHERE conversation_id = ?1",
        "DELETE FROM state WHERE conversation_id = ?1",
        "DELETE FROM conversations WHERE id = ?1",
    ] {
        tx.prepare_cached(sql)?.execute([id])?;
    }
    Ok(true)
}

/// Writes the event, or counts on in it; its number.
fn tell(
    tx: &Transaction<'_>,
    prune: &Prune<'_>,
    done: &Pruned,
    told: Option<i64>,
) -> Result<Option<i64>, Failure> {
    if done.sessions.is_empty() {
        return Ok(told);
    }
    let cutoff: String = tx.query_row(
        "SELECT strftime('%Y-%m-%d %H:%M:%S', ?1 / 1000, 'unixepoch')",
        [prune.before_ms],
        |row| row.get(0),
    )?;
    let detail = json!({
        "sessions": done.sessions.len(), "entries": done.entries,
        "conversations": done.conversations, "idle_since_before": cutoff, "asked_by": prune.asked_by,
    });
    if let Some(id) = told {
        tx.execute("UPDATE events SET detail = ?2 WHERE id = ?1", (id, detail.to_string()))?;
        return Ok(told);
    }
    // A request by the operator belongs to no conversation.
    event_of(tx, &ConversationId::from_existing(""), None, "sessions.pruned", &detail)?;
    Ok(Some(tx.last_insert_rowid()))
}

fn prunable(c: &Connection, member: &Member) -> Result<Prunable, Failure> {
    let session = member.session.as_str();
    Ok(c.prepare_cached(
        "SELECT c.project_dir, i.name,
             (SELECT count(*) FROM transcript_entries t WHERE t.session_id = s.session_id)
         FROM sessions s JOIN conversations c ON c.id = s.conversation_id
         LEFT JOIN session_info i ON i.session_id = s.session_id WHERE s.session_id = ?1",
    )?
    .query_row([Key(session)], |row| {
        Ok(Prunable {
            session_id: session.to_owned(),
            project_dir: row.get(0)?,
            name: row.get(1)?,
            last_active_ms: member.last_active_ms,
            entries: row.get(2)?,
        })
    })?)
}

/// The session that the others of a tree belong to.
fn name_of(tree: &Tree) -> String {
    tree.first().map(|member| member.session.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
