//! The tools of other hosts, as the gate sees them: what each does, and what a call of it would touch.

use ona_effects::Effects;
use ona_mcp::Hints;
use ona_policy::RuleSubject;
use ona_tools::{Facts, InputError, PREFIX, Place, Running, Tool, ToolContext};
use ona_types::{ToolKind, ToolOutput, WriteAction};
use serde_json::{Value, json};

use super::payload::command_of;
use super::targets;

/// The prefix of ona's own MCP tools at hosts. They only read, and select intents.
const OWN_SERVER: &str = "mcp__ona__";
/// The one that selects the intent of the host's session.
pub(super) const SELECT: &str = "mcp__ona__select_active_intent";

/// The tools of all hosts, by the hosts' names for them.
const TOOLS: &[(ToolKind, &[&str])] = &[
    (
        ToolKind::Read,
        &[
            "Read",
            "Glob",
            "Grep",
            "WebFetch",
            "WebSearch",
            "read_file",
            "list_files",
            "search_files",
            "list_code_definition_names",
            "codebase_search",
            "browser_action",
            "web_search",
        ],
    ),
    (ToolKind::Write(WriteAction::Write), &["Write", "write_to_file"]),
    (
        ToolKind::Write(WriteAction::Edit),
        &[
            "Edit",
            "MultiEdit",
            "NotebookEdit",
            "insert_code_block",
            "edit",
            "edit_file",
            "search_replace",
            "search_and_replace",
        ],
    ),
    (ToolKind::Write(WriteAction::Patch), &["apply_diff", "apply_patch"]),
    (ToolKind::Write(WriteAction::Generate), &["generate_image"]),
    (ToolKind::Command, &["Bash", "execute_command", "shell", "unified_exec", "exec_command"]),
    (ToolKind::Server, &["use_mcp_tool"]),
    (ToolKind::SelectIntent, &["SelectActiveIntent", "select_active_intent", "SelectIntent"]),
];

/// Tools of hosts that change no files: they plan, ask, wait, or start agents whose calls are judged themselves. ona's own
/// tools of this kind count too.
const HARMLESS: &[&str] = &[
    // Claude Code
    "BashOutput",
    "KillBash",
    "KillShell",
    "LS",
    "ListMcpResourcesTool",
    "NotebookRead",
    "ReadMcpResourceTool",
    "SendMessage",
    "SlashCommand",
    "StructuredOutput",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "TodoRead",
    // Codex
    "list_dir",
    "request_user_input",
    "tool_search",
    "update_plan",
    "view_image",
    "wait",
    // Roo Code
    "access_mcp_resource",
    "ask_followup_question",
    "attempt_completion",
    "fetch_instructions",
    "new_task",
    "switch_mode",
    "update_todo_list",
];

/// Whether a tool that has no other kind is known to change no files.
fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name) || ona_tools::find(name).is_some()
}

/// The kind of a tool, by its name at any host.
pub fn kind_of(name: &str) -> ToolKind {
    if name == SELECT {
        return ToolKind::SelectIntent;
    }
    if name.starts_with(OWN_SERVER) {
        return ToolKind::Read;
    }
    if name.starts_with(PREFIX) {
        return ToolKind::Server;
    }
    let known = TOOLS.iter().find(|(_, names)| names.contains(&name));
    known.map_or(ToolKind::Other, |(kind, _)| *kind)
}

/// A tool of another host. The host runs it.
#[derive(Clone, Debug)]
pub struct HostTool {
    name: String,
    kind: ToolKind,
}

impl HostTool {
    /// The tool of this name.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), kind: kind_of(name) }
    }

    /// What it does.
    pub(super) fn kind(&self) -> ToolKind {
        self.kind
    }

    /// What a call would touch. A tool that ona does not know may change any file.
    pub(super) fn effects(&self, input: &Value, place: &Place) -> Effects {
        let mut effects = targets::effects(self.kind, input, place);
        if self.kind == ToolKind::Other && effects.writes.is_empty() && !is_harmless(&self.name) {
            effects.opaque = Some(format!(
                "`{}` is not a tool that ona knows, so it may change files; `tools.readonly` in hook_policy.yaml lists \
                 tools that only read",
                self.name
            ));
        }
        effects
    }
}

