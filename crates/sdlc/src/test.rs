//! `ona test`: has behavioural tests written by a model that has not seen the code, checks them, and runs them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use ona_cli::output::{complain, plain, print};
use ona_cli::{CliError, Options, bootstrap, record, secrets};
use ona_engine::test_author::{AuthorError, Progress, write_tests};
use ona_phases::coverage::{Known, Matrix, Tested};
use ona_phases::generation::{counted, name_fault};
use ona_phases::lint::{MAX_SCRIPT, lint};
use ona_phases::machine::{State, Work};
use ona_phases::plans::Approved;
use ona_phases::report::TestPart;
use ona_phases::run::{self, Batch};
use ona_store::{NewTest, PlanRow, RunRow, TestRow};
use ona_types::Phase;
use serde_json::{Value, json};

use crate::{conversation, done, room, shown};

/// The longest time limit for a test.
const MAX_SECONDS: u64 = 3_600;

/// What can be done about behavioural tests.
#[derive(Debug, Subcommand)]
pub enum Test {
    /// Have tests written for the approved plan, by a model that has not seen the code
    ///
    /// The author is given the plan, its criteria and the public contracts as they were when the plan was approved, and no
    /// tools. Before anything is sent it is shown that nothing written since is in it. Tests that show nothing are refused and
    /// sent back. The new tests take the place of the generated ones.
    #[command(
        after_help = "Examples:\n  ona test generate\n  ona test generate --model opus\n  ona test generate --json | jq .uncovered\n\nThe exit code is 1 if a criterion is left without a test."
    )]
    Generate {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the tests, with what came of each
    #[command(after_help = "Examples:\n  ona test list\n  ona test list --json")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a test: its script, and all that it printed
    #[command(
        after_help = "Examples:\n  ona test show 4\n  ona test show 4 --json | jq -r .script"
    )]
    Show {
        /// Number of the test
        id: i64,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Run tests, each twice, in the sandbox
    ///
    /// Every run starts in an empty directory of its own. The project can only be read, and there is no network. A test whose two
    /// runs end differently is flaky, and does not count as passed.
    #[command(
        after_help = "Examples:\n  ona test run\n  ona test run 4 5 --timeout 10\n  ona test run --json | jq .totals\n\nThe exit code is 1 if a test does not pass."
    )]
    Run {
        /// Numbers of tests; default: all
        ids: Vec<i64>,
        /// Seconds that each run of a test may take
        #[arg(long, value_name = "SECONDS", default_value_t = run::TIMEOUT.as_secs(), value_parser = clap::value_parser!(u64).range(1..=MAX_SECONDS))]
        timeout: u64,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check scripts as generated tests are checked; runs nothing
    #[command(after_help = "Examples:\n  ona test lint tests/add.sh")]
    Lint {
        /// Files; `-` is standard input
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a test that you have written; it has to pass the same check
    #[command(
        after_help = "Examples:\n  ona test add add.sh\n  ona test add add.sh --name 'adds an item'"
    )]
    Add {
        /// The script
        file: PathBuf,
        /// What it is called; default: the name of the file
        #[arg(long)]
        name: Option<String>,
    },
    /// Take a test out; it stays on the record
    #[command(after_help = "Examples:\n  ona test remove 4")]
    Remove {
        /// Number of the test
        id: i64,
    },
}

impl Test {
    /// Whether only the operator may do that: an agent that has seen the code does not choose its tests.
    pub fn is_the_operators(&self) -> bool {
        matches!(self, Self::Generate { .. } | Self::Add { .. } | Self::Remove { .. })
    }
}

/// The schema of what the author answers.
pub fn schema() -> Value {
    ona_phases::answer::schema()
}

/// Runs `ona test`.
pub fn run(cli: &Options, command: &Test) -> Result<ExitCode, CliError> {
    if let Test::Lint { files, json } = command {
        return lint_files(files, *json);
    }
    let store = record::open(cli.cwd.as_deref())?;
    let work = conversation::work(&store, cli)?;
    match command {
        Test::Generate { json } => generate(cli, &work, *json),
        Test::List { json } => list(&work, *json),
        Test::Show { id, json } => show(&work, *id, *json),
        Test::Run { ids, timeout, json } => {
            run_tests(cli, &work, ids, Duration::from_secs(*timeout), *json)
        }
        Test::Add { file, name } => add(&work, file, name.as_deref()),
        Test::Remove { id } => {
            let (test, _) = of_conversation(&work, *id)?;
            match work.store.retire_test(*id)? {
                true => done(&format!(
                    "test {id} does not count any more: {} {}\n",
                    test.criterion, test.name
                )),
                false => Err(CliError::usage(format!("test {id} was taken out already"))),
            }
        }
        Test::Lint { .. } => Ok(ExitCode::SUCCESS),
    }
}

