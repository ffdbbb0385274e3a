//! Handlers that ask a model (`type: prompt` and `agent`): the question, and how its answer is read.

use std::pin::Pin;
use std::time::Duration;

use ona_types::BoxError;
use ona_types::hook::HookEvent;
use serde::Deserialize;

use crate::handler::Ran;

/// What a model is asked on a hook's behalf.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The hook's prompt, with the event's input in it.
    pub prompt: &'a str,
    /// The model the hook wants.
    pub model: Option<&'a str>,
    /// Whether it may look around with reading tools first.
    pub looks: bool,
}

/// What is to come of a question: the model's text.
pub type Judging<'a> = Pin<Box<dyn Future<Output = Result<String, BoxError>> + Send + 'a>>;

/// Asks a model on behalf of hooks.
pub trait Judge: Sync {
    /// Asks; an error says why there is no answer.
    fn judge<'a>(&'a self, question: Question<'a>) -> Judging<'a>;
}

/// Events whose hooks may ask a model.
const EVENTS: &[HookEvent] = &[
    HookEvent::PermissionRequest,
    HookEvent::PostToolUse,
    HookEvent::PostToolUseFailure,
    HookEvent::PreToolUse,
    HookEvent::Stop,
    HookEvent::SubagentStop,
    HookEvent::TaskCompleted,
    HookEvent::TaskCreated,
    HookEvent::UserPromptSubmit,
];

pub(crate) fn may_ask(event: HookEvent) -> bool {
    EVENTS.contains(&event)
}

/// How long a model may take if the hook does not say.
pub(crate) fn patience(looks: bool) -> Duration {
    Duration::from_secs(if looks { 60 } else { 30 })
}

/// The prompt with the input in place of `$ARGUMENTS`, or behind it.
pub(crate) fn filled(prompt: &str, input: &str) -> String {
    if prompt.contains("$ARGUMENTS") {
        prompt.replace("$ARGUMENTS", input)
    } else {
        format!("{prompt}\n\n{input}")
    }
}

#[derive(Deserialize)]
struct Verdict {
    ok: bool,
    #[serde(default)]
    reason: String,
}

/// An answer as if a command had given it: a no is exit 2 with the reason, and for a permission that is
/// asked for, a deny.
pub(crate) fn ran(event: HookEvent, text: String) -> Ran {
    let json = text.find('{').zip(text.rfind('}')).and_then(|(from, to)| text.get(from..=to));
    let verdict = json.and_then(|json| serde_json::from_str::<Verdict>(json).ok());
    match verdict {
        None => Ran::failed(format!("the model gave no answer of the form {{\"ok\": …}}: {text}")),
        Some(Verdict { ok: true, .. }) => {
            Ran { exit_code: Some(0), stderr: text, ..Ran::default() }
        }
        Some(Verdict { reason, .. }) if event == HookEvent::PermissionRequest => {
            let decision = serde_json::json!({"hookSpecificOutput": {
                "hookEventName": "PermissionRequest",
                "decision": {"behavior": "deny", "message": reason},
            }});
            Ran { exit_code: Some(0), stdout: decision.to_string(), ..Ran::default() }
        }
        Some(Verdict { reason, .. }) => {
            Ran { exit_code: Some(2), stdout: text, stderr: reason, ..Ran::default() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_input_goes_where_the_prompt_wants_it() {
        assert_eq!(filled("is $ARGUMENTS fine?", "{}"), "is {} fine?");
        assert_eq!(filled("is it fine?", "{}"), "is it fine?\n\n{}");
    }

    #[test]
    fn a_no_blocks_and_nonsense_decides_nothing() {
        let of = |text: &str| ran(HookEvent::PreToolUse, text.to_owned());
        assert_eq!(of("{\"ok\": true}").exit_code, Some(0));
        assert!(of("{\"ok\": true}").stdout.is_empty(), "it is no answer of the hook contract");
        let no = of("Well:\n```json\n{\"ok\": false, \"reason\": \"not on a Friday\"}\n```");
        assert_eq!((no.exit_code, no.stderr.as_str()), (Some(2), "not on a Friday"));
        for nonsense in ["", "yes", "{\"ok\": 1}", "}{"] {
            assert_eq!(of(nonsense).exit_code, None, "{nonsense}");
        }
        let asked = ran(HookEvent::PermissionRequest, "{\"ok\":false,\"reason\":\"x\"}".to_owned());
        assert!(asked.stdout.contains("\"behavior\":\"deny\""), "{}", asked.stdout);
    }
}
