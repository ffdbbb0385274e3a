//! An agent at work for its caller.

use std::time::Instant;

use ona_front::{Ending, TurnEnd};
use ona_store::{Step, StoreError};
use ona_types::hook::{HookDetail, SessionEndReason};
use tokio_util::sync::CancellationToken;

use super::word;
use crate::agent::Agent;
use crate::identity::Identity;
use crate::isolation::Isolation;
use crate::session::SessionRef;
use crate::usage::millis;

/// A helper who is ready to begin.
pub(super) struct Helper {
    pub(super) agent: Box<Agent>,
    pub(super) prompt: String,
    pub(super) isolation: Option<Isolation>,
    pub(super) identity: Identity,
    /// What its caller may not expect of it.
    pub(super) remark: Option<String>,
}

/// What came of a helper's work.
pub(super) struct Work {
    pub(super) end: TurnEnd,
    /// What became of its worktree.
    pub(super) left: Option<String>,
    pub(super) duration_ms: u64,
}

impl Helper {
    /// Works to the end. A named agent that has ended waits; a TeammateIdle hook may have it go on.
    pub(super) async fn work(
        self,
        caller: SessionRef<'_>,
        cancel: &CancellationToken,
    ) -> Result<Work, StoreError> {
        let Self { mut agent, prompt, isolation, identity, remark: _ } = self;
        let (store, own) = (caller.gate.store(), &caller.gate.seat().session);
        let started = Instant::now();
        let mut end = Box::pin(agent.turn(Some((prompt, Vec::new())), cancel)).await;
        while let (Ending::Done, Some(name)) = (&end.ending, &identity.name) {
            let detail = HookDetail::TeammateIdle {
                teammate_name: name.clone(),
                team_name: own.to_string(),
            };
            let fired = agent.fire(detail, cancel).await;
            agent.keep(&Step { hooks: &fired.rows, ..Step::default() })?;
            if !fired.denies()
                || fired.stop.is_some()
                || !agent.goes_back("TeammateIdle", &fired)?
            {
                break;
            }
            let more = Box::pin(agent.further(Some((fired.denial(), Vec::new())), cancel)).await;
            end = more.after(end);
        }
        store.agent_ended(&identity.id, Some(word(&end.ending)))?;
        // Who waits for what it has left running is now its caller.
        let running = store.hand_over_tasks(&identity.id, own)?;
        agent.session.gate.close_own_servers().await;
        agent.end(SessionEndReason::Other).await?;
        let left = match &isolation {
            Some(isolation) if running => Some(isolation.still_used()),
            // Also after an interrupt.
            Some(isolation) => Some(caller.release(isolation, &CancellationToken::new()).await),
            None => None,
        };
        Ok(Work { end, left, duration_ms: millis(started) })
    }
}
