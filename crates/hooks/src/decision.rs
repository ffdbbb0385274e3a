//! What the exit code and the output of one hook decide, and how the decisions of several are merged (S0 §5.4 to §5.6).

use std::collections::BTreeSet;

use ona_types::Behavior;
use ona_types::hook::{
    Decision, ElicitationAction, HookEvent, HookInvocation, HookSpecificOutput, PermissionDecision,
    RequestDecision, SyncOutput,
};
use serde_json::{Map, Value};

use crate::config::{Handler, HookEntry, shortened};
use crate::handler::{DECIDES_NOTHING, Ran};
use crate::stdout::{Stdout, parse_stdout};

/// The combined result of one event.
#[derive(Clone, Debug, Default)]
pub struct Fired {
    /// A row for every run and every skip.
    pub rows: Vec<HookInvocation>,
    /// How many ran.
    pub ran: usize,
    /// How many were skipped.
    pub skipped: usize,
    /// Hooks that ran and failed, and so decided nothing: ordinal and what happened.
    pub failed: Vec<(i64, String)>,
    /// The merged decision; deny wins over ask, ask over allow.
    pub permission: Option<Behavior>,
    /// Who made that decision, and the reason given.
    pub decided_by: Option<(i64, String)>,
    /// Exit 2, and for events without a decision about a call also `decision: block`: ordinal and message.
    pub blocks: Vec<(i64, String)>,
    /// The input to run instead.
    pub updated_input: Option<Map<String, Value>>,
    /// The hooks that have replaced it, the last of which has its way.
    pub updated_by: BTreeSet<i64>,
    /// What the model sees instead of the result of a server's tool; of several the last.
    pub updated_output: Option<Value>,
    /// Text for the model.
    pub contexts: Vec<String>,
    /// Text for the user.
    pub messages: Vec<String>,
    /// `continue: false`, with its reason.
    pub stop: Option<String>,
    /// A PermissionRequest answered in the human's place.
    pub request: Option<RequestDecision>,
    /// A PermissionDenied hook says that the call may be tried again.
    pub retry: bool,
    /// The first prompt that a SessionStart hook supplies.
    pub initial_message: Option<String>,
    /// The files that hooks want to watch from now on.
    pub watch_paths: Option<Vec<String>>,
    /// What an Elicitation or ElicitationResult hook answers a server; of several the first.
    pub elicitation: Option<(ElicitationAction, Option<Map<String, Value>>)>,
    /// Where a WorktreeCreate hook has made the worktree; of several the first.
    pub worktree_path: Option<String>,
    /// The hook that the user interrupted.
    pub interrupted: Option<String>,
    /// The failures at full length, for the user: which hook, where it is set up, what to do.
    pub warnings: Vec<String>,
}

impl Fired {
    /// Takes a yes out, with the hook that gave it: a later one may replace the input that it was for.
    pub(crate) fn take_allowed(&mut self) -> Option<(i64, String)> {
        self.permission.take_if(|known| *known == Behavior::Allow)?;
        self.decided_by.take()
    }

    /// Puts it back, unless somebody wants more.
    pub(crate) fn give_back(&mut self, allowed: Option<(i64, String)>) {
        if allowed.is_some() && self.permission.is_none_or(|known| known == Behavior::Allow) {
            (self.permission, self.decided_by) = (Some(Behavior::Allow), allowed);
        }
    }

    /// Whether the event's action is denied.
    pub fn denies(&self) -> bool {
        !self.blocks.is_empty() || self.permission == Some(Behavior::Deny)
    }

    /// One line about hooks that decided nothing.
    pub fn summary(&self) -> String {
        let (ran, skipped) = (self.ran, self.skipped);
        let mut line = match self.failed.as_slice() {
            _ if ran == 0 && skipped == 0 => return "no hook matched".to_owned(),
            _ if ran == 0 => return format!("hooks are switched off: {skipped} skipped"),
            [] => format!("{ran} ran without objection"),
            failed => format!("{ran} ran, {} failed: {}", failed.len(), lines(failed).join("; ")),
        };
        if skipped > 0 {
            line.push_str(&format!(" ({skipped} more switched off)"));
        }
        line
    }

    /// What to say of a deny: of a call's, as S0 §5.6, 4; of anything later, all that was said, as 5.
    pub fn denial(&self) -> String {
        if self.blocks.is_empty() {
            return self.decided_by.as_ref().map(|(_, reason)| reason.clone()).unwrap_or_default();
        }
        lines(&self.blocks).join("\n")
    }
}

fn lines(said: &[(i64, String)]) -> Vec<String> {
    said.iter().map(|(ordinal, text)| format!("[{ordinal}] {text}")).collect()
}

