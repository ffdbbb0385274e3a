//! Which session to start: a new one, the one of a directory, or an earlier one.

use std::path::{Path, PathBuf};

use ona_sandbox::Owner;
use ona_store::{Found, Join, NewSession, Seat, Store, StoreError, is_foreign};
use ona_types::hook::StartSource;
use ona_types::{ConversationId, SessionId, shell_quoted};
use serde_json::json;

use ona_gate::settle::is_gone;

/// Which session to start.
#[derive(Clone, Debug)]
pub enum Which {
    /// A new one, with this id if given.
    New(Option<SessionId>),
    /// The given conversation, else the latest of the directory, else a new one.
    Join(Option<ConversationId>),
    /// The latest of the directory.
    Latest(Option<Fork>),
    /// The one with this id, id prefix or name.
    Named(String, Option<Fork>),
}

/// A fork of an earlier session.
#[derive(Clone, Debug, Default)]
pub struct Fork {
    /// The id of the fork.
    pub id: Option<SessionId>,
    /// The last entry to copy; all of them if `None`.
    pub at: Option<i64>,
}

/// Why the session cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SeatError {
    /// The directory has no session.
    #[error("no session to continue in {}", dir.display())]
    NoneHere {
        /// The directory.
        dir: PathBuf,
    },
    /// The id is empty.
    #[error("empty session id")]
    Empty,
    /// No session has this id or name.
    #[error("unknown session `{0}`")]
    Unknown(String),
    /// Several sessions match.
    #[error("`{word}` is ambiguous: {}", ids.join(", "))]
    Ambiguous {
        /// The id or name.
        word: String,
        /// The matching sessions.
        ids: Vec<String>,
    },
    /// It belongs to another agent; only that agent's hooks write to it.
    #[error("session {session} belongs to {host}; ona cannot continue it")]
    Foreign {
        /// The session.
        session: SessionId,
        /// The agent.
        host: String,
    },
    /// It belongs to another directory, whose settings and rules are not those of this one.
    #[error(
        "session {session} belongs to {}; continue it there: cd {} && ona --resume {session}",
        dir.display(),
        shell_quoted(&dir.to_string_lossy())
    )]
    Elsewhere {
        /// The session.
        session: SessionId,
        /// Its directory.
        dir: PathBuf,
    },
    /// The record failed, or the session exists already.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Which {
    /// The seat in the record, and whether the session is new or resumed. A new session is not on the record yet, and one
    /// to be forked is the original.
    pub(crate) fn seat(&self, store: &Store, dir: &Path) -> Result<(Seat, StartSource), SeatError> {
        let seat = match self {
            Self::New(id) => {
                if let Some(id) = id
                    && store.session(id)?.is_some()
                {
                    return Err(StoreError::SessionExists(id.to_string()).into());
                }
                return Ok((new_seat(id.clone(), dir), StartSource::Startup));
            }
            Self::Join(conversation) => {
                return Ok((join(store, dir, conversation.as_ref())?, StartSource::Resume));
            }
            Self::Latest(_) => {
                let latest = store.latest_session(&dir.to_string_lossy())?;
                latest.ok_or_else(|| SeatError::NoneHere { dir: dir.to_owned() })?
            }
            Self::Named(word, _) => session_of(store, word, dir)?,
        };
        Ok((seat, StartSource::Resume))
    }

    /// The fork to make, if one is wanted.
    pub(crate) fn fork(&self) -> Option<&Fork> {
        match self {
            Self::Latest(fork) | Self::Named(_, fork) => fork.as_ref(),
            Self::New(_) | Self::Join(_) => None,
        }
    }
}

/// Joins a conversation for calls of the operator. If another process runs the session, a new one is created.
fn join(
    store: &Store,
    dir: &Path,
    conversation: Option<&ConversationId>,
) -> Result<Seat, StoreError> {
    let seat = store.join(&Join { project_dir: &dir.to_string_lossy(), conversation })?;
    match store.driver(&seat.session, is_gone)? {
        Some(driver) if driver != json!(Owner::current()) => store.new_session(&NewSession {
            project_dir: &seat.project_dir,
            conversation: Some(&seat.conversation),
            id: None,
            origin: "eval",
            name: None,
        }),
        _ => Ok(seat),
    }
}

/// Rejects a session of another agent: only that agent's hooks write to it.
fn not_foreign(store: &Store, seat: Seat) -> Result<Seat, SeatError> {
    match store.seat_of(&seat.session)? {
        Some((_, host)) if is_foreign(&host) => {
            Err(SeatError::Foreign { session: seat.session, host })
        }
        _ => Ok(seat),
    }
}

/// Finds a session by id, id prefix or name, to go on with it in this directory.
pub fn session_of(store: &Store, word: &str, dir: &Path) -> Result<Seat, SeatError> {
    let seat = not_foreign(store, find_session(store, word, dir)?)?;
    // Its project's rules would govern calls that run here. One whose directory is gone goes on here, with the rules of
    // this one.
    match Path::new(&seat.project_dir).canonicalize() {
        Ok(own) if own.is_dir() && own != dir => {
            Err(SeatError::Elsewhere { session: seat.session, dir: own })
        }
        _ => Ok(seat),
    }
}

/// Finds a session by id, id prefix or name, of any directory.
pub fn find_session(store: &Store, word: &str, dir: &Path) -> Result<Seat, SeatError> {
    // An unset variable in a script: every id starts with the empty string.
    if word.trim().is_empty() {
        return Err(SeatError::Empty);
    }
    match store.find_session(word, &dir.to_string_lossy())? {
        Found::One(seat) => Ok(seat),
        Found::None => Err(SeatError::Unknown(word.to_owned())),
        Found::Many(rows) => {
            let ids = rows.into_iter().map(|row| row.session_id).collect();
            Err(SeatError::Ambiguous { word: word.to_owned(), ids })
        }
    }
}

/// The seat of a new session that is not on the record yet.
pub(crate) fn new_seat(id: Option<SessionId>, dir: &Path) -> Seat {
    Seat {
        conversation: ConversationId::generate(),
        session: id.unwrap_or_else(SessionId::generate),
        project_dir: dir.to_string_lossy().into_owned(),
        cwd: None,
    }
}
