//! Finding entries of the ledger.

use std::collections::{HashSet, VecDeque};
use std::io;

use ona_files::jsonl::Backward;
use regex::bytes::Regex;

use super::Ledger;
use crate::entry::{Dialect, TraceEntry, parse_line};

/// Entries that were read, the oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entries {
    /// The entries.
    pub entries: Vec<TraceEntry>,
    /// The number of bad lines among those that were read.
    pub bad: usize,
}

/// Which entries are wanted. Without a field, all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter<'a> {
    /// Those of this intent.
    pub intent: Option<&'a str>,
    /// Those that changed this file.
    pub file: Option<&'a str>,
    /// Those of sessions whose id starts with this.
    pub session: Option<&'a str>,
}

impl Filter<'_> {
    /// Whether an entry is wanted.
    pub fn matches(&self, entry: &TraceEntry) -> bool {
        let session = entry.session_id.as_deref().unwrap_or_default();
        self.intent.is_none_or(|id| entry.intent_id.as_deref() == Some(id))
            && self.session.is_none_or(|beginning| session.starts_with(beginning))
            && self.file.is_none_or(|file| entry.files().contains(&file))
    }
}

/// An entry that was looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lookup<'e> {
    /// This one.
    One(&'e TraceEntry),
    /// Several match; these are the first two.
    Ambiguous(&'e TraceEntry, &'e TraceEntry),
    /// No entry matches.
    None,
}

impl Entries {
    /// The entry with this number (`41` or `#41`) or id, else the one whose id starts with the word. A number may be
    /// ambiguous: merged branches have counted on alike.
    pub fn lookup(&self, word: &str) -> Lookup<'_> {
        let number: Option<u64> = word.trim_start_matches('#').parse().ok();
        let exact =
            |entry: &&TraceEntry| entry.id == word || number.is_some() && entry.seq == number;
        let mut found: Vec<&TraceEntry> = self.entries.iter().filter(exact).collect();
        if found.is_empty() && !word.is_empty() {
            found = self.entries.iter().filter(|entry| entry.id.starts_with(word)).collect();
        }
        match found[..] {
            [] => Lookup::None,
            [entry] => Lookup::One(entry),
            [one, other, ..] => Lookup::Ambiguous(one, other),
        }
    }
}

impl Ledger {
    /// All entries.
    pub fn entries(&self) -> io::Result<Entries> {
        self.last(&Filter::default(), usize::MAX)
    }

    /// The last `limit` entries that a filter matches. Reads the whole ledger, so that every bad line is counted.
    pub fn last(&self, filter: &Filter<'_>, limit: usize) -> io::Result<Entries> {
        let (mut last, mut bad) = (VecDeque::new(), 0);
        for line in self.read()? {
            match line?.entry {
                Ok((_, entry)) if filter.matches(&entry) => {
                    last.push_back(entry);
                    if last.len() > limit {
                        last.pop_front();
                    }
                }
                Ok(_) => {}
                Err(_) => bad += 1,
            }
        }
        Ok(Entries { entries: last.into(), bad })
    }

