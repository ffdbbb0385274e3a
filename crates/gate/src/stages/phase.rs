//! Does the phase of the work forbid the call (S0 §8.3), or is it a plan that cannot be approved?

use ona_phases::criteria::faults_in_words;
use ona_phases::machine;
use ona_store::StoreError;
use ona_tools::Asks;
use ona_types::Phase;
use ona_types::gate::{Answer, Judging, Mode, Stage, StageName, Verdict};

use crate::judgement::Judgement;

pub struct PhaseStage;

impl<'g> Stage<Judgement<'g>> for PhaseStage {
    fn name(&self) -> StageName {
        StageName::Phase
    }

    fn judge<'a>(
        &'a self,
        call: &'a mut Judgement<'g>,
        _: &'a [Answer],
        _: Mode,
    ) -> Judging<'a, StoreError> {
        Box::pin(async move { answer(call).map(Into::into) })
    }
}

fn answer(call: &Judgement<'_>) -> Result<Answer, StoreError> {
    let standing = call.gate.record.standing()?;
    let facts = call.tool.facts();
    let answer = |verdict, reason: String| Answer::new(StageName::Phase, verdict, reason);
    // A plan outside planning cannot be approved, so nobody is asked.
    if facts.asks == Asks::AHuman && standing.phase != Phase::Planning {
        let why = format!("not in planning (phase: {})", standing.phase);
        return Ok(answer(Verdict::Deny, why).remedied_by(["enter planning first".to_owned()]));
    }
    // A human does not read what they could not approve.
    if let Some(checked) = call.check_plan()?
        && !checked.faults.is_empty()
    {
        let why = format!("the plan cannot be approved: {}", faults_in_words(&checked.faults));
        return Ok(answer(Verdict::Deny, why)
            .remedied_by(["mend the plan, and submit it again with ExitPlanMode".to_owned()]));
    }
    Ok(match machine::forbids(standing, facts.denied_in_planning, call.tool.name()) {
        Some(reason) => answer(Verdict::Deny, reason)
            .remedied_by(["approve a plan, or leave planning".to_owned()]),
        None => answer(Verdict::Pass, format!("the phase is {}", standing.phase)),
    })
}
