//! Typed reads: what settings say, as [`Settings`] instead of JSON.

use std::ffi::OsString;

use ona_types::Effort;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::schema::{EffortLevel, Settings};
use super::{Layer, check, merge};

impl Settings {
    /// The settings of all layers, which come lowest rank first.
    pub fn merged(layers: &[Layer]) -> Self {
        match merge(layers) {
            Value::Object(json) => Self::of(&json),
            _ => Self::default(),
        }
    }

    /// The settings in this JSON. What does not fit is left out, as it is when a file is read.
    pub fn of(json: &Map<String, Value>) -> Self {
        Self::deserialize(json).unwrap_or_else(|_| {
            let fitting: Map<String, Value> = json
                .iter()
                .flat_map(|(key, value)| check::fitting(key.clone(), value.clone()).0)
                .collect();
            Self::deserialize(&fitting).unwrap_or_default()
        })
    }

    /// The variables that children of the session get.
    pub fn child_env(&self) -> Vec<(OsString, OsString)> {
        let env = self.env.iter().flatten();
        env.map(|(name, value)| (name.into(), value.into())).collect()
    }
}

impl Layer {
    /// What it says.
    pub fn settings(&self) -> Settings {
        Settings::of(&self.json)
    }

    /// Its hooks, as they are written: the hook plane reads them.
    pub fn hooks(&self) -> Option<&Value> {
        self.json.get("hooks")
    }
}

impl From<EffortLevel> for Effort {
    fn from(level: EffortLevel) -> Self {
        match level {
            EffortLevel::Low => Self::Low,
            EffortLevel::Medium => Self::Medium,
            EffortLevel::High => Self::High,
            EffortLevel::Max => Self::Max,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_wrong_value_costs_only_itself() {
        let json = json!({
            "model": "sonnet",
            "language": 5,
            "claudeMdExcludes": ["/a", 7, "/b"],
            "permissions": {"allow": ["Bash"], "defaultMode": "yolo"},
            "env": {"A": "1", "B": 2},
            "unknown": {"kept": "elsewhere"},
        });
        let settings = Settings::of(json.as_object().unwrap());
        assert_eq!(settings.model.as_deref(), Some("sonnet"));
        assert_eq!(settings.language, None);
        assert_eq!(settings.claude_md_excludes.as_deref().unwrap(), ["/a", "/b"]);
        let permissions = settings.permissions.as_deref().unwrap();
        assert_eq!(permissions.allow.as_deref().unwrap(), ["Bash"]);
        assert_eq!(permissions.default_mode, None);
        assert_eq!(settings.child_env(), [("A".into(), "1".into())]);
    }
}
