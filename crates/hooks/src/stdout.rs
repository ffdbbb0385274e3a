//! What a hook's standard output says (S0 §5.4, §5.5, §5.8).

use ona_types::hook::{HookEvent, SyncOutput};
use ona_types::plain_misfit;
use serde::Deserialize as _;
use serde_json::Value;

/// The most fields that are tried to find the invalid one.
const MAX_FIELDS: usize = 20;

/// A hook's standard output, read.
#[derive(Clone, Debug, PartialEq)]
pub enum Stdout {
    /// Plain text.
    Plain(String),
    /// An answer.
    Answer(Box<SyncOutput>),
    /// It looks like an answer but is invalid, for this reason. It decides nothing.
    Invalid(String),
}

/// Reads a hook's standard output after exit 0: what begins with `{` must be one answer.
pub fn parse_stdout(event: HookEvent, text: &str) -> Stdout {
    if !text.trim_start().starts_with('{') {
        return Stdout::Plain(text.to_owned());
    }
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return Stdout::Invalid(format!("not one JSON value: {error}")),
    };
    // The arm must be the event's own: another event's answer is a mistake, not a decision.
    let arm = value.get("hookSpecificOutput").filter(|output| output.is_object());
    match arm.map(|output| output.get("hookEventName")) {
        Some(None) => {
            let why = format!("hookSpecificOutput lacks \"hookEventName\":\"{event}\"");
            return Stdout::Invalid(why);
        }
        Some(Some(name)) if *name != event.as_str() => {
            return Stdout::Invalid(format!("hookEventName is {name}, but the event is {event}"));
        }
        _ => {}
    }
    if value.get("async").is_some_and(Value::is_boolean) {
        return Stdout::Invalid(
            "`async` is not supported: ona waits for hooks (S0 §5.8)".to_owned(),
        );
    }
    match serde_path_to_error::deserialize::<_, SyncOutput>(&value) {
        Ok(answer) => Stdout::Answer(Box::new(answer)),
        Err(error) => {
            let field = culprit(&value).unwrap_or_else(|| error.path().to_string());
            let why = plain_misfit(&error.inner().to_string());
            Stdout::Invalid(format!("it does not match the hook contract: {field}: {why}"))
        }
    }
}

/// The field without which the rest would be an answer. serde does not know it inside what is told apart by a
/// tag.
fn culprit(value: &Value) -> Option<String> {
    for within in ["/hookSpecificOutput/decision", "/hookSpecificOutput"] {
        let Some(fields) = value.pointer(within).and_then(Value::as_object) else { continue };
        for field in fields.keys().take(MAX_FIELDS) {
            let mut rest = value.clone();
            rest.pointer_mut(within)?.as_object_mut()?.remove(field);
            if SyncOutput::deserialize(&rest).is_ok() {
                return Some(format!("{}.{field}", within[1..].replace('/', ".")));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_a_brace_makes_an_answer() {
        let read = |text: &str| parse_stdout(HookEvent::PreToolUse, text);
        assert!(matches!(read("done\n"), Stdout::Plain(_)));
        assert!(matches!(read("[1,2]"), Stdout::Plain(_)));
        assert!(matches!(read("\"text\""), Stdout::Plain(_)));
        assert!(matches!(read("{}"), Stdout::Answer(_)));
        assert!(matches!(read("{\"continue\":true,\"unknown\":1}\n"), Stdout::Answer(_)));
        for bad in [
            "{\"a\":1} {\"b\":2}",
            "{ nonsense",
            "{\"async\":true}",
            "{\"continue\":\"yes\"}",
            "{\"hookSpecificOutput\":{\"hookEventName\":\"Stop\"}}",
            "{\"hookSpecificOutput\":{\"permissionDecision\":\"deny\"}}",
            "{\"hookSpecificOutput\":{\"hookEventName\":null}}",
            "{\"hookSpecificOutput\":5}",
            "{\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\"}}",
            "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"defer\"}}",
            &format!("{{\"a\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000)),
        ] {
            assert!(matches!(read(bad), Stdout::Invalid(_)), "{:.60}: {:?}", bad, read(bad));
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_field() {
        let specific = |event: &str, rest: &str| {
            format!("{{\"hookSpecificOutput\":{{\"hookEventName\":\"{event}\",{rest}}}}}")
        };
        for (event, text, expected) in [
            (
                HookEvent::PreToolUse,
                "{\"continue\":\"yes\"}".to_owned(),
                "continue: invalid type: string \"yes\", expected true or false",
            ),
            (
                HookEvent::Stop,
                "{\"decision\":\"deny\",\"reason\":\"x\"}".to_owned(),
                "decision: unknown value `deny`, expected `approve` or `block`",
            ),
            (
                HookEvent::PreToolUse,
                specific(
                    "PreToolUse",
                    "\"permissionDecision\":\"defer\",\"additionalContext\":\"x\"",
                ),
                "hookSpecificOutput.permissionDecision: unknown value `defer`, expected one of `allow`, `deny`, `ask`",
            ),
            (
                HookEvent::PermissionRequest,
                specific("PermissionRequest", "\"decision\":{\"behavior\":\"deny\",\"message\":5}"),
                "hookSpecificOutput.decision.message: invalid type: integer `5`, expected a string",
            ),
            (
                HookEvent::PreToolUse,
                "{\"hookSpecificOutput\":5}".to_owned(),
                "hookSpecificOutput: invalid type: integer `5`",
            ),
        ] {
            let Stdout::Invalid(why) = parse_stdout(event, &text) else { unreachable!("{text}") };
            let expected = format!("it does not match the hook contract: {expected}");
            assert!(why.starts_with(&expected), "{why}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "[{}\\[\\]\":,a-z0-9 ]{0,60}") {
            let _ = parse_stdout(HookEvent::PreToolUse, &text);
        }
    }
}
