//! One turn (S0 §2.5): a prompt, answers and calls in order, and an end. Every step is committed before the next one
//! starts, so a crash loses nothing that was shown.

use std::collections::HashMap;
use std::time::Instant;

use ona_front::{DeniedCall, Ending, Event, ModelUsed, TurnEnd};
use ona_hooks::Fired;
use ona_provider::{Answer, AskError, Block, Live, StopReason};
use ona_store::{ModelCall, Step, StoreError};
use ona_types::hook::{HookDetail, StopError};
use ona_types::{
    Attachment, ContentBlock, Entry, EntryType, SystemNote, ToolUseId, Usage, fresh_uuid,
    is_plain_name,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::compact::CompactError;
use crate::context_limit::CompactionState;
use crate::identity;
use crate::model_context::NOT_RUN;
use crate::partial::{StreamMask, retry};
use crate::skills::SlashPrompt;
use crate::structured::{ShapedAnswer, Unanswered};
use crate::usage::{call_row, millis, usage_of};
use ona_gate::call::CallError;

/// The message for an answer that ends with `refusal` or `content_filter`.
const REFUSED: &str = "the model or a content filter refused to answer; the prompt stays in the session: rephrase it, or \
     fork the session before it (--fork-session --at)";

/// A tool name that every provider accepts. A changed name matches no tool.
fn usable_name(name: &str) -> String {
    let usable = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = name.chars().take(64).map(usable).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

/// The inputs of an answer's calls, unmasked.
fn inputs(answer: &Answer) -> HashMap<ToolUseId, Value> {
    let calls = answer.content.iter().filter_map(|block| match block {
        Block::ToolUse { id, input, .. } => Some((id.clone(), input.to_object())),
        _ => None,
    });
    calls.collect()
}

/// What a turn has used and produced so far.
#[derive(Default)]
pub(crate) struct TurnAccount {
    asked: u32,
    api_ms: u64,
    used: Vec<ModelUsed>,
    pub(crate) denials: Vec<DeniedCall>,
    text: String,
    pub(crate) answer: ShapedAnswer,
    stop_reason: Option<String>,
    /// The prompt was rejected.
    prompt_rejected: bool,
    /// What was heard of an answer that the user interrupted.
    heard: String,
}

/// The usage of answers that broke off, as far as the server reported it.
#[derive(Default)]
struct BrokenStreams {
    now: Usage,
    before: Vec<Usage>,
}

impl BrokenStreams {
    fn observe(&mut self, live: &Live<'_>) {
        match live {
            Live::Raw(raw) => {
                let (at_first, so_far) = (&raw["message"]["usage"], &raw["usage"]);
                for (name, figure) in [
                    ("input_tokens", &mut self.now.input_tokens),
                    ("output_tokens", &mut self.now.output_tokens),
                    ("cache_creation_input_tokens", &mut self.now.cache_creation_input_tokens),
                    ("cache_read_input_tokens", &mut self.now.cache_read_input_tokens),
                ] {
                    let reported = so_far[name].as_u64().or(at_first[name].as_u64());
                    *figure = reported.unwrap_or(*figure);
                }
            }
            Live::Void => self.before.push(std::mem::take(&mut self.now)),
            _ => {}
        }
    }

    /// All of them; without the last one if it became an answer.
    fn all(mut self, answered: bool) -> Vec<Usage> {
        if !answered {
            self.before.push(self.now);
        }
        self.before.retain(|used| *used != Usage::default());
        self.before
    }
}

/// Why a turn ended before its normal end.
pub(crate) enum Halt {
    Ending(Ending),
    Ask(AskError),
    Store(StoreError),
    Call(CallError),
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<CompactError> for Halt {
    fn from(error: CompactError) -> Self {
        match error {
            CompactError::Ask(error) => Self::Ask(error),
            CompactError::Store(error) => Self::Store(error),
            other => Self::Ending(Ending::Failed {
                error: StopError::Unknown.as_str().to_owned(),
                message: other.to_string(),
            }),
        }
    }
}

impl From<AskError> for Halt {
    fn from(error: AskError) -> Self {
        Self::Ask(error)
    }
}

impl From<CallError> for Halt {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl From<Unanswered> for Halt {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Ending(ending) => Self::Ending(ending),
            Unanswered::Store(error) => Self::Store(error),
        }
    }
}

impl Agent {
    /// Runs a turn and reports its end. Without a prompt, an unfinished one continues.
    pub async fn run_turn(
        &mut self,
        prompt: Option<(String, Vec<Attachment>)>,
        cancel: &CancellationToken,
    ) -> TurnEnd {
        self.stop_blocks = 0;
        self.continue_turn(prompt, cancel).await
    }

    /// The same after a hook blocked the stop: the count goes on.
    pub(crate) async fn continue_turn(
        &mut self,
        prompt: Option<(String, Vec<Attachment>)>,
        cancel: &CancellationToken,
    ) -> TurnEnd {
        let started = Instant::now();
        let mut account = TurnAccount::default();
        self.compaction = CompactionState::default();
        let ending = match self.steps(prompt, &mut account, cancel).await {
            Ok(()) => Ending::Done,
            Err(halt) => self.halted(halt, &account, cancel).await,
        };
        self.clear_skills();
        // Nobody would read their results.
        let main = self.session.side.identity.is_none();
        if ending != Ending::Done && main && self.options.waits_for_agents {
            self.stop_background_agents().await;
        }
        if self.session.side.identity.is_none() {
            account.denials.extend(self.session.side.take_denials());
        }
        for used in self.model_handle.take_side_usage() {
            used.add_to(&mut account.used);
        }
        let end = TurnEnd {
            ending,
            text: account.text,
            answer: account.answer.given,
            stop_reason: account.stop_reason,
            asked: account.asked,
            duration_ms: millis(started),
            api_ms: account.api_ms,
            // An empty sum would be -0.0.
            cost_usd: account.used.iter().fold(0.0, |sum, used| sum + used.cost_usd),
            used: account.used,
            denials: account.denials,
        };
        let kept = self.end_of_turn(&end);
        let end = match kept {
            Ok(()) => end,
            Err(error) => {
                TurnEnd { ending: Ending::RecordLost { message: error.to_string() }, ..end }
            }
        };
        self.session.gate.front.tell(Event::TurnEnded { end: Box::new(end.clone()) });
        end
    }

    fn end_of_turn(&mut self, end: &TurnEnd) -> Result<(), StoreError> {
        let detail = json!({
            "turn": self.turn, "ending": end.ending, "asked": end.asked,
            "duration_ms": end.duration_ms, "cost_usd": end.cost_usd,
        });
        self.commit(&Step { event: Some(("turn.ended", &detail)), ..Step::default() })
    }

    async fn steps(
        &mut self,
        prompt: Option<(String, Vec<Attachment>)>,
        account: &mut TurnAccount,
        cancel: &CancellationToken,
    ) -> Result<(), Halt> {
        match prompt {
            Some((prompt, attachments)) => {
                self.submit(&prompt, &attachments, account, cancel).await?;
            }
            // Runs the calls that did not start before the interruption.
            None => self.run_calls(account, cancel).await?,
        }
        if !self.context.awaits_answer() {
            // Returns the answer of the last turn again.
            let given = self.options.shape.as_ref().and_then(|_| self.context.shaped_answer());
            account.answer.given = account.answer.given.take().or(given);
            if account.answer.given.is_none() {
                self.warn("nothing to continue: the last turn is finished".to_owned());
            }
            return Ok(());
        }
        let mut compacted = false;
        loop {
            self.apply_changes();
            self.report_ended_tasks(cancel).await?;
            self.report_servers().await?;
            self.fire_file_changes(cancel).await?;
            self.check_limits(account)?;
            let spent = self.spent();
            self.compact_if_full(cancel).await?;
            // A summary has a cost too, and every model call must be within the budget.
            if self.spent() > spent {
                self.check_limits(account)?;
            }
            let stop_reason = match self.ask(account, cancel).await {
                Err(Halt::Ask(AskError::ContextTooLong(failure)))
                    if !compacted && !self.options.context_limit.disabled =>
                {
                    compacted = true;
                    if let Err(why) = self.compact("auto", None, cancel).await {
                        self.warn(format!("the context was not compacted: {why}"));
                        return Err(Halt::Ask(AskError::ContextTooLong(failure)));
                    }
                    continue;
                }
                other => other?,
            };
            if cancel.is_cancelled() {
                return Err(Halt::Ending(Ending::Interrupted));
            }
            if stop_reason == StopReason::Refusal {
                // The calls of a refused answer do not run.
                self.settle_calls()?;
                return Err(Halt::Ending(Ending::Failed {
                    error: StopError::InvalidRequest.as_str().to_owned(),
                    message: REFUSED.to_owned(),
                }));
            }
            let called = !self.context.unanswered().is_empty();
            self.run_calls(account, cancel).await?;
            // A structured answer ends the turn, unless something was added to it.
            let answered = self.context.shaped_answer().is_some();
            if !answered && (called || stop_reason == StopReason::PauseTurn) {
                self.after_calls(&mut account.answer).map_err(Halt::Ending)?;
                continue;
            }
            if !answered && stop_reason == StopReason::MaxTokens {
                return Err(Halt::Ending(Ending::Failed {
                    error: StopError::MaxOutputTokens.as_str().to_owned(),
                    message: "the answer was cut off at the output token limit".to_owned(),
                }));
            }
            if self.request_missing_answer(&mut account.answer)? {
                continue;
            }
            let last_message = match &account.answer.given {
                Some(answer) => answer.to_string(),
                None => account.text.clone(),
            };
            if !self.stop_is_blocked(&last_message, cancel).await?
                && !self.wait_for_agents(cancel).await
            {
                return Ok(());
            }
        }
    }

    /// Step 3: hooks can reject the prompt.
    async fn submit(
        &mut self,
        prompt: &str,
        attachments: &[Attachment],
        account: &mut TurnAccount,
        cancel: &CancellationToken,
    ) -> Result<(), Halt> {
        let typed = self.typed.take();
        // Calls that an interrupted turn did not start must not run now.
        self.settle_calls()?;
        self.reload_settings(cancel).await?;
        self.reload_skills(cancel).await?;
        self.turn += 1;
        self.session.gate.front.tell(Event::TurnStarted { turn: self.turn });
        let fired = match &self.session.side.identity {
            // The prompt is not from a user.
            Some(_) => Fired::default(),
            None => {
                let detail = HookDetail::UserPromptSubmit { prompt: prompt.to_owned() };
                self.fire(detail, cancel).await
            }
        };
        let refused = fired.denies().then(|| fired.denial());
        if refused.is_some() || fired.stop.is_some() || cancel.is_cancelled() {
            self.turn -= 1;
            account.prompt_rejected = true;
            let reason = refused.or(fired.stop.clone()).unwrap_or_default();
            let detail = json!({"reason": reason});
            let event = Some(("turn.blocked", &detail));
            self.commit(&Step { hooks: &fired.rows, event, ..Step::default() })?;
            return Err(Halt::Ending(match (cancel.is_cancelled(), fired.stop) {
                (true, _) => Ending::Interrupted,
                (false, Some(reason)) => Ending::Stopped { reason },
                (false, None) => Ending::Blocked { reason },
            }));
        }
        let expanded = match self.session.view().expand_prompt(prompt, cancel).await {
            Ok(SlashPrompt::Plain) => prompt.to_owned(),
            Ok(SlashPrompt::Prompt(text)) => text,
            Ok(SlashPrompt::Skill(skill, text)) => {
                self.apply_skill(&skill);
                text
            }
            Err(error) => {
                let reason = error.to_string();
                self.turn -= 1;
                account.prompt_rejected = true;
                let detail = json!({"reason": reason});
                let event = Some(("turn.blocked", &detail));
                self.commit(&Step { hooks: &fired.rows, event, ..Step::default() })?;
                let error = StopError::InvalidRequest.as_str().to_owned();
                return Err(Halt::Ending(Ending::Failed { error, message: reason }));
            }
        };
        let redactor = &self.session.gate.governance.redactor;
        let typed = typed.or_else(|| (expanded != prompt).then(|| prompt.to_owned()));
        let typed = typed.map(|typed| redactor.mask_live(&typed).into_owned());
        let text = redactor.mask_live(&expanded).into_owned();
        let first = self.initial.take().map(|text| ContentBlock::Text { text });
        let blocks: Vec<ContentBlock> =
            first.into_iter().chain([ContentBlock::Text { text }]).collect();
        let provider = self.model_handle.model.provider;
        if !provider.takes_documents() && attachments.iter().any(Attachment::is_document) {
            self.warn(format!(
                "{provider} does not support documents; the model gets a note instead"
            ));
        }
        // Attachments come before the text.
        let mut entries: Vec<Entry> = attachments.iter().map(Entry::shown).collect();
        entries.push(Entry::prompt(&fresh_uuid(), &blocks, typed.as_deref()));
        entries.extend(self.context_entries(&fired.contexts, "UserPromptSubmit hook"));
        let detail = json!({"turn": self.turn});
        let event = Some(("turn.started", &detail));
        Ok(self.commit(&Step {
            entries: &entries,
            hooks: &fired.rows,
            event,
            ..Step::default()
        })?)
    }

    fn check_limits(&self, account: &TurnAccount) -> Result<(), Halt> {
        if let Some(most) = self.options.max_turns
            && account.asked >= most
        {
            return Err(Halt::Ending(Ending::MaxTurns { most }));
        }
        if let Some(most) = self.options.max_budget_usd
            && self.spent() >= most
        {
            return Err(Halt::Ending(Ending::MaxBudget { most_usd: most.to_string() }));
        }
        Ok(())
    }

    /// Steps 4 and 5: asks the model, and commits the answer.
    async fn ask(
        &mut self,
        account: &mut TurnAccount,
        cancel: &CancellationToken,
    ) -> Result<StopReason, Halt> {
        if cancel.is_cancelled() {
            return Err(Halt::Ending(Ending::Interrupted));
        }
        let request = self.request();
        let started = Instant::now();
        let (front, partial) = (&self.session.gate.front, self.options.partial);
        let redactor = self.session.gate.redactor();
        let masked = |text: &str| redactor.mask_live(text).into_owned();
        let (mut broken, mut mask) = (BrokenStreams::default(), StreamMask::default());
        let mut heard = String::new();
        let mut listen = |live: Live<'_>| {
            broken.observe(&live);
            let event = match live {
                Live::Text(text) => {
                    heard.push_str(text);
                    Event::Text { text: masked(text) }
                }
                Live::Thinking(text) => Event::Thinking { text: masked(text) },
                Live::Raw(raw) if partial => {
                    for raw in mask.pass(raw, redactor) {
                        front.tell(Event::Stream { raw });
                    }
                    return;
                }
                Live::Void => {
                    heard.clear();
                    mask.reset();
                    Event::Void
                }
                Live::Retry { .. } => match retry(&live) {
                    Some(event) => event,
                    None => return,
                },
                Live::Started { .. } | Live::ToolInput { .. } | Live::Raw(_) => return,
            };
            front.tell(event);
        };
        account.asked += 1;
        let answer = self.model_handle.client.ask(&request, &mut listen, cancel).await;
        let duration_ms = millis(started);
        account.api_ms += duration_ms;
        if let Err(AskError::Cancelled) = answer {
            account.heard = masked(&heard);
        }
        let broken = broken.all(answer.is_ok());
        self.record_broken_streams(&broken, account)?;
        let mut answer = answer?;
        let call = self.model_call(&answer, "turn", duration_ms);
        self.account(&call, account);
        self.commit_answer(&mut answer, &call)?;
        self.inputs = inputs(&answer);
        let redactor = self.session.gate.redactor();
        let mut message = answer.to_json();
        redactor.mask_live_value(&mut message);
        self.session.gate.front.tell(Event::Answered { message });
        let reason = answer.stop_reason.as_str();
        account.stop_reason = Some(redactor.mask_live(reason).into_owned());
        let text = redactor.mask_live(&answer.text()).into_owned();
        if !text.is_empty() {
            account.text = text;
        }
        Ok(answer.stop_reason)
    }

    /// Records the usage of a broken stream: the provider charges for it.
    fn record_broken_streams(
        &mut self,
        broken: &[Usage],
        account: &mut TurnAccount,
    ) -> Result<(), StoreError> {
        for cut in broken {
            let call = ModelCall {
                turn: self.turn,
                purpose: "cut",
                provider: self.model_handle.model.provider.as_str(),
                model: self.model_handle.model.wire.clone(),
                used: *cut,
                cost_usd: self.model_handle.model.cost(cut),
                ..ModelCall::default()
            };
            self.model_handle.budget.spend(call.cost_usd.unwrap_or_default());
            usage_of(&call).add_to(&mut account.used);
            self.commit(&Step { model_call: Some(&call), ..Step::default() })?;
        }
        Ok(())
    }

    fn account(&mut self, call: &ModelCall, account: &mut TurnAccount) {
        self.model_handle.budget.spend(call.cost_usd.unwrap_or_default());
        usage_of(call).add_to(&mut account.used);
        self.context_tokens = call.used.context_tokens();
        let full = self.is_full();
        self.compaction.measured(full);
    }

    /// The record's row for a model call.
    pub(crate) fn model_call(
        &self,
        answer: &Answer,
        purpose: &'static str,
        duration_ms: u64,
    ) -> ModelCall {
        let mut call = call_row(&self.model_handle, purpose, answer, duration_ms);
        let redactor = self.session.gate.redactor();
        for text in [&mut call.stop_reason, &mut call.response_id] {
            *text = redactor.mask_live(text).into_owned();
        }
        ModelCall { turn: self.turn, ..call }
    }

    /// Commits an answer. Its calls get other ids where theirs are taken, also if another process takes one meanwhile.
    fn commit_answer(&mut self, answer: &mut Answer, call: &ModelCall) -> Result<(), StoreError> {
        loop {
            let calls = self.make_ids_unique(answer)?;
            let entries = self.entries(answer);
            let step = Step {
                entries: &entries,
                calls: &calls,
                model_call: Some(call),
                ..Step::default()
            };
            match self.commit(&step) {
                Err(StoreError::CallExists(_)) => {}
                other => return other,
            }
        }
    }

    /// A call's id is unique in the whole record. Some servers reuse ids in every answer, or within one. Returns the ids.
    fn make_ids_unique(&self, answer: &mut Answer) -> Result<Vec<ToolUseId>, StoreError> {
        let gate = &self.session.gate;
        let mut ids = Vec::new();
        for block in &mut answer.content {
            let Block::ToolUse { id, .. } = block else { continue };
            let secret = gate.governance.redactor.mask_live(id.as_str()) != id.as_str();
            // An odd one would not fit into the environment of a hook.
            if secret
                || !is_plain_name(id.as_str())
                || ids.contains(id)
                || gate.store().knows_call(id)?
            {
                *id = ToolUseId::generate();
            }
            ids.push(id.clone());
        }
        Ok(ids)
    }

    /// The entries of an answer (Appendix C). Provider blocks come before it.
    fn entries(&self, answer: &Answer) -> Vec<Entry> {
        let redactor = self.session.gate.redactor();
        let (mut content, mut opaque) = (Vec::new(), Vec::new());
        for (at, block) in answer.content.iter().enumerate() {
            match block {
                Block::Text(text) => {
                    content
                        .push(ContentBlock::Text { text: redactor.mask_live(text).into_owned() });
                }
                Block::ToolUse { id, name, input } => {
                    let mut input = input.to_object();
                    redactor.mask_value(&mut input);
                    content.push(ContentBlock::ToolUse {
                        id: id.clone(),
                        name: usable_name(&redactor.mask_live(name)),
                        input,
                    });
                }
                Block::Opaque { value, .. } => opaque.push((at, value.clone())),
                Block::Attachment(_) | Block::ToolResult { .. } => {}
            }
        }
        let mut entries = Vec::new();
        if !opaque.is_empty() {
            let provider = self.model_handle.model.provider.as_str().to_owned();
            entries.push(Entry::system(&SystemNote::ProviderBlocks { provider, blocks: opaque }));
        }
        entries.push(Entry::message(EntryType::Assistant, &fresh_uuid(), &content));
        entries
    }

    /// Gives every call that will not run a result, so that the transcript is complete.
    fn settle_calls(&mut self) -> Result<(), StoreError> {
        let mut entries = Vec::new();
        for id in self.context.unanswered() {
            let Some((tool, input)) = self.context.call(&id) else { continue };
            entries.push(Entry::tool_use(&id, tool, &Value::Object(input.clone())));
            entries.push(Entry::tool_result(&id, NOT_RUN, true));
        }
        if entries.is_empty() {
            return Ok(());
        }
        self.commit(&Step { entries: &entries, ..Step::default() })
    }

    /// Loads the instructions that apply to a file that was read.
    pub(crate) async fn load_nested_instructions(
        &mut self,
        file: &str,
        cancel: &CancellationToken,
    ) -> Result<(), Halt> {
        let Ok(path) = ona_files::resolve(&self.session.gate.place().cwd, file) else {
            return Ok(());
        };
        self.announce_skills_near(&path)?;
        let Some(conditional) = &mut self.conditional else { return Ok(()) };
        let loaded = conditional.on_read(&path);
        for warning in &loaded.warnings {
            self.warn(warning.to_string());
        }
        if loaded.instructions.is_empty() {
            return Ok(());
        }
        let (entry, hooks) = self.instruction_entry(&loaded.instructions, cancel).await;
        Ok(self.commit(&Step { entries: entry.as_slice(), hooks: &hooks, ..Step::default() })?)
    }

    /// Whether a Stop hook sends the model back to work. The number of times is limited: otherwise a hook that always blocks
    /// would never let the turn end.
    async fn stop_is_blocked(
        &mut self,
        text: &str,
        cancel: &CancellationToken,
    ) -> Result<bool, Halt> {
        let last_assistant_message = (!text.is_empty()).then(|| text.to_owned());
        let before = self.stop_blocks > 0;
        let detail = match &self.session.side.identity {
            Some(identity) => identity::stop_event(identity, before, last_assistant_message),
            None => HookDetail::Stop { stop_hook_active: before, last_assistant_message },
        };
        let event = detail.event().as_str();
        let from = format!("{event} hook");
        let fired = self.fire(detail, cancel).await;
        if let Some(reason) = fired.stop.clone() {
            self.commit(&Step { hooks: &fired.rows, ..Step::default() })?;
            return Err(Halt::Ending(Ending::Stopped { reason }));
        }
        let entries = self.context_entries(&fired.contexts, &from);
        self.commit(&Step { entries: &entries, hooks: &fired.rows, ..Step::default() })?;
        if !fired.denies() || !self.may_block_stop(event, &fired)? {
            return Ok(false);
        }
        let entries = self.context_entries(&[fired.denial()], &from);
        self.commit(&Step { entries: &entries, ..Step::default() })?;
        Ok(!cancel.is_cancelled())
    }

    /// Whether hooks may block the stop once more.
    pub(crate) fn may_block_stop(
        &mut self,
        event: &str,
        fired: &Fired,
    ) -> Result<bool, StoreError> {
        let before = self.stop_blocks;
        if self.options.max_stop_blocks.is_none_or(|most| before < most) {
            self.stop_blocks += 1;
            return Ok(true);
        }
        let reason = fired.denial();
        let detail =
            json!({"turn": self.turn, "sent_back": before, "hook": event, "reason": reason});
        self.commit(&Step { event: Some(("stop.overruled", &detail)), ..Step::default() })?;
        self.warn(format!(
            "{event} hooks blocked the stop {}, which is the limit (CLAUDE_CODE_STOP_HOOK_BLOCK_CAP); the turn ends although \
             they block it again: {reason}",
            ona_front::times(before)
        ));
        Ok(false)
    }

    /// Finishes a turn that ended early.
    async fn halted(
        &mut self,
        halt: Halt,
        account: &TurnAccount,
        cancel: &CancellationToken,
    ) -> Ending {
        let ending = match halt {
            Halt::Ending(ending) => ending,
            Halt::Store(error) => return Ending::RecordLost { message: error.to_string() },
            Halt::Call(error) => return Ending::RecordLost { message: error.to_string() },
            Halt::Ask(AskError::Cancelled) => Ending::Interrupted,
            Halt::Ask(error) => {
                let word = error.word().map_or("unknown", |word| word.as_str());
                Ending::Failed { error: word.to_owned(), message: error.to_string() }
            }
        };
        let kept = match &ending {
            // A rejected prompt cannot be interrupted.
            Ending::Interrupted if account.prompt_rejected => Ok(()),
            Ending::Interrupted => self.settle_calls().and_then(|()| {
                // What the user has seen of the answer is part of the conversation.
                let text = account.heard.trim_end().to_owned();
                let heard = (!text.is_empty()).then(|| vec![ContentBlock::Text { text }]);
                let message = |content: Vec<ContentBlock>| {
                    Entry::message(EntryType::Assistant, &fresh_uuid(), &content)
                };
                let heard = heard.map(message);
                let note = Entry::system(&SystemNote::Interrupted);
                let entries: Vec<Entry> = heard.into_iter().chain([note]).collect();
                self.commit(&Step { entries: &entries, ..Step::default() })
            }),
            Ending::Stopped { .. } => self.settle_calls(),
            Ending::Failed { error, message } => {
                let (error, message) = (error.clone(), message.clone());
                self.failed(&error, &message, cancel).await
            }
            _ => Ok(()),
        };
        match kept {
            Ok(()) => ending,
            Err(error) => Ending::RecordLost { message: error.to_string() },
        }
    }

    /// Fires StopFailure, which cannot change the ending.
    async fn failed(
        &mut self,
        error: &str,
        message: &str,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        let detail = HookDetail::StopFailure {
            error: StopError::from_name(error).unwrap_or(StopError::Unknown),
            error_details: Some(message.to_owned()),
            // The user reads this in place of an answer.
            last_assistant_message: Some(format!("{message} ({error})")),
        };
        let fired = self.fire(detail, cancel).await;
        let note = SystemNote::TurnFailed { error: error.to_owned(), message: message.to_owned() };
        self.commit(&Step {
            entries: &[Entry::system(&note)],
            hooks: &fired.rows,
            ..Step::default()
        })
    }
}
