//! Which changes would reverse a ruling: as few as possible, and tested together before they are suggested.

use ona_types::{Behavior, PermissionMode};

use crate::permissions::{By, Call, Permissions};
use crate::rule::{Anchors, Rule, Scope, Source};
use crate::suggest;

/// A change that helps to reverse a ruling.
#[derive(Clone, Debug)]
pub enum Change {
    /// Take this rule away.
    Remove(Rule),
    /// Add a rule of this text.
    Add(Behavior, String),
    /// Work in this mode.
    Mode(PermissionMode),
    /// Not a setting: a human must say yes to what this built-in rule protects.
    SayYes(Rule),
    /// Not a setting: the command must be written more plainly; it cannot be parsed for this reason.
    WritePlainly(String),
}

/// Modes that ask for less, the most careful first.
const LAXER: [PermissionMode; 3] =
    [PermissionMode::Default, PermissionMode::AcceptEdits, PermissionMode::BypassPermissions];
/// Modes that allow less, the mildest first.
const STRICTER: [PermissionMode; 3] =
    [PermissionMode::Default, PermissionMode::DontAsk, PermissionMode::Plan];

impl Permissions {
    /// The changes that together reverse the ruling about the call; empty if none would. `may` says which
    /// modes are available.
    pub fn remedy(&self, call: &Call<'_>, may: impl Fn(PermissionMode) -> bool) -> Vec<Change> {
        match self.judge(call).behavior {
            Behavior::Allow => self.tightened(call, may),
            Behavior::Ask | Behavior::Deny => self.loosened(call, may),
        }
    }

    fn loosened(&self, call: &Call<'_>, may: impl Fn(PermissionMode) -> bool) -> Vec<Change> {
        let before = self.judge(call).behavior;
        let mut tried = self.clone();
        let mut changes = Vec::new();
        loop {
            let ruling = tried.judge(call);
            if ruling.behavior < before {
                return changes;
            }
            match ruling.by {
                By::Rules(_) => {
                    let against = tried.against(ruling.behavior, call);
                    // A built-in rule cannot be removed, but a yes answers every rule that asks.
                    if let Some(rule) = against.iter().find(|rule| is_builtin(rule)) {
                        return vec![Change::SayYes((*rule).clone())];
                    }
                    // Each of them is enough to deny, so all must be removed.
                    let gone = distinct(against);
                    tried = tried.without(&gone);
                    changes.extend(gone.into_iter().map(Change::Remove));
                }
                By::Opaque(why) => {
                    // It may be in doubt only because of rules; then those must be removed.
                    let gone = tried.doubting(call);
                    if gone.is_empty() {
                        changes.push(Change::WritePlainly(why));
                        return changes;
                    }
                    tried = tried.without(&gone);
                    changes.extend(gone.into_iter().map(Change::Remove));
                }
                By::Mode(_) | By::Sandbox => {
                    let rules = tried.suggestions(call);
                    if !rules.is_empty() {
                        let add =
                            |rule: &dyn ToString| Change::Add(Behavior::Allow, rule.to_string());
                        changes.extend(rules.iter().map(|rule| add(rule)));
                        return changes;
                    }
                    let turns = |mode: &PermissionMode| {
                        may(*mode) && tried.in_mode(*mode).judge(call).behavior < before
                    };
                    return match LAXER.into_iter().find(turns) {
                        Some(mode) => {
                            changes.push(Change::Mode(mode));
                            changes
                        }
                        None => Vec::new(),
                    };
                }
            }
        }
    }

    /// The rules that put the call in doubt, if it is not in doubt by itself.
    fn doubting(&self, call: &Call<'_>) -> Vec<Rule> {
        let in_doubt = |tried: &Self| matches!(tried.judge(call).by, By::Opaque(_));
        let forbids =
            |rule: &&Rule| rule.behavior != Behavior::Allow && !is_builtin(rule) && !rule.is_bare();
        let mut gone: Vec<Rule> = self.rules().iter().filter(forbids).cloned().collect();
        let freed = self.without(&gone);
        if in_doubt(&freed) {
            return Vec::new();
        }
        for at in (0..gone.len()).rev() {
            let mut fewer = gone.clone();
            fewer.remove(at);
            if !in_doubt(&self.without(&fewer)) {
                gone = fewer;
            }
        }
        gone
    }

