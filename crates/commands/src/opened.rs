//! Entries of the transcript as they are shown.

use ona_front::{Refused, Shown, ShownEntry};
use ona_store::{Store, StoreError, StoredEntry};
use ona_types::SessionId;
use ona_types::gate::StageName;
use serde_json::Value;

/// Entries of a page.
pub(crate) const PAGE: i64 = 200;

/// A page of a session's transcript, and whether there are earlier entries.
pub(crate) fn page(
    store: &Store,
    session: &SessionId,
    before: Option<i64>,
    most: i64,
) -> Result<(Vec<Shown>, bool), StoreError> {
    let rows = store.entries_before(session, before, most)?;
    let more = rows.first().is_some_and(|row| row.sequence > 0);
    Ok((shown(store, session, &rows)?, more))
}

/// The rows of a session that say something to the user. A result stands with its call, and with who refused it.
pub(crate) fn shown(
    store: &Store,
    session: &SessionId,
    rows: &[StoredEntry],
) -> Result<Vec<Shown>, StoreError> {
    let mut entries = together(rows);
    for (id, entry) in &mut entries {
        if let ShownEntry::Call { result: Some((_, true)), refused, .. } = &mut entry.what {
            *refused = store.refusal(session, id)?.and_then(told);
        }
    }
    Ok(entries.into_iter().map(|(_, entry)| entry).collect())
}

/// A refusal as it is shown. An input that the tool does not take is an error of the call.
fn told((stage, reason): (String, String)) -> Option<Refused> {
    let stage: StageName = serde_json::from_value(stage.into()).ok()?;
    (stage != StageName::Input).then_some(Refused { stage, reason })
}

/// The rows that say something to the user, each call with its id and its result.
fn together(rows: &[StoredEntry]) -> Vec<(String, Shown)> {
    let mut all: Vec<(String, Shown)> = Vec::new();
    for row in rows {
        let payload: Value = serde_json::from_str(&row.payload_json).unwrap_or_default();
        let mut id = String::new();
        let what = match row.entry_type.as_str() {
            "user" => {
                let typed = payload["typed"].as_str().map(str::to_owned);
                ShownEntry::User { text: typed.unwrap_or_else(|| texts(&payload["content"])) }
            }
            "assistant" => {
                let text = texts(&payload["content"]);
                if text.trim().is_empty() {
                    continue;
                }
                ShownEntry::Assistant { text }
            }
            "tool_use" => {
                id = payload["id"].as_str().unwrap_or_default().to_owned();
                ShownEntry::Call {
                    tool: payload["name"].as_str().unwrap_or_default().to_owned(),
                    input: payload["input"].clone(),
                    result: None,
                    refused: None,
                }
            }
            "tool_result" => {
                let of = payload["tool_use_id"].as_str().filter(|of| !of.is_empty());
                let call = all.iter_mut().rev().find(|(call, _)| Some(call.as_str()) == of);
                let content = payload["content"].as_str().unwrap_or_default().to_owned();
                let failed = payload["is_error"] == true;
                if let Some((_, Shown { what: ShownEntry::Call { result, .. }, .. })) = call {
                    *result = Some((content, failed));
                }
                continue;
            }
            "collapse_commit" => {
                ShownEntry::Note { text: "the conversation was compacted".to_owned() }
            }
            "system" => match payload["subtype"].as_str() {
                Some("provider_blocks") => {
                    let text = thoughts(&payload["blocks"]);
                    if text.trim().is_empty() {
                        continue;
                    }
                    ShownEntry::Thinking { text }
                }
                Some("interrupted") => ShownEntry::Note { text: "interrupted".to_owned() },
                Some("turn_failed") => {
                    let message = payload["message"].as_str().unwrap_or_default();
                    ShownEntry::Note { text: format!("error: {message}") }
                }
                _ => continue,
            },
            _ => continue,
        };
        all.push((id, Shown { sequence: row.sequence, what }));
    }
    all
}

/// The texts of a message.
pub(crate) fn texts(content: &Value) -> String {
    let blocks = content.as_array().into_iter().flatten();
    let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
    texts.join("\n\n")
}

/// What the model thought, as far as the provider shows it: in a `thinking` block, or in the summary of a `reasoning` one.
fn thoughts(blocks: &Value) -> String {
    let mut texts = Vec::new();
    for block in blocks.as_array().into_iter().flatten().map(|placed| &placed[1]) {
        texts.extend(block["thinking"].as_str());
        let summary = block["summary"].as_array().into_iter().flatten();
        texts.extend(summary.filter_map(|part| part["text"].as_str()));
    }
    texts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(sequence: i64, entry_type: &str, payload: &str) -> StoredEntry {
        StoredEntry {
            id: sequence,
            sequence,
            parent: None,
            entry_type: entry_type.to_owned(),
            payload_json: payload.to_owned(),
            tool_use_id: None,
        }
    }

    #[test]
    fn a_result_stands_with_its_call() {
        let rows = [
            row(0, "system", r#"{"subtype":"prompt","blocks":[]}"#),
            row(1, "user", r#"{"content":[{"type":"text","text":"go"}]}"#),
            row(
                2,
                "assistant",
                r#"{"content":[{"type":"tool_use","id":"t","name":"Read","input":{}}]}"#,
            ),
            row(3, "tool_use", r#"{"id":"t","name":"Read","input":{"file_path":"a"}}"#),
            row(4, "tool_result", r#"{"tool_use_id":"t","content":"x","is_error":false}"#),
            row(5, "system", r#"{"subtype":"interrupted"}"#),
            row(6, "system", r#"{"subtype":"provider_blocks","blocks":[[0,{"thinking":"hm"}]]}"#),
            row(7, "system", r#"{"subtype":"provider_blocks","blocks":[[0,{"data":"x"}]]}"#),
        ];
        let shown: Vec<Shown> = together(&rows).into_iter().map(|(_, entry)| entry).collect();
        assert_eq!(shown.iter().map(|one| one.sequence).collect::<Vec<_>>(), [1, 3, 5, 6]);
        assert_eq!(shown[3].what, ShownEntry::Thinking { text: "hm".to_owned() });
        let ShownEntry::Call { result, .. } = &shown[1].what else { panic!() };
        assert_eq!(result, &Some(("x".to_owned(), false)));
    }
}
