//! The prompt's editor: a state machine over graphemes, without a screen.
//!
//! Positions are byte offsets in the [`Content`], always between graphemes. Every change goes through
//! one function, so that it can be undone. [`keymap`] says which action a key means.

use std::ops::Range;

mod chip;
mod commands;
mod content;
mod history;
pub mod keymap;
mod kill_ring;
mod rows;
#[cfg(test)]
mod tests;
mod undo;
pub mod vim;
mod words;

pub use chip::{MAX_PASTED_CHARACTERS, MAX_PASTED_LINES};
pub use commands::{Edit, Outcome};
pub use content::Content;
pub use history::{Found, History, HistorySearch, Recalled};
pub use rows::{Row, Rows};

use chip::Chip;
use kill_ring::KillRing;
use undo::{Change, UndoLog};

/// A multi-line editor.
#[derive(Debug, Clone, Default)]
pub struct Editor {
    content: Content,
    cursor: usize,
    /// The column that moving up and down keeps to, even through shorter rows.
    goal: Option<usize>,
    undo: UndoLog,
    kills: KillRing,
    last: Last,
    /// How many pastes and images got a number. A number is never used again: undo may bring it back.
    pastes: u32,
    images: u32,
    /// What is shown as selected.
    selection: Option<Range<usize>>,
    /// What was typed in one place without a change elsewhere.
    insertion: Range<usize>,
}

/// What the last command was: some go on with the one before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Other,
    /// A character was typed.
    Typed { blank: bool },
    /// A character was deleted.
    Deleted(Edit),
    /// Text went into the kill ring.
    Killed,
    /// This much came out of it.
    Yanked(Range<usize>),
}

/// An earlier prompt of more bytes is huge.
const HUGE: usize = 10_000;

impl Editor {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// What is submitted: pasted texts in full, images as their labels.
    pub fn text(&self) -> String {
        self.content.text()
    }

    /// What is shown: every chip as its label.
    pub fn shown(&self) -> String {
        self.content.shown()
    }

    /// The images in the text, each once, in its order.
    pub fn images(&self) -> Vec<u32> {
        self.content.images()
    }