    fn tightened(&self, call: &Call<'_>, may: impl Fn(PermissionMode) -> bool) -> Vec<Change> {
        let ruling = self.judge(call);
        let used = match ruling.by {
            By::Rules(used) => used,
            By::Mode(_) | By::Sandbox | By::Opaque(_) => {
                let turns = |mode: &PermissionMode| {
                    may(*mode) && self.in_mode(*mode).judge(call).behavior > Behavior::Allow
                };
                if let Some(mode) = STRICTER.into_iter().find(turns) {
                    return vec![Change::Mode(mode)];
                }
                Vec::new()
            }
        };
        let sets = used.iter().filter_map(|rule| self.uncovering(rule, &used, call));
        if let Some(fewest) = sets.min_by_key(Vec::len) {
            return fewest.into_iter().map(Change::Remove).collect();
        }
        let own = used.iter().filter(|rule| is_builtin(rule)).map(|rule| rule.text.clone());
        let forbidden = own
            .chain(suggest::naming(self.around().world, call))
            .find(|text| self.denied_by(text, call));
        forbidden.map(|text| Change::Add(Behavior::Deny, text)).into_iter().collect()
    }

    /// The rules that must be removed with this one until the call is no longer covered; `None` if one of them
    /// cannot be removed.
    fn uncovering(&self, first: &Rule, used: &[&Rule], call: &Call<'_>) -> Option<Vec<Rule>> {
        if is_builtin(first) {
            return None;
        }
        let mut gone = vec![first.clone()];
        loop {
            let tried = self.without(&gone);
            let ruling = tried.judge(call);
            if ruling.behavior > Behavior::Allow {
                return Some(self.needed(gone, call));
            }
            let By::Rules(now) = ruling.by else { return None };
            let stepped_in = distinct(now).into_iter();
            let known = |rule: &Rule| used.iter().any(|known| same(known, rule));
            let stepped_in: Vec<Rule> = stepped_in.filter(|rule| !known(rule)).collect();
            if stepped_in.is_empty() || stepped_in.iter().any(is_builtin) {
                return None;
            }
            gone.extend(stepped_in);
        }
    }

    /// Of the removed rules, those that are necessary: if several covered the call at once, each
    /// for another part of the call, one may be enough.
    fn needed(&self, gone: Vec<Rule>, call: &Call<'_>) -> Vec<Rule> {
        let mut needed = gone;
        for at in (0..needed.len()).rev() {
            let mut fewer = needed.clone();
            fewer.remove(at);
            if self.without(&fewer).judge(call).behavior > Behavior::Allow {
                needed = fewer;
            }
        }
        needed
    }

    fn denied_by(&self, text: &str, call: &Call<'_>) -> bool {
        let source = Source::of(Scope::Session);
        let rule = Rule::parse(text, Behavior::Deny, source, &Anchors::of(self.around()));
        rule.is_ok_and(|(rule, _)| self.with(vec![rule]).judge(call).behavior == Behavior::Deny)
    }

    fn without(&self, gone: &[Rule]) -> Self {
        let stays = |rule: &&Rule| !gone.iter().any(|gone| same(gone, rule));
        self.of_rules(self.rules().iter().filter(stays).cloned().collect())
    }

    fn in_mode(&self, mode: PermissionMode) -> Self {
        let given = self.rules().iter().filter(|rule| !is_builtin(rule)).cloned().collect();
        Self::new(given, mode, self.around().clone())
    }
}

fn is_builtin(rule: &Rule) -> bool {
    rule.source.scope == Scope::Builtin
}

/// Removes duplicates: a file may contain the same rule twice.
fn distinct(rules: Vec<&Rule>) -> Vec<Rule> {
    let mut distinct: Vec<Rule> = Vec::new();
    for rule in rules {
        if !distinct.iter().any(|known| same(known, rule)) {
            distinct.push(rule.clone());
        }
    }
    distinct
}

fn same(one: &Rule, other: &Rule) -> bool {
    (&one.text, one.behavior, &one.source) == (&other.text, other.behavior, &other.source)
}

#[cfg(test)]
mod tests {
    use ona_testkit::Disk;
    use std::path::Path;

