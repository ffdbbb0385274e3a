//! Phases (S0 §8): the planning gate and the table of transitions.

use ona_store::{Standing, Store, StoreError};
use ona_tools::Facts;
use ona_types::{ConversationId, Phase};
use serde_json::json;

/// Why the phase forbids a tool, if it does (S0 §8.3).
pub(super) fn forbids(standing: Standing, facts: Facts, tool: &str) -> Option<String> {
    let forbidden =
        standing.phase == Phase::Planning && !standing.approved_plan && facts.denied_in_planning;
    forbidden.then(|| {
        format!(
            "{tool} is denied while the conversation is in planning and no plan is approved: present a plan \
             with ExitPlanMode, and work begins when the user approves it"
        )
    })
}

/// What a transition waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Nothing,
    ApprovedPlan,
    /// Every criterion of the plan covered by a passing, traced test (S0 §8.6.2).
    Coverage,
    /// The operator's approval of the report (S0 §8.7).
    Approval,
}

/// The table of S0 §8.2; "any → planning" is added by [`find`].
const TRANSITIONS: [(Phase, Phase, Needs); 4] = [
    (Phase::Planning, Phase::Implement, Needs::ApprovedPlan),
    (Phase::Implement, Phase::Test, Needs::Nothing),
    (Phase::Test, Phase::Verify, Needs::Coverage),
    (Phase::Verify, Phase::Done, Needs::Approval),
];

fn find(from: Phase, to: Phase) -> Option<Needs> {
    if to == Phase::Planning {
        return Some(Needs::Nothing);
    }
    TRANSITIONS.iter().find(|(f, t, _)| (*f, *t) == (from, to)).map(|(_, _, needs)| *needs)
}

/// Why the phase did not change.
#[derive(Debug, thiserror::Error)]
pub enum TransitionError {
    /// S0 §8.2 has no such line.
    #[error(
        "cannot move from {from} to {to}: the order is planning, implement, test, verify, done"
    )]
    NoWay {
        /// The current phase.
        from: Phase,
        /// The requested phase.
        to: Phase,
    },
    /// The condition of that line is not met.
    #[error("cannot move from {from} to {to} yet: {why}")]
    NotYet {
        /// The current phase.
        from: Phase,
        /// The requested phase.
        to: Phase,
        /// What is missing.
        why: &'static str,
    },
    /// The record could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Moves a conversation to another phase, if S0 §8.2 allows it. Returns the earlier phase.
pub fn transition(
    store: &Store,
    conversation: &ConversationId,
    to: Phase,
) -> Result<Phase, TransitionError> {
    loop {
        let standing = store.standing(conversation)?;
        let from = standing.phase;
        let needs = find(from, to).ok_or(TransitionError::NoWay { from, to })?;
        let why = match needs {
            Needs::ApprovedPlan if !standing.approved_plan => {
                Some("the conversation has no approved plan")
            }
            Needs::Coverage => {
                Some("not every criterion of the plan has a passing test traced to it")
            }
            Needs::Approval => Some("the operator has not approved the report"),
            Needs::Nothing | Needs::ApprovedPlan => None,
        };
        if let Some(why) = why {
            return Err(TransitionError::NotYet { from, to, why });
        }
        // The signal of S0 §8.2 is part of the same commit.
        let detail = match (from, to) {
            (Phase::Implement, Phase::Test) => json!({"signal": "implementation complete"}),
            _ => json!({}),
        };
        if store.change_phase(conversation, from, to, &detail)? {
            return Ok(from);
        }
        // Another process moved it meanwhile: try again.
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_that_of_s0() {
        for (from, _) in Phase::ALL {
            for (to, _) in Phase::ALL {
                let allowed = to == Phase::Planning
                    || matches!(
                        (from, to),
                        (Phase::Planning, Phase::Implement)
                            | (Phase::Implement, Phase::Test)
                            | (Phase::Test, Phase::Verify)
                            | (Phase::Verify, Phase::Done)
                    );
                assert_eq!(find(from, to).is_some(), allowed, "{from} {to}");
            }
        }
    }

    #[test]
    fn planning_denies_what_writes_until_a_plan_is_approved() {
        let standing = |phase, approved_plan| Standing { phase, approved_plan };
        let facts = |tool: &str| ona_tools::find(tool).unwrap().facts();
        // S0 §8.3 names exactly these.
        let denied = ["Write", "Edit", "Bash", "NotebookEdit"];
        for tool in ona_tools::TOOLS.iter().map(|tool| tool.name()) {
            let forbids = |standing| forbids(standing, facts(tool), tool).is_some();
            assert_eq!(forbids(standing(Phase::Planning, false)), denied.contains(&tool), "{tool}");
            assert!(!forbids(standing(Phase::Planning, true)), "{tool}");
            assert!(!forbids(standing(Phase::Implement, false)), "{tool}");
        }
    }
}