/// Takes a hook's outcome into the whole as [`HookPlane::fire`](crate::HookPlane::fire) does, with no process behind it. For the
/// fuzz target: whatever a hook may print can be tried without running one.
#[doc(hidden)]
pub fn merge_outcome(
    fired: &mut Fired,
    entry: &HookEntry,
    exit_code: Option<i32>,
    timed_out: bool,
    stdout: &str,
) {
    let mut ran = Ran { exit_code, stdout: stdout.to_owned(), timed_out, ..Ran::default() };
    apply_result(fired, entry, entry.event, &mut ran);
}

/// Reads the exit code and the output of one hook, and merges what it decides. What is wrong with its output is noted after
/// its own output, so that the record has it too.
pub(crate) fn apply_result(fired: &mut Fired, entry: &HookEntry, event: HookEvent, ran: &mut Ran) {
    let ordinal = entry.ordinal;
    // Of an answer that was cut, its own failure says it.
    let is_answer = ran.exit_code == Some(0) && ran.stdout.trim_start().starts_with('{');
    for (stream, cut) in [("output", ran.stdout_cut && !is_answer), ("error", ran.stderr_cut)] {
        if cut {
            let words = "was cut at 4 MiB: the rest is lost";
            fired.warnings.push(format!("{}: its standard {stream} {words}", named(entry)));
        }
    }
    match ran.exit_code {
        Some(0) => match parse_stdout(event, &ran.stdout) {
            Stdout::Plain(text) => {
                // Only these two take plain text for context.
                let context =
                    matches!(event, HookEvent::UserPromptSubmit | HookEvent::SessionStart)
                        || matches!(entry.handler, Handler::Http { .. });
                if context && !text.trim().is_empty() {
                    fired.contexts.push(text);
                }
            }
            Stdout::Answer(answer) => take(fired, entry, event, *answer),
            // It may have been a no, and how long it is may be up to the call.
            Stdout::Invalid(_) if ran.stdout_cut && event == HookEvent::PreToolUse => {
                let why = format!("{}: its answer is longer than 4 MiB", named(entry));
                fired.blocks.push((ordinal, why));
            }
            Stdout::Invalid(why) => {
                let why = match ran.stdout_cut {
                    true => "it was cut at 4 MiB, and what is left cannot be read as JSON",
                    false => why.as_str(),
                };
                let why = format!("its output is invalid: {why}");
                fail(fired, entry, &why, "`ona schema hooks` shows what a hook may print");
                ran.note(&why);
            }
        },
        // S0 §5.4 gives exit 2 a meaning only where there is something to block.
        Some(2) if event == HookEvent::PermissionRequest => {
            let why = format!("exited 2: {}", ran.stderr);
            fail(fired, entry, &why, "a question is answered by a decision in JSON only");
        }
        Some(2) => {
            let said = Some(ran.stderr.trim_end()).filter(|said| !said.is_empty());
            fired.blocks.push((ordinal, said.map_or_else(|| unexplained(entry), str::to_owned)));
        }
        None if ran.timed_out && event.blocks() => {
            fired.blocks.push((ordinal, format!("{} {}", named(entry), ran.stderr.trim_end())));
        }
        // The user interrupted it, so there is nothing to report.
        None if ran.interrupted => {
            fired.interrupted.get_or_insert_with(|| named(entry));
        }
        Some(code) => {
            // This one is asked to make something, and has not.
            let hint = match (event, ran.hint) {
                (HookEvent::WorktreeCreate, DECIDES_NOTHING) => NO_WORKTREE,
                (_, hint) => hint,
            };
            fail(fired, entry, &format!("exited {code}: {}", ran.stderr), hint);
        }
        None => fail(fired, entry, &format!("failed: {}", ran.stderr), ran.hint),
    }
}

/// Told of a WorktreeCreate hook that ended with any code but 0.
const NO_WORKTREE: &str = "so there is no worktree: exit 0 and print its path to make one";

/// A hook in words: what it runs, and where it is set up.
fn named(entry: &HookEntry) -> String {
    let (ordinal, source) = (entry.ordinal, &entry.source);
    format!("hook {ordinal} ({}) of {source}", shortened(entry.handler.label()))
}

/// What stands where a hook that says no, or wants it asked, should have said why.
fn unexplained(entry: &HookEntry) -> String {
    format!("{} gives no reason", named(entry))
}

/// Takes note of a hook that failed and so decided nothing.
pub(crate) fn fail(fired: &mut Fired, entry: &HookEntry, why: &str, hint: &str) {
    // Without the colon that nothing came after.
    let why = shortened(why.trim_end()).trim_end_matches(':').to_owned();
    let hint = if hint.is_empty() { String::new() } else { format!(" ({hint})") };
    fired.warnings.push(format!("{} {why}{hint}", named(entry)));
    fired.failed.push((entry.ordinal, why));
}

