//! The permission rules (S0 §5.12): deny over ask, ask over allow, then the mode.

use ona_policy::{By, Call, Change, Ruling};
use ona_store::StoreError;
use ona_tools::{AlsoRuled, Asks};
use ona_types::Behavior;
use ona_types::gate::{Answer, Judging, Mode, SettledBy, Stage, StageName, Verdict};

use crate::Gate;
use crate::judgement::{Judgement, ReplacedBy};
use crate::rule_words;

pub struct RulesStage;

impl<'g> Stage<Judgement<'g>> for RulesStage {
    fn name(&self) -> StageName {
        StageName::Rules
    }

    fn judge<'a>(
        &'a self,
        call: &'a mut Judgement<'g>,
        _: &'a [Answer],
        mode: Mode,
    ) -> Judging<'a, StoreError> {
        Box::pin(async move {
            if !call.rules_wanted {
                let why = "the host has rules of its own; `--rules` adds ona's";
                return Ok(Answer::new(StageName::Rules, Verdict::Silent, why).into());
            }
            let mut answer = answer(call);
            if mode == Mode::Foreign && answer.verdict != Verdict::Deny {
                answer = unread(call).unwrap_or(answer);
            }
            if mode == Mode::Explain {
                answer = answer.remedied_by(steps(call.gate, &call.as_call()));
            }
            Ok(answer.into())
        })
    }
}

/// Rules that cannot be read might forbid a host's call, and its session has begun already: its user decides, or
/// nobody does.
fn unread(call: &Judgement<'_>) -> Option<Answer> {
    let unread = &call.gate.governance.unread;
    let verdict = if call.host_asks { Verdict::Ask } else { Verdict::Deny };
    let reason = format!("what forbids or asks cannot be read: {}", unread.join("; "));
    (!unread.is_empty()).then(|| Answer::new(StageName::Rules, verdict, reason))
}

fn answer(call: &Judgement<'_>) -> Answer {
    let services = call.gate.services();
    for also in call.tool.also_ruled_as(&call.input, &services) {
        if let Some(answer) = by_other_rules(call, &also) {
            return answer;
        }
    }
    let ruling = call.gate.governance.permissions.judge(&call.as_call());
    let (reason, detail) = rule_words::ruling(&ruling);
    let answer =
        |verdict, reason: String| Answer::new(StageName::Rules, verdict, reason).with(detail);
    if ruling.behavior == Behavior::Deny {
        return answer(Verdict::Deny, reason);
    }
    match call.tool.facts().asks {
        Asks::AHuman => {
            return answer(Verdict::Ask, "only a human can approve it".to_owned())
                .settled_by(SettledBy::AHuman);
        }
        Asks::AnAnswer if !is_answered(call) => {
            return answer(Verdict::Ask, "the user has to answer".to_owned());
        }
        Asks::AnAnswer | Asks::ByRules => {}
    }
    match (ruling.behavior, &ruling.by) {
        (Behavior::Deny, _) => answer(Verdict::Deny, reason),
        (Behavior::Allow, _) => answer(Verdict::Allow, reason),
        // A hook's approval replaces the question of the mode, not that of a rule.
        (Behavior::Ask, By::Mode(_)) if call.allowed_by_hooks() => answer(Verdict::Allow, reason),
        (Behavior::Ask, By::Mode(_)) => match call.tool.needs_no_question(&call.input, &services) {
            Some(why) => answer(Verdict::Allow, why),
            None => answer(Verdict::Ask, reason).settled_by(SettledBy::AnyYes),
        },
        (Behavior::Ask, _) => answer(Verdict::Ask, reason),
    }
}

/// Whether the user, or a hook that allows the call, has given the answers that the tool waits for.
fn is_answered(call: &Judgement<'_>) -> bool {
    let given = match call.replaced_by {
        None => false,
        Some(ReplacedBy::PreToolUse) => call.allowed_by_hooks(),
        Some(ReplacedBy::PermissionRequest | ReplacedBy::Human) => true,
    };
    given && call.tool.is_answered(&call.input)
}

/// The ruling on other tools that the call uses; `None` if the rules for the tool itself decide.
fn by_other_rules(call: &Judgement<'_>, also: &AlsoRuled) -> Option<Answer> {
    let other =
        Call { tool: &also.name, facts: also.facts, input: &also.input, effects: &call.effects };
    let ruling: Ruling<'_> = call.gate.governance.permissions.judge(&other);
    let verdict = match (ruling.behavior, &ruling.by) {
        (Behavior::Allow, _) => return None,
        (Behavior::Deny, By::Rules(_)) => Verdict::Deny,
        (Behavior::Ask, By::Rules(_)) => Verdict::Ask,
        _ if !also.asks_by_mode || call.allowed_by_hooks() => return None,
        (Behavior::Deny, _) => Verdict::Deny,
        (Behavior::Ask, _) => Verdict::Ask,
    };
    let (reason, detail) = rule_words::ruling(&ruling);
    let reason = format!("{}: {reason}", also.used);
    Some(Answer::new(StageName::Rules, verdict, reason).with(detail))
}

/// The steps that would change the ruling on a call; all are needed.
fn steps(gate: &Gate, call: &Call<'_>) -> Vec<String> {
    let governance = &gate.governance;
    let changes = governance.permissions.remedy(call, |mode| governance.may_use(mode));
    let whose = match governance.managed_rules_only() {
        true => "only managed settings can change it (allowManagedPermissionRulesOnly): ",
        false => "",
    };
    let words = |change: &Change| match change {
        Change::Remove(rule) => {
            format!("{whose}remove the {} rule {}", rule.behavior, rule_words::rule(rule))
        }
        Change::Add(behavior, text) => format!("{whose}add the {behavior} rule {text}"),
        Change::Mode(mode) => format!("use the mode {mode}"),
        Change::SayYes(rule) => format!("approve it when asked: {} is protected", rule.text),
        Change::WritePlainly(why) => format!("write the command so that it can be analysed: {why}"),
    };
    if changes.is_empty() {
        return vec!["no allowed rule or mode would change it".to_owned()];
    }
    changes.iter().map(words).collect()
}
