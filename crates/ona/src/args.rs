//! The command line.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};
use clap::{Parser, Subcommand};
use ona_cli::{CliError, Options, secrets};
use ona_sdlc::phase::PhaseArgs;
use ona_sdlc::plan::Plan;
use ona_sdlc::report::ReportArgs;
use ona_sdlc::test::Test;

use crate::auth::Auth;
use crate::init::Init;
use crate::intent::Intent;
use crate::mcp::Mcp;
use crate::memory::Memory;
use crate::operator::Operator;
use crate::plugin::Plugin;
use crate::serve::Serve;
use crate::sessions::Sessions;
use crate::trace::Trace;

/// A coding agent whose every step is governed and recorded.
#[derive(Debug, Parser)]
#[command(
    version,
    // `ona help` also has pages.
    disable_help_subcommand = true,
    after_help = "Examples:
  ona
  ona 'fix the failing test'
  ona --continue
  ona -p 'what does this project do?'
  git diff | ona -p 'review this' --model opus --output-format json
  ona -p 'go on' --continue
  ona --eval '{\"tool\":\"Read\",\"input\":{\"file_path\":\"/etc/hostname\"}}'
  ona --eval '{\"tool\":\"Bash\",\"input\":{\"command\":\"git status\"}}' --cwd ~/project
  echo '{\"tool\":\"Glob\",\"input\":{\"pattern\":\"**/*.rs\"}}' | ona --eval -
  ona doctor

Without -p and without a command, an interactive session starts in the terminal;
`ona help interactive` describes it.

Exit codes: 0 done and recorded (also if the tool's result is an error), 1 failed
(with -p: the turn ended in an error, at a limit, or was stopped), 2 wrong usage
or configuration, 129, 130, 143 interrupted by a signal.

The record is the SQLite file at AGENT_SDLC_DB (absolute path), by default
$XDG_STATE_HOME/ona/agent.db. `ona help environment` lists all environment
variables, `ona help` lists all pages."
)]
pub struct Cli {
    #[command(flatten)]
    pub options: Options,

    #[command(subcommand)]
    pub command: Option<Command>,
}

impl Cli {
    /// Whether an interactive session is wanted: no command is given, and nothing else to do.
    pub fn is_interactive(&self) -> bool {
        let Options { eval, transition, init_db, agent, .. } = &self.options;
        self.command.is_none()
            && !agent.print
            && !agent.init_only
            && eval.is_none()
            && transition.is_none()
            && !init_db
    }

