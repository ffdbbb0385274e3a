//! Commands about what was said and changed: export, copy, diff.

use std::path::Path;

use ona_front::{Choice, DiffSource, Event, FileDiff, Menu, MenuItem, MenuKey, Reply};
use ona_gate::file_diff::{masked, whole_diff};
use ona_gate::file_history::kept_content;
use ona_repo::git;
use ona_store::FileHistoryRow;
use ona_types::FileState;

use super::confirm::confirmed;
use super::paths::{self, Output};
use super::{beginning, counted, first_word};
use crate::act::Act;
use crate::desk::{CommandError, Desk};
use crate::opened::{shown, texts};
use crate::outside::Outside;
use ona_front::ShownEntry;

/// The word that copies an export instead of writing it.
const CLIPBOARD: &str = "--clipboard";
/// Characters of a result in an export.
const MAX_RESULT: usize = 4_000;
/// What `/copy` takes.
const COPY_USAGE: &str = "expected /copy [N] [all|block N] [w FILE]";
/// Prompts whose changes are shown.
const MAX_SOURCES: usize = 20;
/// Larger files are not compared.
const MAX_FILE: u64 = 4 << 20;

/// The conversation as plain text.
fn plain_text<O: Outside>(desk: &Desk<O>) -> Result<String, CommandError> {
    let rows = desk.store().transcript(desk.session_id())?;
    let mut text = String::new();
    for entry in shown(desk.store(), desk.session_id(), &rows)? {
        text.push_str(&match entry.what {
            ShownEntry::User { text } => format!("> {}\n\n", text.replace('\n', "\n> ")),
            ShownEntry::Assistant { text } => format!("{text}\n\n"),
            ShownEntry::Thinking { text } => {
                format!("<details><summary>Thinking</summary>\n\n{text}\n\n</details>\n\n")
            }
            ShownEntry::Call { tool, input, result, refused } => {
                let refused = refused.map(|refused| format!("  {}\n", refused.words()));
                let result = result.filter(|_| refused.is_none()).map(|(content, failed)| {
                    let mark = if failed { "error: " } else { "" };
                    let cut =
                        content.char_indices().nth(MAX_RESULT).map_or(content.len(), |(at, _)| at);
                    format!("  {mark}{}\n", content[..cut].replace('\n', "\n  "))
                });
                let came = refused.or(result).unwrap_or_default();
                format!("* {tool} {input}\n{came}\n")
            }
            ShownEntry::Note { text } => format!("[{text}]\n\n"),
        });
    }
    Ok(text)
}

/// `/export`.
pub(super) fn export<O: Outside>(desk: &Desk<O>, arguments: &str) -> Result<Act, CommandError> {
    let name = format!(
        "ona-{}.txt",
        &desk.session_id().as_str()[..8.min(desk.session_id().as_str().len())]
    );
    let text = plain_text(desk)?;
    if text.trim().is_empty() {
        return Ok(Act::plain("nothing to export: nothing was said yet"));
    }
    if arguments.is_empty() {
        let item = |label: &str, choice: Choice| MenuItem {
            label: label.to_owned(),
            choice,
            ..MenuItem::default()
        };
        return Ok(Act::menu(Menu {
            title: "Export the conversation".to_owned(),
            items: vec![
                item(
                    "Copy it to the clipboard",
                    Choice::Command { line: format!("/export {CLIPBOARD}") },
                ),
                item(
                    "Write it to a file",
                    Choice::Type {
                        label: "File".to_owned(),
                        line: "/export ".to_owned(),
                        initial: name,
                    },
                ),
            ],
            ..Menu::default()
        }));
    }
    if arguments == CLIPBOARD {
        let reply = Reply::Plain { text: "copied the conversation to the clipboard".to_owned() };
        return Ok(Act::Tell(Box::new(Event::Copy { text }), reply));
    }
    let (overwrites, file) = confirmed(arguments);
    let (path, again) = (paths::typed(desk, file), "/export".to_owned());
    Ok(paths::write(&Output { path, text: &text, overwrites, again }))
}

