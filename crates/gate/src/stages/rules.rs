//! The permission rules (S0 §5.12): deny over ask, ask over allow, then the mode.

use ona_front::Human;
use ona_policy::{By, Call, Change, Confines, Ruling};
use ona_store::StoreError;
use ona_tools::{AlsoRuled, Asks, Counts};
use ona_types::Behavior;
use ona_types::gate::{Answer, Judged as _, Judging, Mode, SettledBy, Stage, StageName, Verdict};

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
            if mode != Mode::Foreign {
                call.find_sandbox();
            }
            let Ruled { mut answer, also } = rule(call, mode);
            if mode == Mode::Foreign && answer.verdict != Verdict::Deny {
                answer = unread(call).unwrap_or(answer);
            }
            if mode == Mode::Explain {
                answer = answer.clone().remedied_by(steps(call, &answer, also.as_ref()));
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

/// The answer, and what it is about, if not the tool itself.
struct Ruled {
    answer: Answer,
    also: Option<AlsoRuled>,
}

/// The strictest ruling on the tool and on what else the call uses.
fn rule(call: &Judgement<'_>, mode: Mode) -> Ruled {
    let own = Ruled { answer: own_answer(call), also: None };
    let also = call.tool.also_ruled_as(&call.input(), &call.gate.services());
    let others = also.into_iter().filter_map(|also| {
        let answer = by_other_rules(call, &also, mode)?;
        Some(Ruled { answer, also: Some(also) })
    });
    let mut all: Vec<Ruled> = others.collect();
    let strictest = [Verdict::Deny, Verdict::Ask]
        .into_iter()
        .find_map(|verdict| all.iter().position(|ruled| ruled.answer.verdict == verdict));
    match strictest {
        Some(at) if own.answer.verdict != Verdict::Deny => all.swap_remove(at),
        _ => own,
    }
}

fn own_answer(call: &Judgement<'_>) -> Answer {
    let services = call.gate.services();
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
        (Behavior::Ask, By::Mode(_)) => match call.tool.needs_no_question(&call.input(), &services)
        {
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
    given && call.tool.is_answered(&call.input())
}

/// The ruling on something else that the call uses; `None` if it does not count.
fn by_other_rules(call: &Judgement<'_>, also: &AlsoRuled, mode: Mode) -> Option<Answer> {
    let ruling: Ruling<'_> = call.gate.governance.permissions.judge(&other(call, also));
    let verdict = match (ruling.behavior, &ruling.by) {
        (Behavior::Allow, _) => return None,
        (Behavior::Deny, By::Rules(_)) if also.counts == Counts::UnlessLeftOut => return None,
        (Behavior::Deny, By::Rules(_)) => Verdict::Deny,
        (Behavior::Ask, By::Rules(_))
            if also.counts == Counts::AsCall && is_asked_later(call, mode) =>
        {
            return None;
        }
        (Behavior::Ask, By::Rules(_)) => Verdict::Ask,
        _ if also.counts != Counts::RulesAndMode || call.allowed_by_hooks() => return None,
        // Only the server could tell whether the question comes up.
        (Behavior::Deny, _) if mode == Mode::Explain => Verdict::Ask,
        (Behavior::Deny, _) => Verdict::Deny,
        (Behavior::Ask, _) => Verdict::Ask,
    };
    let (reason, detail) = rule_words::ruling(&ruling);
    let open = match (ruling.behavior, verdict) {
        (Behavior::Deny, Verdict::Ask) => "; only the server can tell whether it comes to that",
        _ => "",
    };
    let reason = format!("{}: {reason}{open}", also.used);
    Some(Answer::new(StageName::Rules, verdict, reason).with(detail))
}

/// Whether the human is asked about the call that this one makes, with its real input.
fn is_asked_later(call: &Judgement<'_>, mode: Mode) -> bool {
    mode == Mode::Run && call.gate.front.human() == Human::Present
}

fn other<'a>(call: &'a Judgement<'_>, also: &'a AlsoRuled) -> Call<'a> {
    Call {
        tool: &also.name,
        facts: also.facts,
        input: &also.input,
        effects: &call.effects,
        confines: Confines::Nothing,
    }
}

/// The steps that would change the answer; all are needed.
fn steps(call: &Judgement<'_>, answer: &Answer, also: Option<&AlsoRuled>) -> Vec<String> {
    let ruled = also.map_or_else(|| call.as_call(), |also| other(call, also));
    let governance = &call.gate.governance;
    let behavior = governance.permissions.judge(&ruled).behavior;
    let changes = match (answer.verdict, call.tool.facts().asks) {
        (Verdict::Ask, Asks::AHuman) => return vec!["approve it when asked".to_owned()],
        (Verdict::Ask, Asks::AnAnswer) if behavior == Behavior::Allow => {
            return vec![
                "answer it when asked, or have a PreToolUse hook give the answers".to_owned(),
            ];
        }
        // The tool itself needs no question, whatever the mode says.
        (Verdict::Allow, _) if behavior != Behavior::Allow => {
            vec![Change::Add(Behavior::Deny, call.tool.name().to_owned())]
        }
        _ => {
            let mut changes =
                governance.permissions.remedy(&ruled, |mode| governance.may_use(mode));
            // Where the mode does not count, nothing has to be allowed.
            if also.is_some_and(|also| also.counts != Counts::RulesAndMode) {
                changes.retain(|change| !matches!(change, Change::Add(..) | Change::Mode(_)));
            }
            changes
        }
    };
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
