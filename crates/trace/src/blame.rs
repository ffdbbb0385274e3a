//! For each line of a file, the entry of the ledger that wrote it.
//!
//! The ledger keeps no content, only hashes: of the whole file before and after a change, of each segment that was
//! added, and 32 bits for every line of it. There are two ways from them to a line.
//!
//! **Exact.** If the file is, byte for byte, what some entry left behind, then that entry's ranges are line
//! numbers of the file as it is. Lines in them are its own; all others are taken back through its hunks to the
//! version before it, which again is what some entry left behind. This continues as long as the hashes join.
//!
//! **By content.** Where they do not join (an edit in between, a merge), the remaining lines are recognised by
//! their content. Entries whose hashes join form a stretch, and at its end it is known
//! where each of its lines stood. Lines that exist once on both sides are paired, with the neighbours that agree;
//! the rest is aligned in order. A match counts if the file does not contain the line more often than the ledger
//! explains, or if it is next to such a line in both: a lone brace proves nothing.
//!
//! Commits, rebases and moves of the file change neither; the file's earlier names are followed where the ledger
//! or the caller knows them. What is left is unknown, and [`Unknown`] says why.

mod history;
mod matching;
mod replay;
mod scan;
mod slim;
mod stretch;

use std::io;
use std::ops::RangeInclusive;

pub use history::History;

use crate::entry::TraceEntry;
use crate::ledger::Ledger;
use crate::ranges::{line_hash, prefixed_hash, split_lines};

/// The input of a blame.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// From the workspace, with `/`.
    pub path: &'a str,
    /// The file as it is.
    pub content: &'a [u8],
    /// Names it had before, as far as git or the caller knows. Names that the ledger knows are found there.
    pub earlier_names: &'a [String],
    /// The commit of each line, as `git blame` gives it. Optional; it is passed on for lines that the
    /// ledger does not explain.
    pub commits: Option<&'a [String]>,
}

/// How sure an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// Every change since is in the ledger.
    Exact,
    /// The line was recognised by its content.
    Content,
}

impl Certainty {
    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Content => "content",
        }
    }
}

/// Why the author of a line is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// No entry mentions the file.
    NeverTraced,
    /// The line was there before the first entry.
    BeforeTrace,
    /// No entry wrote such a line: it was changed outside the trace.
    Outside,
    /// Entries wrote such a line, but the file contains it more often than they wrote it.
    Ambiguous,
    /// The entry with this id changed the file, but does not say where, and the line may be its own.
    NotLocated(String),
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NeverTraced => f.write_str("no trace entry mentions this file"),
            Self::BeforeTrace => f.write_str("it was there before the first trace entry"),
            Self::Outside => f.write_str("no trace entry wrote it"),
            Self::Ambiguous => {
                f.write_str("the file contains this line more often than the trace explains")
            }
            Self::NotLocated(id) => {
                write!(f, "entry {id} changed the file, but does not say where")
            }
        }
    }
}

/// Who wrote a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// An entry: its place in [`Blame::entries`].
    Entry(usize, Certainty),
    /// Unknown to the ledger.
    Unknown(Unknown),
}

/// One line of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlamedLine {
    /// Counted from 1.
    pub line: u64,
    /// Who wrote it.
    pub origin: Origin,
    /// The commit it came with, where the caller gave one.
    pub commit: Option<String>,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blame {
    /// One for every line asked about.
    pub lines: Vec<BlamedLine>,
    /// The entries that wrote them, in the order of the ledger.
    pub entries: Vec<TraceEntry>,
}

/// Neighbouring lines of one origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'b> {
    /// Who wrote them.
    pub origin: &'b Origin,
    /// The commit they came with, where the ledger does not know them.
    pub commit: Option<&'b str>,
    /// The first line, counted from 1.
    pub start_line: u64,
    /// The last line.
    pub end_line: u64,
}

