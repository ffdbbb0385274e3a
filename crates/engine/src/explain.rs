//! Why a call would be allowed, asked for or denied, and what would change that. Runs nothing.

use ona_hooks::HookEntry;
use ona_policy::{By, Call, Change, Ruling, Verdict};
use ona_store::{Standing, StoreError};
use ona_types::hook::HookDetail;
use ona_types::{Behavior, PermissionUpdate, Phase, RuleValue, ToolUseId, UpdateDestination};
use serde::Serialize;
use serde_json::{Value, json};

use crate::gate::{PendingCall, rule_words};
use crate::intents::Ruled;
use crate::phase;
use crate::session::Session;

/// What would become of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// `allow`, `ask` or `deny`.
    pub verdict: Behavior,
    /// Why, stage by stage.
    pub because: Vec<String>,
    /// Hooks that would run, whose answers cannot be known beforehand.
    pub hooks: Vec<String>,
    /// The smallest change that would turn it: of several steps, all together.
    pub to_change_it: Vec<String>,
}

/// A ruling in words, and for programs.
pub(crate) fn ruling(ruling: &Ruling<'_>) -> (String, Value) {
    let verb = match ruling.behavior {
        Behavior::Allow => "allowed",
        Behavior::Ask => "asked for",
        Behavior::Deny => "denied",
    };
    match &ruling.by {
        By::Rules(rules) => {
            let words: Vec<String> = rules.iter().map(|rule| rule_words(rule)).collect();
            let detail: Vec<Value> = rules
                .iter()
                .map(|rule| {
                    json!({"rule": rule.text, "behavior": rule.behavior, "source": rule.source})
                })
                .collect();
            let word = if words.len() == 1 { "rule" } else { "rules" };
            (format!("{verb} by the {word} {}", words.join(", ")), json!({"rules": detail}))
        }
        By::Mode(mode) => {
            (format!("{verb} by the mode {mode}: no rule covers it"), json!({"mode": mode}))
        }
        By::Opaque(why) => (format!("{verb}: {why}"), json!({"opaque": why})),
    }
}

/// Suggestions as updates of the project's own settings that are not committed.
pub(crate) fn updates(suggestions: &[RuleValue]) -> Vec<PermissionUpdate> {
    if suggestions.is_empty() {
        return Vec::new();
    }
    vec![PermissionUpdate::AddRules {
        rules: suggestions.to_vec(),
        behavior: Behavior::Allow,
        destination: UpdateDestination::LocalSettings,
    }]
}

impl Session {
    /// What would become of a call.
    pub fn explain(&self, tool: &str, input: &Value) -> Result<Explanation, StoreError> {
        let denied = |why: String, change: &str| Explanation {
            verdict: Behavior::Deny,
            because: vec![why],
            hooks: Vec::new(),
            to_change_it: vec![change.to_owned()],
        };
        let Some(known) = self.tool(tool) else {
            return Ok(denied(format!("there is no tool `{tool}`"), "name one of the tools"));
        };
        let id = ToolUseId::from_existing("explain");
        let mut call = PendingCall::new(&id, &*known, input.clone());
        match self.prepare(&*known, input) {
            Ok(effects) => call.effects = effects,
            Err(error) => return Ok(denied(error.to_string(), "mend the input")),
        }
        let detail = HookDetail::PreToolUse {
            tool_name: tool.to_owned(),
            tool_input: input.clone(),
            tool_use_id: id.clone(),
        };
        let plane = &self.governance.hooks;
        let words = |hook: &HookEntry| {
            format!("{} {} ({})", hook.ordinal, hook.handler.label(), hook.source)
        };
        let mut hooks: Vec<String> =
            plane.matching(&detail, Some(&call.effects)).into_iter().map(words).collect();
        hooks.extend(plane.own_gates(&detail).into_iter().map(|hook| {
            format!("{}: skipped, it is ona's own gate for another agent", words(hook))
        }));
        let found = self.governance.permissions.judge(&call.as_call());
        let (by_rules, _) = ruling(&found);
        let by_phase = phase::forbids(self.standing()?, tool);
        let by_intent = self.judge_intent(&call)?;
        let (mut because, mut steps) = (Vec::new(), Vec::new());
        // A phase is left in vain where a later stage says no as well.
        if let Some(why) = &by_phase {
            because.push(why.clone());
            steps.push("approve a plan, or leave planning".to_owned());
        }
        let mut asks = false;
        let mut refused = by_phase.is_some();
        if let Some((governed, ruled)) = &by_intent {
            let answer = self.intent_answer(&call, governed, ruled);
            if let Ruled::Refused(refusal) = ruled {
                because.push(refusal.message());
                steps.push(refusal.hint());
                refused = true;
            } else if answer.verdict == Verdict::Ask && !refused {
                asks = true;
                because.push(answer.reason);
                steps.push("say yes when it is asked, or add a rule that allows it".to_owned());
            }
        }
        if !refused && !asks || found.behavior == Behavior::Deny {
            because.push(by_rules);
            steps.extend(self.steps(&call.as_call()));
        }
        let together = |(at, step): (usize, String)| match at {
            0 => step,
            _ => format!("and {step}"),
        };
        Ok(Explanation {
            verdict: match found.behavior {
                Behavior::Allow if asks && !refused => Behavior::Ask,
                _ if refused => Behavior::Deny,
                by_rules => by_rules,
            },
            because,
            hooks,
            to_change_it: steps.into_iter().enumerate().map(together).collect(),
        })
    }

