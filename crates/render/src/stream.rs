//! Markdown that arrives in pieces, given out block by block as soon as a block can no longer change.
//!
//! The parser says where the blocks are. It is asked only at lines that may begin or end one, and only about what has
//! not been given out. What it may read is paid for by what arrives (`CREDIT_PER_BYTE`), so that the whole costs time
//! in proportion to its length, whatever it is. What is given out depends on the lines alone, not on how they were cut
//! into pieces.

mod fence;
mod line;
mod shape;

#[cfg(test)]
mod tests;

use std::mem;

use crate::markdown::is_spaced;
use fence::Fence;
use shape::{Last, Shape};

/// For every byte that arrives, the parser may read so many.
const CREDIT_PER_BYTE: usize = 4;
/// What the parser may read before anything arrived. Short lines would else have to wait.
const FIRST_CREDIT: usize = 4096;

/// A part of a document that will not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The source of one or more complete blocks.
    Block(String),
    /// The source of further items of the list that the piece before ends with. Other blocks may follow the list.
    Items {
        /// The source.
        source: String,
        /// The number of the first of these items, in an ordered list.
        start: Option<u64>,
        /// Whether a blank row stands before them.
        spaced: bool,
    },
    /// A code block begins.
    CodeStart {
        /// Its language, or nothing.
        language: String,
    },
    /// A line of the code block, without its line break.
    CodeLine(String),
    /// The code block ends.
    CodeEnd,
}

/// Bytes of an open block that are drawn, besides its first two lines.
const DRAWN: usize = 16 << 10;

/// The first two lines of a block, which are the head of a table, and its end: as many whole lines as fit, or the last
/// words of one that does not.
fn both_ends(source: &str) -> String {
    if source.len() <= DRAWN {
        return source.to_owned();
    }
    let from = source.ceil_char_boundary(source.len() - DRAWN);
    let end = &source[from..];
    let from = from + end.find('\n').or_else(|| end.find(' ')).map_or(0, |at| at + 1);
    let head: usize = source.split_inclusive('\n').take(2).map(str::len).sum();
    let head = if head > DRAWN { 0 } else { head };
    format!("{}{}", &source[..head.min(from)], &source[from..])
}

/// A document that is still arriving.
#[derive(Clone, Debug)]
pub struct MarkdownStream {
    /// What arrived and was not given out. In a code block this is the line that is not complete.
    open: String,
    /// Where in it the last line begins.
    line: usize,
    /// The open text begins with further items of a list.
    items: Option<Items>,
    code: Option<Fence>,
    finished: Vec<Piece>,
    /// Whether the last character was a carriage return. It ended a line, also if a line feed follows.
    after_return: bool,
    /// How many bytes the parser may read.
    credit: usize,
    /// How many bytes it has read.
    parsed: usize,
}

/// Items of a list whose beginning was given out.
#[derive(Clone, Copy, Debug)]
struct Items {
    start: Option<u64>,
    spaced: bool,
}

impl Default for MarkdownStream {
    fn default() -> Self {
        Self::new()
    }
}

impl MarkdownStream {
    /// A document of which nothing has arrived.
    pub fn new() -> Self {
        Self {
            open: String::new(),
            line: 0,
            items: None,
            code: None,
            finished: Vec::new(),
            after_return: false,
            credit: FIRST_CREDIT,
            parsed: 0,
        }
    }

    /// More of the document.
    pub fn push(&mut self, text: &str) {
        let mut rest = text;
        if mem::take(&mut self.after_return) {
            rest = rest.strip_prefix('\n').unwrap_or(rest);
        }
        while let Some(end) = rest.find(['\n', '\r']) {
            let (line, behind) = rest.split_at(end);
            self.open.push_str(line);
            self.end_line();
            rest = match behind.strip_prefix('\r') {
                Some("") => {
                    self.after_return = true;
                    ""
                }
                Some(behind) => behind.strip_prefix('\n').unwrap_or(behind),
                None => &behind[1..],
            };
        }
        self.open.push_str(rest);
    }

    /// What can no longer change, and was not taken before.
    pub fn take_finished(&mut self) -> Vec<Piece> {
        mem::take(&mut self.finished)
    }

