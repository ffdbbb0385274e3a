//! The path of one tool call: its start is committed, the stages judge it, the tool runs, the outcome is committed, and
//! only then is it reported to the caller.

use std::time::Instant;

use ona_front::FileDiff;
use ona_sandbox::Owner;
use ona_store::{CallStart, StoreError};
use ona_tools::{Outputs, PREFIX};
use ona_types::gate::{End, Mode, StageName, Walked};
use ona_types::hook::HookDetail;
use ona_types::{Change, PermissionMode, Phase, ToolKind, ToolOutput, ToolUseId};
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Gate;
use super::file_history::PreImages;
use super::intents::vouch;
use super::judgement::Judgement;
use super::outcome::{MaskedCall, Outcome, gate_rows, mask_content};
use super::stages::judge;
use super::toolbox::ToolRef;

/// The key of arguments that are not valid JSON.
pub const INVALID_JSON: &str = "invalid_json";

/// How many tools of servers an error lists.
const MAX_NAMED_TOOLS: usize = 40;

/// The result of a call, after it was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallReport {
    /// The call's id.
    pub tool_use_id: ToolUseId,
    /// What the model sees.
    pub content: String,
    /// Whether the call failed.
    pub is_error: bool,
    /// A hook or the human wants the agent to stop, for this reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// The stage that denied the call.
    #[serde(skip)]
    pub denied_by: Option<StageName>,
    /// Why it did, in one line.
    #[serde(skip)]
    pub denied_because: String,
    /// What became of the file that the call changed.
    #[serde(skip)]
    pub diff: Option<FileDiff>,
    /// The exit code of a command that failed.
    #[serde(skip)]
    pub exit_code: Option<i64>,
    /// The input that was judged last, after hooks or the human may have replaced it.
    #[serde(skip)]
    pub input: Value,
}

/// Why a call cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum UnusableCall {
    #[error(
        "the arguments of {tool} are not valid JSON ({why}); nothing was run: call it again with a JSON object"
    )]
    NotJson { tool: String, why: String },
    #[error("unknown tool `{tool}` in this session; the tools are {offered}")]
    NotOffered { tool: String, offered: String },
    #[error("the MCP server {server} is not connected: {why}")]
    ServerAway { server: String, why: String },
    #[error("unknown tool `{tool}`; the tools are {known}")]
    Unknown { tool: String, known: String },
}

/// The record could not be written.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Before the tool ran: nothing was changed.
    #[error(transparent)]
    NotStarted(StoreError),
    /// After it ran.
    #[error("the tool has run, but its outcome could not be recorded ({id}): {cause}")]
    OutcomeLost {
        /// The call, which now counts as interrupted.
        id: ToolUseId,
        /// The cause.
        cause: StoreError,
    },
}

/// A call that was judged, and has run if it was permitted.
struct Finished {
    outcome: Outcome,
    denied_by: Option<StageName>,
    input: Value,
}

impl Gate {
    /// Judges, runs and records a call.
    pub async fn call(
        &mut self,
        tool: &str,
        input: &Value,
        cancel: &CancellationToken,
    ) -> Result<CallReport, CallError> {
        self.call_as(ToolUseId::generate(), tool, input, cancel).await
    }

    /// The same with a given id, when it is the call's turn. An error means that the record could not be written, and
    /// says whether the tool has run; errors of the call itself are in the report.
    pub async fn call_as(
        &mut self,
        id: ToolUseId,
        tool: &str,
        input: &Value,
        cancel: &CancellationToken,
    ) -> Result<CallReport, CallError> {
        self.enter().await;
        let report = self.call_now(id, tool, input, cancel).await;
        self.leave();
        report
    }

