//! The metadata of a write (S4, DESIGN §5 no. 16): its intent and its class of change. In a workspace with intents it
//! is part of the input; the tool does not get it.

use std::borrow::Cow;

use ona_intents::hook_policy::{HookPolicy, WriteMetadata};
use ona_types::ToolKind;
use serde_json::{Value, json};

const INTENT_ID: &str = "intent_id";
const MUTATION_CLASS: &str = "mutation_class";

/// The metadata of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metadata<'a> {
    /// The named intent.
    pub intent_id: Option<&'a str>,
    /// The claimed class of change.
    pub mutation_class: Option<&'a str>,
}

impl<'a> Metadata<'a> {
    /// Reads it from an input.
    pub fn of(input: &'a Value) -> Self {
        let text = |key: &str| input.get(key).and_then(Value::as_str);
        Self { intent_id: text(INTENT_ID), mutation_class: text(MUTATION_CLASS) }
    }
}

/// The input without metadata: only tools that write files have it.
pub fn bare(kind: ToolKind, input: &Value) -> Cow<'_, Value> {
    let carries = |key| input.get(key).is_some_and(|value| value.is_string() || value.is_null());
    if !kind.writes_files() || ![INTENT_ID, MUTATION_CLASS].into_iter().any(carries) {
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

/// The schema of a tool of this kind, with metadata.
pub fn with_metadata(kind: ToolKind, mut schema: Value, policy: &HookPolicy) -> Value {
    if !kind.writes_files() || !schema["properties"].is_object() {
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

#[cfg(test)]
mod tests {
    use ona_types::WriteAction;

    use super::*;

    const WRITE: ToolKind = ToolKind::Write(WriteAction::Write);

    #[test]
    fn it_is_taken_out_of_what_the_tool_gets() {
        let input = json!({"file_path": "a", "intent_id": "I-1", "mutation_class": "BUG_FIX"});
        assert_eq!(*bare(WRITE, &input), json!({"file_path": "a"}));
        assert_eq!(*bare(ToolKind::Command, &input), input, "only writes carry it");
        let odd = json!({"intent_id": 7});
        assert_eq!(*bare(WRITE, &odd), odd, "what is not text is for the tool to refuse");
        assert_eq!(Metadata::of(&input).mutation_class, Some("BUG_FIX"));
    }

    #[test]
    fn the_schema_asks_for_it_where_the_policy_does() {
        let schema = json!({"properties": {"file_path": {}}, "required": ["file_path"]});
        let optional = with_metadata(WRITE, schema.clone(), &HookPolicy::default());
        assert!(optional["properties"][INTENT_ID].is_object());
        assert_eq!(optional["required"], json!(["file_path"]));
        let policy = HookPolicy::read("write_metadata: required\n");
        let required = with_metadata(WRITE, schema.clone(), &policy);
        assert_eq!(required["required"], json!(["file_path", INTENT_ID, MUTATION_CLASS]));
        assert_eq!(with_metadata(ToolKind::Command, schema.clone(), &policy), schema);
    }
}
