//! Options of the agent: the model, the permissions, the output, and the session to continue.

use clap::{ArgGroup, Args, ValueEnum};
use ona_policy::{Anchors, Rule, Scope, Source, split_rules};
use ona_types::{Behavior, Effort};

use crate::error::CliError;

/// What excludes the options of the agent. clap does not check `requires` if the required option is excluded itself.
const NOT_PRINT: [&str; 3] = ["eval", "transition", "init_db"];

/// How the answer is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// The final text.
    #[default]
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON object per line, as events happen.
    StreamJson,
}

/// The format of the prompts on standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// One prompt.
    #[default]
    Text,
    /// One JSON message per line.
    StreamJson,
}

/// The options.
#[derive(Debug, Args)]
#[command(next_help_heading = "Agent")]
#[command(group = ArgGroup::new("starts").args(["print", "init_only"]).multiple(true))]
pub struct AgentArgs {
    /// Run the agent on PROMPT without a terminal, and print its answer
    ///
    /// Standard input is added to the prompt.
    #[arg(short, long, conflicts_with_all = NOT_PRINT)]
    pub print: bool,

    /// The task for the agent; without -p, the first prompt of an interactive session
    #[arg(value_name = "PROMPT", conflicts_with_all = NOT_PRINT)]
    pub prompt: Option<String>,

    /// Run as this agent: its prompt, tools, model, hooks and limits
    ///
    /// `ona agents` lists the agents. Without this option, the setting `agent` applies.
    #[arg(long = "agent", value_name = "NAME", conflicts_with_all = NOT_PRINT)]
    pub run_as: Option<String>,

    /// Model provider: claude_code_subscription, openai_compatible or lm_studio_local
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,

    /// Model: an id such as claude_sonnet_4, gpt_4o, lm_studio_server_routed, or opus, sonnet, haiku
    #[arg(long, value_name = "ID")]
    pub model: Option<String>,

    /// Reasoning effort, for models that support it: low, medium, high or max
    ///
    /// Overrides `effort` in the files of agents and skills, and the setting effortLevel.
    #[arg(long, value_name = "LEVEL")]
    pub effort: Option<Effort>,

    /// Format of the output
    #[arg(long, value_enum, default_value_t, requires = "starts", conflicts_with_all = NOT_PRINT)]
    pub output_format: OutputFormat,

    /// Format of the input
    #[arg(long, value_enum, default_value_t, requires = "print", conflicts_with_all = NOT_PRINT)]
    pub input_format: InputFormat,

    /// With stream-json: also print the events of the model's stream
    #[arg(long, requires = "starts", conflicts_with_all = NOT_PRINT)]
    pub include_partial_messages: bool,

    /// With stream-json: also print the events of hooks
    #[arg(long, requires = "starts", conflicts_with_all = NOT_PRINT)]
    pub include_hook_events: bool,

    /// With stream-json input and output: also print each prompt when it is read
    #[arg(long, requires = "print", conflicts_with_all = NOT_PRINT)]
    pub replay_user_messages: bool,

    /// Allow rules for this run, such as 'Bash(git *)'
    #[arg(long = "allowedTools", visible_alias = "allowed-tools", value_name = "RULES", num_args = 1..)]
    pub allowed_tools: Vec<String>,

    /// Deny rules for this run; a tool's bare name removes the tool
    #[arg(long = "disallowedTools", visible_alias = "disallowed-tools", value_name = "RULES", num_args = 1..)]
    pub disallowed_tools: Vec<String>,

