//! Behavioural tests in a session: having them written, and running them, with what is told meanwhile.

use std::path::PathBuf;

use ona_engine::Agent;
use ona_engine::test_author::{AuthorError, write_tests};
use ona_front::{CoreEnd, Event, Reply};
use ona_gate::governance::NoLevel;
use ona_phases::generation::counted;
use ona_phases::machine::{Missing, Work};
use ona_phases::report::Report;
use ona_phases::run::{self, Batch};
use ona_store::{RunRow, StoreError, TestRow};
use tokio_util::sync::CancellationToken;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Testing {
    /// Tests are to be written.
    Generate,
    /// Tests are to be run: these, or all.
    Run(Vec<i64>),
}

/// Why there is nothing to be glad of. The user reads it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TestingError {
    /// The tests were not written.
    #[error(transparent)]
    Author(#[from] AuthorError),
    /// Some criteria have no test.
    #[error("{written}; no test for {}", uncovered.join(", "))]
    Uncovered {
        /// What was written.
        written: String,
        /// The criteria.
        uncovered: Vec<String>,
    },
    /// There is no plan, or its approval does not hold.
    #[error("{missing}: {}", missing.remedy())]
    Missing {
        /// It.
        #[from]
        missing: Missing,
    },
    /// There is no such test.
    #[error("unknown test {0}; /test lists the tests")]
    Unknown(i64),
    /// There is none.
    #[error("there are no tests; /test generate has them written")]
    NoTests,
    /// There is no sandbox.
    #[error("tests do not run without a sandbox: {0}")]
    NoSandbox(#[from] NoLevel),
    /// The user stopped it.
    #[error("stopped")]
    Stopped,
    /// What was tested is not there any more.
    #[error(
        "the work tree changed while the tests ran, so they show nothing about it: run them again"
    )]
    TreeChanged,
    /// Some did not pass.
    #[error("{0}; /test show ID shows a test and what it printed")]
    NotPassed(String),
    /// The record failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Does it.
pub(crate) async fn run(
    agent: &Agent,
    front: &CoreEnd,
    testing: Testing,
    cancel: &CancellationToken,
) -> Result<String, TestingError> {
    let gate = &agent.session().gate;
    let seat = gate.seat();
    let work = Work {
        store: gate.store(),
        conversation: seat.conversation.clone(),
        project: PathBuf::from(&seat.project_dir),
    };
    match testing {
        Testing::Generate => generate(agent, &work, front, cancel).await,
        Testing::Run(ids) => run_tests(agent, &work, &ids, front, cancel).await,
    }
}

fn tell(front: &CoreEnd, text: String) {
    front.tell(Event::Reply { command: "test".to_owned(), reply: Reply::Plain { text } });
}

async fn generate(
    agent: &Agent,
    work: &Work<'_>,
    front: &CoreEnd,
    cancel: &CancellationToken,
) -> Result<String, TestingError> {
    let told = |progress: ona_engine::test_author::Progress| tell(front, progress.to_string());
    let written = write_tests(work, agent.model_handle(), &told, cancel).await;
    let outcome = written?.outcome;
    let written = counted(outcome.tests.len(), outcome.attempts);
    match outcome.uncovered.is_empty() {
        true => Ok(format!("{written}; /test run runs them")),
        false => Err(TestingError::Uncovered { written, uncovered: outcome.uncovered }),
    }
}

async fn run_tests(
    agent: &Agent,
    work: &Work<'_>,
    ids: &[i64],
    front: &CoreEnd,
    cancel: &CancellationToken,
) -> Result<String, TestingError> {
    let state = work.state()?;
    let (plan, approved) = state.approved()?;
    let chosen: Vec<&TestRow> = match ids {
        [] => state.facts.tests.iter().collect(),
        ids => {
            let find = |id: &i64| state.facts.tests.iter().find(|test| test.id == *id);
            let known = ids.iter().map(|id| find(id).ok_or(TestingError::Unknown(*id)));
            known.collect::<Result<_, _>>()?
        }
    };
    if chosen.is_empty() {
        return Err(TestingError::NoTests);
    }
    let room = agent.session().gate.governance.test_room(&work.project)?;
    let many = chosen.len();
    let told = |number: usize, test: &TestRow, row: &RunRow| {
        tell(front, run::line(number, many, test, row));
    };
    let batch = Batch { tests: &chosen, room: &room, tree: &state.tree, timeout: run::TIMEOUT };
    let passed = run::run_all(work, batch, &told, cancel).await?;
    if cancel.is_cancelled() {
        return Err(TestingError::Stopped);
    }
    let now = work.state()?;
    if now.tree != state.tree {
        return Err(TestingError::TreeChanged);
    }
    let report = Report::of(plan, &approved.criteria, &now.facts, &now.tree);
    match passed == many {
        true if report.uncovered.is_empty() => {
            Ok(format!("{}; /phase verify moves on", report.summary()))
        }
        true => Ok(report.summary()),
        false => Err(TestingError::NotPassed(report.summary())),
    }
}
