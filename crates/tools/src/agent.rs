//! Agent: another agent does a part of the work, in a session of its own.

use ona_mcp::Hints;
use ona_policy::Effects;
use ona_types::{PermissionMode, ToolOutput, shown};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::{Place, ToolContext};
use crate::desk::AgentOrder;
use crate::input::{InputError, lenient_bool};
use crate::tool::{BuiltIn, Refusal};

/// The agent for everything.
pub(crate) const GENERAL: &str = "general-purpose";

pub(crate) struct Agent;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentInput {
    /// What it is to do, in three to five words.
    description: String,
    /// What it is to do, with everything it has to know: it sees nothing of this conversation.
    prompt: String,
    /// Which kind of agent; the default is that of the agent of this name, else general-purpose.
    subagent_type: Option<String>,
    /// The model, where another than its own is wanted.
    model: Option<String>,
    /// Go on meanwhile; you are told when it has ended.
    #[serde(default, deserialize_with = "lenient_bool")]
    run_in_background: Option<bool>,
    /// What it is called; a call with the name of one that has ended goes on with that one.
    name: Option<String>,
    /// Taken, and without effect: there are no teams.
    #[schemars(skip)]
    #[allow(dead_code, reason = "hosts send it")]
    team_name: Option<String>,
    /// The permission mode; it can only be stricter than yours.
    mode: Option<String>,
    /// `worktree`: it works in a git worktree of its own.
    isolation: Option<Isolation>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Isolation {
    Worktree,
}

impl BuiltIn for Agent {
    const NAME: &'static str = "Agent";
    const DESCRIPTION: &'static str = "Has another agent do a part of the work, with a context and tools of its own, \
        and gives you what it says at its end. Use it for searches that would fill your context, and for parts that \
        stand alone; several calls in one answer work side by side. It can start no agents itself.";
    const HINTS: Hints = Hints::ANYTHING;
    type Input = AgentInput;

    fn effects(input: &AgentInput, _: &Place) -> Result<Effects, InputError> {
        let wrong = |why: String| Err(InputError::new(Self::NAME, why));
        for (key, text) in [("description", &input.description), ("prompt", &input.prompt)] {
            if text.trim().is_empty() {
                return wrong(format!("`{key}` is empty"));
            }
        }
        if let Some(name) = &input.name
            && (name.is_empty()
                || name.len() > 64
                || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)))
        {
            return wrong(format!(
                "`name`: `{}` is none: up to 64 letters, digits, `-` and `_`",
                shown(name)
            ));
        }
        if let Some(mode) = &input.mode
            && let Err(error) = mode.parse::<PermissionMode>()
        {
            return wrong(format!("`mode`: {error}"));
        }
        Ok(Effects::default())
    }

    async fn run(input: AgentInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let order = AgentOrder {
            description: input.description,
            prompt: input.prompt,
            subagent_type: input.subagent_type.unwrap_or_else(|| GENERAL.to_owned()),
            model: input.model,
            background: input.run_in_background,
            name: input.name,
            worktree: input.isolation.is_some(),
            mode: input.mode,
        };
        Ok(cx.desk.agent(order, cx.tool_use_id, cx.cancel).await)
    }
}
