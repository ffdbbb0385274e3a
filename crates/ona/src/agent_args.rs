//! Options of the agent: whom to ask, what it may do, how it answers, which session it goes on with.

use clap::{Args, ValueEnum};
use ona_policy::{Anchors, Rule, Scope, Source, split_rules};
use ona_types::{Behavior, Effort};

use crate::error::CliError;

/// How the answer is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// The final text.
    #[default]
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON object a line, as things happen.
    StreamJson,
}

/// How prompts come in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// One prompt.
    #[default]
    Text,
    /// One JSON message a line.
    StreamJson,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Agent")]
pub struct AgentArgs {
    /// Run the agent on PROMPT without a terminal, and print its answer
    ///
    /// What comes on standard input is added to the prompt.
    #[arg(short, long, conflicts_with_all = ["eval", "transition", "init_db"])]
    pub print: bool,

    /// What the agent is to do
    #[arg(value_name = "PROMPT", requires = "print")]
    pub prompt: Option<String>,

    /// Run as this agent: its prompt, tools, model, hooks and limits
    ///
    /// `ona agents` lists them. Without it the settings key `agent` counts, if there is one.
    #[arg(long = "agent", value_name = "NAME", requires = "print")]
    pub run_as: Option<String>,

    /// Whom to ask: claude_code_subscription, openai_compatible or lm_studio_local
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,

    /// Which model: an id such as claude_sonnet_4, gpt_4o, lm_studio_server_routed, or opus, sonnet, haiku
    #[arg(long, value_name = "ID")]
    pub model: Option<String>,

    /// How hard the model thinks: low, medium, high or max, where it can be told
    ///
    /// It counts above `effort` in files of agents and skills, and above effortLevel in settings.
    #[arg(long, value_name = "LEVEL")]
    pub effort: Option<Effort>,

    /// How the answer is printed
    #[arg(long, value_enum, default_value_t, requires = "print")]
    pub output_format: OutputFormat,

    /// How prompts come in
    #[arg(long, value_enum, default_value_t, requires = "print")]
    pub input_format: InputFormat,

    /// With stream-json: also the events of the stream as they come
    #[arg(long, requires = "print")]
    pub include_partial_messages: bool,

    /// With stream-json: also what hooks did
    #[arg(long, requires = "print")]
    pub include_hook_events: bool,

    /// With stream-json in and out: print prompts as they are taken
    #[arg(long, requires = "print")]
    pub replay_user_messages: bool,

    /// Allow rules for this run, such as 'Bash(git *)'
    #[arg(long = "allowedTools", visible_alias = "allowed-tools", value_name = "RULES", num_args = 1..)]
    pub allowed_tools: Vec<String>,

    /// Deny rules for this run; a tool's bare name takes it away altogether
    #[arg(long = "disallowedTools", visible_alias = "disallowed-tools", value_name = "RULES", num_args = 1..)]
    pub disallowed_tools: Vec<String>,

    /// The tools that are offered, in place of all of them; "" offers none
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub tools: Option<Vec<String>>,

    /// Say this to the model instead of ona's own words
    #[arg(long, value_name = "TEXT", conflicts_with = "system_prompt_file")]
    pub system_prompt: Option<String>,

    /// The same, from a file
    #[arg(long, value_name = "FILE", requires = "print")]
    pub system_prompt_file: Option<std::path::PathBuf>,

    /// Say this to the model as well
    #[arg(long, value_name = "TEXT", conflicts_with = "append_system_prompt_file")]
    pub append_system_prompt: Option<String>,

    /// The same, from a file
    #[arg(long, value_name = "FILE", requires = "print")]
    pub append_system_prompt_file: Option<std::path::PathBuf>,

    /// Answer with JSON that fits this JSON Schema, which is for an object
    ///
    /// An answer that does not fit goes back to the model with what is wrong, MAX_STRUCTURED_OUTPUT_RETRIES
    /// times. With --output-format json it is the result's structured_output.
    #[arg(long, value_name = "SCHEMA", requires = "print")]
    pub json_schema: Option<String>,

    /// Ask the model at most so often
    #[arg(long, value_name = "N")]
    pub max_turns: Option<u32>,

