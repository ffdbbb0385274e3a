//! Finds changes that the trace does not explain.
//!
//! A file is compared with what it was at some commit. If the ledger leads from one to the other by hashes, every
//! change of it is explained. Else each line that differs must have been written by an entry (see
//! [`crate::blame`]) that is not older than the commit's version, as far as the ledger knows that version. Lines
//! that were removed leave only their number; an entry that removed as many explains one such place.

mod revert;

use std::io;

use crate::blame::{History, origins};
use crate::class::Versions;
use crate::entry::{LineRange, ModeChange};
use crate::ledger::Ledger;
use crate::ranges::{Hunk, is_binary, line_hunks, prefixed_hash, segment_hash, split_lines};

pub use revert::revert;

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Created,
    /// It has other content.
    Changed,
    /// It is gone.
    Deleted,
}

impl ChangeKind {
    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Deleted => "deleted",
        }
    }
}

/// An `ungoverned_change`: a place that no entry explains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ungoverned {
    /// From the workspace, with `/`.
    pub path: String,
    /// What happened to the file.
    pub kind: ChangeKind,
    /// The lines of the old version that the change replaced. None for the whole file.
    pub old_range: Option<LineRange>,
    /// The lines of the new version without a known author. None for the whole file.
    pub new_range: Option<LineRange>,
    /// SHA-256 of those lines, or of the whole file.
    pub content_hash: Option<String>,
}

