//! The built-in tools behind one trait.
//!
//! A [`Tool`] has a name, an input schema, the effects of an input, and a run. It never writes the
//! record: whatever the record should know of a run is in the [`ToolOutput`](ona_types::ToolOutput)
//! it returns, and whatever it needs from the record it asks of [`ToolContext`]. It reads neither the
//! environment nor the home directory; what depends on those arrives in [`ToolSettings`] and [`Host`].
//!
//! ```
//! let tool = ona_tools::find("Read").unwrap();
//! let place = ona_tools::Place::at("/tmp");
//! let effects = tool.prepare(&serde_json::json!({"file_path": "notes.txt"}), &place).unwrap();
//! assert_eq!(effects.reads[0].named, std::path::Path::new("/tmp/notes.txt"));
//! ```

mod agent;
mod attached;
mod background;
mod bash;
mod brief;
mod context;
mod edit;
mod facts;
mod foreground;
mod glob;
mod grep;
mod helper;
mod input;
mod look;
mod mcp;
mod notebook;
mod notebook_edit;
pub mod pdf;
mod picture;
mod plan;
mod question;
mod read;
mod resources;
mod services;
mod skill;
mod structured;
mod task;
mod text;
mod todo;
mod tool;
mod tool_search;
mod walk;
mod web;
mod write;

/// The names of the tools that ona itself calls, or offers by name.
pub mod names {
    use crate::tool::BuiltIn as _;

    /// Reads files.
    pub const READ: &str = crate::read::Read::NAME;
    /// Finds files by name.
    pub const GLOB: &str = crate::glob::Glob::NAME;
    /// Searches files.
    pub const GREP: &str = crate::grep::Grep::NAME;
    /// Runs commands.
    pub const BASH: &str = crate::bash::Bash::NAME;
    /// Submits a plan.
    pub const EXIT_PLAN_MODE: &str = crate::plan::ExitPlanMode::NAME;
    /// Starts agents.
    pub const AGENT: &str = crate::agent::Agent::NAME;
    /// Applies skills.
    pub const SKILL: &str = crate::skill::Skill::NAME;
    /// Starts planning.
    pub const ENTER_PLAN_MODE: &str = crate::plan::EnterPlanMode::NAME;
    /// Reads resources of MCP servers.
    pub const READ_MCP_RESOURCE: &str = crate::resources::ReadMcpResource::NAME;
}

pub use attached::{AttachError, attach_pdf, attach_picture, attach_picture_bytes};
pub use background::{TASK_HOST, TaskSpec, run_task, task_marker};
pub use bash::{SANDBOX_REFUSED, marker};
pub use context::{Hides, Host, Outputs, Place, ToolContext, ToolSettings, Views};
pub use facts::{AlsoRuled, Asks, Counts, Facts, ModelNeed, TaskChange, TaskEvent};
pub use input::InputError;
pub use mcp::{PREFIX, ServerTool, UnconnectedTool};
pub use read::PDF_TEXT;
pub use services::{
    AgentOrder, AgentType, Calling, Deferred, OnOutput, ServiceError, SessionServices, SkillView,
    TaskEnded, TaskView, Waits, WebFetchSettings, Whose,
};
pub use structured::{STRUCTURED_OUTPUT, SchemaError, StructuredOutput, misfit};
pub use task::end_of as end_of_file;
pub use tool::{Running, Tool};
pub use tool_search::rank;

use tool::Adapter;

/// Every built-in tool, in the order of S0 §7.
pub static TOOLS: &[&dyn Tool] = &[
    &Adapter::<read::Read>::new(),
    &Adapter::<write::Write>::new(),
    &Adapter::<edit::Edit>::new(),
    &Adapter::<notebook_edit::NotebookEdit>::new(),
    &Adapter::<bash::Bash>::new(),
    &Adapter::<glob::Glob>::new(),
    &Adapter::<grep::Grep>::new(),
    &Adapter::<web::WebFetch>::new(),
    &Adapter::<web::WebSearch>::new(),
    &Adapter::<question::AskUserQuestion>::new(),
    &Adapter::<todo::TodoWrite>::new(),
    &Adapter::<task::TaskOutput>::new(),
    &Adapter::<agent::Agent>::new(),
    &Adapter::<skill::Skill>::new(),
    &Adapter::<plan::EnterPlanMode>::new(),
    &Adapter::<plan::ExitPlanMode>::new(),
    &Adapter::<resources::ListMcpResources>::new(),
    &Adapter::<resources::ReadMcpResource>::new(),
    &Adapter::<tool_search::ToolSearch>::new(),
    &Adapter::<brief::Brief>::new(),
    &Adapter::<task::TaskStop>::new(),
];

/// The built-in tool of this name; names are case-sensitive.
pub fn find(name: &str) -> Option<&'static dyn Tool> {
    TOOLS.iter().copied().find(|tool| tool.name() == name)
}
