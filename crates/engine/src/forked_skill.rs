//! A skill that runs in an agent of its own. Starting it is a call of Agent like any other: rules, hooks and the human
//! judge it with the prompt that the agent would get, and it is on the record.

use std::sync::Arc;

use ona_front::DeniedCall;
use ona_gate::call::CallReport;
use ona_tools::{AgentOrder, Calling, Waits, names};
use ona_types::{ToolOutput, ToolUseId};
use serde_json::{Value, json};

use crate::agent_side::StartsAgents;
use crate::identity::GENERAL;
use crate::session::{Session, SessionRef};
use crate::skills::SkillError;
use ona_extensions::SkillDefinition;

/// Who starts the agent of a skill once the call is permitted.
#[derive(Debug)]
struct ForkedSkill {
    /// The session that has applied the skill.
    session: Session,
    skill: SkillDefinition,
    /// The call that has applied it.
    call: ToolUseId,
}

impl StartsAgents for ForkedSkill {
    /// It is the agent of the call that has applied the skill.
    fn start<'a>(&'a self, order: AgentOrder, call: Calling<'a>) -> Waits<'a, ToolOutput> {
        let call = Calling { id: &self.call, ..call };
        Box::pin(self.session.view().start_agent(order, Some(&self.skill), call))
    }
}

impl SessionRef<'_> {
    /// Runs a skill in an agent of its own. The call passes the gate in a side session, because the model did not make
    /// it.
    pub(crate) async fn fork_skill(
        self,
        skill: &SkillDefinition,
        prompt: String,
        call: Calling<'_>,
    ) -> Result<ToolOutput, SkillError> {
        let mut side_session = self.side_session()?;
        let mut session = self.for_concurrent_use()?;
        if let Some(tools) = &self.side.for_user {
            // The user has asked for the skill, not for the agent.
            side_session.gate.front = self.gate.front.another().for_agents_call();
            session.gate.toolbox.only = Some(tools.clone());
        }
        let (skill, id) = (skill.clone(), call.id.clone());
        let input = agent_input(&skill, &prompt);
        let starter: Arc<dyn StartsAgents> = Arc::new(ForkedSkill { session, skill, call: id });
        let identity = self.side.identity.clone();
        side_session.change_side(|side| (side.starter, side.identity) = (Some(starter), identity));
        let report = side_session.gate.call(names::AGENT, &input, call.cancel).await?;
        if report.denied_by.is_some() {
            self.side.add_denials([DeniedCall {
                tool_name: names::AGENT.to_owned(),
                tool_use_id: report.tool_use_id.clone(),
                tool_input: input,
            }]);
        }
        Ok(output(report))
    }
}

/// The call that starts the agent of a skill.
fn agent_input(skill: &SkillDefinition, prompt: &str) -> Value {
    let mut input = json!({
        "description": format!("/{}", skill.name),
        "prompt": prompt,
        "subagent_type": skill.agent.as_deref().unwrap_or(GENERAL),
        "run_in_background": false,
    });
    if let Some(model) = &skill.model {
        input["model"] = model.as_str().into();
    }
    input
}

/// What the agent's call came to, as the result of the skill's.
fn output(report: CallReport) -> ToolOutput {
    let mut output = match report.is_error {
        true => ToolOutput::rejected(report.content),
        false => ToolOutput::success(report.content),
    };
    output.stop = report.stop;
    output.with_detail("agent_call", report.tool_use_id.as_str())
}
