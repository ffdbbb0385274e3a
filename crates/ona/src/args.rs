//! The command line.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};
use clap::{Parser, Subcommand};

use crate::agent_args::AgentArgs;
use crate::error::CliError;
use crate::init::Init;
use crate::intent::Intent;
use crate::mcp::Mcp;
use crate::memory::Memory;
use crate::plan::Plan;
use crate::plugin::Plugin;
use crate::serve::Serve;
use crate::sessions::Sessions;
use crate::trace::Trace;

/// A coding agent whose every step is governed and on the record.
#[derive(Debug, Parser)]
#[command(
    version,
    arg_required_else_help = true,
    // `ona help` also has pages.
    disable_help_subcommand = true,
    after_help = "Examples:
  ona -p 'what does this project do?'
  git diff | ona -p 'review this' --model opus --output-format json
  ona -p 'go on' --continue
  ona --eval '{\"tool\":\"Read\",\"input\":{\"file_path\":\"/etc/hostname\"}}'
  ona --eval '{\"tool\":\"Bash\",\"input\":{\"command\":\"git status\"}}' --cwd ~/project
  echo '{\"tool\":\"Glob\",\"input\":{\"pattern\":\"**/*.rs\"}}' | ona --eval -
  ona doctor

Exit codes: 0 done and recorded (a tool's own error result included), 1 failed
(with -p: the turn ended in an error, at a limit, or was stopped), 2 wrong usage
or configuration, 129, 130, 143 interrupted by a signal.

The record is the SQLite file at AGENT_SDLC_DB (absolute path), by default
$XDG_STATE_HOME/ona/agent.db. `ona help environment` lists
every variable, `ona help` every page."
)]
pub struct Cli {
    /// Run one tool call, given as JSON {"tool": NAME, "input": {…}} or - for standard input
    ///
    /// Joins the conversation given with --conversation, else the latest one of this directory, else
    /// starts one, and goes on in its latest session. Prints one line of JSON: tool_use_id, content,
    /// is_error.
    #[arg(long, value_name = "JSON", conflicts_with = "init_db")]
    pub eval: Option<String>,

    /// Move a conversation to another phase: planning, implement, test, verify or done
    #[arg(long, value_name = "PHASE", conflicts_with_all = ["eval", "init_db"])]
    pub transition: Option<String>,

    /// The conversation to join or to move
    #[arg(long, value_name = "ID", global = true)]
    pub conversation: Option<String>,

    /// Act as if started in this directory
    #[arg(long, value_name = "DIR", global = true)]
    pub cwd: Option<PathBuf>,

    /// Further settings: a file, or JSON; may be given more than once
    #[arg(long, value_name = "FILE|JSON", global = true)]
    pub settings: Vec<String>,

    /// Which settings files to read: user, project, local
    #[arg(long, value_name = "LIST", value_delimiter = ',', global = true)]
    pub setting_sources: Option<Vec<String>>,

    /// default, acceptEdits, plan, dontAsk or bypassPermissions
    #[arg(long, value_name = "MODE", global = true)]
    pub permission_mode: Option<String>,

    /// Trust this folder's hooks, helpers and servers for this run
    #[arg(long, global = true)]
    pub trust: bool,

    /// A plugin for this run only; may be given more than once
    #[arg(long, value_name = "DIR", global = true)]
    pub plugin_dir: Vec<PathBuf>,

    /// Agents for this run, as JSON {"NAME": {"description": …, "prompt": …, "tools": […], …}}
    #[arg(long, value_name = "JSON", global = true)]
    pub agents: Option<String>,

    /// Ask on the terminal where the rules say to ask, instead of taking --eval for a yes, or of refusing with -p
    #[arg(long, requires = "eval")]
    pub ask: bool,

    /// Create the database, or bring it up to date, and print its path
    #[arg(long)]
    pub init_db: bool,

