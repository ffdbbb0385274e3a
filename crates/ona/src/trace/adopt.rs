//! `ona trace reconcile --adopt`: records changes made outside the trace as made by a human.
//!
//! The entry has to tell of that part alone. What an agent wrote into the same file stays its own, so the version
//! before is taken to be the file as it is now with only the unexplained places put back as they were at the
//! commit. Where everything else is traced, that is the very version the last entry left.

use std::process::ExitCode;

use ona_intents::file::Intent;
use ona_intents::gate;
use ona_intents::ignore::Ignore;
use ona_intents::map;
use ona_intents::scope::Held;
use ona_repo::git::{self, Contents};
use ona_trace::TraceEntry;
use ona_trace::class::Versions;
use ona_trace::entry::{AgentAction, ScopeValidation, ToolOrigin};
use ona_trace::mutation::describe;
use ona_trace::ranges::{Hunk, hunks, is_binary, split_lines};
use ona_trace::reconcile::Ungoverned;
use serde_json::json;

use super::reconcile::{Changes, MODE_CHANGED};
use crate::error::CliError;
use crate::output::complain;
use crate::workspace::{Workspace, find_intent, printed, wait_if_any};

/// The tool that such entries name.
const ADOPT: &str = "adopt";

/// Where lines repeat, the difference to the version before need not be the places that were put back, and
/// something is left; what is left after the second time is settled by the whole difference to the commit.
const ROUNDS: usize = 3;

