//! Cleans up after a killed process: its calls get a result, and what they left running is ended.

use ona_hooks::{HOOK_RUN, runs_of};
use ona_sandbox::{Liveness, Owner};
use ona_store::{Seat, Store, StoreError};
use serde_json::Value;

use super::servers::SERVER_RUN;

/// Gives the calls of a dead process a result, and ends what they left running: in this session, in its agents, and in
/// sessions of killed processes.
pub fn settle(store: &Store, seat: &Seat) -> Result<(), StoreError> {
    settle_session(store, seat)?;
    settle_agents(store, seat)?;
    for (session, owner) in store.take_back(is_gone)? {
        if let Ok(owner) = serde_json::from_value::<Owner>(owner) {
            for mark in [HOOK_RUN, SERVER_RUN] {
                ona_sandbox::kill_marked(mark, &runs_of(&session, owner.pid));
            }
        }
        if let Some((left, _)) = store.seat_of(&session)? {
            settle_session(store, &left)?;
        }
    }
    Ok(())
}

fn settle_session(store: &Store, seat: &Seat) -> Result<(), StoreError> {
    for call in store.settle_interrupted(seat, is_gone)? {
        ona_sandbox::kill_tree(None, Some(&ona_tools::marker(&call.id)));
    }
    for task in store.settle_tasks(&seat.session, is_gone)? {
        ona_sandbox::kill_tree(None, Some(&ona_tools::task_marker(&task.id)));
    }
    Ok(())
}

/// Ends agents of a dead process.
fn settle_agents(store: &Store, seat: &Seat) -> Result<(), StoreError> {
    for run in store.unfinished_agents(&seat.session)? {
        if store.driver(&run.session, is_gone)?.is_some() {
            continue;
        }
        if let Some((agent, _)) = store.seat_of(&run.session)? {
            settle_session(store, &agent)?;
            store.hand_over_tasks(&agent.session, &seat.session)?;
        }
        store.agent_ended(&run.session, Some("interrupted"))?;
    }
    Ok(())
}

/// Whether the owner in the record is certainly dead.
pub fn is_gone(owner: &Value) -> bool {
    liveness(owner) == Liveness::Gone
}

/// Whether the owner in the record is alive. An unreadable one counts as dead.
pub fn liveness(owner: &Value) -> Liveness {
    serde_json::from_value::<Owner>(owner.clone()).map_or(Liveness::Gone, |owner| owner.liveness())
}
