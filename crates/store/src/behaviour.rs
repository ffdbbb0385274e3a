//! Behavioural tests on the record (S0 §8.5 to §8.7): what a plan was approved with, the tests for it, what came of
//! running them, and the report that a human approved.

use ona_types::{ContentHash, ConversationId, Entry, Phase, PlanBaseline};
use rusqlite::{OptionalExtension, Row};
use serde::Serialize;
use serde_json::{Value, json};

use crate::changes::{complete, hash_of};
use crate::conversations::Seat;
use crate::error::StoreError;
use crate::phases::{PhaseMove, Standing, move_phase, standing};
use crate::plans::{PlanRow, approved_plan, find};
use crate::rows::{Bind, Connection, Key, MaybeKey, Transaction};
use crate::store::{Failure, Store};
use crate::tool_calls::{event_of, touch};
use crate::transcript::append;

/// The approval of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanApproval {
    /// The hash that was approved.
    pub plan_hash: String,
    /// Who approved it.
    pub approved_by: String,
    /// What was there at that moment.
    pub baseline: PlanBaseline,
    /// The hash of all of it.
    pub seal: String,
    /// When.
    pub created_at: String,
}

/// A behavioural test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TestRow {
    /// Its number.
    pub id: i64,
    /// The plan it is for.
    pub plan_id: i64,
    /// The hash of the plan it was written for.
    pub plan_hash: String,
    /// The criterion it is for.
    pub criterion: String,
    /// What it looks at.
    pub surface: String,
    /// What it is called.
    pub name: String,
    /// The script.
    pub script: String,
    /// The hash of that.
    pub script_hash: String,
    /// `generated`, or `added` by hand.
    pub origin: String,
    /// When it came.
    pub created_at: String,
}

/// A new test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTest {
    /// The criterion it is for.
    pub criterion: String,
    /// What it looks at.
    pub surface: String,
    /// What it is called.
    pub name: String,
    /// The script.
    pub script: String,
}

/// What came of running a test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunRow {
    /// Which test.
    pub test_id: i64,
    /// The hash of the plan at that time.
    pub plan_hash: String,
    /// The hash of the work tree.
    pub tree_hash: String,
    /// The hash of the script that ran.
    pub script_hash: String,
    /// `passed`, `failed`, `flaky`, `timed_out` or `not_run`.
    pub status: String,
    /// What else there is to say of it.
    pub reason: Option<String>,
    /// Its exit code, if it ended by itself.
    pub exit_code: Option<i32>,
    /// All that it printed.
    pub stdout: String,
    /// All that it printed to standard error.
    pub stderr: String,
    /// The second run, as JSON, where it differed.
    pub second: Option<String>,
    /// The level of the sandbox.
    pub level: String,
    /// How long it took.
    pub duration_ms: i64,
    /// When it began.
    pub started_at: String,
}

/// Everything that the gates of the phases are about, read at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestFacts {
    /// The approved plan.
    pub plan: Option<PlanRow>,
    /// How it was approved. A row that was written by hand has none.
    pub approval: Option<PlanApproval>,
    /// The tests for it, in order.
    pub tests: Vec<TestRow>,
    /// The latest run of each, in the order of the tests.
    pub runs: Vec<RunRow>,
}

/// A report that was approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReportRow {
    /// The plan it is about.
    pub plan_id: i64,
    /// The hash that was approved.
    pub report_hash: String,
    /// The hash of the work tree it is about.
    pub tree_hash: String,
    /// The report, as JSON.
    pub body: String,
    /// Who approved it.
    pub approved_by: String,
    /// When.
    pub approved_at: String,
}

/// One attempt to have tests written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GenerationRow {
    /// Its number.
    pub id: i64,
    /// The session of the author.
    pub author: String,
    /// All that the author was given.
    pub input: String,
    /// The hash of that.
    pub input_hash: String,
    /// How many files, commits and the like it was compared with.
    pub checked: i64,
    /// `running`, `done`, `stopped` or `failed`.
    pub outcome: String,
    /// Why.
    pub detail: Option<String>,
    /// When it began.
    pub created_at: String,
}

