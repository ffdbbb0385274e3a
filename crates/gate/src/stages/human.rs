//! Questions of other stages: PermissionRequest hooks answer first, then the human.

use ona_effects::path::Target;
use ona_front::{AskRequest, Event, Human, HumanAnswer, StageAnswer, Wants};
use ona_store::{Decision, StoreError};
use ona_tools::Asks;
use ona_types::gate::{Answer, Judging, Mode, Said, SettledBy, Stage, StageName, Verdict};
use ona_types::hook::{HookDetail, RequestDecision};
use ona_types::{PermissionUpdate, RuleValue};
use serde_json::{Value, json};

use crate::file_diff::{masked, uncut_diff};
use crate::governance::Kept;
use crate::judgement::{Consent, Judgement, ReplacedBy, open_question};
use crate::moved::targets;
use crate::rule_words;
use crate::sandbox::Runs;

/// The limit for suggested rules: nobody reads more before choosing "always".
const MAX_SUGGESTIONS: usize = 5;

/// The limit for links that are named.
const MAX_LINKS: usize = 5;

/// Links in these directories are not named: only the administrator makes them, and `/bin/sh` is one.
const SYSTEM: [&str; 5] = ["/bin", "/lib", "/lib64", "/sbin", "/usr"];

/// Larger files are not compared for the human.
const MAX_SHOWN_FILE: u64 = 4 << 20;

/// Who decided, as recorded.
const BY_HUMAN: &str = "human";
const BY_HOOK: &str = "PermissionRequest hook";
const BY_NOBODY: &str = "headless";

pub struct HumanStage;

impl<'g> Stage<Judgement<'g>> for HumanStage {
    fn name(&self) -> StageName {
        StageName::Human
    }

    fn judge<'a>(
        &'a self,
        call: &'a mut Judgement<'g>,
        so_far: &'a [Answer],
        mode: Mode,
    ) -> Judging<'a, StoreError> {
        Box::pin(async move {
            let answer = |verdict, reason: &str| Answer::new(StageName::Human, verdict, reason);
            let Some(open) = open_question(so_far) else {
                return Ok(match &call.consent {
                    // The replaced input raises no question.
                    Some(consent) if consent.is_for(&call.input) => allowed(consent).into(),
                    _ => answer(Verdict::Pass, "no question").into(),
                });
            };
            Ok(match mode {
                Mode::Explain => answer(Verdict::Silent, "the user would be asked").into(),
                Mode::Foreign => answer(Verdict::Silent, "the host asks").into(),
                Mode::Run => ask(call, so_far, open).await,
            })
        })
    }
}

async fn ask(call: &mut Judgement<'_>, so_far: &[Answer], open: &Answer) -> Said {
    let reason = open.reason.clone();
    let (verdict, by, words) = match call.gate.front.human() {
        Human::Operator(via) => {
            let by = json!({"by": "operator", "via": via.as_str()});
            (Verdict::Allow, by, format!("the operator asked for it ({reason})"))
        }
        Human::Nobody => {
            let mut words = unavailable(&reason);
            let rules: Vec<String> =
                request(call, open).suggestions.iter().map(ToString::to_string).collect();
            if open.settled_by == SettledBy::AnyYes && !rules.is_empty() {
                words.push_str(&format!(". To allow it, add the allow rule {}", rules.join(", ")));
            }
            (Verdict::Deny, json!({"by": BY_NOBODY}), words)
        }
        Human::Present => return ask_somebody(call, so_far, open).await,
    };
    call.noted.decisions.push(Decision {
        decision: verdict.as_str().to_owned(),
        reason: json!({"asked": reason, "decided": by}),
    });
    Answer::new(StageName::Human, verdict, words).with(by).into()
}

/// The refusal of a call that nobody could be asked about.
fn unavailable(asked: &str) -> String {
    format!("{asked}; no user is available")
}

