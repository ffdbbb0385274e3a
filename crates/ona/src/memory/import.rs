//! `ona memory import`: Markdown files into the record.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ona_config::settings;
use ona_config::trust::name_of;
use ona_engine::memory::markdown::{self, INDEX, Note};
use ona_files::ReadError;
use ona_store::{ImportedMemory, Memory, Saved};
use ona_types::ContentHash;
use serde_json::{Value, json};

use super::fields::{Fields, ID};
use super::{Desk, Place};
use crate::args::Cli;
use crate::bootstrap::directory;
use crate::env;
use crate::error::CliError;
use crate::output::{complain, plain};
use crate::workspace::{counted, printed};

/// The most files of one import.
const MAX_FILES: usize = 10_000;
/// The deepest directory that is read.
const MAX_DEPTH: usize = 16;
/// The largest file that is read.
const LARGEST: u64 = 1024 * 1024;
/// The longest title; the rest is cut off.
const TITLE: usize = 200;

/// What was found on the disk.
#[derive(Default)]
struct Found {
    files: Vec<PathBuf>,
    /// What was left out, and why.
    skipped: Vec<(PathBuf, String)>,
}

pub fn run(
    cli: &Cli,
    desk: &Desk,
    paths: &[PathBuf],
    place: &Place,
    as_json: bool,
) -> Result<ExitCode, CliError> {
    let here = directory(cli.cwd.as_ref())?;
    let scope = desk.scope(place)?;
    let mut found = Found::default();
    if paths.is_empty() {
        let dir = default_dir(cli, &here, scope.as_deref().unwrap_or(&desk.project))?;
        if !dir.is_dir() {
            return Err(CliError::usage(format!("no memories in {}", dir.display()))
                .hint("give the files or directories to import"));
        }
        found.walk(&dir, 0)?;
    }
    // All are looked at before anything is kept.
    for path in paths {
        let path = here.join(path);
        let real = path.canonicalize().map_err(|error| {
            CliError::usage(format!("{}: {error}", path.display()))
                .hint("give Markdown files, or directories with .md files")
        })?;
        if real.is_dir() { found.walk(&real, 0)? } else { found.files.push(real) }
    }
    found.files.sort();
    found.files.dedup();
    let mut fields = Fields::new();
    let mut taken = Vec::new();
    for file in std::mem::take(&mut found.files) {
        match read(&file, scope.as_deref(), &mut fields) {
            Ok(mut memories) => taken.append(&mut memories),
            Err(why) => found.skipped.push((file, why)),
        }
    }
    let saved = desk.store.import_memories(&taken, &desk.author())?;
    fields.warn();
    for (path, why) in &found.skipped {
        complain(&format!("warning: {} is not imported: {why}\n", path.display()));
    }
    printed(&told(&taken, &saved, &found, as_json))?;
    let nothing = taken.is_empty() && !found.skipped.is_empty();
    Ok(if nothing { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Where Claude Code keeps the memories of a project, or where the settings say they are.
fn default_dir(cli: &Cli, here: &Path, project: &str) -> Result<PathBuf, CliError> {
    let config = env::config(cli)?;
    let loaded = settings::load(&config.roots(here, here), &config.given);
    let merged = settings::merge(&loaded.layers);
    if let Some(dir) = merged["autoMemoryDirectory"].as_str() {
        return Ok(match dir.strip_prefix("~/") {
            Some(below) => config.home.join(below),
            None => here.join(dir),
        });
    }
    let name: String =
        project.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Ok(config.claude_dir.join("projects").join(name).join("memory"))
}

impl Found {
    /// The Markdown files below a directory. Links are not followed, hidden files are left alone.
    fn walk(&mut self, dir: &Path, depth: usize) -> Result<(), CliError> {
        if depth > MAX_DEPTH {
            self.skipped
                .push((dir.to_owned(), format!("it is more than {MAX_DEPTH} directories deep")));
            return Ok(());
        }
        let unreadable =
            |error| CliError::failed(format!("cannot read {}: {error}", dir.display()));
        let mut entries: Vec<_> =
            fs::read_dir(dir).and_then(Iterator::collect).map_err(unreadable)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name());
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let kind = entry.file_type().map_err(unreadable)?;
            let is_note = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("md"));
            if kind.is_dir() {
                self.walk(&path, depth + 1)?;
            } else if is_note && kind.is_file() {
                self.files.push(path);
            } else if is_note {
                self.skipped.push((path, "it is not a regular file".to_owned()));
            }
            if self.files.len() > MAX_FILES {
                return Err(CliError::usage(format!(
                    "more than {MAX_FILES} files in {}",
                    dir.display()
                ))
                .hint("give a directory that has only memories"));
            }
        }
        Ok(())
    }
}

