//! `cargo xtask bench`: measures the figures of docs/PERFORMANCE.md.
//!
//! It measures whole processes, as a user starts them: the release binary
//! with its own home, database and working directory. Where another
//! program does the same work, the figure is a ratio of medians over
//! alternating runs, so that a busy machine slows both alike. A program that is
//! not installed costs its row, not the run.

mod build;
mod intents;
mod measure;
mod memories;
mod sandbox;
mod servers;
mod table;
mod terminal;
mod tree;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{metadata, process};
use measure::{Race, median_of, race, timed};
use table::{Limit, Row};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// Write the table to docs/PERFORMANCE.md, between its markers
    #[arg(long, global = true)]
    write: bool,
}

/// What to measure instead of the program.
#[derive(clap::Subcommand)]
enum What {
    /// Build ona in release in an empty directory: time, CPU time, packages, size of the binary
    Build,
}

// The limits, from the design's table of measures. It has no row for a whole `--eval` (a
// start plus a Read in a turn), for one append (a trace append, as appends per second) and for
// Glob (as Grep).
const START: Limit = Limit::at_most(5.0, 2.0, "ms");
const EVAL_READ: Limit = Limit::at_most(15.0, 4.0, "ms");
const READ: Limit = Limit::at_most(2.0, 0.7, "ms");
const READ_AND_QUESTION: Limit = Limit::at_most(5.0, 1.0, "ms");
const HOOK: Limit = Limit::at_most(1.15, 1.05, "×");
const TURN: Limit = Limit::at_most(25.0, 12.0, "ms");
const GROWN: Limit = Limit::at_most(1.2, 1.0, "×");
const LONG: Limit = Limit::at_most(1.2, 1.0, "×");
const APPENDS: Limit = Limit::at_least(200.0, 5000.0, "/s");
const GREP: Limit = Limit::at_most(1.15, 1.0, "×");
const GLOB: Limit = Limit::at_most(1.5, 1.1, "×");
const MEMORY: Limit = Limit::at_most(35.0, 20.0, "MB");

const SEARCH_RUNS: usize = 7;
const HASHED_MB: usize = 256;

