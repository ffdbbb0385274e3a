//! The tool by which a model gives a structured answer that matches the operator's schema
//! (`--json-schema`). It exists only in a session that was started with a schema.

use std::fmt;

use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use ona_effects::Effects;
use ona_mcp::Hints;
use ona_types::{ToolOutput, whole_words};
use serde_json::Value;

use crate::context::{Place, ToolContext};
use crate::facts::Facts;
use crate::input::InputError;
use crate::tool::{Running, Tool};

/// The tool's name.
pub const STRUCTURED_OUTPUT: &str = "StructuredOutput";

/// How many errors of an answer are reported at once.
const MAX_ERRORS: usize = 10;
/// The limit for each error message, which may repeat the whole answer.
const MAX_ERROR_LEN: usize = 300;

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// Not even JSON.
    #[error("invalid JSON: {0}")]
    NotJson(String),
    /// Models can only be asked for objects.
    #[error("it must be an object with \"type\": \"object\", the only type that is supported")]
    NotForObjects,
    /// It refers to something that is elsewhere.
    #[error("it refers to `{0}`, and external references are not supported")]
    Elsewhere(String),
    /// It is not a valid JSON Schema.
    #[error("it is not a JSON Schema: {0}")]
    Invalid(String),
}

/// A schema for answers, and the tool that accepts them.
pub struct StructuredOutput {
    schema: Value,
    validator: Validator,
}

impl fmt::Debug for StructuredOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StructuredOutput").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl StructuredOutput {
    /// The tool for the schema in this text. Whatever is wrong with the schema shows here.
    pub fn new(schema: &str) -> Result<Self, SchemaError> {
        let schema: Value = serde_json::from_str(schema)
            .map_err(|error| SchemaError::NotJson(error.to_string()))?;
        if schema["type"] != "object" {
            return Err(SchemaError::NotForObjects);
        }
        let validator =
            jsonschema::options().offline().build(&schema).map_err(|error| match error.kind() {
                ValidationErrorKind::Referencing(jsonschema::ReferencingError::Unretrievable {
                    uri,
                    ..
                }) => SchemaError::Elsewhere(uri.clone()),
                _ => SchemaError::Invalid(fault(&error)),
            })?;
        Ok(Self { schema, validator })
    }

    fn check(&self, answer: &Value) -> Result<(), InputError> {
        let mut faults: Vec<String> = self
            .validator
            .iter_errors(answer)
            .take(MAX_ERRORS + 1)
            .map(|error| fault(&error))
            .collect();
        if faults.is_empty() {
            return Ok(());
        }
        if faults.len() > MAX_ERRORS {
            faults.truncate(MAX_ERRORS);
            faults.push("and more".to_owned());
        }
        Err(InputError::new(STRUCTURED_OUTPUT, faults.join("; ")))
    }
}

/// The errors of a value against a schema; none if it matches, or if the schema cannot be used.
pub fn misfit(schema: &Value, value: &Value) -> Option<String> {
    let validator = jsonschema::options().offline().build(schema).ok()?;
    validator.iter_errors(value).next().map(|error| fault(&error))
}

/// What is wrong, and where.
fn fault(error: &jsonschema::ValidationError<'_>) -> String {
    let mut what = error.to_string();
    if what.chars().count() > MAX_ERROR_LEN {
        // The caller knows the value; part of a secret in it would be left at the cut.
        what = whole_words(&error.masked().to_string(), MAX_ERROR_LEN).to_owned();
    }
    match error.instance_path().as_str() {
        "" => what,
        place => format!("`{place}`: {what}"),
    }
}

impl Tool for StructuredOutput {
    fn name(&self) -> &str {
        STRUCTURED_OUTPUT
    }

    fn description(&self) -> &str {
        "Gives your final answer in the form that the user's program needs. Call it alone, when everything else \
         is done. If the answer does not match the schema, you get the errors; correct them and \
         call it again."
    }

    fn input_schema(&self) -> Value {
        self.schema.clone()
    }

    fn facts(&self) -> Facts {
        Facts { gives_answer: true, ..Facts::plain(Hints::ANYTHING) }
    }

    /// An answer touches nothing.
    fn prepare(&self, input: &Value, _: &Place) -> Result<Effects, InputError> {
        self.check(input).map(|()| Effects::default())
    }

    fn run<'a>(&'a self, input: &'a Value, cx: &'a ToolContext<'a>) -> Running<'a> {
        Box::pin(async move {
            if let Err(wrong) = cx.permit.check(self.name(), input) {
                return ToolOutput::internal(wrong.to_string());
            }
            match self.check(input) {
                Ok(()) => ToolOutput::success("The answer matches the schema and was accepted."),
                Err(error) => ToolOutput::rejected(error.to_string()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(schema: &str) -> String {
        StructuredOutput::new(schema).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn a_schema_that_cannot_be_used_says_why() {
        for (schema, expected) in [
            ("{", "invalid JSON: EOF"),
            ("[]", "the only type that is supported"),
            ("true", "the only type that is supported"),
            (r#"{"type": "array"}"#, "the only type that is supported"),
            (r#"{"type": "object", "properties": []}"#, "it is not a JSON Schema: `/properties`: "),
            (r#"{"type": "object", "required": "a"}"#, "it is not a JSON Schema: `/required`: "),
            (
                r#"{"type": "object", "properties": {"a": {"pattern": "("}}}"#,
                "it is not a JSON Schema: ",
            ),
            (
                r#"{"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}}"#,
                "it refers to `https://example.com/a.json`, and external references are not supported",
            ),
            (
                r#"{"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}"#,
                "it refers to `file:///etc/passwd`, and external references are not supported",
            ),
            (r##"{"type": "object", "$ref": "#/$defs/nowhere"}"##, "it is not a JSON Schema: "),
        ] {
            let said = refusal(schema);
            assert!(said.contains(expected), "{schema}: {said}");
        }
    }

    #[test]
    fn an_answer_that_does_not_fit_is_told_every_fault_with_its_place() {
        let schema = json!({
            "type": "object", "required": ["name", "parts"], "additionalProperties": false,
            "properties": {"name": {"type": "string"}, "parts": {"type": "array", "items": {"$ref": "#/$defs/part"}}},
            "$defs": {"part": {"type": "integer", "minimum": 1}},
        });
        let tool = StructuredOutput::new(&schema.to_string()).unwrap();
        let place = Place::at("/");
        let fits = json!({"name": "x", "parts": [1, 2]});
        assert_eq!(tool.prepare(&fits, &place), Ok(Effects::default()));
        let told = tool.prepare(&json!({"parts": [1, 0, "x"], "more": 1}), &place).unwrap_err();
        let told = told.to_string();
        for part in ["\"name\" is a required", "`/parts/1`: 0", "`/parts/2`: \"x\"", "'more'"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        let many = json!({"name": "x".repeat(9), "parts": vec!["y".repeat(5000); 30]});
        let told = tool.prepare(&many, &place).unwrap_err().to_string();
        assert!(told.ends_with("; and more") && told.len() < 5000, "{}", told.len());
    }
}
