//! `ona doctor`: the findings, for people and for programs.

use std::process::ExitCode;

use ona_store::{Finding, Level};
use serde_json::json;

use crate::env;
use crate::error::CliError;
use crate::output::print;

pub fn run(as_json: bool) -> Result<ExitCode, CliError> {
    let database = env::database()?;
    let findings = ona_engine::examine(&database);
    let worst = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok);
    let text = if as_json {
        format!("{}\n", json!({"database": database, "level": worst, "findings": findings}))
    } else {
        findings.iter().map(|finding| line(finding, env::colour())).collect()
    };
    print(&text)
        .map_err(|error| CliError::failed(format!("the findings cannot be printed: {error}")))?;
    Ok(ExitCode::from(u8::from(worst == Level::Fail)))
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
