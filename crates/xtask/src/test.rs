//! `cargo xtask test`: everything that must pass, in one command.
//!
//! Required programs, build, test suite, doc tests, acceptance rows, in this order.
//! It stops at the first failure and prints the times at the end.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::mcp;
use crate::needs::{self, Need};
use crate::process;

#[derive(clap::Args)]
pub struct Args {
    /// Skip the rows of docs/ACCEPTANCE_MATRIX.md
    #[arg(long)]
    no_acceptance: bool,
    /// More arguments for `cargo nextest run` (or `cargo test`), such as a test's name
    #[arg(last = true, value_name = "NEXTEST ARGS")]
    runner_args: Vec<String>,
}

/// The programs that tests and acceptance rows need, each with its Debian package.
const NEEDS: [Need; 9] = [
    ("bash", "bash"),
    ("perl", "perl-base"),
    ("git", "git"),
    ("script", "bsdutils"),
    ("setpriv", "util-linux"),
    ("kill", "procps"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("sqlite3", "sqlite3"),
];

/// What the strongest levels of the sandbox need. A machine may have it and not allow it: tests say so.
const WANTED: [Need; 1] = [("bwrap", "bubblewrap")];

/// The tests use every language, also those whose grammar the first build omits.
const ALL_GRAMMARS: [&str; 2] = ["--features", "ona/all-grammars"];

pub fn run(root: &Path, args: &Args) -> Result<()> {
    let mut steps = Steps { done: Vec::new() };
    let result = run_steps(root, args, &mut steps);
    steps.print();
    result
}

fn run_steps(root: &Path, args: &Args, steps: &mut Steps) -> Result<()> {
    let cargo = |arguments: &[&str]| {
        let mut command = process::cargo();
        command.args(arguments).current_dir(root);
        command
    };
    steps.run("needs", || {
        needs::provide_if_possible(&WANTED);
        needs::provide(&NEEDS)
    })?;
    steps.run("build", || {
        let build = ["build", "--locked", "--workspace", "--all-targets"];
        process::run(cargo(&build).args(ALL_GRAMMARS))
    })?;
    if process::has_cargo_subcommand("nextest") {
        steps.run("test suite", || {
            let nextest = ["nextest", "run", "--locked", "--workspace"];
            process::run(cargo(&nextest).args(ALL_GRAMMARS).args(&args.runner_args))
        })?;
        // nextest does not run doc tests; `cargo test` does.
        steps.run("doc tests", || {
            process::run(cargo(&["test", "--locked", "--workspace", "--doc"]).args(ALL_GRAMMARS))
        })?;
    } else {
        steps.run("test suite and doc tests", || {
            let test = ["test", "--locked", "--workspace"];
            process::run(cargo(&test).args(ALL_GRAMMARS).args(&args.runner_args))
        })?;
    }
    if !args.no_acceptance {
        steps.run("MCP servers and client of npm", || mcp::run(root, &mcp::Args::default()))?;
        steps.run("acceptance rows", || {
            process::run(Command::new("bash").arg("scripts/sdlc-acceptance.sh").current_dir(root))
        })?;
    }
    Ok(())
}

/// Steps with a heading before each and their times at the end.
struct Steps {
    done: Vec<(&'static str, Duration, bool)>,
}

impl Steps {
    fn run(&mut self, name: &'static str, step: impl FnOnce() -> Result<()>) -> Result<()> {
        println!("\n== {name}");
        let start = Instant::now();
        let result = step();
        self.done.push((name, start.elapsed(), result.is_ok()));
        result.with_context(|| format!("step `{name}`"))
    }

    fn print(&self) {
        println!("\n== times");
        for (name, time, passed) in &self.done {
            let outcome = if *passed { "" } else { "  FAILED" };
            println!("{:>7.1} s  {name}{outcome}", time.as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn a_failed_step_is_named_and_timed() {
        let mut steps = Steps { done: Vec::new() };
        assert!(steps.run("first", || Ok(())).is_ok());
        let error = steps.run("second", || bail!("cause")).err();
        assert_eq!(error.map(|e| format!("{e:#}")).as_deref(), Some("step `second`: cause"));
        let outcome: Vec<_> = steps.done.iter().map(|(name, _, ok)| (*name, *ok)).collect();
        assert_eq!(outcome, [("first", true), ("second", false)]);
    }
}
