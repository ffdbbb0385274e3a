//! EnterPlanMode and ExitPlanMode: into planning, and out of it with a plan that a human has approved (S0 §8.2).

use ona_effects::Effects;
use ona_mcp::Hints;
use ona_types::{Change, Phase, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::{Place, ToolContext};
use crate::facts::{Asks, Facts};
use crate::input::InputError;
use crate::tool::{BuiltIn, Refusal};

/// The limit for a plan, in bytes: a human has to read it.
const MAX_PLAN: usize = 200_000;

pub(crate) struct EnterPlanMode;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EnterInput {}

impl BuiltIn for EnterPlanMode {
    const NAME: &'static str = "EnterPlanMode";
    const DESCRIPTION: &'static str = "Starts planning: from now on no file may be written and no command run \
        until the user approves a plan. Use it before work that is larger than it looked, or whose approach is open. Look \
        around, then submit the plan with ExitPlanMode.";
    const FACTS: Facts = Facts { main_agent_only: true, ..Facts::plain(Hints::ADDS.once()) };
    type Input = EnterInput;

    fn effects(_: &EnterInput, _: &Place) -> Result<Effects, InputError> {
        Ok(Effects::default())
    }

    async fn run(_: EnterInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let content = "The conversation is in planning. Read what you need, make a plan, and submit it with \
                       ExitPlanMode; nothing is written until a human has approved it.";
        Ok(ToolOutput::success(content)
            .with_change(Change::Planning { by_operator: cx.services.is_operators_call() }))
    }
}

pub(crate) struct ExitPlanMode;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case, reason = "the keys are written so")]
pub(crate) struct ExitInput {
    /// The plan, in Markdown: what will be done; the pages of documentation and the commands (`tool --help`) that describe the
    /// public interface; and a section `## Success criteria` with a list. Each criterion is something that can be seen
    /// from outside when the work is done: what a program prints, a file, rows of a database. Tests are written from this text by
    /// somebody who never sees the code.
    plan: String,
    /// Accepted and ignored: an approved plan allows no command.
    #[serde(default)]
    #[allow(dead_code, reason = "hosts send it")]
    allowedPrompts: Option<Vec<serde_json::Value>>,
}

impl BuiltIn for ExitPlanMode {
    const NAME: &'static str = "ExitPlanMode";
    const DESCRIPTION: &'static str = "Submits the complete plan for the user to approve. If it is approved, the work begins; \
        otherwise you are told what to change, or that no user was there to read it: then say what you would do and \
        stop.";
    /// No rule, mode or hook may approve a plan in place of the responsible human.
    const FACTS: Facts =
        Facts { asks: Asks::AHuman, main_agent_only: true, ..Facts::plain(Hints::ADDS) };
    type Input = ExitInput;

    fn effects(input: &ExitInput, _: &Place) -> Result<Effects, InputError> {
        let wrong = |why: String| Err(InputError::new(Self::NAME, why));
        if input.plan.trim().is_empty() {
            return wrong("`plan` is empty".to_owned());
        }
        if input.plan.len() > MAX_PLAN {
            return wrong(format!("`plan` is longer than {MAX_PLAN} bytes"));
        }
        Ok(Effects::default())
    }

    fn plan(input: &ExitInput) -> Option<String> {
        Some(input.plan.clone())
    }

    async fn run(input: ExitInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let phase = cx.services.phase()?;
        if phase != Phase::Planning {
            return Err(Refusal::rejected(format!("not in planning (phase: {phase})")));
        }
        let content = "The plan is approved. Do what it says, and no more.";
        Ok(ToolOutput::success(content)
            .with_change(Change::PlanApproved { plan: input.plan, baseline: None }))
    }
}