/// A generation to be begun.
#[derive(Clone, Copy, Debug)]
pub struct NewGeneration<'a> {
    /// The author's session.
    pub seat: &'a Seat,
    /// The plan.
    pub plan_id: i64,
    /// All that the author is given.
    pub input: &'a str,
    /// How much it was compared with.
    pub checked: usize,
    /// The same as entries of the author's session.
    pub entries: &'a [Entry],
}

/// What decides about a change of phase once everything it depends on is read, in the same commit.
pub type Condition<'a, E> = &'a dyn Fn(Standing, &TestFacts) -> Result<Value, E>;

impl Store {
    /// What the gates of the phases are about.
    pub fn test_facts(&self, conversation: &ConversationId) -> Result<TestFacts, StoreError> {
        self.read(|c| facts(c, conversation))
    }

    /// The plan of a conversation that was approved first, with its approval.
    pub fn first_approval(
        &self,
        conversation: &ConversationId,
    ) -> Result<Option<(PlanRow, PlanApproval)>, StoreError> {
        self.read(|c| {
            let sql = "SELECT a.plan_id FROM plan_approvals a JOIN plans p ON p.id = a.plan_id
                WHERE p.conversation_id = ?1 ORDER BY a.plan_id LIMIT 1";
            let first: Option<i64> =
                c.query_row(sql, [Key(conversation.as_str())], |row| row.get(0)).optional()?;
            let Some(id) = first else { return Ok(None) };
            Ok(find(c, id)?.zip(approval(c, id)?))
        })
    }

    /// Moves a conversation to another phase if a condition is met by what is on the record in this very commit (S0 §4.8). A
    /// refused attempt is recorded too. The inner result is the earlier phase, or why it was refused.
    pub fn change_phase_if<E: std::fmt::Display>(
        &self,
        conversation: &ConversationId,
        to: Phase,
        by: &str,
        condition: Condition<'_, E>,
    ) -> Result<Result<Phase, E>, StoreError> {
        self.write(|tx| {
            let now = standing(tx, conversation)?;
            match condition(now, &facts(tx, conversation)?) {
                Ok(detail) => {
                    let moved = PhaseMove { from: now.phase, to, by, detail: &detail };
                    move_phase(tx, conversation, None, &moved)?;
                    Ok(Ok(now.phase))
                }
                Err(why) => {
                    let detail =
                        json!({"from": now.phase, "to": to, "by": by, "missing": why.to_string()});
                    event_of(tx, conversation, None, "phase.refused", &detail)?;
                    Ok(Err(why))
                }
            }
        })
    }

    /// Records that a change of phase was refused before anything was looked at.
    pub fn phase_refused(
        &self,
        conversation: &ConversationId,
        to: Phase,
        by: &str,
        missing: &str,
    ) -> Result<(), StoreError> {
        self.write(|tx| {
            let from = standing(tx, conversation)?.phase;
            let detail = json!({"from": from, "to": to, "by": by, "missing": missing});
            event_of(tx, conversation, None, "phase.refused", &detail)
        })
    }

    /// A test by its number, also one that was taken out or is for an earlier plan, with its latest run.
    pub fn test(&self, id: i64) -> Result<Option<(TestRow, Option<RunRow>)>, StoreError> {
        self.read(|c| {
            let sql = format!("SELECT {TEST_COLUMNS} FROM behavioral_tests WHERE id = ?1");
            let Some(test) = c.query_row(&sql, [id], test_row).optional()? else { return Ok(None) };
            let sql = format!(
                "SELECT {RUN_COLUMNS} FROM behavioral_runs WHERE test_id = ?1 ORDER BY id DESC LIMIT 1"
            );
            Ok(Some((test, c.query_row(&sql, [id], run_row).optional()?)))
        })
    }

