//! What a hook reads: the SDLC base of S0 §6 and the event's own fields (Appendix A).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::event::HookEvent;
use crate::permission::{PermissionMode, PermissionUpdate};
use crate::{ConversationId, SessionId, ToolUseId};

/// One hook's standard input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HookInput {
    /// `hook_event_name` and the event's own fields.
    #[serde(flatten)]
    pub detail: HookDetail,
    /// The fields every event has.
    #[serde(flatten)]
    pub base: HookBase,
}

/// S0 §6. The reference's `transcript_path` is left out on purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookBase {
    /// The session.
    pub session_id: SessionId,
    /// `conversations.id`.
    pub conversation_id: ConversationId,
    /// Equals `AGENT_SDLC_DB`.
    pub runtime_db_path: String,
    /// The session's directory, and the hook's own.
    pub cwd: String,
    /// The permission mode in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<PermissionMode>,
    /// The subagent, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The subagent's type, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[allow(missing_docs, reason = "the words are those of Appendix A")]
        pub enum $name {
            $(#[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// The word as hooks see it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// What has this word.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($word => Some(Self::$variant),)* _ => None }
            }
        }
    )*};
}

words! {
    /// How a session starts.
    StartSource { Startup = "startup", Resume = "resume", Clear = "clear", Compact = "compact" }
    /// Why a session ends.
    SessionEndReason {
        Clear = "clear", Resume = "resume", Logout = "logout",
        PromptInputExit = "prompt_input_exit", Other = "other",
        BypassPermissionsDisabled = "bypass_permissions_disabled",
    }
    /// Why a turn failed.
    StopError {
        AuthenticationFailed = "authentication_failed", BillingError = "billing_error",
        RateLimit = "rate_limit", InvalidRequest = "invalid_request",
        ServerError = "server_error", Unknown = "unknown", MaxOutputTokens = "max_output_tokens",
    }
    /// Who asked for compaction.
    CompactTrigger { Manual = "manual", Auto = "auto" }
    /// Which set-up runs.
    SetupTrigger { Init = "init", Maintenance = "maintenance" }
    /// How an MCP server asks.
    ElicitationMode { Form = "form", Url = "url" }
    /// What the user answered to an MCP server.
    ElicitationAction { Accept = "accept", Decline = "decline", Cancel = "cancel" }
    /// Which settings changed.
    ConfigSource {
        UserSettings = "user_settings", ProjectSettings = "project_settings",
        LocalSettings = "local_settings", PolicySettings = "policy_settings", Skills = "skills",
    }
    /// Whose instructions were loaded.
    MemoryType { User = "User", Project = "Project", Local = "Local", Managed = "Managed" }
    /// Why they were loaded.
    LoadReason {
        SessionStart = "session_start", NestedTraversal = "nested_traversal",
        PathGlobMatch = "path_glob_match", Include = "include", Compact = "compact",
    }
    /// What happened to a file.
    FileEvent { Change = "change", Add = "add", Unlink = "unlink" }
}

