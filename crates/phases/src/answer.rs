//! What the author of the tests answers: JSON, bare or in a fenced block.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::surface::Surface;

/// The limit for tests in an answer, and for the answer itself.
pub const MAX_TESTS: usize = 1_000;
const MAX_ANSWER: usize = 8 << 20;

/// Behavioural tests (S0 §8.5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BehavioralTests {
    /// The tests, at least one for each criterion.
    pub tests: Vec<BehavioralTest>,
}

/// A test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BehavioralTest {
    /// The id of the criterion it is for.
    pub criterion: String,
    /// The observable surface it looks at.
    pub surface: Surface,
    /// A short name.
    pub name: String,
    /// A bash script with the header lines `# CRITERION:` and `# SURFACE:` and the parts `# SETUP`, `# EXERCISE` and
    /// `# ASSERT`. It passes if it exits with 0.
    pub script: String,
}

/// Why an answer cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerFault {
    /// Nothing was said.
    #[error("the answer is empty")]
    Empty,
    /// There is no JSON in it.
    #[error("the answer has no JSON object {{\"tests\": […]}}")]
    NoJson,
    /// The JSON is another.
    #[error("the answer is not of the schema: {0}")]
    Schema(String),
    /// No test.
    #[error("the answer has no test")]
    NoTests,
    /// Too much of it.
    #[error("the answer has {0} tests (limit: {MAX_TESTS})")]
    TooMany(usize),
    /// Too long.
    #[error("the answer has {0} bytes (limit: 8 MB)")]
    TooLong(usize),
}

/// Reads an answer.
pub fn read(answer: &str) -> Result<Vec<BehavioralTest>, AnswerFault> {
    if answer.trim().is_empty() {
        return Err(AnswerFault::Empty);
    }
    if answer.len() > MAX_ANSWER {
        return Err(AnswerFault::TooLong(answer.len()));
    }
    let json = json_in(answer).ok_or(AnswerFault::NoJson)?;
    let read: Result<BehavioralTests, _> = serde_json::from_str(json);
    let tests = read.map_err(|error| AnswerFault::Schema(error.to_string()))?.tests;
    match tests.len() {
        0 => Err(AnswerFault::NoTests),
        many if many > MAX_TESTS => Err(AnswerFault::TooMany(many)),
        _ => Ok(tests),
    }
}

/// The JSON object of an answer: all of it, or what stands in a fence. A script in it may have fences of its own, so the
/// JSON ends where its reader says.
fn json_in(answer: &str) -> Option<&str> {
    let bare = answer.trim();
    let starts = std::iter::once(bare).filter(|text| text.starts_with('{')).chain(
        answer.match_indices("```").filter_map(|(at, _)| {
            let (_, behind) = answer[at..].split_once('\n')?;
            let behind = behind.trim_start();
            behind.starts_with('{').then_some(behind)
        }),
    );
    starts.into_iter().next().map(|text| {
        let mut values =
            serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => &text[..values.byte_offset()],
            // What is wrong with it is told by whoever reads it.
            _ => text,
        }
    })
}

/// The schema of an answer, as it is published.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(BehavioralTests).to_value();
    if let Some(object) = schema.as_object_mut() {
        object.insert("title".to_owned(), "Behavioural tests".into());
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: &str = r##"{"tests":[{"criterion":"SC-1","surface":"process_output","name":"n","script":"# x\n```\ny"}]}"##;

    #[test]
    fn answers_are_read_bare_and_in_fences() {
        for answer in [
            TEST.to_owned(),
            format!("\n{TEST}\n"),
            format!("Here they are:\n\n```json\n{TEST}\n```\nDone."),
            format!("```\n{TEST}\n```"),
            format!("```bash\nls\n```\n```json\n{TEST}\n```"),
        ] {
            let tests = read(&answer).unwrap_or_else(|error| panic!("{error}: {answer}"));
            assert_eq!(tests[0].criterion, "SC-1");
            assert_eq!(tests[0].surface, Surface::ProcessOutput);
        }
    }

    #[test]
    fn other_answers_are_refused_with_the_reason() {
        for (answer, fault) in [
            ("", "the answer is empty"),
            (" \n", "the answer is empty"),
            ("I would test that it works.", "no JSON object"),
            ("{\"tests\":[]}", "no test"),
            ("{\"tests\":[{\"criterion\":\"a\"}]}", "missing field"),
            ("{\"tests\":[],\"note\":1}", "unknown field"),
            ("```json\n{\"tests\": [\n```", "not of the schema"),
            (
                r#"{"tests":[{"criterion":"a","surface":"screen","name":"n","script":"s"}]}"#,
                "unknown variant",
            ),
        ] {
            let found = read(answer).unwrap_err().to_string();
            assert!(found.contains(fault), "{answer}: {found}");
        }
        let many = TEST.replace(
            "[{",
            &format!(
                "[{}{{",
                r#"{"criterion":"a","surface":"db_state","name":"n","script":"s"},"#
                    .repeat(MAX_TESTS)
            ),
        );
        assert_eq!(read(&many), Err(AnswerFault::TooMany(MAX_TESTS + 1)));
    }
}
