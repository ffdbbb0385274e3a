//! The changes of one file, oldest first.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::scan::scan;
use super::slim::{Digest, Slim};
use crate::entry::{TraceEntry, parse_line};
use crate::ledger::Ledger;

/// Names that are followed back.
const MAX_NAMES: usize = 16;

/// What the ledger says about one file.
#[derive(Debug, Default)]
pub struct History {
    pub(super) changes: Vec<Change>,
    /// The ledger. It is only appended to, so that places in it stay.
    ledger: Option<Arc<File>>,
}

/// One entry, as far as it concerns the file.
#[derive(Debug)]
pub(super) struct Change {
    /// Where its line is in the ledger, and how long: read again only for entries that own a line.
    pub(super) at: (u64, usize),
    pub(super) before: Option<Digest>,
    pub(super) after: Option<Digest>,
    /// None: it does not say where.
    pub(super) hunks: Option<Vec<Patch>>,
    /// The old sides are there and the new sides follow from them.
    pub(super) positional: bool,
}

/// One hunk. Lines are counted from 0.
#[derive(Debug)]
pub(super) struct Patch {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
    /// [`crate::ranges::line_hash`] of the new lines.
    pub(super) lines: Option<Vec<u32>>,
    pub(super) content_hash: Option<Digest>,
}

impl History {
    /// Reads the changes of a file under its name and its earlier names.
    pub fn read(ledger: &Ledger, path: &str, earlier_names: &[String]) -> io::Result<Self> {
        let file = ledger.open_to_read()?.map(Arc::new);
        let mut names = vec![path.to_owned()];
        names.extend(earlier_names.iter().filter(|name| *name != path).cloned());
        names.truncate(MAX_NAMES);
        loop {
            let found = scan(ledger, &names, |(line, at)| {
                let Some(slim) = Slim::read(line) else { return Vec::new() };
                let ours = slim.files().into_iter().filter(|path| names.iter().any(|n| n == path));
                ours.map(|path| {
                    let previous = slim.previous_path(path).map(str::to_owned);
                    (slim.change(path, (at, line.len())), previous)
                })
                .collect()
            })?;
            let known = names.len();
            let mut history = Self { changes: Vec::new(), ledger: file.clone() };
            for (change, previous) in found {
                history.changes.push(change);
                names.extend(previous.filter(|name| !names.contains(name)));
            }
            names.truncate(MAX_NAMES);
            // A name that was not looked for before: its entries stand further up.
            if names.len() == known {
                return Ok(history);
            }
        }
    }

    /// Reads the changes of many files in one go, each named once. Earlier names are not followed.
    pub fn read_many(ledger: &Ledger, paths: &[&str]) -> io::Result<Vec<Self>> {
        let file = ledger.open_to_read()?.map(Arc::new);
        let new = |_: &&str| Self { changes: Vec::new(), ledger: file.clone() };
        let mut histories: Vec<Self> = paths.iter().map(new).collect();
        if paths.is_empty() {
            return Ok(histories);
        }
        let places: HashMap<&str, usize> =
            paths.iter().enumerate().map(|(at, path)| (*path, at)).collect();
        let names: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let found = scan(ledger, &names, |(line, at)| {
            let Some(slim) = Slim::read(line) else { return Vec::new() };
            let ours = slim.files().into_iter();
            ours.filter_map(|path| Some((*places.get(path)?, slim.change(path, (at, line.len())))))
                .collect()
        })?;
        for (at, change) in found {
            histories[at].changes.push(change);
        }
        Ok(histories)
    }

    /// Whether changes lead from one version to another by their hashes. None: there is no file.
    pub(crate) fn leads(&self, old: Option<&str>, new: Option<&str>) -> bool {
        let (old, mut hash) = (old.map(Digest::of), new.map(Digest::of));
        let mut limit = self.changes.len();
        while let Some(index) =
            self.changes[..limit].iter().rposition(|change| change.after == hash)
        {
            hash = self.changes[index].before;
            if hash == old {
                return true;
            }
            limit = index;
        }
        false
    }

    /// The last change that left this content.
    pub(crate) fn last_left(&self, hash: Option<&str>) -> Option<usize> {
        let hash = Digest::of(hash?);
        self.changes.iter().rposition(|change| change.after == Some(hash))
    }

    /// How many lines each hunk took out that put nothing in their place, in changes after `since`.
    pub(crate) fn removals(&self, since: Option<usize>) -> Vec<usize> {
        let from = since.map_or(0, |at| at + 1);
        let hunks = self.changes[from..].iter().flat_map(|change| change.hunks.iter().flatten());
        hunks.filter(|hunk| hunk.new.is_empty()).map(|hunk| hunk.old.len()).collect()
    }

    /// The whole entry of a change.
    pub(super) fn entry(&self, change: usize) -> TraceEntry {
        self.changes.get(change).and_then(|change| self.line(change)).unwrap_or_default()
    }

    fn line(&self, change: &Change) -> Option<TraceEntry> {
        let mut line = vec![0; change.at.1];
        self.ledger.as_ref()?.read_exact_at(&mut line, change.at.0).ok()?;
        Some(parse_line(&line).ok()?.1)
    }

    pub(super) fn id(&self, change: usize) -> String {
        self.entry(change).id
    }
}