    /// Begins a generation: what the author is given is on the record before it is sent.
    pub fn begin_generation(&self, new: &NewGeneration<'_>) -> Result<i64, StoreError> {
        self.write(|tx| {
            let input = tx.masked(new.input).into_owned();
            tx.execute(
                "INSERT INTO test_generations(plan_id, author, input, input_hash, checked)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                (
                    new.plan_id,
                    Key(new.seat.session.as_str()),
                    input.as_str(),
                    Key(ContentHash::of(input.as_bytes()).as_str()),
                    new.checked as i64,
                ),
            )?;
            let id = tx.last_insert_rowid();
            for entry in new.entries {
                append(tx, &new.seat.session, None, entry)?;
            }
            touch(tx, new.seat)?;
            Ok(id)
        })
    }

    /// Ends a generation. Its tests replace the generated ones there were for the same plan.
    pub fn end_generation(
        &self,
        id: i64,
        outcome: &str,
        detail: &str,
        tests: &[NewTest],
    ) -> Result<Vec<i64>, StoreError> {
        self.write(|tx| {
            tx.execute(
                "UPDATE test_generations SET outcome = ?2, detail = ?3 WHERE id = ?1",
                (id, Key(outcome), detail),
            )?;
            let (plan_id, conversation): (i64, String) = tx.query_row(
                "SELECT g.plan_id, p.conversation_id FROM test_generations g
                 JOIN plans p ON p.id = g.plan_id WHERE g.id = ?1",
                [id],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            if !tests.is_empty() {
                tx.execute(
                    "UPDATE behavioral_tests SET retired_at = datetime('now')
                     WHERE plan_id = ?1 AND origin = 'generated' AND retired_at IS NULL",
                    [plan_id],
                )?;
            }
            let mut ids = Vec::new();
            for test in tests {
                ids.push(add(tx, plan_id, test, Some(id))?);
            }
            let conversation = ConversationId::from_existing(conversation);
            let told = json!({"generation": id, "plan": plan_id, "outcome": outcome, "detail": detail, "tests": ids});
            event_of(tx, &conversation, None, "tests.generated", &told)?;
            Ok(ids)
        })
    }

    /// The latest generation for a plan.
    pub fn latest_generation(&self, plan_id: i64) -> Result<Option<GenerationRow>, StoreError> {
        self.read(|c| {
            let sql = "SELECT id, author, input, input_hash, checked, outcome, detail, created_at
                FROM test_generations WHERE plan_id = ?1 ORDER BY id DESC LIMIT 1";
            let row = c.query_row(sql, [plan_id], |row| {
                Ok(GenerationRow {
                    id: row.get(0)?,
                    author: row.get(1)?,
                    input: row.get(2)?,
                    input_hash: row.get(3)?,
                    checked: row.get(4)?,
                    outcome: row.get(5)?,
                    detail: row.get(6)?,
                    created_at: row.get(7)?,
                })
            });
            Ok(row.optional()?)
        })
    }

    /// Adds a test that was written by hand.
    pub fn add_test(&self, plan: &PlanRow, test: &NewTest) -> Result<i64, StoreError> {
        self.write(|tx| {
            let id = add(tx, plan.id, test, None)?;
            let conversation = ConversationId::from_existing(plan.conversation_id.clone());
            let told = json!({"test": id, "plan": plan.id, "criterion": test.criterion});
            event_of(tx, &conversation, None, "test.added", &told)?;
            Ok(id)
        })
    }

    /// Takes a test out. It stays on the record. False if there is no such test.
    pub fn retire_test(&self, id: i64) -> Result<bool, StoreError> {
        self.write(|tx| {
            let sql = "UPDATE behavioral_tests SET retired_at = datetime('now')
                WHERE id = ?1 AND retired_at IS NULL";
            Ok(tx.execute(sql, [id])? > 0)
        })
    }

    /// Keeps what came of running tests, in one commit.
    pub fn keep_runs(
        &self,
        conversation: &ConversationId,
        runs: &[RunRow],
    ) -> Result<(), StoreError> {
        self.write(|tx| {
            for run in runs {
                tx.execute(
                    "INSERT INTO behavioral_runs(test_id, plan_hash, tree_hash, script_hash, status, reason,
                         exit_code, stdout, stderr, second, level, duration_ms)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
                    &[
                        &run.test_id as &dyn Bind,
                        &Key(&run.plan_hash),
                        &Key(&run.tree_hash),
                        &Key(&run.script_hash),
                        &Key(&run.status),
                        &run.reason.as_deref(),
                        &run.exit_code,
                        &run.stdout.as_str(),
                        &run.stderr.as_str(),
                        &run.second.as_deref(),
                        &Key(&run.level),
                        &run.duration_ms,
                    ][..],
                )?;
                let detail = json!({"test": run.test_id, "status": run.status, "tree": run.tree_hash});
                event_of(tx, conversation, None, "test.run", &detail)?;
            }
            Ok(())
        })
    }

    /// A human approves a report: the work is done, if a condition is met by what is on the record in this very commit.
    pub fn approve_report<E: std::fmt::Display>(
        &self,
        conversation: &ConversationId,
        report: &ReportRow,
        condition: Condition<'_, E>,
    ) -> Result<Result<(), E>, StoreError> {
        self.write(|tx| {
            let now = standing(tx, conversation)?;
            if let Err(why) = condition(now, &facts(tx, conversation)?) {
                let detail = json!({
                    "from": now.phase, "to": Phase::Done, "by": report.approved_by, "missing": why.to_string()
                });
                event_of(tx, conversation, None, "phase.refused", &detail)?;
                return Ok(Err(why));
            }
            tx.execute(
                "INSERT INTO test_reports(plan_id, conversation_id, report_hash, tree_hash, body, approved_by)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                (
                    report.plan_id,
                    Key(conversation.as_str()),
                    Key(&report.report_hash),
                    Key(&report.tree_hash),
                    report.body.as_str(),
                    Key(&report.approved_by),
                ),
            )?;
            complete(tx, report.plan_id)?;
            let detail = json!({"report": report.report_hash, "plan": report.plan_id});
            event_of(tx, conversation, None, "report.approved", &detail)?;
            let by = &report.approved_by;
            let moved = PhaseMove { from: now.phase, to: Phase::Done, by, detail: &detail };
            move_phase(tx, conversation, None, &moved)?;
            Ok(Ok(()))
        })
    }

    /// The report that was approved last in a conversation.
    pub fn approved_report(
        &self,
        conversation: &ConversationId,
    ) -> Result<Option<ReportRow>, StoreError> {
        self.read(|c| {
            let sql = "SELECT plan_id, report_hash, tree_hash, body, approved_by, approved_at
                FROM test_reports WHERE conversation_id = ?1 ORDER BY id DESC LIMIT 1";
            let row = c.query_row(sql, [Key(conversation.as_str())], |row| {
                Ok(ReportRow {
                    plan_id: row.get(0)?,
                    report_hash: row.get(1)?,
                    tree_hash: row.get(2)?,
                    body: row.get(3)?,
                    approved_by: row.get(4)?,
                    approved_at: row.get(5)?,
                })
            });
            Ok(row.optional()?)
        })
    }
}

