//! `ona intent add`, `edit` and `status`: edits of active_intents.yaml that leave the rest of the file unchanged.

use std::process::ExitCode;

use ona_cli::output::{complain, plain};
use ona_cli::{CliError, Options};
use ona_intents::file::{
    self, Change, INTENTS_FILE, Intents, ListEdit, ListField, NewIntent, Status, TextField,
};
use ona_intents::scope::Scope;
use serde_json::json;

use super::{Add, Edit, Fields};
use crate::workspace::{Location, find_intent, printed, unchanged, update};

pub fn add(cli: &Options, new: &Add) -> Result<ExitCode, CliError> {
    let location = Location::find(cli)?;
    let fields = &new.fields;
    usable(&fields.scope)?;
    let status = match &fields.status {
        Some(word) => known(word)?,
        None => Status::Planned,
    };
    if new.name.trim().is_empty() {
        return Err(CliError::usage("an intent needs a name").hint("--name 'What it is for'"));
    }
    let mut intent = NewIntent {
        id: new.id.clone().unwrap_or_default(),
        name: new.name.clone(),
        status: status.as_str().to_owned(),
        owned_scope: fields.scope.clone(),
        constraints: fields.constraint.clone(),
        acceptance_criteria: fields.criterion.clone(),
        related_requirements: fields.requirement.clone(),
        openspec_ref: fields.openspec_ref.clone(),
        bead_id: fields.bead.clone(),
        at: file::now(),
    };
    // The number is taken under the lock, so that two who add at once get two.
    update(&location, |text| {
        if new.id.is_none() {
            intent.id = Intents::read(text)?.next_id();
        }
        let text = file::add(text, &intent)?;
        match &fields.description {
            Some(words) => {
                let words = Change::Text(TextField::Description, words.clone());
                file::change(&text, &intent.id, &[words])
            }
            None => Ok(text),
        }
    })
    .map_err(unchanged)?;
    if intent.owned_scope.is_empty() {
        complain(&format!(
            "warning: {0} has no scope: no file may be changed for it\nhint: ona intent edit {0} --add-scope 'src/**'\n",
            intent.id
        ));
    }
    let text = match new.json {
        true => format!("{}\n", json!({"id": intent.id, "status": intent.status})),
        false => format!("added {} ({}) to {INTENTS_FILE}\n", intent.id, plain(&intent.name)),
    };
    printed(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// A pattern that matches nothing, or not what it says, is better refused than written.
fn usable(patterns: &[String]) -> Result<(), CliError> {
    Scope::read(patterns).map(drop).map_err(|error| {
        CliError::usage(error.to_string()).hint("examples: src/**, tests/*.rs, !src/gen/**")
    })
}

fn known(word: &str) -> Result<Status, CliError> {
    match Status::read(word) {
        Status::Unknown(word) => Err(CliError::usage(format!("unknown status `{word}`"))
            .hint(format!("expected one of {}", Status::NAMES.join(", ")))),
        status => Ok(status),
    }
}

pub fn edit(cli: &Options, edit: &Edit) -> Result<ExitCode, CliError> {
    let location = Location::find(cli)?;
    let texts = texts(edit.name.as_ref(), &edit.fields)?;
    let lists = lists(edit);
    if texts.is_empty() && lists.iter().all(ListEdit::is_empty) {
        return Err(CliError::usage(format!("no change given for {}", edit.id))
            .hint("`ona intent edit --help` lists the options"));
    }
    usable(&edit.fields.scope)?;
    usable(&edit.add_scope)?;
    let changed =
        update(&location, |text| file::edit(text, &edit.id, &lists, &texts)).map_err(unchanged)?;
    let done = if changed { "changed" } else { "unchanged:" };
    printed(&format!("{done} {}\n", edit.id))?;
    Ok(ExitCode::SUCCESS)
}

fn texts(name: Option<&String>, fields: &Fields) -> Result<Vec<(TextField, String)>, CliError> {
    let status = fields.status.as_deref().map(known).transpose()?;
    let status = status.map(|status| status.as_str().to_owned());
    let all = [
        (TextField::Name, name),
        (TextField::Status, status.as_ref()),
        (TextField::Description, fields.description.as_ref()),
        (TextField::OpenspecRef, fields.openspec_ref.as_ref()),
        (TextField::BeadId, fields.bead.as_ref()),
    ];
    Ok(all.into_iter().filter_map(|(field, text)| Some((field, text?.clone()))).collect())
}

fn lists(edit: &Edit) -> [ListEdit<'_>; 4] {
    let fields = &edit.fields;
    let list = |field, set, add, remove| ListEdit { field, set, add, remove };
    [
        list(ListField::OwnedScope, &fields.scope, &edit.add_scope, &edit.remove_scope),
        list(
            ListField::Constraints,
            &fields.constraint,
            &edit.add_constraint,
            &edit.remove_constraint,
        ),
        list(
            ListField::AcceptanceCriteria,
            &fields.criterion,
            &edit.add_criterion,
            &edit.remove_criterion,
        ),
        list(
            ListField::RelatedRequirements,
            &fields.requirement,
            &edit.add_requirement,
            &edit.remove_requirement,
        ),
    ]
}

pub fn status(cli: &Options, id: &str, word: &str) -> Result<ExitCode, CliError> {
    let location = Location::find(cli)?;
    let status = known(word)?;
    let intents = location.intents()?;
    let before = find_intent(&intents, id)?.status();
    update(&location, |text| file::set_status(text, id, &status)).map_err(unchanged)?;
    let text = match before == status {
        true => format!("{id} is already {status}\n"),
        false => format!("{id}: {} → {status}\n", plain(before.as_str())),
    };
    printed(&text)?;
    Ok(ExitCode::SUCCESS)
}
