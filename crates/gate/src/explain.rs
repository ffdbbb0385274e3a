//! Why a call would be allowed, asked about or denied, and what would change that. Runs nothing.

use ona_store::StoreError;
use ona_tools::Tool;
use ona_types::gate::{Answer, End, Judged as _, Mode, StageName, Verdict, Walked};
use ona_types::{Behavior, ToolUseId};
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Gate;
use super::judgement::Judgement;
use super::stages::judge;

/// The verdict on a call that is not run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// `allow`, `ask` or `deny`.
    pub verdict: Behavior,
    /// Why, stage by stage.
    pub because: Vec<String>,
    /// Hooks that would run; their answers are not known in advance.
    pub hooks: Vec<String>,
    /// The smallest change that would change the verdict: all steps are needed.
    pub to_change_it: Vec<String>,
}

impl Gate {
    /// Judges a call without running it.
    pub async fn explain(&mut self, tool: &str, input: &Value) -> Result<Explanation, StoreError> {
        let tool = match self.usable_tool(tool, input) {
            Ok(tool) => tool,
            Err(why) => {
                return Ok(Explanation {
                    verdict: Behavior::Deny,
                    because: vec![why.to_string()],
                    hooks: Vec::new(),
                    to_change_it: vec!["name one of the tools".to_owned()],
                });
            }
        };
        self.explain_tool(&*tool, input).await
    }

    /// Judges a call of a tool that this session need not have.
    pub async fn explain_tool(
        &mut self,
        tool: &dyn Tool,
        input: &Value,
    ) -> Result<Explanation, StoreError> {
        let mut input = input.clone();
        tool.complete(&mut input, &self.services());
        let (id, cancel) = (ToolUseId::from_existing("explain"), CancellationToken::new());
        let mut call = Judgement::new(self, &id, tool, input, &cancel);
        let walked = judge(&mut call, Mode::Explain).await;
        let explained = match walked.end {
            End::Failed(error) => return Err(error),
            _ => Explanation::of(&walked),
        };
        // What passes the gate may still be certain to fail.
        let refusal = match explained.verdict {
            Behavior::Allow => tool.unusable(&call.input(), &call.gate.services()),
            Behavior::Ask | Behavior::Deny => None,
        };
        Ok(match refusal {
            Some(why) => Explanation { hooks: explained.hooks, ..Explanation::refused(why) },
            None => explained,
        })
    }
}

impl Explanation {
    /// A call that the tool itself would refuse.
    fn refused(why: String) -> Self {
        Self {
            verdict: Behavior::Deny,
            because: vec![why],
            hooks: Vec::new(),
            to_change_it: vec!["name something that may be used here".to_owned()],
        }
    }