    /// Whether programs may be started that must not see ona's credentials: commands, servers, a browser. Not of
    /// `ona hook`, which starts the operator's own hooks and has to be quick.
    pub fn starts_programs(&self) -> bool {
        !matches!(
            self.command,
            Some(
                Command::Hook { .. }
                    | Command::TaskHost
                    | Command::PdfText { .. }
                    | Command::HtmlText
                    | Command::ScriptedModel { .. }
                    | Command::Schema(_)
                    | Command::Help { .. }
            )
        )
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Set up intents in this project, and put another agent under ona's gate
    ///
    /// Creates the missing files in .orchestration/. With --tool it also adds ona's hooks to that agent's settings,
    /// ona's MCP server to its servers, and the rules to its instructions. Everything else in those files stays. If
    /// one of them cannot be read, nothing is changed. `ona help hosts` shows for each agent what is gated.
    #[command(
        after_help = "Examples:\n  ona init\n  ona init --tool claude_code --dry-run\n  ona init --tool codex\n  ona init --tool codex --uninstall"
    )]
    Init(Init),

    /// Serve intents, scope, trace and blame to other agents as MCP tools
    ///
    /// The tools are select_active_intent, list_intents, check_scope, trace_recent and blame. The server stops with
    /// exit code 0 when the client disconnects, and on Ctrl-C.
    #[command(
        after_help = "Examples:\n  ona serve --mcp\n  ona serve --mcp --port 0\n  ona --cwd ~/project serve --mcp --session 019a8d5f…"
    )]
    Serve(Serve),

    /// Manage MCP servers, and serve ona's own tools as one
    #[command(subcommand)]
    Mcp(Mcp),

    /// Check the record for damage and interrupted calls, and suggest what to do
    ///
    /// Reads every row and changes nothing. A long check shows its progress on the terminal; Ctrl-C stops it. The exit
    /// code is 1 if a check fails.
    #[command(
        after_help = "Examples:\n  ona doctor\n  ona doctor --json | jq '.findings[]'\n  ona doctor --compact"
    )]
    Doctor {
        /// Shrink the record file (VACUUM) instead of checking it
        ///
        /// Needs free space of up to twice the record's size. Refused while another process uses the record.
        #[arg(long)]
        compact: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },

    /// Explain one recorded call: what each stage decided, which rule or hook, and the result
    #[command(
        after_help = "Examples:\n  ona why toolu_01a1…\n  ona why toolu_01a1… --json\n  ona why    (the latest call)"
    )]
    Why {
        /// Id of the call, or its first characters; default: the latest call
        tool_use_id: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },

    /// Show what the gate would decide about a call, and what would change it; runs nothing
    #[command(
        after_help = "Examples:\n  ona explain '{\"tool\":\"Write\",\"input\":{\"file_path\":\"/etc/hosts\",\"content\":\"\"}}'\n  ona explain --bash 'git push && rm -rf build'"
    )]
    Explain {
        /// The call, as JSON {"tool": NAME, "input": {…}}
        #[arg(required_unless_present = "bash")]
        call: Option<String>,
        /// A Bash command instead of JSON
        #[arg(long, value_name = "COMMAND", conflicts_with = "call")]
        bash: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },

    /// Print the event log, newest last
    #[command(
        after_help = "Examples:\n  ona log\n  ona log --follow\n  ona log --session 019a8d5f… --json"
    )]
    Log {
        /// Only this session
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// Keep printing new events
        #[arg(long, short)]
        follow: bool,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
        /// Number of past events to print first
        #[arg(long, value_name = "N", default_value_t = 50)]
        last: u32,
    },

    /// Trust this repository's hooks, helpers and servers as they are now
    #[command(
        after_help = "Examples:\n  ona trust\n  ona trust --list\n  ona --cwd ~/project trust"
    )]
    Trust {
        /// List what is trusted
        #[arg(long)]
        list: bool,
        /// With --list: print JSON
        #[arg(long, requires = "list")]
        json: bool,
    },

    /// Revoke the trust in this repository
    #[command(after_help = "Examples:\n  ona untrust\n  ona --cwd ~/project untrust")]
    Untrust,

    /// Run a small example task and show what is allowed, what is refused and why; needs no key
    ///
    /// A scripted model, served on loopback in this process, works in a temporary repository through the real gate. A
    /// hook refuses one of its calls, a permission rule another. Nothing is sent over the network.
    #[command(
        after_help = "Examples:\n  ona demo\n  ona demo --live    (with the model that your environment configures)"
    )]
    Demo {
        /// Use the real model instead of the script
        #[arg(long)]
        live: bool,
    },

    /// Show the phase of a conversation, what comes next and what is missing for it; or change it
    ///
    /// The order is planning, implement, test, verify, done; `ona help phases` has the table. Changing it is the operator's.
    #[command(
        after_help = "Examples:\n  ona phase\n  ona phase test\n  ona phase --conversation 019a8d5f… --json"
    )]
    Phase(PhaseArgs),

    /// Show the plans of agents, edit, approve and reject them
    #[command(subcommand)]
    Plan(Plan),

    /// Have behavioural tests written by a model that has not seen the code, check them and run them
    #[command(subcommand)]
    Test(Test),

    /// Show the report on the tests of a conversation's plan, or approve it
    ///
    /// Criterion by criterion: which tests there are, what came of them and all that they printed; what is uncovered, and
    /// totals. It is about the work tree as it is now: what has changed since the tests ran shows as stale.
    #[command(
        after_help = "Examples:\n  ona report\n  ona report --format html --output report.html\n  ona report --format json | jq .totals\n  ona report approve"
    )]
    Report(ReportArgs),

    /// List, show, export, rename, delete, prune and search sessions
    #[command(subcommand)]
    Sessions(Sessions),

    /// Answer a hook of another agent, so that its calls pass the same gate and the same trace
    ///
    /// The hook's input is read from standard input. The host runs this command before and after each call of its
    /// agent; `ona init --tool HOST` sets that up. A denied call gets JSON on standard output, the reason on standard
    /// error and exit code 2. Exit code 1 means that ona's own configuration or record has an error: the host then
    /// continues, unless the workspace sets failure_mode: closed.
    #[command(
        after_help = "Examples:\n  ona hook claude_code < payload.json\n  ona hook codex --rules < payload.json"
    )]
    Hook {
        /// The host: claude_code or codex
        host: String,
        /// Also apply the permission rules
        #[arg(long)]
        rules: bool,
    },

    /// Sign in and out, and show which credential is used for the model
    #[command(
        subcommand,
        after_help = "Examples:\n  ona auth login\n  ona auth status --json\n  ona auth logout\n\n`ona help credentials` tells the rest."
    )]
    Auth(Auth),

    /// Show or replace the operator's key, by which approvals show who gave them
    #[command(subcommand, after_help = "Examples:\n  ona operator show\n  ona operator rotate")]
    Operator(Operator),

    /// Save and search memories: what later sessions should know
    #[command(subcommand)]
    Memory(Memory),

    /// Manage intents: pieces of work, and the files that each may change
    #[command(subcommand)]
    Intent(Intent),

    /// List, show, verify and export the trace of changes, and find changes that it does not explain
    #[command(subcommand)]
    Trace(Trace),

    /// Show for each line of a file the call that wrote it, its intent and requirements, and who approved it
    ///
    /// Each line has a certainty. exact: every later change of the file is traced. content: the line is recognised by
    /// its content. unknown: the reason follows, and the commit if there is one.
    #[command(
        after_help = "Examples:\n  ona blame src/auth/limit.rs\n  ona blame src/auth/limit.rs:12\n  ona blame src/auth/limit.rs:12-20 --json"
    )]
    Blame {
        /// The file, and optionally lines: FILE, FILE:LINE or FILE:FIRST-LAST
        #[arg(value_name = "FILE[:LINE[-LINE]]")]
        target: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },

    /// Add, list, update, enable, disable and remove plugins
    #[command(subcommand)]
    Plugin(Plugin),

    /// List the agents available here, their sources, and which ones are hidden by others
    #[command(after_help = "Examples:\n  ona agents\n  ona agents --json | jq '.agents[].name'")]
    Agents {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },

    /// List the skills and commands available here, their sources, and which ones are hidden by others
    #[command(after_help = "Examples:\n  ona skills\n  ona skills --json | jq '.skills[].name'")]
    Skills {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },

    /// Show how strongly this machine can confine commands
    #[command(subcommand)]
    Sandbox(Sandbox),

    /// Print the JSON Schemas of ona's interfaces
    #[command(subcommand)]
    Schema(Schema),

    /// Show and change settings
    #[command(subcommand)]
    Config(Config),

    /// Show a page about a topic, or the help of a command
    ///
    /// Without a name, lists all commands and topics.
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

    /// Supervise the background task described on standard input (run by the Bash tool)
    #[command(hide = true, name = ona_tools::TASK_HOST)]
    TaskHost,

    /// Print the text of the PDF on standard input as JSON, page by page (run by the Read tool)
    #[command(hide = true, name = ona_tools::PDF_TEXT)]
    PdfText {
        /// Only these pages, such as 3 or 1-5
        #[arg(long)]
        pages: Option<String>,
        /// From the beginning on, until the text has this many bytes
        #[arg(long, conflicts_with = "pages")]
        bytes: Option<usize>,
    },

    /// Print the HTML on standard input as Markdown (run by the WebFetch tool)
    #[command(hide = true, name = ona_web::HTML_TEXT)]
    HtmlText,

    /// Serve a model on loopback that answers from a script (for experiments and tests)
    #[command(hide = true)]
    ScriptedModel {
        /// A file with one answer per line: {"text": …, "calls": [{"id": …, "tool": …, "input": {…}}], "pause_ms": …};
        /// {"aside": …} answers a question without tools
        replies: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub enum Sandbox {
    /// List the levels, whether each works here, and why not
    ///
    /// Each level is tried with a real command. What was found is kept until the machine starts again.
    #[command(
        after_help = "Examples:\n  ona sandbox status\n  ona sandbox status --fresh\n  ona sandbox status --json | jq .best"
    )]
    Status {
        /// Try every level again
        #[arg(long)]
        fresh: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum Schema {
    /// Print the JSON Schema of the input of hooks, or of their output
    #[command(
        after_help = "Examples:\n  ona schema hooks\n  ona schema hooks --output\n  ona schema hooks --order"
    )]
    Hooks {
        /// The schema of what hooks print on standard output
        #[arg(long)]
        output: bool,
        /// Check that the unions have the order of the specification, and print it
        #[arg(long, conflicts_with = "output")]
        order: bool,
    },
    /// Print the JSON Schema of what the author of behavioural tests answers
    #[command(after_help = "Examples:\n  ona schema tests")]
    Tests,
}

