//! `ona intent lint`: all problems in the files that the gate reads, with their places.

use std::process::ExitCode;

use ona_intents::file::{self, INTENTS_FILE, LoadError};
use ona_intents::hook_policy::{HookPolicy, POLICY_FILE};
use ona_intents::ignore::{IGNORE_FILES, Ignore, IgnoreError};
use ona_intents::lint::{Severity, lint};
use ona_repo::git;
use serde_json::{Value, json};

use crate::args::Cli;
use crate::env;
use crate::error::CliError;
use crate::output::plain;
use crate::workspace::{Workspace, counted, printed, unreadable, wait_if_any};

/// One thing that is wrong, in any of the files.
struct Found {
    file: &'static str,
    /// Line and column, where they are known.
    place: Option<(usize, usize)>,
    severity: Severity,
    code: &'static str,
    intent: Option<String>,
    message: String,
}

pub fn run(cli: &Cli, strict: bool, as_json: bool) -> Result<ExitCode, CliError> {
    let workspace = Workspace::find(cli)?;
    let ignore = Ignore::load(&workspace.root);
    let mut all = Vec::new();
    match file::text(&workspace.root) {
        Ok(text) => {
            // Without git the list of files is unknown.
            let files = wait_if_any(git::files(&workspace.root));
            let files: Option<Vec<String>> = files.map(|files| {
                files.iter().map(|path| path.to_string_lossy().into_owned()).collect()
            });
            all.extend(lint(&text, &ignore, files.as_deref()).into_iter().map(|finding| Found {
                file: INTENTS_FILE,
                place: Some((finding.place.line, finding.place.column)),
                severity: finding.severity,
                code: finding.code,
                intent: finding.intent,
                message: finding.message,
            }));
        }
        Err(LoadError::Missing) => return Err(unreadable(&LoadError::Missing)),
        Err(error) => {
            let message = error.to_string();
            all.push(Found::about(INTENTS_FILE, Severity::Error, "unreadable", message));
        }
    }
    all.extend(policy(&HookPolicy::load(&workspace.root)));
    all.extend(ignored(&ignore));
    let count = |severity| all.iter().filter(|found| found.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let text = if as_json {
        let rows: Vec<Value> = all.iter().map(Found::json).collect();
        format!("{}\n", json!({"errors": errors, "warnings": warnings, "findings": rows}))
    } else if all.is_empty() {
        format!("{INTENTS_FILE}: no problems found\n")
    } else {
        let colour = env::colour();
        let lines: String = all.iter().map(|found| found.line(colour)).collect();
        format!("{lines}{}, {}\n", counted(errors, "error"), counted(warnings, "warning"))
    };
    printed(&text)?;
    Ok(ExitCode::from(u8::from(errors > 0 || strict && warnings > 0)))
}

fn policy(policy: &HookPolicy) -> Vec<Found> {
    let broken = policy.broken.iter().map(|why| {
        let message = format!("invalid, so every change is denied: {why}");
        Found::about(POLICY_FILE, Severity::Error, "policy_broken", message)
    });
    let odd = policy.warnings.iter().map(|message| {
        Found::about(POLICY_FILE, Severity::Warning, "policy_warning", message.clone())
    });
    broken.chain(odd).collect()
}

fn ignored(ignore: &Ignore) -> Vec<Found> {
    let errors = ignore.errors.iter().map(|error| match error {
        IgnoreError::Load { file, error } => {
            Found::about(file, Severity::Error, "unreadable", error.to_string())
        }
        IgnoreError::Glob { file, line, error } => {
            let code = error.problem.as_str();
            let found = Found::about(file, Severity::Error, code, error.to_string());
            Found { place: Some((*line, 1)), ..found }
        }
    });
    let odd = ignore.warnings.iter().map(|message| {
        let file = IGNORE_FILES.into_iter().find(|file| message.starts_with(file));
        let file = file.unwrap_or(IGNORE_FILES[0]);
        Found::about(file, Severity::Warning, "ignore_warning", message.clone())
    });
    errors.chain(odd).collect()
}

impl Found {
    fn about(file: &'static str, severity: Severity, code: &'static str, message: String) -> Self {
        Self { file, place: None, severity, code, intent: None, message }
    }

    fn json(&self) -> Value {
        json!({"file": self.file, "line": self.place.map(|(line, _)| line),
            "column": self.place.map(|(_, column)| column), "severity": self.severity.as_str(),
            "code": self.code, "intent_id": self.intent, "message": self.message})
    }

    /// As compilers say it, so that editors can go there.
    fn line(&self, colour: bool) -> String {
        let place = self.place.map(|(line, column)| format!("{line}:{column}:"));
        let word = self.severity.as_str();
        let word = match (colour, self.severity) {
            (false, _) => word.to_owned(),
            (true, Severity::Error) => format!("\x1b[31m{word}\x1b[0m"),
            (true, Severity::Warning) => format!("\x1b[33m{word}\x1b[0m"),
        };
        let (file, message, code) = (self.file, plain(&self.message), self.code);
        format!("{file}:{} {word}: {message} [{code}]\n", place.unwrap_or_default())
    }
}
