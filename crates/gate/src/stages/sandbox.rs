//! How the call's command would run. A command below the level that the settings demand does not run.

use ona_store::StoreError;
use ona_types::gate::{Answer, Judging, Mode, Stage, StageName, Verdict};

use crate::judgement::Judgement;
use crate::sandbox::Runs;

pub struct SandboxStage;

impl<'g> Stage<Judgement<'g>> for SandboxStage {
    fn name(&self) -> StageName {
        StageName::Sandbox
    }

    fn judge<'a>(
        &'a self,
        call: &'a mut Judgement<'g>,
        _: &'a [Answer],
        mode: Mode,
    ) -> Judging<'a, StoreError> {
        Box::pin(async move {
            if mode == Mode::Foreign {
                let why = "the host runs the command";
                return Ok(Answer::new(StageName::Sandbox, Verdict::Silent, why).into());
            }
            let verdict = match &call.runs {
                Runs::Refused(_) => Verdict::Deny,
                _ => Verdict::Pass,
            };
            let words = call.runs.words();
            Ok(Answer::new(StageName::Sandbox, verdict, words).with(call.runs.detail()).into())
        })
    }
}
