//! The author of behavioural tests: a model in a session of its own, without tools, whose whole input is a brief (S0 §8.5.1).
//! It has not seen the work, and it is shown that it has not before anything is sent.

use std::time::Instant;

use ona_phases::blindness::{Basis, BlindnessError, Leak, Written};
use ona_phases::brief::{Brief, SYSTEM};
use ona_phases::generation::{Generation, Next, Outcome, counted};
use ona_phases::machine::{Missing, Work};
use ona_provider::{AskError, Block, Message, Request};
use ona_store::{NewGeneration, NewSession, Seat, Step, StoreError};
use ona_types::{ContentBlock, Entry, EntryType, Phase, SystemNote};
use tokio_util::sync::CancellationToken;

use crate::model_handle::ModelHandle;
use crate::usage::{call_row, millis};

/// The purpose of these questions on the record.
const PURPOSE: &str = "tests";

/// The origin of the author's session: nobody continues it.
const ORIGIN: &str = "subagent";

/// The most an author may say in one answer, in tokens.
const MAX_ANSWER: u32 = 32_000;

/// What is told while tests are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The input was compared with so many texts, and has none of them.
    Blind(usize),
    /// A model is asked, for the so-and-so-many-th time.
    Asked(String, usize),
    /// The author answered; so many tests can be used now.
    Answered {
        /// The tests that can be used.
        accepted: usize,
        /// Why others were refused.
        refused: Vec<String>,
    },
}

impl std::fmt::Display for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Blind(compared) => write!(
                f,
                "compared the author's input with what was written since the approval (files, commits and messages: {compared}): none is in it"
            ),
            Self::Asked(model, 1) => write!(f, "{model} is asked for tests"),
            Self::Asked(model, number) => write!(f, "{model} is asked again ({number})"),
            Self::Answered { accepted, refused } => {
                match accepted {
                    1 => f.write_str("1 test can be used")?,
                    many => write!(f, "{many} tests can be used")?,
                }
                refused.iter().try_for_each(|fault| write!(f, "\n  refused: {fault}"))
            }
        }
    }
}