    async fn call_now(
        &mut self,
        id: ToolUseId,
        tool: &str,
        input: &Value,
        cancel: &CancellationToken,
    ) -> Result<CallReport, CallError> {
        let masked = MaskedCall::new(tool, input, self.redactor());
        let owner = json!(Owner::current());
        let start = CallStart { id: &id, tool: &masked.tool, input: &masked.input, owner: &owner };
        self.store().start_call(self.seat(), &start).map_err(CallError::NotStarted)?;
        let started = Instant::now();
        self.find_workspace();
        let Finished { mut outcome, denied_by, input } = match self.usable_tool(tool, input) {
            Ok(tool) => self.finish(&id, &tool, input.clone(), cancel).await,
            Err(why) => {
                let outcome = Outcome::unusable(why.to_string());
                Finished { outcome, denied_by: None, input: input.clone() }
            }
        };
        let moved = outcome.output.cwd.clone();
        outcome.mask(self.redactor());
        let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.store()
            .finish_call(self.seat(), &id, &outcome.as_stored(duration_ms))
            .map_err(|cause| CallError::OutcomeLost { id: id.clone(), cause })?;
        let Outcome { output, noted, gate } = outcome;
        let denied_because = match (denied_by, gate.last()) {
            (Some(_), Some(answer)) => answer.reason.lines().next().unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        self.follow_phase(&output.changes);
        if let Some(cwd) = moved {
            self.moved(&cwd);
        }
        let exit_code = output.detail.get("exit_code").and_then(Value::as_i64);
        Ok(CallReport {
            tool_use_id: id,
            exit_code: exit_code.filter(|code| *code != 0),
            is_error: output.is_error(),
            content: output.content,
            stop: noted.stop,
            denied_by,
            denied_because,
            diff: noted.diff,
            input,
        })
    }

    /// The tool that a call names, if it can be called in this session.
    pub(super) fn usable_tool(&self, name: &str, input: &Value) -> Result<ToolRef, UnusableCall> {
        let tool = || name.to_owned();
        if let Some(text) = input.get(INVALID_JSON).and_then(Value::as_str) {
            let why = match serde_json::from_str::<Value>(text) {
                Err(error) => error.to_string(),
                Ok(_) => "not a JSON object".to_owned(),
            };
            return Err(UnusableCall::NotJson { tool: tool(), why });
        }
        let found = self.toolbox.find(name);
        let known = found.as_ref().map_or(name, |tool| tool.name());
        if !self.toolbox.has(known) {
            let offered = self.toolbox.offered(&self.governance.permissions).join(", ");
            return Err(UnusableCall::NotOffered { tool: tool(), offered });
        }
        found.ok_or_else(|| self.unknown_tool(name))
    }

    fn unknown_tool(&self, name: &str) -> UnusableCall {
        if let Some((server, why)) = self.disconnected_server(name) {
            return UnusableCall::ServerAway { server, why };
        }
        // Servers may have thousands of tools.
        let (of_servers, own): (Vec<String>, Vec<String>) =
            self.toolbox.names().into_iter().partition(|name| name.starts_with(PREFIX));
        let more = match (of_servers.len(), self.deferred_tools().is_empty()) {
            (0, _) => String::new(),
            (few, true) if few <= MAX_NAMED_TOOLS => format!(", {}", of_servers.join(", ")),
            (more, true) => format!(", and {more} of MCP servers"),
            (more, false) => format!(", and {more} of MCP servers, which ToolSearch finds"),
        };
        UnusableCall::Unknown { tool: name.to_owned(), known: own.join(", ") + &more }
    }

    async fn finish(
        &mut self,
        id: &ToolUseId,
        tool: &ToolRef,
        mut input: Value,
        cancel: &CancellationToken,
    ) -> Finished {
        tool.complete(&mut input, &self.services());
        let mut call = Judgement::new(self, id, &**tool, input, cancel);
        let (output, denied_by) = call.judge_and_run().await;
        call.keep_trace(&output).await;
        let gate = gate_rows(&call.answers);
        let noted = std::mem::take(&mut call.noted);
        let input = std::mem::take(&mut call.input);
        if let (Some(_), Some(workspace)) = (&output.intent, &self.workspace)
            && let Err(error) = vouch(self.store(), workspace)
        {
            self.front.warn(error.to_string());
        }
        Finished { outcome: Outcome { output, gate, noted }, denied_by, input }
    }

    /// The mode follows the phase: planning uses plan mode, and the previous mode returns when the plan is approved.
    fn follow_phase(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Planning { .. } if self.mode() != PermissionMode::Plan => {
                    self.mode_before_planning = Some(self.mode());
                    self.governance.use_mode(PermissionMode::Plan);
                }
                Change::PlanApproved { .. } => self.leave_planning(),
                _ => {}
            }
        }
    }

    fn leave_planning(&mut self) {
        if self.mode() == PermissionMode::Plan {
            let before = self.mode_before_planning.take().unwrap_or_default();
            let before = if self.governance.may_use(before) { before } else { self.mode() };
            self.governance.use_mode(before);
        }
    }

    /// Notices a plan that the operator has approved in another process: `ona plan approve`.
    pub fn follow_approval(&mut self) -> Result<(), StoreError> {
        if self.mode_before_planning.is_some() && self.record.standing()?.phase != Phase::Planning {
            self.leave_planning();
        }
        Ok(())
    }
}

