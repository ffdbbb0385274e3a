//! PreToolUse hooks. They may replace the input, and judge a replaced one again, whoever replaced it.

use std::collections::BTreeSet;

use ona_hooks::{About, Fired, HookEntry};
use ona_store::StoreError;
use ona_tools::Counts;
use ona_types::Behavior;
use ona_types::gate::{Answer, Judged as _, Judging, Mode, Said, Stage, StageName, Verdict};
use ona_types::hook::HookDetail;
use serde_json::{Value, json};

use crate::judgement::{Judgement, ReplacedBy};

pub struct HooksStage;

impl<'g> Stage<Judgement<'g>> for HooksStage {
    fn name(&self) -> StageName {
        StageName::Hooks
    }

    fn judge<'a>(
        &'a self,
        call: &'a mut Judgement<'g>,
        _: &'a [Answer],
        mode: Mode,
    ) -> Judging<'a, StoreError> {
        Box::pin(async move {
            Ok(match mode {
                Mode::Run => ask(call).await,
                Mode::Explain => foretell(call).into(),
                Mode::Foreign => {
                    Answer::new(StageName::Hooks, Verdict::Silent, "the host runs its own hooks")
                        .into()
                }
            })
        })
    }
}

fn event(call: &Judgement<'_>) -> HookDetail {
    let (tool_name, tool_input, tool_use_id) = call.named();
    HookDetail::PreToolUse { tool_name, tool_input, tool_use_id }
}

async fn ask(call: &mut Judgement<'_>) -> Said {
    let detail = event(call);
    let mut fired = call.fire(detail).await;
    // They replaced it, and judge it again.
    let own_input = call.replaced_by == Some(ReplacedBy::PreToolUse);
    let replaced = fired.updated_input.take().map(Value::Object);
    let replaced = replaced.filter(|input| *input != call.input);
    if replaced.is_some() {
        call.rewrote.clone_from(&fired.updated_by);
    }
    let updated_input = replaced.as_ref().or(own_input.then_some(&call.input));
    let detail = json!({
        "ran": fired.ran, "blocks": fired.blocks, "decided_by": fired.decided_by,
        "updated_input": updated_input, "warnings": fired.warnings,
        "sources": sources(call, &fired),
    });
    let answer =
        |verdict, reason: String| Answer::new(StageName::Hooks, verdict, reason).with(detail);
    if fired.denies() {
        let reason = format!("denied by a PreToolUse hook: {}", fired.denial());
        return answer(Verdict::Deny, reason).into();
    }
    if let Some(hook) = &fired.interrupted {
        let reason = format!("interrupted by the user while {hook} ran");
        return answer(Verdict::Deny, reason).into();
    }
    if let Some(reason) = &call.noted.stop {
        let reason = format!("a PreToolUse hook stops the agent: {reason}");
        return answer(Verdict::Deny, reason).into();
    }
    // What they decided when they replaced the input was about the new one. A yes does not outlive the next replacement.
    let is_for_this = |decided: Behavior| replaced.is_none() || decided != Behavior::Allow;
    let before = call.by_hooks.take().filter(|(decided, _)| own_input && is_for_this(*decided));
    let why = fired.decided_by.as_ref().map(|(_, why)| why.clone()).unwrap_or_default();
    let now = fired.permission.map(|decided| (decided, why));
    call.by_hooks = match (now, before) {
        (Some(now), Some(before)) => Some(if before.0 > now.0 { before } else { now }),
        (now, before) => now.or(before),
    };
    if replaced.is_some() {
        call.replaced_by = Some(ReplacedBy::PreToolUse);
    }
    let answer = match &call.by_hooks {
        Some((Behavior::Allow, _)) => answer(Verdict::Allow, "a hook allows it".to_owned()),
        Some((Behavior::Ask, why)) => {
            answer(Verdict::Ask, format!("a hook asks for confirmation: {why}"))
        }
        _ => answer(Verdict::Pass, fired.summary()),
    };
    Said { answer, replaced }
}

/// The sources of the hooks that decided, for the record.
fn sources(call: &Judgement<'_>, fired: &Fired) -> Value {
    let spoke = fired.blocks.iter().map(|(ordinal, _)| *ordinal);
    let spoke = spoke.chain(fired.decided_by.as_ref().map(|(ordinal, _)| *ordinal));
    let spoke: BTreeSet<i64> = spoke.chain(call.rewrote.iter().copied()).collect();
    let entries = call.gate.governance.hooks.entries();
    spoke
        .into_iter()
        .filter_map(|ordinal| {
            let entry = entries.iter().find(|entry| entry.ordinal == ordinal)?;
            Some(json!({
                "ordinal": ordinal, "command": entry.handler.label(),
                "source": entry.source.to_string(),
            }))
        })
        .collect()
}

/// The hooks that would run; their answers are not known in advance.
fn foretell(call: &Judgement<'_>) -> Answer {
    let (plane, detail) = (&call.gate.governance.hooks, event(call));
    let words =
        |hook: &HookEntry| format!("{} {} ({})", hook.ordinal, hook.handler.label(), hook.source);
    let mut matching = plane.matching(&detail, Some(call.about()));
    // And those about a call that this one makes.
    let also = call.tool.also_ruled_as(&call.input(), &call.gate.services());
    for made in also.into_iter().filter(|also| also.counts == Counts::AsCall) {
        let about = About { facts: made.facts, ..call.about() };
        let detail = HookDetail::PreToolUse {
            tool_name: made.name,
            tool_input: made.input,
            tool_use_id: call.id.clone(),
        };
        let more = plane.matching(&detail, Some(about));
        matching.extend(more);
    }
    matching.sort_by_key(|hook| hook.ordinal);
    matching.dedup_by_key(|hook| hook.ordinal);
    let mut hooks: Vec<String> = matching.into_iter().map(words).collect();
    hooks.extend(
        plane.own_gates(&detail).into_iter().map(|hook| {
            format!("{}: skipped, it is ona's own gate for another agent", words(hook))
        }),
    );
    let (verdict, reason) = match hooks.is_empty() {
        true => (Verdict::Pass, "no hook matches"),
        false => (Verdict::Silent, "hooks would run; their answers are not known in advance"),
    };
    Answer::new(StageName::Hooks, verdict, reason).with(json!({ "hooks": hooks }))
}
