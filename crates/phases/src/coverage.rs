//! The coverage gate (S0 §8.6.2): every criterion has a test, and every test for one has passed, for this plan and this work
//! tree.

use ona_store::{PlanRow, RunRow, TestFacts, TestRow};
use ona_types::ContentHash;
use serde::Serialize;

use crate::criteria::Criterion;
use crate::run::Status;

/// What is known of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    /// It has run on what is there now.
    Ran(Status),
    /// It has run on something else: the code, the plan or the test has changed since.
    Stale,
    /// It has not run.
    Never,
}

impl Known {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Ran(status) => status.words(),
            Self::Stale => "stale",
            Self::Never => "not run",
        }
    }

    /// Whether it counts as passed.
    pub fn passed(self) -> bool {
        self == Self::Ran(Status::Passed)
    }
}

/// A test with what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tested<'f> {
    /// The test.
    pub test: &'f TestRow,
    /// Its latest run, whatever it was about.
    pub run: Option<&'f RunRow>,
    /// What that says now.
    pub known: Known,
}

/// A criterion with its tests.
#[derive(Clone, Debug, PartialEq)]
pub struct Covered<'f> {
    /// The criterion.
    pub criterion: &'f Criterion,
    /// The tests for it.
    pub tests: Vec<Tested<'f>>,
}

impl Covered<'_> {
    /// Whether there is a test, and all of them have passed.
    pub fn passed(&self) -> bool {
        !self.tests.is_empty() && self.tests.iter().all(|one| one.known.passed())
    }
}

/// Criterion by criterion: which tests there are, and what came of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix<'f> {
    /// Every criterion, in the order of the plan.
    pub rows: Vec<Covered<'f>>,
    /// Tests for criteria that the plan does not have. They count for nothing.
    pub untraced: Vec<Tested<'f>>,
}

/// What keeps the gate closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Gap {
    /// No test.
    #[error("{0} has no test")]
    NoTest(String),
    /// It has not passed.
    #[error("test {test} of {criterion} ({name}): {state}")]
    NotPassed {
        /// Its number.
        test: i64,
        /// Its criterion.
        criterion: String,
        /// Its name.
        name: String,
        /// What it is instead.
        state: &'static str,
    },
}

impl<'f> Matrix<'f> {
    /// What is known now, of a plan with these criteria and a work tree with this hash.
    pub fn of(facts: &'f TestFacts, criteria: &'f [Criterion], tree: &ContentHash) -> Self {
        let tested = |test: &'f TestRow| {
            let run = facts.runs.iter().find(|run| run.test_id == test.id);
            let known = match (run, &facts.plan) {
                (None, _) => Known::Never,
                (Some(run), Some(plan)) if is_about(run, test, plan, tree) => {
                    Known::Ran(Status::named(&run.status))
                }
                _ => Known::Stale,
            };
            Tested { test, run, known }
        };
        let rows = criteria.iter().map(|criterion| {
            let tests = facts.tests.iter().filter(|test| test.criterion == criterion.id);
            Covered { criterion, tests: tests.map(tested).collect() }
        });
        let is_traced = |test: &&TestRow| criteria.iter().any(|one| one.id == test.criterion);
        let untraced = facts.tests.iter().filter(|test| !is_traced(test));
        Self { rows: rows.collect(), untraced: untraced.map(tested).collect() }
    }

    /// Everything that keeps the gate closed; empty if it is open.
    pub fn gaps(&self) -> Vec<Gap> {
        let mut gaps = Vec::new();
        for Covered { criterion, tests } in &self.rows {
            if tests.is_empty() {
                gaps.push(Gap::NoTest(criterion.id.clone()));
            }
            let open = tests.iter().filter(|one| !one.known.passed());
            gaps.extend(open.map(|one| Gap::NotPassed {
                test: one.test.id,
                criterion: criterion.id.clone(),
                name: one.test.name.clone(),
                state: one.known.words(),
            }));
        }
        gaps
    }
}