    /// The last `limit` entries, of one intent or of all. Reads from the end, no further than it must. Lines of other
    /// intents are not parsed, so not every bad line is counted.
    pub fn recent(&self, intent: Option<&str>, limit: usize) -> io::Result<Entries> {
        let mut recent = Entries::default();
        let Some(file) = self.open_to_read()? else { return Ok(recent) };
        // Lines without the id need no parsing. An id that JSON may escape cannot be searched for.
        let plain =
            |id: &&str| id.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c));
        let needle = intent.filter(plain).and_then(|id| Regex::new(&regex::escape(id)).ok());
        let filter = Filter { intent, ..Filter::default() };
        let mut lines = Backward::new(&file)?;
        while recent.entries.len() < limit
            && let Some((line, _)) = lines.next_line()?
        {
            if line.is_empty() {
                continue;
            }
            if needle.as_ref().is_some_and(|needle| !needle.is_match(&line)) {
                let whole = line.first() == Some(&b'{') && line.last() == Some(&b'}');
                recent.bad += usize::from(!whole);
                continue;
            }
            match parse_line(&line) {
                Ok((_, entry)) if filter.matches(&entry) => recent.entries.push(entry),
                Ok(_) => {}
                Err(_) => recent.bad += 1,
            }
        }
        recent.entries.reverse();
        Ok(recent)
    }

    /// Which of these hashes no entry has.
    pub fn lacks<'h>(&self, hashes: impl Iterator<Item = &'h str>) -> io::Result<HashSet<&'h str>> {
        let mut present = HashSet::new();
        for line in self.read()? {
            // Only in ona's own lines the hash is checked.
            if let Ok((Dialect::Ona, entry)) = line?.entry {
                present.extend(entry.entry_hash);
            }
        }
        Ok(hashes.filter(|hash| !present.contains(*hash)).collect())
    }

    /// The entry with this id.
    pub fn find(&self, id: &str) -> io::Result<Option<TraceEntry>> {
        for line in self.read()? {
            if let Ok((_, entry)) = line?.entry
                && entry.id == id
            {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::entry::FileChange;

    fn entry(id: &str, seq: u64) -> TraceEntry {
        TraceEntry { id: id.to_owned(), seq: Some(seq), ..TraceEntry::new() }
    }

    #[test]
    fn an_entry_is_found_by_its_number_or_its_id() {
        let all = Entries { entries: vec![entry("ab", 1), entry("abc", 2), entry("b", 2)], bad: 0 };
        let id = |word: &str| match all.lookup(word) {
            Lookup::One(entry) => entry.id.clone(),
            Lookup::Ambiguous(one, other) => format!("{} or {}", one.id, other.id),
            Lookup::None => String::new(),
        };
        for (word, found) in [
            ("1", "ab"),
            ("#1", "ab"),
            ("2", "abc or b"),
            ("ab", "ab"),
            ("a", "ab or abc"),
            ("abc", "abc"),
            ("x", ""),
            ("", ""),
        ] {
            assert_eq!(id(word), found, "{word}");
        }
    }

    #[test]
    fn the_last_entries_that_match_and_all_bad_lines() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::of(dir.path()).unwrap();
        assert_eq!(ledger.entries().unwrap(), Entries::default());
        for (intent, session, path) in [
            ("INT-1", "s-1", "a.rs"),
            ("INT-2", "s-1", "a.rs"),
            ("INT-1", "s-2", "b.rs"),
            ("INT-1", "t", "a.rs"),
        ] {
            let entry = TraceEntry {
                intent_id: Some(intent.to_owned()),
                session_id: Some(session.to_owned()),
                file: Some(FileChange { relative_path: path.to_owned(), ..Default::default() }),
                ..TraceEntry::new()
            };
            ledger.append(entry).unwrap();
        }
        let text = fs::read_to_string(ledger.path()).unwrap();
        fs::write(ledger.path(), format!("damaged\n{text}")).unwrap();
        let numbers = |filter: Filter<'_>, limit| -> (Vec<u64>, usize) {
            let found = ledger.last(&filter, limit).unwrap();
            (found.entries.iter().filter_map(|entry| entry.seq).collect(), found.bad)
        };
        let all = Filter::default();
        assert_eq!(numbers(all, 2), (vec![3, 4], 1));
        assert_eq!(numbers(Filter { intent: Some("INT-1"), ..all }, 9), (vec![1, 3, 4], 1));
        assert_eq!(numbers(Filter { session: Some("s-"), ..all }, 9), (vec![1, 2, 3], 1));
        let both = Filter { intent: Some("INT-1"), file: Some("a.rs"), ..all };
        assert_eq!(numbers(both, 1), (vec![4], 1));
        let hash = ledger.entries().unwrap().entries[1].entry_hash.clone().unwrap();
        let wanted = ["sha256:0", &hash, "sha256:1"];
        assert_eq!(ledger.lacks(wanted.into_iter()).unwrap(), ["sha256:0", "sha256:1"].into());
    }
}
