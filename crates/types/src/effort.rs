//! How hard a model thinks.

use std::str::FromStr;

/// How hard a model thinks, from least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the words say it")]
pub enum Effort {
    Low,
    Medium,
    High,
    Max,
}

impl Effort {
    /// Every effort with its name.
    pub const ALL: [(&'static str, Effort); 4] = [
        ("low", Effort::Low),
        ("medium", Effort::Medium),
        ("high", Effort::High),
        ("max", Effort::Max),
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        Self::ALL[self as usize].0
    }
}

/// An unknown effort.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown effort `{0}` (expected low, medium, high or max)")]
pub struct UnknownEffort(pub String);

impl FromStr for Effort {
    type Err = UnknownEffort;

    fn from_str(word: &str) -> Result<Self, UnknownEffort> {
        let known = Self::ALL.iter().find(|(known, _)| *known == word);
        known.map(|(_, effort)| *effort).ok_or_else(|| UnknownEffort(word.to_owned()))
    }
}
