//! The record formats that may occur in the ledger, converted into one form.

use serde_json::{Map, Value};

use super::{FileChange, LineRange, ModifiedRange, TraceEntry};

/// Who wrote a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// ona: chained.
    Ona,
    /// S2's record: one file, whole-file hashes.
    S2,
    /// S4's record and the public ones after it: ranges and requirements.
    S4,
    /// agent-trace 0.1.0, also in the variants of its forks.
    AgentTrace,
}

impl Dialect {
    /// Its name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ona => "ona",
            Self::S2 => "s2",
            Self::S4 => "s4",
            Self::AgentTrace => "agent-trace",
        }
    }
}

/// Why a line is not a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadLine {
    /// Not JSON, or not of the types the fields have.
    #[error("it is not a JSON record: {0}")]
    NotJson(String),
    /// JSON of another kind.
    #[error("it is JSON, but not a trace record")]
    NotATrace,
    /// Longer than any record.
    #[error("it is longer than {0} bytes")]
    TooLong(usize),
}

/// Reads one line, without its end.
pub fn parse_line(line: &[u8]) -> Result<(Dialect, TraceEntry), BadLine> {
    // Most lines are ona's own: they are read in one step.
    if let Ok(entry) = serde_json::from_slice::<TraceEntry>(line)
        && entry.schema.starts_with("ona.")
    {
        return Ok((Dialect::Ona, entry));
    }
    let value: Value =
        serde_json::from_slice(line).map_err(|error| BadLine::NotJson(error.to_string()))?;
    let Value::Object(map) = value else { return Err(BadLine::NotATrace) };
    let dialect = dialect_of(&map).ok_or(BadLine::NotATrace)?;
    let entry = match dialect {
        Dialect::AgentTrace => agent_trace(&map),
        _ => foreign(map)?,
    };
    Ok((dialect, entry))
}

/// A record with any field of the chain is ona's, whatever its `schema` says: otherwise a changed `schema` would
/// remove a line from the chain unnoticed.
pub(crate) fn dialect_of(map: &Map<String, Value>) -> Option<Dialect> {
    let has = |keys: &[&str]| keys.iter().any(|key| map.contains_key(*key));
    let schema = map.get("schema").and_then(Value::as_str).unwrap_or_default();
    if schema.starts_with("ona.") || has(&["entry_hash", "prev_hash", "seq"]) {
        Some(Dialect::Ona)
    } else if map.get("files").is_some_and(Value::is_array) {
        Some(Dialect::AgentTrace)
    } else if has(&["modified_ranges", "related_requirements", "tool_origin", "agent_action"]) {
        Some(Dialect::S4)
    } else if has(&["file", "scope_validation", "intent_id", "tool_name"]) {
        Some(Dialect::S2)
    } else {
        None
    }
}

fn foreign(mut map: Map<String, Value>) -> Result<TraceEntry, BadLine> {
    map.retain(|_, value| !value.is_null());
    if let Some(ranges) = map.get_mut("modified_ranges").and_then(Value::as_array_mut) {
        for range in ranges.iter_mut().filter_map(Value::as_object_mut) {
            range.retain(|_, value| !value.is_null());
        }
    }
    let mut entry: TraceEntry = serde_json::from_value(Value::Object(map))
        .map_err(|error| BadLine::NotJson(error.to_string()))?;
    for range in &mut entry.modified_ranges {
        prefix(&mut range.content_hash);
        prefix(&mut range.before_hash);
        prefix(&mut range.after_hash);
        if range.file.is_empty()
            && let Some(file) = &entry.file
        {
            range.file.clone_from(&file.relative_path);
        }
    }
    if let Some(file) = &mut entry.file {
        prefix(&mut file.pre_hash);
        prefix(&mut file.post_hash);
    }
    Ok(entry)
}

/// The public writers leave `sha256:` out (S2 §2.6 wants it everywhere).
fn prefix(hash: &mut Option<String>) {
    if let Some(hash) = hash
        && hash.len() == 64
        && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    {
        *hash = format!("sha256:{}", hash.to_ascii_lowercase());
    }
}

