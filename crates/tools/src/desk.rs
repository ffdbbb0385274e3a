//! What the session around a call does for tools that cannot do it alone.
//!
//! A tool sees neither the record, nor a model, nor whoever sits at the terminal. Where it needs them it asks here, and
//! the engine answers.

use std::future::Future;
use std::pin::Pin;

use std::path::PathBuf;
use std::sync::Arc;

use ona_mcp::{OnProgress, Pool};
use ona_types::{Phase, TaskEnd, TaskKind, Todo, ToolOutput, ToolUseId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// An answer of the desk's, to be awaited.
pub type Waits<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A search of the web.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebQuery {
    /// What is looked for.
    pub query: String,
    /// Only on these domains, if there are any.
    pub allowed_domains: Vec<String>,
    /// Not on these.
    pub blocked_domains: Vec<String>,
}

/// A page that a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebHit {
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// What it says, where the search tells.
    pub snippet: String,
}

/// What came of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebFound {
    /// The pages, best first.
    pub hits: Vec<WebHit>,
    /// What the searcher makes of them, where it says something.
    pub remarks: String,
}

/// Something that goes on in the background, or did.
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
    /// How it ended; nothing while it goes on.
    pub end: Option<TaskEnd>,
    /// Whose it is, seen from who asks.
    pub whose: Whose,
}

/// Whose a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Of who asks, or of somebody that has started; the main agent's are all of the conversation.
    Own,
    /// Of the one that has started who asks, or of another it started.
    Callers,
    /// The one who asks is it.
    Itself,
}

/// What an agent is wanted for.
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
    /// Whether the caller goes on meanwhile; as the kind of agent says if it is not said.
    pub background: Option<bool>,
    /// What it is called, so that it can be told something again.
    pub name: Option<String>,
    /// Whether it works in a worktree of its own.
    pub worktree: bool,
    /// The permission mode that is wanted; it only ever narrows.
    pub mode: Option<String>,
}

/// A tool that exists but is not shown to the model until it is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deferred {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
}

/// The session's side of a call.
pub trait Desk: Send + Sync {
    /// A value of the settings in force, such as `webSearch`; null where nothing is set.
    fn setting(&self, key: &str) -> Value;

    /// The session's list of things to do.
    fn todos(&self) -> Result<Vec<Todo>, String>;

    /// Where the conversation stands.
    fn phase(&self) -> Result<Phase, String>;

    /// Shows the user something beside the answer.
    fn say(&self, message: &str, attachments: &[PathBuf], status: &str);

    /// A background task of this conversation.
    fn task(&self, id: &str) -> Result<Option<TaskView>, String>;

    /// Those that go on.
    fn running_tasks(&self) -> Result<Vec<TaskView>, String>;

    /// Ends one.
    fn stop_task<'a>(&'a self, task: &'a TaskView) -> Waits<'a, Result<(), String>>;

    /// Has an agent do something.
    fn agent<'a>(
        &'a self,
        order: AgentOrder,
        call: &'a ToolUseId,
        cancel: &'a CancellationToken,
    ) -> Waits<'a, ToolOutput>;

    /// Takes up a skill.
    fn skill<'a>(
        &'a self,
        name: &'a str,
        args: &'a str,
        call: &'a ToolUseId,
        cancel: &'a CancellationToken,
    ) -> Waits<'a, ToolOutput>;

    /// The MCP servers of the session, if there are any.
    fn servers(&self) -> Option<Arc<Pool>>;

    /// Hears how far a call got.
    fn progress(&self, call: &ToolUseId) -> Option<OnProgress>;

    /// Tools that can be looked for.
    fn deferred(&self) -> Vec<Deferred>;

    /// Has the provider's small model answer a prompt about a text; nothing where the session has no model.
    fn digest<'a>(
        &'a self,
        prompt: &'a str,
        text: &'a str,
    ) -> Waits<'a, Option<Result<String, String>>>;

    /// Has the provider search the web itself; nothing where it cannot.
    fn search<'a>(&'a self, query: &'a WebQuery) -> Waits<'a, Option<Result<WebFound, String>>>;
}