async fn ask_somebody(call: &mut Judgement<'_>, so_far: &[Answer], open: &Answer) -> Said {
    let reason = open.reason.as_str();
    if let Some(consent) = &call.consent
        && consent.is_for(&call.input)
        && settles(call, consent, so_far)
    {
        return allowed(consent).into();
    }
    let mut request = request(call, open);
    request.answers = so_far.iter().map(told).collect();
    describe(call, &mut request);
    let only_human = so_far
        .iter()
        .any(|answer| answer.verdict == Verdict::Ask && answer.settled_by == SettledBy::AHuman);
    // Hooks are asked once. They cannot approve what only a human may approve.
    let by_hooks = match call.consent {
        None => ask_hooks(call, &request).await,
        Some(_) => None,
    };
    match by_hooks {
        Some(HumanAnswer::Allow { .. }) if only_human => {}
        Some(answer) => return decided(call, BY_HOOK, reason, answer),
        None => notify(call, &request).await,
    }
    // Whoever finds the call of a killed process knows that it has not run.
    let waits = call.gate.store().call_waits(call.id, true);
    let answer = call.gate.front.ask(request, call.cancel).await;
    if waits.is_ok()
        && let Err(error) = call.gate.store().call_waits(call.id, false)
    {
        // It would be said of it that it has not run.
        let answer = HumanAnswer::no(format!("the answer cannot be recorded: {error}"));
        return decided(call, BY_HUMAN, reason, answer);
    }
    decided(call, BY_HUMAN, reason, answer)
}

/// Whether an approval covers every open question about the current input. A hook that has replaced the input has only
/// answered the question of the mode: the question of a rule about the new input is for the human.
fn settles(call: &Judgement<'_>, consent: &Consent, so_far: &[Answer]) -> bool {
    consent.by == BY_HUMAN
        || call.replaced_by == Some(ReplacedBy::PermissionRequest)
            && so_far.iter().all(|answer| {
                answer.verdict != Verdict::Ask || answer.settled_by == SettledBy::AnyYes
            })
}

fn request(call: &Judgement<'_>, open: &Answer) -> AskRequest {
    let mut suggestions = call.gate.governance.suggestions(&call.as_call());
    // A rule with a line break cannot be shown as it is written.
    let unshown = |rule: &RuleValue| rule.to_string().contains(char::is_control);
    // Or what no rule can express.
    if suggestions.len() > MAX_SUGGESTIONS
        || call.tool.facts().asks != Asks::ByRules
        || suggestions.iter().any(unshown)
    {
        suggestions.clear();
    }
    let wants = match call.tool.facts().asks {
        Asks::AnAnswer => Wants::Answers,
        Asks::ByRules | Asks::AHuman => Wants::Permission,
    };
    AskRequest {
        stage: Some(open.stage),
        place: call.gate.place().cwd.display().to_string(),
        suggestions,
        always_in: call.gate.governance.local_settings().display().to_string(),
        agent: call.gate.identity().agent_id.and(call.gate.identity().agent_type),
        ..AskRequest::new(wants, call.tool.name(), call.input.clone(), open.reason.as_str())
    }
}

fn told(answer: &Answer) -> StageAnswer {
    StageAnswer {
        stage: answer.stage,
        verdict: answer.verdict.as_str().to_owned(),
        reason: answer.reason.clone(),
    }
}

/// Adds what a human should see before they decide: what would become of the file, what a check of a plan finds, and
/// where links lead.
fn describe(call: &Judgement<'_>, request: &mut AskRequest) {
    if let [target] = call.effects.writes.as_slice() {
        let old = ona_files::read_at_most(&target.real, MAX_SHOWN_FILE).ok().flatten();
        let new = call.tool.preview(&call.input, old.as_deref());
        let path = target.named.display().to_string();
        let diff = new.and_then(|new| uncut_diff(&path, old.as_deref(), Some(&new)));
        request.diff = diff.map(|diff| masked(diff, call.gate.redactor()));
    }
    (request.checks, request.criteria) = call.plan_checks();
    if let Runs::Outside(..) | Runs::Inside(..) = &call.runs
        && call.gate.governance.sandbox.enabled
    {
        request.checks.push(match &call.runs {
            Runs::Inside(..) => format!("in the sandbox: {}", call.runs.words()),
            _ => call.runs.words(),
        });
    }
    request.links = links(call);
}

