//! The sandbox of one call: how its command would run, and what is recorded of it.

use ona_policy::{Confines, covered_by};
use ona_tools::SANDBOX_REFUSED;
use ona_types::{SandboxLevel, ToolOutput};
use serde_json::Value;

use crate::Gate;
use crate::judgement::Judgement;
use crate::sandbox::Runs;

impl Judgement<'_> {
    /// Finds out how the call's command would run.
    pub(crate) fn find_sandbox(&mut self) {
        self.runs = self.gate.runs_of(self);
    }

    /// Records how the command ran, and what it was refused.
    pub(crate) fn note_sandbox(&mut self, output: &ToolOutput) {
        let enabled = self.gate.governance.sandbox.enabled;
        let is_told = matches!(self.runs, Runs::Inside(..))
            || enabled && matches!(self.runs, Runs::Outside(..));
        if !is_told {
            return;
        }
        let core = &self.gate.record.core;
        if output.task.is_some() && core.settings.background_stays {
            core.machine.keep_temporary();
        }
        self.noted.events.push(("sandbox.run".to_owned(), self.runs.detail()));
        let refused = output.detail.get(SANDBOX_REFUSED).and_then(Value::as_array);
        for one in refused.into_iter().flatten() {
            self.noted.events.push(("sandbox.refused".to_owned(), one.clone()));
        }
    }

    /// What the sandbox sees to, where that replaces questions.
    pub(crate) fn confines(&self) -> Confines {
        let Runs::Inside(confined, _) = &self.runs else { return Confines::Nothing };
        match (self.gate.governance.sandbox.auto_allow, confined.level) {
            (false, _) => Confines::Nothing,
            (true, SandboxLevel::Bwrap | SandboxLevel::BwrapNoproc) => Confines::ProtectedToo,
            (true, _) => Confines::Writing,
        }
    }
}

impl Gate {
    fn runs_of(&self, call: &Judgement<'_>) -> Runs {
        if call.tool.command(&call.input).is_none() {
            return Runs::Nothing;
        }
        let governance = &self.governance;
        let terms = &governance.sandbox;
        if !terms.enabled {
            return terms.outside("it is off".to_owned());
        }
        if call.tool.leaves_sandbox(&call.input) && terms.may_leave {
            return terms.outside("the call asks for it".to_owned());
        }
        if let Some(rule) = covered_by(&terms.excluded, &call.effects) {
            let pattern = rule.text.trim_start_matches("Bash(").trim_end_matches(')');
            return terms.outside(format!("sandbox.excludedCommands has `{pattern}`"));
        }
        governance.confined()
    }
}
