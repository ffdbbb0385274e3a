//! `/rewind`: back to an earlier prompt. The conversation goes on in a copy that ends before it; files get the content
//! they had. Nothing is lost: the original session stays, and what files were before the rewind is kept like before a call.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use ona_engine::{Fork, Which};
use ona_files::{ReplaceOptions, replace};
use ona_front::{Choice, Menu, MenuItem};
use ona_gate::file_history::{kept_content, note_present, present};
use ona_store::{FileHistoryRow, PromptRow, Step};
use ona_types::hook::SessionEndReason;
use ona_types::{Entry, SessionId};
use serde_json::json;

use crate::act::Act;
use crate::desk::{CommandError, Desk};
use crate::outside::Outside;
use crate::run::{beginning, counted, first_word};

/// A file to put back.
struct Restored {
    path: PathBuf,
    /// The hash of its content and the session that keeps it; `None` if there was no such file.
    content: Option<(String, SessionId)>,
    /// The hash of what the last call left; `None` if it removed the file.
    left: Option<String>,
}

impl Restored {
    /// Whether someone else has changed the file since the last call did.
    fn is_edited(&self) -> bool {
        present(&self.path) != self.left
    }
}

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
        let files = restorable(since).len();
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
    let files = to_restore(desk, prompt.sequence)?;
    let mut text = format!("Before: {}", beginning(&prompt.text, 100));
    for file in files.iter().take(10) {
        let what = if file.content.is_some() { "gets its old content" } else { "is removed" };
        let edited = match file.is_edited() {
            true => " — **changed since by someone else: that is undone too**",
            false => "",
        };
        text.push_str(&format!("\n\n- `{}` {what}{edited}", file.path.display()));
    }
    if files.len() > 10 {
        text.push_str(&format!("\n\n- and {} more", files.len() - 10));
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

/// The last entry before a prompt and what was attached to it; `None` if nothing was said before.
fn before<O: Outside>(desk: &Desk<O>, sequence: i64) -> Result<Option<i64>, CommandError> {
    let rows = desk.store().entries_before(desk.session_id(), Some(sequence), 100)?;
    let attached = rows.iter().rev().take_while(|row| row.entry_type == "attachment").count();
    let earlier = desk.store().prompts(desk.session_id())?;
    if earlier.iter().all(|row| row.sequence >= sequence) {
        return Ok(None);
    }
    Ok(rows.iter().rev().nth(attached).map(|row| row.sequence))
}

/// The files that calls have changed since an entry, and what they were then.
fn to_restore<O: Outside>(desk: &Desk<O>, sequence: i64) -> Result<Vec<Restored>, CommandError> {
    let rows = desk.store().file_history(desk.session_id(), sequence)?;
    Ok(restorable(rows.iter()))
}

/// The files of these changes that are not what they were before the first of them.
fn restorable<'r>(rows: impl Iterator<Item = &'r FileHistoryRow>) -> Vec<Restored> {
    let mut files: Vec<Restored> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (row, file) in rows.flat_map(|row| row.files.iter().map(move |file| (row, file))) {
        match known.get(file.path.as_str()) {
            Some(at) => files[*at].left.clone_from(&file.after),
            None => {
                known.insert(&file.path, files.len());
                let content = file.before.clone().map(|hash| (hash, row.kept_by.clone()));
                let (path, left) = (PathBuf::from(&file.path), file.after.clone());
                files.push(Restored { path, content, left });
            }
        }
    }
    files.retain(|file| file.content.as_ref().map(|(hash, _)| hash) != file.left.as_ref());
    files
}

/// Puts files back, and says what was done.
fn restore<O: Outside>(desk: &Desk<O>, prompt: &PromptRow) -> Result<String, CommandError> {
    let files = to_restore(desk, prompt.sequence)?;
    if files.is_empty() {
        return Ok("no files to put back".to_owned());
    }
    let host = &desk.session.gate.governance.host;
    let session = desk.session_id();
    let (mut noted, mut done, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    let mut edited = Vec::new();
    for file in files {
        let is_edited = file.is_edited();
        let Restored { path, content, .. } = file;
        let version = match note_present(host, session, &path) {
            Ok(version) => version,
            Err(error) => {
                failed.push(format!("{}: {error}", path.display()));
                continue;
            }
        };
        let put = match &content {
            Some((hash, kept_by)) => match kept_content(host, kept_by, hash) {
                Ok(old) => {
                    replace(&path, &old, &ReplaceOptions::default()).map_err(io::Error::other)
                }
                Err(error) => {
                    Err(io::Error::other(format!("its old content is not kept any more: {error}")))
                }
            },
            None => removed(&path),
        };
        match put {
            Ok(()) => {
                if let Some(hash) = version.before.as_ref().filter(|_| is_edited) {
                    let kept = host.pre_images_of(session).join(hash);
                    edited.push(format!(
                        "{} was changed by someone else before; that content is kept in {}",
                        path.display(),
                        kept.display()
                    ));
                }
                noted.push(ona_types::FileVersion {
                    after: content.map(|(hash, _)| hash),
                    ..version
                });
                done.push(path.display().to_string());
            }
            Err(error) => failed.push(format!("{}: {error}", path.display())),
        }
    }
    let detail = json!({"to": prompt.sequence, "files": done, "failed": failed});
    let entries = [Entry::file_history(session, &noted)];
    let entries = if noted.is_empty() { &entries[..0] } else { &entries[..] };
    let step = Step { entries, event: Some(("files.rewound", &detail)), ..Step::default() };
    desk.store().keep_step(desk.session.seat(), &step)?;
    let mut said = format!("put back {}", counted(done.len(), "file"));
    for file in edited {
        said.push_str(&format!("\n{file}"));
    }
    for file in failed {
        said.push_str(&format!("\nnot put back: {file}"));
    }
    Ok(said)
}

fn removed(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