/// The events' own fields, in the order of Appendix A.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "hook_event_name")]
#[allow(missing_docs, reason = "the fields are those of Appendix A")]
pub enum HookDetail {
    PreToolUse {
        tool_name: String,
        tool_input: Value,
        tool_use_id: ToolUseId,
    },
    PostToolUse {
        tool_name: String,
        tool_input: Value,
        tool_response: Value,
        tool_use_id: ToolUseId,
    },
    PostToolUseFailure {
        tool_name: String,
        tool_input: Value,
        tool_use_id: ToolUseId,
        error: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        is_interrupt: Option<bool>,
    },
    PermissionDenied {
        tool_name: String,
        tool_input: Value,
        tool_use_id: ToolUseId,
        reason: String,
    },
    Notification {
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        notification_type: String,
    },
    UserPromptSubmit {
        prompt: String,
    },
    SessionStart {
        source: StartSource,
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_type: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    SessionEnd {
        reason: SessionEndReason,
    },
    Stop {
        stop_hook_active: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        last_assistant_message: Option<String>,
    },
    StopFailure {
        error: StopError,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_details: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        last_assistant_message: Option<String>,
    },
    SubagentStart {
        agent_id: String,
        agent_type: String,
    },
    SubagentStop {
        stop_hook_active: bool,
        agent_id: String,
        agent_transcript_path: String,
        agent_type: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        last_assistant_message: Option<String>,
    },
    PreCompact {
        trigger: CompactTrigger,
        custom_instructions: Option<String>,
    },
    PostCompact {
        trigger: CompactTrigger,
        compact_summary: String,
    },
    PermissionRequest {
        tool_name: String,
        tool_input: Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        permission_suggestions: Option<Vec<PermissionUpdate>>,
    },
    Setup {
        trigger: SetupTrigger,
    },
    TeammateIdle {
        teammate_name: String,
        team_name: String,
    },
    TaskCreated {
        task_id: String,
        task_subject: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        task_description: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        teammate_name: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        team_name: Option<String>,
    },
    TaskCompleted {
        task_id: String,
        task_subject: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        task_description: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        teammate_name: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        team_name: Option<String>,
    },
    Elicitation {
        mcp_server_name: String,
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        mode: Option<ElicitationMode>,
        #[serde(skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        elicitation_id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        requested_schema: Option<Map<String, Value>>,
    },
    ElicitationResult {
        mcp_server_name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        elicitation_id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        mode: Option<ElicitationMode>,
        action: ElicitationAction,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<Map<String, Value>>,
    },
    ConfigChange {
        source: ConfigSource,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_path: Option<String>,
    },
    InstructionsLoaded {
        file_path: String,
        memory_type: MemoryType,
        load_reason: LoadReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        globs: Option<Vec<String>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        trigger_file_path: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_file_path: Option<String>,
    },
    WorktreeCreate {
        name: String,
    },
    WorktreeRemove {
        worktree_path: String,
    },
    CwdChanged {
        old_cwd: String,
        new_cwd: String,
    },
    FileChanged {
        file_path: String,
        event: FileEvent,
    },
}

impl HookDetail {
    /// The event these fields belong to.
    pub fn event(&self) -> HookEvent {
        match self {
            Self::PreToolUse { .. } => HookEvent::PreToolUse,
            Self::PostToolUse { .. } => HookEvent::PostToolUse,
            Self::PostToolUseFailure { .. } => HookEvent::PostToolUseFailure,
            Self::PermissionDenied { .. } => HookEvent::PermissionDenied,
            Self::Notification { .. } => HookEvent::Notification,
            Self::UserPromptSubmit { .. } => HookEvent::UserPromptSubmit,
            Self::SessionStart { .. } => HookEvent::SessionStart,
            Self::SessionEnd { .. } => HookEvent::SessionEnd,
            Self::Stop { .. } => HookEvent::Stop,
            Self::StopFailure { .. } => HookEvent::StopFailure,
            Self::SubagentStart { .. } => HookEvent::SubagentStart,
            Self::SubagentStop { .. } => HookEvent::SubagentStop,
            Self::PreCompact { .. } => HookEvent::PreCompact,
            Self::PostCompact { .. } => HookEvent::PostCompact,
            Self::PermissionRequest { .. } => HookEvent::PermissionRequest,
            Self::Setup { .. } => HookEvent::Setup,
            Self::TeammateIdle { .. } => HookEvent::TeammateIdle,
            Self::TaskCreated { .. } => HookEvent::TaskCreated,
            Self::TaskCompleted { .. } => HookEvent::TaskCompleted,
            Self::Elicitation { .. } => HookEvent::Elicitation,
            Self::ElicitationResult { .. } => HookEvent::ElicitationResult,
            Self::ConfigChange { .. } => HookEvent::ConfigChange,
            Self::InstructionsLoaded { .. } => HookEvent::InstructionsLoaded,
            Self::WorktreeCreate { .. } => HookEvent::WorktreeCreate,
            Self::WorktreeRemove { .. } => HookEvent::WorktreeRemove,
            Self::CwdChanged { .. } => HookEvent::CwdChanged,
            Self::FileChanged { .. } => HookEvent::FileChanged,
        }
    }

