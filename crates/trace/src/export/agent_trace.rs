//! agent-trace 0.1.0 (`application/vnd.agent-trace.record+json`).

use serde_json::{Map, Value, json};

use super::is_human;
use crate::entry::TraceEntry;

/// The format's limit on `model_id`.
const MAX_MODEL: usize = 250;

/// The record of an entry. Nothing for one that changed no file: the format has no word for a refusal. Lines that
/// were only taken out have no range there.
pub fn agent_trace(entry: &TraceEntry, ona_version: &str) -> Option<Value> {
    if !entry.success || entry.files().is_empty() {
        return None;
    }
    let mut record = Map::new();
    record.insert("version".into(), "0.1.0".into());
    record.insert("id".into(), entry.id.clone().into());
    record.insert("timestamp".into(), entry.timestamp.clone().into());
    if let Some(revision) = entry.revision_id.as_ref().filter(|revision| *revision != "unknown") {
        record.insert("vcs".into(), json!({"type": "git", "revision": revision}));
    }
    let tool = match &entry.host {
        Some(host) => json!({"name": host}),
        None => json!({"name": "ona", "version": ona_version}),
    };
    record.insert("tool".into(), tool);
    let files: Vec<Value> = entry
        .files()
        .into_iter()
        .map(|path| json!({"path": path, "conversations": [conversation(entry, path)]}))
        .collect();
    record.insert("files".into(), files.into());
    record.insert("metadata".into(), json!({"dev.ona": metadata(entry)}));
    Some(Value::Object(record))
}

fn conversation(entry: &TraceEntry, path: &str) -> Value {
    let mut contributor = Map::new();
    contributor.insert("type".into(), if is_human(entry) { "human" } else { "ai" }.into());
    if let Some(model) = entry.model.as_ref().filter(|_| !is_human(entry)) {
        let model: String = model.chars().take(MAX_MODEL).collect();
        contributor.insert("model_id".into(), model.into());
    }
    let mut ranges: Vec<Value> = Vec::new();
    for range in entry.modified_ranges.iter().filter(|range| range.file == path) {
        let Some(lines) = range.new_range.filter(|lines| !lines.is_empty()) else { continue };
        let mut item = json!({"start_line": lines.start_line, "end_line": lines.end_line});
        if let (Some(hash), Some(item)) = (&range.content_hash, item.as_object_mut()) {
            item.insert("content_hash".into(), hash.clone().into());
        }
        ranges.push(item);
    }
    let mut conversation = Map::new();
    if let Some(id) = &entry.conversation_id {
        conversation.insert("url".into(), urn("conversation", id).into());
    }
    conversation.insert("contributor".into(), contributor.into());
    conversation.insert("ranges".into(), ranges.into());
    if let Some(intent) = &entry.intent_id {
        let related = json!([{"type": "specification", "url": urn("intent", intent)}]);
        conversation.insert("related".into(), related);
    }
    Value::Object(conversation)
}

fn metadata(entry: &TraceEntry) -> Map<String, Value> {
    let mut metadata = Map::new();
    let mut put = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            metadata.insert(key.to_owned(), value.into());
        }
    };
    put("intent_id", entry.intent_id.clone());
    put("mutation_class", entry.mutation_class.map(|class| class.to_string()));
    put("session_id", entry.session_id.clone());
    put("tool_name", Some(entry.tool_name.clone()).filter(|name| !name.is_empty()));
    put("tool_use_id", entry.tool_use_id.clone());
    put("bead_id", entry.bead_id.clone());
    put("task_id", entry.task_id.clone());
    put("approver", entry.approver.clone());
    put("entry_hash", entry.entry_hash.clone());
    if !entry.related_requirements.is_empty() {
        metadata
            .insert("related_requirements".to_owned(), entry.related_requirements.clone().into());
    }
    metadata
}

/// `urn:ona:<kind>:<id>`; what may not stand in a URI is escaped.
fn urn(kind: &str, id: &str) -> String {
    let mut urn = format!("urn:ona:{kind}:");
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            urn.push(char::from(byte));
        } else {
            urn.push_str(&format!("%{byte:02X}"));
        }
    }
    urn
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{MutationClass, parse_line};
    use crate::ranges::modified_ranges;

    #[test]
    fn the_example_of_the_format() {
        let mut entry = TraceEntry::new();
        entry.id = "6a2f0c1e-0000-4000-8000-000000000041".into();
        entry.timestamp = "2026-05-02T09:14:03Z".into();
        entry.intent_id = Some("INT-014".into());
        entry.mutation_class = Some(MutationClass::BugFix);
        entry.model = Some("anthropic/claude-sonnet-4".into());
        entry.revision_id = Some("9d1c".into());
        entry.modified_ranges = modified_ranges("a.rs", Some(b"a\nb\nc\n"), Some(b"A\nb\n"));
        let hash = entry.modified_ranges[0].content_hash.clone();
        assert_eq!(
            agent_trace(&entry, "0.1.0").unwrap(),
            json!({"version":"0.1.0","id":"6a2f0c1e-0000-4000-8000-000000000041",
                "timestamp":"2026-05-02T09:14:03Z","vcs":{"type":"git","revision":"9d1c"},
                "tool":{"name":"ona","version":"0.1.0"},
                "files":[{"path":"a.rs","conversations":[{
                    "contributor":{"type":"ai","model_id":"anthropic/claude-sonnet-4"},
                    "ranges":[{"start_line":1,"end_line":1,"content_hash":hash}],
                    "related":[{"type":"specification","url":"urn:ona:intent:INT-014"}]}]}],
                "metadata":{"dev.ona":{"intent_id":"INT-014","mutation_class":"BUG_FIX"}}})
        );
    }

    #[test]
    fn reads_back_as_the_same_change() {
        let mut entry = TraceEntry::new();
        entry.intent_id = Some("INT-1".into());
        entry.modified_ranges = modified_ranges("a.rs", None, Some(b"a\nb\n"));
        let text = agent_trace(&entry, "0").unwrap().to_string();
        let (_, back) = parse_line(text.as_bytes()).unwrap();
        assert_eq!((&back.intent_id, &back.id), (&entry.intent_id, &entry.id));
        assert_eq!(back.modified_ranges[0].new_range, entry.modified_ranges[0].new_range);
        assert_eq!(back.modified_ranges[0].content_hash, entry.modified_ranges[0].content_hash);
    }

    #[test]
    fn refusals_and_odd_ids() {
        assert_eq!(agent_trace(&TraceEntry::new(), "0"), None);
        assert_eq!(urn("intent", "INT 1/ä"), "urn:ona:intent:INT%201%2F%C3%A4");
    }
}
