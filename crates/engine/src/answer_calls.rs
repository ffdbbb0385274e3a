//! The calls of an answer: one after the other, and agents side by side.

use std::collections::VecDeque;
use std::path::Path;

use futures_util::future::join_all;
use ona_front::{DeniedCall, Ending, Event};
use ona_policy::secrets::masks;
use ona_store::Step;
use ona_types::ToolUseId;
use ona_types::gate::StageName;
use ona_types::hook::HookDetail;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::turn::{Account, Halt};
use ona_front::CoreEnd;
use ona_gate::call::CallReport;

/// A call that the model wants.
struct Wanted {
    id: ToolUseId,
    tool: String,
    /// What runs.
    input: Value,
    /// As the record has it.
    shown: Value,
    /// It may run beside others like it.
    side_by_side: bool,
}

impl Agent {
    /// Step 6: the calls of the last answer, in the order they were asked for. Agents that stand next to each other
    /// work side by side.
    pub(crate) async fn finish_calls(
        &mut self,
        account: &mut Account,
        cancel: &CancellationToken,
    ) -> Result<(), Halt> {
        let mut calls: VecDeque<Wanted> = VecDeque::new();
        for id in self.thread.unanswered() {
            let Some((tool, input)) = self.thread.call(&id) else { continue };
            let (tool, shown) = (tool.to_owned(), Value::Object(input.clone()));
            // What runs is what the model asked for; the record may show it masked. After a crash only the
            // record is left, and a mask must not run in a secret's place.
            let input = match self.inputs.remove(&id) {
                Some(input) => input,
                None if masks(&shown.to_string()).next().is_some() => continue,
                None => shown.clone(),
            };
            let facts = self.session.gate.toolbox.find(&tool).map(|tool| tool.facts());
            let side_by_side = facts.is_some_and(|facts| facts.side_by_side);
            calls.push_back(Wanted { id, tool, input, shown, side_by_side });
        }
        while let Some(call) = calls.pop_front() {
            let mut group = vec![call];
            while group[0].side_by_side && calls.front().is_some_and(|next| next.side_by_side) {
                group.extend(calls.pop_front());
            }
            if cancel.is_cancelled() {
                return Err(Halt::Ending(Ending::Interrupted));
            }
            let old_cwd = self.session.gate.place().cwd.clone();
            let reports = self.call_all(&group, cancel).await?;
            let mut stop = None;
            for (call, report) in group.into_iter().zip(reports) {
                stop = stop.or(report.stop.clone());
                self.called(call, report, account, cancel).await?;
            }
            self.moved_from(&old_cwd, cancel).await?;
            if let Some(reason) = stop {
                return Err(Halt::Ending(match cancel.is_cancelled() {
                    true => Ending::Interrupted,
                    false => Ending::Stopped { reason },
                }));
            }
        }
        Ok(())
    }

    /// Takes calls all the way: one, or agents side by side. They are judged one after the other all the same.
    async fn call_all(
        &mut self,
        group: &[Wanted],
        cancel: &CancellationToken,
    ) -> Result<Vec<CallReport>, Halt> {
        let started = |front: &CoreEnd, call: &Wanted| {
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
        // Somebody may have said "always" to one of them.
        let seat = self.session.gate.seat().clone();
        self.session.gate.governance.reload_session_rules(&seat)?;
        Ok(done.into_iter().collect::<Result<_, _>>()?)
    }

    /// A call has come to its end: who wants to know of it.
    async fn called(
        &mut self,
        call: Wanted,
        report: CallReport,
        account: &mut Account,
        cancel: &CancellationToken,
    ) -> Result<(), Halt> {
        let Wanted { id, tool, input, shown, .. } = call;
        // Input that no tool could take was never held against a rule.
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
            account.answer.hear(&report, self.session.gate.redactor());
        }
        self.session.gate.front.tell(Event::ToolEnded {
            id,
            tool,
            content: report.content.clone(),
            is_error: report.is_error,
        });
        self.catch_up()?;
        // It may have left a worktree, in which the same rules hold.
        if facts.is_some_and(|facts| facts.starts_agents) {
            self.session.gate.governance.rebuild();
        }
        let Some(known) = known.filter(|_| !report.is_error) else { return Ok(()) };
        if let Some(file) = known.file_shown(&input) {
            self.heed_nested(&file, cancel).await?;
        }
        if let Some(skill) = known.skill(&input) {
            self.skill_applied(&skill);
        }
        Ok(())
    }

    /// Hooks hear of a `cd`.
    async fn moved_from(&mut self, old: &Path, cancel: &CancellationToken) -> Result<(), Halt> {
        if self.session.gate.place().cwd == old {
            return Ok(());
        }
        let (old, new) =
            (old.display().to_string(), self.session.gate.place().cwd.display().to_string());
        let fired = self.fire(HookDetail::CwdChanged { old_cwd: old, new_cwd: new }, cancel).await;
        self.take_watch_paths(&fired);
        Ok(self.keep(&Step { hooks: &fired.rows, ..Step::default() })?)
    }
}
