//! `ona intent lint`: all problems in the files that the gate reads, with their places.

use std::process::ExitCode;

use ona_cli::output::plain;
use ona_cli::{CliError, Options, env};
use ona_intents::file::INTENTS_FILE;
use ona_intents::lint::{Finding, Severity, lint_workspace};
use ona_repo::git;
use serde_json::{Value, json};

use crate::workspace::{Location, counted, printed, unreadable, wait_if_any};

pub fn run(cli: &Options, strict: bool, as_json: bool) -> Result<ExitCode, CliError> {
    let location = Location::find(cli)?;
    // Without git the list of files is unknown.
    let files: Option<Vec<String>> = wait_if_any(git::files(location.root()))
        .map(|files| files.iter().map(|path| path.to_string_lossy().into_owned()).collect());
    let all =
        lint_workspace(location.root(), files.as_deref()).map_err(|error| unreadable(&error))?;
    let count = |severity| all.iter().filter(|finding| finding.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let text = if as_json {
        let rows: Vec<Value> = all.iter().map(row).collect();
        format!("{}\n", json!({"errors": errors, "warnings": warnings, "findings": rows}))
    } else if all.is_empty() {
        format!("{INTENTS_FILE}: no problems found\n")
    } else {
        let colour = env::colour();
        let lines: String = all.iter().map(|finding| line(finding, colour)).collect();
        format!("{lines}{}, {}\n", counted(errors, "error"), counted(warnings, "warning"))
    };
    printed(&text)?;
    Ok(ExitCode::from(u8::from(errors > 0 || strict && warnings > 0)))
}

fn row(finding: &Finding) -> Value {
    json!({"file": finding.file, "line": finding.place.map(|place| place.line),
        "column": finding.place.map(|place| place.column), "severity": finding.severity.as_str(),
        "code": finding.code, "intent_id": finding.intent, "message": finding.message})
}

/// In the format of compilers, so that editors can go there.
fn line(finding: &Finding, colour: bool) -> String {
    let place = finding.place.map(|place| format!("{}:{}:", place.line, place.column));
    let word = finding.severity.as_str();
    let word = match (colour, finding.severity) {
        (false, _) => word.to_owned(),
        (true, Severity::Error) => format!("\x1b[31m{word}\x1b[0m"),
        (true, Severity::Warning) => format!("\x1b[33m{word}\x1b[0m"),
    };
    let (file, message, code) = (finding.file, plain(&finding.message), finding.code);
    format!("{file}:{} {word}: {message} [{code}]\n", place.unwrap_or_default())
}
