//! What a hook prints: Appendix B.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::input::ElicitationAction;
use crate::permission::PermissionUpdate;

/// A hook's standard output, where it is JSON.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum HookOutput {
    /// The reference's background stub. It parses, so that it can be refused by name (S0 §5.8).
    Async {
        /// Always true.
        #[serde(rename = "async")]
        is_async: bool,
        /// Milliseconds.
        #[serde(rename = "asyncTimeout")]
        timeout: Option<f64>,
    },
    /// An answer.
    Sync(Box<SyncOutput>),
}

/// The fields every event's answer may have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SyncOutput {
    /// `false` stops the agent after this hook.
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    pub go_on: Option<bool>,
    /// Keep the output out of the transcript view.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppress_output: Option<bool>,
    /// For the user, with `continue: false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// The older form of a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// A warning for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// Why, for `decision`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Fields of this event only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook_specific_output: Option<HookSpecificOutput>,
}

/// The older form of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the words are those of Appendix B")]
pub enum Decision {
    Approve,
    Block,
}

/// What a PreToolUse hook decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the words are those of Appendix B")]
pub enum PermissionDecision {
    Allow,
    Deny,
    Ask,
}

/// A PermissionRequest hook's answer in place of the human's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "behavior", rename_all = "lowercase")]
pub enum RequestDecision {
    /// Yes.
    #[serde(rename_all = "camelCase")]
    Allow {
        /// The input to run instead.
        #[serde(skip_serializing_if = "Option::is_none")]
        updated_input: Option<Map<String, Value>>,
        /// Rules to keep.
        #[serde(skip_serializing_if = "Option::is_none")]
        updated_permissions: Option<Vec<PermissionUpdate>>,
    },
    /// No.
    Deny {
        /// Why, for the model.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Stop the turn as well.
        #[serde(skip_serializing_if = "Option::is_none")]
        interrupt: Option<bool>,
    },
}

/// Fields of one event only, in the order of Appendix B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "hookEventName")]
#[allow(missing_docs, reason = "the fields are those of Appendix B")]
pub enum HookSpecificOutput {
    #[serde(rename_all = "camelCase")]
    PreToolUse {
        #[serde(skip_serializing_if = "Option::is_none")]
        permission_decision: Option<PermissionDecision>,
        #[serde(skip_serializing_if = "Option::is_none")]
        permission_decision_reason: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        updated_input: Option<Map<String, Value>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        additional_context: Option<String>,
    },
    #[serde(rename_all = "camelCase")]
    UserPromptSubmit {
        #[serde(skip_serializing_if = "Option::is_none")]
        additional_context: Option<String>,
    },
    #[serde(rename_all = "camelCase")]
    SessionStart {
        #[serde(skip_serializing_if = "Option::is_none")]
        additional_context: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        initial_user_message: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        watch_paths: Option<Vec<String>>,
    },
    #[serde(rename_all = "camelCase")]
    Setup {
        #[serde(skip_serializing_if = "Option::is_none")]
        additional_context: Option<String>,
    },
    #[serde(rename_all = "camelCase")]
    SubagentStart {
        #[serde(skip_serializing_if = "Option::is_none")]
        additional_context: Option<String>,
    },
    #[serde(rename_all = "camelCase")]
    PostToolUse {
        #[serde(skip_serializing_if = "Option::is_none")]
        additional_context: Option<String>,
        #[serde(rename = "updatedMCPToolOutput", skip_serializing_if = "Option::is_none")]
        updated_mcp_tool_output: Option<Value>,
    },
    #[serde(rename_all = "camelCase")]
    PostToolUseFailure {
        #[serde(skip_serializing_if = "Option::is_none")]
        additional_context: Option<String>,
    },
    PermissionDenied {
        #[serde(skip_serializing_if = "Option::is_none")]
        retry: Option<bool>,
    },
    #[serde(rename_all = "camelCase")]
    Notification {
        #[serde(skip_serializing_if = "Option::is_none")]
        additional_context: Option<String>,
    },
    PermissionRequest {
        decision: RequestDecision,
    },
    Elicitation {
        #[serde(skip_serializing_if = "Option::is_none")]
        action: Option<ElicitationAction>,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<Map<String, Value>>,
    },
    ElicitationResult {
        #[serde(skip_serializing_if = "Option::is_none")]
        action: Option<ElicitationAction>,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<Map<String, Value>>,
    },
    #[serde(rename_all = "camelCase")]
    CwdChanged {
        #[serde(skip_serializing_if = "Option::is_none")]
        watch_paths: Option<Vec<String>>,
    },
    #[serde(rename_all = "camelCase")]
    FileChanged {
        #[serde(skip_serializing_if = "Option::is_none")]
        watch_paths: Option<Vec<String>>,
    },
    #[serde(rename_all = "camelCase")]
    WorktreeCreate {
        worktree_path: String,
    },
}

impl HookSpecificOutput {
    /// The arms in the order of Appendix B.
    pub const ORDER: [&'static str; 15] = [
        "PreToolUse",
        "UserPromptSubmit",
        "SessionStart",
        "Setup",
        "SubagentStart",
        "PostToolUse",
        "PostToolUseFailure",
        "PermissionDenied",
        "Notification",
        "PermissionRequest",
        "Elicitation",
        "ElicitationResult",
        "CwdChanged",
        "FileChanged",
        "WorktreeCreate",
    ];
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_parse_and_the_background_stub_is_told_apart() {
        let answer: HookOutput = serde_json::from_value(json!({
            "systemMessage": "careful",
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": "ask",
                "updatedInput": {"command": "ls"},
            },
        }))
        .unwrap();
        let HookOutput::Sync(answer) = answer else { panic!("{answer:?}") };
        assert_eq!(answer.system_message.as_deref(), Some("careful"));
        let Some(HookSpecificOutput::PreToolUse { permission_decision, .. }) =
            answer.hook_specific_output
        else {
            panic!()
        };
        assert_eq!(permission_decision, Some(PermissionDecision::Ask));

        let stub: HookOutput = serde_json::from_value(json!({"async": true})).unwrap();
        assert!(matches!(stub, HookOutput::Async { is_async: true, .. }));
        // `defer` came later and is not in the closed set.
        let defer = json!({"hookSpecificOutput":
            {"hookEventName": "PreToolUse", "permissionDecision": "defer"}});
        assert!(serde_json::from_value::<HookOutput>(defer).is_err());
    }

    #[test]
    fn the_schema_lists_the_arms_in_union_order() {
        let schema = schemars::schema_for!(HookSpecificOutput).to_value();
        let names: Vec<&str> = schema["oneOf"]
            .as_array()
            .unwrap()
            .iter()
            .map(|arm| arm["properties"]["hookEventName"]["const"].as_str().unwrap())
            .collect();
        assert_eq!(names, HookSpecificOutput::ORDER);
    }
}
