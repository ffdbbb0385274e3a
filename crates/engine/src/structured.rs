//! Answers in a shape that the operator asked for: when such an answer is there, and what becomes of a turn
//! without one.

use ona_front::Ending;
use ona_policy::secrets::Redactor;
use ona_store::{Step, StoreError};
use ona_tools::STRUCTURED_OUTPUT;
use ona_types::{Entry, SystemNote};
use serde_json::Value;

use crate::agent::Agent;
use crate::options::Shape;
use ona_gate::call::CallReport;

/// What the model is told when it ends its turn with words.
const REMINDER: &str =
    "There is no answer yet: text is not read. Give your answer through the tool StructuredOutput.";

/// The answer of a turn, so far.
#[derive(Debug, Default)]
pub(crate) struct ShapedAnswer {
    /// The last one that fits.
    pub(crate) given: Option<Value>,
    /// Why the latest try was none.
    refused: Option<String>,
    tries: u32,
}

impl ShapedAnswer {
    /// Hears of a call of the tool that takes answers.
    pub(crate) fn hear(&mut self, report: &CallReport, redactor: &Redactor) {
        match &report.answer {
            Some(answer) => {
                let mut answer = answer.clone();
                redactor.mask_live_value(&mut answer);
                (self.given, self.refused) = (Some(answer), None);
            }
            None => self.refused = Some(report.content.clone()),
        }
    }

    /// Counts a try that gave no answer; the turn's ending if it was one too many.
    fn missed(&mut self, why: String, shape: &Shape) -> Result<(), Ending> {
        self.tries += 1;
        if self.tries <= shape.retries {
            return Ok(());
        }
        Err(Ending::NoAnswerThatFits { tries: self.tries, last: why })
    }
}

/// Why a turn without an answer does not go on.
pub(crate) enum Unanswered {
    Ending(Ending),
    Store(StoreError),
}

impl Agent {
    /// The calls of an answer are done, and the model will be asked again: was one of them a wrong answer?
    pub(crate) fn after_calls(&self, answer: &mut ShapedAnswer) -> Result<(), Ending> {
        match (&self.options.shape, answer.refused.take()) {
            (Some(shape), Some(why)) => answer.missed(why, shape),
            _ => Ok(()),
        }
    }

    /// The model has nothing more to call. Whether it has to be asked again, because the answer is missing.
    pub(crate) fn still_owes(&mut self, answer: &mut ShapedAnswer) -> Result<bool, Unanswered> {
        let Some(shape) = self.options.shape.as_ref().filter(|_| answer.given.is_none()) else {
            return Ok(false);
        };
        let why = format!("it answered in text instead of calling {STRUCTURED_OUTPUT}");
        answer.missed(why, shape).map_err(Unanswered::Ending)?;
        let note =
            SystemNote::Context { text: REMINDER.to_owned(), from: "json schema".to_owned() };
        self.keep(&Step { entries: &[Entry::system(&note)], ..Step::default() })
            .map_err(Unanswered::Store)?;
        Ok(true)
    }
}