    fn of(walked: &Walked<StoreError>) -> Self {
        let of_stage = |stage| walked.answers.iter().find(|answer| answer.stage == stage);
        let (verdict, decisive) = match walked.verdict() {
            Verdict::Deny => (Behavior::Deny, Verdict::Deny),
            Verdict::Ask => (Behavior::Ask, Verdict::Ask),
            Verdict::Pass | Verdict::Silent | Verdict::Allow => (Behavior::Allow, Verdict::Allow),
        };
        let says_so: Vec<&Answer> = match of_stage(StageName::Input) {
            // Invalid input cannot be judged further.
            Some(input) if input.verdict == Verdict::Deny => vec![input],
            _ if decisive == Verdict::Allow => of_stage(StageName::Rules).into_iter().collect(),
            _ => walked.answers.iter().filter(|answer| answer.verdict == decisive).collect(),
        };
        let hooks = of_stage(StageName::Hooks).and_then(|answer| answer.detail["hooks"].as_array());
        let hooks = hooks.into_iter().flatten().filter_map(|hook| hook.as_str().map(str::to_owned));
        let remedies = says_so.iter().flat_map(|answer| answer.remedies.iter()).enumerate();
        let together = |(at, step): (usize, &String)| match at {
            0 => step.clone(),
            _ => format!("and {step}"),
        };
        Self {
            verdict,
            because: says_so.iter().map(|answer| answer.reason.clone()).collect(),
            hooks: hooks.collect(),
            to_change_it: remedies.map(together).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ona_types::PermissionMode;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::testing::World;

    const RULES: [&str; 12] = [
        "Bash",
        "Bash(mkdir *)",
        "Bash(echo *)",
        "Bash(ls *)",
        "Read",
        "Edit",
        "Edit(/a/**)",
        "Read(/secret.txt)",
        "Bash(touch a*)",
        "TodoWrite",
        "Agent(general-purpose)",
        "WebFetch(domain:127.0.0.1)",
    ];

    /// An input for every built-in tool, and more for tools whose rules look at the input.
    fn calls() -> Vec<(&'static str, Value)> {
        vec![
            ("Bash", json!({"command": "mkdir -p x"})),
            ("Bash", json!({"command": "echo a > out.txt; ls"})),
            ("Bash", json!({"command": "touch a1 && echo $(touch b)"})),
            ("Bash", json!({"command": "ls", "run_in_background": true})),
            ("Bash", json!({"cmd": "no such field"})),
            ("Read", json!({"file_path": "secret.txt"})),
            ("Read", json!({"file_path": "/etc/hostname"})),
            ("Write", json!({"file_path": "a/new.txt", "content": "x"})),
            ("Edit", json!({"file_path": "secret.txt", "old_string": "s", "new_string": "t"})),
            ("NotebookEdit", json!({"notebook_path": "n.ipynb", "new_source": "x"})),
            ("Glob", json!({"pattern": "*"})),
            ("Grep", json!({"pattern": "s"})),
            ("WebFetch", json!({"url": "http://127.0.0.1:9/", "prompt": "x"})),
            ("WebSearch", json!({"query": "anything"})),
            (
                "AskUserQuestion",
                json!({"questions": [{"question": "Which?", "header": "H",
                "options": [{"label": "a", "description": "a"}, {"label": "b", "description": "b"}],
                "multiSelect": false}]}),
            ),
            (
                "TodoWrite",
                json!({"todos": [{"content": "c", "status": "pending", "activeForm": "c"}]}),
            ),
            ("TaskOutput", json!({"task_id": "none"})),
            ("TaskStop", json!({"task_id": "none"})),
            (
                "Agent",
                json!({"description": "d", "prompt": "p", "subagent_type": "general-purpose"}),
            ),
            ("Skill", json!({"skill": "none"})),
            ("EnterPlanMode", json!({})),
            ("ExitPlanMode", json!({"plan": "p\n## Success criteria\n- it prints p"})),
            ("ListMcpResources", json!({})),
            ("ReadMcpResource", json!({"server": "s", "uri": "u://x"})),
            ("ToolSearch", json!({"query": "x"})),
            ("Brief", json!({"message": "m"})),
            ("NoSuchTool", json!({})),
        ]
    }

    #[test]
    fn every_tool_has_a_call_here() {
        for tool in ona_tools::TOOLS {
            assert!(calls().iter().any(|(name, _)| *name == tool.name()), "{}", tool.name());
        }
    }

    fn list() -> impl Strategy<Value = Vec<&'static str>> {
        prop::sample::subsequence(RULES.to_vec(), 0..3)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn what_is_explained_is_what_happens(
            (allow, ask, deny) in (list(), list(), list()),
            (mode, _) in prop::sample::select(PermissionMode::ALL.to_vec()),
        ) {
            let world = World::new(&json!({"permissions":
                {"allow": allow, "ask": ask, "deny": deny, "defaultMode": mode}}));
            std::fs::write(world.project().join("secret.txt"), "s").unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let mut gate = world.gate();
            for (tool, input) in calls() {
                let told = runtime.block_on(gate.explain(tool, &input)).unwrap();
                let cancel = CancellationToken::new();
                // Nobody is there to ask.
                let report = runtime.block_on(gate.call(tool, &input, &cancel)).unwrap();
                let because = told.because.last().unwrap();
                let denied_by = report.denied_by;
                match told.verdict {
                    Behavior::Allow => prop_assert_eq!(denied_by, None, "{} {}: {}", tool, input, report.content),
                    Behavior::Ask => {
                        prop_assert_eq!(denied_by, Some(StageName::Human), "{} {}: {}", tool, input, report.content);
                        prop_assert!(report.content.contains(because.as_str()), "{}", report.content);
                    }
                    Behavior::Deny => prop_assert!(told.because.contains(&report.content), "{tool}: {} {:?}", report.content, told.because),
                }
            }
        }
    }
}
