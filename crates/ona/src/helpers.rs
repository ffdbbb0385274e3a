//! What the program does for itself in a process of its own.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use ona_sandbox::{Owner, SupervisedEnd};
use ona_store::{Store, TaskEnd};
use ona_tools::TaskSpec;
use serde_json::json;

use crate::env;
use crate::error::CliError;
use crate::output::{complain, print_line};

/// Supervises one background task and records how it ended.
pub fn task_host() -> Result<ExitCode, CliError> {
    ona_sandbox::leave_session();
    let spec: TaskSpec = serde_json::from_slice(&standard_input()?)
        .map_err(|error| CliError::usage(format!("the task's description: {error}")))?;
    let database = env::database()?;
    let owner = json!(Owner::current());
    // The task runs whether or not the record can be written just now.
    let _ = Store::open(&database)
        .and_then(|store| store.watch_task(&spec.session, &spec.call, &spec.started(), &owner));
    let outcome = ona_tools::run_task(&spec);
    let (exit_code, reason) = match &outcome {
        Ok(SupervisedEnd::Exited(code)) => (Some(*code), "exited"),
        Ok(SupervisedEnd::Signalled) => (None, "signalled"),
        Ok(SupervisedEnd::OutputLimit) => (None, "output_limit"),
        Ok(SupervisedEnd::FailedToStart) => (None, "failed_to_start"),
        Err(_) => (None, "supervisor_failed"),
    };
    let end = TaskEnd { exit_code, reason: reason.to_owned() };
    let recorded = Store::open(&database).and_then(|store| {
        store.watch_task(&spec.session, &spec.call, &spec.started(), &owner)?;
        store.finish_task(&spec.id, &end)
    });
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
            print_line(&json!(pages).to_string()).map_err(|error| {
                CliError::failed(format!("the text cannot be printed: {error}"))
            })?;
            Ok(ExitCode::SUCCESS)
        }
        Err(why) => {
            complain(&format!("{why}\n"));
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
