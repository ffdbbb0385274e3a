//! Running behavioural tests (S0 §8.6): one after the other, each twice, each time in a new place.

use std::time::{Duration, Instant};

use ona_sandbox::{ChildOutcome, Ending};
use ona_store::{RunRow, StoreError, TestRow};
use ona_types::ContentHash;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::machine::Work;
use crate::room::{Job, Room, RoomError};

/// How long a test may run, if nobody says otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// How much a test may print to each stream. All of it is kept, so there is a limit.
pub const MAX_OUTPUT: usize = 4 << 20;

/// What came of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It ended with 0 both times.
    Passed,
    /// It did not.
    Failed,
    /// The two runs ended differently. It shows nothing.
    Flaky,
    /// It took too long.
    TimedOut,
    /// It could not be run.
    NotRun,
}

/// Each status and its name on the record.
const STATUS: [(Status, &str); 5] = [
    (Status::Passed, "passed"),
    (Status::Failed, "failed"),
    (Status::Flaky, "flaky"),
    (Status::TimedOut, "timed_out"),
    (Status::NotRun, "not_run"),
];

impl Status {
    /// Its name on the record.
    pub fn as_str(self) -> &'static str {
        STATUS[self as usize].1
    }

    /// By its name; an unknown one is no run.
    pub fn named(name: &str) -> Self {
        STATUS.iter().find(|row| row.1 == name).map_or(Self::NotRun, |row| row.0)
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::TimedOut => "timed out",
            Self::NotRun => "not run",
            other => other.as_str(),
        }
    }
}

/// One run of a test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Once {
    status: Status,
    reason: Option<String>,
    exit_code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Tests to be run, and how.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The tests, in order.
    pub tests: &'a [&'a TestRow],
    /// Where.
    pub room: &'a Room,
    /// The hash of the work tree.
    pub tree: &'a ContentHash,
    /// How long each run of a test may take.
    pub timeout: Duration,
}

/// Runs tests one after the other, and keeps what comes of each as soon as it is known. How many have passed; fewer are run
/// if it is interrupted.
pub async fn run_all(
    work: &Work<'_>,
    batch: Batch<'_>,
    told: &(dyn Fn(usize, &TestRow, &RunRow) + Sync),
    cancel: &CancellationToken,
) -> Result<usize, StoreError> {
    let mut passed = 0;
    for (number, test) in batch.tests.iter().enumerate() {
        let Some(row) = run(test, batch.room, batch.tree, batch.timeout, cancel).await else {
            break;
        };
        work.store.keep_runs(&work.conversation, std::slice::from_ref(&row))?;
        passed += usize::from(row.status == Status::Passed.as_str());
        told(number + 1, test, &row);
    }
    Ok(passed)
}

/// What came of a test, in one line.
pub fn line(number: usize, of: usize, test: &TestRow, row: &RunRow) -> String {
    let why = row.reason.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
    let status = Status::named(&row.status).words();
    format!("{number} of {of}  {status:<9}  {} {}{why}", test.criterion, test.name)
}

/// Runs a test. `None` if it was interrupted.
async fn run(
    test: &TestRow,
    room: &Room,
    tree: &ContentHash,
    timeout: Duration,
    cancel: &CancellationToken,
) -> Option<RunRow> {
    let started = Instant::now();
    let first = once(test, room, timeout, cancel).await?;
    let mut row = RunRow {
        test_id: test.id,
        plan_hash: test.plan_hash.clone(),
        tree_hash: tree.to_string(),
        script_hash: test.script_hash.clone(),
        status: String::new(),
        reason: None,
        exit_code: first.exit_code,
        stdout: first.stdout.clone(),
        stderr: first.stderr.clone(),
        second: None,
        level: room.level().to_string(),
        duration_ms: 0,
        started_at: String::new(),
    };
    // What takes too long does so again, and what did not start will not.
    let second = match first.status {
        Status::Passed | Status::Failed => Some(once(test, room, timeout, cancel).await?),
        _ => None,
    };
    let status = match &second {
        Some(second) if second.status != first.status => {
            row.reason = Some(format!(
                "the first run {}, the second {}",
                first.status.words(),
                second.status.words()
            ));
            row.second = serde_json::to_string(second).ok();
            Status::Flaky
        }
        _ => {
            row.reason = first.reason;
            first.status
        }
    };
    row.status = status.as_str().to_owned();
    row.duration_ms = i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX);
    Some(row)
}

async fn once(
    test: &TestRow,
    room: &Room,
    timeout: Duration,
    cancel: &CancellationToken,
) -> Option<Once> {
    let job = Job {
        script: &test.script,
        cwd: None,
        record: needs_record(&test.script),
        timeout,
        cap: MAX_OUTPUT,
    };
    match room.run(job, cancel).await {
        Ok(done) => ended(&done, timeout),
        Err(error) => Some(not_run(&error)),
    }
}

/// Whether a script may use ona's record.
fn needs_record(script: &str) -> bool {
    script.contains("AGENT_SDLC_DB")
        || script.split(|c: char| !c.is_alphanumeric()).any(|word| word == "ona")
}

fn not_run(error: &RoomError) -> Once {
    Once {
        status: Status::NotRun,
        reason: Some(error.to_string()),
        exit_code: None,
        stdout: String::new(),
        stderr: String::new(),
    }
}

fn ended(done: &ChildOutcome, timeout: Duration) -> Option<Once> {
    let too_much = done.stdout.truncated || done.stderr.truncated;
    let (status, reason, exit_code) = match done.ending {
        Ending::Interrupted => return None,
        Ending::TimedOut => {
            let reason = format!("stopped after {} s", timeout.as_secs());
            (Status::TimedOut, Some(reason), None)
        }
        Ending::Signalled(signal) => {
            (Status::Failed, Some(format!("ended by signal {signal}")), None)
        }
        Ending::Exited(code) if too_much => {
            let reason = format!(
                "it printed more than {} MB, so not all of it could be kept",
                MAX_OUTPUT >> 20
            );
            (Status::Failed, Some(reason), Some(code))
        }
        Ending::Exited(0) => (Status::Passed, None, Some(0)),
        Ending::Exited(code) => (Status::Failed, None, Some(code)),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut stderr = text(&done.stderr.bytes);
    // No setting opens more for a test.
    let note = ona_sandbox::confine::refusal_lines(&done.refused);
    if !note.is_empty() {
        if !stderr.is_empty() && !stderr.ends_with('\n') {
            stderr.push('\n');
        }
        stderr.push_str(&note);
    }
    Some(Once { status, reason, exit_code, stdout: text(&done.stdout.bytes), stderr })
}