/// Why there are no tests.
#[derive(Debug, thiserror::Error)]
pub enum AuthorError {
    /// The conversation is in another phase.
    #[error("tests are written in the phase test, and the conversation is in {0}")]
    OtherPhase(Phase),
    /// There is no plan, or its approval does not hold.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The author would see the work.
    #[error(transparent)]
    Leak(#[from] Leak),
    /// It cannot be shown that the author is blind.
    #[error(transparent)]
    Blindness(#[from] BlindnessError),
    /// The model cannot be asked.
    #[error("the model cannot be asked: {0}")]
    Ask(#[from] AskError),
    /// The record failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The user stopped it.
    #[error("stopped")]
    Stopped,
}

/// What came of it, and the author's session.
#[derive(Debug)]
pub struct Authored {
    /// The tests, and what is missing.
    pub outcome: Outcome,
    /// Their numbers on the record.
    pub ids: Vec<i64>,
    /// The session of the author.
    pub seat: Seat,
}

/// Has the tests of an approved plan written.
pub async fn write_tests(
    work: &Work<'_>,
    model: &ModelHandle,
    told: &(dyn Fn(Progress) + Sync),
    cancel: &CancellationToken,
) -> Result<Authored, AuthorError> {
    let (store, facts) = (work.store, work.store.test_facts(&work.conversation)?);
    let standing = store.standing(&work.conversation)?;
    let (plan, approved) = ona_phases::machine::approved_in(&facts)?;
    if standing.phase != Phase::Test {
        return Err(AuthorError::OtherPhase(standing.phase));
    }
    let brief =
        Brief { plan: &plan.content, criteria: &approved.criteria, contracts: &approved.contracts };
    let input = brief.text();
    let first = work.first_approved(plan)?;
    let first = first.as_ref().map(|(plan, approved)| Basis { plan: &plan.content, approved });
    let now = Basis { plan: &plan.content, approved: &approved };
    let written = Written::since(now, first, &work.project).await?;
    let seat = store.new_session(&NewSession {
        project_dir: &work.project.to_string_lossy(),
        conversation: Some(&work.conversation),
        id: None,
        origin: ORIGIN,
        name: None,
    })?;
    let id = store.begin_generation(&NewGeneration {
        seat: &seat,
        plan_id: plan.id,
        input: &input,
        checked: written.len(),
        entries: &[
            Entry::system(&SystemNote::Prompt { blocks: vec![SYSTEM.to_owned()] }),
            said(EntryType::User, &input),
        ],
    })?;
    let mut author = Author { work, model, seat: &seat, messages: Vec::new() };
    let done = author.go(&approved.criteria, &written, input, told, cancel).await;
    match done {
        Ok(outcome) => {
            let detail = summary(&outcome);
            let word = if outcome.uncovered.is_empty() { "done" } else { "failed" };
            let ids = store.end_generation(id, word, &detail, &outcome.tests)?;
            Ok(Authored { outcome, ids, seat })
        }
        Err(error) => {
            let word = match &error {
                AuthorError::Leak(_) | AuthorError::Stopped => "stopped",
                _ => "failed",
            };
            store.end_generation(id, word, &error.to_string(), &[])?;
            Err(error)
        }
    }
}

/// An author at work.
struct Author<'a> {
    work: &'a Work<'a>,
    model: &'a ModelHandle,
    seat: &'a Seat,
    messages: Vec<Message>,
}

impl Author<'_> {
    async fn go(
        &mut self,
        criteria: &[ona_phases::criteria::Criterion],
        written: &Written,
        input: String,
        told: &(dyn Fn(Progress) + Sync),
        cancel: &CancellationToken,
    ) -> Result<Outcome, AuthorError> {
        written.check(&format!("{SYSTEM}\n{input}"))?;
        told(Progress::Blind(written.len()));
        let mut generation = Generation::new(criteria);
        let mut asked = input;
        let mut is_first = true;
        loop {
            told(Progress::Asked(self.model.model.wire.clone(), generation.attempts() + 1));
            let answer = self.ask(asked, is_first, cancel).await?;
            is_first = false;
            let next = generation.take(&answer);
            told(Progress::Answered {
                accepted: generation.accepted(),
                refused: generation.refused().to_vec(),
            });
            match next {
                Next::Done(outcome) => return Ok(outcome),
                Next::Ask(reply) => {
                    written.check_reply(&reply, generation.answers())?;
                    asked = reply;
                }
            }
        }
    }

    /// Asks once. What is asked is on the record before it is sent, and the answer before it is used.
    async fn ask(
        &mut self,
        text: String,
        is_recorded: bool,
        cancel: &CancellationToken,
    ) -> Result<String, AuthorError> {
        let store = self.work.store;
        if !is_recorded {
            let entries = [said(EntryType::User, &text)];
            store.keep_step(self.seat, &Step { entries: &entries, ..Step::default() })?;
        }
        self.messages.push(Message::user(&text));
        let most = MAX_ANSWER.min(self.model.max_output);
        let mut request = Request::new(&self.model.model.wire, most);
        request.system = vec![SYSTEM.to_owned()];
        request.messages = self.messages.clone();
        let started = Instant::now();
        let answer = match self.model.client.ask(&request, &mut |_| (), cancel).await {
            Err(_) if cancel.is_cancelled() => return Err(AuthorError::Stopped),
            answer => answer?,
        };
        let call = call_row(self.model, PURPOSE, &answer, millis(started));
        let text = answer.text();
        let entries = [said(EntryType::Assistant, &text)];
        store.keep_step(
            self.seat,
            &Step { entries: &entries, model_call: Some(&call), ..Step::default() },
        )?;
        let mut said = Message::assistant(&answer);
        if said.content.is_empty() {
            // No provider takes an empty message back.
            said.content.push(Block::Text("(no answer)".to_owned()));
        }
        self.messages.push(said);
        Ok(text)
    }
}

fn said(kind: EntryType, text: &str) -> Entry {
    Entry::message(kind, "", &[ContentBlock::Text { text: text.to_owned() }])
}

fn summary(outcome: &Outcome) -> String {
    let mut text = counted(outcome.tests.len(), outcome.attempts);
    if !outcome.uncovered.is_empty() {
        text.push_str(&format!("; without a test: {}", outcome.uncovered.join(", ")));
    }
    for fault in &outcome.refused {
        text.push_str(&format!("\nrefused: {fault}"));
    }
    text
}
