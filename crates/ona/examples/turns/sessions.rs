//! Sessions that have been going on for long: 10,000 entries each.

use std::path::Path;

use ona_store::{NewSession, Store};
use ona_types::{Collapse, ContentBlock, Entry, EntryType, SessionId, ToolUseId};
use serde_json::json;

const ENTRIES: usize = 10_000;
/// The context window of the models, how much of it may be used before ona compacts, and how many bytes of text
/// are one token, about.
const WINDOW: usize = 200_000;
const FULL: f64 = 0.95;
const BYTES_PER_TOKEN: usize = 4;

const PROMPT_BYTES: usize = 200;
const RESULT_BYTES: usize = 2000;
const SUMMARY_BYTES: usize = 4000;
const CALLS_PER_TURN: usize = 5;

/// Puts a session on the record.
pub fn make(store: &Store, dir: &Path, id: &str, entries: &[Entry]) {
    assert_eq!(entries.len(), ENTRIES);
    let new = NewSession {
        project_dir: &dir.to_string_lossy(),
        conversation: None,
        id: Some(&SessionId::from_existing(id)),
        origin: "headless",
        name: None,
    };
    let seat = store.new_session(&new).unwrap();
    store.append(&seat.session, entries).unwrap();
}

/// The extreme: small entries, none of which was ever compacted.
pub fn live() -> Vec<Entry> {
    let text = |n| format!("entry {n} says a few words, as entries do");
    let kind = |n| if n % 2 == 0 { EntryType::User } else { EntryType::Assistant };
    (0..ENTRIES).map(|n| said(kind(n), text(n))).collect()
}

/// As sessions are: prompts, calls and their results, compacted whenever the window was full. It ends with the
/// window half full.
pub fn compacted() -> Vec<Entry> {
    let full = (WINDOW as f64 * FULL) as usize * BYTES_PER_TOKEN;
    // Backwards from the end, so that what is told since the last compaction is half a window.
    let mut turns = Vec::new();
    let (mut room, mut left) = (full / 2, ENTRIES);
    for n in 0.. {
        let turn = turn(n);
        // The row of a call's start says again what the answer has said: the model is told it once.
        let told = turn.iter().filter(|entry| entry.entry_type != EntryType::ToolUse);
        let bytes: usize = told.map(|entry| entry.payload.to_string().len()).sum();
        if bytes > room {
            room = full;
            turns.push(vec![boundary(full / BYTES_PER_TOKEN)]);
            left -= 1;
        }
        // What is left over at the beginning is no whole turn.
        if turn.len() + 1 > left {
            break;
        }
        room -= bytes;
        left -= turn.len();
        turns.push(turn);
    }
    turns.push((0..left).map(|_| said(EntryType::User, words(PROMPT_BYTES))).collect());
    turns.into_iter().rev().flatten().collect()
}

fn turn(n: usize) -> Vec<Entry> {
    let mut entries = vec![said(EntryType::User, words(PROMPT_BYTES))];
    for call in 0..CALLS_PER_TURN {
        let id = ToolUseId::from_existing(format!("toolu_{n}_{call}"));
        let input = json!({"file_path": format!("crates/some/src/file_{call}.rs")});
        let text = "I look at the next file.".to_owned();
        let asked =
            ContentBlock::ToolUse { id: id.clone(), name: "Read".into(), input: input.clone() };
        let content = [ContentBlock::Text { text }, asked];
        entries.push(Entry::message(EntryType::Assistant, "u", &content));
        entries.push(Entry::tool_use(&id, "Read", &input));
        entries.push(Entry::tool_result(&id, &words(RESULT_BYTES), false));
    }
    entries.push(said(EntryType::Assistant, words(PROMPT_BYTES)));
    entries
}

fn boundary(pre_tokens: usize) -> Entry {
    Entry::collapse(&Collapse {
        trigger: "auto".into(),
        summary: words(SUMMARY_BYTES),
        restored: words(PROMPT_BYTES),
        pre_tokens: pre_tokens as u64,
    })
}

fn said(kind: EntryType, text: String) -> Entry {
    Entry::message(kind, "u", &[ContentBlock::Text { text }])
}

/// Lines of text, as a source file has them: with quotes and line ends that JSON must escape.
fn words(bytes: usize) -> String {
    let line = "    let name = \"a value\"; // what it is for\n";
    line.chars().cycle().take(bytes).collect()
}
