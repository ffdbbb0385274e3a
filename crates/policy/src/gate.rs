//! The verdict algebra of the gate pipeline (DESIGN §3): every stage answers, nothing forgets a no.

use serde::Serialize;
use serde_json::Value;

/// A stage of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The input fits the tool's schema.
    Input,
    /// PreToolUse hooks.
    Hooks,
    /// The planning gate of S0 §8.3.
    Phase,
    /// The intent of the work, and what it owns (S2, S4).
    Intent,
    /// The permission rules of S0 §5.12.
    Rules,
    /// The human.
    Human,
}

/// The stages in the order they are asked. A call that passes all of them may run.
pub const STAGES: [Stage; 6] =
    [Stage::Input, Stage::Hooks, Stage::Phase, Stage::Intent, Stage::Rules, Stage::Human];

impl Stage {
    /// The stage's name on the record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Hooks => "hooks",
            Self::Phase => "phase",
            Self::Intent => "intent",
            Self::Rules => "rules",
            Self::Human => "human",
        }
    }
}

/// What a stage says of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing against it, nothing for it.
    Pass,
    /// For it.
    Allow,
    /// A human should decide.
    Ask,
    /// Against it; the later stages are not asked.
    Deny,
}

impl Verdict {
    /// The word on the record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// One stage's answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Who answers.
    pub stage: Stage,
    /// What.
    pub verdict: Verdict,
    /// Why, in words.
    pub reason: String,
    /// Why, for programs: the rule, the hook, the file it stands in.
    pub detail: Value,
}

impl Answer {
    /// An answer without details.
    pub fn new(stage: Stage, verdict: Verdict, reason: impl Into<String>) -> Self {
        Self { stage, verdict, reason: reason.into(), detail: Value::Null }
    }

    /// Adds details.
    #[must_use]
    pub fn with(mut self, detail: Value) -> Self {
        self.detail = detail;
        self
    }
}

/// The right to run one call. It can only be had for a complete list of answers without a no.
#[derive(Debug)]
pub struct ToolPermit(());

impl ToolPermit {
    /// Grants the right, if every stage has been asked in order, none said no, and whatever was to be
    /// asked of a human was answered by one.
    pub fn grant(answers: &[Answer]) -> Option<Self> {
        let asked = answers.iter().map(|answer| answer.stage).eq(STAGES);
        let denied = answers.iter().any(|answer| answer.verdict == Verdict::Deny);
        let open = answers.iter().any(|answer| answer.verdict == Verdict::Ask)
            && answers.last().is_none_or(|last| last.verdict != Verdict::Allow);
        (asked && !denied && !open).then_some(Self(()))
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the permit itself is tested")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answers(verdicts: &[Verdict]) -> Vec<Answer> {
        STAGES
            .iter()
            .zip(verdicts)
            .map(|(stage, verdict)| Answer::new(*stage, *verdict, ""))
            .collect()
    }

    #[test]
    fn a_permit_needs_every_stage_and_no_no() {
        use Verdict::{Allow, Ask, Deny, Pass};
        for (verdicts, granted) in [
            (&[Pass, Pass, Pass, Pass, Allow, Pass][..], true),
            (&[Pass, Allow, Pass, Pass, Pass, Pass], true),
            (&[Pass, Pass, Pass, Pass, Ask, Allow], true),
            (&[Pass, Pass, Pass, Ask, Allow, Allow], true),
            (&[Pass, Pass, Pass, Ask, Allow, Pass], false),
            (&[Pass, Pass, Pass, Pass, Ask, Pass], false),
            (&[Pass, Ask, Pass, Pass, Allow, Pass], false),
            (&[Pass, Deny, Pass, Pass, Allow, Allow], false),
            (&[Pass, Pass, Pass, Pass, Allow], false),
            (&[], false),
        ] {
            assert_eq!(ToolPermit::grant(&answers(verdicts)).is_some(), granted, "{verdicts:?}");
        }
        let mut swapped = answers(&[Pass, Pass, Pass, Pass, Pass, Pass]);
        swapped.swap(1, 2);
        assert!(ToolPermit::grant(&swapped).is_none(), "in order");
    }

    proptest! {
        #[test]
        fn a_no_is_never_lost(verdicts in prop::collection::vec(
            prop::sample::select(vec![Verdict::Pass, Verdict::Allow, Verdict::Ask, Verdict::Deny]), STAGES.len())) {
            let granted = ToolPermit::grant(&answers(&verdicts)).is_some();
            prop_assert!(!(granted && verdicts.contains(&Verdict::Deny)));
        }
    }
}
