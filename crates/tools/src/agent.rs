//! Agent: starts another agent for a part of the work, in its own session.

use ona_effects::Effects;
use ona_mcp::Hints;
use ona_policy::RuleSubject;
use ona_types::{PermissionMode, TaskId, ToolOutput, ToolUseId, shown};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::context::{Place, ToolContext};
use crate::facts::{Facts, ModelNeed, TaskChange};
use crate::input::{InputError, lenient_bool};
use crate::services::{AgentOrder, ServiceError, SessionServices};
use crate::tool::{BuiltIn, Refusal};

/// The general-purpose agent type.
pub(crate) const GENERAL: &str = "general-purpose";

/// Limits in characters for the description of one agent type and for the whole listing: files of a
/// repository must not fill the context.
const MAX_DESCRIPTION: usize = 1_000;
const MAX_LISTING: usize = 20_000;

pub(crate) struct Agent;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentInput {
    /// The task, in three to five words.
    description: String,
    /// The task, with everything the agent has to know: it does not see this conversation.
    prompt: String,
    /// The agent type; the default is the type of the agent with this `name`, otherwise general-purpose.
    subagent_type: Option<String>,
    /// The model, if not the agent type's own.
    model: Option<String>,
    /// Run in the background; you are told when it has ended.
    #[serde(default, deserialize_with = "lenient_bool")]
    run_in_background: Option<bool>,
    /// The agent's name; a call with the name of an agent that has ended continues that agent.
    name: Option<String>,
    /// Accepted and ignored: there are no teams.
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
    const DESCRIPTION: &'static str = "Starts another agent for a part of the work, with its own context and tools, \
        and returns its final answer. Use it for searches that would fill your context, and for parts that \
        are independent; several calls in one answer run in parallel. It cannot start agents itself.";
    const FACTS: Facts = Facts {
        rules: RuleSubject::Field { key: "subagent_type", default: GENERAL, arguments: None },
        starts_agents: true,
        main_agent_only: true,
        side_by_side: true,
        ..Facts::plain(Hints::ANYTHING)
    };
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
                "`name`: `{}` is not valid: use up to 64 letters, digits, `-` and `_`",
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

    fn unusable(input: &AgentInput, services: &dyn SessionServices) -> Option<String> {
        let wanted = input.subagent_type.as_deref().unwrap_or(GENERAL);
        services.may_start(wanted).err().map(|why| why.to_string())
    }

    fn more_about(services: &dyn SessionServices) -> String {
        let mut text = "\nAgent types:".to_owned();
        for agent in services.agent_types() {
            let about = ona_types::whole_words(&agent.description, MAX_DESCRIPTION);
            if text.len() + about.len() > MAX_LISTING {
                text.push_str("\n(`ona agents` lists more)");
                break;
            }
            text.push_str(&format!("\n- {}: {about}", agent.name));
        }
        text
    }

    /// A call with an existing agent's name and without a type gets that agent's type, so that rules and hooks judge
    /// the type that will run.
    fn complete(input: &mut Value, services: &dyn SessionServices) {
        if input.get("subagent_type").is_none_or(Value::is_null)
            && let Some(name) = input.get("name").and_then(Value::as_str)
            && let Some(agent_type) = services.type_of_agent(name)
        {
            input["subagent_type"] = agent_type.into();
        }
    }

    fn task_changes(
        input: AgentInput,
        call: &ToolUseId,
        services: &dyn SessionServices,
    ) -> Result<Vec<TaskChange>, ServiceError> {
        let wanted = input.subagent_type.as_deref().unwrap_or(GENERAL);
        let by_type = || {
            let types = services.agent_types();
            types.iter().any(|known| known.name == wanted && known.background)
        };
        if !input.run_in_background.unwrap_or_else(by_type) {
            return Ok(Vec::new());
        }
        Ok(vec![TaskChange::started(&TaskId::of_call(call), input.description)])
    }

    fn model_need(_: &dyn SessionServices) -> ModelNeed {
        ModelNeed::Always
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
        Ok(cx.services.agent(order, cx.calling()).await)
    }
}
