//! Does the selected intent own what the call would change? (S2, S4)

use ona_store::StoreError;
use ona_types::gate::{Answer, Judging, Mode, Stage, StageName, Verdict};

use crate::intents::{DEGRADED, Ruled};
use crate::judgement::Judgement;

pub struct IntentStage;

impl<'g> Stage<Judgement<'g>> for IntentStage {
    fn name(&self) -> StageName {
        StageName::Intent
    }

    fn judge<'a>(
        &'a self,
        call: &'a mut Judgement<'g>,
        _: &'a [Answer],
        mode: Mode,
    ) -> Judging<'a, StoreError> {
        Box::pin(async move { answer(call, mode).map(Into::into) })
    }
}

fn answer(call: &mut Judgement<'_>, mode: Mode) -> Result<Answer, StoreError> {
    let Some((governed, ruled)) = call.judge_intent()? else {
        let why = "the project has no intents";
        return Ok(Answer::new(StageName::Intent, Verdict::Pass, why));
    };
    let mut answer = ruled.answer(&governed, || call.approved_before());
    match &ruled {
        Ruled::Degraded(refusal) if mode != Mode::Explain => {
            call.noted.events.push((DEGRADED.to_owned(), refusal.to_json()));
            let text = format!("{}: the call is not checked against intents", refusal.message());
            call.gate.front.warn(text);
        }
        Ruled::Refused(refusal) => answer = answer.remedied_by([refusal.hint()]),
        _ if answer.verdict == Verdict::Ask => {
            let step = "approve it when asked, or add a rule that allows it";
            answer = answer.remedied_by([step.to_owned()]);
        }
        _ => {}
    }
    call.governed = Some(governed);
    Ok(answer)
}
