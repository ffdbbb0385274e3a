//! Firing an event: runs the matching hooks one at a time, and merges their answers.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ona_policy::secrets::Redactor;
use ona_policy::{Anchors, Call, Effects, Rule, RuleFacts};
use ona_sandbox::Marker;
use ona_types::hook::{
    Decision, ElicitationAction, HookBase, HookDetail, HookEvent, HookInput, HookInvocation,
    HookSpecificOutput, PermissionDecision, RequestDecision, SyncOutput,
};
use ona_types::{Behavior, SessionId, ToolUseId};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::config::{Condition, Handler, HookEntry, shortened};
use crate::handler::{self, CommandRun, DECIDES_NOTHING, Ran};
use crate::http;
use crate::judge::{self, Judge, Question};
use crate::output::{Stdout, parse_stdout};

/// How long hooks may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For every event but the last.
    pub general: Duration,
    /// For SessionEnd.
    pub session_end: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { general: Duration::from_millis(600_000), session_end: Duration::from_millis(1500) }
    }
}

/// Looks up an environment variable; this crate does not read the environment itself.
pub type Lookup = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What the process around the hooks provides.
pub struct HookHost {
    /// Variables every hook gets on top of the inherited environment.
    pub child_env: Vec<(OsString, OsString)>,
    /// The project's directory.
    pub project_dir: PathBuf,
    /// Whether `LANG` or `LC_ALL` is set already.
    pub has_locale: bool,
    /// How long hooks may take.
    pub timeouts: Timeouts,
    /// Hooks are switched off: they are skipped, and that is recorded.
    pub disabled: bool,
    /// If given, the only addresses HTTP hooks may post to; `*` stands for anything.
    pub allowed_urls: Option<Vec<String>>,
    /// If given, the only variables HTTP hooks' headers may name.
    pub allowed_env: Option<Vec<String>>,
    /// Looks a variable up.
    pub variable: Lookup,
    /// Keeps secrets out of what hooks read, and out of what is kept of what they print.
    pub redactor: Redactor,
}

impl fmt::Debug for HookHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookHost").field("project_dir", &self.project_dir).finish_non_exhaustive()
    }
}

/// The tool call that an event is about.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// Its id.
    pub id: &'a ToolUseId,
    /// What the tool says of itself.
    pub facts: RuleFacts,
    /// What it would touch, as it was asked for.
    pub effects: &'a Effects,
}

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
    /// Who put it there.
    pub updated_by: Option<i64>,
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

/// The hooks in force.
#[derive(Debug)]
pub struct HookPlane {
    entries: Vec<HookEntry>,
    host: HookHost,
    anchors: Anchors,
}

/// Why ona's own gate is not run as a hook.
const OWN_GATE: &str = "own_gate";

/// Names each run, so that what it forks can be found.
static RUNS: AtomicU64 = AtomicU64::new(0);

impl HookPlane {
    /// Hooks in order, for a process and a project; `anchors` are those of `if` rules.
    pub fn new(entries: Vec<HookEntry>, host: HookHost, anchors: Anchors) -> Self {
        Self { entries, host, anchors }
    }

    /// The hooks in order.
    pub fn entries(&self) -> &[HookEntry] {
        &self.entries
    }

