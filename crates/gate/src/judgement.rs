//! A call on its way through the stages, with the answers so far.

use std::borrow::Cow;
use std::collections::BTreeSet;

use ona_effects::Effects;
use ona_front::FileDiff;
use ona_hooks::{About, Fired};
use ona_policy::Call;
use ona_store::{Decision, StoreError};
use ona_tools::{InputError, Tool};
use ona_trace::TraceEntry;
use ona_types::gate::{Answer, Judged, SettledBy, Verdict};
use ona_types::hook::{HookDetail, HookInvocation};
use ona_types::{Behavior, Entry, ToolUseId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::Gate;
use super::intents::Governed;
use super::intents::metadata::bare;
use super::sandbox::Runs;

/// What is recorded with a call besides the stages' answers.
#[derive(Debug, Default)]
pub struct Noted {
    /// Every hook that ran or was skipped.
    pub hooks: Vec<HookInvocation>,
    /// Decisions on questions.
    pub decisions: Vec<Decision>,
    /// Texts of hooks for the model.
    pub contexts: Vec<String>,
    /// Why the agent is to stop, if it is.
    pub stop: Option<String>,
    /// Other events, each with its kind.
    pub events: Vec<(String, Value)>,
    /// The entry for the trace.
    pub trace: Option<TraceEntry>,
    /// Further entries for the transcript.
    pub entries: Vec<Entry>,
    /// What became of the file that the call changed, for the user.
    pub diff: Option<FileDiff>,
}

/// Who has replaced the input of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplacedBy {
    /// A PreToolUse hook.
    PreToolUse,
    /// A PermissionRequest hook.
    PermissionRequest,
    /// The human.
    Human,
}

/// Who has approved a call that was asked about.
#[derive(Clone, Debug, PartialEq)]
pub struct Consent {
    /// The approver, as recorded.
    pub by: &'static str,
    /// Where "always" was saved.
    pub kept: Vec<String>,
    /// The input that came with it.
    pub input: Option<Value>,
}

impl Consent {
    /// Whether it came with this input: hooks may have replaced it since.
    pub fn is_for(&self, input: &Value) -> bool {
        self.input.as_ref() == Some(input)
    }
}

/// A call that is judged at a gate.
pub struct Judgement<'g> {
    /// The gate.
    pub gate: &'g mut Gate,
    /// The call's id.
    pub id: &'g ToolUseId,
    /// The tool.
    pub tool: &'g dyn Tool,
    /// The input that would be used: hooks or a human may have replaced it.
    pub input: Value,
    /// What it would touch.
    pub effects: Effects,
    /// Cancelled when the user interrupts.
    pub cancel: &'g CancellationToken,
    /// Whether a foreign host wants the permission rules to apply.
    pub rules_wanted: bool,
    /// Whether the host of a foreign call asks its user if a stage says so.
    pub host_asks: bool,
    /// The answers of the stages, once all have been asked.
    pub answers: Vec<Answer>,
    /// What is recorded with it.
    pub noted: Noted,
    /// What the intent stage found out.
    pub governed: Option<Governed>,
    /// The decision of PreToolUse hooks, with its reason.
    pub by_hooks: Option<(Behavior, String)>,
    /// Who replaced the input last.
    pub replaced_by: Option<ReplacedBy>,
    /// The PreToolUse hooks whose replacement is part of the input.
    pub rewrote: BTreeSet<i64>,
    /// Who has approved it.
    pub consent: Option<Consent>,
    /// How its command would run.
    pub runs: Runs,
}

impl<'g> Judgement<'g> {
    /// A call that was not judged yet.
    pub fn new(
        gate: &'g mut Gate,
        id: &'g ToolUseId,
        tool: &'g dyn Tool,
        input: Value,
        cancel: &'g CancellationToken,
    ) -> Self {
        Self {
            gate,
            id,
            tool,
            input,
            effects: Effects::default(),
            cancel,
            rules_wanted: true,
            host_asks: false,
            answers: Vec::new(),
            noted: Noted::default(),
            governed: None,
            by_hooks: None,
            replaced_by: None,
            rewrote: BTreeSet::new(),
            consent: None,
            runs: Runs::default(),
        }
    }

    /// The call, for rules.
    pub fn as_call(&self) -> Call<'_> {
        Call {
            tool: self.tool.name(),
            facts: self.tool.facts().for_rules(),
            input: &self.input,
            effects: &self.effects,
            confines: self.confines(),
        }
    }

    /// Whether a PreToolUse hook has allowed it.
    pub fn allowed_by_hooks(&self) -> bool {
        self.by_hooks.as_ref().is_some_and(|(decided, _)| *decided == Behavior::Allow)
    }

    /// The tool's name, the input and the id, for hooks.
    pub fn named(&self) -> (String, Value, ToolUseId) {
        (self.tool.name().to_owned(), self.input.clone(), self.id.clone())
    }

    /// Validates the input without metadata, and returns what it would touch.
    pub fn prepare(&self) -> Result<Effects, InputError> {
        self.tool.prepare(&self.input(), self.gate.place())
    }

    /// The call, for hooks.
    pub fn about(&self) -> About<'_> {
        let facts = self.tool.facts().for_rules();
        About { id: self.id, facts, effects: &self.effects, rewrote: &self.rewrote }
    }

    /// Fires an event about the call. Texts of hooks for the model are kept.
    pub async fn fire(&mut self, detail: HookDetail) -> Fired {
        let mut fired = self.gate.fire(detail, Some(self.about()), self.cancel).await;
        self.noted.hooks.append(&mut fired.rows);
        for text in fired.contexts.drain(..) {
            let text = self.gate.shortened(text);
            // A hook that judges the input twice may say the same twice.
            if !self.noted.contexts.contains(&text) {
                self.noted.contexts.push(text);
            }
        }
        if self.noted.stop.is_none() {
            self.noted.stop = fired.stop.take();
        }
        fired
    }

    /// Fires an event that can no longer change the call. If a hook blocks, the model is told, in the order of the hooks
    /// (S0 §5.6, 5).
    pub async fn tell(&mut self, detail: HookDetail) -> Fired {
        let fired = self.fire(detail).await;
        if fired.denies() {
            self.noted.contexts.push(fired.denial());
        }
        fired
    }
}

impl Judged for Judgement<'_> {
    type Error = StoreError;

    fn tool(&self) -> &str {
        self.tool.name()
    }

    fn input(&self) -> Cow<'_, Value> {
        match &self.gate.workspace {
            Some(_) => bare(self.tool.facts().kind, &self.input),
            None => Cow::Borrowed(&self.input),
        }
    }

    fn replace_input(&mut self, input: Value) {
        self.input = input;
    }

    fn is_interrupted(&self) -> bool {
        self.cancel.is_cancelled()
    }

    fn hear(&self, answer: &Answer) {
        debug!(
            target: "ona::gate", call = %self.id, tool = self.tool.name(),
            stage = answer.stage.as_str(), verdict = answer.verdict.as_str(),
            reason = %self.gate.redactor().mask(&answer.reason), "judged",
        );
    }
}

/// The open question: the latest answer that says "ask". One that somebody wrote says more than that of the mode.
pub fn open_question(so_far: &[Answer]) -> Option<&Answer> {
    let asks = || so_far.iter().rev().filter(|answer| answer.verdict == Verdict::Ask);
    asks().find(|answer| answer.settled_by != SettledBy::AnyYes).or_else(|| asks().next())
}
