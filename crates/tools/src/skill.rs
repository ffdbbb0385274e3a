//! Skill: the model takes up instructions that somebody wrote down.

use ona_mcp::Hints;
use ona_policy::Effects;
use ona_types::ToolOutput;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::{Place, ToolContext};
use crate::input::InputError;
use crate::tool::{BuiltIn, Refusal};

pub(crate) struct Skill;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillInput {
    /// The skill's name, without a slash.
    skill: String,
    /// What it is given, as one text.
    args: Option<String>,
}

impl BuiltIn for Skill {
    const NAME: &'static str = "Skill";
    const DESCRIPTION: &'static str = "Takes up one of the skills you were told of: its instructions come back, and you \
        follow them. Call it as soon as a skill fits what the user wants, before you begin otherwise.";
    const HINTS: Hints = Hints::ANYTHING;
    type Input = SkillInput;

    fn effects(input: &SkillInput, _: &Place) -> Result<Effects, InputError> {
        match input.skill.trim_start_matches('/').trim().is_empty() {
            true => Err(InputError::new(Self::NAME, "`skill` is empty")),
            false => Ok(Effects::default()),
        }
    }

    async fn run(input: SkillInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let name = input.skill.trim().trim_start_matches('/');
        let args = input.args.as_deref().unwrap_or_default();
        Ok(cx.desk.skill(name, args, cx.tool_use_id, cx.cancel).await)
    }
}
