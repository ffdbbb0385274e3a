//! `ona intent add`, `edit` and `status`: edits of active_intents.yaml that leave the rest of the file unchanged.

use std::process::ExitCode;

use ona_intents::file::{
    self, Change, EditError, INTENTS_FILE, Intents, ListField, NewIntent, Status, TextField,
};
use ona_intents::scope::Scope;
use serde_json::json;

use super::{Add, Edit, Fields};
use crate::args::Cli;
use crate::error::CliError;
use crate::output::{complain, plain};
use crate::workspace::{Workspace, find_intent, printed, unchanged, update};

pub fn add(cli: &Cli, new: &Add) -> Result<ExitCode, CliError> {
    let workspace = Workspace::find(cli)?;
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
    update(&workspace, |text| {
        if new.id.is_none() {
            intent.id = next_id(&Intents::read(text)?);
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

/// One more than the highest number there is: a number that was used once may still be in the trace.
fn next_id(intents: &Intents) -> String {
    let number = |id: &str| id.strip_prefix("INT-").and_then(|digits| digits.parse::<u64>().ok());
    let highest = intents.all.iter().filter_map(|intent| number(&intent.id)).max();
    format!("INT-{:03}", highest.unwrap_or_default().saturating_add(1))
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

pub fn edit(cli: &Cli, edit: &Edit) -> Result<ExitCode, CliError> {
    let workspace = Workspace::find(cli)?;
    let mut texts = texts(edit.name.as_ref(), &edit.fields)?;
    let lists = lists(edit);
    if texts.is_empty() && lists.iter().all(|list| list.is_empty()) {
        return Err(CliError::usage(format!("no change given for {}", edit.id))
            .hint("`ona intent edit --help` lists the options"));
    }
    usable(&edit.fields.scope)?;
    usable(&edit.add_scope)?;
    texts.push(Change::Text(TextField::UpdatedAt, file::now()));
    let mut missing = None;
    let changed = update(&workspace, |text| {
        let intents = Intents::read(text)?;
        let mut changes = Vec::new();
        // What is ambiguous or not there, `change` says.
        if let Ok(intent) = find_intent(&intents, &edit.id) {
            for list in lists.iter().filter(|list| !list.is_empty()) {
                match list.apply(intent) {
                    Ok(change) => changes.push(change),
                    Err(not_there) => missing = Some(not_there),
                }
            }
        }
        match missing {
            // Nothing is to be changed by halves.
            Some(_) => Ok(text.to_owned()),
            None => file::change(text, &edit.id, &[changes, texts].concat()),
        }
    })
    .map_err(unchanged)?;
    if let Some(not_there) = missing {
        return Err(CliError::usage(not_there).hint(format!("`ona intent show {}`", edit.id)));
    }
    let done = if changed { "changed" } else { "unchanged:" };
    printed(&format!("{done} {}\n", edit.id))?;
    Ok(ExitCode::SUCCESS)
}

fn texts(name: Option<&String>, fields: &Fields) -> Result<Vec<Change>, CliError> {
    let status = fields.status.as_deref().map(known).transpose()?;
    let status = status.map(|status| status.as_str().to_owned());
    let all = [
        (TextField::Name, name),
        (TextField::Status, status.as_ref()),
        (TextField::Description, fields.description.as_ref()),
        (TextField::OpenspecRef, fields.openspec_ref.as_ref()),
        (TextField::BeadId, fields.bead.as_ref()),
    ];
    let given =
        all.into_iter().filter_map(|(field, text)| Some(Change::Text(field, text?.clone())));
    Ok(given.collect())
}

/// What is to become of a list.
struct ListEdit<'e> {
    field: ListField,
    set: &'e [String],
    add: &'e [String],
    remove: &'e [String],
}

impl ListEdit<'_> {
    fn is_empty(&self) -> bool {
        self.set.is_empty() && self.add.is_empty() && self.remove.is_empty()
    }

    /// The whole list as it is to be; or what was to be taken out of it and is not there.
    fn apply(&self, intent: &file::Intent) -> Result<Change, String> {
        let old: Vec<String> = match self.field {
            ListField::OwnedScope => {
                intent.owned_scope.iter().map(|item| item.text.clone()).collect()
            }
            ListField::Constraints => intent.constraints.clone(),
            ListField::AcceptanceCriteria => intent.acceptance_criteria.clone(),
            ListField::RelatedRequirements => intent.related_requirements.clone(),
        };
        let mut list = if self.set.is_empty() { old } else { self.set.to_owned() };
        for text in self.remove {
            let before = list.len();
            list.retain(|known| known != text);
            if list.len() == before {
                return Err(format!("{} has no `{text}` to remove", intent.id));
            }
        }
        for text in self.add {
            if !list.contains(text) {
                list.push(text.clone());
            }
        }
        Ok(Change::List(self.field, list))
    }
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

pub fn status(cli: &Cli, id: &str, word: &str) -> Result<ExitCode, CliError> {
    let workspace = Workspace::find(cli)?;
    let status = known(word)?;
    let intents = workspace.intents()?;
    let before = find_intent(&intents, id)?.status();
    set_status(&workspace, id, &status).map_err(unchanged)?;
    let text = match before == status {
        true => format!("{id} is already {status}\n"),
        false => format!("{id}: {} → {status}\n", plain(before.as_str())),
    };
    printed(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Sets a status, unless the intent has it.
fn set_status(workspace: &Workspace, id: &str, status: &Status) -> Result<bool, file::WriteError> {
    update(workspace, |text| {
        let given = match Intents::read(text)?.find(id) {
            file::Found::One(intent) => intent.given_status.clone(),
            _ => None,
        };
        if given.as_ref() == Some(status) {
            return Ok::<_, EditError>(text.to_owned());
        }
        let changes = [
            Change::Text(TextField::Status, status.as_str().to_owned()),
            Change::Text(TextField::UpdatedAt, file::now()),
        ];
        file::change(text, id, &changes)
    })
}

/// Adds a pattern to the scope, unless it is there.
pub fn widen(workspace: &Workspace, id: &str, pattern: &str) -> Result<bool, file::WriteError> {
    update(workspace, |text| {
        let intents = Intents::read(text)?;
        let add = [pattern.to_owned()];
        let edit = ListEdit { field: ListField::OwnedScope, set: &[], add: &add, remove: &[] };
        let mut changes = vec![Change::Text(TextField::UpdatedAt, file::now())];
        if let file::Found::One(intent) = intents.find(id) {
            if intent.owned_scope.iter().any(|item| item.text == pattern) {
                return Ok(text.to_owned());
            }
            changes.extend(edit.apply(intent));
        }
        file::change(text, id, &changes)
    })
}
