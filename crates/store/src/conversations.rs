//! Conversations and their sessions: finds or creates the place where a call is recorded.

use crate::rows::{Connection, Key, Transaction};
use ona_types::{ConversationId, SessionId};
use rusqlite::OptionalExtension;

use crate::error::StoreError;
use crate::store::{Failure, Store};

/// Which conversation to join.
#[derive(Clone, Copy, Debug)]
pub struct Join<'a> {
    /// The project directory, for the latest conversation there or a new one.
    pub project_dir: &'a str,
    /// This very conversation, which must exist.
    pub conversation: Option<&'a ConversationId>,
}

/// Which session: its id, its conversation and their directories. What a session does is recorded under its seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// `conversations.id`.
    pub conversation: ConversationId,
    /// `sessions.session_id`.
    pub session: SessionId,
    /// `conversations.project_dir`.
    pub project_dir: String,
    /// The directory the session's shell was left in.
    pub cwd: Option<String>,
}

/// Keys in the table `state`.
pub(crate) fn cwd_key(session: &SessionId) -> String {
    format!("cwd/{session}")
}

impl Store {
    /// A conversation by its id, or the latest one of a directory; with its project.
    pub fn conversation(
        &self,
        join: &Join<'_>,
    ) -> Result<Option<(ConversationId, String)>, StoreError> {
        self.read(|c| conversation(c, join))
    }

    /// The seat that [`Store::join`] would return, if it exists.
    pub fn seat(&self, join: &Join<'_>) -> Result<Option<Seat>, StoreError> {
        self.read(|c| find(c, join))
    }

    /// Joins the given conversation, else the latest of the project directory, else a new one; goes on
    /// in its latest session, or in a new one where it has none.
    pub fn join(&self, join: &Join<'_>) -> Result<Seat, StoreError> {
        // Joining what is there needs no write lock.
        if let Some(seat) = self.read(|c| find(c, join))? {
            return Ok(seat);
        }
        self.write(|tx| {
            if let Some(seat) = find(tx, join)? {
                return Ok(seat);
            }
            let (conversation, project_dir) = match conversation(tx, join)? {
                Some(found) => found,
                None => (create(tx, join.project_dir)?, join.project_dir.to_owned()),
            };
            let session = SessionId::generate();
            tx.execute(
                "INSERT INTO sessions(session_id, conversation_id) VALUES (?1, ?2)",
                (Key(session.as_str()), Key(conversation.as_str())),
            )?;
            Ok(Seat { conversation, session, project_dir, cwd: None })
        })
    }
}

pub(crate) fn create(tx: &Transaction<'_>, project_dir: &str) -> Result<ConversationId, Failure> {
    let conversation = ConversationId::generate();
    tx.execute(
        "INSERT INTO conversations(id, project_dir) VALUES (?1, ?2)",
        (Key(conversation.as_str()), Key(project_dir)),
    )?;
    Ok(conversation)
}

fn conversation(
    c: &Connection,
    join: &Join<'_>,
) -> Result<Option<(ConversationId, String)>, Failure> {
    let (sql, key) = match join.conversation {
        Some(id) => ("SELECT id, project_dir FROM conversations WHERE id = ?1", id.as_str()),
        None => (
            "SELECT conversation_id, project_dir FROM joinable_conversations WHERE project_dir = ?1
             ORDER BY last_active DESC, number DESC LIMIT 1",
            join.project_dir,
        ),
    };
    let found = c
        .prepare_cached(sql)?
        .query_row([Key(key)], |row| {
            Ok((ConversationId::from_existing(row.get::<_, String>(0)?), row.get(1)?))
        })
        .optional()?;
    match (found, join.conversation) {
        (None, Some(id)) => Err(StoreError::UnknownConversation(id.to_string()).into()),
        (found, _) => Ok(found),
    }
}

fn find(c: &Connection, join: &Join<'_>) -> Result<Option<Seat>, Failure> {
    let Some((conversation, project_dir)) = conversation(c, join)? else { return Ok(None) };
    let session: Option<String> = c
        .prepare_cached(
            "SELECT session_id FROM main_sessions WHERE conversation_id = ?1
             ORDER BY started_at DESC, number DESC LIMIT 1",
        )?
        .query_row([Key(conversation.as_str())], |row| row.get(0))
        .optional()?;
    let Some(session) = session.map(SessionId::from_existing) else { return Ok(None) };
    let cwd: Option<Option<String>> = c
        .prepare_cached("SELECT value FROM state WHERE conversation_id = ?1 AND key = ?2")?
        .query_row([Key(conversation.as_str()), Key(&cwd_key(&session))], |row| row.get(0))
        .optional()?;
    Ok(Some(Seat { conversation, session, project_dir, cwd: cwd.flatten() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_the_latest_and_makes_what_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("agent.db")).unwrap();
        let join = |project_dir| store.join(&Join { project_dir, conversation: None }).unwrap();
        let first = join("/a");
        assert_eq!(join("/a"), first);
        assert_ne!(join("/b").conversation, first.conversation);

        // Rows made by hand: a conversation without a session, later than ours.
        store
            .write(|tx| {
                Ok(tx.execute_batch(
                    "INSERT INTO conversations(id, project_dir, last_active)
                     VALUES ('by-hand', '/a', '2999-01-01 00:00:00'), (NULL, '/a', '3000'),
                            (x'00', '/a', '3001');
                     INSERT INTO sessions(session_id, conversation_id) VALUES (NULL, 'by-hand')",
                )?)
            })
            .unwrap();
        let seat = join("/a");
        assert_eq!(seat.conversation.as_str(), "by-hand");
        assert_eq!(join("/a"), seat, "and stays in the session made for it");

        let id = first.conversation.clone();
        let named = store.join(&Join { project_dir: "/z", conversation: Some(&id) }).unwrap();
        assert_eq!(named, first);
        let missing = ConversationId::from_existing("nope");
        let error = store.join(&Join { project_dir: "/a", conversation: Some(&missing) });
        assert!(matches!(error, Err(StoreError::UnknownConversation(_))));
    }
}