impl Judgement<'_> {
    /// Runs the stages, the tool and the hooks after it. Returns the stage that denied the call, if one did.
    async fn judge_and_run(&mut self) -> (ToolOutput, Option<StageName>) {
        let Walked { answers, end } = judge(self, Mode::Run).await;
        self.answers = answers;
        let permit = match end {
            End::Permitted(permit) => permit,
            End::Denied(stage) => return (self.denied(stage).await, Some(stage)),
            End::Failed(error) => return (ToolOutput::internal(error.to_string()), None),
            End::Judged => return (ToolOutput::internal("the gate gave no permit"), None),
        };
        let mut before = self.observe().await;
        if let Some(moved) = self.moved() {
            self.answers.push(moved);
            return (self.denied(StageName::Rules).await, Some(StageName::Rules));
        }
        let host = &self.gate.governance.host;
        let images = self.gate.keeps_files.then(|| PreImages::read(&self.effects, host));
        let mut output = self.run(permit).await;
        self.keep_baseline(&mut output).await;
        self.note_sandbox(&output);
        self.noted.stop = self.noted.stop.take().or(output.stop.take());
        // Changes of a command are compared before hooks run, those of a tool after them.
        if let Some(tree) = before.take_if(|before| before.is_tree()) {
            self.attribute(tree, &mut output).await;
        }
        if let Some(before) = &mut before {
            before.compare_with(&output.views);
        }
        // Hooks read it too, so it is masked before they run.
        mask_content(&mut output, self.gate.redactor());
        let fired = self.tell(self.ended(&output)).await;
        if let Some(answer) = fired.updated_output {
            self.answer_instead(&answer, &mut output);
        }
        if let Some(before) = before {
            self.attribute(before, &mut output).await;
        }
        if let Some(images) = images {
            let goes_on = output.task.is_some() && self.tool.command(&self.input).is_some();
            self.keep_files(images, goes_on);
        }
        (output, None)
    }

    /// Keeps the old content of the files that the call has changed.
    fn keep_files(&mut self, images: PreImages, goes_on: bool) {
        let gate = &*self.gate;
        let (host, session) = (&gate.governance.host, gate.record.session());
        let mut changed = images.changed(host, session, gate.redactor());
        let more = match goes_on {
            true => Some("what a command in the background writes is not known".to_owned()),
            false => self.effects.written.more(),
        };
        changed.unsure = changed.unsure.or(more).map(|why| gate.redactor().mask(&why).into_owned());
        if let Some(error) = &changed.problem {
            gate.front.warn(format!("/rewind cannot undo this change: {error}"));
        }
        self.noted.entries.extend(changed.entry(session));
        // What a command changes is not all that it has to say.
        if matches!(self.tool.facts().kind, ToolKind::Write(_)) {
            self.noted.diff = changed.diff;
        }
    }

    /// What the model sees where a PostToolUse hook answers in the place of a server's tool. It is limited and masked
    /// like the tool's own answer.
    fn answer_instead(&self, answer: &Value, output: &mut ToolOutput) {
        let gate = &*self.gate;
        let outputs = Outputs {
            session: gate.record.session(),
            redactor: gate.redactor(),
            settings: &gate.record.core.settings,
            host: &gate.governance.host,
        };
        let Some(instead) = self.tool.answered_instead(answer, &outputs) else {
            gate.front.warn(format!(
                "a PostToolUse hook gives `updatedMCPToolOutput` for {}, which is not an MCP tool; the result is unchanged",
                self.tool.name()
            ));
            return;
        };
        let ToolOutput { content, class, attachments, .. } = instead;
        (output.content, output.class, output.attachments) = (content, class, attachments);
        output.detail.insert("replaced_by_hook".to_owned(), Value::Bool(true));
        mask_content(output, gate.redactor());
    }

    /// The event for a call that has run.
    fn ended(&self, output: &ToolOutput) -> HookDetail {
        let (tool_name, tool_input, tool_use_id) = self.named();
        let content = output.content.clone();
        if output.is_error() {
            HookDetail::PostToolUseFailure {
                tool_name,
                tool_input,
                tool_use_id,
                error: content,
                is_interrupt: self.cancel.is_cancelled().then_some(true),
            }
        } else {
            let tool_response = Value::String(content);
            HookDetail::PostToolUse { tool_name, tool_input, tool_response, tool_use_id }
        }
    }

    /// A stage has denied the call: the result for the model; trace and hooks are told.
    async fn denied(&mut self, stage: StageName) -> ToolOutput {
        let reason = match self.answers.last() {
            Some(answer) if answer.stage == stage => answer.reason.clone(),
            _ => "the call was not allowed".to_owned(),
        };
        self.trace_denial(&reason);
        let mut content = self.denial_text(stage, &reason);
        // Hooks already know what hooks have denied, and invalid input is not their concern.
        if !matches!(stage, StageName::Input | StageName::Hooks | StageName::Tasks) {
            let (tool_name, tool_input, tool_use_id) = self.named();
            let detail =
                HookDetail::PermissionDenied { tool_name, tool_input, tool_use_id, reason };
            if self.tell(detail).await.retry {
                content.push_str("\n(a hook says that the call may be tried again)");
            }
        }
        let mut output = ToolOutput::rejected(content).with_detail("denied_by", stage.as_str());
        if !matches!(stage, StageName::Human | StageName::Phase) {
            return output;
        }
        if let Some(plan) = self.plan_to_keep() {
            if matches!(plan, Change::PlanSubmitted(_)) {
                output.content.push_str(match stage {
                    StageName::Phase => "\nThe plan is kept as a draft. Submit it again once that is mended",
                    _ => {
                        "\nThe plan is kept as a draft: `ona plan show` shows it, and the operator approves it with \
                         `ona plan approve`"
                    }
                });
            }
            output.changes.push(plan);
        }
        // Who denied it: a human, or nobody was there to ask.
        match self.answers.last().and_then(|answer| answer.detail["by"].as_str()) {
            Some(who) => output.with_detail("decided_by", who),
            None => output,
        }
    }

    /// A plan that a human has rejected goes back to the model. One that nobody has read is kept as a draft, so that it
    /// can still be read and approved with `ona plan approve`.
    fn plan_to_keep(&self) -> Option<Change> {
        let plan = self.tool.plan(&self.input)?;
        if self.gate.record.standing().ok()?.phase != Phase::Planning {
            return None;
        }
        let answer = self.answers.last()?;
        Some(match answer.detail["by"] == "human" {
            true => Change::PlanRejected { plan, reason: answer.reason.clone() },
            false => Change::PlanSubmitted(plan),
        })
    }
}
