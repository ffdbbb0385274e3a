//! What a hook prints, and what is made of it.
//!
//! Input: a byte for how it ended (`0`, `1`, `2` … the exit code, `k` killed, `t` timed out, `b` exit 0 with
//! the output nested deeply), a byte for the event (`A` PreToolUse, `B` PostToolUse … in union order), then
//! its standard output.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ona_hooks::{Fired, HookEntry, HookLayer, Stdout, collect, merge_outcome, parse_stdout};
use ona_policy::{Scope, Source};
use ona_types::Behavior;
use ona_types::hook::{Decision, HookEvent, SyncOutput};
use serde_json::{Value, json};

/// What an earlier hook may have said.
const EARLIER: [&str; 4] = [
    "",
    "{\"decision\":\"approve\"}",
    "{\"decision\":\"block\",\"reason\":\"no\"}",
    "{\"continue\":false}",
];

fuzz_target!(|data: &[u8]| {
    let [end, event, stdout @ ..] = data else { return };
    let (code, timed_out) = match end {
        b'k' => (None, false),
        b't' => (None, true),
        b'b' => (Some(0), false),
        byte => (Some(i32::from(*byte) - i32::from(b'0')), false),
    };
    let (event, _) = HookEvent::ALL[usize::from(event.wrapping_sub(b'A')) % HookEvent::ALL.len()];
    // As the plane decodes it.
    let mut stdout = String::from_utf8_lossy(stdout);
    if *end == b'b' {
        stdout = bomb(&stdout).into();
    }

    let read = parse_stdout(event, &stdout);
    assert_eq!(read, parse_stdout(event, &stdout), "the same text, the same answer");
    well_read(event, &stdout, &read);

    let entry = hook(event);
    for earlier in EARLIER {
        let mut before = Fired::default();
        merge_outcome(&mut before, &entry, Some(0), false, earlier);
        let fired = after(&before, &entry, code, timed_out, &stdout);
        let again = after(&before, &entry, code, timed_out, &stdout);
        assert_eq!(format!("{fired:?}"), format!("{again:?}"), "the same outcome, the same verdict");

        assert!(fired.permission >= before.permission, "a decision only gets stricter");
        assert!(!before.denies() || fired.denies(), "nothing forgets a no");
        assert!(before.stop.is_none() || fired.stop.is_some(), "nothing undoes a stop");

        // A question is answered by a decision and not by exit 2.
        let blocks = code == Some(2) && event != HookEvent::PermissionRequest
            || timed_out && event.blocks()
            || code == Some(0) && says_block(event, &read);
        assert_eq!(fired.blocks.len() > before.blocks.len(), blocks, "who blocks, and who not");
        if blocks && event == HookEvent::PreToolUse {
            assert!(fired.denies(), "exit 2 denies, whatever was printed");
        }
        // Whatever did not end well, is no answer, or asks not to be waited for decides nothing.
        let answered = code == Some(0) && matches!(read, Stdout::Answer(_));
        if !answered || is_async(&stdout) {
            assert_eq!(decisions(&fired), decisions(&before));
        }
    }
});

/// Whether an answer blocks: before a call, and to a question, it is a decision instead.
fn says_block(event: HookEvent, read: &Stdout) -> bool {
    let decides = matches!(event, HookEvent::PreToolUse | HookEvent::PermissionRequest);
    let block = |answer: &SyncOutput| answer.decision == Some(Decision::Block);
    !decides && matches!(read, Stdout::Answer(answer) if block(answer))
}

/// What of the outcome decides anything.
fn decisions(fired: &Fired) -> String {
    let Fired { permission, decided_by, updated_input, stop, request, messages, .. } = fired;
    format!("{permission:?} {decided_by:?} {updated_input:?} {stop:?} {request:?} {messages:?}")
}

fn after(
    before: &Fired,
    entry: &HookEntry,
    code: Option<i32>,
    timed_out: bool,
    stdout: &str,
) -> Fired {
    let mut fired = before.clone();
    merge_outcome(&mut fired, entry, code, timed_out, stdout);
    fired
}

/// What holds of every text and how it was read.
fn well_read(event: HookEvent, text: &str, read: &Stdout) {
    let braced = text.trim_start().starts_with('{');
    match read {
        Stdout::Plain(plain) => assert!(!braced && plain == text, "plain text is kept as it is"),
        Stdout::Invalid(_) => assert!(braced, "only what looks like an answer can fail to be one"),
        Stdout::Answer(answer) => {
            assert!(braced && !is_async(text), "`async` is no answer");
            let Ok(written) = serde_json::to_value(answer) else { panic!("an answer is JSON") };
            let arm = &written["hookSpecificOutput"]["hookEventName"];
            assert!(arm.is_null() || arm == event.as_str(), "another event's answer is none");
            assert_eq!(
                parse_stdout(event, &written.to_string()),
                *read,
                "an answer, written down, is the same answer"
            );
            // An answer that allows says so in the words of the contract.
            let mut fired = Fired::default();
            merge_outcome(&mut fired, &hook(event), Some(0), false, text);
            if fired.permission == Some(Behavior::Allow) {
                assert!(text.contains("approve") || text.contains("allow") || text.contains('\\'));
            }
        }
    }
}

fn is_async(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| value["async"] == true)
}

/// The text as the innermost of more arrays and objects than any stack holds.
fn bomb(text: &str) -> String {
    const DEEP: usize = 20_000;
    let (open, close) = if text.len() % 2 == 0 { ("[", "]") } else { ("{\"hookSpecificOutput\":", "}") };
    format!("{{\"updatedInput\":{}{text}{}}}", open.repeat(DEEP), close.repeat(DEEP))
}

fn hook(event: HookEvent) -> HookEntry {
    let hooks = json!([{"hook_event_name": event.as_str(), "command": "true"}]);
    let layer = HookLayer { source: Source::of(Scope::User), hooks, off: false, env: Vec::new() };
    let (mut entries, _) = collect(&[layer]);
    let Some(entry) = entries.pop() else { panic!("a plain hook is read") };
    entry
}
