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
        rows: Vec<Line<'static>>,
        most: usize,
        look: &Look<'_>,
    ) -> Vec<Line<'static>> {
        let (all, most) = (rows.len(), most.max(1));
        if all <= most {
            self.page.set(0);
            return rows;
        }
        let style = look.theme.style(Role::Warning);
        let note = |text: String| Line::from(Span::styled(text, style));
        let clipped = clip_rows(rows.clone(), most);
        let room = most.saturating_sub(1).max(1);
        let pages = clipped.left_out.div_ceil(room);
        let page = self.page.get().min(pages);
        self.page.set(page);
        if page == 0 {
            return clipped.with_note(|left| note(format!("[PgDn: {left} rows are not shown]")));
        }
        let first = (clipped.first.len() + (page - 1) * room).min(all - room);
        let mut shown =
            vec![note(format!("[rows {}–{} of {all}: PgUp, PgDn]", first + 1, first + room))];
        shown.extend(rows.into_iter().skip(first).take(room));
        shown
    }
}
