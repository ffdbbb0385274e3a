//! `ona memory import`: Markdown files into the record.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ona_cli::bootstrap::directory;
use ona_cli::output::{complain, plain};
use ona_cli::{CliError, Options, env};
use ona_config::settings::{self, Settings};
use ona_config::trust::name_of;
use ona_engine::memory::import::{Import, ImportError, read};
use ona_store::Saved;
use serde_json::{Value, json};

use super::{Caller, Place, fields, warn_if_masked};
use crate::workspace::{counted, printed};

pub fn run(
    cli: &Options,
    caller: &Caller,
    paths: &[PathBuf],
    place: &Place,
    as_json: bool,
) -> Result<ExitCode, CliError> {
    let here = directory(cli.cwd.as_deref())?;
    let scope = caller.scope(place)?;
    let paths = if paths.is_empty() {
        let dir = default_dir(cli, &here, scope.as_deref().unwrap_or(&caller.project))?;
        if !dir.is_dir() {
            return Err(CliError::usage(format!("no memories in {}", dir.display()))
                .hint("give the files or directories to import"));
        }
        vec![dir]
    } else {
        let resolved = paths.iter().map(|path| {
            let path = here.join(path);
            path.canonicalize().map_err(|error| {
                CliError::usage(format!("{}: {error}", path.display()))
                    .hint("give Markdown files, or directories with .md files")
            })
        });
        resolved.collect::<Result<_, _>>()?
    };
    let mut fields = fields();
    let import =
        read(&paths, scope.as_deref(), &mut fields).map_err(|error| not_imported(&error))?;
    let saved = caller.store.import_memories(&import.memories, &caller.author())?;
    warn_if_masked(&fields);
    for (path, why) in &import.skipped {
        complain(&format!("warning: {} is not imported: {why}\n", path.display()));
    }
    printed(&told(&import, &saved, as_json))?;
    let nothing = import.memories.is_empty() && !import.skipped.is_empty();
    Ok(if nothing { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn not_imported(error: &ImportError) -> CliError {
    let message = error.to_string();
    match error {
        ImportError::Directory { .. } => CliError::failed(message),
        ImportError::TooManyFiles(_) => {
            CliError::usage(message).hint("give a directory that has only memories")
        }
    }
}

/// Where Claude Code keeps the memories of a project, or where the settings say they are.
fn default_dir(cli: &Options, here: &Path, project: &str) -> Result<PathBuf, CliError> {
    let config = env::config(cli)?;
    let loaded = settings::load(&config.roots(here, here), &config.given);
    if let Some(dir) = Settings::merged(&loaded.layers).auto_memory_directory {
        return Ok(match dir.strip_prefix("~/") {
            Some(below) => config.home.join(below),
            None => here.join(&dir),
        });
    }
    let name: String =
        project.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Ok(config.claude_dir.join("projects").join(name).join("memory"))
}

fn told(import: &Import, saved: &[Saved], as_json: bool) -> String {
    let word = |saved: Saved| match saved {
        Saved::Added => "added",
        Saved::Corrected => "corrected",
        Saved::Unchanged => "unchanged",
    };
    let count = |wanted: Saved| saved.iter().filter(|saved| **saved == wanted).count();
    let (added, corrected) = (count(Saved::Added), count(Saved::Corrected));
    let unchanged = count(Saved::Unchanged);
    let all = import.memories.iter().zip(saved);
    if as_json {
        let memories: Vec<Value> = all
            .map(|(one, saved)| {
                json!({"id": one.memory.id, "title": one.memory.title, "source": one.source,
                    "outcome": word(*saved)})
            })
            .collect();
        let skipped: Vec<Value> = import
            .skipped
            .iter()
            .map(|(path, why)| json!({"path": name_of(path), "why": why.to_string()}))
            .collect();
        let value = json!({"added": added, "corrected": corrected, "unchanged": unchanged,
            "memories": memories, "skipped": skipped});
        return format!("{value}\n");
    }
    let mut text: String = all
        .filter(|(_, saved)| **saved != Saved::Unchanged)
        .map(|(one, saved)| {
            format!("{:<9}  {}  {}\n", word(*saved), one.memory.id, one.memory.title)
        })
        .collect();
    text.push_str(&format!(
        "{} added, {corrected} corrected, {unchanged} unchanged, {} skipped\n",
        counted(added, "memory"),
        import.skipped.len()
    ));
    plain(&text)
}