impl Tool for HostTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        "A tool of another agent's host."
    }

    fn input_schema(&self) -> Value {
        json!({"type": "object"})
    }

    /// Rules and phases treat a host's tool like ona's own of the same name.
    fn facts(&self) -> Facts {
        let own = ona_tools::find(&self.name).map(|tool| tool.facts());
        let by_kind = match self.kind {
            ToolKind::Write(_) => RuleSubject::Writes,
            ToolKind::Command => RuleSubject::Command,
            _ => RuleSubject::Name,
        };
        Facts {
            kind: self.kind,
            rules: own.map_or(by_kind, |facts| facts.rules),
            denied_in_planning: self.kind.writes_files() || self.kind == ToolKind::Command,
            free_in_accept_edits: own.is_some_and(|facts| facts.free_in_accept_edits),
            ..Facts::plain(Hints::ANYTHING)
        }
    }

    fn prepare(&self, input: &Value, place: &Place) -> Result<Effects, InputError> {
        Ok(self.effects(input, place))
    }

    fn input_check(&self) -> &'static str {
        "the host checks the input"
    }

    fn command(&self, input: &Value) -> Option<String> {
        command_of(input).filter(|_| self.kind == ToolKind::Command)
    }

    fn runs_in_background(&self, input: &Value) -> bool {
        input.get("run_in_background") == Some(&Value::Bool(true))
    }

    fn preview(&self, input: &Value, old: Option<&[u8]>) -> Option<Vec<u8>> {
        let text = |key: &str| input.get(key).and_then(Value::as_str);
        match self.kind {
            ToolKind::Write(WriteAction::Write) => text("content").map(|new| new.as_bytes().into()),
            ToolKind::Write(WriteAction::Edit) => {
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

    fn run<'a>(&'a self, _: &'a Value, _: &'a ToolContext<'a>) -> Running<'a> {
        Box::pin(async { ToolOutput::internal("a tool of another host cannot be run here") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_known_by_the_names_that_hosts_give_them() {
        for (name, kind) in [
            ("Read", ToolKind::Read),
            ("write_to_file", ToolKind::Write(WriteAction::Write)),
            ("apply_patch", ToolKind::Write(WriteAction::Patch)),
            ("execute_command", ToolKind::Command),
            ("mcp__a__b", ToolKind::Server),
            ("mcp__ona__get_active_intents", ToolKind::Read),
            ("mcp__ona__select_active_intent", ToolKind::SelectIntent),
            ("select_active_intent", ToolKind::SelectIntent),
            ("Strange", ToolKind::Other),
        ] {
            assert_eq!(kind_of(name), kind, "{name}");
        }
    }

    /// A host's tool is judged like ona's own of the same name: the same rules, phases and intents apply.
    #[test]
    fn a_hosts_tool_is_what_onas_own_is() {
        for own in ona_tools::TOOLS {
            let (own, theirs) = (own.facts(), HostTool::named(own.name()).facts());
            assert_eq!(own.for_rules(), theirs.for_rules());
            assert_eq!(own.kind, theirs.kind);
        }
    }

    #[test]
    fn a_write_can_be_foreseen() {
        let preview = |tool: &str, input: &Value, old: Option<&[u8]>| {
            HostTool::named(tool).preview(input, old).map(|new| String::from_utf8(new).unwrap())
        };
        let edit = json!({"old_string": "a", "new_string": "b"});
        assert_eq!(preview("Edit", &edit, Some(b"aa")).as_deref(), Some("ba"));
        let all = json!({"old_string": "a", "new_string": "b", "replace_all": true});
        assert_eq!(preview("edit_file", &all, Some(b"aa")).as_deref(), Some("bb"));
        assert_eq!(preview("Edit", &edit, Some(b"x")), None);
        assert_eq!(preview("Write", &json!({"content": "n"}), None).as_deref(), Some("n"));
        assert_eq!(preview("Bash", &json!({"command": "x"}), None), None);
    }
}
