//! `ona trace reconcile`.

use std::process::ExitCode;

use ona_cli::CliError;
use ona_cli::output::plain;
use ona_intents::reconcile::Changes;
use ona_trace::entry::LineRange;
use ona_trace::reconcile::Ungoverned;
use serde_json::{Value, json};

use crate::workspace::{Location, counted, no_history, printed, runtime};

pub fn run(location: &Location, since: Option<&str>, as_json: bool) -> Result<ExitCode, CliError> {
    let changes =
        runtime()?.block_on(Changes::since(&location.workspace, since)).map_err(no_history)?;
    let text = if as_json {
        let value = json!({"base": changes.base, "changed_files": changes.files.len(),
            "ungoverned": changes.ungoverned.iter().map(self::json).collect::<Vec<_>>()});
        format!("{value}\n")
    } else {
        words(&changes)
    };
    printed(&text)?;
    Ok(ExitCode::from(u8::from(!changes.ungoverned.is_empty())))
}

fn words(changes: &Changes) -> String {
    let base = match &changes.base {
        Some(commit) => commit.get(..12).unwrap_or(commit),
        None => "the beginning",
    };
    let files = changes.files.len();
    if changes.ungoverned.is_empty() {
        return match files {
            0 => format!("no changes since {base}\n"),
            _ => format!("{} changed since {base}, all of it traced\n", counted(files, "file")),
        };
    }
    let mut text: String = changes.ungoverned.iter().map(line).collect();
    let mut bare: Vec<&str> = changes.ungoverned.iter().map(|one| one.path.as_str()).collect();
    bare.dedup();
    text.push_str(&format!(
        "{} in {} since {base} that the trace does not explain\n",
        counted(changes.ungoverned.len(), "change"),
        counted(bare.len(), "file")
    ));
    text.push_str("hint: if they are yours, `ona trace reconcile --adopt INT-…` records them\n");
    text
}

/// Where the change is, and what it is.
pub fn line(change: &Ungoverned) -> String {
    let place = match (change.new_range, change.old_range) {
        (Some(new), Some(old)) if new.is_empty() => {
            format!(":{}: {} removed", new.start_line, counted_lines(old))
        }
        (Some(new), _) if new.len() == 1 => format!(":{}", new.start_line),
        (Some(new), _) => format!(":{}-{}", new.start_line, new.end_line),
        (None, _) => String::new(),
    };
    format!("ungoverned_change  {}{place}  ({})\n", plain(&change.path), change.kind.as_str())
}

fn counted_lines(range: LineRange) -> String {
    counted(usize::try_from(range.len()).unwrap_or(usize::MAX), "line")
}

pub fn json(change: &Ungoverned) -> Value {
    json!({"type": "ungoverned_change", "path": change.path, "kind": change.kind.as_str(),
        "old_range": change.old_range, "new_range": change.new_range,
        "content_hash": change.content_hash})
}