fn add(
    tx: &Transaction<'_>,
    plan_id: i64,
    test: &NewTest,
    generation: Option<i64>,
) -> Result<i64, Failure> {
    let script = tx.masked(&test.script).into_owned();
    tx.execute(
        "INSERT INTO behavioral_tests(plan_id, plan_hash, criterion, surface, name, script, script_hash, origin,
             generation_id)
         VALUES (?1, (SELECT hash FROM plans WHERE id = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        (
            plan_id,
            Key(&test.criterion),
            Key(&test.surface),
            test.name.as_str(),
            script.as_str(),
            Key(ContentHash::of(script.as_bytes()).as_str()),
            Key(if generation.is_some() { "generated" } else { "added" }),
            generation,
        ),
    )?;
    Ok(tx.last_insert_rowid())
}

/// Keeps what there was when a plan was approved.
pub(crate) fn keep_approval(
    tx: &Transaction<'_>,
    plan_id: i64,
    by: &str,
    baseline: &PlanBaseline,
) -> Result<(), Failure> {
    // The criteria and contracts are texts of a project, and may hold secrets.
    let baseline = &PlanBaseline {
        criteria: tx.masked(&baseline.criteria).into_owned(),
        contracts: tx.masked(&baseline.contracts).into_owned(),
        ..baseline.clone()
    };
    let plan_hash = hash_of(tx, plan_id)?;
    tx.execute(
        "INSERT OR REPLACE INTO plan_approvals(plan_id, plan_hash, approved_by, criteria, contracts, commit_id, tree_hash,
             tree, seal)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        &[
            &plan_id as &dyn Bind,
            &Key(&plan_hash),
            &Key(by),
            &Key(&baseline.criteria),
            &Key(&baseline.contracts),
            &MaybeKey(baseline.commit.as_deref()),
            &Key(baseline.tree_hash.as_str()),
            &baseline.tree.as_slice(),
            &Key(baseline.seal(&plan_hash).as_str()),
        ][..],
    )?;
    Ok(())
}

