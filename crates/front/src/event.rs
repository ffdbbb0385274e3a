//! Events for the front end: everything that happens, and how a turn ended.

use ona_types::{ToolUseId, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::AskRequest;

/// An event for the front end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A human has to decide; the core waits for [`Op::Answer`](crate::Op::Answer).
    Ask {
        /// The question's number.
        ask: u64,
        /// What is asked.
        request: AskRequest,
    },
    /// A turn begins.
    TurnStarted {
        /// Its number, from 1.
        turn: i64,
    },
    /// A piece of the model's text, as it comes. Nothing of it counts before [`Event::Answered`].
    Text {
        /// The piece.
        text: String,
    },
    /// A piece of the model's thinking; like text, it does not count yet.
    Thinking {
        /// The piece.
        text: String,
    },
    /// The underlying stream event, in the form of the Anthropic API for every provider.
    Stream {
        /// The event.
        raw: Value,
    },
    /// The pieces of the current answer are void: the answer starts again.
    Void,
    /// A request to the model failed and will be retried after a wait.
    Retry {
        /// Which retry that will be, from 1.
        attempt: u32,
        /// How many there may be.
        max_retries: u32,
        /// The wait.
        delay_ms: u64,
        /// The HTTP status, where there was one.
        status: Option<u16>,
        /// What went wrong.
        error: String,
    },
    /// The model's whole answer, on the record.
    Answered {
        /// As a message of the Anthropic API, for every provider.
        message: Value,
    },
    /// A call is about to pass the gate.
    ToolStarted {
        /// The call.
        id: ToolUseId,
        /// The tool.
        tool: String,
        /// Its input as the model asked for it.
        input: Value,
    },
    /// Progress of a call, as an MCP server reports it.
    ToolProgress {
        /// The call.
        id: ToolUseId,
        /// So far.
        done: f64,
        /// Of how much.
        total: Option<f64>,
        /// What is being done.
        message: Option<String>,
    },
    /// The result of a call, on the record.
    ToolEnded {
        /// The call.
        id: ToolUseId,
        /// The tool.
        tool: String,
        /// What the model is told.
        content: String,
        /// Whether it failed.
        is_error: bool,
    },
    /// A hook ran.
    HookRan {
        /// The event.
        hook_event: String,
        /// The event and the text for its matchers, such as `PreToolUse:Bash`.
        hook_name: String,
        /// What ran.
        command: String,
        /// How it exited.
        exit_code: Option<i32>,
        /// What it printed.
        stdout: String,
        /// What it printed on standard error.
        stderr: String,
    },
    /// The context is being compacted.
    Compacting {
        /// `manual` or `auto`.
        trigger: String,
    },
    /// The context was compacted.
    Compacted {
        /// `manual` or `auto`.
        trigger: String,
        /// How full it was.
        pre_tokens: u64,
    },
    /// Compaction has ended, with or without success.
    CompactingEnded,
    /// A turn is over, and on the record.
    TurnEnded {
        /// How.
        end: Box<TurnEnd>,
    },
    /// A message from the agent to the user outside its answer (Brief).
    Said {
        /// Markdown.
        message: String,
        /// Files that belong to it.
        attachments: Vec<String>,
        /// `normal`, or `proactive` if the user did not ask for it.
        status: String,
    },
    /// An event of an agent that a call started.
    OfAgent {
        /// The call.
        call: ToolUseId,
        /// What happens.
        what: Box<Event>,
    },
    /// A hook's message to the user.
    HookMessage {
        /// What it says.
        text: String,
    },
    /// A problem that stops nothing.
    Warning {
        /// What.
        text: String,
    },
}