pub fn run(root: &Path, args: &Args) -> Result<()> {
    let (place, rows) = match args.what {
        Some(What::Build) => (table::Place::Build, build::rows(root)?),
        None => (table::Place::Program, program(root)?),
    };
    let table = format!("{}\n{}\n", table::render(&rows), machine());
    println!("{table}");
    let missed = rows.iter().filter(|row| row.misses()).count();
    if missed > 0 {
        eprintln!("{missed} figures miss their limit");
    }
    if args.write {
        let path = root.join("docs/PERFORMANCE.md");
        let page =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        fs::write(&path, table::put_into(&page, place, &table)?)?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}

/// The figures of the program.
fn program(root: &Path) -> Result<Vec<Row>> {
    eprintln!("building ona in release");
    process::run(cargo(root, &["build", "--package", "ona"]).arg("--quiet"))?;
    let bench = Bench::new(root)?;
    let mut rows = vec![build::binary(&bench.ona)?, bench.start()?, bench.read()?];
    rows.extend(bench.turns()?);
    rows.extend(bench.starts()?);
    rows.extend(bench.pipeline()?);
    rows.extend(bench.rules()?);
    rows.extend(bench.sandbox()?);
    rows.push(bench.appends()?);
    rows.extend(bench.intents()?);
    rows.extend(bench.memories()?);
    rows.extend(bench.servers()?);
    rows.extend(bench.terminal()?);
    eprintln!("making a tree of {} files", tree::FILES);
    tree::make(&bench.tree)?;
    rows.push(bench.grep_content()?);
    rows.push(bench.grep_files()?);
    rows.push(bench.glob_fd()?);
    rows.push(bench.glob_find()?);
    rows.extend(bench.sha256()?);
    rows.push(bench.memory()?);
    Ok(rows)
}

/// A release command of cargo, `verb` and its arguments first.
fn cargo(root: &Path, verb: &[&str]) -> Command {
    let mut command = process::cargo();
    command.args(verb).args(["--release", "--locked"]).current_dir(root);
    command
}

/// The binary under test and its temporary environment.
struct Bench {
    root: PathBuf,
    ona: PathBuf,
    /// Deleted at the end, with its content.
    world: TempDir,
    tree: PathBuf,
}

impl Bench {
    fn new(root: &Path) -> Result<Self> {
        let ona = metadata::load(root)?.target_directory.join("release/ona");
        let world = tempfile::Builder::new().prefix("ona-bench-").tempdir()?;
        let tree = world.path().join("tree");
        let bench = Self { root: root.to_owned(), ona, world, tree };
        fs::create_dir(bench.world.path().join("home"))?;
        fs::create_dir(bench.project())?;
        fs::write(bench.small_file(), "one small file\nof two lines\n")?;
        process::capture(bench.isolated(&bench.ona).arg("--init-db"))?;
        Ok(bench)
    }

    fn project(&self) -> PathBuf {
        self.world.path().join("project")
    }

    fn small_file(&self) -> PathBuf {
        self.project().join("small.txt")
    }

    /// `program` without this user's settings, keys or database.
    fn isolated(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.world.path().join("home"))
            .env("AGENT_SDLC_DB", self.world.path().join("agent.db"))
            .current_dir(self.project());
        command
    }

    /// Runs one tool through `ona --eval` in `directory`; its result must contain `expected`.
    fn eval(&self, directory: &Path, call: &Value, expected: &str) -> Result<Duration> {
        let mut command = self.isolated(&self.ona);
        command.arg("--eval").arg(call.to_string()).current_dir(directory);
        let (time, output) = timed(&mut command)?;
        check_outcome(&output, expected).with_context(|| format!("ona --eval '{call}'"))?;
        Ok(time)
    }

    fn read_call(&self) -> Value {
        json!({"tool": "Read", "input": {"file_path": self.small_file()}})
    }

    fn start(&self) -> Result<Row> {
        let time = median_of(50, || {
            let (time, output) = timed(self.isolated(&self.ona).arg("--version"))?;
            succeeded(&output).context("ona --version")?;
            Ok(time)
        })?;
        Ok(Row::new("`ona --version`, start to end", milliseconds(time), START))
    }

    fn read(&self) -> Result<Row> {
        let call = self.read_call();
        let time = median_of(30, || self.eval(&self.project(), &call, "one small file"))?;
        let work = "`ona --eval` Read of a small file, whole process";
        Ok(Row::new(work, milliseconds(time), EVAL_READ))
    }

    /// Headless turns against a scripted model, without the model's own time. The limit applies to the compacted session;
    /// the session without compaction is only shown.
    fn turns(&self) -> Result<[Row; 8]> {
        let labels = ["plain_ms", "call_ms", "compacted_ms", "live_ms"];
        let next_labels = ["next_plain_ms", "next_compacted_ms", "next_live_ms"];
        let ona = self.ona.to_string_lossy();
        let text = self.example_output("ona", "turns", &[&ona])?;
        let [plain, call, compacted, live] = figures(&text, labels)?;
        let [next, next_compacted, next_live] = figures(&text, next_labels)?;
        let [busy_mb, live_mb] = figures(&text, ["busy_mb", "live_mb"])?;
        let against = |long: f64, new: f64| format!("{long:.1} against {new:.1} ms");
        let next_turn = "the next turn of a process";
        Ok([
            Row::new("`ona -p`, a plain turn, whole process", plain, TURN),
            Row::new("each Read of a turn with 50, its question to the model included", call, READ_AND_QUESTION),
            Row::new(
                "the plain turn in a session with 10,000 entries, compacted when it was full, against a new session",
                compacted / plain,
                LONG,
            )
            .noted(against(compacted, plain)),
            Row::plain("the same, all 10,000 entries live", live / plain, "×")
                .noted(against(live, plain)),
            Row::plain(
                format!("{next_turn} in the compacted session, against a new session"),
                next_compacted / next,
                "×",
            )
            .noted(against(next_compacted, next)),
            Row::plain(
                format!("{next_turn} with all 10,000 entries live, against a new session"),
                next_live / next,
                "×",
            )
            .noted(against(next_live, next)),
            Row::new("`ona -p` with 50 calls, peak memory", busy_mb, MEMORY),
            Row::new("`ona -p` with all 10,000 entries live, peak memory", live_mb, MEMORY),
        ])
    }

    /// Starts with a large record, against starts with an empty one.
    fn starts(&self) -> Result<[Row; 2]> {
        let labels = ["eval_empty_ms", "eval_grown_ms", "continue_empty_ms", "continue_grown_ms"];
        let ona = self.ona.to_string_lossy();
        let text = self.example_output("ona", "starts", &[&ona])?;
        let [eval, eval_grown, going_on, going_on_grown] = figures(&text, labels)?;
        let record = "in a record of 5,000 sessions and 1,000,000 entries, against an empty one";
        let row = |what: &str, grown: f64, empty: f64| {
            Row::new(format!("{what} {record}"), grown / empty, GROWN)
                .noted(format!("{grown:.1} against {empty:.1} ms"))
        };
        Ok([
            row("`ona --eval` Read", eval_grown, eval),
            row("`ona -p --continue`", going_on_grown, going_on),
        ])
    }

    /// The gate inside a process: a call without hooks, then the cost of hooks.
    fn pipeline(&self) -> Result<[Row; 3]> {
        let labels = ["read_ms", "shell_ms", "one_hook_ratio", "ten_hooks_ratio"];
        let [read, shell, one, ten] = self.example("ona-engine", "pipeline", labels)?;
        let against = format!("`bash -lc true` alone: {shell:.1} ms");
        Ok([
            Row::new("one Read in a session: gates, run, durable commit", read, READ),
            Row::new("one trivial hook, against its shell alone", one, HOOK).noted(against.clone()),
            Row::new("each of ten hooks, against its shell alone", ten, HOOK).noted(against),
        ])
    }

    fn rules(&self) -> Result<[Row; 2]> {
        let [bash, edit] = self.example("ona-policy", "rules", ["bash_us", "edit_us"])?;
        Ok([
            Row::plain("1,000 rules judge a command line of three commands", bash, "µs"),
            Row::plain("1,000 rules judge an edit", edit, "µs"),
        ])
    }

    fn appends(&self) -> Result<Row> {
        let [value] = self.example("ona-store", "appends", ["appends_per_second"])?;
        Ok(Row::new("durable transcript appends, one commit each", value, APPENDS))
    }

    fn grep_content(&self) -> Result<Row> {
        let call = json!({"tool": "Grep", "input": {
            "pattern": tree::NEEDLE, "output_mode": "content", "-n": true, "head_limit": 0,
        }});
        let args = ["--line-number", tree::NEEDLE, "."];
        self.search("Grep, content", &call, &RIPGREP, &args, Some(GREP))
    }

    fn grep_files(&self) -> Result<Row> {
        let call = json!({"tool": "Grep", "input": {
            "pattern": tree::NEEDLE, "output_mode": "files_with_matches", "head_limit": 0,
        }});
        let args = ["--files-with-matches", tree::NEEDLE, "."];
        self.search("Grep, files", &call, &RIPGREP, &args, Some(GREP))
    }

    fn glob_fd(&self) -> Result<Row> {
        // Glob sees hidden and ignored files, so fd must too.
        let arguments = ["--hidden", "--no-ignore", "--type", "f", "--glob", "*.rs", "."];
        // fd neither reads times nor sorts, so there is no limit: it only shows the cost of the walk.
        self.search("Glob", &glob_call(), &FD, &arguments, None)
    }

    fn glob_find(&self) -> Result<Row> {
        // With the times that Glob sorts by: the same work.
        let args = [".", "-type", "f", "-name", "*.rs", "-printf", "%T@ %p\\n"];
        self.search("Glob", &glob_call(), &FIND, &args, Some(GLOB))
    }

    /// One search of ona, alternating with `rival` on the same tree.
    fn search(
        &self,
        work: &str,
        call: &Value,
        rival: &Rival,
        args: &[&str],
        limit: Option<Limit>,
    ) -> Result<Row> {
        let work = format!("{work}, {} files, against `{}`", tree::FILES, rival.name);
        let Some(program) = rival.find() else {
            return Ok(Row::without(work, rival.how_to_install, limit));
        };
        let result = race(
            SEARCH_RUNS,
            || self.eval(&self.tree, call, ".rs"),
            || {
                let mut command = self.isolated(&program);
                let (time, output) = timed(command.args(args).current_dir(&self.tree))?;
                succeeded(&output).with_context(|| rival.name.to_owned())?;
                Ok(time)
            },
        )?;
        Ok(ratio(work, &result, limit))
    }

    /// The speed of our hashing, and its ratio to a known fast one.
    fn sha256(&self) -> Result<Vec<Row>> {
        let [own] = self.example("ona-types", "sha256", ["sha256_mb_per_second"])?;
        let mut rows = vec![Row::plain("SHA-256", own, "MB/s")];
        let work = "SHA-256, against";
        let rivals = [(&OPENSSL, &["dgst", "-sha256"][..]), (&SHA256SUM, &[][..])];
        let Some((rival, program, args)) =
            rivals.into_iter().find_map(|(rival, args)| Some((rival, rival.find()?, args)))
        else {
            let work = format!("{work} `{}`", OPENSSL.name);
            rows.push(Row::without(work, OPENSSL.how_to_install, None));
            return Ok(rows);
        };
        let data = self.world.path().join("data");
        write_data(&data)?;
        let time = median_of(5, || {
            let (time, output) = timed(self.isolated(&program).args(args).arg(&data))?;
            succeeded(&output).with_context(|| rival.name.to_owned())?;
            Ok(time)
        })?;
        fs::remove_file(&data)?;
        let theirs = HASHED_MB as f64 / time.as_secs_f64();
        rows.push(
            Row::plain(format!("{work} `{}`", rival.name), theirs / own, "×")
                .noted(format!("{own:.0} against {theirs:.0} MB/s")),
        );
        Ok(rows)
    }

    /// Peak resident memory, measured by GNU time.
    fn memory(&self) -> Result<Row> {
        let work = "`ona --eval` Read, peak memory";
        let Some(time) = TIME.find() else {
            return Ok(Row::without(work, TIME.how_to_install, Some(MEMORY)));
        };
        let mut command = self.isolated(&time);
        command.args(["-f", "%M"]).arg(&self.ona).arg("--eval").arg(self.read_call().to_string());
        let output = process::output(&mut command)?;
        check_outcome(&output, "one small file")?;
        let said = String::from_utf8_lossy(&output.stderr);
        let kilobytes: f64 = said
            .lines()
            .last()
            .and_then(|line| line.trim().parse().ok())
            .with_context(|| format!("GNU time printed no figure: {said}"))?;
        Ok(Row::new(work, kilobytes * 1024.0 / 1e6, MEMORY))
    }

    /// The figures that an example of `package` prints after `labels`.
    fn example<const N: usize>(
        &self,
        package: &str,
        example: &str,
        labels: [&str; N],
    ) -> Result<[f64; N]> {
        let text = self.example_output(package, example, &[])?;
        figures(&text, labels).with_context(|| format!("example {example} of {package}"))
    }

    /// The output of an example.
    fn example_output(&self, package: &str, example: &str, args: &[&str]) -> Result<String> {
        eprintln!("running the example {example} of {package}");
        let verb = ["run", "--quiet", "--package", package, "--example", example];
        let mut command = cargo(&self.root, &verb);
        process::capture(command.arg("--").args(args))
    }
}

