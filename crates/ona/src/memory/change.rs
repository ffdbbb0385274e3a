//! `ona memory add`, `edit` and `forget`.

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::process::ExitCode;

use ona_cli::CliError;
use ona_cli::env;
use ona_cli::output::plain;
use ona_engine::memory::fields::{FieldError, Fields, MAX_CONTENT, fresh_id};
use ona_engine::memory::markdown::{self, Note};
use ona_store::{Changed, Memory, MemoryChange, MemoryRow};
use serde_json::json;
use tempfile::NamedTempFile;

use super::{Add, Caller, Edit, fields, warn_if_masked};
use crate::governed::refused;
use crate::workspace::printed;

pub fn add(caller: &Caller, new: &Add) -> Result<ExitCode, CliError> {
    let mut fields = fields();
    let content =
        new.content.as_deref().map(|given| given_content(&mut fields, given)).transpose()?;
    let memory = Memory {
        id: fresh_id(),
        kind: fields.kind(&new.kind)?,
        title: fields.title(&new.title)?,
        content: content.flatten(),
        keywords: fields.keywords(new.keywords.iter().map(String::as_str))?,
        anticipated_queries: fields.questions(new.question.iter().map(String::as_str))?,
        project_scope: caller.scope(&new.place)?,
    };
    caller.store.save_memory(&memory, &caller.author())?;
    warn_if_masked(&fields);
    let what = format!("saved {}\n", memory.id);
    tell(caller, &memory.id, &what, new.json)
}

/// The text that an option gives: itself, or standard input for `-`.
fn given_content(fields: &mut Fields, given: &str) -> Result<Option<String>, CliError> {
    if given != "-" {
        return Ok(fields.content(given)?);
    }
    let unreadable = |why: String| {
        CliError::usage(format!("cannot read standard input: {why}"))
            .hint("`--content -` expects UTF-8 text")
    };
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(MAX_CONTENT as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() > MAX_CONTENT {
        return Err(FieldError::ContentTooLong.into());
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        unreadable(format!("byte {} is not UTF-8", error.utf8_error().valid_up_to() + 1))
    })?;
    Ok(fields.content(&text)?)
}

pub fn edit(caller: &Caller, edit: &Edit) -> Result<ExitCode, CliError> {
    let row = caller.find(&edit.id)?;
    let mut fields = fields();
    let keywords = edit.keywords.as_deref();
    let mut change = MemoryChange {
        kind: edit.kind.as_deref().map(|kind| fields.kind(kind)).transpose()?,
        title: edit.title.as_deref().map(|title| fields.title(title)).transpose()?,
        content: edit
            .content
            .as_deref()
            .map(|given| given_content(&mut fields, given))
            .transpose()?,
        keywords: keywords.map(|words| fields.keywords(words.split(','))).transpose()?,
        project_scope: edit.place.is_given().then(|| caller.scope(&edit.place)).transpose()?,
        ..MemoryChange::default()
    };
    if !edit.question.is_empty() {
        change.anticipated_queries =
            Some(fields.questions(edit.question.iter().map(String::as_str))?);
    }
    if change == MemoryChange::default() {
        return in_editor(caller, &row, fields, edit.json);
    }
    made(caller, &row, caller.store.change_memory(&row.memory.id, &change, &caller.author())?)?;
    warn_if_masked(&fields);
    tell(caller, &row.memory.id, &format!("changed {}\n", row.memory.id), edit.json)
}

