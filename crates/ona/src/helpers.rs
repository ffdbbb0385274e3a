//! What the program does for itself in a process of its own.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use ona_sandbox::SupervisedEnd;
use ona_store::{Store, TaskEnd};
use ona_tools::TaskSpec;

use crate::env;
use crate::error::CliError;

/// Supervises one background task and records how it ended.
pub fn task_host() -> Result<ExitCode, CliError> {
    ona_sandbox::leave_session();
    let spec: TaskSpec = serde_json::from_slice(&standard_input()?)
        .map_err(|error| CliError::usage(format!("the task's description: {error}")))?;
    let outcome = ona_tools::run_task(&spec);
    let (exit_code, reason) = match &outcome {
        Ok(SupervisedEnd::Exited(code)) => (Some(*code), "exited"),
        Ok(SupervisedEnd::Signalled) => (None, "signalled"),
        Ok(SupervisedEnd::OutputLimit) => (None, "output_limit"),
        Ok(SupervisedEnd::FailedToStart) => (None, "failed_to_start"),
        Err(_) => (None, "supervisor_failed"),
    };
    let end = TaskEnd { exit_code, reason: reason.to_owned() };
    let recorded = Store::open(&env::database()?)
        .and_then(|store| store.finish_task(&spec.session, &spec.call, &spec.started(), &end));
    if let Err(error) = recorded {
        // Nobody reads our stderr; whoever looks at the task reads its log.
        if let Ok(mut log) = OpenOptions::new().append(true).open(&spec.output_path) {
            let _ = writeln!(log, "\nhow the task ended could not be recorded: {error}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a PDF's text, or says on stderr why it cannot.
pub fn pdf_text() -> Result<ExitCode, CliError> {
    match ona_tools::pdf::extract(&standard_input()?) {
        Ok(pages) => {
            println!("{}", serde_json::json!(pages));
            Ok(ExitCode::SUCCESS)
        }
        Err(why) => {
            eprintln!("{why}");
            Ok(ExitCode::FAILURE)
        }
    }
}

fn standard_input() -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::failed(format!("standard input cannot be read: {error}")))?;
    Ok(bytes)
}