/// How a plan was approved.
fn approval(c: &Connection, plan: i64) -> Result<Option<PlanApproval>, Failure> {
    let approval = c
        .query_row(
            "SELECT plan_hash, approved_by, criteria, contracts, commit_id, tree_hash, tree, seal, created_at
             FROM plan_approvals WHERE plan_id = ?1",
            [plan],
            |row| {
                Ok(PlanApproval {
                    plan_hash: row.get(0)?,
                    approved_by: row.get(1)?,
                    baseline: PlanBaseline {
                        criteria: row.get(2)?,
                        contracts: row.get(3)?,
                        commit: row.get(4)?,
                        tree_hash: ContentHash::from_hex(row.get::<_, String>(5)?),
                        tree: row.get(6)?,
                    },
                    seal: row.get(7)?,
                    created_at: row.get(8)?,
                })
            },
        )
        .optional()?;
    Ok(approval)
}

fn facts(c: &Connection, conversation: &ConversationId) -> Result<TestFacts, Failure> {
    let Some(plan) = approved_plan(c, conversation)? else { return Ok(TestFacts::default()) };
    let approval = approval(c, plan.id)?;
    let mut tests = c.prepare(&format!(
        "SELECT {TEST_COLUMNS} FROM behavioral_tests
         WHERE plan_id = ?1 AND retired_at IS NULL ORDER BY id"
    ))?;
    let tests: Vec<TestRow> = tests.query_map([plan.id], test_row)?.collect::<Result<_, _>>()?;
    let mut latest = c.prepare(&format!(
        "SELECT {RUN_COLUMNS} FROM behavioral_runs WHERE test_id = ?1 ORDER BY id DESC LIMIT 1"
    ))?;
    let mut runs = Vec::new();
    for test in &tests {
        runs.extend(latest.query_row([test.id], run_row).optional()?);
    }
    Ok(TestFacts { plan: Some(plan), approval, tests, runs })
}

/// In the order of [`test_row`].
const TEST_COLUMNS: &str =
    "id, plan_id, plan_hash, criterion, surface, name, script, script_hash, origin, created_at";
/// In the order of [`run_row`].
const RUN_COLUMNS: &str = "test_id, plan_hash, tree_hash, script_hash, status, reason, exit_code, stdout, stderr, \
    second, level, duration_ms, started_at";

fn test_row(row: &Row<'_>) -> rusqlite::Result<TestRow> {
    Ok(TestRow {
        id: row.get(0)?,
        plan_id: row.get(1)?,
        plan_hash: row.get(2)?,
        criterion: row.get(3)?,
        surface: row.get(4)?,
        name: row.get(5)?,
        script: row.get(6)?,
        script_hash: row.get(7)?,
        origin: row.get(8)?,
        created_at: row.get(9)?,
    })
}

fn run_row(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    Ok(RunRow {
        test_id: row.get(0)?,
        plan_hash: row.get(1)?,
        tree_hash: row.get(2)?,
        script_hash: row.get(3)?,
        status: row.get(4)?,
        reason: row.get(5)?,
        exit_code: row.get(6)?,
        stdout: row.get(7)?,
        stderr: row.get(8)?,
        second: row.get(9)?,
        level: row.get(10)?,
        duration_ms: row.get(11)?,
        started_at: row.get(12)?,
    })
}