    /// Offer only these tools; "" offers none
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with_all = NOT_PRINT)]
    pub tools: Option<Vec<String>>,

    /// Replace the system prompt
    #[arg(long, value_name = "TEXT", conflicts_with = "system_prompt_file", conflicts_with_all = NOT_PRINT)]
    pub system_prompt: Option<String>,

    /// Replace the system prompt with the text of a file
    #[arg(long, value_name = "FILE", conflicts_with_all = NOT_PRINT)]
    pub system_prompt_file: Option<std::path::PathBuf>,

    /// Append to the system prompt
    #[arg(long, value_name = "TEXT", conflicts_with = "append_system_prompt_file", conflicts_with_all = NOT_PRINT)]
    pub append_system_prompt: Option<String>,

    /// Append the text of a file to the system prompt
    #[arg(long, value_name = "FILE", conflicts_with_all = NOT_PRINT)]
    pub append_system_prompt_file: Option<std::path::PathBuf>,

    /// Answer with a JSON object that matches this JSON Schema
    ///
    /// An answer that does not match is sent back to the model with the error, at most
    /// MAX_STRUCTURED_OUTPUT_RETRIES times. With --output-format json the answer is in structured_output.
    #[arg(long, value_name = "SCHEMA", requires = "print", conflicts_with_all = NOT_PRINT)]
    pub json_schema: Option<String>,

    /// Maximum number of model calls
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true, conflicts_with_all = NOT_PRINT)]
    pub max_turns: Option<u32>,

    /// Maximum cost in US dollars, at list prices
    #[arg(long, value_name = "USD", allow_negative_numbers = true)]
    pub max_budget_usd: Option<f64>,

    /// Additional working directories
    #[arg(long, value_name = "DIR", num_args = 1..)]
    pub add_dir: Vec<std::path::PathBuf>,

    /// Additional MCP servers: files, or JSON {"mcpServers": {…}}
    #[arg(long, value_name = "FILE|JSON", num_args = 1..)]
    pub mcp_config: Vec<String>,

    /// Use only servers from --mcp-config and managed settings
    #[arg(long)]
    pub strict_mcp_config: bool,

    /// Continue the latest session of this directory
    #[arg(short, long = "continue", conflicts_with = "resume", conflicts_with_all = NOT_PRINT)]
    pub continue_: bool,

    /// Continue the session with this id or name; without one, choose from a list
    #[arg(short, long, value_name = "ID|NAME", num_args = 0..=1, default_missing_value = "", conflicts_with_all = NOT_PRINT)]
    pub resume: Option<String>,

    /// With --continue or --resume: continue in a copy, and leave the session unchanged
    #[arg(long, conflicts_with_all = NOT_PRINT)]
    pub fork_session: bool,

    /// With --fork-session: copy only up to this entry; `ona sessions show` prints the numbers
    #[arg(long, value_name = "ENTRY", requires = "fork_session", value_parser = clap::value_parser!(i64).range(0..), allow_negative_numbers = true)]
    pub at: Option<i64>,

    /// Id of the new session, or of the copy with --fork-session: a UUID
    #[arg(long, value_name = "UUID", conflicts_with_all = NOT_PRINT)]
    pub session_id: Option<String>,

    /// Name of the session
    #[arg(short, long, value_name = "TEXT", conflicts_with_all = NOT_PRINT)]
    pub name: Option<String>,

    /// Keep the record in memory only
    #[arg(long, conflicts_with_all = NOT_PRINT)]
    pub no_session_persistence: bool,

    /// Let background commands continue when ona has ended
    ///
    /// Without this option, they end with it.
    #[arg(long, conflicts_with_all = NOT_PRINT)]
    pub keep_background: bool,

    /// First run the Setup hooks (init)
    #[arg(long, conflicts_with_all = NOT_PRINT, conflicts_with = "init_only", conflicts_with = "maintenance")]
    pub init: bool,

    /// Run only the Setup (init) and SessionStart hooks; neither -p nor a key is needed
    #[arg(long, conflicts_with = "maintenance", conflicts_with_all = NOT_PRINT)]
    pub init_only: bool,

    /// First run the Setup hooks (maintenance)
    #[arg(long, conflicts_with_all = NOT_PRINT)]
    pub maintenance: bool,

    /// Read no instructions, settings files or hooks, except those given as options
    #[arg(long)]
    pub bare: bool,

    /// Disable skills and commands: a prompt that begins with / is sent unchanged
    #[arg(long, conflicts_with_all = NOT_PRINT)]
    pub disable_slash_commands: bool,

    /// Print progress on standard error
    #[arg(long)]
    pub verbose: bool,

    /// Print debug messages on standard error, optionally only some categories
    ///
    /// FILTER is a comma-separated list of api, gate, hooks, settings and store; !store means all except store.
    #[arg(long, value_name = "FILTER", num_args = 0..=1, default_missing_value = "")]
    pub debug: Option<String>,

    /// Append debug messages to this file
    #[arg(long, value_name = "FILE")]
    pub debug_file: Option<std::path::PathBuf>,
}

/// What to do if an option has consumed the prompt or the command.
pub const TAKES_WORDS: &str = "an option with several values consumes all words after it: put the prompt directly \
    after -p, and a command before such options";

impl AgentArgs {
    /// Whether an option was given that takes any number of words.
    pub fn takes_words(&self) -> bool {
        let lists = [&self.allowed_tools, &self.disallowed_tools, &self.mcp_config];
        lists.iter().any(|list| !list.is_empty()) || !self.add_dir.is_empty()
    }

    /// Refuses invalid rules: a deny rule that is skipped would allow what it should deny.
    pub fn check_rules(&self) -> Result<(), CliError> {
        let anywhere = Anchors { source: "/".into(), cwd: "/".into(), home: "/".into() };
        for (option, given, behavior) in [
            ("--allowedTools", &self.allowed_tools, Behavior::Allow),
            ("--disallowedTools", &self.disallowed_tools, Behavior::Deny),
        ] {
            for text in given.iter().flat_map(|text| split_rules(text)) {
                Rule::parse(&text, behavior, Source::of(Scope::Cli), &anywhere).map_err(|why| {
                    CliError::usage(format!("{option}: invalid rule `{text}`: {why}"))
                })?;
            }
        }
        Ok(())
    }

    /// The rules and directories of the command line, as settings.
    pub fn settings(&self, cwd: &std::path::Path) -> Option<serde_json::Value> {
        let dirs: Vec<String> =
            self.add_dir.iter().map(|dir| cwd.join(dir).display().to_string()).collect();
        let allow: Vec<String> =
            self.allowed_tools.iter().flat_map(|text| split_rules(text)).collect();
        let deny: Vec<String> =
            self.disallowed_tools.iter().flat_map(|text| split_rules(text)).collect();
        let empty = dirs.is_empty() && allow.is_empty() && deny.is_empty();
        (!empty).then(|| {
            serde_json::json!({"permissions":
                {"allow": allow, "deny": deny, "additionalDirectories": dirs}})
        })
    }
}