fn unknown(id: i64) -> CliError {
    CliError::usage(format!("unknown test {id}")).hint("`ona test list` lists the tests")
}

/// The approved plan, and what it was approved with.
fn approved(state: &State) -> Result<(&PlanRow, Approved), CliError> {
    state.approved().map_err(|missing| CliError::failed(missing.to_string()).hint(missing.remedy()))
}

fn generate(cli: &Options, work: &Work<'_>, as_json: bool) -> Result<ExitCode, CliError> {
    let engine = bootstrap::engine(cli)?;
    let prepared = room::prepared(&engine, cli, &work.project)?;
    let model = prepared.model()?;
    let told = |progress: Progress| complain(&plain(&format!("{progress}\n")));
    let (written, code) = room::until_signal(async |cancel| {
        write_tests(work, &model, &told, cancel).await.map_err(|error| not_written(&error))
    })?;
    if let Some(code) = code {
        return Ok(code);
    }
    let outcome = &written.outcome;
    let mut text = match as_json {
        true => {
            let value = json!({
                "tests": written.ids, "uncovered": outcome.uncovered, "refused": outcome.refused,
                "answers": outcome.attempts, "session_id": written.seat.session,
            });
            format!("{value}\n")
        }
        false => {
            let tests = written.ids.iter().zip(&outcome.tests);
            tests
                .map(|(id, test)| format!("test {id}  {} {}\n", test.criterion, test.name))
                .collect()
        }
    };
    if !as_json {
        text.push_str(&format!(
            "{}; the author's session is {}\n",
            counted(outcome.tests.len(), outcome.attempts),
            written.seat.session
        ));
    }
    print(&plain(&text))
        .map_err(|error| CliError::failed(format!("done, but cannot print the result: {error}")))?;
    if outcome.uncovered.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let mut message = format!("no test for {}", outcome.uncovered.join(", "));
    for fault in &outcome.refused {
        message.push_str(&format!("\n  refused: {fault}"));
    }
    Err(CliError::failed(message)
        .hint("`ona test generate` tries again; `ona test add FILE` adds a test of your own"))
}

fn not_written(error: &AuthorError) -> CliError {
    let hint = match error {
        AuthorError::OtherPhase(_) => "`ona phase test` moves on once the work is done".to_owned(),
        AuthorError::Missing(missing) => missing.remedy().to_owned(),
        AuthorError::Leak(_) => {
            "nothing was sent; take it out of the plan with `ona plan edit`, or start a new round with `ona phase planning`"
                .to_owned()
        }
        AuthorError::Blindness(_) => "nothing was sent".to_owned(),
        AuthorError::Ask(_) => "`ona auth status` shows the credential, `ona doctor` the connection".to_owned(),
        AuthorError::Store(_) | AuthorError::Stopped => return CliError::failed(error.to_string()),
    };
    CliError::failed(error.to_string()).hint(hint)
}

/// A test in one line.
fn line(one: &Tested<'_>) -> String {
    let TestRow { id, criterion, surface, name, .. } = one.test;
    format!("{id:>4}  {:<9}  {criterion:<8}  {surface:<14}  {name}\n", one.known.words())
}

fn value(one: &Tested<'_>) -> Value {
    let mut value = json!(one.test);
    value["status"] = one.known.words().into();
    value["run"] = json!(one.run);
    value
}

