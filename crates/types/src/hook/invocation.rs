//! `hook_invocations`: one row for every run of a hook and for every skip.

use crate::ToolUseId;
use crate::hook::HookEvent;

/// A hook's run, or why it was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookInvocation {
    /// The event.
    pub event: HookEvent,
    /// The hook's place in the total order (S0 §5.2).
    pub ordinal: i64,
    /// Its matcher.
    pub matcher: String,
    /// What was run: the command, or the URL of an HTTP hook.
    pub command: String,
    /// The tool call it was about.
    pub tool_use_id: Option<ToolUseId>,
    /// That call's tool.
    pub tool_name: Option<String>,
    /// What it read.
    pub input_json: String,
    /// How it exited; nothing if it never ran or was killed.
    pub exit_code: Option<i32>,
    /// What it printed.
    pub stdout_text: Option<String>,
    /// What it printed on standard error, or what went wrong with it.
    pub stderr_text: Option<String>,
    /// Milliseconds since 1970.
    pub started_ms: i64,
    /// Milliseconds since 1970.
    pub completed_ms: Option<i64>,
    /// Why it was not run.
    pub skipped_reason: Option<&'static str>,
}
