//! The editing commands that keys mean.

use std::ops::Range;

use super::content::Content;
use super::kill_ring::Side;
use super::rows::{at_column, column_of, row_of, wrap};
use super::words::{big_word_left, word_left, word_right};
use super::{Editor, Last};

/// A command of the editor. A chip counts as one character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Edit {
    /// One character to the left.
    CharLeft,
    /// One character to the right.
    CharRight,
    /// To the start of the word.
    WordLeft,
    /// To the end of the word.
    WordRight,
    /// To the start of the line.
    LineStart,
    /// To the end of the line.
    LineEnd,
    /// To the start of the text.
    TextStart,
    /// To the end of the text.
    TextEnd,
    /// One row up, keeping to the column.
    Up,
    /// One row down, keeping to the column.
    Down,
    /// Starts a new line.
    Newline,
    /// Deletes the character before the cursor.
    DeleteCharBackward,
    /// Deletes the character at the cursor.
    DeleteCharForward,
    /// Kills the word before the cursor.
    DeleteWordBackward,
    /// Kills back to white space.
    DeleteBigWordBackward,
    /// Kills the word after the cursor.
    DeleteWordForward,
    /// Kills to the end of the line, or the newline if the cursor is there.
    KillToLineEnd,
    /// Kills to the start of the line, or the newline before if the cursor is there.
    KillToLineStart,
    /// Inserts what was killed last.
    Yank,
    /// Replaces what was just yanked by the kill before it.
    YankPop,
    /// Swaps the characters before and at the cursor.
    Transpose,
    /// Takes the last step back.
    Undo,
    /// Makes the last step that was taken back again.
    Redo,
}

/// What a command did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The text changed.
    Changed,
    /// Only the cursor moved.
    Moved,
    /// Nothing.
    Nothing,
    /// [`Edit::Up`] in the first row: time to go back in the history.
    AtFirstRow,
    /// [`Edit::Down`] in the last row: time to go forward in the history.
    AtLastRow,
}

impl Editor {
    /// Does a command. The width is the one that [`Editor::rows`] is shown with: moving up and down depends on it.
    pub fn apply(&mut self, edit: Edit, width: u16) -> Outcome {
        let (at, content) = (self.cursor, &self.content);
        match edit {
            Edit::CharLeft => self.go(content.previous(at)),
            Edit::CharRight => self.go(content.next(at)),
            Edit::WordLeft => self.go(word_left(content, at)),
            Edit::WordRight => self.go(word_right(content, at)),
            Edit::LineStart => self.go(content.line_start(at)),
            Edit::LineEnd => self.go(content.line_end(at)),
            Edit::TextStart => self.go(0),
            Edit::TextEnd => self.go(content.len()),
            Edit::Up | Edit::Down => self.vertical(edit == Edit::Down, width),
            Edit::Newline => self.replaced(at..at, &"\n".into()),
            Edit::DeleteCharBackward => self.delete(content.previous(at)..at, edit),
            Edit::DeleteCharForward => self.delete(at..content.next(at), edit),
            Edit::DeleteWordBackward => self.kill(word_left(content, at)..at, Side::Before),
            Edit::DeleteBigWordBackward => self.kill(big_word_left(content, at)..at, Side::Before),
            Edit::DeleteWordForward => self.kill(at..word_right(content, at), Side::After),
            Edit::KillToLineEnd => {
                let end = content.line_end(at);
                let end = if end == at { content.next(at) } else { end };
                self.kill(at..end, Side::After)
            }
            Edit::KillToLineStart => {
                let start = content.line_start(at);
                let start = if start == at { content.previous(at) } else { start };
                self.kill(start..at, Side::Before)
            }
            Edit::Yank => {
                let newest = self.kills.newest();
                self.yank(at..at, newest)
            }
            Edit::YankPop => match self.last.clone() {
                Last::Yanked(range) => {
                    let older = self.kills.older();
                    self.yank(range, older)
                }
                _ => Outcome::Nothing,
            },
            Edit::Transpose => self.transpose(),
            Edit::Undo => {
                let cursor = self.undo.undo(&mut self.content);
                self.after_undo(cursor)
            }
            Edit::Redo => {
                let cursor = self.undo.redo(&mut self.content);
                self.after_undo(cursor)
            }
        }
    }

    fn go(&mut self, to: usize) -> Outcome {
        let moved = to != self.cursor;
        self.move_to(to);
        if moved { Outcome::Moved } else { Outcome::Nothing }
    }

    fn vertical(&mut self, down: bool, width: u16) -> Outcome {
        let rows = wrap(&self.content, width);
        let row = row_of(&rows, self.cursor);
        let goal =
            self.goal.unwrap_or_else(|| column_of(&self.content, &rows[row], self.cursor, width));
        let target = if down { rows.get(row + 1) } else { row.checked_sub(1).map(|up| &rows[up]) };
        match target {
            Some(target) => {
                let to = at_column(&self.content, target, goal, width);
                self.move_to(to);
                self.goal = Some(goal);
                Outcome::Moved
            }
            None if down => Outcome::AtLastRow,
            None => Outcome::AtFirstRow,
        }
    }

    fn replaced(&mut self, range: Range<usize>, with: &Content) -> Outcome {
        self.change(range, with);
        Outcome::Changed
    }

    fn delete(&mut self, range: Range<usize>, edit: Edit) -> Outcome {
        if range.is_empty() {
            return Outcome::Nothing;
        }
        let join = self.last == Last::Deleted(edit);
        self.change_joined(range, &Content::default(), join);
        self.last = Last::Deleted(edit);
        Outcome::Changed
    }

    fn kill(&mut self, range: Range<usize>, side: Side) -> Outcome {
        if range.is_empty() {
            return Outcome::Nothing;
        }
        let join = self.last == Last::Killed;
        self.kills.push(self.content.slice(range.clone()), side, join);
        self.change(range, &Content::default());
        self.last = Last::Killed;
        Outcome::Changed
    }

    fn yank(&mut self, range: Range<usize>, killed: Option<Content>) -> Outcome {
        let Some(killed) = killed else { return Outcome::Nothing };
        let start = range.start;
        self.change(range, &killed);
        self.last = Last::Yanked(start..start + killed.len());
        Outcome::Changed
    }

    fn transpose(&mut self) -> Outcome {
        let content = &self.content;
        let (start, end) = (content.line_start(self.cursor), content.line_end(self.cursor));
        // At the end of a line, the last two.
        let middle = if self.cursor == end { content.previous(end) } else { self.cursor };
        if middle <= start || middle >= end {
            return Outcome::Nothing;
        }
        let (left, right) = (content.previous(middle), content.next(middle));
        let mut swapped = content.slice(middle..right);
        swapped.append(&content.slice(left..middle));
        self.replaced(left..right, &swapped)
    }

    fn after_undo(&mut self, cursor: Option<usize>) -> Outcome {
        let Some(cursor) = cursor else { return Outcome::Nothing };
        self.move_to(cursor);
        self.restart_insertion();
        Outcome::Changed
    }
}
