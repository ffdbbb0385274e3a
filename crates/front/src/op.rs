//! Operations that a front end sends to the core, and the human's answers.

use ona_types::gate::StageName;
use ona_types::{Attachment, Behavior, PermissionUpdate, RuleValue, UpdateDestination};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::FileDiff;

/// An operation for the core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    /// A prompt of the human: starts a turn.
    Submit {
        /// The prompt.
        prompt: String,
        /// Images and documents.
        #[serde(default)]
        attachments: Vec<Attachment>,
        /// Whether files that it names with `@` are attached.
        #[serde(default)]
        mentions: bool,
    },
    /// A line that begins with a slash: a command of ona, a skill, a custom command, or a prompt of an MCP server.
    Command {
        /// The line.
        line: String,
    },
    /// A command line of the user's own (`!`). It passes the gate as the operator's call.
    Shell {
        /// The command line.
        command: String,
    },
    /// Something to remember (`#`).
    Remember {
        /// The memory.
        text: String,
    },
    /// Switches to the next permission mode.
    CycleMode,
    /// Switches thinking on or off.
    ToggleThinking,
    /// Moves what is running into the background.
    Background,
    /// Stops the agents in the background.
    StopAgents,
    /// Looks for files whose path resembles a text; answered with [`Event::Files`](crate::Event::Files).
    FindFiles {
        /// The text.
        query: String,
    },
    /// Asks for a part of the transcript; answered with [`Event::Transcript`](crate::Event::Transcript).
    Transcript {
        /// The entries before this one; the latest ones if `None`.
        before: Option<i64>,
    },
    /// Adds to the history of the directory what the user has typed.
    Typed {
        /// The text.
        text: String,
    },
    /// The mode of the prompt's editor is another one; `None` without vim keys.
    VimMode {
        /// The mode, as vim names it.
        mode: Option<String>,
    },
    /// The front end has waited for the user for a while: Notification hooks are told.
    Waiting,
    /// Continues an interrupted turn.
    Continue,
    /// Compacts the model's context.
    Compact {
        /// Instructions for the summary.
        instructions: Option<String>,
    },
    /// Ends the session.
    End,
    /// An answer of the human.
    Answer {
        /// The question.
        ask: u64,
        /// The answer.
        answer: HumanAnswer,
    },
    /// Stops the running operation.
    Interrupt,
    /// Stops the running operation and drops the queued ones.
    Quit,
}

/// What a question wants of the human.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wants {
    /// Whether the call may run.
    Permission,
    /// Answers to the questions in the input.
    Answers,
    /// Values for the form of an MCP server, which is in the input.
    Form,
    /// Whether the folder in the input is trusted: what would run, and what else would take effect.
    Trust,
    /// Whether to go on without the guards in the input, which cannot be read.
    Unread,
    /// The code of a sign-in, whose address is in the input.
    Code,
}

/// What a stage of the gate has said about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageAnswer {
    /// The stage.
    pub stage: StageName,
    /// Its verdict, in `ona why`'s words.
    pub verdict: String,
    /// The reason.
    pub reason: String,
}

/// A question to the human.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskRequest {
    /// What is wanted of them.
    pub wants: Wants,
    /// The tool.
    pub tool: String,
    /// Its input, after hooks.
    pub input: Value,
    /// Why it asks.
    pub reason: String,
    /// The stage of the gate that asks; `None` if it is not about a call.
    #[serde(default)]
    pub stage: Option<StageName>,
    /// What the stages have said so far.
    #[serde(default)]
    pub answers: Vec<StageAnswer>,
    /// The directory in which the call would run.
    #[serde(default)]
    pub place: String,
    /// What would become of the file that it changes.
    #[serde(default)]
    pub diff: Option<FileDiff>,
    /// What a check of the input has found, such as whether a plan has success criteria.
    #[serde(default)]
    pub checks: Vec<String>,
    /// The success criteria of a plan, as they were read.
    #[serde(default)]
    pub criteria: Vec<String>,
    /// Names in the call that are links, and where they lead.
    #[serde(default)]
    pub links: Vec<String>,
    /// Rules that would answer it from now on.
    pub suggestions: Vec<RuleValue>,
    /// The file that an "always" is written to.
    #[serde(default)]
    pub always_in: String,
    /// The agent that asks, if it is not the main one.
    #[serde(default)]
    pub agent: Option<String>,
}

impl AskRequest {
    /// A question with nothing but what is wanted, of which tool, and why.
    pub fn new(
        wants: Wants,
        tool: impl Into<String>,
        input: Value,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            wants,
            tool: tool.into(),
            input,
            reason: reason.into(),
            stage: None,
            answers: Vec::new(),
            place: String::new(),
            diff: None,
            checks: Vec::new(),
            criteria: Vec::new(),
            links: Vec::new(),
            suggestions: Vec::new(),
            always_in: String::new(),
            agent: None,
        }
    }

    /// The answer "always": yes, and the suggested rules are kept in the local settings.
    pub fn always(&self) -> HumanAnswer {
        let update = PermissionUpdate::AddRules {
            rules: self.suggestions.clone(),
            behavior: Behavior::Allow,
            destination: UpdateDestination::LocalSettings,
        };
        HumanAnswer::Allow { always: vec![update], input: None }
    }
}

/// An answer of the human.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "behavior", rename_all = "lowercase")]
pub enum HumanAnswer {
    /// Yes, with permission updates to keep.
    Allow {
        /// Permission updates.
        always: Vec<PermissionUpdate>,
        /// The input to run instead, such as the same questions with answers.
        #[serde(default)]
        input: Option<Value>,
    },
    /// No, with a message for the model.
    Deny {
        /// The message.
        feedback: String,
        /// Whether the agent should stop altogether.
        stop: bool,
    },
    /// No answer: nobody could be asked.
    Unasked {
        /// Why not.
        why: String,
    },
}

impl HumanAnswer {
    /// Yes, once.
    pub fn yes() -> Self {
        Self::Allow { always: Vec::new(), input: None }
    }

    /// No with a reason; the agent may continue.
    pub fn no(feedback: impl Into<String>) -> Self {
        Self::Deny { feedback: feedback.into(), stop: false }
    }

    /// Nobody could be asked.
    pub fn unasked(why: impl Into<String>) -> Self {
        Self::Unasked { why: why.into() }
    }
}