/// Where the names of a call lead that are links, or go through one.
fn links(call: &Judgement<'_>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let told = |target: &&Target| {
        target.named != target.real && !SYSTEM.iter().any(|dir| target.named.starts_with(dir))
    };
    for target in targets(&call.effects).filter(told) {
        let (named, real) = (target.named.display(), target.real.display());
        let link = call.gate.masked(&format!("{named} leads to {real}"));
        if !found.contains(&link) {
            found.push(link);
        }
    }
    let more = found.len().saturating_sub(MAX_LINKS);
    found.truncate(MAX_LINKS);
    if more > 0 {
        found.push(format!("{more} more names lead elsewhere"));
    }
    found
}

/// PermissionRequest hooks may answer before the human is asked.
async fn ask_hooks(call: &mut Judgement<'_>, request: &AskRequest) -> Option<HumanAnswer> {
    let detail = HookDetail::PermissionRequest {
        tool_name: request.tool.clone(),
        tool_input: request.input.clone(),
        permission_suggestions: Some(rule_words::updates(&request.suggestions)),
    };
    let mut fired = call.fire(detail).await;
    Some(match fired.request.take()? {
        RequestDecision::Deny { message, interrupt } => HumanAnswer::Deny {
            feedback: message.unwrap_or_default(),
            stop: interrupt == Some(true),
        },
        RequestDecision::Allow { updated_input, updated_permissions } => HumanAnswer::Allow {
            always: updated_permissions.unwrap_or_default(),
            input: updated_input.map(Value::Object),
        },
    })
}

/// Notification hooks can alert the user.
async fn notify(call: &mut Judgement<'_>, request: &AskRequest) {
    let detail = HookDetail::Notification {
        message: format!("ona needs your permission to use {}", request.tool),
        title: Some("Permission needed".to_owned()),
        notification_type: "permission_prompt".to_owned(),
    };
    call.fire(detail).await;
}

/// Records a decision. A replaced input is judged by every stage again.
fn decided(call: &mut Judgement<'_>, by: &'static str, asked: &str, answer: HumanAnswer) -> Said {
    let (answer, replaced) = match answer {
        HumanAnswer::Allow { always, input } => {
            let input = input.filter(|input| *input != call.input);
            let kept = always.iter().map(|update| keep(call, update)).collect();
            if input.is_some() {
                // It is another input, so every hook may replace it once more.
                call.rewrote.clear();
                call.replaced_by = Some(match by == BY_HUMAN {
                    true => ReplacedBy::Human,
                    false => ReplacedBy::PermissionRequest,
                });
            }
            let consent = Consent { by, kept, input: input.clone() };
            let answer = allowed(&consent);
            call.consent = Some(consent);
            (answer, input)
        }
        HumanAnswer::Deny { feedback, stop } => {
            if stop {
                call.noted.stop = Some(feedback.clone());
            }
            let words = match feedback.is_empty() {
                true => format!("denied by the {by}"),
                false => format!("denied by the {by}: {feedback}"),
            };
            let detail = json!({"by": by, "feedback": feedback});
            (Answer::new(StageName::Human, Verdict::Deny, words).with(detail), None)
        }
        HumanAnswer::Unasked { why } => {
            let words = format!("{}: {why}", unavailable(asked));
            let detail = json!({"by": BY_NOBODY, "why": why});
            (Answer::new(StageName::Human, Verdict::Deny, words).with(detail), None)
        }
    };
    call.noted.decisions.push(Decision {
        decision: answer.verdict.as_str().to_owned(),
        reason: json!({"asked": asked, "decided": answer.detail}),
    });
    Said { answer, replaced }
}

/// An approval.
fn allowed(consent: &Consent) -> Answer {
    let mut detail = json!({"by": consent.by, "kept": consent.kept});
    if let Some(input) = &consent.input {
        detail["updated_input"] = input.clone();
    }
    let words = format!("allowed by the {}", consent.by);
    Answer::new(StageName::Human, Verdict::Allow, words).with(detail)
}

/// Saves an "always", and returns where. The approval counts even if it cannot be saved.
fn keep(call: &mut Judgement<'_>, update: &PermissionUpdate) -> String {
    let gate = &mut *call.gate;
    match gate.governance.update(update, &gate.record.seat) {
        Ok(Kept { place, remark }) => {
            if let Some(text) = remark {
                gate.front.warn(text);
            }
            place
        }
        Err(error) => {
            let text = format!("\"always\" could not be saved: {error}");
            gate.front.tell(Event::Warning { text: text.clone() });
            text
        }
    }
}
