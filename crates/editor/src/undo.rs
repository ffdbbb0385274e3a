//! What can be undone and done again.

use super::content::Content;

/// One replacement, as it was made.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) at: usize,
    pub(super) removed: Content,
    pub(super) inserted: Content,
}

/// Changes that are undone together.
#[derive(Debug, Clone)]
struct Step {
    changes: Vec<Change>,
    /// Where the cursor was before the first and after the last.
    before: usize,
    after: usize,
}

/// Whether changes belong together whatever they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Group {
    #[default]
    Closed,
    /// Opened, without a change so far.
    Empty,
    /// The last step takes every further change.
    Open,
}

/// The steps that were done, and those that were undone.
#[derive(Debug, Clone, Default)]
pub(super) struct UndoLog {
    done: Vec<Step>,
    undone: Vec<Step>,
    group: Group,
}

impl UndoLog {
    /// Notes a change that was made with the cursor at `before` and left it at `after`. With `join`, it becomes part of
    /// the last step.
    pub(super) fn record(&mut self, change: Change, (before, after): (usize, usize), join: bool) {
        self.undone.clear();
        let join = match self.group {
            Group::Closed => join,
            Group::Empty => false,
            Group::Open => true,
        };
        if self.group == Group::Empty {
            self.group = Group::Open;
        }
        match self.done.last_mut() {
            Some(step) if join => {
                step.changes.push(change);
                step.after = after;
            }
            _ => self.done.push(Step { changes: vec![change], before, after }),
        }
    }

    /// From here on every change is part of one step, until [`UndoLog::close`].
    pub(super) fn open(&mut self) {
        self.group = Group::Empty;
    }

    pub(super) fn close(&mut self) {
        self.group = Group::Closed;
    }

    /// Takes the last step back. Gives the cursor's place, or nothing if there is no step.
    pub(super) fn undo(&mut self, content: &mut Content) -> Option<usize> {
        self.close();
        let step = self.done.pop()?;
        for change in step.changes.iter().rev() {
            content.replace(change.at..change.at + change.inserted.len(), &change.removed);
        }
        let cursor = step.before;
        self.undone.push(step);
        Some(cursor)
    }

    /// Makes the last step that was taken back again.
    pub(super) fn redo(&mut self, content: &mut Content) -> Option<usize> {
        self.close();
        let step = self.undone.pop()?;
        for change in &step.changes {
            content.replace(change.at..change.at + change.removed.len(), &change.inserted);
        }
        let cursor = step.after;
        self.done.push(step);
        Some(cursor)
    }
}
