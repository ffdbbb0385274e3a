//! Permission rules: read from any text, held against any call.
//!
//! Input: the rule, a newline, a tool, a newline, what the tool is called with. The rule is all but the
//! last two lines, so it may have newlines itself.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use ona_policy::path::Target;
use ona_policy::{
    By, Call, Effects, Permissions, Rule, RuleFacts, RuleSubject, Scope, Source, Surroundings,
};
use ona_repo::Disk;
use ona_types::{Behavior, PermissionMode};
use serde_json::{Value, json};

const BEHAVIORS: [Behavior; 3] = [Behavior::Allow, Behavior::Ask, Behavior::Deny];

fuzz_target!(|text: &str| {
    let mut lines = text.rsplitn(3, '\n');
    let (operand, tool, rule) = match (lines.next(), lines.next(), lines.next()) {
        (Some(operand), Some(tool), Some(rule)) => (operand, tool, rule),
        _ => ("", "", text),
    };
    let [allow, ask, deny] = BEHAVIORS.map(|behavior| read(rule, behavior));
    // What may be allowed may be forbidden, or a settings file could open a door it cannot close.
    assert!(allow.is_none() || deny.is_some(), "allow reads it, deny does not");
    assert_eq!(ask.is_some(), deny.is_some(), "ask and deny read the same rules");

    let Some(effects) = effects(operand) else { return };
    let input = input(operand);
    let call = Call { tool, facts: facts(tool), input: &input, effects: &effects };
    for rule in [&allow, &ask, &deny].into_iter().flatten() {
        assert_eq!(rule.hits(&call), rule.hits(&call), "the same call, the same answer");
        let _ = Permissions::new(vec![rule.clone()], PermissionMode::Default, around()).judge(&call);
    }
    let Some(deny) = deny else { return };
    if let Some(allow) = &allow {
        // Whoever may edit may read, so an Edit rule allows calls it is not about. No other does.
        let lends = text_before_parenthesis(allow) == "Edit" && matches!(tool, "Read" | "Glob" | "Grep");
        assert!(
            lends || !covers(allow, &call) || deny.hits(&call),
            "as an allow rule it covers the call, as a deny rule it misses it"
        );
    }
    if deny.hits(&call) {
        let everything = read(tool, Behavior::Allow);
        let rules: Vec<Rule> = everything.into_iter().chain(allow).chain([deny]).collect();
        for (mode, _) in PermissionMode::ALL {
            let permissions = Permissions::new(rules.clone(), mode, around());
            assert_eq!(permissions.judge(&call).behavior, Behavior::Deny, "deny wins in {mode}");
        }
    }
});

/// Reads the rule twice, and once more from its own text.
fn read(text: &str, behavior: Behavior) -> Option<Rule> {
    let parse = |text: &str| {
        Rule::parse(text, behavior, Source::of(Scope::Project), &around().anchors())
    };
    // A rule has no equality of its own; its debug text shows every field, before anything is compiled.
    let (first, second) = (parse(text), parse(text));
    assert_eq!(format!("{first:?}"), format!("{second:?}"), "the same text, the same rule");
    let (rule, warning) = first.ok()?;
    assert_eq!(rule.behavior, behavior);
    let again = parse(&rule.text);
    assert_eq!(
        format!("{again:?}"),
        format!("{:?}", Ok::<_, ona_policy::RuleError>((&rule, &warning))),
        "the rule's own text is the rule"
    );
    Some(rule)
}

/// Whether the rule alone allows the call; without a rule the mode would.
fn covers(rule: &Rule, call: &Call<'_>) -> bool {
    let permissions =
        Permissions::new(vec![rule.clone()], PermissionMode::BypassPermissions, around());
    matches!(permissions.judge(call).by, By::Rules(_))
}

fn text_before_parenthesis(rule: &Rule) -> &str {
    rule.text.split('(').next().unwrap_or_default()
}

/// The operand as everything at once: a path, a command line, a host. Nothing if no tool takes it.
fn effects(operand: &str) -> Option<Effects> {
    let cwd = Path::new("/w/app");
    let mut effects = Effects::of_shell(&Disk, operand, cwd).ok()?;
    let target = Target::of(&Disk, cwd, operand).ok();
    effects.reads.extend(target.clone());
    effects.writes.extend(target);
    effects.hosts.push(operand.to_owned());
    Some(effects)
}

fn input(operand: &str) -> Value {
    match operand.split_once('\t') {
        Some((name, args)) => json!({"subagent_type": name, "skill": name, "args": args}),
        None => json!({"subagent_type": operand, "skill": operand}),
    }
}

fn around() -> Surroundings {
    Surroundings {
        cwd: "/w/app".into(),
        project_dir: "/w/app".into(),
        home: "/home/u".into(),
        working_dirs: vec!["/w/app".into()],
        outputs: None,
        protected: Vec::new(),
        world: &Disk,
    }
}

/// What a tool of this name would say of itself.
fn facts(tool: &str) -> RuleFacts {
    let subject = match tool {
        "Bash" => return RuleFacts::COMMAND,
        "Read" | "Glob" | "Grep" => RuleSubject::Reads,
        "Write" | "Edit" | "NotebookEdit" => RuleSubject::Writes,
        "WebFetch" => RuleSubject::Domain,
        "Agent" => RuleSubject::Field { key: "subagent_type", default: "", arguments: None },
        "Skill" => RuleSubject::Field { key: "skill", default: "", arguments: Some("args") },
        _ => RuleSubject::Name,
    };
    RuleFacts { subject, ..RuleFacts::default() }
}