    /// The text with its chips. A copy of it is a draft that [`Editor::set_content`] brings back.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.content.is_empty()
    }

    /// The part before the cursor, as it is shown.
    pub fn before_cursor(&self) -> String {
        self.content.slice(0..self.cursor).shown()
    }

    /// Where the cursor is: the number of bytes before it, in which a chip counts as one.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// The rows of the screen that the text takes at this width.
    pub fn rows(&self, width: u16) -> Rows {
        Rows::of(&self.content, self.cursor, self.selection.as_ref(), width)
    }

    /// Types text at the cursor. Characters that are typed one by one are undone by words.
    pub fn insert(&mut self, text: &str) {
        let content = Content::from(text);
        if content.is_empty() {
            return;
        }
        let blank = text.chars().all(char::is_whitespace);
        let one = content.next(0) == content.len() && text != "\n";
        let join = match self.last {
            Last::Typed { blank: before } => one && (blank || !before),
            _ => false,
        };
        self.change_joined(self.cursor..self.cursor, &content, join);
        self.last = if one { Last::Typed { blank } } else { Last::Other };
    }

    /// Pastes text at the cursor. A long one becomes a chip.
    pub fn paste(&mut self, text: &str) {
        let text = content::cleaned(text);
        if text.is_empty() {
            return;
        }
        let pasted = if chip::is_long(&text) {
            self.pastes = self.pastes.saturating_add(1);
            Chip::pasted(self.pastes, &text).into()
        } else {
            Content::from(&*text)
        };
        self.change(self.cursor..self.cursor, &pasted);
    }

    /// Inserts an image's chip at the cursor and gives its number.
    pub fn insert_image(&mut self) -> u32 {
        self.images = self.images.saturating_add(1);
        self.change(self.cursor..self.cursor, &Chip::Image(self.images).into());
        self.images
    }

    /// Replaces everything; the cursor goes to the end. It can be undone.
    pub fn set_text(&mut self, text: &str) {
        self.set_content(&text.into());
    }

    /// Replaces everything with an earlier prompt. A huge one becomes a chip: it would fill the screen, and every key would
    /// have to go through it.
    pub fn recall(&mut self, text: &str) {
        if text.len() <= HUGE {
            return self.set_text(text);
        }
        self.pastes = self.pastes.saturating_add(1);
        self.set_content(&Chip::pasted(self.pastes, text).into());
    }

    /// Replaces everything with a draft; the cursor goes to the end. It can be undone.
    pub fn set_content(&mut self, content: &Content) {
        if self.content != *content {
            self.change(0..self.content.len(), content);
        }
        self.move_to(self.content.len());
        self.restart_insertion();
    }

    /// Replaces everything with what an external editor gave back. An image's label is its chip again.
    pub fn set_edited(&mut self, text: &str) {
        let images = self.images();
        let mut content = Content::default();
        let mut rest = text;
        let next_image = |rest: &str| {
            let labels =
                images.iter().map(|image| (Chip::Image(*image), Chip::Image(*image).label()));
            let found =
                labels.filter_map(|(chip, label)| Some((rest.find(&label)?, label.len(), chip)));
            found.min_by_key(|(at, ..)| *at)
        };
        while let Some((at, length, chip)) = next_image(rest) {
            content.append(&rest[..at].into());
            content.append(&chip.into());
            rest = &rest[at + length..];
        }
        content.append(&rest.into());
        self.set_content(&content);
    }

    /// Removes everything. It can be undone.
    pub fn clear(&mut self) {
        self.set_content(&Content::default());
    }

    /// Gives everything out, as when it is submitted. Nothing is left to undo; the kill ring stays.
    pub fn take(&mut self) -> Content {
        let content = std::mem::take(&mut self.content);
        *self = Self {
            kills: std::mem::take(&mut self.kills),
            pastes: self.pastes,
            images: self.images,
            ..Self::default()
        };
        content
    }

    /// Replaces a part by text, as when a suggestion is accepted. The part is given in bytes of what
    /// [`Editor::before_cursor`] shows, counted back from the cursor: what was typed of the suggestion.
    pub fn complete(&mut self, typed: usize, with: &str) {
        let mut start = self.cursor;
        let mut left = typed;
        while left > 0 && start > 0 {
            let before = self.content.previous(start);
            if Content::is_chip(self.content.grapheme(before)) {
                break;
            }
            left = left.saturating_sub(start - before);
            start = before;
        }
        self.change(start..self.cursor, &with.into());
    }

    /// Turns a backslash before the cursor into a newline (`\` and Enter). Says whether there was one.
    pub fn newline_for_backslash(&mut self) -> bool {
        let before = self.content.previous(self.cursor);
        if self.content.raw().get(before..self.cursor) != Some("\\") {
            return false;
        }
        self.change(before..self.cursor, &"\n".into());
        true
    }

    /// Moves the cursor. What follows is a new step to undo.
    fn move_to(&mut self, at: usize) {
        self.cursor = self.content.snapped(at);
        self.goal = None;
        self.last = Last::Other;
    }

    /// Replaces a part. The cursor goes after what was inserted.
    fn change(&mut self, range: Range<usize>, with: &Content) {
        self.change_joined(range, with, false);
    }

    fn change_joined(&mut self, range: Range<usize>, with: &Content, join: bool) {
        let before = self.cursor;
        let (at, end) = (range.start, range.start + with.len());
        self.insertion = match &self.insertion {
            typed if typed.start <= at && range.end <= typed.end => {
                typed.start..typed.end - range.len() + with.len()
            }
            _ => at..end,
        };
        let removed = self.content.replace(range, with);
        self.selection = None;
        self.move_to(end);
        let change = Change { at, removed, inserted: with.clone() };
        self.undo.record(change, (before, self.cursor), join);
    }

    /// What is typed from here on is one insertion.
    fn restart_insertion(&mut self) {
        self.insertion = self.cursor..self.cursor;
    }
}