/// `/copy`.
pub(super) fn copy<O: Outside>(desk: &Desk<O>, arguments: &str) -> Result<Act, CommandError> {
    let (first, file) = match first_word(arguments) {
        // Without a number it is the last answer.
        ("all" | "block" | "w", _) => ("", arguments),
        words => words,
    };
    let number: usize = match first {
        "" => 1,
        word => match word.parse() {
            Ok(number) if number > 0 => number,
            _ => {
                return Ok(Act::error(format!(
                    "`{word}` is not a number from 1 on: /copy 2 copies the answer before the last"
                )));
            }
        },
    };
    let rows = desk.store().transcript(desk.session_id())?;
    let answers = rows.iter().rev().filter(|row| row.entry_type == "assistant").filter_map(|row| {
        let payload: serde_json::Value = serde_json::from_str(&row.payload_json).ok()?;
        Some(texts(&payload["content"])).filter(|text| !text.trim().is_empty())
    });
    let Some(text) = answers.into_iter().nth(number - 1) else {
        return Ok(Act::error(match number {
            1 => "there is no answer to copy yet".to_owned(),
            number => format!("there are fewer than {number} answers"),
        }));
    };
    let blocks = code_blocks(&text);
    let (what, file) = match file.split_once("w ") {
        Some((what, file)) if what.is_empty() || what.ends_with(' ') => {
            (what.trim(), Some(file.trim()))
        }
        _ => (file, None),
    };
    let (text, name) = match (what, what.strip_prefix("block ")) {
        ("", _) if file.is_none() && !blocks.is_empty() => {
            return Ok(Act::menu(choose(number, &text, &blocks)));
        }
        ("" | "all", _) => (text, "the answer"),
        (_, Some(block)) => {
            let at = block.trim().parse::<usize>().ok().and_then(|at| at.checked_sub(1));
            let Some((_, block)) = at.and_then(|at| blocks.get(at)) else {
                let there = counted(blocks.len(), "code block");
                return Ok(Act::error(format!("no code block {block}: the answer has {there}")));
            };
            (block.clone(), "the code block")
        }
        _ => return Ok(Act::error(COPY_USAGE)),
    };
    let Some(file) = file else { return Ok(copied(text, name)) };
    let (overwrites, file) = confirmed(file);
    let what = if what.is_empty() { String::new() } else { format!("{what} ") };
    let (path, again) = (paths::typed(desk, file), format!("/copy {number} {what}w"));
    Ok(paths::write(&Output { path, text: &text, overwrites, again }))
}

fn copied(text: String, what: &str) -> Act {
    let chars = text.chars().count();
    let reply = Reply::Plain {
        text: format!("copied {what} to the clipboard ({})", counted(chars, "character")),
    };
    Act::Tell(Box::new(Event::Copy { text }), reply)
}

fn choose(number: usize, text: &str, blocks: &[(String, String)]) -> Menu {
    let item = |label: String, value: String, file: String| MenuItem {
        label,
        choice: Choice::Command { line: format!("/copy {number} {value}") },
        value,
        file,
        ..MenuItem::default()
    };
    let whole = format!("The whole answer ({})", counted(text.chars().count(), "character"));
    let mut items = vec![item(whole, "all".to_owned(), "answer.md".to_owned())];
    items.extend((1..).zip(blocks).map(|(at, (language, block))| {
        let file = format!("block-{at}.{}", extension(language));
        item(format!("Code: {}", beginning(block, 60)), format!("block {at}"), file)
    }));
    let key = MenuKey {
        key: 'w',
        label: "write to a file".to_owned(),
        choice: Choice::Type {
            label: "File".to_owned(),
            line: format!("/copy {number} {{}} w "),
            initial: "{file}".to_owned(),
        },
    };
    let title = "Copy to the clipboard".to_owned();
    Menu { title, items, keys: vec![key], ..Menu::default() }
}

/// The end of a file's name for a language, as it stands at a block of code.
fn extension(language: &str) -> &str {
    match language {
        "rust" => "rs",
        "python" => "py",
        "bash" | "shell" | "zsh" | "console" => "sh",
        "javascript" => "js",
        "typescript" => "ts",
        "markdown" => "md",
        "ruby" => "rb",
        "kotlin" => "kt",
        "csharp" => "cs",
        "c++" => "cpp",
        "haskell" => "hs",
        name if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric()) => name,
        _ => "txt",
    }
}

/// The fenced code of an answer, each with its language.
fn code_blocks(text: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, &str, Vec<&str>)> = None;
    for line in text.lines() {
        let fence: String =
            line.trim_start().chars().take_while(|c| *c == '`' || *c == '~').collect();
        match &mut open {
            None if fence.len() >= 3 => {
                let info = line.trim_start()[fence.len()..].split_whitespace().next();
                open = Some((fence, info.unwrap_or_default(), Vec::new()));
            }
            None => {}
            Some((began, language, lines)) if line.trim() == *began => {
                blocks.push((language.to_lowercase(), lines.join("\n")));
                open = None;
            }
            Some((.., lines)) => lines.push(line),
        }
    }
    blocks
}

/// `/diff`.
pub(super) async fn diff<O: Outside>(desk: &Desk<O>) -> Result<Act, CommandError> {
    let mut sources = vec![uncommitted(desk).await];
    sources.extend(of_prompts(desk)?);
    if let [DiffSource { files, note, .. }] = sources.as_slice()
        && files.is_empty()
    {
        let git = if note.is_empty() { "nothing uncommitted" } else { note };
        return Ok(Act::plain(format!(
            "no changes: {git}, and no prompt of this session changed a file"
        )));
    }
    sources.retain(|source| !source.files.is_empty() || !source.note.is_empty());
    sources.sort_by_key(|source| source.files.is_empty());
    Ok(Act::Reply(Reply::Diffs { sources }))
}

