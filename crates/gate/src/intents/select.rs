//! The tool with which a model selects its intent (S2, S4). It exists only in a workspace with intents.

use std::sync::Arc;

use ona_effects::Effects;
use ona_intents::Workspace;
use ona_mcp::Hints;
use ona_tools::{Facts, InputError, Place, Running, Tool, ToolContext};
use ona_types::{IntentSelected, ToolKind, ToolOutput};
use serde_json::{Value, json};

/// S2's name of the tool.
pub const ALIAS: &str = "select_active_intent";

/// The handshake.
#[derive(Debug)]
pub struct SelectActiveIntent {
    /// The workspace whose intents are selected.
    pub workspace: Arc<Workspace>,
}

impl SelectActiveIntent {
    /// The tool's name.
    pub const NAME: &str = "SelectActiveIntent";
}

fn intent_id(input: &Value) -> Result<&str, InputError> {
    let wrong = |why: &str| Err(InputError::new(SelectActiveIntent::NAME, why.to_owned()));
    let Value::Object(fields) = input else { return wrong("the input is not an object") };
    if let Some(unknown) = fields.keys().find(|key| *key != "intent_id") {
        return wrong(&format!("`{unknown}`: unknown field; the only one is intent_id"));
    }
    match fields.get("intent_id") {
        Some(Value::String(id)) => Ok(id),
        Some(_) => wrong("`intent_id` must be a string such as INT-001"),
        None => wrong("`intent_id` is missing"),
    }
}

impl Tool for SelectActiveIntent {
    fn name(&self) -> &str {
        SelectActiveIntent::NAME
    }

    fn description(&self) -> &str {
        "Selects the intent you work for, and describes it: what you may change, which constraints apply, when it \
         is done, and what was changed for it before. Call it before the first change, and again to switch to \
         another intent. If an id cannot be selected, the answer lists those that can."
    }

    fn facts(&self) -> Facts {
        Facts { kind: ToolKind::SelectIntent, ..Facts::plain(Hints::ADDS.once()) }
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "intent_id": {"type": "string", "description": "The id of the intent, such as INT-001."},
            },
            "required": ["intent_id"],
            "additionalProperties": false,
        })
    }

    /// It is the handshake itself: it writes only ona's own records.
    fn prepare(&self, input: &Value, _: &Place) -> Result<Effects, InputError> {
        intent_id(input).map(|_| Effects::default())
    }

    fn run<'a>(&'a self, input: &'a Value, cx: &'a ToolContext<'a>) -> Running<'a> {
        Box::pin(async move {
            if let Err(wrong) = cx.permit.check(self.name(), input) {
                return ToolOutput::internal(wrong.to_string());
            }
            let id = match intent_id(input) {
                Ok(id) => id,
                Err(error) => return ToolOutput::rejected(error.to_string()),
            };
            match self.workspace.select(id) {
                Ok(selected) => {
                    let mut content = selected.context;
                    for warning in selected.warnings {
                        content.push_str(&format!("\n(warning: {warning})"));
                    }
                    let mut output = ToolOutput::success(content);
                    output.intent = Some(IntentSelected {
                        workspace: self.workspace.root().to_owned(),
                        intent_id: selected.intent.id,
                    });
                    output
                }
                Err(refusal) => ToolOutput::rejected(refusal.to_json().to_string()),
            }
        })
    }
}
