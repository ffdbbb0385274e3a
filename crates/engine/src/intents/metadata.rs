//! What a write says about itself (S4, DESIGN §5 no. 16): for which intent it is, and of which class. It is part of
//! the input wherever there are intents, and no part of what the tool gets.

use std::borrow::Cow;

use ona_intents::hook_policy::{HookPolicy, WriteMetadata};
use serde_json::{Value, json};

const INTENT_ID: &str = "intent_id";
const MUTATION_CLASS: &str = "mutation_class";

/// The tools whose calls may carry it.
const WRITERS: [&str; 3] = ["Write", "Edit", "NotebookEdit"];

/// What a call says about itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Metadata<'a> {
    pub(crate) intent_id: Option<&'a str>,
    pub(crate) mutation_class: Option<&'a str>,
}

impl<'a> Metadata<'a> {
    pub(crate) fn of(input: &'a Value) -> Self {
        let text = |key: &str| input.get(key).and_then(Value::as_str);
        Self { intent_id: text(INTENT_ID), mutation_class: text(MUTATION_CLASS) }
    }
}

/// The input without it.
pub(crate) fn bare<'v>(tool: &str, input: &'v Value) -> Cow<'v, Value> {
    let carries = |key| input.get(key).is_some_and(|value| value.is_string() || value.is_null());
    if !WRITERS.contains(&tool) || ![INTENT_ID, MUTATION_CLASS].into_iter().any(carries) {
        return Cow::Borrowed(input);
    }
    let mut input = input.clone();
    if let Value::Object(fields) = &mut input {
        fields.retain(|key, value| {
            !([INTENT_ID, MUTATION_CLASS].contains(&key.as_str())
                && (value.is_string() || value.is_null()))
        });
    }
    Cow::Owned(input)
}

/// The schema of a tool with it.
pub(crate) fn with_metadata(tool: &str, mut schema: Value, policy: &HookPolicy) -> Value {
    if !WRITERS.contains(&tool) || !schema["properties"].is_object() {
        return schema;
    }
    schema["properties"][INTENT_ID] = json!({
        "type": "string", "description": "The intent this change is for: the one that is selected.",
    });
    schema["properties"][MUTATION_CLASS] = json!({
        "type": "string", "enum": policy.classes(), "description": "What kind of change this is.",
    });
    if policy.write_metadata == WriteMetadata::Required {
        let mut required = schema["required"].as_array().cloned().unwrap_or_default();
        required.extend([json!(INTENT_ID), json!(MUTATION_CLASS)]);
        schema["required"] = Value::Array(required);
    }
    schema
}

/// What a file would be after a write, where its input says so.
pub(crate) fn preview(tool: &str, input: &Value, old: Option<&[u8]>) -> Option<Vec<u8>> {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    match tool {
        "Write" | "write_to_file" => text("content").map(|content| content.as_bytes().to_vec()),
        "Edit" | "edit" | "edit_file" | "search_replace" => {
            let old = std::str::from_utf8(old?).ok()?;
            let (from, to) = (text("old_string")?, text("new_string")?);
            if from.is_empty() || !old.contains(from) {
                return None;
            }
            let all = input.get("replace_all").and_then(Value::as_bool) == Some(true);
            let new = if all { old.replace(from, to) } else { old.replacen(from, to, 1) };
            Some(new.into_bytes())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_taken_out_of_what_the_tool_gets() {
        let input = json!({"file_path": "a", "intent_id": "I-1", "mutation_class": "BUG_FIX"});
        assert_eq!(*bare("Edit", &input), json!({"file_path": "a"}));
        assert_eq!(*bare("Bash", &input), input, "only writes carry it");
        let odd = json!({"intent_id": 7});
        assert_eq!(*bare("Write", &odd), odd, "what is no text is for the tool to refuse");
        assert_eq!(Metadata::of(&input).mutation_class, Some("BUG_FIX"));
    }

    #[test]
    fn the_schema_asks_for_it_where_the_policy_does() {
        let schema = json!({"properties": {"file_path": {}}, "required": ["file_path"]});
        let optional = with_metadata("Write", schema.clone(), &HookPolicy::default());
        assert!(optional["properties"][INTENT_ID].is_object());
        assert_eq!(optional["required"], json!(["file_path"]));
        let policy = HookPolicy::read("write_metadata: required\n");
        let required = with_metadata("Write", schema.clone(), &policy);
        assert_eq!(required["required"], json!(["file_path", INTENT_ID, MUTATION_CLASS]));
        assert_eq!(with_metadata("Bash", schema.clone(), &policy), schema);
    }

    #[test]
    fn a_write_can_be_foreseen() {
        let edit = json!({"old_string": "a", "new_string": "b"});
        assert_eq!(preview("Edit", &edit, Some(b"aa")).as_deref(), Some(&b"ba"[..]));
        let all = json!({"old_string": "a", "new_string": "b", "replace_all": true});
        assert_eq!(preview("Edit", &all, Some(b"aa")).as_deref(), Some(&b"bb"[..]));
        assert_eq!(preview("Edit", &edit, Some(b"x")), None);
        assert_eq!(preview("Write", &json!({"content": "n"}), None).as_deref(), Some(&b"n"[..]));
        assert_eq!(preview("Bash", &json!({"command": "x"}), None), None);
    }
}