/// The memories of a file.
fn read(
    file: &Path,
    scope: Option<&str>,
    fields: &mut Fields,
) -> Result<Vec<ImportedMemory>, String> {
    let text = match ona_files::read_text_at_most(file, LARGEST) {
        Ok(Some(text)) => text,
        Ok(None) => return Err("file not found".to_owned()),
        Err(ReadError::NotUtf8 { at }) => return Err(format!("byte {} is not UTF-8", at + 1)),
        Err(error) => return Err(error.to_string()),
    };
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let notes =
        markdown::notes(&name, &text).map_err(|error| format!("invalid front matter: {error}"))?;
    if notes.is_empty() {
        return Err(match name == INDEX {
            true => "it only links to other files".to_owned(),
            false => "it is empty".to_owned(),
        });
    }
    let source = name_of(file);
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut memories = Vec::new();
    for note in notes {
        // The section of an index that a memory comes from; another file is one memory, whatever it is called.
        let section = (name == INDEX).then(|| {
            let nth = seen.entry(note.title.clone()).or_default();
            *nth += 1;
            (note.title.clone(), *nth)
        });
        let key = json!([scope, source, section]).to_string();
        let id = format!("{ID}{}", &ContentHash::of(key.as_bytes()).as_str()[..32]);
        let hash = ContentHash::of(markdown::to_markdown(&note).as_bytes()).to_string();
        let memory =
            checked(id, &note, scope, fields).map_err(|error| error.message().to_owned())?;
        memories.push(ImportedMemory { memory, source: source.clone(), source_hash: hash });
    }
    Ok(memories)
}

fn checked(
    id: String,
    note: &Note,
    scope: Option<&str>,
    fields: &mut Fields,
) -> Result<Memory, CliError> {
    let title: String = note.title.replace(char::is_control, " ").chars().take(TITLE).collect();
    Ok(Memory {
        id,
        kind: fields.kind(&note.kind)?,
        title: fields.title(&title)?,
        content: fields.content(&note.content)?,
        keywords: fields.keywords(note.keywords.iter().map(String::as_str))?,
        anticipated_queries: fields.questions(note.description.as_deref())?,
        project_scope: scope.map(str::to_owned),
    })
}

fn told(taken: &[ImportedMemory], saved: &[Saved], found: &Found, as_json: bool) -> String {
    let word = |saved: Saved| match saved {
        Saved::Added => "added",
        Saved::Corrected => "corrected",
        Saved::Unchanged => "unchanged",
    };
    let count = |wanted: Saved| saved.iter().filter(|saved| **saved == wanted).count();
    let (added, corrected) = (count(Saved::Added), count(Saved::Corrected));
    let unchanged = count(Saved::Unchanged);
    let all = taken.iter().zip(saved);
    if as_json {
        let memories: Vec<Value> = all
            .map(|(one, saved)| {
                json!({"id": one.memory.id, "title": one.memory.title, "source": one.source,
                    "outcome": word(*saved)})
            })
            .collect();
        let skipped: Vec<Value> = found
            .skipped
            .iter()
            .map(|(path, why)| json!({"path": name_of(path), "why": why}))
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
        found.skipped.len()
    ));
    plain(&text)
}
