//! A host's session: its seat in the record, and what its agent is told of intents.

use std::path::Path;

use ona_intents::Workspace;
use ona_store::{NewSession, Seat, SessionRow, StoreError};
use ona_types::hook::HookEvent;
use ona_types::{ConversationId, SessionId};

use super::payload::Payload;
use super::{Hearing, Host, HostError, Reply, SELECT, context};
use crate::session::Engine;

impl Hearing<'_> {
    /// What the agent is told when its session starts.
    pub(super) fn session_started(&self) -> Result<Reply, HostError> {
        let Some(workspace) = &self.workspace else { return Ok(Reply::default()) };
        Ok(context(HookEvent::SessionStart, &self.order(workspace)?))
    }

    /// A prompt of the user: the agent is reminded where there is still no intent.
    pub(super) fn prompted(&self) -> Result<Reply, HostError> {
        let Some(workspace) = &self.workspace else { return Ok(Reply::default()) };
        match self.selected(workspace)? {
            Some(_) => Ok(Reply::default()),
            None => Ok(context(HookEvent::UserPromptSubmit, &self.order(workspace)?)),
        }
    }

    fn order(&self, workspace: &Workspace) -> Result<String, StoreError> {
        let mut text = format!(
            "Changes in this repository are made for intents. Before the first change call the MCP tool \
             {SELECT} with the id of the intent you work for (or have the user run `ona intent select ID \
             --session {}`); a change outside its owned_scope is refused, with words on how to go on.",
            self.seat.session
        );
        match workspace.intents() {
            Ok(intents) => {
                let open = intents.all.iter().filter(|intent| intent.status().is_open());
                let names: Vec<String> =
                    open.map(|intent| format!("{} ({})", intent.id, intent.title())).collect();
                let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                text.push_str(&format!(" Intents that can be selected: {names}."));
            }
            Err(error) => text.push_str(&format!(" The file of intents cannot be used: {error}.")),
        }
        if let Some(id) = self.selected(workspace)? {
            text.push_str(&format!(" Selected now: {id}."));
        }
        Ok(text)
    }
}

/// The seat of a host's session, which is made when it is first heard of.
pub(super) fn seat(
    engine: &Engine,
    host: Host,
    payload: &Payload,
    project: &Path,
) -> Result<Seat, StoreError> {
    let mut id = payload.session.clone();
    // A session of ona's own, or of another host, is not to be had by naming it.
    if engine.store.session(&id)?.is_some_and(|row| row.origin != host.as_str()) {
        id = SessionId::from_existing(format!("{}:{id}", host.as_str()));
    }
    let known = |row: SessionRow| Seat {
        conversation: ConversationId::from_existing(row.conversation_id),
        session: id.clone(),
        project_dir: row.project_dir,
        cwd: None,
    };
    if let Some(row) = engine.store.session(&id)? {
        return Ok(known(row));
    }
    let made = engine.store.new_session(&NewSession {
        project_dir: &project.to_string_lossy(),
        conversation: None,
        id: Some(&id),
        origin: host.as_str(),
        name: None,
    });
    match made {
        // Another hook of the same moment was faster.
        Err(StoreError::SessionExists(taken)) => {
            let row = engine.store.session(&id)?;
            row.map(known).ok_or(StoreError::SessionExists(taken))
        }
        other => other,
    }
}
