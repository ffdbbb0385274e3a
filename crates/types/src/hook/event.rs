//! The closed set of hook events.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A hook event, in the order of Appendix A (the `HookInputSchema` union).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[allow(
    missing_docs,
    reason = "the names are those of S0 §3; `ona help hooks` says when each fires"
)]
pub enum HookEvent {
    PreToolUse,
    PostToolUse,
    PostToolUseFailure,
    PermissionDenied,
    Notification,
    UserPromptSubmit,
    SessionStart,
    SessionEnd,
    Stop,
    StopFailure,
    SubagentStart,
    SubagentStop,
    PreCompact,
    PostCompact,
    PermissionRequest,
    Setup,
    TeammateIdle,
    TaskCreated,
    TaskCompleted,
    Elicitation,
    ElicitationResult,
    ConfigChange,
    InstructionsLoaded,
    WorktreeCreate,
    WorktreeRemove,
    CwdChanged,
    FileChanged,
}

impl HookEvent {
    /// Every event with its name, in union order.
    pub const ALL: [(HookEvent, &'static str); 27] = [
        (HookEvent::PreToolUse, "PreToolUse"),
        (HookEvent::PostToolUse, "PostToolUse"),
        (HookEvent::PostToolUseFailure, "PostToolUseFailure"),
        (HookEvent::PermissionDenied, "PermissionDenied"),
        (HookEvent::Notification, "Notification"),
        (HookEvent::UserPromptSubmit, "UserPromptSubmit"),
        (HookEvent::SessionStart, "SessionStart"),
        (HookEvent::SessionEnd, "SessionEnd"),
        (HookEvent::Stop, "Stop"),
        (HookEvent::StopFailure, "StopFailure"),
        (HookEvent::SubagentStart, "SubagentStart"),
        (HookEvent::SubagentStop, "SubagentStop"),
        (HookEvent::PreCompact, "PreCompact"),
        (HookEvent::PostCompact, "PostCompact"),
        (HookEvent::PermissionRequest, "PermissionRequest"),
        (HookEvent::Setup, "Setup"),
        (HookEvent::TeammateIdle, "TeammateIdle"),
        (HookEvent::TaskCreated, "TaskCreated"),
        (HookEvent::TaskCompleted, "TaskCompleted"),
        (HookEvent::Elicitation, "Elicitation"),
        (HookEvent::ElicitationResult, "ElicitationResult"),
        (HookEvent::ConfigChange, "ConfigChange"),
        (HookEvent::InstructionsLoaded, "InstructionsLoaded"),
        (HookEvent::WorktreeCreate, "WorktreeCreate"),
        (HookEvent::WorktreeRemove, "WorktreeRemove"),
        (HookEvent::CwdChanged, "CwdChanged"),
        (HookEvent::FileChanged, "FileChanged"),
    ];

    /// The event's name.
    pub fn as_str(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Whether exit 2, or a timeout, blocks what the event is about (S0 §5.4, §5.9).
    pub fn blocks(self) -> bool {
        matches!(self, Self::PreToolUse | Self::UserPromptSubmit)
    }

    /// Whether the event is about one tool call, so that a handler's `if` rule can be asked.
    pub fn is_tool_event(self) -> bool {
        matches!(
            self,
            Self::PreToolUse
                | Self::PostToolUse
                | Self::PostToolUseFailure
                | Self::PermissionRequest
                | Self::PermissionDenied
        )
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An unknown event name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown hook event `{0}`")]
pub struct UnknownEvent(pub String);

impl UnknownEvent {
    /// The event that was probably meant.
    pub fn meant(&self) -> Option<&'static str> {
        crate::nearest(&self.0, HookEvent::ALL.iter().map(|(_, name)| *name))
    }
}

impl FromStr for HookEvent {
    type Err = UnknownEvent;

    fn from_str(name: &str) -> Result<Self, UnknownEvent> {
        Self::ALL
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(event, _)| *event)
            .ok_or_else(|| UnknownEvent(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_closed_set() {
        for (event, name) in HookEvent::ALL {
            assert_eq!(event.as_str(), name);
            assert_eq!(name.parse(), Ok(event));
            assert_eq!(serde_json::to_value(event).unwrap(), name);
        }
        assert!("preToolUse".parse::<HookEvent>().is_err());
    }

    #[test]
    fn the_page_on_hooks_says_of_every_event_when_it_fires_and_what_blocking_does() {
        let page = include_str!("../../../../docs/HOOKS.md").replace("\\|", "or");
        let table = page.split_once("## When they fire").unwrap().1;
        let rows =
            table.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| Event"));
        let rows: Vec<Vec<&str>> =
            rows.map(|row| row.split('|').map(str::trim).collect()).collect();
        let names: Vec<&str> = rows.iter().map(|row| row[1]).collect();
        assert_eq!(names, HookEvent::ALL.map(|(_, name)| name));
        for row in rows {
            assert!(row.len() == 5 && row[2..4].iter().all(|cell| !cell.is_empty()), "{row:?}");
        }
    }
}
