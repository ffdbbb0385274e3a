//! `cargo xtask test`: everything that must pass, in one command.
//!
//! Required programs, build, test suite, doc tests, acceptance rows, in this order.
//! It stops at the first failure and prints the times at the end.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::mcp;
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
const NEEDS: [(&str, &str); 8] = [
    ("bash", "bash"),
    ("git", "git"),
    ("script", "bsdutils"),
    ("setpriv", "util-linux"),
    ("kill", "procps"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("sqlite3", "sqlite3"),
];

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
    steps.run("needs", provide_needs)?;
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

/// Finds the programs of [`NEEDS`]; installs missing ones if possible.
fn provide_needs() -> Result<()> {
    let missing = missing();
    if missing.is_empty() {
        println!("found {}", NEEDS.map(|(program, _)| program).join(", "));
        return Ok(());
    }
    let may_install = process::find_program("apt-get").is_some() && is_root();
    if !may_install {
        bail!("{}", how_to_install(&missing));
    }
    let packages = missing.iter().map(|(_, package)| package);
    println!("installing {}", names(&missing, ", "));
    process::run(apt_get().arg("update"))?;
    process::run(apt_get().args(["install", "-y", "--no-install-recommends"]).args(packages))?;
    match self::missing() {
        still if still.is_empty() => Ok(()),
        still => bail!("{}", how_to_install(&still)),
    }
}

type Need = (&'static str, &'static str);

fn missing() -> Vec<Need> {
    NEEDS.into_iter().filter(|(program, _)| process::find_program(program).is_none()).collect()
}

fn names(needs: &[Need], separator: &str) -> String {
    needs.iter().map(|(program, _)| *program).collect::<Vec<_>>().join(separator)
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn is_root() -> bool {
    process::capture(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

fn how_to_install(missing: &[Need]) -> String {
    let packages = missing.iter().map(|(_, package)| *package).collect::<Vec<_>>().join(" ");
    // Other distributions have other package names for these two.
    let fedora = packages.replace("sqlite3", "sqlite").replace("bsdutils", "util-linux");
    format!(
        "the tests need {}, which PATH does not find. Install with one of\n  \
         sudo apt-get install {packages}\n  \
         sudo dnf install {fedora}",
        names(missing, " and "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_missing_and_how_to_get_it() {
        let text = how_to_install(&[("git", "git"), ("sqlite3", "sqlite3")]);
        assert!(text.starts_with("the tests need git and sqlite3, which PATH does not find."));
        assert!(text.contains("apt-get install git sqlite3\n"));
        assert!(text.contains("dnf install git sqlite"));
    }

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