/// Whether a run is about the test, the plan and the tree as they are.
fn is_about(run: &RunRow, test: &TestRow, plan: &PlanRow, tree: &ContentHash) -> bool {
    let script = ContentHash::of(test.script.as_bytes());
    run.plan_hash == plan.hash
        && test.plan_hash == plan.hash
        && run.tree_hash == tree.as_str()
        && run.script_hash == script.as_str()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::surface::Surface;

    pub(crate) fn criterion(id: &str) -> Criterion {
        Criterion {
            id: id.into(),
            text: format!("it prints {id}"),
            surface: Surface::ProcessOutput,
            inferred: false,
        }
    }

    /// A plan with hash `p`, tests for the criteria named, and runs with these states on the tree `t`.
    pub(crate) fn facts(tests: &[(&str, &str)]) -> TestFacts {
        let script = "exit 0";
        let script_hash = ContentHash::of(script.as_bytes()).to_string();
        let plan = PlanRow {
            id: 7,
            conversation_id: "c".into(),
            project_dir: "/p".into(),
            status: "approved".into(),
            content: "# Plan".into(),
            hash: "p".into(),
            created_at: String::new(),
            approved_at: None,
            phase: "test".into(),
        };
        let rows = tests.iter().zip(1..).map(|((criterion, _), id)| TestRow {
            id,
            plan_id: 7,
            plan_hash: "p".into(),
            criterion: (*criterion).into(),
            surface: "process_output".into(),
            name: format!("test {id}"),
            script: script.into(),
            script_hash: script_hash.clone(),
            origin: "generated".into(),
            created_at: String::new(),
        });
        let runs = tests.iter().zip(1..).filter(|((_, status), _)| !status.is_empty());
        let runs = runs.map(|((_, status), test_id)| RunRow {
            test_id,
            plan_hash: "p".into(),
            tree_hash: "t".into(),
            script_hash: script_hash.clone(),
            status: (*status).into(),
            reason: None,
            exit_code: Some(i32::from(*status != "passed")),
            stdout: "out <b>".into(),
            stderr: String::new(),
            second: None,
            level: "bwrap".into(),
            duration_ms: 5,
            started_at: String::new(),
        });
        TestFacts { plan: Some(plan), approval: None, tests: rows.collect(), runs: runs.collect() }
    }

    fn gaps(tests: &[(&str, &str)], tree: &str) -> Vec<String> {
        let (facts, criteria) = (facts(tests), [criterion("SC-1"), criterion("SC-2")]);
        let matrix = Matrix::of(&facts, &criteria, &ContentHash::from_hex(tree));
        matrix.gaps().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_gate_is_open_only_if_every_criterion_has_tests_and_all_passed() {
        assert_eq!(gaps(&[("SC-1", "passed"), ("SC-2", "passed")], "t"), [""; 0]);
        assert_eq!(gaps(&[("SC-1", "passed")], "t"), ["SC-2 has no test"]);
        let failed = [("SC-1", "passed"), ("SC-1", "failed"), ("SC-2", "passed")];
        assert_eq!(gaps(&failed, "t"), ["test 2 of SC-1 (test 2): failed"]);
        for (status, words) in [
            ("flaky", "flaky"),
            ("timed_out", "timed out"),
            ("not_run", "not run"),
            ("", "not run"),
            ("ok", "not run"),
        ] {
            let found = gaps(&[("SC-1", status), ("SC-2", "passed")], "t");
            assert_eq!(found, [format!("test 1 of SC-1 (test 1): {words}")]);
        }
        let other = gaps(&[("SC-1", "passed"), ("SC-2", "passed")], "u");
        assert_eq!(other.len(), 2, "another tree");
        assert!(other[0].ends_with("stale"));
    }

    #[test]
    fn what_belongs_to_no_criterion_counts_for_nothing() {
        let (facts, criteria) = (facts(&[("SC-9", "passed")]), [criterion("SC-1")]);
        let matrix = Matrix::of(&facts, &criteria, &ContentHash::from_hex("t"));
        assert_eq!(matrix.untraced.len(), 1);
        assert_eq!(matrix.gaps(), [Gap::NoTest("SC-1".into())]);
    }

    #[test]
    fn a_test_that_was_changed_by_hand_has_not_run() {
        let mut facts = facts(&[("SC-1", "passed")]);
        facts.tests[0].script = "exit 0 # changed".into();
        let criteria = [criterion("SC-1")];
        let matrix = Matrix::of(&facts, &criteria, &ContentHash::from_hex("t"));
        assert_eq!(matrix.rows[0].tests[0].known, Known::Stale);
    }
}