/// Lists what the ledger does not explain, file by file and from top to bottom.
pub fn reconcile(ledger: &Ledger, files: &[Versions<'_>]) -> io::Result<Vec<Ungoverned>> {
    let changed: Vec<&Versions<'_>> = files.iter().filter(|file| file.old != file.new).collect();
    let paths: Vec<&str> = changed.iter().map(|file| file.path).collect();
    let histories = History::read_many(ledger, &paths)?;
    Ok(histories
        .iter()
        .zip(changed)
        .flat_map(|(history, file)| unexplained(history, file))
        .collect())
}

/// The same for one file, whose history was read before.
pub fn unexplained(history: &History, file: &Versions<'_>) -> Vec<Ungoverned> {
    let kind = match (file.old, file.new) {
        (None, _) => ChangeKind::Created,
        (_, None) => ChangeKind::Deleted,
        _ => ChangeKind::Changed,
    };
    let whole = |content: Option<&[u8]>| content.map(prefixed_hash);
    let (old_hash, new_hash) = (whole(file.old), whole(file.new));
    if old_hash == new_hash || history.leads(old_hash.as_deref(), new_hash.as_deref()) {
        return Vec::new();
    }
    let place = |old_range, new_range, content_hash| Ungoverned {
        path: file.path.to_owned(),
        kind,
        old_range,
        new_range,
        content_hash,
    };
    let (old, new) = (file.old.unwrap_or_default(), file.new.unwrap_or_default());
    if kind == ChangeKind::Deleted || is_binary(old) || is_binary(new) {
        return vec![place(None, None, new_hash)];
    }
    let (old_lines, new_lines) = (split_lines(old), split_lines(new));
    let since = history.last_left(old_hash.as_deref());
    let known: Vec<bool> = origins(history, new)
        .iter()
        .map(|origin| origin.as_ref().is_ok_and(|(change, _)| since.is_none_or(|at| *change > at)))
        .collect();
    let mut removals = history.removals(since);
    let mut found = Vec::new();
    let hunks = line_hunks(&old_lines, &new_lines);
    if hunks.is_empty() {
        // An empty file was created.
        return vec![place(None, None, new_hash)];
    }
    for hunk in hunks {
        let old_range = Some(one_based(&hunk.old));
        if hunk.new.is_empty() {
            match removals.iter().position(|removed| *removed == hunk.old.len()) {
                Some(at) => drop(removals.swap_remove(at)),
                None => found.push(place(old_range, Some(one_based(&hunk.new)), None)),
            }
            continue;
        }
        for run in unknown_runs(&hunk, &known) {
            let hash = segment_hash(&new_lines[run.clone()]);
            found.push(place(old_range, Some(one_based(&run)), Some(hash)));
        }
    }
    found
}

/// Those of the changes of permissions that no entry explains: none says that the file became executable, or no longer
/// is.
pub fn unexplained_modes(
    ledger: &Ledger,
    mut changes: Vec<ModeChange>,
) -> io::Result<Vec<ModeChange>> {
    if changes.is_empty() {
        return Ok(changes);
    }
    for line in ledger.read()? {
        let Ok((_, entry)) = line?.entry else { continue };
        for traced in entry.warnings.iter().filter_map(|warning| ModeChange::parse(warning)) {
            let (_, executable) = traced.executable();
            changes.retain(|one| one.path != traced.path || one.executable().1 != executable);
        }
    }
    Ok(changes)
}

/// Lines of a hunk without a known author, in runs.
fn unknown_runs(hunk: &Hunk, known: &[bool]) -> Vec<std::ops::Range<usize>> {
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    for line in hunk.new.clone().filter(|line| !known[*line]) {
        match runs.last_mut() {
            Some(run) if run.end == line => run.end = line + 1,
            _ => runs.push(line..line + 1),
        }
    }
    runs
}

fn one_based(lines: &std::ops::Range<usize>) -> LineRange {
    LineRange { start_line: lines.start as u64 + 1, end_line: lines.end as u64 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::entry::TraceEntry;
    use crate::ranges::modified_ranges;

    fn ledger() -> (tempfile::TempDir, Ledger) {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::of(dir.path()).unwrap();
        (dir, ledger)
    }

    fn agent(ledger: &Ledger, old: Option<&str>, new: Option<&str>) {
        let mut entry = TraceEntry::new();
        entry.modified_ranges =
            modified_ranges("a.rs", old.map(str::as_bytes), new.map(str::as_bytes));
        ledger.append(entry).unwrap();
    }

    fn listed(ledger: &Ledger, old: Option<&str>, new: Option<&str>) -> Vec<Ungoverned> {
        let file =
            Versions { path: "a.rs", old: old.map(str::as_bytes), new: new.map(str::as_bytes) };
        reconcile(ledger, &[file]).unwrap()
    }

    #[test]
    fn traced_changes_are_explained() {
        let (_dir, ledger) = ledger();
        agent(&ledger, Some("a\nb\n"), Some("a\nB\n"));
        agent(&ledger, Some("a\nB\n"), Some("B\n"));
        assert!(listed(&ledger, Some("a\nb\n"), Some("B\n")).is_empty());
        assert!(listed(&ledger, Some("x"), Some("x")).is_empty());
        agent(&ledger, Some("B\n"), None);
        assert!(listed(&ledger, Some("a\nb\n"), None).is_empty());
    }

    #[test]
    fn what_nobody_traced_is_listed() {
        let (_dir, ledger) = ledger();
        let (old, new) = ("a\nb\nc\nd\n", "a\nX\nb\nc\n");
        let all = listed(&ledger, Some(old), Some(new));
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].new_range, Some(LineRange { start_line: 2, end_line: 2 }));
        assert_eq!(all[0].content_hash, Some(prefixed_hash(b"X")));
        assert_eq!(all[1].old_range, Some(LineRange { start_line: 4, end_line: 4 }));
        assert_eq!(listed(&ledger, None, Some("a\n"))[0].kind, ChangeKind::Created);
        assert_eq!(listed(&ledger, Some("a\n"), None)[0].kind, ChangeKind::Deleted);
        assert_eq!(listed(&ledger, Some("a\0"), Some("b\0")).len(), 1);
        assert_eq!(listed(&ledger, None, Some("")).len(), 1);
    }

    #[test]
    fn a_human_among_agents() {
        let (_dir, ledger) = ledger();
        let base = "one\ntwo\nthree\nfour\n";
        agent(&ledger, Some(base), Some("one\ntwo\nagent\nthree\n"));
        let all = listed(&ledger, Some(base), Some("human\none\ntwo\nagent\nthree\n"));
        assert_eq!(all.len(), 1, "{all:?}");
        assert_eq!(all[0].new_range, Some(LineRange { start_line: 1, end_line: 1 }));
        // A second place where one line went is not explained by the one entry.
        let all = listed(&ledger, Some(base), Some("two\nagent\nthree\n"));
        assert_eq!(all.len(), 1, "{all:?}");
    }

    #[test]
    fn what_was_written_before_the_commit_explains_nothing_after_it() {
        let (_dir, ledger) = ledger();
        agent(&ledger, Some("one\n"), Some("one\nagent\n"));
        agent(&ledger, Some("one\nagent\n"), Some("one\n"));
        // At the commit the file is `one` again; then somebody puts the line back by hand.
        let all = listed(&ledger, Some("one\n"), Some("zero\none\nagent\n"));
        assert_eq!(all.len(), 2, "{all:?}");
    }

    #[test]
    fn permissions_are_explained_by_the_entry_that_names_them() {
        let (_dir, ledger) = ledger();
        let change = |path: &str, old, new| ModeChange { path: path.to_owned(), old, new };
        let made = vec![change("a.sh", 0o644, 0o755), change("b.sh", 0o644, 0o755)];
        assert_eq!(unexplained_modes(&ledger, made.clone()).unwrap(), made);
        let mut entry = TraceEntry::new();
        entry.warnings.push(change("a.sh", 0o600, 0o700).to_string());
        ledger.append(entry).unwrap();
        assert_eq!(unexplained_modes(&ledger, made.clone()).unwrap(), made[1..]);
        // The file became executable, so that it no longer is needs another entry.
        let undone = vec![change("a.sh", 0o755, 0o644)];
        assert_eq!(unexplained_modes(&ledger, undone.clone()).unwrap(), undone);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn a_traced_history_leaves_nothing(versions in prop::collection::vec("[ab\n]{0,12}", 2..6)) {
            let (_dir, ledger) = ledger();
            for pair in versions.windows(2) {
                agent(&ledger, Some(&pair[0]), Some(&pair[1]));
            }
            let (first, last) = (&versions[0], &versions[versions.len() - 1]);
            prop_assert_eq!(listed(&ledger, Some(first), Some(last)), Vec::new());
        }
    }
}
