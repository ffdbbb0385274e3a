//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// A coding agent whose every step is governed and on the record.
#[derive(Debug, Parser)]
#[command(
    version,
    arg_required_else_help = true,
    after_help = "Examples:
  ona --eval '{\"tool\":\"Read\",\"input\":{\"file_path\":\"/etc/hostname\"}}'
  ona --eval '{\"tool\":\"Bash\",\"input\":{\"command\":\"git status\"}}' --cwd ~/project
  echo '{\"tool\":\"Glob\",\"input\":{\"pattern\":\"**/*.rs\"}}' | ona --eval -
  ona doctor

Exit codes: 0 done and recorded (a tool's own error result included), 1 failed,
2 wrong usage or configuration, 129, 130, 143 interrupted by a signal.

The record is the SQLite file at AGENT_SDLC_DB (absolute path), by default
$XDG_STATE_HOME/ona/agent.db. docs/ENVIRONMENT.md lists every variable."
)]
pub struct Cli {
    /// Run one tool call, given as JSON {"tool": NAME, "input": {…}} or - for standard input
    ///
    /// Joins the conversation given with --conversation, else the latest one of this directory, else
    /// starts one, and goes on in its latest session. Prints one line of JSON: tool_use_id, content,
    /// is_error.
    #[arg(long, value_name = "JSON", conflicts_with = "init_db")]
    pub eval: Option<String>,

    /// The conversation to join
    #[arg(long, value_name = "ID", requires = "eval")]
    pub conversation: Option<String>,

    /// Act as if started in this directory
    #[arg(long, value_name = "DIR", requires = "eval")]
    pub cwd: Option<PathBuf>,

    /// Create the database, or bring it up to date, and print its path
    #[arg(long)]
    pub init_db: bool,

    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
#[command(args_conflicts_with_subcommands = true)]
pub enum Command {
    /// Check the record: is it whole, is it ours, what was interrupted, and what to do about it
    ///
    /// Changes nothing. Exits 1 if something is wrong with the record.
    #[command(after_help = "Examples:\n  ona doctor\n  ona doctor --json | jq '.findings[]'")]
    Doctor {
        /// Print the findings as JSON
        #[arg(long)]
        json: bool,
    },

    /// Supervise a background task described on standard input (started by the Bash tool)
    #[command(hide = true, name = ona_tools::TASK_HOST)]
    TaskHost,

    /// Print the text of the PDF on standard input as a JSON array of pages (started by the Read tool)
    #[command(hide = true, name = ona_tools::PDF_TEXT)]
    PdfText,
}
