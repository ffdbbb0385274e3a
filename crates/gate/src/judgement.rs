//! A call on its way through the stages, with everything said about it so far.

use std::borrow::Cow;

use ona_hooks::{About, Fired};
use ona_policy::{Call, Effects};
use ona_store::{Decision, StoreError};
use ona_tools::{InputError, Tool};
use ona_trace::TraceEntry;
use ona_types::gate::{Answer, Judged, Verdict};
use ona_types::hook::{HookDetail, HookInvocation};
use ona_types::{Behavior, ToolUseId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::Gate;
use super::intents::Governed;
use super::intents::metadata::bare;

/// What goes on record with a call, beside what the stages said.
#[derive(Debug, Default)]
pub struct Noted {
    /// Every hook that ran or was skipped.
    pub hooks: Vec<HookInvocation>,
    /// What was decided where there was something to ask.
    pub decisions: Vec<Decision>,
    /// What hooks say to the model.
    pub contexts: Vec<String>,
    /// Somebody wants the agent to stop, for this reason.
    pub stop: Option<String>,
    /// What else happened, each with its kind.
    pub events: Vec<(String, Value)>,
    /// What the trace is to tell of it.
    pub trace: Option<TraceEntry>,
}

/// Who has put the present input in the place of the one that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplacedBy {
    /// A PreToolUse hook.
    PreToolUse,
    /// A PermissionRequest hook.
    PermissionRequest,
    /// The human.
    Human,
}

/// Who has said yes when the call was asked about.
#[derive(Clone, Debug, PartialEq)]
pub struct Consent {
    /// Who it is, on the record.
    pub by: &'static str,
    /// Where "always" is kept.
    pub kept: Vec<String>,
    /// The input that came with it.
    pub input: Option<Value>,
}

/// A call that is judged at a gate.
pub struct Judgement<'g> {
    /// The gate.
    pub gate: &'g mut Gate,
    /// The call's id.
    pub id: &'g ToolUseId,
    /// The tool.
    pub tool: &'g dyn Tool,
    /// What would run: hooks or a human may have replaced it.
    pub input: Value,
    /// What it would touch.
    pub effects: Effects,
    /// Cancelled when the user interrupts.
    pub cancel: &'g CancellationToken,
    /// Whether a foreign host wants calls held against the permission rules.
    pub rules_wanted: bool,
    /// What the stages have said, once all were heard.
    pub answers: Vec<Answer>,
    /// What goes on record with it.
    pub noted: Noted,
    /// What the intent stage found.
    pub governed: Option<Governed>,
    /// What PreToolUse hooks decided, for the rules to take into account.
    pub by_hooks: Option<Behavior>,
    /// Who has replaced the input last.
    pub replaced_by: Option<ReplacedBy>,
    /// Who has said yes to it.
    pub consent: Option<Consent>,
}

impl<'g> Judgement<'g> {
    /// A call that nobody has said anything about.
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
            answers: Vec::new(),
            noted: Noted::default(),
            governed: None,
            by_hooks: None,
            replaced_by: None,
            consent: None,
        }
    }

    /// The call as rules are held against it.
    pub fn as_call(&self) -> Call<'_> {
        Call {
            tool: self.tool.name(),
            facts: self.tool.facts().for_rules(),
            input: &self.input,
            effects: &self.effects,
        }
    }

    /// Whether a PreToolUse hook has said yes.
    pub fn allowed_by_hooks(&self) -> bool {
        self.by_hooks == Some(Behavior::Allow)
    }

    /// The tool's name, the input and the id, as hooks are told of them.
    pub fn named(&self) -> (String, Value, ToolUseId) {
        (self.tool.name().to_owned(), self.input.clone(), self.id.clone())
    }

    /// Validates the input and says what it would touch; what a call says about itself is not the tool's business.
    pub fn prepare(&self) -> Result<Effects, InputError> {
        self.tool.prepare(&self.input(), self.gate.place())
    }

    /// The call, for hooks.
    pub fn about(&self) -> About<'_> {
        let facts = self.tool.facts().for_rules();
        About { id: self.id, facts, effects: &self.effects }
    }

    /// Fires an event about the call. What hooks say to the model is kept.
    pub async fn fire(&mut self, detail: HookDetail) -> Fired {
        let mut fired = self.gate.fire(detail, Some(self.about()), self.cancel).await;
        self.noted.hooks.append(&mut fired.rows);
        for text in fired.contexts.drain(..) {
            self.noted.contexts.push(self.gate.shortened(text));
        }
        if self.noted.stop.is_none() {
            self.noted.stop = fired.stop.take();
        }
        fired
    }

    /// Fires an event about a call that can no longer change it. What blocks afterwards is told to the model, in the
    /// order of the hooks (S0 §5.6, 5).
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

/// The answer that is open: the latest that wants somebody asked.
pub fn open_question(so_far: &[Answer]) -> Option<&Answer> {
    so_far.iter().rev().find(|answer| answer.verdict == Verdict::Ask)
}
