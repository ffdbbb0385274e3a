//! The phases of a conversation (S0 §8), in a project of Node.js: plans, tests written blind, the coverage gate, the report.

mod blind;
mod cycle;
mod gates;
mod plans;
mod runs;

use ona_provider::scripted::{Reply, Server};
use ona_testkit::pty::PtyOptions;
use ona_testkit::{Project, Ran, git, run};
use serde_json::{Value, json};

use crate::print::anthropic;
use crate::{project, says_yes};

/// The plan of a list of things to do. Its second criterion has no tag.
const PLAN: &str = "\
# A list of things to do

`todo.mjs` keeps items in `todo.txt` of the current directory. docs/usage.md describes it.

## Success criteria

- [id: ADD] [surface: file_state] `node todo.mjs add TEXT` adds a line with TEXT to `todo.txt`
- `node todo.mjs list` prints every item with its number, from 1
";

/// What the agent writes: the numbers begin with 0.
const WRONG: &str = "\
import { appendFileSync, readFileSync } from 'node:fs';

const [command, ...words] = process.argv.slice(2);
const readItems = () => readFileSync('todo.txt', 'utf8').trimEnd().split('\\n');

if (command === 'add') appendFileSync('todo.txt', `${words.join(' ')}\\n`);
if (command === 'list') readItems().forEach((item, index) => console.log(`${index}. ${item}`));
";

/// The same with the right numbers.
fn right() -> String {
    WRONG.replace("${index}.", "${index + 1}.")
}

/// A test script.
fn script(criterion: &str, surface: &str, parts: [&str; 3]) -> String {
    let [setup, exercise, assert] = parts;
    format!(
        "# CRITERION: {criterion}\n# SURFACE: {surface}\n# SETUP\n{setup}\n# EXERCISE\n{exercise}\n# ASSERT\n{assert}\n"
    )
}

fn adds() -> String {
    let parts = [
        "",
        "node \"$PROJECT/todo.mjs\" add oat milk",
        "[ \"$(cat todo.txt)\" = 'oat milk' ] || exit 1",
    ];
    script("ADD", "file_state", parts)
}

fn lists() -> String {
    let parts = [
        "printf 'milk\\nbread\\n' > todo.txt",
        "OUT=$(node \"$PROJECT/todo.mjs\" list)\necho \"$OUT\"",
        "[ \"$OUT\" = \"$(printf '1. milk\\n2. bread')\" ] || { echo 'wrong list' >&2; exit 1; }",
    ];
    script("SC-1", "process_output", parts)
}

fn test(criterion: &str, surface: &str, name: &str, script: &str) -> Value {
    json!({"criterion": criterion, "surface": surface, "name": name, "script": script})
}

/// What the author of the tests answers.
fn both_tests() -> String {
    json!({"tests": [
        test("ADD", "file_state", "adds an item", &adds()),
        test("SC-1", "process_output", "lists with numbers", &lists()),
    ]})
    .to_string()
}

/// A project of Node.js with its documentation, under git.
fn todo_project() -> Project {
    let project = project();
    project.file("docs/usage.md", "# Usage\n\nItems are kept in todo.txt, one on each line.\n");
    project.file(".gitignore", "ignored/\n");
    git(&project.dir(), &["init", "-q"]);
    git(&project.dir(), &["add", "."]);
    git(&project.dir(), &["commit", "-q", "-m", "begin"]);
    project
}

/// ona's answer to a command.
fn ona(project: &Project, args: &[&str]) -> Ran {
    run(&mut project.ona(args))
}

/// A command that must end well.
#[track_caller]
fn ok(project: &Project, args: &[&str]) -> String {
    let ran = ona(project, args);
    assert_eq!(ran.code, Some(0), "{args:?}: {}{}", ran.stdout, ran.stderr);
    ran.stdout
}

/// A command that must be refused. Returns what it says.
#[track_caller]
fn refused(project: &Project, args: &[&str]) -> String {
    let ran = ona(project, args);
    assert_eq!(ran.code, Some(1), "{args:?}: {}{}", ran.stdout, ran.stderr);
    ran.stderr
}

/// A terminal command that must be refused. Returns what is shown.
#[track_caller]
fn refused_at_terminal(project: &Project, args: &[&str]) -> String {
    let pty = project.pty(args, PtyOptions::default());
    assert_eq!(pty.wait_exit(), ona_testkit::pty::Exit::Code(1), "{}", pty.whole());
    pty.whole()
}

/// An operator begins planning and submits this plan. It is a draft.
#[track_caller]
fn submits(project: &Project, plan: &str) {
    ok(project, &["--transition", "planning"]);
    let call = json!({"tool": "ExitPlanMode", "input": {"plan": plan}}).to_string();
    ok(project, &["--eval", &call]);
}

/// A project whose plan is approved.
fn with_plan(plan: &str) -> Project {
    let project = todo_project();
    submits(&project, plan);
    says_yes(&project, &["plan", "approve"]);
    project
}

/// A project in the phase test, whose program is this.
fn at_test(program: &str) -> Project {
    let project = with_plan(PLAN);
    project.file("todo.mjs", program);
    ok(&project, &["--transition", "test"]);
    project
}

/// Adds a test by hand. Returns its number.
#[track_caller]
fn adds_test(project: &Project, name: &str, script: &str) -> String {
    let file = project.home().join(format!("{name}.sh"));
    std::fs::write(&file, script).unwrap();
    let said = ok(project, &["test", "add", file.to_str().unwrap(), "--name", name]);
    said.split_whitespace().nth(1).unwrap().to_owned()
}

fn phase(project: &Project) -> String {
    project.sql("SELECT phase FROM conversations").concat()
}

/// A model that answers so, one after the other, when it is asked for tests.
fn author(answers: &[&str]) -> Server {
    Server::start(answers.iter().map(|answer| Reply::say(*answer)).collect::<Vec<_>>()).unwrap()
}

fn generates(project: &Project, server: &Server) -> Ran {
    run(&mut anthropic(project, server, &["test", "generate"]))
}
