//! Events for the front end: everything that happens, and how a turn ended.

use ona_types::gate::StageName;
use ona_types::{Todo, ToolUseId, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AskRequest, CommandInfo, FileDiff, Preferences, Reply, Shown, Status, TaskInfo};

/// An event for the front end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A human has to decide; the core waits for [`Op::Answer`](crate::Op::Answer).
    Ask {
        /// The question's number.
        ask: u64,
        /// The question.
        request: Box<AskRequest>,
    },
    /// A question needs no answer any more.
    AskEnded {
        /// The question's number.
        ask: u64,
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
    /// A piece of what a command prints while it runs.
    ToolOutput {
        /// The call.
        id: ToolUseId,
        /// The piece, without secrets.
        text: String,
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
        /// Who refused it, if the gate did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused: Option<Refused>,
        /// What became of the file that it changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff: Option<FileDiff>,
        /// The exit code of a command that failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i64>,
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
    /// A session is open: the first one, or another one in its place. What was shown before belongs to the one before.
    Opened {
        /// How it came about: `startup`, `resume`, `clear` or `compact`.
        source: String,
        /// The end of its transcript, oldest first.
        entries: Vec<Shown>,
        /// Whether there are earlier entries.
        more: bool,
    },
    /// The core works on something that is not a turn.
    Busy {
        /// What, in a word or two.
        what: String,
    },
    /// The core waits for the next operation.
    Ready,
    /// The state of the session has changed.
    Status {
        /// It.
        status: Box<Status>,
    },
    /// The user's own status line has changed.
    StatusLine {
        /// What its command printed; `None` if there is none.
        text: Option<String>,
    },
    /// The user's preferences, at the start and when they change.
    Preferences {
        /// They.
        preferences: Box<Preferences>,
    },
    /// The commands of the menu, at the start and when they change.
    Commands {
        /// They, in the order of the menu.
        commands: Vec<CommandInfo>,
    },
    /// What the user has typed in this directory, oldest first.
    History {
        /// The prompts.
        prompts: Vec<String>,
    },
    /// The answer to [`Op::FindFiles`](crate::Op::FindFiles).
    Files {
        /// The text that was looked for.
        query: String,
        /// The paths, the best first.
        files: Vec<String>,
    },
    /// The answer to [`Op::Transcript`](crate::Op::Transcript).
    Transcript {
        /// The entries, oldest first.
        entries: Vec<Shown>,
        /// Whether there are earlier ones.
        more: bool,
    },
    /// The todo list has changed.
    Todos {
        /// It.
        todos: Vec<Todo>,
    },
    /// What runs in the background has changed.
    Tasks {
        /// It.
        tasks: Vec<TaskInfo>,
    },
    /// The answer to a command.
    Reply {
        /// The command's name, without the slash.
        command: String,
        /// The answer.
        reply: Reply,
    },
    /// Puts a text into the prompt, for the user to change or send.
    Input {
        /// The text.
        text: String,
    },
    /// Puts a text into the user's clipboard.
    Copy {
        /// The text.
        text: String,
    },
    /// Opens a file in the user's editor, then runs a command line if it is not empty.
    Edit {
        /// The file.
        file: String,
        /// The command line.
        then: String,
    },
    /// The front end should end.
    Exit,
}

/// Who refused a call, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The stage of the gate.
    pub stage: StageName,
    /// The reason, in one line.
    pub reason: String,
}

impl Refused {
    /// The stage and the reason, in one line.
    pub fn words(&self) -> String {
        let reason = self.reason.split_whitespace().collect::<Vec<_>>().join(" ");
        let stage = self.stage.as_str();
        match reason.starts_with("denied by ") {
            true => format!("{stage}: {reason}"),
            false => format!("denied by {stage}: {reason}"),
        }
    }
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
