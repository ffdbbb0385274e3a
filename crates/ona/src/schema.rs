//! `ona schema`: the interfaces with other programs, as JSON Schema.

use std::process::ExitCode;

use ona_cli::CliError;
use ona_cli::output::print;
use ona_types::hook::{HookEvent, HookInput, HookOutput, HookSpecificOutput};
use schemars::schema_for;
use serde_json::Value;

pub fn hooks(output: bool, order: bool) -> Result<ExitCode, CliError> {
    let text = if order {
        check_order()?
    } else if output {
        pretty(&output_schema())
    } else {
        pretty(&input_schema())
    };
    print(&text).map_err(|error| CliError::failed(format!("cannot print the result: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// `ona schema tests`: what the author of behavioural tests answers.
pub fn tests() -> Result<ExitCode, CliError> {
    print(&pretty(&ona_sdlc::test::schema()))
        .map_err(|error| CliError::failed(format!("cannot print the result: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

fn input_schema() -> Value {
    schema_for!(HookInput).to_value()
}

fn output_schema() -> Value {
    schema_for!(HookOutput).to_value()
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// The names that the arms of a union have, in the order they stand anywhere in the schema.
fn arms(schema: &Value, key: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![schema];
    while let Some(value) = pending.pop() {
        if let Some(union) = value.get("oneOf").and_then(Value::as_array) {
            let names: Option<Vec<String>> = union
                .iter()
                .map(|arm| arm["properties"][key]["const"].as_str().map(str::to_owned))
                .collect();
            found = names.unwrap_or(found);
        }
        match value {
            Value::Object(members) => pending.extend(members.values()),
            Value::Array(items) => pending.extend(items),
            _ => {}
        }
    }
    found
}

fn check_order() -> Result<String, CliError> {
    let mut text = String::new();
    for (what, schema, key, expected) in [
        ("stdin", input_schema(), "hook_event_name", HookEvent::ALL.map(|(_, name)| name).to_vec()),
        (
            "hookSpecificOutput",
            output_schema(),
            "hookEventName",
            HookSpecificOutput::ORDER.to_vec(),
        ),
    ] {
        let found = arms(&schema, key);
        if found != expected {
            return Err(CliError::failed(format!(
                "the {what} union has the order {}",
                found.join(", ")
            ))
            .hint(format!("the specification has {}", expected.join(", "))));
        }
        text.push_str(&format!("{what}: {}\n", found.join(", ")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_schemas_are_these() {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas");
        for (name, schema) in [
            ("hooks/input.json", input_schema()),
            ("hooks/output.json", output_schema()),
            ("behavioral-tests.json", ona_sdlc::test::schema()),
        ] {
            let path = format!("{dir}/{name}");
            if std::env::var_os("UPDATE_DOCS").is_some() {
                std::fs::write(&path, pretty(&schema)).unwrap();
            }
            let committed = std::fs::read_to_string(&path).unwrap_or_default();
            assert_eq!(committed, pretty(&schema), "run `UPDATE_DOCS=1 cargo test -p ona schema`");
        }
    }

    #[test]
    fn the_order_is_that_of_s0() {
        let text = check_order().unwrap_or_else(|error| panic!("{error}"));
        assert!(text.starts_with("stdin: PreToolUse, PostToolUse, PostToolUseFailure"), "{text}");
    }
}