/// A program that does the same work, or measures it.
struct Rival {
    name: &'static str,
    programs: &'static [&'static str],
    how_to_install: &'static str,
}

const RIPGREP: Rival = Rival {
    name: "rg",
    programs: &["rg"],
    how_to_install: "rg not found: apt-get install ripgrep",
};
// Debian calls it fdfind.
const FD: Rival = Rival {
    name: "fd",
    programs: &["fd", "fdfind"],
    how_to_install: "fd not found: apt-get install fd-find",
};
const FIND: Rival = Rival {
    name: "find",
    programs: &["find"],
    how_to_install: "find not found: apt-get install findutils",
};
const OPENSSL: Rival = Rival {
    name: "openssl dgst",
    programs: &["openssl"],
    how_to_install: "openssl not found: apt-get install openssl",
};
const SHA256SUM: Rival = Rival {
    name: "sha256sum",
    programs: &["sha256sum"],
    how_to_install: "sha256sum not found: apt-get install coreutils",
};
const TIME: Rival = Rival {
    name: "GNU time",
    programs: &["time"],
    how_to_install: "GNU time not found: apt-get install time",
};

impl Rival {
    fn find(&self) -> Option<PathBuf> {
        self.programs.iter().find_map(|program| process::find_program(program))
    }
}