    /// The source of the block that is still open. In a code block this is the line that is not complete.
    pub fn open(&self) -> &str {
        &self.open
    }

    /// The open block as a piece, to be drawn for now: its beginning, which says what it is, and its end. It is drawn
    /// again with every frame, so a long one must not cost more than a short one.
    pub fn open_piece(&self) -> Option<Piece> {
        let source = self.open.trim_end();
        match &self.code {
            Some(fence) if fence.may_end(source) => None,
            Some(fence) => Some(Piece::CodeLine(fence.content(source).into_owned())),
            None if source.is_empty() => None,
            None => Some(self.piece(both_ends(source))),
        }
    }

    /// The document is complete. [`Self::take_finished`] gives the rest of it.
    pub fn finish(&mut self) {
        if self.line < self.open.len() {
            self.end_line();
        }
        if self.code.take().is_some() {
            self.finished.push(Piece::CodeEnd);
        }
        self.give_out(self.open.len(), None);
    }

    /// The last line of the open text is complete.
    fn end_line(&mut self) {
        self.open.push('\n');
        let from = mem::replace(&mut self.line, self.open.len());
        match self.code.take() {
            Some(fence) => self.end_code_line(fence),
            None => self.end_text_line(from),
        }
    }

    fn end_code_line(&mut self, fence: Fence) {
        let line = mem::take(&mut self.open);
        self.line = 0;
        let line = line.trim_end_matches('\n');
        if fence.is_end(line) {
            self.finished.push(Piece::CodeEnd);
        } else {
            self.finished.push(Piece::CodeLine(fence.content(line).into_owned()));
            self.code = Some(fence);
        }
    }

    fn end_text_line(&mut self, from: usize) {
        self.credit += CREDIT_PER_BYTE * (self.open.len() - from);
        let blank = line::is_blank(&self.open[from..]);
        if blank && from == 0 {
            // Blank lines between blocks say nothing more.
            self.open.clear();
            self.line = 0;
        } else if line::may_settle(&self.open, from) && self.credit >= self.open.len() {
            self.credit -= self.open.len();
            self.parsed += self.open.len();
            self.settle(from, blank);
        }
    }

    /// Gives out what is closed, once the line at `from` is read.
    fn settle(&mut self, from: usize, blank: bool) {
        let shape = Shape::of(&self.open);
        match shape.last {
            Last::Closed => self.give_out(self.open.len(), None),
            Last::UntilBlank if blank => self.give_out(self.open.len(), None),
            Last::List { start, items, last_item } if items > 0 => {
                // A list that was given out in part has its numbers from its real beginning.
                let start = match self.items {
                    Some(before) if shape.start == 0 => before.start,
                    _ => start,
                };
                let start = start.map(|start| start.saturating_add(items));
                let spaced = is_spaced(&self.open, last_item);
                self.give_out(last_item, Some(Items { start, spaced }));
            }
            Last::Fence if shape.start == from => match Fence::of(&self.open[from..]) {
                Some(fence) => {
                    self.give_out(from, None);
                    self.open.clear();
                    self.line = 0;
                    self.finished.push(Piece::CodeStart { language: fence.language.clone() });
                    self.code = Some(fence);
                }
                None => self.give_out(from, None),
            },
            Last::UntilBlank | Last::List { .. } | Last::Fence | Last::Other => {
                if shape.start > 0 {
                    self.give_out(shape.start, None);
                }
            }
        }
    }

    /// Gives out the beginning of the open text. What is left may begin with items of its last list.
    fn give_out(&mut self, until: usize, items: Option<Items>) {
        let rest = self.open.split_off(until);
        let source = mem::replace(&mut self.open, rest);
        self.line -= until.min(self.line);
        if !source.trim().is_empty() {
            let piece = self.piece(source);
            self.finished.push(piece);
        }
        self.items = items;
    }

    fn piece(&self, source: String) -> Piece {
        match self.items {
            Some(Items { start, spaced }) => Piece::Items { source, start, spaced },
            None => Piece::Block(source),
        }
    }
}
