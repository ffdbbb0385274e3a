//! The findings of `ona doctor`: those of the store, and calls without an outcome.

use std::path::Path;

use ona_sandbox::Liveness;
use ona_store::{Finding, Level, RunningCall, Watch, inspect};

use ona_gate::settle::{is_gone, liveness};

/// The number of calls a finding names.
const MAX_NAMED: usize = 5;

/// Checks the record at `path`. Changes nothing.
pub fn examine(path: &Path, watch: &Watch) -> Vec<Finding> {
    let inspection = inspect(path, watch);
    let mut findings = inspection.findings;
    let (mut running, mut interrupted) = (Vec::new(), Vec::new());
    for call in &inspection.running {
        match liveness(&call.owner) {
            Liveness::Alive | Liveness::Unknown => running.push(call),
            Liveness::Gone => interrupted.push(call),
        }
    }
    if !running.is_empty() {
        findings.push(Finding::ok("calls", format!("running: {}", names(&running))));
    }
    if !interrupted.is_empty() {
        findings.push(Finding::bad(
            "calls",
            Level::Warn,
            format!("{} interrupted: {}", interrupted.len(), names(&interrupted)),
            "ona ended before they finished; the next call in their session records them as interrupted",
        ));
    }
    let lost: Vec<String> = inspection
        .tasks
        .iter()
        .filter(|task| liveness(&task.owner) == Liveness::Gone)
        .map(|task| format!("{} ({})", task.id, task.command))
        .collect();
    if !lost.is_empty() {
        findings.push(Finding::bad(
            "tasks",
            Level::Warn,
            format!("{} without a supervisor: {}", lost.len(), lost.join(", ")),
            "their supervisor was killed; the next call in their session stops them",
        ));
    }
    let left: Vec<String> = inspection
        .worktrees
        .iter()
        .filter(|left| left.owners.iter().all(is_gone) && left.path.is_dir())
        .map(|left| left.path.display().to_string())
        .collect();
    if !left.is_empty() {
        findings.push(Finding::bad(
            "worktrees",
            Level::Warn,
            format!("{} left by killed agents: {}", left.len(), left.join(", ")),
            "the next session there removes those without changes; check the others, then remove them with `git \
             worktree remove`",
        ));
    }
    findings
}

fn names(calls: &[&RunningCall]) -> String {
    let mut names: Vec<String> = calls
        .iter()
        .take(MAX_NAMED)
        .map(|call| format!("{} ({}, since {})", call.id, call.tool, call.started_at))
        .collect();
    if calls.len() > MAX_NAMED {
        names.push(format!("and {} more", calls.len() - MAX_NAMED));
    }
    names.join(", ")
}
