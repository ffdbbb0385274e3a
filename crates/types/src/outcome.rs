//! What a tool hands back: S0 §7.1's classes, the model-visible text, and what the run observed.
//!
//! A tool never writes the record itself. It returns everything the record should know in one
//! [`ToolOutput`], and the engine commits that together with the `tool_result`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ContentHash, Seen, TaskId};

/// Opens the content of every `internal_failure`.
pub const INTERNAL_PREFIX: &str = "[SDLC_INTERNAL]";
/// Closes a text that was cut at its cap.
pub const TRUNCATED_SUFFIX: &str = "[SDLC_TRUNCATED]";

/// The closed error classes of S0 §7.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeClass {
    /// The tool completed its contract.
    Success,
    /// Bad input, missing path, non-zero exit, HTTP error.
    ToolRejected,
    /// The host failed: timeout, broken pipe, crash.
    InternalFailure,
}

/// A file's content that a session knows because it read or wrote the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileView {
    /// The resolved path: no `..`, no symlink.
    pub path: PathBuf,
    /// The hash of the whole file, also when only a part was seen.
    pub hash: ContentHash,
    /// How much was seen.
    pub seen: Seen,
}

/// A picture or document that belongs to a tool result or a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Attachment {
    /// A picture the model may look at.
    Image {
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        media_type: String,
        /// The bytes in base64.
        data: String,
    },
    /// A document the model may read itself.
    Document {
        /// `application/pdf`.
        media_type: String,
        /// The bytes in base64.
        data: String,
    },
    /// A picture that the provider fetches itself.
    ImageUrl {
        /// Where it is.
        url: String,
    },
    /// A document that the provider fetches itself.
    DocumentUrl {
        /// Where it is.
        url: String,
    },
}

impl Attachment {
    /// Whether it is a document, not a picture.
    pub fn is_document(&self) -> bool {
        matches!(self, Self::Document { .. } | Self::DocumentUrl { .. })
    }
}

/// The kind of a background task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// A shell command.
    Shell,
    /// An agent.
    Agent,
}

impl TaskKind {
    /// The word in the record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Agent => "agent",
        }
    }
}

/// How a background task ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskEnd {
    /// The exit code, unless a signal ended it.
    pub exit_code: Option<i32>,
    /// For commands `exited`, `signalled`, `output_limit`, `failed_to_start`, `supervisor_failed`,
    /// `supervisor_died`; for agents how their turn ended; `stopped` if the task was ended on request.
    pub reason: String,
}

impl TaskEnd {
    /// How it ended, in words.
    pub fn how(&self) -> String {
        match self.exit_code {
            Some(code) => format!("exited with code {code}"),
            None => self.reason.replace('_', " "),
        }
    }
}

/// A background task that a call has started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskStarted {
    /// The task's id, as told to the model.
    pub id: TaskId,
    /// What it is.
    pub kind: TaskKind,
    /// What runs.
    pub command: String,
    /// Where its output goes.
    pub output_path: PathBuf,
}

/// The intent a session works for from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntentSelected {
    /// The root of the workspace the intent belongs to.
    pub workspace: PathBuf,
    /// The intent.
    pub intent_id: String,
}

/// The status of a to-do item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not started.
    Pending,
    /// In progress.
    InProgress,
    /// It is done.
    Completed,
}

/// A to-do item of TodoWrite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Todo {
    /// Its id for hooks, as long as it is on the list.
    #[serde(default)]
    pub id: String,
    /// What is to be done.
    pub content: String,
    /// How far it has come.
    pub status: TodoStatus,
    /// The same in the form that is shown while it is in progress.
    pub active_form: String,
}

/// What was there when a plan was approved. The tests for it are written from this and the plan alone (S0 §8.5.1), and
/// what has changed since is what their author must not see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanBaseline {
    /// The success criteria, as JSON.
    pub criteria: String,
    /// The public contracts, as JSON.
    pub contracts: String,
    /// The commit that was checked out.
    pub commit: Option<String>,
    /// The hash of the work tree.
    pub tree_hash: ContentHash,
    /// Every file of it with its hash, packed.
    pub tree: Vec<u8>,
}

