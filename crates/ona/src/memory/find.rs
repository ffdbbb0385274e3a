//! `ona memory search`, `list` and `show`.

use std::process::ExitCode;

use ona_cli::CliError;
use ona_cli::output::{complain, plain};
use ona_engine::memory::now;
use ona_store::MemoryRow;
use serde_json::json;

use super::{Caller, Place, within};
use crate::workspace::{counted, printed};

/// The most characters of a text that are shown below its title.
const MAX_EXCERPT: usize = 100;

pub fn search(
    caller: &Caller,
    query: &str,
    place: &Place,
    limit: usize,
    as_json: bool,
) -> Result<ExitCode, CliError> {
    if query.trim().is_empty() {
        return Err(CliError::usage("empty search").hint("`ona memory list` lists the memories"));
    }
    let scope = caller.scope(place)?;
    let now = now();
    let hits = caller.store.search_memories(query, within(scope.as_ref()), limit, now)?;
    let ids: Vec<&str> = hits.iter().map(|hit| hit.row.memory.id.as_str()).collect();
    touch(caller, &ids, now);
    if as_json {
        printed(&format!("{}\n", json!(hits)))?;
        return Ok(ExitCode::SUCCESS);
    }
    if hits.is_empty() {
        let all = if place.all { "" } else { "; `--all` searches all projects" };
        complain(&format!("no memory has any of these words{all}\n"));
    }
    let lines =
        hits.iter().map(|hit| format!("{:.2}  {}", hit.score, summed_up(&hit.row, place.all)));
    printed(&lines.collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}

pub fn list(
    caller: &Caller,
    kind: Option<&str>,
    place: &Place,
    limit: usize,
    as_json: bool,
) -> Result<ExitCode, CliError> {
    let scope = caller.scope(place)?;
    let kind = kind.map(|kind| kind.trim().to_lowercase());
    let rows = caller.store.memories(within(scope.as_ref()), kind.as_deref(), limit)?;
    if as_json {
        printed(&format!("{}\n", json!(rows)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let all = caller.store.count_memories(within(scope.as_ref()))?;
    match &kind {
        Some(kind) if rows.is_empty() && all > 0 => {
            complain(&format!("none of the {} here has the type {kind}\n", counted(all, "memory")));
        }
        _ if rows.is_empty() => {
            complain("no memories here; `ona memory add` saves one, `--all` lists all projects\n")
        }
        _ => {}
    }
    let lines: String = rows.iter().map(|row| summed_up(row, place.all)).collect();
    printed(&lines)?;
    if kind.is_none() && all > rows.len() {
        complain(&format!("{} more; --limit {all} lists all\n", all - rows.len()));
    }
    Ok(ExitCode::SUCCESS)
}

pub fn show(caller: &Caller, word: &str, as_json: bool) -> Result<ExitCode, CliError> {
    let row = caller.find(word)?;
    touch(caller, &[&row.memory.id], now());
    let text = if as_json { format!("{}\n", json!(row)) } else { plain(&whole(&row)) };
    printed(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// To be found is to get attention. The answer does not depend on it.
fn touch(caller: &Caller, ids: &[&str], now: i64) {
    if let Err(error) = caller.store.touch_memories(ids, now) {
        complain(&format!("warning: cannot record that these were found: {error}\n"));
    }
}

/// A memory in two lines.
pub fn summed_up(row: &MemoryRow, with_project: bool) -> String {
    let memory = &row.memory;
    let project = match (&memory.project_scope, with_project) {
        (Some(project), true) => format!("  {project}"),
        _ => String::new(),
    };
    let mut text = format!("{}  {:<10}  {}{project}\n", memory.id, memory.kind, memory.title);
    let content = memory.content.as_deref().unwrap_or_default();
    if let Some(line) = content.lines().map(str::trim).find(|line| !line.is_empty()) {
        let mut excerpt: String = line.chars().take(MAX_EXCERPT).collect();
        if excerpt.len() < content.trim().len() {
            excerpt.push('…');
        }
        text.push_str(&format!("      {excerpt}\n"));
    }
    plain(&text)
}

fn whole(row: &MemoryRow) -> String {
    let memory = &row.memory;
    let date = |at: i64| ona_types::date(at.div_euclid(86_400));
    let times = |count: i64| if count == 1 { "once".to_owned() } else { format!("{count} times") };
    let mut lines = vec![
        ("id", memory.id.clone()),
        ("type", memory.kind.clone()),
        ("title", memory.title.clone()),
        ("project", memory.project_scope.clone().unwrap_or_else(|| "all projects".to_owned())),
    ];
    lines.extend(memory.keywords.clone().map(|words| ("keywords", words)));
    let questions = memory.anticipated_queries.clone();
    lines.extend(questions.map(|text| ("questions", text.replace('\n', "\n           "))));
    let corrected = match row.correction_count {
        ..=1 => String::new(),
        count => format!(", corrected {}, last {}", times(count - 1), date(row.updated_at)),
    };
    let by = row.written_by.as_str();
    lines.push(("written", format!("{} by {by}{corrected}", date(row.created_at))));
    if let Some(last) = row.last_accessed {
        lines.push(("found", format!("{}, last {}", times(row.access_count), date(last))));
    }
    lines.push(("attention", format!("{:.2}", row.attention_score)));
    lines.extend(row.source.clone().map(|source| ("from", source)));
    let mut text: String =
        lines.into_iter().map(|(name, value)| format!("{name:<9}  {value}\n")).collect();
    if let Some(content) = &memory.content {
        text.push_str(&format!("\n{content}\n"));
    }
    text
}