    #[command(flatten)]
    pub agent: AgentArgs,

    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Prepare this project for intents, and govern another agent from outside
    ///
    /// Makes what is missing in .orchestration/. With --tool it also puts ona's gate into that agent's settings, its
    /// MCP server beside it, and the rules into its instructions. What others wrote in those files stays; where one
    /// cannot be read, nothing at all is changed. `ona help hosts` tells for each agent what is gated and what is not.
    #[command(
        after_help = "Examples:\n  ona init\n  ona init --tool claude_code --dry-run\n  ona init --tool codex\n  ona init --tool codex --uninstall"
    )]
    Init(Init),

    /// Offer intents, scope, trace and blame to other agents as MCP tools
    ///
    /// The tools are select_active_intent, list_intents, check_scope, trace_recent and blame. Ends with exit 0 when the
    /// client closes its end, and on Ctrl-C.
    #[command(
        after_help = "Examples:\n  ona serve --mcp\n  ona serve --mcp --port 0\n  ona --cwd ~/project serve --mcp --session sess_01a1…"
    )]
    Serve(Serve),

    /// Say which MCP servers there are, and offer ona's own tools as one
    #[command(subcommand)]
    Mcp(Mcp),

    /// Check the record: is it whole, is it ours, what was interrupted, and what to do about it
    ///
    /// Reads every row and changes nothing. Where that takes long, a terminal shows how far it is; Ctrl-C stops it. Exits
    /// 1 if something is wrong with the record.
    #[command(
        after_help = "Examples:\n  ona doctor\n  ona doctor --json | jq '.findings[]'\n  ona doctor --compact"
    )]
    Doctor {
        /// Write the record anew without the space of removed rows (VACUUM), instead of checking it
        ///
        /// Needs free space of up to twice the record's size. Refused while another process uses the record.
        #[arg(long)]
        compact: bool,
        /// Print the findings as JSON
        #[arg(long)]
        json: bool,
    },

    /// Tell the story of one call: what every stage said, which rule or hook decided, what came of it
    #[command(
        after_help = "Examples:\n  ona why toolu_01a1…\n  ona why toolu_01a1… --json\n  ona why    (the latest call)"
    )]
    Why {
        /// The call's id, or its beginning; the latest call if left out
        tool_use_id: Option<String>,
        /// Print the story as JSON
        #[arg(long)]
        json: bool,
    },

    /// Say what would become of a call, and what would change that; runs nothing
    #[command(
        after_help = "Examples:\n  ona explain '{\"tool\":\"Write\",\"input\":{\"file_path\":\"/etc/hosts\",\"content\":\"\"}}'\n  ona explain --bash 'git push && rm -rf build'"
    )]
    Explain {
        /// The call as JSON {"tool": NAME, "input": {…}}
        #[arg(required_unless_present = "bash")]
        call: Option<String>,
        /// A command line for Bash instead
        #[arg(long, value_name = "COMMAND", conflicts_with = "call")]
        bash: Option<String>,
        /// Print the explanation as JSON
        #[arg(long)]
        json: bool,
    },

    /// Print what happened, newest last
    #[command(
        after_help = "Examples:\n  ona log\n  ona log --follow\n  ona log --session sess_01a1… --json"
    )]
    Log {
        /// Only this session
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// Wait for more
        #[arg(long, short)]
        follow: bool,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
        /// How many lines to begin with
        #[arg(long, value_name = "N", default_value_t = 50)]
        last: u32,
    },

    /// Trust this repository's hooks, helpers and servers as they are now
    #[command(
        after_help = "Examples:\n  ona trust\n  ona trust --list\n  ona --cwd ~/project trust"
    )]
    Trust {
        /// List what is trusted instead
        #[arg(long)]
        list: bool,
        /// With --list: as JSON
        #[arg(long, requires = "list")]
        json: bool,
    },

    /// Take this repository's trust back
    Untrust,

    /// Watch a small real task: what is asked, allowed, refused and why; needs no key and no network
    ///
    /// A model that follows a script, served on loopback in this process, works in a scratch repository through
    /// the same gate as any other; a hook refuses one of its calls, a permission rule another.
    #[command(
        after_help = "Examples:\n  ona demo\n  ona demo --live    (with the model that your environment names)"
    )]
    Demo {
        /// Ask the real model instead
        #[arg(long)]
        live: bool,
    },

    /// Read plans that agents have handed in, approve them or send them back
    #[command(subcommand)]
    Plan(Plan),

    /// List, show, export, rename, delete, prune and search sessions
    #[command(subcommand)]
    Sessions(Sessions),

    /// Answer a hook of another agent, which is told on standard input: the same gate, the same trace
    ///
    /// The host starts this before and after each call of its agent (`ona init --tool HOST` sets that up). A call
    /// that may not go on is answered with JSON on standard output, the reason on standard error and exit code 2.
    /// Exit code 1: something is wrong with ona's own configuration or record, and the host goes on; where the
    /// workspace says failure_mode: closed, it does not.
    #[command(
        after_help = "Examples:\n  ona hook claude_code < payload.json\n  ona hook codex --rules < payload.json"
    )]
    Hook {
        /// claude_code or codex
        host: String,
        /// Hold calls against the permission rules too
        #[arg(long)]
        rules: bool,
    },

    /// Keep what later sessions should know, and find it again
    #[command(subcommand)]
    Memory(Memory),

    /// Say what is worked on, and which files each piece of work may touch
    #[command(subcommand)]
    Intent(Intent),

    /// Look at the trace of changes: list, show, verify, export, and find what it does not explain
    #[command(subcommand)]
    Trace(Trace),

    /// Say of each line which call wrote it, for which intent and requirement, and who allowed it
    ///
    /// exact: every change since is traced. content: the line was recognised by what it says. unknown: with the
    /// reason, and the commit if there is one.
    #[command(
        after_help = "Examples:\n  ona blame src/auth/limit.rs\n  ona blame src/auth/limit.rs:12\n  ona blame src/auth/limit.rs:12-20 --json"
    )]
    Blame {
        /// The file, and which of its lines: FILE, FILE:LINE or FILE:FIRST-LAST
        #[arg(value_name = "FILE[:LINE[-LINE]]")]
        target: PathBuf,
        /// As JSON
        #[arg(long)]
        json: bool,
    },

    /// Add, list, update, switch and remove plugins
    #[command(subcommand)]
    Plugin(Plugin),

    /// List the agents there are here, whose they are, and which hide others
    #[command(after_help = "Examples:\n  ona agents\n  ona agents --json | jq '.agents[].name'")]
    Agents {
        /// As JSON
        #[arg(long)]
        json: bool,
    },

    /// List the skills and commands there are here, whose they are, and which hide others
    #[command(after_help = "Examples:\n  ona skills\n  ona skills --json | jq '.skills[].name'")]
    Skills {
        /// As JSON
        #[arg(long)]
        json: bool,
    },

    /// Print the schemas of what ona speaks with others
    #[command(subcommand)]
    Schema(Schema),

    /// Look at settings and change them
    #[command(subcommand)]
    Config(Config),

    /// Show a page about a topic, or the help of a command
    ///
    /// Without a name it lists all commands and topics.
    #[command(
        after_help = "Examples:\n  ona help\n  ona help hooks\n  ona help mcp add\n  ona help --json | jq -r '.topics[].topic'"
    )]
    Help {
        /// A topic, or a command with its subcommands
        #[arg(value_name = "TOPIC|COMMAND")]
        name: Vec<String>,
        /// List the topics as JSON; with a topic: print its page as JSON
        #[arg(long)]
        json: bool,
    },

    /// Supervise a background task described on standard input (started by the Bash tool)
    #[command(hide = true, name = ona_tools::TASK_HOST)]
    TaskHost,

    /// Print the text of the PDF on standard input as a JSON array of pages (started by the Read tool)
    #[command(hide = true, name = ona_tools::PDF_TEXT)]
    PdfText,

    /// Print the HTML on standard input as Markdown (started by the WebFetch tool)
    #[command(hide = true, name = ona_tools::HTML_TEXT)]
    HtmlText,

    /// Serve a model on loopback that says what a file tells it to (for trying things out, and for tests)
    #[command(hide = true)]
    ScriptedModel {
        /// One answer a line: {"text": …, "calls": [{"id": …, "tool": …, "input": {…}}]}
        replies: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub enum Schema {
    /// What hooks read on standard input and print on standard output
    #[command(
        after_help = "Examples:\n  ona schema hooks\n  ona schema hooks --output\n  ona schema hooks --order"
    )]
    Hooks {
        /// What they print, instead of what they read
        #[arg(long)]
        output: bool,
        /// Check that the unions stand in the order of S0's appendices, and print it
        #[arg(long, conflicts_with = "output")]
        order: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum Config {
    /// Print the settings in force, or those of one scope
    #[command(after_help = "Examples:\n  ona config list\n  ona config list --scope project")]
    List {
        /// user, project, local, cli or managed
        #[arg(long)]
        scope: Option<String>,
    },
    /// Print one setting, such as permissions.defaultMode
    Get {
        /// The key, with dots between its parts
        key: String,
        /// user, project, local, cli or managed
        #[arg(long)]
        scope: Option<String>,
    },
    /// Change one setting in a file; comments and everything else in it stay
    #[command(
        after_help = "Examples:\n  ona config set permissions.defaultMode acceptEdits --scope local\n  ona config set permissions.deny '[\"Read(.env)\"]'"
    )]
    Set {
        /// The key, with dots between its parts
        key: String,
        /// The value, as JSON or as plain text
        value: String,
        /// user, project or local
        #[arg(long, default_value = "local")]
        scope: String,
        /// Set it even if ona knows no such key: other programs may
        #[arg(long)]
        force: bool,
    },
    /// Print which files are read, in the order they count
    Path,
    /// Print the JSON Schema of the settings
    Schema,
    /// Read the files anew and put them in place of a snapshot that was written by hand
    Import,
}

