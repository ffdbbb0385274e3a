//! Describes permission rules and rulings in words.

use ona_policy::{By, Rule, Ruling};
use ona_types::{Behavior, PermissionUpdate, RuleValue, UpdateDestination};
use serde_json::{Value, json};

/// A rule in words, with its source.
pub fn rule(rule: &Rule) -> String {
    match rule.protects() {
        Some(what) => format!("{} ({}: {what})", rule.text, rule.source),
        None => format!("{} ({})", rule.text, rule.source),
    }
}

/// A ruling in words, and as JSON.
pub fn ruling(ruling: &Ruling<'_>) -> (String, Value) {
    let verb = match ruling.behavior {
        Behavior::Allow => "allowed",
        Behavior::Ask => "needs confirmation",
        Behavior::Deny => "denied",
    };
    match &ruling.by {
        By::Rules(rules) => {
            let words: Vec<String> = rules.iter().map(|one| rule(one)).collect();
            let detail: Vec<Value> = rules
                .iter()
                .map(|rule| {
                    json!({"rule": rule.text, "behavior": rule.behavior, "source": rule.source})
                })
                .collect();
            let word = if words.len() == 1 { "rule" } else { "rules" };
            let by = if ruling.behavior == Behavior::Ask { ":" } else { " by" };
            (format!("{verb}{by} the {word} {}", words.join(", ")), json!({"rules": detail}))
        }
        By::Mode(mode) => {
            let words = match ruling.behavior {
                Behavior::Ask => format!("{verb}: no rule matches (mode {mode})"),
                Behavior::Allow | Behavior::Deny => {
                    format!("{verb} in mode {mode}: no rule matches")
                }
            };
            match &ruling.because {
                Some(why) => (format!("{words}; {why}"), json!({"mode": mode})),
                None => (words, json!({"mode": mode})),
            }
        }
        By::Sandbox => {
            (format!("{verb} in the sandbox: no rule matches"), json!({"sandbox": true}))
        }
        By::Opaque(why) => (format!("{verb}: {why}"), json!({"opaque": why})),
    }
}

/// Suggestions, as updates of the project's local settings.
pub fn updates(suggestions: &[RuleValue]) -> Vec<PermissionUpdate> {
    if suggestions.is_empty() {
        return Vec::new();
    }
    vec![PermissionUpdate::AddRules {
        rules: suggestions.to_vec(),
        behavior: Behavior::Allow,
        destination: UpdateDestination::LocalSettings,
    }]
}
