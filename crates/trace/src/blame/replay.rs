//! Going back through changes whose hashes join.

use std::cell::OnceCell;
use std::collections::HashMap;

use super::history::{Change, History};
use super::matching::Matcher;
use super::slim::Digest;
use super::stretch::Stretch;
use super::{Certainty, Open, Unknown};

/// Answers for as many lines as possible. `hash` is that of the current file.
pub(super) fn run(history: &History, hash: &str, lines: &[&[u8]], open: &mut Open) {
    let changes = &history.changes;
    if changes.is_empty() {
        open.give_up(&Unknown::NeverTraced);
        return;
    }
    let (older, why) = exact(history, hash, open);
    open.settle();
    open.give_up(&why);
    if older > 0 && !open.left.is_empty() {
        by_content(changes, older, lines, open);
    }
}

/// Goes back from the newest change that left the current file. Returns the number of changes that were not
/// reached, and the reason for lines that they do not explain either.
fn exact(history: &History, hash: &str, open: &mut Open) -> (usize, Unknown) {
    let changes = &history.changes;
    // Built only if a change does not join the one before it.
    let left_by: OnceCell<HashMap<Digest, Vec<usize>>> = OnceCell::new();
    // The newest change before `limit` that left this content. Others may lie in between: on another branch, or
    // taken back.
    let newest = |hash: Digest, limit: usize| {
        let last = limit.checked_sub(1)?;
        if changes[last].after == Some(hash) {
            return Some(last);
        }
        let candidates = left_by.get_or_init(|| index(changes)).get(&hash)?;
        candidates[..candidates.partition_point(|index| *index < limit)].last().copied()
    };
    let mut runs = vec![Run { line: 0, place: 0, len: open.left.len() }];
    let mut hash = Digest::of(hash);
    let mut limit = changes.len();
    loop {
        if runs.is_empty() {
            return (0, Unknown::Outside);
        }
        let Some(index) = newest(hash, limit) else {
            // The ledger has nothing older, so the remaining lines are older than it.
            let why = if limit == 0 { Unknown::BeforeTrace } else { Unknown::Outside };
            return (limit, why);
        };
        let change = &changes[index];
        match (&change.hunks, change.before) {
            // A new file: every line belongs to this change.
            (None, None) => {
                for line in runs.iter().flat_map(|run| run.line..run.line + run.len) {
                    open.answer(line, index, Certainty::Exact);
                }
                return (0, Unknown::Outside);
            }
            (None, Some(_)) => return (index, Unknown::NotLocated(history.id(index))),
            (Some(_), before) => {
                step_back(change, index, open, &mut runs);
                match before {
                    Some(before) if change.positional => hash = before,
                    Some(_) => return (index, Unknown::Outside),
                    // The file was created here, so nothing older can have written the remaining lines.
                    None => return (0, Unknown::BeforeTrace),
                }
            }
        }
        limit = index;
    }
}

/// The changes by what they left.
fn index(changes: &[Change]) -> HashMap<Digest, Vec<usize>> {
    let mut left_by: HashMap<Digest, Vec<usize>> = HashMap::new();
    for (index, change) in changes.iter().enumerate() {
        if let Some(after) = change.after {
            left_by.entry(after).or_default().push(index);
        }
    }
    left_by
}

/// Lines of the file without an answer that stand together also in the version that was reached.
#[derive(Clone, Copy)]
struct Run {
    line: usize,
    place: usize,
    len: usize,
}

/// Gives the lines of a change's hunks to it, and moves all others to where they stood before it.
fn step_back(change: &Change, index: usize, open: &mut Open, runs: &mut Vec<Run>) {
    // From below: then the places above are still those after the change.
    for hunk in change.hunks.iter().flatten().rev() {
        let (start, end) = (hunk.new.start, hunk.new.end);
        let from = runs.partition_point(|run| run.place + run.len <= start);
        let to = runs.partition_point(|run| run.place < end).max(from);
        let mut kept = Vec::new();
        for run in &runs[from..to] {
            let above = start.saturating_sub(run.place).min(run.len);
            let below = (run.place + run.len).saturating_sub(end).min(run.len - above);
            for line in run.line + above..run.line + run.len - below {
                open.answer(line, index, Certainty::Exact);
            }
            kept.push(Run { len: above, ..*run });
            let skipped = run.len - below;
            kept.push(Run { line: run.line + skipped, place: run.place + skipped, len: below });
        }
        kept.retain(|run| run.len > 0);
        runs.splice(from..to, kept);
        if hunk.old.len() != hunk.new.len() {
            let below = runs.partition_point(|run| run.place < end);
            for run in &mut runs[below..] {
                run.place = run.place - hunk.new.len() + hunk.old.len();
            }
        }
    }
}

/// Matches what is left with the older changes, stretch by stretch, the newest first.
fn by_content(changes: &[Change], older: usize, lines: &[&[u8]], open: &mut Open) {
    let mut matcher = Matcher::new(lines, open);
    let mut end = older;
    while end > 0 && !matcher.is_done() {
        let mut start = end - 1;
        while start > 0 && follows(&changes[start - 1], &changes[start]) {
            start -= 1;
        }
        matcher.take(&Stretch::of(&changes[start..end], start), changes, open);
        end = start;
    }
    matcher.finish(open);
}

fn follows(before: &Change, after: &Change) -> bool {
    let located = |change: &Change| change.positional && change.hunks.is_some();
    before.after.is_some() && before.after == after.before && located(before) && located(after)
}