#[derive(Debug, Subcommand)]
pub enum Config {
    /// Print the effective settings, or those of one scope
    #[command(after_help = "Examples:\n  ona config list\n  ona config list --scope project")]
    List {
        /// Only this scope: user, project, local, cli or managed
        #[arg(long)]
        scope: Option<String>,
    },
    /// Print one setting
    #[command(
        after_help = "Examples:\n  ona config get permissions.defaultMode\n  ona config get permissions.deny --scope project"
    )]
    Get {
        /// The key, such as permissions.defaultMode
        key: String,
        /// Only this scope: user, project, local, cli or managed
        #[arg(long)]
        scope: Option<String>,
    },
    /// Change one setting in a settings file; comments and everything else stay
    #[command(
        after_help = "Examples:\n  ona config set permissions.defaultMode acceptEdits --scope local\n  ona config set permissions.deny '[\"Read(.env)\"]'"
    )]
    Set {
        /// The key, such as permissions.defaultMode
        key: String,
        /// The value, as JSON or as text
        value: String,
        /// The settings file: user, project or local
        #[arg(long, default_value = "local")]
        scope: String,
        /// Set the key even if ona does not know it
        #[arg(long)]
        force: bool,
    },
    /// Remove one setting from a settings file; comments and everything else stay
    #[command(
        after_help = "Examples:\n  ona config unset agent\n  ona config unset permissions.defaultMode --scope user"
    )]
    Unset {
        /// The key, such as permissions.defaultMode
        key: String,
        /// The settings file: user, project or local
        #[arg(long, default_value = "local")]
        scope: String,
    },
    /// List the settings files in order of precedence
    Path,
    /// Print the JSON Schema of the settings
    #[command(after_help = "Examples:\n  ona config schema > settings.schema.json")]
    Schema,
    /// Replace a settings snapshot in the database that was edited by hand with the current files
    Import,
}

