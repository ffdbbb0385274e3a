//! A text that may be longer than its room: both of its ends at first, then page after page.

use std::cell::Cell;

use crossterm::event::{KeyCode, KeyEvent};
use ona_render::highlight::Look;
use ona_render::text::clip_rows;
use ona_render::theme::Role;
use ratatui::text::{Line, Span};

/// Where in a text one is: 0 shows both ends, the pages behind show what is between them.
#[derive(Clone, Debug, Default)]
pub(super) struct Scrolled {
    /// How many pages there are is known only when they are drawn.
    page: Cell<usize>,
}

impl Scrolled {
    /// A key; whether it was one that scrolls.
    pub(super) fn press(&self, key: &KeyEvent) -> bool {
        let page = self.page.get();
        match key.code {
            KeyCode::PageDown => self.page.set(page + 1),
            KeyCode::PageUp => self.page.set(page.saturating_sub(1)),
            _ => return false,
        }
        true
    }

    /// The rows that are shown, at most so many, with a note where some are not.
    pub(super) fn rows(
        &self,
        rows: &[Line<'static>],
        most: usize,
        look: &Look<'_>,
    ) -> Vec<Line<'static>> {
        let (all, most) = (rows.len(), most.max(1));
        if all <= most {
            self.page.set(0);
            return rows.to_vec();
        }
        let style = look.theme.style(Role::Warning);
        let note = |text: String| Line::from(Span::styled(text, style));
        let clipped = clip_rows((0..all).collect(), most);
        let room = most.saturating_sub(1).max(1);
        let pages = clipped.left_out.div_ceil(room);
        let page = self.page.get().min(pages);
        self.page.set(page);
        if most == 1 {
            // There is no room for a note: a sign stands in the margin, where the row has one.
            let mut row = rows[page.min(all - 1)].clone();
            if let Some(margin) = row.spans.first_mut().filter(|span| span.content == "  ") {
                *margin = Span::styled("↕ ", style);
            }
            return vec![row];
        }
        if page == 0 {
            let first = rows[..clipped.first.len()].iter().cloned();
            let left = note(format!("[PgDn: {} rows are not shown]", clipped.left_out));
            let last = rows[all - clipped.last.len()..].iter().cloned();
            return first.chain([left]).chain(last).collect();
        }
        let first = (clipped.first.len() + (page - 1) * room).min(all - room);
        let mut shown =
            vec![note(format!("[rows {}–{} of {all}: PgUp, PgDn]", first + 1, first + room))];
        shown.extend(rows[first..first + room].iter().cloned());
        shown
    }
}