async fn uncommitted<O: Outside>(desk: &Desk<O>) -> DiffSource {
    let name = "uncommitted changes".to_owned();
    let Some(root) = ona_repo::Checkout::top_of(&desk.session.gate.place().cwd) else {
        let note = "this directory is not in a git repository".to_owned();
        return DiffSource { name, files: Vec::new(), note };
    };
    let root = root.to_owned();
    let found = async {
        let head = git::head(&root).await?;
        let changed = git::changed_since(&root, head.as_deref()).await?;
        let contents = git::contents(&root, &changed).await?;
        Ok::<_, git::GitError>((changed, contents))
    };
    let (changed, contents) = match found.await {
        Ok(found) => found,
        Err(error) => return DiffSource { name, files: Vec::new(), note: error.to_string() },
    };
    let permissions = &desk.session.gate.governance.permissions;
    let redactor = desk.session.gate.redactor();
    let files = changed.iter().zip(contents).filter_map(|(changed, contents)| {
        let path = root.join(&changed.path);
        if permissions.hides(&path) {
            return None;
        }
        let diff = whole_diff(
            &changed.path.to_string_lossy(),
            contents.old.as_deref(),
            contents.new.as_deref(),
            changed.modes,
        )?;
        Some(masked(diff, redactor))
    });
    DiffSource { name, files: files.collect(), note: String::new() }
}

/// What each prompt has changed, the latest first.
fn of_prompts<O: Outside>(desk: &Desk<O>) -> Result<Vec<DiffSource>, CommandError> {
    let prompts = desk.store().prompts(desk.session_id())?;
    let mut sources = Vec::new();
    let mut end = i64::MAX;
    for prompt in prompts.iter().rev().take(MAX_SOURCES) {
        let rows = desk.store().file_history(desk.session_id(), prompt.sequence)?;
        let rows: Vec<FileHistoryRow> = rows.into_iter().filter(|row| row.sequence < end).collect();
        end = prompt.sequence;
        let (files, lost) = changes(desk, &rows);
        if !files.is_empty() || !lost.is_empty() {
            let name = format!("prompt: {}", beginning(&prompt.text, 50));
            let note = match lost.as_slice() {
                [] => String::new(),
                lost => {
                    format!("also changed by someone else since, so not shown: {}", lost.join(", "))
                }
            };
            sources.push(DiffSource { name, files, note });
        }
    }
    Ok(sources)
}

/// A file that calls have changed: what it was before the first of them, and the hash of what it was after the last.
struct ChangedFile<'r> {
    path: &'r str,
    before: Option<Vec<u8>>,
    after: Option<&'r str>,
    /// Its permissions before and after.
    modes: (Option<u32>, Option<u32>),
}

fn mode(state: Option<&FileState>) -> Option<u32> {
    match state {
        Some(FileState::File { mode, .. }) => Some(*mode),
        _ => None,
    }
}

/// From what files were before the first of these changes to what they were after the last.
/// Also the files whose content after the last change is not known any more.
fn changes<O: Outside>(desk: &Desk<O>, rows: &[FileHistoryRow]) -> (Vec<FileDiff>, Vec<String>) {
    let host = &desk.session.gate.governance.host;
    let mut files: Vec<ChangedFile<'_>> = Vec::new();
    for (row, file) in rows.iter().flat_map(|row| row.files.iter().map(move |file| (row, file))) {
        let after = file.after.as_ref().and_then(FileState::hash);
        match files.iter_mut().find(|known| known.path == file.path) {
            Some(known) => {
                known.after = after;
                known.modes.1 = mode(file.after.as_ref());
            }
            None => {
                let hash = file.before.as_ref().and_then(FileState::hash);
                let before = hash.and_then(|hash| kept_content(host, &row.kept_by, hash).ok());
                let modes = (mode(file.before.as_ref()), mode(file.after.as_ref()));
                files.push(ChangedFile { path: &file.path, before, after, modes });
            }
        }
    }
    let redactor = desk.session.gate.redactor();
    let mut lost = Vec::new();
    let diff = |ChangedFile { path, before, after, modes }: ChangedFile<'_>| {
        let modes = modes.0.zip(modes.1);
        // What it became is the file itself, or what the next change found.
        let now = ona_files::read_at_most(Path::new(path), MAX_FILE).ok().flatten();
        let kept = after.and_then(|hash| {
            rows.iter().find_map(|row| kept_content(host, &row.kept_by, hash).ok())
        });
        let is_now = |now: &Vec<u8>| after == Some(&*ona_types::ContentHash::of(now).to_string());
        let content = now.filter(|now| is_now(now)).or(kept);
        // Somebody else has changed it since: what the call made of it is kept nowhere.
        if after.is_some() && content.is_none() {
            lost.push(path.to_owned());
            return None;
        }
        let diff = whole_diff(path, before.as_deref(), content.as_deref(), modes)?;
        Some(masked(diff, redactor))
    };
    let found = files.into_iter().filter_map(diff).collect();
    (found, lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_blocks_are_what_stands_between_fences() {
        let text = "a\n```rust\nfn x() {}\n```\nb\n~~~\n```\n~~~\n";
        let blocks = code_blocks(text);
        let blocks: Vec<(&str, &str)> =
            blocks.iter().map(|(language, code)| (extension(language), code.as_str())).collect();
        assert_eq!(blocks, [("rs", "fn x() {}"), ("txt", "```")]);
    }
}