/// Lets the operator change all of it in an editor. What was written there is never lost: where it cannot be taken,
/// the file stays.
fn in_editor(
    caller: &Caller,
    row: &MemoryRow,
    mut fields: Fields,
    as_json: bool,
) -> Result<ExitCode, CliError> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(CliError::usage("no option given, and no terminal for an editor")
            .hint("give --title, --content, --type, --keywords or --question"));
    }
    let id = &row.memory.id;
    let mut file = tempfile::Builder::new()
        .prefix("ona-memory-")
        .suffix(".md")
        .tempfile()
        .map_err(|error| CliError::failed(format!("cannot create a file to edit: {error}")))?;
    let before = markdown::to_markdown(&note_of(&row.memory));
    let unwritable = |error| CliError::failed(format!("cannot write the file to edit: {error}"));
    file.write_all(before.as_bytes()).and_then(|()| file.flush()).map_err(unwritable)?;
    let editor = env::editor();
    let ended = ona_sandbox::edit(&editor, file.path()).map_err(|error| {
        CliError::failed(format!("cannot start the editor `{editor}`: {error}"))
    })?;
    if !ended {
        return Err(CliError::failed(format!("the editor `{editor}` failed; {id} is unchanged")));
    }
    // An editor may have put another file in its place.
    let after = ona_files::content_text(file.path())
        .map_err(|error| CliError::failed(format!("cannot read the edited file: {error}")))?;
    if after == before {
        return tell(caller, id, "nothing changed\n", as_json);
    }
    let taken = changed(&after, &mut fields).and_then(|mut change| {
        change.read_at = Some(row.correction_count);
        made(caller, row, caller.store.change_memory(id, &change, &caller.author())?)
    });
    if let Err(error) = taken {
        return Err(kept(file, error));
    }
    warn_if_masked(&fields);
    tell(caller, id, &format!("changed {id}\n"), as_json)
}

/// What an edited file says.
fn changed(text: &str, fields: &mut Fields) -> Result<MemoryChange, CliError> {
    let note = markdown::note("", text)
        .map_err(|error| CliError::usage(format!("front matter: {error}")))?;
    let Some(note) = note else {
        return Err(CliError::usage("the edited file is empty")
            .hint("`ona memory forget` deletes a memory"));
    };
    Ok(MemoryChange {
        kind: Some(fields.kind(&note.kind)?),
        title: Some(fields.title(&note.title)?),
        content: Some(fields.content(&note.content)?),
        keywords: Some(fields.keywords(note.keywords.iter().map(String::as_str))?),
        anticipated_queries: Some(
            fields.questions(note.description.iter().flat_map(|it| it.lines()))?,
        ),
        ..MemoryChange::default()
    })
}

fn note_of(memory: &Memory) -> Note {
    let keywords = memory.keywords.as_deref().unwrap_or_default();
    Note {
        kind: memory.kind.clone(),
        title: memory.title.clone(),
        content: memory.content.clone().unwrap_or_default(),
        keywords: keywords.split(',').map(|word| word.trim().to_owned()).collect(),
        description: memory.anticipated_queries.clone(),
    }
}

/// The error, and where what was edited is.
fn kept(file: NamedTempFile, error: CliError) -> CliError {
    match file.keep() {
        Ok((_, path)) => error.hint(format!("your text is in {}", path.display())),
        Err(_) => error,
    }
}

pub fn forget(caller: &Caller, word: &str, as_json: bool) -> Result<ExitCode, CliError> {
    let row = caller.find(word)?;
    let id = &row.memory.id;
    made(caller, &row, caller.store.forget_memory(id, &caller.author())?)?;
    printed(&match as_json {
        true => format!("{}\n", json!({"id": id, "forgotten": true})),
        false => plain(&format!("deleted {id}: {}\n", row.memory.title)),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Whether a change was made, in words.
fn made(caller: &Caller, row: &MemoryRow, changed: Changed) -> Result<(), CliError> {
    let id = &row.memory.id;
    match (changed, &caller.starter) {
        (Changed::Done, _) => Ok(()),
        (Changed::NotTheirs, Some(starter)) => {
            Err(refused("about a memory that a human wrote", starter))
        }
        (Changed::Meanwhile, _) => {
            Err(CliError::failed(format!("{id} was changed by somebody else in the meantime"))
                .hint("`ona memory show` shows the current text"))
        }
        (Changed::Missing | Changed::NotTheirs, _) => {
            Err(CliError::failed(format!("{id} was deleted in the meantime")))
        }
    }
}

/// Prints what was done, or the memory as it is now.
fn tell(caller: &Caller, id: &str, what: &str, as_json: bool) -> Result<ExitCode, CliError> {
    let text = match as_json {
        true => format!("{}\n", json!(caller.store.memory(id)?)),
        false => what.to_owned(),
    };
    printed(&text)?;
    Ok(ExitCode::SUCCESS)
}
