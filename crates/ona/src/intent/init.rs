//! `ona intent init`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ona_intents::file::{self, DIRECTORY, INTENTS_FILE};
use ona_intents::hook_policy::{NEW_POLICY, POLICY_FILE};
use ona_intents::scope::locate;
use serde_json::json;

use crate::args::Cli;
use crate::error::CliError;
use crate::eval::directory;
use crate::workspace::printed;

const NEW_INTENTS: &str = "\
# What is worked on, and which files each piece of work may touch. `ona intent add` and `ona intent edit` change
# this file and leave comments as they are; `ona intent lint` looks it over.
#
# active_intents:
#   - id: INT-001
#     name: Rate limit the login endpoint
#     status: PLANNED            # PLANNED, IN_PROGRESS, COMPLETED, BLOCKED or ABANDONED
#     owned_scope: [\"src/auth/**\", \"tests/auth/*.rs\"]
#     constraints: [\"No new dependency\"]
#     acceptance_criteria: [\"The sixth attempt within a minute answers 429\"]
#     related_requirements: [REQ-AUTH-3]
active_intents: []
";

/// Nobody else's business: locks, and what a writer that was killed leaves behind.
const IGNORED: [&str; 5] = [
    ".active_intents.lock",
    "agent_trace.lock",
    "intent_map.lock",
    "active_intents.yaml.ona-new",
    ".ona-*.tmp",
];

/// Two branches that both added lines to the trace keep both.
const MERGE_UNION: &str = "agent_trace.jsonl merge=union";

/// Where that is said.
const ATTRIBUTES: &str = ".gitattributes";

/// Where git is told what is nobody else's business.
const IGNORE: &str = ".orchestration/.gitignore";

/// What a file becomes that had this content before; nothing if it is none of those that are set up here.
pub fn set_up(path: &str, old: Option<&[u8]>) -> Option<Vec<u8>> {
    let added = |lines: &[&str]| Some(with_lines(old.unwrap_or_default(), lines));
    match path {
        IGNORE => added(&IGNORED),
        ATTRIBUTES => added(&[MERGE_UNION]),
        POLICY_FILE if old.is_none() => Some(NEW_POLICY.as_bytes().to_vec()),
        _ => None,
    }
}

pub fn run(cli: &Cli, as_json: bool) -> Result<ExitCode, CliError> {
    let root = place(&directory(cli.cwd.as_ref())?);
    let dir = root.join(DIRECTORY);
    fs::create_dir_all(&dir).map_err(|error| unwritable(DIRECTORY, &error))?;
    let done = [
        (INTENTS_FILE, created(&root, INTENTS_FILE, NEW_INTENTS)?),
        (POLICY_FILE, created(&root, POLICY_FILE, NEW_POLICY)?),
        (IGNORE, extended(&root, IGNORE, &IGNORED)?),
        (ATTRIBUTES, extended(&root, ATTRIBUTES, &[MERGE_UNION])?),
    ];
    let text = if as_json {
        let files: Vec<_> =
            done.iter().map(|(path, what)| json!({"path": path, "done": what})).collect();
        format!("{}\n", json!({"workspace": root, "files": files}))
    } else {
        let lines: String =
            done.iter().map(|(path, what)| format!("  {what:<8} {path}\n")).collect();
        format!(
            "intents of {}\n{lines}next: `ona intent add --name … --scope …`, then `ona intent select`\n",
            root.display()
        )
    };
    printed(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Where intents belong: where they are already, else at the top of the checkout, else here. Never below others:
/// what is nearest counts, so a second directory would take files out of the first one's sight.
fn place(here: &Path) -> PathBuf {
    let top = || here.ancestors().find(|dir| dir.join(".git").exists()).map(Path::to_owned);
    file::workspace(here).or_else(top).unwrap_or_else(|| here.to_owned())
}

fn unwritable(path: &str, error: &io::Error) -> CliError {
    CliError::failed(format!("{path} cannot be written: {error}"))
}

/// A link could lead to somebody else's file.
fn inside(root: &Path, path: &str) -> Result<PathBuf, CliError> {
    locate(root, root, path).map_err(|outside| CliError::usage(format!("{path}: {outside}")))?;
    Ok(root.join(path))
}

fn created(root: &Path, path: &str, text: &str) -> Result<&'static str, CliError> {
    let file = inside(root, path)?;
    match OpenOptions::new().write(true).create_new(true).open(file) {
        Ok(mut file) => {
            file.write_all(text.as_bytes()).map_err(|error| unwritable(path, &error))?;
            Ok("created")
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok("kept"),
        Err(error) => Err(unwritable(path, &error)),
    }
}

/// Adds the lines that are not there yet.
fn extended(root: &Path, path: &str, lines: &[&str]) -> Result<&'static str, CliError> {
    let file = inside(root, path)?;
    let old = match fs::read(&file) {
        Ok(old) => Some(old),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(CliError::failed(format!("{path} cannot be read: {error}"))),
    };
    let new = with_lines(old.as_deref().unwrap_or_default(), lines);
    if old.as_ref() == Some(&new) {
        return Ok("kept");
    }
    let added = &new[old.as_ref().map_or(0, Vec::len)..];
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(&file)
        .and_then(|mut file| file.write_all(added))
        .map_err(|error| unwritable(path, &error))?;
    Ok(if old.is_some() { "extended" } else { "created" })
}

/// The text with these lines, those that are missing behind all others.
fn with_lines(old: &[u8], lines: &[&str]) -> Vec<u8> {
    let text = String::from_utf8_lossy(old);
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let known: Vec<Vec<String>> = text.lines().map(words).collect();
    let mut new = old.to_owned();
    for line in lines.iter().filter(|line| !known.contains(&words(line))) {
        if new.last().is_some_and(|last| *last != b'\n') {
            new.extend_from_slice(end.as_bytes());
        }
        new.extend_from_slice(line.as_bytes());
        new.extend_from_slice(end.as_bytes());
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_added_once_and_as_the_file_ends_its_own() {
        let with =
            |text: &str| String::from_utf8(with_lines(text.as_bytes(), &["a  b", "c"])).unwrap();
        assert_eq!(with(""), "a  b\nc\n");
        assert_eq!(with("x"), "x\na  b\nc\n");
        assert_eq!(with("x\r\n"), "x\r\na  b\r\nc\r\n");
        assert_eq!(with("  a b\nc"), "  a b\nc");
    }
}