    /// The hooks that an event would fire.
    pub fn matching<'p>(
        &'p self,
        detail: &HookDetail,
        about: Option<About<'_>>,
    ) -> Vec<&'p HookEntry> {
        let named = self.named(detail).into_iter().filter(|entry| !self.is_off(entry));
        let named = named.filter(|entry| !entry.is_own_gate());
        named.filter(|entry| self.condition_holds(entry, detail, about)).collect()
    }

    /// Those that an event would fire, were they not ona's own gate in another agent's settings.
    pub fn own_gates<'p>(&'p self, detail: &HookDetail) -> Vec<&'p HookEntry> {
        self.named(detail).into_iter().filter(|entry| entry.is_own_gate()).collect()
    }

    /// The hooks whose event and matcher fit.
    fn named<'p>(&'p self, detail: &HookDetail) -> Vec<&'p HookEntry> {
        let event = detail.event();
        let query = detail.match_query();
        self.entries
            .iter()
            .filter(|entry| entry.event == event)
            .filter(|entry| query.is_none_or(|query| entry.matcher.matches(query)))
            .collect()
    }

    fn is_off(&self, entry: &HookEntry) -> bool {
        self.host.disabled || entry.off
    }

    /// A handler with `if` runs only where that rule matches the call, and never on other events.
    fn condition_holds(
        &self,
        entry: &HookEntry,
        detail: &HookDetail,
        about: Option<About<'_>>,
    ) -> bool {
        let Condition::Rule(rule) = &entry.condition else { return true };
        let (Some((tool, input, _)), Some(about)) = (detail.tool_call(), about) else {
            return false;
        };
        let call = Call { tool, facts: about.facts, input, effects: about.effects };
        // Matched like a deny rule: a guard should rather run too often.
        Rule::parse(rule, Behavior::Deny, entry.source.clone(), &self.anchors)
            .is_ok_and(|(rule, _)| rule.hits(&call))
    }

    /// The names of files that FileChanged hooks name in their matchers.
    pub fn watched_names(&self) -> Vec<String> {
        let hooks = self.entries.iter().filter(|entry| entry.event == HookEvent::FileChanged);
        let names = hooks.flat_map(|entry| entry.matcher_text.split('|'));
        let plain = |name: &&str| !matches!(*name, "" | "*") && !name.contains('/');
        names.filter(plain).map(str::to_owned).collect()
    }

    /// Whether some hook would ask a model.
    pub fn wants_model(&self) -> bool {
        let asks = |entry: &&HookEntry| matches!(entry.handler, Handler::Model { .. });
        self.entries.iter().filter(asks).any(|entry| !self.is_off(entry))
    }

    /// Fires an event, which may be about a call.
    pub async fn fire(
        &self,
        base: &HookBase,
        mut detail: HookDetail,
        about: Option<About<'_>>,
        judge: Option<&dyn Judge>,
        cancel: &CancellationToken,
    ) -> Fired {
        let mut fired = Fired::default();
        let event = detail.event();
        for entry in self.named(&detail) {
            // The effects are those of the input as it was. Once a hook has replaced it, a guard should
            // rather run once too often.
            let unchanged = fired.updated_input.is_none();
            if unchanged && !self.condition_holds(entry, &detail, about) {
                continue;
            }
            let input = HookInput { detail: detail.clone(), base: base.clone() };
            let Ok(json) = serde_json::to_string(&input) else { continue };
            // S0 §2.8: no credential on a hook's standard input.
            let json = self.host.redactor.mask_live(&json).into_owned();
            let mut row = row(entry, &detail, json);
            // Not every event's input names the call, but the record does.
            row.tool_use_id = row.tool_use_id.or_else(|| about.map(|about| about.id.clone()));
            let skipped = if self.is_off(entry) {
                Some("hooks_disabled")
            } else if entry.is_own_gate() {
                Some(OWN_GATE)
            } else if event == HookEvent::PreToolUse && fired.denies() {
                Some("prior_block_or_deny")
            } else if judge.is_none() && matches!(entry.handler, Handler::Model { .. }) {
                let hint = "configure a model, or make it a command hook";
                fail(&mut fired, entry, "did not run: no model is configured", hint);
                Some("no_model")
            } else {
                None
            };
            let label = || self.host.redactor.mask(&row.command).into_owned();
            if let Some(reason) = skipped {
                debug!(
                    target: "ona::hooks", event = event.as_str(), ordinal = entry.ordinal, reason,
                    command = label(), "skipped",
                );
                row.skipped_reason = skipped;
                fired.rows.push(row);
                // It has judged the call already: it is not disabled.
                fired.skipped += usize::from(reason != OWN_GATE);
                continue;
            }
            let started = Instant::now();
            let mut ran = self.run(entry, &row, base, judge, cancel).await;
            let took = i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX);
            // Not the clock again: one that is set meanwhile must not make a hook end before it began.
            row.completed_ms = Some(row.started_ms.saturating_add(took));
            debug!(
                target: "ona::hooks", event = event.as_str(), ordinal = entry.ordinal, ms = took,
                exit_code = ran.exit_code, timed_out = ran.timed_out, command = label(), "ran",
            );
            fired.ran += 1;
            merge(&mut fired, entry, event, &mut ran);
            row.exit_code = ran.exit_code;
            row.stdout_text = Some(self.host.redactor.mask(&ran.stdout).into_owned());
            row.stderr_text = Some(self.host.redactor.mask(&ran.stderr).into_owned());
            fired.rows.push(row);
            // The next hook judges what would really run.
            if let (Some(input), HookDetail::PreToolUse { tool_input, .. }) =
                (&fired.updated_input, &mut detail)
            {
                *tool_input = Value::Object(input.clone());
            }
        }
        self.redact(&mut fired);
        fired
    }

    /// What is said to the model and the user is kept; an input that is to run instead is not touched.
    fn redact(&self, fired: &mut Fired) {
        let said = fired.initial_message.iter_mut().chain(&mut fired.contexts);
        let said = said.chain(&mut fired.messages).chain(&mut fired.warnings);
        let said = said.chain(fired.blocks.iter_mut().map(|(_, text)| text));
        let said = said.chain(fired.failed.iter_mut().map(|(_, text)| text));
        let said = said.chain(fired.decided_by.iter_mut().map(|(_, reason)| reason));
        for text in said.chain(&mut fired.stop).chain(&mut fired.interrupted) {
            self.host.redactor.mask_string(text);
        }
    }

    async fn run(
        &self,
        entry: &HookEntry,
        row: &HookInvocation,
        base: &HookBase,
        judge: Option<&dyn Judge>,
        cancel: &CancellationToken,
    ) -> Ran {
        let (input, call) = (row.input_json.as_str(), row.tool_use_id.as_ref());
        let limit = match (entry.event, entry.timeout) {
            (HookEvent::SessionEnd, own) => {
                own.unwrap_or(self.host.timeouts.session_end).min(self.host.timeouts.session_end)
            }
            (_, own) => own.unwrap_or(self.host.timeouts.general),
        };
        match &entry.handler {
            Handler::Model { prompt, model, looks } => {
                let Some(judge) = judge else { return Ran::failed("no model is configured") };
                let limit = entry.timeout.unwrap_or_else(|| judge::patience(*looks));
                let prompt = judge::filled(prompt, input);
                let question = Question { prompt: &prompt, model: model.as_deref(), looks: *looks };
                tokio::select! {
                    answer = judge.judge(question) => match answer {
                        Ok(text) => judge::ran(entry.event, text),
                        Err(why) => Ran::failed(why.to_string()),
                    },
                    () = tokio::time::sleep(limit) => Ran {
                        timed_out: true,
                        ..Ran::failed(format!("[timed out after {} ms]", limit.as_millis()))
                    },
                    () = cancel.cancelled() => Ran::interrupted(),
                }
            }
            Handler::Command { command, shell } => {
                let run = RUNS.fetch_add(1, Ordering::Relaxed);
                let value = format!("{}{run}", runs_of(&base.session_id, std::process::id()));
                let marker = Marker { name: HOOK_RUN, value };
                let cwd = Path::new(&base.cwd);
                let (shell, env) = (*shell, entry.env.as_slice());
                let run = CommandRun { command, shell, input, cwd, limit, marker, call, env };
                handler::run_command(run, &self.host, cancel).await
            }
            Handler::Http { url, headers, allowed_env } => {
                tokio::select! {
                    ran = http::post(url, headers, allowed_env, input, limit, &self.host) => ran,
                    () = cancel.cancelled() => Ran::interrupted(),
                }
            }
        }
    }
}

