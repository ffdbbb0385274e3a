//! `/rewind`: back to an earlier prompt. The conversation goes on in a copy that ends before it; files get the content
//! they had. Nothing is lost: the original session stays, and what files were before the rewind is kept like before a call.

mod changed;
mod restore;

use ona_engine::{Fork, Which};
use ona_front::{Choice, Menu, MenuItem};
use ona_store::PromptRow;
use ona_types::hook::SessionEndReason;

use self::changed::Changes;
use self::restore::restore;
use crate::act::Act;
use crate::desk::{CommandError, Desk};
use crate::outside::Outside;
use crate::run::{beginning, counted, first_word};

/// `/rewind`, `/rewind SEQUENCE` and `/rewind SEQUENCE both|conversation|code|summarize`.
pub(crate) fn rewind<O: Outside>(desk: &Desk<O>, arguments: &str) -> Result<Act, CommandError> {
    let prompts = desk.store().prompts(desk.session_id())?;
    let (number, what) = first_word(arguments);
    if number.is_empty() {
        return points(desk, &prompts);
    }
    let wanted: i64 = number.parse().unwrap_or(-1);
    let Some(prompt) = prompts.iter().find(|row| row.sequence == wanted) else {
        return Ok(Act::error(format!("unknown prompt {number}: /rewind lists the prompts")));
    };
    match what {
        "" => Ok(Act::menu(ways(desk, prompt)?)),
        "both" => {
            let said = restore(desk, prompt)?;
            back(desk, prompt, &said)
        }
        "conversation" => back(desk, prompt, "files stay as they are"),
        "code" => Ok(Act::plain(restore(desk, prompt)?)),
        other => Ok(Act::error(format!("unknown argument `{other}`: both, conversation or code"))),
    }
}

fn points<O: Outside>(desk: &Desk<O>, prompts: &[PromptRow]) -> Result<Act, CommandError> {
    if prompts.is_empty() {
        return Ok(Act::plain("nothing to rewind: no prompt was sent yet"));
    }
    let mut items = Vec::new();
    // All of them at once: a long session has thousands of prompts.
    let history = desk.store().file_history(desk.session_id(), 0)?;
    for prompt in prompts.iter().rev() {
        let since = history.iter().filter(|row| row.sequence >= prompt.sequence);
        let files = Changes::of(since).files.iter().filter(|file| file.counts()).count();
        items.push(MenuItem {
            label: beginning(&prompt.text, 70),
            detail: match files {
                0 => "no files to put back".to_owned(),
                files => format!("{} to put back", counted(files, "file")),
            },
            current: false,
            choice: Choice::Command { line: format!("/rewind {}", prompt.sequence) },
            value: prompt.sequence.to_string(),
            ..MenuItem::default()
        });
    }
    let text = "Files that a command changed without naming them are not known here.".to_owned();
    let title = "Rewind to before a prompt".to_owned();
    Ok(Act::menu(Menu { title, text, items, ..Menu::default() }))
}

fn ways<O: Outside>(desk: &Desk<O>, prompt: &PromptRow) -> Result<Menu, CommandError> {
    let rows = desk.store().file_history(desk.session_id(), prompt.sequence)?;
    let changes = Changes::of(rows.iter());
    let mut text = format!("Before: {}", beginning(&prompt.text, 100));
    for file in changes.files.iter().take(10) {
        let edited = match file.is_edited() {
            true => " — **changed since by someone else: that is undone too**",
            false => "",
        };
        text.push_str(&format!("\n\n- `{}` {}{edited}", file.path.display(), file.outlook()));
    }
    if changes.files.len() > 10 {
        text.push_str(&format!("\n\n- and {} more", changes.files.len() - 10));
    }
    for why in changes.unsure() {
        text.push_str(&format!("\n\n- not known: {why}"));
    }
    let item = |label: &str, way: &str| MenuItem {
        label: label.to_owned(),
        choice: Choice::Command { line: format!("/rewind {} {way}", prompt.sequence) },
        ..MenuItem::default()
    };
    Ok(Menu {
        title: "Rewind".to_owned(),
        text,
        items: vec![
            item("Code and conversation", "both"),
            item("Conversation only", "conversation"),
            item("Code only", "code"),
            MenuItem { label: "Cancel".to_owned(), ..MenuItem::default() },
        ],
        ..Menu::default()
    })
}

/// The conversation goes on in a copy that ends before the prompt.
fn back<O: Outside>(desk: &Desk<O>, prompt: &PromptRow, said: &str) -> Result<Act, CommandError> {
    let own = desk.session_id().to_string();
    let which = match before(desk, prompt.sequence)? {
        Some(at) => Which::Named(own.clone(), Some(Fork { id: None, at: Some(at) })),
        None => Which::New(None),
    };
    Ok(Act::Open {
        which,
        reason: SessionEndReason::Resume,
        name: None,
        said: format!("rewound; {said}. The original is session {own}"),
        input: Some(prompt.text.clone()),
    })
}

/// The last entry before a prompt and what was attached to it; `None` if there is none.
fn before<O: Outside>(desk: &Desk<O>, sequence: i64) -> Result<Option<i64>, CommandError> {
    let rows = desk.store().entries_before(desk.session_id(), Some(sequence), 100)?;
    let attached = rows.iter().rev().take_while(|row| row.entry_type == "attachment").count();
    Ok(rows.iter().rev().nth(attached).map(|row| row.sequence))
}
