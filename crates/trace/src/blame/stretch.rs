//! The lines that a stretch of changes left, as far as they are known.

use super::history::Change;

/// A line at the end of a stretch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    /// The change that wrote it; none if it was there before.
    pub(super) change: Option<usize>,
    /// What it says, where the change kept it.
    pub(super) hash: Option<u32>,
    /// Which hunk of the change, and which line of it.
    pub(super) hunk: usize,
    pub(super) offset: usize,
}

/// The file at the end of a stretch. Its end may be missing: lines below all changes are not known.
#[derive(Debug, Default)]
pub(super) struct Stretch {
    pub(super) slots: Vec<Slot>,
    /// The line of the file that the first slot stands for: nothing above it was touched.
    pub(super) top: usize,
}

/// More lines than this are not laid out: a range in a damaged ledger may claim any number.
const MAX_LINES: usize = 2_000_000;

impl Stretch {
    /// Lays out changes that join, oldest first. `first` is the number of the first of them.
    pub(super) fn of(changes: &[Change], first: usize) -> Self {
        let positional = changes.iter().filter(|change| change.positional);
        let starts = positional.flat_map(|change| change.hunks.iter().flatten());
        let top = starts.map(|hunk| hunk.old.start).min().unwrap_or(0);
        let mut stretch = Self { slots: Vec::new(), top };
        for (index, change) in changes.iter().enumerate() {
            stretch.apply(change, first + index);
        }
        stretch
    }

    fn apply(&mut self, change: &Change, index: usize) {
        if change.before.is_none() {
            self.slots.clear();
        }
        // From below, so that places further up stay.
        let hunks = change.hunks.as_deref().unwrap_or_default();
        for (number, hunk) in hunks.iter().enumerate().rev() {
            let old = if change.positional {
                hunk.old.start - self.top..hunk.old.end - self.top
            } else {
                self.end()
            };
            if old.end > MAX_LINES || hunk.new.len() > MAX_LINES {
                continue;
            }
            if self.slots.len() < old.end {
                self.slots.resize_with(old.end, Slot::default);
            }
            let new = (0..hunk.new.len()).map(|offset| Slot {
                change: Some(index),
                hash: hunk.lines.as_ref().and_then(|lines| lines.get(offset)).copied(),
                hunk: number,
                offset,
            });
            self.slots.splice(old, new);
        }
    }

    /// After everything, with a line without author in between: hunks without a place are not neighbours.
    fn end(&self) -> std::ops::Range<usize> {
        let end = if self.slots.is_empty() { 0 } else { self.slots.len() + 1 };
        end..end
    }
}
