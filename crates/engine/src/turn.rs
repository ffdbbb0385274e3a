//! One turn (S0 §2.5): a prompt, answers and calls in their order, and an end. Every step is committed before
//! the next one begins, so a crash loses nothing that was shown.

use std::collections::HashMap;
use std::time::Instant;

use ona_front::{DeniedCall, Ending, Event, ModelUsed, TurnEnd};
use ona_hooks::Fired;
use ona_provider::{Answer, AskError, Block, Live, StopReason};
use ona_store::{ModelCall, Step, StoreError};
use ona_types::hook::{HookDetail, StopError};
use ona_types::{
    Attachment, ContentBlock, Entry, EntryType, SystemNote, ToolUseId, Usage, fresh_uuid,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::compact::CompactError;
use crate::context_room::Squeeze;
use crate::identity;
use crate::model_context::NOT_RUN;
use crate::partial::Partial;
use crate::skills::Called;
use crate::structured::{ShapedAnswer, Unanswered};
use crate::usage::{millis, taken, used};
use ona_gate::call::CallError;

/// Told where an answer ends in `refusal` or `content_filter`.
const REFUSED: &str = "the model, or a filter before it, refused to answer; what was asked stays in the session: put it \
     otherwise, or go on from before it (--fork-session --at)";

/// A tool's name as every provider takes it back. One that had to be changed is the name of no tool.
fn usable_name(name: &str) -> String {
    let usable = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = name.chars().take(64).map(usable).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

/// The inputs of an answer's calls, as the model wrote them.
fn inputs(answer: &Answer) -> HashMap<ToolUseId, Value> {
    let calls = answer.content.iter().filter_map(|block| match block {
        Block::ToolUse { id, input, .. } => Some((id.clone(), input.to_object())),
        _ => None,
    });
    calls.collect()
}

/// What a turn has taken so far.
#[derive(Default)]
pub(crate) struct Account {
    asked: u32,
    api_ms: u64,
    used: Vec<ModelUsed>,
    pub(crate) denials: Vec<DeniedCall>,
    text: String,
    pub(crate) answer: ShapedAnswer,
    stop_reason: Option<String>,
    /// The prompt was not taken.
    unheard: bool,
}

/// What answers had used that broke off, by what the server said until then.
#[derive(Default)]
struct Cuts {
    now: Usage,
    before: Vec<Usage>,
}

impl Cuts {
    fn hear(&mut self, live: &Live<'_>) {
        match live {
            Live::Raw(raw) => {
                let (at_first, so_far) = (&raw["message"]["usage"], &raw["usage"]);
                for (name, figure) in [
                    ("input_tokens", &mut self.now.input_tokens),
                    ("output_tokens", &mut self.now.output_tokens),
                    ("cache_creation_input_tokens", &mut self.now.cache_creation_input_tokens),
                    ("cache_read_input_tokens", &mut self.now.cache_read_input_tokens),
                ] {
                    let said = so_far[name].as_u64().or(at_first[name].as_u64());
                    *figure = said.unwrap_or(*figure);
                }
            }
            Live::Void => self.before.push(std::mem::take(&mut self.now)),
            _ => {}
        }
    }

    /// All of them; the last one is none if it became an answer.
    fn all(mut self, answered: bool) -> Vec<Usage> {
        if !answered {
            self.before.push(self.now);
        }
        self.before.retain(|used| *used != Usage::default());
        self.before
    }
}

/// Why a turn ended other than by having nothing more to do.
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
    /// Runs a turn to its end, and tells of it.
    pub(crate) async fn turn(
        &mut self,
        prompt: Option<(String, Vec<Attachment>)>,
        cancel: &CancellationToken,
    ) -> TurnEnd {
        self.sent_back = 0;
        self.further(prompt, cancel).await
    }

    /// The same where hooks have sent the model back: how often is counted on.
    pub(crate) async fn further(
        &mut self,
        prompt: Option<(String, Vec<Attachment>)>,
        cancel: &CancellationToken,
    ) -> TurnEnd {
        let started = Instant::now();
        let mut account = Account::default();
        self.squeeze = Squeeze::default();
        let ending = match self.steps(prompt, &mut account, cancel).await {
            Ok(()) => Ending::Done,
            Err(halt) => self.halted(halt, &account, cancel).await,
        };
        self.clear_skills();
        // Nobody would hear of those that still work.
        if ending != Ending::Done && self.session.side.identity.is_none() {
            self.dismiss().await;
        }
        if self.session.side.identity.is_none() {
            account.denials.extend(self.session.side.take_denials());
        }
        for used in self.model_handle.take_aside() {
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
            // The sum of nothing would be -0.0.
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
        self.keep(&Step { event: Some(("turn.ended", &detail)), ..Step::default() })
    }

    async fn steps(
        &mut self,
        prompt: Option<(String, Vec<Attachment>)>,
        account: &mut Account,
        cancel: &CancellationToken,
    ) -> Result<(), Halt> {
        match prompt {
            Some((prompt, attachments)) => {
                self.submit(&prompt, &attachments, account, cancel).await?;
            }
            // What was asked for before the cut and never started is started now.
            None => self.finish_calls(account, cancel).await?,
        }
        if !self.thread.awaits_answer() {
            // What the last turn came to can be had again.
            let given = self.options.shape.as_ref().and_then(|_| self.thread.shaped_answer());
            account.answer.given = account.answer.given.take().or(given);
            if account.answer.given.is_none() {
                self.warn("there is nothing to go on with: the last turn is finished".to_owned());
            }
            return Ok(());
        }
        let mut compacted = false;
        loop {
            self.heed_tasks(cancel).await?;
            self.heed_servers().await?;
            self.heed_files(cancel).await?;
            self.check_limits(account)?;
            let spent = self.spent();
            self.make_room(cancel).await?;
            // A summary costs too, and every question is asked within the budget.
            if self.spent() > spent {
                self.check_limits(account)?;
            }
            let stop_reason = match self.ask(account, cancel).await {
                Err(Halt::Ask(AskError::ContextTooLong(failure)))
                    if !compacted && !self.options.room.disabled =>
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
                // What it wanted to do before that is not done.
                self.settle_calls()?;
                return Err(Halt::Ending(Ending::Failed {
                    error: StopError::InvalidRequest.as_str().to_owned(),
                    message: REFUSED.to_owned(),
                }));
            }
            let called = !self.thread.unanswered().is_empty();
            self.finish_calls(account, cancel).await?;
            // An answer of the shape that was asked for is the last word, if nobody has anything to say to it.
            let answered = self.thread.shaped_answer().is_some();
            if !answered && (called || stop_reason == StopReason::PauseTurn) {
                self.after_calls(&mut account.answer).map_err(Halt::Ending)?;
                continue;
            }
            if !answered && stop_reason == StopReason::MaxTokens {
                return Err(Halt::Ending(Ending::Failed {
                    error: StopError::MaxOutputTokens.as_str().to_owned(),
                    message: "the answer was cut off at the limit of output tokens".to_owned(),
                }));
            }
            if self.still_owes(&mut account.answer)? {
                continue;
            }
            let said = match &account.answer.given {
                Some(answer) => answer.to_string(),
                None => account.text.clone(),
            };
            if !self.is_sent_back(&said, cancel).await? && !self.wait_for_agents(cancel).await {
                return Ok(());
            }
        }
    }

    /// Step 3: hooks may keep a prompt from being heard at all.
    async fn submit(
        &mut self,
        prompt: &str,
        attachments: &[Attachment],
        account: &mut Account,
        cancel: &CancellationToken,
    ) -> Result<(), Halt> {
        // What a turn that was cut short never came to is not run behind the user's back now.
        self.settle_calls()?;
        self.heed_settings(cancel).await?;
        self.heed_skills(cancel).await?;
        self.turn += 1;
        self.session.gate.front.tell(Event::TurnStarted { turn: self.turn });
        let fired = match &self.session.side.identity {
            // No user said it.
            Some(_) => Fired::default(),
            None => {
                let detail = HookDetail::UserPromptSubmit { prompt: prompt.to_owned() };
                self.fire(detail, cancel).await
            }
        };
        let refused = fired.denies().then(|| fired.denial());
        if refused.is_some() || fired.stop.is_some() || cancel.is_cancelled() {
            self.turn -= 1;
            account.unheard = true;
            let reason = refused.or(fired.stop.clone()).unwrap_or_default();
            let detail = json!({"reason": reason});
            let event = Some(("turn.blocked", &detail));
            self.keep(&Step { hooks: &fired.rows, event, ..Step::default() })?;
            return Err(Halt::Ending(match (cancel.is_cancelled(), fired.stop) {
                (true, _) => Ending::Interrupted,
                (false, Some(reason)) => Ending::Stopped { reason },
                (false, None) => Ending::Blocked { reason },
            }));
        }
        let said = match self.session.view().called_by(prompt, cancel).await {
            Ok(Called::Nothing) => prompt.to_owned(),
            Ok(Called::Prompt(text)) => text,
            Ok(Called::Skill(skill, text)) => {
                self.apply_skill(&skill);
                text
            }
            Err(error) => {
                let reason = error.to_string();
                self.turn -= 1;
                account.unheard = true;
                let detail = json!({"reason": reason});
                let event = Some(("turn.blocked", &detail));
                self.keep(&Step { hooks: &fired.rows, event, ..Step::default() })?;
                let error = StopError::InvalidRequest.as_str().to_owned();
                return Err(Halt::Ending(Ending::Failed { error, message: reason }));
            }
        };
        let text = self.session.gate.governance.redactor.mask_live(&said).into_owned();
        let first = self.initial.take().map(|text| ContentBlock::Text { text });
        let said: Vec<ContentBlock> =
            first.into_iter().chain([ContentBlock::Text { text }]).collect();
        let provider = self.model_handle.model.provider;
        if !provider.takes_documents() && attachments.iter().any(Attachment::is_document) {
            self.warn(format!(
                "{provider} takes no documents: the model is told that one is left out"
            ));
        }
        // Models look first and are told then.
        let mut entries: Vec<Entry> = attachments.iter().map(Entry::shown).collect();
        entries.push(Entry::message(EntryType::User, &fresh_uuid(), &said));
        entries.extend(self.contexts(&fired.contexts, "UserPromptSubmit hook"));
        let detail = json!({"turn": self.turn});
        let event = Some(("turn.started", &detail));
        Ok(self.keep(&Step { entries: &entries, hooks: &fired.rows, event, ..Step::default() })?)
    }

    fn check_limits(&self, account: &Account) -> Result<(), Halt> {
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

    /// Steps 4 and 5: asks the model, and commits what it answers.
    async fn ask(
        &mut self,
        account: &mut Account,
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
        let (mut cuts, mut pieces) = (Cuts::default(), Partial::default());
        let mut listen = |live: Live<'_>| {
            cuts.hear(&live);
            let event = match live {
                Live::Text(text) => Event::Text { text: masked(text) },
                Live::Thinking(text) => Event::Thinking { text: masked(text) },
                Live::Raw(raw) if partial => {
                    for raw in pieces.pass(raw, redactor) {
                        front.tell(Event::Stream { raw });
                    }
                    return;
                }
                Live::Void => {
                    pieces.forget();
                    Event::Void
                }
                Live::Retry { attempt, max_retries, delay, status, error } => Event::Retry {
                    attempt,
                    max_retries,
                    delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                    status,
                    error: error.to_owned(),
                },
                Live::Started { .. } | Live::ToolInput { .. } | Live::Raw(_) => return,
            };
            front.tell(event);
        };
        account.asked += 1;
        let answer = self.model_handle.client.ask(&request, &mut listen, cancel).await;
        let duration_ms = millis(started);
        account.api_ms += duration_ms;
        let cuts = cuts.all(answer.is_ok());
        self.keep_cuts(&cuts, account)?;
        let mut answer = answer?;
        self.make_ids_unique(&mut answer)?;
        let call = self.model_call(&answer, "turn", duration_ms);
        self.account(&call, account);
        let entries = self.entries(&answer);
        self.inputs = inputs(&answer);
        self.keep(&Step { entries: &entries, model_call: Some(&call), ..Step::default() })?;
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

    /// What came before the stream broke off was read, and is paid for, though nothing of it counts.
    fn keep_cuts(&mut self, cuts: &[Usage], account: &mut Account) -> Result<(), StoreError> {
        for cut in cuts {
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
            used(&call).add_to(&mut account.used);
            self.keep(&Step { model_call: Some(&call), ..Step::default() })?;
        }
        Ok(())
    }

    fn account(&mut self, call: &ModelCall, account: &mut Account) {
        self.model_handle.budget.spend(call.cost_usd.unwrap_or_default());
        used(call).add_to(&mut account.used);
        self.context_tokens = call.used.context_tokens();
        let full = self.is_full();
        self.squeeze.measured(full);
    }

    /// The row that says what a question took.
    pub(crate) fn model_call(
        &self,
        answer: &Answer,
        purpose: &'static str,
        duration_ms: u64,
    ) -> ModelCall {
        let mut call = taken(&self.model_handle, purpose, answer, duration_ms);
        let redactor = self.session.gate.redactor();
        for text in [&mut call.stop_reason, &mut call.response_id] {
            *text = redactor.mask_live(text).into_owned();
        }
        ModelCall { turn: self.turn, ..call }
    }

    /// An id names one call on the whole record; some servers begin again with every answer.
    fn make_ids_unique(&self, answer: &mut Answer) -> Result<(), StoreError> {
        for block in &mut answer.content {
            if let Block::ToolUse { id, .. } = block
                && (self.session.gate.store().knows_call(id)?
                    || self.session.gate.governance.redactor.mask_live(id.as_str()) != id.as_str())
            {
                *id = ToolUseId::generate();
            }
        }
        Ok(())
    }

    /// An answer as the record keeps it (Appendix C). What only the provider understands stands before it.
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

    /// Gives every call that will not be run any more its result, so that the transcript is whole.
    fn settle_calls(&mut self) -> Result<(), StoreError> {
        let mut entries = Vec::new();
        for id in self.thread.unanswered() {
            let Some((tool, input)) = self.thread.call(&id) else { continue };
            entries.push(Entry::tool_use(&id, tool, &Value::Object(input.clone())));
            entries.push(Entry::tool_result(&id, NOT_RUN, true));
        }
        if entries.is_empty() {
            return Ok(());
        }
        self.keep(&Step { entries: &entries, ..Step::default() })
    }

    /// A file that was read may bring instructions in.
    pub(crate) async fn heed_nested(
        &mut self,
        file: &str,
        cancel: &CancellationToken,
    ) -> Result<(), Halt> {
        let Ok(path) = ona_files::resolve(&self.session.gate.place().cwd, file) else {
            return Ok(());
        };
        self.heed_skills_near(&path)?;
        let Some(conditional) = &mut self.conditional else { return Ok(()) };
        let loaded = conditional.on_read(&path);
        for warning in &loaded.warnings {
            self.warn(warning.to_string());
        }
        if loaded.instructions.is_empty() {
            return Ok(());
        }
        let mut hooks = Vec::new();
        let entry = self.instructed(&loaded.instructions, &mut hooks, cancel).await;
        Ok(self.keep(&Step { entries: entry.as_slice(), hooks: &hooks, ..Step::default() })?)
    }

    /// Stop hooks may send the model back to work, unless they have done so too often: one that never lets it
    /// stop would have it asked for ever.
    async fn is_sent_back(&mut self, text: &str, cancel: &CancellationToken) -> Result<bool, Halt> {
        let last_assistant_message = (!text.is_empty()).then(|| text.to_owned());
        let before = self.sent_back > 0;
        let detail = match &self.session.side.identity {
            Some(identity) => identity::stopped(identity, before, last_assistant_message),
            None => HookDetail::Stop { stop_hook_active: before, last_assistant_message },
        };
        let event = detail.event().as_str();
        let from = format!("{event} hook");
        let fired = self.fire(detail, cancel).await;
        if let Some(reason) = fired.stop.clone() {
            self.keep(&Step { hooks: &fired.rows, ..Step::default() })?;
            return Err(Halt::Ending(Ending::Stopped { reason }));
        }
        let entries = self.contexts(&fired.contexts, &from);
        self.keep(&Step { entries: &entries, hooks: &fired.rows, ..Step::default() })?;
        if !fired.denies() || !self.goes_back(event, &fired)? {
            return Ok(false);
        }
        let entries = self.contexts(&[fired.denial()], &from);
        self.keep(&Step { entries: &entries, ..Step::default() })?;
        Ok(!cancel.is_cancelled())
    }

    /// Whether hooks that hear of its end may send the model back once more.
    pub(crate) fn goes_back(&mut self, event: &str, fired: &Fired) -> Result<bool, StoreError> {
        let before = self.sent_back;
        if self.options.max_sent_back.is_none_or(|most| before < most) {
            self.sent_back += 1;
            return Ok(true);
        }
        let reason = fired.denial();
        let detail =
            json!({"turn": self.turn, "sent_back": before, "hook": event, "reason": reason});
        self.keep(&Step { event: Some(("stop.overruled", &detail)), ..Step::default() })?;
        self.warn(format!(
            "{event} hooks would send the model back once more; it was sent back {}, which is the limit \
             (CLAUDE_CODE_STOP_HOOK_BLOCK_CAP): the turn ends against their word: {reason}",
            ona_front::times(before)
        ));
        Ok(false)
    }

    /// What is left to do when a turn ends before its time.
    async fn halted(
        &mut self,
        halt: Halt,
        account: &Account,
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
            // Of what was never heard, nothing was interrupted.
            Ending::Interrupted if account.unheard => Ok(()),
            Ending::Interrupted => self.settle_calls().and_then(|()| {
                let entries = [Entry::system(&SystemNote::Interrupted)];
                self.keep(&Step { entries: &entries, ..Step::default() })
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

    /// StopFailure hooks hear of it; they cannot change it.
    async fn failed(
        &mut self,
        error: &str,
        message: &str,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        let detail = HookDetail::StopFailure {
            error: StopError::from_name(error).unwrap_or(StopError::Unknown),
            error_details: Some(message.to_owned()),
            // Where an answer would stand, the user reads this.
            last_assistant_message: Some(format!("{message} ({error})")),
        };
        let fired = self.fire(detail, cancel).await;
        let note = SystemNote::TurnFailed { error: error.to_owned(), message: message.to_owned() };
        self.keep(&Step { entries: &[Entry::system(&note)], hooks: &fired.rows, ..Step::default() })
    }
}
