//! `ona trace export`.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use ona_cli::CliError;
use ona_cli::output::print_line;
use ona_intents::history::{self, note};
use ona_trace::TraceEntry;
use ona_trace::export::{agent_trace, json};

use super::Format;
use crate::workspace::{Location, entries, no_history, printed, runtime, wait};

/// What exports name as the version of the tool.
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub fn run(
    location: &Location,
    format: Format,
    since: Option<&str>,
    output: Option<&Path>,
) -> Result<ExitCode, CliError> {
    let text = match format {
        Format::GitAiNote => {
            runtime()?.block_on(note(&location.workspace, since, VERSION)).map_err(no_history)?
        }
        Format::AgentTrace | Format::Json => {
            let mut all = entries(location.ledger()?.entries())?.entries;
            if let Some(rev) = since {
                let later = wait(history::since(&location.workspace, rev))?;
                all.retain(|entry| later.includes(entry));
            }
            let record = |entry: &TraceEntry| match format {
                Format::AgentTrace => agent_trace(entry, VERSION),
                _ => Some(json(entry)),
            };
            all.iter().filter_map(record).map(|record| format!("{record}\n")).collect()
        }
    };
    match output.filter(|path| *path != Path::new("-")) {
        None => printed(&text)?,
        Some(path) => {
            let file = location.here.join(path);
            fs::write(&file, text).map_err(|error| {
                CliError::failed(format!("cannot write {}: {error}", file.display()))
            })?;
            print_line(&format!("written to {}", file.display()))
                .map_err(|error| CliError::failed(format!("cannot print the result: {error}")))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
