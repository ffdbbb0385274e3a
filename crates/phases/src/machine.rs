//! The phase machine (S0 §8.1, §8.2): one table, and one way to move.

use std::fmt;
use std::path::{Path, PathBuf};

use ona_repo::Digest;
use ona_store::{PlanRow, ReportRow, Standing, Store, StoreError, TestFacts};
use ona_types::{ContentHash, ConversationId, Phase};
use serde_json::{Value, json};

use crate::coverage::Matrix;
use crate::plans::{Approved, NotApproved, approved, work_tree};
use crate::report::Report;

/// What a transition waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// A plan that a human has approved.
    ApprovedPlan,
    /// Every criterion of the plan covered by a passing, traced test (S0 §8.6.2).
    Coverage,
    /// The operator's approval of the report (S0 §8.7).
    Approval,
}

/// The table of S0 §8.2; "any → planning" is added by [`find`].
pub const TRANSITIONS: [(Phase, Phase, Needs); 4] = [
    (Phase::Planning, Phase::Implement, Needs::ApprovedPlan),
    (Phase::Implement, Phase::Test, Needs::Nothing),
    (Phase::Test, Phase::Verify, Needs::Coverage),
    (Phase::Verify, Phase::Done, Needs::Approval),
];

/// What a transition needs; `None` if there is no such transition.
pub fn find(from: Phase, to: Phase) -> Option<Needs> {
    if to == Phase::Planning {
        return Some(Needs::Nothing);
    }
    TRANSITIONS.iter().find(|(f, t, _)| (*f, *t) == (from, to)).map(|(_, _, needs)| *needs)
}

/// The phases that can follow, with what each needs.
pub fn next(from: Phase) -> impl Iterator<Item = (Phase, Needs)> {
    Phase::ALL.into_iter().filter_map(move |(to, _)| Some((to, find(from, to)?)))
}

/// Why the phase forbids a tool, if it does (S0 §8.3).
pub fn forbids(standing: Standing, denied_in_planning: bool, tool: &str) -> Option<String> {
    let forbidden =
        standing.phase == Phase::Planning && !standing.approved_plan && denied_in_planning;
    forbidden.then(|| {
        format!(
            "{tool} is denied while the conversation is in planning and no plan is approved: present a plan \
             with ExitPlanMode, and work begins when the user approves it"
        )
    })
}

/// What is missing for a transition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// A plan.
    #[error("the conversation has no approved plan")]
    ApprovedPlan,
    /// An approval that holds.
    #[error(transparent)]
    Approval(#[from] NotApproved),
    /// Tests that have passed, for each of these reasons.
    #[error("{}", list(.0))]
    Coverage(Vec<String>),
    /// A human.
    #[error("the operator has not approved the report")]
    ReportApproval,
}

/// The limit for gaps that are named.
const MAX_NAMED: usize = 8;

fn list(gaps: &[String]) -> String {
    let mut text = gaps.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join("; ");
    if gaps.len() > MAX_NAMED {
        text.push_str(&format!("; and {} more", gaps.len() - MAX_NAMED));
    }
    text
}

impl Missing {
    /// The command that supplies it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::ApprovedPlan => {
                "`ona plan list` shows the plans, `ona plan approve` approves one"
            }
            Self::Approval(_) => {
                "`ona --transition planning` starts a new round; `ona plan approve` approves a plan"
            }
            Self::Coverage(gaps) if gaps.iter().any(|gap| gap.ends_with("has no test")) => {
                "`ona test generate` has tests written, `ona test add FILE` adds one, `ona test run` runs them"
            }
            Self::Coverage(_) => {
                "`ona test run` runs the tests; `ona test show ID` shows one with its output"
            }
            Self::ReportApproval => {
                "`ona report` shows the report, `ona report approve` approves it"
            }
        }
    }
}

/// Why the phase did not change.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
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
    #[error("cannot move from {from} to {to} yet: {missing}")]
    NotYet {
        /// The current phase.
        from: Phase,
        /// The requested phase.
        to: Phase,
        /// What is missing.
        missing: Missing,
    },
}