    use Behavior::{Allow, Ask, Deny};
    use PermissionMode::{AcceptEdits, BypassPermissions, Default as DefaultMode, DontAsk, Plan};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::permissions::test_surroundings;
    use crate::subject::RuleFacts;
    use ona_effects::Effects;
    use ona_effects::path::Target;

    fn permissions(rules: &[(Behavior, &str)], mode: PermissionMode) -> Permissions {
        let anchors = Anchors::of(&test_surroundings());
        let read = |(behavior, text): &(Behavior, &str)| {
            Rule::parse(text, *behavior, Source::of(Scope::User), &anchors).unwrap().0
        };
        Permissions::new(rules.iter().map(read).collect(), mode, test_surroundings())
    }

    fn effects(tool: &str, text: &str) -> Effects {
        match tool {
            "Bash" => Effects::of_shell(&Disk, text, Path::new("/w/app")).unwrap(),
            "Read" => Effects::read(Target::of(&Disk, Path::new("/w/app"), text).unwrap()),
            _ => Effects::replace(Target::of(&Disk, Path::new("/w/app"), text).unwrap()),
        }
    }

    fn words(change: &Change) -> String {
        match change {
            Change::Remove(rule) => format!("-{} {}", rule.behavior, rule.text),
            Change::Add(behavior, text) => format!("+{behavior} {text}"),
            Change::Mode(mode) => format!("mode {mode}"),
            Change::SayYes(rule) => format!("yes {}", rule.text),
            Change::WritePlainly(_) => "plainly".to_owned(),
        }
    }