/// Parses the command line. With `-p`, every word that does not belong to an option is the prompt: the prompt "trust"
/// is not the command `trust`, and the prompt "-hello" is not `-h`.
pub fn parse() -> Result<Cli, CliError> {
    let words = std::env::args_os().skip(1).take_while(|word| word != "--");
    let words: Vec<String> = words.filter_map(|word| word.into_string().ok()).collect();
    let prints = words.iter().any(|word| is_print(word));
    let command = Cli::command().args_conflicts_with_subcommands(prints);
    let matches = command.try_get_matches().map_err(|error| {
        let misread = matches!(
            error.kind(),
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::UnknownArgument
        );
        match words.iter().find(|word| is_no_option(word)) {
            Some(word) if prints && misread => CliError::usage(format!("unknown option `{word}`"))
                .hint("put a prompt that begins with `-` after `--`: ona -p -- '-a, or -b?'"),
            _ if prints => told(&error),
            _ => match misspelled(&error, &words) {
                Some((word, meant)) => CliError::usage(format!("unknown command `{word}`"))
                    .hint(format!("did you mean `ona {meant}`?")),
                None => told(&error),
            },
        }
    })?;
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if cli.is_interactive()
        && let Some(word) = cli.options.agent.prompt.as_deref().filter(|word| !word.contains(' '))
        && let Some(meant) = ona_types::nearest(word, names().iter().map(String::as_str))
    {
        return Err(CliError::usage(format!("unknown command `{word}`"))
            .hint(format!("did you mean `ona {meant}`?")));
    }
    Ok(cli)
}

/// Parses a command line that was typed within a session.
pub fn parse_words(words: &[String]) -> Result<Cli, CliError> {
    let words = std::iter::once("ona").chain(words.iter().map(String::as_str));
    let matches = Cli::command().try_get_matches_from(words);
    let cli = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    cli.map_err(|error| {
        let text = error.to_string();
        CliError::usage(text.trim_end().strip_prefix("error: ").unwrap_or(&text).to_owned())
    })
}

/// The names of the commands that users see.
fn names() -> Vec<String> {
    let command = Cli::command();
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    shown.map(|command| command.get_name().to_owned()).collect()
}

/// Ends the program as clap does, unless the message would tell a secret that stands in the command line.
fn told(error: &clap::Error) -> CliError {
    if !error.use_stderr() {
        error.exit();
    }
    let text = error.to_string();
    let masked = secrets::redactor().mask(&text).into_owned();
    if masked == text {
        error.exit();
    }
    let text = masked.trim_end().strip_prefix("error: ").unwrap_or(&masked);
    CliError::usage(text.to_owned())
}

/// A command's name that is misspelled, and the command: without `-p` it was read as a prompt.
fn misspelled(error: &clap::Error, words: &[String]) -> Option<(String, String)> {
    if !matches!(error.kind(), ErrorKind::MissingRequiredArgument | ErrorKind::UnknownArgument) {
        return None;
    }
    let names = names();
    if words.iter().any(|word| names.contains(word)) {
        return None;
    }
    words.iter().find_map(|word| {
        let meant = ona_types::nearest(word, names.iter().map(String::as_str))?;
        Some((word.clone(), meant.to_owned()))
    })
}

/// Whether a word begins with one `-` but is not a group of short options: `-hello`, `-fix it`.
fn is_no_option(word: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
    match letters.trim_start_matches(['c', 'p']) {
        "" | "h" | "V" => false,
        // The rest is their value.
        rest => !rest.starts_with(['r', 'n']),
    }
}

/// `-p`, alone or after other short options without a value.
fn is_print(word: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
    word == "--print" || letters.trim_start_matches('c').starts_with('p')
}
