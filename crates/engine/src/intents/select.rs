//! The tool by which a model says which intent it works for (S2, S4). It exists only where there are intents.

use std::sync::Arc;

use ona_intents::Workspace;
use ona_mcp::Hints;
use ona_policy::{Effects, ToolPermit};
use ona_tools::{InputError, Place, Running, Tool, ToolContext};
use ona_types::{IntentSelected, ToolOutput};
use serde_json::{Value, json};

/// The tool's name, and S2's.
pub(crate) const SELECT_ACTIVE_INTENT: &str = "SelectActiveIntent";
pub(crate) const ALIAS: &str = "select_active_intent";

/// The handshake.
#[derive(Debug)]
pub(crate) struct SelectActiveIntent {
    pub(crate) workspace: Arc<Workspace>,
}

fn intent_id(input: &Value) -> Result<&str, InputError> {
    let wrong = |why: &str| Err(InputError::new(SELECT_ACTIVE_INTENT, why.to_owned()));
    let Value::Object(fields) = input else { return wrong("the input is no object") };
    if let Some(unknown) = fields.keys().find(|key| *key != "intent_id") {
        return wrong(&format!("`{unknown}`: there is no such field; the only one is intent_id"));
    }
    match fields.get("intent_id") {
        Some(Value::String(id)) => Ok(id),
        Some(_) => wrong("`intent_id`: a text is expected, such as INT-001"),
        None => wrong("`intent_id` is missing"),
    }
}

impl Tool for SelectActiveIntent {
    fn name(&self) -> &str {
        SELECT_ACTIVE_INTENT
    }

    fn description(&self) -> &str {
        "Selects the intent you work for, and tells you what it is about: what may be touched, what has to be \
         kept to, when it is done, and what was changed for it before. Call it before the first change, and again \
         to go on to another intent. An id that cannot be selected is answered with those that can."
    }

    fn hints(&self) -> Hints {
        Hints::ADDS.once()
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

    /// It is the handshake itself: what it writes is ona's own book-keeping.
    fn prepare(&self, input: &Value, _: &Place) -> Result<Effects, InputError> {
        intent_id(input).map(|_| Effects::default())
    }

    fn run<'a>(
        &'a self,
        permit: ToolPermit,
        input: &'a Value,
        _: &'a ToolContext<'a>,
    ) -> Running<'a> {
        Box::pin(async move {
            // Used up: one permit, one run.
            let ToolPermit { .. } = permit;
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
