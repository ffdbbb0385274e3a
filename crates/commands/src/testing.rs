//! Behavioural tests in a session: having them written, and running them, with what is told meanwhile.

use std::path::PathBuf;

use ona_engine::Agent;
use ona_engine::test_author::write_tests;
use ona_front::{CoreEnd, Event, Reply};
use ona_phases::machine::Work;
use ona_phases::report::Report;
use ona_phases::run::{self, Batch};
use ona_store::{RunRow, TestRow};
use tokio_util::sync::CancellationToken;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Testing {
    /// Tests are to be written.
    Generate,
    /// Tests are to be run: these, or all.
    Run(Vec<i64>),
}

/// Does it. The error is for the user.
pub(crate) async fn run(
    agent: &Agent,
    front: &CoreEnd,
    testing: Testing,
    cancel: &CancellationToken,
) -> Result<String, String> {
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
) -> Result<String, String> {
    let told = |progress: ona_engine::test_author::Progress| tell(front, progress.to_string());
    let written = write_tests(work, agent.model_handle(), &told, cancel).await;
    let outcome = written.map_err(|error| error.to_string())?.outcome;
    let found = format!("{} tests in {} answers", outcome.tests.len(), outcome.attempts);
    match outcome.uncovered.is_empty() {
        true => Ok(format!("{found}; /test run runs them")),
        false => Err(format!("{found}; no test for {}", outcome.uncovered.join(", "))),
    }
}

async fn run_tests(
    agent: &Agent,
    work: &Work<'_>,
    ids: &[i64],
    front: &CoreEnd,
    cancel: &CancellationToken,
) -> Result<String, String> {
    let said = |error: ona_store::StoreError| error.to_string();
    let state = work.state().map_err(said)?;
    let (plan, approved) = state.approved().map_err(|missing| missing.to_string())?;
    let chosen: Vec<&TestRow> = match ids {
        [] => state.facts.tests.iter().collect(),
        ids => {
            let find = |id: &i64| state.facts.tests.iter().find(|test| test.id == *id);
            let unknown = |id: &i64| format!("unknown test {id}; /test lists the tests");
            ids.iter().map(|id| find(id).ok_or_else(|| unknown(id))).collect::<Result<_, _>>()?
        }
    };
    if chosen.is_empty() {
        return Err("there are no tests; /test generate has them written".to_owned());
    }
    let room = agent.session().gate.governance.test_room(&work.project);
    let room = room.map_err(|why| format!("tests do not run without a sandbox: {why}"))?;
    let many = chosen.len();
    let told = |number: usize, test: &TestRow, row: &RunRow| {
        tell(front, run::line(number, many, test, row));
    };
    let batch = Batch { tests: &chosen, room: &room, tree: &state.tree, timeout: run::TIMEOUT };
    let passed = run::run_all(work, batch, &told, cancel).await.map_err(said)?;
    if cancel.is_cancelled() {
        return Err("stopped".to_owned());
    }
    let now = work.state().map_err(said)?;
    if now.tree != state.tree {
        return Err("the work tree changed while the tests ran, so they show nothing about it: run them again".to_owned());
    }
    let report = Report::of(plan, &approved.criteria, &now.facts, &now.tree);
    match passed == many {
        true if report.uncovered.is_empty() => {
            Ok(format!("{}; /phase verify moves on", report.summary()))
        }
        true => Ok(report.summary()),
        false => {
            Err(format!("{}; /test show ID shows a test and what it printed", report.summary()))
        }
    }
}
