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
        /// The question.
        request: AskRequest,
    },
    /// A turn begins.
    TurnStarted {
        /// Its number, from 1.
        turn: i64,
    },
    /// A piece of the model's text. It is not final before [`Event::Answered`].
    Text {
        /// The piece.
        text: String,
    },
    /// A piece of the model's thinking; not final either.
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
        /// The number of the retry, from 1.
        attempt: u32,
        /// The maximum number of retries.
        max_retries: u32,
        /// The wait.
        delay_ms: u64,
        /// The HTTP status, if any.
        status: Option<u16>,
        /// The error.
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
        /// Its input, as the model sent it.
        input: Value,
    },
    /// Progress of a call, as an MCP server reports it.
    ToolProgress {
        /// The call.
        id: ToolUseId,
        /// The progress so far.
        done: f64,
        /// The total.
        total: Option<f64>,
        /// A description.
        message: Option<String>,
    },
    /// The result of a call, on the record.
    ToolEnded {
        /// The call.
        id: ToolUseId,
        /// The tool.
        tool: String,
        /// The result for the model.
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
        /// The command.
        command: String,
        /// Its exit code.
        exit_code: Option<i32>,
        /// Its standard output.
        stdout: String,
        /// Its standard error.
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
        /// The size of the context before.
        pre_tokens: u64,
    },
    /// Compaction has ended, with or without success.
    CompactingEnded,
    /// A turn has ended and is on the record.
    TurnEnded {
        /// Its end.
        end: Box<TurnEnd>,
    },
    /// A message from the agent to the user outside its answer (Brief).
    Said {
        /// Markdown.
        message: String,
        /// Attached files.
        attachments: Vec<String>,
        /// `normal`, or `proactive` if the user did not ask for it.
        status: String,
    },
    /// An event of a subagent.
    OfAgent {
        /// The call.
        call: ToolUseId,
        /// The event.
        what: Box<Event>,
    },
    /// A hook's message to the user.
    HookMessage {
        /// The message.
        text: String,
    },
    /// A warning.
    Warning {
        /// The text.
        text: String,
    },
}

/// Why a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Ending {
    /// The model has finished its answer.
    Done,
    /// The user interrupted it.
    Interrupted,
    /// A hook blocked the prompt.
    Blocked {
        /// The reason, for the user.
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
        /// The error.
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
        /// The number of attempts.
        tries: u32,
        /// The error of the last attempt.
        last: String,
    },
    /// The record cannot be written.
    RecordLost {
        /// The error.
        message: String,
    },
}

impl Ending {
    /// The problem as text; `None` if the turn is done.
    pub fn problem(&self) -> Option<String> {
        Some(match self {
            Self::Done => return None,
            Self::Interrupted => "interrupted".to_owned(),
            Self::Blocked { reason } => format!("a hook blocked the prompt: {reason}"),
            Self::Stopped { reason } => format!("stopped: {reason}"),
            Self::Failed { error, message } => format!("{message} ({error})"),
            Self::MaxTurns { most } => {
                format!("limit reached: {most} model call{}", if *most == 1 { "" } else { "s" })
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
    /// Why it ended.
    pub ending: Ending,
    /// The model's last text.
    pub text: String,
    /// Its structured answer, if one was requested.
    pub answer: Option<Value>,
    /// The stop reason of the model's last answer, in the words of the Anthropic API.
    pub stop_reason: Option<String>,
    /// The number of model calls.
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

/// The usage of one model.
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
    /// Adds this usage to that of the same model.
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
        assert_eq!(said(1), "limit reached: 1 model call");
        assert_eq!(said(2), "limit reached: 2 model calls");
    }
}