    /// The text that matchers are compared with (S0 §5.1); `None` where a matcher is ignored, because the table
    /// does not list the event.
    pub fn match_query(&self) -> Option<&str> {
        Some(match self {
            Self::PreToolUse { tool_name, .. }
            | Self::PostToolUse { tool_name, .. }
            | Self::PostToolUseFailure { tool_name, .. }
            | Self::PermissionRequest { tool_name, .. }
            | Self::PermissionDenied { tool_name, .. } => tool_name,
            Self::SessionStart { source, .. } => source.as_str(),
            Self::Setup { trigger } => trigger.as_str(),
            Self::PreCompact { trigger, .. } | Self::PostCompact { trigger, .. } => {
                trigger.as_str()
            }
            Self::Notification { notification_type, .. } => notification_type,
            Self::SessionEnd { reason } => reason.as_str(),
            Self::StopFailure { error, .. } => error.as_str(),
            Self::SubagentStart { agent_type, .. } | Self::SubagentStop { agent_type, .. } => {
                agent_type
            }
            Self::Elicitation { mcp_server_name, .. }
            | Self::ElicitationResult { mcp_server_name, .. } => mcp_server_name,
            Self::ConfigChange { source, .. } => source.as_str(),
            Self::InstructionsLoaded { load_reason, .. } => load_reason.as_str(),
            Self::FileChanged { file_path, .. } => {
                file_path.rsplit_once('/').map_or(file_path.as_str(), |(_, name)| name)
            }
            Self::TeammateIdle { .. } | Self::TaskCreated { .. } | Self::TaskCompleted { .. } => "",
            Self::UserPromptSubmit { .. }
            | Self::Stop { .. }
            | Self::WorktreeCreate { .. }
            | Self::WorktreeRemove { .. }
            | Self::CwdChanged { .. } => return None,
        })
    }

    /// The event and the text for its matchers, for display: `PreToolUse:Bash`, `Stop`.
    pub fn name(&self) -> String {
        let event = self.event().as_str();
        match self.match_query() {
            None | Some("") => event.to_owned(),
            Some(query) => format!("{event}:{query}"),
        }
    }

    /// The tool call the event is about: its name and input, and its id where the event carries one.
    pub fn tool_call(&self) -> Option<(&str, &Value, Option<&ToolUseId>)> {
        match self {
            Self::PreToolUse { tool_name, tool_input, tool_use_id }
            | Self::PostToolUse { tool_name, tool_input, tool_use_id, .. }
            | Self::PostToolUseFailure { tool_name, tool_input, tool_use_id, .. }
            | Self::PermissionDenied { tool_name, tool_input, tool_use_id, .. } => {
                Some((tool_name, tool_input, Some(tool_use_id)))
            }
            Self::PermissionRequest { tool_name, tool_input, .. } => {
                Some((tool_name, tool_input, None))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn stdin_has_the_base_and_the_events_fields() {
        let input = HookInput {
            detail: HookDetail::PreToolUse {
                tool_name: "Bash".into(),
                tool_input: json!({"command": "ls"}),
                tool_use_id: ToolUseId::from_existing("t1"),
            },
            base: HookBase {
                session_id: SessionId::from_existing("s1"),
                conversation_id: ConversationId::from_existing("c1"),
                runtime_db_path: "/db".into(),
                cwd: "/w".into(),
                permission_mode: Some(PermissionMode::Default),
                agent_id: None,
                agent_type: None,
            },
        };
        let text = serde_json::to_string(&input).unwrap();
        assert_eq!(
            text,
            r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t1","session_id":"s1","conversation_id":"c1","runtime_db_path":"/db","cwd":"/w","permission_mode":"default"}"#
        );
        assert_eq!(serde_json::from_str::<HookInput>(&text).unwrap(), input);
        assert!(!text.contains("transcript_path"));
    }

    #[test]
    fn the_schema_lists_the_events_in_union_order() {
        let schema = schemars::schema_for!(HookDetail).to_value();
        let names: Vec<&str> = schema["oneOf"]
            .as_array()
            .unwrap()
            .iter()
            .map(|arm| arm["properties"]["hook_event_name"]["const"].as_str().unwrap())
            .collect();
        assert_eq!(names, HookEvent::ALL.map(|(_, name)| name));
    }

    #[test]
    fn the_basename_is_what_a_file_matcher_sees() {
        let changed =
            HookDetail::FileChanged { file_path: "/a/b/.env".into(), event: FileEvent::Change };
        assert_eq!(changed.match_query(), Some(".env"));
    }
}
