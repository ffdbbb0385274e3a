//! Tools of MCP servers.
//!
//! A server's tool is a tool like any other: rules and hooks match its name, it passes the gate, and
//! its result is limited in size.

pub(crate) mod result;

use std::sync::Arc;

use ona_effects::Effects;
use ona_mcp::{CallOptions, CallOutcome, Hints, McpError, McpTool, Pool};
use ona_types::{ToolKind, ToolOutput};
use serde_json::{Value, json};

use crate::context::{Outputs, Place, ToolContext};
use crate::facts::Facts;
use crate::input::InputError;
use crate::tool::{Running, Tool};

/// How the names of servers' tools begin.
pub const PREFIX: &str = "mcp__";

/// A tool of a server.
#[derive(Clone)]
pub struct ServerTool {
    pool: Arc<Pool>,
    tool: McpTool,
}

impl ServerTool {
    /// The tool of a server of this pool.
    pub fn new(pool: Arc<Pool>, tool: McpTool) -> Self {
        Self { pool, tool }
    }
}

impl Tool for ServerTool {
    #[allow(clippy::misnamed_getters, reason = "the server's own name for it is another")]
    fn name(&self) -> &str {
        &self.tool.full_name
    }

    fn description(&self) -> &str {
        &self.tool.description
    }

    fn input_schema(&self) -> Value {
        Value::Object(self.tool.input_schema.clone())
    }

    /// Its effects are unknown, so it may do anything.
    fn facts(&self) -> Facts {
        Facts { kind: ToolKind::Server, ..Facts::plain(Hints::ANYTHING) }
    }

    /// Only the server knows its effects: rules match its name.
    fn prepare(&self, input: &Value, _: &Place) -> Result<Effects, InputError> {
        prepare(self.name(), input)
    }

    fn input_check(&self) -> &'static str {
        CHECKED_BY_SERVER
    }

    fn answered_instead(&self, answer: &Value, outputs: &Outputs<'_>) -> Option<ToolOutput> {
        Some(result::of_call(CallOutcome::given(answer), self.tool.max_result_chars, outputs))
    }

    fn run<'a>(&'a self, input: &'a Value, cx: &'a ToolContext<'a>) -> Running<'a> {
        Box::pin(async move {
            if let Err(wrong) = cx.permit.check(self.name(), input) {
                return ToolOutput::internal(wrong.to_string());
            }
            let arguments = input.as_object().cloned().unwrap_or_default();
            let progress = cx.services.progress(cx.tool_use_id);
            let options = CallOptions { cancel: cx.cancel.clone(), progress };
            let McpTool { server, name, .. } = &self.tool;
            match self.pool.call(&cx.permit, server, name, arguments, options).await {
                Ok(outcome) => result::of_call(outcome, self.tool.max_result_chars, &cx.outputs()),
                Err(error) => failed(&error),
            }
        })
    }
}

/// ona does not compare the input of a server's tool with its schema.
const CHECKED_BY_SERVER: &str = "the input is a JSON object; the server checks the rest";

fn prepare(name: &str, input: &Value) -> Result<Effects, InputError> {
    match input.is_object() {
        true => Ok(Effects::default()),
        false => Err(InputError::new(name, "expected a JSON object")),
    }
}

/// A tool of a server that is not connected: it can be judged, but not run.
pub struct UnconnectedTool {
    name: String,
}

impl UnconnectedTool {
    /// The tool of this name, whether the server has it or not.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned() }
    }
}

impl Tool for UnconnectedTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        "A tool of a server that is not connected."
    }

    fn input_schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn facts(&self) -> Facts {
        Facts { kind: ToolKind::Server, ..Facts::plain(Hints::ANYTHING) }
    }

    fn prepare(&self, input: &Value, _: &Place) -> Result<Effects, InputError> {
        prepare(&self.name, input)
    }

    fn input_check(&self) -> &'static str {
        CHECKED_BY_SERVER
    }

    fn run<'a>(&'a self, _: &'a Value, _: &'a ToolContext<'a>) -> Running<'a> {
        Box::pin(async move { ToolOutput::rejected("the MCP server is not connected".to_owned()) })
    }
}

/// The result of a failed call, by S0 §7.1's classes.
pub(crate) fn failed(error: &McpError) -> ToolOutput {
    match error {
        McpError::Timeout { .. } | McpError::Cancelled => ToolOutput::internal(error.to_string()),
        McpError::NeedsAuth { server } => ToolOutput::rejected(format!(
            "{error}: the user can do that with `ona mcp login {server}`"
        )),
        _ => ToolOutput::rejected(error.to_string()),
    }
}