pub fn run(
    workspace: &Workspace,
    since: Option<&str>,
    id: &str,
    as_json: bool,
) -> Result<ExitCode, CliError> {
    let intents = workspace.intents()?;
    find_intent(&intents, id)?;
    let intent = gate::valid(id, &intents).map_err(|refusal| {
        CliError::usage(refusal.message())
            .hint(format!("`ona intent status {id} IN_PROGRESS` reopens it"))
    })?;
    let template = entry(workspace, intent);
    let ledger = workspace.ledger()?;
    let name = |id: &str| intents.all.iter().find(|one| one.id == id)?.name.clone();
    let mut written = Vec::new();
    for round in 0..ROUNDS {
        let changes = Changes::since(workspace, since)?;
        let files = changes.unexplained();
        if files.is_empty() {
            break;
        }
        let refused =
            out_of_scope(workspace, intent, files.iter().map(|(path, ..)| path.as_str()))?;
        if !refused.is_empty() {
            return Err(CliError::failed(format!(
                "nothing was adopted: out of scope of {id}:\n  {}",
                refused.join("\n  ")
            ))
            .hint(
                "adopt them for the intent that owns them, or widen the scope with `ona intent edit`",
            ));
        }
        for (path, contents, places) in files {
            let old = match round + 1 < ROUNDS {
                true => before(contents, &places),
                false => contents.old.clone(),
            };
            let versions = Versions { path, old: old.as_deref(), new: contents.new.as_deref() };
            let mut entry = TraceEntry { id: TraceEntry::new().id, ..template.clone() };
            describe(&mut entry, &[versions], None);
            if let Some((_, (then, now))) = changes.modes.iter().find(|(moded, _)| moded == path) {
                entry.warnings.push(format!("{MODE_CHANGED}{path} {then:o} {now:o}"));
            }
            let appended =
                ledger.append(entry).map_err(|error| CliError::failed(error.to_string()))?;
            if let Err(error) = map::record(&workspace.root, &ledger, &appended.entry, name) {
                complain(&format!("warning: {error}\n"));
            }
            written.push((path.clone(), appended));
        }
    }
    let text = if as_json {
        let rows: Vec<_> = written
            .iter()
            .map(
                |(path, entry)| json!({"path": path, "entry_id": entry.entry.id, "seq": entry.seq}),
            )
            .collect();
        format!("{}\n", json!({"intent_id": id, "adopted": rows}))
    } else if written.is_empty() {
        "nothing to adopt: every change is traced\n".to_owned()
    } else {
        written
            .iter()
            .map(|(path, entry)| format!("adopted {path} for {id} (entry #{})\n", entry.seq))
            .collect()
    };
    printed(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The files that the intent may not answer for, and why.
fn out_of_scope<'p>(
    workspace: &Workspace,
    intent: &Intent,
    paths: impl Iterator<Item = &'p str>,
) -> Result<Vec<String>, CliError> {
    let scope = intent.scope().map_err(|error| {
        CliError::usage(format!("{}: {error}", intent.id)).hint("`ona intent lint` shows where")
    })?;
    let ignore = Ignore::load(&workspace.root);
    if let Some(error) = ignore.errors.first() {
        return Err(CliError::usage(error.to_string()).hint("`ona intent lint` shows all"));
    }
    if let Some(entry) = ignore.blocks_intent(&intent.id) {
        let (file, line) = (entry.file, entry.line);
        return Err(CliError::usage(format!("{} is blocked by {file} line {line}", intent.id)));
    }
    let why = |path: &str| match (ignore.blocks_path(path), scope.holds(path)) {
        (Some(entry), _) => Some(format!("{path} ({} line {})", entry.file, entry.line)),
        (None, Held::By(_)) => None,
        (None, Held::Excluded(pattern)) => Some(format!("{path} (excluded by `{pattern}`)")),
        (None, Held::No) => Some(path.to_owned()),
    };
    Ok(paths.filter_map(why).collect())
}

/// What all entries have in common.
fn entry(workspace: &Workspace, intent: &Intent) -> TraceEntry {
    let head = wait_if_any(git::head(&workspace.root)).flatten();
    TraceEntry {
        intent_id: Some(intent.id.clone()),
        tool_name: ADOPT.to_owned(),
        tool_origin: Some(ToolOrigin::Native),
        agent_action: Some(AgentAction::Mutate),
        scope_validation: Some(ScopeValidation::Pass),
        revision_id: Some(head.unwrap_or_else(|| "unknown".to_owned())),
        related_requirements: intent.related_requirements.clone(),
        bead_id: intent.bead_id.clone(),
        actor: Some("human".to_owned()),
        approver: wait_if_any(git::identity(&workspace.root)).flatten(),
        ..TraceEntry::new()
    }
}

/// The file as it is, with the unexplained places as they were.
fn before(contents: &Contents, places: &[&Ungoverned]) -> Option<Vec<u8>> {
    let (old, new) = match (&contents.old, &contents.new) {
        (old, Some(new)) => (old.as_deref().unwrap_or_default(), new.as_slice()),
        (old, None) => return old.clone(),
    };
    if is_binary(old) || is_binary(new) || places.iter().any(|place| place.new_range.is_none()) {
        return contents.old.clone();
    }
    let (old_lines, new_lines) = (split_lines(old), split_lines(new));
    let mut built: Vec<u8> = Vec::new();
    let mut at = 0;
    for hunk in hunks(old, new) {
        built.extend(new_lines[at..hunk.new.start].concat());
        at = hunk.new.end;
        let unknown = unknown_in(&hunk, places);
        // Only what nobody wrote goes back; in a place that is not all unknown, lines just go.
        if unknown.iter().all(|unknown| *unknown)
            && (!unknown.is_empty() || takes_out(&hunk, places))
        {
            built.extend(old_lines[hunk.old.clone()].concat());
            continue;
        }
        for (line, _) in hunk.new.clone().zip(&unknown).filter(|(_, unknown)| !**unknown) {
            built.extend(new_lines[line]);
        }
    }
    built.extend(new_lines[at..].concat());
    // A file that was not there, and of which nothing is left, was made by whoever adopts it.
    if contents.old.is_none() && built.is_empty() { None } else { Some(built) }
}

/// For each new line of a hunk, whether its author is unknown.
fn unknown_in(hunk: &Hunk, places: &[&Ungoverned]) -> Vec<bool> {
    let is_unknown = |line: usize| {
        let line = line as u64 + 1;
        places
            .iter()
            .filter_map(|place| place.new_range)
            .any(|range| (range.start_line..=range.end_line).contains(&line))
    };
    hunk.new.clone().map(is_unknown).collect()
}

/// Whether a hunk that only takes lines out is one of the places.
fn takes_out(hunk: &Hunk, places: &[&Ungoverned]) -> bool {
    hunk.new.is_empty()
        && places.iter().any(|place| {
            place.new_range.is_some_and(|range| {
                range.is_empty() && range.start_line == hunk.new.start as u64 + 1
            })
        })
}

#[cfg(test)]
mod tests {
    use ona_trace::Ledger;
    use ona_trace::ranges::modified_ranges;
    use ona_trace::reconcile::reconcile;

    use super::*;

    /// What is left unexplained after an agent's change and a human's, and what the file is taken to have been
    /// before the human's.
    fn taken_back(base: &str, agent: &str, human: &str) -> (usize, Option<String>) {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::of(dir.path()).unwrap();
        let mut entry = TraceEntry::new();
        entry.modified_ranges = modified_ranges("a", Some(base.as_bytes()), Some(agent.as_bytes()));
        ledger.append(entry).unwrap();
        let file = Versions { path: "a", old: Some(base.as_bytes()), new: Some(human.as_bytes()) };
        let places = reconcile(&ledger, &[file]).unwrap();
        let contents =
            Contents { old: Some(base.as_bytes().to_vec()), new: Some(human.as_bytes().to_vec()) };
        let before = before(&contents, &places.iter().collect::<Vec<_>>());
        let mut entry = TraceEntry::new();
        entry.modified_ranges = modified_ranges("a", before.as_deref(), Some(human.as_bytes()));
        ledger.append(entry).unwrap();
        let left = reconcile(&ledger, &[file]).unwrap().len();
        (left, before.map(|bytes| String::from_utf8(bytes).unwrap()))
    }

    #[test]
    fn the_agents_lines_stay_its_own() {
        let base = "one\ntwo\nthree\nfour\nfive\n";
        let agent = "one\nagent\ntwo\nthree\nfour\nfive\n";
        for (human, before) in [
            // Added below, changed, taken out, and beside the agent's own line.
            ("one\nagent\ntwo\nthree\nfour\nfive\nhuman\n", agent),
            ("one\nagent\ntwo\nthree\nFOUR\nfive\n", agent),
            ("one\nagent\ntwo\nthree\nfive\n", agent),
            ("one\nhuman\nagent\ntwo\nthree\nfour\nfive\n", agent),
        ] {
            assert_eq!(taken_back(base, agent, human), (0, Some(before.to_owned())), "{human}");
        }
    }

    #[test]
    fn whole_files() {
        let place = |new_range| Ungoverned {
            path: "a".to_owned(),
            kind: ona_trace::reconcile::ChangeKind::Created,
            old_range: None,
            new_range,
            content_hash: None,
        };
        let range = ona_trace::entry::LineRange { start_line: 1, end_line: 1 };
        let made = Contents { old: None, new: Some(b"x\n".to_vec()) };
        assert_eq!(before(&made, &[&place(Some(range))]), None);
        let gone = Contents { old: Some(b"x\n".to_vec()), new: None };
        assert_eq!(before(&gone, &[&place(None)]), gone.old);
    }
}
