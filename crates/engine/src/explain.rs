//! Why a call would be allowed, asked for or denied, and what would change that. Runs nothing.

use ona_policy::{By, Call, Permissions, Rule, Ruling, Scope};
use ona_types::hook::HookDetail;
use ona_types::{Behavior, PermissionUpdate, RuleValue, ToolUseId, UpdateDestination};
use serde::Serialize;
use serde_json::{Value, json};

use crate::gate::{PendingCall, rule_words};
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
    /// The smallest change that would turn it.
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

impl Session<'_> {
    /// What would become of a call.
    pub fn explain(&self, tool: &str, input: &Value) -> Result<Explanation, ona_store::StoreError> {
        let denied = |why: String, change: &str| Explanation {
            verdict: Behavior::Deny,
            because: vec![why],
            hooks: Vec::new(),
            to_change_it: vec![change.to_owned()],
        };
        let Some(known) = ona_tools::find(tool) else {
            return Ok(denied(format!("there is no tool `{tool}`"), "name one of the tools"));
        };
        let id = ToolUseId::from_existing("explain");
        let mut call = PendingCall::new(&id, known, input.clone());
        match known.prepare(input, &self.place) {
            Ok(effects) => call.effects = effects,
            Err(error) => return Ok(denied(error.to_string(), "mend the input")),
        }
        let detail = HookDetail::PreToolUse {
            tool_name: tool.to_owned(),
            tool_input: input.clone(),
            tool_use_id: id.clone(),
        };
        let hooks = self
            .governance
            .hooks
            .matching(&detail, Some(&call.effects))
            .into_iter()
            .map(|hook| format!("{} {} ({})", hook.ordinal, hook.handler.label(), hook.source))
            .collect();
        let standing = self.engine.store.standing(&self.seat.conversation)?;
        if let Some(why) = phase::forbids(standing, tool) {
            let change = "approve a plan, or leave planning";
            return Ok(Explanation { hooks, ..denied(why, change) });
        }
        let found = self.governance.permissions.judge(&call.as_call());
        let (because, _) = ruling(&found);
        Ok(Explanation {
            verdict: found.behavior,
            because: vec![because],
            hooks,
            to_change_it: changes(&self.governance.permissions, &found, &call.as_call()),
        })
    }
}

/// The smallest change that would turn a ruling.
fn changes(permissions: &Permissions, found: &Ruling<'_>, call: &Call<'_>) -> Vec<String> {
    let remove = |rule: &Rule| format!("remove the {} rule {}", rule.behavior, rule_words(rule));
    let builtin = |rule: &Rule| rule.source.scope == Scope::Builtin;
    match (found.behavior, &found.by) {
        (Behavior::Allow, By::Rules(rules)) => {
            let change = |rule: &&Rule| match builtin(rule) {
                true => format!("add the deny rule {}", rule.text),
                false => remove(rule),
            };
            rules.iter().map(change).collect()
        }
        (Behavior::Allow, By::Mode(mode)) => vec![format!("use another mode than {mode}")],
        (behavior, By::Rules(_)) => {
            let change = |rule: &&Rule| match builtin(rule) {
                true => format!("say yes when it is asked: {} is protected", rule.text),
                false => remove(rule),
            };
            permissions.against(behavior, call).iter().map(change).collect()
        }
        (_, By::Mode(mode)) => {
            let rules = permissions.suggestions(call);
            if rules.is_empty() {
                return vec![format!("use another mode than {mode}: no rule would cover it")];
            }
            rules.iter().map(|rule| format!("add the allow rule {rule}")).collect()
        }
        (_, By::Opaque(why)) => {
            vec![format!("write the command so that it can be read: {why}")]
        }
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