fn agent_trace(map: &Map<String, Value>) -> TraceEntry {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let either = |value: &Value, one: &str, other: &str| text(value.get(one).or(value.get(other)));
    let mut entry = TraceEntry {
        id: text(map.get("id")).unwrap_or_default(),
        timestamp: text(map.get("timestamp")).unwrap_or_default(),
        revision_id: map.get("vcs").and_then(|vcs| either(vcs, "revision", "revision_id")),
        tool_name: text(map.get("tool").and_then(|tool| tool.get("name"))).unwrap_or_default(),
        success: true,
        ..TraceEntry::default()
    };
    let list = |value: &Value, key: &str| {
        value.get(key).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    for file in map.get("files").and_then(Value::as_array).into_iter().flatten() {
        let path = either(file, "path", "relative_path").unwrap_or_default();
        for conversation in list(file, "conversations") {
            if let Some(contributor) = conversation.get("contributor") {
                entry.model = either(contributor, "model_id", "model_identifier").or(entry.model);
                entry.actor = either(contributor, "type", "entity_type")
                    .map(|kind| {
                        if kind.eq_ignore_ascii_case("ai") {
                            "agent".into()
                        } else {
                            kind.to_lowercase()
                        }
                    })
                    .or(entry.actor);
            }
            for related in list(&conversation, "related") {
                let named = either(&related, "value", "url").unwrap_or_default();
                let named = named.strip_prefix("urn:ona:intent:").unwrap_or(&named);
                if related.get("type").and_then(Value::as_str) == Some("specification") {
                    entry.intent_id.get_or_insert_with(|| named.to_owned());
                }
            }
            for range in list(&conversation, "ranges") {
                let line = |key: &str| range.get(key).and_then(Value::as_u64);
                let new_range = line("start_line").zip(line("end_line"));
                let mut content_hash = text(range.get("content_hash"));
                prefix(&mut content_hash);
                entry.modified_ranges.push(ModifiedRange {
                    file: path.clone(),
                    new_range: new_range
                        .map(|(start_line, end_line)| LineRange { start_line, end_line }),
                    content_hash: content_hash.filter(|hash| hash.starts_with("sha256:")),
                    ..ModifiedRange::default()
                });
            }
        }
        entry.file.get_or_insert_with(|| FileChange { relative_path: path, ..Default::default() });
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::MutationClass;

    #[test]
    fn the_three_dialects_and_agent_trace() {
        let hex = "AB".repeat(32);
        let s2 = format!(
            r#"{{"id":"1","timestamp":"t","intent_id":"INT-1","session_id":"s","tool_name":"write_to_file","mutation_class":"BUG_FIX","file":{{"relative_path":"a.rs","pre_hash":null,"post_hash":"{hex}"}},"scope_validation":"PASS","success":false,"error":"no"}}"#
        );
        let (dialect, entry) = parse_line(s2.as_bytes()).unwrap();
        assert_eq!(dialect, Dialect::S2);
        assert!(!entry.success);
        assert_eq!(entry.mutation_class, Some(MutationClass::BugFix));
        assert_eq!(entry.file.unwrap().post_hash, Some(format!("sha256:{}", hex.to_lowercase())));

        let s4 = format!(
            r#"{{"id":"2","intent_id":"INT-2","related_requirements":null,"tool_origin":"native","modified_ranges":[{{"file":"b.ts","new_range":{{"start_line":1,"end_line":2}},"content_hash":"{hex}","ast_nodes":[{{"symbol":"f"}}]}}]}}"#
        );
        let (dialect, entry) = parse_line(s4.as_bytes()).unwrap();
        assert_eq!(dialect, Dialect::S4);
        assert!(entry.success);
        assert_eq!(entry.files(), ["b.ts"]);
        assert!(entry.modified_ranges[0].ast_nodes.is_empty());

        for text in [
            r#"{"version":"0.1.0","id":"3","vcs":{"type":"git","revision":"9d"},"files":[{"path":"c.py","conversations":[{"contributor":{"type":"ai","model_id":"a/m"},"ranges":[{"start_line":3,"end_line":4,"content_hash":"murmur3:1"}],"related":[{"type":"specification","url":"urn:ona:intent:INT-3"}]}]}]}"#,
            r#"{"id":"3","vcs":{"revision_id":"9d"},"files":[{"relative_path":"c.py","conversations":[{"contributor":{"entity_type":"AI","model_identifier":"a/m"},"ranges":[{"start_line":3,"end_line":4}],"related":[{"type":"specification","value":"INT-3"}]}]}]}"#,
        ] {
            let (dialect, entry) = parse_line(text.as_bytes()).unwrap();
            assert_eq!(dialect, Dialect::AgentTrace);
            assert_eq!(entry.intent_id.as_deref(), Some("INT-3"));
            assert_eq!(entry.model.as_deref(), Some("a/m"));
            assert_eq!(entry.actor.as_deref(), Some("agent"));
            assert_eq!(entry.revision_id.as_deref(), Some("9d"));
            assert_eq!(
                entry.modified_ranges[0].new_range,
                Some(LineRange { start_line: 3, end_line: 4 })
            );
        }
    }

    #[test]
    fn what_is_no_record() {
        assert_eq!(parse_line(b"{}"), Err(BadLine::NotATrace));
        assert_eq!(parse_line(b"[1]"), Err(BadLine::NotATrace));
        assert!(matches!(parse_line(b"{\"id\":"), Err(BadLine::NotJson(_))));
        assert!(matches!(parse_line(b"\xff\xfe"), Err(BadLine::NotJson(_))));
        let deep = "[".repeat(100_000);
        assert!(matches!(parse_line(deep.as_bytes()), Err(BadLine::NotJson(_))));
    }
}
