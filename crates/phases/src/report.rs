//! The report that the operator reads and approves (S0 §8.7): criterion by criterion which tests there are and what came of
//! them, all that they printed, what is uncovered, and totals.

mod html;

use std::fmt::Write as _;

use ona_store::{PlanRow, TestFacts};
use ona_types::{ContentHash, canonical};
use serde::Serialize;
use serde_json::Value;

use crate::coverage::{Known, Matrix, Tested};
use crate::criteria::Criterion;
use crate::run::Status;
use crate::surface::Surface;

/// The report about a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The plan.
    pub plan: PlanPart,
    /// The hash of the work tree that was tested.
    pub tree_hash: String,
    /// Criterion by criterion.
    pub criteria: Vec<CriterionPart>,
    /// Tests for criteria that the plan does not have.
    pub untraced: Vec<TestPart>,
    /// Criteria without a test, or with one that has not passed.
    pub uncovered: Vec<String>,
    /// How many.
    pub totals: Totals,
}

/// What the report is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanPart {
    /// Its number.
    pub id: i64,
    /// Its title.
    pub title: String,
    /// Its hash.
    pub hash: String,
    /// Its conversation.
    pub conversation: String,
    /// The project.
    pub project: String,
}

/// A criterion.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CriterionPart {
    /// Its id.
    pub id: String,
    /// What it says.
    pub text: String,
    /// Where that is seen.
    pub surface: Surface,
    /// `passed`, `failed` or `uncovered`.
    pub status: &'static str,
    /// The tests for it.
    pub tests: Vec<TestPart>,
}

/// A test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestPart {
    /// Its number.
    pub id: i64,
    /// What it is called.
    pub name: String,
    /// `generated`, or `added` by hand.
    pub origin: String,
    /// What came of it: `passed`, `failed`, `flaky`, `timed out`, `stale`, `not run`.
    pub status: &'static str,
    /// What else there is to say of it.
    pub reason: Option<String>,
    /// Its exit code.
    pub exit_code: Option<i32>,
    /// All that it printed.
    pub stdout: String,
    /// All that it printed to standard error.
    pub stderr: String,
    /// The other run of a flaky test.
    pub second: Option<Value>,
    /// The level of the sandbox.
    pub level: String,
    /// How long it took.
    pub duration_ms: i64,
    /// The hash of the script.
    pub script_hash: String,
    /// The script.
    pub script: String,
}

/// The sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Criteria of the plan.
    pub criteria: usize,
    /// Of these, with tests that have all passed.
    pub covered: usize,
    /// Tests for criteria of the plan.
    pub tests: usize,
    /// Of these, passed.
    pub passed: usize,
    /// Of these, run but not passed.
    pub failed: usize,
    /// Of these, not run on what is there now.
    pub open: usize,
}

impl Report {
    /// What is known of a plan now.
    pub fn of(
        plan: &PlanRow,
        criteria: &[Criterion],
        facts: &TestFacts,
        tree: &ContentHash,
    ) -> Self {
        let matrix = Matrix::of(facts, criteria, tree);
        let mut totals = Totals { criteria: criteria.len(), ..Totals::default() };
        let mut uncovered = Vec::new();
        let mut parts = Vec::new();
        for row in &matrix.rows {
            let passed = row.passed();
            totals.covered += usize::from(passed);
            if !passed {
                uncovered.push(row.criterion.id.clone());
            }
            for one in &row.tests {
                totals.tests += 1;
                match one.known {
                    Known::Ran(Status::Passed) => totals.passed += 1,
                    Known::Ran(Status::NotRun) | Known::Stale | Known::Never => totals.open += 1,
                    Known::Ran(_) => totals.failed += 1,
                }
            }
            parts.push(CriterionPart {
                id: row.criterion.id.clone(),
                text: row.criterion.text.clone(),
                surface: row.criterion.surface,
                status: match (row.tests.is_empty(), passed) {
                    (true, _) => "uncovered",
                    (_, true) => "passed",
                    _ => "failed",
                },
                tests: row.tests.iter().map(TestPart::of).collect(),
            });
        }
        Self {
            plan: PlanPart {
                id: plan.id,
                title: title(&plan.content),
                hash: plan.hash.clone(),
                conversation: plan.conversation_id.clone(),
                project: plan.project_dir.clone(),
            },
            tree_hash: tree.to_string(),
            criteria: parts,
            untraced: matrix.untraced.iter().map(TestPart::of).collect(),
            uncovered,
            totals,
        }
    }

    /// The hash that is approved: of everything that is in the report.
    pub fn hash(&self) -> ContentHash {
        canonical::hash(self).unwrap_or_else(|_| ContentHash::of(self.text().as_bytes()))
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(object) = value.as_object_mut() {
            object.insert("hash".to_owned(), self.hash().as_str().into());
        }
        value
    }

    /// The same as a page of its own.
    pub fn html(&self) -> String {
        html::page(self)
    }

    /// The sums in one line.
    pub fn summary(&self) -> String {
        let Totals { criteria, covered, tests, passed, failed, open } = self.totals;
        let rate = (passed * 100).checked_div(tests).unwrap_or_default();
        let mut text = format!(
            "{covered} of {criteria} criteria covered; {passed} of {tests} tests passed ({rate} %)"
        );
        if failed > 0 {
            let _ = write!(text, ", {failed} failed");
        }
        if open > 0 {
            let _ = write!(text, ", {open} not run on what is there now");
        }
        text
    }