fn list(work: &Work<'_>, as_json: bool) -> Result<ExitCode, CliError> {
    let state = work.state()?;
    let (plan, approved) = approved(&state)?;
    let matrix = Matrix::of(&state.facts, &approved.criteria, &state.tree);
    let all: Vec<&Tested<'_>> =
        matrix.rows.iter().flat_map(|row| &row.tests).chain(&matrix.untraced).collect();
    if as_json {
        let tests: Vec<Value> = all.into_iter().map(value).collect();
        return shown(&format!("{}\n", Value::from(tests)));
    }
    let mut text: String = all.into_iter().map(line).collect();
    for row in matrix.rows.iter().filter(|row| row.tests.is_empty()) {
        text.push_str(&format!(
            "   -  no test    {:<8}  {:<14}  {}\n",
            row.criterion.id, row.criterion.surface, row.criterion.text
        ));
    }
    if state.facts.tests.is_empty() {
        text.push_str(&format!(
            "plan {} has no tests yet; `ona test generate` has them written\n",
            plan.id
        ));
    }
    shown(&plain(&text))
}

fn show(work: &Work<'_>, id: i64, as_json: bool) -> Result<ExitCode, CliError> {
    let state = work.state()?;
    let Ok((plan, approved)) = approved(&state) else { return show_old(work, id, as_json) };
    let matrix = Matrix::of(&state.facts, &approved.criteria, &state.tree);
    let mut all = matrix.rows.iter().flat_map(|row| &row.tests).chain(&matrix.untraced);
    let Some(one) = all.find(|one| one.test.id == id) else {
        return show_old(work, id, as_json);
    };
    if as_json {
        return shown(&format!("{}\n", value(one)));
    }
    let report =
        ona_phases::report::Report::of(plan, &approved.criteria, &state.facts, &state.tree);
    let parts = report.criteria.iter().flat_map(|part| &part.tests).chain(&report.untraced);
    let output = parts.filter(|part| part.id == id).map(|part| part.output(&one.test.criterion));
    let text = format!("{}\n{}", one.test.script.trim_end(), output.collect::<String>());
    shown(&plain(&text))
}

/// A test of this conversation, whether it counts or not.
fn of_conversation(work: &Work<'_>, id: i64) -> Result<(TestRow, Option<RunRow>), CliError> {
    let found = work.store.test(id)?.ok_or_else(|| unknown(id))?;
    let plan = work.store.plan(found.0.plan_id)?;
    let is_here = plan.is_some_and(|plan| plan.conversation_id == work.conversation.as_str());
    match is_here {
        true => Ok(found),
        false => Err(CliError::usage(format!("test {id} is of another conversation"))
            .hint("--conversation ID names it")),
    }
}

/// A test that was taken out, or is for another plan than the one that counts.
fn show_old(work: &Work<'_>, id: i64, as_json: bool) -> Result<ExitCode, CliError> {
    let (test, run) = of_conversation(work, id)?;
    let known =
        run.as_ref().map_or(Known::Never, |run| Known::Ran(run::Status::named(&run.status)));
    if as_json {
        let tested = Tested { test: &test, run: run.as_ref(), known };
        return shown(&format!("{}\n", value(&tested)));
    }
    let part = TestPart::of(&Tested { test: &test, run: run.as_ref(), known });
    shown(&plain(&format!(
        "{}\n{}\nThis test does not count: it was taken out, or its plan is not the approved one.\n",
        test.script.trim_end(),
        part.output(&test.criterion)
    )))
}

fn run_tests(
    cli: &Options,
    work: &Work<'_>,
    ids: &[i64],
    timeout: Duration,
    as_json: bool,
) -> Result<ExitCode, CliError> {
    let state = work.state()?;
    let (_, approved) = approved(&state)?;
    let chosen: Vec<&TestRow> = match ids {
        [] => state.facts.tests.iter().collect(),
        ids => {
            let find = |id: &i64| state.facts.tests.iter().find(|test| test.id == *id);
            ids.iter().map(|id| find(id).ok_or_else(|| unknown(*id))).collect::<Result<_, _>>()?
        }
    };
    if chosen.is_empty() {
        return Err(CliError::failed("there are no tests").hint(
            "`ona test generate` has them written, `ona test add FILE` adds one of your own",
        ));
    }
    let room = room::room(cli, &work.project)?;
    let many = chosen.len();
    let (passed, code) = room::until_signal(async |cancel| {
        let batch = Batch { tests: &chosen, room: &room, tree: &state.tree, timeout };
        let told = |number: usize, test: &TestRow, row: &RunRow| {
            complain(&format!("{}\n", plain(&run::line(number, many, test, row))));
        };
        Ok(run::run_all(work, batch, &told, cancel).await?)
    })?;
    if let Some(code) = code {
        return Ok(code);
    }
    let now = work.state()?;
    let report = ona_phases::report::Report::of(
        approved_plan(&now)?,
        &approved.criteria,
        &now.facts,
        &now.tree,
    );
    let text = match as_json {
        true => format!("{}\n", report.json()),
        false => format!("{}\n", report.summary()),
    };
    print(&plain(&text))
        .map_err(|error| CliError::failed(format!("done, but cannot print the result: {error}")))?;
    if now.tree != state.tree {
        return Err(CliError::failed(
            "the work tree changed while the tests ran, so they show nothing about it",
        )
        .hint("run them again"));
    }
    if passed < many {
        return Err(CliError::failed(format!("{} of {many} tests did not pass", many - passed))
            .hint("`ona test show ID` shows a test and what it printed"));
    }
    if now.standing.phase == Phase::Test && report.uncovered.is_empty() {
        complain("`ona phase verify` moves on: every criterion is covered\n");
    }
    Ok(ExitCode::SUCCESS)
}

