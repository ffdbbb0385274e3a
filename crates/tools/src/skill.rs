//! Skill: the model loads written instructions and follows them.

use ona_effects::Effects;
use ona_mcp::Hints;
use ona_policy::RuleSubject;
use ona_types::ToolOutput;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::agent::Agent;
use crate::context::{Place, ToolContext};
use crate::facts::{AlsoRuled, Counts, Facts, ModelNeed};
use crate::input::InputError;
use crate::services::SessionServices;
use crate::tool::{BuiltIn, Refusal};

pub(crate) struct Skill;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillInput {
    /// The skill's name, without a slash.
    skill: String,
    /// Its arguments, as one string.
    args: Option<String>,
}

impl SkillInput {
    fn name(&self) -> &str {
        self.skill.trim().trim_start_matches('/')
    }
}

impl BuiltIn for Skill {
    const NAME: &'static str = "Skill";
    const DESCRIPTION: &'static str = "Loads one of the skills you were told about: its instructions are returned, and you \
        follow them. Call it as soon as a skill fits what the user wants, before you start any other work.";
    const FACTS: Facts = Facts {
        rules: RuleSubject::Field { key: "skill", default: "", arguments: Some("args") },
        needs_skills: true,
        starts_agents: true,
        ..Facts::plain(Hints::ANYTHING)
    };
    type Input = SkillInput;

    fn effects(input: &SkillInput, _: &Place) -> Result<Effects, InputError> {
        match input.name().trim().is_empty() {
            true => Err(InputError::new(Self::NAME, "`skill` is empty")),
            false => Ok(Effects::default()),
        }
    }

    fn unusable(input: &SkillInput, services: &dyn SessionServices) -> Option<String> {
        match services.skill_view(input.name()) {
            Err(why) => Some(why.to_string()),
            Ok(skill) => services.may_start(&skill.agent_type?).err().map(|why| why.to_string()),
        }
    }

    /// A skill that runs in an agent of its own starts one: rules about agents hold.
    fn also_ruled_as(input: &SkillInput, services: &dyn SessionServices) -> Vec<AlsoRuled> {
        let agent_type = services.skill_view(input.name()).ok().and_then(|skill| skill.agent_type);
        let ruled = |agent_type: String| AlsoRuled {
            name: Agent::NAME.to_owned(),
            facts: Agent::FACTS.for_rules(),
            input: json!({ "subagent_type": agent_type }),
            used: "it runs in an agent",
            counts: Counts::AsCall,
        };
        agent_type.map(ruled).into_iter().collect()
    }

    /// Instructions alone do nothing: the calls that follow pass the gate. A skill that cannot be applied says so
    /// itself.
    fn needs_no_question(input: &SkillInput, services: &dyn SessionServices) -> Option<String> {
        match services.skill_view(input.name()) {
            Ok(skill) if !skill.only_instructs => None,
            Ok(_) => Some("the skill adds no permissions and no hooks".to_owned()),
            Err(_) => Some("the skill cannot be applied".to_owned()),
        }
    }

    fn skill(input: &SkillInput) -> Option<String> {
        Some(input.name().to_owned())
    }

    /// Only one that runs in an agent of its own needs it.
    fn model_need(_: &dyn SessionServices) -> ModelNeed {
        ModelNeed::IfThereIsOne
    }

    async fn run(input: SkillInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let args = input.args.as_deref().unwrap_or_default();
        Ok(cx.services.skill(input.name(), args, cx.calling()).await)
    }
}
