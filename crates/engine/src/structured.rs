//! Structured answers: when a turn has one, and what happens without one.

use ona_front::Ending;
use ona_policy::secrets::Redactor;
use ona_store::{Step, StoreError};
use ona_tools::STRUCTURED_OUTPUT;
use ona_types::{Entry, SystemNote};
use serde_json::Value;

use crate::agent::Agent;
use crate::options::Shape;
use ona_gate::call::CallReport;

/// The reminder for a turn that ends with text.
const REMINDER: &str =
    "The answer is missing: text is ignored. Give your answer through the tool StructuredOutput.";

/// The structured answer of a turn.
#[derive(Debug, Default)]
pub(crate) struct ShapedAnswer {
    /// The last valid one.
    pub(crate) given: Option<Value>,
    /// Why the latest attempt was invalid.
    refused: Option<String>,
    tries: u32,
}

impl ShapedAnswer {
    /// Records a call of the tool that accepts answers.
    pub(crate) fn record_call(&mut self, report: &CallReport, redactor: &Redactor) {
        match report.is_error {
            false => {
                let mut answer = report.input.clone();
                redactor.mask_live_value(&mut answer);
                (self.given, self.refused) = (Some(answer), None);
            }
            true => self.refused = Some(report.content.clone()),
        }
    }

    /// Counts an attempt without an answer. Returns the ending if the limit is reached.
    fn count_miss(&mut self, why: String, shape: &Shape) -> Result<(), Ending> {
        self.tries += 1;
        if self.tries <= shape.retries {
            return Ok(());
        }
        Err(Ending::NoAnswerThatFits { tries: self.tries, last: why })
    }
}

/// Why a turn without an answer ends.
pub(crate) enum Unanswered {
    Ending(Ending),
    Store(StoreError),
}

impl Agent {
    /// Counts an invalid answer among the calls that have just run.
    pub(crate) fn after_calls(&self, answer: &mut ShapedAnswer) -> Result<(), Ending> {
        match (&self.options.shape, answer.refused.take()) {
            (Some(shape), Some(why)) => answer.count_miss(why, shape),
            _ => Ok(()),
        }
    }

    /// The model makes no more calls. Reminds it if the answer is missing, and returns whether it did.
    pub(crate) fn request_missing_answer(
        &mut self,
        answer: &mut ShapedAnswer,
    ) -> Result<bool, Unanswered> {
        let Some(shape) = self.options.shape.as_ref().filter(|_| answer.given.is_none()) else {
            return Ok(false);
        };
        let why = format!("it answered in text instead of calling {STRUCTURED_OUTPUT}");
        answer.count_miss(why, shape).map_err(Unanswered::Ending)?;
        let note =
            SystemNote::Context { text: REMINDER.to_owned(), from: "json schema".to_owned() };
        self.commit(&Step { entries: &[Entry::system(&note)], ..Step::default() })
            .map_err(Unanswered::Store)?;
        Ok(true)
    }
}
