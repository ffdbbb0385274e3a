//! Agents that calls have started, and which session each works in.

use std::path::PathBuf;

use crate::rows::{Connection, Key, MaybeKey};
use ona_types::{SessionId, TaskId, ToolUseId};
use rusqlite::{OptionalExtension, Row};
use serde_json::Value;

use crate::conversations::Seat;
use crate::error::StoreError;
use crate::sessions::NewSession;
use crate::store::{Failure, Store};

/// An agent about to be started.
#[derive(Clone, Copy, Debug)]
pub struct NewAgent<'a> {
    /// Who starts it.
    pub parent: &'a Seat,
    /// By which call.
    pub call: &'a ToolUseId,
    /// What kind of agent it is.
    pub agent_type: &'a str,
    /// What it is called.
    pub name: Option<&'a str>,
    /// Where it works, if not where its parent does.
    pub worktree: Option<&'a str>,
}

/// An agent as recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRun {
    /// The session it works in.
    pub session: SessionId,
    /// What kind of agent it is.
    pub agent_type: String,
    /// What it is called.
    pub name: Option<String>,
    /// Where it works, if not where its parent does.
    pub worktree: Option<String>,
    /// How its last turn ended, if it did.
    pub ending: Option<String>,
}

/// What kind of agent a session was last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// The kind, by name.
    pub agent: String,
    /// The permission mode that it had where a call started it.
    pub mode: Option<String>,
}

/// A worktree of an agent whose end is not recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftWorktree {
    /// Where it is.
    pub path: PathBuf,
    /// The processes that run the agent and the call that started it. Only if all are gone has it stopped.
    pub owners: Vec<Value>,
}

