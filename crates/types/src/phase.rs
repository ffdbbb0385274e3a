//! `conversations.phase`, the closed enum of S0 §8.1.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The phase of a conversation in the workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Nothing planned.
    Idle,
    /// A plan is being written.
    Planning,
    /// An approved plan is being carried out.
    Implement,
    /// Behavioural tests are generated and run.
    Test,
    /// The operator reads the report.
    Verify,
    /// The operator approved the report.
    Done,
}

impl Phase {
    /// Every phase with its stored name.
    pub const ALL: [(Phase, &'static str); 6] = [
        (Phase::Idle, "idle"),
        (Phase::Planning, "planning"),
        (Phase::Implement, "implement"),
        (Phase::Test, "test"),
        (Phase::Verify, "verify"),
        (Phase::Done, "done"),
    ];

    /// The stored name.
    pub fn as_str(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An unknown phase.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown phase `{0}` (expected idle, planning, implement, test, verify or done)")]
pub struct UnknownPhase(pub String);

impl FromStr for Phase {
    type Err = UnknownPhase;

    fn from_str(name: &str) -> Result<Self, UnknownPhase> {
        Self::ALL
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(phase, _)| *phase)
            .ok_or_else(|| UnknownPhase(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_others_are_refused() {
        for (phase, name) in Phase::ALL {
            assert_eq!(phase.as_str(), name);
            assert_eq!(name.parse::<Phase>(), Ok(phase));
        }
        assert!("Planning".parse::<Phase>().is_err());
    }
}