fn row(entry: &HookEntry, detail: &HookDetail, input_json: String) -> HookInvocation {
    let call = detail.tool_call();
    HookInvocation {
        event: entry.event,
        ordinal: entry.ordinal,
        matcher: entry.matcher_text.clone(),
        command: entry.handler.label().to_owned(),
        tool_use_id: call.and_then(|(_, _, id)| id.cloned()),
        tool_name: call.map(|(name, _, _)| name.to_owned()),
        input_json,
        exit_code: None,
        stdout_text: None,
        stderr_text: None,
        started_ms: now_ms(),
        completed_ms: None,
        skipped_reason: None,
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Takes a hook's outcome into the whole as [`HookPlane::fire`] does, with no process behind it. For the
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
    merge(fired, entry, entry.event, &mut ran);
}

/// The variable that everything a hook starts carries.
pub const HOOK_RUN: &str = "ONA_HOOK_RUN";

/// The common prefix of its value for all hooks that a process has run for a session: if the process is killed, a later
/// one finds them by it.
pub fn runs_of(session: &SessionId, process: u32) -> String {
    format!("{session}-{process}-")
}

/// S0 §5.4 to §5.6: merges one hook's result. What is wrong with its output is noted after
/// its own output, so that the record has it too.
fn merge(fired: &mut Fired, entry: &HookEntry, event: HookEvent, ran: &mut Ran) {
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
fn fail(fired: &mut Fired, entry: &HookEntry, why: &str, hint: &str) {
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
                fired.updated_by = Some(ordinal);
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
        HookSpecificOutput::PostToolUse { additional_context, .. }
        | HookSpecificOutput::PostToolUseFailure { additional_context }
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

#[cfg(test)]
mod tests;