fn take(fired: &mut Fired, entry: &HookEntry, event: HookEvent, answer: SyncOutput) {
    let ordinal = entry.ordinal;
    let why = |said: Option<String>| {
        said.filter(|said| !said.trim().is_empty()).unwrap_or_else(|| unexplained(entry))
    };
    if answer.go_on == Some(false) {
        fired.stop = Some(answer.stop_reason.unwrap_or_default());
    }
    fired.messages.extend(answer.system_message);
    match answer.decision {
        Some(Decision::Block) if event == HookEvent::PreToolUse => {
            decide(fired, ordinal, Behavior::Deny, why(answer.reason));
        }
        // A question cannot be blocked, only answered with no.
        Some(Decision::Block) if event == HookEvent::PermissionRequest => {
            let message = Some(why(answer.reason));
            answer_request(fired, RequestDecision::Deny { message, interrupt: None });
        }
        // S0 §5.6, 5: afterwards every word counts, not only the first.
        Some(Decision::Block) => fired.blocks.push((ordinal, why(answer.reason))),
        Some(Decision::Approve) => {
            decide(fired, ordinal, Behavior::Allow, answer.reason.unwrap_or_default());
        }
        None => {}
    }
    let Some(specific) = answer.hook_specific_output else { return };
    match specific {
        HookSpecificOutput::PreToolUse {
            permission_decision,
            permission_decision_reason,
            updated_input,
            additional_context,
        } => {
            let behavior = permission_decision.map(|decision| match decision {
                PermissionDecision::Allow => Behavior::Allow,
                PermissionDecision::Ask => Behavior::Ask,
                PermissionDecision::Deny => Behavior::Deny,
            });
            match behavior {
                None => {}
                Some(Behavior::Allow) => {
                    let reason = permission_decision_reason.unwrap_or_default();
                    decide(fired, ordinal, Behavior::Allow, reason);
                }
                Some(behavior) => decide(fired, ordinal, behavior, why(permission_decision_reason)),
            }
            if updated_input.is_some() {
                fired.updated_input = updated_input;
            }
            fired.contexts.extend(additional_context);
        }
        HookSpecificOutput::SessionStart {
            additional_context,
            initial_user_message,
            watch_paths,
        } => {
            fired.contexts.extend(additional_context);
            fired.initial_message = join(fired.initial_message.take(), initial_user_message);
            watch(fired, watch_paths);
        }
        HookSpecificOutput::CwdChanged { watch_paths }
        | HookSpecificOutput::FileChanged { watch_paths } => watch(fired, watch_paths),
        HookSpecificOutput::PostToolUse { additional_context, updated_mcp_tool_output } => {
            fired.contexts.extend(additional_context);
            fired.updated_output = updated_mcp_tool_output.or(fired.updated_output.take());
        }
        HookSpecificOutput::PostToolUseFailure { additional_context }
        | HookSpecificOutput::UserPromptSubmit { additional_context }
        | HookSpecificOutput::Setup { additional_context }
        | HookSpecificOutput::SubagentStart { additional_context }
        | HookSpecificOutput::Notification { additional_context } => {
            fired.contexts.extend(additional_context);
        }
        HookSpecificOutput::PermissionRequest { decision } => {
            let decision = match decision {
                RequestDecision::Deny { message, interrupt } => {
                    RequestDecision::Deny { message: Some(why(message)), interrupt }
                }
                allow @ RequestDecision::Allow { .. } => allow,
            };
            answer_request(fired, decision);
        }
        HookSpecificOutput::PermissionDenied { retry } => fired.retry |= retry == Some(true),
        HookSpecificOutput::Elicitation { action, content }
        | HookSpecificOutput::ElicitationResult { action, content } => {
            if let (None, Some(action)) = (&fired.elicitation, action) {
                fired.elicitation = Some((action, content));
            }
        }
        HookSpecificOutput::WorktreeCreate { worktree_path } => {
            fired.worktree_path.get_or_insert(worktree_path);
        }
    }
}

/// Several hooks add up.
fn watch(fired: &mut Fired, paths: Option<Vec<String>>) {
    if let Some(paths) = paths {
        fired.watch_paths.get_or_insert_default().extend(paths);
    }
}

fn join(said: Option<String>, more: Option<String>) -> Option<String> {
    match (said, more) {
        (Some(said), Some(more)) => Some(format!("{said}\n{more}")),
        (said, more) => said.or(more),
    }
}

/// Deny over allow, whatever the order; of equals the first one counts. Any hook that wants the turn
/// stopped with a no is heard in any case.
fn answer_request(fired: &mut Fired, said: RequestDecision) {
    match (&mut fired.request, said) {
        (known @ None, said)
        | (known @ Some(RequestDecision::Allow { .. }), said @ RequestDecision::Deny { .. }) => {
            *known = Some(said);
        }
        (
            Some(RequestDecision::Deny { interrupt, .. }),
            RequestDecision::Deny { interrupt: Some(true), .. },
        ) => *interrupt = Some(true),
        _ => {}
    }
}

/// Deny over ask over allow; of equals the first gives the reason.
fn decide(fired: &mut Fired, ordinal: i64, behavior: Behavior, reason: String) {
    if fired.permission.is_none_or(|known| behavior > known) {
        fired.permission = Some(behavior);
        fired.decided_by = Some((ordinal, reason));
    }
}