fn glob_call() -> Value {
    json!({"tool": "Glob", "input": {"pattern": "**/*.rs"}})
}

fn ratio(work: String, race: &Race, limit: Option<Limit>) -> Row {
    let (ours, theirs) = (milliseconds(race.ours), milliseconds(race.theirs));
    let value = ours / theirs;
    let row = match limit {
        Some(limit) => Row::new(work, value, limit),
        None => Row::plain(work, value, "×"),
    };
    row.noted(format!("{ours:.0} against {theirs:.0} ms"))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn succeeded(output: &Output) -> Result<()> {
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("failed with {}: {}", output.status, said.trim_end());
    }
    Ok(())
}

/// `--eval` also exits with 0 for an error result, so its output is checked.
fn check_outcome(output: &Output, expected: &str) -> Result<()> {
    succeeded(output)?;
    let line = String::from_utf8_lossy(&output.stdout);
    let outcome: Value = serde_json::from_str(line.trim()).context("it printed no JSON line")?;
    if outcome["is_error"] != json!(false) {
        bail!("the tool failed: {}", outcome["content"]);
    }
    if !outcome["content"].to_string().contains(expected) {
        bail!("its result does not contain `{expected}`");
    }
    Ok(())
}

/// The numbers after `labels` in `text`.
fn figures<const N: usize>(text: &str, labels: [&str; N]) -> Result<[f64; N]> {
    let mut figures = [0.0; N];
    for (figure, label) in figures.iter_mut().zip(labels) {
        *figure = printed(text, label)?;
    }
    Ok(figures)
}

