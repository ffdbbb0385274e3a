//! `ona intent list` and `ona intent show`.

use std::process::ExitCode;

use ona_cli::output::plain;
use ona_cli::{CliError, Options, env};
use ona_intents::file::{Intent, Status};
use ona_intents::ignore::Ignore;
use ona_store::{Selection, Store};
use ona_trace::TraceEntry;
use serde_json::{Value, json};

use crate::trace;
use crate::workspace::{Location, find_intent, no_trace, printed, selection};

pub fn list(cli: &Options, all: bool, as_json: bool) -> Result<ExitCode, CliError> {
    let location = Location::find(cli)?;
    let intents = location.intents()?;
    let store = Store::look(&env::database()?)?;
    let selected = selection(&store, &location, None)?.and_then(|selected| selected.intent_id);
    let is_over =
        |intent: &&Intent| !all && matches!(intent.status(), Status::Completed | Status::Abandoned);
    let over = intents.all.iter().filter(is_over).count();
    let shown: Vec<&Intent> = intents.all.iter().filter(|intent| !is_over(intent)).collect();
    let is_selected = |intent: &Intent| selected.as_deref() == Some(intent.id.as_str());
    let text = if as_json {
        let row = |intent: &&Intent| {
            let mut row = json(intent);
            row["selected"] = json!(is_selected(intent));
            row
        };
        format!("{}\n", Value::Array(shown.iter().map(row).collect()))
    } else if shown.is_empty() {
        match over {
            0 => "no intents yet; `ona intent add` adds one\n".to_owned(),
            _ => format!("{over} completed or abandoned; `ona intent list --all` shows them\n"),
        }
    } else {
        let width = shown.iter().map(|intent| intent.id.len()).max().unwrap_or_default();
        let line = |intent: &&Intent| {
            let mark = if is_selected(intent) { '*' } else { ' ' };
            let scope = texts(&scope_of(intent), ", ");
            format!(
                "{mark} {:<width$}  {:<11}  {}  [{scope}]\n",
                plain(&intent.id),
                plain(intent.status().as_str()),
                one_line(intent.title())
            )
        };
        shown.iter().map(line).collect()
    };
    for warning in &intents.warnings {
        ona_cli::output::complain(&format!(
            "warning: {}:{}:{}: {}\n",
            ona_intents::file::INTENTS_FILE,
            warning.place.line,
            warning.place.column,
            warning.message
        ));
    }
    printed(&text)?;
    Ok(ExitCode::SUCCESS)
}

pub fn show(cli: &Options, id: &str, last: usize, as_json: bool) -> Result<ExitCode, CliError> {
    let location = Location::find(cli)?;
    let intents = location.intents()?;
    let intent = find_intent(&intents, id)?;
    let recent = location.ledger()?.recent(Some(id), last).map_err(no_trace)?.entries;
    let store = Store::look(&env::database()?)?;
    let selections: Vec<(String, Selection)> = store
        .selections(&location.name())?
        .into_iter()
        .filter(|(_, selection)| selection.intent_id.as_deref() == Some(id))
        .collect();
    let ignore = Ignore::load(location.root());
    let blocked =
        ignore.blocks_intent(id).map(|entry| format!("{} line {}", entry.file, entry.line));
    let text = if as_json {
        let mut value = json(intent);
        let by = |(session, selection): &(String, Selection)| {
            json!({"session_id": Some(session).filter(|id| !id.is_empty()),
                "is_default": selection.is_default, "selected_by": selection.selected_by,
                "selected_at": selection.selected_at})
        };
        value["selected"] = json!(!selections.is_empty());
        value["selections"] = selections.iter().map(by).collect();
        value["blocked_by"] = json!(blocked);
        value["recent_trace"] = recent.iter().map(ona_trace::export::json).collect();
        format!("{value}\n")
    } else {
        words(intent, &selections, blocked.as_deref(), &recent)
    };
    printed(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn words(
    intent: &Intent,
    selections: &[(String, Selection)],
    blocked: Option<&str>,
    recent: &[TraceEntry],
) -> String {
    let mut text = format!(
        "{} {}\n  status        {}\n",
        plain(&intent.id),
        one_line(intent.title()),
        plain(intent.status().as_str())
    );
    let mut add = |name: &str, values: &[String]| {
        for (at, value) in values.iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            text.push_str(&format!("  {name:<13} {}\n", one_line(value)));
        }
    };
    add("scope", &scope_of(intent));
    if intent.owned_scope.is_empty() {
        add("scope", &["empty: no file may be changed for it".to_owned()]);
    }
    add("constraints", &intent.constraints);
    add("criteria", &intent.acceptance_criteria);
    add("requirements", &intent.related_requirements);
    for (name, value) in [
        ("description", &intent.description),
        ("openspec", &intent.openspec_ref),
        ("bead", &intent.bead_id),
        ("created", &intent.created_at),
        ("updated", &intent.updated_at),
    ] {
        add(name, value.as_slice());
    }
    let selected = |(session, selection): &(String, Selection)| match selection.is_default {
        true => format!("as the default, since {}", selection.selected_at),
        false => format!("by session {session}, since {}", selection.selected_at),
    };
    add("selected", &selections.iter().map(selected).collect::<Vec<_>>());
    add("blocked", blocked.map(|entry| format!("by {entry}")).as_slice());
    add("trace", &recent.iter().map(trace::line).collect::<Vec<_>>());
    if recent.is_empty() {
        add("trace", &["no changes yet".to_owned()]);
    }
    text
}

fn scope_of(intent: &Intent) -> Vec<String> {
    intent.owned_scope.iter().map(|item| item.text.clone()).collect()
}

fn texts(list: &[String], between: &str) -> String {
    one_line(&list.join(between))
}

/// A text that cannot pass for more than one line.
fn one_line(text: &str) -> String {
    plain(&text.replace(['\n', '\t'], " "))
}

/// An intent with the file's own keys.
pub fn json(intent: &Intent) -> Value {
    json!({
        "id": intent.id,
        "name": intent.name,
        "status": intent.status().as_str(),
        "owned_scope": scope_of(intent),
        "constraints": intent.constraints,
        "acceptance_criteria": intent.acceptance_criteria,
        "related_requirements": intent.related_requirements,
        "description": intent.description,
        "openspec_ref": intent.openspec_ref,
        "bead_id": intent.bead_id,
        "created_at": intent.created_at,
        "updated_at": intent.updated_at,
        "line": intent.place.line,
    })
}