impl Refused {
    /// What to do.
    pub fn remedy(&self) -> String {
        match self {
            Self::NotYet { missing, .. } => missing.remedy().to_owned(),
            Self::NoWay { from, .. } => {
                let names: Vec<&str> = next(*from).map(|(phase, _)| phase.as_str()).collect();
                format!(
                    "from {from} it goes to {}; `ona help phases` has the table",
                    names.join(" or ")
                )
            }
        }
    }
}

/// Why a report was not approved.
#[derive(Debug, thiserror::Error)]
pub enum NotDone {
    /// As for any transition.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It is another report by now.
    #[error("the report has changed: its hash is {now}, not {approved}")]
    OtherReport {
        /// The hash that was approved.
        approved: String,
        /// The hash it has.
        now: String,
    },
}

/// Who asks for a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// Somebody at a terminal.
    Human,
    /// A process without a terminal that no agent has started.
    System,
    /// An agent, or what it has started.
    Agent,
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Human => "human",
            Self::System => "system",
            Self::Agent => "agent",
        })
    }
}

/// A conversation whose phases are worked through.
#[derive(Clone, Debug)]
pub struct Work<'s> {
    /// The record.
    pub store: &'s Store,
    /// The conversation.
    pub conversation: ConversationId,
    /// Its project.
    pub project: PathBuf,
}

/// What there is to test, at one moment.
#[derive(Debug)]
pub struct State {
    /// The phase.
    pub standing: Standing,
    /// What is on the record.
    pub facts: TestFacts,
    /// The hash of the work tree.
    pub tree: ContentHash,
}

impl State {
    /// The approved plan, and what it was approved with.
    pub fn approved(&self) -> Result<(&PlanRow, Approved), Missing> {
        approved_in(&self.facts)
    }
}

/// The approved plan, and what it was approved with, if that holds.
pub fn approved_in(facts: &TestFacts) -> Result<(&PlanRow, Approved), Missing> {
    let plan = facts.plan.as_ref().ok_or(Missing::ApprovedPlan)?;
    Ok((plan, approved(plan, facts.approval.as_ref())?))
}

