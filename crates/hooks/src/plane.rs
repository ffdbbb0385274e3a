//! Firing an event: runs the matching hooks one at a time. What each decides is read in [`crate::decision`].

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ona_effects::Effects;
use ona_policy::secrets::Redactor;
use ona_policy::{Anchors, Call, Confines, Rule, RuleFacts};
use ona_sandbox::Marker;
use ona_sandbox::confine::Confined;
use ona_types::hook::{HookBase, HookDetail, HookEvent, HookInput, HookInvocation};
use ona_types::{Behavior, SessionId, ToolUseId};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::config::{Condition, Handler, HookEntry};
use crate::decision::{Fired, apply_result, fail};
use crate::handler::{self, CommandRun, Ran};
use crate::http;
use crate::judge::{self, Judge, Question};

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
    /// What command hooks may touch; everything if `None`.
    pub confined: Option<Arc<Confined>>,
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
    /// Hooks whose replacement is part of the input already. They judge it again, but replace nothing: a hook that
    /// adds something would add it twice.
    pub rewrote: &'a BTreeSet<i64>,
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
    /// Command hooks may touch only this.
    pub fn confine(&mut self, confined: Arc<Confined>) {
        self.host.confined = Some(confined);
    }

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
        let call = Call {
            tool,
            facts: about.facts,
            input,
            effects: about.effects,
            confines: Confines::Nothing,
        };
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
        let mut rewrote = about.map(|about| about.rewrote.clone()).unwrap_or_default();
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
            let before = fired.updated_input.take();
            let allowed = fired.take_allowed();
            apply_result(&mut fired, entry, event, &mut ran);
            let is_other = |input: &Map<String, Value>| {
                detail.tool_call().is_none_or(|(_, current, _)| current.as_object() != Some(input))
            };
            let replaces = fired.updated_input.as_ref().is_some_and(is_other)
                && !rewrote.contains(&entry.ordinal);
            if replaces {
                // Who replaced it in an earlier round judges another input now, and may replace it again. A yes of the
                // hooks before was for another input too.
                rewrote.clear();
                fired.updated_by.insert(entry.ordinal);
            } else {
                fired.updated_input = before;
                fired.give_back(allowed);
            }
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

/// The variable that everything a hook starts carries.
pub const HOOK_RUN: &str = "ONA_HOOK_RUN";

/// The common prefix of its value for all hooks that a process has run for a session: if the process is killed, a later
/// one finds them by it.
pub fn runs_of(session: &SessionId, process: u32) -> String {
    format!("{session}-{process}-")
}

#[cfg(test)]
mod tests;
