//! `ona doctor`: the findings, for people and for programs.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ona_cli::output::print;
use ona_cli::{CliError, Options, bootstrap, env, record};
use ona_engine::Session;
use ona_gate::governance::Unread;
use ona_gate::settle::is_gone;
use ona_store::{Finding, Level, Progress, StoreError, Watch};
use serde_json::json;

/// A check that takes longer than this says how far it is.
const LONG: Duration = Duration::from_secs(1);

pub fn run(cli: &Options, as_json: bool) -> Result<ExitCode, CliError> {
    let database = env::database()?;
    let mut findings = match io::stderr().is_terminal() {
        true => {
            let started = Instant::now();
            let findings = ona_engine::examine(&database, &shown(&database, started));
            // Remove the progress line; a short check has none.
            if started.elapsed() >= LONG {
                let _ = io::stderr().write_all(over("").as_bytes());
                let _ = io::stderr().write_all(b"\r");
            }
            findings
        }
        false => ona_engine::examine(&database, &Watch::default()),
    };
    findings.extend(sandbox(cli)?);
    let worst = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok);
    let text = if as_json {
        format!("{}\n", json!({"database": database, "level": worst, "findings": findings}))
    } else {
        findings.iter().map(|finding| line(finding, env::colour())).collect()
    };
    print(&text)
        .map_err(|error| CliError::failed(format!("cannot print the findings: {error}")))?;
    Ok(ExitCode::from(u8::from(worst == Level::Fail)))
}

/// What works as a sandbox here, and which of its settings have no effect.
fn sandbox(cli: &Options) -> Result<Vec<Finding>, CliError> {
    const CHECK: &str = "sandbox";
    let levels: Vec<String> = crate::sandbox::levels(cli, false)?
        .iter()
        .map(|one| match &one.problem {
            None => format!("{} works", one.level),
            Some(problem) => format!("{} does not ({problem})", one.level),
        })
        .collect();
    let mut findings = vec![Finding::ok(CHECK, levels.join(", "))];
    // What is wrong with the record is told by its own checks.
    let Ok(engine) = bootstrap::looking_engine(cli) else { return Ok(findings) };
    let here = bootstrap::directory(cli.cwd.as_deref())?;
    // A folder that is not trusted, or has unreadable settings, is told of where it is used.
    let Ok(session) = Session::read_only(&engine, &here, None, Unread::IsTold) else {
        return Ok(findings);
    };
    let governance = &session.gate.governance;
    findings.push(match governance.sandbox_level() {
        (level, None) => {
            Finding::ok(CHECK, format!("commands in this folder run at the level {level}"))
        }
        (_, Some(why)) => Finding::bad(
            CHECK,
            Level::Warn,
            format!("the settings want a sandbox, and {why}"),
            "`ona help sandboxing` says what each level needs",
        ),
    });
    findings.extend(governance.idle_sandbox_settings().into_iter().map(|why| {
        let hint = "`ona help sandboxing` lists what acts";
        Finding::bad(CHECK, Level::Warn, format!("no effect: {why}"), hint)
    }));
    Ok(findings)
}

/// `ona doctor --compact`.
pub fn compact(as_json: bool) -> Result<ExitCode, CliError> {
    let database = env::database()?;
    if !database.exists() {
        return Err(CliError::usage(format!("{} does not exist", database.display()))
            .hint("`ona --init-db` or the first call creates it"));
    }
    let sizes = record::open(None)?.compact(is_gone).map_err(|error| match error {
        StoreError::Full(..) | StoreError::NotTaken(..) => {
            CliError::from(error).hint("no data was lost; compacting needs free space of up to twice the record's size, there and in TMPDIR (/var/tmp)")
        }
        error => error.into(),
    })?;
    let text = match as_json {
        true => format!(
            "{}\n",
            json!({"database": database, "before": sizes.before, "after": sizes.after})
        ),
        false => format!(
            "{}: {} before, {} after\n",
            database.display(),
            megabytes(sizes.before),
            megabytes(sizes.after)
        ),
    };
    print(&text)
        .map_err(|error| CliError::failed(format!("done, but cannot print the sizes: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// Shows on the terminal how far a check is that takes long.
fn shown(database: &Path, started: Instant) -> Watch {
    let size = std::fs::metadata(database).map_or(0, |meta| meta.len());
    let last = AtomicU64::new(0);
    Watch::new(move |progress| {
        let elapsed = started.elapsed();
        // Once a second is enough to see that it goes on.
        if elapsed >= LONG && last.swap(elapsed.as_secs(), Ordering::Relaxed) < elapsed.as_secs() {
            let _ = io::stderr().write_all(far(progress, elapsed, size).as_bytes());
        }
    })
}

/// One line that takes the place of the one before.
fn far(progress: Progress, elapsed: Duration, size: u64) -> String {
    let Progress { check, number, of } = progress;
    over(&format!(
        "checking every row of {}, Ctrl-C stops it: {number} of {of} ({check}), {} s",
        megabytes(size),
        elapsed.as_secs()
    ))
}

/// A line in the place of the last one, without escape sequences: they may be switched off.
fn over(line: &str) -> String {
    format!("\r{line:<90}")
}

fn line(finding: &Finding, colour: bool) -> String {
    let (word, code) = match finding.level {
        Level::Ok => ("ok", "32"),
        Level::Warn => ("warn", "33"),
        Level::Fail => ("fail", "31"),
    };
    let word = format!("{word:<5}");
    let word = if colour { format!("\x1b[{code}m{word}\x1b[0m") } else { word };
    let hint = finding.hint.as_ref().map(|hint| format!("{:<19}hint: {hint}\n", ""));
    format!("{word} {:<12} {}\n{}", finding.check, finding.message, hint.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_stays_on_one_line() {
        let progress = Progress { check: "foreign keys", number: 2, of: 15 };
        assert_eq!(
            far(progress, Duration::from_millis(3900), 286_600_000),
            format!(
                "\r{:<90}",
                "checking every row of 286.6 MB, Ctrl-C stops it: 2 of 15 (foreign keys), 3 s"
            )
        );
    }
}