fn approved_plan(state: &State) -> Result<&PlanRow, CliError> {
    approved(state).map(|(plan, _)| plan)
}

fn script(file: &Path) -> Result<String, CliError> {
    let refused = |why: String| CliError::usage(format!("cannot read {}: {why}", file.display()));
    if file == Path::new("-") {
        return std::io::read_to_string(std::io::Read::take(
            std::io::stdin(),
            MAX_SCRIPT as u64 + 1,
        ))
        .map_err(|error| refused(error.to_string()));
    }
    let text = ona_files::read_text_at_most(file, MAX_SCRIPT as u64)
        .map_err(|error| refused(error.to_string()))?;
    text.ok_or_else(|| refused("no such file".to_owned()))
}

fn lint_files(files: &[PathBuf], as_json: bool) -> Result<ExitCode, CliError> {
    let (mut text, mut bad, mut values) = (String::new(), 0, Vec::new());
    for file in files {
        let linted = lint(&script(file)?, None);
        bad += usize::from(!linted.faults.is_empty());
        let faults: Vec<String> = linted.faults.iter().map(ToString::to_string).collect();
        for fault in &faults {
            text.push_str(&format!("{}: {fault}\n", file.display()));
        }
        if faults.is_empty() {
            text.push_str(&format!("{}: no fault\n", file.display()));
        }
        values.push(json!({"file": file, "faults": faults}));
    }
    let text = if as_json { format!("{}\n", Value::from(values)) } else { text };
    print(&plain(&text))
        .map_err(|error| CliError::failed(format!("cannot print the result: {error}")))?;
    match bad {
        0 => Ok(ExitCode::SUCCESS),
        some => Err(CliError::failed(format!("{some} of {} scripts have faults", files.len()))),
    }
}

fn add(work: &Work<'_>, file: &Path, name: Option<&str>) -> Result<ExitCode, CliError> {
    let state = work.state()?;
    let (plan, approved) = approved(&state)?;
    let script = script(file)?;
    let linted = lint(&script, Some(&approved.criteria));
    let header = match (&linted.header, linted.faults.is_empty()) {
        (Some(header), true) => header,
        _ => {
            let faults: Vec<String> =
                linted.faults.iter().map(|fault| format!("  {fault}")).collect();
            return Err(CliError::failed(format!(
                "{} was not added:\n{}",
                file.display(),
                faults.join("\n")
            ))
            .hint("`ona help phases` says what a test looks like"));
        }
    };
    if secrets::redactor().mask(&script) != script {
        return Err(CliError::failed(format!(
            "{} was not added: it holds something that looks like a secret, and the record keeps none",
            file.display()
        ))
        .hint("read it from the environment, or make one up in the part SETUP"));
    }
    let stem = || file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = name.map(str::to_owned).or_else(stem).unwrap_or_default();
    if let Some(fault) = name_fault(&name) {
        return Err(CliError::usage(format!("the test was not added: {fault}"))
            .hint("--name gives it another one"));
    }
    let test = NewTest {
        criterion: header.criterion.clone(),
        surface: header.surface.to_string(),
        name,
        script,
    };
    let id = work.store.add_test(plan, &test)?;
    done(&format!("test {id} for {}: {}\n", test.criterion, test.name))
}
