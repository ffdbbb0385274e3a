//! Plans at the gate: what a check finds before a human is asked, and what is kept when one is approved.

use std::path::PathBuf;

use ona_phases::criteria::{Checked, Criterion};
use ona_phases::plans;
use ona_store::StoreError;
use ona_types::{Change, ContentHash, ToolOutput};

use crate::judgement::Judgement;

impl Judgement<'_> {
    /// What a check says of the plan that the call submits, if it submits one.
    pub(crate) fn check_plan(&self) -> Result<Option<Checked>, StoreError> {
        let Some(plan) = self.tool.plan(&self.input) else { return Ok(None) };
        let conversation = &self.gate.seat().conversation;
        let earlier = self.gate.store().conversation_plans(conversation)?;
        let earlier = earlier.iter().map(|plan| plan.content.as_str());
        Ok(Some(plans::check_after(earlier, &self.gate.masked(&plan))))
    }

    /// What a human is shown of a plan beside its text: what the check found, and the hash that is approved.
    pub(crate) fn plan_checks(&self) -> (Vec<String>, Vec<String>) {
        let Some(plan) = self.tool.plan(&self.input) else { return Default::default() };
        // It was checked on the way here.
        let checked = self.check_plan().ok().flatten().unwrap_or_default();
        let hash = ContentHash::of(self.gate.masked(&plan).as_bytes());
        let lines = checked.criteria.iter().map(criterion_line).collect();
        (vec![checked.summary(), format!("plan hash: {hash}")], lines)
    }

    /// Adds to an approved plan what is there at this moment: its tests are written from that.
    pub(crate) async fn keep_baseline(&self, output: &mut ToolOutput) {
        for change in &mut output.changes {
            if let Change::PlanApproved { plan, baseline } = change {
                let masked = self.gate.masked(plan);
                let checked = self.check_plan().ok().flatten().unwrap_or_default();
                let project = PathBuf::from(&self.gate.seat().project_dir);
                let room = self.gate.governance.test_room(&project);
                let room = room.as_ref().map_err(ToString::to_string);
                let room = room.as_ref().map(|room| *room).map_err(String::as_str);
                let kept =
                    plans::baseline(&project, &masked, &checked.criteria, room, self.cancel).await;
                *baseline = Some(Box::new(kept));
            }
        }
    }
}

/// A criterion as it was read.
fn criterion_line(criterion: &Criterion) -> String {
    let Criterion { id, text, surface, inferred } = criterion;
    let guessed = if *inferred { ", inferred" } else { "" };
    format!("{id} [{surface}{guessed}] {text}")
}
