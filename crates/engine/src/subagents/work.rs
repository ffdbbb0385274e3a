//! Running a subagent.

use std::time::Instant;

use ona_front::{Ending, TurnEnd};
use ona_store::{Step, StoreError};
use ona_types::hook::{HookDetail, SessionEndReason};
use tokio_util::sync::CancellationToken;

use super::ending_word;
use crate::agent::Agent;
use crate::identity::Identity;
use crate::isolation::Isolation;
use crate::session::SessionRef;
use crate::usage::millis;

/// A prepared subagent.
pub(super) struct Subagent {
    pub(super) agent: Box<Agent>,
    pub(super) prompt: String,
    pub(super) isolation: Option<Isolation>,
    pub(super) identity: Identity,
    /// A remark for the caller.
    pub(super) remark: Option<String>,
}

/// The result of a subagent.
pub(super) struct SubagentResult {
    pub(super) end: TurnEnd,
    /// What happened to its worktree.
    pub(super) worktree_note: Option<String>,
    pub(super) duration_ms: u64,
}

impl Subagent {
    /// Runs to the end. A TeammateIdle hook can make a named agent continue.
    pub(super) async fn run(
        self,
        caller: SessionRef<'_>,
        cancel: &CancellationToken,
    ) -> Result<SubagentResult, StoreError> {
        let Self { mut agent, prompt, isolation, identity, remark: _ } = self;
        let (store, own) = (caller.gate.store(), &caller.gate.seat().session);
        let started = Instant::now();
        let mut end = Box::pin(agent.run_turn(Some((prompt, Vec::new())), cancel)).await;
        while let (Ending::Done, Some(name)) = (&end.ending, &identity.name) {
            let detail = HookDetail::TeammateIdle {
                teammate_name: name.clone(),
                team_name: own.to_string(),
            };
            let fired = agent.fire(detail, cancel).await;
            agent.commit(&Step { hooks: &fired.rows, ..Step::default() })?;
            if !fired.denies()
                || fired.stop.is_some()
                || !agent.may_block_stop("TeammateIdle", &fired)?
            {
                break;
            }
            let more =
                Box::pin(agent.continue_turn(Some((fired.denial(), Vec::new())), cancel)).await;
            end = more.after(end);
        }
        store.agent_ended(&identity.id, Some(ending_word(&end.ending)))?;
        // Tasks that are still running now belong to the caller.
        let running = store.hand_over_tasks(&identity.id, own)?;
        agent.session.gate.close_own_servers().await;
        agent.end(SessionEndReason::Other).await?;
        let worktree_note = match &isolation {
            Some(isolation) if running => Some(isolation.still_used()),
            // Also after an interrupt.
            Some(isolation) => {
                Some(caller.remove_if_unchanged(isolation, &CancellationToken::new()).await)
            }
            None => None,
        };
        Ok(SubagentResult { end, worktree_note, duration_ms: millis(started) })
    }
}