    /// The same for a person at a terminal.
    pub fn text(&self) -> String {
        let PlanPart { id, title, hash, conversation, project } = &self.plan;
        let mut text = format!(
            "Report on plan {id}: {title}\n\nproject       {project}\nconversation  {conversation}\nplan          {hash}\nwork tree     {}\n\n",
            self.tree_hash
        );
        for part in &self.criteria {
            let _ =
                writeln!(text, "{:<9} {} {} [{}]", part.status, part.id, part.text, part.surface);
            for test in &part.tests {
                let _ =
                    writeln!(text, "          {:<9} test {} {}", test.status, test.id, test.name);
            }
        }
        let _ = writeln!(text, "\n{}", self.summary());
        if !self.uncovered.is_empty() {
            let _ = writeln!(text, "uncovered: {}", self.uncovered.join(", "));
        }
        for test in &self.untraced {
            let _ = writeln!(
                text,
                "not counted: test {} {} (the plan has no such criterion)",
                test.id, test.name
            );
        }
        for part in &self.criteria {
            for test in &part.tests {
                text.push_str(&test.output(&part.id));
            }
        }
        text
    }
}

impl TestPart {
    /// What there is to say of a test.
    pub fn of(one: &Tested<'_>) -> Self {
        let Tested { test, run, known } = one;
        // What a test printed about something else would only mislead.
        let run = run.filter(|_| matches!(known, Known::Ran(_)));
        Self {
            id: test.id,
            name: test.name.clone(),
            origin: test.origin.clone(),
            status: known.words(),
            reason: run.and_then(|run| run.reason.clone()),
            exit_code: run.and_then(|run| run.exit_code),
            stdout: run.map(|run| run.stdout.clone()).unwrap_or_default(),
            stderr: run.map(|run| run.stderr.clone()).unwrap_or_default(),
            second: run
                .and_then(|run| run.second.as_deref())
                .and_then(|text| serde_json::from_str(text).ok()),
            level: run.map(|run| run.level.clone()).unwrap_or_default(),
            duration_ms: run.map(|run| run.duration_ms).unwrap_or_default(),
            script_hash: test.script_hash.clone(),
            script: test.script.clone(),
        }
    }

    /// How it ended, in a few words.
    pub fn ending(&self) -> String {
        let mut words = Vec::new();
        if let Some(code) = self.exit_code {
            words.push(format!("exit code {code}"));
        }
        words.extend(self.reason.clone());
        if !self.level.is_empty() {
            words.push(format!("{} ms in two runs, sandbox {}", self.duration_ms, self.level));
        }
        words.join(", ")
    }

    /// All that it printed.
    pub fn output(&self, criterion: &str) -> String {
        let mut text =
            format!("\n--- test {} of {criterion}: {} ({})", self.id, self.name, self.status);
        let ending = self.ending();
        if !ending.is_empty() {
            let _ = write!(text, ", {ending}");
        }
        text.push('\n');
        for (name, stream) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !stream.is_empty() {
                let _ = writeln!(text, "{name}:");
                for line in stream.lines() {
                    let _ = writeln!(text, "  {line}");
                }
            }
        }
        text
    }
}

/// The first line of a plan that says something.
pub fn title(plan: &str) -> String {
    let line =
        plan.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
    line.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::tests::{criterion, facts};

    fn report(tests: &[(&str, &str)]) -> Report {
        let facts = facts(tests);
        let criteria = [criterion("SC-1"), criterion("SC-2")];
        Report::of(facts.plan.as_ref().unwrap(), &criteria, &facts, &ContentHash::from_hex("t"))
    }

    #[test]
    fn it_says_what_is_covered_and_what_is_not() {
        let report = report(&[("SC-1", "passed"), ("SC-1", "flaky"), ("SC-3", "passed")]);
        assert_eq!(report.uncovered, ["SC-1", "SC-2"]);
        let expected = Totals { criteria: 2, covered: 0, tests: 2, passed: 1, failed: 1, open: 0 };
        assert_eq!(report.totals, expected);
        let text = report.text();
        for part in [
            "Report on plan 7: Plan",
            "failed    SC-1 it prints SC-1 [process_output]",
            "          passed    test 1 test 1",
            "          flaky     test 2 test 2",
            "uncovered SC-2",
            "0 of 2 criteria covered; 1 of 2 tests passed (50 %), 1 failed",
            "not counted: test 3",
            "stdout:\n  out <b>",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn its_hash_is_that_of_its_content() {
        let one = report(&[("SC-1", "passed"), ("SC-2", "passed")]);
        assert_eq!(one.hash(), report(&[("SC-1", "passed"), ("SC-2", "passed")]).hash());
        assert_ne!(one.hash(), report(&[("SC-1", "passed"), ("SC-2", "failed")]).hash());
        assert_eq!(one.json()["hash"], one.hash().as_str());
        assert_eq!(one.uncovered, [""; 0]);
    }

    #[test]
    fn a_page_acts_on_nothing_and_needs_nothing() {
        let mut report = report(&[("SC-1", "passed"), ("SC-2", "failed")]);
        report.criteria[0].text = "<script>alert(1)</script> & \"more\"".into();
        let page = report.html();
        assert!(page.starts_with("<!doctype html>"));
        assert!(!page.contains("<script") && !page.contains("http:") && !page.contains("https:"));
        for part in ["&lt;script&gt;", "out &lt;b&gt;", "1 of 2", report.hash().as_str()] {
            assert!(page.contains(part), "{part}");
        }
    }
}
