//! How an agent is to work.

use std::sync::Arc;

use ona_tools::StructuredOutput;
use ona_types::hook::{SetupTrigger, StartSource};

use crate::context_room::Room;
use crate::prompt::PromptOptions;

/// How the agent is to work.
#[derive(Clone, Debug, Default)]
pub struct AgentOptions {
    /// What the model is told first.
    pub prompt: PromptOptions,
    /// The tools that are offered; all of them if it is not said.
    pub tools: Option<Vec<String>>,
    /// The shape that answers must have.
    pub shape: Option<Shape>,
    /// Read no instructions.
    pub bare: bool,
    /// Offer memories to the model, as many as the settings say.
    pub memories: bool,
    /// No hook hears of its turns; its calls pass the gate like all others.
    pub unheard: bool,
    /// How the session came about.
    pub source: Option<StartSource>,
    /// Setup hooks to run first.
    pub setup: Option<SetupTrigger>,
    /// What the user says before the first prompt.
    pub initial: Option<String>,
    /// How often the model may be asked in a turn.
    pub max_turns: Option<u32>,
    /// How often hooks may send the model back that hear of its end: Stop, of an agent that a call started SubagentStop and
    /// TeammateIdle together; as often as they like if it is not said.
    pub max_sent_back: Option<u32>,
    /// How much may be spent.
    pub max_budget_usd: Option<f64>,
    /// Pass stream events on as they are.
    pub partial: bool,
    /// When the context is full.
    pub room: Room,
    /// Read instructions in further working directories too.
    pub read_additional: bool,
    /// The date, as the model is told.
    pub today: String,
    /// The model of agents that calls start, whatever they or their callers say.
    pub model_of_agents: Option<String>,
    /// A turn does not end while agents it started are at work.
    pub waits: bool,
}

/// The shape that answers must have.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The tool that takes them.
    pub tool: Arc<StructuredOutput>,
    /// How often a wrong answer may be corrected.
    pub retries: u32,
}
