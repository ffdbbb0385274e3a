//! Verifies the hash chain of the ledger.
//!
//! A line is good when its hash is that of its content, the line it names as the one before it stands before it,
//! its number is the next, and it does not repeat a line. Two branches of a repository may both have added lines; after a merge of the two
//! files some line then names one further up than its neighbour, or none at all where both began a trace. That is
//! a fork, which is counted but not bad: nothing was changed or removed.

use std::collections::{HashMap, HashSet};
use std::io;

use ona_files::jsonl::{Forward, RawLine};
use ona_types::canonical::{self, CanonicalError};
use serde_json::Value;

use super::read::reader;
use super::repeated_keys::repeats_a_key;
use super::{Ledger, entry_hash, torn_hash};
use crate::entry::{Dialect, dialect_of};

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Counted from 1.
    pub line: u64,
    /// What is wrong.
    pub why: String,
}

/// What the walk found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Lines of ona's.
    pub entries: u64,
    /// Lines of other writers: outside the chain.
    pub foreign: u64,
    /// Torn lines that a later writer noted.
    pub torn: u64,
    /// Lines that do not name the line before, but one further up or none: branches that were merged.
    pub forks: Vec<u64>,
    /// Of these, the ones that name no line at all: a branch began its own trace before it was merged.
    pub roots: Vec<u64>,
    /// The last line has no end: a writer was killed, and the next one will note it.
    pub torn_tail: bool,
    /// How many lines are bad.
    pub bad: u64,
    /// The first of them.
    pub first_bad: Option<Finding>,
    /// The hash of the last line of ona's. A copy of it elsewhere also shows whether the end was cut off.
    pub head: Option<String>,
}

impl Verification {
    /// Whether every line of the chain is as it was written. An entry that is missing may be on another branch.
    pub fn is_clean(&self) -> bool {
        self.first_bad.is_none()
    }
}

impl Ledger {
    /// Walks the whole chain.
    pub fn verify(&self) -> io::Result<Verification> {
        let mut walk = Walk::default();
        if let Some(file) = self.open_to_read()? {
            let mut lines = Forward::new(reader(file));
            while let Some(line) = lines.next_line()? {
                walk.line(&line);
            }
        }
        Ok(walk.end())
    }
}

/// Why an entry is bad.
#[derive(Debug, thiserror::Error)]
enum BadEntry {
    #[error("it has no seq")]
    NoSeq,
    #[error("it has no entry_hash")]
    NoHash,
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    #[error("its entry_hash does not match its content, whose hash is {0}")]
    WrongHash(String),
    #[error("a key stands twice in it")]
    RepeatedKey,
    #[error("it repeats an earlier line")]
    Repeated,
    #[error("the previous line that it names is missing: {0}")]
    NoPrevious(String),
    #[error("its seq is {seq}; expected {expected}")]
    WrongSeq { seq: u64, expected: u64 },
}

#[derive(Default)]
struct Walk {
    found: Verification,
    /// Every hash so far, with its number.
    known: HashMap<String, u64>,
    /// Fragments that no entry has noted yet: line, hash, why it is bad.
    fragments: Vec<(u64, String, String)>,
    /// The content of every line of other writers so far.
    foreign: HashSet<String>,
    /// The line of the last entry of ona's.
    last_entry: u64,
}

impl Walk {
    fn line(&mut self, line: &RawLine) {
        self.found.torn_tail = !line.ended;
        if line.bytes.is_empty() && !line.too_long {
            return;
        }
        let parsed = serde_json::from_slice::<Value>(&line.bytes);
        let (mut value, dialect) = match parsed {
            Ok(value) => {
                let dialect = value.as_object().and_then(dialect_of);
                (value, dialect)
            }
            Err(error) => {
                let why = format!("invalid JSON: {error}");
                self.fragments.push((line.number, torn_hash(&line.bytes), why));
                return;
            }
        };
        match dialect {
            Some(Dialect::Ona) => {
                if repeats_a_key(&line.bytes, &value) {
                    self.bad(line.number, BadEntry::RepeatedKey.to_string());
                }
                if let Err(why) = self.entry(&mut value, line.number) {
                    self.bad(line.number, why.to_string());
                }
            }
            Some(_) => {
                self.found.foreign += 1;
                if let Ok(content) = canonical::hash(&value)
                    && !self.foreign.insert(content.to_string())
                {
                    self.bad(line.number, BadEntry::Repeated.to_string());
                }
            }
            None => self.bad(line.number, "it is JSON, but not a trace record".to_owned()),
        }
    }

    fn entry(&mut self, value: &mut Value, number: u64) -> Result<(), BadEntry> {
        self.found.entries += 1;
        self.last_entry = number;
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let (claimed, prev) = (text("entry_hash"), text("prev_hash"));
        let seq = value.get("seq").and_then(Value::as_u64).ok_or(BadEntry::NoSeq)?;
        self.note_torn(value);
        let claimed = claimed.ok_or(BadEntry::NoHash)?;
        let first = self.known.is_empty();
        let before = prev.as_ref().and_then(|prev| self.known.get(prev)).copied();
        let fork = !first && prev != self.found.head;
        let root = prev.is_none();
        // Known from here on, even if it is bad: later lines are not to blame.
        let again = self.known.insert(claimed.clone(), seq).is_some();
        self.found.head = Some(claimed.clone());
        let hash = entry_hash(value)?;
        if hash != claimed {
            return Err(BadEntry::WrongHash(hash));
        }
        // A copy is neither a fork nor the start of a second chain.
        if again {
            return Err(BadEntry::Repeated);
        }
        let expected = match (before, prev) {
            (Some(before), _) => before + 1,
            (None, None) => 1,
            (None, Some(prev)) => return Err(BadEntry::NoPrevious(prev)),
        };
        if seq != expected {
            return Err(BadEntry::WrongSeq { seq, expected });
        }
        if fork {
            self.found.forks.push(number);
            if root {
                self.found.roots.push(number);
            }
        }
        Ok(())
    }

    fn note_torn(&mut self, value: &Value) {
        for noted in value.get("repaired").and_then(Value::as_array).into_iter().flatten() {
            let noted = noted.as_str().unwrap_or_default();
            if let Some(at) = self.fragments.iter().position(|(_, hash, _)| hash == noted) {
                self.fragments.remove(at);
                self.found.torn += 1;
            }
        }
    }

    fn bad(&mut self, line: u64, why: String) {
        self.found.bad += 1;
        if self.found.first_bad.as_ref().is_none_or(|first| line < first.line) {
            self.found.first_bad = Some(Finding { line, why });
        }
    }

    fn end(mut self) -> Verification {
        for (line, _, why) in std::mem::take(&mut self.fragments) {
            // After the last entry, where the last line is unfinished: writers were killed, and the next one
            // will note their lines.
            if !self.found.torn_tail || line < self.last_entry {
                self.bad(line, why);
            }
        }
        self.found
    }
}