impl PlanBaseline {
    /// One hash for all of it and the plan it belongs to: a part that was changed later does not fit any more.
    pub fn seal(&self, plan_hash: &str) -> ContentHash {
        let commit = self.commit.as_deref().unwrap_or_default();
        let parts = [plan_hash, &self.criteria, &self.contracts, commit, self.tree_hash.as_str()];
        ContentHash::of(parts.join("\n").as_bytes())
    }
}

/// A change of the session (not of files) that a call makes. It is committed with the call's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The session's whole to-do list.
    Todos(Vec<Todo>),
    /// The conversation enters planning; earlier plans no longer count.
    Planning {
        /// Whether the operator called, not the agent.
        by_operator: bool,
    },
    /// A plan that is not approved yet.
    PlanSubmitted(String),
    /// A plan that a human has rejected.
    PlanRejected {
        /// Its text.
        plan: String,
        /// What is to be changed.
        reason: String,
    },
    /// A plan that a human has approved: the conversation moves on to implement it.
    PlanApproved {
        /// Its text.
        plan: String,
        /// What was there at that moment.
        baseline: Option<Box<PlanBaseline>>,
    },
    /// Tools whose definitions the model is given from now on.
    ToolsLoaded(Vec<String>),
    /// A skill the model is to follow, and what it says.
    SkillTold {
        /// Its name.
        name: String,
        /// As the model is told.
        text: String,
    },
}

/// The complete result of one tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// S0 §7.1's class; decides `is_error`.
    pub class: OutcomeClass,
    /// What the model sees.
    pub content: String,
    /// Pictures and documents beside the text.
    pub attachments: Vec<Attachment>,
    /// Files whose current content the session now knows.
    pub views: Vec<FileView>,
    /// The directory in which the session's next shell command starts, if it changed.
    pub cwd: Option<PathBuf>,
    /// A task that keeps running in the background.
    pub task: Option<TaskStarted>,
    /// The intent that the call selected for the session.
    pub intent: Option<IntentSelected>,
    /// Other changes of the session.
    pub changes: Vec<Change>,
    /// Facts for the event log that the model does not see, such as an exit code.
    pub detail: Map<String, Value>,
    /// A hook about a call that this one made wants the agent to stop, for this reason.
    pub stop: Option<String>,
}

impl ToolOutput {
    fn new(class: OutcomeClass, content: String) -> Self {
        Self {
            class,
            content,
            attachments: Vec::new(),
            views: Vec::new(),
            cwd: None,
            task: None,
            intent: None,
            changes: Vec::new(),
            detail: Map::new(),
            stop: None,
        }
    }

    /// The tool completed its contract.
    pub fn success(content: impl Into<String>) -> Self {
        Self::new(OutcomeClass::Success, content.into())
    }

    /// The tool, or the validation before it, refused.
    pub fn rejected(content: impl Into<String>) -> Self {
        Self::new(OutcomeClass::ToolRejected, content.into())
    }

    /// The host failed; only this function adds the prefix that S0 requires.
    pub fn internal(content: impl AsRef<str>) -> Self {
        let content = format!("{INTERNAL_PREFIX} {}", content.as_ref());
        Self::new(OutcomeClass::InternalFailure, content)
    }

    /// Adds a view of a file.
    #[must_use]
    pub fn with_view(mut self, view: FileView) -> Self {
        self.views.push(view);
        self
    }

    /// Adds a change.
    #[must_use]
    pub fn with_change(mut self, change: Change) -> Self {
        self.changes.push(change);
        self
    }

    /// Adds a fact for the event log.
    #[must_use]
    pub fn with_detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.detail.insert(key.to_owned(), value.into());
        self
    }

    /// Whether the call failed, as the transcript says it.
    pub fn is_error(&self) -> bool {
        self.class != OutcomeClass::Success
    }
}