impl Store {
    /// Creates a session for an agent, in the conversation of its parent.
    pub fn new_agent(&self, new: &NewAgent<'_>) -> Result<Seat, StoreError> {
        let seat = self.new_session(&NewSession {
            project_dir: &new.parent.project_dir,
            conversation: Some(&new.parent.conversation),
            id: None,
            origin: "subagent",
            name: None,
        })?;
        self.write(|tx| {
            tx.execute(
                "INSERT INTO agent_runs(session_id, parent_session, tool_use_id, agent_type, name, worktree)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                (
                    Key(seat.session.as_str()),
                    Key(new.parent.session.as_str()),
                    Key(new.call.as_str()),
                    new.agent_type,
                    new.name,
                    MaybeKey(new.worktree),
                ),
            )?;
            Ok(())
        })?;
        Ok(seat)
    }

    /// Records that an agent continues, or how its turn ended.
    pub fn agent_ended(&self, session: &SessionId, ending: Option<&str>) -> Result<(), StoreError> {
        self.write(|tx| {
            tx.execute(
                "UPDATE agent_runs SET ending = ?2, ended_at = iif(?2 IS NULL, NULL, datetime('now'))
                 WHERE session_id = ?1",
                (Key(session.as_str()), ending),
            )?;
            Ok(())
        })
    }

    /// Where an agent works, if not where its caller does.
    pub fn agent_worktree(&self, session: &SessionId, worktree: &str) -> Result<(), StoreError> {
        self.write(|tx| {
            tx.execute(
                "UPDATE agent_runs SET worktree = ?2 WHERE session_id = ?1",
                (Key(session.as_str()), Key(worktree)),
            )?;
            Ok(())
        })
    }

    /// The agents a session has started that have not ended.
    pub fn unfinished_agents(&self, parent: &SessionId) -> Result<Vec<AgentRun>, StoreError> {
        self.read(|c| {
            let sql = format!("{RUNS} WHERE parent_session = ?1 AND ending IS NULL ORDER BY rowid");
            let mut statement = c.prepare_cached(&sql)?;
            let rows = statement.query_map([Key(parent.as_str())], run)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// The agents with a worktree whose end is not recorded.
    pub fn left_worktrees(&self) -> Result<Vec<LeftWorktree>, StoreError> {
        self.read(left_worktrees)
    }

    /// Who drives the agent with a worktree whose session's id ends so, and who runs the call that started it, if there is such an agent.
    /// None: it has stopped.
    pub fn drivers_of_agent(&self, ending: &str) -> Result<Option<Vec<Value>>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare_cached(
                "SELECT l.owner, r.owner FROM agent_runs a
                     LEFT JOIN session_leases l ON l.session_id = a.session_id
                     LEFT JOIN running_calls r ON r.tool_use_id = a.tool_use_id
                 WHERE a.worktree IS NOT NULL AND substr(a.session_id, -length(?1)) = ?1",
            )?;
            let mut rows = statement.query([Key(ending)])?;
            let mut drivers = None;
            while let Some(row) = rows.next()? {
                let owners: [Option<String>; 2] = [row.get(0)?, row.get(1)?];
                let read = |owner: String| serde_json::from_str(&owner).unwrap_or_default();
                let all = drivers.get_or_insert_with(Vec::new);
                all.extend(owners.into_iter().flatten().map(read));
            }
            Ok(drivers)
        })
    }

    /// The session of the agent that works for a background task.
    pub fn agent_of_task(&self, task: &TaskId) -> Result<Option<SessionId>, StoreError> {
        self.read(|c| {
            let mut runs =
                c.prepare("SELECT session_id, tool_use_id FROM agent_runs ORDER BY rowid DESC")?;
            let mut rows = runs.query([])?;
            while let Some(row) = rows.next()? {
                let call = ToolUseId::from_existing(row.get::<_, String>(1)?);
                if TaskId::of_call(&call) == *task {
                    return Ok(Some(SessionId::from_existing(row.get::<_, String>(0)?)));
                }
            }
            Ok(None)
        })
    }

    /// What a session's model said last.
    pub fn last_words(&self, session: &SessionId) -> Result<Option<String>, StoreError> {
        self.read(|c| {
            let said: Option<String> = c
                .prepare_cached(
                    "SELECT payload_json FROM transcript_entries
                     WHERE session_id = ?1 AND entry_type = 'assistant' ORDER BY sequence DESC LIMIT 1",
                )?
                .query_row([Key(session.as_str())], |row| row.get(0))
                .optional()?;
            let said: Option<Value> = said.and_then(|said| serde_json::from_str(&said).ok());
            Ok(said.map(|said| {
                let blocks = said["content"].as_array().into_iter().flatten();
                blocks.filter_map(|block| block["text"].as_str()).collect::<String>()
            }))
        })
    }

    /// The sessions of all agents a session has started, and of those that these have.
    pub fn agents_below(&self, parent: &SessionId) -> Result<Vec<SessionId>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare(
                "WITH RECURSIVE below(id) AS (
                     SELECT session_id FROM agent_runs WHERE parent_session = ?1
                     UNION SELECT a.session_id FROM below CROSS JOIN agent_runs a ON a.parent_session = below.id)
                 SELECT id FROM below",
            )?;
            let rows = statement.query_map([Key(parent.as_str())], |row| row.get::<_, String>(0))?;
            Ok(rows.map(|id| id.map(SessionId::from_existing)).collect::<Result<_, _>>()?)
        })
    }

    /// The agent of this name that a session started last.
    pub fn agent_named(
        &self,
        parent: &SessionId,
        name: &str,
    ) -> Result<Option<AgentRun>, StoreError> {
        self.read(|c| {
            let sql = format!("{RUNS} WHERE parent_session = ?1 AND name = ?2 ORDER BY rowid DESC");
            let mut found = c.prepare_cached(&sql)?;
            Ok(found.query_row((Key(parent.as_str()), name), run).optional()?)
        })
    }

    /// The kind of agent that a session was when it was last begun; of a copy that was never begun, that of its origin.
    pub fn role_of(&self, session: &SessionId) -> Result<Option<Role>, StoreError> {
        self.read(|c| {
            // CROSS: the past of a session is short, the tables are long.
            let mut statement = c.prepare(
                "WITH RECURSIVE past(id, back) AS (
                     SELECT ?1, 0 UNION ALL
                     SELECT i.forked_from, back + 1
                     FROM past CROSS JOIN session_info i ON i.session_id = past.id
                     WHERE i.forked_from IS NOT NULL)
                 SELECT json_extract(e.detail, '$.agent'), json_extract(e.detail, '$.mode'), back, e.id AS at
                 FROM past CROSS JOIN events e ON e.session_id = past.id AND e.event_type = 'session.started'
                 UNION ALL
                 SELECT a.agent_type, NULL, back, 0 FROM past CROSS JOIN agent_runs a ON a.session_id = past.id
                 ORDER BY back, at DESC",
            )?;
            let rows = statement.query_map([Key(session.as_str())], |row| {
                Ok((row.get::<_, Option<String>>(0)?, row.get::<_, Option<String>>(1)?))
            })?;
            let starts: Vec<_> = rows.collect::<Result<_, _>>()?;
            let Some((Some(agent), _)) = starts.first().cloned() else { return Ok(None) };
            // Only the start by a call tells the mode; it holds as long as the kind is the same.
            let same = starts.into_iter().take_while(|start| start.0.as_ref() == Some(&agent));
            let mode = same.filter_map(|(_, mode)| mode).next();
            Ok(Some(Role { agent, mode }))
        })
    }

    /// The agent that works in a session, if one does.
    pub fn agent_of(&self, session: &SessionId) -> Result<Option<AgentRun>, StoreError> {
        self.read(|c| {
            let mut found = c.prepare_cached(&format!("{RUNS} WHERE session_id = ?1"))?;
            Ok(found.query_row([Key(session.as_str())], run).optional()?)
        })
    }
}

/// The agents with a worktree whose end is not recorded.
pub(crate) fn left_worktrees(c: &Connection) -> Result<Vec<LeftWorktree>, Failure> {
    let mut statement = c.prepare(
        "SELECT a.worktree, l.owner, r.owner FROM agent_runs a
             LEFT JOIN session_leases l ON l.session_id = a.session_id
             LEFT JOIN running_calls r ON r.tool_use_id = a.tool_use_id
         WHERE a.worktree IS NOT NULL AND (a.ending IS NULL OR a.ending = 'interrupted')
         ORDER BY a.rowid",
    )?;
    let rows = statement.query_map([], |row| {
        let owners: [Option<String>; 2] = [row.get(1)?, row.get(2)?];
        let read = |owner: String| serde_json::from_str(&owner).unwrap_or_default();
        let owners = owners.into_iter().flatten().map(read).collect();
        Ok(LeftWorktree { path: PathBuf::from(row.get::<_, String>(0)?), owners })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

const RUNS: &str = "SELECT session_id, agent_type, name, worktree, ending FROM agent_runs";

fn run(row: &Row<'_>) -> rusqlite::Result<AgentRun> {
    Ok(AgentRun {
        session: SessionId::from_existing(row.get::<_, String>(0)?),
        agent_type: row.get(1)?,
        name: row.get(2)?,
        worktree: row.get(3)?,
        ending: row.get(4)?,
    })
}
