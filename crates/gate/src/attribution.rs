//! A call and the intents: whether its intent owns what it would change, what it then changed, and its entry in the
//! trace (S2, S4).

use ona_intents::Workspace;
use ona_intents::gate::CallClass;
use ona_intents::refusal::{GateKind, Refusal};
use ona_policy::{By, Scope};
use ona_store::StoreError;
use ona_tools::Tool;
use ona_trace::TraceEntry;
use ona_types::gate::{Answer, StageName, Verdict};
use ona_types::{Behavior, ToolKind, ToolOutput};
use serde_json::{Value, json};

use super::intents::lesson::{self, Check};
use super::intents::observe::{Before, Changes};
use super::intents::record::{self, Who};
use super::intents::{Governed, Handling, Outside, Ruled, Subject, check_call, stale, vouched_for};
use super::judgement::Judgement;
use super::rule_words;

/// Why the intent that a call names cannot be selected.
fn cannot_be_selected(workspace: &Workspace, tool: &dyn Tool, input: &Value) -> Option<Refusal> {
    if tool.facts().kind != ToolKind::SelectIntent {
        return None;
    }
    let id = input.get("intent_id").and_then(Value::as_str)?;
    workspace.select(id).err()
}

impl Judgement<'_> {
    /// The answer of the intent stage, and what it found. Changes nothing.
    pub(super) fn judge_intent(&self) -> Result<Option<(Governed, Ruled)>, StoreError> {
        let Some(workspace) = &self.gate.workspace else { return Ok(None) };
        let selected = self.gate.selected_intent(workspace)?;
        let (store, redactor) = (self.gate.store(), self.gate.redactor());
        let session = self.gate.record.session();
        let stale = stale(store, session, redactor, &self.effects.writes)?;
        let subject = Subject {
            tool: self.tool,
            input: &self.input,
            effects: &self.effects,
            selected: selected.as_deref(),
            stale: &stale,
        };
        let (governed, ruled) = check_call(workspace, &subject);
        Ok(Some(match cannot_be_selected(workspace, self.tool, &self.input) {
            Some(refusal) => (governed, Ruled::Refused(refusal)),
            None => (governed, ruled),
        }))
    }

    /// A rule that somebody wrote, or a mode that somebody chose, counts as approval in advance. ona's own rules do
    /// not.
    pub(super) fn approved_before(&self) -> Option<String> {
        let ruling = self.gate.governance.permissions.judge(&self.as_call());
        let theirs = match &ruling.by {
            By::Rules(rules) => rules.iter().any(|rule| rule.source.scope != Scope::Builtin),
            By::Mode(_) | By::Sandbox => true,
            By::Opaque(_) => false,
        };
        (ruling.behavior == Behavior::Allow && theirs).then(|| rule_words::ruling(&ruling).0)
    }

    /// Records what the call could change, right before it runs.
    pub(super) async fn observe(&self) -> Option<Before> {
        let governed = self.governed.as_ref().filter(|governed| governed.mutates())?;
        Some(Before::take(governed, &self.effects.writes).await)
    }

    /// Finds what a call has changed: for the trace, and for the model if it left its scope.
    pub(super) async fn attribute(&mut self, before: Before, output: &mut ToolOutput) {
        let Some(governed) = &self.governed else { return };
        let gate = &*self.gate;
        let vouched = |entry: &TraceEntry| vouched_for(gate.store(), gate.seat(), entry);
        let Changes { mut files, mut warnings, trace_cut } =
            before.changes(governed.workspace.root(), &vouched).await;
        if trace_cut {
            let text = "the trace is shorter than it was: lines were removed".to_owned();
            self.noted.events.push(("trace.damaged".to_owned(), json!({"why": text})));
            gate.front.warn(text);
        }
        let mut entry = record::entry(governed, self.who());
        if let CallClass::Classified(_) = governed.class {
            let how = Handling::new(&gate.record, self.id, false);
            let (outside, left) = Outside::of(governed, files, &how);
            files = left;
            entry.scope_validation = Some(record::scope_after(outside.is_empty(), &files));
            warnings.extend(outside.warnings());
            if let Some(said) = outside.words() {
                output.content.push_str(&format!("\n[scope] {said}"));
                output.detail.insert("out_of_scope".to_owned(), outside.to_json());
                gate.front.warn(format!("{}: {said}", self.tool.name()));
            }
        }
        if output.task.is_some() {
            warnings.push("background".to_owned());
        }
        record::describe(&mut entry, &files, governed.claimed);
        warnings.dedup();
        entry.warnings.extend(warnings);
        if output.is_error() {
            record::failed(&mut entry, &output.content);
        }
        self.noted.trace = Some(entry);
    }

    /// Prepares the trace entry of a denied call, if the call would have changed something.
    pub(super) fn trace_denial(&mut self, reason: &str) {
        if self.governed.is_none() {
            // Denied by an earlier stage.
            let Ok(found) = self.judge_intent() else { return };
            self.governed = found.map(|(governed, _)| governed);
        }
        let Some(governed) = self.governed.as_ref().filter(|governed| governed.mutates()) else {
            return;
        };
        let mut entry = record::entry(governed, self.who());
        record::describe(&mut entry, &[], governed.claimed);
        record::untouched(&mut entry, governed, &self.effects);
        record::failed(&mut entry, reason);
        self.noted.trace = Some(entry);
    }

    /// Who made the call.
    fn who(&self) -> Who {
        let is_yes =
            |answer: &&Answer| answer.stage == StageName::Human && answer.verdict == Verdict::Allow;
        let human = self.answers.iter().find(is_yes);
        let approver = human.and_then(|answer| answer.detail["by"].as_str().map(str::to_owned));
        Who { approver, ..Who::of(self.gate, self.id, self.tool) }
    }

    /// Appends the trace entry of a call that has ended, and the lesson of a check that failed.
    pub(super) async fn keep_trace(&mut self, output: &ToolOutput) {
        if self.noted.trace.is_none() {
            return;
        }
        self.append_trace().await;
        let exit_code = output.detail.get("exit_code").and_then(Value::as_i64);
        let (Some(command), Some(exit_code)) = (self.tool.command(&self.input), exit_code) else {
            return;
        };
        let Some(governed) = &self.governed else { return };
        let check = Check { command: &command, exit_code, output: &output.content };
        match lesson::note(governed, self.who(), &check, self.gate.redactor()) {
            Ok(lesson) => self.noted.trace = lesson,
            Err(error) => self.gate.front.warn(error.to_string()),
        }
        self.append_trace().await;
    }

    /// Appends the trace entry. A gap is reported to the user and recorded (S2 §3.3).
    pub(super) async fn append_trace(&mut self) {
        let Some(entry) = self.noted.trace.take() else { return };
        let Some(governed) = &self.governed else { return };
        let redactor = self.gate.redactor();
        let (event, gap) = record::appended(&governed.workspace, entry, redactor).await;
        self.noted.events.push(event);
        if let Some(why) = gap {
            self.gate.front.warn(format!("the trace has a gap: {why}"));
        }
    }

    /// A denial as the model sees it: in a workspace with intents, structured (S4).
    pub(super) fn denial_text(&self, stage: StageName, reason: &str) -> String {
        let detail = self.answers.last().map(|answer| answer.detail.clone()).unwrap_or_default();
        let kind = match stage {
            StageName::Intent => return detail.to_string(),
            StageName::Phase => GateKind::PhaseDenied,
            StageName::Rules | StageName::Human => GateKind::PermissionDenied,
            StageName::Input | StageName::Hooks | StageName::Sandbox | StageName::Tasks => {
                return reason.to_owned();
            }
        };
        if self.gate.workspace.is_none() {
            return reason.to_owned();
        }
        let rule = detail["rules"][0]["rule"].as_str().unwrap_or(stage.as_str()).to_owned();
        let gate = stage.as_str().to_owned();
        Refusal::Gate { kind, message: reason.to_owned(), gate, rule }.to_json().to_string()
    }
}
