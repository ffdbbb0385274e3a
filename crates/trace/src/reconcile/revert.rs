//! A file without its unexplained changes.
//!
//! Where an agent and a human both changed a file since the commit, the entry about the human's part must not claim
//! the agent's. So its "before" is the file as it is now, with only the unexplained places as they were at the commit.
//! Where everything else is traced, that is exactly the version that the last entry left.

use super::Ungoverned;
use crate::class::Versions;
use crate::ranges::{Hunk, hunks, is_binary, split_lines};

/// The new version of a file with the unexplained places as they were in the old one. None if the file did not exist.
pub fn revert(file: &Versions<'_>, places: &[&Ungoverned]) -> Option<Vec<u8>> {
    let whole = || file.old.map(<[u8]>::to_vec);
    let (old, new) = match (file.old, file.new) {
        (old, Some(new)) => (old.unwrap_or_default(), new),
        (_, None) => return whole(),
    };
    if is_binary(old) || is_binary(new) || places.iter().any(|place| place.new_range.is_none()) {
        return whole();
    }
    let (old_lines, new_lines) = (split_lines(old), split_lines(new));
    let mut built: Vec<u8> = Vec::new();
    let mut at = 0;
    for hunk in hunks(old, new) {
        built.extend(new_lines[at..hunk.new.start].concat());
        at = hunk.new.end;
        let unknown = unknown_lines(&hunk, places);
        // Old lines come back only where the whole hunk is unexplained; elsewhere unexplained lines are left out.
        if unknown.iter().all(|unknown| *unknown)
            && (!unknown.is_empty() || is_unexplained_removal(&hunk, places))
        {
            built.extend(old_lines[hunk.old.clone()].concat());
            continue;
        }
        for (line, _) in hunk.new.clone().zip(&unknown).filter(|(_, unknown)| !**unknown) {
            built.extend(new_lines[line]);
        }
    }
    built.extend(new_lines[at..].concat());
    // A new file of which nothing is left did not exist before.
    if file.old.is_none() && built.is_empty() { None } else { Some(built) }
}

/// For each new line of a hunk, whether its author is unknown.
fn unknown_lines(hunk: &Hunk, places: &[&Ungoverned]) -> Vec<bool> {
    let is_unknown = |line: usize| {
        let line = line as u64 + 1;
        places
            .iter()
            .filter_map(|place| place.new_range)
            .any(|range| (range.start_line..=range.end_line).contains(&line))
    };
    hunk.new.clone().map(is_unknown).collect()
}

/// Whether a hunk only removes lines, and is one of the places.
fn is_unexplained_removal(hunk: &Hunk, places: &[&Ungoverned]) -> bool {
    hunk.new.is_empty()
        && places.iter().any(|place| {
            place.new_range.is_some_and(|range| {
                range.is_empty() && range.start_line == hunk.new.start as u64 + 1
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{LineRange, TraceEntry};
    use crate::ledger::Ledger;
    use crate::ranges::modified_ranges;
    use crate::reconcile::{ChangeKind, reconcile};

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
        let before = revert(&file, &places.iter().collect::<Vec<_>>());
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
            // Added below, changed, removed, and beside the agent's own line.
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
            kind: ChangeKind::Created,
            old_range: None,
            new_range,
            content_hash: None,
        };
        let range = LineRange { start_line: 1, end_line: 1 };
        let created = Versions { path: "a", old: None, new: Some(b"x\n") };
        assert_eq!(revert(&created, &[&place(Some(range))]), None);
        let deleted = Versions { path: "a", old: Some(b"x\n"), new: None };
        assert_eq!(revert(&deleted, &[&place(None)]).as_deref(), deleted.old);
    }
}
