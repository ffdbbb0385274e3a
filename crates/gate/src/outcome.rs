//! Everything that is recorded of a call, without secrets.

use ona_policy::secrets::Redactor;
use ona_store::{CallOutcome, GateRow};
use ona_types::gate::{Answer, StageName, Verdict};
use ona_types::{Change, ToolOutput};
use serde_json::Value;

use super::judgement::Noted;
use super::masked_path::masked_path;

/// A call as it is recorded when it starts: without secrets.
#[derive(Debug)]
pub struct MaskedCall {
    /// The name of the tool, which may be anything.
    pub tool: String,
    /// The input.
    pub input: Value,
}

impl MaskedCall {
    /// A call of a tool.
    pub fn new(tool: &str, input: &Value, redactor: &Redactor) -> Self {
        let mut input = input.clone();
        redactor.mask_value(&mut input);
        Self { tool: redactor.mask(tool).into_owned(), input }
    }
}

/// The outcome of a call.
#[derive(Debug)]
pub struct Outcome {
    /// The result of the tool, or the denial.
    pub output: ToolOutput,
    /// The answers of the stages.
    pub gate: Vec<GateRow>,
    /// What else is recorded.
    pub noted: Noted,
}

impl Outcome {
    /// A call that cannot be judged.
    pub fn unusable(reason: String) -> Self {
        let answer = Answer::new(StageName::Input, Verdict::Deny, reason.clone());
        Self {
            output: ToolOutput::rejected(reason),
            gate: gate_rows(&[answer]),
            noted: Noted::default(),
        }
    }

    /// Masks secrets (DESIGN §5 no. 27). Output of hooks was masked when it was read.
    pub fn mask(&mut self, redactor: &Redactor) {
        mask_output(&mut self.output, redactor);
        mask_rows(&mut self.gate, redactor);
        for decision in &mut self.noted.decisions {
            redactor.mask_value(&mut decision.reason);
        }
        for row in &mut self.noted.hooks {
            redactor.mask_json(&mut row.input_json);
        }
        for (_, detail) in &mut self.noted.events {
            redactor.mask_event(detail);
        }
        for entry in &mut self.noted.entries {
            redactor.mask_live_value(&mut entry.payload);
        }
    }

    /// For the store.
    pub fn as_stored(&self, duration_ms: u64) -> CallOutcome<'_> {
        CallOutcome {
            output: &self.output,
            duration_ms,
            hooks: &self.noted.hooks,
            gate: &self.gate,
            decisions: &self.noted.decisions,
            contexts: &self.noted.contexts,
            entries: &self.noted.entries,
            events: &self.noted.events,
        }
    }
}

/// Masks the text of a result, and notes that there was something to mask.
pub fn mask_content(output: &mut ToolOutput, redactor: &Redactor) {
    if redactor.mask_string(&mut output.content) {
        output.detail.insert("redacted".to_owned(), Value::Bool(true));
    }
}

/// Masks a result.
pub fn mask_output(output: &mut ToolOutput, redactor: &Redactor) {
    mask_content(output, redactor);
    if let Some(task) = &mut output.task {
        redactor.mask_string(&mut task.command);
    }
    for change in &mut output.changes {
        mask_change(change, redactor);
    }
    // The session uses the real path; only the record has the masked one.
    let views = output.views.iter_mut().map(|view| &mut view.path);
    for path in views.chain(&mut output.cwd) {
        *path = masked_path(redactor, path);
    }
    for value in output.detail.values_mut() {
        redactor.mask_value(value);
    }
}

/// Masks a change of the session's state.
fn mask_change(change: &mut Change, redactor: &Redactor) {
    match change {
        Change::Todos(todos) => {
            for todo in todos {
                redactor.mask_string(&mut todo.content);
                redactor.mask_string(&mut todo.active_form);
            }
        }
        Change::PlanSubmitted(plan) | Change::PlanApproved { plan, .. } => {
            redactor.mask_string(plan);
        }
        Change::PlanRejected { plan, reason } => {
            redactor.mask_string(plan);
            redactor.mask_string(reason);
        }
        // What the user wrote, and names of tools.
        Change::SkillTold { .. } | Change::ToolsLoaded(_) | Change::Planning { .. } => {}
    }
}

/// Masks the answers of the stages.
pub fn mask_rows(rows: &mut [GateRow], redactor: &Redactor) {
    for row in rows {
        redactor.mask_string(&mut row.reason);
        redactor.mask_value(&mut row.detail);
    }
}

/// The stages' answers, for the store.
pub fn gate_rows(answers: &[Answer]) -> Vec<GateRow> {
    let row = |answer: &Answer| GateRow {
        stage: answer.stage.as_str().to_owned(),
        verdict: answer.verdict.as_str().to_owned(),
        reason: answer.reason.clone(),
        detail: answer.detail.clone(),
    };
    answers.iter().map(row).collect()
}
