//! The transcript on the alternate screen: all of it, from the record, page by page.

use ona_front::{Shown, ShownEntry};
use ona_render::highlight::Look;
use ona_render::stream::{MarkdownStream, Piece};
use ona_render::text::truncate;
use ona_render::theme::Role;
use ratatui::text::{Line, Span};

use crate::blocks::{Block, Detail, EndedCall, NoteKind};
use crate::screen::Frame;

/// The transcript.
#[derive(Clone, Debug, Default)]
pub struct Pager {
    entries: Vec<Shown>,
    /// Whether there are earlier entries.
    pub more: bool,
    /// Rows from the end to the last row that is shown.
    from_end: usize,
    show_all: bool,
    /// Whether earlier entries were asked for and have not come yet.
    pub asked: bool,
}

impl Pager {
    /// An empty one: its entries were asked for.
    pub fn asking() -> Self {
        Self { asked: true, ..Self::default() }
    }

    /// Adds earlier entries.
    pub fn add(&mut self, mut entries: Vec<Shown>, more: bool) {
        entries.append(&mut self.entries);
        self.entries = entries;
        (self.more, self.asked) = (more, false);
    }

    /// The number of the first entry.
    pub fn first(&self) -> Option<i64> {
        self.entries.first().map(|entry| entry.sequence)
    }

    /// Scrolls; up is positive.
    pub fn scroll(&mut self, rows: isize) {
        self.from_end = self.from_end.saturating_add_signed(rows);
    }

    /// To the end, or to the beginning of what is there.
    pub fn jump(&mut self, to_end: bool) {
        self.from_end = if to_end { 0 } else { usize::MAX / 2 };
    }

    /// Shows everything, or the beginnings.
    pub fn toggle(&mut self) {
        self.show_all = !self.show_all;
    }

    /// The screen; whether its top is the beginning of what is there.
    pub fn frame(&mut self, columns: usize, height: usize, look: &Look<'_>) -> (Frame, bool) {
        let detail = if self.show_all { Detail::Whole } else { Detail::Listed };
        let room = height.saturating_sub(1).max(1);
        // Only as many entries are drawn as are needed, from the end.
        let mut rows: Vec<Vec<Line<'static>>> = Vec::new();
        let mut count = 0;
        for entry in self.entries.iter().rev() {
            let drawn = block(&entry.what).rows(columns, look, detail);
            count += drawn.len();
            rows.push(drawn);
            if count >= room.saturating_add(self.from_end) {
                break;
            }
        }
        let all: Vec<Line<'static>> = rows.into_iter().rev().flatten().collect();
        self.from_end = self.from_end.min(all.len().saturating_sub(room));
        let end = all.len() - self.from_end;
        let start = end.saturating_sub(room);
        let mut shown: Vec<Line<'static>> = all[start..end].to_vec();
        shown.resize(room, Line::default());
        let hint = "  transcript · ↑↓ PgUp PgDn g G · ctrl+e shows all · q leaves";
        shown.push(Line::from(Span::styled(truncate(hint, columns), look.theme.style(Role::Dim))));
        (Frame { rows: shown, cursor: None }, start == 0)
    }
}

/// An entry of the transcript as a block.
pub fn block(entry: &ShownEntry) -> Block {
    match entry {
        ShownEntry::User { text } => Block::User(text.clone()),
        ShownEntry::Assistant { text } => Block::Answer(pieces(text)),
        ShownEntry::Thinking { text } => Block::Thinking(text.clone()),
        ShownEntry::Call { tool, input, result, refused } => Block::Call(Box::new(EndedCall {
            tool: tool.clone(),
            input: input.clone(),
            result: result.clone(),
            refused: refused.clone(),
            diff: None,
            exit_code: None,
            depth: 0,
        })),
        ShownEntry::Note { text } => Block::Note(NoteKind::Info, text.clone()),
    }
}

/// The pieces of a whole answer.
pub fn pieces(text: &str) -> Vec<Piece> {
    let mut stream = MarkdownStream::new();
    stream.push(text);
    stream.finish();
    stream.take_finished()
}
