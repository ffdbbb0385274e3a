//! How strongly the system confines a command.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The permissions of an empty directory that stands for a protected name while a command runs: nobody chooses these.
pub const PLACEHOLDER_MODE: u32 = 0o711;

/// How strongly the system confines a command, from not at all on.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxLevel {
    /// Not at all: a process group, limits, a time limit.
    #[default]
    None,
    /// Landlock, seccomp and no new privileges.
    Landlock,
    /// The profile of macOS.
    Seatbelt,
    /// Namespaces by bubblewrap, without a `/proc`: where a container does not allow another one.
    BwrapNoproc,
    /// Namespaces by bubblewrap.
    Bwrap,
}

impl SandboxLevel {
    /// Every level, the strongest first.
    pub const ALL: [Self; 5] =
        [Self::Bwrap, Self::BwrapNoproc, Self::Seatbelt, Self::Landlock, Self::None];

    /// Its name in settings and on the record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Landlock => "landlock",
            Self::Seatbelt => "seatbelt",
            Self::BwrapNoproc => "bwrap-noproc",
            Self::Bwrap => "bwrap",
        }
    }
}

impl fmt::Display for SandboxLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLevel(String);

impl fmt::Display for UnknownLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = SandboxLevel::ALL.iter().map(|level| level.as_str()).collect();
        write!(f, "unknown sandbox level `{}`: {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownLevel {}

impl FromStr for SandboxLevel {
    type Err = UnknownLevel;

    fn from_str(name: &str) -> Result<Self, UnknownLevel> {
        let found = Self::ALL.into_iter().find(|level| level.as_str() == name);
        found.ok_or_else(|| UnknownLevel(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_named_and_ordered() {
        for pair in SandboxLevel::ALL.windows(2) {
            assert!(pair[0] > pair[1]);
        }
        for level in SandboxLevel::ALL {
            assert_eq!(level.as_str().parse(), Ok(level));
            assert_eq!(serde_json::to_value(level).unwrap(), level.as_str());
        }
        assert!("docker".parse::<SandboxLevel>().is_err());
    }
}
