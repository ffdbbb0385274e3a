//! Matches lines by their content.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use similar::DiffOp;

use super::history::{Change, Patch};
use super::slim::Digest;
use super::stretch::{Slot, Stretch};
use super::{Certainty, Open, Unknown};
use crate::alignment::aligned;
use crate::ranges::segment_hash;

/// The time limit for all alignments; after that the result is coarser, never wrong.
const DEADLINE: Duration = Duration::from_millis(150);

/// Bytes hashed in search of segments that came without hashes of their lines.
const SEGMENT_BUDGET: usize = 16 << 20;

/// The lines of the file without an author so far.
pub(super) struct Matcher<'l> {
    lines: &'l [&'l [u8]],
    /// By what they say, from top to bottom.
    places: HashMap<u32, Vec<usize>>,
    /// Lines that some change wrote, and that could not be believed.
    doubtful: HashSet<usize>,
    left: usize,
    deadline: Instant,
    budget: usize,
}

/// A line of the file and the place in the stretch that says the same.
type Pair = (usize, usize);

impl<'l> Matcher<'l> {
    pub(super) fn new(lines: &'l [&'l [u8]], open: &Open) -> Self {
        let mut places: HashMap<u32, Vec<usize>> = HashMap::new();
        for line in &open.left {
            places.entry(open.hashes[*line]).or_default().push(*line);
        }
        Self {
            lines,
            places,
            doubtful: HashSet::new(),
            left: open.left.len(),
            deadline: Instant::now() + DEADLINE,
            budget: SEGMENT_BUDGET,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Says of the lines that are left why.
    pub(super) fn finish(self, open: &mut Open) {
        open.settle();
        for line in self.doubtful {
            // Another reason weighs more: that entry may have written it.
            if open.origins[line] == Err(Unknown::Outside) {
                open.origins[line] = Err(Unknown::Ambiguous);
            }
        }
    }

    /// Gives lines to the changes of a stretch.
    pub(super) fn take(&mut self, stretch: &Stretch, changes: &[Change], open: &mut Open) {
        let mut written: HashMap<u32, usize> = HashMap::new();
        for hash in stretch.slots.iter().filter_map(|slot| slot.hash) {
            if self.places.contains_key(&hash) {
                *written.entry(hash).or_default() += 1;
            }
        }
        if !written.is_empty() {
            let mut used = HashSet::new();
            let pairs = self.single(stretch, open);
            self.believe(&pairs, stretch, &mut written, &mut used, open);
            let pairs = self.align(stretch, &written, &used);
            self.believe(&pairs, stretch, &mut written, &mut used, open);
        }
        self.segments(stretch, changes, open);
    }

    /// Pairs of what is then left, in the order of both.
    fn align(
        &self,
        stretch: &Stretch,
        written: &HashMap<u32, usize>,
        used: &HashSet<usize>,
    ) -> Vec<Pair> {
        let mut ours: Vec<(usize, u32)> = Vec::new();
        for hash in written.keys() {
            ours.extend(self.places.get(hash).into_iter().flatten().map(|line| (*line, *hash)));
        }
        ours.sort_unstable();
        let theirs: Vec<(usize, u32)> = stretch
            .slots
            .iter()
            .enumerate()
            .filter(|(at, _)| !used.contains(at))
            .filter_map(|(at, slot)| {
                Some((at, slot.hash.filter(|hash| written.contains_key(hash))?))
            })
            .collect();
        let hashes = |side: &[(usize, u32)]| side.iter().map(|(_, hash)| *hash).collect::<Vec<_>>();
        let mut pairs = Vec::new();
        for op in aligned(&hashes(&ours), &hashes(&theirs), self.deadline) {
            if let DiffOp::Equal { old_index, new_index, len } = op {
                let equal = ours[old_index..old_index + len].iter();
                let same = theirs[new_index..new_index + len].iter();
                pairs.extend(equal.zip(same).map(|((line, _), (at, _))| (*line, *at)));
            }
        }
        pairs
    }

    /// Pairs of lines that exist once on either side, in any order, for text may have been moved.
    /// Neighbours that say the same are taken along.
    fn single(&self, stretch: &Stretch, open: &Open) -> Vec<Pair> {
        let mut once: HashMap<u32, Option<usize>> = HashMap::new();
        for (at, slot) in stretch.slots.iter().enumerate() {
            if let Some(hash) = slot.hash.filter(|hash| self.places.contains_key(hash)) {
                once.entry(hash).and_modify(|place| *place = None).or_insert(Some(at));
            }
        }
        let mut pairs: Vec<Pair> = Vec::new();
        for (hash, at) in once {
            let (Some(at), Some([line])) = (at, self.places.get(&hash).map(Vec::as_slice)) else {
                continue;
            };
            let same = |line: usize, at: usize| {
                open.origins.get(line).is_some_and(Result::is_err)
                    && stretch
                        .slots
                        .get(at)
                        .is_some_and(|slot| slot.hash == Some(open.hashes[line]))
            };
            let up = (1..=(*line).min(at)).take_while(|n| same(line - n, at - n)).count();
            let down = (1..).take_while(|n| same(line + n, at + n)).count();
            pairs.extend((0..=up + down).map(|n| (line - up + n, at - up + n)));
        }
        pairs.sort_unstable();
        pairs.dedup_by_key(|(line, _)| *line);
        pairs
    }

    /// Accepts runs of pairs that hold at least one line of which the file has no more than the stretch wrote.
    fn believe(
        &mut self,
        pairs: &[Pair],
        stretch: &Stretch,
        written: &mut HashMap<u32, usize>,
        used: &mut HashSet<usize>,
        open: &mut Open,
    ) {
        let next = |one: &Pair, two: &Pair| two.0 == one.0 + 1 && two.1 == one.1 + 1;
        // First judged, then given: a line that is given away must not make its twin believable.
        let mut given: Vec<Pair> = Vec::new();
        for run in pairs.chunk_by(next) {
            let sure = run.iter().any(|(line, _)| {
                let hash = open.hashes[*line];
                let here = self.places.get(&hash).map_or(0, Vec::len);
                here <= written.get(&hash).copied().unwrap_or(0)
            });
            if sure {
                given.extend(run);
            } else {
                // Which of the lines that are alike is meant cannot be told.
                let alike = run.iter().filter_map(|(line, _)| self.places.get(&open.hashes[*line]));
                self.doubtful.extend(alike.flatten());
            }
        }
        for (line, at) in given {
            if let Some(change) = stretch.slots.get(at).and_then(|slot| slot.change)
                && used.insert(at)
            {
                self.answer(line, change, open);
                written.entry(open.hashes[line]).and_modify(|count| *count -= 1);
            }
        }
    }

    fn answer(&mut self, line: usize, change: usize, open: &mut Open) {
        if open.origins[line].is_err() {
            open.answer(line, change, Certainty::Content);
            self.left -= 1;
            let hash = open.hashes[line];
            if let Some(places) = self.places.get_mut(&hash) {
                places.retain(|other| *other != line);
                if places.is_empty() {
                    self.places.remove(&hash);
                }
            }
        }
    }

    /// Finds segments that came without hashes of their lines by the hash of the whole.
    fn segments(&mut self, stretch: &Stretch, changes: &[Change], open: &mut Open) {
        let same_hunk = |one: &Slot, two: &Slot| {
            one.change == two.change && one.hunk == two.hunk && two.offset == one.offset + 1
        };
        let mut found = Vec::new();
        let mut at = 0;
        for run in stretch.slots.chunk_by(same_hunk) {
            let place = stretch.top + at;
            at += run.len();
            let Some(change) = run[0].change.filter(|_| run[0].hash.is_none()) else { continue };
            let hunk = changes
                .get(change)
                .and_then(|change| change.hunks.as_ref()?.get(run[0].hunk))
                .filter(|hunk| hunk.new.len() == run.len());
            if let Some(line) = hunk.and_then(|hunk| self.segment(hunk, place, open)) {
                found.push((line..line + run.len(), change));
            }
        }
        for (lines, change) in found {
            for line in lines {
                self.answer(line, change, open);
            }
        }
    }

    /// The line at which a segment stands: where it was, or wherever its hash fits.
    fn segment(&mut self, hunk: &Patch, place: usize, open: &Open) -> Option<usize> {
        let wanted = hunk.content_hash?;
        let count = hunk.new.len();
        let last = self.lines.len().checked_sub(count)?;
        let near = [place, hunk.new.start].into_iter().filter(|line| *line <= last);
        for line in near.chain(0..=last) {
            let segment = &self.lines[line..line + count];
            if !(line..line + count).all(|line| open.origins[line].is_err()) {
                continue;
            }
            let size: usize = segment.iter().map(|line| line.len()).sum();
            self.budget = self.budget.checked_sub(size)?;
            if Digest::of(&segment_hash(segment)) == wanted {
                return Some(line);
            }
        }
        None
    }
}
