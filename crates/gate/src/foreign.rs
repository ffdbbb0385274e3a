//! A call that another agent's host runs: judged by the same stages, never run here.

use ona_effects::Effects;
use ona_store::StoreError;
use ona_tools::Tool;
use ona_types::ToolUseId;
use ona_types::gate::{Answer, End, Mode, StageName, Walked};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Gate;
use super::intents::Governed;
use super::judgement::{Judgement, Noted};
use super::stages::judge;

/// A call of another agent.
pub struct ForeignCall<'a> {
    /// Its id in the record.
    pub id: &'a ToolUseId,
    /// The tool, as ona sees it.
    pub tool: &'a dyn Tool,
    /// Its input.
    pub input: Value,
    /// Whether the permission rules apply too: the host has rules of its own.
    pub rules: bool,
    /// Whether the host asks its user if a stage says so.
    pub host_asks: bool,
}

/// The judgement on a call of another agent.
#[derive(Debug)]
pub struct ForeignJudgement {
    /// The answers of the stages.
    pub answers: Vec<Answer>,
    /// The stage that denied the call, and the denial as the agent sees it.
    pub denied: Option<(StageName, String)>,
    /// What the call would touch.
    pub effects: Effects,
    /// What the intent stage found.
    pub governed: Option<Governed>,
    /// What is recorded with the call.
    pub noted: Noted,
}

impl Gate {
    /// Judges a call of another agent.
    pub async fn judge_foreign(
        &mut self,
        foreign: ForeignCall<'_>,
    ) -> Result<ForeignJudgement, StoreError> {
        let cancel = CancellationToken::new();
        let mut call = Judgement::new(self, foreign.id, foreign.tool, foreign.input, &cancel);
        call.rules_wanted = foreign.rules;
        call.host_asks = foreign.host_asks;
        let Walked { answers, end } = judge(&mut call, Mode::Foreign).await;
        call.answers = answers;
        let denied = match end {
            End::Failed(error) => return Err(error),
            End::Denied(stage) => {
                let reason = call.answers.last().map(|answer| answer.reason.clone());
                let reason = reason.unwrap_or_default();
                call.trace_denial(&reason);
                call.append_trace().await;
                Some((stage, call.denial_text(stage, &reason)))
            }
            End::Judged | End::Permitted(_) => None,
        };
        Ok(ForeignJudgement {
            answers: call.answers,
            denied,
            effects: call.effects,
            governed: call.governed,
            noted: call.noted,
        })
    }
}