impl Work<'_> {
    /// What there is now. Reads the work tree.
    pub fn state(&self) -> Result<State, StoreError> {
        Ok(State {
            standing: self.store.standing(&self.conversation)?,
            facts: self.store.test_facts(&self.conversation)?,
            tree: tree_hash(&self.project),
        })
    }

    /// The plan of this conversation that was approved first, if that is another one, and what it was approved with. One whose
    /// approval does not hold is left out: nothing is known of that time.
    pub fn first_approved(
        &self,
        plan: &PlanRow,
    ) -> Result<Option<(PlanRow, Approved)>, StoreError> {
        let first = self.store.first_approval(&self.conversation)?;
        let earlier = first.filter(|(first, _)| first.id != plan.id);
        Ok(earlier.and_then(|(first, approval)| {
            let approved = approved(&first, Some(&approval)).ok()?;
            Some((first, approved))
        }))
    }

    /// Moves the conversation to another phase, if S0 §8.2 allows it. Returns the earlier phase. What was missing is on the
    /// record.
    pub fn transition(&self, to: Phase, by: Actor) -> Result<Result<Phase, Refused>, StoreError> {
        let from = self.store.standing(&self.conversation)?.phase;
        // A tree takes a while to be read, so that is done before, and only where it matters.
        let tree = (find(from, to) == Some(Needs::Coverage)).then(|| tree_hash(&self.project));
        self.store.change_phase_if(&self.conversation, to, &by.to_string(), &|now, facts| {
            let from = now.phase;
            let needs = find(from, to).ok_or(Refused::NoWay { from, to })?;
            let refused = |missing| Refused::NotYet { from, to, missing };
            match needs {
                Needs::ApprovedPlan if !now.approved_plan => Err(refused(Missing::ApprovedPlan)),
                Needs::Coverage => {
                    // Another process was quicker than this one has read the tree.
                    let tree = tree.clone().unwrap_or_else(|| tree_hash(&self.project));
                    covered(facts, &tree).map_err(refused)
                }
                Needs::Approval => Err(refused(Missing::ReportApproval)),
                // The signal of S0 §8.2 is part of the same commit.
                _ if (from, to) == (Phase::Implement, Phase::Test) => {
                    Ok(json!({"signal": "implementation complete"}))
                }
                Needs::Nothing | Needs::ApprovedPlan => Ok(json!({})),
            }
        })
    }

    /// A human approves the report with this hash: the work is done.
    pub fn approve_report(
        &self,
        hash: &str,
        by: Actor,
    ) -> Result<Result<Report, NotDone>, StoreError> {
        let (from, to) = (Phase::Verify, Phase::Done);
        let state = self.state()?;
        let report = match state.approved() {
            Ok((plan, approved)) => Report::of(plan, &approved.criteria, &state.facts, &state.tree),
            Err(missing) => return Ok(Err(Refused::NotYet { from, to, missing }.into())),
        };
        let row = ReportRow {
            plan_id: report.plan.id,
            report_hash: report.hash().to_string(),
            tree_hash: state.tree.to_string(),
            body: report.json().to_string(),
            approved_by: by.to_string(),
            approved_at: String::new(),
        };
        let approved = self.store.approve_report(&self.conversation, &row, &|now, facts| {
            if now.phase != from {
                return Err(NotDone::Refused(Refused::NoWay { from: now.phase, to }));
            }
            let missing = |missing| Refused::NotYet { from, to, missing };
            let detail = covered(facts, &state.tree).map_err(missing)?;
            if row.report_hash != hash || *facts != state.facts {
                return Err(NotDone::OtherReport {
                    approved: hash.to_owned(),
                    now: row.report_hash.clone(),
                });
            }
            Ok(detail)
        })?;
        Ok(approved.map(|()| report))
    }
}

/// The hash of the work tree that a project belongs to.
pub fn tree_hash(project: &Path) -> ContentHash {
    Digest::of(&work_tree(project)).hash()
}

/// Whether the coverage gate is open, and for which plan, tree and tests.
fn covered(facts: &TestFacts, tree: &ContentHash) -> Result<Value, Missing> {
    let (plan, approved) = approved_in(facts)?;
    let gaps = Matrix::of(facts, &approved.criteria, tree).gaps();
    if !gaps.is_empty() {
        return Err(Missing::Coverage(gaps.iter().map(ToString::to_string).collect()));
    }
    let tests: Vec<i64> = facts.tests.iter().map(|test| test.id).collect();
    Ok(json!({"plan": plan.id, "plan_hash": plan.hash, "tree_hash": tree, "tests": tests}))
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
    fn every_refusal_names_the_way_on() {
        let refused = Refused::NoWay { from: Phase::Implement, to: Phase::Verify };
        assert!(refused.remedy().contains("planning or test"), "{}", refused.remedy());
        for missing in [
            Missing::ApprovedPlan,
            Missing::Approval(NotApproved::NoApproval(1)),
            Missing::Coverage(vec!["SC-1 has no test".into()]),
            Missing::Coverage(vec!["test 1 of SC-1 (x): failed".into()]),
            Missing::ReportApproval,
        ] {
            assert!(missing.remedy().contains("`ona "), "{missing}");
        }
        let many = Missing::Coverage((0..20).map(|n| format!("SC-{n} has no test")).collect());
        assert!(many.to_string().ends_with("SC-7 has no test; and 12 more"));
    }

    #[test]
    fn planning_denies_what_writes_until_a_plan_is_approved() {
        let standing = |phase, approved_plan| Standing { phase, approved_plan };
        assert!(forbids(standing(Phase::Planning, false), true, "Write").is_some());
        assert!(forbids(standing(Phase::Planning, false), false, "Read").is_none());
        assert!(forbids(standing(Phase::Planning, true), true, "Write").is_none());
        assert!(forbids(standing(Phase::Implement, false), true, "Write").is_none());
    }
}