impl Blame {
    /// Keeps only the answers about these lines, counted from 1.
    pub fn keep(&mut self, lines: RangeInclusive<u64>) {
        self.lines.retain(|line| lines.contains(&line.line));
    }

    /// The lines in blocks of one origin. Lines that the ledger does not know are in one block only if they came with
    /// one commit.
    pub fn blocks(&self) -> Vec<Block<'_>> {
        let same = |one: &BlamedLine, other: &BlamedLine| match &one.origin {
            Origin::Unknown(_) => one.origin == other.origin && one.commit == other.commit,
            Origin::Entry(..) => one.origin == other.origin,
        };
        let runs = self.lines.chunk_by(same);
        runs.filter_map(|run| {
            let (first, last) = (run.first()?, run.last()?);
            let is_unknown = matches!(first.origin, Origin::Unknown(_));
            let commit = first.commit.as_deref().filter(|_| is_unknown);
            let (start_line, end_line) = (first.line, last.line);
            Some(Block { origin: &first.origin, commit, start_line, end_line })
        })
        .collect()
    }

    /// The entry that wrote a line of the answer.
    pub fn entry(&self, line: &BlamedLine) -> Option<&TraceEntry> {
        match line.origin {
            Origin::Entry(index, _) => self.entries.get(index),
            Origin::Unknown(_) => None,
        }
    }
}

/// Blames a file, reading the ledger once for each name the file had.
pub fn blame(ledger: &Ledger, target: &Target<'_>) -> io::Result<Blame> {
    let history = History::read(ledger, target.path, target.earlier_names)?;
    Ok(blame_with(&history, target))
}

/// The same with a history that was read before.
pub fn blame_with(history: &History, target: &Target<'_>) -> Blame {
    let origins = origins(history, target.content);
    let mut owners: Vec<usize> =
        origins.iter().filter_map(|origin| origin.as_ref().ok().map(|(owner, _)| *owner)).collect();
    owners.sort_unstable();
    owners.dedup();
    let named = origins.into_iter().enumerate().map(|(at, origin)| BlamedLine {
        line: at as u64 + 1,
        origin: match origin {
            Ok((owner, certainty)) => {
                Origin::Entry(owners.partition_point(|other| *other < owner), certainty)
            }
            Err(unknown) => Origin::Unknown(unknown),
        },
        commit: target.commits.and_then(|commits| commits.get(at)).cloned(),
    });
    Blame {
        lines: named.collect(),
        entries: owners.iter().map(|owner| history.entry(*owner)).collect(),
    }
}

/// For each line the number of the change that wrote it.
pub(crate) fn origins(
    history: &History,
    content: &[u8],
) -> Vec<Result<(usize, Certainty), Unknown>> {
    let lines = split_lines(content);
    let mut open = Open::new(&lines);
    replay::run(history, &prefixed_hash(content), &lines, &mut open);
    open.origins
}

/// The lines of the file, and who is known to have written them.
struct Open {
    /// A change of the history, or why there is none.
    origins: Vec<Result<(usize, Certainty), Unknown>>,
    /// Lines without an answer, from top to bottom.
    left: Vec<usize>,
    /// [`line_hash`] of every line.
    hashes: Vec<u32>,
}

impl Open {
    fn new(lines: &[&[u8]]) -> Self {
        Self {
            origins: vec![Err(Unknown::Outside); lines.len()],
            left: (0..lines.len()).collect(),
            hashes: lines.iter().map(|line| line_hash(line)).collect(),
        }
    }

    fn answer(&mut self, line: usize, change: usize, certainty: Certainty) {
        self.origins[line] = Ok((change, certainty));
    }

    /// Forgets the lines that have an answer.
    fn settle(&mut self) {
        let origins = &self.origins;
        self.left.retain(|line| origins[*line].is_err());
    }

    /// Gives the reason for the lines that have no answer.
    fn give_up(&mut self, why: &Unknown) {
        for line in &self.left {
            self.origins[*line] = Err(why.clone());
        }
    }
}

#[cfg(test)]
mod tests;
