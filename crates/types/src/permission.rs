//! Permissions: modes, behaviours, and the updates of Appendix B.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `permissions.defaultMode` (Appendix E). `auto` is not in the set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    /// Ask for everything that no rule covers.
    #[default]
    Default,
    /// Allow Read, Write and Edit, ask for the rest.
    AcceptEdits,
    /// Allow everything no rule denies or asks for.
    BypassPermissions,
    /// Deny what writes.
    Plan,
    /// Deny everything that no rule allows.
    DontAsk,
}

impl PermissionMode {
    /// Every mode with its name.
    pub const ALL: [(PermissionMode, &'static str); 5] = [
        (PermissionMode::Default, "default"),
        (PermissionMode::AcceptEdits, "acceptEdits"),
        (PermissionMode::BypassPermissions, "bypassPermissions"),
        (PermissionMode::Plan, "plan"),
        (PermissionMode::DontAsk, "dontAsk"),
    ];

    /// The mode's name.
    pub fn as_str(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

impl fmt::Display for PermissionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An unknown permission mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown permission mode `{0}` (expected default, acceptEdits, plan, dontAsk or bypassPermissions)"
)]
pub struct UnknownMode(pub String);

impl FromStr for PermissionMode {
    type Err = UnknownMode;

    fn from_str(name: &str) -> Result<Self, UnknownMode> {
        Self::ALL
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(mode, _)| *mode)
            .ok_or_else(|| UnknownMode(name.to_owned()))
    }
}

/// What a rule, a hook or a human decides about a call; later variants win over earlier ones
/// (S0 §5.6: deny > ask > allow).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Behavior {
    /// Go ahead.
    Allow,
    /// A human decides.
    Ask,
    /// No.
    Deny,
}

impl Behavior {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Behavior {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a permission update goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum UpdateDestination {
    /// The user's settings file.
    UserSettings,
    /// The project's settings file.
    ProjectSettings,
    /// The project's settings file that is not committed.
    LocalSettings,
    /// This session.
    Session,
    /// This process, as if given on the command line.
    CliArg,
}

/// A rule in its two parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleValue {
    /// The tool.
    pub tool_name: String,
    /// The text in the parentheses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_content: Option<String>,
}

impl fmt::Display for RuleValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rule_content {
            None => f.write_str(&self.tool_name),
            Some(content) => write!(f, "{}({content})", self.tool_name),
        }
    }
}

/// A change of the permissions (Appendix B).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
#[allow(missing_docs, reason = "the fields are those of Appendix B")]
pub enum PermissionUpdate {
    AddRules { rules: Vec<RuleValue>, behavior: Behavior, destination: UpdateDestination },
    ReplaceRules { rules: Vec<RuleValue>, behavior: Behavior, destination: UpdateDestination },
    RemoveRules { rules: Vec<RuleValue>, behavior: Behavior, destination: UpdateDestination },
    SetMode { mode: PermissionMode, destination: UpdateDestination },
    AddDirectories { directories: Vec<String>, destination: UpdateDestination },
    RemoveDirectories { directories: Vec<String>, destination: UpdateDestination },
}

impl PermissionUpdate {
    /// Where it goes.
    pub fn destination(&self) -> UpdateDestination {
        match self {
            Self::AddRules { destination, .. }
            | Self::ReplaceRules { destination, .. }
            | Self::RemoveRules { destination, .. }
            | Self::SetMode { destination, .. }
            | Self::AddDirectories { destination, .. }
            | Self::RemoveDirectories { destination, .. } => *destination,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn modes_round_trip_and_auto_is_refused() {
        for (mode, name) in PermissionMode::ALL {
            assert_eq!(mode.as_str(), name);
            assert_eq!(name.parse(), Ok(mode));
            assert_eq!(serde_json::to_value(mode).unwrap(), name);
        }
        assert!("auto".parse::<PermissionMode>().is_err());
    }

    #[test]
    fn deny_wins_over_ask_wins_over_allow() {
        assert!(Behavior::Deny > Behavior::Ask && Behavior::Ask > Behavior::Allow);
    }

    #[test]
    fn updates_have_the_published_shape() {
        let update = json!({
            "type": "addRules", "behavior": "allow", "destination": "localSettings",
            "rules": [{"toolName": "Bash", "ruleContent": "ls *"}],
        });
        let parsed: PermissionUpdate = serde_json::from_value(update.clone()).unwrap();
        assert_eq!(serde_json::to_value(&parsed).unwrap(), update);
        let PermissionUpdate::AddRules { rules, .. } = parsed else { panic!() };
        assert_eq!(rules[0].to_string(), "Bash(ls *)");
    }
}
