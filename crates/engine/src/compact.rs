//! Compaction of the model's context. Nothing is deleted: a `collapse_commit` entry marks where the model's view
//! starts again, with a summary and the steering state from the record.

use std::time::Instant;

use ona_front::Event;
use ona_hooks::Fired;
use ona_provider::{Answer, AskError, Live, Message, StopReason, ToolChoice};
use ona_store::{Step, StoreError};
use ona_types::hook::{CompactTrigger, HookDetail, StartSource};
use ona_types::{Collapse, Entry};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::context_limit::CompactionState;
use crate::partial::retry;
use crate::restored::{self, State};
use crate::skills;
use crate::usage::{millis, usage_of};
use ona_config::instructions;

/// The stop reason of an answer that hit the context window.
const CONTEXT_EXCEEDED: &str = "model_context_window_exceeded";
/// How often the oldest part is dropped from the text to summarise.
const MAX_SHORTENINGS: usize = 3;

/// Why the context was not compacted.
#[derive(Debug, thiserror::Error)]
pub enum CompactError {
    /// The model cannot be asked.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The record failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Nothing was said yet.
    #[error("there is nothing to summarise")]
    Nothing,
    /// The summary is empty.
    #[error("the model returned no summary")]
    Empty,
    /// The model refused.
    #[error("the model or a content filter refused to summarise")]
    Refused,
    /// The summary is incomplete.
    #[error("the summary was cut off at the output token limit")]
    CutOff,
}

/// The summary in an answer. A partial summary or an excuse must not replace the conversation.
fn summary(answer: &Answer) -> Result<String, CompactError> {
    match &answer.stop_reason {
        StopReason::Refusal => return Err(CompactError::Refused),
        StopReason::MaxTokens => return Err(CompactError::CutOff),
        StopReason::Other(word) if word == "content_filter" => return Err(CompactError::Refused),
        StopReason::Other(word) if word == CONTEXT_EXCEEDED => return Err(CompactError::CutOff),
        _ => {}
    }
    let text = answer.text();
    if text.trim().is_empty() { Err(CompactError::Empty) } else { Ok(text) }
}

const TASK: &str = "\
The conversation is too long and will continue without the messages above. Write what is needed to continue, and \
nothing else: what the user wants, in their words where it matters; what was decided and why; what was changed, file by \
file; what was run, with its result; what is still open, and the next step. Name files, \
functions and commands exactly. Do not call tools. Answer with the summary alone.";

