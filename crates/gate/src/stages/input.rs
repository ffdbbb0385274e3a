//! Does the input match the tool's schema, and what would the call touch?

use ona_store::StoreError;
use ona_types::gate::{Answer, Judging, Mode, Stage, StageName, Verdict};

use crate::judgement::Judgement;

pub struct InputStage;

impl<'g> Stage<Judgement<'g>> for InputStage {
    fn name(&self) -> StageName {
        StageName::Input
    }

    fn judge<'a>(
        &'a self,
        call: &'a mut Judgement<'g>,
        _: &'a [Answer],
        _: Mode,
    ) -> Judging<'a, StoreError> {
        Box::pin(async move {
            let answer = |verdict, reason: String| Answer::new(StageName::Input, verdict, reason);
            Ok(match call.prepare() {
                Ok(effects) => {
                    call.effects = effects;
                    answer(Verdict::Pass, call.tool.input_check().to_owned()).into()
                }
                Err(error) => {
                    let reason = match call.replaced_by {
                        None => error.to_string(),
                        Some(_) => {
                            format!("the input was replaced by an invalid one: {error}")
                        }
                    };
                    let fix = ["correct the input".to_owned()];
                    answer(Verdict::Deny, reason).remedied_by(fix).into()
                }
            })
        })
    }
}