/// Why a turn is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Ending {
    /// The model has finished its answer.
    Done,
    /// The user interrupted it.
    Interrupted,
    /// A hook blocked the prompt.
    Blocked {
        /// What it said, to the user.
        reason: String,
    },
    /// A hook or the human stopped the agent.
    Stopped {
        /// Why.
        reason: String,
    },
    /// The model cannot be reached, or does not answer.
    Failed {
        /// The word of S0 §11.
        error: String,
        /// What went wrong.
        message: String,
    },
    /// The limit of model calls is reached.
    MaxTurns {
        /// The limit.
        most: u32,
    },
    /// The budget is spent.
    MaxBudget {
        /// The budget, as the operator wrote it.
        most_usd: String,
    },
    /// The model failed to give an answer that matches the schema within the allowed attempts.
    NoAnswerThatFits {
        /// How often it tried.
        tries: u32,
        /// The error of the last attempt.
        last: String,
    },
    /// The record cannot be written.
    RecordLost {
        /// What went wrong.
        message: String,
    },
}

impl Ending {
    /// What went wrong, in words; `None` if the turn is done.
    pub fn problem(&self) -> Option<String> {
        Some(match self {
            Self::Done => return None,
            Self::Interrupted => "interrupted".to_owned(),
            Self::Blocked { reason } => format!("a hook blocked the prompt: {reason}"),
            Self::Stopped { reason } => format!("stopped: {reason}"),
            Self::Failed { error, message } => format!("{message} ({error})"),
            Self::MaxTurns { most } => {
                format!("limit reached: the model was called {}", times(*most))
            }
            Self::MaxBudget { most_usd } => format!("limit reached: {most_usd} USD spent"),
            Self::NoAnswerThatFits { tries, last } => format!(
                "the model tried {} and gave no answer that matches the schema; last error: {last}",
                times(*tries)
            ),
            Self::RecordLost { message } => format!("the record could not be written: {message}"),
        })
    }
}

/// How often something was done, in words.
pub fn times(number: u32) -> String {
    if number == 1 { "once".to_owned() } else { format!("{number} times") }
}

/// How a turn ended, and what it used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnEnd {
    /// Why it is over.
    pub ending: Ending,
    /// What the model said last.
    pub text: String,
    /// Its structured answer, if one was requested.
    pub answer: Option<Value>,
    /// The stop reason of the model's last answer, in the words of the Anthropic API.
    pub stop_reason: Option<String>,
    /// How often the model was called.
    pub asked: u32,
    /// The total time.
    pub duration_ms: u64,
    /// The time spent in model calls.
    pub api_ms: u64,
    /// Usage by model: of the turn itself, of compactions and of hooks.
    pub used: Vec<ModelUsed>,
    /// The cost, if the price is known.
    pub cost_usd: f64,
    /// Calls that were denied.
    pub denials: Vec<DeniedCall>,
}

impl TurnEnd {
    /// Combines two consecutive turns that count as one.
    #[must_use]
    pub fn after(mut self, before: Self) -> Self {
        for used in before.used {
            used.add_to(&mut self.used);
        }
        if self.text.is_empty() {
            self.text = before.text;
        }
        self.asked += before.asked;
        self.duration_ms += before.duration_ms;
        self.api_ms += before.api_ms;
        self.cost_usd += before.cost_usd;
        self.denials.splice(0..0, before.denials);
        self
    }
}

/// What was used of one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelUsed {
    /// Its wire name.
    pub model: String,
    /// Tokens.
    pub used: Usage,
    /// Their cost, if the price is known.
    pub cost_usd: f64,
    /// How many web searches the provider made.
    pub web_searches: u64,
}

impl ModelUsed {
    /// Adds to what was used of the same model.
    pub fn add_to(self, all: &mut Vec<Self>) {
        match all.iter_mut().find(|one| one.model == self.model) {
            Some(one) => {
                one.used += self.used;
                one.cost_usd += self.cost_usd;
                one.web_searches = one.web_searches.saturating_add(self.web_searches);
            }
            None => all.push(self),
        }
    }
}

/// A call that was denied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are those of the published result")]
pub struct DeniedCall {
    pub tool_name: String,
    pub tool_use_id: ToolUseId,
    pub tool_input: Value,
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_one_time_was_done_once() {
        let said = |most| Ending::MaxTurns { most }.problem().unwrap();
        assert_eq!(said(1), "limit reached: the model was called once");
        assert_eq!(said(2), "limit reached: the model was called 2 times");
    }
}