/// What the command line says. With `-p` every word that belongs to no option is the prompt: who prompts "trust"
/// does not mean to trust, and who prompts "-hello" does not want help.
pub fn parse() -> Result<Cli, CliError> {
    let words = std::env::args_os().skip(1).take_while(|word| word != "--");
    let words: Vec<String> = words.filter_map(|word| word.into_string().ok()).collect();
    let prints = words.iter().any(|word| is_print(word));
    let command = Cli::command().args_conflicts_with_subcommands(prints);
    let matches = command.try_get_matches().or_else(|error| {
        let misread = matches!(
            error.kind(),
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::UnknownArgument
        );
        match words.iter().find(|word| is_no_option(word)) {
            Some(word) if prints && misread => Err(CliError::usage(format!(
                "`{word}` begins with `-` and is no option"
            ))
            .hint("a prompt that begins with `-` stands behind `--`: ona -p -- '-a, or -b?'")),
            _ => error.exit(),
        }
    })?;
    Ok(Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()))
}

/// Whether a word begins with one `-` and goes on as no row of short options does: `-hello`, `-fix it`.
fn is_no_option(word: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
    match letters.trim_start_matches(['c', 'p']) {
        "" | "h" | "V" => false,
        // What follows is their value.
        rest => !rest.starts_with(['r', 'n']),
    }
}

/// `-p`, alone or behind other letters that take no value.
fn is_print(word: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
    word == "--print" || letters.trim_start_matches('c').starts_with('p')
}
