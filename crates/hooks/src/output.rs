//! What a hook's standard output says (S0 §5.4, §5.5, §5.8).

use ona_types::hook::{HookEvent, HookOutput, SyncOutput};
use serde_json::Value;

/// A hook's standard output, read.
#[derive(Clone, Debug, PartialEq)]
pub enum Stdout {
    /// Plain text.
    Plain(String),
    /// An answer.
    Answer(Box<SyncOutput>),
    /// It looks like an answer and is none, for this reason. It decides nothing.
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
    match serde_json::from_value(value) {
        Ok(HookOutput::Async { .. }) => {
            Stdout::Invalid("`async` is no answer: hooks are waited for (S0 §5.8)".to_owned())
        }
        Ok(HookOutput::Sync(answer)) => Stdout::Answer(answer),
        Err(error) => Stdout::Invalid(format!("not an answer of the hook contract: {error}")),
    }
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

    proptest! {
        #[test]
        fn never_panics(text in "[{}\\[\\]\":,a-z0-9 ]{0,60}") {
            let _ = parse_stdout(HookEvent::PreToolUse, &text);
        }
    }
}