/// The number after `label` at the start of a line of `text`.
fn printed(text: &str, label: &str) -> Result<f64> {
    text.lines()
        .find_map(|line| line.strip_prefix(label)?.trim().parse().ok())
        .with_context(|| format!("it printed no line `{label} <number>`"))
}

fn write_data(path: &Path) -> Result<()> {
    let megabyte: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
    let mut file = fs::File::create(path)?;
    for _ in 0..HASHED_MB {
        file.write_all(&megabyte)?;
    }
    Ok(())
}

/// The machine, for the line below the table.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("an unnamed processor", |(_, model)| model.trim());
    format!("Measured by `cargo xtask bench` on {cores} cores of {model}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_what_an_example_prints() -> Result<()> {
        let text = "warming up\nappends_per_second 4210.5\n";
        assert!((printed(text, "appends_per_second")? - 4210.5).abs() < f64::EPSILON);
        assert!(printed(text, "sha256_mb_per_second").is_err());
        assert!(printed("appends_per_second many", "appends_per_second").is_err());
        Ok(())
    }

    #[test]
    fn an_error_result_is_no_measure() -> Result<()> {
        let output = |line: &str| process::output(Command::new("echo").arg(line));
        let good = r#"{"tool_use_id":"t","content":"a.rs:1","is_error":false}"#;
        let bad = r#"{"tool_use_id":"t","content":"no such file","is_error":true}"#;
        assert!(check_outcome(&output(good)?, ".rs").is_ok());
        assert!(check_outcome(&output(good)?, ".py").is_err());
        assert!(check_outcome(&output(bad)?, "").is_err());
        assert!(check_outcome(&output("")?, "").is_err());
        Ok(())
    }
}
