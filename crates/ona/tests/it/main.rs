//! Black-box tests: the real binary, real files, a real database.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
#![allow(clippy::disallowed_methods, reason = "tests start programs")]

mod agent_files;
mod agent_names;
mod agents;
mod answers;
mod bad_input;
mod bash;
mod blame;
mod changes;
mod cli;
mod conversation;
mod crash;
mod credentials;
mod debug;
mod doctor;
mod edit;
mod effort;
mod environment;
mod every_tool;
mod extensions;
mod first_answers;
mod first_words;
mod foreign;
mod gate;
mod headless;
mod help;
mod holes;
mod hooks;
mod init;
mod intent_gate;
mod intent_scope;
mod intents;
mod leaks;
mod login;
mod mcp;
mod mcp_serve;
mod memory;
mod memory_offer;
mod no_room;
mod notebook;
mod operator;
mod phases;
mod pictures;
mod plugins;
mod print;
mod prune;
mod read;
mod repl;
mod roles;
mod sandbox;
mod search;
mod secrets;
mod serve;
mod servers;
mod session_tools;
mod sessions;
mod settings;
mod site;
mod skills;
mod spending;
mod starts;
mod structured;
mod trace;
mod trust;
mod turns;
mod ways;
mod web_fetch;
mod web_search;
mod wire;

use std::time::{Duration, Instant};

use ona_testkit::Project;
use ona_testkit::pty::{Exit, PtyOptions};

fn project() -> Project {
    Project::new(env!("CARGO_BIN_EXE_ona"))
}

/// A plan that can be approved, with this one criterion.
fn plan_with(criterion: &str) -> String {
    format!("# The plan\n\n1. Do it\n\n## Success criteria\n\n- {criterion}\n")
}

/// A plan that can be approved.
fn plan() -> String {
    plan_with("`cat x` prints x")
}

/// A command that asks the operator at a terminal, who says yes. Returns what was shown.
#[track_caller]
fn says_yes(project: &Project, args: &[&str]) -> String {
    let pty = project.pty(args, PtyOptions::default());
    pty.wait_for("[y/N]");
    pty.line("y");
    assert_eq!(pty.wait_exit(), Exit::Code(0), "{}", pty.whole());
    pty.whole()
}

/// Waits for what is to come.
#[track_caller]
fn until(what: &str, is_there: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_there() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what} never came");
        std::thread::yield_now();
    }
}