impl Agent {
    /// Compacts if the context is full.
    pub(crate) async fn compact_if_full(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<(), CompactError> {
        let futile = self.compaction == CompactionState::Futile;
        if self.options.context_limit.disabled || futile || !self.is_full() {
            return Ok(());
        }
        match self.compact("auto", None, cancel).await {
            Err(error @ (CompactError::Store(_) | CompactError::Ask(_)))
                if !matches!(error, CompactError::Ask(AskError::ContextTooLong(_))) =>
            {
                Err(error)
            }
            // The provider will report if it is really too long.
            Err(why) => {
                self.compaction = CompactionState::Futile;
                self.warn(format!("the context was not compacted: {why}"));
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Whether the context has reached its limit.
    pub(crate) fn is_full(&self) -> bool {
        self.context_tokens
            >= self.options.context_limit.max_tokens(self.model_handle.model.context_window)
    }

    /// Compacts now.
    pub(crate) async fn compact(
        &mut self,
        trigger: &str,
        custom_instructions: Option<String>,
        cancel: &CancellationToken,
    ) -> Result<(), CompactError> {
        if self.context.is_empty() {
            return Err(CompactError::Nothing);
        }
        let kind = CompactTrigger::from_name(trigger).unwrap_or(CompactTrigger::Manual);
        let detail = HookDetail::PreCompact {
            trigger: kind,
            custom_instructions: custom_instructions.clone(),
        };
        let fired = self.fire(detail, cancel).await;
        self.commit(&Step { hooks: &fired.rows, ..Step::default() })?;
        self.session.gate.front.tell(Event::Compacting { trigger: trigger.to_owned() });
        let done = self.collapse(trigger, kind, custom_instructions.as_deref(), cancel).await;
        self.session.gate.front.tell(Event::CompactingEnded);
        done
    }

    /// Replaces the conversation with a summary.
    async fn collapse(
        &mut self,
        trigger: &str,
        kind: CompactTrigger,
        custom_instructions: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<(), CompactError> {
        let started = Instant::now();
        let answer = self.ask_for_summary(custom_instructions, cancel).await?;
        let call = self.model_call(&answer, "compact", millis(started));
        self.model_handle.spend_on_side_query(usage_of(&call));
        let summary = match summary(&answer) {
            Ok(summary) => summary,
            // The answer has a cost all the same.
            Err(error) => {
                self.commit(&Step { model_call: Some(&call), ..Step::default() })?;
                return Err(error);
            }
        };
        let store = self.session.gate.store();
        let steering = store.steering(self.session.gate.seat())?;
        let pre_tokens = self.context_tokens;
        let intent = self.session.gate.intent_context()?;
        let state = State {
            steering: &steering,
            intent: intent.as_deref(),
            todos: &store.todos(self.session.gate.seat())?,
            skills: skills::restored_skills(self.context.skills()),
        };
        let room = self.options.context_limit;
        let room = room.restored_bytes(self.model_handle.model.context_window);
        // At least a quarter of it is for instructions.
        let restored = restored::state(state, room / 4 * 3, self.session.gate.redactor());
        let room_left = room.saturating_sub(restored.len());
        let collapse = Collapse {
            trigger: trigger.to_owned(),
            summary: format!("Summary of the conversation so far:\n\n{summary}"),
            restored,
            pre_tokens,
        };
        let detail = json!({"trigger": trigger, "pre_tokens": pre_tokens});
        self.commit(&Step {
            entries: &[Entry::collapse(&collapse)],
            model_call: Some(&call),
            event: Some(("context.compacted", &detail)),
            ..Step::default()
        })?;
        self.context_tokens = 0;
        self.compaction = CompactionState::Done;
        self.after_compaction(kind, &summary, room_left, cancel).await?;
        self.session.gate.front.tell(Event::Compacted { trigger: trigger.to_owned(), pre_tokens });
        Ok(())
    }

    /// Asks the model for a summary; of the later part alone, if the whole is too long.
    async fn ask_for_summary(
        &self,
        custom_instructions: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Answer, AskError> {
        let mut task = TASK.to_owned();
        if let Some(instructions) = custom_instructions {
            task.push_str(&format!("\nKeep in mind: {instructions}"));
        }
        let mut request = self.request();
        request.tool_choice = ToolChoice::None;
        (request.thinking, request.effort) = (None, None);
        request.messages.push(Message::user(task));
        let (mut left_out, mut begin) = (0, 0);
        let front = &self.session.gate.front;
        let mut listen = |live: Live<'_>| {
            if let Some(event) = retry(&live) {
                front.tell(event);
            }
        };
        loop {
            match self.model_handle.client.ask(&request, &mut listen, cancel).await {
                Err(AskError::ContextTooLong(_)) if left_out < MAX_SHORTENINGS => {
                    left_out += 1;
                    let half = begin + (self.context.len() - begin) / 2;
                    match self.context.suffix_from(half) {
                        Some(part) => (begin, request.earlier, request.recent) = part,
                        // Results without their calls are invalid: only the task is left.
                        None => {
                            (request.earlier, request.recent) = Default::default();
                            request.messages.drain(..request.messages.len() - 1);
                        }
                    }
                }
                other => return other,
            }
        }
    }

    /// The order of S0 and of the public documentation: PostCompact, instructions, SessionStart. What the model is told takes
    /// at most `room` bytes.
    async fn after_compaction(
        &mut self,
        trigger: CompactTrigger,
        summary: &str,
        room: usize,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        let detail = HookDetail::PostCompact { trigger, compact_summary: summary.to_owned() };
        let mut hooks = self.fire(detail, cancel).await.rows;
        let mut entries = Vec::new();
        if !self.options.bare {
            let (loaded, conditional) = instructions::reload(&self.instruction_roots);
            self.conditional = Some(conditional);
            let (entry, mut fired) = self.instruction_entry(&loaded.instructions, cancel).await;
            entries.extend(entry);
            hooks.append(&mut fired);
            entries.extend(self.memory_entry()?);
        }
        let detail = HookDetail::SessionStart {
            source: StartSource::Compact,
            agent_type: self.session.agent_type_name(),
            model: Some(self.model_handle.model.wire.clone()),
        };
        let mut fired = match &self.session.side.identity {
            Some(_) => Fired::default(),
            None => self.fire(detail, cancel).await,
        };
        hooks.append(&mut fired.rows);
        entries.extend(self.skill_listing_entry());
        entries.extend(self.context_entries(&fired.contexts, "SessionStart hook"));
        self.take_watch_paths(&fired);
        restored::fit_entries(&mut entries, room, self.session.gate.redactor());
        self.commit(&Step { entries: &entries, hooks: &hooks, ..Step::default() })
    }
}
