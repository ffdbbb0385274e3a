//! Running the calls of an answer: in order, subagents concurrently.

use std::collections::VecDeque;
use std::path::Path;

use futures_util::future::join_all;
use ona_front::{DeniedCall, Ending, Event, Refused};
use ona_policy::secrets::masks;
use ona_store::Step;
use ona_types::ToolUseId;
use ona_types::gate::StageName;
use ona_types::hook::HookDetail;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::turn::{Halt, TurnAccount};
use ona_front::CoreEnd;
use ona_gate::call::CallReport;

/// A call of the model that has not run yet.
struct PendingCall {
    id: ToolUseId,
    tool: String,
    /// The input to run.
    input: Value,
    /// The input on the record, masked.
    shown: Value,
    /// Whether it may run concurrently with its neighbours.
    side_by_side: bool,
}

/// Who refused a call, for the user. An input that the tool does not take is an error of the call.
pub(crate) fn refused(report: &CallReport) -> Option<Refused> {
    let stage = report.denied_by.filter(|stage| *stage != StageName::Input)?;
    Some(Refused { stage, reason: report.denied_because.clone() })
}

impl Agent {
    /// Step 6: runs the calls of the last answer in their order. Consecutive subagents run concurrently.
    pub(crate) async fn run_calls(
        &mut self,
        account: &mut TurnAccount,
        cancel: &CancellationToken,
    ) -> Result<(), Halt> {
        let mut calls: VecDeque<PendingCall> = VecDeque::new();
        for id in self.context.unanswered() {
            let Some((tool, input)) = self.context.call(&id) else { continue };
            let (tool, shown) = (tool.to_owned(), Value::Object(input.clone()));
            // The model's own input runs; the record may have it masked. After a crash only the record is left, and a
            // mask must not run in place of a secret.
            let input = match self.inputs.remove(&id) {
                Some(input) => input,
                None if masks(&shown.to_string()).next().is_some() => continue,
                None => shown.clone(),
            };
            let facts = self.session.gate.toolbox.find(&tool).map(|tool| tool.facts());
            let side_by_side = facts.is_some_and(|facts| facts.side_by_side);
            calls.push_back(PendingCall { id, tool, input, shown, side_by_side });
        }
        while let Some(call) = calls.pop_front() {
            let mut group = vec![call];
            while group[0].side_by_side && calls.front().is_some_and(|next| next.side_by_side) {
                group.extend(calls.pop_front());
            }
            if cancel.is_cancelled() {
                return Err(Halt::Ending(Ending::Interrupted));
            }
            self.apply_changes();
            let old_cwd = self.session.gate.place().cwd.clone();
            let reports = self.run_group(&group, cancel).await?;
            let mut stop = None;
            for (call, report) in group.into_iter().zip(reports) {
                stop = stop.or(report.stop.clone());
                self.report_call(call, report, account, cancel).await?;
            }
            self.report_cwd_change(&old_cwd, cancel).await?;
            if let Some(reason) = stop {
                return Err(Halt::Ending(match cancel.is_cancelled() {
                    true => Ending::Interrupted,
                    false => Ending::Stopped { reason },
                }));
            }
        }
        Ok(())
    }

    /// Runs one call, or a group of subagents concurrently. The gate still judges them one after the other.
    async fn run_group(
        &mut self,
        group: &[PendingCall],
        cancel: &CancellationToken,
    ) -> Result<Vec<CallReport>, Halt> {
        let started = |front: &CoreEnd, call: &PendingCall| {
            front.tell(Event::ToolStarted {
                id: call.id.clone(),
                tool: call.tool.clone(),
                input: call.shown.clone(),
            });
        };
        if let [call] = group {
            started(&self.session.gate.front, call);
            let done =
                self.session.gate.call_as(call.id.clone(), &call.tool, &call.input, cancel).await?;
            return Ok(vec![done]);
        }
        let mut sides = Vec::new();
        for call in group {
            sides.push((self.session.gate.beside()?, call));
        }
        let calls = sides.iter_mut().map(|(gate, call)| async move {
            started(&gate.front, call);
            gate.call_as(call.id.clone(), &call.tool, &call.input, cancel).await
        });
        let done = join_all(calls).await;
        // The user may have answered "always" to one of them.
        let seat = self.session.gate.seat().clone();
        self.session.gate.governance.reload_session_rules(&seat)?;
        Ok(done.into_iter().collect::<Result<_, _>>()?)
    }

    /// Reports a call that has ended.
    async fn report_call(
        &mut self,
        call: PendingCall,
        report: CallReport,
        account: &mut TurnAccount,
        cancel: &CancellationToken,
    ) -> Result<(), Halt> {
        let PendingCall { id, tool, shown, .. } = call;
        // An invalid input was never checked against a rule.
        if report.denied_by.is_some_and(|stage| stage != StageName::Input) {
            account.denials.push(DeniedCall {
                tool_name: tool.clone(),
                tool_use_id: id.clone(),
                tool_input: shown,
            });
        }
        let known = self.session.gate.toolbox.find(&tool);
        let facts = known.as_ref().map(|tool| tool.facts());
        if facts.is_some_and(|facts| facts.gives_answer) {
            account.answer.record_call(&report, self.session.gate.redactor());
        }
        self.session.gate.front.tell(Event::ToolEnded {
            id,
            tool,
            content: report.content.clone(),
            is_error: report.is_error,
            refused: refused(&report),
            diff: report.diff.clone(),
            exit_code: report.exit_code,
        });
        self.catch_up()?;
        // The agent may have left a worktree, where the same rules apply.
        if facts.is_some_and(|facts| facts.starts_agents) {
            self.session.gate.governance.rebuild();
        }
        let Some(known) = known.filter(|_| !report.is_error) else { return Ok(()) };
        if let Some(file) = known.file_shown(&report.input) {
            self.load_nested_instructions(&file, cancel).await?;
        }
        if let Some(skill) = known.skill(&report.input) {
            self.skill_applied(&skill);
        }
        Ok(())
    }

    /// CwdChanged hooks run after a `cd`.
    async fn report_cwd_change(
        &mut self,
        old: &Path,
        cancel: &CancellationToken,
    ) -> Result<(), Halt> {
        if self.session.gate.place().cwd == old {
            return Ok(());
        }
        let (old, new) =
            (old.display().to_string(), self.session.gate.place().cwd.display().to_string());
        let fired = self.fire(HookDetail::CwdChanged { old_cwd: old, new_cwd: new }, cancel).await;
        self.take_watch_paths(&fired);
        Ok(self.commit(&Step { hooks: &fired.rows, ..Step::default() })?)
    }
}