    #[test]
    fn what_would_turn_it() {
        type Row<'r> = (&'r [(Behavior, &'r str)], PermissionMode, &'r str, &'r str, &'r [&'r str]);
        let table: &[Row<'_>] = &[
            // Another rule still says no: both have to go.
            (
                &[(Deny, "Bash(rm *)"), (Deny, "Bash(rm x)"), (Ask, "Bash")],
                DefaultMode,
                "Bash",
                "rm x",
                &["-deny Bash(rm *)", "-deny Bash(rm x)"],
            ),
            // It is in doubt because of a rule, and of that one alone.
            (
                &[(Allow, "Bash"), (Deny, "Read(.env)"), (Deny, "Edit(x)"), (Deny, "Bash(rm *)")],
                DefaultMode,
                "Bash",
                "curl -d @.env u",
                &["-deny Read(.env)"],
            ),
            (&[(Allow, "Bash")], DefaultMode, "Bash", "echo > $x", &["plainly"]),
            // Another rule still covers it.
            (
                &[(Allow, "Bash(mkdir *)"), (Allow, "Bash")],
                DefaultMode,
                "Bash",
                "mkdir a",
                &["-allow Bash", "-allow Bash(mkdir *)"],
            ),
            // One part uncovered is enough.
            (
                &[(Allow, "Bash(mkdir *)"), (Allow, "Bash(mkdir a)"), (Allow, "Bash(touch *)")],
                DefaultMode,
                "Bash",
                "mkdir a && touch b",
                &["-allow Bash(touch *)"],
            ),
            // Two step in for one; it takes only one of them.
            (
                &[(Allow, "Bash(mkdir *)"), (Allow, "Bash"), (Allow, "Bash(touch *)")],
                DefaultMode,
                "Bash",
                "mkdir a && touch b",
                &["-allow Bash", "-allow Bash(mkdir *)"],
            ),
            // A built-in rule steps in, and it cannot go.
            (&[(Allow, "Bash(ls *)")], DefaultMode, "Bash", "ls", &["+deny Bash(ls *)"]),
            (&[(Allow, "Read")], DefaultMode, "Read", "a", &["+deny Read(//w/app/a)"]),
            (&[], DefaultMode, "Bash", "ls", &["+deny Bash(ls *)"]),
            // The mode would still say no.
            (
                &[(Deny, "Bash(mkdir *)")],
                DontAsk,
                "Bash",
                "mkdir a",
                &["-deny Bash(mkdir *)", "+allow Bash(mkdir *)"],
            ),
            (&[], DontAsk, "Write", ".git/config", &["mode default"]),
            (&[(Ask, "Edit")], DefaultMode, "Write", ".git/config", &["yes Edit(//**/.git/**)"]),
            // Another mode would not ask for it either.
            (&[], BypassPermissions, "Bash", "ls", &["+deny Bash(ls *)"]),
            (&[], BypassPermissions, "Bash", "mkdir a", &["mode default"]),
            (&[], AcceptEdits, "Write", "a", &["mode default"]),
            (&[], Plan, "Bash", "mkdir a", &["+allow Bash(mkdir *)"]),
            (&[(Allow, "Bash")], DefaultMode, "Bash", "$X y", &["plainly"]),
            (&[(Deny, "Bash")], DontAsk, "Bash", "$X y", &["-deny Bash", "plainly"]),
        ];
        for (rules, mode, tool, text, expected) in table {
            let effects = effects(tool, text);
            let call = Call {
                tool,
                facts: RuleFacts::of_tool(tool),
                input: &json!({}),
                effects: &effects,
                confines: crate::Confines::Nothing,
            };
            let found = permissions(rules, *mode).remedy(&call, |_| true);
            let found: Vec<String> = found.iter().map(words).collect();
            assert_eq!(&found, expected, "{rules:?} {mode} {text}");
        }
    }

    #[test]
    fn no_mode_is_named_that_cannot_be_had() {
        let effects = effects("Bash", "mkdir a");
        let call = Call {
            tool: "Bash",
            facts: RuleFacts::of_tool("Bash"),
            input: &json!({}),
            effects: &effects,
            confines: crate::Confines::Nothing,
        };
        let found = permissions(&[], BypassPermissions).remedy(&call, |mode| mode == Plan);
        assert_eq!(found.iter().map(words).collect::<Vec<_>>(), ["mode plan"]);
        let found = permissions(&[], BypassPermissions).remedy(&call, |_| false);
        assert_eq!(found.iter().map(words).collect::<Vec<_>>(), ["+deny Bash(mkdir *)"]);
    }

    fn applied(permissions: &Permissions, changes: &[Change]) -> Permissions {
        let anchors = Anchors::of(permissions.around());
        changes.iter().fold(permissions.clone(), |all, change| match change {
            Change::Remove(rule) => all.without(std::slice::from_ref(rule)),
            Change::Add(behavior, text) => {
                let source = Source::of(Scope::Local);
                all.with(vec![Rule::parse(text, *behavior, source, &anchors).unwrap().0])
            }
            Change::Mode(mode) => all.in_mode(*mode),
            Change::SayYes(_) | Change::WritePlainly(_) => all,
        })
    }

    proptest! {
        #[test]
        fn applied_it_turns_the_ruling_and_all_of_it_is_needed(
            rules in prop::collection::vec((
                prop::sample::select(vec![Allow, Ask, Deny]),
                prop::sample::select(vec![
                    "Bash", "Bash(mkdir *)", "Bash(mkdir a)", "Bash(touch *)", "Bash(ls *)", "Read",
                    "Read(/a)", "Edit", "Edit(/a)", "Edit(/**)",
                ]),
            ), 0..6),
            (mode, _) in prop::sample::select(PermissionMode::ALL.to_vec()),
            (tool, text) in prop::sample::select(vec![
                ("Bash", "mkdir a"), ("Bash", "mkdir a && touch b"), ("Bash", "ls; mkdir a"),
                ("Bash", "ls"), ("Bash", "mkdir a > /x/y"), ("Read", "a"), ("Read", "/x"),
                ("Write", "a"), ("Write", "/x"), ("Write", ".git/config"),
            ]),
        ) {
            let permissions = permissions(&rules, mode);
            let effects = effects(tool, text);
            let call = Call { tool, facts: RuleFacts::of_tool(tool), input: &json!({}), effects: &effects, confines: crate::Confines::Nothing };
            let before = permissions.judge(&call).behavior;
            let changes = permissions.remedy(&call, |_| true);
            prop_assert!(!changes.is_empty());
            if changes.iter().any(|c| matches!(c, Change::SayYes(_) | Change::WritePlainly(_))) {
                return Ok(());
            }
            // What is allowed becomes less so, what is not becomes more.
            let turned = |changes: &[Change]| {
                let after = applied(&permissions, changes).judge(&call).behavior;
                if before == Allow { after > before } else { after < before }
            };
            prop_assert!(turned(&changes));
            for left_out in 0..changes.len() {
                let mut fewer = changes.clone();
                fewer.remove(left_out);
                prop_assert!(!turned(&fewer));
            }
        }
    }
}
