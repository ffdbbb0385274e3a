//! The options of the command line, besides the commands.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use crate::agent_args::AgentArgs;

/// The heading of the options that every command takes.
const GLOBAL: &str = "Global options";

/// The options.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("asks").args(["eval", "print"]))]
pub struct Options {
    /// Run one tool call, given as JSON {"tool": NAME, "input": {…}}; - reads it from standard input
    ///
    /// The call continues the latest session of the conversation: the one of --conversation, or else the
    /// latest of this directory. If there is none, it starts one. Prints one line of JSON: tool_use_id,
    /// content, is_error.
    #[arg(long, value_name = "JSON", conflicts_with = "init_db")]
    pub eval: Option<String>,

    /// Move a conversation to another phase: planning, implement, test, verify or done
    ///
    /// A conversation starts in the phase idle, and no phase leads back to it. `ona help phases` has the table.
    #[arg(long, value_name = "PHASE", conflicts_with_all = ["eval", "init_db"])]
    pub transition: Option<String>,

    /// Use this conversation instead of the latest one of the directory
    #[arg(long, value_name = "ID", global = true, help_heading = GLOBAL)]
    pub conversation: Option<String>,

    /// Run as if started in this directory
    #[arg(long, value_name = "DIR", global = true, help_heading = GLOBAL)]
    pub cwd: Option<PathBuf>,

    /// Additional settings: a file or a JSON object; can be repeated
    #[arg(long, value_name = "FILE|JSON", global = true, help_heading = GLOBAL)]
    pub settings: Vec<String>,

    /// Read only these settings files, comma-separated: user, project, local
    #[arg(long, value_name = "LIST", value_delimiter = ',', global = true, help_heading = GLOBAL)]
    pub setting_sources: Option<Vec<String>>,

    /// Permission mode: default, acceptEdits, plan, dontAsk or bypassPermissions
    #[arg(long, value_name = "MODE", global = true, help_heading = GLOBAL)]
    pub permission_mode: Option<String>,

    /// Trust this folder's hooks, helpers and servers for this run
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub trust: bool,

    /// Load a plugin for this run only; can be repeated
    #[arg(long, value_name = "DIR", global = true, help_heading = GLOBAL)]
    pub plugin_dir: Vec<PathBuf>,

    /// Define agents for this run, as JSON {"NAME": {"description": …, "prompt": …, "tools": […], …}}
    #[arg(long, value_name = "JSON", global = true, help_heading = GLOBAL)]
    pub agents: Option<String>,

    /// With --eval or -p: ask on the terminal where the rules say to ask
    ///
    /// Without it, --eval approves such a call and -p denies it.
    #[arg(long, requires = "asks")]
    pub ask: bool,

    /// Plain lines instead of a drawn interface, for terminals that cannot move a cursor and for screen readers
    ///
    /// TERM=dumb and ONA_SCREEN_READER=1 mean the same. Questions are answered with a letter and Enter.
    #[arg(long, conflicts_with_all = ["eval", "print", "transition", "init_db", "init_only"])]
    pub plain: bool,

    /// Create or upgrade the database, and print its path
    #[arg(long)]
    pub init_db: bool,

    /// Options of the agent.
    #[command(flatten)]
    pub agent: AgentArgs,
}
