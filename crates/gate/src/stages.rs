//! The stages of the gate, in the order of [`ona_types::gate::STAGES`]. This is the only place that combines them.

mod hooks;
mod human;
mod input;
mod intent;
mod phase;
mod rules;
mod sandbox;
mod tasks;

use ona_store::StoreError;
use ona_types::gate::{Mode, STAGES, Stage, Walked, walk};

use super::judgement::Judgement;
pub use tasks::completed as task_completed;

/// The stages that every call passes.
fn pipeline<'a>() -> [&'a dyn Stage<Judgement<'a>>; STAGES.len()] {
    [
        &input::InputStage,
        &hooks::HooksStage,
        &phase::PhaseStage,
        &intent::IntentStage,
        &rules::RulesStage,
        &human::HumanStage,
        &sandbox::SandboxStage,
        &tasks::TasksStage,
    ]
}

/// Walks a call through the stages.
pub async fn judge(call: &mut Judgement<'_>, mode: Mode) -> Walked<StoreError> {
    walk(pipeline(), call, mode).await
}