    /// Spend at most so much, at list prices
    #[arg(long, value_name = "USD")]
    pub max_budget_usd: Option<f64>,

    /// Further working directories
    #[arg(long, value_name = "DIR", num_args = 1..)]
    pub add_dir: Vec<std::path::PathBuf>,

    /// Further MCP servers: files, or JSON {"mcpServers": {…}}
    #[arg(long, value_name = "FILE|JSON", num_args = 1..)]
    pub mcp_config: Vec<String>,

    /// Only the servers of --mcp-config, and the organisation's
    #[arg(long)]
    pub strict_mcp_config: bool,

    /// Go on with the latest session of this directory
    #[arg(short, long = "continue", conflicts_with = "resume")]
    pub continue_: bool,

    /// Go on with the session of this id or name
    #[arg(short, long, value_name = "ID|NAME")]
    pub resume: Option<String>,

    /// With --continue or --resume: go on in a copy, and leave the session as it is
    #[arg(long)]
    pub fork_session: bool,

    /// With --fork-session: copy only up to this entry; `ona sessions show` has their numbers
    #[arg(long, value_name = "ENTRY", requires = "fork_session")]
    pub at: Option<i64>,

    /// The new session's id; with --continue or --resume that of the copy
    #[arg(long, value_name = "ID")]
    pub session_id: Option<String>,

    /// The session's name
    #[arg(short, long, value_name = "TEXT")]
    pub name: Option<String>,

    /// Keep the record in memory only
    #[arg(long)]
    pub no_session_persistence: bool,

    /// Run Setup hooks (init) first
    #[arg(long, conflicts_with_all = ["init_only", "maintenance"])]
    pub init: bool,

    /// Run Setup (init) and SessionStart hooks, and nothing else
    #[arg(long, conflicts_with = "maintenance")]
    pub init_only: bool,

    /// Run Setup hooks (maintenance) first
    #[arg(long)]
    pub maintenance: bool,

    /// Read no instructions, no settings files and no hooks but those given here
    #[arg(long)]
    pub bare: bool,

    /// No skills and no commands: a prompt that begins with / is sent as it is
    #[arg(long, requires = "print")]
    pub disable_slash_commands: bool,

    /// Print what is going on to standard error
    #[arg(long)]
    pub verbose: bool,

    /// Print how it goes on inside to standard error: all of it, or the categories named
    ///
    /// FILTER names some of api, gate, hooks, settings and store, with commas between them; !store is all but
    /// that one.
    #[arg(long, value_name = "FILTER", num_args = 0..=1, default_missing_value = "")]
    pub debug: Option<String>,

    /// The same, added to the end of this file
    #[arg(long, value_name = "FILE")]
    pub debug_file: Option<std::path::PathBuf>,
}

/// What to do where an option has taken more than was meant.
pub const TAKES_WORDS: &str = "an option that takes several values takes every word behind it: put the prompt directly \
    behind -p, and a command before such options";

impl AgentArgs {
    /// Whether an option was given that takes any number of words.
    pub fn takes_words(&self) -> bool {
        let lists = [&self.allowed_tools, &self.disallowed_tools, &self.mcp_config];
        lists.iter().any(|list| !list.is_empty()) || !self.add_dir.is_empty()
    }

    /// Refuses rules that cannot be read: a deny rule that is left out would allow what it was to deny.
    pub fn check_rules(&self) -> Result<(), CliError> {
        let anywhere = Anchors { source: "/".into(), cwd: "/".into(), home: "/".into() };
        for (option, given, behavior) in [
            ("--allowedTools", &self.allowed_tools, Behavior::Allow),
            ("--disallowedTools", &self.disallowed_tools, Behavior::Deny),
        ] {
            for text in given.iter().flat_map(|text| split_rules(text)) {
                Rule::parse(&text, behavior, Source::of(Scope::Cli), &anywhere).map_err(|why| {
                    CliError::usage(format!("{option}: `{text}` is no rule: {why}"))
                })?;
            }
        }
        Ok(())
    }

    /// What rules and directories on the command line amount to, as settings.
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
