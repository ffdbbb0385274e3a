//! Services of the session that tools need: the record, models, the user, agents, servers.
//!
//! A tool has no direct access to the record, a model or the user. It asks through this trait, and
//! the session answers. Methods that start something take the call's permit.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use ona_mcp::{OnProgress, Pool};
use ona_types::gate::Permit;
use ona_types::{Phase, TaskEnd, TaskKind, TaskStarted, Todo, ToolOutput, ToolUseId};
use ona_web::{WebFound, WebQuery, WebSearchSettings};
use tokio_util::sync::CancellationToken;

use crate::facts::AlsoRuled;

/// An answer of the session's, to be awaited.
pub type Waits<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Why the session could not do something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ServiceError(pub String);

impl ServiceError {
    /// Of another error, in its words.
    pub fn of(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// The call on whose behalf the session acts.
#[derive(Clone, Copy, Debug)]
pub struct Calling<'a> {
    /// The permit for the call.
    pub permit: &'a Permit,
    /// The call's id.
    pub id: &'a ToolUseId,
    /// Cancelled when the user interrupts.
    pub cancel: &'a CancellationToken,
}

/// What a session knows of a type of agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentType {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Whether it works in the background if the call does not say.
    pub background: bool,
}

/// What a session knows of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillView {
    /// Whether it only instructs: it adds no permissions and no hooks.
    pub only_instructs: bool,
    /// The type of agent that it runs in, where it runs in one of its own.
    pub agent_type: Option<String>,
}

/// A background task, running or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskView {
    /// Its id.
    pub id: String,
    /// What it is.
    pub kind: TaskKind,
    /// What runs, or what it is for.
    pub command: String,
    /// Where its output is.
    pub output_path: PathBuf,
    /// How it ended; `None` while it is running.
    pub end: Option<TaskEnd>,
    /// Its relation to the caller.
    pub whose: Whose,
}

/// The relation of a task to the agent that asks about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The caller's own, or of an agent it has started; for the main agent, every task of the conversation.
    Own,
    /// Of the agent that started the caller, or of another agent that it started.
    Callers,
    /// The caller itself.
    Itself,
}

/// A request to start an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentOrder {
    /// In a few words.
    pub description: String,
    /// What it is to do.
    pub prompt: String,
    /// Which kind of agent.
    pub subagent_type: String,
    /// The model, where the caller wants a certain one.
    pub model: Option<String>,
    /// Whether it runs in the background; the agent type's default if not given.
    pub background: Option<bool>,
    /// Its name, so that a later call can continue it.
    pub name: Option<String>,
    /// Whether it works in a worktree of its own.
    pub worktree: bool,
    /// The requested permission mode; it can only be stricter.
    pub mode: Option<String>,
}

/// A tool that the model sees only after a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deferred {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
}

/// `webFetch` of the settings in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebFetchSettings {
    /// Whether a model answers the prompt about a page; otherwise the page itself is shown.
    pub summarize: bool,
    /// Hosts that may be fetched from although their addresses are not public.
    pub private_hosts: Vec<String>,
}

/// Is told of a piece of output.
pub type OnOutput = Arc<dyn Fn(&str) + Send + Sync>;

/// Records the end of a task.
pub type TaskEnded = Box<dyn FnOnce(TaskEnd) + Send>;

/// The session's side of a call.
pub trait SessionServices: Send + Sync {
    /// How pages are fetched.
    fn web_fetch(&self) -> WebFetchSettings;

    /// Which backend searches the web.
    fn web_search(&self) -> WebSearchSettings;

    /// Whether the operator calls the tool directly.
    fn is_operators_call(&self) -> bool;

    /// The session's list of things to do.
    fn todos(&self) -> Result<Vec<Todo>, ServiceError>;

    /// Where the conversation stands.
    fn phase(&self) -> Result<Phase, ServiceError>;

    /// Shows the user something beside the answer.
    fn say(&self, message: &str, attachments: &[PathBuf], status: &str);

    /// A background task of this conversation.
    fn task(&self, id: &str) -> Result<Option<TaskView>, ServiceError>;

    /// Those that are running.
    fn running_tasks(&self) -> Result<Vec<TaskView>, ServiceError>;

    /// Ends one.
    fn stop_task<'a>(&'a self, task: &'a TaskView) -> Waits<'a, Result<(), ServiceError>>;

    /// The types of agents that can be started here.
    fn agent_types(&self) -> Vec<AgentType>;

    /// Whether an agent of this type can be started here, or why not.
    fn may_start(&self, agent_type: &str) -> Result<(), ServiceError>;

    /// The type of the agent that this session has given a name.
    fn type_of_agent(&self, name: &str) -> Option<String>;

    /// Has an agent do something.
    fn agent<'a>(&'a self, order: AgentOrder, call: Calling<'a>) -> Waits<'a, ToolOutput>;

    /// What is known of a skill, or why it cannot be applied here.
    fn skill_view(&self, name: &str) -> Result<SkillView, ServiceError>;

    /// Applies a skill.
    fn skill<'a>(
        &'a self,
        name: &'a str,
        args: &'a str,
        call: Calling<'a>,
    ) -> Waits<'a, ToolOutput>;

    /// The MCP servers of the session, if there are any.
    fn servers(&self) -> Option<Arc<Pool>>;

    /// Their names, also where they are only configured and not connected.
    fn server_names(&self) -> Vec<String>;

    /// Whether a rule denies this.
    fn denies(&self, ruled: &AlsoRuled) -> bool;

    /// Receives the progress of a call.
    fn progress(&self, call: &ToolUseId) -> Option<OnProgress>;

    /// Shows the user the output of a command while it runs; `None` if nobody looks.
    fn on_output(&self, _call: &ToolUseId) -> Option<OnOutput> {
        None
    }

    /// Waits until the user wants what runs to go on in the background.
    fn asked_into_background(&self) -> Waits<'_, ()> {
        Box::pin(std::future::pending())
    }

    /// Records a task that this process keeps running, and how it is stopped. What is returned records its end.
    fn keep_running(
        &self,
        _call: &ToolUseId,
        _task: &TaskStarted,
        _stop: CancellationToken,
    ) -> Result<TaskEnded, ServiceError> {
        Err(ServiceError("nothing runs in the background here".to_owned()))
    }

    /// Tools that can be looked for.
    fn deferred(&self) -> Vec<Deferred>;

    /// Has the provider's small model answer a prompt about a text; `None` if the session has no model.
    fn digest<'a>(
        &'a self,
        prompt: &'a str,
        text: &'a str,
    ) -> Waits<'a, Option<Result<String, ServiceError>>>;

    /// Has the provider search the web itself; `None` if it cannot.
    fn search<'a>(
        &'a self,
        query: &'a WebQuery,
    ) -> Waits<'a, Option<Result<WebFound, ServiceError>>>;
}
