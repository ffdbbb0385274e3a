//! AskUserQuestion: the model asks the user to choose.
//!
//! The front end fills in the answers before the tool runs; the tool only reports them.

use std::collections::BTreeMap;

use ona_effects::Effects;
use ona_mcp::Hints;
use ona_types::ToolOutput;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::context::{Place, ToolContext};
use crate::facts::{Asks, Facts};
use crate::input::{InputError, lenient_bool};
use crate::services::SessionServices;
use crate::tool::{BuiltIn, Refusal};

/// The limit for a header, in characters.
const MAX_HEADER: usize = 12;

pub(crate) struct AskUserQuestion;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuestionsInput {
    /// One to four questions.
    questions: Vec<Question>,
    /// Filled in by the front end: each question and its answer.
    #[serde(default)]
    #[schemars(skip)]
    answers: BTreeMap<String, Value>,
    /// Filled in by the front end: the user's notes.
    #[serde(default)]
    #[schemars(skip)]
    annotations: Option<BTreeMap<String, Annotation>>,
    /// For readers of the transcript.
    #[serde(default)]
    #[schemars(skip)]
    #[allow(dead_code, reason = "hosts send it")]
    metadata: Option<Value>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case, reason = "the key is written so")]
struct Question {
    /// The question, with its question mark.
    question: String,
    /// What it is about, in at most 12 characters.
    header: String,
    /// Two to four choices; "Other" is added for the user.
    options: Vec<Choice>,
    /// Whether several may be chosen.
    #[serde(default, deserialize_with = "lenient_bool")]
    #[allow(dead_code, reason = "whoever asks reads it")]
    multiSelect: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Choice {
    /// One to five words.
    label: String,
    /// What choosing it means.
    #[serde(default)]
    #[allow(dead_code, reason = "whoever asks shows it")]
    description: Option<String>,
    /// Something to look at before choosing, in Markdown.
    #[serde(default)]
    #[allow(dead_code, reason = "whoever asks shows it")]
    preview: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Annotation {
    #[serde(default)]
    #[allow(dead_code, reason = "what was chosen says it")]
    preview: Option<String>,
    #[serde(default)]
    notes: Option<String>,
}

impl JsonSchema for Annotation {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Annotation".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "object"})
    }
}

impl BuiltIn for AskUserQuestion {
    const NAME: &'static str = "AskUserQuestion";
    const DESCRIPTION: &'static str = "Asks the user up to four questions with two to four choices each, and waits \
        for the answers. Use it where the work depends on something only the user can decide; not for what you can \
        find out. The user can always answer something else.";
    const FACTS: Facts =
        Facts { asks: Asks::AnAnswer, speaks_to_user: true, ..Facts::plain(Hints::READS) };
    type Input = QuestionsInput;

    fn effects(input: &QuestionsInput, _: &Place) -> Result<Effects, InputError> {
        let wrong = |why: String| Err(InputError::new(Self::NAME, why));
        let questions = &input.questions;
        if !(1..=4).contains(&questions.len()) {
            return wrong(format!("`questions`: {}; one to four are allowed", questions.len()));
        }
        for (at, question) in questions.iter().enumerate() {
            if question.question.trim().is_empty() {
                return wrong(format!("`questions[{at}].question` is empty"));
            }
            if questions[..at].iter().any(|other| other.question == question.question) {
                return wrong(format!("`questions[{at}].question` is asked twice"));
            }
            let header = question.header.chars().count();
            if !(1..=MAX_HEADER).contains(&header) {
                return wrong(format!(
                    "`questions[{at}].header` has {header} characters; it must have 1 to {MAX_HEADER}"
                ));
            }
            let choices = &question.options;
            if !(2..=4).contains(&choices.len()) {
                return wrong(format!(
                    "`questions[{at}].options`: {}; two to four are required",
                    choices.len()
                ));
            }
            for (place, choice) in choices.iter().enumerate() {
                let label = &choice.label;
                if label.trim().is_empty() || choices[..place].iter().any(|c| c.label == *label) {
                    return wrong(format!(
                        "`questions[{at}].options[{place}].label` is empty or occurs twice"
                    ));
                }
            }
        }
        if let Some(stranger) =
            input.answers.keys().find(|key| !questions.iter().any(|q| q.question == **key))
        {
            return wrong(format!("`answers`: `{stranger}` was not asked"));
        }
        Ok(Effects::default())
    }

    /// Answers come from the user or a hook, never from the model.
    fn complete(input: &mut Value, services: &dyn SessionServices) {
        if let Some(input) = input.as_object_mut().filter(|_| !services.is_operators_call()) {
            for key in ["answers", "annotations"] {
                input.remove(key);
            }
        }
    }

    fn is_answered(input: &QuestionsInput) -> bool {
        input
            .questions
            .iter()
            .all(|question| input.answers.get(&question.question).and_then(answer_text).is_some())
    }

    async fn run(input: QuestionsInput, _: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let mut lines = vec!["The user answered:".to_owned()];
        for question in &input.questions {
            let Some(answer) = input.answers.get(&question.question).and_then(answer_text) else {
                return Err(Refusal::rejected(format!(
                    "no answer to \"{}\": continue without it, or say what you need",
                    question.question
                )));
            };
            lines.push(format!("- {} {answer}", question.question));
            let notes = input.annotations.as_ref().and_then(|all| all.get(&question.question));
            if let Some(notes) = notes.and_then(|annotation| annotation.notes.as_deref()) {
                lines.push(format!("  (the user notes: {notes})"));
            }
        }
        Ok(ToolOutput::success(lines.join("\n")))
    }
}

/// An answer is a text, or the labels that were chosen.
fn answer_text(answer: &Value) -> Option<String> {
    let text = match answer {
        Value::String(text) => text.clone(),
        Value::Array(labels) => {
            labels.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        _ => return None,
    };
    Some(text).filter(|text| !text.trim().is_empty())
}
