//! The permit for a call, from a gate that has nothing against it.

use std::borrow::Cow;
use std::convert::Infallible;

use ona_types::gate::{
    Answer, End, Judged, Judging, Mode, Permit, STAGES, Stage, StageName, Verdict, walk,
};
use serde_json::Value;

struct Call {
    tool: String,
    input: Value,
}

impl Judged for Call {
    type Error = Infallible;

    fn tool(&self) -> &str {
        &self.tool
    }

    fn input(&self) -> Cow<'_, Value> {
        Cow::Borrowed(&self.input)
    }

    fn replace_input(&mut self, input: Value) {
        self.input = input;
    }

    fn is_interrupted(&self) -> bool {
        false
    }

    fn hear(&self, _: &Answer) {}
}

struct Passes(StageName);

impl Stage<Call> for Passes {
    fn name(&self) -> StageName {
        self.0
    }

    fn judge<'a>(&'a self, _: &'a mut Call, _: &'a [Answer], _: Mode) -> Judging<'a, Infallible> {
        let answer = Answer::new(self.0, Verdict::Pass, "nothing against it");
        Box::pin(async move { Ok(answer.into()) })
    }
}

/// The permit to call a tool with this input.
pub async fn permit(tool: &str, input: Value) -> Permit {
    let stages = STAGES.map(Passes);
    let list = stages.each_ref().map(|stage| stage as &dyn Stage<Call>);
    let mut call = Call { tool: tool.to_owned(), input };
    match walk(list, &mut call, Mode::Run).await.end {
        End::Permitted(permit) => permit,
        other => panic!("{other:?}"),
    }
}