    /// A conversation that there is no record of has just begun.
    fn standing(&self) -> Result<Standing, StoreError> {
        match self.engine.store.standing(&self.seat.conversation) {
            Err(StoreError::UnknownConversation(_)) => {
                Ok(Standing { phase: Phase::Idle, approved_plan: false })
            }
            standing => standing,
        }
    }

    /// What would turn what the rules say of a call, all of it together.
    fn steps(&self, call: &Call<'_>) -> Vec<String> {
        let governance = &self.governance;
        let changes = governance.permissions.remedy(call, |mode| governance.may_use(mode));
        let whose = match governance.managed_rules_only() {
            true => "only managed settings can change it (allowManagedPermissionRulesOnly): ",
            false => "",
        };
        let words = |change: &Change| match change {
            Change::Remove(rule) => {
                format!("{whose}remove the {} rule {}", rule.behavior, rule_words(rule))
            }
            Change::Add(behavior, text) => format!("{whose}add the {behavior} rule {text}"),
            Change::Mode(mode) => format!("use the mode {mode}"),
            Change::SayYes(rule) => {
                format!("say yes when it is asked: {} is protected", rule.text)
            }
            Change::WritePlainly(why) => {
                format!("write the command so that it can be read: {why}")
            }
        };
        if changes.is_empty() {
            return vec!["no rule and no mode that may be used would change it".to_owned()];
        }
        changes.iter().map(words).collect()
    }
}

#[cfg(test)]
mod tests {
    use ona_types::PermissionMode;
    use proptest::prelude::*;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::testing::World;

    const RULES: [&str; 9] = [
        "Bash",
        "Bash(mkdir *)",
        "Bash(echo *)",
        "Bash(ls *)",
        "Read",
        "Edit",
        "Edit(/a/**)",
        "Read(/secret.txt)",
        "Bash(touch a*)",
    ];

    fn calls() -> Vec<(&'static str, Value)> {
        vec![
            ("Bash", json!({"command": "mkdir -p x"})),
            ("Bash", json!({"command": "echo a > out.txt; ls"})),
            ("Bash", json!({"command": "touch a1 && echo $(touch b)"})),
            ("Read", json!({"file_path": "secret.txt"})),
            ("Read", json!({"file_path": "/etc/hostname"})),
            ("Write", json!({"file_path": "a/new.txt", "content": "x"})),
            ("Glob", json!({"pattern": "*"})),
        ]
    }

    fn list() -> impl Strategy<Value = Vec<&'static str>> {
        prop::sample::subsequence(RULES.to_vec(), 0..3)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn what_is_explained_is_what_happens(
            (allow, ask, deny) in (list(), list(), list()),
            (mode, _) in prop::sample::select(PermissionMode::ALL.to_vec()),
        ) {
            let world = World::new(&json!({"permissions":
                {"allow": allow, "ask": ask, "deny": deny, "defaultMode": mode}}));
            std::fs::write(world.project().join("secret.txt"), "s").unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let mut session = world.session();
            for (tool, input) in calls() {
                let told = session.explain(tool, &input).unwrap();
                let cancel = CancellationToken::new();
                // Nobody is there to be asked.
                let report = runtime.block_on(session.call(tool, &input, &cancel)).unwrap();
                let because = &told.because[0];
                match told.verdict {
                    Behavior::Allow => prop_assert!(!report.content.contains("denied"), "{tool} {input}: {}", report.content),
                    Behavior::Ask => prop_assert!(report.content.contains("there is nobody to ask"), "{tool} {input}: {}", report.content),
                    Behavior::Deny => prop_assert_eq!(&report.content, because),
                }
                if told.verdict == Behavior::Ask {
                    prop_assert!(report.content.contains(because.as_str()), "{}", report.content);
                }
            }
        }
    }
}
