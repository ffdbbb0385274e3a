//! Options of an agent.

use std::sync::Arc;

use ona_tools::StructuredOutput;
use ona_types::hook::{SetupTrigger, StartSource};

use crate::context_limit::ContextLimit;
use crate::prompt::PromptOptions;

/// Options of an agent.
#[derive(Clone, Debug, Default)]
pub struct AgentOptions {
    /// The system prompt.
    pub prompt: PromptOptions,
    /// The offered tools; all of them if `None`.
    pub tools: Option<Vec<String>>,
    /// The format of structured answers.
    pub shape: Option<Shape>,
    /// Do not read instructions.
    pub bare: bool,
    /// Give the model memories, within the budget of the settings.
    pub memories: bool,
    /// Run no hooks for its turns. Its calls pass the gate like all others.
    pub without_hooks: bool,
    /// How the session starts.
    pub source: Option<StartSource>,
    /// The trigger of Setup hooks, which run first.
    pub setup: Option<SetupTrigger>,
    /// A user message before the first prompt.
    pub initial: Option<String>,
    /// Limit for model calls in a turn.
    pub max_turns: Option<u32>,
    /// How often hooks may block the stop: Stop hooks, and for a subagent SubagentStop and TeammateIdle hooks together.
    /// No limit if `None`.
    pub max_stop_blocks: Option<u32>,
    /// Cost limit.
    pub max_budget_usd: Option<f64>,
    /// Pass on the provider's stream events.
    pub partial: bool,
    /// When the context counts as full.
    pub context_limit: ContextLimit,
    /// Also read instructions in additional working directories.
    pub read_additional: bool,
    /// The date for the system prompt.
    pub today: String,
    /// The model of subagents; overrides their definitions and callers.
    pub subagent_model: Option<String>,
    /// Whether a turn waits for the agents it started.
    pub waits_for_agents: bool,
}

/// The format of structured answers.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The tool that accepts them.
    pub tool: Arc<StructuredOutput>,
    /// How often a wrong answer may be corrected.
    pub retries: u32,
}
