//! A host's session: its place in the record, and what its agent is told about intents.

use std::fs;
use std::path::Path;

use ona_intents::Workspace;
use ona_store::{NewSession, Seat, StoreError};
use ona_types::SessionId;
use ona_types::hook::HookEvent;
use serde_json::json;

use super::payload::Payload;
use super::tools::SELECT;
use crate::{BEFORE, Host, HostError, HostHook, Reply, context};
use ona_gate::core::Core;

impl HostHook<'_> {
    /// What the agent is told when its session starts.
    pub(super) fn session_started(&mut self) -> Result<Reply, HostError> {
        self.events.push(("session.started".to_owned(), json!({"host": self.host.as_str()})));
        let Some(workspace) = &self.gate.workspace else { return Ok(Reply::default()) };
        Ok(context(HookEvent::SessionStart, &self.order(workspace)?))
    }

    /// The session is over.
    pub(super) fn session_ended(&mut self) -> Result<Reply, HostError> {
        self.events.push(("session.ended".to_owned(), json!({"host": self.host.as_str()})));
        self.stopped()
    }

    /// The agent has stopped: calls without a result, which the user has denied, are over, and what was stored for them is
    /// removed.
    pub(super) fn stopped(&self) -> Result<Reply, HostError> {
        self.gate.store().settle_interrupted(self.gate.seat(), |_| true)?;
        let dir = self.gate.record.core.host.outputs_of(self.gate.record.session());
        for file in fs::read_dir(dir).into_iter().flatten().flatten() {
            if file.file_name().to_string_lossy().starts_with(BEFORE) {
                // A leftover does no harm.
                let _ = fs::remove_file(file.path());
            }
        }
        Ok(Reply::default())
    }

    /// A prompt of the user: the agent is reminded if no intent is selected yet.
    pub(super) fn prompted(&self) -> Result<Reply, HostError> {
        let Some(workspace) = &self.gate.workspace else { return Ok(Reply::default()) };
        match self.selected(workspace)? {
            Some(_) => Ok(Reply::default()),
            None => Ok(context(HookEvent::UserPromptSubmit, &self.order(workspace)?)),
        }
    }

    fn order(&self, workspace: &Workspace) -> Result<String, StoreError> {
        let mut text = format!(
            "Changes in this repository are made for intents. Before the first change call the MCP tool \
             {SELECT} with the id of the intent you work for (or have the user run `ona intent select ID \
             --session {}`); a change outside its owned_scope is refused, with a hint on how to continue.",
            self.gate.seat().session
        );
        match workspace.intents() {
            Ok(intents) => {
                let open = intents.all.iter().filter(|intent| intent.status().is_open());
                let names: Vec<String> =
                    open.map(|intent| format!("{} ({})", intent.id, intent.title())).collect();
                let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                text.push_str(&format!(" Intents that can be selected: {names}."));
            }
            Err(error) => text.push_str(&format!(" The intents file cannot be used: {error}.")),
        }
        if let Some(id) = self.selected(workspace)? {
            text.push_str(&format!(" Selected now: {id}."));
        }
        Ok(text)
    }
}

/// The place of a host's session in the record; it is created when it is first needed.
pub(super) fn seat(
    core: &Core,
    host: Host,
    payload: &Payload,
    project: &Path,
) -> Result<Seat, StoreError> {
    let mut id = payload.session.clone();
    match core.store.seat_of(&id)? {
        Some((seat, origin)) if origin == host.as_str() => return Ok(seat),
        // A host cannot use a session of ona or of another host by its id.
        Some(_) => id = SessionId::from_existing(format!("{}:{id}", host.as_str())),
        None => {}
    }
    let made = core.store.new_session(&NewSession {
        project_dir: &project.to_string_lossy(),
        conversation: None,
        id: Some(&id),
        origin: host.as_str(),
        name: None,
    });
    match made {
        // Another hook has created it at the same time.
        Err(StoreError::SessionExists(taken)) => {
            let found = core.store.seat_of(&id)?.map(|(seat, _)| seat);
            found.ok_or(StoreError::SessionExists(taken))
        }
        other => other,
    }
}
